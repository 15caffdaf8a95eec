#!/usr/bin/env bash
# Files of one rank (root=) where the clocks of nodes differ: what was written last is read, whatever the time was there.
set -euo pipefail

# shellcheck source=test/cluster/roots.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/roots.sh"

# roots SHIFTS SEED STEP...: seconds by which the clock of each rank is wrong
roots() {
    cluster_run env "LD_PRELOAD=$bin/libpreload_shift.so${LD_PRELOAD:+:$LD_PRELOAD}" "CLOCK_SHIFT=$1" \
        "$bin/roots" "$CLUSTER_LOCAL" 20000 "${@:2}" 2>&1
}

cluster_up 4 1
log=$CLUSTER_DIR/log
export HDF5_DRIVER_CONFIG='scheme=XOR root=meta.h5 timeout=1000'
right='0 0 0 0' behind='-7200 0 0 0' years='-100000000 0 0 0' ahead='100000000 0 0 0'

# A copy on node 1 is all that there is, and the writer, whose node is new, does not know it.
start
check 'written, and copied' all roots "$right" 1 meta data
cluster_lose_node 0
cluster_keep
check 'written anew where the clock is behind, copied, read by all' roots "$behind" 2 meta data see
check 'and by the next job' roots "$right" 2 see
cluster_put_back
check 'by years, and read before it is copied' roots "$years" 2 meta see
check 'and by the next job' roots "$right" 2 see
cluster_put_back
check 'written anew, and copied in MPI_Finalize' roots "$years" 2 data meta
check 'read by the next job' roots "$right" 2 see
cluster_put_back
check 'written anew after the ranks have met, who die then' not roots "$behind" 2 data meta killed
check 'read by the next job' roots "$right" 2 see
start
check 'written where the clock is years ahead' all roots "$ahead" 1 meta data
cluster_lose_node 0
check 'and anew where it is right: read by all' roots "$right" 2 meta data see
check 'changed where it is right again' roots "$right" 3 change data see
finish
