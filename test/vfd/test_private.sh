#!/usr/bin/env bash
# MPI that the driver does not see: Python loads HDF5 and MPI for its modules only, and often HDF5 first.
# Files are protected all the same. test/vfd/serial_private.c is such a program.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
bin=$REDSET_BUILD_DIR/test/vfd
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
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
