#!/usr/bin/env bash
# Files of one rank (root=): one rank of four writes meta.h5, on nodes that cannot see each other's storage, and all open it.
set -euo pipefail

# shellcheck source=test/cluster/roots.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/roots.sh"

roots() { cluster_run "$bin/roots" "$CLUSTER_LOCAL" 200000 "$@" 2>&1; }
# Of a job whose ranks all end by SIGKILL: which status mpiexec has for that is its own affair.
killed() { roots "$@" killed >>"$log" || true; }
# on NODE...: the nodes that have such a file, and no other
on() {
    local k here=''
    for k in 0 1 2 3; do [ ! -e "$(cluster_storage "$k")/meta.h5" ] || here+="$k "; done
    [ "$here" = "${*:+$* }" ] || { echo "on nodes $here, expected $*"; return 1; }
}
tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f ! -name '*.redset.names' -exec sha256sum {} + | sort -k 2); }

cluster_up 4 1
log=$CLUSTER_DIR/log
# No rank waits for one that does not come here: the time limit of a run is shorter than this.
export HDF5_DRIVER_CONFIG='scheme=XOR root=meta.h5 timeout=1000'

readers() {
    start
    check 'written by one rank before the ranks have met: said' all says 'no replica of .*meta.h5: the ranks have opened or closed no files together' \
        roots 1 meta , on 0
    check 'all open it: whoever misses it gets it' all says 'meta.h5: was missing, outdated or damaged here, and was copied from node0' \
        roots 1 see , on 0 1 2 3
    check 'and has it then' not says 'copied from' roots 1 see
    cluster_lose_node 0
    check 'its node is lost' all roots 1 see , on 0 1 2 3
}

# Rank 0 and its neighbour have it when the others' close has returned; then in MPI_Finalize.
replicas() {
    start
    killed 1 meta data
    check 'copied at the next close of all, which the ranks have not survived: it is on two nodes' on 0 1
    cluster_keep
    cluster_lose_node 0
    check 'its node is lost: all is there' all roots 1 read , on 0 1 2 3
    start
    check 'copied in MPI_Finalize' all roots 1 data meta , on 0 1
    start
    HDF5_DRIVER_CONFIG+=' replicas=2' check 'two replicas' all roots 1 meta data , on 0 1 2
    cluster_put_back
    rm "$(cluster_storage 0)"/meta.h5*
    check 'what was lost alone comes back where it was' all says 'copied from node1' roots 1 read , on 0 1 2 3
}

