#!/usr/bin/env bash
# Gets what is needed, builds for every HDF5 flavour of this machine and with the sanitizers, and
# runs all tests in one ctest run, whose summary and exit status are this script's.
#
#   test/run.sh [--nightly] [--sanitize] [--again] [-- CTEST-ARGUMENTS]
#
#   --nightly    also the long tests, and a parallel HDF5 where the system has none
#   --sanitize   only the build with the sanitizers
#   --again      on one more platform: without sanitizers, sweeps, fuzz corpora, every loss on real ranks and the
#                engine's long tests, which it makes little difference to; ranks that do not come to 3 only, and the longest of
#                vfd and cluster with the last flavour only
#   -- ...       passed on to ctest, such as -R NAME, -L unit, -V
#
# Builds are kept in build/FLAVOUR and build/asan. With CI set, warnings are errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nightly='' only_sanitize='' again=''
while [ $# -gt 0 ]; do
    case $1 in
        --nightly) nightly=1 ;;
        --sanitize) only_sanitize=1 ;;
        --again) again=1 ;;
        --) shift; break ;;
        *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done

export REDSET_SETUP_PARALLEL=${REDSET_SETUP_PARALLEL:-$nightly}
# shellcheck source=cmake/setup.sh
. cmake/setup.sh

# build NAME FLAVOUR [CMAKE-ARGUMENTS]: quiet unless it fails or warns
build() {
    local dir=build/$1 flavour=$2 log=build/$1.log where
    shift 2
    where=$(redset_cmake_args "$flavour")
    mkdir -p build
    echo "build: $dir"
    if ! { cmake -G Ninja -S . -B "$dir" "$where" -DREDSET_FLAVOUR="$flavour" \
            -DREDSET_TEST_PREFIX="${dir#build/}/" -DREDSET_WERROR="${CI:+ON}" "$@" &&
           cmake --build "$dir"; } >"$log" 2>&1; then
        cat "$log"
        echo "build: $dir failed" >&2
        return 1
    fi
    grep -A 5 'warning:' "$log" || true
    legs+=" $dir"
}

legs=''
if [ -z "$only_sanitize" ]; then
    for flavour in $REDSET_HDF5_FLAVOURS; do build "$flavour" "$flavour"; done
fi
[ -n "$again" ] || build asan "${REDSET_HDF5_FLAVOURS%% *}" -DCMAKE_BUILD_TYPE=Debug -DREDSET_SANITIZE=ON

# One ctest run over all builds: a test file that names their directories.
for dir in $legs; do echo "subdirs(\"${dir#build/}\")"; done >build/CTestTestfile.cmake

select=(--label-exclude nightly)
[ -z "$nightly" ] || select=()
# What does not link HDF5, or makes builds of its own, is tested with the first flavour only.
first=${REDSET_HDF5_FLAVOURS%% *}
# With the sanitizers not what is made of waiting.
leave_out='^asan/(unit[.]rendezvous(_missing)?$|mpi[.].*[.]missing$)'
# Nor, unless it is asked for, what does the same thousands of times.
[ -n "$nightly$only_sanitize" ] || leave_out+='|^asan/unit[.](engine_faults|golden_sets|vfd_faults)$'
for flavour in ${REDSET_HDF5_FLAVOURS#"$first"}; do
    leave_out+="|^$flavour/(unit|mpi|house|sweep|fuzz|checks|hang|docs|tool|bench|cluster[.](loss|tool))"
done
[ -z "$again" ] || leave_out+='|/mpi[.].*[.]np[28][.]missing|/(sweep|fuzz)[.]|/unit[.](engine|golden_sets|rendezvous|comm)|/cluster[.]loss$'
[ -z "$again" ] || [ "$first" = "$REDSET_HDF5_FLAVOURS" ] || leave_out+="|^$first/(vfd[.](odd|async|protected)|cluster[.]back)"
select+=(--exclude-regex "$leave_out")
status=0
ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)" \
    "${select[@]}" "$@" || status=$?

# ctest names the skipped tests; the reasons are in its log
sed -n 's/^SKIP: */skipped: /p' build/Testing/Temporary/LastTest.log | sort | uniq -c || true
exit "$status"
