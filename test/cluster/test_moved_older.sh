#!/usr/bin/env bash
# Three generations of the files of four ranks (keep=3), and two ranks have changed places: an older one is read before the newest, and
# after it, in several orders, with names of their own and with one name for all. Afterwards all three are there, on their ranks.
# unit.kept_exchanged has the orders and the kills, this has real programs, and h5redset.
set -euo pipefail
# shellcheck source=test/cluster/head.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/head.sh"
work=$(mktemp -d)
trap 'cluster_down; rm -rf "$work"' EXIT
log=$work/log h5redset=$REDSET_BUILD_DIR/tools/h5redset

# ranks SETTINGS ACTION SEED
ranks() {
    HDF5_DRIVER_CONFIG="$scheme keep=3 required=yes timeout=20 $1" cluster_run "$bin/ranks" "$2" "$CLUSTER_LOCAL" 20000 "$3"
}
# reads -N: that generation, whose content is known by its number
reads() { ranks "generation=$1" read "${contents[$((2 + $1))]}"; }
newest() { ranks '' read "${contents[2]}"; }
lost() { local node; for node in "$@"; do cluster_lose_node "$node"; done; }
starts_on() { CLUSTER_NODE_OF=$1; }
# written ACTION CONTENT...: created, and then created over or changed in place
written() {
    local content action=$1
    lost 0 1 2 3
    starts_on '0 1 2 3'
    contents=("${@:2}")
    ranks '' write "$2" || return
    for content in "${@:3}"; do ranks '' "$action" "$content" || return; done
    cluster_keep
}
exchanged() { cluster_put_back; starts_on '1 0 2 3'; }

every_way() { # WHAT LOST
    exchanged
    check "$1: the one before, then the newest" all reads -1 , newest
    check "$1: and all again" all reads -1 , reads -2 , newest , reads -1
    check "$1: the ranks change back" all starts_on '0 1 2 3' , newest , reads -2 , reads -1
    exchanged
    check "$1: the oldest, then the newest" all reads -2 , newest , reads -1 , reads -2
    exchanged
    check "$1: the newest first" all newest , reads -2 , reads -1
    [ -z "$2" ] || check "$1: and a node is lost" all lost "$2" , reads -1 , newest , reads -2
}

export ONE_NAME=1
cluster_up 4 1
scheme=scheme=SINGLE
check 'one name, created over' written write 1 2 3
every_way 'one name, created over' ''
scheme=scheme=XOR
check 'one name, changed in place' written update 1 1:2 1:3
every_way 'one name, changed in place' 3
exchanged
check 'h5redset restore makes the one before the newest, where the ranks are' all reads -1 , \
    cluster_run "$h5redset" restore --generation=-1 "$CLUSTER_LOCAL/0/data_.h5" , ranks '' read 1:2 , ranks generation=-2 read 1
exchanged
check 'also where nothing was opened before' all \
    cluster_run "$h5redset" restore --generation=-1 "$CLUSTER_LOCAL/0/data_.h5" , ranks '' read 1:2 , ranks generation=-2 read 1
unset ONE_NAME
check 'names of their own, changed in place' written update 1 1:2 1:3
exchanged
check 'names of their own: the one before, then the newest' all reads -1 , newest , reads -2 , reads -1
finish
