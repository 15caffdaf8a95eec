#!/usr/bin/env bash
# The tests are tested: the engine is broken on purpose, one fault at a time, and the tests named for that
# fault must fail. A fault whose tests still pass, or whose patch no longer applies, fails this check.
#
#   nightly_broken.sh [NAME...]      test/checks/broken/NAME.patch; default all of them
#   BROKEN_TRUST=1                   the tests are not tried without a fault first
#
# A patch begins with lines that say what is what:
#   Broken: ...              in one sentence
#   Faults: ...              which it re-creates, in words; B1 ...: of LLNL redset (docs/testing.md)
#   Accepts: yes             something wrong is accepted with it: two tests have to notice
#   Killed by: TEST...       programs of test/unit and test/sweep, or lives:ACTOR (test/lives), each of which has to fail
# After a change to the engine a patch may have to be made again: break a copy of the tree in the same way
# and take `diff -u a/FILE b/FILE`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CHECKS_NEED=patch:patch
# shellcheck source=test/checks/checks.sh
. "$here/checks.sh"

patches=()
for name in "$@"; do patches+=("$here/broken/$name.patch"); done
[ $# -gt 0 ] || patches=("$here"/broken/*.patch)

field() { sed -n "/^---/q; s/^$1: //p" "$2"; }

# The copy: only what differs is copied, with a new time, so that little has to be built again.
source=$checks_dir/broken-source
mkdir -p "$source"
files_of() { (cd "$1" && find . \( -path ./build -o -path ./.git \) -prune -o -type f -print | sort); }
files_of "$checks_source" | while read -r f; do
    cmp -s "$checks_source/$f" "$source/$f" && continue
    mkdir -p "$(dirname "$source/$f")"
    cp "$checks_source/$f" "$source/$f"
done
comm -13 <(files_of "$checks_source") <(files_of "$source") | (cd "$source" && xargs -r rm)

mapfile -t killers < <(for p in "${patches[@]}"; do field 'Killed by' "$p"; done | tr ' ' '\n' | sort -u)
checks_build broken "$source" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1
checks_make "${killers[@]}" || { echo 'broken: the source as it is does not build'; exit 1; }

# run PROGRAM LIMIT LOG: up to the first thing that is wrong. How it went: "passed", "failed", "crashed", or
# "hung".
run() {
    local status=0
    checks_run "$2" /dev/stdout "$1" | tee "$3" | sed '/^VIOLATION/q; /ALARM/q; /^\[  FAILED/q' >"$3.seen" || status=$?
    if grep -qE '^(VIOLATION|seed .*ALARM|\[  FAILED)' "$3.seen"; then echo failed; return; fi
    case $status in
        0) echo passed ;;
        124 | 137) echo hung ;;
        12[89] | 1[3-5]?) echo crashed ;;
        *) echo failed ;;
    esac
}

# As it is, everything passes; how long that takes bounds how long is waited for a broken one.
declare -A limit
for program in "${killers[@]}"; do
    limit[$program]=300
    [ -z "${BROKEN_TRUST:-}" ] || continue
    start=$SECONDS
    how=$(run "$program" 1800 "$build/log")
    if [ "$how" != passed ]; then
        tail -n 20 "$build/log"
        echo "broken: $program $how without any fault"
        exit 1
    fi
    echo "$program: passed after $((SECONDS - start)) s without any fault"
    limit[$program]=$((60 + 4 * (SECONDS - start)))
done

killed=0 tests=0 rows=$'FAULT\tRE-CREATES\tTESTS'
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    mapfile -t files < <(sed -n 's|^+++ b/||p' "$patch")
    read -ra by < <(field 'Killed by' "$patch")
    row='' survived=''
    need=1
    [ "$(field Accepts "$patch")" != yes ] || need=2
    [ ${#by[@]} -ge "$need" ] || checks_failed "$name: $need tests have to be named"
    if ! patch -d "$source" -p1 --fuzz=0 -s -f <"$patch"; then
        checks_failed "$name: no longer applies"
    elif ! checks_make "${by[@]}"; then
        checks_failed "$name: does not build"
    else
        for program in "${by[@]}"; do
            how=$(run "$program" "${limit[$program]}" "$build/$name.$program.log")
            row+="${row:+, }$program $how"
            tests=$((tests + 1))
            [ "$how" != passed ] || survived+=" $program"
        done
        if [ -z "$survived" ]; then
            killed=$((killed + 1))
        else
            checks_failed "$name: not noticed by$survived"
        fi
    fi
    printf '%s: %s\n' "$name" "${row:-not tried}"
    rows+=$'\n'"$(printf '%s\t%s\t%s' "$(field Broken "$patch")" "$(field Faults "$patch")" "$row")"
    for f in "${files[@]}"; do
        cp "$checks_source/$f" "$source/$f" # new time: built again
        rm -f "$source/$f.rej" "$source/$f.orig"
    done
done
printf '\n%s\n\n' "$(checks_table <<<"$rows")"
checks_end "broken: ${#patches[@]} faults, $killed noticed by all the tests named for them ($tests runs)"
