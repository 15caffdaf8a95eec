"""h5redset - the functions of H5FDredset.h for programs that use h5py.

    import h5py, h5redset

    name = f"ckpt_{rank}.h5"                  # a file of each rank
    with h5py.File(name, "w", driver="redset", scheme="RS", checksums=2) as file:
        file["step"] = 4000
        h5redset.label(file, "step 4000")
        h5redset.commit(file)                 # collective, as closing the file is
    print(h5redset.status(name))

What each function does, and which are collective, is in H5FDredset.h and in the user guide. Settings are those of a
configuration string, with its defaults: scheme="RS", required=True, async_=True (async is a word of Python). A file is an
h5py.File or any of its ids, a property list is an h5py.h5p.PropFAID, a communicator is one of mpi4py. What fails raises
Error, a RuntimeError with the text of HDF5's error records.
"""

import collections
import ctypes
import os

import h5py
from h5py._objects import phil  # h5py's lock: a thread has it while it is in HDF5

_LIBRARY = "libhdf5_vfd_redset.so"

# Names of the values of enumerations, in the order of the header: H5FD_REDSET_VERIFY_READ is VERIFY[1].
SCHEME = ("SINGLE", "PARTNER", "XOR", "RS")
VERIFY = ("OPEN", "READ", "SIZE", "ALL")
MOVED = ("YES", "COPY", "NO")
CHANGED = ("RESTORE", "KEEP")
COMMIT = ("CLOSE", "FLUSH")
REASON = ("USAGE", "BUSY", "DAMAGED", "PEER_MISSING", "UNRECOVERABLE", "CHANGED")
DID = ("NOT_ASK", "NOTHING", "COPY", "MOVE", "REBUILD", "FORWARD", "BACK", "REFUSE", "FALL_BACK")

_GROUP_SIZE, _TEXT_SIZE, _GENERATION_SIZE, _LABEL_SIZE = 64, 1024, 264, 256

_text = ctypes.c_char * _TEXT_SIZE
_label = ctypes.c_char * _LABEL_SIZE
_hid = ctypes.c_int64
_count = ctypes.c_ulonglong


class Error(RuntimeError):
    """A call has failed. reason is one of REASON, or None: the failure has another minor number than those of redset."""

    reason = None


# ---- the structs of the header ----


class _Config(ctypes.Structure):
    _fields_ = [
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("size", ctypes.c_size_t),
        ("comm", ctypes.c_void_p),  # as wide as Open MPI's; MPICH's is an int, and padding
        ("fapl_id", _hid),
        ("timeout", ctypes.c_double),
        ("scheme", ctypes.c_int),
        ("set_size", ctypes.c_int),
        ("replicas", ctypes.c_int),
        ("checksums", ctypes.c_int),
        ("verify", ctypes.c_int),
        ("required", ctypes.c_int),
        ("atomic", ctypes.c_int),
        ("readonly_rebuild", ctypes.c_int),
        ("moved", ctypes.c_int),
        ("keep", ctypes.c_int),
        ("fallback", ctypes.c_int),
        ("changed", ctypes.c_int),
        ("commit", ctypes.c_int),
        ("async", ctypes.c_int),
        ("failure_group", ctypes.c_char * _GROUP_SIZE),
        ("files", _text),
        ("search", _text),
        ("report", _text),
        ("root", _text),
        ("together", _text),
        ("generation", ctypes.c_char * _GENERATION_SIZE),
        ("job", _label),
        ("parity", ctypes.c_int),
        ("team", _label),
    ]


class _Stats(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("files_protected", _count),
        ("bytes_protected", _count),
        ("files_verified", _count),
        ("bytes_verified", _count),
        ("files_rebuilt", _count),
        ("bytes_rebuilt", _count),
        ("files_unprotected", _count),
        ("total", ctypes.c_double),
        ("background", ctypes.c_double),
        ("rendezvous", ctypes.c_double),
        ("reading", ctypes.c_double),
        ("arithmetic", ctypes.c_double),
        ("sending", ctypes.c_double),
        ("writing", ctypes.c_double),
        ("syncing", ctypes.c_double),
        ("waiting", ctypes.c_double),
        ("other", ctypes.c_double),
    ]


