# shellcheck shell=bash
# What test scripts share. Source it, set $log to a file for what commands say; end with `finish`.

log=/dev/null
failures=0
checks=0

# check TEXT COMMAND...: one line about it, and when it fails, what it said.
check() {
    local text=$1
    shift
    checks=$((checks + 1))
    if "$@" >"$log" 2>&1; then
        echo "  ok      $text"
    else
        echo "  FAILED  $text"
        sed '/^ *\(major\|minor\): /d' "$log" | sed -n '1,60s/^/          | /p' # of HDF5's errors what says something
        failures=$((failures + 1))
    fi
}

# For more than one command in a check: all COMMAND [, COMMAND]...
all() {
    local word words=()
    for word in "$@" ','; do
        if [ "$word" != , ]; then words+=("$word"); continue; fi
        "${words[@]}" || { echo "failed: ${words[*]}"; return 1; }
        words=()
    done
}
not() { ! "$@"; }

# rot FILE OFFSET: other bytes from there on, those of standard input, as a disk has them that fails: the file's time stays
rot() {
    local time
    time=$(stat -c %y "$1")
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    touch -m -d "$time" "$1"
}

# flip FILE OFFSET: one bit of that byte, in the same way
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N1 "$1")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o $((byte ^ 1)))" | rot "$1" "$2"
}

# Cases of one kind that differ in a number, or a word: with EVERY=N in the environment every Nth is tried (every.h). `due` is true
# when the next one is, not always in the same place of loops within loops; `some WORD...` prints the first, and every Nth.
turn=${EVERY_FROM:-0}
due() {
    local now=$((turn++)) every=${EVERY:-1}
    [ $(((now + now / every) % every)) = 0 ]
}
some() {
    local n=0 word
    for word in "$@"; do
        [ $((n++ % ${EVERY:-1})) != 0 ] || printf '%s\n' "$word"
    done
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" = 0 ]
}
