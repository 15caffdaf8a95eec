#!/usr/bin/env bash
# Nodes are lost on a cluster of this machine, and everything a scheme promises is looked for.
#
#   every loss     4 ranks, one per node, every scheme, and 8 ranks where two losses can lie apart: every
#                  set of nodes: what the scheme survives is made good, data and redundancy, byte for byte (P1 P2); one node more
#                  (SWEEP=all: anything more) is refused on every rank, by an error that names a file,
#                  with nothing changed (P4 P6 P7). In one mpirun: `ranks sweep`, test/vfd/ranks.c.
#   a new job      the same from the outside, for the largest loss and one beyond: a new mpirun, and
#                  the file trees compared by this shell.
#   writing        a file opened for writing and left alone stays protected as it was; one that was
#                  changed is protected with its new content (P3 to the good end).
#   killed         an application (examples/heat.c) loses nodes while it runs: ranks killed by SIGKILL,
#                  storage gone. Started again it goes on and ends with the very same bits (P1 P2 P11).
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
ranks=$REDSET_BUILD_DIR/test/vfd/ranks
heat=$REDSET_BUILD_DIR/examples/heat

common='required=yes timeout=20' # a file that cannot be protected is an error; nobody waits longer
failures=0 rows=0
exec 3>&1 # what check() says, while the output of runs goes to $log

# check TEXT COMMAND...: one line on how it went; the log only when it failed
check() {
    local text=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "  ok      $text" >&3
    else
        echo "  FAILED  $text" >&3
        sed -n '1,60s/^/          | /p' "$log" >&3 # the first things that went wrong
        failures=$((failures + 1))
    fi
}

# refuses COMMAND...: exit status 3, and the whole cluster's storage as before
refuses() {
    local before status=0
    before=$(tree)
    "$@" || status=$?
    [ "$status" = 3 ] || { echo "exit status $status, not 3"; return 1; }
    diff <(echo "$before") <(tree)
}

# Everything in the storage of all nodes: names, permissions, times, content.
tree() {
    (cd "$CLUSTER_DIR/nodes" && find . -printf '%p %y %m ' \( -type f -printf '%s %T@' , -true \) -printf '\n' |
        sort && find . -type f -exec sha256sum {} + | sort -k 2)
}

lose() { for node in "$@"; do cluster_lose_node "$node"; done; }
as_kept() { diff -r -x '*.redset.names' "$CLUSTER_DIR/kept" "$CLUSTER_DIR/nodes"; }
empty() { for ((k = 0; k < CLUSTER_NODES; k++)); do cluster_lose_node "$k"; done; }

on_cluster() { cluster_run "$ranks" "$1" "$CLUSTER_LOCAL" "${@:2}"; }
recovers() { on_cluster read "$@" && as_kept; }

# losses NODES SCHEME COUNT CONFIG "largest loss" "beyond": the first two parts of this test. With SWEEP_HALF=1 or 2 of each two of
# them the first or the second.
losses() {
    local nodes=$1 scheme=$2 count=$3 survive=$5 beyond=$6 size=70001
    rows=$((rows + 1))
    [ -z "${SWEEP_HALF:-}" ] || [ $((rows % 2)) = $((SWEEP_HALF % 2)) ] || return 0
    [ "$nodes" = 8 ] || size=1
    export HDF5_DRIVER_CONFIG="$4 $common"
    empty
    check "$nodes ranks, $4: written" on_cluster write $size 1
    cluster_keep
    # shellcheck disable=SC2086 # node numbers are words
    if [ -n "$survive" ]; then
        lose $survive
        check "nodes $survive lost, read by a new job" recovers $size 1
    fi
    cluster_put_back
    # shellcheck disable=SC2086
    lose $beyond
    check "nodes $beyond lost, refused" refuses on_cluster read $size 1
    cluster_put_back
    # shellcheck disable=SC2086 # nothing or one word
    check "every loss" on_cluster sweep $size 1 "$scheme" "$count" ${SWEEP:-}
    grep -h ' losses made good' "$log" | sed 's/^/          /' || true
}

cluster_up 4 1
log=$CLUSTER_DIR/log
losses 4 SINGLE 0 'scheme=SINGLE' '' '1'
losses 4 PARTNER 1 'scheme=PARTNER replicas=1' '0 2' '1 2'
losses 4 PARTNER 2 'scheme=PARTNER replicas=2' '1 2' '0 1 2'
losses 4 XOR 1 'scheme=XOR' '3' '0 3'
losses 4 RS 1 'scheme=RS checksums=1' '0' '1 2'
losses 4 RS 2 'scheme=RS checksums=2' '1 3' '0 1 2'
losses 4 RS 3 'scheme=RS checksums=3' '0 1 2' '0 1 2 3'
cluster_down
cluster_up 8 1
log=$CLUSTER_DIR/log
losses 8 PARTNER 2 'scheme=PARTNER replicas=2' '0 1 3 4 6' '2 3 4'
losses 8 RS 2 'scheme=RS checksums=2' '1 7' '0 1 2'
cluster_down

