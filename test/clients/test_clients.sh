#!/usr/bin/env bash
# Programs that know nothing of redset (examples/clients/), with the libraries that people really use:
#
#   ranks     4 ranks on 4 nodes write a file each. Node after node is lost, a byte is wrong: every time
#             the next job finds all files bit for bit as they were, and goes on with them. What was lost is
#             then read without us.
#   alone     one process without MPI: h5py, ncdump, HDF5's tools, by environment and by --vfd-name. What
#             is whole passes through; what is damaged is mended, or refused when too little is in reach.
#
# A client is left out, with the reason, when its packages are not here or use another HDF5 than the driver was
# built for (Debian's netCDF and PyTables: the serial one; h5py is there for both). With REDSET_SETUP_CLIENTS
# (cmake/setup.sh) they are to be here, and what is missing is a failure.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=test/clients/here.sh
. "$REDSET_SOURCE_DIR/test/clients/here.sh"
command -v "${MPIEXEC:-mpirun}" >/dev/null || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }
clients=$REDSET_SOURCE_DIR/examples/clients
unset HDF5_DRIVER HDF5_DRIVER_CONFIG
trap cluster_down EXIT
tried=''

without_us() (
    unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_PLUGIN_PATH H5PY_ALWAYS_USE_MPI
    "$@"
)

# ---- the files ----

keep() { rm -rf "$kept" && cp -a "$CLUSTER_DIR/nodes" "$kept"; }
put_back() { rm -rf "$CLUSTER_DIR/nodes" && cp -a "$kept" "$CLUSTER_DIR/nodes"; }
as_kept() { diff -r -x '*.redset.names' "$kept" "$CLUSTER_DIR/nodes"; }
of_rank() { echo "$(cluster_storage "$1")/${pattern/\%d/$1}"; }
protected() { # the file of each rank, its header and its share of the redundancy
    local k
    for k in 0 1 2 3; do
        if [ ! -s "$(of_rank "$k")" ] || [ "$(find "$(cluster_storage "$k")" -name '*.redset' | wc -l)" != 2 ]; then
            find "$CLUSTER_DIR/nodes" -type f
            return 1
        fi
    done
}
flip_data() { # in its middle
    [ -s "$1" ] && flip "$1" $(($(stat -c %s "$1") / 2))
}
flip_superblock() { flip "$1" 8; } # its version: nobody opens the file without reading it

# ---- ranks ----

run() { cluster_run "${program[@]}" "$CLUSTER_LOCAL" "$1"; }
reads() { # STEPS: and every rank says so
    run read && [ "$(grep -c "^rank [0-3]: $1 steps as written$" "$log")" = 4 ]
}
sees_it() { HDF5_DRIVER_CONFIG+=' timeout=2' run read; } # the others need not wait long for who does not
rebuilds() { cluster_run "$REDSET_BUILD_DIR/tools/h5redset" rebuild "$CLUSTER_LOCAL"; }
says_back() { grep -qE '( was| were|:) rebuilt( \(rank [0-9]+ on [^)]+\))?$' "$log"; }
reads_h5py() { python3 "$clients/h5py_serial.py" read "$1"; }

