#!/usr/bin/env bash
# test_room.sh with each number of inodes and blocks that may be left.
set -euo pipefail
ROOM_ALL=yes exec "$(dirname "${BASH_SOURCE[0]}")/test_room.sh" "$@"
