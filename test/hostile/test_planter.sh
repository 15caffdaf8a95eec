#!/usr/bin/env bash
# Whatever another user plants beside files, under whatever name: planter.py, of which one case in some is tried. PLANTER_EVERY=1: all.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
[ "$(id -u)" = 0 ] || { echo 'SKIP: only root can be two users'; exit 77; }
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
alice=$(id -u games 2>/dev/null) || { echo 'SKIP: no user "games", who alice is to be'; exit 77; }
# what launchers set would make programs wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$REDSET_SOURCE_DIR/test/hostile/planter.py" --alice "$alice" \
    --every "${PLANTER_EVERY:-61}" --first "${PLANTER_FIRST:-$RANDOM}"
