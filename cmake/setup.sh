#!/usr/bin/env bash
# Gets everything redset needs to be built and tested, and says what it does, one line each.
#
# Source it (`. cmake/setup.sh`) to have the settings below in your shell, or run it to see them.
# A fresh Debian 12 or 13 is enough: as root it installs the missing packages; as anybody else it
# says which ones to install. The second run only looks: it takes a fraction of a second.
#
# You may set before:
#   REDSET_HDF5_ROOT       prefix of an HDF5 >= 1.14 of your own; then none is installed or built
#   REDSET_CACHE           where a private HDF5 is kept; default ${XDG_CACHE_HOME:-~/.cache}/redset
#   REDSET_SETUP_PARALLEL  1: also a parallel HDF5 where the system has none (Debian 12: built)
#   REDSET_SETUP_CLIENTS   1: also what test/clients/ needs: h5py, netCDF, PyTables, pandas (Debian 13 only:
#                          those of Debian 12 are made for its own HDF5, which loads no drivers)
#   REDSET_SETUP_MPICH     1: also MPICH, beside Open MPI; on Debian 13 with its HDF5, as one more flavour
#   REDSET_SETUP_BUILD     1: only what building the driver and the tools needs, nothing for tests
#   REDSET_SETUP_PACKAGES  more Debian packages to have, separated by blanks
#   REDSET_SETUP_QUIET     1: say nothing but what is wrong
#
# It exports:
#   REDSET_HDF5_FLAVOURS   the HDF5 flavours found: "serial", "serial openmpi", "custom", ...
#   REDSET_HDF5_<flavour>  where each one is: a prefix (begins with /) or a pkg-config name.
#                          `redset_cmake_args FLAVOUR` turns that into arguments for cmake.
#   HDF5_ROOT              the first of them, if it is a prefix: for cmake --preset
#   PATH                   with h5dump and the other tools of a private HDF5 in front
#   MPIEXEC                mpirun
#   OMPI_*, PRTE_*         defaults that let mpirun run here: as root, with more ranks than cores,
#                          not bound to cores, through shared memory only. What you have set wins.
#
# When sourced it also leaves the functions redset_cmake_args and redset_hdf5_source (prints a
# directory with HDF5's own source, for its test suite) behind.

. "$(dirname "${BASH_SOURCE[0]}")/mpi_settings.sh"

redset_say() { [ -n "${REDSET_SETUP_QUIET:-}" ] || printf 'setup: %s\n' "$*" >&2; }
redset_die() { printf 'setup: error: %s\n' "$*" >&2; return 1; }

redset_hdf5_version=1.14.5
redset_cache=${REDSET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/redset}

# 0 when Debian's own HDF5 is too old for driver plugins, so that a private one is needed.
redset_system_hdf5_too_old() (
    ID='' VERSION_ID=''
    # shellcheck disable=SC1091
    . /etc/os-release
    [ "$ID" = debian ] && [ -n "$VERSION_ID" ] && [ "$VERSION_ID" -lt 13 ]
)

redset_install_packages() {
    local want missing='' p
    want='build-essential cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libisal-dev libjansson-dev'
    [ -n "${REDSET_SETUP_BUILD:-}" ] || want+=' libcmocka-dev strace util-linux mount python3 python3-jsonschema rsync gfortran gnuplot-nox'
    [ -z "${REDSET_SETUP_MPICH:-}" ] || want+=' mpich libmpich-dev'
    if [ -z "${REDSET_HDF5_ROOT:-}" ]; then
        if redset_system_hdf5_too_old; then
            want+=' zlib1g-dev ca-certificates debian-archive-keyring'
        else
            want+=' libhdf5-dev libhdf5-openmpi-dev'
            [ -n "${REDSET_SETUP_BUILD:-}" ] || want+=' hdf5-tools'
            [ -z "${REDSET_SETUP_MPICH:-}" ] || want+=' libhdf5-mpich-dev'
            if [ -n "${REDSET_SETUP_CLIENTS:-}" ]; then
                want+=' python3-mpi4py python3-h5py python3-h5py-serial python3-h5py-mpi libnetcdf-dev netcdf-bin'
                want+=' python3-tables python3-pandas'
            fi
        fi
    fi
    want+=" ${REDSET_SETUP_PACKAGES:-}"
    # one query for all; the name compared is what a package provides too (pkgconf: pkg-config)
    local have
    # shellcheck disable=SC2016
    have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
    for p in $want; do
        grep -qxF "$p" <<<"$have" || missing+=" $p"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        redset_die "these packages are missing; install them as root: apt-get install$missing"
        return 1
    fi
    redset_say "installing$missing"
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends $missing; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        redset_die "apt-get could not install$missing; the whole log is $log"
        return 1
    fi
    rm -f "$log"
}

