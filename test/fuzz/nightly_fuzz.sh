#!/usr/bin/env bash
# Runs every fuzz target with libFuzzer and the sanitizers for a while, from the corpus in the repository.
#
#   test/fuzz/nightly_fuzz.sh [SECONDS-EACH]     default 60, or REDSET_FUZZ_SECONDS
#
# Prints executions, rate and edges; fails where a target has run less often than it has inputs. What ends a target badly is kept in build/.../fuzz, with the corpus
# that was grown; FUZZ_KEEP=DIR keeps it elsewhere, and is begun from when there is one already.
set -euo pipefail
source=$(cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
seconds=${1:-${REDSET_FUZZ_SECONDS:-60}}
work=${FUZZ_KEEP:-${REDSET_BUILD_DIR:-$source/build}/fuzz}
mkdir -p "$work"

skip() { echo "SKIP: $*"; exit 77; }
clang=''
for c in clang clang-14 clang-15 clang-16; do
    if command -v "$c" >/dev/null; then clang=$c; break; fi
done
[ -n "$clang" ] || skip 'no clang here'
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n == 1; }' >"$work/try.c"
"$clang" -fsanitize=fuzzer,address "$work/try.c" -o "$work/try" 2>/dev/null ||
    skip "$clang has no libFuzzer (Debian: libclang-rt-14-dev)"
pkg-config --exists libisal cmocka || skip 'no ISA-L or no cmocka here'

# The engine is watched, with ranks that take turns instead of threads (fiber.h); what stands around it
# need not be, and is faster so.
flags=(-std=c11 -D_GNU_SOURCE -g -O2 -I"$source"/encode -I"$source"/test/support -I"$source"/test/sweep
    -I"$source"/test/fuzz)
read -ra libraries <<<"$(pkg-config --cflags --libs libisal cmocka) -lpthread"
mkdir -p "$work/engine" "$work/harness"
mapfile -t engine < <(find "$source/encode" -name '*.c' ! -name 'comm_mpi*')
for file in "${engine[@]}"; do # two rooms may have files of one name
    object=${file#"$source"/encode/}
    "$clang" "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
        -Dpthread_create=fiber_create -Dpthread_join=fiber_join -Dsched_yield=fiber_yield -Dnanosleep=fiber_nap \
        -c "$file" -o "$work/engine/${object//\//_}.o"
done
(cd "$work/harness" && "$clang" "${flags[@]}" -c "$source"/test/fuzz/{memfs*,mutations*,forge,fiber}.c \
    "$source"/test/sweep/{knife,hostile_edits}.c "$source"/test/support/{job,image,scratch,tripwire}.c)
build() { # build TARGET
    "$clang" "${flags[@]}" -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        "$source/test/fuzz/fuzz_$1.c" "$work"/engine/*.o "$work"/harness/*.o "${libraries[@]}" -o "$work/$1"
}

# Large blocks come and go: the sanitizer shall not give each back to the system
export ASAN_OPTIONS=detect_leaks=0:allocator_release_to_os_interval_ms=-1:quarantine_size_mb=16:clear_shadow_mmap_threshold=1000000000:${ASAN_OPTIONS:-}
status=0
fuzz() { # fuzz TARGET LONGEST-INPUT MORE-CORPUS...
    local target=$1 longest=$2 log=$work/$1.log
    shift 2
    mkdir -p "$work/corpus-$target"
    "$work/$target" -max_total_time="$seconds" -max_len="$longest" -timeout=120 -rss_limit_mb=4096 -detect_leaks=0 \
        -print_final_stats=1 -artifact_prefix="$work/$target-" "$work/corpus-$target" \
        "$source/test/fuzz/corpus/$target" "$@" >"$log" 2>&1 || {
        status=1
        echo "$target: ended badly; see $log"
        grep -E '^wrong:|ERROR:|SUMMARY:|runtime error:|Test unit written' "$log" || true
    }
    local executions least
    executions=$(awk '/stat::number_of_executed_units/ { n = $2 } END { print n + 0 }' "$log")
    least=$(find "$source/test/fuzz/corpus/$target" -type f | wc -l)
    echo "$target: $executions executions, $(awk '/stat::average_exec_per_sec/ { r = $2 }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") e = $(i + 1) }
        END { print r + 0 " per second, " e + 0 " edges" }' "$log")"
    [ "$executions" -ge "$least" ] || {
        status=1
        echo "$target: ended before it had tried its own corpus, of $least inputs"
    }
}

build format
build recover
fuzz format 65536 "$source/test/golden/vectors"
fuzz recover 512
exit "$status"
