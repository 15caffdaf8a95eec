#!/usr/bin/env python3
"""h5py_serial.py - h5py in a single process, without MPI, as in a notebook.

    python3 h5py_serial.py write FILE    a small new file
    python3 h5py_serial.py read FILE     all datasets of any HDF5 file: name, shape, type, checksum

To look into a file that the ranks of a parallel program have written, nothing of that program is needed.
Under a driver that protects files such a process cannot protect anything, there are no other ranks; but
what it reads is verified, and a damaged or lost file is repaired from what this machine can reach.
"""

import sys
import zlib

import h5py
import numpy as np


def show(name, thing):
    if isinstance(thing, h5py.Dataset):
        print(name, thing.shape, thing.dtype, f"{zlib.crc32(thing[()].tobytes()):08x}")


def main():
    command, name = sys.argv[1:]
    if command == "write":
        with h5py.File(name, "w") as file:
            file["series/squares"] = np.arange(10000.0) ** 2
            file["series"].attrs["unit"] = "m2"
    elif command == "read":
        with h5py.File(name, "r") as file:
            file.visititems(show)
    else:
        sys.exit(__doc__)


main()
