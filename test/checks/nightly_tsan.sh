#!/usr/bin/env bash
# The engine with the thread sanitizer: ranks are threads over the local transport in the unit tests
# that use it, and in every sweep. A race that is seen fails this check.
#
#   nightly_tsan.sh [PROGRAM...]     of test/unit and test/sweep; default: all in which ranks are threads
#
# The programs link Open MPI for its symbols, but never start it, so nothing has to be suppressed.
set -euo pipefail
# shellcheck source=test/checks/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

flags='-fsanitize=thread -g -O1 -fno-omit-frame-pointer'
echo 'int main(void) { return 0; }' | cc -fsanitize=thread -x c -o /dev/null - 2>/dev/null ||
    { echo 'SKIP: the compiler has no thread sanitizer'; exit 77; }

programs=("$@")
if [ $# -eq 0 ]; then
    for program in $(checks_programs unit); do
        [ "$program" != test_vfd_faults ] || continue # forks a thousand times, around threads tried here anyway
        ! grep -qE 'rset_local_run|"(job|twice|comm_local|comm_ranks|rendezvous_ranks|background|updates|engine_damage)\.h"' "$checks_source/test/unit/$program.c" ||
            programs+=("$program")
    done
    mapfile -t -O "${#programs[@]}" programs < <(checks_programs sweep)
fi

checks_build tsan "$checks_source" -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=$flags"
checks_make "${programs[@]}" || { echo 'tsan: does not build'; exit 1; }

# Reports go to files, so that those of children which end with _exit count as well. setarch: newer kernels
# spread addresses wider than the sanitizer of gcc 12 can take. What was killed leaves its threads behind.
reports=$build/reports
rm -rf "$reports"
mkdir -p "$reports"
export TSAN_OPTIONS="log_path=$reports/r suppress_equal_stacks=1 history_size=4 exitcode=0 report_thread_leaks=0"
rows=$'PROGRAM\tRESULT\tREPORTS\tSECONDS' total=0
for program in "${programs[@]}"; do
    start=$SECONDS status=0
    checks_run 3000 "$build/$program.log" "$program" setarch -R || status=$?
    n=$(find "$reports" -name 'r.*' -exec cat {} + | grep -c '^WARNING: ThreadSanitizer' || true)
    result=passed
    if [ "$status" != 0 ]; then
        result="status $status"
        tail -n 15 "$build/$program.log"
        checks_failed "$program: status $status"
    fi
    if [ "$n" != 0 ]; then
        mkdir -p "$reports/$program"
        find "$reports" -maxdepth 1 -name 'r.*' -exec mv -t "$reports/$program" {} +
        cat "$reports/$program"/* | head -n 60
        checks_failed "$program: $n reports; all of them are in $reports/$program"
    fi
    total=$((total + n))
    rows+=$'\n'"$program"$'\t'"$result"$'\t'"$n"$'\t'"$((SECONDS - start))"
done
printf '\n%s\n\n' "$(checks_table <<<"$rows")"
checks_end "tsan: ${#programs[@]} programs, $total reports"
