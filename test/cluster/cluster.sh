# shellcheck shell=bash
# A test cluster on one machine, as shell functions. Source it:
#
#   . test/cluster/cluster.sh
#   trap cluster_down EXIT
#   cluster_up 4 2                              4 nodes with 2 ranks each, all with empty storage
#   cluster_run PROGRAM --dir "$CLUSTER_LOCAL"  on all 8 ranks (-n NP: on fewer; PROGRAM : -n NP OTHER: two in one job)
#   cluster_lose_node 2                         its ranks are killed, its storage is gone
#   cluster_put_back                            all storage is as it was at cluster_keep
#
# Each node has a host name (node0, node1, ...) and storage of its own, which its ranks find at
# $CLUSTER_LOCAL and nobody else can see; from outside it is `cluster_storage K`. See node.sh for how.
# Everything is below one private directory; /dev/shm if there is room, else $TMPDIR or /tmp.
#
# May be set before:
#   MPIEXEC            default mpirun; Open MPI 4.1 and 5.0 and MPICH are known
#   CLUSTER_TIMEOUT    seconds until a run is ended by force (exit status 124), default 180
#   CLUSTER_NODE_OF    "0 0 1 5 ...": the node of each rank, for spare nodes and odd placements
#   CLUSTER_MPI_FLAGS  more arguments for mpirun, such as --with-ft ulfm
#   CLUSTER_MODE       root, user or plain (node.sh), instead of finding out
#   CLUSTER_LOCAL      another place where nodes see their storage; it must exist

CLUSTER_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

CLUSTER_TIMEOUT=${CLUSTER_TIMEOUT:-180}

cluster_say() { printf 'cluster: %s\n' "$*" >&2; }

# The way to make nodes on this machine; found out by making one.
cluster_find_mode() {
    local flags
    # shellcheck disable=SC2016
    local try='hostname node0 && mount --bind "$1" "$2" && mount -t tmpfs none "$1"'
    for flags in '' '--user --map-root-user'; do
        # shellcheck disable=SC2086 # flags are words
        if unshare $flags --mount --uts sh -c "$try" - "$CLUSTER_DIR/nodes" "$CLUSTER_LOCAL" 2>/dev/null; then
            [ -z "$flags" ] && echo root || echo user
            return
        fi
    done
    cluster_say "this machine lets us make no namespaces: nodes are mere directories, host names stay the same"
    echo plain
}

# cluster_up NODES RANKS_PER_NODE
cluster_up() {
    local node parent=${TMPDIR:-/tmp} shm_kib
    CLUSTER_NODES=$1 CLUSTER_RANKS_PER_NODE=$2
    shm_kib=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) || shm_kib=0
    # memory, because these tests sync a lot; half a GiB is plenty for all that runs here
    [ "${shm_kib:-0}" -lt 524288 ] || [ ! -w /dev/shm ] || parent=/dev/shm
    CLUSTER_DIR=$(mktemp -d "$parent/cluster.XXXXXX")
    CLUSTER_LOCAL=${CLUSTER_LOCAL:-$CLUSTER_DIR/local}
    mkdir -p "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/ranks" "$CLUSTER_DIR/local"
    for ((node = 0; node < CLUSTER_NODES; node++)); do
        mkdir "$(cluster_storage "$node")"
    done
    CLUSTER_MODE=${CLUSTER_MODE:-$(cluster_find_mode)}
    export CLUSTER_DIR CLUSTER_LOCAL CLUSTER_MODE CLUSTER_RANKS_PER_NODE CLUSTER_NODE_OF
    cluster_mpi_settings
}

# shellcheck source=cmake/mpi_settings.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../cmake/mpi_settings.sh"

# Across user namespaces one process may not read another's memory.
cluster_mpi_settings() {
    redset_mpi_settings
    if [ "$CLUSTER_MODE" = user ]; then
        export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma
    fi
}

