#!/usr/bin/env bash
# HDF5's own test programs, those it runs over each of its file drivers (test/CMakeVFDTests.cmake), must
# end under ours as they end with sec2:
#
#   sec2      as HDF5 comes, the measure for the others
#   redset    HDF5_DRIVER=redset, one process, no MPI
#   4 ranks   the same programs on 4 ranks in step, each in a directory of its own: MPI is brought in by
#             test/vfd/preload_mpi.c, so every file that is closed is protected, with the other ranks
#
# HDF5 and its programs are built once, in the cache of cmake/setup.sh; the plugin is built here against
# that HDF5, so that there is one libhdf5 in the process whatever the machine has.
#
#   nightly_hdf5_suite.sh [PROGRAM...]     all by default
#   SUITE_LEGS   "sec2 redset ranks"
#   SUITE_KEEP   a directory for what the programs print: PROGRAM.LEG.RANK
set -euo pipefail

ranks=4 limit=900 # seconds, for one program
if [ "${1:-}" != --rank ]; then
    if [ "${REDSET_HDF5_PARALLEL:-OFF}" != OFF ]; then
        echo 'SKIP: needs no parallel HDF5, and is run for the serial one'
        exit 77
    fi
    # shellcheck source=cmake/setup.sh
    REDSET_SETUP_QUIET=1 . "${REDSET_SOURCE_DIR:?}/cmake/setup.sh"
    legs=${SUITE_LEGS:-sec2 redset ranks}
    export SUITE_DIR=$redset_cache/hdf5-$redset_hdf5_version-tests
    cores=$(nproc)
fi
suite=$SUITE_DIR

# The programs leave out what special drivers cannot do, by the driver's name; they are told that it is
# sec2, so that they leave out nothing. But not these:
declare -A by_its_name=([onion]='the onion driver stands on sec2 only')

# ---- programs ----

# The names in set (WHAT ...) of a CMake file.
cmake_list() {
    sed -n "/^ *set ($2\$/,/^ *)/p" "$1" | sed -e 1d -e '/^ *)/,$d' -e 's/#.*//' | tr -s ' \n' '\n' | grep .
}

# As CMakeVFDTests.cmake chooses: all but some, of which Unix takes two back.
program_names() {
    local skip
    skip=$(cmake_list "$1/test/CMakeVFDTests.cmake" H5_VFD_SKIP_TESTS | grep -vxE 'big|cache')
    { cmake_list "$1/test/CMakeLists.txt" H5_EXPRESS_TESTS
      cmake_list "$1/test/CMakeLists.txt" H5_TESTS; } | grep -vxF "$skip"
    echo fheap # has an option of its own, which is on
}

# HDF5 as redset_private_hdf5 builds it, and its test programs. Moved to its place when it is complete.
build_suite() (
    [ ! -d "$suite" ] || exit 0
    redset_workdir
    exec 9>"$redset_cache/lock"
    flock 9
    [ ! -d "$suite" ] || exit 0
    src=$(redset_hdf5_source)
    mapfile -t names < <(program_names "$src")
    [ ${#names[@]} -gt 50 ]
    echo "building HDF5 $redset_hdf5_version and ${#names[@]} of its test programs into $suite"
    # shellcheck disable=SC2016
    redset_logged 'configuring HDF5' cmake -S "$src" -B "$tmp/build" -G Ninja \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$suite" -DCMAKE_INSTALL_RPATH="$suite/lib" \
        -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DCMAKE_BUILD_RPATH='$ORIGIN/../lib' \
        -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF -DBUILD_TESTING=ON -DHDF5_NO_PACKAGES=ON \
        -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF \
        -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
        -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_THREADSAFE=ON
    redset_logged 'building HDF5' nice cmake --build "$tmp/build" -j "$cores" \
        --target "${names[@]}" mirror_server mirror_server_stop # installing wants these two
    DESTDIR=$tmp/root redset_logged 'installing HDF5' cmake --install "$tmp/build"
    mkdir -p "$tmp/root$suite/bin" "$tmp/root$suite/srcdir"
    for name in "${names[@]}"; do mv "$tmp/build/bin/$name" "$tmp/root$suite/bin/"; done
    mv "$tmp/build/bin/"libhdf5_test*.so* "$tmp/root$suite/bin/"
    find "$src/test" -maxdepth 1 -name '*.h5' -exec cp -t "$tmp/root$suite/srcdir" {} +
    cp -r "$src/test/testfiles" "$tmp/root$suite/srcdir/"
    printf '%s\n' "${names[@]}" >"$tmp/root$suite/programs"
    mv -T "$tmp/root$suite" "$suite"
)

# The plugin for that HDF5, and what makes a program an MPI program.
build_plugin() {
    cmake -S "$REDSET_SOURCE_DIR" -B "$work/plugin" -G Ninja -DHDF5_ROOT="$suite" >"$work/build.log" 2>&1 &&
        nice cmake --build "$work/plugin" --target hdf5_vfd_redset preload_mpi preload_fapl >>"$work/build.log" 2>&1 &&
        return 0
    cat "$work/build.log"
    return 1
}

# ---- runs ----

# Runs "$@" in the directory $1, with a copy of what the programs read; its exit status is in $2.status.
in_place() {
    local dir=$1 out=$2 status
    shift 2
    mkdir -p "$dir"
    [ -d "$dir/testfiles" ] || cp -r "$suite/srcdir/." "$dir"
    cd "$dir"
    set +e # and some that fail print without end
    { srcdir=$dir timeout --kill-after=10 "$limit" "$@" 2>&1 </dev/null; } | head -c 10000000 >"$out"
    status=${PIPESTATUS[0]}
    set -e
    echo "$status" >"$out.status"
}

if [ "${1:-}" = --rank ]; then # one of the ranks that `run` below starts
    shift
    rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:?}}
    in_place "$SUITE_FILES/$rank" "$SUITE_OUT.$rank" \
        env LD_PRELOAD="$SUITE_PRELOAD" RSET_TEST_PRELOAD_MPI=1 "$@"
    exit 0 # a rank that fails does not end the others
