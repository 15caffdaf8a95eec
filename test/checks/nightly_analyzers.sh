#!/usr/bin/env bash
# What can be found in encode/ and vfd/ without running them: gcc's -fanalyzer and -Wconversion, and
# clang-tidy with the checks of .clang-tidy, where it says which are off and why. Whatever is found fails this
# check, unless analyzers.known gives a reason why it is not so.
#
#   nightly_analyzers.sh [FILE...]
set -euo pipefail
CHECKS_NEED='clang-tidy:clang-tidy'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=test/checks/checks.sh
. "$here/checks.sh"

case $(gcc -dumpversion):$(clang-tidy --version | grep -oE 'version [0-9]+') in
    12:'version 14') ;;
    *) echo 'SKIP: other versions find other things; what is known is of gcc 12 and clang-tidy 14 (Debian 12)'; exit 77 ;;
esac

cd "$checks_source"
files=("$@")
[ $# -gt 0 ] || files=(encode/*/*.c encode/*/*/*.c vfd/*.c)

# Where headers are, as the plugin's own files are compiled.
checks_build analyzers "$checks_source" -DCMAKE_BUILD_TYPE=None
mapfile -t flags < <(grep -E '"command": .*/vfd/handle\.c' "$build/compile_commands.json" |
    grep -oE -- '-D[^ ]+|-I *[^ ]+|-isystem +[^ ]+' | sed 's/^-isystem */-isystem/; s/\\"/"/g' | sort -u)
[ ${#flags[@]} -gt 3 ] || { echo 'analyzers: no compiler flags found'; exit 1; }
flags+=(-std=gnu11 -Wno-unknown-warning-option)

# Not for those that define what it defines.
hints() {
    case $1 in
        encode/common/err.c) ;;
        encode/comm/comm_coll.c) printf '%s\n' -DANALYZER_DEFINES_AGREE "-include$here/analyzer.h" ;;
        *) printf '%s\n' "-include$here/analyzer.h" ;;
    esac
}

rm -f "$build/gcc" "$build/tidy"
for f in "${files[@]}"; do
    mapfile -t more < <(hints "$f")
    nice gcc "${flags[@]}" "${more[@]}" -O1 -Wall -Wextra -Wconversion -fanalyzer -c -o "$build/object.o" "$f" \
        2>>"$build/gcc" || { cat "$build/gcc"; echo "analyzers: gcc does not compile $f"; exit 1; }
    nice clang-tidy --quiet "$f" -- "${flags[@]}" "${more[@]}" >>"$build/tidy" 2>"$build/tidy.err" ||
        { cat "$build/tidy.err"; echo "analyzers: clang-tidy does not understand $f"; exit 1; }
done
# "FILE CHECK COUNT", of both, and what of it is known to be wrong
cat "$build/gcc" "$build/tidy" | sed -n "s|^\($checks_source/\)*\([^:]*\):[0-9:]* warning: .*\[\([^ ]*\)\]\$|\2 \3|p; \
    s|^\($checks_source/\)*\([^:]*\):[0-9:]* warning: [^[]*\$|\2 unnamed|p" >"$build/raw"
sort "$build/raw" | uniq -c | awk '{ print $2, $3, $1 }' >"$build/found"
grep -v '^#' "$here/analyzers.known" >"$build/known"
new=$(awk 'NR == FNR { known[$1 " " $2] = $3; next } $3 > known[$1 " " $2]' "$build/known" "$build/found")
gone=$(awk 'NR == FNR { found[$1 " " $2] = $3; next } $3 > found[$1 " " $2] + 0 { print $1, $2, $3 }' \
    "$build/found" "$build/known")
if [ -n "$new" ]; then
    grep -hE ' warning: ' "$build/gcc" "$build/tidy" | sed "s|$checks_source/||" | sort -u
    checks_failed 'not among those known to be wrong: ' "$new" "; details are in $build/gcc and $build/tidy"
fi
if [ $# -eq 0 ] && [ -n "$gone" ]; then
    checks_failed 'no longer found, to be taken out of analyzers.known: ' "$gone"
fi
checks_end "analyzers: ${#files[@]} files, $(awk '{ n += $3 } END { print n + 0 }' "$build/found") findings," \
    "$(awk '{ n += $3 } END { print n + 0 }' "$build/known") known to be wrong, each with a reason"
