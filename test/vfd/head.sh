# shellcheck shell=bash disable=SC2034 # variables are for whoever sources this
# How a test of the driver begins. Source it: what scripts share (script.sh), MPI, without which the test is skipped, and no settings of the
# driver; programs are in $bin, h5redset is $tool; a directory of its own, $work, goes with the script, and has $log.

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_USE_FILE_LOCKING
export HDF5_PLUGIN_PATH
bin=$REDSET_BUILD_DIR/test/vfd
tool=$REDSET_BUILD_DIR/tools/h5redset
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

# What ranks write is in $d: keep what is there now, and restore it.
d=$work/dir
keep() { rm -rf "$work/kept" && cp -a "$d" "$work/kept"; }
restore() { rm -rf "$d" && cp -a "$work/kept" "$d"; }