# Where the storage of node K is when one looks from outside.
cluster_storage() { echo "$CLUSTER_DIR/nodes/node$1"; }

# cluster_run [-n RANKS] PROGRAM [ARGUMENT...] [: -n RANKS PROGRAM [ARGUMENT...]]...: run it on the nodes, by default on all ranks. The
# exit status is mpirun's, or 124 when time ran out.
cluster_run() {
    local np=$((CLUSTER_NODES * CLUSTER_RANKS_PER_NODE)) status=0 name pass=() words=()
    if [ "$1" = -n ]; then
        np=$2
        shift 2
    fi
    # the settings of the driver must be the same on all ranks, also where mpirun starts with its own
    for name in HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_PLUGIN_PATH LD_LIBRARY_PATH ONE_NAME PATH; do
        [ -z "${!name+set}" ] || [ -z "$redset_mpi_pass" ] || pass+=("$redset_mpi_pass" "$name")
    done
    while [ $# -gt 0 ]; do
        if [ "$1" = : ]; then
            words+=(: -n "$3" "${pass[@]}" "$CLUSTER_HOME/node.sh")
            shift 3
        else
            words+=("$1")
            shift
        fi
    done
    rm -f "$CLUSTER_DIR"/ranks/*
    # shellcheck disable=SC2086 # CLUSTER_MPI_FLAGS are words
    timeout --kill-after=10 "$CLUSTER_TIMEOUT" \
        "$MPIEXEC" -n "$np" "${redset_mpi_flags[@]}" "${pass[@]}" ${CLUSTER_MPI_FLAGS:-} \
        "$CLUSTER_HOME/node.sh" "${words[@]}" </dev/null || status=$?
    [ "$status" = 0 ] || cluster_kill '*' # mpirun takes its ranks along, unless it was killed itself
    [ "$status" != 124 ] || cluster_say "ended by force after $CLUSTER_TIMEOUT s: ${words[*]}"
    return "$status"
}

# Kill what still runs of the ranks on node K ('*': on any), and wait until it is gone.
cluster_kill() {
    local file pid started stat field
    for file in "$CLUSTER_DIR"/ranks/node$1.*; do
        { read -r pid started <"$file"; } 2>/dev/null || continue # no such rank, or already seen to
        while stat=$(cat "/proc/$pid/stat" 2>/dev/null) && read -r -a field <<<"${stat##*) }" &&
            [ "${field[19]}" = "$started" ] && [ "${field[0]}" != Z ]; do
            kill -KILL "$pid" 2>/dev/null || true
            sleep 0.01
        done
        rm -f "$file"
    done
}

# cluster_await TEXT FILE PID: wait until TEXT stands in FILE, which the running process PID writes; fails
# when that ends first. For striking at the right moment.
cluster_await() {
    until grep -qsF -- "$1" "$2"; do
        kill -0 "$3" 2>/dev/null || { grep -qsF -- "$1" "$2" && return; return 1; }
        sleep 0.02
    done
}

# cluster_lose_node K: as if it burned down. Its ranks end without a word, its storage is empty after.
cluster_lose_node() {
    cluster_kill "$1"
    find "$(cluster_storage "$1")" -mindepth 1 -delete
}

# cluster_keep, cluster_put_back: what all storage is like now is kept; and put back, as often as wanted.
cluster_keep() { rm -rf "$CLUSTER_DIR/kept" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/kept"; }
cluster_put_back() { rm -rf "$CLUSTER_DIR/nodes" && cp -a "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes"; }

# The end of everything cluster_up made. Good as an EXIT trap: fine when nothing is up.
cluster_down() {
    [ -n "${CLUSTER_DIR:-}" ] || return 0
    cluster_kill '*'
    rm -rf "$CLUSTER_DIR"
    [ "$CLUSTER_LOCAL" != "$CLUSTER_DIR/local" ] || unset CLUSTER_LOCAL
    unset CLUSTER_DIR
}
