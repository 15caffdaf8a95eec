#!/usr/bin/env bash
# Older generations of a file of one rank (root=, keep=N): one rank of four writes meta.h5, on nodes that cannot see each other's
# storage; all open an older one, also where the writer's node is lost.
set -euo pipefail

# shellcheck source=test/cluster/roots.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/roots.sh"
h5redset=$REDSET_BUILD_DIR/tools/h5redset

base='scheme=XOR root=meta.h5 timeout=1000'
# roots SETTINGS SEED STEP...
roots() { HDF5_DRIVER_CONFIG="$base $1" cluster_run "$bin/roots" "$CLUSTER_LOCAL" 20000 "${@:2}" 2>&1; }
# older N NODE...: so many older ones are on each of these nodes, and none on any other
older() {
    local want=$1 k n expected
    shift
    for k in 0 1 2 3; do
        n=$(find "$(cluster_storage "$k")" -name 'meta.h5.redset.*.data' -o -name 'meta.h5.redset.*.undo' | wc -l)
        expected=0
        [[ " $* " != *" $k "* ]] || expected=$want
        [ "$n" = "$expected" ] || { echo "node $k keeps $n"; return 1; }
    done
}
# What mpiexec ends with does not tell that ranks were killed: that of MPICH is 0 now and then
dies() { "$@" || true; }

cluster_up 4 1
log=$CLUSTER_DIR/log

