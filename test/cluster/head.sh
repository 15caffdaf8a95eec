# shellcheck shell=bash
# How a test on a cluster begins. Source it: what scripts share (script.sh), cluster.sh, and the driver for all programs; $bin has those of
# test/vfd. The cluster goes down with the script.

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
command -v "${MPIEXEC:-mpirun}" >/dev/null || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }
# shellcheck disable=SC2034 # for whoever sources this
bin=$REDSET_BUILD_DIR/test/vfd
export HDF5_DRIVER=redset HDF5_PLUGIN_PATH
trap cluster_down EXIT
