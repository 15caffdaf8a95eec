#!/usr/bin/env bash
# Real ranks, one of which has a file call or a look at a name fail, or no memory, somewhere in the driver: all ranks come to
# the same, in time; a rank alone has an error only where it reads or writes for itself, between opening and closing
# together; and the next run finds what was protected, or what was being written, on all of them.
#
# Creating anew is left out: what the other ranks have written stays when one of them could not create its file.
#
#   FAULTS_STEP=N   every Nth allocation, call and look of each operation; 12
#   FAULTS_KINDS=L  of these: memory call look; all
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
step=${FAULTS_STEP:-12} points=0 violations=0
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes timeout=5'
dir=$work

# ranks COMMAND SEEDS [NAME=VALUE...]: exit status in $status
ranks() {
    local command=$1 seeds
    read -ra seeds <<<"$2"
    shift 2
    status=0
    timeout 120 "$mpiexec" -n 3 env "$@" "$bin/ranks" "$command" "$dir/now" 20000 "${seeds[@]}" >"$dir/log" 2>&1 ||
        status=$?
}
wrong() {
    violations=$((violations + 1))
    echo "VIOLATION $what: $*"
    sed -n '1,12s/^/          | /p' "$dir/log"
}

# one COMMAND SEED NEW LOST WHAT RANK AT: false when the operation does less than that
one() {
    local command=$1 seed=$2 new=$3 lost=$4
    what="$command${lost:+, rank $lost lost}, rank $6 $5 $7"
    rm -rf "$dir/now" "$dir/said"
    cp -a "$dir/made" "$dir/now"
    [ -z "$lost" ] || rm "$dir/now/data_$lost.h5"*
    local fault=("LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD}" "FAIL_WHAT=$5" "FAIL_RANK=$6" "FAIL_AT=$7"
        "FAIL_SAID=$dir/said")
    [ "$5" != look ] || fault=("LD_PRELOAD=$bin/libpreload_look.so${LD_PRELOAD:+:$LD_PRELOAD}" "LOOK_RANK=$6" "LOOK_AT=$7"
        "LOOK_SAID=$dir/said")
    ranks "$command" "$seed" "${fault[@]}"
    [ -e "$dir/said" ] || return 1
    points=$((points + 1))
    # HDF5 reads for this rank alone when the driver has opened the file for all
    [ "$status" != 4 ] || grep -q redset-DIAG "$dir/log" || status=2
    local apart=$status
    [ "$5" != look ] || [ "$status" != 3 ] || grep -qE 'Input/output error|cannot be read|could not be read' "$dir/log" ||
        wrong 'refused, and not for what has failed'
    case $status in 0 | 2 | 3) ;; *) wrong "status $status (4: not the same on all ranks, 124: in time)" ;; esac
    ranks read 1
    if [ "$status" = 5 ] && [ -n "$new" ]; then ranks read "$new"; fi
    if [ "$status" = 5 ] && [ -n "$new" ] && [ "$apart" = 2 ]; then ranks read "1 $new"; fi
    [ "$status" = 0 ] || wrong "the next run: status $status"
}

mkdir "$dir/now"
ranks write 1
[ "$status" = 0 ] || { cat "$dir/log"; exit 1; }
mv "$dir/now" "$dir/made"
for how in ${FAULTS_KINDS:-memory call look}; do
    for rank in 0 1; do
        at=$((1 + rank * step / 2))
        while one update 1:2 1:2 '' $how $rank $at; do at=$((at + step)); done
        [ $at -gt "$step" ] || { echo "no $how failed in an update"; exit 1; }
        at=$((1 + rank * step / 2))
        while one readwrite 1 '' 1 $how $rank $at; do at=$((at + step)); done
    done
done
echo "faults: $points points, $violations violations"
[ "$violations" = 0 ]
