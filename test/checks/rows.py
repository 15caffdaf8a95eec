#!/usr/bin/env python3
"""Leaves out each row of the table in encode/recover/decide.c, one at a time: the tests named on the command line, built
with what is left, have to fail. Used by nightly_rows.sh.

    rows.py SOURCE WORK CC NAME[:SUPPORT*.c]...    programs are SOURCE/test/unit/test_NAME.c with these files"""
import glob
import os
import re
import subprocess
import sys

source, work, cc, *tests = sys.argv[1:]
text = open(os.path.join(source, "encode/recover/decide.c")).read()
start = text.index("} table[] = {") + len("} table[] = {")
end = text.index("\n};", start)
rows = re.findall(r"    \{(?:[^{}]|\{[^{}]*\})*\},", text[start:end])


def fails(test, table):
    """Does this test fail with this table?"""
    name, _, support = test.partition(":")
    program = os.path.join(work, f"rows_{name}")
    sources = [f"test/unit/test_{name}.c", "encode/recover/decide_text.c", "encode/recover/decide_merge.c"] + glob.glob(support, root_dir=source)
    subprocess.run([cc, "-std=c11", "-D_GNU_SOURCE", "-O2", "-I" + os.path.join(source, "encode"),
                    "-I" + os.path.join(source, "encode/recover"), "-I" + os.path.join(source, "test/support"),
                    *(os.path.join(source, f) for f in sources), table, "-lcmocka", "-o", program], check=True)
    first = dict(os.environ, CMOCKA_TEST_ABORT="1")  # the first failure is enough
    return subprocess.run([program], env=first, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0


def main():
    table = os.path.join(work, "rows_decide.c")
    missed = 0
    for row in [""] + rows[:-1]:  # the last is for all that is left
        with open(table, "w") as f:
            f.write(text[:start] + (text[start:end].replace(row, "", 1) if row else text[start:end]) + text[end:])
        if any(fails(t, table) for t in tests) != bool(row):
            print("with all rows a test fails" if not row else f"nobody misses {' '.join(row.split())}")
            missed += 1
    print(f"{len(rows)} rows, {missed} that nobody misses")
    return missed > 0 or len(rows) < 10


sys.exit(main())
