#!/usr/bin/env bash
# verify=open: H5Fopen waits until the data is verified; redundancy is verified behind it, and what is found there is
# repaired when the ranks meet next, when they close the file or open it again (V7). verify=all waits for both.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
bin=$REDSET_BUILD_DIR/test/vfd tool=$REDSET_BUILD_DIR/tools/h5redset
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
touch "$dir/probe"
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.redset", b"x")' "$dir/probe" 2>/dev/null || { echo 'SKIP: no extended attributes in the test directory'; exit 77; }
rm "$dir/probe"
export HDF5_PLUGIN_PATH HDF5_DRIVER=redset
failed=0 size=1000000 seed=5

# on_ranks SETTINGS PROGRAM ARGUMENT...
on_ranks() {
    HDF5_DRIVER_CONFIG="set_size=4 timeout=120 $1" timeout -s KILL 200 "${mpiexec:?}" -np 4 "$bin/$2" "${@:3}" >"$dir.says" 2>&1
}
check() { # TEXT, then a command
    if "${@:2}"; then
        echo "  ok      $1"
    else
        failed=$((failed + 1))
        echo "  FAILED  $1"
        sed 's/^/          | /' "$dir.says"
    fi
}
redundancy() { find "$dir" -name "data_1.h5.*redset" -size +100k; }
damage() { printf 'rotten' | dd of="$(redundancy)" bs=1 seek=200000 conv=notrunc status=none; }
healthy() { env -u HDF5_DRIVER "$tool" status --verify "$dir" >"$dir.says" 2>&1; }
damaged() { ! healthy; }

for scheme in PARTNER 'XOR' 'RS checksums=2'; do
    echo "$scheme:"
    rm -rf "$dir" && mkdir "$dir"
    on_ranks "scheme=$scheme" ranks write "$dir" $size $seed || { cat "$dir.says"; exit 1; }
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
rm -f "$dir.says"
[ "$failed" = 0 ] || { echo "$failed FAILED"; exit 1; }
