#!/usr/bin/env bash
# Gets what is needed, builds, and runs tests in one ctest run, whose summary and exit status are this script's. Without
# arguments the rules of the house that need no build are tried beside it: the first results are there within seconds.
#
#   test/run.sh [--full | --nightly | --sanitize | --again] [--root SUITE] [-- CTEST-ARGUMENTS]
#
#   (nothing)    tests of every kind with the first HDF5 flavour of this machine, within some minutes
#   --full       all but the nightly tests, for every flavour and with the sanitizers: before you publish a change
#   --nightly    that and the long tests, and a parallel HDF5 where the system has none
#   --sanitize   only the build with the sanitizers
#   --again      on one more platform: what depends on it (docs/testing.md, "What runs where")
#   --root SUITE the quickstart and then this, on a fresh Debian of that name (sid) made in a directory, with MPICH; as root
#   -- ...       passed on to ctest, such as -R NAME, -L unit, -V
#
# Builds are kept in build/FLAVOUR and build/asan. With CI set, warnings are errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=1 nightly='' only_sanitize='' again='' suite='' how=()
while [ $# -gt 0 ]; do
    case $1 in
        --full) quick='' ;;
        --nightly) nightly=1 quick='' ;;
        --sanitize) only_sanitize=1 quick='' ;;
        --again) again=1 quick='' ;;
        --root) suite=${2:?"$1 wants the name of a Debian suite"}; shift 2; continue ;;
        --) shift; break ;;
        *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    how+=("$1")
    shift
done

if [ -n "$suite" ]; then
    REDSET_SETUP_PACKAGES=mmdebstrap . cmake/setup.sh
    # shellcheck source=test/root.sh
    . test/root.sh
    root=$(mktemp -d)
    trap 'rm -rf --one-file-system "$root"' EXIT
    trap 'exit 130' INT TERM HUP
    cache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/redset/ccache}/$suite
    redset_root_make "$suite" "$root"
    redset_root_fill "$root" "$cache"
    redset_root_run "$root" "$cache" bash -c "cd /src/main && $redset_root_settings && export REDSET_SETUP_MPICH=1 &&
        examples/quickstart.sh && exec test/run.sh \"\$@\"" run "${how[@]}" ${1+-- "$@"}
    exit
fi

export REDSET_SETUP_PARALLEL=${REDSET_SETUP_PARALLEL:-$nightly}
# shellcheck source=cmake/setup.sh
. cmake/setup.sh

first=${REDSET_HDF5_FLAVOURS%% *}
# What is neither built nor run. With the sanitizers what is made of waiting.
leave_out=('^asan/(unit[.]rendezvous|mpi[.].*[.]missing$)')
[ -n "$nightly" ] || leave_out+=('^asan/sweep[.]')
# Nor, unless it is asked for, what does the same thousands of times.
[ -n "$nightly$only_sanitize" ] || leave_out+=('^asan/unit[.](engine_(damage|faults|misfits|update|update_ends)|golden_sets|model|store_holes|tool_(deleted|generations)|kept_(cut|exchanged)|move_one_name|other_ranks|readers|replicas_faults|step_dirs|together|vfd_faults|decide|solve|crc64|kept_many)$')
# Of the other flavours what meets HDF5 and MPI. The first has the MPI of the others but MPICH, which Debian's clients are
# not for, nor mpicc.
for flavour in ${REDSET_HDF5_FLAVOURS#"$first"}; do
    leave_out+=("^$flavour/(house|docs|tool|bench|hang|lives|checks|cluster[.](loss|slurm|tool)|vfd[.]opens|install[.]mpich)")
    if [ "$flavour" = mpich ]; then leave_out+=("^$flavour/(clients|install)"); else leave_out+=("^$flavour/mpi"); fi
done
if [ -n "$again" ]; then # the compiler, the libraries below the engine, HDF5 and each MPI: a sample of each
    leave_out+=('/(sweep|fuzz|docs|bench|lives|hostile)[.]|/tool[.](changed|deleted|mv|renamed|scavenge|states|wait)$|/cluster[.](loss|tool|moved_one_name)$')
    leave_out+=('/unit[.](comm|decide|engine|golden_sets|model|move|names|no_memory_jobs|other_ranks|readers|rendezvous)')
    leave_out+=('/vfd[.](behind|changed|generation_alone|generation_list|generations|in_use|limits|mixture|odd|opens|orders|outside|plain|plain_far|reads|rename|rot)$')
    leave_out+=('/vfd[.](room|series|single|skip|sources|start_over|stats|status|team|two_jobs|uneven|without|deleted)$')
    leave_out+=('/cluster[.](absent|back|moved|moved_anew|moved_older|readers|root_clock|root_kept|scavenge|slurm)$')
    leave_out+=('/unit[.](renamed|replicas_faults|step_dirs|tool_(deleted|generations|looks)|vfd_faults)$|/mpi[.].*[.](np[28][.]missing|speed)$')
    leave_out+=('/house[.](arrows|bindings|circles|doxygen|format|hosts|links|patches|recovery|rooms|shell|states|words)$')
    leave_out+=('^mpich/vfd[.](driver|private|refused)$|^openmpi/(vfd[.](commit|together)|cluster[.]root)$|/unit[.]kept_exchanged$')
    case $REDSET_HDF5_FLAVOURS in *mpich*) leave_out+=('/install[.]mpich$') ;; esac # that is a flavour here
    [ "$first" = "$REDSET_HDF5_FLAVOURS" ] ||
        leave_out+=("^$first/(cluster|vfd[.](async|behind|commit|finalize|generation|mixture|odd|p(lain|rotected)|re|s(eries|ingle|kip|ources|tat)|team|together|uneven))")
