#!/usr/bin/env bash
# verify=open: H5Fopen waits until the data is verified; redundancy is verified behind it, and what is found there is
# repaired when the ranks meet next, when they close the file or open it again (V7). verify=all waits for both.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work/dir
touch "$work/probe"
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.redset", b"x")' "$work/probe" 2>/dev/null || { echo 'SKIP: no extended attributes in the test directory'; exit 77; }
export HDF5_DRIVER=redset
size=1000000 seed=5

# on_ranks SETTINGS PROGRAM ARGUMENT...
on_ranks() {
    HDF5_DRIVER_CONFIG="set_size=4 timeout=120 $1" timeout -s KILL 200 "$mpiexec" -np 4 "$bin/$2" "${@:3}"
}
redundancy() { find "$dir" -name "data_1.h5.*redset" -size +100k; }
damage() { printf 'rotten' | dd of="$(redundancy)" bs=1 seek=200000 conv=notrunc status=none; }
healthy() { env -u HDF5_DRIVER "$tool" status --verify "$dir"; }
damaged() { ! healthy; }

for scheme in PARTNER 'XOR' 'RS checksums=2'; do
    echo "$scheme:"
    rm -rf "$dir" && mkdir "$dir"
    on_ranks "scheme=$scheme" ranks write "$dir" $size $seed >"$log" 2>&1 || { cat "$log"; exit 1; }
    check 'written' healthy
    damage
    check 'a reader goes on, and the damage is found' \
        on_ranks "scheme=$scheme" behind "$dir" $size $seed r "$(redundancy)"
    check 'a reader repairs nothing when it closes' damaged
    check 'the next job opens it' on_ranks "scheme=$scheme" ranks read "$dir" $size $seed
    check 'and that has repaired it' healthy
    damage
    check 'opened to write' on_ranks "scheme=$scheme" behind "$dir" $size $seed w "$(redundancy)"
    check 'and repaired by the close' healthy
    damage
    check 'verify=all' on_ranks "scheme=$scheme verify=all" ranks read "$dir" $size $seed
    check 'repairs it at once' healthy
done
finish
