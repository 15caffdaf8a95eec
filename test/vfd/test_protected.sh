#!/usr/bin/env bash
# One process without MPI, and the files that four ranks have protected: what leaves them alone, what
# ends their protection, what brings them back, and what must not. Every check begins with the files as
# the ranks left them. What HDF5 does below each call is in docs/hdf5-traps.md; driver.c is the program.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset
dir=$work
chmod 755 "$dir"

mkdir "$dir/now"
HDF5_DRIVER_CONFIG='required=yes timeout=20' timeout 60 "$mpiexec" -n 4 \
    "$bin/ranks" write "$dir/now" 20000 1 2>"$dir/log" || { cat "$dir/log"; exit 1; }
mv "$dir/now" "$dir/made" # kept in another place than the one that is recorded
[ "$(find "$dir/made" -name '*.redset' | wc -l)" = 8 ]

tree() { (cd "$1" && find . -type f -printf '%p %m %s %T@ ' -exec sha256sum {} \; | sort); }

# begin: the files as the ranks left them
begin() {
    rm -rf "$dir/now"
    cp -a "$dir/made" "$dir/now"
    chmod 755 "$dir/now"
    cd "$dir/now"
}
untouched() { diff <(tree "$dir/made") <(tree "$dir/now"); }
whole() { cmp "$dir/made/data_2.h5" data_2.h5; }
protected() { [ "$(find . -name 'data_2.h5.*redset' | wc -l)" = 2 ]; }
# what is there now is not taken for a damaged version of what was protected
stays() { cp data_2.h5 "$dir/copy" && opens open-read data_2.h5 && cmp "$dir/copy" data_2.h5 && not whole; }
opens() { "$bin/driver" "$@" | tee "$dir/out" && grep -q '^open[^ ]*: ok' "$dir/out"; }
fails() { "$bin/driver" "$@" | tee "$dir/out" && grep -q '^open[^ ]*: FAILED' "$dir/out"; }
seen_by_readers() { "$bin/driver" swmr-create data_2.h5 | tee "$dir/out" && grep -q 'open-swmr: ok' "$dir/out"; }
# with atomic=no: the undo journal is a head without entries
no_undo() { [ -z "$(find . -name '*.redset.*.data')" ] && [ "$(stat -c %s data_2.h5.redset.*.undo)" -le 1024 ]; }
no_rollback() { [ -z "$(find . -name '*.redset.*' ! -name '*.void' ! -name '*.redset.names')" ]; }
# what was changed, and can be rolled back: by the ranks that protected it, which read and so repair it
is_taken_back() { # WHAT
    "$bin/driver" "$1" data_2.h5 && ! cmp -s data_2.h5 "$dir/made/data_2.h5" && rm data_0.h5 &&
        HDF5_DRIVER_CONFIG='timeout=20' timeout 60 "$mpiexec" -n 4 "$bin/ranks" readwrite "$dir/now" 20000 1 && untouched_content
}
untouched_content() { diff -r -x '*.redset.names' "$dir/made" "$dir/now"; }
quietly() { "$@" 2>"$dir/stderr" && [ ! -s "$dir/stderr" ]; }

echo 'left alone:'
begin; check 'read' all quietly opens open-read data_2.h5 , untouched
sum=$(grep '^sum' "$dir/out")
begin; check 'opened for writing, nothing written' all quietly opens open-write data_2.h5 , untouched
begin; check 'the same without locks' all env HDF5_USE_FILE_LOCKING=FALSE "$bin/driver" open-write data_2.h5 , untouched
begin; check 'created with EXCL: exists' all fails open-exclusive data_2.h5 , untouched
begin; check 'asked whether it is HDF5' all "$bin/driver" is-accessible data_2.h5 , untouched
begin; chmod 777 .; chmod 444 data_2.h5; tree . >"$dir/before"
check 'truncated by somebody who may not' all fails open-create-nobody data_2.h5 , diff "$dir/before" <(tree .)
begin; truncate -s 5000 data_2.h5; tree . >"$dir/before"
exec 9<data_2.h5; flock --shared 9
check 'damaged, but locked by another process' all fails open-write data_2.h5 , diff "$dir/before" <(tree .)
exec 9<&-
begin; ln -s data_2.h5 link; check 'a link to it deleted' all "$bin/driver" delete link , not test -L link , untouched

