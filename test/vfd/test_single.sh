#!/usr/bin/env bash
# One process protects its files alone, with scheme SINGLE: without MPI, or with MPI_COMM_SELF. What was closed is found
# again bit for bit after a kill (P11), damage is an error and never other data (P2), nobody is waited for (P5), and MPI is
# not called (P10). Programs: serial_single.c, link_self.c, and HDF5's own tools. `timeout` is a watchdog.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
bin=$REDSET_BUILD_DIR/test/vfd
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
h5redset=$REDSET_BUILD_DIR/tools/h5redset
dir=$(mktemp -d)
log=$dir/log
trap 'rm -rf "$dir"' EXIT
export HDF5_DRIVER=redset
alone='scheme=SINGLE required=yes'
program=$bin/serial_single

with() { HDF5_DRIVER_CONFIG=$1 timeout 300 "${@:2}" >"$dir/out" 2>"$dir/stderr"; }
single() { with "$alone" "$program" "$@" || { cat "$dir/out" "$dir/stderr"; return 1; }; }
refused() { # TEXT CONFIG COMMAND...: it ends with status 1, and the driver says so
    local status=0
    with "${@:2}" || status=$?
    cat "$dir/out" "$dir/stderr"
    [ "$status" = 1 ] && grep -q "$1" "$dir/out"
}
killed() { local status=0; with "$alone" "$@" || status=$?; [ "$status" = 137 ]; }
healthy() { "$h5redset" status --verify "$dir/now"; }
generation() { "$h5redset" status "$dir/now" | grep -q "data_a.h5: SINGLE, 1 rank in 1 set, generation $1,"; }
nothing_beside() { [ "$(find . -type f | sort | tr '\n' ' ')" = "$1 " ] || { find . -type f; return 1; }; }

# made where it stays: it records its path
begin() {
    cd "$dir"
    rm -rf "$dir/now"
    mkdir "$dir/now"
    cd "$dir/now"
    HDF5_DRIVER_CONFIG=$alone "$program" create data_a.h5 1
    cp data_a.h5 "$dir/old"
}

