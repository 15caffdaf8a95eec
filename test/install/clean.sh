#!/usr/bin/env bash
# The Debian package in use, on a clean Debian 13 that knows nothing of where it was built: run as root there,
# with these beside it: the package, heat-serial and heat-openmpi (examples/heat.c, built for the two flavours
# of HDF5; they know nothing of redset), mpi_settings.sh. Installs and removes packages: CI makes a root for it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    printf 'FAILED: %s\n' "$1"
    [ ! -s "$work/log" ] || sed 's/^/   | /' "$work/log"
    exit 1
}
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$work/log" 2>&1 ||
        fail "apt-get install $*"
}

apt-get update >"$work/log" 2>&1 || fail 'apt-get update'
install "$here"/*.deb
echo 'clean: installed with what it depends on; its programs run'
for program in $(dpkg -L hdf5-vfd-redset | grep '^/usr/bin/'); do
    "$program" --help >"$work/log" 2>&1 || fail "$program --help"
    [ -f "/usr/share/man/man1/${program##*/}.1.gz" ] || fail "man ${program##*/}"
done
[ -z "$(dpkg --verify hdf5-vfd-redset)" ] || fail 'files are not as they were packed'
install hdf5-tools openmpi-bin
# shellcheck source=cmake/mpi_settings.sh
. "$here/mpi_settings.sh"
redset_mpi_settings

# run FLAVOUR ARGUMENT...: heat on 4 ranks with storage of their own, each one a node; leaves $work/log
run() {
    local flavour=$1
    shift
    "$MPIEXEC" -n 4 bash -c 'cd "$1/$2$OMPI_COMM_WORLD_RANK" && shift 2 && program=$1 && shift &&
        HDF5_DRIVER_CONFIG="scheme=XOR group=$OMPI_COMM_WORLD_RANK" exec "$program" --nx 64 --ny 64 --every 20 "$@"' \
        run "$work" "$flavour" "$here/heat-$flavour" "$@" >"$work/log" 2>&1
}

# the story of examples/quickstart.sh: nothing but HDF5_DRIVER, no HDF5_PLUGIN_PATH
for flavour in serial openmpi; do
    mkdir "$work/$flavour"{0..3}
    run $flavour --steps 19 --final "$work/$flavour.short" || fail "heat of $flavour, undisturbed"
    run $flavour --steps 100 --final "$work/$flavour.right" || fail "heat of $flavour, undisturbed"
    rm -r "$work/$flavour"{0..3}
    mkdir "$work/$flavour"{0..3}
    HDF5_DRIVER=redset run $flavour --steps 80 || fail "heat of $flavour under the driver"
    cp -a "$work/${flavour}2" "$work/lost"
    rm "$work/${flavour}2"/*
    if run $flavour --steps 80; then fail 'without the driver what is lost comes back, too: what was tried?'; fi
    HDF5_DRIVER=redset run $flavour --steps 100 --final "$work/$flavour.final" || fail "heat of $flavour, node lost"
    grep -q 'step 80: restarted' "$work/log" || fail 'it did not go on from its last checkpoint'
    cmp "$work/lost/heat_b.2.h5" "$work/${flavour}2/heat_b.2.h5" || fail 'another file came back'
    cmp "$work/$flavour.right" "$work/$flavour.final" || fail 'another result'
    if cmp -s "$work/$flavour.right" "$work/$flavour.short"; then fail 'the result is always the same'; fi
    rm -r "$work/lost"
    echo "clean: heat with the HDF5 of $flavour loses a node and goes on, with the same result"
done

# a damaged file in a process without MPI
file=$work/serial1/heat_b.1.h5
cp "$file" "$work/right.h5"
h5dump "$work/right.h5" | sed 1d >"$work/right.txt"
state() { # as h5redset has it
    local status=0
    h5redset status --verify "$work"/serial? >"$work/log" 2>&1 || status=$?
    [ $status = "$1" ] || fail "h5redset says $status, not $1"
}
state 0
time=$(stat -c %y "$file") # as a disk that fails: the time stays
printf X | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
touch -m -d "$time" "$file"
state 1
if h5dump "$file" | sed 1d | cmp -s - "$work/right.txt"; then fail 'nothing was damaged'; fi
LD_DEBUG=files LD_DEBUG_OUTPUT=$work/ld h5dump --vfd-name redset "$file" 2>"$work/log" | sed 1d |
    cmp - "$work/right.txt" || fail 'h5dump --vfd-name redset'
cmp "$file" "$work/right.h5" || fail 'h5dump --vfd-name redset did not repair the file'
state 0
grep -q libhdf5_vfd_redset "$work"/ld.* || fail 'h5dump loaded no plugin'
if grep -q libmpi "$work"/ld.*; then fail 'the plugin brought MPI into h5dump'; fi
echo 'clean: h5dump mends a damaged file, without MPI'

# Python, with nothing set but where the module is, beside which it leaves what it has compiled
install python3-h5py python3-h5py-serial
PYTHONPATH=/usr/share/redset/python python3 - "$work/python.h5" >"$work/log" 2>&1 <<'END' || fail 'h5redset.py'
import sys
import h5py, h5redset
with h5py.File(sys.argv[1], "w", driver="redset", scheme="SINGLE") as file:
    file["step"] = 4000
    h5redset.label(file, "step 4000")
status = h5redset.status(sys.argv[1])
sys.exit((status.scheme, status.is_protected, status.label) != ("SINGLE", True, "step 4000"))
END
echo 'clean: h5redset.py protects a file of h5py, and tells it'

DEBIAN_FRONTEND=noninteractive apt-get purge -y hdf5-vfd-redset >"$work/log" 2>&1 || fail 'apt-get purge'
left=$(find / -xdev -name '*redset*' ! -path "$here/*" ! -path "$work/*")
[ -z "$left" ] || fail "left behind: $left"
echo 'clean: purged, nothing is left'
