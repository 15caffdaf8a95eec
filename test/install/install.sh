# shellcheck shell=bash
# Sourced by tests of what was installed: how users come by the driver. $work is a directory for files.
#
#   install_fail TEXT [FILE]                 says so, shows the file, and ends the test
#   install_cache TREE NAME                  prints a variable of a build tree
#   install_by_cmake PREFIX [FLAVOUR]        a project with find_package is built and run
#   install_by_pkgconfig PREFIX TREE         the same program, with the compiler and pkg-config
#   install_bindings PREFIX                  pkg-config knows where the modules for Fortran and Python are
#   install_programs PREFIX                  each program runs by itself, and its manual page has its options
#   install_no_paths PREFIX                  nothing looks for libraries in a build tree or below the source

install_source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=cmake/mpi_settings.sh
. "$install_source/cmake/mpi_settings.sh"
redset_mpi_settings
unset HDF5_PLUGIN_PATH HDF5_DRIVER HDF5_DRIVER_CONFIG DESTDIR

install_fail() {
    printf 'FAILED: %s\n' "$1"
    [ -z "${2:-}" ] || sed 's/^/   | /' "$2"
    exit 1
}

install_cache() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt"; }

# The program writes a file; its redundancy tells that the driver was there.
install_run() {
    rm -f "$work"/program.h5*
    "$1" "$work/program.h5" >"$work/log" 2>&1 || install_fail "a program does not run that was built $2" "$work/log"
    [ -n "$(find "$work" -name 'program.h5*.redset')" ] || install_fail "the file of a program built $2 is not protected"
}

install_by_cmake() {
    local prefix=$1 flavour=${2:-} build=$work/by_cmake
    rm -rf "$build"
    { cmake -G Ninja -S "$install_source/test/install/program" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" \
        -DFLAVOUR="$flavour" &&
        cmake --build "$build"; } >"$work/log" 2>&1 || install_fail "find_package($flavour) in $prefix" "$work/log"
    grep -q "its plugin directory: $prefix/" "$work/log" || install_fail "another redset was found" "$work/log"
    install_run "$build/program" 'with find_package'
}

install_by_pkgconfig() {
    local prefix=$1 tree=$2 name flags
    name=$(install_cache "$tree" REDSET_HDF5_PKGCONFIG)
    flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name 'hdf5_vfd_redset*.pc' -print -quit)") \
        pkg-config --cflags --libs "hdf5_vfd_redset${name#hdf5}" 2>"$work/log") ||
        install_fail "pkg-config does not know hdf5_vfd_redset${name#hdf5}" "$work/log"
    # shellcheck disable=SC2086
    "$(install_cache "$tree" MPI_C_COMPILER)" -o "$work/by_pkgconfig" \
        "$install_source/test/install/program/program.c" $flags >"$work/log" 2>&1 ||
        install_fail "cannot be compiled with $flags" "$work/log"
    install_run "$work/by_pkgconfig" 'with pkg-config'
}

install_bindings() {
    local prefix=$1 pc name module directory
    while IFS= read -r pc; do
        name=$(basename "$pc" .pc)
        for module in fortran/h5fd_redset.f90 python/h5redset.py; do
            directory=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable="${module%/*}dir" "$name")
            [ "$directory/${module#*/}" -ef "$prefix/share/redset/$module" ] || install_fail "$name: no $module in '$directory'"
        done
    done < <(find "$prefix" -name 'hdf5_vfd_redset*.pc')
}

install_programs() {
    local prefix=$1 program name page option
    for program in "$prefix"/bin/*; do
        name=${program##*/}
        "$program" --help >"$work/help" 2>&1 || install_fail "$name --help" "$work/help"
        page=$prefix/share/man/man1/$name.1
        [ -e "$page" ] || page+=.gz
        [ -e "$page" ] || install_fail "$name has no manual page"
        zcat -f "$page" | sed 's/\\-/-/g' >"$work/page"
        for option in $(grep -oE -- '(^|[ ,])--[a-z-]+' "$work/help" | tr -d ' ,' | sort -u); do
            grep -qE -- "^(\.|\\\\fB).*$option\>" "$work/page" || # not in an example only
                install_fail "the manual page of $name does not know $option"
        done
        ! command -v groff >/dev/null || ! groff -man -Tutf8 -ww -z "$work/page" 2>&1 | grep . >"$work/log" ||
            install_fail "the manual page of $name is not well formed" "$work/log"
    done
}

install_no_paths() {
    local file
    while IFS= read -r file; do
        if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -F "$install_source" >"$work/log"; then
            install_fail "$file looks into a build tree" "$work/log"
        fi
    done < <(find "$1" -type f \( -path '*/bin/*' -o -name '*.so' \) ! -name '*-report') # which is a script
}
