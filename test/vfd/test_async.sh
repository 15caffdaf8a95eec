#!/usr/bin/env bash
# async=yes on 4 ranks: link_async.c says what each case does and checks what the program sees; here, what is
# said, and what a new job finds. `timeout` is the watchdog (P5). Ranks that stop or die meanwhile:
# test/hang/test_hang.sh.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"

# job CASE DIR: the exit status is mpirun's; what is said is in $log
job() {
    mkdir -p "$work/$2"
    timeout -s KILL 180 "$mpiexec" -np 4 "$bin/link_async" "$1" "$work/$2" >"$log" 2>&1
}
result() {
    if [ "$2" = 0 ]; then echo "  ok      $1"; return; fi
    echo "  FAILED  $1: $3"
    sed 's/^/          | /' "$log" | head -n 40
    failures=$((failures + 1))
}
# passes CASE [WORDS MIN MAX]: so many messages with these words, and no others but those that are always there
passes() {
    local status=0 n others
    job "$1" "$1" || status=$?
    if [ "$status" = 77 ]; then echo "SKIP: no MPI_THREAD_MULTIPLE"; exit 77; fi
    if [ "$status" != 0 ]; then result "$1" 1 "exit status $status"; return; fi
    sed -i '/^redset: .*closes of this rank were not protected/d' "$log" # the sum at the end: vfd.without
    n=$(grep '^redset: ' "$log" | grep -c -- "${2:-no such words}" || true)
    others=$(grep '^redset: ' "$log" | grep -v '^redset: waiting \|on one host\|rebuilt\|opened as they are\|opened unverified\|re-encoded' |
        grep -vc -- "${2:-no such words}" || true)
    if [ "$n" -lt "${3:-0}" ] || [ "$n" -gt "${4:-0}" ] || [ "$others" != 0 ]; then
        result "$1" 1 "$n messages with \"${2:-}\", $others others"
    else result "$1" 0; fi
}
# then_job CASE DIR: what a new job finds in the directory of the case before
then_job() {
    local status=0
    job "$1" "$2" || status=$?
    result "$2, then $1" "$status" "exit status $status"
}

passes wait
passes test
passes order
passes turns
passes mixed
passes reopen
passes delete
passes raw
passes changed 'rolled back to what was protected last' 1 4
passes same_call
passes baton 'not protected: .*/shared.h5: .*files=' 1 8
passes refused
passes fork
passes serialized MPI_THREAD_MULTIPLE 1 1
passes fails 'a_2.h5.2.redset' 1 4
passes lenient 'a_2.h5.2.redset' 1 4
passes finalize
then_job new finalize
for _ in 1 2 3; do # what it is about is there in each second one
    LD_PRELOAD=$bin/libpreload_busy.so${LD_PRELOAD:+:$LD_PRELOAD} passes in_mpi
done
then_job new in_mpi
job leave leave || true # mpirun does not like it
! grep -qi 'exited on signal\|segmentation' "$log" || result leave 1 'a rank has crashed'
! grep -q 'not so' "$log" || result leave 1 'before it left'
then_job any leave

[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
