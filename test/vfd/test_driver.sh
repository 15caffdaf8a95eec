#!/usr/bin/env bash
# The driver beside sec2, in processes without MPI: the same programs, run with either, must print the
# same lines, leave the same files and end the same way.
#
#   scenarios   test/vfd/driver*.c: opening, errors with errno, locks, SWMR, links, late closes, ...
#   settings    test/vfd/link_fapl.c: H5FDredset.h; HDF5_DRIVER_CONFIG; communicators on two ranks
#   tools       h5dump and others with HDF5_DRIVER and with --vfd-name; what they say of wrong settings
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
bin=$REDSET_BUILD_DIR/test/vfd
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # a scenario gives up its privileges
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_USE_FILE_LOCKING
failures=0
# Times are in files and messages: the clock stands still. Open MPI, in a parallel HDF5, waits for ever for
# it to go on; there the runs are repeated when a second may have passed between them.
clock=$bin/libpreload_clock.so tries=1
if [ "${REDSET_HDF5_PARALLEL:-OFF}" != OFF ]; then clock='' tries=3; fi

failed() { printf '  FAILED  %s\n' "$1"; sed 's/^/          | /' "$2"; failures=$((failures + 1)); }
passed() { printf '  ok      %s\n' "$1"; }

# run WHAT DRIVER COMMAND...: in a directory of its own; $out/{stdout,stderr,status} tell how it went
run() {
    local work=$dir/$1/$2 driver=$2
    out=$dir/$1.$2
    shift 2
    mkdir -p "$work" "$out"
    (
        cd "$work"
        [ "$driver" = sec2 ] || export HDF5_DRIVER=$driver
        status=0
        [ -z "$clock" ] || export LD_PRELOAD=$clock
        "$@" >"$out/stdout" 2>"$out/all-stderr" || status=$?
        echo "$status" >"$out/status"
    )
    sed "s,$work/*,,g" -i "$out/stdout"
    # the one way in which the driver speaks by itself, from close: that nobody protects the file
    sed -e "s,$work/*,,g" -e '/^redset: /d' "$out/all-stderr" >"$out/stderr"
    rm "$out/all-stderr"
}

# equal WHAT [DIFF-ARGUMENT...]: both runs, outcome and files; what differs is in $dir/WHAT.diff
equal() {
    local what=$1 log=$dir/$1.diff
    shift
    diff -r "$dir/$what.sec2" "$dir/$what.redset" >"$log" &&
        diff -r --no-dereference -x '*.redset' -x '*.redset.names' "$@" "$dir/$what/sec2" "$dir/$what/redset" >>"$log"
}

# same WHAT [DIFF-ARGUMENT...]: the same, and says so
same() { if equal "$@"; then passed "$1"; else failed "$1" "$dir/$1.diff"; fi; }

echo 'scenarios:'
[ "$("$bin/driver" list | wc -l)" -gt 20 ]
for what in $("$bin/driver" list); do
    for ((try = 1; try <= tries; try++)); do
        rm -rf "${dir:?}/$what" "$dir/$what.sec2" "$dir/$what.redset"
        run "$what" sec2 "$bin/driver" "$what"
        run "$what" redset "$bin/driver" "$what"
        if equal "$what"; then break; fi
    done
    grep -qx 0 "$out/status" || failed "$what: exit status" "$out/status"
    same "$what"
done

