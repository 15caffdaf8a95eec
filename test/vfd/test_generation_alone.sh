#!/usr/bin/env bash
# One process without MPI opens older generations (generation=, keep=N) of the file of one of 4 ranks, each in a directory of its own,
# as h5dump does: what it has lost of them comes back from the others' directories, and it is never another generation that is
# opened. link_generations.c writes the files; `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
h5dump=${REDSET_HDF5_TOOLDIR:+$REDSET_HDF5_TOOLDIR/}h5dump
case ${REDSET_HDF5_PARALLEL:-}$(command -v "$h5dump") in
    TRUE* | ON* | '' | OFF | FALSE) echo 'SKIP: there is no h5dump that is linked with this HDF5'; exit 77 ;;
esac
file=$d/node1/data.1.h5
all=$d/node0:$d/node2:$d/node3

# job CASE [ARG...]: on 4 ranks
settings=
job() { HDF5_DRIVER_CONFIG="timeout=60 required=yes keep=3 $settings" timeout -s KILL 180 "$mpiexec" -np 4 "$bin/link_generations" "$1" "$d" "${@:2}"; }
# dump SETTINGS: what one process sees in the file of rank 1
dump() { timeout -s KILL 180 "$h5dump" --vfd-name redset --vfd-info "$1" "$file" >"$work/dump" 2>"$work/err" || { cat "$work/err"; return 1; }; }
# shows SEED SETTINGS: that is what it was when that was written
shows() { dump "$2" && tail -n +2 "$work/dump" | cmp - "$work/content.$1"; }
refused() {
    not dump "$1" || { echo "shown with $1"; return 1; }
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=$1 timeout -s KILL 180 "$bin/driver" open-read "$file" >"$work/err" 2>&1 || true
}
said() { tr -s '\n ' ' ' <"$work/err" | grep -q -- "$1" || { echo "not said: $1"; return 1; }; }
unchanged() { diff -r -x '*.redset.names' "$work/kept" "$d"; }
as_before() { cmp "$1" "$work/kept/${1#"$d/"}"; }
# older BACK [RANK]: the data file of that generation
older() { find "$d/node${2:-1}" -name 'data.?.h5.redset.*.data' | sort | tail -n "$1" | head -n 1; }
# write SETTINGS SEED...
write() {
    rm -rf "$d" && mkdir "$d"
    settings=$1
    for seed in "${@:2}"; do
        job write "$seed" "seed $seed" && dump '' && tail -n +2 "$work/dump" >"$work/content.$seed" || return
    done
}

echo 'each file whole:'
check 'three of four are kept' all write '' 1 2 3 4 , keep
one=$(older 1) two=$(older 2)
check 'the newest, and each older one' all shows 4 '' , shows 3 generation=-1 , shows 2 generation=-2 , shows 3 'generation="label:seed 3"' , \
    shows 2 generation=2 , unchanged
check 'its data file is lost: rebuilt, as it was' all rm "$one" , shows 3 generation=-1 , as_before "$one" , shows 4 '' , shows 2 generation=-2
restore
check 'and there is no room for a mistake: by number, by label' all rm "$one" , shows 3 generation=3 , rm "$one" , shows 3 'generation="label:seed 3"' , \
    rm "$one" , shows 2 generation=-2 , not test -e "$one"
restore
check 'data and redundancy are lost: the others are found by what is left' all rm "$one"* , shows 3 generation=-1 , as_before "$one"
restore
check 'the oldest is lost' all rm "$two"* , shows 2 generation=-2 , as_before "$two" , rm "$two"* , shows 2 generation=2
restore
check 'the newest is lost: the one before it is meant still' all find "$d/node1" -name 'data.1.h5*' ! -name '*.data*' -delete , shows 3 generation=-1 , \
    shows 2 generation=-2 , not test -e "$file"
restore
check 'all is lost: found where search= says' all rm "$d"/node1/* , shows 3 "generation=-1 search=$all" , as_before "$one" , not test -e "$file"
restore
check 'the same by number and by label' all rm "$d"/node1/* , shows 2 "generation=2 search=$all" , shows 3 "generation=\"label:seed 3\" search=$all" , \
    not test -e "$file" , shows 4 "search=$all"
restore
check 'one that there is not: refused, and those that there are are named' all rm "$d"/node1/* , refused "generation=-3 search=$all" , \
    said 'there are, newest first: 4, 3, 2;' , refused "generation=label:x search=$all" , said '4 "seed 4", 3 "seed 3", 2 "seed 2"' , not ls "$d"/node1/*
restore
check 'nothing may be written: refused' all rm "$one" , refused 'generation=-1 readonly_rebuild=no' , not test -e "$one"
restore
check 'two have lost it: refused, with what is out of reach' all rm "$one" "$(older 1 2)"* , refused generation=-1 , said 'out of reach' , not test -e "$one"
restore
check 'fallback=yes: the newest that can be had' all rm "$one" "$file" "$d/node2/data.2.h5" , shows 3 fallback=yes , as_before "$one"
restore
restore
check 'damaged, and another has its data only: that is used' all flip "$one" 70000 , rm "$(older 1 2)".* , shows 3 generation=-1 , as_before "$one"

echo 'more than one lost (RS):'
check 'three of four are kept' all write 'scheme=RS checksums=2' 1 2 3 4 , keep
one=$(older 1)
check 'lost, and so is another node' all rm "$one" , rm -r "$d/node3" , shows 3 "generation=-1 search=$all" , as_before "$one"
restore
check 'lost, with all that records it in two directories: the third says what it was' all rm "$one"* , rm "$(older 1 2)"* , shows 3 generation=-1 , as_before "$one"

echo 'what leads back:'
in_place() { write '' 1 && job change 2 && dump '' && tail -n +2 "$work/dump" >"$work/content.2" && job change 3; }
back() { find "$d/node${2:-1}" -name 'data.?.h5.redset.*.undo' | sort | tail -n "$1" | head -n 1; }
check 'three, changed in place' all in_place , keep
check 'both can be read' all shows 2 generation=-1 , shows 1 generation=-2
restore
one=$(back 1) two=$(back 2)
check 'it is lost: rebuilt from the others, which are made whole for that' all rm "$one" , shows 2 generation=-1
restore
check 'so is the oldest' all rm "$two" , shows 1 generation=-2
restore
check 'the newest is lost, which they rest on' all rm "$file" , shows 1 generation=-2 , shows 2 generation=-1
restore
check 'all is lost: found where search= says' all rm "$d"/node1/* , shows 1 "generation=-2 search=$all" , not test -e "$file"

finish
