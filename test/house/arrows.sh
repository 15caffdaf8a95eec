#!/usr/bin/env bash
# Who may use whom: arrows between rooms go down only, and each rule is one grep.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
shopt -s nullglob
bad=0

# The rooms of encode/, top to bottom: a room uses those below it.
rooms=(replicas recover deleted move picture protect set commit member names layout rendezvous comm/mpi comm store format codec common)

# found TEXT LINES: reports them, if there are any
found() {
    [ -n "$2" ] || return 0
    printf 'house rule broken: %s\n%s\n\n' "$1" "$2"
    bad=1
}
# never TEXT REGEX FILE...: no line of these files, comments left out, may match
never() {
    local text=$1 regex=$2
    shift 2
    [ $# -gt 0 ] || return 0
    found "$text" "$(grep -nHE "$regex" "$@" | grep -vE '^[^:]*:[0-9]+: *(/?\*|//)' || true)"
}
# but REGEX FILE...: the files without those that match
but() {
    local except=$1 f
    shift
    for f in "$@"; do [[ $f =~ $except ]] || printf '%s\n' "$f"; done
}
include='^ *# *include *["<]'
engine=(encode/*/*.[ch] encode/*/*/*.[ch])
mapfile -t no_mpi < <(but '^(encode/comm/mpi/.*|include/H5FDredset\.h|vfd/fapl\.[ch])$' "${engine[@]}" vfd/*.[ch] include/*.h)
mapfile -t no_io < <(but '^encode/store/|\.h$' "${engine[@]}")
mapfile -t engine_c < <(but '\.h$' "${engine[@]}")
mapfile -t no_user < <(but '^encode/(store/store_sys|protect/stamp)\.c$|\.h$' "${engine[@]}")
io='open|openat|openat2|syscall|creat|fopen|fdopen|freopen|pread|pwrite|preadv|pwritev|read|write|lseek|rename|renameat|unlink|unlinkat|remove|fsync|fdatasync|stat|lstat|fstat|fstatat|access|opendir|readdir|mkdir|rmdir|chmod|fchmod|chown|fchown|truncate|ftruncate|link|symlink|readlink|mmap|ioctl'

above=''
for room in "${rooms[@]}"; do
    files=(encode/"$room"/*.[ch])
    [ ${#files[@]} -gt 0 ] || found "a room of the list is empty" "$room"
    never "encode/$room uses no room above it" "$include(${above:-none})/[a-z_0-9]+\.h" "${files[@]}"
    mapfile -t others < <(but "^encode/$room/[^/]*$" "${engine[@]}" vfd/*.[ch] tools/*/*.[ch])
    never "what is in encode/$room/*_internal.h is its own" "$include$room/[a-z_0-9]+_internal\.h" "${others[@]}"
    above+=${above:+|}$room
done
found 'each file of encode/ is in a room of the list' "$(but "^encode/($above)/[^/]*$" encode/*.[ch] "${engine[@]}")"
found 'another room is included by its name: "room/file.h"' \
    "$(for f in "${engine[@]}"; do
        sed -n 's/^ *# *include *"\([^"/]*\)"/\1/p' "$f" | while read -r h; do
            [ -e "${f%/*}/$h" ] || echo "$f: $h"; done; done)"

never 'an error of another call is passed on as it was recorded (rset_fail_as): with its errno' \
    'rset_fail\(.*"%s", (own|why)[a-z_.>-]*text\)' "${engine[@]}" vfd/*.[ch] tools/*/*.[ch]

# Outside of encode/ its doors are all that is known of it: they say, by what they include themselves, which rooms' types
# belong to them.
doors='replicas/replicas|protect/protect|recover/recover|deleted/deletions|move/old_copies|rendezvous/rendezvous|comm/comm|comm/comm_local|comm/comm_hosted|comm/comm_alone|comm/mpi/comm_mpi|common/[a-z_0-9]+'
found 'vfd/ and tools/ know the doors of encode/ only' \
    "$(grep -nHE "${include}[a-z_/]+/[a-z_0-9]+\.h" vfd/*.[ch] tools/*/*.[ch] | while IFS= read -r line; do
        h=$(sed 's/^[^<"]*[<"]//; s/[">].*//' <<<"$line")
        [ ! -e "encode/$h" ] || [[ $h =~ ^($doors)\.h$ ]] || printf '%s\n' "$line"; done)"

never 'encode/ knows no HDF5' "$include(hdf5|H5)" "${engine[@]}"
never 'encode/ knows nothing of vfd/' "$include(\.\./)*vfd/" "${engine[@]}"
never 'mpi.h only in encode/comm/mpi, the public header and vfd/fapl' "${include}mpi\.h" "${no_mpi[@]}"
never 'file calls only in encode/store' "(^|[^[:alnum:]_.>])($io) *\(" "${no_io[@]}"
never 'for whom files are made is asked of the store: rset_user' '(^|[^[:alnum:]_])gete?uid *\(' "${no_user[@]}"
never 'the process is never ended, nothing is printed below vfd/' \
    '(^|[^[:alnum:]_])(abort|exit|_exit|_Exit|quick_exit|MPI_Abort) *\(' "${engine_c[@]}" vfd/*.c
never 'nothing is printed below vfd/' '(^|[^[:alnum:]_])(v?f?printf|puts|fputs|perror|putchar) *\(' "${engine_c[@]}"
# What becomes of files is decided in one function: recovery asks it, in parallel and serially, and h5redset does.
decides='(^|[^[:alnum:]_])rset_decide *\('
mapfile -t not_deciding < <(but '^encode/recover/(decide\.[ch]|rounds\.c|report\.c|restore\.c|serial_report\.c|own\.c)$|^tools/h5redset/judge\.c$' \
    "${engine[@]}" vfd/*.[ch] tools/*/*.[ch])
never 'only recovery and h5redset ask rset_decide' "$decides" "${not_deciding[@]}"
mapfile -t not_knowing < <(but '^encode/recover/|^tools/h5redset/' "${engine[@]}" vfd/*.[ch] tools/*/*.[ch])
never 'nobody else reads the states of files' '(^|[^[:alnum:]_])RSET_(STATE|FACT|VERDICT)_' "${not_knowing[@]}"
mapfile -t judges < <(but '^test/sweep/sights\.c$' test/sweep/*.[ch])
never 'the judges of the sweeps know what was promised, and do not ask the table' \
    '(^|[^[:alnum:]_])rset_(decide|act|merge) *\(' "${judges[@]}"
# Debian sid has a cmocka whose asserts are statements, and which has no ranges of no type.
never 'the next cmocka knows it no more' 'for \(assert_|assert_(not_)?in_(range|set) *\(' test/*/*.[ch]
exit "$bad"