echo 'a process without MPI:'
begin; check 'a new file is protected' all healthy , generation 1 , single read data_a.h5 1
begin; check 'so is one that is changed' all single change data_a.h5 2 , healthy , generation 2 , single read data_a.h5 2
begin; check 'and one that is created anew' all single create data_a.h5 3 , healthy , generation 2 , single read data_a.h5 3
begin; check 'a change that was held by a child too' all single child data_a.h5 4 , healthy , generation 2 , single read data_a.h5 4
begin; check 'reading changes nothing' all single read data_a.h5 1 , generation 1 , cmp data_a.h5 "$dir/old"
unprotected() { rm -r ./*; with '' "$program" create data_b.h5 5 && nothing_beside ./data_b.h5; }
begin; check 'without scheme=SINGLE a new file is not protected' unprotected
begin; check 'which is an error with required=yes' refused 'not protected: .*data_b.h5: this process' required=yes "$program" create data_b.h5 5
begin; check 'with it, a file that was not protected is, when it changes' all unprotected , single change data_b.h5 6 , healthy , single read data_b.h5 6
begin; check 'what was protected alone stays so, whatever scheme= says' all with required=yes "$program" change data_a.h5 2 , healthy , generation 2 , \
    with 'scheme=RS required=yes' "$program" create data_a.h5 3 , healthy , generation 3 , single read data_a.h5 3
has_marks() { # does the file system keep the attribute that says that a file was protected?
    begin; rm data_a.h5.*
    with scheme=SINGLE "$program" read data_a.h5 1 && grep -q 'nothing within reach of this process records what it should be; opened unverified' "$dir/stderr"
}
if has_marks; then
    begin; check 'what others may have more of is not created anew' all rm data_a.h5.* , \
        refused 'not protected: .*data_a.h5: it was protected before, and its redundancy file is missing' "$alone" "$program" create data_a.h5 2 , \
        cmp data_a.h5 "$dir/old" , rm data_a.h5 , single create data_a.h5 2 , healthy
    begin; check 'nor protected when it was changed' all rm data_a.h5.* , \
        refused 'data_a.h5: what was recorded of it is lost' "$alone" "$program" change data_a.h5 2 , \
        not test -e data_a.h5.0.single.grp_1_of_1.mem_1_of_1.redset
else
    echo '  left out: files whose redundancy file is lost; no extended attributes here'
fi
long=$(printf 'n%.0s' {1..240})
begin; check 'a name that is too long' refused 'not protected: .*the name is too long' "$alone" "$program" create "$long.h5" 1
begin; check 'async=yes: protected in the close' all with "$alone async=yes" "$program" change data_a.h5 2 , healthy , generation 2

echo 'written under a temporary name, and moved:'
moved_to() { mv tmp.h5 "$1" && [ "$(find . -name 'tmp.h5*' -not -name tmp.h5 | wc -l)" -gt 0 ]; }
nothing_left() { [ -z "$(find . -name 'tmp.h5*' -o -name '*.undo')" ] || { ls; return 1; }; }
of_final() { "$h5redset" status "$dir/now" | grep -q "final.h5: SINGLE, 1 rank in 1 set, generation $1,"; }
for required in yes no; do
    begin; check "changed then, it is protected at each close (required=$required)" all single create tmp.h5 1 , moved_to final.h5 , \
        with "scheme=SINGLE required=$required" "$program" change final.h5 2 , of_final 2 , healthy , nothing_left , \
        with "scheme=SINGLE required=$required" "$program" change final.h5 3 , of_final 3 , healthy , single read final.h5 3
done
begin; check 'whatever scheme= says' all single create tmp.h5 1 , moved_to final.h5 , with required=yes "$program" change final.h5 2 , of_final 2 , healthy
begin; check 'created anew then' all single create tmp.h5 1 , moved_to final.h5 , single create final.h5 2 , of_final 2 , healthy , nothing_left
begin; check 'in place of a protected one: read' all single create final.h5 7 , single create tmp.h5 1 , moved_to final.h5 , single read final.h5 1 , \
    healthy , nothing_left
begin; check 'and changed' all single create final.h5 7 , single create tmp.h5 1 , moved_to final.h5 , single change final.h5 2 , of_final 2 , healthy , nothing_left
begin; check 'not so what was damaged on the way' all single create tmp.h5 1 , moved_to final.h5 , flip final.h5 200000 , \
    refused 'what was recorded of it is lost' "$alone" "$program" read final.h5 1 , test -e tmp.h5.0.redset
begin; check 'nor with readonly_rebuild=no' all single create tmp.h5 1 , moved_to final.h5 , eval 'ls >$dir/before' , \
    with "$alone readonly_rebuild=no" "$program" read final.h5 1 , eval 'ls | cmp - $dir/before'

echo 'another process meanwhile:'
# Each begins when the program has the file open, without locks, as on many parallel file systems. What the open file becomes is
# seen by the program alone: the name leads to another one then.
export program
unlocked() { HDF5_USE_FILE_LOCKING=FALSE "$@"; }
swap='cp -a data_a.h5 new && mv new data_a.h5' # as who rebuilds it
# shellcheck disable=SC2016 # the shell that the program starts expands it
spoil='for fd in /proc/$PPID/fd/*; do
           case $(readlink "$fd") in */data_a.h5*) dd if=/dev/zero of="$fd" bs=4096 seek=50 count=1 conv=notrunc status=none ;; esac
       done' # what the program has open is damaged
