#!/usr/bin/env python3
"""pytables_mpi.py - PyTables and mpi4py, every rank with a file of its own: DIR/pytables.<rank>.h5

    mpirun -n 4 python3 pytables_mpi.py DIR write     a new file with a table of three steps
    mpirun -n 4 python3 pytables_mpi.py DIR append    one more step in the file that is there
    mpirun -n 4 python3 pytables_mpi.py DIR read      are all rows as they were written?

PyTables looks for a file by its own means before it lets HDF5 open it: a file that is lost is "not there"
for it, although opening it would rebuild it. After a node was lost the files have to be rebuilt before this
program starts (../README.md); damage in files that are there is repaired without that.
"""

import sys

import numpy as np
import tables
from mpi4py import MPI

ROWS = 5000
PARTICLE = np.dtype([("step", "i4"), ("x", "f8"), ("v", "f8")])


def values(rank, step):
    rows = np.empty(ROWS, PARTICLE)
    rows["step"] = step
    rows["x"] = np.sin(np.arange(ROWS) * (rank + 1)) + step
    rows["v"] = np.cos(np.arange(ROWS) * (rank + 1))
    return rows


def append(file, rank):
    particles = file.root.particles
    particles.append(values(rank, particles.nrows // ROWS))
    particles.flush()


def main():
    directory, command = sys.argv[1:]
    rank = MPI.COMM_WORLD.rank
    name = f"{directory}/pytables.{rank}.h5"

    if command == "write":
        with tables.open_file(name, "w") as file:
            file.create_table("/", "particles", PARTICLE)
            for _ in range(3):
                append(file, rank)
    elif command == "append":
        with tables.open_file(name, "r+") as file:
            append(file, rank)
    elif command == "read":
        with tables.open_file(name, "r") as file:
            rows = file.root.particles.read()
        steps = len(rows) // ROWS
        for step in range(steps):
            if not np.array_equal(rows[step * ROWS : (step + 1) * ROWS], values(rank, step)):
                sys.exit(f"rank {rank}: step {step} is not what was written")
        print(f"rank {rank}: {steps} steps as written", flush=True)
    else:
        sys.exit(__doc__)


main()
