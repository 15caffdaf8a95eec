#!/usr/bin/env bash
# Ranks that fork, at any time: a child never talks to MPI and leaves alone what its parent is in the middle of, whoever has loaded
# the driver (P5, P1). And a rank that was forked itself is one. forked.c says what each case does. `timeout` is the watchdog.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes timeout=20'

protects() { # CASE COMMAND...: all files of the ranks are protected, and nothing of what children have created
    rm -rf "$work/dir" && mkdir "$work/dir"
    timeout -s KILL 180 "$MPIEXEC" -n 3 "${@:2}" || return 1
    find "$work/dir" -type f | sort
    [ "$(find "$work/dir" -name 'data_*.xor.*.redset' | wc -l)" = 3 ] || return 1
    [ -z "$(find "$work/dir" -name 'child_*.redset*')" ] || return 1
    "$tool" status --verify "$work/dir"
}
forked() { protects "$1" "$bin/forked" "$1" "$work/dir"; }

check 'forked before MPI_Init' forked early
check 'forked before the driver was loaded' forked first
check 'forked after it was loaded, before it was used' forked loaded
check 'a child of a child' forked child
check 'whose parent has ended' forked orphan
check 'a child that executes another program' forked program
check 'a rank that was forked before MPI_Init' forked rank
check 'forked while a file is open and changed: it exits, the file stays the parent'"'"'s' forked open
check 'such a child that lives on is not in the way' forked stays

case ${REDSET_HDF5_PARALLEL:-OFF} in
    ON | TRUE | 1) ;; # brings its MPI: the parent would have it
    *)
        libmpi=$(ldd "$bin/ranks" | sed -n 's/.*libmpi[.]so.* => \([^ ]*\) .*/\1/p')
        private() {
            rm -rf "$work/dir" && mkdir "$work/dir"
            timeout -s KILL 180 "$MPIEXEC" -n 3 "$bin/serial_private" "$libmpi" "$work/dir" write forked || return 1
            [ "$(find "$work/dir" -name '*.xor.*.redset' | wc -l)" = 3 ]
        }
        [ -z "$libmpi" ] || check 'a rank that was forked by a process without MPI, and loads the driver last' private
        ;;
esac

finish
