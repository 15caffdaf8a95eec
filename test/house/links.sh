#!/usr/bin/env bash
# Each relative link of the documents leads to a file, and to a heading where it names one; docs/README.md leads to each
# document. With an argument: the documents below that directory, such as those that were installed.
set -euo pipefail
cd "${1:-${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}}"
bad=0
wrong() { echo "$1"; bad=1; }

# headings FILE: as links name them: small letters, blanks become -, only letters, digits, - and _ stay
headings() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}
# links FILE: what stands in the parentheses of its links
links() { grep -oE '\]\([^)# ]*(#[^) ]*)?\)' "$1" | sed 's/^](//; s/)$//'; }

documents() {
    if [ $# -gt 0 ]; then find . -name '*.md' -type f; else printf '%s\n' ./*.md ./docs/*.md ./{examples,test,vfd,tools/*,encode/*,encode/comm/mpi}/README.md; fi
}

while IFS= read -r file; do
    while IFS= read -r link; do
        case $link in *://*) continue ;; esac
        target=${link%%#*} heading=''
        case $link in *'#'*) heading=${link#*#} ;; esac
        target=${target:+$(dirname "$file")/$target}
        target=${target:-$file}
        if [ ! -e "$target" ]; then
            wrong "$file: a link to $link, which is not there"
        elif [ -n "$heading" ] && ! headings "$target" | grep -xF -- "$heading" >/dev/null; then
            wrong "$file: a link to $link: there is no such heading"
        fi
    done < <(links "$file")
done < <(documents "$@")

for file in docs/*.md; do
    [ "$file" = docs/README.md ] || grep -qF "(${file#docs/})" docs/README.md || wrong "docs/README.md does not lead to $file"
done
exit $bad
