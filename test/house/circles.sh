#!/usr/bin/env bash
# No circles between source files: where a file uses functions or variables of another one, that one uses none of its own,
# neither directly nor through others. So each file can be understood from those below it.
set -euo pipefail
build=$(cd "${REDSET_BUILD_DIR:?run by ctest, or set it}" && pwd)
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
[ -d "$build/CMakeFiles/rset_engine.dir" ] || { echo 'SKIP: the engine is not built'; exit 77; }
edges=$(mktemp) loops=$(mktemp)
trap 'rm -f "$edges" "$loops"' EXIT
bad=0

# objects TARGET: those of its sources; one whose source is gone was left by an earlier build
objects() {
    local object source
    find "$build/CMakeFiles/$1.dir" -name '*.c.o' | sort | while read -r object; do
        source=${object#"$build/CMakeFiles/$1.dir/"}
        [ ! -e "${source%.o}" ] || printf '%s\n' "$object"
    done
}
# uses TARGET: "FILE OTHER NAME" for each NAME of file OTHER that FILE uses
uses() {
    objects "$1" | xargs -r -d '\n' nm -A -g | awk -v top="$build/CMakeFiles/$1.dir/" '
        { file = substr($1, length(top) + 1); sub(/\.o:.*/, "", file) }
        $2 == "U" { wanted[file " " $3] }
        $2 ~ /^[A-TV-Z]$/ { home[$3] = file }
        END { for (w in wanted) { split(w, use, " ")
            if (use[2] in home && home[use[2]] != use[1]) print use[1], home[use[2]], use[2] } }'
}

# Two programs may call two things by one name: each target by itself. Between them arrows go down (arrows.sh).
for target in rset_engine rset_vfd h5redset h5redset-bench; do
    uses "$target" | sort >"$edges"
    [ -s "$edges" ] || { echo "$target: nm finds no file that uses another one, which cannot be"; bad=1; }
    awk '{ print $1, $2 }' "$edges" | tsort >/dev/null 2>"$loops" && continue
    bad=1
    printf 'house rule broken: no circles between source files (%s)\n' "$target"
    sed -n 's/^tsort: \([^:]*\)$/\1/p' "$loops" | awk '
        NR == FNR { in_loop[$1]; next }
        $1 in in_loop && $2 in in_loop { names[$1 " uses of " $2] = names[$1 " uses of " $2] " " $3 }
        END { for (pair in names) print pair ":" names[pair] }' - "$edges" | sort
    printf 'What both need belongs into a file below both, or the call up into the file above.\n\n'
done
exit "$bad"
