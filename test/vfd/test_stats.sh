#!/usr/bin/env bash
# What protection has cost, on 4 ranks: link_stats.c compares the figures with what it knows; here, the report of rank 0:
# who is late, files that cannot be written, ranks that do not come (P5). `timeout` is the watchdog.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
mkdir "$work/dir"
program=$bin/link_stats

# job CASE SETTINGS: on 4 ranks; what is said is in $work/said
job() {
    HDF5_DRIVER_CONFIG="timeout=20 $2" timeout -s KILL 180 "$mpiexec" -np 4 "$program" "$1" "$work/dir" 2>&1 |
        tee "$work/said"
}
says() { grep -q -- "$2" "$1" || { echo "not in $1: $2"; cat "$1"; return 1; }; }
says_once() { [ "$(grep -c -- "$2" "$1")" = 1 ] || { echo "not once in $1: $2"; cat "$1"; return 1; }; }
silent() { ! grep '^redset: ' "$work/said" | grep -v 'on one host\|was rebuilt\|were rebuilt'; }
size() { stat -c %s "$work/dir/stat_$1.h5"; }

check 'a rank that is late: its figures' job late "report=$work/late.txt"
check 'it is named as the latest' says "$work/late.txt" '  latest:  rank 2 on [^ ]*; others waited up to [2-9]'
check 'all files are in it' says "$work/late.txt" '  protected  *12 files '
check 'nothing else is said' silent
check 'lost files: what was rebuilt' all rm "$work/dir/stat_1.h5" , job rebuild "report=$work/rebuild.json"
check 'it is in the report' says_once "$work/rebuild.json" \
    "\"rebuilt\": {\"files\": 1, \"bytes\": $(size 1)}"
check 'and what was verified' says "$work/rebuild.json" '"verified": {"files": 3,'
if command -v python3 >/dev/null; then
    check 'it is JSON' python3 -m json.tool "$work/rebuild.json"
fi
check 'files closed in the background' job async "async=yes report=stderr"
check 'the report is on standard error' says_once "$work/said" '^redset: what protecting stat_#.h5 cost; '
check 'and says what the background did' says "$work/said" '^  in the background  '
check 'two communicators' job split "report=$work/split.jsonl"
check 'a line for each of them' says "$work/split.jsonl" '"of": 2, "ranks": 2'
check 'two lines' eval "[ \$(wc -l <$work/split.jsonl) = 2 ]"
check 'one rank wants a report that rank 0 does not write' all job some "timeout=300 report=$work/some.txt" , not [ -e "$work/some.txt" ]
check 'no report unless it is asked for' all job rebuild '' , silent

check 'a report that cannot be written: the program is not disturbed' job rebuild "report=$work/none/report"
check 'it is told so, once' says_once "$work/said" \
    "^redset: the report on what protection cost is not written: $work/none/report "

# Which status mpirun gives to a job that a rank has left early is its own affair.
job missing "report=$work/missing.txt timeout=3" >/dev/null || true
check 'a rank does not come to MPI_Finalize: the others come out' all says "$work/said" '^rank 0 came out' , \
    says "$work/said" '^rank 1 came out' , says "$work/said" '^rank 2 came out'
check 'and rank 0 tells its own figures' says "$work/missing.txt" '^  only figures of this rank: not all ranks came'
check 'a rank comes there late: the job ends as any other' job tardy 'timeout=2'
job exit "report=$work/exit.txt" >/dev/null || true
check 'no MPI_Finalize: rank 0 tells its own figures' says_once "$work/exit.txt" \
    '^  only figures of this rank: MPI_Finalize was not called'

rm "$work/dir/stat_0.h5"
alone() { HDF5_DRIVER_CONFIG="report=$work/alone.txt" timeout -s KILL 180 "$program" alone "$work/dir"; }
check 'without MPI' alone
check 'the report comes when the process exits' all says_once "$work/alone.txt" ' cost; ' , \
    says "$work/alone.txt" '  rebuilt  *1 files '

finish
