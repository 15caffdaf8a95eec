#!/usr/bin/env bash
# test_opens.sh with each open of each operation.
set -euo pipefail
OPENS_STEP=1 exec "$(dirname "${BASH_SOURCE[0]}")/test_opens.sh" "$@"
