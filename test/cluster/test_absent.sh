#!/usr/bin/env bash
# A rank does not come to open its file, on nodes that cannot see each other's storage: those that came open theirs, all of them, or none does
# (P4), whether it is the first thing that the ranks do together or not. With required=no; required=yes refuses in any case.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"

steps() { cluster_run "$bin/steps" "$CLUSTER_LOCAL" 20000 "$CLUSTER_DIR/said" "$@" 2>&1; }
# came WORD OUTCOME: on ranks 0, 1 and 2 that word came to this
came() {
    local r
    for r in 0 1 2; do
        grep -qx "$1 $2" "$CLUSTER_DIR/said.$r" || { echo "rank $r: $(tr '\n' ',' <"$CLUSTER_DIR/said.$r")"; return 1; }
    done
}
tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f ! -name '*.redset.names' -exec sha256sum {} + | sort -k 2); }
unchanged() { [ "$(tree)" = "$before" ] || { echo 'something was changed'; return 1; }; }
damaged() { flip "$(cluster_storage 1)/data_1.h5" 5000; }

cluster_up 4 1
log=$CLUSTER_DIR/log
export HDF5_DRIVER_CONFIG='scheme=XOR timeout=3'
check 'written' all steps create=1 close
cluster_keep
check 'all files whole, rank 3 does not come: opened' all steps read=3 meet , came 1 ok
check 'the same where all have come before' all steps read meet read=3 meet , came 3 ok
cluster_lose_node 1
before=$(tree)
check 'and rank 1 has lost its node: none is opened' all steps read=3 meet , came 1 error , unchanged
cluster_put_back
damaged
before=$(tree)
check 'and the file of rank 1 is damaged: none is opened' all steps read=3 meet , came 1 error , unchanged
check 'all come: it is rebuilt' all steps read meet , came 1 ok
finish
