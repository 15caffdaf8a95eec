#!/usr/bin/env bash
# docs/architecture.md shows the states of a session as the driver has them: of each what is true in it, and which event leads where.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
code=vfd/session_states doc=docs/architecture.md
bad=0

# Rows as "STATE IS EVENT>STATE ...", with + between what is true, - for nothing, and no arrow where the state stays.
rows_of_code() {
    sed -n '/^} table\[/,/^};/{//!p}' $code.c | tr '\n' ' ' | sed 's/ROW(/\n/g' | grep '[A-Z]' | sed -E 's/"[^"]*", //; s/ \| /+/g' |
        while IFS= read -r row; do
            read -ra words <<<"$(tr ',' ' ' <<<"${row%)*}" | sed -E 's/TO\((\w+) +(\w+)\)/\1>\2/g')"
            state=${words[0]} is=${words[1]} events=("${words[@]:2}")
            events=("${events[@]/%>$state/}")
            echo "$state ${is/#0/-} ${events[*]/#0/-}"
        done
}
rows_of_doc() { sed -n '/^state  *is  *event/,/^```$/p' $doc | sed '1d; $d' | sed -E 's/ +/ /g'; }
# declared PREFIX: the constants of the header that begin so
declared() { grep -oE "^ *RSET_$1_\w+" $code.h | sed -E "s/^ *RSET_$1_//" | grep -vxE 'STATES|EVENTS'; }

[ "$(rows_of_code | wc -l)" -ge 8 ] || { echo "$code.c: where is the table?"; exit 1; }
diff <(rows_of_code) <(rows_of_doc) || { echo "the table of $code.c (<) and that of $doc (>) differ"; bad=1; }
diff <(declared SESSION) <(rows_of_code | cut -d ' ' -f 1) || { echo "states of $code.h (<) and of its table (>) differ"; bad=1; }
diff <(declared EVENT | sort) <(rows_of_code | cut -d ' ' -f 3- | tr ' ' '\n' | sed 's/>.*//' | grep -vx -e - | sort -u) || {
    echo "events of $code.h (<) and of its table (>) differ"; bad=1; }
exit $bad
