#!/usr/bin/env bash
# Files that were protected, and got other names by mv: what each command of h5redset makes of them. Files are compared whole
# with what they were. What the driver makes of them: vfd.rename.
set -euo pipefail

# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
begin() { rm -rf set to && cp -a kept set; }
# renamed OLD NEW RANK...: the data files alone
renamed() { local k; for k in "${@:3}"; do mv "set/n$k/$1.000$k.bin" "set/n$k/$2.000$k.bin" || return 1; done; }
# holds DIR NAME RANK...: what was written as tmp is there under that name; the directory's name may have the rank in it
holds() { local k; for k in "${@:3}"; do cmp "kept/n$k/tmp.000$k.bin" "${1//%/$k}/$2.000$k.bin" || return 1; done; }
none() { ! find set -name "$1.*" | grep .; }
healthy() { gives 0 "$tool" status --verify set && says '1 checkpoint: 1 healthy'; }
keep_as_is() { rm -rf before && cp -a set before; }
unchanged() { diff -r before set; }
states() { python3 -c "
import json, sys
at = json.load(sys.stdin)
for s in at['sets']:
    for f in s['files']:
        print(f['rank'], f['path'].split('/')[-1], f['state'], f['renamed_from'])" <"$out" >states; cat states; }

for k in 0 1 2 3; do
    mkdir -p set/n$k
    head -c $((200000 + 1000 * k)) /dev/urandom >set/n$k/tmp.000$k.bin
done
"$tool" protect set/n{0,1,2,3}/tmp.*.bin >"$out" 2>&1
cp -a set kept

renamed tmp final 0 1 2 3
keep_as_is
check 'status: under their names of now, with those that they had' all gives 1 "$tool" status set , \
    says 'final.0002.bin +renamed: was protected as tmp.0002.bin' , says '^final.0000.bin: XOR, 4 ranks' , \
    says 'will get their names: open the files with all ranks, or .h5redset rebuild' , says '1 checkpoint: 1 renamed' , unchanged
check 'one of them is named' all gives 1 "$tool" status set/n3/final.0003.bin , says 'final.0003.bin +renamed'
check 'JSON' all gives 1 "$tool" status --json set , states , grep -x '3 final.0003.bin renamed tmp.0003.bin' states , says '"verdict": "renamed"'
check 'map' all gives 1 "$tool" map set , says ' 2N ' , says '\[N\] renamed'
check 'verified' all gives 1 "$tool" status --verify set , says 'was protected as tmp.0001.bin; verified' , unchanged
check 'scavenge brings them under their names of now' all gives 0 "$tool" scavenge --to to set , says 'final.0002.bin: copied' , \
    holds to final 0 1 2 3 , grep '"renamed_from": "tmp.0002.bin"' to/redset-index.json , unchanged
check 'rebuild: what would be done' all gives 0 "$tool" rebuild --dry-run set , says 'final.0001.bin: would be protected under this name' , unchanged
check 'some of them only: refused' all gives 5 "$tool" rebuild set/n1/final.0001.bin , says 'name all of these files' , unchanged
check 'rebuild: protected under their names' all gives 0 "$tool" rebuild set , says 'final.0001.bin: protected under this name' , \
    none tmp , holds set/n% final 0 1 2 3 , healthy
check 'and a node is lost after that' all rm -r set/n2 , mkdir set/n2 , gives 0 "$tool" rebuild set , holds set/n% final 0 1 2 3 , healthy

begin
renamed tmp final 0 1 2 3
rm -r set/n1 && mkdir set/n1
keep_as_is
check 'a node is lost before: its file belongs under the new name' all gives 1 "$tool" status set , \
    says 'final.0001.bin \(recorded\)  lost' , says 'what is lost can be rebuilt' , says '1 checkpoint: 1 repairable' , unchanged
check 'scavenge rebuilds it there' all gives 0 "$tool" scavenge --to to set , says 'final.0001.bin: rebuilt' , holds to final 0 1 2 3 , unchanged
check 'rebuild does as well' all gives 0 "$tool" rebuild set , says 'final.0001.bin: rebuilt' , holds set/n% final 0 1 2 3 , none tmp , healthy

begin
renamed tmp final 0 1 2 3
rm set/n1/tmp.* set/n2/tmp.*
check 'that of two, so that nobody records one file: what protects the others gets their names' all gives 1 "$tool" rebuild set , \
    says 'what was recorded of the file of rank 1 is lost' , none tmp

begin
renamed tmp final 0 1 2 3
rm set/n1/tmp.*
check 'the redundancy of one is lost: its file is there' all gives 1 "$tool" status set , says 'final.0001.bin +redundancy missing' , \
    gives 0 "$tool" rebuild set , holds set/n% final 0 1 2 3 , healthy
begin
renamed tmp final 0 1 2 3
rm -r set/n1/* set/n2/*
keep_as_is
check 'more than the scheme covers' all gives 2 "$tool" status set , says unrecoverable , gives 2 "$tool" rebuild set , unchanged , \
    gives 2 "$tool" scavenge --to to set , holds to final 0 3

begin
cp -a kept old
for k in 0 1 2 3; do head -c 100000 /dev/urandom >set/n$k/final.000$k.bin; done
"$tool" protect set/n{0,1,2,3}/final.*.bin >"$out" 2>&1
rm -rf both && cp -a set both
renamed tmp final 0 1 2 3
check 'over protected files: those are not there any more' all gives 1 "$tool" status set , says '1 checkpoint: 1 renamed' , \
    gives 0 "$tool" rebuild set , holds set/n% final 0 1 2 3 , none tmp , healthy
rm -rf set && cp -a both set
renamed tmp final 0 2
keep_as_is
check 'over those of some ranks: said, and left alone' all gives 2 "$tool" status set , says 'some of these files were renamed' , \
    gives 2 "$tool" rebuild set , says 'rename the others as well' , unchanged

begin
renamed tmp final 0 2
keep_as_is
check 'some of them: both names are shown' all gives 1 "$tool" status set , says 'tmp.0001.bin +healthy' , says 'final.0002.bin +renamed' , \
    says 'some of these files were renamed'
check 'rebuild does nothing: nobody knows which names they belong under' all gives 1 "$tool" rebuild set , says 'rename the others as well' , unchanged
check 'scavenge brings each under its name of now' all gives 0 "$tool" scavenge --to to set , holds to final 0 2 , holds to tmp 1 3
check 'renamed back: as if nothing had been' all renamed final tmp 0 2 , healthy

begin
for k in 0 1 2 3; do cp set/n$k/tmp.000$k.bin set/n$k/final.000$k.bin; done
check 'a copy is none' all gives 0 "$tool" status set , says 'tmp.0002.bin +healthy' , not says final
begin
renamed tmp final 0 1 2 3
flip set/n2/final.0002.bin 77
check 'a renamed file that was changed is not taken for what was protected' all gives 1 "$tool" status set , says 'final.0001.bin +renamed' , \
    not says 'final.0002.bin +renamed'
begin
renamed tmp final 0 1 2 3
check 'mv takes them to a third name' all gives 0 "$tool" mv 'set/n%r/final.%r.bin' 'set/n%r/third.%r.bin' , none tmp , none final , \
    holds set/n% third 0 1 2 3 , healthy
begin
renamed tmp final 0 1 2 3
check 'unprotect removes what protected them under their old names' all gives 0 "$tool" unprotect set , none tmp , holds set/n% final 0 1 2 3

finish
