#!/usr/bin/env bash
# h5redset-bench --scaling with 2 to 64 ranks: every count is there, what is sent is received, the encode grows with the
# logarithm of the number of ranks, and ranks that are threads send and receive what ranks of MPI do. Counts only: no
# time is held against a limit.
set -euo pipefail
bench=${REDSET_BUILD_DIR:?run by ctest, or set it}/tools/h5redset-bench
report=$REDSET_BUILD_DIR/tools/h5redset-bench-report
command -v python3 >/dev/null || { echo "SKIP: no python3 for $report"; exit 77; }
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_USE_FILE_LOCKING
dir=$(mktemp -d "$REDSET_BUILD_DIR/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
bad=0
wrong() { printf 'FAILED: %s\n' "$*"; bad=1; }

timeout 300 "$bench" --scaling --ranks 64 --dir "$dir/files" --json "$dir/threads.raw" >"$dir/out" 2>"$dir/log" ||
    wrong "exit status $?: $(cat "$dir/log")"
[ ! -s "$dir/out" ] || wrong "with --json something is printed: $(cat "$dir/out")"
timeout 300 "$mpiexec" -n 4 "$bench" --scaling --dir "$dir/files" >"$dir/mpi.raw" 2>"$dir/log" ||
    wrong "with mpiexec, exit status $?: $(cat "$dir/log")"
for run in threads mpi; do
    "$report" --json <"$dir/$run.raw" >"$dir/$run.json" 2>"$dir/log" || wrong "report of $run: $(cat "$dir/log")"
done
"$report" "$dir/threads.raw" >"$dir/table" 2>"$dir/log" || wrong "the table: $(cat "$dir/log")"
if command -v gnuplot >/dev/null; then
    "$report" --svg "$dir/out.svg" "$dir/threads.raw" >"$dir/out" 2>"$dir/log" || wrong "the drawing: $(cat "$dir/log")"
    cmp "$dir/out" "$dir/table" || wrong 'another table with --svg'
else
    echo 'no gnuplot: nothing was drawn'
fi
cat "$dir/table"
for title in H5Fcreate 'H5Fclose, the first of a job' 'H5Fclose  ' 'of it the encode' 'H5Fopen  ' \
        'H5Fopen, 1 rank lost' 'H5Fopen, 2 ranks lost' 'H5Fopen, read-only, 1 rank lost' MPI_Finalize; do
    [ "$(grep -c "^$title" "$dir/table")" = 1 ] || wrong "not one line of $title"
done
[ -z "$(ls -A "$dir/files")" ] || wrong "left behind: $(ls -A "$dir/files")"
status=0
"$bench" --scaling --ranks 1 >"$dir/log" 2>&1 || status=$?
[ "$status" = 64 ] || wrong "--ranks 1: exit status $status, not 64"

python3 - "$dir" <<'END' || wrong 'the counts are not what they should be'
import json, os, sys, xml.dom.minidom
at = sys.argv[1]
threads, mpi = (json.load(open(f"{at}/{name}.json")) for name in ("threads", "mpi"))
assert threads["version"] == 1 and threads["scaling"] and threads["ranks"] == [2, 4, 8, 16, 32, 64], threads["ranks"]
assert mpi["ranks"] == [4] and threads["threads"] and not mpi["threads"], mpi["ranks"]
counts = {(c["phase"], c["count"]): c for c in threads["counts"]}
phases = ["create", "close_first", "close", "encode", "open", "rebuild_one", "rebuild", "read_one", "end"]
assert sorted({p for p, _ in counts}) == sorted(phases) == sorted(threads["seconds"])
for phase in phases:
    for count in "sent", "received", "sent_bytes", "received_bytes", "heap":
        c = counts[phase, count]
        for view in "worst", "mean", "rank0":
            values = c[view]["values"]
            assert len(values) == 6 and c[view]["far"] >= 0, (phase, count, view)
            if phase != "create" or (count == "heap" and threads["heap"]):
                assert count == "heap" and not threads["heap"] or min(values) > 0, (phase, count, view, values)
        assert all(w >= m and w >= r for w, m, r in zip(*(c[v]["values"] for v in ("worst", "mean", "rank0"))))
    for unit in "", "_bytes":  # nobody's message is left over
        assert counts[phase, "sent" + unit]["mean"]["values"] == counts[phase, "received" + unit]["mean"]["values"], phase

# and who sends most need not be who receives most
for unit in "", "_bytes":
    assert counts["rebuild_one", "sent" + unit]["rank0"] != counts["rebuild_one", "received" + unit]["rank0"]

# an encode has the same number of collectives whatever the number of ranks, and each sends one message down for each doubling
worst = counts["encode", "sent"]["worst"]
steps = [b - a for a, b in zip(worst["values"][3:], worst["values"][4:])]
assert len(set(steps)) == 1 and 1 <= steps[0] <= 6, steps
assert worst["model"] == "log2" and abs(worst["b"] - steps[0]) < 0.01, worst

# and nothing else grows faster but the first division into sets, and rank 0 at the end; a rebuild has five collectives of all, and four
# in which records go to the rank that they are for
for phase, most in ("close", 6), ("open", 6), ("rebuild_one", 14), ("rebuild", 14), ("read_one", 14):
    for count in "sent", "received":
        values = counts[phase, count]["worst"]["values"][3:]
        steps = [b - a for a, b in zip(values, values[1:])]
        assert all(0 <= s <= most for s in steps), (phase, count, values)

# of small files a member sends one message for each doubling of its set, and what it recorded once; mostly nobody is told anything in the search for a lost
# file, in which readers ask which files they open as well, and members hear of each other in one message
for phase, most in ("close", 16), ("rebuild_one", 34), ("rebuild", 34), ("read_one", 34):
    assert counts[phase, "sent"]["mean"]["values"][3] <= most, (phase, counts[phase, "sent"]["mean"]["values"])

# nobody hears what all see
for count in "sent_bytes", "received_bytes":
    values = counts["read_one", count]["worst"]["values"]
    assert values[5] <= 2 * values[3], (count, values)

for c in mpi["counts"]:  # of 4 ranks; headers record times, whose number of digits varies
    if c["count"] != "heap":
        for view in "worst", "mean", "rank0":
            mine, same = c[view]["values"][0], counts[c["phase"], c["count"]][view]["values"][1]
            exact = c["count"] in ("sent", "received")
            assert abs(mine - same) <= (0 if exact else 0.01 * same), (c["phase"], c["count"], view, mine, same)

if os.path.exists(f"{at}/out.svg"):
    picture = xml.dom.minidom.parse(f"{at}/out.svg")
    assert picture.documentElement.tagName == "svg"
    curves = [g for g in picture.getElementsByTagName("g") if g.getAttribute("id").startswith("gnuplot_plot_")]
    named = len(phases) + 1  # the legend: what a job does, and the model
    assert len(curves) - named == 2 * (4 * 8 + 9 * threads["heap"]), len(curves)
END
exit "$bad"
