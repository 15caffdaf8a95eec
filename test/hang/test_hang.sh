#!/usr/bin/env bash
# Nothing hangs (P5): ranks that do not come, stop, die, or do something else than the others, on real
# MPI. Each case is a run of its own; what has to come of it is said in hang_strike.c, hang_differ.c and
# link_again.c.
# Files of one rank, inputs, order, probes, ends: test/vfd/test_odd.sh.
#
#   test_hang.sh [REGEX]   only the cases that match
#   EVERY=N                every Nth case only; 1 (test/support/script.sh)
#
# Nothing here is decided by how long something takes, but for "four times the timeout": redset promises
# one and a second. A few cases run at a time: most of them wait.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
# shellcheck source=test/support/script.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/test/support/script.sh"
export HDF5_PLUGIN_PATH
unset HDF5_DRIVER HDF5_DRIVER_CONFIG
bin=$REDSET_BUILD_DIR/test/hang
work=$(mktemp -d)
limit=4 # seconds: the timeout of redset
watchdog=${HANG_WATCHDOG:-180}
only=${1:-}
at_once=${HANG_AT_ONCE:-8}
trap 'rm -rf "$work"' EXIT # processes that are left end with their mpirun, see mpi_job.c
ncases=0

# job RANKS PROGRAM ARGUMENT...: the exit status is mpirun's, or 124 or 137 if the watchdog ended it
job() {
    local n=$1 program=$2
    shift 2
    timeout --kill-after=5 "$watchdog" "$mpiexec" -np "$n" "$bin/$program" "$@" </dev/null >>"$log" 2>&1
}
# Did it end by itself? 137 is the watchdog's last word, but also mpirun's when a rank was killed.
ended() { [ "$1" != 124 ] && [ $((SECONDS - begun)) -lt "$watchdog" ]; }

# stopped OPERATION STEP N RANK: it is stopped there, goes on when the others are done
stopped() {
    job 4 hang_strike strike "$dir" "$limit" "$1" "$2" "$3" stop "$4" && job 4 hang_strike check "$dir" 20
}

# Processes that were killed hold their files until they have ended, a moment after their mpirun.
gone() {
    local tries=100
    while [ $((tries--)) -gt 0 ]; do
        [ -n "$(find /proc/[0-9]*/task/[0-9]*/fd -lname "$dir/*" -print -quit 2>/dev/null)" ] || return 0
        sleep 0.1
    done
    echo 'the ranks have not closed their files' >>"$log"
    return 1
}

# dies HOW OPERATION STEP N RANK: mpirun ends the job, or the others end by themselves
dies() {
    local status=0 begun=$SECONDS
    job 4 hang_strike strike "$dir" "$limit" "$2" "$3" "$4" "$1" "$5" || status=$?
    [ "$status" != 0 ] || { echo 'the rank was to end, and did not' >>"$log"; return 1; }
    ended "$status" && gone && ! grep -q 'hang_.*\.c:[0-9]*: rank' "$log" && job 4 hang_strike check "$dir" 20
}

# background COMMAND...: the same with async=yes
background() { HANG_ASYNC=1 "$@"; }

differs() { job 4 hang_differ differ "$dir" "$limit" "$1"; }

again() { job 4 link_again again "$dir" "$limit" "$1"; }

exits() { # the launcher may end the others, or not
    local status=0 begun=$SECONDS
    job 4 hang_differ differ "$dir" "$limit" exits || status=$?
    ended "$status"
}

tree() { (cd "$dir" && stat -c '%n %s %y' -- * && sha256sum -- *); }

# rank 2 cannot open its file; the ranks of this job were never together before
unopenable() {
    job 4 hang_differ write "$dir" 20 || return 1
    mv "$dir/ckpt_2.h5" "$dir/kept"
    ln -s ckpt_2.h5 "$dir/ckpt_2.h5"
    job 4 hang_differ reopen "$dir" 20 0 && grep -qx refused "$log" && ! grep -q 'timed out' "$log" &&
        [ "$(grep -c 'could not be opened: .*errno = 40' "$log")" = 4 ]
}

# reopened RANKS SHIFT opened|refused [LOST [all]]: the file of rank LOST is missing, or its redundancy too
reopened() {
    local before
    job 4 hang_differ write "$dir" 20 || return 1
    [ -z "${4:-}" ] || rm "$dir/ckpt_$4.h5"
    [ "${5:-}" != all ] || rm "$dir/ckpt_$4.h5."*
    before=$(tree)
    job "$1" hang_differ reopen "$dir" 20 "$2" && grep -qx "$3" "$log" || return 1
    [ "$3" = opened ] || diff <(echo "$before") <(tree) >>"$log"
}

# one COMMAND...: a case, in a directory of its own
one() {
    local dir log
    dir=$(mktemp -d "$work/case.XXXXXX")
    log=$dir.log
    if "$@"; then
        echo "  ok      $*"
    else
        { echo "  FAILED  $*"; head -n 60 "$log" | sed 's/^/          | /'; } | tee "$dir.failed"
    fi
    rm -rf "$dir"
}

# try COMMAND...: the same, some at a time
try() {
    [[ -z $only || "$*" =~ $only ]] || return 0
    due || return 0
    ncases=$((ncases + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
    one "$@" &
}

# a rank stops: before, in the middle of and after the rendezvous, the encoding, the rebuilding
try stopped first before 0 1
try stopped first before 0 0
try stopped first send 1 2
try stopped first send 4 3
try stopped update before 0 3
try stopped update send 1 1
try stopped update send 30% 2
try stopped update send 50% 0
try stopped update send 60% 1
try stopped update send 100% 1
try stopped update sync 1 2
try stopped update rename 100% 1
try stopped update after 0 0
try stopped open before 0 1
try stopped open send 50% 2
try stopped rebuild send 1 2
try stopped rebuild send 50% 1
try stopped rebuild sync 1 2
try stopped rebuild after 0 3
# a rank dies
try dies kill first send 2 1
try dies kill update before 0 2
try dies kill update send 40% 0
try dies kill update rename 1 2
try dies kill open send 50% 1
try dies kill rebuild sync 50% 2
try dies kill rebuild rename 100% 2
try dies exit update send 50% 3
try dies exit rebuild send 60% 1
try exits
try unopenable
# the same while the program has gone on
try background stopped first before 0 0
try background stopped first send 4 3
try background stopped update send 30% 2
try background stopped update send 60% 1
try background stopped update sync 1 2
try background stopped update rename 100% 1
try background dies kill update send 40% 0
try background dies kill update sync 50% 2
try background dies kill update rename 1 2
try background dies kill update rename 100% 1
try background dies exit update send 50% 3
# ranks disagree
for name in scheme parity replicas set_size scheme_lenient not_covered timeout name order read_only create \
    no_driver no_plugin no_driver_open no_driver_lost unopenable absent_first absent_root_first absent absent_root absent_others \
    absent_open absent_lost absent_damaged; do
    try differs "$name"
done
for name in late aside same set; do try again "$name"; done
try background again same
# another number of ranks, or in another order
try reopened 3 0 opened
try reopened 3 0 opened 1
try reopened 2 0 opened
try reopened 2 0 opened 1 all
try reopened 1 0 opened 2 all
try reopened 1 0 opened
try reopened 5 0 refused
try reopened 5 0 refused 3 all
try reopened 4 1 opened
try reopened 4 1 opened 2
try reopened 4 3 opened 2 all
wait

failed=$(find "$work" -name '*.failed' | wc -l)
echo "hang: $ncases cases, $failed failed"
[ "$failed" = 0 ]
