# shellcheck shell=bash disable=SC2154 # nodes.sh sets what is used here
# For test_plain*.sh, which source it: link_plain.c on 4 ranks, with files that HDF5 does not open.

# shellcheck source=test/vfd/nodes.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/nodes.sh"
program=$bin/link_plain

# job CASE [SETTINGS]; $where is `far` where the files of a rank lie in directories of their own
job() { HDF5_DRIVER_CONFIG="timeout=60 ${2:-}" heard "$mpiexec" -np 4 "$program" "$1" "$d" ${where:+"$where"}; }
same() { (cd "$work/kept" && find . -name '*.bin' -type f) | while read -r f; do cmp "$work/kept/$f" "$d/$f" || exit 1; done; }
mark() { rm -rf "$work/broken" && cp -a "$d" "$work/broken"; }
unchanged() { diff -r "$work/broken" "$d"; }
ours() { find "$d" -name '*redset*'; }
clean() { ! ours | grep .; }
