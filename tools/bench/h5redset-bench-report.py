#!/usr/bin/env python3
"""Tables and drawings of what h5redset-bench has measured; docs/performance.md says what each line means.

The bench writes samples; here is what they are called, what they are compared with, which goals there are, and what counts follow."""
import argparse
import json
import math
import statistics
import subprocess
import sys
from collections import namedtuple

MIB = 1024 * 1024
USAGE = 64  # EX_USAGE of sysexits.h
FAR = 100000  # ranks that the models are asked about


class Problem(Exception):
    """What is said to the user, who has no use for a traceback."""


# ---- lines: what each is called, and its goal ----

# over: what its samples are divided by; goal: of that ratio, or of the median where there is none. Flags: checked: --check looks at it;
# striped: the goal is one for XOR and RS only; one: for a single parity (XOR) only. Not checked: times as such; and what small files
# cannot show, an open costs a rendezvous of the ranks then.
Kind = namedtuple("Kind", "title over goal flags", defaults=(None, None, ""))
KINDS = {
    "write_sec2": Kind("write + close, sec2"),
    "close_sec2": Kind("- of it H5Fclose"),
    "write": Kind("write + close, redset", "write_sec2"),
    "close": Kind("- of it H5Fclose", "close_sec2"),
    "write_async": Kind("write + close, async=yes", "write_sec2"),
    "close_async": Kind("- of it H5Fclose", "close_sec2", 1.05),
    "floor_encode": Kind("floor of encode"),
    "encode": Kind("encode", "floor_encode", 1.0, "checked"),
    "floor_rebuild": Kind("floor of rebuild"),
    "rebuild": Kind("rebuild", "floor_rebuild", 1.1, "checked striped"),
    "read_warm": Kind("read the file, cached"),
    "verify": Kind("verify, cached", "read_warm"),
    "open_warm": Kind("H5Fopen, cached", "read_warm", 1.15),
    "read_cold": Kind("read the file, cold"),
    "open_cold": Kind("H5Fopen, cold", "read_cold", 1.15),
    "change": Kind("H5Fclose after a change of 1 %", "encode", 0.05),
    "commit": Kind("commit while open, 1 % changed", "encode", 0.05),
    "over": Kind("H5Fclose, created over"),
    "keep_over": Kind("- with keep=2", "over", 1.02),
    "change_again": Kind("H5Fclose, 1 % changed again"),
    "keep_change": Kind("- with keep=2", "change_again", 1.10),
    "changed": Kind("bytes that have changed"),
    "keep_space": Kind("space that keep=2 takes then", "changed", 2.5, "checked striped one"),
    "sent_floor": Kind("bytes sent by the floor"),
    "sent": Kind("bytes sent by encode", "sent_floor", 1.01, "checked"),
    "messages": Kind("messages sent by encode"),
    "memory": Kind("memory, at most", None, 16 * MIB, "checked"),
    "io_write_sec2": Kind("H5Dwrite, sec2"),
    "io_write": Kind("H5Dwrite, redset", "io_write_sec2", 1.02, "checked"),
    "io_read_sec2": Kind("H5Dread, sec2"),
    "io_read": Kind("H5Dread, redset", "io_read_sec2", 1.02, "checked"),
    "open_close_rw": Kind("open + close, read-write", None, 1e-3),
    "open_close_ro": Kind("open + close, read-only", None, 1e-3),
    "create_few": Kind("create + close beside 10 files", None, 2e-3),
    "create_many": Kind("create + close beside 100,000", "create_few", 1.2),
    "reopen_few": Kind("open + close beside 10 files", None, 1e-3),
    "reopen_many": Kind("open + close beside 100,000", "reopen_few", 1.2),
}


def goal_of(line):
    kind = KINDS[line["what"]]
    if "striped" in kind.flags and line["subject"].startswith("PARTNER"):
        return None
    return kind.goal if "one" not in kind.flags or line["subject"] == "XOR" else None


def compare(run):
    """Adds to each line its median, the ratio, which is that within each repetition, and what they are held against."""
    lines = {(line["subject"], line["what"]): line for line in run["lines"]}
    for line in run["lines"]:
        kind = KINDS[line["what"]]
        by = lines.get((line["subject"], kind.over), {"samples": []})["samples"]
        ratios = [a / b for a, b in zip(line["samples"], by) if b > 0]
        line["median"] = statistics.median(line["samples"])
        line["over"] = kind.over
        line["ratio"] = statistics.median(ratios) if ratios else None
        line["goal"] = goal_of(line)
        score = line["ratio"] if kind.over else line["median"]
        judged = bool(line["goal"] and score)
        line["met"] = score <= line["goal"] * (1 + 1e-9) if judged else None
        line["checked"] = judged and "checked" in kind.flags
        line["absurd"] = line["checked"] and score > 3 * line["goal"]


