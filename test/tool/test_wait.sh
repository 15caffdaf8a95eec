#!/usr/bin/env bash
# h5redset --wait: a command that another process keeps from its files waits for it, looks again, and goes on; without it is
# refused. The other one is h5redset itself, stopped in the middle, or a lock as programs take it. Both stay until the script
# says so, and the script goes on when the waiting one has said for whom it waits: no time decides.
set -euo pipefail

# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
trap 'kill -KILL $first 2>/dev/null || true; rm -rf "$work"' EXIT
first=
preload=$REDSET_BUILD_DIR/test/vfd/libpreload_die.so
parallel() { timeout 300 "$mpiexec" -n 2 "$@"; }
begin() { rm -rf set && cp -a kept set; }
as_protected() { diff -r -x '*.redset.names' kept set; }

mkdir set
for k in 0 1 2 3; do head -c $((200000 + 1000 * k)) /dev/urandom >set/data_$k.h5; done
"$tool" protect --scheme XOR set/data_?.h5 >/dev/null
cp -a set kept

# ---- another process ----

# first COMMAND...: h5redset, which stops before it writes anything, with all locks that it needs
first() {
    local stat=''
    LD_PRELOAD=$preload${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=-1 STOP_AT=1 "$tool" "$@" >first.out 2>&1 &
    first=$!
    until [ "$stat" = T ]; do
        sleep 0.02
        stat=$(sed 's/.*) //; s/ .*//' "/proc/$first/stat" 2>/dev/null) && [ "$stat" != Z ] || { cat first.out; return 1; }
    done
}
first_goes_on() { kill -CONT $first; }
first_ends() { wait $first || { cat first.out; return 1; }; }
# lock HOW FILE: as HDF5 locks a file that a program has open, until let_go
lock() {
    exec {held}<"$2"
    flock "$1" "$held"
}
let_go() { flock -u "$held" && exec {held}<&-; } # the one that waits has the descriptor, too

# ---- one that waits ----

# waits TEXT COMMAND...: it runs, and says that it waits for that
waits() {
    local text=$1
    shift
    "$@" >waiting.out 2>&1 &
    waiting=$!
    until grep -qE -- "$text" waiting.out; do
        kill -0 $waiting 2>/dev/null || { cat waiting.out; echo "not said: $text"; return 1; }
        sleep 0.02
    done
}
# done_with STATUS: it has ended
done_with() {
    local status=0
    wait $waiting || status=$?
    cp waiting.out "$out"
    cat "$out"
    [ "$status" = "$1" ] || { echo "exit status $status instead of $1"; return 1; }
}
lose() { rm set/data_1.h5*; }

# ---- two at one time ----

refused() {
    begin && lose && first rebuild set || return 1
    gives 5 "$tool" rebuild set && says 'data_.\.h5: a program on .* has it open to change it: close it there, or wait' || return 1
    first_goes_on && first_ends && as_protected
}
two_rebuild() {
    begin && lose && first rebuild set || return 1
    waits 'waiting: .*data_.\.h5: a program on .* has it open to change it' "$@" rebuild --wait set || return 1
    first_goes_on && first_ends && done_with 0 && never_says 'rebuilt|close it there' || return 1
    grep -q 'data_1.h5: rebuilt' first.out && as_protected
}
limited() {
    begin && lose && first rebuild set || return 1
    gives 5 "$tool" rebuild --wait=0 set && says 'close it there, or wait' && gives 5 "$tool" rebuild --wait=3 set || return 1
    says 'waiting: ' && says 'close it there, or wait' && first_goes_on && first_ends && as_protected
}
if [ -e "$preload" ]; then
    check 'without it the second is refused' refused
    check 'two rebuilds: the second waits, looks again, and finds nothing to do' two_rebuild "$tool"
    check 'it waits no longer than it is told to' limited
    check 'two processes wait together' two_rebuild parallel "$tool"
else
    echo 'SKIP: nothing to hold the first one with'
fi

# ---- beside a program ----

# One checkpoint is free, and is done at once; of the other a program has a file open.
begin_two() {
    local k
    rm -rf set && mkdir set
    for k in 0 1 2 3; do cp kept/data_$k.h5 set/more_data_$k.h5 && cp kept/data_$k.h5 set/data_$k.h5; done
    "$tool" protect --scheme XOR set/data_?.h5 && "$tool" protect --scheme XOR set/more_data_?.h5
}
once() {
    begin_two && rm -rf both && cp -a set both && rm set/data_1.h5 set/more_data_1.h5 && lock -x set/data_2.h5 || return 1
    waits 'waiting: .*data_2.h5: a program on .* has it open' "$tool" rebuild --wait set || return 1
    let_go && done_with 0 && [ "$(grep -c 'more_data_1.h5: rebuilt' "$out")" = 1 ] && [ "$(grep -c 'set/data_1.h5: rebuilt' "$out")" = 1 ] || return 1
    never_says 'close it there' && diff -r -x '*.redset.names' both set
}
check 'what is free is done once, and what a program has open when it is free' once
two_places() {
    local dir
    for dir in x y; do rm -rf $dir && cp -a kept $dir && rm $dir/data_*.redset* && "$tool" protect --scheme XOR $dir/data_?.h5 || return 1; done
    rm x/data_1.h5 y/data_1.h5 && lock -x "$1/data_2.h5" || return 1
    waits "waiting: .*$1/data_2.h5: a program on" "$tool" rebuild --wait x y || return 1
    let_go && done_with 0 && cmp x/data_1.h5 kept/data_1.h5 && cmp y/data_1.h5 kept/data_1.h5
}
check 'the same with files of the same names in two directories' all two_places x , two_places y
looks_again() {
    begin && lock -x set/data_2.h5 || return 1
    waits 'waiting: ' "$tool" rm --wait set || return 1
    cp kept/data_0.h5 set/new.h5 && rm set/data_?.h5* && let_go && done_with 3 && [ -e set/new.h5 ]
}
check 'what it saw before it waited does not count' looks_again
each() { # TEXT COMMAND...: it waits for a file, and is done then
    local text=$1
    shift
    begin && lock -x set/data_2.h5 || return 1
    waits 'waiting: .*data_2.h5' "$tool" "$@" || return 1
    let_go && done_with 0 && says "$text"
}
check 'unprotect' each 'not protected any more' unprotect --wait set
check 'protect' each 'data_3.h5: protected' protect --wait set/data_0.h5 set/data_1.h5 set/data_2.h5 set/data_3.h5
check 'rm' each 'was removed' rm --wait set
check 'mv' each 'renamed to' mv --wait "$work/set/data_%r.h5" "$work/set/other_%r.h5"
gone() {
    begin && lock -x set/data_2.h5 && rm set/data_?.h5 && let_go || return 1
    gives 0 "$tool" gc --wait set && says 'was removed'
}
check 'gc, with nobody to wait for' gone

# ---- scavenge ----

two_scavenge() {
    local target
    begin && rm -rf safe && mkdir -p safe/redset-scavenge.tmp && : >safe/redset-scavenge.tmp/lock && chmod 700 safe/redset-scavenge.tmp || return 1
    target=safe/redset-scavenge.tmp
    lock -x $target/lock || return 1
    gives 5 "$tool" scavenge --to safe set && says 'another h5redset scavenge is bringing files to this directory' || return 1
    waits 'waiting: .*safe: another h5redset scavenge is bringing files to this directory' "$tool" scavenge --to safe --wait set || return 1
    rm set/data_3.h5 && rm -r $target && let_go && done_with 0 && says '^4 files: 1 rebuilt, 3 copied' && [ ! -e $target ] || return 1
    cmp kept/data_3.h5 safe/data_3.h5
}
check 'scavenge waits for another one, and looks again at what there is' two_scavenge
many_scavenge() {
    local k pids=() pid
    begin && rm -rf safe || return 1
    for k in 1 2 3 4 5 6; do "$tool" scavenge --to safe --wait set >many.$k 2>&1 & pids+=($!); done
    for pid in "${pids[@]}"; do wait "$pid" || { cat many.?; return 1; }; done
    for k in 0 1 2 3; do cmp kept/data_$k.h5 safe/data_$k.h5 || return 1; done
    [ "$(ls safe)" = "$(printf '%s\n' data_0.h5 data_1.h5 data_2.h5 data_3.h5 redset-index.json)" ]
}
check 'six at one time bring the same files, one after the other' many_scavenge

# ---- the command line ----

check 'only commands that change something have it' all gives 64 "$tool" status --wait set , says 'is not an option of status'
check 'it wants a number' all gives 64 "$tool" rebuild --wait=soon set , says '--wait soon: a number from 0 on is wanted'

finish
