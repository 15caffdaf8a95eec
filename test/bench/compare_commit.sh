#!/usr/bin/env bash
# What creating and closing, and opening and closing, an empty file costs here, against an older commit:
#
#   test/bench/compare_commit.sh COMMIT [PAIRS [ROUNDS]]     default 7 pairs of runs, 40 files of each rank in a run
#
# Both are built, this tree as it lies here, in a directory that is removed at the end. Runs of 16 ranks on /dev/shm, each a failure
# group of its own, alternate: this, that, that, this. Prints this over that, below 1 is faster here: the median over the pairs, and
# the least and the most. RANKS=N, at most 26: another number of ranks. On a quiet machine; it is no test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() { echo "usage: test/bench/compare_commit.sh COMMIT [PAIRS [ROUNDS]]; RANKS=N"; exit 64; }
[ $# -ge 1 ] && [ $# -le 3 ] || usage
pairs=${2:-7} rounds=${3:-40} ranks=${RANKS:-16}
[[ $pairs$rounds$ranks =~ ^[0-9]+$ ]] && [ "$pairs" -ge 1 ] && [ "$ranks" -ge 2 ] && [ "$ranks" -le 26 ] || usage
commit=$(git rev-parse --quiet --verify "$1^{commit}") || { echo "no such commit: $1"; exit 64; }
# shellcheck source=cmake/setup.sh
REDSET_SETUP_QUIET=1 . cmake/setup.sh
unset HDF5_DRIVER_CONFIG

work=$(mktemp -d) files=$(mktemp -d /dev/shm/compare.XXXXXX)
cleanup() {
    git worktree remove --force "$work/that" 2>/dev/null || true
    rm -rf "$work" "$files"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
git worktree add --quiet --detach "$work/that" "$commit"

# build NAME SOURCE TESTS TARGET...
build() {
    local name=$1 source=$2 tests=$3
    shift 3
    mapfile -t hdf5 < <(redset_cmake_args "${REDSET_HDF5_FLAVOURS%% *}")
    { cmake -G Ninja -S "$source" -B "$work/build_$name" "${hdf5[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DREDSET_BUILD_TESTS="$tests" -DREDSET_BUILD_EXAMPLES=OFF && cmake --build "$work/build_$name" --target "$@"; } \
        >"$work/log" 2>&1 || { tail -n 20 "$work/log"; echo "$name cannot be built"; exit 1; }
}
build that "$work/that" OFF hdf5_vfd_redset
build this . ON hdf5_vfd_redset empty

# measure PAIR NAME: adds "PAIR NAME STEP WALL CPU" for each step
measure() {
    local letters=abcdefghijklmnopqrstuvwxyz
    mkdir "$files/run"
    HDF5_DRIVER=redset HDF5_PLUGIN_PATH=$work/build_$2/plugins timeout 600 "$MPIEXEC" -n "$ranks" test/vfd/grouped.sh \
        "${letters:0:ranks}" 'scheme=XOR required=yes' "$work/build_this/test/vfd/empty" "$files/run" "$rounds" >"$work/out" 2>"$work/log" ||
        { cat "$work/log"; echo "a run of $2 failed"; exit 1; }
    compgen -G "$files/run/*.redset" >/dev/null || { echo "the plugin of $2 protected nothing"; exit 1; }
    rm -r "$files/run"
    sed "s/^/$1 $2 /" "$work/out" >>"$work/all"
}
for ((pair = 1; pair <= pairs; pair++)); do
    if ((pair % 2)); then order='this that'; else order='that this'; fi
    for name in $order; do measure $pair "$name"; done
done

echo "this tree over $(git log -1 --format='%h' "$commit"): $ranks ranks on $(nproc) processors, $pairs pairs, medians of $rounds files"
python3 - "$work/all" <<'END'
import statistics, sys
times = {}
for line in open(sys.argv[1]):
    pair, name, step, *values = line.split()
    times[int(pair), name, step] = [float(value) for value in values]
print(f"{'':16} {'':24} {'this, ms':>9} {'that, ms':>9} {'ratio':>7} {'least':>7} {'most':>7}")
for step in "create", "open":
    for i, what in enumerate(("wall, slowest rank", "processor time of a rank")):
        this, that = ([v[i] for (_, name, s), v in sorted(times.items()) if (name, s) == (side, step)] for side in ("this", "that"))
        ratios = [a / b for a, b in zip(this, that)]
        print(f"{step + ' + close':16} {what:24} {statistics.median(this):9.2f} {statistics.median(that):9.2f} "
              f"{statistics.median(ratios):7.3f} {min(ratios):7.3f} {max(ratios):7.3f}")
END
