#!/usr/bin/env python3
"""pandas_mpi.py - pandas and mpi4py, every rank with a store of its own: DIR/pandas.<rank>.h5

    mpirun -n 4 python3 pandas_mpi.py DIR write     a new store with a table of three steps
    mpirun -n 4 python3 pandas_mpi.py DIR append    one more step in the store that is there
    mpirun -n 4 python3 pandas_mpi.py DIR read      are all rows as they were written?

pandas keeps its HDF5 files with PyTables, and shares its habit of looking for a file before it lets HDF5
open it: see pytables_mpi.py for what that means for a file that is lost.
"""

import sys

import numpy as np
import pandas as pd
from mpi4py import MPI

ROWS = 5000


def values(rank, step):
    i = np.arange(ROWS)
    return pd.DataFrame({"step": step, "x": np.sin(i * (rank + 1)) + step}, index=i + step * ROWS)


def main():
    directory, command = sys.argv[1:]
    rank = MPI.COMM_WORLD.rank
    name = f"{directory}/pandas.{rank}.h5"

    if command == "write":
        with pd.HDFStore(name, "w") as store:
            for step in range(3):
                store.append("particles", values(rank, step))
    elif command == "append":
        with pd.HDFStore(name, "r+") as store:
            step = store.get_storer("particles").nrows // ROWS
            store.append("particles", values(rank, step))
    elif command == "read":
        rows = pd.read_hdf(name, "particles")
        steps = len(rows) // ROWS
        if not rows.equals(pd.concat([values(rank, step) for step in range(steps)])):
            sys.exit(f"rank {rank}: the rows are not what was written")
        print(f"rank {rank}: {steps} steps as written", flush=True)
    else:
        sys.exit(__doc__)


main()
