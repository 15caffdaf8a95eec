#!/usr/bin/env bash
# The engine under valgrind's memcheck: unit tests, and a few cycles of sweep.calm. It sees what the
# sanitizers of the compiler do not: memory that is read before it was written, and memory that is lost by
# code that is not ours to build. One report fails this check.
#
#   nightly_valgrind.sh [PROGRAM...]     of test/unit and test/sweep
#
# Nothing of ours is suppressed; valgrind.supp names what other people's libraries do.
set -euo pipefail
CHECKS_NEED='valgrind:valgrind'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=test/checks/checks.sh
. "$here/checks.sh"

programs=("$@")
# Left out: one that forks a thousand times.
[ $# -gt 0 ] || mapfile -t programs < <(checks_programs unit | grep -vx test_vfd_faults && echo sweep_calm)

checks_build valgrind "$checks_source" -DCMAKE_BUILD_TYPE=None '-DCMAKE_C_FLAGS=-g -O1 -fno-omit-frame-pointer'
checks_make "${programs[@]}" || { echo 'valgrind: does not build'; exit 1; }

export REDSET_SOAK_CYCLES=12
# shellcheck disable=SC2054 # the commas are valgrind's
memcheck=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible
    --errors-for-leak-kinds=definite,possible --num-callers=30 --fair-sched=yes "--suppressions=$here/valgrind.supp")
rows=$'PROGRAM\tRESULT\tREPORTS\tSECONDS' total=0
for program in "${programs[@]}"; do
    start=$SECONDS status=0
    rm -f "$build/$program".vg.*
    checks_run 900 "$build/$program.log" "$program" "${memcheck[@]}" "--log-file=$build/$program.vg.%p" || status=$?
    n=$(cat "$build/$program".vg.* | grep -cE '^==[0-9]+== [^ ]' || true) # what follows is set in
    result=passed
    if [ "$status" != 0 ] && [ "$status" != 99 ]; then
        result="status $status"
        tail -n 15 "$build/$program.log"
        checks_failed "$program: status $status"
    fi
    if [ "$n" != 0 ] || [ "$status" = 99 ]; then
        result=reports
        cat "$build/$program".vg.* | head -n 60
        checks_failed "$program: reports; all of them are in $build/$program.vg.*"
    fi
    total=$((total + n))
    rows+=$'\n'"$program"$'\t'"$result"$'\t'"$n"$'\t'"$((SECONDS - start))"
done
printf '\n%s\n\n' "$(checks_table <<<"$rows")"
checks_end "valgrind: ${#programs[@]} programs, $total reports"
