#!/usr/bin/env bash
# The public header is documented: Doxygen has nothing to say about it.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v doxygen >/dev/null || { echo 'SKIP: doxygen is not here'; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
{ cat cmake/Doxyfile; echo "OUTPUT_DIRECTORY = $out"; } | doxygen - || { echo 'to see it: doxygen cmake/Doxyfile'; exit 1; }
grep -q H5FD_redset_init "$out/html/H5FDredset_8h.html" # it was looked at
