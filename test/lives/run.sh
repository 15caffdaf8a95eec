#!/usr/bin/env bash
# Runs lives.py with what a test has in its environment: run.sh ARGUMENT..., see there.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
export LIVES_MPI_FLAGS="${redset_mpi_flags[*]}" PYTHONDONTWRITEBYTECODE=1
exec python3 "$REDSET_SOURCE_DIR/test/lives/lives.py" "$@"
