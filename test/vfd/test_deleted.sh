#!/usr/bin/env bash
# A program that deletes its older checkpoints itself: they are missing, as any file that was deleted, and what protects them goes with
# the next commit, but not as long as one rank has its file (encode/deleted/README.md, DL1 to DL3). deletes.c is the program.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset

# job SETTINGS ARGUMENT...
job() {
    mkdir -p "$d"
    HDF5_DRIVER_CONFIG="required=yes timeout=60 $1" timeout -s KILL 180 "$mpiexec" -n 4 "$bin/deletes" "$d" "${@:2}"
}
refused() { local status=0; "$@" >"$work/said" 2>&1 || status=$?; cat "$work/said"; [ "$status" = 3 ]; }
# steps: of which there is anything, and how many files
steps() { (cd "$d" && find . -name 'ckpt_*' | sed -E 's/.*ckpt_([0-9]+)_.*/\1/' | sort -n | uniq -c | awk '{ printf "%s:%s ", $2, $1 }'); }
are() { [ "$(steps)" = "$1 " ] || { echo "there are $(steps), not $1"; return 1; }; }
tree() { (cd "$d" && find . -type f -exec sha256sum {} + | sort -k 2); }

for scheme in SINGLE PARTNER XOR RS; do
    rm -rf "$d"
    check "$scheme: after three steps" job scheme=$scheme 0 3 2
    files=$(steps)
    check "$scheme: after twelve more there is no more" all job scheme=$scheme 3 12 2 , \
        are "$(sed -E 's/(^| )1:/\113:/; s/ 2:/ 14:/; s/(^| )0:/\112:/; s/ $//' <<<"$files")"
    check "$scheme: all of a step deleted: missing, for ranks and for one process" all rm "$d"/ckpt_14_?.h5 , eval 'tree >"$work/before"' , \
        refused job scheme=$scheme read 14 , grep 'ckpt_14_.*No such file' "$work/said" , eval 'tree | diff "$work/before" -' , \
        eval '"$bin/driver" open-read "$d/ckpt_14_2.h5" | grep "open-read: FAILED"' , eval 'tree | diff "$work/before" -'
done

rm -rf "$d"
check 'one rank keeps its files: what protects them stays' all job '' 0 6 1 2 , eval '[ "$(find "$d" -name "ckpt_?_1.h5.*.grp*" | wc -l)" = 6 ]'
keep
check 'and the others have lost theirs, if that can be had' all job '' 9 1 9 , rm "$d"/ckpt_9_0.h5 , job '' read 9
restore
check 'until it has deleted them, too' all rm "$d"/ckpt_[0-4]_2.h5 , job '' 6 2 9 , are '5:16 6:16 7:16'
rm -rf "$d"
check 'with async=yes and keep=2' all job 'async=yes keep=2' 0 8 2 , job '' read 7 , eval '[ -z "$(find "$d" -name "ckpt_[0-4]_*")" ]'

rm -rf "$d"
check 'three runs ago, and by hand' all job '' 0 4 9 , eval 'rm "$d"/ckpt_[02]_?.h5' , job '' read 3 , keep , job '' 7 2 9 , are '1:16 3:16 7:16 8:16'
restore
check 'not what was renamed' all eval 'for r in 0 1 2 3; do mv "$d/ckpt_1_$r.h5" "$d/final_$r.h5"; done' , job '' 7 2 9 , \
    eval '[ "$(find "$d" -name "ckpt_1_*.grp*" | wc -l)" = 4 ]'
restore
check 'not where another number of ranks runs' all eval 'HDF5_DRIVER_CONFIG="timeout=60" "$mpiexec" -n 2 "$bin/deletes" "$d" 7 2 9' , \
    eval '[ "$(find "$d" -name "ckpt_0_*.grp*" | wc -l)" = 4 ]'

finish