def say_absurd(run):
    """Names on standard error the lines that are; returns the exit status."""
    absurd = [line for line in run["lines"] if line["absurd"]]
    for line in absurd:
        score = line["ratio"] if line["over"] else line["median"]
        print(f"h5redset-bench-report: absurd: {line['subject']}, {KINDS[line['what']].title}: {score:.3g}, the goal is {line['goal']:.3g}",
              file=sys.stderr)
    return 1 if absurd else 0


# ---- counts: what grows with the number of ranks, and how ----

PHASES = {"create": "H5Fcreate", "close_first": "H5Fclose, the first of a job", "close": "H5Fclose", "encode": "of it the encode",
          "open": "H5Fopen", "rebuild_one": "H5Fopen, 1 rank lost", "rebuild": "H5Fopen, 2 ranks lost",
          "read_one": "H5Fopen, read-only, 1 rank lost", "end": "MPI_Finalize"}
COUNTS = {"sent": "messages sent", "received": "messages received", "sent_bytes": "bytes sent", "received_bytes": "bytes received",
          "heap": "bytes allocated"}
VIEWS = "worst", "mean", "rank0"

# What a count follows: a + b term(n), or the larger of a and b n: memory is that of the stage that takes most.
TERMS = {"constant": lambda n: 0, "log2": math.log2, "linear": lambda n: n, "n log2": lambda n: n * math.log2(n), "max": lambda n: n}
# Sets are smaller with fewer ranks: these points do not count where there are others. With fewer points a constant.
LEAST_RANKS, LEAST_POINTS = 16, 3
# A form is taken over a simpler one when that is off by more than this share, and it brings the squares down to that one.
NEAR, BETTER = 0.03, 0.5


class Model(namedtuple("Model", "form a b")):
    def at(self, ranks):
        grown = self.b * TERMS[self.form](ranks)
        return max(self.a, grown) if self.form == "max" else self.a + grown

    def text(self):
        if self.form == "constant":
            return f"{self.a:.4g}"
        if self.form == "max":
            return f"max({self.a:.4g}, {self.b:.4g} n)"
        return f"{self.a:.4g} {'-' if self.b < 0 else '+'} {abs(self.b):.4g} {dict(linear='n', log2='log2 n').get(self.form, 'n log2 n')}"

    def errors(self, points):
        """How far it is off each point, as a share of its value."""
        return [abs(self.at(n) - value) / max(value, 1) for n, value in points]

    def squares(self, points):
        return sum(off * off for off in self.errors(points))


def weighted(points, of):
    """The sum of of(n, value) over the points, whose errors count as shares of their values."""
    return sum(of(n, value) / max(value, 1) ** 2 for n, value in points)


def fit_sum(points, form):
    """Weighted least squares."""
    term = TERMS[form]
    w, y = weighted(points, lambda n, v: 1), weighted(points, lambda n, v: v)
    x, xx = weighted(points, lambda n, v: term(n)), weighted(points, lambda n, v: term(n) ** 2)
    xy = weighted(points, lambda n, v: term(n) * v)
    det = w * xx - x * x
    b = (w * xy - x * y) / det if form != "constant" and det > 0 else 0
    return Model(form, (y - b * x) / w, b)


def fit_larger(points):
    """The first points are a's, the others b's: of all ways to divide them the best one."""
    def split(flat):
        first, rest = points[:flat], points[flat:]
        return Model("max", weighted(first, lambda n, v: v) / weighted(first, lambda n, v: 1),
                     weighted(rest, lambda n, v: n * v) / weighted(rest, lambda n, v: n * n))
    models = [fit_sum(points, "constant")] + [split(flat) for flat in range(1, len(points) - 1)]
    return min(models, key=lambda m: m.squares(points))


def model_of(ranks, values):
    """The model that fits best, and the largest share by which a point is off it."""
    points = [(n, v) for n, v in zip(ranks, values) if n >= LEAST_RANKS or len(ranks) < LEAST_POINTS + 3]
    best = fit_sum(points, "constant")
    for form in list(TERMS)[1:] if len(points) >= LEAST_POINTS else []:
        model = fit_larger(points) if form == "max" else fit_sum(points, form)
        if model.b > 0 and model.squares(points) < best.squares(points) * BETTER and max(best.errors(points)) > NEAR:
            best = model
    return best, max(best.errors(points))


