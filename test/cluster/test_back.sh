#!/usr/bin/env bash
# The old content survives until the new one is protected (P3, P11): files that four ranks on four
# nodes have protected are changed by a run that does not come to a good end. The next one finds what was
# protected last, also when a node is lost on top, or what the run has closed.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"


ranks() { cluster_run "$bin/ranks" "$1" "$CLUSTER_LOCAL" 20000 1; }
changes() { cluster_run "$bin/changes" "$1" "$2" "$CLUSTER_LOCAL"; }
tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f ! -name '*.h5' -printf '%p\n' | sort); }
as_kept() { diff -r -x '*.redset.names' "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes"; }
changed() { ! diff -rq -x '*.redset.names' "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes" >/dev/null; }

# what ranks find after a death: content 1, and with the files opened for writing nothing else lies around
taken_back() { ranks read && ranks readwrite && as_kept; }
dies() { ! changes "$1" "$2" && changed; }
dies_and_is_taken_back() { dies "$1" "$2" && taken_back; }
dies_with_a_node() { dies "$1" "$2" && cluster_lose_node 2 && taken_back; }

# new content that is on every rank, and protected: a node may be lost
renewed() {
    for k in 0 1 2 3; do
        ! cmp -s "$(cluster_storage "$k")/data_$k.h5" "$CLUSTER_DIR/kept/node$k/data_$k.h5" || return 1
    done
    rm -rf "$CLUSTER_DIR/after" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/after"
    cluster_lose_node 1
    changes look now && diff -r -x '*.redset.names' "$CLUSTER_DIR/after" "$CLUSTER_DIR/nodes"
}
closes_and_protects() { changes "$1" "$2" && renewed; }

# a change after MPI_Finalize: said once per file, the files stay as written, until something is missing
is_not_protected() {
    HDF5_DRIVER_CONFIG="$config required=no timeout=20" changes "$1" more >"$CLUSTER_DIR/out" 2>&1 || return 1
    cat "$CLUSTER_DIR/out"
    for k in 0 1 2 3; do
        [ "$(grep -c "^redset: [^ ]*/data_$k.h5: closed where MPI cannot be called" "$CLUSTER_DIR/out")" = 1 ] || return 1
    done
    changed
}
stays_as_written() {
    is_not_protected "$1"
    rm -rf "$CLUSTER_DIR/after" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/after"
    changes look now
    diff -r -x '*.redset.names' "$CLUSTER_DIR/after" "$CLUSTER_DIR/nodes"
}

cluster_up 4 1
log=$CLUSTER_DIR/log
for config in 'scheme=XOR' 'scheme=PARTNER replicas=1' 'scheme=RS checksums=2'; do
    export HDF5_DRIVER_CONFIG="$config required=yes timeout=20"
    for k in 0 1 2 3; do cluster_lose_node "$k"; done
    check "$config: written" ranks write
    cluster_keep
    for how in update create; do
        cluster_put_back; check "$how, killed, and a node is lost" dies_with_a_node $how killed
        [ "$config" = scheme=XOR ] || continue # the rest has nothing to do with schemes
        cluster_put_back; check "$how, killed" dies_and_is_taken_back $how killed
        cluster_put_back; check "$how, one rank killed" dies_and_is_taken_back $how killed1
        cluster_put_back; check "$how, looked at while it is open" closes_and_protects $how open
        cluster_put_back; check "$how, MPI_Finalize before H5Fclose" closes_and_protects $how finalized
        cluster_put_back; check "$how, written after MPI_Finalize" stays_as_written $how
    done
    cluster_put_back; check 'latest format, MPI_Finalize before H5Fclose' closes_and_protects latest finalized
done

# The directory of one rank is a link to storage that is gone: that says nothing about files (P4).
in_a_directory() { cluster_run "$bin/ranks" "$1" "$CLUSTER_LOCAL/sub" 20000 1; }
behind_a_link() {
    local status=0
    for k in 0 1 2 3; do mkdir "$(cluster_storage $k)/sub"; done
    in_a_directory write || return
    mv "$(cluster_storage 2)/sub" "$(cluster_storage 2)/kept"
    ln -s "$CLUSTER_DIR/nowhere" "$(cluster_storage 2)/sub"
    in_a_directory read || status=$?
    rm "$(cluster_storage 2)/sub"
    [ "$status" = 3 ] && in_a_directory read && in_a_directory readwrite
}
export HDF5_DRIVER_CONFIG='scheme=XOR timeout=20'
cluster_put_back; check 'behind a link to nothing: refused on all ranks, and back without it' behind_a_link

# Storage that is full: what is written beside the old file finds no room, what the old content would be
# kept in neither. The first is an error that says what to do, with the old files as they were; the second
# goes on without.
full_config="scheme=XOR timeout=20"
write_full() { # CONFIG COMMAND...
    cluster_put_back
    for k in 0 1 2 3; do # as many bytes as are there, and one block more
        mv "$(cluster_storage $k)" "$CLUSTER_DIR/full"
        mkdir "$(cluster_storage $k)"
        mount -t tmpfs -o "size=$(($(du -s --block-size=4096 "$CLUSTER_DIR/full" | cut -f 1) * 4 + 8))k" full "$(cluster_storage $k)"
        cp -a "$CLUSTER_DIR/full/." "$(cluster_storage $k)/"
        rm -rf "$CLUSTER_DIR/full"
    done
    local status=0
    HDF5_DRIVER_CONFIG=$1 changes "${@:2}" || status=$?
    for k in 0 1 2 3; do
        cp -a "$(cluster_storage $k)" "$CLUSTER_DIR/nodes/copy$k"
        umount "$(cluster_storage $k)"
        rmdir "$(cluster_storage $k)"
        mv "$CLUSTER_DIR/nodes/copy$k" "$(cluster_storage $k)"
    done
    return $status
}
no_room_beside() {
    ! write_full "$full_config" grow killed >"$CLUSTER_DIR/out" 2>&1 && cat "$CLUSTER_DIR/out" &&
        grep -q 'atomic=no gives up the old one first' "$CLUSTER_DIR/out" && taken_back
}
no_room_to_keep() { write_full "$full_config" rewrite now && changes look now; }
if [ "$CLUSTER_MODE" = root ]; then
    echo 'full storage:'
    check 'no room for a new file beside the old one' no_room_beside
    check 'no room to keep what changes: changed in place' no_room_to_keep
else
    echo 'SKIP: full storage: needs root'
fi

finish
