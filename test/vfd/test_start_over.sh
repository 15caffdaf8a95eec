#!/usr/bin/env bash
# A program whose open was refused starts from zero and creates over its files: what was refused is not lost. It is put aside, and can be
# had again when what was lost of it is back. starts.c and ranks.c are the programs; `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset

# job PROGRAM SETTINGS ACTION SEED: on 4 ranks
job() {
    HDF5_DRIVER_CONFIG="timeout=20 $2" timeout -s KILL 180 "$mpiexec" -n 4 "$bin/$1" "$3" "$d" 20000 "$4"
}
ranks() { job ranks "$@"; }
starts() { job starts "$@"; }
refused() { local status=0; "$@" || status=$?; [ "$status" = 3 ]; }
said() { grep -q -- "$1" "$log" || { echo "not said: $1"; return 1; }; }
# new SETTINGS: one commit, of seed 1, and a copy of it
new() { rm -rf "$d" "$work/kept" && mkdir -p "$d" && ranks "$1" write 1 && cp -a "$d" "$work/kept"; }
lose() { local r; for r in "$@"; do rm "$d/data_$r".h5*; done; }
# aside N: so many ranks have put the first generation aside
aside() { [ "$(find "$d" -name 'data_?.h5.redset.*.lost' | wc -l)" = "$1" ] || { ls "$d"; return 1; }; }
as_it_was() { local r; for r in "$@"; do cmp "$d/data_$r.h5.redset."*.lost "$work/kept/data_$r.h5" || return; done; }
# back RANK...: the directory of the node is back as it was
back() { local r; for r in "$@"; do rm -f "$d/data_$r".h5* && cp -a "$work/kept/data_$r".h5* "$d"; done; }
restore() { "$tool" restore --generation=1 "$d"; }

# each SCHEME LEFT BACK: the other ranks than LEFT are lost, and those of BACK come back
each() {
    local s="required=yes scheme=$1" left back r lost=()
    read -ra left <<<"$2"
    read -ra back <<<"$3"
    for r in 0 1 2 3; do [[ " $2 " == *" $r "* ]] || lost+=("$r"); done
    echo "$1:"
    check 'refused, and created over: put aside by each rank that has it, and it is said' all new "$s" , lose "${lost[@]}" , \
        starts "$s" over 2 , said 'started from zero' , said 'was put aside' , aside "${#left[@]}" , as_it_was "${left[@]}" , ranks "$s" read 2
    check 'what was lost is back: it can be restored' all back "${back[@]}" , restore , ranks "$s" read 1 , aside 0
}
each XOR '0 3' 1
each PARTNER '0 3' 1
each 'RS checksums=2' 0 2
each SINGLE '0 2 3' 1

s='required=yes scheme=XOR'
echo 'XOR:'
check 'it goes with the second commit' all new "$s" , lose 1 2 , starts "$s" over 2 , aside 2 , ranks "$s" update 2:3 , aside 0 , ranks "$s" read 2:3
check 'not with one that does not come to be' all new "$s" , lose 1 2 , starts "$s" over 2 , cp -a "$d" "$work/then" , \
    not env LD_PRELOAD="$bin/libpreload_die.so" DIE_RANK=1 DIE_AT=3 DIED="$work/died" HDF5_DRIVER_CONFIG="timeout=20 $s" timeout -s KILL 180 "$mpiexec" -n 4 "$bin/ranks" write "$d" 20000 3 , \
    aside 2 , ranks "$s" take_up 2 , as_it_was 0 3
nothing() { [ -z "$(ls "$d")" ] || { ls "$d"; return 1; }; }
check 'with the files that were deleted: h5redset gc' all new "$s" , lose 1 2 , starts "$s" over 2 , aside 2 , eval "rm $d/data_?.h5" , \
    "$tool" gc "$d" , nothing
