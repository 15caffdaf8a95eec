#!/usr/bin/env bash
# No room: four ranks, each with a file system of its own, create their protected files anew or change them while one of these
# file systems, or each, has so many inodes or blocks left, from none on; so each call that needs one is the first to
# fail in turn. Whatever comes of that, the next runs find one content on all ranks: what was protected last, or what was
# written. A run that only reads finds it while there still is no room. A call that has succeeded with required=yes has protected what it
# wrote (P2, P3, P11).
#
#   test_room.sh [REGEX]     only the cases that match
#   ROOM_ALL=yes             from none on up to as many as are needed; else some of these
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
if [ -z "${ROOM_INSIDE:-}" ]; then
    for flags in '--mount' '--user --map-root-user --mount'; do
        # shellcheck disable=SC2086 # flags are words
        ! unshare $flags sh -c 'mount -t tmpfs none /mnt' 2>/dev/null || ROOM_INSIDE=yes exec unshare $flags "$0" "$@"
    done
    echo 'SKIP: no file systems can be mounted here'
    exit 77
fi
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
bin=$REDSET_BUILD_DIR/test/vfd only=${1:-} ncases=0 size=20000
export HDF5_PLUGIN_PATH HDF5_DRIVER=redset
unset HDF5_USE_FILE_LOCKING
work=$(mktemp -d)
trap 'umount -Rl "$work" && rmdir "$work"' EXIT
mount -t tmpfs none "$work"

# ranks SETTINGS COMMAND SEED...: in $dir/node<rank>; exit status in $status
ranks() {
    status=0
    # shellcheck disable=SC2016
    HDF5_DRIVER_CONFIG="$1 timeout=20" timeout 100 "$MPIEXEC" -n 4 sh -c \
        'bin=$1 command=$2 dir=$3 size=$4; shift 4
         exec "$bin/ranks" "$command" "$dir/node${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}" "$size" "$@"' sh \
        "$bin" "$2" "$dir" "$size" "${@:3}" >"$dir/said" 2>&1 || status=$?
    { echo "--- $*: status $status"; cat "$dir/said"; } >>"$dir/log"
}
found() { sed -n 's/^found //p' "$dir/said"; }
wrong() { echo "$*" >>"$dir/log"; return 1; }

# short inodes|blocks RANKS LEFT: what these ranks' file systems have left
short() {
    local rank node all free
    for rank in $2; do
        node=$dir/node$rank
        if [ "$1" = inodes ]; then
            read -r all free < <(stat -f -c '%c %d' "$node")
            mount -o "remount,nr_inodes=$((all - free + $3))" "$node"
        else
            read -r all free < <(stat -f -c '%b %f' "$node")
            mount -o "remount,size=$(((all - free + $3) * 4))k" "$node"
        fi
    done
}
plenty() { for rank in 0 1 2 3; do mount -o remount,nr_inodes=1000,size=4m "$dir/node$rank"; done; }

begin() {
    local rank
    for rank in 0 1 2 3; do
        mkdir "$dir/node$rank"
        mount -t tmpfs -o nr_inodes=1000,size=4m none "$dir/node$rank"
        [ ! -d "$work/made" ] || cp -a "$work/made/node$rank/." "$dir/node$rank"
    done
}
end() { for rank in 0 1 2 3; do umount "$dir/node$rank"; done; }

# no_room SETTINGS COMMAND WHAT RANKS LEFT
no_room() {
    local seed=2 wrote read
    [ "$2" = write ] || seed=1:2
    begin
    short "$3" "$4" "$5"
    ranks "$1" "$2" $seed
    wrote=$status
    case $wrote in 0 | 2 | 3 | 4) ;; *) wrong 'ended in another way' || return 1 ;; esac
    ranks "$1" find 1 $seed
    read=$(found)
    [ "$status" = 0 ] || wrong 'not to be read while there is no room' || return 1
    [[ $wrote != 0 || "$1" != *required=yes* || "$read" = "$seed" ]] || wrong 'succeeded, and is not there' || return 1
    plenty
    ranks "$1" take_up 1 $seed
    [ "$status" = 0 ] && [ "$(found)" = "$read" ] || wrong 'another one, when there is room' || return 1
    end
}

# ---- what is damaged on a disk that is full (P2, P11) ----

