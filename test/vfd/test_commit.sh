#!/usr/bin/env bash
# Files that are protected while they stay open: H5FDredset_commit, and H5Fflush with commit=flush, on 4 ranks and alone.
# link_commit.c compares what comes of it with what it knows. `timeout` is the watchdog.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
program=$bin/link_commit

anew() { rm -rf "$work/dir" "$work/judge"; mkdir "$work/dir" "$work/judge"; }
# on_ranks SETTINGS CASE [N]
on_ranks() {
    HDF5_DRIVER_CONFIG="timeout=30 $1" timeout -s KILL 180 "$mpiexec" -np 4 "$program" "$2" "$work/dir" "$work/judge" "${@:3}" >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    cat "$work/said"
    ! grep -q 'not so:' "$work/said"
}
# first SETTINGS CASE [N]: on 4 ranks that end without closing the file, which a launcher calls a failure
first() { anew; on_ranks "$@" || ! grep -q 'not so:' "$work/said"; }
# on SETTINGS CASE N: the same once more
on() { on_ranks "$@" || ! grep -q 'not so:' "$work/said"; }
job() { anew; on_ranks "$@"; }
look() { on_ranks "$1" look "$2"; }
alone() { ALONE=${ALONE:-0} HDF5_DRIVER_CONFIG=$1 timeout -s KILL 180 "$program" "$2" "$work/dir" "$work/judge" "${@:3}"; }
said_once() { [ "$(grep -c -- "$1" "$work/said")" = 1 ] || { echo "not once: $1"; cat "$work/said"; return 1; }; }
lose() { rm "$work/dir/data_$1.h5"*; }

check 'created, updated, created over: from commit to commit' job required=yes life
check 'where little has changed little is written' job required=yes little
check 'several ids of one file' job required=yes ids
check 'calls that cannot be' job 'required=yes files=data_*' wrong
check 'a rank that is late: an error on all, and the next one succeeds' job 'required=yes timeout=3' late
check 'a disk that is full: the same' job required=no full
case ${REDSET_HDF5_PARALLEL:-OFF} in
    OFF | FALSE) check 'MPI_Finalize with the file open' job required=yes finalize ;;
    *) echo '  left out: MPI_Finalize with the file open: a parallel HDF5 closes it there (T6)' ;;
esac
check 'with async=yes' job 'required=yes async=yes' life
check 'a process alone' all anew , alone scheme=SINGLE life

echo 'killed:'
check 'the last of five commits, with a rank lost' all first keep=3 series 5 , lose 2 , look keep=3 5
check 'the one before, and the one before that' all look 'keep=3 generation=-1' 4 , look 'keep=3 generation=-2' 3
check 'a file of one rank: what it committed' all first 'root=data_*' root , alone scheme=SINGLE look 1
check 'atomic=no: as long as nothing has changed' all first atomic=no plain , lose 1 , look '' 1
check 'opened for SWMR writing: the same' all first '' swmr , lose 1 , look '' 1
check 'SWMR writing was started: whatever has changed since' all first '' start_swmr , lose 1 , look '' 1

# stops NAME N: rank 1 stops when it renames a file whose name ends like that; the others are right all the same
stops() {
    job required=yes closed || return 1
    HDF5_DRIVER_CONFIG='required=yes timeout=4' timeout -s KILL 180 "$mpiexec" -np 4 env DIE_RANK=1 "STOP_AT=$1" \
        "LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD}" "$program" stopped "$work/dir" "$work/judge" "$2" || true
    [ -e "$work/judge/0.right" ] && [ -e "$work/judge/2.right" ] && [ -e "$work/judge/3.right" ]
}
check 'a rank stops in a commit before it is ready: the others may not change their files' stops .new 0
check 'and all go back to the commit before, or it was ready after all' on_ranks '' either 2
check 'a rank stops when the others have published: these go on' stops .redset.new 1
check 'and all go back to that commit' look '' 2