def follow(run):
    """Adds to each count what it follows."""
    run["far"] = FAR
    for count in run["counts"]:
        for view in VIEWS:
            model, off = model_of(run["ranks"], count[view]["values"])
            count[view].update(model=model.form, a=model.a, b=model.b, off=off, far=model.at(FAR))


def model_in(view):
    return Model(view["model"], view["a"], view["b"])


# ---- tables ----

def show_size(n):
    """4194304 as "4 MiB"."""
    units = ["B", "KiB", "MiB", "GiB"]
    while len(units) > 1 and n >= 1024:
        n /= 1024
        units.pop(0)
    return f"{n:.{0 if n == int(n) else 1}f} {units[0]}"


def show(value, unit):
    if unit == "B":
        return show_size(value)
    if unit == "1":
        return f"{value:.0f}"
    return f"{value * 1e6:.1f} us" if value < 1e-3 else f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.3f} s"


def table_line(run, line, subject):
    speed = f"{line['bytes'] * run['ranks'] / line['median'] / 1e9:7.2f}" if line["bytes"] else ""
    memory = show_size(line["memory"]) if line["memory"] else ""
    ratio = f"{line['ratio']:.3f}" if line["ratio"] else ""
    text = f"{subject:22} {KINDS[line['what']].title:30} {show(line['median'], line['unit']):>10} {speed:>7} {memory:>9} {ratio:>7}"
    if line["met"] is not None:
        goal = f"{line['goal']:.2f}" if line["over"] else show(line["goal"], line["unit"])
        text += f" {goal:>7}  {'ok' if line['met'] else 'missed'}"
    return text.rstrip()


def table_of_lines(run):
    """By subject, in the order in which they were measured."""
    yield (f"{run['ranks']} ranks; {run['processors']} processors, {show_size(run['size'])} per rank on {run['filesystem']}, "
           f"median of {run['repetitions']}; HDF5 {run['hdf5']}, {run['mpi']}")
    if not run["cold"]:
        yield "the page cache of this file system could not be emptied: no cold lines"
    yield f"\n{'':22} {'':30} {'':10} {'GB/s':>7} {'memory':>9} {'ratio':>7} {'goal':>7}"
    for subject in dict.fromkeys(line["subject"] for line in run["lines"]):
        name = subject
        for line in run["lines"]:
            if line["subject"] == subject:
                yield table_line(run, line, name)
                name = ""
    head = f"\n{'where the time goes, ms':30}"
    for line in run["lines"]:
        if "phases" in line:
            if head:
                yield head + "".join(f" {phase:>10}" for phase in line["phases"])
                head = None
            title = "H5Fclose, redset" if line["what"] == "write" else KINDS[line["what"]].title
            yield f"{line['subject']:12} {title:17}" + "".join(f" {1e3 * s:10.2f}" for s in line["phases"].values())


def show_count(value, of):
    if of not in ("sent", "received"):  # bytes, as KiB
        return f" {value / 1024:7.{1 if value < 10240 else 0}f}"
    return f" {value:7.{1 if value < 100 and value != int(value) else 0}f}"


def table_of_count(run, count):
    """A count that grows is seen in the row of ratios: each is to half as many ranks, and 2.00 is as fast as n."""
    many, of = len(run["ranks"]) > 1, count["count"]
    for view in VIEWS:
        row = count[view]
        text = f"  {COUNTS[of] if view == 'worst' else '':18} {view:6}" + "".join(show_count(value, of) for value in row["values"])
        yield text + (f"  {model_in(row).text():26}{show_count(row['far'], of)}" if many else "")
    if many:
        values = count["worst"]["values"]
        ratios = (f"{b / a:7.2f}" if a > 0 else f"{'-':>7}" for a, b in zip(values, values[1:]))
        yield f"  {'' if of in ('sent', 'received') else '(in KiB)':18} {'ratio':6} {'':7}" + "".join(f" {r}" for r in ratios)


def table_of_counts(run):
    many = len(run["ranks"]) > 1
    yield (f"{'threads of one process' if run['threads'] else 'processes'} as ranks on {run['processors']} processors, "
           f"{show_size(run['size'])} per rank on {run['filesystem']}, RS(2) in sets of 8")
    for phase, title in PHASES.items():
        yield (f"\n{title:27}" + "".join(f" {n:7}" for n in run["ranks"]) + (f"  {'model':26} {FAR:7}" if many else ""))
        yield f"  {'seconds, slowest rank':25}" + "".join(f" {s:7.3f}" for s in run["seconds"][phase])
        for count in run["counts"]:
            if count["phase"] == phase and max(count["worst"]["values"]) > 0:
                yield from table_of_count(run, count)