# Address of the Debian mirror this machine is set up with; it is written down nowhere.
redset_mirror() (
    # shellcheck disable=SC1091
    . /etc/os-release
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
        awk -v c="${VERSION_CODENAME:-}" '$2 == c { print $1; exit }'
)

# Makes a directory in the cache for unfinished work and has it removed when the calling subshell
# ends, however it ends. Whatever is finished leaves it by one rename.
redset_workdir() {
    mkdir -p "$redset_cache" && tmp=$(mktemp -d "$redset_cache/tmp.XXXXXX") || return 1
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 130' INT TERM HUP
}

# redset_logged WHAT COMMAND...: runs it quietly; when it fails, shows the end of what it said.
redset_logged() {
    local what=$1
    shift
    "$@" </dev/null >"$tmp/log" 2>&1 && return 0
    tail -n 20 "$tmp/log" >&2
    cp "$tmp/log" "$redset_cache/failed.log"
    redset_die "$what failed; the whole log is $redset_cache/failed.log"
}

# Prints the directory of HDF5's source, fetched from Debian 13 when it is not there yet. apt gets
# a sources list and state of its own below the cache, so the machine's own stay as they are; the
# archive's signature is checked as always.
redset_hdf5_source() (
    dir=$redset_cache/hdf5-$redset_hdf5_version-source
    if [ ! -d "$dir" ]; then
        mirror=$(redset_mirror)
        if [ -z "$mirror" ] && [ "$(id -u)" = 0 ]; then
            apt-get update >/dev/null 2>&1 || true # a fresh image may hold no lists at all
            mirror=$(redset_mirror)
        fi
        [ -n "$mirror" ] || { redset_die 'no Debian mirror is known here; run apt-get update'; exit 1; }
        redset_say "fetching the source of HDF5 $redset_hdf5_version from Debian 13"
        redset_workdir || exit 1
        mkdir -p "$tmp/lists/partial" "$tmp/archives/partial"
        cat >"$tmp/trixie.sources" <<END
Types: deb-src
URIs: $mirror
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
        cat >"$tmp/apt.conf" <<END
Dir::Etc::sourcelist "$tmp/trixie.sources";
Dir::Etc::sourceparts "-";
Dir::Etc::preferencesparts "-";
Dir::State "$tmp";
Dir::State::status "/var/lib/dpkg/status";
Dir::State::lists "$tmp/lists";
Dir::Cache "$tmp";
Dir::Cache::archives "$tmp/archives";
APT::Sandbox::User "";
END
        export APT_CONFIG=$tmp/apt.conf
        cd "$tmp" || exit 1
        redset_logged 'reading the package lists of Debian 13' apt-get update || exit 1
        redset_logged 'fetching the source of HDF5' apt-get source hdf5 || exit 1
        # where another run was faster, its copy is as good
        mv -T "$(echo "$tmp"/hdf5-"$redset_hdf5_version"*/)" "$dir" 2>/dev/null || [ -d "$dir" ] ||
            { redset_die "Debian 13 has another HDF5 than $redset_hdf5_version"; exit 1; }
    fi
    printf '%s\n' "$dir"
)

