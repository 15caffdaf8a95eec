#!/usr/bin/env bash
# The same as test_moved.sh where all files have one name, each in a directory of its own: each rank finds another one's.
# One name is all that can be seen of a file: which is whose is what is proven here.
set -euo pipefail
export ONE_NAME=2
# shellcheck source=test/cluster/moved.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/moved.sh"
every_order
killed_on_the_way

# Where nothing may be moved nobody is given another rank's file, and nothing changes.
size=20000
for setting in moved=no readonly_rebuild=no; do
    written "scheme=XOR $setting"
    refuses '1 0 3 2' ''
    grep -q 'was written by another rank' "$CLUSTER_DIR/log" || failed "$setting: nobody says whose file it is"
done
finish
