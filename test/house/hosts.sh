#!/usr/bin/env bash
# Nothing in the tree names a package mirror or a place of one machine.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
# the patterns are written so that they do not match themselves
mirrors='(deb|ftp[a-z0-9.]*|snapshot|security|archive)[.](debian|ubuntu)[.](org|com)|://(deb|ftp|snapshot|registry|mirror)[.]|registry[.]npmjs'
places='(^|[^[:alnum:]_.$}])/(root|work|home/[a-z])[/]'
found=$(grep -rnIE "$mirrors|$places" . --exclude-dir=.git --exclude=.git --exclude-dir=build --exclude-dir='build-*' \
    --exclude-dir=.cache --exclude=LICENSE || true)
[ -z "$found" ] || { printf 'host names, or places of one machine:\n%s\n' "$found"; exit 1; }
