#!/usr/bin/env bash
# h5redset under mpiexec, on nodes that cannot see each other's storage: one picture of all of them, and a
# rebuild of all that is lost with a process for each file. Protected by the driver, and by h5redset itself.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
tool=$REDSET_BUILD_DIR/tools/h5redset


# gives STATUS ARGUMENT...: h5redset on all nodes ends with that exit status; mpirun's own is the highest
gives() {
    local want=$1 status=0
    shift
    cluster_run ${ranks:+-n "$ranks"} "$tool" "$@" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
}
says() { grep -qE -- "$1" "$out" || { echo "not said: $1"; return 1; }; }
same() { diff -r -x '*.redset.names' "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes"; }
driver() { cluster_run "$bin/ranks" "$1" "$CLUSTER_LOCAL" 20000 1; }

cluster_up 4 1
log=$CLUSTER_DIR/log out=$CLUSTER_DIR/out ranks=''
if [ "$CLUSTER_MODE" = plain ]; then echo 'SKIP: nodes are mere directories here'; exit 77; fi

export HDF5_DRIVER_CONFIG='scheme=RS checksums=2 required=yes timeout=20'
check 'written through the driver' driver write
cluster_keep
sees_all() {
    gives 0 status "$CLUSTER_LOCAL" && says 'RS:2, 4 ranks in 1 set, generation 1' || return 1
    for k in 0 1 2 3; do says " node$k:[^ ]*/data_$k.h5  healthy" || return 1; done
    [ "$(grep -c 'set 0: healthy' "$out")" = 1 ] && same # said by one process
}
check 'one process on each node sees all' sees_all
alone() { # what one node can see for itself
    ranks=1 gives 0 status "$CLUSTER_LOCAL" && says 'set 0: elsewhere' && says 'of 4 files 1 are here, and whole' && says 'data_0.h5  healthy' || return 1
    says 'elsewhere; was on node' && ! grep -qE 'unrecoverable|lost' "$out" || return 1
    ranks=1 gives 0 list "$CLUSTER_LOCAL" && says 'elsewhere, newest' && ranks=1 gives 0 rebuild "$CLUSTER_LOCAL" && says 'elsewhere' || return 1
    ranks=1 gives 5 unprotect "$CLUSTER_LOCAL" && says 'out of sight' && same || return 1
    ranks=1 gives 0 scavenge --to "$CLUSTER_DIR/saved" "$CLUSTER_LOCAL" && says 'data_0.h5: copied' && says 'on another node: bring it from there' || return 1
    rm -rf "$CLUSTER_DIR/saved"
    # what is lost or damaged here is not called elsewhere
    flip "$(cluster_storage 0)/data_0.h5" 300 && ranks=1 gives 2 status --verify "$CLUSTER_LOCAL" && says 'unrecoverable' && says 'With what can be reached from here'
    cluster_put_back
}
check 'a process alone sees one node' alone

rebuilds() {
    gives 1 map "$CLUSTER_LOCAL" && ! grep -q $'\033' "$out" && says 'node2 +node3 +was on node0 +was on node1' && says ' 0L' && says 'set 0 !' || return 1
    gives 1 status "$CLUSTER_LOCAL" && says ' node1:[^ ]*/data_1.h5 \(recorded\)  lost; was on node1' || return 1
    gives 0 rebuild --dry-run "$CLUSTER_LOCAL" && says 'node0:[^ ]*/data_0.h5: would be rebuilt \(lost\)' || return 1
    [ -z "$(ls "$(cluster_storage 0)")" ] || return 1
    gives 0 rebuild "$CLUSTER_LOCAL" && says 'node0:[^ ]*/data_0.h5: rebuilt' && same && driver read
}
cluster_lose_node 0
cluster_lose_node 1
check 'two nodes lost' rebuilds
too_many() {
    cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/before"
    gives 2 rebuild "$CLUSTER_LOCAL" && says 'set 0: .*unrecoverable' && diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes"
}
cluster_put_back
for k in 0 1 3; do cluster_lose_node $k; done
check 'three nodes lost: refused, nothing changed' too_many
fewer() { # what node 3 has is out of reach, and counts as lost
    ranks=3 gives 0 rebuild "$CLUSTER_LOCAL" && says 'data_0.h5: rebuilt' && says 'data_3.h5: rebuilt' || return 1
    cmp "$CLUSTER_DIR/kept/node0/data_0.h5" "$(find "$CLUSTER_DIR/nodes" -name data_0.h5)" && driver read
}
cluster_put_back
cluster_lose_node 0
check 'fewer processes than files' fewer
elsewhere() { # a rank that is started on another node is told where its file was
    CLUSTER_NODE_OF='3 1 2 3' cluster_run -n 4 "$bin/ranks" read "$CLUSTER_LOCAL" 20000 1 >"$out" 2>&1 || { cat "$out"; return 1; }
    cat "$out"
    says 'data_0.h5: was lost, and was rebuilt; it was on node0 .rank 0 on node[0-9]*.$'
}
cluster_put_back
cluster_lose_node 0
check 'a file rebuilt on another node' elsewhere
left_out() {
    cp -a "$CLUSTER_DIR/nodes/." "$CLUSTER_DIR/before"
    ranks=2 gives 2 rebuild "$CLUSTER_LOCAL" && says 'set 0: .*unrecoverable' && diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes"
}
cluster_put_back
cluster_lose_node 0
rm -rf "$CLUSTER_DIR/before"
check 'too many nodes without a process: refused, nothing changed' left_out
damage() {
    gives 1 status --verify "$CLUSTER_LOCAL" && says 'data_2.h5  damaged at' && gives 0 rebuild "$CLUSTER_LOCAL" && same
}
cluster_put_back
flip "$(cluster_storage 2)/data_2.h5" 9000
check 'damage on a node' damage