class _Status(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("generation", _count),
        ("commits", _count),
        ("scheme", ctypes.c_int),
        ("parity", ctypes.c_int),
        ("ranks", ctypes.c_int),
        ("is_protected", ctypes.c_int),
        ("did", ctypes.c_int),
        ("ranks_concerned", _count),
        ("ranks_rebuilt", _count),
        ("why", _text),
        ("time", _count),
        ("label", _label),
        ("opened", _count),
        ("opened_commits", _count),
        ("opened_time", _count),
        ("opened_label", _label),
        ("state", ctypes.c_char * 32),
    ]


class _Generation(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("generation", _count),
        ("commits", _count),
        ("time", _count),
        ("scheme", ctypes.c_int),
        ("parity", ctypes.c_int),
        ("ranks", ctypes.c_int),
        ("is_newest", ctypes.c_int),
        ("file_size", _count),
        ("bytes", _count),
        ("is_here", ctypes.c_int),
        ("label", _label),
        ("why", _text),
    ]


class _Record(ctypes.Structure):
    """H5E_error2_t of HDF5."""

    _fields_ = [
        ("cls_id", _hid),
        ("maj_num", _hid),
        ("min_num", _hid),
        ("line", ctypes.c_uint),
        ("func_name", ctypes.c_char_p),
        ("file_name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
    ]


_internal = {"magic", "version", "size", "comm", "fapl_id"}  # of no use outside of a call
_names = {"scheme": SCHEME, "verify": VERIFY, "moved": MOVED, "changed": CHANGED, "commit": COMMIT, "did": DID}


def _tuple_of(name, struct):
    """A named tuple with the members of a struct; async is called async_."""
    shown = [field for field, _ in struct._fields_ if field not in _internal]
    return collections.namedtuple(name, [field + "_" * (field == "async") for field in shown])


Config = _tuple_of("Config", _Config)
Stats = _tuple_of("Stats", _Stats)
Status = _tuple_of("Status", _Status)
Generation = _tuple_of("Generation", _Generation)


def _told(kind, struct):
    """The members of a struct as a named tuple: texts as str, is_* as bool, enumerations as their names, else None."""
    values = []
    for field, _ in struct._fields_:
        value = getattr(struct, field)
        if field in _internal:
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        elif field in _names:
            value = _names[field][value] if 0 <= value < len(_names[field]) else None
        elif field.startswith("is_"):
            value = bool(value)
        values.append(value)
    return kind(*values)


# ---- the libraries ----

_visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Record), ctypes.c_void_p)
_paths_type = ctypes.POINTER(ctypes.c_char_p)
_config_type = ctypes.POINTER(_Config)

# Arguments of each function; the result is an int where none is named.
_hdf5_functions = {
    "H5Eclear2": [_hid],
    "H5Ewalk2": [_hid, ctypes.c_int, _visitor, ctypes.c_void_p],
    "H5Pset_driver_by_name": [_hid, ctypes.c_char_p, ctypes.c_char_p],
}
_redset_functions = {
    "H5FD_redset_init": [],
    "H5FD_redset_minor": [ctypes.c_int],
    "H5FD_redset_config_fill": [_config_type, ctypes.c_size_t],
    "H5Pset_fapl_redset": [_hid, _config_type],
    "H5Pget_fapl_redset": [_hid, _config_type],
    "H5FDredset_wait": [ctypes.c_char_p],
    "H5FDredset_test": [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)],
    "H5FDredset_stats": [ctypes.c_char_p, ctypes.POINTER(_Stats)],
    "H5FDredset_status": [ctypes.c_char_p, ctypes.POINTER(_Status)],
    "H5FDredset_generations": [ctypes.c_char_p, ctypes.POINTER(_Generation), ctypes.POINTER(ctypes.c_size_t)],
    "H5FDredset_group": [_paths_type, ctypes.c_size_t],
    "H5FDredset_commit": [_hid],
    "H5FDredset_label": [_hid, ctypes.c_char_p],
    "H5FDredset_protect_files": [_paths_type, ctypes.c_int, _config_type],
    "H5FDredset_recover_files": [_paths_type, ctypes.c_int, _config_type],
    "H5FDredset_unprotect_files": [_paths_type, ctypes.c_int, _config_type],
    "H5FDredset_rename": [ctypes.c_char_p, ctypes.c_char_p],
    "H5FDredset_drop": [ctypes.c_char_p, ctypes.c_ulonglong],
    "H5FDredset_skip": [ctypes.c_char_p],
}
_results = {"H5FD_redset_init": _hid, "H5FD_redset_minor": _hid, "H5FD_redset_config_fill": None}


