#!/usr/bin/env bash
# MPI_Finalize before H5Fclose, on 4 ranks: what is open is protected then (D3, P1), when it is complete (P2), on
# all ranks or on none (P4); changes.c and ranks.c say what each does. `timeout` is the watchdog (P5).
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
mpiexec=${MPIEXEC:-mpirun}
command -v "$mpiexec" >/dev/null || { echo "SKIP: no $mpiexec"; exit 77; }
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_settings
export HDF5_DRIVER=redset HDF5_PLUGIN_PATH HDF5_DRIVER_CONFIG='timeout=5'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

on_ranks() { timeout -s KILL 60 "$mpiexec" -np 4 "$@" >"$work/log" 2>&1; }
changes() { on_ranks "$REDSET_BUILD_DIR/test/vfd/changes" "$1" "$2" "$work/dir"; }
ranks() { on_ranks "$REDSET_BUILD_DIR/test/vfd/ranks" "$1" "$work/dir" 20000 1; }
begin() { rm -rf "$work/dir"; mkdir "$work/dir"; ranks write; }
lose() { rm -f "$work"/dir/data_"$1".h5*; }
is_as_before() { ranks read; }

check() { # check TEXT COMMAND...
    local text=$1 status=0
    shift
    "$@" || status=$?
    if [ "$status" = 0 ]; then echo "  ok      $text"; return; fi
    echo "  FAILED  $text"
    sed 's/^/          | /' "$work/log" | head -n 40
    failures=$((failures + 1))
}

survives_a_loss() { # survives_a_loss RANK: what is there now, without warnings
    ! grep -q 'not protected\|in vain' "$work/log" || return 1
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
changes create full || true # what HDF5 says of it is not the point
check 'could not be written completely: the old files are there, on all ranks' is_as_before

[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
