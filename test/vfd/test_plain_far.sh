#!/usr/bin/env bash
# Files that HDF5 does not open, of each rank in directories of their own: beside the first lies the redundancy, the others are
# elsewhere, and have one name. What the cases of link_plain.c do: see there. `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/plain.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/plain.sh"
where=far

check 'protected' all job write , job never , job protect , keep
check 'redundancy lies beside the first file, and nowhere else' all eval "[ \$(ls $d/node?/first | grep -c xor.*redset\$) = 4 ]" , \
    eval "! find $d/node?/more -name '*redset*' | grep ."
check 'recovered, with nothing lost: nothing is said' all job recover , says 0 rebuilt
check 'a node is lost: each file comes back to its own directory' all lose 2 , job recover , same
check 'that rank says so' says 1 '^redset: .*/restart.2.bin and 2 more: were lost, and were rebuilt'
check 'one directory is lost' all rm -r "$d/node1/more/log" , job recover , same
check 'that of the redundancy is lost' all rm -r "$d/node1/first" , job recover , same , lose 3 , job recover , same
check 'the empty file alone' all rm "$d/node0/more/empty/part.0.bin" , job recover , same
check 'a bit flipped' all flip "$d/node3/more/log/part.3.bin" 5 , job recover , same
check 'nothing of a rebuild stays' eval "! ours | grep -F .fix"
lose 1 2 && mark
check 'more is lost than the scheme covers: refused, and no directory is made' all job refused , unchanged
restore
check 'files of one name in another order: refused, nothing changed' all mark , job order , unchanged , \
    says 4 '3 files were protected together.*(rank 1 on '
rm -r "$d/node1"
check 'the same where that rank has lost all' all job order , [ ! -e "$d/node1" ]
check 'it comes back' all job recover , same
mv "$d/node1/more/log" "$d/node1/more/strewn"
check 'a directory has another name now' all job strewn , cmp "$work/kept/node1/more/log/part.1.bin" "$d/node1/more/strewn/part.1.bin" , says 0 rebuilt
rm -r "$d/node1/more/strewn"
check 'and is lost under it: the path that is asked for counts' all job strewn , says 1 ' and 2 more: were lost, and were rebuilt' , \
    cmp "$work/kept/node1/more/log/part.1.bin" "$d/node1/more/strewn/part.1.bin" , [ ! -e "$d/node1/more/log" ]
restore
check 'h5redset sees them' eval "$tool status $d | tail -n 1 | grep -x '1 checkpoint: 1 healthy'"
check 'and what is missing of them' all rm "$d/node2/more/log/part.2.bin" , eval "! $tool status $d | grep -q '1 healthy'"
check 'it rebuilds that in one process' all "$tool" rebuild "$d" , same , eval "$tool status --verify $d | grep -x '1 checkpoint: 1 healthy'"
check 'and a node, in its directories' all lose 3 , "$tool" rebuild "$d" , same , [ "$(find "$d" -name '*.bin' | wc -l)" = 12 ]
check 'the same with MPI' all lose 0 , "$mpiexec" -np 4 "$tool" rebuild "$d" , same
check 'damage in one file alone' all flip "$d/node1/more/log/part.1.bin" 9 , "$tool" rebuild "$d/node1" , same
rm -r "$d/node1/more" && mark
check 'a directory that was not named: refused, nothing is written there' all not "$tool" rebuild "$d/node1/first" , unchanged
check 'it says which to name' eval "($tool rebuild $d/node1/first 2>&1 || true) | grep 'more/empty/part.1.bin: belongs to .*name its directory too'"
mkdir "$work/outside" && ln -s "$work/outside" "$d/node1/more"
check 'nor is it through a symbolic link' all not "$tool" rebuild "$d/node1" , [ -z "$(ls "$work/outside")" ]
rm "$d/node1/more"
check 'on storage that is mounted elsewhere' all mv "$d" "$work/elsewhere" , "$tool" rebuild "$work/elsewhere" , mv "$work/elsewhere" "$d" , same
mark
check 'ranks on other nodes: files in other directories do not follow them, so that too much is lost: nothing changes' \
    all job stranded , unchanged , says 4 unrecoverable
check 'protected anew, and rolled back where one rank wrote over one file' all job again , keep , \
    cp "$work/kept/node1/more/log/part.1.bin" "$d/node0/more/log/part.0.bin" , job recover , same
touch "$d/node0/more/log/restart.0.bin.0.redset.2.fix"
check 'what a rebuild that died has left goes when they are protected' all job protect , eval "! ours | grep -F .fix"
restore
check 'h5redset unprotects them' all "$tool" unprotect "$d" , clean , job never , job protect
touch "$d/node0/more/log/restart.0.bin.0.redset.2.fix"
check 'unprotected: nothing of ours stays in any directory' all job unprotect , clean , same
check 'a directory is missing: they cannot be protected' all rm -r "$d/node1/more/log" , job absent , says 4 'more/log: no such directory (rank 1 on ' , clean

finish
