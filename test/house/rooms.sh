#!/usr/bin/env bash
# Each room begins with a README that says what it is for, its doors, what it relies on, and its numbered invariants. What an
# assert cites is there, what is called asserted is asserted, and the tests and files that are named exist.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
bad=0
wrong() { echo "$1"; bad=1; }
kinds='unit|sweep|fuzz|mpi|house|vfd|hang|cluster|tool|bench|checks|clients|docs|install|hostile'
taken='[PTBGF][0-9]+' # promises, traps, faults of LLNL redset, and kinds of faults

mapfile -t rooms < <({ find encode vfd tools -name '*.[ch]' -printf '%h\n'; echo test; } | sort -u)
[ ${#rooms[@]} -ge 16 ] || wrong "only ${#rooms[@]} rooms: ${rooms[*]}"
invariants=$(mktemp) cited=$(mktemp)
trap 'rm -f "$invariants" "$cited"' EXIT

# exists TEST: is there a test of that name (cmake/tests.cmake)?
exists() {
    local kind=${1%%.*} name=${1#*.} f
    case $kind in
        unit | sweep | fuzz) name=test/$kind/${kind/unit/test}_$name.c ;;
        mpi) name=test/mpi/$name.c ;;
        house) name=test/house/$name.sh ;;
        *) for f in "test/$kind/"{test,nightly}_"$name.sh"; do [ ! -e "$f" ] || return 0; done; return 1 ;;
    esac
    [ -e "$name" ]
}

for room in "${rooms[@]}"; do
    readme=$room/README.md
    [ -e "$readme" ] || { wrong "$room has no README.md"; continue; }
    n=$(wc -l <"$readme")
    { [ "$n" -ge 10 ] && [ "$n" -le 25 ]; } || wrong "$readme: $n lines, where 10 to 25 are wanted"
    for part in 'Doors: ' 'Relies on: ' 'Invariants'; do
        grep -q "^$part" "$readme" || wrong "$readme does not begin a line with \"$part\""
    done
    grep -qF "\`$readme\`" docs/architecture.md || wrong "docs/architecture.md does not name $readme"

    # One prefix per room, numbered from 1. An invariant goes on as far as the next.
    mapfile -t numbers < <(sed -nE 's/^- \*\*([A-Z]+[0-9]+)\*\* .*/\1/p' "$readme")
    { [ ${#numbers[@]} -ge 3 ] && [ ${#numbers[@]} -le 7 ]; } || wrong "$readme: ${#numbers[@]} invariants, where 3 to 7 are wanted"
    prefix=${numbers[0]:-?}
    prefix=${prefix%%[0-9]*}
    for i in "${!numbers[@]}"; do
        [ "${numbers[i]}" = "$prefix$((i + 1))" ] || wrong "$readme: ${numbers[i]} where $prefix$((i + 1)) is expected"
        [[ ! ${numbers[i]} =~ ^$taken$ ]] || wrong "$readme: ${numbers[i]} means something else (docs/README.md)"
    done
    awk -v room="$room" '
        function end() { if (id != "") print id, room, text ~ /Asserted/ ? "asserted" : "-" }
        /^- \*\*[A-Z]+[0-9]+\*\* / { end(); id = $2; gsub(/\*/, "", id); text = "" }
        /^$/ { if (text != "") { end(); id = "" } }
        { text = text " " $0 }
        END { end() }' "$readme" >>"$invariants"
    while IFS= read -r test; do
        exists "$test" || wrong "$readme names $test, which is no test"
    done < <(tr '\140' '\n' <"$readme" | grep -xE "($kinds)\.[a-z_0-9]{2,}" | sort -u)
done
double=$(cut -d' ' -f1 "$invariants" | sort | uniq -d)
[ -z "$double" ] || wrong "two rooms number their invariants alike: $double"

# Of each assert: where, and what it cites. It may go over several lines; the comment comes right after it.
mapfile -t sources < <(find encode vfd tools -name '*.[ch]' | sort)
awk 'FNR == 1 { if (at != "") print at, "-"; at = "" }
    at == "" && /(^|[^[:alnum:]_])assert *\(/ { at = FILENAME ":" FNR; text = "" }
    at != "" { text = text $0 }
    at != "" && /;/ { id = match(text, /; *\/\* [A-Z]+[0-9]+ \*\/$/) ? substr(text, RSTART) : "-"
        gsub(/[^A-Z0-9-]/, "", id)
        print at, id; at = "" }
    END { if (at != "") print at, "-" }' "${sources[@]}" >"$cited"
[ -s "$cited" ] || wrong 'there is no assert in the sources, which cannot be'
while read -r at id; do
    room=${at%:*}
    room=${room%/*}
    if [ "$id" = - ]; then
        wrong "$at: an assert cites its invariant right after it, as in: assert(n > 0); /* M1 */"
    elif ! grep -q "^$id $room " "$invariants"; then
        wrong "$at: $id is no invariant of $room/README.md"
    fi
done <"$cited"
while read -r id room how; do
    [ "$how" != asserted ] || grep -q " $id\$" "$cited" || wrong "$room/README.md calls $id asserted, and no assert cites it"
    [ "$how" = asserted ] || ! grep -q " $id\$" "$cited" || wrong "$room/README.md does not say that $id is asserted"
done <"$invariants"

# The two documents that show how the driver works name no file that is not there.
while IFS= read -r file; do
    [ -e "$file" ] || find encode vfd tools test -path "*/$file" | grep -q . ||
        wrong "docs/architecture.md or docs/recovery.md names $file, which is not there"
done < <(cat docs/architecture.md docs/recovery.md | tr '\140' '\n' | grep -xE '[a-zA-Z0-9_/]+\.(c|h|sh)' |
    grep -vxE 'mpi\.h|.*/scheme_NAME\.c' | sort -u)
exit $bad
