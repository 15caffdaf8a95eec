#!/usr/bin/env bash
# A file of more than 4 GiB, sparse, under each scheme: protected, changed a little, lost, and rebuilt bit
# for bit; and a byte of it beyond 4 GiB flipped. large.c is the program. Takes about 16 GiB where TMPDIR is.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset
dir=$work
free=$(df --output=avail -B1M "$dir" | tail -1)
[ "$free" -gt 20000 ] || { echo "SKIP: $free MiB free for temporary files, 20000 are needed"; exit 77; }

run() { timeout 600 "$mpiexec" -n 4 "$bin/large" "$dir/files" "$1"; }
sums() { (cd "$dir/files" && sha256sum large_*.h5); }
same() { diff <(sums) "$dir/sums"; }
comes_back() { run check && same; }
changes() {
    local inode
    inode=$(stat -c %i "$dir"/files/large_1.h5.1.*.redset)
    run update && sums >"$dir/sums" && [ "$inode" = "$(stat -c %i "$dir"/files/large_1.h5.1.*.redset)" ]
}

for scheme in partner xor "rs checksums=1"; do
    export HDF5_DRIVER_CONFIG="scheme=$scheme required=yes timeout=300"
    rm -rf "$dir/files"
    mkdir "$dir/files"
    check "$scheme: made" run create
    check "$scheme: a small change updates the redundancy in place" changes
    rm -f "$dir"/files/large_0.h5*
    check "$scheme: lost, and back bit for bit" comes_back
    printf 'X' | rot "$dir/files/large_0.h5" 4400000123
    check "$scheme: a byte beyond 4 GiB flipped, and mended" comes_back
done
finish
