# shellcheck shell=bash
# Sourced by the checks around the tests: other builds of the engine and its tests, each in a directory of
# its own below build/checks (or $REDSET_CHECKS_DIR). What a check needs beyond the tests is installed like
# all the rest, by cmake/setup.sh: CHECKS_NEED, set before, has COMMAND:PACKAGE pairs.
#
#   checks_build NAME SOURCE [CMAKE-ARGUMENT...]   configures SOURCE; leaves the directory in $build
#   checks_make TARGET...                          builds targets in $build; lives:ACTOR: what the random lives need
#   checks_programs unit|sweep                     names of the programs of that kind
#   checks_run LIMIT LOG PROGRAM                   runs one there; its exit status
#   checks_table                                   aligns columns that are separated by tabs
#   checks_failed TEXT                             says so, and makes checks_end fail
#   checks_end FIGURE                              the last line, and the exit status

checks_source=${REDSET_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
checks_dir=${REDSET_CHECKS_DIR:-$checks_source/build/checks}
checks_bad=0

for checks_pair in ${CHECKS_NEED:-}; do
    command -v "${checks_pair%:*}" >/dev/null && continue
    [ "$(id -u)" = 0 ] || { echo "SKIP: ${checks_pair%:*} is not here"; exit 77; }
    REDSET_SETUP_PACKAGES="${REDSET_SETUP_PACKAGES:-} ${checks_pair#*:}"
done

# One flavour is enough: nothing that is looked at here depends on HDF5's.
# shellcheck source=cmake/setup.sh
REDSET_SETUP_QUIET=1 . "$checks_source/cmake/setup.sh"
checks_flavour=${REDSET_HDF5_FLAVOURS%% *}
if [ -n "${REDSET_FLAVOUR:-}" ] && [ "$REDSET_FLAVOUR" != "$checks_flavour" ]; then
    echo "SKIP: runs for the flavour $checks_flavour"
    exit 77
fi

checks_logged() {
    "$@" </dev/null >"$build.log" 2>&1 && return 0
    tail -n 30 "$build.log"
    return 1
}

checks_build() {
    local name=$1 source=$2
    shift 2
    build=$checks_dir/$name
    mkdir -p "$build"
    checks_logged cmake -G Ninja -S "$source" -B "$build" "$(redset_cmake_args "$checks_flavour")" \
        -DREDSET_BUILD_EXAMPLES=OFF "$@" || { echo "$name: cannot be configured"; exit 1; }
}

checks_make() {
    local targets=() target
    for target in "$@"; do
        case $target in
            lives:*) targets+=(hdf5_vfd_redset h5redset lives serial_lives preload_clock preload_shift preload_keep preload_yield) ;;
            *) targets+=("$target") ;;
        esac
    done
    checks_logged nice cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"
}

checks_programs() {
    (cd "$checks_source/test/$1" && if [ "$1" = unit ]; then ls test_*.c; else ls sweep_*.c; fi) |
        sed 's/\.c$//'
}

checks_path() {
    case $1 in
        lives:*) printf '%s/test/lives/run.sh\n' "$checks_source" ;;
        sweep_*) printf '%s/test/sweep/%s\n' "$build" "$1" ;;
        *) printf '%s/test/unit/%s\n' "$build" "$1" ;;
    esac
}

# What a sweep tries for every change is enough here.
checks_run() {
    local limit=$1 log=$2 program=$3 argument=''
    shift 3
    case $program in
        sweep_*) argument=change ;;
        lives:*) # some lives with that actor
            set -- "$@" env REDSET_BUILD_DIR="$build" REDSET_SOURCE_DIR="$checks_source" HDF5_PLUGIN_PATH="$build/plugins"
            argument="--seed 1 --lives 8 --actor ${program#lives:}" ;;
    esac
    # shellcheck disable=SC2086 # arguments are words
    nice timeout --kill-after=10 "$limit" "$@" "$(checks_path "$program")" $argument </dev/null >"$log" 2>&1
}

checks_table() {
    awk -F '\t' '{ line[NR] = $0; for (i = 1; i < NF; i++) if (length($i) > w[i]) w[i] = length($i) }
        END { for (n = 1; n <= NR; n++) {
                  k = split(line[n], f, "\t")
                  for (i = 1; i < k; i++) printf "%-" w[i] "s  ", f[i]
                  print f[k] } }'
}

checks_failed() {
    printf 'FAILED: %s\n' "$*"
    checks_bad=$((checks_bad + 1))
}

checks_end() {
    printf '%s\n' "$*"
    [ "$checks_bad" = 0 ]
}
