#!/usr/bin/env bash
# An open that rebuilds more than 1 GiB, of all ranks together, says so when it begins and when it has ended: once, and not
# where it is less. The files are sparse (large.c), and take a few MiB.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset
dir=$work
out=$dir/out

# run MODE: four ranks, of which rank 0 has 1100 MiB and rank 1 220; what they say is in $out
run() { timeout 300 "$mpiexec" -n 4 "$bin/large" "$dir/files" "$1" 1100 >"$out" 2>&1 || { cat "$out"; return 1; }; }
lose() { local r; for r in "$@"; do rm "$dir/files/large_$r.h5"; done; }
# says BEGIN END: one line of each, in this order, and no other is about how much is rebuilt
says() {
    grep -E 'rebuilding|rebuilt [0-9]' "$out" >"$dir/said" || true
    [ "$(wc -l <"$dir/said")" = 2 ] && sed -n 1p "$dir/said" | grep -qE "^redset: $1\$" &&
        sed -n 2p "$dir/said" | grep -qE "^redset: $2\$" || { cat "$out"; return 1; }
}
says_nothing() { not grep -E 'rebuilding|rebuilt [0-9]' "$out"; }
zero=$dir/files/large_0.h5

two_ranks() {
    lose 0 1 && run check || return 1
    says "$zero: lost, rebuilding 1\.3 GiB with the files of 1 more rank \(rank 0 on [^ ]+\)" \
        "$zero: rebuilt 1\.3 GiB with the files of 1 more rank in [0-9.]+ s \(rank 0 on [^ ]+\)"
}
less() { lose 1 && run check && says_nothing && grep -q 'large_1.h5: was lost, and was rebuilt' "$out"; }
one_process() {
    lose 0 && "$REDSET_HDF5_TOOLDIR/h5dump" -H "$zero" >"$out" 2>&1 || { cat "$out"; return 1; }
    says "$zero: lost, rebuilding 1\.1 GiB" "$zero: rebuilt 1\.1 GiB in [0-9.]+ s"
}

export HDF5_DRIVER_CONFIG='scheme=PARTNER required=yes timeout=300'
mkdir "$dir/files"
check 'made' run create
check 'two ranks are told of as one' two_ranks
check 'what is less than 1 GiB is rebuilt without that' less
[ -z "${REDSET_HDF5_TOOLDIR:-}" ] || check 'one process without MPI' one_process
finish
