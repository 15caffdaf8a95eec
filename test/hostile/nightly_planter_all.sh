#!/usr/bin/env bash
# Every case of planter.py.
PLANTER_EVERY=1 exec "$(dirname "${BASH_SOURCE[0]}")/test_planter.sh"