again() { with "$alone verify=read" "$program" "$@" || { cat "$dir/out" "$dir/stderr"; return 1; }; }
begin; check 'what is damaged where it is open, and rebuilt under the name, is read from there' again read data_a.h5 1 "$swap && $spoil"
begin; check 'so it is if it was rebuilt after it was damaged' again read data_a.h5 1 "cp -a data_a.h5 whole && $spoil && mv whole data_a.h5"
# shellcheck disable=SC2016
anew='with=$HDF5_DRIVER_CONFIG; HDF5_DRIVER_CONFIG="scheme=SINGLE required=yes" $program create data_a.h5 2 && HDF5_DRIVER_CONFIG=$with'
begin; check 'what is damaged where it is open, and committed anew since, is refused' all unlocked refused 'committed it anew' "$alone verify=read" \
    "$program" read data_a.h5 1 "$anew && $spoil" , generation 2 , single read data_a.h5 2
begin; check 'what is whole where it is open is read, whatever was committed since' all unlocked again read data_a.h5 1 "$anew" , generation 2
begin; check 'a change of what was replaced since the open is refused, and changes nothing' all refused 'replaced or committed' "$alone" \
    "$program" change data_a.h5 2 "$swap" , healthy , generation 1 , single read data_a.h5 1
# shellcheck disable=SC2016
other='$program change data_a.h5 3'
begin; check 'and of what was committed in place since' all unlocked refused 'replaced or committed' "$alone" "$program" change data_a.h5 2 "$other" , \
    healthy , generation 2 , single read data_a.h5 3
begin; check 'a time that was set is no change' all single change data_a.h5 2 'touch data_a.h5' , generation 2 , single read data_a.h5 2
for required in yes no; do
    begin; check "a close fails when the name leads to another file (required=$required)" all refused 'gave its name to another file' \
        "scheme=SINGLE required=$required" "$program" late data_a.h5 2 "cp -a '$dir/old' new && mv new data_a.h5" , single read data_a.h5 1 , \
        single change data_a.h5 3 , healthy
done

echo 'damage:'
damaged() { flip data_a.h5 200000; cp data_a.h5 "$dir/damaged"; }
block='missing or damaged are bytes 196608 to 262143 of the content;'
begin; check 'is an error of the program that reads it, which says where' all damaged , refused "now/data_a.h5: .*$block" "$alone" "$program" read data_a.h5 1 , cmp data_a.h5 "$dir/damaged"
begin; check 'whatever scheme= says' all damaged , refused 'now/data_a.h5: ' '' "$program" read data_a.h5 1 , cmp data_a.h5 "$dir/damaged"
begin; check 'and of the one that would change it' all damaged , refused "now/data_a.h5: .*$block" "$alone" "$program" change data_a.h5 2 , cmp data_a.h5 "$dir/damaged"
begin; check 'in what HDF5 reads first' all flip data_a.h5 20 , refused 'now/data_a.h5: ' "$alone" "$program" read data_a.h5 1
begin; check 'a file that was deleted: missing, as any' all rm data_a.h5 , refused "name = 'data_a.h5', errno = 2" "$alone" "$program" read data_a.h5 1 , not test -e data_a.h5
begin; check 'a file that is cut short' all truncate -s 1000 data_a.h5 , refused 'now/data_a.h5: ' "$alone" "$program" read data_a.h5 1
begin; check 'a damaged file is created anew' all damaged , single create data_a.h5 3 , healthy , single read data_a.h5 3

echo 'changed without the driver:'
warned() { cat "$dir/out" "$dir/stderr"; grep -q -- "$1" "$dir/stderr"; }
quiet() { cat "$dir/stderr"; [ ! -s "$dir/stderr" ]; }
append='echo "a line that somebody has added" >>data_a.h5'
# shellcheck disable=SC2016
write_over='printf somebody | dd of=data_a.h5 bs=1 seek=1000 conv=notrunc status=none'
anew() { rm data_a.h5*; with "$1" "$program" after data_a.h5 1 "$2" || { cat "$dir/out"; return 1; }; }
stays() { single read data_a.h5 1 && quiet && healthy && single change data_a.h5 2 && quiet && single read data_a.h5 2 && healthy; }
for how in "$append" "$write_over"; do
    for config in scheme=SINGLE "$alone"; do
        begin; check "by the program that protected it: read as it is, and not refused later (${how%% *}, $config)" all anew "$config" "$how" , \
            warned 'opened as they are, and protected so' , stays
    done
