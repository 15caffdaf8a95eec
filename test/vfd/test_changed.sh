#!/usr/bin/env bash
# Files that another program has changed since they were protected: with the programs that users have for that. What redundancy covers comes
# back, and what was changed lies beside it; what it does not cover is refused on all ranks, and changed=keep opens and protects it. Every
# check begins with the files as four ranks left them.
set -euo pipefail

# shellcheck source=test/vfd/actors.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/actors.sh"
dir=$work size=2000

by_ranks() { # MODE CONFIG
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="scheme=XOR timeout=20 $2" timeout 60 "$mpiexec" -n 4 \
        "$bin/ranks" "$1" "$dir/now" 20000 1 >"$dir/out" 2>&1 || { cat "$dir/out"; return 1; }
}
mkdir "$dir/now"
by_ranks write required=yes
mv "$dir/now" "$dir/made"

begin() {
    rm -rf "$dir/now"
    cp -a "$dir/made" "$dir/now"
    cd "$dir/now"
}
all_files() { local r; for r in 0 1 2 3; do "$@" "data_$r.h5"; done; }
says() { grep -q -- "$1" "$dir/out" || { cat "$dir/out"; return 1; }; }
never_says() { not grep -q -- "$1" "$dir/out"; }
whole() { cmp "$dir/made/data_2.h5" data_2.h5; }
content() { diff -r -x '*.redset.names' "$dir/made" "$dir/now"; }
status() { "$tool" status "$@" "$dir/now" >"$dir/out" 2>&1 || [ $? = 1 ]; }
# what has been made of data_2.h5 comes to lie beside it, as it was
comes_back() {
    cp -p data_2.h5 "$dir/copy"
    not whole && by_ranks read '' && says 'data_2.h5: was .* by another program on .*rebuilt' && says 'changed=keep' &&
        whole && cmp "$dir/copy" data_2.h5.redset.*.changed &&
        [ "$(stat -c %Y "$dir/copy")" = "$(stat -c %Y data_2.h5.redset.*.changed)" ]
}

tree() { (cd "$1" && find . -type f ! -name '*.redset.names' -printf '%p %s %T@ ' -exec sha256sum {} \; | sort); }
the_same() { diff "$dir/before" <(tree .); }
rots() { printf 'somebody' | rot "$1" 4000; }
lies_aside() { compgen -G 'data_2.h5.redset.*.changed' >/dev/null; }
added() { grep -qa 'a line that somebody has added' data_2.h5; }
add_text() { echo 'a line that somebody has added' >>"$1"; }
write_over() { printf 'somebody' | dd of="$1" bs=1 seek=4000 conv=notrunc status=none; }
with_h5repack() { h5repack -f GZIP=1 data_2.h5 new && mv new data_2.h5; }
with_h5jam() { echo 'a user block' >"$dir/text" && h5jam -u "$dir/text" -i data_2.h5 -o new && mv new data_2.h5; }
with_tar() { (cd "$dir/made" && tar cf "$dir/tar" .) && rm data_*.h5 && tar xf "$dir/tar"; }

echo 'one file, which redundancy covers:'
begin; check 'h5repack, and mv over it' all with_h5repack , comes_back
begin; check 'h5jam, and mv over it' all with_h5jam , comes_back
begin; check 'cp of another file over it' all cp data_1.h5 data_2.h5 , comes_back
begin; check 'text appended' all add_text data_2.h5 , comes_back , says 'only made longer'
begin; check 'written in its place' all write_over data_2.h5 , comes_back
begin; check 'with its own time it is damage' all rots data_2.h5 , by_ranks read '' , never_says 'another program' , content
begin; check 'h5redset rebuild puts it aside as well' all write_over data_2.h5 , "$tool" rebuild "$dir/now" , whole , lies_aside

echo 'nothing has changed but times:'
begin; check 'touch' all all_files touch , by_ranks read '' , never_says 'another program' , content
begin; check 'tar x' all with_tar , by_ranks read '' , never_says 'another program'

