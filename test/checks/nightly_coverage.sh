#!/usr/bin/env bash
# How much of the engine and the driver the tests reach: built with --coverage, then unit tests, samples
# of sweeps, fuzz corpora, MPI and driver tests. Fails below 95 % of lines or 90 % of branches in all; and
# where parser, verification and commit have a branch that is neither taken nor named in coverage.known.
#
#   nightly_coverage.sh [CTEST-ARGUMENT...]     which tests; default: those of `select` below
#   COVERAGE_KEEP=1                             counts go on from the last run's
#
# A branch is one outcome of one condition, as gcc counts them without optimising. The table is also left in
# build/checks/coverage/table, every line and branch in lines.json beside it.
set -euo pipefail
CHECKS_NEED='python3:python3'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=test/checks/checks.sh
. "$here/checks.sh"

select=("$@")
[ $# -gt 0 ] || select=(--label-regex '^(unit|sweep|fuzz|mpi|vfd|hang|cluster)$' --label-exclude nightly)

# Ranks are threads. Children of sweeps leave with _exit: __gcov_dump has to be there (test/sweep/sweep.c).
checks_build coverage "$checks_source" -DCMAKE_BUILD_TYPE=None -DREDSET_BUILD_EXAMPLES=ON -DREDSET_FLAVOUR="$checks_flavour" \
    "-DCMAKE_C_FLAGS=--coverage -fprofile-update=atomic -O0 -g" \
    '-DCMAKE_EXE_LINKER_FLAGS=-Wl,-u,__gcov_dump'
checks_make all || { echo 'coverage: does not build'; exit 1; }
[ -n "${COVERAGE_KEEP:-}" ] || find "$build" -name '*.gcda' -delete

# What fails for want of memory, or because a call did, is most of what is hard to reach.
export SWEEP_POINTS=${SWEEP_POINTS:-40}
# A test that fails reaches too little, but that is for the other runs of it to say.
status=0
nice ctest --test-dir "$build" --no-tests=error --timeout 1800 "${select[@]}" </dev/null >"$build/ctest.log" 2>&1 ||
    status=$?
grep -E 'tests passed|\(Failed\)|\(Timeout\)' "$build/ctest.log" || true
# Of a nightly test a part, for what only real ranks reach when something fails.
[ $# -gt 0 ] || FAULTS_STEP=${FAULTS_STEP:-60} nice ctest --test-dir "$build" --no-tests=error --timeout 1800 \
    --tests-regex '^vfd\.faults$' </dev/null >>"$build/ctest.log" 2>&1 || status=$?
[ "$status" = 0 ] || checks_failed "tests with coverage; see $build/ctest.log"

counts=$build/counts
rm -rf "$counts"
mkdir -p "$counts"
(cd "$counts" && find "$build/CMakeFiles" -name '*.gcda' -exec gcov --json-format --branch-probabilities {} + >/dev/null)
python3 "$here/coverage.py" "$checks_source" "$here/coverage.known" "$build/lines.json" "$counts"/*.gcov.json.gz \
    >"$build/table" || checks_bad=$((checks_bad + 1))
cat "$build/table"
checks_end "coverage: $(grep -c '^encode/\|^vfd/' "$build/table") files"
