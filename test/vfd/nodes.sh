# shellcheck shell=bash disable=SC2154 # head.sh sets what is used here
# For tests whose ranks have a directory each, $d/node<r>, and write what they say into $d.said.<r>. Source it instead of head.sh.

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
mkdir "$d"

# heard COMMAND...: with its exit status; what its ranks have said is printed
heard() {
    local status=0
    rm -f "$d".said.*
    timeout -s KILL 180 "$@" 2>&1 || status=$?
    cat "$d".said.*
    return "$status"
}
# says RANKS WORDS: so many ranks say this
says() { [ "$(grep -l -- "$2" "$d".said.* | wc -l)" = "$1" ] || { echo "not on $1 ranks: $2"; cat "$d".said.*; return 1; }; }
lose() { local r; for r in "$@"; do rm -r "$d/node$r"; done; }
