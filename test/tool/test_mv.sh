#!/usr/bin/env bash
# h5redset mv in one process: what it renames, what it restores before, and what it refuses. Files are compared whole with what
# they were. With MPI: vfd.rename.
set -euo pipefail

# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
begin() { rm -rf set && cp -a kept set; }
unchanged() { diff -r kept set; }
renamed() { local k; for k in 0 1 2 3; do cmp "kept/n$k/tmp.000$k.bin" "set/n$k/$1.000$k.bin" || return 1; done; }
none() { ! find set -name "$1.*" | grep .; }
healthy() { gives 0 "$tool" status --verify set && says '1 checkpoint: 1 healthy'; }

for k in 0 1 2 3; do
    mkdir -p set/n$k
    head -c $((200000 + 1000 * k)) /dev/urandom >set/n$k/tmp.000$k.bin
done
"$tool" protect set/n{0,1,2,3}/tmp.*.bin >"$out" 2>&1
cp -a set kept
old=set/n%r/tmp.%r.bin new=set/n%r/final.%r.bin

check 'what would be done' all gives 0 "$tool" mv --dry-run $old $new , says 'tmp.0003.bin: would be renamed to .*/n3/final.0003.bin' , unchanged
check 'renamed, with what protects them' all gives 0 "$tool" mv $old $new , says 'tmp.0003.bin: renamed to .*/final.0003.bin' , \
    renamed final , none tmp , healthy
check 'they have one name' eval '! find set -type f -links +1 | grep .'
check 'and are rebuilt under it' all rm -r set/n2 , mkdir set/n2 , gives 0 "$tool" rebuild set , renamed final
begin
check 'what is lost is restored before' all rm set/n1/* , gives 0 "$tool" mv $old $new , renamed final , none tmp , healthy
begin
check 'more than the scheme covers: refused, nothing changed' all rm set/n1/* set/n2/* , cp -a set broken , \
    gives 2 "$tool" mv $old $new , says 'not renamed' , diff -r broken set
begin
cp -a kept/n0/tmp.0000.bin set/n0/final.0000.bin
check 'a file that has the new name is replaced' all eval 'echo other >set/n1/final.0001.bin' , gives 0 "$tool" mv $old $new , renamed final , healthy
begin
check 'to a directory that is not there' all gives 5 "$tool" mv $old 'set/nowhere%r/final.%r.bin' , says 'not renamed: .*nowhere0' , unchanged
check 'to another one' all mkdir set/d0 set/d1 set/d2 set/d3 , gives 0 "$tool" mv $old 'set/d%r/tmp.%r.bin' , rmdir set/n1 , healthy
begin
check 'one name has more numbers than the other' all gives 64 "$tool" mv $old set/final.%r.bin , says 'more often' , unchanged
check 'three names' all gives 64 "$tool" mv $old $new more , says 'and not two' , unchanged
check 'nothing has such a name' all gives 3 "$tool" mv set/n%r/other.%r.bin $new , says 'nothing protected of such a name' , unchanged
check 'what is no number of its own is left out' all gives 0 "$tool" mv set/n%r/tmp.000%r.bin set/n%r/x.%r.bin , \
    cmp kept/n3/tmp.0003.bin set/n3/x.3.bin , none tmp , healthy
begin
check 'beside an old copy of one of them, whose name is another' all cp -a set/n2 set/old , gives 0 "$tool" protect set/n{0,1,2,3}/tmp.*.bin , \
    gives 0 "$tool" mv $old $new , never_says 'not renamed' , renamed final , diff -r kept/n2 set/old
begin
check 'names of some only' all gives 5 "$tool" mv set/n2/tmp.%r.bin set/n2/final.%r.bin , says '1 of 4 files' , unchanged

finish