fi

# run PROGRAM LEG: leaves $out/PROGRAM.LEG.RANK and its .status
run() (
    program=$1 leg=$2 files=$work/files/$1.$2 started=$SECONDS
    [ "$program" != flush2 ] || files=$work/files/flush1.$leg # looks at what that one left
    [ -n "${by_its_name[$program]:-}" ] || export RSET_TEST_LIKE_SEC2=1
    case $leg in
        sec2) in_place "$files/0" "$out/$program.$leg.0" "$suite/bin/$program" ;;
        redset)
            HDF5_DRIVER=redset in_place "$files/0" "$out/$program.$leg.0" \
                env LD_PRELOAD="$preload/libpreload_fapl.so" "$suite/bin/$program" ;;
        ranks)
            SUITE_FILES=$files SUITE_OUT=$out/$program.$leg \
                SUITE_PRELOAD=$preload/libpreload_mpi.so:$preload/libpreload_fapl.so \
                HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="timeout=30" \
                "$MPIEXEC" -n "$ranks" "$0" --rank "$suite/bin/$program" \
                >"$out/$program.$leg.mpirun" 2>&1 </dev/null || true ;;
    esac
    echo "$((SECONDS - started))" >"$out/$program.$leg.seconds"
    [ "$program" = flush1 ] || rm -rf "$files"
)

# as_meant PROGRAM.LEG.RANK: all that failed is what is meant to be otherwise. A file that is open in MPI_Finalize is
# written out there, also one that flush1 leaves without flush, and flush2 expects to be of no use.
as_meant() {
    [[ $1 == flush2.ranks.* ]] &&
        [ "$(grep -F '*FAILED*' "$out/$1" | tr -s ' ')" = 'Testing H5Fflush (part2 without flush) *FAILED*' ]
}

# outcome PROGRAM LEG: "ok", or the exit statuses, in $outcome
outcome() {
    local rank status last=0 seen=''
    [ "$2" != ranks ] || last=$((ranks - 1))
    for ((rank = 0; rank <= last; rank++)); do
        status=$(cat "$out/$1.$2.$rank.status" 2>/dev/null || echo none)
        if [ "$status" != 0 ] && as_meant "$1.$2.$rank"; then status=0; fi
        seen+=" $status"
    done
    case $seen in
        *[1-9n]*) outcome=${seen# } ;;
        *) outcome=ok ;;
    esac
}

# in_parallel LEG PROGRAM...: as many at once as there are cores
in_parallel() {
    local leg=$1 program busy=0
    shift
    for program in "$@"; do
        [ "$program" != flush2 ] || [[ " $* " != *" flush1 "* ]] || continue
        if [ "$busy" -ge "$cores" ]; then wait -n || true; busy=$((busy - 1)); fi
        { run "$program" "$leg"
          [ "$program" != flush1 ] || [[ " $* " != *" flush2 "* ]] || run flush2 "$leg"; } &
        busy=$((busy + 1))
    done
    wait
}

# ---- all ----

build_suite
if [ -d /dev/shm ] && [ -w /dev/shm ]; then tmp=/dev/shm; else tmp=${TMPDIR:-/tmp}; fi # for all the fsync
work=$(mktemp -d "$tmp/hdf5_suite.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
out=$work/out
[ -z "${SUITE_KEEP:-}" ] || { mkdir -p "$SUITE_KEEP"; out=$(cd "$SUITE_KEEP" && pwd); }
mkdir -p "$out" "$work/files"
build_plugin
export HDF5_PLUGIN_PATH=$work/plugin/plugins HDF5TestExpress=3
preload=$work/plugin/test/vfd
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_USE_FILE_LOCKING

if [ $# -gt 0 ]; then programs=("$@"); else mapfile -t programs <"$suite/programs"; fi
for leg in $legs; do
    started=$SECONDS
    if [ "$leg" = ranks ]; then # more processes than cores as it is
        for program in "${programs[@]}"; do run "$program" ranks; done
    else
        in_parallel "$leg" "${programs[@]}"
    fi
    echo "$leg: ${#programs[@]} programs in $((SECONDS - started)) s"
done

lost=0
printf '%-30s' program
printf ' %-16s' $legs
echo
for program in "${programs[@]}"; do
    line='' base='' verdict=''
    for leg in $legs; do
        outcome "$program" "$leg"
        line+=$(printf ' %-16s' "$outcome ($(cat "$out/$program.$leg.seconds") s)")
        if [ "$leg" = sec2 ]; then
            base=$outcome
        elif [ "$outcome" != ok ] && [ "${base:-ok}" = ok ]; then
            verdict=' LOST' lost=$((lost + 1))
        fi
    done
    if [ "${base:-ok}" != ok ]; then verdict=' fails with sec2'; fi
    printf '%-30s%s%s\n' "$program" "$line" "$verdict"
done
if [ "$lost" -gt 0 ]; then
    echo "$lost outcomes lost"
    exit 1
fi
