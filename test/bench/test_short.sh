#!/usr/bin/env bash
# A short run of h5redset-bench, and what h5redset-bench-report makes of it: all lines must be in the table, and JSON must be what
# docs/performance.md says. No time, and no ratio of times, is held against a limit: --check is for people, on a quiet machine, and
# tried with samples that are made here.
set -euo pipefail
bench=${REDSET_BUILD_DIR:?run by ctest, or set it}/tools/h5redset-bench
report=$REDSET_BUILD_DIR/tools/h5redset-bench-report
python=$(python3 -c 'import sys; print(sys.executable)') || { echo "SKIP: no python3 for $report"; exit 77; }
# shellcheck source=cmake/mpi_settings.sh
. "${REDSET_SOURCE_DIR:-$(dirname "$0")/../..}/cmake/mpi_settings.sh"
redset_mpi_or_skip
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_USE_FILE_LOCKING
# In memory where there is room: 10,000 small files are made there and removed, which can take a disk a minute.
parent=$REDSET_BUILD_DIR
shm_kib=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) || shm_kib=0
[ "${shm_kib:-0}" -lt 524288 ] || [ ! -w /dev/shm ] || parent=/dev/shm
dir=$(mktemp -d "$parent/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
bad=0
wrong() { printf 'FAILED: %s\n' "$*"; bad=1; }

# run RANKS ARGUMENT...: the status is that of the program, not of mpiexec's own troubles
run() {
    local n=$1
    shift
    timeout 300 "$mpiexec" -n "$n" "$bench" "$@"
}

run 4 --short --dir "$dir/files" >"$dir/out.raw" 2>"$dir/log" || wrong "exit status $?: $(cat "$dir/log")"
"$report" "$dir/out.raw" >"$dir/table" 2>"$dir/log" || wrong "the table: $(cat "$dir/log")"
"$report" --json "$dir/out.raw" >"$dir/out.json" 2>"$dir/log" || wrong "its JSON: $(cat "$dir/log")"
cat "$dir/table"
sed -n '/^where the time goes, ms/,$p' "$dir/table" >"$dir/phases"
sed -i '/^where the time goes, ms/,$d' "$dir/table"

# has COUNT TEXT: so many lines of the table
has() {
    local n
    n=$(grep -cF -- "$2" "$dir/table" || true)
    [ "$n" = "$1" ] || wrong "$n lines with '$2' in the table, not $1"
}
for scheme in 'PARTNER(1)' XOR 'RS(2)'; do has 1 "$scheme  "; done
for what in 'write + close, sec2' 'write + close, redset' 'floor of encode  ' 'encode  ' 'floor of rebuild' \
        'rebuild  ' 'verify, cached' 'read the file, cached' 'H5Fopen, cached' 'after a change of 1 %' 'commit while open' \
        'H5Fclose, created over' '1 % changed again' 'bytes that have changed' 'space that keep=2 takes then' \
        'memory, at most' 'bytes sent by encode' 'messages sent by encode'; do
    case $what in
        'encode  ') has 12 "$what" ;; # and its floor, bytes and messages
        'rebuild  ') has 6 "$what" ;;
        *) has 3 "$what" ;;
    esac
done
for what in 'H5Dwrite, sec2' 'H5Dwrite, redset' 'H5Dread, sec2' 'H5Dread, redset'; do has 8 "$what"; done
for layout in contiguous chunked; do
    for request in '4 KiB' '64 KiB' '1 MiB' '16 MiB'; do has 1 "$layout $request  "; done
done
has 1 'open + close, read-write'
has 1 'open + close, read-only'
has 1 'create + close beside 10 files'
has 1 'open + close beside 10 files'
has 1 'create + close beside 100,000'
has 1 'open + close beside 100,000'
for what in encode rebuild 'H5Fclose, redset'; do
    for scheme in 'PARTNER(1)' XOR 'RS(2)'; do
        grep -q "^$scheme  *$what  *[0-9.]* " "$dir/phases" || wrong "no phases of $scheme, $what"
    done
done