done
begin; check 'given an older time, with required=yes it is refused, and nobody is accused' all rm data_a.h5 data_a.h5.* , \
    refused 'made longer without this driver on .*changed=keep' "$alone" "$program" after data_a.h5 1 "$append; touch -d yesterday data_a.h5"
kept='scheme=SINGLE changed=keep'
same_names() { ls | cmp - "$dir/before"; }
appended() { eval "$append"; ls >"$dir/before"; }
begin; check 'by another one: refused, and not because something is missing' all appended , refused 'only made longer by another program' \
    "$alone" "$program" read data_a.h5 1 , not grep -q 'missing or damaged' "$dir/out"
begin; check 'changed=keep: read as it is, and not refused later' all appended , with "$kept" "$program" read data_a.h5 1 , \
    warned 'changed=keep opened as it is now, and protected so' , with "$kept" "$program" read data_a.h5 1 , quiet , stays
begin; check 'changed=keep with readonly_rebuild=no: read as it is, and nothing is written' all appended , \
    with "$kept readonly_rebuild=no" "$program" read data_a.h5 1 , warned 'opened as it is now, and not protected until all ranks' , \
    same_names , refused 'only made longer' "$alone" "$program" read data_a.h5 1
begin; check 'changed=keep, and it was not: nothing is done' all with "$kept" "$program" read data_a.h5 1 , quiet , \
    touch data_a.h5 , with "$kept" "$program" read data_a.h5 1 , quiet , generation 1

echo 'killed:'
begin; check 'with a change that HDF5 has written out' all killed "$program" holds data_a.h5 2 , not cmp data_a.h5 "$dir/old" , \
    single read data_a.h5 1 , cmp data_a.h5 "$dir/old" , single change data_a.h5 2 , healthy , generation 2
unwritten() { "$h5redset" status "$dir/now" >"$dir/out" && not grep 'written' "$dir/out"; }
begin; check 'what was rolled back is not written since, by its time' all unwritten , killed "$program" holds data_a.h5 2 , single read data_a.h5 1 , unwritten
begin; check 'the same, and opened to be changed next' all killed "$program" holds data_a.h5 2 , single change data_a.h5 3 , healthy , single read data_a.h5 3