echo 'the example:'
series() {
    HDF5_DRIVER_CONFIG='required=yes timeout=60' timeout -s KILL 180 "$mpiexec" -np 4 "$REDSET_BUILD_DIR/examples/timeseries" "$work/$1" 500 50 \
        "${@:2}" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
}
# killed STEP: a rank kills itself there. What mpiexec ends with does not tell: that of MPICH is 0 now and then
killed() { series killed "$1" || true; ! grep -q '^step 500' "$work/said"; }
mkdir "$work/straight" "$work/killed"
check 'a time series' series straight
check 'another one is killed' killed 230
check 'its node is lost, it goes on from the last commit, and is killed again' all rm "$work/killed/series_2.h5"* , killed 420 , \
    said_once '^step 200: goes on'
# HDF5 2.2 says in the superblock of a file that was opened again another place for the same content.
same_values() { (unset HDF5_DRIVER && cd "$work/straight" && for f in series_?.h5; do h5diff "$f" "$work/killed/$f" || exit 1; done); }
check 'and ends as if nothing had been' all series killed , said_once '^step 400: goes on' , same_values

echo 'in the background, while the files are written on:'
export BEHIND=1
check 'nobody waits; a rank is late; a close over a commit' all job 'required=yes async=yes timeout=5' behind , look '' 5
check 'a disk that is full: an error, the file goes on, and the next commit has the label' all job 'required=yes async=yes set_size=2' behind_full , look '' 2
check 'commit=flush, a rank stands still: each flush says what became of the one before, on all ranks, and tries again' \
    job 'required=yes async=yes timeout=3 commit=flush' behind_flush
check 'what is said of it is said when the file is closed' all job required=yes closed , on_ranks 'required=yes async=yes' behind_first , \
    said_once 'all 4 ranks are on one host' , look '' 2
check 'a child that is forked meanwhile closes nothing of its parent' all job 'required=yes async=yes' child , look '' 2
check 'a time series is killed, twice' all first 'required=yes async=yes keep=2' series 12 , on 'required=yes async=yes keep=2' series 12
check 'and with a rank lost' all lose 1 , on 'required=yes async=yes keep=2' series 12
check 'created over, and larger' all first 'required=yes async=yes' anew 9 , on 'required=yes async=yes' grows 9

# moment THEN [HEAD]: rank 1 cannot keep what it overwrites while commit 2 is about to be published, and says so
moment() {
    job required=yes closed || return 1
    rm -rf "$work/moment" && mkdir "$work/moment"
    MOMENT=$work/moment MOMENT_RANK=1 MOMENT_HEAD=${2:-} MOMENT_CUT=${cut:-} LD_PRELOAD=$bin/libpreload_moment.so${LD_PRELOAD:+:$LD_PRELOAD} \
        on 'required=yes async=yes timeout=60' moment "$1" || return 1
    said_once 'data_1.h5: its old content could not be kept .*(rank 1 on ' && said_once 'could not be kept'
}
for head in '' and_its_head; do
    with=${head:+, nor said that it is not}
    check "what is overwritten cannot be kept$with, and the job dies before all have published: that commit counts" all \
        moment 0 $head , look verify=size 2
    check 'and for a process alone, which checks sizes only' all moment 0 $head , eval 'ALONE=1 alone verify=size look 2'
    cut=yes
    check 'the same where the others have published, and die before they are through' all moment 0 $head , look verify=size 2
    check 'and for a process alone' all moment 0 $head , eval 'ALONE=1 alone verify=size look 2'
    cut=''
    check 'the job dies when all have published' all moment 1 $head , look verify=size 2
    check 'or after the next commit' all moment 2 $head , lose 2 , look verify=size 3
done
unset BEHIND

echo 'commit=flush:'
check 'what is a commit, and what is not' job 'required=yes commit=flush' flush
check 'a rank cannot make its file as long as its content: the others hear of it' all first 'required=yes timeout=10 commit=flush' flush_cut , \
    grep -q 'could not be read, or written' "$work/said" , not grep 'timed out' "$work/said"
check 'a rank does not come: an error with required=yes' first 'required=yes timeout=3 commit=flush' flush_late 1
check 'and else a warning, said once' all first 'required=no timeout=3 commit=flush' flush_late 0 , said_once '^redset: not protected: .*timed out'

finish
