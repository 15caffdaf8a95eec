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
rows_of_doc() {
    sed -n '/^| holds | does not hold | verdict | protection | reason |$/,/^$/p' $doc | sed 1,2d | tr -d "\`" |
        tr '|' ';' | sed -E 's/ +/ /g; s/^; //; s/ ;$//; s/ ;/;/g' | grep .
}
# declared KIND: the words that the sources have for it
declared() {
    case $1 in
        condition) sed -n '/^\/\* What rows of the table ask for/,/^};/s/^ *\([A-Z_]*\) = 1u\?l* <<.*/\1/p' $code.c ;;
        *) grep -oE "^ *RSET_${1^^}_[A-Z_]+" $code.h | sed -E "s/^ *RSET_${1^^}_//" ;;
    esac
}
# explained KIND: the first column of the table whose header begins with KIND
explained() { sed -n "/^| $1 |/,/^$/p" $doc | sed -n 's/^| `\([A-Z_]*\)` |.*/\1/p'; }

[ "$(rows_of_code | wc -l)" -ge 20 ] || { echo "$code.c: where is the table?"; exit 1; }
diff <(rows_of_code) <(rows_of_doc) || { echo "the table of $code.c (<) and that of $doc (>) differ"; bad=1; }
for kind in state fact condition reason; do
    [ -n "$(declared $kind)" ] || { echo "$code.[ch]: where is each $kind?"; exit 1; }
    diff <(declared $kind | sort) <(explained $kind | sort) || {
        echo "each $kind of $code.[ch] (<) and those that $doc explains (>) differ"; bad=1; }
done
exit $bad
