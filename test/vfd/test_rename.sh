#!/usr/bin/env bash
# Files of 4 ranks, each in a directory of its own, that get other names together with what protects them: link_rename.c says
# what each case does, and checks what the calls return; here, what is on disk, and what is said. `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/nodes.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/nodes.sh"
program=$bin/link_rename

# job CASE NAME [NAME | SEED]: on 4 ranks; what rank r says is in $d.said.<r>
settings='' groups=
job() {
    local in=()
    [ -z "$groups" ] || in=("$REDSET_SOURCE_DIR/test/vfd/grouped.sh" "$groups" "timeout=60 $settings")
    HDF5_DRIVER_CONFIG="timeout=60 $settings" heard "$mpiexec" -np 4 "${in[@]}" "$program" "$1" "$d" "${@:2}"
}
unchanged() { diff -r "$work/kept" "$d"; }
# none NAME: nothing of these files is there
none() { ! find "$d" -name "$1.*" | grep .; }
one_name() { ! find "$d" -name '*.h5' -links +1 | grep .; }
healthy() { "$tool" status "$d" | grep -x '1 checkpoint: 1 healthy'; }

check 'renamed' all job write tmp 1 , keep , job rename tmp final
check 'nothing is left of the old name, and no second one' all none tmp , one_name
check 'the tool sees one healthy checkpoint of the new name' all healthy , eval "$tool status $d | grep -q final.2.h5"
check 'it has the new name, and the content' all job read final 1 , says 0 . , job gone tmp
check 'it is protected: a node is lost' all lose 2 , job read final 1 , says 1 'final.2.h5.*was rebuilt' , healthy
check 'over files of that name that are protected' all job write tmp 5 , job rename tmp final , none tmp , job read final 5 , healthy
check 'again, and a node is lost before' all job write tmp 6 , lose 1 , job rename tmp final , none tmp , job read final 6 , healthy
restore
# interrupted OLD NEW: as a rename leaves it that was killed, before it had removed what protects the old name, or after
interrupted() {
    job rename "$1" "$2"
    for r in 0 1 2 3; do ln "$d/node$r/$2.$r.h5" "$d/node$r/$1.$r.h5"; done
    [ $# -lt 3 ] || for r in 0 1 2 3; do cp -p "$work/kept/node$r/$1.$r".*redset* "$d/node$r"; done
}
check 'one was interrupted, and the old name is created over' all interrupted tmp final , job write tmp 3 , \
    job read tmp 3 , job read final 1 , one_name
restore
check 'the same, with what protected the old name' all interrupted tmp final before , job write tmp 3 , \
    job read tmp 3 , job read final 1 , one_name
restore
# what another program has made of the file of rank 2 is put aside first, and goes along
lies_aside() { [ "$(find "$d/node2" -name "$1.2.h5.redset.*.changed" | wc -l)" = "$2" ] && grep -qa 'somebody has added' "$d"/node2/*.changed; }
changed() { echo 'a line that somebody has added' >>"$d/node2/tmp.2.h5"; }
check 'one was changed by another program' all changed , job rename tmp final , none tmp , lies_aside final 1 , job read final 1 , healthy
check 'and another one, over that' all job write tmp 5 , changed , job rename tmp final , none tmp , lies_aside final 2 , job read final 5 , healthy
restore
settings='scheme=RS checksums=2'
check 'it stays protected as it was, whatever is configured' all job rename tmp final , eval "[ \$(ls $d/node*/*.xor*redset | wc -l) = 4 ]"
rm -r "$d" && mkdir "$d"
check 'RS, two nodes are lost' all job write tmp 2 , job rename tmp final , lose 0 3 , job read final 2
settings=
restore
check 'a file that has no protection is none of ours: refused' all rm "$d"/node*/tmp.*redset* , \
    job refused tmp final , says 4 'no rank has a redundancy file left'
restore
check 'no such directory on a rank: refused on all, and nothing changed' all job refused tmp nowhere/final , unchanged , \
    says 4 'no such directory.*(rank'
check 'its own name' all job refused tmp tmp , unchanged , says 4 'to its own name'
check 'more is lost than the scheme covers' all lose 1 2 , job refused tmp final , says 4 unrecoverable , none final
restore

groups=aaab settings=required=no
protected() { [ "$(find "$d" -name "$1.*.xor.grp_*.redset" | wc -l)" = 2 ] && [ "$(find "$d" -name "$1.*.single.*.redset" | wc -l)" = 2 ]; }
rm -r "$d" && mkdir "$d"
check 'two ranks that no set has room for' all job write tmp 1 , protected tmp
check 'are renamed with the others, and stay what they were' all job rename tmp final , none tmp , one_name , protected final , job read final 1
check 'as those stay protected: a node is lost' all lose 3 , job read final 1 , says 1 'final.3.h5.*was rebuilt'
groups=abcd
rm -r "$d" && mkdir "$d"
check 'four that are protected' all job write tmp 1 , eval "[ \$(find $d -name '*.xor.*.redset' | wc -l) = 4 ]" , keep
groups=aaab
check 'and would not be: refused, and nothing changed' all job refused tmp final , says 4 'no set would have room' , unchanged
groups='' settings=
restore

check 'files of ranks with a communicator of their own' all rm -r "$d" , mkdir "$d" , job own tmp final , none tmp , one_name , \
    eval "$tool status $d | grep -x '2 checkpoints: 2 healthy'"