echo 'all files, which it does not:'
begin; all_files write_over; tree . >"$dir/before"
check 'refused on all ranks, with the way out' all not by_ranks read '' , says '4 of 4 files' , says 'No node was lost' , says 'changed=keep' , \
    never_says "lost node's directory" , the_same
begin; all_files add_text
check 'changed=keep opens them as they are, and protects them' all by_ranks read changed=keep , added , \
    "$tool" status --verify "$dir/now" , by_ranks read '' , added

echo 'the run that has protected them:'
fresh() { cd "$dir" && rm -rf now && mkdir now; }
rewrites() { # RANKS STATUS CONFIG HOW [RANK...]
    local status=0
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="timeout=20 $3" timeout 60 "$mpiexec" -n "$1" \
        "$bin/rewrites" "$4" "$dir/now" 20000 5 "${@:5}" >"$dir/out" 2>&1 || status=$?
    [ "$status" = "$2" ] || { cat "$dir/out"; return 1; }
}
protected() { "$tool" status --verify "$dir/now"; }
for required in no yes; do
    for how in append block; do
        fresh; check "$how, on all ranks, required=$required: opened as it is" rewrites 4 0 "scheme=XOR required=$required" "$how"
        check 'with a line, and protected so' all says 'changed without this driver after this run had protected them' , \
            never_says 'another program' , protected
    done # HDF5 cuts off what was appended when it closes a file that it may change
    check 'what was written is there' grep -qa 'the run has written' "$dir/now/data_3.h5"
    fresh; check "on one of them: comes back, and nobody is accused" all rewrites 4 0 "scheme=XOR required=$required" append 1 , \
        says 'data_1.h5: was only made longer without this driver on .*rebuilt' , never_says 'another program' , protected
    fresh; check "on two of them: refused, with the way out" all rewrites 4 3 "scheme=XOR required=$required" block 1 2 , \
        says '2 of 4 files, .* changed without this driver on ' , says 'changed=keep' , never_says 'another program'
    fresh; check "one process" all rewrites 1 0 "scheme=SINGLE required=$required" block , never_says 'another program' , protected
done
fresh; check 'older ones of an older time: required=no opens them' rewrites 4 0 scheme=XOR older
fresh; check 'required=yes does not, since storage that has lost writes may look so' all rewrites 4 3 'scheme=XOR required=yes' older , \
    says '4 of 4 files, .* changed without this driver on ' , never_says 'another program'

echo 'a little that was changed and reverted before the close:'
export HDF5_DRIVER=redset
small() { timeout 60 "$mpiexec" -n 3 "$bin/ranks" "$1" "$dir/now" "$size" "$2" >"$dir/out" 2>&1 || { cat "$dir/out"; return 1; }; }
reverted() { # RANK...: on these; the others change theirs
    does A open 0 1 2 && does A 'write 2' 0 1 2 && does A flush 0 1 2 && does A 'write 1' "$@" && does A close 0 1 2
}
for settings in '' changed=keep async=yes; do
    export HDF5_DRIVER_CONFIG="scheme=XOR timeout=20 $settings"
    fresh; small write 1 && cd now && tree . >"$dir/before"
    job A 3 "$dir/now"
    check "${settings:-by default}: all is as it was, with its time" all reverted 0 1 2 , ends A , the_same
    flip data_1.h5 2500
    check 'a bit that flips then is damage' all small read 1 , never_says 'another program' , the_same
    job A 3 "$dir/now"
    check 'on some ranks: protected with what others have changed' all reverted 0 2 , ends A , "$tool" status --verify "$dir/now"
done
unset HDF5_DRIVER HDF5_DRIVER_CONFIG

echo 'h5redset:'
begin; touch data_1.h5
check 'status says which were written since, without reading them' all status , says 'data_1.h5 *healthy by its size; written on .*--verify' , \
    status --verify , says 'data_1.h5 *healthy, verified'
begin; write_over data_1.h5
check 'status --verify says which bytes' all status --verify , says 'data_1.h5 *was changed by another program on .*; it differs at '

finish
