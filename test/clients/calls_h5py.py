#!/usr/bin/env python3
"""calls_h5py.py DIR CASE - every function of h5redset.py, on 4 ranks with files of their own in DIR.

    write    a file with two commits, the second one at its close; what is told of it
    read     the same file after node 2 was lost
    rest     older generations, other names, groups, the background, files that are not HDF5, ranks without files
    errors   what fails raises Error with the text and the reason

Prints "rank N: CASE is right" when all is.
"""

import sys

import h5py
import h5redset
import numpy as np
from mpi4py import MPI

directory, case = sys.argv[1:]
rank = MPI.COMM_WORLD.rank
settings = {"scheme": "RS", "checksums": 2, "keep": 3, "timeout": 60, "required": True}


def name(of):
    return f"{directory}/{of}.{rank}.h5"


def check(what, found, expected=True):
    if found != expected:
        print(f"rank {rank}: {what}: found {found!r}, expected {expected!r}", flush=True)
        MPI.COMM_WORLD.Abort(1)


def create(of, commits=1, **more):
    """A file that is protected as often as that, the last time at its close."""
    with h5py.File(name(of), "w", driver="redset", **{**settings, **more}) as file:
        for n in range(commits):
            if n > 0:
                h5redset.commit(file)
            file[f"u{n}"] = np.arange(1000) * (rank + 1) + n
            h5redset.label(file, f"commit {n}")


def write():
    mine = MPI.COMM_WORLD.Dup()
    create("data", 2, comm=mine)
    with h5py.File(name("data"), "r", driver="redset", comm=mine, **settings) as file:
        fapl = file.id.get_access_plist()
        check("driver", fapl.get_driver(), h5redset.driver())
        told = h5redset.get_fapl(fapl)
        check("get_fapl", (told.scheme, told.checksums, told.keep, told.timeout), ("RS", 2, 3, 60.0))
        check("get_fapl, the other types", (told.required, told.verify, told.async_, told.files), (1, "OPEN", 0, ""))
    status = h5redset.status(name("data"))
    check("status", (status.scheme, status.parity, status.ranks, status.is_protected), ("RS", 2, 4, True))
    check("status, texts", (status.label, status.why, status.did), ("commit 1", "", "NOTHING"))
    stats = h5redset.stats(name("data"))
    check("stats", (stats.files_protected, h5redset.stats().files_protected), (2, 2))
    check("stats, seconds", stats.total > 0)
    mine.Free()

    pair = MPI.COMM_WORLD.Split(rank % 2)
    create("pair", comm=pair, scheme="XOR")
    check("ranks of a communicator", h5redset.status(name("pair")).ranks, 2)
    pair.Free()


def read():
    with h5py.File(name("data"), "r", driver="redset", **settings) as file:
        for n in range(2):
            check("content", np.array_equal(file[f"u{n}"][...], np.arange(1000) * (rank + 1) + n))
    status = h5redset.status(name("data"))
    check("status after a loss", (status.did, status.ranks_rebuilt), ("REBUILD" if rank == 2 else "NOTHING", 1))


def rest():
    create("older", 2)
    list_of = h5redset.generations(name("older"))
    check("generations", [(g.label, g.is_newest) for g in list_of], [("commit 1", True), ("commit 0", False)])
    h5redset.drop(name("older"), list_of[1].generation)
    check("drop", list_of[1].generation in [g.generation for g in h5redset.generations(name("older"))], False)
    h5redset.rename(name("older"), name("other"))
    check("rename", (h5redset.status(name("other")).is_protected, h5redset.generations(name("older"))), (True, []))

    h5redset.group([name("a"), name("b")])
    create("a")
    check("group, one of two", h5redset.status(name("a")).is_protected, False)
    create("b")
    check("group", [h5redset.status(name(of)).is_protected for of in "ab"], [True, True])

    create("behind", async_=True)
    h5redset.wait(name("behind"))
    check("test", (h5redset.test(name("behind")), h5redset.test()), (True, True))
    check("wait", h5redset.status(name("behind")).is_protected)

    if rank == 3:
        h5redset.skip("odd.*.h5")
    else:
        create("odd")
        check("skip", h5redset.status(name("odd")).ranks, 3)

    paths = [f"{directory}/plain.{rank}.txt", f"{directory}/more.{rank}.txt"]
    check("recover_files, never protected", h5redset.recover_files(paths, comm=MPI.COMM_WORLD, timeout=60), False)
    for path in paths:
        open(path, "w").write(path * 100)
    h5redset.protect_files(paths, scheme="XOR", timeout=60)
    if rank == 1:
        open(paths[1], "w").close()
    check("recover_files", h5redset.recover_files(paths, scheme="XOR", timeout=60))
    check("recover_files, content", open(paths[1]).read(), paths[1] * 100)
    h5redset.unprotect_files(paths)
    check("unprotect_files", h5redset.recover_files(paths), False)


def failure(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError as error:
        return error
    return None


def errors():
    create("data")
    with h5py.File(name("data"), "r+", driver="redset", **settings) as file:
        error = failure(h5redset.label, file, "two\nlines")
        check("error", (type(error), error.reason), (h5redset.Error, "USAGE"))
        check("its text", "H5FDredset_label: " in str(error) and "label" in str(error).split(": ", 1)[1])
    error = failure(h5redset.set_fapl, h5py.h5p.create(h5py.h5p.FILE_CREATE))
    check("error of HDF5", (type(error), error.reason), (h5redset.Error, None))
    check("minor", len({h5redset.minor(reason) for reason in h5redset.REASON}), len(h5redset.REASON))
    try:
        h5py.File(name("data"), "r", driver="redset", scheme="SOMETHING")
        check("a wrong setting is refused", False)
    except Exception as error:
        check("a wrong setting", "SOMETHING" in str(error))


{"write": write, "read": read, "rest": rest, "errors": errors}[case]()
print(f"rank {rank}: {case} is right", flush=True)