fi

# quietly LOG COMMAND...: unless it fails or warns
quietly() {
    local log=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        cat "$log"
        echo "build: $dir failed" >&2
        return 1
    fi
    grep -A 5 'warning:' "$log" || true
}

# build NAME FLAVOUR [CMAKE-ARGUMENTS]
build() {
    local dir=build/$1 flavour=$2 args where rules_run='' built=0
    shift 2
    args=$(redset_cmake_args "$flavour")
    mapfile -t where <<<"$args"
    mkdir -p build
    echo "build: $dir"
    quietly "$dir.log" cmake -G Ninja -S . -B "$dir" "${where[@]}" -DREDSET_FLAVOUR="$flavour" \
        -DREDSET_TEST_PREFIX="${dir#build/}/" -DREDSET_TEST_LEAVE_OUT="$(IFS=';' && echo "${leave_out[*]}")" -DREDSET_WERROR="${CI:+ON}" "$@"
    if [ -n "$rules" ]; then
        ctest --test-dir "$dir" --output-on-failure -j "$(nproc)" -R "$rules" &
        rules_run=$!
    fi
    quietly "$dir.log" cmake --build "$dir" || built=$?
    [ -z "$rules_run" ] || wait "$rules_run" || status=$?
    legs+=" $dir"
    return "$built"
}

# What does not link HDF5 is built, and tested, with the first flavour only; so is what makes builds of its own.
legs='' status=0 rules=''
[ -z "$quick" ] || [ $# -gt 0 ] || rules='/house[.](arrows|bindings|doxygen|format|hosts|links|patches|recovery|rooms|sentences|states|words)$'
if [ -n "$quick" ]; then
    build "$first" "$first"
elif [ -z "$only_sanitize" ]; then
    build "$first" "$first"
    for flavour in ${REDSET_HDF5_FLAVOURS#"$first"}; do build "$flavour" "$flavour" -DREDSET_TEST_ENGINE=OFF; done
fi
[ -n "$again$quick" ] || build asan "$first" -DCMAKE_BUILD_TYPE=Debug -DREDSET_SANITIZE=ON

# A sample of what is tried at many points for every commit; other ones of it on the second platform; all at night. Of the sweeps one
# commit has one half, and the next the other.
half=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % 2 + 1))
[ -z "${CI:-}$again" ] || [ -n "$nightly" ] || export EVERY=${EVERY:-3} SWEEP_HALF=$half
[ -z "$again" ] || export EVERY_FROM=${EVERY_FROM:-1}
# One ctest run over all builds: a test file that names their directories.
for dir in $legs; do echo "subdirs(\"${dir#build/}\")"; done >build/CTestTestfile.cmake

select=(--label-exclude nightly)
[ -z "$nightly" ] || select=()
if [ -n "$quick" ] && [ $# = 0 ]; then # asked for by name, the long ones run as well
    select=(--label-exclude '^(nightly|long)$')
    leave_out+=("$rules") # which were tried
    export SWEEP_POINTS=${SWEEP_POINTS:-1} SWEEP_HALF=$half EVERY=${EVERY:-3}
fi
# One random point of each scene for every commit; more with --full by hand, all of them at night.
[ -z "${CI:-}" ] || [ -n "$nightly" ] || export SWEEP_POINTS=${SWEEP_POINTS:-1}
select+=(--exclude-regex "$(IFS='|' && echo "${leave_out[*]}")")
# What tests write is of no use afterwards, and they wait for the disk longer than they compute.
room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)
[ -n "${TMPDIR:-}" ] || [ "${room:-0}" -lt $((4 << 20)) ] || export TMPDIR=/dev/shm
# Two for each core, and one for each lane: cmake/tests.cmake
ctest --test-dir build --output-on-failure --no-tests=error -j "$((2 * $(nproc) + 4))" \
    "${select[@]}" "$@" || status=$?

[ -z "$quick" ] || echo 'test/run.sh --full runs the long tests, the other HDF5 flavours and the sanitizers as well'
# ctest names the skipped tests; the reasons are in its log
sed -n 's/^SKIP: */skipped: /p' build/Testing/Temporary/LastTest.log | sort | uniq -c || true
exit "$status"
