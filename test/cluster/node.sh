#!/usr/bin/env bash
# Turns one rank into a process on "its node" of a test cluster on this machine (see cluster.sh, which
# sets the variables used here). mpirun starts this wrapper once per rank: node.sh PROGRAM [ARGUMENT...]
#
# The program finds itself on a host called node<K>, with the storage of that node at $CLUSTER_LOCAL:
# ranks of one node share it, the others neither see nor reach it. That takes a mount and a UTS
# namespace, of which nothing remains when the rank ends; no daemon, no container, no privilege beyond
# that of making namespaces. Process and network namespaces stay the machine's, so MPI runs as ever.
#
#   CLUSTER_DIR             nodes/node<K>: storage of node K; ranks/: who runs where
#   CLUSTER_LOCAL           where every node sees its own storage
#   CLUSTER_MODE            root | user (user namespaces) | plain (no namespaces, see below)
#   CLUSTER_RANKS_PER_NODE  rank r is on node r / this, unless
#   CLUSTER_NODE_OF         "0 0 1 4": says for each rank which node it is on
#
# plain: hosts keep the machine's name, nodes are only directories, and in the program's arguments
# $CLUSTER_LOCAL is replaced by the directory of the node.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:?no MPI launcher around: no rank number}}}
    read -r -a node_of <<<"${CLUSTER_NODE_OF:-}"
    node=${node_of[rank]:-$((rank / CLUSTER_RANKS_PER_NODE))}
    mkdir -p "$CLUSTER_DIR/nodes/node$node"

    # for cluster_lose_node: the process that is this rank. All that follows is exec, the number stays;
    # the start time tells it from a later process that got the same number. (Field 22 of stat, counted
    # behind the command's name, which may contain anything.)
    stat=$(<"/proc/$$/stat")
    read -r -a field <<<"${stat##*) }"
    echo "$$ ${field[19]}" >"$CLUSTER_DIR/ranks/node$node.$rank"

    case $CLUSTER_MODE in
        root) exec unshare --mount --uts "$0" --inside "$node" "$@" ;;
        user) exec unshare --user --map-root-user --mount --uts \
            "$0" --inside "$node" unshare --user --map-user="$(id -u)" --map-group="$(id -g)" "$@" ;;
    esac # mounting wants root of a namespace; then a second one makes us who we were, as MPI insists
    common=$CLUSTER_LOCAL
    export CLUSTER_NODE=$node CLUSTER_LOCAL=$CLUSTER_DIR/nodes/node$node
    exec "${@//"$common"/"$CLUSTER_LOCAL"}"
fi

export CLUSTER_NODE=$2
shift 2
hostname "node$CLUSTER_NODE"
mount --bind "$CLUSTER_DIR/nodes/node$CLUSTER_NODE" "$CLUSTER_LOCAL"
mount -t tmpfs -o size=4k none "$CLUSTER_DIR/nodes" # out of sight: the storage of the others
exec "$@"
