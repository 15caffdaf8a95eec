#!/usr/bin/env bash
# What users do to protected files between runs, with the programs that they have for it. Each time the files open right, as they were
# protected or as the user has made them, or are refused with a true message; and what the user wrote is somewhere. One file that was
# changed, and where that lies: vfd.changed.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
unset NAME_END
dir=$work

job() { # CONFIG PROGRAM ARGUMENT...: what it says is in $dir/out
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="scheme=XOR timeout=20 $1" timeout 120 "$mpiexec" -n 4 "${@:2}" >"$dir/out" 2>&1 ||
        { cat "$dir/out"; return 1; }
}
by_ranks() { job "$2" "$bin/ranks" "$1" "$dir/now" 20000 "${@:3}"; } # MODE CONFIG SEED
says() { grep -q -- "$1" "$dir/out" || { cat "$dir/out"; echo "not said: $1"; return 1; }; }
never_says() { not grep -q -- "$1" "$dir/out"; }
quiet() { cat "$dir/out"; not grep -v 'ranks are on one host' "$dir/out"; }
verified() { "$tool" status --verify "$dir/now"; }

# In $dir/first is what the first run has left, in $dir/second the next one, which has created the files anew. $dir/backup has the data of the
# first, of the day before.
mkdir "$dir/now"
by_ranks write required=yes 1 && cp -a "$dir/now" "$dir/first"
by_ranks write required=yes 2 && cp -a "$dir/now" "$dir/second"
mkdir "$dir/backup" && cp "$dir"/first/data_?.h5 "$dir/backup" && touch -d yesterday "$dir"/backup/*
begin() {
    rm -rf "$dir/now" "$dir/users"
    cp -a "$dir/second" "$dir/now"
    mkdir "$dir/users"
    cd "$dir/now"
}
on_each() { local r; for r in 0 1 2 3; do "$@" "$r" || return; done; }
on_two() { "$@" 2; }

# What users do to the file of a rank.
repacked() { h5repack -f GZIP=1 "data_$1.h5" new && mv new "data_$1.h5"; }
with_block() { echo 'a user block' >text && h5jam -u text -i "data_$1.h5" -o new && mv new "data_$1.h5" && rm text; }
marks_cleared() { h5clear -s "data_$1.h5"; }
end_moved() { h5clear --increment=4096 "data_$1.h5"; }
backup() { cp "$dir/backup/data_$1.h5" .; }
backup_p() { cp -p "$dir/backup/data_$1.h5" .; }
synced() { rsync -a "$dir/backup/data_$1.h5" .; }
extracted() { tar -C "$dir/backup" -cf "$dir/tar" "data_$1.h5" && tar xf "$dir/tar"; }
# What is there now of it, which is the user's.
remember() { on_each cp_to_users; }
cp_to_users() { cp "data_$1.h5" "$dir/users"; }
# Nothing of what the user wrote is gone: it has the file's name, or was put aside, or it is what was protected.
nothing_lost() {
    local r file
    for r in 0 1 2 3; do
        for file in "data_$r.h5" "data_$r.h5".redset.*.changed "$dir/second/data_$r.h5"; do
            ! cmp -s "$file" "$dir/users/data_$r.h5" || continue 2
        done
        echo "what the user wrote to data_$r.h5 is gone"
        return 1
    done
}

# one TEXT WHAT: done to one file, which redundancy covers: what was protected is read, and what the user has made lies beside it
one() {
    begin
    check "$1: one file" all on_two "$2" , remember , by_ranks read '' 2 , says 'data_2.h5: was .* by another program on' , nothing_lost , \
        by_ranks read '' 2 , quiet , verified
}
# every TEXT WHAT SEED: to all files: refused, and nothing changes; changed=keep reads what the user has made of them
every() {
    begin
    check "$1: all files" all on_each "$2" , remember , not by_ranks read '' 2 , says '4 of 4 files' , says 'No node was lost' , \
        says 'changed=keep' , never_says 'missing or damaged' , nothing_lost , by_ranks read changed=keep "$3" , \
        says 'with changed=keep opened as it is now, and protected so' , nothing_lost , by_ranks read '' "$3" , quiet , verified
}
tool() { command -v "$1" >/dev/null || { echo "  skipped $1: not installed"; return 1; }; }

echo 'files changed by tools:'
if tool h5repack; then one h5repack repacked; every h5repack repacked 2; fi
if tool h5jam; then one h5jam with_block; every h5jam with_block 2; fi
if tool h5clear; then
    begin; check 'h5clear -s: marks that are not set' all on_each marks_cleared , by_ranks read '' 2 , quiet , verified
    one 'h5clear --increment' end_moved; every 'h5clear --increment' end_moved 2
fi

lies_aside() { compgen -G "data_2.h5.redset.*.changed" >/dev/null; }
without_links() { LD_PRELOAD=$bin/libpreload_no_links.so${LD_PRELOAD:+:$LD_PRELOAD} "$@"; }
begin; check 'cp, where no file can have two names' all on_two backup , remember , without_links by_ranks read '' 2 , \
    says 'data_2.h5: was .* by another program on' , nothing_lost , lies_aside , by_ranks read '' 2 , quiet , verified

echo 'a backup, of the data alone:'
one cp backup; every cp backup 1
one 'cp -p' backup_p; every 'cp -p' backup_p 1
one 'tar x' extracted; every 'tar x' extracted 1
if tool rsync; then one 'rsync -a' synced; every 'rsync -a' synced 1; fi

echo 'the whole directory:'
back_by_cp() { rm -r "$dir/now" && cp -r "$dir/second" "$dir/now" && cd "$dir/now"; }
back_by_tar() { tar -C "$dir/second" -cf "$dir/tar" . && rm -r "$dir/now" && mkdir "$dir/now" && cd "$dir/now" && tar xf "$dir/tar"; }
back_by_rsync() { rsync -a --delete "$dir/first/" . && rsync -a --delete "$dir/second/" .; }
begin; check 'cp -r' all back_by_cp , by_ranks read '' 2 , quiet , by_ranks update '' 2:3 , quiet , verified
begin; check 'tar x' all back_by_tar , by_ranks read '' 2 , quiet , by_ranks update '' 2:3 , quiet , verified
if tool rsync; then begin; check 'rsync -a' all back_by_rsync , by_ranks read '' 2 , quiet , by_ranks update '' 2:3 , quiet , verified; fi
touched() { touch "data_$1.h5" "data_$1.h5".*; }
long_ago() { touch -d '1960-01-01' "data_$1.h5"; }
begin; check 'touch' all on_each touched , by_ranks read '' 2 , quiet , by_ranks update '' 2:3 , quiet , verified
begin; check 'touch with a time before 1970' all on_each long_ago , by_ranks read '' 2 , quiet , verified

echo 'names in turn:'
called() { NAME_END=$1 by_ranks "${@:2}"; }
turn() { mv "data_$1.h5" "data_$1.h5.old" && mv "data_$1.h5.new" "data_$1.h5"; }
by_shell() { # SEED: a run writes NAME.new, then a shell renames
    called .new write required=yes "$1" && on_each turn
}
lose_one() { rm data_1.h5*; }
current() { by_ranks read '' "$1" && by_ranks read '' "$1" && quiet; }
before() { called .old read '' "$1" && never_says 'lost\|damaged\|another program'; }
begin; check 'by a shell, twice' all by_shell 3 , current 3 , before 2 , by_shell 4 , current 4 , before 3
begin; check 'and a node is lost after it' all by_shell 3 , current 3 , lose_one , by_ranks read '' 3 , says 'data_1.h5: was lost, and was rebuilt'
by_program() { job required=yes "$bin/rotates" "$dir/now" 20000 "$@"; }
begin; check 'by the program, three times in one run' all by_program 3 4 5 , current 5 , before 4
begin; check 'and in the next run' all by_program 3 4 , by_program 5 , current 5 , before 4
unprotected() { # NAME.old is read, and a line says that nothing protects it; with required=yes it is refused, with the way out
    called .old read '' "$1" && says 'opened unverified' && not called .old read required=yes "$1" && says 'set required=no to open it unverified'
}
begin; check 'what was before is not protected any more, which is said' all by_shell 3 , unprotected 2 , current 3 , unprotected 2
with_h5redset() {
    called .new write required=yes "$1" && "$tool" mv "$dir/now/data_%r.h5" "$dir/now/data_%r.h5.old" &&
        "$tool" mv "$dir/now/data_%r.h5.new" "$dir/now/data_%r.h5"
}
lose_two() { rm data_2.h5*; }
protected() { by_ranks read required=yes "$1" && quiet && called .old read required=yes "$2" && quiet && verified; }
begin; check 'with h5redset mv both are' all with_h5redset 3 , protected 3 2 , with_h5redset 4 , protected 4 3 , lose_two , \
    by_ranks read required=yes 4 , called .old read required=yes 3

echo 'symbolic links:'
linked() { # each leads to a directory of its own
    rm -rf "$dir/now" "$dir/store" && mkdir "$dir/now" "$dir/store" && cd "$dir/now" && on_each link && by_ranks write required=yes 4
}
lose_target() { rm "$dir"/store/data_2.h5*; }
link() { ln -s "$dir/store/data_$1.h5" .; }
check 'their targets are lost' all linked , lose_target , by_ranks read '' 4 , says 'store/data_2.h5: was lost, and was rebuilt' , test -L data_2.h5
check 'a link is lost: refused, until it is made again' all linked , rm data_2.h5 , not by_ranks read '' 4 , says 'a symbolic link led to that file' , \
    on_two link , by_ranks read '' 4 , quiet
check 'a link is lost with its target' all linked , rm data_2.h5 , lose_target , not by_ranks read '' 4 , says 'a symbolic link led to that file' , \
    on_two link , by_ranks read '' 4 , says 'store/data_2.h5: was lost, and was rebuilt'

finish
