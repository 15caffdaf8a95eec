#!/usr/bin/env python3
"""layout.py HEADER PYTHON-MODULE WHAT - where the members of the header's structs are, and what its constants are.

WHAT is c or fortran: a program in that language, made from the names in the header, which prints this. It is python: this
is printed of the module. One line each: a struct and its bytes; a member, its offset, its bytes and its kind; a constant
and its value. All three are to print the same, but that Python has no use for H5FD_REDSET_CONFIG_* and H5FD_REDSET_KEEP_ALL.
"""

import ctypes
import importlib.util
import re
import sys
import types

KINDS = "interface kind_of\n  procedure kind_int, kind_long, kind_real, kind_text\nend interface"


def read(header):
    """The structs of a header with their members in order, its enumerations with their constants, and its sizes."""
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    structs, enumerations = {}, {}
    for kind, body, name in re.findall(r"typedef\s+(struct|enum)\s+\w+\s*\{(.*?)\}\s*(\w+)\s*;", text, flags=re.S):
        if kind == "struct":
            structs[name] = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)?;", body)
        else:
            enumerations[name] = re.findall(r"\b(H5FD_REDSET_\w+)\s*=", body)
    sizes = re.findall(r"^#define (H5FD_REDSET_\w+_SIZE|H5FD_REDSET_CONFIG_\w+|H5FD_REDSET_KEEP_ALL)\s", text, flags=re.M)
    assert len(structs) == 4 and len(enumerations) == 7 and len(sizes) == 7, (structs, enumerations, sizes)
    return structs, enumerations, sizes


def in_c(structs, enumerations, sizes):
    yield "#include <H5FDredset.h>\n#include <stddef.h>\n#include <stdio.h>"
    yield '#define KIND(x) _Generic((x), double: "real", char *: "text", default: "integer")'
    yield "int main(void)\n{"
    for name, members in structs.items():
        yield f'static {name} of_{name};\nprintf("{name} %zu\\n", sizeof of_{name});'
        for m in members:
            place = f"offsetof({name}, {m}), sizeof of_{name}.{m}, KIND(of_{name}.{m})"
            yield f'printf("{name}.{m} %zu %zu %s\\n", {place});'
    for constant in [c for all_of in enumerations.values() for c in all_of] + sizes:
        yield f'printf("{constant} %d\\n", (int){constant});'
    yield "return 0;\n}"


def in_fortran(structs, enumerations, sizes):
    yield f"program layout\nuse, intrinsic :: iso_c_binding\nuse h5fd_redset\nimplicit none\n{KINDS}"
    for name in structs:
        yield f"type({name}), target :: of_{name}"
    for name, members in structs.items():
        yield f"print '(a, 1x, i0)', '{name}', c_sizeof(of_{name})"
        for m in members:
            yield f"print '(a, 2(1x, i0), 1x, a)', '{name}.{m}', &"
            yield f"    at(c_loc(of_{name}%{m})) - at(c_loc(of_{name})), &"
            yield f"    c_sizeof(of_{name}%{m}), trim(kind_of(of_{name}%{m}))"
    for constant in [c for all_of in enumerations.values() for c in all_of] + sizes:
        yield f"print '(a, 1x, i0)', '{constant}', {constant}"
    yield "contains\ninteger(c_intptr_t) function at(p)\ntype(c_ptr), intent(in) :: p\nat = transfer(p, at)\nend function"
    for kind, argument in ("int", "integer(c_int)"), ("long", "integer(c_int64_t)"), ("real", "real(c_double)"), (
        "text",
        "character(kind=c_char), dimension(:)",
    ):
        printed = kind if kind in ("real", "text") else "integer"
        yield f"character(7) function kind_{kind}(x)\n{argument}, intent(in) :: x\nkind_{kind} = '{printed}'\nend function"
    yield "end program"


def stand_in_for_h5py():
    """The module can be looked at where there is no h5py."""
    try:
        import h5py  # noqa: F401
    except ImportError:
        h5py = types.ModuleType("h5py")
        h5py.register_driver = lambda *_: None
        h5py._objects = types.ModuleType("h5py._objects")
        h5py._objects.phil = None
        sys.modules.update({"h5py": h5py, "h5py._objects": h5py._objects})


def in_python(module, structs, enumerations, sizes):
    stand_in_for_h5py()
    spec = importlib.util.spec_from_file_location("h5redset", module)
    h5redset = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(h5redset)
    for name, members in structs.items():
        struct = getattr(h5redset, "_" + name[len("H5FD_redset_") : -len("_t")].capitalize())
        yield f"{name} {ctypes.sizeof(struct)}"
        for field, of in struct._fields_:
            kind = "real" if of is ctypes.c_double else "text" if issubclass(of, ctypes.Array) else "integer"
            yield f"{name}.{field} {getattr(struct, field).offset} {ctypes.sizeof(of)} {kind}"
    for name in enumerations:
        kind = name[len("H5FD_redset_") : -len("_t")].upper()
        prefix = "H5FD_REDSET_" + (kind + "_" if kind != "SCHEME" else "")
        for value, constant in enumerate(getattr(h5redset, kind)):
            yield f"{prefix}{constant} {value}"
        if kind == "REASON":
            yield f"{prefix[:-1]}S {len(h5redset.REASON)}"
    for size in sizes:  # the others are of no use there
        if size.endswith("_SIZE"):
            yield f"{size} {getattr(h5redset, size[len('H5FD_REDSET'):])}"


def main():
    header, module, what = sys.argv[1:]
    parts = read(header)
    lines = {"c": in_c, "fortran": in_fortran}.get(what)
    print("\n".join(lines(*parts) if lines else in_python(module, *parts)))


main()
