#!/usr/bin/env bash
# Ranks run on other nodes than before, create their files anew there, and come home. The copies at home are older than what they wrote
# last, and by their own numbers newer: they are never opened instead of it.
set -euo pipefail
# shellcheck source=test/cluster/head.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/head.sh"
work=$(mktemp -d)
trap 'cluster_down; rm -rf "$work"' EXIT
log=$work/log

# ranks SETTINGS ACTION SEED...
ranks() {
    HDF5_DRIVER_CONFIG="$scheme required=yes timeout=20 $1" cluster_run "$bin/ranks" "$2" "$CLUSTER_LOCAL" 20000 "${@:3}"
}
starts_on() { CLUSTER_NODE_OF=$1; }
lost() { local node; for node in "$@"; do cluster_lose_node "$node"; done; }
home='0 1 2 3'
# Two commits at home, and one elsewhere, where nobody knows of these
written() { # NODES SETTINGS
    lost 0 1 2 3 4 5
    starts_on "$home"
    ranks "${2:-}" write 1 && ranks "${2:-}" write 2 || return
    starts_on "$1"
    ranks "${2:-}" write 3
}
refused() { local status=0; "$@" || status=$?; [ "$status" = 3 ]; }
aside() { [ "$(find "$CLUSTER_DIR/nodes" -name '*.lost' | wc -l)" = "$1" ]; }
newest() { starts_on "$1"; ranks '' read 3; }

cluster_up 6 1
CLUSTER_NODES=4 # as many as have ranks; the others are spare
for scheme in scheme=SINGLE scheme=XOR; do
    check "$scheme: all exchange their nodes, and come home" all written '1 0 3 2' , newest "$home"
    check "$scheme: what was put aside is there, and out of the way" all aside 4 , ranks '' update 3:4 , ranks '' read 3:4
    check "$scheme: two exchange theirs, two are elsewhere, and the first two come home" all written '1 0 4 5' , newest '0 1 4 5'
    check "$scheme: all come home, where the new files of two are not in sight" all written '1 0 4 5' , refused newest "$home"
done
check 'one more than the scheme covers has moved, and comes home' all written '1 2 0 3' , newest "$home"
check 'older generations are kept' all written '1 0 3 2' keep=3 , starts_on "$home" , ranks keep=3 read 3
scheme='scheme=RS checksums=2'
check "$scheme: new files of two are not in sight, and are rebuilt" all written '1 0 4 5' , newest "$home"
finish
