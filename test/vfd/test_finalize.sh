#!/usr/bin/env bash
# MPI_Finalize before H5Fclose, on 4 ranks: what is open is protected then (P1), when it is complete (P2), on
# all ranks or on none (P4); changes.c and ranks.c say what each does. `timeout` is the watchdog (P5).
set -euo pipefail

: "${REDSET_FLAVOUR:?}"
# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='timeout=5'

on_ranks() { timeout -s KILL 180 "$mpiexec" -np 4 "$@" 2>&1 | tee "$work/said"; }
changes() { on_ranks "$bin/changes" "$1" "$2" "$work/dir"; }
ranks() { on_ranks "$bin/ranks" "$1" "$work/dir" 20000 1; }
begin() { rm -rf "$work/dir"; mkdir "$work/dir"; ranks write >/dev/null; }
lose() { rm -f "$work"/dir/data_"$1".h5*; }
is_as_before() { ranks read; }

survives_a_loss() { # survives_a_loss RANK: what is there now, without warnings
    ! grep -q 'not protected\|timed out' "$work/said" || return 1
    cp "$work/dir/data_$1.h5" "$work/before.h5"
    lose "$1"
    changes look now && cmp "$work/before.h5" "$work/dir/data_$1.h5"
}

begin
check 'created, not closed' changes create finalized
check 'it is protected' survives_a_loss 1
begin
check 'changed in place, not closed' changes update finalized
check 'it is protected' survives_a_loss 2
begin
check 'changed by one rank, open on all, not closed' changes one finalized
check 'it is protected' survives_a_loss 0
begin
changes create full >/dev/null || true # what HDF5 says of it is not the point
check 'could not be written completely: the old files are there, on all ranks' is_as_before

# As LAMMPS does with dump h5md. The watchdog is for what hangs; two whole timeouts are too much.
of_rank_0() {
    local start=$SECONDS
    rm -rf "$work/dir" && mkdir "$work/dir"
    HDF5_DRIVER_CONFIG='timeout=20' on_ranks "$bin/refused" left_open "$work/dir" || return 1
    [ $((SECONDS - start)) -lt 35 ]
}
said_once() { [ "$(grep -c "$1" "$work/said")" = 1 ] || { echo "not once: $1"; cat "$work/said"; return 1; }; }
check 'files of rank 0 only, not closed: one timeout is waited in all' of_rank_0
check 'it says so while it waits, and for whom' said_once '^redset: waiting for rank 1, 2, 3, at most 20 s'
for file in dump trace; do
    check "$file.h5: what became of it is said once" said_once "not protected: .*$file.h5: timed out"
done

# HDF5 keeps the id of a file that it could not close, which leads nowhere.
closes_badly() {
    rm -rf "$work/dir" && mkdir "$work/dir"
    # MPICH's mpiexec at times takes a rank that leaves by _exit right after MPI_Finalize for one that has died
    HDF5_DRIVER_CONFIG='timeout=2 required=yes' on_ranks "$bin/close_fails" "$1" "$work/dir" ||
        [ "$REDSET_FLAVOUR" = mpich ] || return 1
    [ "$(find "$work/dir" -name 'data_*.xor.*.redset' | wc -l)" = 4 ]
}
for how in refused object other; do
    check "an H5Fclose has failed before ($how): what is open is protected" closes_badly "$how"
done

finish