# A job died in the middle: looking says so, a rebuild takes the files back.
interrupted() {
    ! cluster_run "$bin/changes" update killed "$CLUSTER_LOCAL" || return 1
    gives 1 status "$CLUSTER_LOCAL" && says 'changed since it was protected; can be rolled back' || return 1
    gives 0 rebuild "$CLUSTER_LOCAL" && same
}
cluster_put_back
check 'files that a job died over' interrupted
interrupted_and_lost() {
    ! cluster_run "$bin/changes" update killed "$CLUSTER_LOCAL" || return 1
    cluster_lose_node 1
    gives 1 status "$CLUSTER_LOCAL" && says 'set 0: repairable' && gives 0 rebuild "$CLUSTER_LOCAL" && same
}
cluster_put_back
check 'a job died, and a node is lost' interrupted_and_lost

# Four processes with two files each, one of which is new to its node.
crowded() {
    CLUSTER_NODE_OF='0 0 1 1 2 2 3 3' cluster_run -n 8 "$bin/ranks" write "$CLUSTER_LOCAL" 20000 3 && cluster_keep || return 1
    cluster_lose_node 2
    gives 0 rebuild "$CLUSTER_LOCAL" && says 'node2:[^ ]*/data_5.h5: rebuilt' && same
    CLUSTER_NODE_OF='0 0 1 1 2 2 3 3' cluster_run -n 8 "$bin/ranks" read "$CLUSTER_LOCAL" 20000 3
}
for k in 0 1 2 3; do cluster_lose_node $k; done
cp -a "$CLUSTER_DIR/kept" "$CLUSTER_DIR/four"
check 'one process on each node, two files each' crowded
rm -rf "$CLUSTER_DIR/kept" && mv "$CLUSTER_DIR/four" "$CLUSTER_DIR/kept"

# Two processes on each node see the same files.
twice() {
    rm "$(cluster_storage 3)"/*redset
    CLUSTER_NODE_OF='0 1 2 3 0 1 2 3' ranks=8 gives 1 status "$CLUSTER_LOCAL" && says 'data_3.h5  redundancy missing' || return 1
    CLUSTER_NODE_OF='0 1 2 3 0 1 2 3' ranks=8 gives 0 rebuild "$CLUSTER_LOCAL" && says 'data_3.h5: redundancy re-encoded' && same
}
cluster_put_back
check 'two processes on each node' twice

# A job died in a commit that one rank had published: all finish it.
halfway() {
    local k file from generation
    cluster_put_back
    cluster_run "$bin/ranks" write "$CLUSTER_LOCAL" 20000 2 || return 1
    generation=$(cluster_run -n 4 "$tool" status --json "$CLUSTER_LOCAL" |
        sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
    rm -rf "$CLUSTER_DIR/new" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/new" && cluster_put_back
    for k in 0 1 2 3; do
        from=$CLUSTER_DIR/new/node$k
        for file in "$from"/*redset; do
            cp -a "$file" "$(cluster_storage $k)/$(basename "$file")$([ $k = 2 ] || echo .new)" || return 1
        done
        cp -a "$from/data_$k.h5" "$(cluster_storage $k)/data_$k.h5.redset.$generation.new" || return 1
    done
    gives 1 status "$CLUSTER_LOCAL" && says 'it will be finished' || return 1
    gives 0 rebuild --dry-run "$CLUSTER_LOCAL" && says 'node3:[^ ]*/data_3.h5: commit would be finished' || return 1
    gives 0 rebuild "$CLUSTER_LOCAL" && says 'data_3.h5: commit finished' || return 1
    cluster_run "$bin/ranks" read "$CLUSTER_LOCAL" 20000 2
}
check 'a job died in a commit' halfway