def _with_types(library, functions):
    for name, arguments in functions.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = _results.get(name, ctypes.c_int)
    return library


def _loaded_plugin():
    """The plugin that h5py's HDF5 has loaded; by its bare name where HDF5_PLUGIN_PATH is relative to another directory."""
    folders = [os.fsdecode(h5py.h5pl.get(i)) for i in range(h5py.h5pl.size())]
    for path in [os.path.join(folder, _LIBRARY) for folder in folders] + [_LIBRARY]:
        try:
            return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
    raise Error(f"HDF5 has the driver redset, and {_LIBRARY} is not in its plugin directories: {folders}")


def _load():
    """HDF5 and the plugin, once for the process. HDF5 has to load the plugin itself, as it does for HDF5_DRIVER: from
    HDF5_PLUGIN_PATH, or from the directory that it was built with. RTLD_NOLOAD then gives the handle of that very library:
    a second copy would not know of the files that the first one has open. For the same reason HDF5 is the one that h5py is
    linked with, which is found through one of its modules."""
    hdf5 = _with_types(ctypes.CDLL(h5py.h5p.__file__), _hdf5_functions)
    plist = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    _call_in(hdf5, None, "H5Pset_driver_by_name", plist.id, b"redset", None)
    plugin = _loaded_plugin()
    addresses = [ctypes.cast(library.H5open, ctypes.c_void_p).value for library in (hdf5, plugin)]
    if addresses[0] != addresses[1]:
        raise Error(f"{plugin._name} was built for another HDF5 than that of h5py; install the driver for h5py's")
    return hdf5, _with_types(plugin, _redset_functions)


_libraries = None


def _call(name, *arguments):
    global _libraries
    with phil:
        if _libraries is None:
            _libraries = _load()
        return _call_in(*_libraries, name, *arguments)


def _call_in(hdf5, plugin, name, *arguments):
    """Calls a function under h5py's lock, and raises what it has failed with."""
    with phil:
        hdf5.H5Eclear2(0)
        result = getattr(hdf5 if name in _hdf5_functions else plugin, name)(*arguments)
        if result is not None and result < 0:
            raise _error(hdf5, plugin, name)
        return result


def _error(hdf5, plugin, name):
    texts, reasons = [], []

    @_visitor
    def visit(_, record, __):
        texts.append((record[0].desc or b"").decode("utf-8", "replace"))
        if plugin is not None:
            reasons.extend(r for i, r in enumerate(REASON) if plugin.H5FD_redset_minor(i) == record[0].min_num)
        return 0

    hdf5.H5Ewalk2(0, 0, visit, None)  # H5E_DEFAULT, H5E_WALK_UPWARD: the cause comes first
    text = "; ".join(dict.fromkeys(filter(None, texts)))
    error = Error(text if text.startswith(name) else f"{name}: {text}")
    error.reason = reasons[0] if reasons else None
    return error


# ---- arguments ----


def _id(thing):
    while not isinstance(thing, int):
        thing = thing.id
    return thing


def _path(path):
    return None if path is None else os.fsencode(path)


def _array(paths):
    return (ctypes.c_char_p * len(paths))(*map(os.fsencode, paths))


def _string(settings):
    """A configuration string."""
    words = []
    for key, value in settings.items():
        value = {True: "yes", False: "no"}[value] if isinstance(value, bool) else os.fsdecode(str(value))
        if '"' in value:
            raise ValueError(f'{key}: a value cannot have a " in it')
        words.append(f'{key.rstrip("_")}="{value}"')
    return os.fsencode(" ".join(words))


def _config_of(fapl):
    config = _Config()
    _call("H5FD_redset_config_fill", ctypes.byref(config), ctypes.sizeof(config))
    _call("H5Pget_fapl_redset", _id(fapl), ctypes.byref(config))
    return config


