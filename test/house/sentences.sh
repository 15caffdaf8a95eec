#!/usr/bin/env bash
# No sentence of the documents for users, nor of the two that show how the driver works, has more than 40 words. Tables, blocks of commands, headings and remarks are not
# counted; a link counts as its text.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
export LC_ALL=C

# too_long FILE...: each of their sentences that is, with its place and its length
too_long() {
    awk -v most=40 '
        function end_paragraph(    i, n, all, words) {
            gsub(/\]\([^)]*\)/, "]", text) # the text of a link stays
            gsub(/[.?!][)"*]* +/, "&\n", text)
            n = split(text, all, "\n")
            for (i = 1; i <= n; i++) {
                words = split(all[i], word, " ")
                if (words > most) printf "%s:%d: %d words: %s\n", file, first, words, all[i]
            }
            text = ""
        }
        FNR == 1 { end_paragraph(); file = FILENAME; code = 0 }
        /^ *```/ { end_paragraph(); code = !code; next }
        code { next }
        /^ *(\||#|<!--|$)/ { end_paragraph(); next }
        /^ *([-*]|[0-9]+\.) / { end_paragraph() }
        { if (text == "") first = FNR
          sub(/^ *([-*]|[0-9]+\.) /, "")
          text = text " " $0 }
        END { end_paragraph() }' "$@"
}

# It is seen to count: 41 words are too many, and 40 are not.
words() { printf 'word%.0s ' $(seq $(($1 - 1))); echo 'end.'; }
if [ -z "$(too_long <(words 41))" ] || [ -n "$(too_long <(words 40))" ]; then
    echo 'this test does not count to 40'
    exit 1
fi

found=$(too_long README.md docs/{user-guide,configuration,behaviour,limitations,troubleshooting,reliability,architecture,recovery}.md examples/README.md examples/slurm/README.md)
[ -z "$found" ] || { printf 'more than 40 words:\n%s\n' "$found"; exit 1; }
