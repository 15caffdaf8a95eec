#!/usr/bin/env bash
# Files that HDF5 does not open, on 4 ranks with three files each in a directory of its own: link_plain.c says what each case
# does, and checks what the calls return; here, what is on disk, and what is said. `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/plain.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/plain.sh"

check 'never protected' all job write , job never , clean
check 'protected' all job protect , keep
check 'redundancy lies beside the first file of each rank' [ "$(ours | grep -c '/node[0-3]/restart.[0-3].bin.*xor.*redset$')" = 4 ]
check 'recovered, with nothing lost: nothing is said' all job recover , says 0 rebuilt
check 'all files of a rank are lost, with its directory' all lose 2 , job recover , same
check 'that rank says so' says 1 '^redset: .*/restart.2.bin and 2 more: were lost, and were rebuilt'
check 'the attributes came back' [ "$(stat -c %Y "$work/kept/node2/log.2.bin")" = "$(stat -c %Y "$d/node2/log.2.bin")" ]
check 'the empty file alone is lost' all rm "$d/node1/empty.1.bin" , job recover , same
check 'a bit flipped in the second file' all flip "$d/node3/log.3.bin" 5 , job recover , same
check 'a bit flipped in redundancy' all flip "$(echo "$d"/node0/*xor*redset)" 9000 , job recover , job recover , says 0 'rebuilt'
check 'h5redset sees them' eval "$tool status $d | tail -n 1 | grep -x '1 checkpoint: 1 healthy'"

check 'and each file of them' eval "$tool status $d | grep -q 'restart.1.bin and 2 more  healthy'"
check 'h5redset rebuilds what a rank has lost, in one process' all lose 2 , "$tool" rebuild "$d" , same
check 'the same with MPI' all lose 1 , "$mpiexec" -np 4 "$tool" rebuild "$d" , same
check 'some files of a rank, and one of them alone' all rm "$d/node3/empty.3.bin" "$d/node3/restart.3.bin" , \
    "$tool" rebuild "$d" , same , flip "$d/node0/log.0.bin" 3 , "$tool" rebuild "$d/node0/restart.0.bin" , same
lose 1 2 && mark
check 'more is lost than the scheme covers: refused on all ranks, nothing changed' all job refused , unchanged
check 'every rank says which are lost' all says 4 'damaged are rank 1 (data and redundancy), rank 2 on [^ ]* (data'
restore

check 'other files of one rank are asked for: refused on all ranks' all job order , same
check 'it says why, and which rank' says 4 '3 files were protected together.*(rank 1 on '
rm "$d"/node1/*
check 'the same where that rank has lost all' all job order , not ls "$d"/node1/log.1.bin
check 'its other ranks are as they were, and it comes back' all job recover , same

# said_once WORDS: by one rank, in one line, and the job protected three times
said_once() { says 1 "$1" && [ "$(cat "$d".said.* | grep -c -- "$1")" = 1 ]; }
cp -a "$d" "$work/before"
for n in 2 all; do
    check "keep=$n: nothing is kept of such files, and that is said once" all job again "keep=$n" , \
        said_once 'keep= says nothing for files that HDF5 does not write' , eval "! find $d -name '*.data' -o -name '*.undo' | grep ."
    rm -r "$d" && cp -a "$work/before" "$d"
done
check 'without it nothing is said of that' all job again , says 0 'keep='
rm -r "$d" && cp -a "$work/before" "$d"

cp -a "$d/node0" "$work/old"
check 'protected twice, each time with new content' all job again , keep , lose 0 , job recover , same
check 'it is the third generation' eval "$tool status $d | grep -q ', generation 3, '"
check 'an old copy of a node: it gets what counts' all lose 0 , cp -a "$work/old" "$d/node0" , job recover , same
# Each rank r on node r + 1: the same files, each in the directory of the next node
moved_same() {
    local r f
    for r in 0 1 2 3; do
        for f in "$work/kept/node$r"/*.bin; do cmp "$f" "$d/node$(((r + 1) % 4))/${f##*/}" || return 1; done
    done
}
check 'ranks on other nodes get all their files' all job moved , moved_same , says 4 'lay on .*, and were moved here'
check 'they are not where they were' [ "$(find "$d" -name '*.bin' | wc -l)" = 12 ]
check 'the same where the files of one are lost' all restore , lose 2 , mkdir "$d/node2" , job moved , moved_same
check 'and the second file of another is: what was not sent is not removed' all restore , rm "$d/node1/empty.1.bin" , \
    job moved , moved_same , says 3 'moved here' , says 1 'copied here from' , cmp "$work/kept/node1/log.1.bin" "$d/node1/log.1.bin"
restore && lose 2 3 && mkdir "$d/node2" "$d/node3" && mark
check 'with one more lost nothing is moved' all job stranded , unchanged , says 4 unrecoverable
restore && cp "$d/node3/log.3.bin" "$d/node0/log.3.bin" && echo more >>"$d/node0/log.3.bin"
check 'a file that is in the way: that rank is rebuilt' all job moved , moved_same , says 3 'moved here' , \
    says 1 'was changed by another program on .*, and was rebuilt as it was protected; what it was changed to is ' , sh -c "tail -c 5 $d/node0/log.3.bin.redset.*.changed | grep -qx more"
