# shellcheck shell=bash
# For test_root*.sh, which source it: files of one rank (root=). One rank of four writes meta.h5, on nodes that cannot see each other's
# storage. roots.c is the program.
#
#   gives STATUS COMMAND...    that is its exit status
#   says TEXT COMMAND...       it succeeds, and says that
#   start                      all nodes have lost what they had

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"


gives() {
    local want=$1 status=0
    shift
    "$@" || status=$?
    [ "$status" = "$want" ] || { echo "status $status instead of $want"; return 1; }
}
says() {
    local text=$1
    shift
    "$@" >"$CLUSTER_DIR/said" || { cat "$CLUSTER_DIR/said"; return 1; }
    cat "$CLUSTER_DIR/said"
    grep -q -- "$text" "$CLUSTER_DIR/said"
}
start() { local k; for k in 0 1 2 3; do cluster_lose_node "$k"; done; }