# The newest counts, whoever wrote it and wherever it lies.
newest() {
    cluster_put_back
    check 'written again: the new one everywhere' all roots 1 see next meta data wait see , on 0 1 2 3
    cluster_lose_node 0
    check 'also where its node is lost' roots 2 see
    cluster_put_back
    killed 2 meta
    check 'written again, and killed before it is copied: the new one everywhere' roots 2 see
    cluster_put_back
    killed 2 meta
    cluster_lose_node 0
    check 'the same, and its node lost: the old one everywhere' roots 1 see
    check 'now by a rank on a node that is new' all roots 2 meta , roots 2 see
    cluster_put_back
    cluster_lose_node 0
    cluster_lose_node 2
    cluster_lose_node 3
    check 'by a rank that knows nothing of the replica' all roots 2 meta , roots 2 see
}
damage() {
    cluster_put_back
    flip "$(cluster_storage 0)/meta.h5" 5000
    check 'damaged: mended from the replica' all says 'copied from node1' roots 1 see , roots 1 see
    cluster_put_back
    flip "$(cluster_storage 0)/meta.h5" 5000
    flip "$(cluster_storage 1)/meta.h5" 5000
    before=$(tree)
    check 'damaged everywhere: refused on all ranks' all says 'is lost or damaged, and no rank has a replica' gives 3 roots 1 see
    check 'and nothing was changed' [ "$before" = "$(tree)" ]
    cluster_put_back
    HDF5_DRIVER_CONFIG+=' readonly_rebuild=no' check 'not where nothing may be written' \
        says 'readonly_rebuild=no' gives 3 roots 1 see
    rm "$(cluster_storage 0)"/meta.h5*
    cp "$(cluster_storage 0)/data_0.h5" "$(cluster_storage 0)/meta.h5"
    setfattr -x user.redset "$(cluster_storage 0)/meta.h5" 2>/dev/null || true
    before=$(tree)
    check 'a file that nobody protects is in its place: refused' all says 'which is newer' gives 3 roots 1 see
    check 'and it is left as it is' [ "$before" = "$(tree)" ]
}
# Another program has changed it, where nobody looks closely.
append() { local k; for k in "$@"; do echo "added on node $k" >>"$(cluster_storage "$k")/meta.h5"; done; }
aside() { grep -qa "added on node $1" "$CLUSTER_DIR"/nodes/*/meta.h5.redset.*.changed; }
one_is_aside() { aside 0 || aside 1; }
none_has() { ! grep -qa 'added on node' "$(cluster_storage 0)/meta.h5" "$(cluster_storage 1)/meta.h5"; }
all_have() { # they are one, with what was added on one of the nodes
    local k
    for k in 1 2 3; do cmp "$(cluster_storage 0)/meta.h5" "$(cluster_storage $k)/meta.h5" || return; done
    grep -qa 'added on node' "$(cluster_storage 0)/meta.h5"
}
changed() {
    cluster_put_back
    append 0
    check 'changed by another program: as it was protected, and what was changed is put aside' all \
        says 'meta.h5: was only made longer by another program on .* what it was changed to is meta.h5.redset.*.changed now' roots 1 see , \
        aside 0 , none_has , roots 1 see , on 0 1 2 3
    cluster_put_back
    printf 'added on node 0' | dd of="$(cluster_storage 0)/meta.h5" bs=1 seek=150000 conv=notrunc status=none
    HDF5_DRIVER_CONFIG+=' verify=read' check 'in its place, with verify=read' all says 'was changed by another program' roots 1 see , aside 0 , none_has
    cluster_put_back
    append 0 1
    before=$(tree)
    check 'so are all of them: refused, with the way out' all says 'was changed by another program, and no rank has a replica' gives 3 roots 1 see , \
        not grep -q 'remove what is left' "$CLUSTER_DIR/said"
    check 'and nothing was changed' [ "$before" = "$(tree)" ]
    HDF5_DRIVER_CONFIG+=' changed=keep' check 'changed=keep: one of them everywhere, and the other is put aside' all roots 1 see , all_have , \
        one_is_aside
    check 'and protected so' all roots 1 see , all_have , on 0 1 2 3
    cluster_put_back
    touch "$(cluster_storage 0)/meta.h5" "$(cluster_storage 1)/meta.h5"
    check 'only touched' all says '' roots 1 see , not grep -q 'another program' "$CLUSTER_DIR/said" , on 0 1 2 3
}
writers() {
    start
    check 'changed again by the rank that wrote it, which asks nobody' roots 1 meta data next append data wait see
    check 'and the replica too' on 0 1 2 3
    start
    check 'written by another rank where a replica lies' roots 1 meta data next meta1 wait see
    start
    check 'written by two ranks: no replica in place of what a rank has written' \
        says 'no replica of .*meta.h5.*more than one rank has written' roots 1 meta meta1 data
    start
    echo plain >"$(cluster_storage 1)/meta.h5"
    check 'where a file lies that nobody protects: no replica' all \
        says 'no replica of .*a file of this name lies there that is not protected' roots 1 meta data , \
        grep -qx plain "$(cluster_storage 1)/meta.h5"
    start
    check 'written' roots 1 meta data
    if [ -n "$redset_mpi_pass" ]; then
        HDF5_DRIVER_CONFIG+=' timeout=3' check 'opened by one rank alone that has none: an error that says where it may be' \
            says 'replicas may lie on other nodes' gives 4 roots 1 alone
        HDF5_DRIVER_CONFIG+=' timeout=3' check 'by one that has it: it is opened' all roots 1 see , roots 1 alone
    else
        echo '  left out: one rank alone: MPICH ends rank 0, which has not used the driver, in MPI_Finalize'
    fi
    check 'saved by scavenge, once' all "$REDSET_BUILD_DIR/tools/h5redset" scavenge --to "$CLUSTER_DIR/safe" "$CLUSTER_DIR"/nodes/* , \
        cmp "$CLUSTER_DIR/safe/meta.h5" "$(cluster_storage 0)/meta.h5"
}
# A replica is a file, too.
removed() {
    local tool=$REDSET_BUILD_DIR/tools/h5redset
    cluster_put_back
    roots 1 see && on 0 1 2 3 || return 1
    cluster_run -n 4 "$tool" rm "$CLUSTER_LOCAL/meta.h5" && on && ! find "$CLUSTER_DIR/nodes" -name 'meta.h5*' | grep .
}
readers
replicas
check 'h5redset rm: on no node any more' removed
newest
damage
changed
writers
finish
