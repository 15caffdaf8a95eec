# shellcheck shell=bash
# Ranks are started on other nodes than those that have their files: 4 nodes with 2 ranks each, and a spare one. For
# test_moved*.sh, which source it.

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
failures=0 size=20000 runs=0 refused=0

on_cluster() { cluster_run "$REDSET_BUILD_DIR/test/vfd/ranks" "$1" "$CLUSTER_LOCAL" "$size" 1; }
tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f -exec sha256sum {} + | sort -k 2); }

# failed TEXT: one more failure, with what the ranks said
failed() {
    echo "  FAILED  $*"
    sed -n '1,30s/^/          | /p' "$CLUSTER_DIR/log"
    failures=$((failures + 1))
}

# starts_on NODE...: the two ranks of node k run on the k-th of these from now on
starts_on() {
    local node of=''
    for node in "$@"; do of+="$node $node "; done
    CLUSTER_NODE_OF=$of
}

# Each node has what the ranks had that run on it now.
is_with_its_ranks() {
    local k=0 node
    for node in "$@"; do
        diff -r -x '*.redset.names' "$CLUSTER_DIR/kept/node$k" "$(cluster_storage "$node")" >>"$CLUSTER_DIR/log" || return 1
        k=$((k + 1))
    done
}

# follows "ORDER" "LOST": read in that order after the loss of what these nodes had
follows() {
    local order=$1 node
    cluster_put_back
    for node in $2; do cluster_lose_node "$node"; done
    # shellcheck disable=SC2086 # numbers are words
    starts_on $order
    # shellcheck disable=SC2086
    runs=$((runs + 1))
    if ! on_cluster read >"$CLUSTER_DIR/log" 2>&1 || ! is_with_its_ranks $order; then
        failed "$HDF5_DRIVER_CONFIG: nodes are now $order, lost: ${2:-none}"
    fi
}

refuses() {
    local before status=0
    refused=$((refused + 1))
    cluster_put_back
    for node in $2; do cluster_lose_node "$node"; done
    before=$(tree)
    # shellcheck disable=SC2086
    starts_on $1
    on_cluster read >"$CLUSTER_DIR/log" 2>&1 || status=$?
    [ "$status" = 3 ] && diff <(echo "$before") <(tree) >>"$CLUSTER_DIR/log" ||
        failed "$HDF5_DRIVER_CONFIG: nodes are now $1, lost: $2: status $status, not refused, or changed"
}

orders() {
    local a b c d
    for a in 0 1 2 3; do for b in 0 1 2 3; do for c in 0 1 2 3; do for d in 0 1 2 3; do
        [ "$(printf '%s\n' $a $b $c $d | sort -u | wc -l)" = 4 ] && echo "$a $b $c $d"
    done; done; done; done
    return 0
}

written() { # CONFIG
    export HDF5_DRIVER_CONFIG="$1 required=yes timeout=20"
    local node
    for node in 0 1 2 3 4; do cluster_lose_node "$node"; done
    starts_on 0 1 2 3
    on_cluster write >"$CLUSTER_DIR/log" 2>&1 || failed "$1: written"
    cluster_keep
}

# killed ORDER: a run is killed while files move; another one finishes, and no copy has taken the place of anything. mpirun may not end
# where its ranks were killed as they began
killed() {
    local run
    cluster_put_back
    # shellcheck disable=SC2086
    starts_on $1
    CLUSTER_TIMEOUT=20 on_cluster read >"$CLUSTER_DIR/log" 2>&1 &
    run=$!
    sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
    cluster_kill '*'
    wait "$run" || true
    on_cluster read >"$CLUSTER_DIR/log" 2>&1 || failed "$HDF5_DRIVER_CONFIG: killed on the way to $1"
}

# Nothing is lost, or what any one node had and the spare one comes instead, or two are
every_order() {
    local order n=0
    written 'scheme=XOR'
    while read -r order; do
        ! due || follows "$order" ''
        [ $((n % (3 * ${EVERY:-1}))) != 0 ] || follows "${order/$((n / 3 % 4))/4}" "$((n / 3 % 4))"
        n=$((n + 1))
    done < <(orders)
    refuses '1 2 3 0' '0 1'
    refuses '1 0 3 4' '1 3'
    written 'scheme=RS checksums=2'
    for lost in '0 1' '0 2' '0 3' '1 2' '1 3' '2 3'; do ! due || follows '2 3 0 1' "$lost"; done
    refuses '3 2 1 0' '0 1 2'
    echo "  $runs runs with other nodes than before, $refused refused"
}

killed_on_the_way() {
    local i
    size=3000000
    written 'scheme=XOR'
    for ((i = 0; i < ${CLUSTER_KILLS:-4}; i++)); do killed '1 2 3 0'; done
    echo "  $i runs killed on the way"
}

finish() { [ "$failures" = 0 ] || { echo "$failures checks FAILED"; exit 1; }; }

cluster_up 5 2
CLUSTER_NODES=4 # as many as have ranks; the fifth is spare
