#!/usr/bin/env bash
# All shell scripts pass shellcheck.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v shellcheck >/dev/null || { echo 'SKIP: shellcheck is not here'; exit 77; }
mapfile -t files < <(find .ci/run cmake test examples -name '*.sh' -o -path .ci/run | sort)
shellcheck --severity=warning --external-sources --source-path=. "${files[@]}"
