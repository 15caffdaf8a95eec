#!/usr/bin/env bash
# What an open, a creation or the first write takes is not to be had: an open or a creation of a file fails for want of descriptors,
# memory, inodes or quota, at any place of a step that reads, changes or creates over what is protected; or a call that makes a name;
# or there are no inodes from there on; or the directory may not be changed. On one rank, on more than can be rebuilt from the others, or
# on all: all ranks hear the same, and what is read afterwards is of one commit. And a rank that cannot look at its file, which may be lost, tells
# the others at once.
#
#   OPENS_STEP=N   every Nth open of each operation; of calls that make names every (N + 6) / 7th; 29
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
now=$work/now step=${OPENS_STEP:-29}
few=$(((step + 6) / 7))
declare -A errors=(
    [open]='24 12 28 122 23' # EMFILE ENOMEM ENOSPC EDQUOT ENFILE
    [name]='28 122'          # ENOSPC EDQUOT
    [inodes]='28 122'
    [readonly]='13 30'       # EACCES EROFS
)
export HDF5_DRIVER=redset

ranks() { # COMMAND SEED... with what is in $fault; the exit status in $status
    status=0
    timeout 120 "$mpiexec" -n 3 env "${fault[@]}" "$bin/ranks" "$1" "$now" 20000 "${@:2}" || status=$?
}
fault=()

# point WHAT OPERATION SEED NEW RANK AT ERROR
point() {
    rm -rf "$now" "$work/said" && cp -a "$work/made" "$now"
    fault=("LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD}" "FAIL_WHAT=$1" "FAIL_RANK=$5" "FAIL_AT=$6"
        "FAIL_ERRNO=$7" "FAIL_SAID=$work/said")
    ranks "$2" "$3"
    fault=()
    echo "$2, rank $5, $1 $6, errno $7: status $status"
    [ -e "$work/said" ] || return 0
    case $HDF5_DRIVER_CONFIG$status in
        *yes[023] | *no[0234]) ;; # what is not required need not go the same way on all ranks
        *) echo 'the ranks did not come to the same, or not in time' && return 1 ;;
    esac
    if [[ $status = 0 && $HDF5_DRIVER_CONFIG = *yes ]]; then ranks read "$4"; else ranks find 1 "$4"; fi
    [ "$status" = 0 ]
}

# points WHAT STEP OPERATION SEED NEW RANK: from the first on, until nothing fails any more
points() {
    local at=1 n=0 error
    read -ra error <<<"${errors[$1]}"
    while :; do
        point "$1" "${@:3}" "$at" "${error[n % ${#error[@]}]}" >>"$log" 2>&1 || return 1
        [ -e "$work/said" ] || break
        at=$((at + $2)) n=$((n + 1))
    done
    [ "$n" -gt 0 ]
}

# looks there|lost: the first looks of rank 1 fail, one at a time: who is refused hears of that
looks() {
    local at
    for at in 1 2 3 4 5 6; do
        rm -rf "$now" && cp -a "$work/made" "$now"
        [ "$1" != lost ] || rm "$now/data_1.h5"*
        fault=("LD_PRELOAD=$bin/libpreload_look.so${LD_PRELOAD:+:$LD_PRELOAD}" LOOK_RANK=1 "LOOK_AT=$at")
        ranks readwrite 1 >"$work/one" 2>&1
        fault=()
        cat "$work/one"
        case $status in
            0) ;;
            3) grep -q 'Input/output error' "$work/one" || return 1 ;;
            *) return 1 ;;
        esac
    done
}

settings() { export HDF5_DRIVER_CONFIG="timeout=10 required=$1"; }
settings yes
mkdir "$now"
check 'protected' ranks write 1
mv "$now" "$work/made"
for rank in 1 all; do
    check "read, rank $rank" points open "$step" read 1 1 "$rank"
    check "opened for change, rank $rank" points open "$step" readwrite 1 1 "$rank"
    check "changed, rank $rank" points open "$step" update 1:2 1:2 "$rank"
    check "created over, rank $rank" points open "$step" write 2 2 "$rank"
done
check 'a file that cannot be looked at' looks there
check 'a lost file that cannot be looked at' looks lost
# what fails, and what is required
ways=('name no' 'inodes yes' 'readonly yes') some=(others all)
[ "$step" -gt 1 ] || ways+=('name yes' 'inodes no' 'readonly no') some+=(1)
for way in "${ways[@]}"; do
    read -r what required <<<"$way"
    settings "$required"
    for rank in "${some[@]}"; do
        check "$what, changed, rank $rank, required=$required" points "$what" "$few" update 1:2 1:2 "$rank"
        check "$what, created over, rank $rank, required=$required" points "$what" "$few" write 2 2 "$rank"
    done
done
finish