# killed HOW SEED AT: at the call number AT that changes something on disk; what is there afterwards is the old content
# or the new one, and whoever comes first finishes it
old=0 new=0
after_kill() {
    local status=0
    with "$alone" "$program" read data_a.h5 1 || status=$?
    case $status in
        0) cmp data_a.h5 "$dir/old" && old=$((old + 1)) ;;
        3) single read data_a.h5 2 && new=$((new + 1)) ;;
        *) cat "$dir/out"; return 1 ;;
    esac || return
    cp data_a.h5 "$dir/read"
    single change data_a.h5 7 && single read data_a.h5 7 && healthy || return
    [ -z "$(find . -name '*.new' -o -name '*.redset.*.new' -o -name '*.undo' -o -name '*.void')" ] || { ls; return 1; }
}
points() { # HOW
    local at status
    old=0 new=0
    for ((at = 1; at < 200; at++)); do
        begin
        status=0
        with "$alone" env LD_PRELOAD="$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD}" DIE_AT="$at" "$program" "$1" data_a.h5 2 || status=$?
        [ "$status" != 0 ] || break
        [ "$status" = 137 ] || { echo "point $at: status $status"; cat "$dir/out"; return 1; }
        after_kill || { echo "point $at"; return 1; }
    done
    echo "$at points, $old times the old content, $new times the new one"
    [ "$at" -gt 8 ] && [ "$at" -lt 200 ] && [ "$old" -gt 0 ] && [ "$new" -gt 0 ]
}
# a file that there was nothing of before: there, complete, or refused
first() {
    local at status
    for ((at = 1; at < 200; at++)); do
        rm -f ./*
        status=0
        with "$alone" env LD_PRELOAD="$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD}" DIE_AT="$at" "$program" create data_a.h5 2 || status=$?
        [ "$status" != 0 ] || break
        with "$alone" "$program" read data_a.h5 2 || status=$?
        [ "$status" = 1 ] || [ "$status" = 137 ] || { echo "point $at: status $status"; return 1; }
        with "$alone" "$program" change data_a.h5 2 || status=$?
        [ "$status" = 1 ] || [ "$status" = 137 ] || { echo "point $at: status $status"; return 1; }
        single create data_a.h5 3 && single read data_a.h5 3 && healthy || { echo "point $at"; return 1; }
    done
    echo "$at points"
    [ "$at" -gt 8 ] && [ "$at" -lt 200 ]
}
begin; check 'at every point of a file that is created for the first time' first
check 'at every point of a change in place' points change
check 'at every point of a file that is created anew' points create

echo 'another process:'
stopped() { # HOW [AT]: a process that stops in its close, when what it has written is about to count; or where AT says; $writer
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} STOP_AT=${2:-.new} HDF5_DRIVER_CONFIG=$alone \
        "$program" "$1" data_a.h5 2 &
    writer=$!
    while kill -0 $writer 2>/dev/null && ! grep -q '^State:.*stopped' "/proc/$writer/status"; do sleep 0.02; done
}
goes_on() { # it stops once more for each file
    while kill -CONT $writer 2>/dev/null; do sleep 0.02; done
    wait $writer && healthy && generation 2 && single read data_a.h5 2
}
unlocked() { env HDF5_USE_FILE_LOCKING=FALSE "$@"; }
begin; check 'one that changes it, stopped in its close: read as it is, and not changed' all stopped change , single read data_a.h5 2 , \
    refused 'another process is changing' "$alone" "$program" change data_a.h5 3 , goes_on
begin; check 'one that creates it anew, stopped in its close: the old file is read, without locks' all stopped create , \
    unlocked env HDF5_DRIVER_CONFIG="$alone" "$program" read data_a.h5 1 , cmp data_a.h5 "$dir/old" , goes_on
begin; check 'and locked' all stopped create , not single read data_a.h5 1 , not single change data_a.h5 3 , goes_on
# Nobody has HDF5's locks, as on many parallel file systems: who looks at the file, at any moment of the writer, leaves its commit alone,
# and reads the old content or the new one, or is told that it is in use.
looks() {
    local status=0
    with "$alone" "$program" read data_a.h5 1 || status=$?
    cat "$dir/out" "$dir/stderr"
    [ "$status" = 0 ] || [ "$status" = 3 ] || { [ "$status" = 1 ] && grep -q 'another process' "$dir/out"; } || return
    with '' "$h5redset" status --verify "$dir/now" || :
}
beside() { # HOW
    local at
    for ((at = 1; at < 200; at++)); do
        begin
        stopped "$1" "$at"
        kill -0 $writer 2>/dev/null || break
        looks || { echo "point $at"; kill -KILL $writer; return 1; }
        goes_on || { echo "point $at: the writer"; return 1; }
    done
    wait $writer && echo "$at points" && [ "$at" -gt 8 ] && [ "$at" -lt 200 ]
}
export HDF5_USE_FILE_LOCKING=FALSE
check 'one that looks, without locks, at every point of a change in place' beside change
check 'at every point of a file that is created anew' beside create
unset HDF5_USE_FILE_LOCKING
in_turn() { local i; for i in 2 3 4 5 6; do single change data_a.h5 $i && single read data_a.h5 $i || return; done; }
begin; check 'one file in turn' all in_turn , generation 6 , healthy

echo 'programs that know nothing of it:'
tools=${REDSET_HDF5_TOOLDIR:+$REDSET_HDF5_TOOLDIR/}
dumped() { env -u HDF5_DRIVER "${tools}h5dump" "$1" | tail -n +2; }
same_dump() { diff <(dumped "$1") <(dumped "$2"); }
case ${REDSET_HDF5_PARALLEL:-OFF} in OFF | FALSE) parallel='' ;; *) parallel=yes ;; esac
if [ -n "$tools" ] || { [ -z "$parallel" ] && command -v h5repack >/dev/null; }; then
    begin; check 'h5repack: its output is protected' all with "$alone" "${tools}h5repack" -f GZIP=1 data_a.h5 data_z.h5 , healthy , \
        test -e data_z.h5.0.single.grp_1_of_1.mem_1_of_1.redset , same_dump data_a.h5 data_z.h5
    begin; check 'h5copy into a protected file: protected anew' all with "$alone" "${tools}h5copy" -i data_a.h5 -o data_a.h5 -s d -d e , healthy , generation 2
else
    echo '  left out: no tools of this HDF5'
fi

if [ -z "$parallel" ]; then
    loads_no_mpi() {
        with "$alone" env LD_DEBUG=files LD_DEBUG_OUTPUT="$dir/ld" "$program" change data_a.h5 2
        grep -q 'calling init: .*libhdf5_vfd_redset' "$dir"/ld.* && ! grep -h 'libmpi\.so\|libmpich' "$dir"/ld.*
    }
    begin; check 'no libmpi is loaded' loads_no_mpi
fi

# ---- in a job ----

if ! command -v "${MPIEXEC:-mpirun}" >/dev/null; then
    echo "  left out: no ${MPIEXEC:-mpirun}"
    finish
    exit
fi
redset_mpi_settings
empty() { cd "$dir"; rm -rf "$dir/now"; mkdir "$dir/now"; cd "$dir/now"; }
self() { timeout 300 "$MPIEXEC" -n 4 "$bin/link_self" "$dir/now" "$1"; }
files_of() { # RANK...: those have a file, protected alone, and nobody else has
    [ "$(find . -name '*.h5' | wc -l)" = $# ] && [ "$(find . -name '*.grp_1_of_1.mem_1_of_1.redset' | wc -l)" = $# ]
}

echo 'ranks that protect alone, with MPI_COMM_SELF:'
empty; check 'one after the other, and one never opens a file' all self turns , files_of 0 2 3 , healthy
if [ -z "$parallel" ]; then
    empty; check 'open in MPI_Finalize, and changed afterwards' all self open , files_of 0 1 2 3 , healthy
else # (T6)
    echo '  left out: open in MPI_Finalize, and changed afterwards: a parallel HDF5 closes all files itself in MPI_Finalize'
fi
empty; check 'in the background, and waited for' all self async , files_of 0 1 2 3 , healthy

echo 'MPI is not called (P10):'
empty; check 'in a process that has it and never starts it' with scheme=SINGLE "$bin/count_mpi" never "$dir/now"
empty; check 'before MPI_Init and after MPI_Finalize' with scheme=SINGLE "$bin/count_mpi" finalized "$dir/now"

echo 'files of four ranks:'
of_four() { empty; HDF5_DRIVER_CONFIG="scheme=$1 required=yes timeout=60" "$MPIEXEC" -n 4 "$bin/ranks" write "$dir/now" 20000 1; }
still_theirs() { ls; [ -z "$(find . -name '*.grp_1_of_1.mem_1_of_1.*')" ] && [ "$(find . -name '*.void' | wc -l)" = 1 ]; }
for scheme in SINGLE XOR; do
    check "$scheme: a process without MPI does not make them its own" all of_four $scheme , with scheme=SINGLE "$bin/driver" change data_2.h5 , still_theirs
    check "$scheme: which is an error with required=yes" all of_four $scheme , not with "$alone" "$bin/driver" change data_2.h5 , still_theirs
    check "$scheme: nor does a rank with MPI_COMM_SELF" all of_four $scheme , self theirs , still_theirs
done

finish
