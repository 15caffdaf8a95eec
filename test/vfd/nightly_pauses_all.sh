#!/usr/bin/env bash
# test_pauses.sh with each call before which the job may die.
set -euo pipefail
PAUSES_EVERY=1 exec "$(dirname "${BASH_SOURCE[0]}")/test_pauses.sh" "$@"
