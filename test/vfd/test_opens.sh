#!/usr/bin/env bash
# An open or a creation of a file fails, on one rank or on all, for want of descriptors, memory, inodes or quota, at any place of a
# step that reads, changes or creates over what is protected: all ranks hear the same, and what is read afterwards is of one commit.
#
#   OPENS_STEP=N   every Nth open of each operation; 29
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}" "${REDSET_SOURCE_DIR:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
bin=$REDSET_BUILD_DIR/test/vfd
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log now=$work/now step=${OPENS_STEP:-29}
errors=(24 12 28 122 23) # EMFILE ENOMEM ENOSPC EDQUOT ENFILE
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes timeout=3'

ranks() { # COMMAND SEED... with what is in $fault; the exit status in $status
    status=0
    timeout 60 "$mpiexec" -n 3 env "${fault[@]}" "$bin/ranks" "$1" "$now" 20000 "${@:2}" || status=$?
}
fault=()

# point OPERATION SEED NEW RANK AT ERROR
point() {
    rm -rf "$now" "$work/said" && cp -a "$work/made" "$now"
    fault=("LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD}" FAIL_WHAT=open "FAIL_RANK=$4" "FAIL_AT=$5"
        "FAIL_ERRNO=$6" "FAIL_SAID=$work/said")
    ranks "$1" "$2"
    fault=()
    echo "$1, rank $4, open $5, errno $6: status $status"
    [ -e "$work/said" ] || return 0
    case $status in 0 | 2 | 3) ;; *) echo 'the ranks did not come to the same, or not in time' && return 1 ;; esac
    if [ "$status" = 0 ]; then ranks read "$3"; else ranks find 1 "$3"; fi
    [ "$status" = 0 ]
}

points() { # OPERATION SEED NEW RANK
    local at=1 n=0
    while :; do
        point "$1" "$2" "$3" "$4" "$at" "${errors[n % ${#errors[@]}]}" >>"$log" 2>&1 || return 1
        [ -e "$work/said" ] || break
        at=$((at + step)) n=$((n + 1))
    done
    [ "$n" -gt 0 ]
}

mkdir "$now"
check 'protected' ranks write 1
mv "$now" "$work/made"
for rank in 1 all; do
    check "read, rank $rank" points read 1 1 "$rank"
    check "opened for change, rank $rank" points readwrite 1 1 "$rank"
    check "changed, rank $rank" points update 1:2 1:2 "$rank"
    check "created over, rank $rank" points write 2 2 "$rank"
done
finish
