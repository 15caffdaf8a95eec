#!/usr/bin/env bash
# Makes the Debian package for this Debian (13 or later): build/deb/hdf5-vfd-redset_VERSION_ARCH.deb, with the plugins
# for its serial and its Open MPI flavour of HDF5. As root it installs what building needs, and nothing for tests; as
# anybody else it prints what is missing. DEBFULLNAME and DEBEMAIL, if they are set, are the maintainer of the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Before anything is installed: the HDF5 of Debian 12 loads no drivers.
if (. /etc/os-release && [ "$ID" = debian ] && [ -n "${VERSION_ID:-}" ] && [ "$VERSION_ID" -lt 13 ]); then
    echo "deb: the package needs the HDF5 of Debian 13; here, install with cmake --install (README.md)" >&2
    exit 1
fi

export REDSET_SETUP_BUILD=1 REDSET_SETUP_PACKAGES="${REDSET_SETUP_PACKAGES:-} dpkg-dev file"
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
case "$REDSET_HDF5_serial$REDSET_HDF5_openmpi" in
    hdf5-serialhdf5-openmpi) ;;
    *) redset_die "the package is for Debian's own HDF5, 1.14 or later; here it is $REDSET_HDF5_FLAVOURS"; exit 1 ;;
esac

# Built as Debian builds: hardened, without this directory's name in it; -g would be stripped again.
export DEB_CFLAGS_STRIP=-g
CFLAGS="$(dpkg-buildflags --get CPPFLAGS) $(dpkg-buildflags --get CFLAGS)"
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export CFLAGS LDFLAGS

logged() {
    "$@" >>build/deb/log 2>&1 || { tail -n 30 build/deb/log; echo "deb: $1 failed; all it said is in build/deb/log"; exit 1; }
}
build() {
    local flavour=$1 target=$2
    shift 2
    echo "build: build/deb/$flavour"
    logged cmake -G Ninja -S . -B "build/deb/$flavour" "$(redset_cmake_args "$flavour")" -DREDSET_FLAVOUR="$flavour" \
        -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_DOCDIR=share/doc/hdf5-vfd-redset \
        -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=OFF -DREDSET_BUILD_TESTS=OFF -DREDSET_BUILD_EXAMPLES=OFF "$@"
    logged cmake --build "build/deb/$flavour" --target "$target"
}
mkdir -p build/deb
rm -f build/deb/log build/deb/*.deb
build openmpi hdf5_vfd_redset
build serial all -DREDSET_PACKAGE_FLAVOURS="$PWD/build/deb/openmpi"
logged cpack --config build/deb/serial/CPackConfig.cmake -B build/deb
rm -r build/deb/_CPack_Packages
echo "deb: $(ls build/deb/*.deb)"