# Of a set nothing is left: what other sets record tells that it is missing.
wholly_lost() {
    for k in 0 1 2 3; do cluster_lose_node $k; done
    HDF5_DRIVER_CONFIG='scheme=SINGLE required=yes timeout=20' driver write && cluster_lose_node 2 || return 1
    for command in status map 'rebuild --dry-run' rebuild; do
        # shellcheck disable=SC2086 # words
        gives 2 $command "$CLUSTER_LOCAL" && says 'set 2( X|: nothing of it is left: rank 2 unrecoverable)' || return 1
    done
}
check 'a wholly lost set' wholly_lost

own_files() {
    for k in 0 1 2 3; do
        cluster_lose_node $k
        head -c $((100000 + k)) /dev/urandom >"$(cluster_storage $k)/own_$k.h5"
    done
    gives 0 protect --scheme XOR "$CLUSTER_LOCAL/own_%r.h5" && says 'own_3.h5: protected' || return 1
    gives 0 status --verify "$CLUSTER_LOCAL" && cluster_keep && cluster_lose_node 3 && gives 0 rebuild "$CLUSTER_LOCAL" && same || return 1
    gives 0 unprotect "$CLUSTER_LOCAL" && [ -z "$(find "$CLUSTER_DIR/nodes" -name '*redset*')" ]
}
check 'files made without the driver' own_files

# What was deleted, by rm on all nodes or with its directory, is not lost.
empty() { [ -z "$(find "$CLUSTER_DIR/nodes" -type f)" ]; }
deleted() {
    for k in 0 1 2 3; do cluster_lose_node $k; done
    HDF5_DRIVER_CONFIG='scheme=PARTNER required=yes timeout=20' driver write && cluster_keep || return 1
    rm "$CLUSTER_DIR"/nodes/node?/data_?.h5
    gives 0 status "$CLUSTER_LOCAL" && says 'set 0: deleted' && gives 0 rebuild "$CLUSTER_LOCAL" && says 'left alone; --deleted' || return 1
    gives 0 rebuild --deleted "$CLUSTER_LOCAL" && says 'node3:[^ ]*/data_3.h5: rebuilt' && same || return 1
    rm "$CLUSTER_DIR"/nodes/node?/data_?.h5
    cluster_lose_node 2
    ranks=1 gives 5 gc "$CLUSTER_LOCAL" && says 'the files of 3 ranks may be on nodes that are out of sight' || return 1
    gives 0 gc "$CLUSTER_LOCAL" && says 'data_3.h5: what protected it was removed' && empty
}
check 'deleted on all nodes' deleted
one_left() { # on one node of four
    cluster_put_back
    rm "$CLUSTER_DIR"/nodes/node[012]/data_?.h5
    rm -rf "$CLUSTER_DIR/before" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/before"
    gives 0 gc "$CLUSTER_LOCAL" && says 'nothing that was deleted is left' && diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes" || return 1
    ranks=3 gives 5 gc "$CLUSTER_LOCAL" && says 'the files of 1 rank may be' && diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes"
}
check 'one file is left on one node: not gc, also where that is out of sight' one_left
removed() {
    cluster_put_back
    ranks=3 gives 5 rm "$CLUSTER_LOCAL" && says 'the files of 1 rank may be on nodes that are out of sight' && same || return 1
    gives 0 rm "$CLUSTER_LOCAL" && says 'data_3.h5: was removed' && empty
}
check 'rm on all nodes' removed

# Three of five files on one node: two sets of two are possible, and the last of the three would be left over.
crowd() {
    for k in 0 1 2 3; do cluster_lose_node $k; done
    for k in 0 1 2 3 4; do
        head -c $((100000 + k)) /dev/urandom >"$(cluster_storage $((k < 3 ? 0 : k - 2)))/own_$k.h5"
    done
    CLUSTER_NODE_OF='0 0 0 1 2' ranks=5 gives 5 protect --scheme XOR "$CLUSTER_LOCAL/own_%r.h5" || return 1
    says 'not protected: .*1 of 5 ranks is not protected.* node0 has 3 of 5 ranks, not protected are 2;' || return 1
    [ -z "$(find "$CLUSTER_DIR/nodes" -name '*redset')" ]
}
check 'too many files on one node: none is protected' crowd

# Files of one name: a lost one never takes the place of another rank's.
namesakes() {
    for k in 0 1 2 3; do
        cluster_lose_node $k
        head -c $((100000 + k)) /dev/urandom >"$(cluster_storage $k)/own.h5"
    done
    gives 0 protect "$CLUSTER_LOCAL/own.h5" && cluster_keep && cluster_lose_node 1 || return 1
    cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/then"
    CLUSTER_NODE_OF='0 2 3 0' gives 5 rebuild "$CLUSTER_LOCAL" && says 'no process for rank 1' || return 1
    diff -r "$CLUSTER_DIR/then" "$CLUSTER_DIR/nodes" && gives 0 rebuild "$CLUSTER_LOCAL" && same
}
check 'files of one name on all nodes' namesakes
finish
