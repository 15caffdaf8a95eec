#!/usr/bin/env bash
# Two jobs at once under one name. What is protected is what the ranks of one job have written: a commit of one that the other has
# interfered with fails on all of its ranks, with a message that says so, and what was protected before is still had.
set -euo pipefail

# shellcheck source=test/vfd/actors.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/actors.sh"
out=$work/out set=$work/set size=20000
export HDF5_DRIVER=redset

ranks() { timeout 120 "$mpiexec" -n 3 "$bin/ranks" "$1" "$set" "$size" "${@:2}"; }
begin() { kill_jobs && rm -rf "$set" && cp -a "$work/$1" "$set"; }
tells() { # NAME RANK... STEP: these begin with it
    local r
    for r in "${@:2:$#-2}"; do tell "$1" "$r" "${!#}"; done
}
# All hear the same: all_hear NAME REGEX RANK...
all_hear() {
    local r good=0
    for r in "${@:3}"; do
        hear "$1" "$r"
        [[ $heard =~ $2 ]] || good=1
    done
    return "$good"
}
# What all ranks read afterwards is one of these contents, the same on all; or all are refused, where that may be.
one_of() {
    local status=0
    timeout 120 "$mpiexec" -n 3 "$bin/ranks" find "$set" "$size" "$@" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = 0 ]
}

# A's ranks 0 and 1 have closed their files, and wait for its rank 2; B goes on with what they have left: a_waits STEP...
a_waits() {
    local step had0 had1
    job A 3 "$set" && job B 3 "$set" || return 1
    for step in "$@"; do does A "$step" 0 1 2 || return 1; done
    had0=$(count_open 0) had1=$(count_open 1)
    tells A 0 1 close
    until [ "$(count_open 0)" -lt "$had0" ] && [ "$(count_open 1)" -lt "$had1" ]; do sleep 0.02; done
}
# Descriptors that A's rank R has of its data, wherever that is written: HDF5's is one of them.
count_open() { find "/proc/${actors_pid[A.$1]}/fd" -lname "$set/data_$1.h5" -o -lname "$set/data_$1.h5.redset.*.new" 2>/dev/null | wc -l; }
# A message reaches the log some time after the rank's answer, and before mpirun ends: ask when the job has ended.
said_in_log() { grep -qE "$2" "$work/$1.log" || { echo "not said by $1: $2"; cat "$work/$1.log"; return 1; }; }

# ---- nothing is protected yet ----

first() { # REGEX: what A hears of it
    kill_jobs && rm -rf "$set" && mkdir "$set"
    a_waits 'create 1' && does B 'create 2' 0 1 || return 1
    tells A 2 close && all_hear A "$1" 0 1 2 || return 1
    does B 'create 2' 2 && does B close 0 1 2 && ends A && ends B || return 1
    [ "$1" != ok ] || said_in_log A 'not protected: .*data_.*another process' || return 1
    ranks read 2
}
export HDF5_DRIVER_CONFIG='timeout=20'
check 'created by both: the first is warned that it is not protected, and the second is protected' first ok
export HDF5_DRIVER_CONFIG='timeout=20 required=yes'
check 'the same with required=yes: an error of the first' first '^failed: .*another process'

# Before HDF5 finds that another program has locked a file it has truncated it.
new_and_locked() {
    kill_jobs && rm -rf "$set" && mkdir "$set"
    job A 3 "$set" && job B 3 "$set" && does A 'create 1' 0 1 2 || return 1
    tells B 0 1 2 'create 2' && all_hear B '^failed: .*(lock|another program has it open)' 0 1 2 || return 1
    does A close 0 1 2 && ends A && ends B && ranks read 1
}
check 'created by one and open there: created by another it fails, and nothing of the first is gone' new_and_locked

# ---- protected before ----

check 'protected' all rm -rf "$set" , mkdir "$set" , ranks write 1
cp -a "$set" "$work/one"

another_program_changes() { printf x | dd of="$1" bs=1 seek=9000 conv=notrunc status=none; }
plain() { # another program changes a file without the driver, while its ranks close it
    begin one
    a_waits open 'write 1:2' || return 1
    another_program_changes "$set/data_1.h5"
    tells A 2 close && all_hear A '^failed: .*data_.*another process' 0 1 2 && ends A && ends B || return 1
    ranks read 1
}
check 'changed by another program between the close of one rank and of the last: an error on all ranks, and all are rolled back' plain
plain_new() { # the same of a new file, which is a shadow file
    begin one
    a_waits 'create 2' || return 1
    another_program_changes "$(echo "$set"/data_1.h5.redset.*.new)"
    tells A 2 close && all_hear A '^failed: .*data_.*another process' 0 1 2 && ends A && ends B || return 1
    ranks read 1
}
check 'the same of new files' plain_new
moved() { # another file gets the name
    begin one
    a_waits open 'write 1:2' || return 1
    cp "$work/one/data_1.h5" "$set/x" && mv "$set/x" "$set/data_1.h5"
    tells A 2 close && all_hear A '^failed: .*data_.*another process' 0 1 2 && ends A && ends B || return 1
    ranks read 1
}
check 'replaced by another program' moved

export HDF5_USE_FILE_LOCKING=FALSE
both_change() { # both have opened them, and neither has changed anything
    begin one
    job A 3 "$set" && job B 3 "$set" && does A open 0 1 2 && does B open 0 1 2 || return 1
    does A 'write 1:2' 0 1 2 && does A flush 0 1 2 || return 1
    tells B 0 1 2 'write 1:3' && all_hear B '^failed: .*another process' 0 1 2 || return 1
    does A close 0 1 2 && ends A && tells B 0 1 2 close && all_hear B . 0 1 2 && ends B || return 1
    ranks read 1:2
}
check 'without locks, both open and change them: the second is refused at its first write, and the first is protected' both_change
both_create() {
    begin one
    a_waits 'create 2' && does B 'create 3' 0 1 2 && tells B 0 1 2 close || return 1
    tells A 2 close
    all_hear A . 0 1 2 || true
    all_hear B . 0 1 2 || true
    ends A && ends B || return 1
    one_of 1 2 3
}
check 'without locks, both write new files and close them: what all read is of one job' both_create
killed_in_between() {
    begin one
    a_waits open 'write 1:2' && does B 'create 3' 0 1 && tells A 2 close || return 1
    all_hear A . 0 1 2 || true
    killed B && ends A || return 1
    one_of 1 1:2
}
check 'without locks, one creates them anew while the other closes, and is killed: what all read is of one job' killed_in_between

finish