echo 'protection ends:'
begin; check 'truncated' all opens open-create data_2.h5 , stays
begin; rm data_2.h5; check 'created where it was lost' all opens open-create data_2.h5 , stays
begin; check 'changed' all "$bin/driver" change data_2.h5 , stays
begin; check 'truncated, then opened to readers (SWMR)' all seen_by_readers , stays
begin; check 'truncated with atomic=no' all env HDF5_DRIVER_CONFIG=atomic=no "$bin/driver" open-create data_2.h5 , stays , no_undo
begin; check 'changed with atomic=no' all env HDF5_DRIVER_CONFIG=atomic=no "$bin/driver" change data_2.h5 , stays , no_undo
begin; ln data_2.h5 second; check 'truncated, with a second name' all opens open-create data_2.h5 , cmp data_2.h5 second
begin; check 'truncated twice' all opens open-create data_2.h5 , opens open-create data_2.h5 , stays
begin; check 'deleted' all "$bin/driver" delete data_2.h5 , not protected , not test -e data_2.h5

echo 'rolled back, because another file is lost:'
begin; check 'truncated' is_taken_back open-create
begin; check 'changed' is_taken_back change
begin; check 'truncated, then opened to readers (SWMR)' is_taken_back swmr-create

echo 'rebuilt:'
begin; rm data_2.h5; check 'missing, read' all opens open-read data_2.h5 , whole , protected
begin; rm data_2.h5; check 'missing, opened for writing' all opens open-write data_2.h5 , whole
begin; rm data_2.h5; check 'missing, asked whether it is HDF5' all "$bin/driver" is-accessible data_2.h5 , whole
begin; rm data_2.h5; check 'missing, locked when it is back' all opens open-hold data_2.h5 , grep -q 'open-write: FAILED' "$dir/out" , whole
begin; printf 'x' | rot data_2.h5 20000
check 'one byte is wrong, found when it is read' all opens open-read data_2.h5 , grep -qx "$sum" "$dir/out" , whole
begin; printf 'x' | rot data_2.h5 20000
check 'the same, opened for writing and held' all opens open-hold data_2.h5 , grep -q 'open-write: FAILED' "$dir/out" , grep -qx "$sum" "$dir/out" , whole
begin; truncate -s 5000 data_2.h5; check 'cut short' all opens open-read data_2.h5 , whole
begin; truncate -s 0 data_2.h5; check 'empty' all opens open-read data_2.h5 , whole
begin; rm data_2.h5; ln -s data_2.h5 link; check 'missing behind a link' all opens open-read link , whole , test -L link
begin; rm data_2.h5; check 'missing, target of an external link' all "$bin/driver" follow data_2.h5 , whole
begin; rm data_2.h5; cd /; check 'by another path' all opens open-read "$dir/now/../now//data_2.h5" , cmp "$dir/made/data_2.h5" "$dir/now/data_2.h5"

by_ranks() { HDF5_DRIVER_CONFIG="$1 timeout=20" timeout 60 "$mpiexec" -n 4 "$bin/ranks" read "$dir/now" 20000 1; }
rot_2() { printf 'x' | rot data_2.h5 20000; }
begin; rot_2; check 'one byte is wrong, read by all ranks' all by_ranks verify=open , untouched_content
begin; rot_2; check 'the same with verify=read, found by one rank' all by_ranks verify=read , whole
begin; rot_2; check 'the same with verify=size, not found' not by_ranks verify=size

