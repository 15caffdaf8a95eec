#!/usr/bin/env bash
# Commits in the background (async=yes) that are held on rank 1, before each call in turn that they make to the file system, while the
# program writes on; or the program is, before each call of its write: no write fails, and what was committed is what it was
# (link_commit_pauses.c). The same where the job dies then: all ranks have that commit, or the one before. Each second time a rank is
# lost as well.
#
#   PAUSES_EVERY=N   where the job dies: each Nth call; 6
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
every=${PAUSES_EVERY:-6}
export BEHIND=1 MOMENT=$work/moment MOMENT_RANK=1

# ranks SETTINGS CASE [N]
ranks() {
    HDF5_DRIVER_CONFIG="timeout=60 required=yes $1" timeout -s KILL 180 "$mpiexec" -np 4 "$bin/link_commit" "$2" "$work/dir" "$work/judge" "${@:3}" \
        >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
}
paused() { LD_PRELOAD=$bin/libpreload_pause.so${LD_PRELOAD:+:$LD_PRELOAD} ranks "$@"; }
begin() {
    rm -rf "$work/dir" "$work/judge" "$MOMENT"
    mkdir "$work/dir" "$work/judge" "$MOMENT"
    ranks "$1" closed
}
all_were_right() { [ "$(find "$work/judge" -name '*.right' | wc -l)" = 4 ] || { cat "$work/said"; return 1; }; }

# dies SETTINGS HOW
dies() {
    local call n=0 lost
    for ((call = 1 + RANDOM % every; ; call += every)); do
        begin "$1" || return 1
        paused "$1 async=yes" pause_dies $((4 * call + $2)) >/dev/null || true # a launcher calls it a failure
        all_were_right || return 1
        if grep -q '^not held' "$work/said"; then break; fi
        lost=$((n++ % 2 ? 3 - n / 2 % 4 : -1))
        [ "$lost" -lt 0 ] || rm "$work/dir/data_$lost.h5"*
        ranks "$1" either 2 || { echo "held before call $call, rank $lost lost"; return 1; }
    done
    [ "$n" -gt 0 ] || { echo 'it was never held'; return 1; }
}

check 'the program writes on' all begin '' , paused async=yes pauses 0
check 'little changes, and the commit before is kept' all begin keep=2 , paused 'keep=2 async=yes' pauses 1
check 'the job dies' dies '' 0
check 'little has changed, and the commit before is kept' dies keep=2 1
every=$(((every + 1) / 2)) # a write makes few calls
check 'held before each call of the program, the commit goes on' all begin '' , paused async=yes pauses 2
check 'little changes, and the commit before is kept' all begin keep=2 , paused 'keep=2 async=yes' pauses 3
check 'the job dies' dies '' 2
check 'little has changed, and the commit before is kept' dies keep=2 3
finish