# redset_private_hdf5 FLAVOUR: builds HDF5 as Debian 13 has it into the cache, unless it is there.
redset_private_hdf5() (
    prefix=$redset_cache/hdf5-$redset_hdf5_version-$1
    [ ! -d "$prefix" ] || exit 0
    redset_workdir || exit 1
    exec 9>"$redset_cache/lock"
    flock 9 # two runs at once: the second waits, then finds it done
    [ ! -d "$prefix" ] || exit 0
    src=$(redset_hdf5_source) || exit 1
    redset_say "building HDF5 $redset_hdf5_version ($1) into $prefix, about a minute"
    kind=-DHDF5_ENABLE_PARALLEL=ON
    [ "$1" != serial ] || kind=-DHDF5_ENABLE_THREADSAFE=ON # as Debian's serial flavour is
    redset_logged 'configuring HDF5' cmake -S "$src" -B "$tmp/build" -G Ninja \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_RPATH="$prefix/lib" -DH5_DEFAULT_PLUGINDIR="$prefix/lib/hdf5/plugin" \
        -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_NO_PACKAGES=ON \
        -DHDF5_BUILD_TOOLS=ON -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF \
        -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
        -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF "$kind" || exit 1
    redset_logged 'building HDF5' cmake --build "$tmp/build" || exit 1
    DESTDIR=$tmp/root redset_logged 'installing HDF5' cmake --install "$tmp/build" || exit 1
    mkdir -p "$tmp/root$prefix/lib/hdf5/plugin"
    mv -T "$tmp/root$prefix" "$prefix"
)

redset_find_hdf5() {
    local flavour
    if [ -n "${REDSET_HDF5_ROOT:-}" ]; then
        export REDSET_HDF5_FLAVOURS=custom REDSET_HDF5_custom=$REDSET_HDF5_ROOT
        PATH=$REDSET_HDF5_ROOT/bin:$PATH
    elif ! redset_system_hdf5_too_old; then
        export REDSET_HDF5_FLAVOURS="serial openmpi${REDSET_SETUP_MPICH:+ mpich}"
        export REDSET_HDF5_serial=hdf5-serial REDSET_HDF5_openmpi=hdf5-openmpi REDSET_HDF5_mpich=hdf5-mpich
    else
        REDSET_HDF5_FLAVOURS=serial
        [ -z "${REDSET_SETUP_PARALLEL:-}" ] || REDSET_HDF5_FLAVOURS+=' parallel'
        export REDSET_HDF5_FLAVOURS
        for flavour in $REDSET_HDF5_FLAVOURS; do
            redset_private_hdf5 "$flavour" || return 1
            export "REDSET_HDF5_$flavour=$redset_cache/hdf5-$redset_hdf5_version-$flavour"
        done
        # shellcheck disable=SC2154
        case :$PATH: in *:"$REDSET_HDF5_serial/bin":*) ;; *) PATH=$REDSET_HDF5_serial/bin:$PATH ;; esac
    fi
    export PATH
    local first=REDSET_HDF5_${REDSET_HDF5_FLAVOURS%% *}
    case ${!first} in /*) export HDF5_ROOT=${HDF5_ROOT:-${!first}} ;; esac
}

# redset_cmake_args FLAVOUR: prints the arguments that make cmake take this flavour, each in a line.
redset_cmake_args() {
    local where=REDSET_HDF5_$1
    [ "$1" != mpich ] || printf -- '-D%s\n' MPI_C_COMPILER=mpicc.mpich MPIEXEC_EXECUTABLE=mpiexec.mpich
    case ${!where:-} in
        /*) printf '%s\n' "-DHDF5_ROOT=${!where}" ;;
        ?*) printf '%s\n' "-DREDSET_HDF5_PKGCONFIG=${!where}" ;;
        *) redset_die "no HDF5 flavour $1 here; there is: $REDSET_HDF5_FLAVOURS" ;;
    esac
}

redset_setup() {
    redset_install_packages && redset_find_hdf5 && redset_mpi_settings || return 1
    redset_say "ready; HDF5 flavours: $REDSET_HDF5_FLAVOURS"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    redset_setup
    env | grep -E '^(REDSET_HDF5|OMPI_|PRTE_|MPIEXEC=)' | sort
else
    redset_setup
fi