# story NAME READER [looks]: the client in $program, with files called $pattern, which READER can read. looks: it looks
# for its files by itself before it asks HDF5 for them, so h5redset has to bring back what is lost.
story() {
    local first=()
    echo "$1:"
    tried+=" $1"
    kept=$CLUSTER_DIR/kept.$1
    rm -rf "$CLUSTER_DIR"/nodes/*/*
    export HDF5_DRIVER=redset HDF5_DRIVER_CONFIG='scheme=RS checksums=2 required=yes timeout=20'
    check 'written by 4 ranks' all run write , protected
    keep
    cluster_lose_node 2
    if [ "${3:-}" = looks ]; then
        check 'node 2 lost, and it does not ask for what it does not see' all not sees_it , not test -e "$(of_rank 2)"
        first=(rebuilds ',')
    fi
    check 'node 2 lost, read by the next job' all "${first[@]}" reads 3 , says_back , as_kept
    check 'what was lost, read without us' without_us "$2" "$(of_rank 2)"
    cluster_lose_node 0
    check 'node 0 lost, the next job goes on' all "${first[@]}" run append , says_back , protected , not as_kept
    keep
    check 'a bit is wrong on node 0' all flip_data "$(of_rank 0)" , reads 4 , says_back , as_kept
    cluster_lose_node 3
    check 'node 3 lost, a bit is wrong on node 1' all flip_data "$(of_rank 1)" , "${first[@]}" reads 4 , says_back , as_kept
    unset HDF5_DRIVER HDF5_DRIVER_CONFIG
}

netcdf() {
    command -v nc-config >/dev/null || { echo 'no nc-config'; return; }
    # shellcheck disable=SC2046 # words
    built netcdf_mpi mpicc "$clients/netcdf_mpi.c" -o "$CLUSTER_DIR/netcdf_mpi" $(nc-config --cflags --libs) -lm
}

cluster_up 4 1
log=$CLUSTER_DIR/log
cd "$CLUSTER_DIR"

pattern=h5py.%d.h5 program=(python3 "$clients/h5py_mpi.py")
if here h5py "$(module 'import mpi4py, h5py; print(h5py.h5f.__file__)')"; then story h5py reads_h5py; fi
pattern=fortran.%d.h5 program=("$CLUSTER_DIR/fortran_mpi")
if here Fortran "$(fortran fortran_mpi "$clients/fortran_mpi.f90")"; then story Fortran h5dump; fi
pattern=netcdf.%d.nc program=("$CLUSTER_DIR/netcdf_mpi")
if here netCDF "$(netcdf)"; then story netCDF ncdump looks; fi
pattern=pytables.%d.h5 program=(python3 "$clients/pytables_mpi.py")
if here PyTables "$(module 'import mpi4py, tables.hdf5extension as t; print(t.__file__)')"; then story PyTables h5dump looks; fi
pattern=pandas.%d.h5 program=(python3 "$clients/pandas_mpi.py")
if here pandas "$(module 'import mpi4py, pandas, tables.hdf5extension as t; print(t.__file__)')"; then
    story pandas h5dump looks
fi

# ---- alone ----

# What is asked of $file; options of the tool come first.
by_h5py() { reads_h5py "$file"; }
by_ncdump() { ncdump "$file"; }
by_h5dump() { h5dump "$@" "$file"; }
by_h5ls() { h5ls "$@" -r -d "$file" >list && cat list && ! grep -q 'Unable to print data' list; } # it ends with 0 all the same
by_h5stat() { h5stat "$file"; }
by_h5diff() { h5diff "$@" "$file" "$good"; }
by_h5repack() { rm -f out.h5 && h5repack "$@" "$file" out.h5 && without_us h5diff out.h5 "$good"; }
by_h5copy() { rm -f out.h5 && h5copy -i "$file" -o out.h5 -s /u -d /u && without_us h5diff out.h5 "$good"; }
by_h5clear() { h5clear -s "$file"; }
# What must not come of a damaged file: a difference, a copy. An error does, and is another exit status.
finds_a_difference() {
    local status=0
    h5diff "$@" "$file" "$good" || status=$?
    [ $status = 1 ]
}
makes_a_copy() { h5repack "$@" "$file" out.h5; }

# a file of rank 2, looked at from outside: where all nodes can be seen, if search= says so
begin() {
    put_back
    file=$(of_rank 2) good=$kept/node2/${pattern/\%d/2}
}
everywhere=search=$(cluster_storage 0):$(cluster_storage 1):$(cluster_storage 3)

# asked HOW DAMAGE WHAT [OPTION...]: with us it prints what it prints of the whole file without us, and what was
# damaged is mended. HOW: environment, or options.
asked() {
    local with=("${@:3}") status=0
    [ "$1" != environment ] || with=(by_environment "$everywhere" "${with[@]}")
    begin
    without_us "$3" >expected || return 1
    begin # h5clear without us is another program that has written to the file
    "$2" "$file" || return 1
    "${with[@]}" >said || status=$?
    [ $status = 0 ] && diff expected said && as_kept
}
damaged() { flip_superblock "$1" && flip_data "$1"; }
lost() { rm "$1"; }
whole() { true; }

# refused COMMAND...: too little is in reach, so it fails, and nothing is changed
refused() {
    begin
    flip_data "$file" || return 1
    rm -rf "$CLUSTER_DIR/before" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/before"
    ! "$@" >said || return 1
    diff -r "$CLUSTER_DIR/before" "$CLUSTER_DIR/nodes"
}
by_environment() { HDF5_DRIVER=redset HDF5_DRIVER_CONFIG=$1 "${@:2}"; }

passes_through() {
    rm -rf with without && mkdir with without
    without_us python3 "$clients/h5py_serial.py" write without/new.h5
    by_environment scheme=XOR python3 "$clients/h5py_serial.py" write with/new.h5
    diff -r without with
}

if [ "$parallel" = OFF ] && [ -d "$CLUSTER_DIR/kept.h5py" ]; then
    echo 'h5py alone:'
    pattern=h5py.%d.h5 kept=$CLUSTER_DIR/kept.h5py
    check 'a new file passes through' passes_through
    for what in whole flip_data damaged lost; do check "$what" asked environment $what by_h5py; done
    check 'damaged, nothing in reach' refused by_environment scheme=XOR by_h5py
fi
if [ -d "$CLUSTER_DIR/kept.netCDF" ]; then
    echo 'ncdump alone:'
    pattern=netcdf.%d.nc kept=$CLUSTER_DIR/kept.netCDF
    for what in whole flip_data damaged; do check "$what" asked environment $what by_ncdump; done
    check 'damaged, nothing in reach' refused by_environment scheme=XOR by_ncdump
fi
if [ -n "${REDSET_HDF5_TOOLDIR:-}" ] && [ -d "$CLUSTER_DIR/kept.h5py" ]; then
    echo 'tools:'
    pattern=h5py.%d.h5 kept=$CLUSTER_DIR/kept.h5py
    for tool in h5dump h5ls h5stat h5diff h5repack h5copy h5clear; do
        check "HDF5_DRIVER=redset $tool, whole" asked environment whole by_$tool
        check "HDF5_DRIVER=redset $tool, damaged" asked environment damaged by_$tool
    done
    by_name() { # WHAT PREFIX SUFFIX REFUSED: what is asked, the names of the options, what must not work
        local name=--${2}vfd-name$3=redset info=--${2}vfd-info$3
        check "${1#by_} $name $info" asked options damaged "$1" "$name" "$info=$everywhere"
        check "${1#by_} $name, nothing in reach" refused "$4" "$name"
    }
    by_name by_h5dump '' '' by_h5dump
    by_name by_h5ls '' '' by_h5ls
    by_name by_h5diff '' -1 finds_a_difference
    by_name by_h5repack src- '' makes_a_copy
fi

[ -n "$tried" ] || { echo 'SKIP: no client is here that uses the HDF5 of this build; the lines above say why'; exit 77; }
finish