check 'and with h5redset rm' all new "$s" , lose 1 2 , starts "$s" over 2 , aside 2 , "$tool" rm "$d" , nothing
check 'in another job than the one that was refused' all new "$s" , lose 1 2 , refused ranks "$s" readwrite 1 , ranks "$s" write 2 , aside 2 , as_it_was 0 3
check 'without an open before' all new "$s" , lose 1 2 , ranks "$s" write 2 , aside 2 , as_it_was 0 3
check 'nothing was lost: nothing is put aside' all new "$s" , ranks "$s" write 2 , aside 0
damage() { flip "$d/data_1.h5" 9000 && flip "$d/data_2.h5" 9000; }
check 'damaged on two ranks: put aside by all' all new "$s" , damage , starts "$s" over 2 , aside 4 , as_it_was 0 3
check 'the same, in another job' all new "$s" , damage , refused ranks "$s" readwrite 1 , ranks "$s" write 2 , aside 4
check 'not required' all new 'scheme=XOR' , lose 1 2 , starts 'required=no scheme=XOR' over 2 , aside 2 , said 'was put aside'
check 'changed in place, atomic=no: it is not written over' all new "$s" , lose 1 2 , starts "$s atomic=no" over 2 , aside 2 , as_it_was 0 3 , back 1 , restore , ranks "$s" read 1
check 'deleted: put aside as well' all new "$s" , lose 1 2 , starts "$s" delete 2 , aside 2 , as_it_was 0 3 , ranks "$s" read 2 , back 1 2 , restore , ranks "$s" read 1
check 'deleted by a process alone: what protected it is put aside' all new "$s" , lose 1 2 , refused ranks "$s" readwrite 1 , \
    env HDF5_DRIVER_CONFIG='scheme=XOR' "$bin/driver" delete "$d/data_0.h5" , aside 1
check 'created only where nothing is (h5py, mode a): what is there stays as it is' all new "$s" , lose 1 2 , not starts "$s" append 2 , \
    cmp "$d/data_0.h5" "$work/kept/data_0.h5" , back 1 , back 2 , ranks "$s" read 1
check 'by one rank only: the others have lost nothing' all new "$s" , lose 1 2 , not starts "timeout=5 $s" one 2 , back 1 2 , ranks 'scheme=XOR' take_up 1
check 'and refused again' all new "$s" , lose 1 2 , starts "$s" over 2 , lose 0 3 , starts "$s" over 3 , ranks "$s" read 3 , \
    eval "[ \$(find '$d' -name '*.lost' | wc -l) = 2 ]"
check 'dropped' all new "$s" , lose 1 2 , starts "$s" over 2 , "$tool" drop --generation=1 "$d" , aside 0 , ranks "$s" read 2
check 'listed' all new "$s" , lose 1 2 , starts "$s" over 2 , "$tool" list "$d" , said 'put aside'

echo 'and what is kept (keep=):'
k='required=yes scheme=XOR keep=2'
check 'the newest could not be had: the one before it stays, and counts' all new "$k" , ranks "$k" write 2 , damage , refused ranks "$k" readwrite 2 , \
    ranks "$k generation=-1" read 1 , ranks "$k" write 3 , aside 4 , ranks "$k generation=1" read 1
k='required=yes scheme=XOR keep=3'
damage_kept() { local r; for r in 1 2; do flip "$(find "$d" -name "data_$r.h5.redset.*.data" | sort | tail -n 1)" 9000 || return; done; }
check 'nor could one that is kept: it does not count, and a whole one stays' all new "$k" , ranks "$k" write 2 , ranks "$k" write 3 , damage_kept , \
    refused ranks "$k generation=-1" read 2 , eval "'$tool' list '$d' || true" , said 'refused$' , \
    ranks "$k" write 4 , ranks "$k generation=1" read 1 , ranks "$k generation=3" read 3
check 'and goes with the next commit' all ranks "$k" write 5 , eval "[ \$(find '$d' -name 'data_0.h5.redset.*.data' | wc -l) = 2 ]" , ranks "$k generation=3" read 3
finish
