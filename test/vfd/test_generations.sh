#!/usr/bin/env bash
# Several generations of the files of four ranks are kept (keep=N), and older ones are opened (generation=), by all ranks and by
# one process without MPI; with losses, and where there is none such. ranks.c and driver.c are the programs; `timeout` is the
# watchdog (P5).
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}" "${REDSET_SOURCE_DIR:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
bin=$REDSET_BUILD_DIR/test/vfd
h5redset=$REDSET_BUILD_DIR/tools/h5redset
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
d=$work/now
export HDF5_DRIVER=redset

# job SETTINGS ACTION SEED [RANKS]: on 4 ranks, which all open their files
job() {
    HDF5_DRIVER_CONFIG="required=yes timeout=60 $1" timeout -s KILL 180 "$mpiexec" -n "${4:-4}" "$bin/ranks" "$2" "$d" 20000 "$3"
}
# alone SETTINGS ACTION FILE: one process without MPI
alone() { (cd "$d" && HDF5_DRIVER_CONFIG=$1 timeout -s KILL 180 "$bin/driver" "$2" "$3" | tee "$work/out" && ! grep -q FAILED "$work/out"); }
refused() { local status=0; "$@" || status=$?; [ "$status" = 3 ]; }
keep() { rm -rf "$work/kept" && cp -a "$d" "$work/kept"; }
restore() { rm -rf "$d" && cp -a "$work/kept" "$d"; }
lose() { local r; for r in "$@"; do rm "$d/data_$r".h5*; done; }
# older N: each rank has so many older generations
older() { local r; for r in 0 1 2 3; do [ "$(find "$d" -name "data_$r.h5.redset.*.data" -o -name "data_$r.h5.redset.*.undo" | wc -l)" = "$1" ] || return 1; done; }
# write SETTINGS SEED...: creates the files with each in turn
write() { local seed; mkdir -p "$d"; for seed in "${@:2}"; do job "$1" write "$seed" || return; done; }
said() { grep -q -- "$1" "$log" || { echo "not said: $1"; return 1; }; }
# one process sees in data_2.h5 what it saw when that was written
sum() { grep '^sum' "$work/out"; }

echo 'created over:'
check 'three of four are kept' all write keep=3 1 2 3 4 , older 2 , keep
check 'the newest' job keep=3 read 4
check 'the one before' job 'keep=3 generation=-1' read 3
check 'the one before that' job 'keep=3 generation=-2' read 2
check 'by its number' job 'keep=3 generation=3' read 3
check 'the newest, by its number' job 'keep=3 generation=4' read 4
check 'one that was retired: refused, and those that there are are named' all refused job 'keep=3 generation=-3' read 1 , \
    said 'no generation -3; there are, newest first: 4, 3, 2' , refused job 'keep=3 generation=1' read 1
check 'for change: refused' all refused job 'keep=3 generation=-1' readwrite 3 , said 'older generations are only read'
check 'nothing was changed' diff -r "$work/kept" "$d"

echo 'with losses:'
for g in 1 2; do
    restore
    check "a rank has lost all, generation -$g" all lose 1 , job "keep=3 generation=-$g" read $((4 - g)) , job "keep=3 generation=-$g" read $((4 - g))
    check 'then the newest' job keep=3 read 4
done
restore
check 'first the newest, then the one before: what came back is retired like all others' all lose 1 , job keep=3 read 4 , \
    job 'keep=3 generation=-1' read 3 , job keep=3 write 5 , job keep=3 write 6 , older 2
restore
check 'two ranks have: refused' all lose 1 2 , refused job 'keep=3 generation=-1' read 3
restore
check 'an older one is damaged' all flip "$(find "$d" -name 'data_3.h5.redset.*.data' | sort | tail -n 1)" 9000 , \
    job 'keep=3 generation=-1' read 3 , said 'was damaged, and was rebuilt (rank '
restore
check 'other ranks than wrote it' job 'keep=3 generation=-1' read 3 3
keep_that() { rm -rf "$work/that" && cp -a "$d" "$work/that"; }
unchanged() { diff -r -x '*.redset.names' "$work/that" "$d"; }
# lost RANK...: their data files of the one before the newest
lost() { local r; for r in "$@"; do rm "$(find "$d" -name "data_$r.h5.redset.*.data" | sort | tail -n 1)" || return; done; }
as_kept_of() { local f; for f in "$d/data_$1".*.data; do cmp "$f" "$work/kept/${f##*/}" || return; done; }
as_kept() { local f; for f in "$d"/*.data; do cmp "$f" "$work/kept/${f##*/}" || return; done; older 2; }
check 'the tool takes no generation for another' all lost 1 , keep_that , "$h5redset" rebuild "$d" , unchanged , eval "$h5redset status $d | grep -x '1 checkpoint: 1 healthy'"
for n in $(some 2 1 3); do
    restore
    check "$n ranks, and one that has come has lost it: rebuilt" all lost 0 , job 'keep=3 generation=-1' read 3 $n , said 'rebuilt' , as_kept
done
for n in $(some 3 1 2); do
    restore
    check "$n ranks, and one that has not come" all lost 3 , job 'keep=3 generation=-1' read 3 $n , job 'keep=3 generation=-1' read 3
done
restore
check '3 ranks, and two have lost it: refused' all lost 0 3 , keep_that , refused job 'keep=3 generation=-1' read 3 3 , said 'unrecoverable' , unchanged
restore
check '3 ranks, and one of them has lost all: that generation alone comes back' all lose 1 , job 'keep=3 generation=-1' read 3 3 , \
    not test -e "$d/data_1.h5" , as_kept_of 1
restore
check '3 ranks, and one is damaged: rebuilt' all flip "$(find "$d" -name 'data_2.h5.redset.*.data' | sort | tail -n 1)" 9000 , \
    job 'keep=3 generation=-1' read 3 3 , as_kept
restore
check '3 ranks, and an older one' all lost 1 , job 'keep=3 generation=-2' read 2 3
restore
check 'with files=' all lose 0 , job 'keep=3 files=data_*.h5 generation=-1' read 3

echo 'the newest cannot be had (fallback=):'
# made by others: what was protected last by SINGLE is lost with its node, and XOR protects what was before
rm -rf "$d"
check 'SINGLE over XOR' all write keep=2 6 , write 'keep=2 scheme=SINGLE' 7 , older 1 , keep
check 'nothing is lost: the newest' job fallback=yes read 7
check 'no: refused, and the older one is named' all lose 2 , refused job fallback=no read 6 , said 'number 1, is kept: generation=-1 opens it' , \
    refused job '' readwrite 6
check 'yes: that, on all ranks, and it is said' all job fallback=yes read 6 , said 'opened is generation 1, which is not the newest: generation 2'
check 'what is newer is still there' eval "ls $d/data_0.h5 $d/data_0.h5.*redset"
restore
check 'one more is lost than that covers: refused' all lose 1 2 , refused job fallback=yes read 6
restore
forget_newest() { rm "$d"/data_?.h5.[0-9].*redset "$d/data_2.h5"; }
check 'nothing is left that records the newest: the one before it' all forget_newest , job fallback=yes read 6 , said 'opened is generation 1, which is not the newest: generation 2'
restore
check 'that is changed' all forget_newest , job 'keep=2 fallback=yes' update 6:8 , job required=yes read 6:8
rm -rf "$d"
# of one rank an old copy is back, which has the files' name: that is no older generation that is kept
outdated() { write "$1" 6 && keep && write "$1" 7 && lose 1 2 3 && cp -a "$work/kept"/data_1.h5* "$d"; }
rm -rf "$d"
check 'keep=1, of one rank an old copy is back: refused, no older one is named, and none is tried' all outdated keep=1 , \
    refused job 'fallback=yes timeout=20' readwrite 7 , not said 'is kept: generation' , not said 'generation 1' , not said 'waiting for'
check 'by readers the same' all refused job 'fallback=yes timeout=20' read 7 , not said 'is kept: generation' , not said 'generation 1' , \
    not said 'waiting for'
rm -rf "$d"
check 'SINGLE over XOR, again' all write keep=2 6 , write 'keep=2 scheme=SINGLE' 7 , keep
# put_aside N: so many files are there, and so many that are no longer the newest; nothing is kept
put_aside() { [ "$(find "$d" -name 'data_?.h5.redset.*.newer' | wc -l)" = "$1" ] && older 0; }
go_on=(job 'keep=2 fallback=yes')
echo 'and the program goes on:'
check 'for change: no is refused, and that one is named' all restore , lose 2 , refused job fallback=no update 6:8 , \
    said 'number 1, is kept'
check 'yes: that becomes the newest, and is changed' all "${go_on[@]}" update 6:8 , said 'opened is generation 1, which is not the newest' , \
    said 'put aside, as \*.redset.' , job required=yes read 6:8
check 'what was newer is put aside, by each rank that has it' eval "[ \$(find $d -name '*.newer' | wc -l) = 3 ]"
for r in 0 1 3; do check "as it was on rank $r" cmp "$d/data_$r.h5.redset."*.newer "$work/kept/data_$r.h5"; done
check 'what it was before the change is kept' all older 1 , job 'generation=-1' read 6
check 'all is protected: another node is lost' all lose 1 , job required=yes read 6:8
check 'and next time there is nothing to say' all job 'keep=2 fallback=yes' readwrite 6:8 , not said 'not the newest'
check 'it goes with the file' all alone '' delete data_0.h5 , not eval "ls $d | grep data_0"
restore
check 'one more is lost than that covers: refused' all lose 1 2 , refused job fallback=yes update 6:8
check 'no more is kept, nor put aside' eval "! ls $d | grep newer"
# killed AT: rank 1 dies at its change number AT over an open that falls back; the next one goes on
killed() {
    rm -f "$work/died"
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=1 DIE_AT="$1" DIED=$work/died \
        HDF5_DRIVER_CONFIG='keep=2 timeout=20 fallback=yes' timeout -s KILL 180 "$mpiexec" -n 4 "$bin/ranks" readwrite "$d" 20000 6
    [ -e "$work/died" ]
}
for at in $(some 1 3 5 8 11 14 16 18 20); do
    restore
    check "a rank is killed over that, at change $at" all lose 2 , killed "$at" , "${go_on[@]}" take_up 6 , lose 3 , job required=yes read 6
done
# older ones that are kept as what leads back from the newest
rm -rf "$d"
check 'changed in place: the newest is lost' all write keep=3 1 , job keep=3 update 1:2 , write 'keep=3 scheme=SINGLE' 3 , lose 2 , \
    job 'keep=3 fallback=yes' readwrite 1:2 , job required=yes read 1:2 , job 'keep=3 generation=1' read 1
rm -rf "$d"
check 'lost in place: the same' all write keep=3 1 , job keep=3 update 1:2 , job 'keep=3 scheme=SINGLE' update 1:3 , rm "$d/data_2.h5" , \
    job 'keep=3 fallback=yes' take_up 1:2 , job 'keep=3 generation=1' read 1
rm -rf "$d"
check 'SINGLE over XOR again' all write keep=2 6 , write 'keep=2 scheme=SINGLE' 7 , keep
restore
check 'one process' all rm "$d/data_1.h5" , not alone '' open-read data_1.h5 , alone fallback=yes open-read data_1.h5

echo 'one process:'
rm -rf "$d"
check 'three of four are kept' all write keep=3 1 2 3 4 , keep
restore
check 'the newest' alone '' open-read data_2.h5 , sum
newest=$(sum)
is_other() { [ "$(sum)" != "$newest" ]; }
check 'the one before' all alone generation=-1 open-read data_2.h5 , is_other
before=$(sum)
is_the_same() { [ "$(sum)" = "$before" ]; }
one=$(find "$d" -name 'data_2.h5.redset.*.data' | sort | tail -n 1)
check 'the one before, damaged: rebuilt' all flip "$one" 9000 , alone generation=-1 open-read data_2.h5 , is_the_same , \
    cmp "$one" "$work/kept/${one##*/}"
check 'its data file is lost: rebuilt' all rm "$one" , alone generation=-1 open-read data_2.h5 , is_the_same , cmp "$one" "$work/kept/${one##*/}"
restore
# no redundancy file is left here of the newest, and the other ranks' files are not in sight
apart() { mkdir "$work/apart" && mv "$d"/data_[013].h5* "$work/apart" && rm "$d"/data_2.h5.2.*redset; }
check 'nothing records the newest: an older one is not taken for it' all apart , alone generation=3 open-read data_2.h5 , is_the_same , \
    alone generation=-1 open-read data_2.h5 , is_the_same , not alone generation=-3 open-read data_2.h5
restore
h5dump=${REDSET_HDF5_TOOLDIR:+$REDSET_HDF5_TOOLDIR/}h5dump
case ${REDSET_HDF5_PARALLEL:-}$(command -v "$h5dump") in
    TRUE* | ON* | '' | OFF | FALSE) echo '  left out: a tool: there is none that is linked with this HDF5' ;;
    *) check 'a tool' all env HDF5_DRIVER= "$h5dump" --vfd-name redset --vfd-info generation=-1 -H "$d/data_2.h5" , said part ;;
