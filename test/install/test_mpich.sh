#!/usr/bin/env bash
# The product built for MPICH, as README.md says: two ranks protect their files, one of them is lost, and rebuilt when
# the program starts again. With the HDF5 of MPICH where the system has one, else with the serial one of this tree.
set -euo pipefail
for program in mpicc.mpich mpiexec.mpich; do
    command -v $program >/dev/null || { echo "SKIP: no $program; REDSET_SETUP_MPICH=1 has cmake/setup.sh install it"; exit 77; }
done
export MPIEXEC=mpiexec.mpich
# shellcheck source=test/install/install.sh
. "$(dirname "${BASH_SOURCE[0]}")/install.sh"
tree=${REDSET_BUILD_DIR:?run by ctest, or set it}

hdf5=-DREDSET_HDF5_PKGCONFIG=hdf5-mpich
if ! pkg-config --exists 'hdf5-mpich >= 1.14'; then
    [ "${REDSET_HDF5_PARALLEL:-OFF}" = OFF ] ||
        { echo 'SKIP: no HDF5 of MPICH, and the one of this tree is of another MPI'; exit 77; }
    hdf5=-DHDF5_ROOT=$(install_cache "$tree" HDF5_ROOT)
fi
{ cmake -G Ninja -S "$install_source" -B "$work/build" "$hdf5" -DMPI_C_COMPILER=mpicc.mpich \
    -DREDSET_BUILD_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug && cmake --build "$work/build"; } >"$work/log" 2>&1 ||
    install_fail 'cannot be built for MPICH' "$work/log"
readelf -d "$work/build/examples/heat" | grep -q 'libmpich' || install_fail 'the example is not linked with MPICH'

export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='scheme=XOR required=yes timeout=60'
export HDF5_PLUGIN_PATH=$work/build/plugins
heat() { # STEPS
    timeout 120 mpiexec.mpich -n 2 "$work/build/examples/heat" --dir "$work/files" --steps "$1" --every 10 >"$work/log" 2>&1 ||
        install_fail "two ranks, $1 steps" "$work/log"
}
mkdir "$work/files"
heat 10
[ "$(find "$work/files" -name '*.xor.*_of_2.redset' | wc -l)" = 2 ] || install_fail 'two ranks did not protect their files' "$work/log"
cp -a "$work/files" "$work/kept"
rm "$work"/files/*.1.*
heat 10
grep -q 'restarted from its checkpoint' "$work/log" || install_fail 'the lost file did not come back' "$work/log"
for file in "$work"/kept/*.1.h5; do
    cmp "$file" "$work/files/${file##*/}" || install_fail "${file##*/} came back with another content"
done
"$work/build/tools/h5redset" status --verify "$work/files" >"$work/log" || install_fail 'not all is healthy' "$work/log"
