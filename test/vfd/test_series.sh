#!/usr/bin/env bash
# A time series that is held open and committed, and killed at random places: whatever call of any rank it is, all ranks go on from
# the last commit, bit for bit. link_commit_series.c has the judge: a copy of each file taken at each commit.
#
#   SERIES_KILLS=N   so many places that are reached; 12. What is drawn behind a rank's last call is drawn again
#   SERIES_SEED=N    which ones; else others each time
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
kills=${SERIES_KILLS:-12} seed=${SERIES_SEED:-$RANDOM}
RANDOM=$seed
export HDF5_DRIVER_CONFIG

# goes CASE [NAME=VALUE...]: three commits, from where it is; 0 in $status when all is right
goes() {
    local case=$1
    shift
    status=0
    rm -f "$work/judge/"*.right
    timeout -s KILL 300 "$mpiexec" -np 4 env "$@" "$bin/link_commit" "$case" "$work/dir" "$work/judge" 3 >"$work/log" 2>&1 || status=$?
    [ "$(find "$work/judge" -name '*.right' | wc -l)" != 4 ] || status=0 # it does not call MPI_Finalize, by intent
}
wrong() {
    echo "VIOLATION $* (SERIES_SEED=$seed)"
    sed -n '1,400s/^/          | /p' "$work/log"
    exit 1
}

# How the series is held: case, settings, other environment. Each is begun anew, and killed in turn.
ways=('series||' 'series|keep=3|LATEST=1' 'anew||' 'grows|scheme=RS checksums=2|' 'anew|scheme=PARTNER|LATEST=1' 'series|verify=all|CLOSES=1')
missed=0 died=0
# A rank is killed at a place that is drawn; false: it did not come there, and all went well
draw() {
    local at=$((1 + RANDOM % 180)) r=$((RANDOM % 4))
    rm -f "$work/died"
    goes "$case" ${more:+"$more"} "LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD}" "DIE_RANK=$r" "DIE_AT=$at" "DIED=$work/died"
    if [ -e "$work/died" ]; then
        ! grep -q 'not so:' "$work/log" || wrong "$case, $settings, rank $r killed at call $at"
        return 0
    fi
    [ "$status" = 0 ] || wrong "$case, $settings, rank $r not killed at call $at: status $status"
    return 1
}
for ((w = 0; w < ${#ways[@]}; w++)); do
    IFS='|' read -r case settings more <<<"${ways[w]}"
    HDF5_DRIVER_CONFIG="timeout=60 required=yes $settings"
    rm -rf "$work/dir" "$work/judge"
    mkdir "$work/dir" "$work/judge"
    goes "$case" ${more:+"$more"}
    [ "$status" = 0 ] || wrong "$case, $settings: begun: status $status"
    for ((i = w; i < kills; i += ${#ways[@]})); do
        until draw; do
            missed=$((missed + 1))
            [ "$missed" -lt $((10 * kills)) ] || wrong "$case, $settings: most places are behind the last call"
        done
        died=$((died + 1))
    done
    goes "$case" ${more:+"$more"}
    [ "$status" = 0 ] || wrong "$case, $settings: the last: status $status"
done
# a lock that a close does not let go of at once, because somebody else looks at the file too
HDF5_DRIVER_CONFIG='timeout=60 required=yes'
rm -rf "$work/dir" "$work/judge"
mkdir "$work/dir" "$work/judge"
for again in 'begun' 'gone on with'; do
    goes series "LD_PRELOAD=$bin/libpreload_hold.so${LD_PRELOAD:+:$LD_PRELOAD}"
    [ "$status" = 0 ] || wrong "series, its locks held by somebody else as well, $again: status $status"
done
[ "$died" = "$kills" ] || wrong "only $died of $kills were killed"
echo "series: $died killed, $missed drawn behind the last call, 0 violations"
