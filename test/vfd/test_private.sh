#!/usr/bin/env bash
# MPI that the driver does not see: Python loads HDF5 and MPI for its modules only, and often HDF5 first.
# Files are protected all the same. test/vfd/serial_private.c is such a program.
#
# And MPI that is not the one that the plugin was built for: files are not protected, and the user is told.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work
libmpi=$(ldd "$bin/ranks" | sed -n 's/.*libmpi[.]so.* => \([^ ]*\) .*/\1/p')
[ -n "$libmpi" ] || { echo 'SKIP: no shared libmpi here'; exit 77; }

export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='required=yes timeout=20'
ranks() { timeout 60 "$MPIEXEC" -n 3 "$bin/serial_private" "$libmpi" "$dir" "$1"; }
ranks write
[ "$(find "$dir" -name '*.redset' | wc -l)" = 6 ] || { echo 'the files were not protected:'; ls "$dir"; exit 1; }
cp "$dir/private.1.h5" "$dir/copy"
rm "$dir/private.1.h5"
ranks read
cmp "$dir/copy" "$dir/private.1.h5"

# ---- another MPI ----

case ${REDSET_HDF5_PARALLEL:-OFF} in
    ON | TRUE | 1) echo 'left out: another MPI; a parallel HDF5 brings the one that the plugin was built for'; exit 0 ;;
esac

fail() { echo "$1:"; cat "$dir/log"; exit 1; }
cp "$bin/libpreload_other_mpi.so" "$dir/libmpich.so.12"
# other CONFIG MODE [VARIABLE=VALUE]: its exit status; what it says is then in $dir/log
other() {
    HDF5_DRIVER_CONFIG=$1 OMPI_COMM_WORLD_RANK=0 env "${@:3}" \
        "$bin/serial_private" "$dir/libmpich.so.12" "$dir" "$2" >"$dir/log" 2>&1
}
insight=LD_PRELOAD=$dir/libmpich.so.12${LD_PRELOAD:+:$LD_PRELOAD}
for how in _=_ "$insight"; do
    rm -f "$dir"/private.*
    other '' write "$how" || fail 'another MPI: the program fails'
    [ "$(grep -c 'not protected: .*private.0.h5.* another MPI than the one that this plugin was built for' "$dir/log")" = 1 ] ||
        fail 'another MPI: nothing is said'
    other required=yes read "$how" || fail 'another MPI: a file that is not protected cannot be read'
    [ ! -s "$dir/log" ] || fail 'another MPI: something is said to one who reads'
    rm -f "$dir"/private.*
    ! other required=yes write "$how" || fail 'another MPI: required=yes does not refuse'
    grep -q 'not protected: .*private.0.h5.* another MPI than' "$dir/log" || fail 'another MPI: it does not say why'
    [ -z "$(find "$dir" -name 'private.*')" ] || fail 'another MPI: something was written'
done
