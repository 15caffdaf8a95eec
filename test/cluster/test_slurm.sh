#!/usr/bin/env bash
# examples/slurm on the nodes of a test cluster, with stand-ins for Slurm's commands (test/docs/stand_in.sh): a node is lost in the middle
# of a job, a job is told that its time is over, or is killed. The program is examples/heat.c, and what it comes to is compared with a run
# on which nothing was lost. Its runs end when the script has done what it does to them: no time decides.
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
cluster_up 5 2
[ "$CLUSTER_MODE" != plain ] || { echo 'SKIP: nodes are mere directories here'; exit 77; }
unset HDF5_DRIVER "${!SLURM_@}"
MPIEXEC=$(command -v "$MPIEXEC")
export CLUSTER_HOME CLUSTER_NODES CLUSTER_USED=5 CLUSTER_TIMEOUT=500 MPIEXEC
log=$CLUSTER_DIR/log submit=$CLUSTER_DIR/submit shared=$CLUSTER_DIR/shared user=$(id -un)
mkdir "$submit" "$shared" "$CLUSTER_DIR/bin"
: >"$CLUSTER_DIR/down"
for name in srun scontrol; do ln -s "$REDSET_SOURCE_DIR/test/docs/stand_in.sh" "$CLUSTER_DIR/bin/$name"; done
cp "$REDSET_SOURCE_DIR"/examples/slurm/* "$submit"
sed -i -e "s#^local_storage=[^ ]*#local_storage=$CLUSTER_LOCAL#; s#^shared_storage=[^ ]*#shared_storage=$shared#" \
    -e "s#/path/to/bin#$CLUSTER_DIR/bin:$REDSET_BUILD_DIR/tools:$REDSET_BUILD_DIR/examples#; s#/path/to/plugins#$HDF5_PLUGIN_PATH#" "$submit/site.sh"
export PATH=$CLUSTER_DIR/bin:$REDSET_BUILD_DIR/tools:$PATH

# In the place of the program: as many steps as $CLUSTER_DIR/steps says.
cat >"$CLUSTER_DIR/bin/heat" <<'END'
#!/bin/bash
words=() before=''
for word in "$@"; do
    [ "$before" != --steps ] || word=$(<"$CLUSTER_DIR/steps")
    words+=("$word") before=$word
done
exec "$REDSET_BUILD_DIR/examples/heat" --nx 64 --ny 64 "${words[@]}"
END
chmod +x "$CLUSTER_DIR/bin/heat"
for_ever=1000000000 stopped=0

# ---- as Slurm does ----

# on_node K COMMAND...: there, as Slurm starts a prolog or an epilog; on_nodes "K..." COMMAND...: on several at one time
on_nodes() {
    local CLUSTER_NODE_OF=$1 k=0 word
    shift
    for word in $CLUSTER_NODE_OF; do k=$((k + 1)); done
    cluster_run -n "$k" env -u OMPI_COMM_WORLD_RANK -u PMIX_RANK -u PMI_RANK SLURM_JOB_ID="$job" SLURM_JOB_USER="$user" \
        SLURM_JOB_UID="$(id -u)" "$@"
}
all='0 1 2 3 4'

# begin JOB STEPS: the prolog on all nodes, and then the batch script
begin() {
    job=$1 out=$submit/heat.$1.out
    echo "$2" >"$CLUSTER_DIR/steps"
    on_nodes "$all" "$submit/prolog.sh" || return 1
    (cd "$submit" && USER=$user SLURM_SUBMIT_DIR=$submit SLURM_JOB_ID=$job SLURM_JOB_NODELIST=node0,node1,node2,node3,node4 \
        SLURM_NTASKS_PER_NODE=2 RESTART_FROM=${from:-} exec setsid bash "$submit/job.sbatch") >"$submit/job.$1.out" 2>&1 &
    batch=$!
}
# reaches TEXT: the program says that
reaches() { cluster_await "$1" "$out" "$batch" || { cat "$submit/job.$job.out" "$out"; return 1; }; }
ends_with() { # STATUS TEXT...
    local status=0 text want=$1
    shift
    wait "$batch" || status=$?
    cat "$submit/job.$job.out" "$out"
    [ "$status" = "$want" ] || { echo "status $status instead of $want"; return 1; }
    for text in "$@"; do grep -q -- "$text" "$submit/job.$job.out" "$out" || { echo "not said: $text"; return 1; }; done
}
last() { sed -n "s/^step \([0-9]*\): $1.*/\1/p" "$out" | tail -n 1; }
epilogs() { # "NODE..."
    on_nodes "$1" "$submit/epilog.sh"
}
nothing_left() { ! find "$CLUSTER_DIR"/nodes/node[01234]/redset/*/"$job"{,.kept} -type f 2>/dev/null | grep .; }
# The field is that of a run of so many steps.
is_right() { # STEPS
    rm -rf "$CLUSTER_DIR/plain" && mkdir "$CLUSTER_DIR/plain" || return 1
    "$MPIEXEC" -n 8 "${redset_mpi_flags[@]}" "$REDSET_BUILD_DIR/examples/heat" --nx 64 --ny 64 --dir "$CLUSTER_DIR/plain" --steps "$1" \
        --every "$1" --final "$CLUSTER_DIR/plain.raw" && cmp "$CLUSTER_DIR/plain.raw" "$submit/field.raw"
}
# whole DIRECTORY: the last checkpoint of 8 ranks, and the one before; newest DIRECTORY: one of them, where one was written since the start
whole() { [ "$(ls "$1"/heat_[ab].[0-7].h5 | wc -l)" = 16 ] || { ls "$1"; return 1; }; }
newest() { [ "$(ls "$1"/heat_a.[0-7].h5 | wc -l)" = 8 ] || [ "$(ls "$1"/heat_b.[0-7].h5 | wc -l)" = 8 ] || { ls "$1"; return 1; }; }
lose() { echo "node$1" >>"$CLUSTER_DIR/down" && cluster_lose_node "$1"; }
again() { local k; for k in $all; do cluster_lose_node "$k"; done; : >"$CLUSTER_DIR/down"; from=''; rm -f "$submit/field.raw"; }

# ---- prolog ----

prolog() {
    local base="$CLUSTER_DIR/nodes/node0/redset" dir
    for dir in "$user/1" "$user/2" "$user/3.kept" "somebody/1"; do mkdir -p "$base/$dir" && echo x >"$base/$dir/file" || return 1; done
    echo another >"$base/$user/1.start" && echo another >"$base/somebody/1.start" && job=4 || return 1
    cp /proc/sys/kernel/random/boot_id "$base/$user/2.start" || return 1
    on_nodes 0 "$submit/prolog.sh" || return 1
    [ ! -e "$base/$user/1" ] && [ -s "$base/$user/1.kept/file" ] && [ ! -e "$base/$user/1.start" ] && [ -s "$base/$user/2/file" ] && [ -s "$base/$user/3.kept/file" ] && [ -s "$base/somebody/1/file" ] || return 1
    [ "$(stat -c %a "$base/$user/4")" = 700 ]
}
check 'the prolog makes a directory, and keeps what a job has left that ended with its node under another name' prolog

# ---- a node is lost ----

goes_on() {
    again && begin 10 $for_ever && reaches 'step 200: checkpoint written' || return 1
    echo "$(($(last 'checkpoint written') + 150))" >"$CLUSTER_DIR/steps" # of the next run
    lose 2
    ends_with 0 'try 1 on node0 node1 node2 node3' 'node4 in the place of node2' 'try 2 on node0 node1 node4 node3' \
        'restarted from its checkpoint' ': finished' || return 1
    is_right "$(last finished)" && whole "$submit/saved.10" && nothing_left && epilogs '0 1 3 4' && [ ! -e "$shared/redset/10" ]
}
check 'a node is lost in the middle: the job goes on with the spare one, and comes to what it would have' goes_on

# ---- the time is over ----

stops() {
    again && begin 11 $for_ever && reaches 'step 200: checkpoint written' && kill -USR1 "$batch" || return 1
    ends_with 0 'the time is nearly over' 'told to stop' 'to go on: RESTART_FROM=' && whole "$submit/saved.11" && nothing_left || return 1
    stopped=$(last 'told to stop') && [ "$(last 'checkpoint written')" = "$stopped" ]
}
starts_again() { # DIRECTORY STEP TEXT
    again && from=$1 && begin 12 "$(($2 + 150))" || return 1
    ends_with 0 "step $2: restarted from its checkpoint" 'finished' && is_right "$(($2 + 150))" && newest "$submit/saved.12"
}
check 'told that its time is over, it writes a checkpoint and ends; all is brought to safety' stops
check 'the next job goes on from there, on other nodes with nothing on them' starts_again "$submit/saved.11" "$stopped"

# ---- the job is killed ----

# The processes on this host that the job consists of besides its ranks: no epilog begins before all are gone.
session() { ps -e -o sid=,pid=,stat= | awk -v sid="$batch" '$1 == sid && $3 !~ /^Z/ { print $2 }'; }
killed() { # JOB: with all that runs, when it has two checkpoints
    local left
    again && begin "$1" $for_ever && reaches 'step 200: checkpoint written' || return 1
    while left=$(session) && [ -n "$left" ]; do
        # shellcheck disable=SC2086
        kill -KILL $left || true
    done
    cluster_kill '*'
    wait "$batch" || true
}
brought() {
    killed 13 && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/left" && epilogs "$all" && nothing_left || return 1
    for k in 0 1 2 3; do diff -r "$CLUSTER_DIR/left/node$k/redset/$user/13" "$shared/redset/13/node$k" || return 1; done
    h5redset scavenge --to "$shared/all.13" "$shared/redset/13" && whole "$shared/all.13"
}
check 'a job is killed: the epilogs of all nodes, at one time, bring all that it has left' brought
# In place, which a copy of the redundancy of whole files does not cover: commits go on while it stays open.
epilog_keeps() {
    local at="$CLUSTER_DIR/nodes/node0/redset/$user/20"
    job=20 && mkdir -p "$at" && echo own >"$at/output" && echo x >"$at/data_0.h5.1.redset.void" && echo y >"$at/data_0.h5.redset.1.changed" || return 1
    epilogs 0 && nothing_left && [ -s "$shared/redset/20/node0/output" ] && [ -s "$shared/redset/20/node0/data_0.h5.1.redset.void" ] || return 1
    [ -s "$shared/redset/20/node0/data_0.h5.redset.1.changed" ]
}
check 'also what nobody protects, is open for change, or was put aside' epilog_keeps
one_lost() {
    killed 14 && lose 1 && epilogs '0 2 3 4' && nothing_left && ! ls "$shared"/redset/14/*/heat_a.2.h5 2>/dev/null || return 1
    h5redset scavenge --to "$shared/all" "$shared/redset/14" && whole "$shared/all"
}
check 'and one node is lost with it: its files are rebuilt from what the others have brought' one_lost
from_epilogs() {
    again && from=$shared/all && begin 15 $for_ever && reaches 'restarted from its checkpoint' && kill -USR1 "$batch" || return 1
    ends_with 0 'told to stop' && newest "$submit/saved.15" && [ "$(last 'told to stop')" -gt "$(last restarted)" ]
}
check 'a job starts from that' from_epilogs

# ---- it comes no further ----

fails_at_once() {
    again && rm "$CLUSTER_DIR/bin/heat" && printf '#!/bin/sh\nexit 1\n' >"$CLUSTER_DIR/bin/heat" && chmod +x "$CLUSTER_DIR/bin/heat" || return 1
    begin 16 100 && ends_with 1 'try 2 on' 'it comes no further' && not grep -q 'try 3' "$submit/job.16.out"
}
check 'a program that fails at once is started twice' fails_at_once

finish