# ---- drawings ----

def quoted(text):
    """For gnuplot, which looks for nothing else in such a string."""
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"


def bold(text):
    """Texts of this file; in others some characters would mean something to gnuplot."""
    return quoted("{/:Bold " + text + "}")


def gnuplot(commands, path):
    try:
        done = subprocess.run(["gnuplot"], input="\n".join(commands) + "\n", capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Problem("--svg needs gnuplot, which is not here: apt-get install gnuplot-nox; tables do without it") from None
    if done.returncode != 0 or not done.stdout.rstrip().endswith("</svg>"):
        raise Problem(f"gnuplot failed: {done.stderr.strip()}")
    with open(path, "w", encoding="utf-8") as out:
        out.write(done.stdout)


def block(name, rows):
    return [f"${name} << END", *(" ".join(f"{value:.9g}" for value in row) for row in rows), "END"]


GOOD, OVER, ABSURD = "#4a8f5c", "#d9a441", "#b5473c"
LEAST, MOST = 0.125, 128  # at the ends of the axis, ratio over goal


def bars_of(run):
    """The rows of the drawing from top to bottom: a text, which is the name of a comparison, or a line."""
    for what, kind in KINDS.items():
        lines = [line for line in run["lines"] if line["what"] == what and line["over"] and line["met"] is not None]
        if lines:  # in the table it stands below the line that it is a part of
            title = "H5Fclose, async=yes / H5Fclose, sec2" if what == "close_async" else f"{kind.title} / {KINDS[kind.over].title}"
            yield f"{title}, goal {kind.goal:.2f}"
            yield from lines


def draw_lines(run):
    """Every ratio that has a goal, as a bar from the goal to the ratio. Goals differ, and ratios lie between a few hundredths and some
    tens, so the axis is the ratio over its goal, on a logarithmic scale: what is better than its goal goes to the left."""
    rows, bars, labels, tics = list(bars_of(run)), [], [], []
    for y, row in enumerate(rows):
        if isinstance(row, str):
            labels.append(f"set label {bold(row)} at screen 0.01, first {y}")
            continue
        over = row["ratio"] / row["goal"]
        end = min(max(over, LEAST), MOST)
        colour = GOOD if over <= 1 + 1e-9 else OVER if over <= 3 else ABSURD
        bars.append((1, y, min(1, end) / 1.02, max(1, end) * 1.02, y - 0.3, y + 0.3, int(colour[1:], 16)))  # seen where both are one
        tics.append(f"{quoted(row['subject'])} {y}")
        labels.append(f"set label '{row['ratio']:.{3 if row['ratio'] < 0.1 else 2}f}' at graph 1.09, first {y} right")
    if not bars:
        raise Problem("no line has a ratio with a goal: there is nothing to draw")
    high = 125 + 18 * len(rows)
    title = f"Ratios and their goals: {run['ranks']} ranks on {run['processors']} processors, {show_size(run['size'])} per rank, {run['filesystem']}"
    keys = [f"keyentry with boxes fs solid 1 lc rgb '{colour}' title '{text}'" for colour, text in
            ((GOOD, "goal reached"), (OVER, "over the goal"), (ABSURD, "more than 3 times the goal"))]
    return [f"set terminal svg size 740,{high} font 'sans-serif,11' background 'white'",
            *block("bars", bars), *labels, f"set label {bold(title)} at screen 0.01, screen {1 - 18 / high} font ',13'",
            f"set key at screen 0.01, screen {1 - 45 / high} left Left reverse horizontal maxrows 1 samplen 1",
            f"set tmargin screen {1 - 95 / high}; set bmargin screen {25 / high}; set lmargin screen 0.24; set rmargin screen 0.9",
            f"set yrange [{len(rows) - 0.5}:-0.7]", f"set ytics ({', '.join(tics)}) scale 0 noenhanced",
            f"set logscale x 2; set xrange [{LEAST}:{MOST}]; set xtics 2 scale 0; set format x '%g'; set grid x lc rgb '#dddddd' lt 1",
            "set x2label 'ratio / goal: bars to the left of 1 are better'; set border 0",
            "plot $bars using 1:2:3:4:5:6:7 with boxxyerror fs solid 1 noborder lc rgb variable notitle, "
            "'' using (1):($2 - 0.5):(0):(1) with vectors nohead lc rgb 'black' notitle, " + ", ".join(keys)]


COLOURS = dict(zip(PHASES, ("#999999", "#d9a441", "#b5473c", "#7a4fa3", "#4a8f5c", "#3c7fb5", "#1d4566", "#3aa6a0", "#c774a8")))


def draw_count(run, count):
    """One picture: a line for each thing that a job does; what is measured has points, what the model says is dashed."""
    data, curves = [], []
    far = [run["ranks"][-1] * 1.25 ** i for i in range(60)]
    for one in run["counts"]:
        phase, worst = one["phase"], one["worst"]
        if one["count"] != count or worst["values"][-1] <= 0:
            continue
        name = f"{phase}_{count}"
        model = [(n, model_in(worst).at(n)) for n in [n for n in far if n < FAR] + [FAR]]
        data += block(name, [(n, v) for n, v in zip(run["ranks"], worst["values"]) if v > 0])
        data += block(name + "_model", [(n, v) for n, v in model if v > 0])
        curves.append(f"${name} with linespoints lc rgb '{COLOURS[phase]}' pt 7 ps 0.3 notitle")
        curves.append(f"${name}_model with lines lc rgb '{COLOURS[phase]}' dt 2 notitle")
    if not curves:
        return ["set multiplot next"]
    return [*data, f"set title '{COUNTS[count]} per rank, worst rank' noenhanced", "plot " + ", ".join(curves)]


def draw_counts(run):
    """One picture for each count, ranks to the right and the worst rank's count upwards, both logarithmic; the legend is in the place
    of a sixth."""
    keys = [f"NaN with lines lw 3 lc rgb '{COLOURS[phase]}' title '{title}' noenhanced" for phase, title in PHASES.items()]
    title = f"What grows with the number of ranks: {run['ranks'][0]} to {run['ranks'][-1]} ranks, RS(2) in sets of 8"
    return ["set terminal svg size 748,810 font 'sans-serif,11' background 'white'",
            f"set multiplot layout 3,2 title {bold(title)} font ',13'", f"set logscale xy; set xrange [2:{FAR}]",
            f"set xtics (2, 16, 128, 1024, 8192, {FAR}) nomirror; set ytics nomirror; set border 3; set format y '%g'; set rmargin 4",
            "set grid y lc rgb '#dddddd' lt 1",
            *(command for count in COUNTS for command in draw_count(run, count)),
            "unset title; unset border; unset tics; unset grid; set yrange [1:2]; set key center left Left reverse",
            "plot " + ", ".join(keys + ["NaN with lines dt 2 lc rgb '#555555' title 'what the model says'"]), "unset multiplot"]


# ---- the command line ----

class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"h5redset-bench-report: {message}; --help tells what is possible", file=sys.stderr)
        sys.exit(USAGE)


