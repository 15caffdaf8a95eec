#!/usr/bin/env bash
# All C files look as .clang-format says. Other versions format differently: only 14 counts.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
format=''
for f in clang-format-14 clang-format; do
    if command -v "$f" >/dev/null && "$f" --version | grep -q 'version 14\.'; then format=$f; break; fi
done
[ -n "$format" ] || { echo 'SKIP: clang-format 14 (Debian 12) is not here'; exit 77; }
mapfile -t files < <(find vfd encode include tools test examples -name '*.[ch]' 2>/dev/null | sort)
[ ${#files[@]} -gt 0 ] || { echo 'SKIP: no C files yet'; exit 77; }
"$format" --dry-run --Werror "${files[@]}" || {
    echo "to mend: $format -i FILE..."
    exit 1
}
