#!/usr/bin/env python3
"""h5py_mpi.py - h5py and mpi4py, every rank with a file of its own: DIR/h5py.<rank>.h5

    mpirun -n 4 python3 h5py_mpi.py DIR write     a new file with three steps
    mpirun -n 4 python3 h5py_mpi.py DIR append    one more step in the file that is there
    mpirun -n 4 python3 h5py_mpi.py DIR read      are all steps as they were written?

It works with either build of h5py: one of a parallel HDF5 (Debian: python3-h5py-mpi) and one of a serial
HDF5 (python3-h5py-serial, and what pip installs). For files that are one per rank the serial one does.
How the files are kept safe is no business of this program. It helps, as with any such program, that all
ranks open and close their files in the same order, and that it opens a file rather than look whether it
is there.
"""

import sys

import h5py
import numpy as np
from mpi4py import MPI

POINTS = 20000


def values(rank, step):
    return np.sin(np.arange(POINTS) * (rank + 1)) + step


def append(file, rank):
    u = file["u"]
    step = len(u)
    u.resize(step + 1, axis=0)
    u[step] = values(rank, step)
    u.attrs["steps"] = step + 1


def main():
    directory, command = sys.argv[1:]
    rank = MPI.COMM_WORLD.rank
    name = f"{directory}/h5py.{rank}.h5"

    if command == "write":
        with h5py.File(name, "w") as file:
            file.create_dataset("u", (0, POINTS), "f8", maxshape=(None, POINTS), chunks=(1, POINTS))
            for _ in range(3):
                append(file, rank)
    elif command == "append":
        with h5py.File(name, "r+") as file:
            append(file, rank)
    elif command == "read":
        with h5py.File(name, "r") as file:
            u = file["u"][...]
            if len(u) != file["u"].attrs["steps"]:
                sys.exit(f"rank {rank}: steps are missing")
        for step, row in enumerate(u):
            if not np.array_equal(row, values(rank, step)):
                sys.exit(f"rank {rank}: step {step} is not what was written")
        print(f"rank {rank}: {len(u)} steps as written", flush=True)
    else:
        sys.exit(__doc__)


main()
