#!/usr/bin/env bash
# Every row of the table that decides (encode/recover/decide.c) is needed: without it a test fails.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v python3 >/dev/null || { echo 'SKIP: python3 is not here'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 test/checks/rows.py . "$work" "${CC:-cc}" 'decide:test/unit/decide*.c' 'model:test/support/model*.c'
