# shellcheck shell=bash
# For test_root*.sh, which source it: files of one rank (root=). One rank of four writes meta.h5, on nodes that cannot see each other's
# storage. roots.c is the program.
#
#   gives STATUS COMMAND...    that is its exit status
#   says TEXT COMMAND...       it succeeds, and says that
#   start                      all nodes have lost what they had

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
command -v "${MPIEXEC:-mpirun}" >/dev/null || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }

# shellcheck disable=SC2034 # for whoever sources this
bin=$REDSET_BUILD_DIR/test/vfd
export HDF5_DRIVER=redset HDF5_PLUGIN_PATH
CLUSTER_TIMEOUT=100
trap cluster_down EXIT

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
