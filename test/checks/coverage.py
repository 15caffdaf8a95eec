"""Sums up what gcov counted; used by nightly_coverage.sh, which says what counts.

    coverage.py SOURCE KNOWN LINES-OUT GCOV.JSON.GZ...

KNOWN: lines "FILE N REASON": N outcomes of conditions in FILE that cannot happen, and why.
"""
import gzip
import json
import os
import sys

LINES, BRANCHES = 95.0, 90.0
# Where every outcome has to be seen: parser, verification, commit.
STRICT = {
    "encode/format/tree.c", "encode/format/tree_pack.c",
    "encode/format/format.c", "encode/format/format_desc.c", "encode/format/format_info.c", "encode/format/format_name.c",
    "encode/member/logical.c", "encode/set/reread.c", "encode/common/crc64.c",
    "encode/recover/decide.c", "encode/recover/decide_merge.c", "encode/recover/classify.c", "encode/commit/commit.c",
    "encode/protect/protect.c", "encode/protect/protect_steps.c",
}


def read(paths, source):
    """{file: {line: [times, {(of, number): times}]}}; a header counts once, however many include it."""
    files = {}
    for path in paths:
        with gzip.open(path, "rt") as f:
            for unit in json.load(f)["files"]:
                name = os.path.relpath(os.path.join(source, unit["file"]), source)
                if not name.startswith(("encode/", "vfd/")):
                    continue
                lines = files.setdefault(name, {})
                for line in unit["lines"]:
                    seen = lines.setdefault(line["line_number"], [0, {}])
                    seen[0] += line["count"]
                    for n, branch in enumerate(line["branches"]):
                        seen[1][n] = seen[1].get(n, 0) + branch["count"]
    return files


def sums(lines):
    branches = [times for _, b in lines.values() for times in b.values()]
    return sum(t > 0 for t, _ in lines.values()), len(lines), sum(t > 0 for t in branches), len(branches)


def read_known(path):
    known = {}
    with open(path) as f:
        for line in f:
            if not line.startswith("#"):
                name, n, _ = line.split(maxsplit=2)
                known[name] = known.get(name, 0) + int(n)
    return known


def percent(part, of):
    return 100.0 * part / of if of else 100.0


def row(name, s, note=""):
    return f"{name:28} {s[0]:6} of {s[1]:6} {percent(s[0], s[1]):6.1f} %   {s[2]:6} of {s[3]:6} {percent(s[2], s[3]):6.1f} %{note}"


def check(table, total, known):
    wrong = []
    for name in sorted(STRICT):
        if name not in table:
            wrong.append(f"{name} was not counted at all")
            continue
        left, reasons = table[name][3] - table[name][2], known.get(name, 0)
        if left > reasons:
            wrong.append(f"{name}: {left} outcomes of conditions never seen, {reasons} of them for a known reason")
        if left < reasons:
            wrong.append(f"{name}: {reasons} outcomes are said never to be seen, but only {left} were not")
    if percent(total[0], total[1]) < LINES:
        wrong.append(f"less than {LINES} % of lines")
    if percent(total[2], total[3]) < BRANCHES:
        wrong.append(f"less than {BRANCHES} % of branches")
    return wrong


def main(source, known_at, lines_at, *paths):
    files = read(paths, source)
    known = read_known(known_at)
    table = {name: sums(lines) for name, lines in files.items()}
    total = tuple(map(sum, zip(*table.values()))) if table else (0, 1, 0, 1)
    with open(lines_at, "w") as f:
        json.dump(files, f)
    print(f"{'file':28} {'lines':>25}   {'branches':>25}")
    for name in sorted(table):
        note = "   all" if name in STRICT else ""
        print(row(name, table[name], note))
    print(row("total", total))
    wrong = check(table, total, known)
    for text in wrong:
        print("FAILED:", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