def read(path):
    try:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
            run = json.load(file)
    except ValueError as why:
        raise Problem(f"{path}: no JSON of h5redset-bench: {why}") from None
    if not isinstance(run, dict) or run.get("version") != 1 or not ({"lines", "cold"} <= run.keys() or {"counts", "threads"} <= run.keys()):
        raise Problem(f"{path}: no JSON of h5redset-bench, or of another version of it")
    unknown = {line["what"] for line in run.get("lines", [])} - set(KINDS)
    if unknown:
        raise Problem(f"{path}: lines of another version of h5redset-bench: {', '.join(sorted(unknown))}")
    return run


def report(options):
    run = read(options.file)
    scaling = "counts" in run
    (follow if scaling else compare)(run)
    if options.json:
        json.dump(run, sys.stdout, indent=1)
        print()
    else:
        print("\n".join((table_of_counts if scaling else table_of_lines)(run)))
    if options.svg:
        gnuplot((draw_counts if scaling else draw_lines)(run), options.svg)
    return say_absurd(run) if options.check and not scaling else 0


def main():
    parser = Parser(prog="h5redset-bench-report", description="Makes a table, and drawings, of what h5redset-bench has measured.",
                    epilog="Exit status: 0, 1 failed or absurd, 64 wrong usage.", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="JSON of h5redset-bench; default: standard input")
    parser.add_argument("--svg", metavar="FILE", help="draws the ratios, or with --scaling the counts; needs gnuplot")
    parser.add_argument("--json", action="store_true", help="prints JSON and no table, with medians, ratios, goals and models added")
    parser.add_argument("--check", action="store_true", help="exit status 1 when a ratio is more than three times its goal")
    try:
        return report(parser.parse_args())
    except (Problem, OSError) as why:
        print(f"h5redset-bench-report: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
