#!/usr/bin/env bash
# Files of several nodes on one storage: that is said, once, since no scheme survives the loss of it. Of storage of each node, with equal
# paths, and with old copies of the others' files in it, nothing is said.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"

cluster_up 4 1
if [ "$CLUSTER_MODE" = plain ]; then echo 'SKIP: all nodes have one name here'; exit 77; fi
log=$CLUSTER_DIR/log said=$CLUSTER_DIR/said shared=$CLUSTER_DIR/shared
mkdir "$shared"
# steps DIR WORD...: on all ranks; @ in DIR is the rank
steps() {
    # shellcheck disable=SC2016 # expanded on the node
    cluster_run bash -c 'export RANK=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}; dir=${1/@/$RANK} && mkdir -p "$dir" && exec "$2" "$dir" 20000 "${@:3}"' \
        steps "$1" "$bin/steps" "$CLUSTER_DIR/came" "${@:2}" >"$said" 2>&1 || { cat "$said"; return 1; }
}
in_background() { HDF5_DRIVER_CONFIG='async=yes timeout=30' steps "$@"; }
on_two_nodes() { CLUSTER_NODE_OF='0 1 0 1' steps "$@"; }
tells() {
    [ "$(grep -c 'share the storage' "$said")" = "$1" ] || { echo "not said $1 times:"; cat "$said"; return 1; }
}
names() { grep -q "data_0.h5: node0 sees what rank 3 wrote on node3, so these nodes share the storage: " "$said" || { cat "$said"; return 1; }; }

for scheme in XOR PARTNER RS:2; do
    export HDF5_DRIVER_CONFIG="scheme=$scheme timeout=30 required=yes"
    check "$scheme, storage of each node, one path: nothing is said" all steps "$CLUSTER_LOCAL" create=1 close , tells 0
    check 'one directory that all nodes see: it is said, once' all steps "$shared" create=1 close create=2 close , tells 1 , names
    check 'when the files are next updated, too' all steps "$shared" open=3 close , tells 1
    check 'a directory of each rank on it: the same' all steps "$shared/of_@" create=1 close , tells 1 , names
    rm -r "${shared:?}"/*
done
check 'with async=yes' all in_background "$shared" create=1 close , tells 1
cp "$(cluster_storage 3)"/data_3.h5* "$(cluster_storage 0)"
check 'storage of each node, with an old copy of what the other one writes: nothing is said' all steps "$CLUSTER_LOCAL" create=2 close , tells 0
find "$CLUSTER_DIR/nodes" -type f -delete
# shellcheck disable=SC2016 # expanded by the driver
export HDF5_DRIVER_CONFIG='scheme=PARTNER:2 timeout=30 required=yes group=$RANK'
check 'ranks of one node that are said to fail apart: of what these share nothing is said' all \
    on_two_nodes "$CLUSTER_LOCAL" create=3 close , tells 0
export HDF5_DRIVER_CONFIG='scheme=SINGLE timeout=30'
check 'SINGLE: nothing protects anything there' all steps "$shared" create=1 close , tells 0
finish