restore && cp -a "$d/node3/log.3.bin" "$d/node0/log.3.bin"
check 'a move that was cut short is finished' all job moved , moved_same , says 4 'moved here'
restore
check 'moved=copy: they stay where they were, too' all job moved moved=copy , moved_same , says 4 'copied here from' , same
restore
check 'moved=no: they count as lost' all job stranded moved=no , same
restore

deleted() { restore && find "$d" -name '*.bin' ! -name "${1:-}" -delete && mark; }
empty() { ! find "$d" -type f | grep .; }
check 'deleted, but for one file of one rank: h5redset gc leaves it' all deleted log.2.bin , "$tool" gc "$d" , unchanged
check 'all deleted: it goes' all deleted , eval "$tool status $d | grep -x '1 checkpoint: 1 deleted'" , "$tool" gc "$d" , empty
check 'h5redset rm removes all files of each rank' all restore , "$tool" rm "$d" , empty
restore

bare() { local r; for r in "$@"; do rm "$d/node$r"/*redset*; done; }
check 'two ranks have lost their redundancy, and no data' all bare 0 2 , job recover , same
check 'it is there again' all lose 2 , job recover , same
bare 1 2 && mark
check 'nobody records what a file was: the files stay, and the call fails' all job refused , same , \
    says 4 'use the files as they are, and protect them again'
restore
over() { local r; for r in "$@"; do head -c 5000 /dev/urandom >"$d/node$r/restart.$r.bin"; done; }
check 'one rank has written over its file: it is what was protected again' all over 1 , job recover , same
over 0 1 2 3 && mark
check 'all have: refused, and nothing changed' all job refused , unchanged
restore

check 'unprotected: nothing of ours stays' all job unprotect , clean , same
check 'then they were never protected' all job never , same
check 'ranks with one, two and three files' all job uneven , clean , same
check 'RS, two ranks lost' all job protect 'scheme=RS checksums=2' , lose 0 3 , job recover 'scheme=RS checksums=2' , same
check 'PARTNER' all job protect 'scheme=PARTNER' , lose 1 , job recover 'scheme=PARTNER' , same
check 'one redundancy file for each rank is left' eval "[ \$(ls $d/node*/*.partner*.redset | wc -l) = 4 ]"
job unprotect >/dev/null

for case in none twice ours absent; do
    check "cannot be protected: $case" all job $case , clean
    case $case in
    none) check 'it says who' says 4 '0 files are given.*(rank 2 on ' ;;
    twice) check 'it says who' says 4 'is given twice (rank 1 on ' ;;
    ours) check 'it says who' says 4 'has a name that belongs to what protects .*(rank 1 on ' ;;
    absent) check 'it says who' says 4 'log.1.bin.*(rank 1 on ' ;;
    esac
done
check 'settings that are nonsense, or not the same on all ranks' all job config , clean , \
    says 4 'rank 2 .* has another scheme, set size or parity' , says 4 'fill it with H5FD_redset_config_init first'
crowd() { # three ranks of four in one group: there is one set of two. mpirun would end the others when one has failed
    # shellcheck disable=SC2016 # the shells of the ranks expand it
    local run=(bash -c '"$0" protect "$1" || touch "$1.refused.$$"' "$program" "$d")
    rm -f "$d".said.*
    timeout -s KILL 180 "$mpiexec" -np 4 "$REDSET_SOURCE_DIR/test/vfd/grouped.sh" aaab timeout=60 "${run[@]}" 2>&1 || return 1
    [ "$(find "$work" -name '*.refused.*' | wc -l)" = 4 ] || { echo 'not refused on all ranks'; return 1; }
    says 4 '2 of 4 ranks are not protected.* a has 3 of 4 ranks, not protected are 1, 2;'
}
check 'ranks that no set has room for: none is protected' all job write , crowd , clean
check 'without MPI' all rm -f "$d".said.* , "$program" alone "$d" , says 1 'needs MPI, between MPI_Init and MPI_Finalize'
job write >/dev/null
check 'a rank does not come: the others say who, and are not stuck' all job missing timeout=3 , \
    says 3 'nothing was done: timed out after .* waiting for rank 3'
check 'ranks that call different things' all job others timeout=5 , \
    says 1 'is in H5FDredset_recover_files'
job unprotect >/dev/null
check 'between files of the driver' job mixed

check 'a file that is open through the driver, and was changed' all job busy timeout=5 , \
    says 4 'restart.1.bin: is being changed through the HDF5 driver'

# The example, which goes on where it was after all files of rank 2 are gone.
walk() { HDF5_DRIVER_CONFIG=timeout=60 timeout -s KILL 180 "$mpiexec" -np 4 "$REDSET_BUILD_DIR/examples/plain_files" "$work/$1" "$2" 10; }
mkdir "$work/straight" "$work/cut"
check 'the example' all walk straight 50 , walk cut 30 , eval "rm $work/cut/*.2.*"
check 'it goes on after a loss' eval "walk cut 50 | grep -x 'step 30: restarted'"
check 'and ends as if nothing had been' eval "cd $work/straight && for f in walk_*.bin path_*.txt; do cmp \$f $work/cut/\$f || exit 1; done"

finish
