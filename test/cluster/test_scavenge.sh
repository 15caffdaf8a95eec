#!/usr/bin/env bash
# h5redset scavenge under mpiexec, on nodes that cannot see each other's storage, to a directory that all of them see: each
# process copies what lies on its node, and what is lost is rebuilt from pieces of several nodes.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
tool=$REDSET_BUILD_DIR/tools/h5redset
cluster_up 4 2
log=$CLUSTER_DIR/log out=$CLUSTER_DIR/out safe=$CLUSTER_DIR/safe
if [ "$CLUSTER_MODE" = plain ]; then echo 'SKIP: nodes are mere directories here'; exit 77; fi
one_each='0 1 2 3' # a process on each node

# brings STATUS [ARGUMENT...]: with a process on each node; the nodes are as before, and nothing is left over in the target
brings() {
    local want=$1 status=0
    shift
    rm -rf "$CLUSTER_DIR/before" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/before"
    CLUSTER_NODE_OF=${placed:-$one_each} cluster_run -n "${ranks:-4}" "$tool" scavenge --to "$safe" "$@" "$CLUSTER_LOCAL" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
    diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes" && [ ! -e "$safe/redset-scavenge.tmp" ]
}
says() { grep -qE -- "$1" "$out" || { echo "not said: $1"; return 1; }; }
index() { # EXPRESSION: of the index `i`, and `f`, its files by name
    python3 -c 'import json, sys
i = json.load(open(sys.argv[1]))
f = {one["name"]: one for one in i["files"]}
sys.exit(0 if eval(sys.argv[2]) else "the index is not %s: %s" % (sys.argv[2], json.dumps(i, indent=1)))' "$safe/redset-index.json" "$1"
}
begin() { rm -rf "$safe" && cluster_put_back; }
are() { # RANK...: in the target these ranks' files are as they were kept, and there are no others
    local k
    for k in "$@"; do cmp "$CLUSTER_DIR/kept/node$((k / 2))/data_$k.h5" "$safe/data_$k.h5" || return 1; done
    [ "$(find "$safe" -name '*.h5' | wc -l)" = $# ]
}

export HDF5_DRIVER_CONFIG='scheme=XOR required=yes timeout=20'
check 'written through the driver' cluster_run "$bin/ranks" write "$CLUSTER_LOCAL" 20000 1
cluster_keep

whole() {
    brings 0 && are 0 1 2 3 4 5 6 7 && [ "$(grep -c '^8 files: 8 copied' "$out")" = 1 ] || return 1
    index 'all(o["how"] == "copied" and o["host"] == "node%d" % (o["rank"] // 2) for o in f.values()) and len(f) == 8'
}
check 'each process brings what is on its node' whole
again() { brings 0 && says '8 files: 8 was there'; }
check 'a second run changes nothing' again
lost() {
    cluster_lose_node 2 && brings 0 && are 0 1 2 3 4 5 6 7 && says '^8 files: 2 rebuilt, 6 copied' || return 1
    index 'f["data_4.h5"]["how"] == f["data_5.h5"]["how"] == "rebuilt" and f["data_4.h5"]["host"] is None and f["data_4.h5"]["complete"]'
}
begin; check 'a node lost: rebuilt from pieces of several nodes' lost
fewer() { # nobody runs on the lost node
    cluster_lose_node 0 && placed='1 2 3' ranks=3 brings 0 && are 0 1 2 3 4 5 6 7
}
begin; check 'no process where nothing is left' fewer
bare() { # what records it lies on another node
    rm "$CLUSTER_DIR"/nodes/node1/data_2.h5.* && brings 0 && are 0 1 2 3 4 5 6 7 && index 'f["data_2.h5"]["verified"] and f["data_2.h5"]["how"] == "copied"'
}
begin; check 'redundancy lost: verified by what another node records' bare
damaged() { flip "$CLUSTER_DIR/nodes/node1/data_3.h5" 9000 && brings 0 && are 0 1 2 3 4 5 6 7 && index 'f["data_3.h5"]["how"] == "rebuilt"'; }
begin; check 'damage on a node' damaged
rolled_back() {
    ! cluster_run "$bin/changes" update killed "$CLUSTER_LOCAL" || return 1
    cluster_lose_node 3 && brings 0 && are 0 1 2 3 4 5 6 7 && index 'f["data_1.h5"]["how"] == "rolled back" and f["data_6.h5"]["how"] == "rebuilt"'
}
begin; check 'a job died while it changed its files, and a node is lost' rolled_back
halfway() { # a job died in a commit that one rank has published, and that rank's neighbour is lost
    local k file from to generation
    cluster_run "$bin/ranks" write "$CLUSTER_LOCAL" 20000 2 || return 1
    generation=$(CLUSTER_NODE_OF=$one_each cluster_run -n 4 "$tool" status --json "$CLUSTER_LOCAL" |
        sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
    cp -a "$CLUSTER_DIR/kept" "$CLUSTER_DIR/one" && cluster_keep && rm -rf "$CLUSTER_DIR/nodes" && mv "$CLUSTER_DIR/one" "$CLUSTER_DIR/nodes"
    for k in 0 1 2 3 4 5 6 7; do
        from=$CLUSTER_DIR/kept/node$((k / 2)) to=$CLUSTER_DIR/nodes/node$((k / 2))
        for file in "$from/data_$k.h5".*redset; do cp -a "$file" "$to/$(basename "$file")$([ $k = 2 ] || echo .new)"; done
        cp -a "$from/data_$k.h5" "$to/data_$k.h5.redset.$generation.new"
    done
    cluster_lose_node 3 && brings 0 && are 0 1 2 3 4 5 6 7 && index 'all(o["generation"] == 2 for o in f.values()) and f["data_6.h5"]["how"] == "rebuilt"'
}
begin; check 'a job died in a commit, and a node is lost' halfway
too_many() {
    cluster_lose_node 1 && cluster_lose_node 3 && brings 2 && are 0 1 4 5 && [ "$(grep -c ': unrecoverable: ' "$out")" = 4 ] || return 1
    index 'sorted(o["rank"] for o in i["unrecoverable"]) == [2, 3, 6, 7] and not f["data_0.h5"]["complete"]'
}
begin; check 'two nodes lost: what can be had is brought' too_many
in_the_way() { # another file has the name of one that lies on another node than the first process's
    mkdir "$safe" && echo mine >"$safe/data_5.h5" && brings 5 && says 'data_5.h5 is there already, and has other content' || return 1
    [ "$(cat "$safe/data_5.h5")" = mine ] && index 'len(f) == 7 and [o["name"] for o in i["failed"]] == ["data_5.h5"]'
}
begin; check 'what one process does not bring, the others hear of' in_the_way
dry() { cluster_lose_node 1 && brings 0 --dry-run && [ ! -e "$safe" ] && says 'data_2.h5: would be rebuilt' && [ "$(grep -c 'would be' "$out")" = 8 ]; }
begin; check '--dry-run writes nothing' dry
not_shared() { # each node has a place of its own at that path
    safe=$CLUSTER_LOCAL/safe
    CLUSTER_NODE_OF=$one_each cluster_run -n 4 "$tool" scavenge --to "$safe" "$CLUSTER_LOCAL"/data_{0..7}.h5 >"$out" 2>&1 && return 1
    cat "$out"
    says 'not there on this node; name a directory that all nodes share' && diff -r "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes"
}
begin; check 'a target that the nodes do not share: refused' not_shared
finish
