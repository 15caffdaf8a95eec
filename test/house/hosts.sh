#!/usr/bin/env bash
# Nothing in the tree names a package mirror or a place of one machine, and no file in it is what a machine has left, as a core.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
# the patterns are written so that they do not match themselves
mirrors='(deb|ftp[a-z0-9.]*|snapshot|security|archive)[.](debian|ubuntu)[.](org|com)|://(deb|ftp|snapshot|registry|mirror)[.]|registry[.]npmjs'
places='(^|[^[:alnum:]_.$}])/(root|work|home/[a-z])[/]'
found=$(grep -rnIE "$mirrors|$places" . --exclude-dir=.git --exclude=.git --exclude-dir=build --exclude-dir='build-*' \
    --exclude-dir=.cache --exclude=LICENSE || true)
[ -z "$found" ] || { printf 'host names, or places of one machine:\n%s\n' "$found"; exit 1; }
large=$(find . -path ./.git -prune -o -path ./.cache -prune -o -path ./.deps -prune -o -path ./Testing -prune -o -path './build*' -prune -o -type f -size +1M -print)
[ -z "$large" ] || { printf 'larger than 1 MiB, which nobody writes by hand:\n%s\n' "$large"; exit 1; }