echo 'only rank 1 has nothing left:'
# its node was lost, and the program creates its files anew; rank 1 dies over that (P2)
dies_creating() { # AT SEED
    rm -f "$dir/died"
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=1 DIE_AT="$1" DIED=$dir/died \
        HDF5_DRIVER_CONFIG=timeout=20 timeout 60 "$mpiexec" -n 4 "$bin/ranks" write "$dir/now" 20000 "$2" 2>"$dir/stderr"
    [ -e "$dir/died" ]
}
taken_up() { HDF5_DRIVER_CONFIG='required=yes timeout=20' timeout 60 "$mpiexec" -n 4 "$bin/ranks" readwrite "$dir/now" 20000 "$1"; }
for at in $(some 1 2 3 4 6 9); do
    begin; rm data_1.h5*; check "created anew, killed at change $at" all dies_creating "$at" 2 , taken_up 1 , untouched_content
done
# and where attributes are not kept: the first commit was cut short when only rank 1 had published (P11)
only_published_by_1() {
    for f in data_[023].h5.*redset; do mv "$f" "$f.new" || return; done
    for f in data_?.h5; do cat "$f" >copy && mv copy "$f" || return; done
}
begin; check 'first commit cut short' all only_published_by_1 , taken_up 1 , untouched_content

echo 'killed twice:'
# in a commit, when rank 1 had published and its file did not have its name yet; then when it was created anew (P11)
dies_publishing() {
    local at
    for at in $(seq 14 40) $(seq 1 13); do
        begin
        dies_creating "$at" 2 || return
        if [ -n "$(find . -name 'data_1.h5.redset.*.new')" ] && ! cmp -s data_1.h5.1.xor*redset "$dir"/made/data_1.h5.1.xor*redset; then
            cp -a "$dir/now" "$dir/cut"
            return
        fi
    done
    return 1
}
check 'in a commit: the first open reads what all ranks have' all dies_publishing , taken_up 2 , no_rollback
died_publishing() { rm -rf "$dir/now" && cp -a "$dir/cut" "$dir/now" && cd "$dir/now"; }
check 'created over a commit that was cut short' all died_publishing , dies_creating 2 3 , taken_up 2 , no_rollback

echo 'one of them cannot:'
# what rank 1's file was cannot be kept, so with required=yes it is not changed; all go back, not only that rank (P2)
update_refused() {
    local status=0 undo
    undo=data_1.h5.redset.$("$tool" status --json "$dir/now" | sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1).undo
    mkdir "$undo" && touch "$undo/in_the_way" || return
    HDF5_DRIVER_CONFIG='required=yes timeout=20' timeout 60 "$mpiexec" -n 4 "$bin/ranks" update "$dir/now" 20000 1:2 ||
        status=$?
    rm -r "$undo"
    [ "$status" = 3 ]
}
begin; check 'changed by the others only' all update_refused , not untouched_content , taken_up 1 , untouched_content

echo 'one of them stops:'
# rank 1, when all have agreed to publish what they protect for the first time, and before it does; the others' stays (P11)
stops_publishing() {
    rm data_*
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=1 STOP_AT=.new HDF5_DRIVER_CONFIG=timeout=2 \
        timeout -k 5 6 "$mpiexec" -n 4 "$bin/ranks" write "$dir/now" 20000 1 && return 1
    find . -name 'data_[023].h5.*redset'
    [ "$(find . -name 'data_[023].h5.*redset' | wc -l)" = 6 ]
}
begin; check 'in the first commit of all' all stops_publishing , taken_up 1 , no_rollback

