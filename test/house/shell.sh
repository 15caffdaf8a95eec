#!/usr/bin/env bash
# All shell scripts pass shellcheck, and those that are started by their name can be. What shellcheck has passed once is not
# given to it again before the script, one that scripts source, or shellcheck itself is another: that is a minute of computing.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
cannot=$(grep -rlE '^#!' test examples cmake .ci/run | xargs -d '\n' stat -c '%A %n' | sed -n 's/^-..[^x]...... //p')
[ -z "$cannot" ] || { printf 'not executable: %s\n' $cannot; exit 1; }
command -v shellcheck >/dev/null || { echo 'SKIP: shellcheck is not here'; exit 77; }
mapfile -t files < <(find .ci/run cmake test examples -name '*.sh' -o -name '*.sbatch' -o -path .ci/run | sort)
export SHELLCHECK_OPTS='--severity=warning --external-sources --source-path=.' passed

passed=${XDG_CACHE_HOME:-${HOME:-}/.cache}/redset/shellcheck
mkdir -p "$passed" 2>/dev/null && [ -w "$passed" ] || { passed=$(mktemp -d) && trap 'rm -rf "$passed"' EXIT; }
find "$passed" -type f -mtime +30 -delete
mapfile -t sourced < <(sed -n 's/^ *# shellcheck source=\(.*\.sh\)$/\1/p; s/^ *\. \([a-z/_]*\.sh\)$/\1/p' "${files[@]}" | sort -u)
common=$({ shellcheck --version && echo "$SHELLCHECK_OPTS" && sha256sum "${sourced[@]}"; } | sha256sum)
todo=()
for file in "${files[@]}"; do
    key=$({ echo "$common $file" && cat "$file"; } | sha256sum | cut -c 1-64)
    [ -e "$passed/$key" ] || todo+=("$key" "$file")
done
echo "$((${#todo[@]} / 2)) of ${#files[@]} scripts have changed since shellcheck passed them"
# shellcheck disable=SC2016
[ ${#todo[@]} = 0 ] || printf '%s\0' "${todo[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c 'shellcheck "$1" && : >"$passed/$0"'
