# shellcheck shell=bash
# Sourced by the tests of this directory, after cluster.sh and script.sh: which clients are here. $log is a file.
#
#   here NAME FILE            is there such a client for the HDF5 of this build? FILE is of it, or says why it is not there
#   module PYTHON             the last line that it says: a file, or what is wrong
#   built NAME COMMAND...     the same of a program $CLUSTER_DIR/NAME, which the command makes
#   fortran NAME ARGUMENT...  the same of a Fortran program with MPI and the HDF5 of this build
#
# $parallel is OFF or ON. h5py is that of this flavour: Debian has both.

parallel=${REDSET_HDF5_PARALLEL:-OFF}
if [ "$parallel" = OFF ]; then export H5PY_NEVER_USE_MPI=1; else export H5PY_ALWAYS_USE_MPI=1; fi
export PYTHONDONTWRITEBYTECODE=1

# The HDF5 library that a program or library is linked with.
hdf5_of() { readlink -f "$(ldd "$1" | sed -n 's/.*libhdf5\(_serial\|_openmpi\)\?[.]so.* => \([^ ]*\) .*/\2/p' | head -n 1)"; }
ours=$(hdf5_of "$HDF5_PLUGIN_PATH/libhdf5_vfd_redset.so")

here() {
    if [ ! -e "$2" ]; then
        echo "left out: $1: $2"
        [ -z "${REDSET_SETUP_CLIENTS:-}" ] || failures=$((failures + 1))
        return 1
    fi
    [ "$(hdf5_of "$2")" = "$ours" ] || { echo "left out: $1: uses $(hdf5_of "$2"), not $ours"; return 1; }
}

module() { python3 -c "$1" 2>&1 | tail -n 1; }

# shellcheck disable=SC2154 # that of script.sh
built() { "${@:2}" >"$log" 2>&1 && echo "$CLUSTER_DIR/$1" || tail -n 1 "$log"; }

fortran() {
    if [ "$parallel" = OFF ]; then
        HDF5_FC=mpifort HDF5_FLINKER=mpifort built "$1" h5fc -shlib "${@:2}" -o "$CLUSTER_DIR/$1"
    else
        built "$1" h5pfc -shlib "${@:2}" -o "$CLUSTER_DIR/$1"
    fi
}
