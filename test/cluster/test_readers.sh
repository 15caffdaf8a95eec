#!/usr/bin/env bash
# Files are opened by other ranks than those that wrote them, on nodes that cannot see each other's storage.
#
#   fewer, more    what 8 ranks on 4 nodes wrote is read by 4 to 12 ranks, each file by whoever takes it next: nothing lost, and
#                  each node lost, with at least one rank on each node that is left
#   left out       a node has no rank, and another one is lost: refused on every rank, nothing changed
#   all in sight   one or two processes that can see the storage of all nodes, which search= names, read all of it in a new
#                  directory: nothing lost, each node lost; one node left out: refused
#   steps          4 ranks wrote 4 steps; rank r reads all files of step r: nothing lost, and each node lost
#   orders         each of the 4 ranks reads all 16 files: along diagonals, backwards, in an order by chance, and some fewer
#                  than others: no warning, and nobody waits for a timeout, which is ten times as long as a run may last;
#                  a node lost: the same content
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
failures=0

tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f ! -name '*.redset.names' -exec sha256sum {} + | sort -k 2); }

# gives STATUS TEXT COMMAND...: that is its exit status
gives() {
    local want=$1 text=$2 status=0
    shift 2
    cluster_run "$@" >"$CLUSTER_DIR/log" 2>&1 || status=$?
    [ "$status" = "$want" ] && return
    echo "  FAILED  $HDF5_DRIVER_CONFIG: $text: status $status instead of $want"
    sed -n '1,30s/^/          | /p' "$CLUSTER_DIR/log"
    failures=$((failures + 1))
}

# without NODE: the others, in the order of the ranks that run there
without() { for node in 0 1 2 3; do [ "$node" = "${1:-}" ] || printf '%s ' "$node"; done; }

# on N NODE...: N ranks, on these nodes in turn
on() {
    local n=$1 of='' i
    shift
    for ((i = 0; i < n; i++)); do of+="${*:i % $# + 1:1} "; done
    CLUSTER_NODE_OF=$of
}

cluster_up 4 2
export HDF5_DRIVER_CONFIG='scheme=XOR required=yes timeout=30'
CLUSTER_NODE_OF='0 0 1 1 2 2 3 3'
gives 0 written -n 8 "$bin/ranks" write "$CLUSTER_LOCAL" 20000 1
cluster_keep
for n in $(some 7 4 5 12); do
    cluster_put_back
    # shellcheck disable=SC2046 # numbers are words
    on "$n" $(without)
    gives 0 "$n ranks" -n "$n" "$bin/readers" turn "$CLUSTER_LOCAL" 20000 1 8
done
for lost in 0 3; do
    for n in $(some 5 3 12); do
        cluster_put_back
        cluster_lose_node "$lost"
        # shellcheck disable=SC2046
        on "$n" $(without "$lost")
        gives 0 "$n ranks, node$lost lost" -n "$n" "$bin/readers" turn "$CLUSTER_LOCAL" 20000 1 8
    done
done
cluster_put_back
cluster_lose_node 0
before=$(tree)
on 2 1 3
gives 3 'node0 lost, node2 left out' -n 2 "$bin/readers" turn "$CLUSTER_LOCAL" 20000 1 8
grep -q 'unrecoverable\|of the 8 that wrote these files' "$CLUSTER_DIR/log" && [ "$before" = "$(tree)" ] || {
    echo '  FAILED  node0 lost, node2 left out: not said why, or something was changed'
    failures=$((failures + 1))
}