esac

echo 'in place:'
check 'changed in place, what it was stays' all rm -rf "$d" , write keep=2 1 , job keep=2 update 1:2 , older 1 , job keep=2 read 1:2 , \
    job 'keep=2 generation=-1' read 1 , keep
whole() { find "$d" -name "data_$1.h5.redset.*.data" | wc -l; }
back() { find "$d" -name "data_$1.h5.redset.*.undo" | wc -l; }
are() { [ "$(whole "$1") $(back "$1")" = "$2" ] || { echo "$(whole "$1") whole, $(back "$1") not"; return 1; }; }
rm -rf "$d"
check 'three, each of what has changed' all write keep=4 1 , job keep=4 update 1:2 , job keep=4 update 1:3 , job keep=4 update 1:4 , are 2 '0 3' , keep
check 'nothing may be written: refused, and it is said what to do' all refused job 'generation=-2 readonly_rebuild=no' read 1:2 , \
    said 'has to be made whole beside the file before it is read' , diff -r "$work/kept" "$d"
check 'the one in the middle: it is made whole, and so is what it rests on' all job generation=-2 read 1:2 , are 2 '2 1'
check 'then it is read where nothing may be written' job 'generation=-2 readonly_rebuild=no' read 1:2
check 'all of them' all job generation=-3 read 1 , job generation=-1 read 1:3 , job '' read 1:4 , are 0 '3 0'
restore
check 'a node is lost' all lose 2 , job generation=-3 read 1 , job generation=-1 read 1:3
restore
check 'the newest is lost on a node, and what rests on it' all lose 1 , job '' read 1:4 , job generation=-3 read 1
restore
check 'other ranks, all there' all job generation=-2 read 1:2 3 , are 2 '2 1'
restore
check 'other ranks, and a node is lost: what all have of it is made whole' all lose 0 , job generation=-2 read 1:2 3 , job '' read 1:4
restore
check 'other ranks, and the node of one that has not come' all lose 3 , job generation=-3 read 1 2 , job generation=-1 read 1:3 2
restore
check 'one process rebuilds one, of which the others are not whole' all lose 0 , alone generation=-2 open-read data_0.h5 , \
    job generation=-2 read 1:2
