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

# the generation that is put aside on that node
aside() { (cd "$(cluster_storage "$1")" && ls meta.h5.redset.*.lost) | sed 's/.*redset[.]\(.*\)[.]lost/\1/'; }

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
roots "$behind" 2 data meta killed || true # which status mpiexec has for that is its own affair
check 'written anew after the ranks have met, who have died then: read by the next job' roots "$right" 2 see
cluster_put_back
check 'written anew before the ranks have met, where the clock is behind, and the job ends' roots "$behind" 2 meta
check 'the next job cannot know which is newer, and says so' all \
    says 'only clocks say which is newer: that of .* on node1, was taken; that of .* on node0, was put aside' roots "$right" 1 see , \
    roots "$right" 1 see
check 'put aside is not thrown away: it can be the newest again' all \
    cluster_run -n 1 "$REDSET_BUILD_DIR/tools/h5redset" restore "--generation=$(aside 0)" "$CLUSTER_LOCAL" , roots "$right" 2 see
start
check 'written where the clock is years ahead' all roots "$ahead" 1 meta data
cluster_lose_node 0
check 'and anew where it is right: read by all' roots "$right" 2 meta data see
check 'changed where it is right again' roots "$right" 3 change data see
finish
