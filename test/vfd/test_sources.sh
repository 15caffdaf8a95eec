#!/usr/bin/env bash
# Files that are read through others: the source of a virtual dataset, the target of an external link. HDF5 reads fill
# values in the place of a source that it does not find, without an error. So one that was lost is rebuilt when all ranks
# read, or the read fails (P2); and one that never was is still none. sources.c is the program. Ranks have a
# directory each, which stands for their node.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work
unset HDF5_VDS_PREFIX HDF5_EXT_PREFIX
export HDF5_DRIVER=redset
patient='timeout=90' # nobody is late; also for a disk that stands still for a minute
late='timeout=2'     # somebody does not come
failed=0
cd "$dir"

# sources SETTINGS ARGUMENT...: runs it on 4 ranks; what they found to $dir/found, what they say to $dir/says
sources() {
    HDF5_DRIVER_CONFIG="scheme=XOR $1" timeout -s KILL 180 "$mpiexec" -np 4 "$bin/sources" "$2" "$dir" "${@:3}" \
        >"$dir/found" 2>"$dir/says"
}

# begin SOURCE: all files written and protected, on four nodes
begin() {
    rm -rf "$dir"/node? && mkdir "$dir"/node{0,1,2,3}
    sources "$patient" write "$1"
}
lose() { rm -rf "$dir/node1" && mkdir "$dir/node1"; }

# finds TEXT WORDS SETTINGS ARGUMENT...: they find this
finds() {
    local status=0
    sources "$3" "${@:4}" || status=$?
    if [ $status = 0 ] && [ "$(cat "$dir/found")" = "$2" ]; then
        echo "  ok      $1"
    else
        failed=$((failed + 1))
        echo "  FAILED  $1: $(cat "$dir/found"), not $2; exit status $status"
        sed 's/^/          | /' "$dir/says"
    fi
}
# says TEXT: in the last run
says() {
    grep -qF "$1" "$dir/says" && return
    failed=$((failed + 1))
    echo "  FAILED  nobody says: $1"
    sed 's/^/          | /' "$dir/says"
}
rebuilt() { cmp "$dir/kept/$1" "$dir/node1/$1" || failed=$((failed + 1)); }

begin src_@.h5 || { status=$?; cat "$dir/found" "$dir/says"; exit $status; }
mkdir kept all && cp -a node1/. kept && cp -a node? all
again() { rm -rf node? && cp -a all/. . && lose; }
echo 'node 1 is lost, all ranks open their files:'
again
finds 'rank 1 reads its virtual dataset' '- error - -' "$late" read v 1 r
says 'src_1.h5: is missing, and only all ranks together can say whether it was lost'
finds 'the same in a later job' '- error - -' "$late" read v 1 r
finds 'another rank reads' '- - right -' "$late" read v 2 r
finds 'all ranks read, in a later job' 'right right right right' "$patient" read v all r
rebuilt src_1.h5
rm -rf node1/src_1* node2/src_2*
finds 'more is lost than can be rebuilt' 'error error error error' "$patient" read v all r
again
finds 'all ranks read' 'right right right right' "$patient" read v all r
rebuilt src_1.h5
rm node1/src_1.h5
finds 'all ranks read, only the source is lost' 'right right right right' "$patient" read v all w
again
finds 'rank 1 reads, opened to write' '- error - -' "$late" read v 1 w
finds 'all ranks read, opened to write, in a later job' 'right right right right' "$patient" read v all w
again
finds 'rank 1 follows its external link' '- error - -' "$late" read l 1 r
says 'src_1.h5: is missing, and only all ranks together can say whether it was lost'
finds 'all ranks follow it, in a later job' 'right right right right' "$patient" read l all r
again
finds 'all ranks follow it, opened to write' 'right right right right' "$patient" read l all w
again
finds 'all ranks write new sources instead' 'right right right right' "$patient required=yes" create src_@.h5 all
rm -rf node? && mkdir node{0,1,2,3} node{0,1,2,3}/part
sources "$patient" write part/src_@.h5
lose
finds 'in a directory below' 'right right right right' "$patient" read v all r

echo 'not lost:'
begin never_@.h5
finds 'a source that never was, read by all ranks' 'zeros zeros zeros zeros' "$patient" read v all r
finds 'a link to nothing' 'error error error error' "$patient" read l all r
finds 'none of the files named by files=' '- zeros - -' "$patient files=vds_*" read v 1 r

begin src_@.h5
for r in 0 1 2 3; do mv "node$r/src_$r.h5" .; rm node$r/src_*; done
finds 'in the other place where HDF5 looks' 'right right right right' "$patient" read v all r
finds 'the same, through the link, to write' 'right right right right' "$patient" read l all w

rm -rf node? src_* && mkdir node{0,1,2,3}
HDF5_DRIVER=sec2 sources '' write never_@.h5
finds 'files that nobody protects, read by one rank' '- zeros - -' 'timeout=90' read v 1 r

begin src_@.h5
finds 'a new file beside protected ones, by one rank' '- right - -' "$late" create new_@.h5 1
[ "$failed" = 0 ] || { echo "$failed FAILED"; exit 1; }
