#!/usr/bin/env bash
# Ranks, or their threads, open files of kinds that names tell apart, in orders of their own (orders.c): whole files are opened
# without a wait, and closed together; who misses its file has the others' help. The timeout is longer than the watchdog: nobody
# may wait for it (P5).
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
export HDF5_DRIVER=redset

# job RANKS ACTION OLD NEW: with $settings
job() {
    HDF5_DRIVER_CONFIG="timeout=600 $settings" timeout -s KILL 180 "$mpiexec" -n "$1" "$bin/orders" "$d" "${@:2}" </dev/null
}
# As job; and the driver has nothing to say but where the ranks are.
silent() {
    job "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    ! grep '^redset: ' "$work/said" | grep -v 'on one host'
}
lost() { rm "$d/flow_1.h5"*; }
damaged() { flip "$d/flow_1.h5" 9000; }

while read -r n settings; do
    echo "$n ranks, $settings:"
    rm -rf "$d" && mkdir "$d"
    check 'created' job "$n" create 0 1
    check 'read in orders of their own' silent "$n" read 1 1
    check 'opened so, changed, and closed together' silent "$n" update 1 2
    check 'all is protected' all silent "$n" read 2 2 , silent "$n" update 2 3
    check 'threads read them' silent "$n" threads 3 0
    check 'a rank has lost the one that it opens first' all lost , job "$n" update 3 4 , silent "$n" read 4 4
    case $settings in *verify=read*) continue ;; esac # found when it is read, and then repaired by one rank
    check 'that is damaged' all damaged , job "$n" read 4 4 , silent "$n" update 4 5
done <<'END'
3 required=yes
2 required=no scheme=PARTNER
3 required=yes verify=read
END
finish
