#!/usr/bin/env bash
# A time series that is held open and committed, and killed at random places: whatever call of any rank it is, all ranks go on from
# the last commit, bit for bit. link_commit_series.c has the judge: a copy of each file taken at each commit.
#
#   SERIES_KILLS=N   so many places; 12
#   SERIES_SEED=N    which ones; else others each time
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}" "${REDSET_SOURCE_DIR:?}"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
unset HDF5_DRIVER
bin=$REDSET_BUILD_DIR/test/vfd
kills=${SERIES_KILLS:-12} seed=${SERIES_SEED:-$RANDOM}
RANDOM=$seed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
    sed -n '1,20s/^/          | /p' "$work/log"
    exit 1
}

# How the series is held: case, settings, other environment. Each is begun anew, and killed in turn.
ways=('series||' 'series|keep=3|LATEST=1' 'anew||' 'grows|scheme=RS checksums=2|' 'anew|scheme=PARTNER|LATEST=1' 'series|verify=all|CLOSES=1')
points=0 died=0
for ((w = 0; w < ${#ways[@]}; w++)); do
    IFS='|' read -r case settings more <<<"${ways[w]}"
    HDF5_DRIVER_CONFIG="timeout=60 required=yes $settings"
    rm -rf "$work/dir" "$work/judge"
    mkdir "$work/dir" "$work/judge"
    goes "$case" ${more:+"$more"}
    [ "$status" = 0 ] || wrong "$case, $settings: begun: status $status"
    for ((i = w; i < kills; i += ${#ways[@]})); do
        at=$((1 + RANDOM % 180)) r=$((RANDOM % 4))
        rm -f "$work/died"
        goes "$case" ${more:+"$more"} "LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD}" "DIE_RANK=$r" "DIE_AT=$at" "DIED=$work/died"
        points=$((points + 1))
        if [ -e "$work/died" ]; then
            died=$((died + 1))
            ! grep -q 'not so:' "$work/log" || wrong "$case, $settings, rank $r killed at call $at"
        else
            [ "$status" = 0 ] || wrong "$case, $settings, rank $r not killed at call $at: status $status"
        fi
    done
    goes "$case" ${more:+"$more"}
    [ "$status" = 0 ] || wrong "$case, $settings: the last: status $status"
done
[ "$died" -gt 0 ] || wrong 'no rank was killed'
echo "series: $points points, $died killed there, 0 violations"
