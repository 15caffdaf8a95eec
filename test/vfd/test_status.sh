#!/usr/bin/env bash
# What a program is told about one file, and by which minor number it knows why a call has failed: link_status.c compares it
# with what it knows, on 4 ranks and alone. `timeout` is the watchdog.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
mkdir "$work/dir" "$work/late" "$work/one" "$work/label"
program=$bin/link_status

# job CASE SETTINGS [DIR]: on 4 ranks
job() {
    HDF5_DRIVER_CONFIG="timeout=20 $2" timeout -s KILL 180 "$mpiexec" -np 4 "$program" "$1" "$work/${3:-dir}"
}
one() { HDF5_DRIVER_CONFIG=$2 timeout -s KILL 180 "$program" "$1" "$work/$3"; }

check 'files are created, opened and created over' job life ''
check 'a process that never opens the file' one stranger '' dir
check 'a lost file: who got it back, and of how many ranks' all rm "$work/dir/stat_1.h5" , job rebuild ''
job torn '' >>"$log" 2>&1 || true # without MPI_Finalize
check 'files are rolled back' job back ''
check 'closed in the background' job async async=yes
check 'files that are being changed: the minor number says it' job busy ''
check 'a rank does not come: so does this' job late 'timeout=3 required=yes' late
rm "$work/dir/stat_1.h5" "$work/dir/stat_2.h5"
check 'more is lost than can be rebuilt: and this' job refused ''
check 'a commit gets the label of the lowest rank that has one' job label job=mine label
check 'h5redset status shows it, with user and job' eval "'$tool' status '$work/label' | tee '$work/said' |
    grep -q 'generation 4 \"of rank 0\", protected .* ago) by .* in job mine$' || { cat '$work/said'; false; }"
check 'so does the map' eval "'$tool' map '$work/label' | grep -q '\"of rank 0\"$'"
check 'and JSON' eval "'$tool' status --json '$work/label' | grep -q '\"label\": \"of rank 0\"'"
for r in 0 1 2 3; do mv "$work/label/stat_$r.h5" "$work/label/other_$r.h5"; done
check 'files that are encoded again as they are keep it' job again '' label
check 'one process; and wrong calls' one alone scheme=SINGLE one

finish
