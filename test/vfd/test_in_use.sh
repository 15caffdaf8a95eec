#!/usr/bin/env bash
# h5redset beside a program that has the files open and has not changed them yet: either the tool refuses and changes nothing, on all
# ranks, or the program is told when it changes or closes them. Never do both succeed with data gone.
set -euo pipefail

# shellcheck source=test/vfd/actors.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/actors.sh"
# what launchers set would make the tool wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
out=$work/out set=$work/set size=20000
export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes keep=2 timeout=60'

ranks() { timeout 120 "$mpiexec" -n 3 "$bin/ranks" "$1" "$set" "$size" "$2"; }
# runs STATUS TEXT ARGUMENT...: the tool ends with that exit status, and says that; STATUS any: it may refuse, with a message, or not
runs() {
    local want=$1 text=$2 status=0
    shift 2
    "$tool" "$@" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$want" = any ] || [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
    grep -qE -- "$text" "$out" || { echo "not said: $text"; return 1; }

}
begin() { kill_jobs && rm -rf "$set" && cp -a "$work/kept" "$set"; }
unchanged() { diff -r "$work/kept" "$set"; }

mkdir "$set"
check 'two generations' all ranks write 1 , ranks write 2
cp -a "$set" "$work/kept"

says='data_[012].h5: a program on .* (has it open|is changing it|is writing it anew).*: close it there, or wait'

# ---- a program that has the files open to change them, and has not yet ----

refused() { runs 5 "$says" "$@" && unchanged || { echo 'and something was changed'; return 1; }; }
# A job whose ranks do what FIRST says; then all commands are refused; then the job goes on as if nothing had been.
beside() { # FIRST THEN CONTENT
    begin
    job A 3 "$set" && does A "$1" 0 1 2 || return 1
    rm -rf "$work/kept" && cp -a "$set" "$work/kept"
    refused restore --generation -1 "$set" && refused unprotect "$set" && refused unprotect --force "$set" || return 1
    refused rm "$set" && refused rm --force "$set" && refused drop --generation -1 "$set" || return 1
    refused mv "$set/data_%r.h5" "$set/other_%r.h5" && refused protect "$set"/data_?.h5 || return 1
    does A "$2" 0 1 2 && does A close 0 1 2 || return 1
    ends A
    ranks read "$3"
}
cp -a "$work/kept" "$work/two"
for locking in TRUE FALSE; do
    export HDF5_USE_FILE_LOCKING=$locking
    check "open to be changed, HDF5_USE_FILE_LOCKING=$locking: all that would replace, rename or protect it is refused" \
        beside open 'write 2:3' 2:3
    rm -rf "$work/kept" && cp -a "$work/two" "$work/kept"
    check "created anew, HDF5_USE_FILE_LOCKING=$locking: the same" beside 'create 4' flush 4
    rm -rf "$work/kept" && cp -a "$work/two" "$work/kept"
done
unset HDF5_USE_FILE_LOCKING

# ---- a program that has changed the files, and has them open still ----

# A rebuild says that it waits for it, and finds nothing to do when it is over.
waits_for_change() {
    local waiting status=0
    begin
    job A 3 "$set" && does A open 0 1 2 && does A 'write 2:3' 0 1 2 || return 1
    "$tool" rebuild --wait "$set" >"$out" 2>&1 &
    waiting=$!
    until grep -q 'waiting: .*is being changed by a program' "$out"; do
        kill -0 "$waiting" 2>/dev/null || { cat "$out"; echo 'it has not waited'; return 1; }
        sleep 0.05
    done
    does A close 0 1 2 && ends A || return 1
    wait "$waiting" || status=$?
    cat "$out"
    [ "$status" = 0 ] && ranks read 2:3
}
check 'changed and open: rebuild --wait waits until it is closed' waits_for_change
changed_and_open() {
    begin
    job A 3 "$set" && does A open 0 1 2 && does A 'write 2:3' 0 1 2 && rm -rf "$work/now" && cp -a "$set" "$work/now" || return 1
    runs 5 'another process is changing' rebuild "$set" && runs 5 "$says" drop --generation -1 "$set" && diff -r "$work/now" "$set" || return 1
    does A close 0 1 2 && ends A && ranks read 2:3
}
check 'changed and open: rebuild and drop do nothing' changed_and_open

# ---- one file in use: nothing is done to the others ----

