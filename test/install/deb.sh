#!/usr/bin/env bash
# The Debian package as cmake/deb.sh left it, looked at where it was built: what it holds, what it depends
# on, and programs that are linked with it. CI runs this; test/install/clean.sh then uses it elsewhere.
set -euo pipefail
# shellcheck source=test/install/install.sh
. "$(dirname "${BASH_SOURCE[0]}")/install.sh"
cd "$install_source"
set -- build/deb/*.deb
[ $# = 1 ] && [ -f "$1" ] || install_fail 'there must be one package in build/deb'
deb=$1 root=$work/unpacked prefix=$work/unpacked/usr doc=usr/share/doc/hdf5-vfd-redset
dpkg-deb -x "$deb" "$root"

[ "$(dpkg-deb -f "$deb" Package)" = hdf5-vfd-redset ] || install_fail 'it has another name'
dpkg-deb -f "$deb" Depends | tr , '\n' | awk '{ print $1 }' | sort >"$work/depends"
printf '%s\n' libc6 libhdf5-310 libhdf5-openmpi-310 libisal2 libjansson4 libopenmpi40 python3:any | diff - "$work/depends" ||
    install_fail 'it depends on other packages'

# owned by root; nobody else may write; only programs may be executed
modes='^(drwxr-xr-x root/root .*/|-rw-r--r-- root/root .*|-rwxr-xr-x root/root .* \./usr/bin/.*)$'
if dpkg-deb -c "$deb" | grep -vE "$modes" >"$work/log"; then install_fail 'ownership or permissions' "$work/log"; fi
for file in $doc/{copyright,changelog.gz,README.md} usr/include/H5FDredset.h \
        usr/lib/*/pkgconfig/hdf5_vfd_redset{,-serial,-openmpi}.pc usr/share/bash-completion/completions/h5redset \
        usr/share/redset/{fortran/h5fd_redset.f90,python/h5redset.py}; do
    compgen -G "$root/$file" >/dev/null || install_fail "$file is not in it"
done
for flavour in serial openmpi; do
    plugin=$(pkg-config --variable=PluginDir "hdf5-$flavour")/libhdf5_vfd_redset.so
    [ -f "$root$plugin" ] || install_fail "$plugin is not in it"
    readelf -d "$root$plugin" | grep "NEEDED.*libhdf5_$flavour" >/dev/null || install_fail "$plugin is of another HDF5"
done

test/house/links.sh "$root/$doc" >"$work/log" || install_fail 'dead links in its documents' "$work/log"

# nothing of the machine it was built on: no paths, no symbols, no libraries looked for but its own plugin
if grep -rF "$install_source" "$root"; then install_fail 'paths of the build are in it'; fi
while IFS= read -r file; do
    if readelf -S "$file" | grep -E '\.(symtab|debug_info)' >/dev/null; then install_fail "$file is not stripped"; fi
    # shellcheck disable=SC2016
    if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -vE '\[\$ORIGIN/\.\./lib/[^/]*/hdf5/serial/plugins\]'; then
        install_fail "$file looks for libraries elsewhere"
    fi
done < <(find "$prefix/bin" "$prefix/lib" -type f \( -path '*/bin/*' -o -name '*.so' \) ! -name '*-report')

# For who links it: no HDF5 is chosen for a program that does not say which one it has.
install_programs "$prefix"
install_bindings "$prefix"
for flavour in serial openmpi; do
    install_by_cmake "$prefix" $flavour
    install_by_pkgconfig "$prefix" build/deb/$flavour
done
if (install_by_cmake "$prefix") >"$work/out"; then install_fail 'find_package chose one of two HDF5'; fi
grep -q 'there is: openmpi, serial' "$work/out" || install_fail 'find_package does not say what there is' "$work/out"
echo "deb: $deb is as it should be"
