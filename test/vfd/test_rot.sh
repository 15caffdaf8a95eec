#!/usr/bin/env bash
# What rots in a file that a program has open, where the program neither reads nor writes: it is not protected by the next close. The
# program is told, with required=no as well, and all ranks have again what was protected last.
set -euo pipefail

# shellcheck source=test/vfd/actors.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/actors.sh"
set=$work/set size=1000000
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes'

ranks() { timeout -s KILL 180 "$mpiexec" -n 3 "$bin/ranks" "$1" "$set" "$size" "$2"; }
# fails TEXT: the last answer is a failure that says so
fails() { grep -qE -- "$1" <<<"$heard" || { echo "not said: $1"; return 1; }; }
is_refused() { # STEP: on all ranks
    local r
    for r in 0 1 2; do tell A "$r" "$1"; done
    for r in 0 1 2; do hear A "$r" && fails 'failed: .*data_1.h5: bytes [0-9]+ to [0-9]+ are neither what was protected nor' || return 1; done
}
begin() { kill_jobs && rm -rf "$set" && cp -a "$work/kept" "$set"; }
begun() { # SETTINGS WHERE: rank 1's file rots there, and then all ranks have written
    begin
    HDF5_DRIVER_CONFIG=$1 job A 3 "$set" && does A open 0 1 2 && flip "$set/data_1.h5" "$2" && does A 'write 1:2' 0 1 2
}
again() { ends A && ranks read 1 && ranks update 1:3 && ranks read 1:3; }

close_works() { begun "$@" && does A close 0 1 2 && ends A && ranks read 1:2; }
close_is_refused() { begun "$@" && is_refused close && again; }
flush_is_refused() { begun "$@" && is_refused flush && is_refused close && again; }


mkdir "$set"
check 'protected' ranks write 1
cp -a "$set" "$work/kept"
for verify in read size; do
    check "verify=$verify: the close is refused, and all have what was protected last" close_is_refused "verify=$verify" 600000
    check "verify=$verify, in a block of which a part is written over: the same" close_is_refused "verify=$verify" 3000
    check "verify=$verify, where all is written over: there is nothing to say" close_works "verify=$verify" 100000
    check "verify=$verify required=no: the same" close_is_refused "verify=$verify required=no" 300000
done
check 'commit=flush: the flush is refused, and the close' flush_is_refused 'verify=size commit=flush' 300000
check 'async=yes: the same' close_is_refused 'verify=size async=yes' 300000
check 'async=yes commit=flush: the flush is refused, and the close' flush_is_refused 'verify=size commit=flush async=yes' 300000
for scheme in PARTNER RS; do
    HDF5_DRIVER_CONFIG="required=yes scheme=$scheme" check "$scheme: protected" all rm -rf "$set" , mkdir "$set" , ranks write 1
    rm -rf "$work/kept" && cp -a "$set" "$work/kept"
    check "$scheme: the close is refused" close_is_refused "verify=size scheme=$scheme" 300000
done

finish
