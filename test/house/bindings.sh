#!/usr/bin/env bash
# Whatever the public header declares is in both modules of bindings/, under its name: functions, members of structs, and
# constants. What is left out of one stands here, with the reason.
set -euo pipefail
cd "${REDSET_SOURCE_DIR:-$(dirname "${BASH_SOURCE[0]}")/../..}"
header=include/H5FDredset.h
declare -A modules=([fortran]=bindings/fortran/h5fd_redset.f90 [python]=bindings/python/h5redset.py)
bad=0

# left out of MODULE NAME REASON
declare -A left_out
left() { for name in $2; do left_out[$1 $name]=$3; done; }
left fortran H5FD_redset_config_init 'inline: h5fd_redset_config_init_f calls H5FD_redset_config_fill, as it does'
left python H5FD_redset_config_init 'inline: _config_of calls H5FD_redset_config_fill, as it does'
left fortran 'H5FD_REDSET H5FD_REDSET_E_USAGE H5FD_REDSET_E_BUSY H5FD_REDSET_E_DAMAGED H5FD_REDSET_E_PEER_MISSING
    H5FD_REDSET_E_UNRECOVERABLE H5FD_REDSET_E_CHANGED' 'calls of h5fd_redset_init_f and h5fd_redset_minor_f'
left python 'H5FD_REDSET H5FD_REDSET_E_USAGE H5FD_REDSET_E_BUSY H5FD_REDSET_E_DAMAGED H5FD_REDSET_E_PEER_MISSING
    H5FD_REDSET_E_UNRECOVERABLE H5FD_REDSET_E_CHANGED' 'calls of driver and minor'
left fortran 'H5FD_REDSET_EXPORT H5FD_REDSET_VALUE' 'for the C compiler, and for H5Pset_driver_by_value of C'
left python 'H5FD_REDSET_EXPORT H5FD_REDSET_VALUE' 'for the C compiler, and for H5Pset_driver_by_value of C'
left python 'H5FD_REDSET_NAME' 'a word in the code: "redset"'
left python 'H5FD_REDSET_CONFIG_MAGIC H5FD_REDSET_CONFIG_VERSION' 'H5FD_redset_config_fill writes them'
left python 'H5FD_REDSET_KEEP_ALL' 'keep="all" of a configuration string'
left python 'H5FD_REDSET_REASONS' 'len(REASON)'

code=$(perl -0pe 's{/\*.*?\*/}{}gs' "$header")
functions=$(grep -v '^#' <<<"$code" | tr '\n' ' ' | grep -oE '(H5FD_REDSET_EXPORT|static inline) [^;({]*\(' | grep -oE '\w+ *\($' | tr -d ' (')
members=$(perl -0ne 'while (/typedef struct \w+ \{(.*?)\}/gs) { $body = $1; print "$1\n" while $body =~ /(\w+)\s*(?:\[[^\]]*\])?;/g }' \
    <<<"$code" | sort -u)
constants=$(grep -oE '^#define H5FD_REDSET\w*|\bH5FD_REDSET_\w+ *=' <<<"$code" | sed 's/#define //; s/ *=//' | sort -u)
count() { wc -l <<<"$1"; }
if [ "$(count "$functions")" -lt 20 ] || [ "$(count "$members")" -lt 60 ] || [ "$(count "$constants")" -lt 45 ]; then
    echo "this test does not read $header: $(count "$functions") functions, $(count "$members") members, $(count "$constants") constants"
    exit 1
fi

# wanted MODULE NAME COMMAND...: the command succeeds, or it is said above why not, and then it does not
wanted() {
    local key="$1 $2" file=${modules[$1]}
    if "${@:3}" "$file"; then
        [ -z "${left_out[$key]:-}" ] || { echo "$file has $2 now: take it from the list in house.bindings"; bad=1; }
    elif [ -z "${left_out[$key]:-}" ]; then
        echo "$file has no $2, which is in $header"
        bad=1
    fi
    unset "left_out[$key]"
}
# A constant of an enumeration is in Python the last words of its name, in a table that has the first ones.
in_table() {
    local name=${1#H5FD_REDSET_} table
    for table in SCHEME VERIFY MOVED CHANGED COMMIT REASON DID; do
        [ "$table" != SCHEME ] || ! grep -qE "^SCHEME = .*\"$name\"" "$2" || return 0
        [[ $name != "${table}"_* ]] || ! grep -qE "^$table = .*\"${name#"${table}"_}\"" "$2" || return 0
    done
    grep -qE "^(_\w+, )*_${name}(, _\w+)* = " "$2"
}
for name in $functions; do
    wanted fortran "$name" grep -qF "bind(C, name='$name')"
    wanted python "$name" grep -qE "^    .*_(call|with_config)\(\"$name\""
done
for name in $members; do
    wanted fortran "$name" grep -qE "^        (integer|real|character).*:: .*\b$name\b"
    wanted python "$name" grep -qF "(\"$name\", "
done
for name in $constants; do
    wanted fortran "$name" grep -qE "^    (integer|character).*parameter, public :: .*\b$name = "
    wanted python "$name" in_table "$name"
done
for key in "${!left_out[@]}"; do
    echo "house.bindings lists ${key#* }, which $header does not have"
    bad=1
done
exit $bad