flip() { # as a disk that fails: the time stays
    local time
    time=$(stat -c %y "$dir/node1/data_1.h5")
    printf x | dd of="$dir/node1/data_1.h5" conv=notrunc bs=1 seek=$((size / 2)) status=none
    touch -m -d "$time" "$dir/node1/data_1.h5"
}
whole() { cmp "$work/made/node1/data_1.h5" "$dir/node1/data_1.h5"; }
reads() { # SETTINGS COMMAND
    ranks "$1" "$2" 1
    [ "$status" = 0 ] || wrong "status $status"
}
lost_redundancy() { rm "$dir"/node1/data_1.h5.1.*.redset; }
damaged() { # SETTINGS COMMAND WHAT...: it is lost on rank 1
    begin
    for what in "${@:3}"; do $what; done
    short blocks 1 0
    short inodes 1 0
    reads "$1" "$2" || return 1
    whole || wrong 'not whole' || return 1
    plenty
    reads required=yes readwrite && [ -n "$(find "$dir/node1" -name 'data_1.h5.1.xor*.redset')" ] || return 1
    end
}
# one process, which sees the directories of the others
damaged_alone() {
    begin
    flip
    short blocks 1 0
    short inodes 1 0
    HDF5_DRIVER_CONFIG="search=$dir/node0:$dir/node2:$dir/node3" "$bin/driver" open-read "$dir/node1/data_1.h5" >>"$dir/log" 2>&1 ||
        wrong 'not opened' || return 1
    whole || return 1
    end
}
# killed in the middle of that, anywhere: the next one goes on
killed() { # AT
    begin
    flip
    short blocks 1 0
    local verify
    LD_PRELOAD=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} DIE_RANK=1 DIE_AT=$1 DIED=$work/died.$1 ranks '' read 1
    # once it is begun, who looks at sizes only finds it as well
    if compgen -G "$dir/node1/*.void" >/dev/null; then verify=size; else verify=open; fi
    reads "required=yes verify=$verify" read || return 1
    whole || wrong 'not whole' || return 1
    plenty
    reads required=yes readwrite || return 1
    end
}
# what was cut off needs room that there is not: it says what to do, changes nothing, and is read once there is
cut_short() {
    begin
    truncate -s 4096 "$dir/node1/data_1.h5"
    short blocks 1 0
    ranks '' read 1
    [ "$status" = 3 ] && grep -q 'remove something else from this file system' "$dir/said" || wrong 'not refused' || return 1
    plenty
    reads 'required=yes verify=size' read && whole || return 1
    end
}

# try COMMAND...: a case in a directory of its own, some at a time
one() {
    local dir start=$SECONDS
    dir=$(mktemp -d "$work/case.XXXXXX")
    if "$@" 2>>"$dir/log"; then
        echo "  ok      $* ($((SECONDS - start)) s)"
        [ -z "${ROOM_VERBOSE:-}" ] || sed 's/^/          . /' "$dir/log"
        rm -rf "$dir"
    else
        { echo "  FAILED  $*"; sed -n '1,60s/^/          | /p' "$dir/log"; } | tee "$dir.failed"
    fi
}
try() {
    [[ -z $only || "$*" =~ $only ]] || return 0
    ncases=$((ncases + 1))
    while [ "$(jobs -rp | wc -l)" -ge "${ROOM_AT_ONCE:-3}" ]; do wait -n || true; done
    one "$@" &
}

dir=$work/first
mkdir "$dir"
begin
ranks 'scheme=XOR required=yes' write 1
[ "$status" = 0 ] || { cat "$dir/log"; exit 1; }
mkdir "$work/made"
cp -a "$dir"/node? "$work/made"

if [ -n "${ROOM_ALL:-}" ]; then inodes=(0 1 2 3) blocks=(0 1 2 4 6 8 10 12); else inodes=(0 1) blocks=(6); fi
for required in yes no; do
    for command in write update; do
        for who in 1 '0 1 2 3'; do
            for left in "${inodes[@]}"; do ! due || try no_room "required=$required" $command inodes "$who" "$left"; done
            for left in "${blocks[@]}"; do ! due || try no_room "required=$required" $command blocks "$who" "$left"; done
        done
    done
done
for command in read readwrite; do
    try damaged '' $command flip
    try damaged required=yes $command flip
done
try damaged '' read lost_redundancy
try damaged '' read flip lost_redundancy
try damaged_alone
for at in $(some 1 2 3 4 5 6 7 8); do try killed "$at"; done
try cut_short
wait
failed=$(find "$work" -maxdepth 1 -name '*.failed' | wc -l)
echo "$ncases cases, $failed failed"
[ "$ncases" -gt 0 ] && [ "$failed" = 0 ]
