#!/usr/bin/env bash
# cmake --install into a prefix that is moved afterwards: everything is there, and works from there.
set -euo pipefail
# shellcheck source=test/install/install.sh
. "$(dirname "${BASH_SOURCE[0]}")/install.sh"
tree=${REDSET_BUILD_DIR:?run by ctest, or set it}

cmake --install "$tree" --prefix "$work/first" >"$work/log" || install_fail 'cmake --install' "$work/log"
plugins=$(install_cache "$tree" REDSET_PLUGIN_DIR)
grep -qF "HDF5_PLUGIN_PATH=$work/first/$plugins" "$work/log" ||
    install_fail 'who installs outside of the directory where HDF5 looks is not told' "$work/log"
mv "$work/first" "$work/moved"
prefix=$work/moved
plugins=$prefix/$plugins
[ "$(ls "$plugins")" = libhdf5_vfd_redset.so ] || install_fail "$plugins must hold the plugin, nothing else"
for file in include/H5FDredset.h bin/h5redset{,-bench,-bench-report} share/bash-completion/completions/h5redset share/redset/fortran/h5fd_redset.f90 share/redset/python/h5redset.py \
        share/doc/hdf5_vfd_redset/{LICENSE,README.md,docs/configuration.md}; do
    [ -f "$prefix/$file" ] || install_fail "$file is not installed"
done

"$install_source/test/house/links.sh" "$prefix/share/doc/hdf5_vfd_redset" >"$work/log" || install_fail 'dead links' "$work/log"
install_no_paths "$prefix"
install_programs "$prefix"
install_by_cmake "$prefix"
install_by_pkgconfig "$prefix" "$tree"
install_bindings "$prefix"

# without linking: h5dump has the driver from there, which notices a byte that was changed
[ -n "$REDSET_HDF5_TOOLDIR" ] || exit 0
file=$work/program.h5
export HDF5_PLUGIN_PATH=$plugins
h5dump -H --vfd-name redset "$file" >"$work/log" 2>&1 || install_fail 'h5dump with the driver' "$work/log"
time=$(stat -c %y "$file") # as a disk that fails: the time stays
printf s | dd of="$file" bs=1 seek=40000 conv=notrunc status=none
touch -m -d "$time" "$file"
h5dump -H "$file" >"$work/log" 2>&1 || install_fail 'h5dump without the driver' "$work/log"
if h5dump --vfd-name redset "$file" >"$work/log" 2>&1; then install_fail 'damage passed unnoticed: was this our driver?'; fi
