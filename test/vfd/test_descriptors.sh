#!/usr/bin/env bash
# How many descriptors open files take, as docs/behaviour.md says: counted, and with as many files as a usual limit permits. And that none of
# them is one that a program prints to, though it is closed.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
program=$REDSET_BUILD_DIR/test/vfd/serial_descriptors
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi # every close syncs
dir=$(mktemp -d)
log=$dir/log
trap 'rm -rf "$dir"' EXIT
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='scheme=SINGLE required=yes'

# counts FILES: what that many files take, one descriptor for their directory with them
counts() {
    mkdir "$dir/$1"
    "$program" count "$dir/$1" "$1" >"$dir/out" || { cat "$dir/out"; return 1; }
    diff "$dir/out" - <<END
created: $((2 * $1 + 1))
created over: $((3 * $1 + 1))
read: $(($1 + 1))
update: $((2 * $1 + 1))
changed: $((4 * $1 + 1))
closed: 0
END
}
# spares FILES
spares() { mkdir "$dir/low" && "$program" low "$dir/low" "$1"; }
# holds LIMIT FILES
holds() { mkdir "$dir/most" && (ulimit -n "$1" && "$program" most "$dir/most" "$2"); }

check 'one file' counts 1
check 'twenty files of one directory' counts 20
check '300 files, created and created over, with ulimit -n 1024' holds 1024 300
check 'none is 0, 1 or 2, where the program has closed these' spares 2
finish
