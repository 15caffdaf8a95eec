#!/usr/bin/env bash
# All shell scripts pass shellcheck, and those that are started by their name can be.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
cannot=$(grep -rlE '^#!' test examples cmake .ci/run | xargs -d '\n' stat -c '%A %n' | sed -n 's/^-..[^x]...... //p')
[ -z "$cannot" ] || { printf 'not executable: %s\n' $cannot; exit 1; }
command -v shellcheck >/dev/null || { echo 'SKIP: shellcheck is not here'; exit 77; }
mapfile -t files < <(find .ci/run cmake test examples -name '*.sh' -o -name '*.sbatch' -o -path .ci/run | sort)
shellcheck --severity=warning --external-sources --source-path=. "${files[@]}"