restore

# by_hand OLD NEW: the data files alone, as programs do; `some RANK...`: those of these ranks
by_hand() { some "$1" "$2" 0 1 2 3; }
some() { local r; for r in "${@:3}"; do mv "$d/node$r/$1.$r.h5" "$d/node$r/$2.$r.h5" || return 1; done; }
copied() { local r; for r in 0 1 2 3; do cp -a "$d/node$r/$1.$r.h5" "$d/node$r/$2.$r.h5"; done; }
# on_nodes COMMAND PATH: h5redset with 2 processes
on_nodes() { OMPI_MCA_rmaps_base_oversubscribe=1 timeout -s KILL 180 "$mpiexec" -np 2 "$tool" "$@" || true; }
in_place() { find "$d" -type f ! -name '*.names' | sort | xargs md5sum; }

check 'renamed by mv: recognised, and protected under the new name' all by_hand tmp final , job read final 1 , \
    says 1 'final.0.h5: had another name when it was protected' , none tmp , healthy
restore
check 'h5redset, with one process on each node, recognises them as well' all by_hand tmp final , lose 3 , \
    eval "on_nodes status $d | grep 'final.1.h5 *renamed: was protected as tmp.1.h5'" , eval "on_nodes rebuild $d | grep 'final.3.h5: rebuilt'" , \
    none tmp , healthy , job read final 1 , says 0 .
restore
check 'renamed, and read' all by_hand tmp final , job read final 1
check 'nothing is said the second time' all job read final 1 , says 0 .
check 'it is protected: a node is lost' all lose 3 , job read final 1 , says 1 'final.3.h5.*was rebuilt'
restore
check 'opened for writing' all by_hand tmp final , job change final 1 , none tmp , healthy
for lost in 0 1 2 3; do
    restore
    check "a node is lost before that: $lost" all by_hand tmp final , lose $lost , job read final 1 , \
        says 1 "final.$lost.h5.*was rebuilt" , none tmp , healthy
done
restore
check 'only the file of a rank is lost' all by_hand tmp final , rm "$d/node1/final.1.h5" , job read final 1 , says 1 'final.1.h5.*was rebuilt'
restore
check 'more than the scheme covers: refused, and nothing changed' all by_hand tmp final , lose 1 2 , eval 'in_place >$work/before' , \
    job gone final , eval 'in_place | cmp $work/before' , says 4 unrecoverable
restore
check 'one process opens such a file, and says what name it had' all by_hand tmp final , eval 'in_place >$work/before' , \
    eval "HDF5_DRIVER=redset $bin/driver open-read $d/node2/final.2.h5 2>&1 | grep 'under the name tmp.2.h5'" , \
    eval 'in_place | cmp $work/before'
restore
check 'over files that are protected' all job write final 3 , by_hand tmp final , job read final 1 , none tmp , healthy
restore
check 'and a node is lost' all job write final 3 , job write final 4 , by_hand tmp final , lose 2 , job read final 1 , healthy
restore
check 'over those of some ranks only: refused, never a mixture' all job write final 3 , some tmp final 0 2 , \
    eval 'in_place >$work/before' , job gone final , eval 'in_place | cmp $work/before' , says 4 'was given its name by other means'
check 'the rest as well' all some tmp final 1 3 , job read final 1 , healthy
restore
check 'a copy is none: both are there as before' all copied tmp final , job read tmp 1 , says 0 . , \
    eval "[ \$(find $d -name 'tmp.*xor*redset' | wc -l) = 4 ]"
restore
settings='readonly_rebuild=no'
check 'readonly_rebuild=no: opened, and nothing written' all by_hand tmp final , eval 'in_place >$work/before' , \
    job read final 1 , eval 'in_place | cmp $work/before' , says 1 'stays under the old names'
settings=
restore
check 'renamed by mv together with what protects it, and a node is lost' all \
    eval 'for f in $d/node*/tmp.*; do mv $f ${f%/*}/final.${f##*/tmp.}; done' , lose 1 , job read final 1 , says 1 'final.1.h5.*was rebuilt'
restore

check 'h5redset mv, with one process on each node' all env OMPI_MCA_rmaps_base_oversubscribe=1 timeout -s KILL 180 "$mpiexec" -np 2 "$tool" mv \
    "$d/node%r/tmp.%r.h5" "$d/node%r/final.%r.h5" , none tmp , one_name , healthy , job read final 1 , says 0 .
restore

# killed AT: rank 1 dies in the middle of a rename, before its change number AT of the names or bytes of its files
killed() {
    rm -f "$work/died"
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=1 DIE_AT=$1 DIED=$work/died \
        job rename data_tmp data_final
    [ -e "$work/died" ]
}
# either: all ranks open all files under one of the names; under the other they do as well, or open none
either() {
    local opened=0
    if job read data_final 1; then opened=1; elif ! job gone data_final; then return 1; fi
    if job read data_tmp 1; then opened=1; elif ! job gone data_tmp; then return 1; fi
    [ "$opened" = 1 ]
}
rm -rf "$d" && mkdir "$d"
check 'before a rename that is cut short' all job write data_tmp 1 , keep
at=1
while restore && killed "$at" >"$log" 2>&1; do
    check "a rank dies in it, before change $at" either
    at=$((at + ${REDSET_RENAME_STEP:-4}))
done
check 'it dies in no later one' all [ "$at" -gt 12 ] , one_name , job read data_final 1

finish
