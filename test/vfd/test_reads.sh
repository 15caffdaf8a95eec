#!/usr/bin/env bash
# Several ranks open one file, or the files that a restart needs, and not all is in order. On one machine, in one directory.
#
#   lost        what rank 0, or 2, wrote is lost together with what protects it beside it: 1 to 5 ranks open that one file, or all
#               through a virtual dataset: it comes back, whoever and however many open it
#   restart     4 ranks wrote, then 2 ranks over two of the files: 4 ranks that open one each are refused with required=yes, and warned
#               without; 2 ranks that read all of them in turn are warned
#   unverified  nobody can tell any more whether a file is what was protected: refused with required=yes on all ranks, and opened with
#               a warning without; with fallback=yes an older generation that is whole is preferred
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
said=$work/said
unset HDF5_VDS_PREFIX

# job STATUS RANKS SETTINGS PROGRAM ARGUMENT...: what they say to $said
job() {
    local want=$1 status=0
    HDF5_DRIVER=${driver:-redset} HDF5_DRIVER_CONFIG="timeout=60 files=data_* $3" timeout -s KILL 180 \
        "$mpiexec" -np "$2" "$bin/$4" "$5" "$d" 20000 "${@:6}" >"$said" 2>&1 || status=$?
    [ "$status" = "$want" ] || { grep -v '^ *#\|major:\|minor:\|^---' "$said"; echo "exit status $status instead of $want"; return 1; }
}
says() { grep -q -- "$1" "$said" || { cat "$said"; echo "nobody says: $1"; return 1; }; }
begin() { rm -rf "$d" && mkdir "$d" && job 0 4 "$1" ranks write 1; }
lose() { rm "$d/data_$1.h5"*; }
same() { diff -r -x '*.redset.names' "$work/kept" "$d"; }

lost_and_read() { # SETTINGS FILE RANKS same|through
    restore && lose "$2"
    if [ "$4" = same ]; then job 0 "$3" "$1" readers same 1 "$2"; else job 0 "$3" "$1" readers through 1 4; fi
    cmp "$work/kept/data_$2.h5" "$d/data_$2.h5"
}
for scheme in XOR PARTNER 'RS checksums=2'; do
    settings="scheme=$scheme required=yes"
    check "$scheme: written" begin "$settings"
    driver=sec2 check "$scheme: a virtual dataset of all" job 0 1 '' readers master 1 4
    keep
    for n in 1 2 3 4 5; do
        check "$scheme: $n ranks open what rank 0 lost" lost_and_read "$settings" 0 "$n" same
    done
    check "$scheme: 4 ranks open what rank 2 lost" lost_and_read "$settings" 2 4 same
    check "$scheme: 4 ranks read through a virtual dataset, rank 0's is lost" lost_and_read "$settings" 0 4 through
done

restart() { # required STATUS
    restore
    job "$2" 4 "scheme=XOR required=$1" ranks read 1 2
}
check 'restart: 4 ranks have written' begin 'scheme=XOR'
check 'restart: 2 ranks write over two' job 0 2 'scheme=XOR' ranks write 2
keep
check 'restart: refused with required=yes' all restart yes 3 , says 'were not protected together' , same
check 'restart: a warning without' all restart no 0 , says 'redset: .*of different generations'
check 'restart: readers in another order are told' all job 5 3 'scheme=XOR required=yes' readers turn 1 4 , \
    says 'redset: .*of different generations'

begin 'scheme=XOR'
unverified() { # SETTINGS STATUS
    restore
    rm "$d"/data_[01].h5.[01].xor.*
    job "$2" 4 "scheme=XOR $1" ranks find 1 2
}
keep
check 'unverified: refused with required=yes' all unverified required=yes 3 , says 'nobody can tell whether'
check 'unverified: a warning without' all unverified required=no 0 , says 'redset: .*opened unverified'
check 'unverified: no older generation' all unverified fallback=yes 0 , says 'redset: .*opened unverified' , says 'found 1'
restore
check 'unverified: a second generation' job 0 4 'scheme=XOR keep=2' ranks write 2
keep
check 'unverified: an older generation' all unverified fallback=yes 0 , says 'redset: .*which is not the newest' , says 'found 1'
check 'unverified: or an error that says so' all unverified required=yes 3 , says 'an older generation'
finish
