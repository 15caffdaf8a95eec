#!/usr/bin/env bash
# Ranks are started on other nodes than those that have their files, in every order; each file has a name of its own.
#
#   every order    nothing is lost: all ranks read their files, which then are where the ranks are, and nowhere else, byte for
#                  byte, data and redundancy
#   with losses    the same where as much is lost as the scheme covers, and a spare node takes its place; one more is
#                  refused on every rank, with nothing changed
#   killed         at any moment of that: the next run in the same order has all of it
set -euo pipefail
# shellcheck source=test/cluster/moved.sh
. "${REDSET_SOURCE_DIR:?}/test/cluster/moved.sh"
every_order
killed_on_the_way
finish