# in_sight STATUS N NODE...: N processes outside of the nodes, which can see the storage of these
in_sight() {
    local want=$1 n=$2 status=0 dirs='' node settings=$HDF5_DRIVER_CONFIG
    shift 2
    for node in "$@"; do dirs+="${dirs:+:}$(cluster_storage "$node")"; done
    rm -rf "$CLUSTER_DIR/new"
    mkdir "$CLUSTER_DIR/new"
    HDF5_DRIVER_CONFIG="$settings search=$dirs" timeout --kill-after=10 "$CLUSTER_TIMEOUT" "$MPIEXEC" -n "$n" "${redset_mpi_flags[@]}" \
        "$bin/readers" turn "$CLUSTER_DIR/new" 20000 1 8 >"$CLUSTER_DIR/log" 2>&1 || status=$?
    [ "$status" = "$want" ] && return
    echo "  FAILED  $n processes that can see nodes $*: status $status instead of $want"
    sed -n '1,30s/^/          | /p' "$CLUSTER_DIR/log"
    failures=$((failures + 1))
}
for lost in none 0 3; do
    for n in 1 2; do
        cluster_put_back
        [ "$lost" = none ] || cluster_lose_node "$lost"
        # shellcheck disable=SC2046
        in_sight 0 "$n" $(without "$lost")
    done
done
cluster_put_back
cluster_lose_node 0
in_sight 3 1 1 3
grep -q 'unrecoverable\|of the 8 that wrote these files' "$CLUSTER_DIR/log" || {
    echo '  FAILED  node0 lost, node2 out of sight: not said why'
    failures=$((failures + 1))
}

rm -rf "$CLUSTER_DIR/nodes"/node*/*
CLUSTER_NODE_OF='0 1 2 3'
gives 0 'steps written' -n 4 "$bin/readers" write "$CLUSTER_LOCAL" 20000 1 4
cluster_keep
for lost in none 0 2; do
    cluster_put_back
    [ "$lost" = none ] || cluster_lose_node "$lost"
    gives 0 "a step for each rank, lost: $lost" -n 4 "$bin/readers" steps "$CLUSTER_LOCAL" 20000 1 4
done

# Whoever waited for a timeout would be stopped by cluster_run. Readers that have all files with them, as copies, read different
# numbers of them as well.
HDF5_DRIVER_CONFIG='scheme=XOR required=yes timeout=600'
for order in diagonal reverse random; do
    cluster_put_back
    cluster_lose_node 1
    gives 0 "$order, node1 lost" -n 4 "$bin/readers" "$order" "$CLUSTER_LOCAL" 20000 1 4
    cluster_put_back
    gives 0 "$order" -n 4 "$bin/readers" "$order" "$CLUSTER_LOCAL" 20000 1 4
    ! grep 'redset:' "$CLUSTER_DIR/log" | grep -v 'was copied here from' || {
        echo "  FAILED  $order: a warning, and nothing was lost"
        failures=$((failures + 1))
    }
done
gives 0 'different numbers of files' -n 4 "$bin/readers" uneven "$CLUSTER_LOCAL" 20000 1 4
[ ! -s "$CLUSTER_DIR/log" ] || {
    echo '  FAILED  different numbers of files: a warning, and nothing was lost:'
    head -n 3 "$CLUSTER_DIR/log"
    failures=$((failures + 1))
}
HDF5_DRIVER_CONFIG='scheme=XOR required=yes timeout=30'

# What was read elsewhere is a copy: the files are where their ranks have them.
cluster_put_back
gives 0 'a step for each rank, to see what stays' -n 4 "$bin/readers" steps "$CLUSTER_LOCAL" 20000 1 4
grep -q 'was copied here from' "$CLUSTER_DIR/log" && ! grep -q 'moved here' "$CLUSTER_DIR/log" || {
    echo '  FAILED  readers are not told that they have copies'
    failures=$((failures + 1))
}
(cd "$CLUSTER_DIR/kept" && find . -type f ! -name '*.redset.names' -exec cmp {} "$CLUSTER_DIR/nodes/"{} \;) >"$CLUSTER_DIR/log" 2>&1
[ ! -s "$CLUSTER_DIR/log" ] || {
    echo '  FAILED  readers have taken files away:'
    head -n 5 "$CLUSTER_DIR/log"
    failures=$((failures + 1))
}

[ "$failures" = 0 ] || { echo "$failures not as promised"; exit 1; }
echo 'ok'
