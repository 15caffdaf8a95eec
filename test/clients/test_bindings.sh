#!/usr/bin/env bash
# The Fortran and the Python module of bindings/:
#
#   layout    the types of both have the size, and each member the place and the kind, that C's have; constants the same
#             values. layout.py makes the programs from the header
#   calls     a program in each language calls every function on 4 ranks, and one node is lost meanwhile
#   h5py      the program in the user guide; with another HDF5 than the driver's: the error says it
#
# What is not here is left out, with the reason, as in test_clients.sh; the layout needs mpicc, mpifort and Python only.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=test/clients/here.sh
. "$REDSET_SOURCE_DIR/test/clients/here.sh"
command -v "${MPIEXEC:-mpirun}" >/dev/null || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }
unset HDF5_DRIVER HDF5_DRIVER_CONFIG
header=$REDSET_SOURCE_DIR/include/H5FDredset.h
python=$REDSET_SOURCE_DIR/bindings/python
module_f90=$REDSET_SOURCE_DIR/bindings/fortran/h5fd_redset.f90
linked=("-L$HDF5_PLUGIN_PATH" "-Wl,-rpath,$HDF5_PLUGIN_PATH" -lhdf5_vfd_redset "-Wl,-rpath,$(dirname "$ours")")
export PYTHONPATH=$python
trap cluster_down EXIT
cluster_up 4 1
log=$CLUSTER_DIR/log
cd "$CLUSTER_DIR"

layout() { python3 "$REDSET_SOURCE_DIR/test/clients/layout.py" "$header" "$python/h5redset.py" "$1"; }
in_c() {
    layout c >layout.c && mpicc -I"$(dirname "$header")" \
        -I"$(sed -n 's/^REDSET_HDF5_INCLUDE:[A-Z]*=//p' "$REDSET_BUILD_DIR/CMakeCache.txt")" layout.c -o layout_c &&
        ./layout_c >expected && [ "$(wc -l <expected)" -gt 100 ]
}
in_fortran() {
    layout fortran >layout.f90 &&
        mpifort -std=f2018 -Wall -Wextra -Werror -c "$module_f90" -o module.o &&
        mpifort layout.f90 module.o -o layout_fortran "${linked[@]}" &&
        ./layout_fortran >found && diff expected found
}
in_python() {
    layout python >found && grep -vE '^H5FD_REDSET_(CONFIG_|KEEP_ALL)' expected | diff - found
}

echo 'layout:'
check 'C' in_c
check 'Python: the same' in_python
if command -v mpifort >/dev/null; then
    check 'Fortran: the same' in_fortran
else
    here Fortran 'no mpifort' || true
fi

# calls NAME PROGRAM...: all of its cases are right on all ranks
calls() {
    echo "$1:"
    rm -rf "$CLUSTER_DIR"/nodes/*/*
    check 'a file with two commits, and what is told of it' case_is_right write "${@:2}"
    cluster_lose_node 2
    check 'node 2 lost: the status says who was rebuilt' all case_is_right read "${@:2}" , grep -q 'was rebuilt (rank 2 on ' "$log"
    check 'all other calls' case_is_right rest "${@:2}"
    check 'errors' case_is_right errors "${@:2}"
}
case_is_right() {
    cluster_run "${@:2}" "$CLUSTER_LOCAL" "$1" && [ "$(grep -c "^rank [0-3]: $1 is right\$" "$log")" = 4 ]
}

tests=$REDSET_SOURCE_DIR/test/clients
if here Fortran "$(fortran calls_fortran "$module_f90" "$tests/calls_fortran.f90" "${linked[@]}")"; then
    calls Fortran ./calls_fortran
fi
if here h5py "$(module 'import mpi4py, h5py; print(h5py.h5f.__file__)')"; then
    calls h5py python3 "$tests/calls_h5py.py"
    of_the_guide() {
        awk '/^```/ { inside = $0 == "```python"; next } inside' "$REDSET_SOURCE_DIR/docs/user-guide.md" >guide.py &&
            cluster_run python3 guide.py && [ "$(find . -maxdepth 1 -name 'ckpt_[0-3].h5.*.redset' | wc -l)" = 8 ]
    }
    check 'the program in the user guide' of_the_guide
    other=H5PY_ALWAYS_USE_MPI
    [ "$parallel" = OFF ] || other=H5PY_NEVER_USE_MPI
    of_another_hdf5() {
        env -u H5PY_ALWAYS_USE_MPI -u H5PY_NEVER_USE_MPI "$other=1" python3 -c "import h5redset; h5redset.driver()" 2>&1 | tee said
        grep -q 'h5redset.Error: .*/libhdf5_vfd_redset.so was built for another HDF5 than that of h5py' said
    }
    check 'h5py with another HDF5 than the driver' of_another_hdf5
fi
finish
