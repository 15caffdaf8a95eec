#!/usr/bin/env bash
# The vectors of our own are what generate.py makes of the documents, and nothing else lies beside them.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 test/golden/own/generate.py "$made"
diff -r -x generate.py -x README.md test/golden/own "$made" || {
    echo 'to mend, where the document has changed: python3 test/golden/own/generate.py test/golden/own'
    exit 1
}
[ "$(find "$made" -type f | wc -l)" -ge 12 ] || { echo 'generate.py has made too few'; exit 1; }
