#!/usr/bin/env bash
# docs/recovery.md shows the decision table as the engine has it, row by row, and explains each word of it.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
code=encode/recover/decide doc=docs/recovery.md
bad=0

# Rows as "is; unless; verdict; protection; reason", with a blank between words, and 0 for none.
rows_of_code() {
    sed -n '/^} table\[\] = {/,/^};/{//!p}' $code.c | tr '\n' ' ' | sed -E 's#/\*[^*]*\*/##g; s/\}\},?/\n/g' |
        tr '{},|' '  ; ' | sed -E 's/RSET_(VERDICT|PROTECTION|REASON)_//g; s/ +/ /g; s/ ?; ?/; /g; s/^ //; s/ $//' | grep .
}
# The document has columns with two blanks between them, "-" for none, lines with # that say what follows, and the protection after
# the verdict where there is any.
rows_of_doc() {
    sed -n '/^holds  *unless  *verdict  *reason$/,/^```$/p' $doc | sed '1d; $d' | grep -v '^#' |
        awk -F '  +' '{ split($3, then, " "); print ($1 == "-" ? 0 : $1) "; " ($2 == "-" ? 0 : $2) "; " then[1] "; " \
            (then[2] == "" ? "NONE" : then[2]) "; " $4 }'
}
# declared KIND: the words that the sources have for it
declared() {
    case $1 in
        condition) sed -n '/^\/\* What rows of the table ask for/,/^};/s/^ *\([A-Z_]*\) = 1u\?l* <<.*/\1/p' $code.c ;;
        *) grep -oE "^ *RSET_${1^^}_[A-Z_]+" $code.h | sed -E "s/^ *RSET_${1^^}_//" ;;
    esac
}
# explained KIND [HEADER]: the words in the first column of the tables whose header begins with KIND, or with KIND and HEADER
explained() { sed -n "/^| $1 | ${2:-}/,/^$/p" $doc | cut -d '|' -f 2 | tr '\140' '\n' | grep -xE '[A-Z_]+'; }

[ "$(rows_of_code | wc -l)" -ge 20 ] || { echo "$code.c: where is the table?"; exit 1; }
diff <(rows_of_code) <(rows_of_doc) || { echo "the table of $code.c (<) and that of $doc (>) differ"; bad=1; }
for kind in state fact condition reason; do
    [ -n "$(declared $kind)" ] || { echo "$code.[ch]: where is each $kind?"; exit 1; }
    diff <(declared $kind | sort) <(explained $kind | sort) || {
        echo "each $kind of $code.[ch] (<) and those that $doc explains (>) differ"; bad=1; }
done
diff <(rows_of_code | awk -F '; ' '$3 == "REFUSE" { print $5 }' | sort -u) <(explained reason 'Refused because' | sort) || {
    echo "the reasons with which $code.c refuses (<) and those under which $doc says so (>) differ"; bad=1; }
exit $bad