"$python" - "$dir/out.json" <<'END' || wrong 'the JSON is not as docs/performance.md says'
import json, statistics, sys
run = json.load(open(sys.argv[1]))
assert run["version"] == 1 and run["ranks"] == 4 and run["repetitions"] == 5
lines = {(line["subject"], line["what"]): line for line in run["lines"]}
for (subject, what), line in lines.items():
    if what != "memory":
        assert len(line["samples"]) == 5, line
    assert ("phases" in line) == (what in ("encode", "rebuild", "write")), line
    if what in ("encode", "rebuild"):  # what lies between the ends of the measurement
        assert 0 < sum(line["phases"].values()) <= 1.05 * statistics.mean(line["samples"]), line
    if what == "write":
        assert line["phases"]["rendezvous"] > 0 and line["phases"]["reading"] > 0, line
    assert abs(line["median"] - statistics.median(line["samples"])) <= 1e-6 * line["median"], line
    if line["over"] is not None:
        by = lines[subject, line["over"]]["samples"]
        ratio = statistics.median(a / b for a, b in zip(line["samples"], by))
        assert abs(line["ratio"] - ratio) < 1e-6 * ratio, line
END
[ -z "$(ls -A "$dir/files")" ] || wrong "left behind: $(ls -A "$dir/files")"

# The drawing: a bar for each ratio that has a goal.
if command -v gnuplot >/dev/null; then
    "$report" --svg "$dir/out.svg" "$dir/out.raw" >/dev/null 2>"$dir/log" || wrong "the drawing: $(cat "$dir/log")"
    "$python" - "$dir/out.json" "$dir/out.svg" <<'END' || wrong 'the drawing is not that of the ratios'
import json, sys, xml.dom.minidom
lines = [line for line in json.load(open(sys.argv[1]))["lines"] if line["over"] and line["met"] is not None]
bars = next(g for g in xml.dom.minidom.parse(sys.argv[2]).getElementsByTagName("g") if g.getAttribute("id") == "gnuplot_plot_1")
drawn = bars.getElementsByTagName("polygon")
assert len(lines) > 30 and len(drawn) == len(lines), (len(lines), len(drawn))
END
else
    echo 'no gnuplot: nothing was drawn'
fi
mkdir "$dir/bin"
status=0
PATH=$dir/bin "$python" "$report" --svg "$dir/none.svg" "$dir/out.raw" >/dev/null 2>"$dir/log" || status=$?
{ [ "$status" = 1 ] && grep -q 'gnuplot-nox' "$dir/log"; } || wrong "without gnuplot: exit status $status, $(cat "$dir/log")"

# --check: three times the goal of what is checked is borne, more is not; what is not checked may be anything.
# checked STATUS RATIO WHAT: a run with one line of XOR, and the line it is compared with
checked() {
    local status=0
    "$python" - "$dir/out.raw" "$2" "$3" >"$dir/made.raw" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
over = {"encode": "floor_encode", "change": "encode"}[sys.argv[3]]
run["lines"] = [dict(subject="XOR", what=what, unit="s", samples=[value] * 5, bytes=None, memory=None)
                for what, value in ((over, 0.5), (sys.argv[3], 0.5 * float(sys.argv[2])))]
json.dump(run, sys.stdout)
END
    "$report" --check "$dir/made.raw" >"$dir/out" 2>"$dir/log" || status=$?
    [ "$status" = "$1" ] || wrong "--check of $3 with a ratio of $2: exit status $status, not $1: $(cat "$dir/log")"
    [ "$status" = 0 ] || grep -q "absurd: XOR, $3" "$dir/log" || wrong "--check does not say what is absurd: $(cat "$dir/log")"
}
checked 0 9 change
checked 0 3 encode
checked 1 3.1 encode
"$report" "$dir/made.raw" >"$dir/out" 2>&1 || wrong 'a table without --check fails'

# usage
run 1 --help >"$dir/table" 2>"$dir/log" || wrong "--help: exit status $?"
has 1 '--schemes LIST'
# refused STATUS COMMAND...
refused() {
    local status=0 expected=$1
    shift
    "$@" >"$dir/log" 2>&1 </dev/null || status=$?
    [ "$status" = "$expected" ] || wrong "$*: exit status $status, not $expected"
    if grep -q Traceback "$dir/log"; then wrong "$*: $(cat "$dir/log")"; fi
}
for words in --nonsense '--size 12Q' '--repetitions 4' '--schemes RS:9' more; do
    # shellcheck disable=SC2086
    refused 64 "$bench" $words
done
refused 64 "$report" --nonsense
refused 1 "$report" "$dir/missing"
refused 1 "$report" "$dir/table"
refused 1 "$report" # nothing on standard input
sed 's/"encode"/"unheard"/' "$dir/made.raw" >"$dir/unknown.raw"
refused 1 "$report" "$dir/unknown.raw"
grep -q unheard "$dir/log" || wrong 'a line that is not known is not named'
exit "$bad"
