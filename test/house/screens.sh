#!/usr/bin/env bash
# What a user must know is one screen, and the settings are two: 60 lines of 120 columns each.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# too_long FILE SCREENS: says so, if it is
too_long() {
    local lines
    lines=$(fold -s -w 120 "$1" | wc -l)
    [ "$lines" -le $((60 * $2)) ] || echo "$1: $lines lines of 120 columns; $2 screens of 60 are the limit"
}

# It is seen to count, also where one line takes two.
line=$(printf 'word %.0s' {1..30})
if [ -z "$(too_long <(for _ in {1..31}; do echo "$line"; done) 1)" ] || [ -n "$(too_long <(for _ in {1..30}; do echo "$line"; done) 1)" ]; then
    echo 'this test does not count screens'
    exit 1
fi

found=$(too_long docs/limitations.md 1; too_long docs/configuration.md 2)
[ -z "$found" ] || { echo "$found"; exit 1; }
