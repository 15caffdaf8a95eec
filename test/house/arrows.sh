#!/usr/bin/env bash
# Who may call whom: arrows between the rooms go down only, and each rule is one grep.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
shopt -s nullglob
bad=0

# never TEXT REGEX FILE...: no line of these files, comments left out, may match
never() {
    local text=$1 regex=$2 found
    shift 2
    [ $# -gt 0 ] || return 0
    found=$(grep -nHE "$regex" "$@" | grep -vE '^[^:]*:[0-9]+: *(/?\*|//)') || return 0
    printf 'house rule broken: %s\n%s\n\n' "$text" "$found"
    bad=1
}
# but FILES... : the C files of the rooms without those that match the first pattern
but() {
    local except=$1 f
    shift
    for f in "$@"; do [[ $f =~ $except ]] || printf '%s\n' "$f"; done
}
include='^ *# *include *["<]'
pure=()
for f in scheme solve gf256 group tree format crc64; do pure+=(encode/"$f"*.[ch]); done
mapfile -t no_mpi < <(but '^(encode/comm_mpi(_(calls|dup|fault|first|send|side|up))?\.[ch]|include/H5FDredset\.h|vfd/fapl\.[ch])$' encode/*.[ch] vfd/*.[ch] include/*.h)
mapfile -t no_io < <(but '^encode/store.*\.c$' encode/*.c)
io='open|openat|openat2|syscall|creat|fopen|fdopen|freopen|pread|pwrite|preadv|pwritev|read|write|lseek|rename|renameat|unlink|unlinkat|remove|fsync|fdatasync|stat|lstat|fstat|fstatat|access|opendir|readdir|mkdir|rmdir|chmod|fchmod|chown|fchown|truncate|ftruncate|link|symlink|readlink|mmap|ioctl'

never 'encode/ knows no HDF5' "$include(hdf5|H5)" encode/*.[ch]
never 'encode/ knows nothing of vfd/' "$include(\.\./)?vfd/" encode/*.[ch]
never 'mpi.h only in encode/comm_mpi, the public header and vfd/fapl' "${include}mpi\.h" "${no_mpi[@]}"
never 'file calls only in encode/store*.c' "(^|[^[:alnum:]_.>])($io) *\(" "${no_io[@]}"
never 'pure files know no files and no ranks' "$include(store|comm)" "${pure[@]}"
never 'the process is never ended, nothing is printed below vfd/' \
    '(^|[^[:alnum:]_])(abort|exit|_exit|_Exit|quick_exit|assert|MPI_Abort) *\(' encode/*.c vfd/*.c
never 'nothing is printed below vfd/' '(^|[^[:alnum:]_])(v?f?printf|puts|fputs|perror|putchar) *\(' encode/*.c
exit "$bad"
