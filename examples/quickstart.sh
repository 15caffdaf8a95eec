#!/usr/bin/env bash
# From a fresh Debian 12 or 13 to an MPI application that loses a node and goes on, in one command:
#
#     examples/quickstart.sh
#
# It builds redset below build/quickstart, makes four "nodes" with private storage on this machine
# (test/cluster/), lets examples/heat.c run on them, takes one node away and starts it again. Nothing is
# left behind but build/ and what cmake/setup.sh installs. Three minutes the first time, then seconds.
#
# HDF5_DRIVER_CONFIG may be set before to see other ways of protection.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

config=${HDF5_DRIVER_CONFIG:-scheme=RS checksums=2}
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_PLUGIN_PATH # only where this story says so
build=build/quickstart
lost=2 steps=1900 every=500 strike=1000

number=0
step() { number=$((number + 1)); printf '\n%d. %s\n' "$number" "$*"; }
tell() { printf '   %s\n' "$@"; }
fail() {
    printf '\nquickstart: %s\n' "$1" >&2
    [ ! -s "${2:-}" ] || { echo "All that was said:" && sed 's/^/   | /' "$2"; } >&2
    exit 1
}

# What lies in the storage of each node, one line per node.
show_storage() {
    local node dir data others
    for ((node = 0; node < CLUSTER_NODES; node++)); do
        dir=$(cluster_storage "$node")
        data=$(cd "$dir" && find . -name '*.h5' -printf '%f\n' | sort | tr '\n' ' ')
        others=$(find "$dir" -name '*.redset' | wc -l)
        tell "  node$node  ${data:-(empty)}${data:+and $others redundancy files}"
    done
}

what_it_said() { sed -n 's/^step /     step /p' "$1"; }

step "Getting what is needed: compiler, MPI, ISA-L, HDF5 1.14"
# shellcheck source=cmake/setup.sh
. cmake/setup.sh || fail "this machine lacks something; the lines above say what"

step "Building the driver and the example in $build"
flavour=${REDSET_HDF5_FLAVOURS%% *}
mkdir -p build
{ cmake -G Ninja -S . -B "$build" "$(redset_cmake_args "$flavour")" -DREDSET_BUILD_TESTS=OFF -DREDSET_WERROR="${CI:+ON}" &&
    cmake --build "$build"; } >"$build.log" 2>&1 || fail "the build failed" "$build.log"
plugins=$PWD/$build/plugins
heat=$PWD/$build/examples/heat
[ -e "$plugins/libhdf5_vfd_redset.so" ] || fail "the build made no driver in $plugins" "$build.log"
tell "the driver is a plugin for HDF5: $build/plugins/libhdf5_vfd_redset.so" \
    "the application is plain MPI and HDF5, with no word about redset in it: examples/heat.c"

step "A cluster on this machine: 4 nodes, 2 ranks on each"
# shellcheck source=test/cluster/cluster.sh
. test/cluster/cluster.sh
trap cluster_down EXIT
cluster_up 4 2
out=$CLUSTER_DIR/out reference=$CLUSTER_DIR/reference.raw final=$CLUSTER_DIR/final.raw
[ "$CLUSTER_MODE" = plain ] || tell "each node sees its own storage, and only its own, as $CLUSTER_LOCAL"

step "For comparison: $steps steps undisturbed, without checkpoints, without redset"
cluster_run "$heat" --dir "$CLUSTER_LOCAL" --steps $steps --every $((steps + 1)) --final "$reference" \
    >"$out" 2>&1 || fail "the application does not even run undisturbed" "$out"
what_it_said "$out"

step "The same with a checkpoint every $every steps, protected by redset"
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=$config HDF5_PLUGIN_PATH=$plugins
command="mpirun -n 8 heat --dir $CLUSTER_LOCAL --steps $steps --every $every"
tell "\$ export HDF5_PLUGIN_PATH=$build/plugins" "\$ export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=\"$config\"" \
    "\$ $command"
: >"$out"
cluster_run "$heat" --dir "$CLUSTER_LOCAL" --steps $steps --every $every --final "$final" >"$out" 2>&1 &
run=$!
cluster_await "step $strike: checkpoint written" "$out" $run || fail "the run ended before step $strike" "$out"
cluster_kill $lost
cp -a "$(cluster_storage $lost)" "$CLUSTER_DIR/lost" # to compare with later
status=0
wait $run || status=$?
[ $status != 0 ] || fail "the run was over before the node could be lost: this machine is too fast for it" "$out"
what_it_said "$out"
tell "... and here node$lost dies: its ranks are killed, and mpirun gives up." "what there is:"
show_storage

step "The storage of node$lost is lost with it"
cluster_lose_node $lost
show_storage

step "Starting the application again, with node$lost replaced by an empty one"
tell "\$ $command"
cluster_run "$heat" --dir "$CLUSTER_LOCAL" --steps $steps --every $every --final "$final" >"$out" 2>&1 ||
    fail "the application could not go on" "$out"
what_it_said "$out"
at=$(sed -n 's/^step \([0-9]*\): restarted from its checkpoint$/\1/p' "$out")
[ -n "$at" ] || fail "the application started from the beginning: its checkpoint was not recovered" "$out"
tell "it went on from step $at: opening the files brought the lost ones back"
show_storage

step "Is it right?"
slot=$([ $((at / every % 2)) = 1 ] && echo a || echo b) # not written again since
for file in "heat_$slot.4.h5" "heat_$slot.5.h5"; do
    recovered=$(cluster_storage $lost)/$file
    cmp "$CLUSTER_DIR/lost/$file" "$recovered" || fail "$file is not what was lost"
    tell "$file on node$lost is byte for byte the file that was lost"
done
cmp "$reference" "$final" || fail "the result differs from that of the undisturbed run"
tell "the final field ($(stat -c %s "$final") bytes) is bit for bit that of the undisturbed run"

step "The files are plain HDF5 files, readable everywhere, without redset"
tell "\$ env -u HDF5_DRIVER -u HDF5_PLUGIN_PATH h5dump -A $file"
env -u HDF5_DRIVER -u HDF5_DRIVER_CONFIG -u HDF5_PLUGIN_PATH h5dump -A "$recovered" >"$out" 2>&1 ||
    fail "h5dump cannot read $recovered" "$out"
sed 's/^/     /' "$out"
grep -q "(0): $at\$" "$out" || fail "the recovered file is not of step $at"

cat <<END

That was it. What to try next:
   HDF5_DRIVER_CONFIG="scheme=XOR" $0                less space, one lost node at a time
   HDF5_DRIVER_CONFIG="scheme=PARTNER replicas=1" $0 a copy on the next node
   test/run.sh                                       all tests
   README.md                                         your own application, all settings
END
