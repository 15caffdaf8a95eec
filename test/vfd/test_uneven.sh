#!/usr/bin/env bash
# Five ranks, three of which are in one failure group (group=): XOR has two sets, and the last of the three is left over. Its
# file is opened as long as nothing of it is lost, what the others lose comes back, and it is not called protected.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
said=$work/said
mkdir "$d"

# job STATUS SETTINGS ARGUMENT...: ranks 0, 1, 2 in group a, 3 in b, 4 in c
job() {
    local want=$1 status=0 config="timeout=60 $2"
    shift 2
    HDF5_DRIVER=redset timeout -s KILL 180 "$mpiexec" -np 5 "$REDSET_SOURCE_DIR/test/vfd/grouped.sh" aaabc "$config" \
        "$bin/ranks" "$1" "$d" 20000 "$2" >"$said" 2>&1 || status=$?
    cat "$said"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
}
# says TIMES WORDS: so many lines say this
says() { [ "$(grep -c -- "$2" "$said")" = "$1" ] || { echo "not $1 times: $2"; cat "$said"; return 1; }; }
same() { diff -r -x '*.redset.names' "$work/kept" "$d"; }
lose() { local r; for r in "$@"; do rm "$d/data_$r.h5"*; done; }
# tool STATUS ARGUMENT...
tool() { local want=$1 status=0; "$tool" "${@:2}" >"$said" 2>&1 || status=$?; [ "$status" = "$want" ] || { cat "$said"; return 1; }; }

check 'required=yes: refused on all ranks' job 3 'required=yes' write 1
check 'it says which rank' says 1 '1 of 5 ranks is not protected.* and a has 3 of 5 ranks, not protected are 2; with at most 2 '
check 'nothing is protected' not eval "find $d -name '*.redset' | grep ."
rm -f "$d"/*
check 'without it four are protected' job 0 'report=stderr' write 1
check 'one warning' says 1 '^redset: .*1 of 5 ranks is not protected'
check 'the report does not call it protected' all says 1 '^  protected  *4 files' , says 1 '^  not protected  *1 file'
check 'two sets, and one rank alone' all eval "[ \$(find $d -name '*.xor.grp_*_of_3.*' | wc -l) = 4 ]" , \
    test -e "$d/data_2.h5.2.single.grp_3_of_3.mem_1_of_1.redset"
keep
check 'all are read, and nothing is said' all job 0 'required=yes' read 1 , says 0 redset:

check 'h5redset: which are protected, and why one is not' all tool 1 status "$d" , \
    says 1 'XOR, 4 ranks in 2 sets and 1 not protected, generation 1' , \
    says 1 'set 2: unprotected: its host (or group=) had more ranks than sets had room for' , \
    says 2 'set [01]: healthy$'
check 'the same in JSON' all tool 1 status --json "$d" , says 1 '"verdict": "unprotected"' , says 2 '"verdict": "healthy"'
check 'one of the others is not concerned' all tool 0 status "$d/data_0.h5" , says 0 'unprotected'

for r in 0 1 3 4; do check "rank $r is lost: rebuilt" all lose $r , job 0 '' read 1 , says 1 'was rebuilt' , same; done
check 'one of each set: rebuilt' all lose 0 4 , job 0 '' read 1 , says 2 'was rebuilt' , same
check 'by h5redset' all lose 1 3 , tool 0 rebuild "$d" , same
check 'by h5redset with MPI' all lose 0 , timeout -s KILL 180 "$mpiexec" -np 2 "$tool" rebuild "$d" , same

lose 2
rm -rf "$work/before" && cp -a "$d" "$work/before"
check 'the rank that was left over is lost: refused on all ranks' all job 3 '' read 1 , diff -r "$work/before" "$d"
# said by the driver, since the program mutes HDF5's printing, and by the program
check 'it is named, and why' says 2 'the file of rank 2 is lost .*that rank was not protected: its host'
check 'h5redset says so' all tool 2 status "$d" , says 1 'set 2: nothing of it is left: rank 2 (not protected: its host (or group=) had more ranks than sets had room for) unrecoverable' , \
    tool 2 rebuild "$d" , says 1 'set 2: nothing of it is left: rank 2' , diff -r "$work/before" "$d"
check 'in a map' all tool 2 map "$d" , says 1 'set 2 X'
lose 0
rm -rf "$work/before" && cp -a "$d" "$work/before"
check 'with one that could be rebuilt: none is' all job 3 '' read 1 , diff -r "$work/before" "$d"
restore
flip "$d/data_2.h5" 9000
rm -rf "$work/before" && cp -a "$d" "$work/before"
check 'it is damaged: refused' all job 3 '' read 1 , diff -r "$work/before" "$d" , says 2 'of the file of rank 2; .*not protected'
check 'h5redset says so' all tool 2 status --verify "$d" , says 1 'set 2: unrecoverable: .*; not protected: its host'
restore

check 'changed in place, and closed' job 0 '' update 1:2
check 'one lost of each set' all lose 0 4 , job 0 '' read 1:2
check 'written anew' all job 0 '' write 3 , keep , lose 1 , job 0 '' read 3 , same
scavenged() { "$tool" scavenge --to "$work/safe" "$d" && for r in 0 1 2 3 4; do cmp "$d/data_$r.h5" "$work/safe/data_$r.h5" || return 1; done; }
check 'brought to a safe directory' scavenged
finish