restore
check 'changed again with atomic=no: what was before stays' all job 'keep=4 atomic=no' update 1:5 , job generation=-1 read 1:3 , \
    job generation=-2 read 1:2
check 'retired from the oldest on' all job keep=2 update 1:6 , older 1 , job 'generation=-1' read 1:5

# journal_fails AT: what no older generation has is changed, and rank 2 can write no more to its undo journal from its write number AT on
journal_fails() {
    rm -f "$work/failed"
    LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD} FAIL_WHAT=journal FAIL_RANK=2 FAIL_AT="$1" FAIL_SAID=$work/failed \
        HDF5_DRIVER_CONFIG='timeout=60 keep=3 scheme=SINGLE' timeout -s KILL 180 "$mpiexec" -n 4 "$bin/changes" rewrite now "$d"
    [ -e "$work/failed" ]
}
# no_room AT: the files are created over, and rank 2 has no space for its name number AT of what is kept
no_room() {
    rm -f "$work/failed"
    LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD} FAIL_WHAT=keep FAIL_RANK=2 FAIL_AT="$1" FAIL_SAID=$work/failed \
        job keep=2 write 3
    [ -e "$work/failed" ]
}
said_once() { [ "$(grep -c -- "$1" "$log")" = 1 ] || { echo "not once: $1"; return 1; }; }
if [ "${REDSET_SANITIZE:-OFF}" = OFF ]; then
    for at in $(some 1 2 3); do
        rm -rf "$d"
        check "no space for what is kept, at name $at: the commit counts, and says so once" all write keep=2 1 2 , no_room "$at" , \
            said_once 'data_2.h5: generation 2 could not be kept by rank 2 on ' , not eval "ls '$d' | grep 'data_2.*redset.*[.]data'"
        check 'what the others have kept covers it' all job keep=2 read 3 , job 'keep=2 generation=-1' read 2
    done
    for at in 1 2; do
        rm -rf "$d"
        check "the undo journal cannot be written, from write $at on: what rests on the newest stays" all \
            write 'keep=3 scheme=SINGLE' 1 , job 'keep=3 scheme=SINGLE' update 1:2 , are 2 '0 1' , journal_fails "$at" , \
            job generation=1 read 1
    done
else
    echo 'SKIP: the undo journal cannot be written: preload_fail.c has a malloc of its own, as the sanitizer has'
fi
rm -rf "$d"
check 'one that is not whole' all write keep=2 1 , job keep=2 update 1:2 , keep
check 'and is rebuilt' all lose 3 , job 'keep=2 generation=-1' read 1 , job keep=2 read 1:2

echo 'and go:'
restore
check 'with a smaller keep' all write keep=1 5 , older 0 , job '' read 5 , not eval "ls $d | grep -e kept -e back"
restore
check 'with the file' all alone '' delete data_0.h5 , not eval "ls $d | grep data_0"

finish
