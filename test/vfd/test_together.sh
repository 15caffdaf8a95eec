#!/usr/bin/env bash
# Two files of each of four ranks are committed together (together=): when the last is closed, both or none, whichever call a
# rank is killed at. pair.c and link_group.c are the programs; `timeout` is the watchdog (P5). TOGETHER_STEP: every how many calls a rank is
# killed (default 9; 1: at each).
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
both='together=data_[0-9]*.h5,data_parts_*.h5'
export HDF5_DRIVER=redset

# job SETTINGS ARGUMENT...: pair, on 4 ranks
job() {
    HDF5_DRIVER_CONFIG="timeout=60 $1" timeout -s KILL 180 "$mpiexec" -n 4 "$bin/pair" "$d" "${@:2}"
}
fresh() { rm -rf "$d" && mkdir -p "$d"; }
lose() { rm -f "$d/data_$1".h5* "$d/data_parts_$1".h5*; }
said() { grep -q -- "$1" "$log" || { echo "not said: $1"; return 1; }; }
unsaid() { ! grep -q -- "$1" "$log"; }
# reads SETTINGS CONTENT: all ranks have that in both files
reads() { job "$1" read >"$work/out" || return; [ "$(tail -n 1 "$work/out")" = "$2 $2" ]; }
# the redundancy file of each names the other
recorded() { grep -qa data_parts_1.h5 "$d"/data_1.h5.1.*.redset && grep -qa data_1.h5 "$d"/data_parts_1.h5.1.*.redset; }
# killed ACTION AT CONTENT: rank 2 is, at that call of its files. False: it had not so many
killed() {
    local died=$work/died
    rm -f "$died"
    DIE_RANK=2 DIE_AT=$2 DIED=$died LD_PRELOAD=$bin/libpreload_die.so job "required=yes $both" "$1" "$3" >/dev/null 2>&1 || :
    [ -e "$died" ]
}
# either A B: both files have one of these contents
either() {
    job "$both" read >"$work/out" || return
    case $(tail -n 1 "$work/out") in "$1 $1" | "$2 $2") ;; *) cat "$work/out"; return 1 ;; esac
}

echo 'closed:'
fresh
check 'both, in different orders' all job "required=yes $both" write 1 , reads "$both" 1
check 'and each is recorded with the other' recorded
check 'changed in place' all job "required=yes $both" update 2 , reads "$both" 2 , recorded
lose 3
check 'a node is lost' all reads "$both" 2 , reads "$both" 2
check 'other settings on no rank: opened without together=' reads '' 2
check 'the first is opened before the second is closed: protected, and told' all job "required=yes $both" reopen 3 , \
    said 'is protected without data_parts_\*.h5' , reads "$both" 3
check 'an impossible setting' all not job 'together=data_*.h5' write 4 , said 'together cannot be'

echo 'by h5redset:'
fresh
tool_sees() { [ "$(HDF5_DRIVER='' "$tool" status "$d" | grep -c "^data_.*: XOR, 4 ranks\|data_.*h5.*  $1")" = "$2" ]; }
check 'two checkpoints, healthy' all job "required=yes $both" write 1 , tool_sees healthy 10
rm "$d"/data_parts_1.h5*
check 'a rank has lost one file of two' tool_sees lost 3
check 'and it is rebuilt, of that one only' all "$tool" rebuild "$d" , tool_sees healthy 10 , reads "$both" 1

echo 'dropped:'
# the older generations of one file of each rank are no longer those of the other; and nothing records the one that is left
apart() {
    local settings="required=yes keep=3 $both"
    fresh
    job "$settings" write 1 && job "$settings" write 2 && job "$settings" write 3 || return
    "$tool" drop --generation 2 "$d"/data_parts_?.h5 && rm "$d"/data_parts_?.h5.redset.*.data.*redset*
}
dropped() { grep -c "/$1.*: generation $2 dropped" "$log" | grep -qx 4; }
kept() { find "$d" -name "$1" | wc -l | grep -qx "$2"; }
check 'both have older generations, and not the same' all apart , kept 'data_[0-9].*.data' 8 , kept 'data_parts_*.data' 4
check 'the one before the newest, of each: of the other file none goes with it' all "$tool" drop --generation -1 "$d" , \
    dropped 'data_[0-9]' 2 , dropped data_parts_ 1 , kept 'data_[0-9].*.data' 4 , kept 'data_parts_*.data' 0

echo 'named by the program:'
group() { fresh && HDF5_DRIVER_CONFIG='required=yes timeout=60' timeout -s KILL 180 "$mpiexec" -n 4 "$bin/link_group" "$d" "$1"; }
check 'closed one after the other: one commit' group group
check 'renamed while it waits' group rename
check 'named again, also while one waits: the same group' group again
check 'what cannot be one' group wrong

if [ -n "${REDSET_SANITIZE:-}" ] && [ "$REDSET_SANITIZE" != OFF ]; then
    echo '  left out: ranks that are killed: the library for it cannot be loaded with the sanitizer'
else
    for action in write update; do
        echo "killed in $action:"
        fresh
        job "required=yes $both" write 1
        keep
        at=1
        while killed "$action" "$at" 2; do
            rm -rf "$work/left" && cp -a "$d" "$work/left"
            check "at call $at: both are old or both are new" either 1 2
            rm -rf "$d" && cp -a "$work/left" "$d"
            lose $((at % 4))
            check "at call $at, and a node is lost" either 1 2
            restore
            at=$((at + ${TOGETHER_STEP:-9}))
        done
    done
fi
finish
