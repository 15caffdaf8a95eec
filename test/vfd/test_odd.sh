#!/usr/bin/env bash
# Programs that do not have one file per rank, ranks that do not come, and processes without MPI:
# odd.c, link_odd.c and count_mpi.c say what each does. Everything must work as without redset, come to
# an end (P5; `timeout` is the watchdog) and be said in few words that name files= where that helps
# (P6 P10, T1 T6 T9 T11 T17).
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
bin=$REDSET_BUILD_DIR/test/vfd
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
limit=2 # seconds; the timeout of redset
long=40 # the same where nobody waits, which a busy machine must not be taken for
watchdog=60
export HDF5_DRIVER=redset HDF5_PLUGIN_PATH
failures=0

fail() {
    echo "  FAILED  $1"
    sed 's/^/          | /' "$work/log" | head -n 40
    failures=$((failures + 1))
}

# lines WORD: how many messages of redset have it; the note on one host does not count, nor the sum at the end
lines() { grep '^redset: ' "$work/log" | grep -v 'on one host\|closes of this rank' | grep -c -- "$1" || true; }

# odd CASE MIN MAX [SETTINGS]: runs it on 4 ranks; at least MIN, at most MAX messages, and each that says
# that ranks did not come together names files=
odd() {
    local dir=$work/$1 status=0 n
    mkdir -p "$dir"
    [ ! -e "$work/input.h5" ] || cp "$work/input.h5" "$dir/input.h5"
    [ ! -e "$work/input.h5" ] || cp "$work/input.h5" "$dir/target.h5"
    # each rank's stderr to a file of its own: what mpirun passes on is cut up, and lost after MPI_Finalize
    # shellcheck disable=SC2016
    HDF5_DRIVER_CONFIG="timeout=$limit ${4:-}" timeout -s KILL "$watchdog" "$mpiexec" -np 4 \
        sh -c 'log=$1; shift; exec "$@" 2>"$log.${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}"' sh \
        "$dir/stderr" "$bin/odd" "$1" "$dir" "$limit" >"$work/log" 2>&1 || status=$?
    cat "$dir"/stderr.* >>"$work/log"
    n=$(lines .)
    if [ "$status" != 0 ]; then
        fail "$1: exit status $status"
    elif [ "$n" -lt "$2" ] || [ "$n" -gt "$3" ]; then
        fail "$1: $n messages, not $2 to $3"
    elif grep '^redset: ' "$work/log" | grep -E 'timed out|not all ranks' | grep -qv 'files='; then
        fail "$1: a message does not name files="
    elif [ -n "${4:-}" ] && [ "$(grep -c '^redset: ' "$work/log")" != 0 ]; then
        fail "$1: a message although only files= are protected"
    else
        echo "  ok      $1 ($n messages)"
    fi
}

# run TEXT STATUS COMMAND...: any other program
run() {
    local text=$1 want=$2 status=0
    shift 2
    timeout -s KILL "$watchdog" "$@" >"$work/log" 2>&1 || status=$?
    if [ "$status" = "$want" ]; then echo "  ok      $text"; else fail "$text: exit status $status"; fi
}

echo 'no MPI in the process, or not started (P10)'
mkdir "$work/alone" "$work/count"
run 'files of a process that never starts MPI' 0 "$bin/odd" without_mpi "$work/alone" "$long"
[ "$(lines .)" = 0 ] || fail 'without MPI there is nothing to say'
cp "$work/alone/alone.h5" "$work/input.h5"
run 'MPI calls when MPI is never started' 0 "$bin/count_mpi" never "$work/count"
run 'MPI calls before MPI_Init and after MPI_Finalize' 0 "$bin/count_mpi" finalized "$work/count"
# those that may be called at any time are not counted
nm -D "$HDF5_PLUGIN_PATH/libhdf5_vfd_redset.so" | sed -n 's/.* \(MPI_[A-Za-z_]*\).*/\1/p' | sort -u |
    grep -vxE 'MPI_(Initialized|Finalized|Query_thread)' >"$work/known"
nm "$bin/count_mpi" | sed -n 's/.* T \(MPI_[A-Za-z_]*\)$/\1/p' | sort -u >"$work/counted"
comm -23 "$work/known" "$work/counted" >"$work/log"
if [ -s "$work/log" ]; then fail 'count_mpi does not count these'; else echo '  ok      all MPI functions are counted'; fi
tools=${REDSET_HDF5_TOOLDIR:+$REDSET_HDF5_TOOLDIR/}
if [ "${REDSET_HDF5_PARALLEL:-}" != TRUE ] && [ "${REDSET_HDF5_PARALLEL:-}" != ON ] && command -v "${tools}h5dump" >/dev/null; then
    for tool in h5dump h5ls; do
        run "$tool" 0 env LD_DEBUG=files LD_DEBUG_OUTPUT="$work/ld.$tool" "$tools$tool" "$work/input.h5"
        cat "$work/ld.$tool".* >"$work/log"
        if ! grep -q 'calling init: .*libhdf5_vfd_redset' "$work/log"; then
            fail "$tool does not use the plugin"
        elif grep -q 'libmpi\.so\|libmpich' "$work/log"; then
            fail "$tool: libmpi is loaded"
        else
            echo "  ok      $tool loads no libmpi"
        fi
    done
fi

echo 'files of one rank'
odd first 1 2
odd last 1 2
odd later 1 1
odd baton 1 1
echo 'inputs, links, appending'
odd input 0 0
odd own 1 1
odd foreign 1 1
odd append 2 2 # the rank that opened without the others, and one of those that are late to its close
odd link 0 1
echo 'another order'
odd order 1 2
odd odd_one 1 1
echo 'files that are there on some ranks, probes'
odd subset 0 0
odd exclusive 1 4
odd not_created 1 1
grep -q 'not protected: .*rank 2 could not create its file$' "$work/log" || fail 'nobody is told which rank could not create its file'
odd fresh 0 0
odd fresh_one 0 1
odd fresh_other 0 1
echo 'ranks that stop, leave early, close late'
cases='early early_unmet never'
if [ "${REDSET_HDF5_PARALLEL:-OFF}" = OFF ]; then
    cases+=' after'
else # (T6)
    echo '  left out: after: a parallel HDF5 closes all files itself in MPI_Finalize, H5Fclose fails then'
fi
for case in $cases; do # MPI_Finalize protects what is still open
    odd "$case" 0 0
    protected=$(find "$work/$case" -name '*.mem_[1-4]_of_4.redset' ! -name 'ckpt*' | wc -l)
    [ "$protected" = 4 ] || fail "$case: $protected of 4 files are protected"
done
odd stopped 1 3
echo 'threads'
odd thread 4 4
for level in single funneled serialized multiple; do odd $level 0 0; done
echo 'with files= nobody waits and nothing is said'
limit=$long odd pattern 0 0 'files=ckpt_*'
echo 'a directory that is made in the last moment, and is gone when the file is closed'
mkdir "$work/gone"
run 'all ranks are told, and the next file is protected' 0 "$mpiexec" -np 4 "$bin/link_gone" "$work/gone"
grep -q 'not protected: .*/gone/2: cannot open directory.*rank 2 on' "$work/log" || fail 'nobody is told which directory'
echo 'one rank insists'
for case in insist stay away settings; do
    mkdir "$work/link_$case"
    run "required=yes on one rank: $case" 0 "$mpiexec" -np 4 "$bin/link_odd" "$case" "$work/link_$case"
done

[ "$failures" = 0 ]