created_over() {
    start
    check 'written three times, copied each time' all roots keep=2 1 meta data next meta data next meta data , older 1 0 1
    cluster_keep
    check 'the newest' roots keep=2 3 see
    check 'the one before, which is brought to all' all roots 'keep=2 generation=-1' 2 see , older 1 0 1 2 3
    check 'then there is nothing to bring' not says 'was copied from' roots 'keep=2 generation=-1' 2 see
    if [ -n "$redset_mpi_pass" ]; then
        check 'one rank by itself that has it' roots 'keep=2 timeout=3 generation=-1' 2 alone
        cluster_put_back
        check 'one that has none: an error' says 'which generations of it there are is not known here' \
            gives 4 roots 'keep=2 timeout=3 generation=-1' 2 alone
    else
        echo '  left out: one rank alone: MPICH ends rank 0, which has not used the driver, in MPI_Finalize'
        cluster_put_back
    fi
    check 'one that was retired: refused' says 'there is no generation -2' gives 3 roots 'keep=2 generation=-2' 1 see
    cluster_lose_node 0
    check "the writer's node is lost: the one before all the same" says 'copied from node1' roots 'keep=2 generation=-1' 2 see
    check 'and the newest, and what was before that' all roots keep=2 3 see , roots 'keep=2 generation=-1' 2 see
    check 'goes on: what is beyond keep= goes everywhere' all roots keep=2 4 meta data see , older 1 0 1 2 3 , \
        not says 'was copied from' roots 'keep=2 generation=-1' 3 see , older 1 0 1 2 3
}
in_place() {
    start
    check 'changed in place: what leads back here, whole where it was copied' all roots keep=3 1 meta data next append data next append data , \
        older 2 0 1
    cluster_keep
    check 'the one before' roots 'keep=3 generation=-1' 2 see
    check 'the one before that' roots 'keep=3 generation=-2' 1 see
    cluster_put_back
    cluster_lose_node 0
    check "the writer's node is lost: both" all roots 'keep=3 generation=-2' 1 see , roots 'keep=3 generation=-1' 2 see
    cluster_put_back
    cluster_lose_node 1
    check 'the replica is lost: both' all roots 'keep=3 generation=-2' 1 see , roots 'keep=3 generation=-1' 2 see
    flip "$(find "$(cluster_storage 2)" -name 'meta.h5.redset.*.data' | sort | head -n 1)" 5000
    check 'damaged on one node: mended from another one' says 'copied from node' roots 'keep=3 generation=-2' 1 see
}
meta() { echo "$(cluster_storage "$1")/meta.h5"; }
# so many files are there that are no longer the newest, as what node 0 had then
put_aside() { [ "$(find "$CLUSTER_DIR/nodes" -name 'meta.h5.redset.*.newer' | wc -l)" = "$1" ] && cmp "$(meta 0)".redset.*.newer "$CLUSTER_DIR/damaged"; }
# unprotected NODE: a file of that name that nobody protects is in the place of what was there
unprotected() { rm "$(meta "$1")" "$(meta "$1")".[0-9]*redset && cp "$(cluster_storage "$1")/data_$1.h5" "$(meta "$1")"; }
fall_back() {
    start
    check 'written twice, and damaged everywhere' all roots keep=2 1 meta data next meta data , flip "$(meta 0)" 5000 , flip "$(meta 1)" 5000
    cp "$(meta 0)" "$CLUSTER_DIR/damaged"
    cluster_keep
    check 'refused, and the older one is named' says 'is kept: generation=-1 opens it for reading, fallback=yes lets all' gives 3 roots keep=2 2 see
    check 'fallback=yes: that, on all ranks, and it is said' all says 'opened is generation .*, which is not the newest' \
        roots 'keep=2 fallback=yes' 1 see , cmp "$(meta 0)" "$CLUSTER_DIR/damaged"
    cluster_lose_node 0
    check "the writer's node is lost: the same" roots 'keep=2 fallback=yes' 1 see
    cluster_put_back
    check 'refused for change' says 'is kept: generation=-1' gives 3 roots keep=2 3 change
    check 'fallback=yes: that becomes the newest, and is changed' all says 'put aside, as' roots 'keep=2 fallback=yes' 3 change data , put_aside 2 , \
        roots keep=2 3 see
    check 'what it was before is kept' roots 'keep=2 generation=-1' 1 see
    check 'and next time there is nothing to say' not says 'not the newest' roots 'keep=2 fallback=yes' 3 see
    cluster_put_back
    find "$CLUSTER_DIR/nodes" -name 'meta.h5.redset.*.data*' -delete
    check 'no older one is kept: refused, and none is named' all gives 3 roots 'keep=2 fallback=yes' 1 see , not says 'is kept' gives 3 roots '' 1 see
    start
    check 'written, and an outdated replica is left' all roots '' 1 meta data , dies roots '' 2 meta killed , flip "$(meta 0)" 5000
    check 'which is none that is kept' all gives 3 roots fallback=yes 1 see , not says 'is kept' gives 3 roots '' 1 see
    start
    check 'a file that nobody protects is in its place: refused, not an older one opened' all roots keep=2 1 meta data next meta data , \
        unprotected 1 , \
        says 'which is newer' gives 3 roots 'keep=2 fallback=yes' 1 see
}
# number: the one that all of them have
number() { "$h5redset" list "$(meta 0)" | awk '/newest$/ { print $1 }'; }
one_number() { [ "$("$h5redset" list "$(meta 0)" | awk '/SINGLE/ { print $1 }' | sort -u | wc -l)" = 1 ]; }
by_number() { local n; n=$(number) && says "more than one generation has the number $n" gives 3 roots "keep=3 generation=$n" 1 see; }
# the oldest of them
in_full() {
    local kept
    kept=$(find "$(cluster_storage 0)" -name 'meta.h5.redset.*.data' | sort | head -n 1)
    kept=${kept%.data}
    roots "keep=3 generation=${kept##*.}" 1 see
}
tool() {
    start
    check 'written three times' roots keep=3 1 meta data next meta data next meta data
    if ! one_number; then # another one began meanwhile
        start
        check 'written three times again' all roots keep=3 1 meta data next meta data next meta data , one_number
    fi
    cluster_keep
    check 'the tool lists them' [ "$("$h5redset" list "$CLUSTER_DIR"/nodes/*/meta.h5 | grep -c 'SINGLE .* healthy')" = 3 ]
    check 'by their number, which is of the time: none is taken for another' by_number
    check 'by all digits' in_full
    cluster_put_back
    check 'the tool drops one, with its replica' all cluster_run "$h5redset" drop --generation=-1 "$CLUSTER_LOCAL/meta.h5" , older 1 0 1 , \
        roots 'keep=3 generation=-1' 1 see
    cluster_put_back
    check 'so does one process that sees all' all "$h5redset" drop --generation=-2 "$CLUSTER_DIR"/nodes/*/meta.h5 , older 1 0 1 , \
        roots 'keep=3 generation=-1' 2 see
    cluster_put_back
    check 'and makes one the newest, which all get' all cluster_run "$h5redset" restore --generation=-1 "$CLUSTER_LOCAL/meta.h5" , roots keep=3 2 see
}
created_over
in_place
fall_back
tool
finish