echo "writing: 4 nodes, 2 ranks each"
cluster_up 4 2
log=$CLUSTER_DIR/log
for config in 'scheme=PARTNER replicas=1' 'scheme=XOR' 'scheme=RS checksums=2'; do
    export HDF5_DRIVER_CONFIG="$config $common"
    empty
    check "$config: written" on_cluster write 5000 1
    cluster_keep
    check "opened for writing, nothing written" on_cluster readwrite 5000 1
    lose 2
    lose 2
    check "node 2 lost, read again, all files as they were" recovers 5000 1
    check "changed" on_cluster update 5000 1:2
    cluster_keep
    lose 0
    check "node 0 lost, opened for writing with the new content" on_cluster readwrite 5000 1:2
    check "all files as the change left them" as_kept
done

# killed_at TEXT NODES STEPS EVERY: the application starts on empty storage; when it has said TEXT the
# nodes' ranks are killed and their storage is gone. How that run ended is of no interest.
killed_at() {
    local text=$1 nodes=$2 run out=$CLUSTER_DIR/out
    empty
    : >"$out"
    cluster_run "$heat" --dir "$CLUSTER_LOCAL" --steps "$3" --every "$4" >"$out" 2>&1 &
    run=$!
    cluster_await "$text" "$out" "$run" || { cat "$out"; echo "ended before it said: $text"; return 1; }
    sleep "0.0$((RANDOM % 10))" # anywhere in what comes next
    # shellcheck disable=SC2086
    lose $nodes
    ! wait "$run" || { cat "$out"; echo "it was to be killed, but finished"; return 1; }
}

# goes_on STEPS EVERY: started again, it continues from a checkpoint and ends with the bits of $reference.
goes_on() {
    cluster_run "$heat" --dir "$CLUSTER_LOCAL" --steps "$1" --every "$2" --final "$CLUSTER_DIR/final" \
        >"$CLUSTER_DIR/out" 2>&1 || { cat "$CLUSTER_DIR/out"; return 1; }
    grep -q 'restarted from its checkpoint' "$CLUSTER_DIR/out" || { echo "it did not restart"; return 1; }
    cmp "$CLUSTER_DIR/final" "$reference"
}

goes_on_after() { killed_at "$1" "$2" "$3" "$4" && goes_on "$3" "$4"; }

stays_down_after() {
    killed_at "$1" "$2" "$3" "$4" || return 1
    refuses heat_refused --steps "$3" --every "$4"
}

# heat has one exit status for all that goes wrong; what it must not do is start over, or on some ranks only
heat_refused() {
    ! cluster_run "$heat" --dir "$CLUSTER_LOCAL" "$@" >"$CLUSTER_DIR/out" 2>&1 || return 1
    cat "$CLUSTER_DIR/out"
    grep -q 'none that all ranks can read' "$CLUSTER_DIR/out" && return 3
}

undisturbed() { # STEPS FILE: what is right, from a run that keeps no checkpoint and needs no driver
    env -u HDF5_DRIVER -u HDF5_DRIVER_CONFIG "$MPIEXEC" -n 8 "${redset_mpi_flags[@]}" "$heat" \
        --steps "$1" --every $(($1 + 1)) --final "$2" --dir "$CLUSTER_DIR/local"
}

kill_case() { # CONFIG "nodes" TEXT COMMAND
    export HDF5_DRIVER_CONFIG="$1 $common"
    reference=$CLUSTER_DIR/reference.900
    check "$1, nodes $2 killed between checkpoints: $3" "$4" 'step 200: checkpoint written' "$2" 900 100
    reference=$CLUSTER_DIR/reference.60
    check "$1, nodes $2 killed while writing: $3" "$4" 'step 20: checkpoint written' "$2" 60 1
}

echo "killed: 4 nodes, 2 ranks each"
check "undisturbed, 900 steps" undisturbed 900 "$CLUSTER_DIR/reference.900"
check "undisturbed, 60 steps" undisturbed 60 "$CLUSTER_DIR/reference.60"
kill_case 'scheme=PARTNER replicas=1' '1' 'goes on' goes_on_after
kill_case 'scheme=XOR' '3' 'goes on' goes_on_after
kill_case 'scheme=RS checksums=2' '0 2' 'goes on' goes_on_after
kill_case 'scheme=XOR' '0 2' 'refuses' stays_down_after

[ "$failures" = 0 ] || { echo "$failures checks FAILED"; exit 1; }
