#!/usr/bin/env bash
# Datasets with external raw storage (H5Pset_external), which HDF5 writes past the driver: one line for each run and kind of file says that
# their data is not protected, and nothing fails.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work
ranks=4

begin() {
    rm -rf "$dir/now"
    mkdir "$dir/now"
}
job() { # CONFIG MODE FORMAT [RANK]
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="timeout=60 required=yes $1" timeout 120 "$mpiexec" -n "$ranks" \
        "$bin/external" "$2" "$dir/now" "${@:3}" >"$dir/out" 2>&1 || { cat "$dir/out"; return 1; }
}
says() { # PATTERN: in the only line about that
    cat "$dir/out"
    [ "$(grep -c H5Pset_external "$dir/out")" = 1 ] && grep -q "$1" "$dir/out"
}
quiet() { not grep H5Pset_external "$dir/out"; }
line='redset: [^ ]*data_0.h5: has a dataset with external raw storage .*is not protected; .*H5FDredset_protect_files (rank 0 on '

for format in earliest latest; do
    begin
    check "created, $format: said once" all job scheme=XOR create "$format" , says "$line"
    check 'open for change, and only such data is written' all job scheme=XOR change "$format" , says "$line"
    check 'only read' all job scheme=XOR read "$format" , quiet
    begin
    check 'three steps' all job scheme=XOR steps "$format" , says 'data_1_0.h5: has a dataset'
    begin
    check 'in the background' all job 'scheme=XOR async=yes' create "$format" , says "$line"
    begin
    check 'only in the file of rank 2' all job scheme=XOR create "$format" 2 , says 'data_0.h5: the file of another rank has a dataset'
    begin
    check 'in no file' all job scheme=XOR create "$format" 9 , job scheme=XOR change "$format" , quiet
    begin
    check 'files that are not protected' all job 'scheme=XOR files=other_*.h5' create "$format" , quiet
done
ranks=1
begin
check 'one process' all job scheme=SINGLE create latest , says "$line"

finish