# What the scenarios must have met: if sec2 itself no longer says so, they test nothing.
[ "$(cat "$dir"/*.redset/stdout | grep -c ': ok, printed 0$')" -gt 120 ] || { echo 'most calls failed'; exit 1; }
for text in 'errno = 2,' 'errno = 13,' 'errno = 17,' 'errno = 21,' 'errno = 40,' 'errno = 11,' \
    'file signature not found' 'truncated file' 'already open for read-only' 'unable to lock'; do
    grep -rqF "$text" "$dir"/*.redset/stdout ||
        { echo "$text" >"$dir/text"; failed 'nobody met this error' "$dir/text"; }
done

echo 'settings:'
# settings NAME COMMAND...
settings() {
    local name=$1
    shift
    mkdir -p "$dir/$name"
    if (cd "$dir/$name" && "$@") >"$dir/log" 2>&1; then passed "$name"; else failed "$name" "$dir/log"; fi
}
settings 'property lists' "$bin/link_fapl" struct
settings 'property lists, HDF5_DRIVER' env HDF5_DRIVER=redset "$bin/link_fapl" struct
settings 'files' "$bin/link_fapl" files
settings 'files, HDF5_DRIVER' env HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=scheme=RS "$bin/link_fapl" files
settings 'environment' env HDF5_DRIVER_CONFIG=scheme=partner "$bin/link_fapl" env
mkdir "$dir/copy"
cp "$HDF5_PLUGIN_PATH/libhdf5_vfd_redset.so" "$dir/copy"
settings 'two copies of the library' env HDF5_DRIVER=redset HDF5_PLUGIN_PATH="$dir/copy" "$bin/link_fapl" copies
if command -v "${MPIEXEC:-mpirun}" >/dev/null; then
    # shellcheck source=cmake/mpi_settings.sh
    . "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
    redset_mpi_settings
    settings 'communicators' timeout 60 "${MPIEXEC:-mpirun}" -n 2 "$bin/link_fapl" comm
fi

echo 'tools:'
if [ -z "${REDSET_HDF5_TOOLDIR:-}" ]; then
    echo '  left out: no tools of this HDF5 here'
    exit $((failures > 0))
fi
PATH=$REDSET_HDF5_TOOLDIR:$PATH
cp "$dir/chunks/sec2/a.h5" "$dir/a.h5"
cp "$dir/virtual_dataset/sec2/v.h5" "$dir/v.h5"
printf 'no HDF5 in here\n' >"$dir/text"
number=0
# tool COMMAND...: in an environment with either driver
tool() {
    local name=tool$((number += 1)) driver
    for driver in sec2 redset; do
        mkdir -p "$dir/$name/$driver"
        cp "$dir"/{a.h5,v.h5,text} "$dir/$name/$driver"
        run "$name" "$driver" "$@"
    done
    same "$name" >"$dir/log"
    if grep -q ok "$dir/log"; then passed "$*"; else cat "$dir/log"; fi
}
tool h5dump a.h5
tool h5dump -H -p v.h5
tool h5dump missing.h5
tool h5dump text
tool h5ls -r a.h5
tool h5stat a.h5
tool h5diff a.h5 v.h5
tool h5copy -i a.h5 -o a.h5 -s /d -d /copy
tool h5copy -i a.h5 -o new.h5 -s /d -d /copy
# not compared byte by byte: these write the time of day into the file
tool sh -c 'h5repack a.h5 new.h5 && h5dump new.h5 && rm new.h5'
tool sh -c 'h5repack -l d:CONTI -f g0:NONE a.h5 new.h5 && h5dump -p new.h5 && rm new.h5'
tool h5mkgrp a.h5 group
tool h5mkgrp new.h5 group
tool h5clear -s a.h5

# By name: the settings reach the driver, and what it says reaches the user.
# says TEXT STATUS COMMAND...
says() {
    local text=$1 want=$2 status=0
    shift 2
    (cd "$dir" && "$@") >"$dir/log" 2>&1 || status=$?
    if [ "$status" = "$want" ] && grep -qF "$text" "$dir/log"; then
        passed "$* says: $text"
    else
        { echo "exit status $status, expected $want and: $text"; cat "$dir/log"; } >"$dir/text.log"
        failed "$*" "$dir/text.log"
    fi
}
by_name='--enable-error-stack=2 --vfd-name redset'
# shellcheck disable=SC2086 # several words
{
    says 'GROUP "g0"' 0 h5dump $by_name a.h5
    says 'GROUP "g0"' 0 h5dump --vfd-value 511 a.h5
    says 'GROUP "g0"' 0 h5dump $by_name --vfd-info '{scheme: RS; checksums: 3}' a.h5
    says 'g0' 0 h5ls --vfd-name=redset --vfd-info='scheme=RS checksums=3' a.h5
    says 'errno = 2,' 1 h5dump $by_name missing.h5
    says 'there is no key "checksum" (is "checksums" meant?); possible: scheme, set_size' 1 h5dump $by_name --vfd-info 'checksum=2' a.h5
    says 'scheme cannot be "RAID"; possible: SINGLE, PARTNER, XOR, RS' 1 h5dump $by_name --vfd-info 'scheme=RAID' a.h5
    says 'a set of 4 members can have 1 to 3' 1 h5dump $by_name --vfd-info 'scheme=RS;set_size=4;checksums=4' a.h5
    says 'there is no key "x"' 1 env HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=x=1 h5copy --enable-error-stack -i a.h5 -o new.h5 -s /d -d /copy
}

if [ "$failures" != 0 ]; then echo "$failures failed"; exit 1; fi