echo 'refused:'
cannot_open() {
    local status=0
    rm data_2.h5
    LD_PRELOAD=$bin/libpreload_fail.so${LD_PRELOAD:+:$LD_PRELOAD} FAIL_WHAT=reopen FAIL_RANK=2 FAIL_AT=1 \
        by_ranks required=yes 2>"$dir/stderr" || status=$?
    grep 'data_2.h5: is there, but could not be opened (rank 2 on' "$dir/stderr" && [ "$status" = 3 ]
}
if [ "${REDSET_SANITIZE:-OFF}" = OFF ]; then
    begin; check 'one rank cannot open what was rebuilt: all are told (P4)' all cannot_open , by_ranks required=yes
else
    echo 'SKIP: one rank cannot open what was rebuilt: preload_fail.c has a malloc of its own, as the sanitizer has'
fi

no_rebuild() { HDF5_DRIVER_CONFIG=readonly_rebuild=no "$@"; }
begin; rm data_2.h5; tree . >"$dir/before"
check 'missing, opened read-only with readonly_rebuild=no' all no_rebuild fails open-read data_2.h5 , diff "$dir/before" <(tree .)
check 'opened for writing with the same' all no_rebuild opens open-write data_2.h5 , whole
begin; rm data_2.h5; tree . >"$dir/before"
no_rebuild_ranks() { HDF5_DRIVER_CONFIG='readonly_rebuild=no timeout=20' timeout 60 "$mpiexec" -n 4 "$bin/ranks" "$1" "$dir/now" 20000 1; }
refused_by_ranks() { local status=0; no_rebuild_ranks read || status=$?; [ "$status" = 3 ]; }
check 'the same by all ranks' all refused_by_ranks , diff "$dir/before" <(tree .)
check 'opened for writing by all ranks' all no_rebuild_ranks readwrite , untouched_content
begin; rm data_2.h5.2.xor*; tree . >"$dir/before"
check 'redundancy lost, opened by all ranks with readonly_rebuild=no' all no_rebuild_ranks read , diff "$dir/before" <(tree .)
begin; rm data_2.h5 data_1.h5*; tree . >"$dir/before"
check 'too much is lost' all fails open-read data_2.h5 , diff "$dir/before" <(tree .)
begin; rm data_2.h5*; mkdir elsewhere; mv data_[013]* elsewhere
check 'nothing within reach' all fails open-read data_2.h5 , not test -e data_2.h5
check 'but with search=' all env "HDF5_DRIVER_CONFIG=search=$PWD/elsewhere" "$bin/driver" open-read data_2.h5 , whole

# a program died while it changed the file, and the redundancy file is lost, which says what it was (P2)
partially_written() {
    local at
    for at in 5 6 7 8 9 10 4; do
        begin
        LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_AT=$at "$bin/driver" change data_2.h5 2>"$dir/stderr" && return 1
        [ -z "$(find . -name 'data_2.h5.redset.*.undo')" ] || whole || break
    done
    rm data_2.h5.2.xor*.void && cp data_2.h5 "$dir/half" && not whole
}
check 'partially written, without redundancy file: rebuilt by what is within reach' all partially_written , opens open-read data_2.h5 , whole
alone_with_it() { mkdir elsewhere && mv data_[013]* elsewhere; }
check 'nothing within reach' all partially_written , alone_with_it , fails open-read data_2.h5 , grep -q 'remove its undo journal' "$dir/out" , cmp data_2.h5 "$dir/half"
check 'but without that journal' all rm data_2.h5.redset.*.undo , opens open-read data_2.h5 , cmp data_2.h5 "$dir/half"

# a program died over a change, another one made it again: nobody else has changed anything, so it is kept
made_again() {
    partially_written_by 6 && "$bin/driver" change data_2.h5 && cp data_2.h5 "$dir/copy" && by_ranks verify=open &&
        cmp "$dir/copy" data_2.h5 && opens open-read data_2.h5 && cmp "$dir/copy" data_2.h5
}
partially_written_by() {
    begin
    ! LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_AT=$1 "$bin/driver" change data_2.h5 2>"$dir/stderr"
}
check 'changed once more by a tool after it had died over that: stays' made_again

finish
