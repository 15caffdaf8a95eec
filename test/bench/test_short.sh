#!/usr/bin/env bash
# A short run of h5redset-bench: it must end, all lines must be in the table, and what it writes must be what it says.
# No time, and no ratio of times, is held against a limit: --check is for people, on a quiet machine.
set -euo pipefail
bench=${REDSET_BUILD_DIR:?run by ctest, or set it}/tools/h5redset-bench
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

run 4 --short --dir "$dir/files" --json "$dir/out.json" --svg "$dir/out.svg" >"$dir/table" 2>"$dir/log" ||
    wrong "exit status $?: $(cat "$dir/log")"
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

if command -v python3 >/dev/null; then
    python3 -m json.tool "$dir/out.json" >/dev/null || wrong 'the JSON cannot be read'
    python3 - "$dir/out.json" <<'END' || wrong 'the JSON is not as docs/performance.md says'
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
else
    echo 'no python3: the JSON was not read'
fi
grep -q '</svg>' "$dir/out.svg" || wrong 'no picture'
[ -z "$(ls -A "$dir/files")" ] || wrong "left behind: $(ls -A "$dir/files")"

# usage
run 1 --help >"$dir/table" 2>"$dir/log" || wrong "--help: exit status $?"
has 1 '--schemes LIST'
for words in --nonsense '--size 12Q' '--repetitions 4' '--schemes RS:9' more; do
    status=0
    # shellcheck disable=SC2086
    "$bench" $words >"$dir/log" 2>&1 || status=$?
    [ "$status" = 64 ] || wrong "$words: exit status $status, not 64"
done
exit "$bad"