# A lock as HDF5 takes it: held LOCK FILE COMMAND...
held() {
    local fd status=0
    exec {fd}<"$2"
    flock "$1" "$fd" || return 1
    "${@:3}" || status=$?
    exec {fd}<&-
    return "$status"
}
damaged() { begin && flip "$set/data_0.h5" 9000 && rm -rf "$work/now" && cp -a "$set" "$work/now"; }
only_refused() { runs 5 "$says" "$@" && diff -r "$work/now" "$set"; }
check 'a rebuild of one file, and a program changes another one: refused' all damaged , \
    held -x "$set/data_2.h5" only_refused rebuild "$set"
check 'a rebuild of one, and a program reads them: done, the readers keep what they have open' all damaged , \
    held -s "$set/data_0.h5" runs 0 'data_0.h5: rebuilt' rebuild "$set" , ranks read 2
back() {
    begin
    job A 3 "$set" && does A open 0 1 2 && does A 'write 2:5' 0 1 2 && does A flush 0 1 2 && killed A || return 1
    rm -rf "$work/now" && cp -a "$set" "$work/now"
    held -s "$set/data_1.h5" only_refused rebuild "$set" || return 1
    runs 0 'data_1.h5: rolled back' rebuild "$set" && ranks read 2
}
check 'a rollback changes a file where it is: refused beside a reader, done without' back
# -1 is another generation after the first time.
once_each() { # COMMAND, TEXT: of the files in one directory a program has one open, of those in the other none
    local command=$1 text=$2 waiting fd
    begin && mkdir "$work/other" && set=$work/other ranks write 1 && set=$work/other ranks write 2 && exec {fd}<"$work/other/data_1.h5" && flock -x "$fd" || return 1
    "$tool" "$command" --generation -1 --wait "$set" "$work/other" >"$out" 2>&1 &
    waiting=$!
    until grep -q 'waiting: .*other/data_1.h5' "$out"; do kill -0 $waiting 2>/dev/null || { cat "$out"; return 1; }; sleep 0.02; done
    [ "$(grep -c "set/data_.*$text" "$out")" = 3 ] || { cat "$out"; return 1; }
    flock -u "$fd" && exec {fd}<&- && wait $waiting || { cat "$out"; return 1; }
    [ "$(grep -c "set/data_.*$text" "$out")" = 3 ] && [ "$(grep -c "other/data_.*$text" "$out")" = 3 ] || { cat "$out"; return 1; }
}
once_restored() { once_each restore 'has become the newest' && ranks read 1 && set=$work/other ranks read 1; }
check 'restore --wait: what is free is restored once, and the rest when it is free' once_restored
beside_reader() {
    begin
    job A 3 "$set" && does A look 0 1 2 || return 1
    runs 0 'has become the newest' restore --generation -1 "$set" || return 1
    does A 'check 2' 0 1 2 && does A close 0 1 2 && does A look 0 1 2 && does A 'check 1' 0 1 2 || return 1
    runs 0 'not protected any more' unprotect "$set" && does A 'check 1' 0 1 2 && does A close 0 1 2 || return 1
    ends A
}
check 'a restore, and unprotect, beside readers: they go on with what they have open' beside_reader
deleted() {
    begin
    job A 3 "$set" && does A look 0 1 2 && refused rm "$set" && does A close 0 1 2 && ends A || return 1
    job A 3 "$set" && does A open 0 1 2 && rm "$set"/data_?.h5 && rm -rf "$work/now" && cp -a "$set" "$work/now" || return 1
    only_refused gc "$set" && killed A && runs 0 'data_1.h5: what protected it was removed' gc "$set" && [ -z "$(ls "$set")" ]
}
check 'rm waits for readers, and gc for a program that has open what was deleted' deleted
replaced() {
    rm -rf "$work/to" && runs 0 copied scavenge --to "$work/to" "$set" && ranks write 7 || return 1
    held -x "$work/to/data_1.h5" runs 5 'data_1.h5 is to be replaced, and a program on .* has it open' scavenge --force --to "$work/to" "$set" || return 1
    cmp "$set/data_0.h5" "$work/to/data_0.h5" && not cmp -s "$set/data_1.h5" "$work/to/data_1.h5" || return 1
    runs 0 copied scavenge --force --to "$work/to" "$set" && cmp "$set/data_1.h5" "$work/to/data_1.h5"
}
begin
check 'scavenge --force does not replace a file in its target that a program changes' replaced

finish
