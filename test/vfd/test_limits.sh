#!/usr/bin/env bash
# A limit of file sizes (ulimit -f) that the program's files keep and what protects them does not: no signal ends the program. With
# required=no it goes on and is told so; with required=yes H5Fclose fails on all ranks.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset
ranks=$bin/ranks
size=200000
limit=''

# job SETTINGS COMMAND SEED: on 4 ranks; with the limit on rank 2 where there is one, in bytes
job() {
    HDF5_DRIVER_CONFIG="scheme=PARTNER timeout=60 $1" LIMIT_RANK=${limit:+2} LIMIT_BYTES=$limit \
        LD_PRELOAD=$bin/libpreload_limit.so${LD_PRELOAD:+:$LD_PRELOAD} \
        timeout -s KILL 180 "$mpiexec" -np 4 "$ranks" "$2" "$work/dir" "$size" "$3" 2>&1
}
ends() { # STATUS COMMAND...: with that exit status
    local status=0
    "${@:2}" || status=$?
    [ "$status" = "$1" ] || { echo "status $status"; return 1; }
}
fresh() { rm -rf "$work/dir" && mkdir "$work/dir"; }
says() { tee "$work/said" && grep -q "$1" "$work/said"; }
says_limit() { "$@" | says "data_2[^ ]*redset[^ ]*: .*no file larger than $limit bytes: raise that limit (ulimit -f)"; }

fresh
check 'without a limit' job required=yes write 1
file=$(stat -c %s "$work/dir/data_2.h5")
redundancy=$(stat -c %s "$work"/dir/data_2.h5.2.partner*redset)
limit=$((file + 100))
check 'the limit is between the file and its redundancy' [ "$limit" -lt "$redundancy" ]
fresh
check 'required=no: written, and told that it is not protected' says_limit job required=no write 1
check 'and there to be read' job '' read 1
fresh
check 'required=yes: refused on all ranks' says_limit ends 3 job required=yes write 1
limit=''
fresh
check 'protected before' job required=yes write 1
limit=$((file + 100))
check 'a change of these files fits' job required=yes update 1:2
limit=''
check 'and read by all, without the limit' job '' read 1:2
limit=''
fresh
job required=yes write 1 >"$log"
rm "$work"/dir/data_2.h5*
limit=$((file - 1000))
check 'a lost file that may not be so large: refused, no signal' says_limit ends 3 job '' read 1
limit=''
check 'and rebuilt where it may' job required=yes read 1
finish