def _with_config(name, paths, comm, settings):
    """Calls a function for files that are not HDF5. Without settings it takes the defaults and HDF5_DRIVER_CONFIG."""
    array = _array(paths)
    if comm is None and not settings:
        return _call(name, array, len(array), None)
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)  # the communicator is valid as long as this
    set_fapl(fapl, comm, **settings)
    return _call(name, array, len(array), ctypes.byref(_config_of(fapl)))


# ---- what programs call ----


def driver():
    """The identifier of the driver, as h5py.h5p.PropFAID.get_driver returns it."""
    return _call("H5FD_redset_init")


def minor(reason):
    """The minor number of error records that have this reason, one of REASON."""
    return _call("H5FD_redset_minor", REASON.index(reason))


def set_fapl(fapl, comm=None, **settings):
    """Makes a property list use the driver. Collective over comm, if one is given. h5py.File(..., driver="redset",
    comm=..., SETTING=...) calls this."""
    _call("H5Pset_driver_by_name", _id(fapl), b"redset", _string(settings))
    if comm is not None:
        from mpi4py import MPI

        config = _config_of(fapl)
        size = min(MPI._sizeof(comm), ctypes.sizeof(ctypes.c_void_p))
        ctypes.memmove(ctypes.addressof(config) + _Config.comm.offset, MPI._addressof(comm), size)
        _call("H5Pset_fapl_redset", _id(fapl), ctypes.byref(config))


def get_fapl(fapl):
    """The settings in a property list that uses the driver, a Config."""
    return _told(Config, _config_of(fapl))


def wait(path=None):
    """Waits until what goes on in the background for a file is complete; without a path: for all files."""
    _call("H5FDredset_wait", _path(path))


def test(path=None):
    """True if wait would return at once."""
    done = ctypes.c_int()
    _call("H5FDredset_test", _path(path), ctypes.byref(done))
    return bool(done.value)


def stats(path=None):
    """What protection has cost this process so far, a Stats; with a path: for all files of its kind."""
    out = _Stats(size=ctypes.sizeof(_Stats))
    _call("H5FDredset_stats", _path(path), ctypes.byref(out))
    return _told(Stats, out)


def status(path):
    """What is known of one file, a Status."""
    out = _Status(size=ctypes.sizeof(_Status))
    _call("H5FDredset_status", _path(path), ctypes.byref(out))
    return _told(Status, out)


def generations(path):
    """The generations of one file, newest first, a list of Generation."""
    there = ctypes.c_size_t(0)
    _call("H5FDredset_generations", _path(path), None, ctypes.byref(there))
    room = there.value
    if room == 0:
        return []
    out = (_Generation * room)()
    out[0].size = ctypes.sizeof(_Generation)
    _call("H5FDredset_generations", _path(path), out, ctypes.byref(there))
    return [_told(Generation, one) for one in out[: min(room, there.value)]]


def group(paths):
    """Files of this rank are protected together, when the last of them is closed."""
    array = _array(paths)
    _call("H5FDredset_group", array, len(array))


def commit(file):
    """Protects a file that stays open. Collective."""
    _call("H5FDredset_commit", _id(file))


def label(file, text):
    """Gives the next commit of an open file a name."""
    _call("H5FDredset_label", _id(file), text.encode())


def protect_files(paths, comm=None, **settings):
    """Protects files that are not HDF5, as they are on disk. Collective."""
    _with_config("H5FDredset_protect_files", paths, comm, settings)


def recover_files(paths, comm=None, **settings):
    """Restores such files. True: all are there. False: they were never protected. Collective."""
    return _with_config("H5FDredset_recover_files", paths, comm, settings) == 0


def unprotect_files(paths, comm=None, **settings):
    """Removes what protects such files. Collective."""
    _with_config("H5FDredset_unprotect_files", paths, comm, settings)


def rename(old_path, new_path):
    """Gives a protected file of each rank another name. Collective."""
    _call("H5FDredset_rename", _path(old_path), _path(new_path))


def drop(path, generation):
    """Removes one older generation, by the number that Generation.generation is. Collective."""
    _call("H5FDredset_drop", _path(path), generation)


def skip(pattern=None):
    """This rank has no files whose names match; without a pattern ranks only come together."""
    _call("H5FDredset_skip", _path(pattern))


h5py.register_driver("redset", set_fapl)
