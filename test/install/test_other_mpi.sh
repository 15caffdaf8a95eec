#!/usr/bin/env bash
# CMake refuses an HDF5 of one MPI with the compiler of another, and says what to set: what it would build crashes when
# it runs. The other MPI is made here: empty libraries that say what an HDF5 of MPICH says.
set -euo pipefail
# shellcheck source=test/install/install.sh
. "$(dirname "${BASH_SOURCE[0]}")/install.sh"
tree=${REDSET_BUILD_DIR:?run by ctest, or set it}
compiler=$(install_cache "$tree" CMAKE_C_COMPILER)
mkdir "$work/include" "$work/lib"

# other_hdf5 SONAME: an HDF5 that needs an MPI library of that name
other_hdf5() {
    rm -f "$work"/lib/*
    echo 'int MPI_Init(void *c, void *v); int MPI_Init(void *c, void *v) { return c == v; }' |
        "$compiler" -shared -fPIC -x c -Wl,-soname,"$1" -o "$work/lib/libmpi_of_it.so" -
    echo 'int MPI_Init(void *c, void *v); int H5open(void); int H5open(void) { return MPI_Init(0, 0); }' |
        "$compiler" -shared -fPIC -x c -o "$work/lib/libhdf5.so" - -x none "$work/lib/libmpi_of_it.so"
}
# configures REGEX: is this what cmake says of it?
configures() {
    rm -rf "$work/build"
    if PKG_CONFIG_PATH=$work cmake -G Ninja -S "$install_source" -B "$work/build" -DREDSET_HDF5_PKGCONFIG=hdf5-other \
            -DMPI_C_COMPILER="$(install_cache "$tree" MPI_C_COMPILER)" -DREDSET_BUILD_TESTS=OFF >"$work/log" 2>&1; then
        install_fail 'an HDF5 of empty libraries was taken' "$work/log"
    fi
    tr -s '[:space:]' ' ' <"$work/log" | grep -qE "$1" # CMake breaks lines
}

printf '#define H5_VERS_%s\n' 'MAJOR 1' 'MINOR 14' 'RELEASE 5' >"$work/include/H5public.h"
echo '#define H5_HAVE_PARALLEL 1' >"$work/include/H5pubconf.h"
cat >"$work/hdf5-other.pc" <<END
prefix=$work
includedir=$work/include
libdir=$work/lib
Name: HDF5
Description: of another MPI
Version: 1.14.5
Cflags: -I$work/include
Libs: -L$work/lib -lhdf5
END

other_hdf5 libmpiother.so.77
configures 'belong to different MPIs' && install_fail 'what is no MPI library counts as one' "$work/log"
other_hdf5 libmpich.so.77
configures 'belong to different MPIs.*needs libmpich\.so\.77.*-DMPI_C_COMPILER=' ||
    install_fail 'an HDF5 of another MPI is not refused, or it is not said why' "$work/log"
# of the same MPI: it is the next check that fails
same=$(readelf -d "$tree/tools/h5redset" | sed -nE 's/.*\(NEEDED\).*\[(lib(mpi|mpich)\.so[^]]*)\]/\1/p' | head -n 1)
[ -n "$same" ] || { echo 'SKIP: MPI is not a shared library here'; exit 77; }
other_hdf5 "$same"
configures 'H5Pset_driver_by_name cannot be built' || install_fail "an HDF5 that needs $same is refused for its MPI" "$work/log"
