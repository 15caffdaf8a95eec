#!/usr/bin/env bash
# Several readers of one file: what HDF5 reads is of the file that was verified, whoever repairs it, and when (V6). The ranks
# of a job that open one damaged file as their first, and processes without MPI that do so at once. Programs: ranks.c,
# readers.c, driver.c. `timeout` is a watchdog.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work
export HDF5_DRIVER=redset

# ranks SETTINGS RANKS COMMAND...: ends with status 0
ranks() { HDF5_DRIVER_CONFIG="timeout=60 $1" timeout -s KILL 180 "$mpiexec" -n "$2" "$bin/$3" "${@:4}"; }

# make SETTINGS SIZE: four ranks write and protect their files
make() {
    rm -rf "$dir/made" "$dir/now"
    mkdir "$dir/now"
    ranks "required=yes $1" 4 ranks write "$dir/now" "$2" 1
    cp -a "$dir/now" "$dir/made"
}
begin() {
    rm -rf "$dir/now"
    cp -a "$dir/made" "$dir/now"
}
damage() { flip "$dir/now/data_0.h5" 7000; }
lose() { rm "$dir/now/data_0.h5"; }
whole() { cmp "$dir/made/data_0.h5" "$dir/now/data_0.h5"; }

# reads VERIFY RANKS WHAT: all ranks open the file as their first; it is damaged, or lost
reads() {
    begin
    check "verify=$1, $2 ranks, $3" all "$3" , \
        ranks "$scheme required=yes verify=$1" "$2" readers same "$dir/now" 20000 1 0 , whole
}
for scheme in 'scheme=XOR' 'scheme=PARTNER' 'scheme=RS checksums=2'; do
    echo "ranks that open one file, with $scheme:"
    make "$scheme" 20000
    reads open 4 damage
    reads open 3 lose
    reads all 2 damage
    reads read 4 damage
done

# at_once READERS COMMAND...: all at once; each reads what was written
at_once() {
    local n pids=() status=0
    for ((n = 0; n < $1; n++)); do
        timeout -s KILL 180 "${@:2}" >"$dir/out.$n" 2>&1 &
        pids+=($!)
    done
    for n in "${pids[@]}"; do wait "$n" || status=1; done
    for ((n = 0; n < $1; n++)); do
        cat "$dir/out.$n"
        grep -q "^$sum\$" "$dir/out.$n" || status=1
    done
    return $status
}

echo 'processes without MPI that open one file at once:'
make 'scheme=XOR' 16000000
"$bin/driver" open-read "$dir/now/data_0.h5" >"$dir/sum"
sum=$(grep '^sum' "$dir/sum")
for verify in open read; do
    for what in damage lose; do
        begin
        check "verify=$verify, $what" all $what , \
            at_once 4 env HDF5_DRIVER_CONFIG="required=yes verify=$verify" "$bin/driver" open-read "$dir/now/data_0.h5" , whole
    done
done
finish
