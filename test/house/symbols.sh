#!/usr/bin/env bash
# What the plugin shows to and wants from the process it is loaded into.
set -euo pipefail
plugin=${REDSET_BUILD_DIR:?run by ctest, or set it}/plugins/libhdf5_vfd_redset.so
[ -e "$plugin" ] || { echo 'SKIP: the plugin is not built'; exit 77; }
bad=0
# rule TEXT LINES: lines left over break the rule
rule() { [ -z "$2" ] || { printf 'house rule broken: %s\n%s\n\n' "$1" "$2"; bad=1; }; }

symbols=$(nm -D "$plugin" | sed 's/@.*//')
exported=$(awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' <<<"$symbols")
wanted=$(awk '$1 == "U" { print $2 }' <<<"$symbols")

rule 'only the driver and its property list calls are exported' \
    "$(grep -vE '^(H5PLget_plugin_(type|info)|H5FD_?redset\w*|H5P[gs]et_fapl_redset\w*)$' <<<"$exported" || true)"
for entry in H5PLget_plugin_type H5PLget_plugin_info; do
    rule "$entry is exported" "$(grep -qx "$entry" <<<"$exported" || echo "missing: $entry")"
done
enders='_?_?exit|_Exit|quick_exit|abort|MPI_Abort|PMPI_Abort'
# A debug build asserts its invariants; no other one does (cmake/compiler.cmake).
grep -qxi 'CMAKE_BUILD_TYPE:[A-Z]*=Debug' "$REDSET_BUILD_DIR/CMakeCache.txt" || enders+='|__assert_fail'
rule 'nothing ends the process (P6)' "$(grep -xE "$enders" <<<"$wanted" || true)"
rule 'nothing prints to standard output' \
    "$(grep -xE '(__)?v?printf(_chk)?|puts|putchar|stdout' <<<"$wanted" || true)"
rule 'MPI is weak: the plugin loads into a process without it (P10)' \
    "$(grep -E '^P?MPI_|^ompi_|^mpi_' <<<"$wanted" || true)"
rule 'libmpi is not linked' "$(readelf -d "$plugin" | grep -E 'NEEDED.*libmpi' || true)"
rule 'libhdf5 is linked' "$(readelf -d "$plugin" | grep -qE 'NEEDED.*libhdf5' || echo 'missing: libhdf5')"
rule 'never unloaded' "$(readelf -d "$plugin" | grep -q NODELETE || echo 'missing: NODELETE')"
rule 'one file in the plugin directory, no symlinks' \
    "$(find "$(dirname "$plugin")" -mindepth 1 ! \( -type f -name libhdf5_vfd_redset.so \))"
exit "$bad"
