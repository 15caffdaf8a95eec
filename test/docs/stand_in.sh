#!/usr/bin/env bash
# Stands in for a launcher and for Slurm while the commands of the documents are run (test_commands.sh), and examples/slurm
# (test/cluster/test_slurm.sh), by the name that it is called by: mpirun, mpiexec, srun, sbatch, scontrol. It knows the options that these use,
# and refuses others. Ranks run on the nodes of the test cluster (test/cluster/), those of $CLUSTER_DIR/down not:
# Slurm starts nothing on a node that is down.
set -euo pipefail
# shellcheck source=test/cluster/cluster.sh
. "$CLUSTER_HOME/cluster.sh"
me=$(basename "$0")
unknown() { echo "$me: this stand-in does not know: $*" >&2; exit 64; }

# Nodes as scontrol prints them, one in each line.
list() { tr ', ' '\n\n' <<<"$1"; }
is_down() { grep -qxF "$1" "$CLUSTER_DIR/down"; }

# A batch job: its #SBATCH lines say how large. One that goes on after a node is lost (--no-kill) loses one,
# when it has written two checkpoints.
batch() {
    local job out=$CLUSTER_DIR/job.out status=0
    [[ $1 != -* ]] || unknown "$@"
    option() { sed -n "s/^#SBATCH --$1=\([0-9]*\).*/\1/p" "$script"; }
    local script=$1
    SLURM_JOB_ID=1 SLURM_NNODES=$(option nodes) SLURM_NTASKS_PER_NODE=$(option ntasks-per-node)
    SLURM_JOB_NODELIST=$(seq -s, -f node%g 0 $((SLURM_NNODES - 1)))
    export SLURM_JOB_ID SLURM_NNODES SLURM_NTASKS_PER_NODE SLURM_JOB_NODELIST
    echo 'Submitted batch job 1'
    : >"$out" # before anybody looks: another job has written there
    bash "$@" >"$out" 2>&1 &
    job=$!
    if grep -q '^#SBATCH --no-kill' "$script"; then
        cluster_await 'step 200: checkpoint written' "$out" $job || { cat "$out"; echo "$me: no checkpoint"; exit 1; }
        echo node2 >>"$CLUSTER_DIR/down"
        cluster_lose_node 2
    fi
    wait $job || status=$?
    cat "$out"
    if [ -s "$CLUSTER_DIR/down" ] && ! grep -q 'restarted from its checkpoint' "$out"; then
        echo "$me: the job was over before a node could be lost, or did not restart"
        exit 1
    fi
    exit "$status"
}

# Several programs in one job: each says on how many ranks, and which variables it gets.
launch_several() {
    local word words=() programs=() all=0 ranks ours name
    for word in "$@" ':'; do
        if [ "$word" != : ]; then words+=("$word"); continue; fi
        ranks='' ours=(-u HDF5_PLUGIN_PATH -u HDF5_DRIVER -u HDF5_DRIVER_CONFIG)
        while [[ ${words[0]} == -* ]]; do
            case ${words[0]} in
                -n) ranks=${words[1]} ;;
                -x) name=${words[1]}; [[ $name == *=* ]] || name+="=${!name}"; ours+=("$name") ;;
                *) unknown "${words[@]}" ;;
            esac
            words=("${words[@]:2}")
        done
        programs+=(: -n "${ranks:?"$me: no number of ranks"}" env "${ours[@]}" "${words[@]}")
        all=$((all + ranks)) words=()
    done
    CLUSTER_NODE_OF=$(awk -v n="$all" -v on="$CLUSTER_USED" 'BEGIN { for (i = 0; i < n; i++) printf "%d ", i % on }')
    export CLUSTER_NODE_OF
    cluster_run "${programs[@]:1}"
}

# mpirun, mpiexec, srun
launch() {
    local np='' nodes='' on='' per_node='' arbitrary='' names name k
    if [[ " $* " == *' : '* ]]; then
        [ "$me" != srun ] || unknown "$@"
        launch_several "$@"
        return
    fi
    while [[ ${1:-} == -* ]]; do
        case $1 in
            -n) np=$2; shift ;;
            -N) nodes=$2; shift ;;
            -w) on=$2; shift ;;
            -x) [ "$me" != srun ] || unknown "$1"; shift ;; # cluster_run passes it on
            --map-by) [ "$2" = ppr:1:node ] || unknown "$1" "$2"; per_node=1; shift ;;
            --ntasks-per-node=*) per_node=${1#*=} ;;
            --distribution=arbitrary) arbitrary=1 ;;
            --kill-on-bad-exit=1) ;; # cluster_run does
            --overlap) [ "$me" = srun ] || unknown "$1" ;;
            --mpi=*) [ "$me" = srun ] || unknown "$1" ;;
            *) unknown "$@" ;;
        esac
        shift
    done
    if [ -n "$arbitrary" ]; then
        mapfile -t names <"$SLURM_HOSTFILE"
        [ "${#names[@]}" = "$np" ] || { echo "$me: ${#names[@]} lines in the host file, $np tasks"; exit 1; }
        [ "$(sort -u "$SLURM_HOSTFILE" | wc -l)" = "$nodes" ] || { echo "$me: not on $nodes nodes"; exit 1; }
    else
        [ -z "$np" ] || [ -z "$nodes" ] || per_node=${per_node:-$(((np + nodes - 1) / nodes))}
        per_node=${per_node:-${SLURM_NTASKS_PER_NODE:-$CLUSTER_RANKS_PER_NODE}}
        mapfile -t names < <(list "${on:-${SLURM_JOB_NODELIST:-$(seq -s, -f node%g 0 $((CLUSTER_USED - 1)))}}" |
            head -n "${nodes:-99}" | awk -v n="$per_node" '{ for (i = 0; i < n; i++) print }')
        np=${np:-${#names[@]}}
    fi
    CLUSTER_NODE_OF=''
    for ((k = 0; k < np; k++)); do
        name=${names[k]:?"$me: more tasks than nodes have room for"}
        if is_down "$name"; then echo "$me: error: Node $name is down" >&2; exit 1; fi
        CLUSTER_NODE_OF+="${name#node} "
    done
    export CLUSTER_NODE_OF
    if [ "$me" = srun ]; then
        # shellcheck disable=SC2016 # expanded on each rank
        steps -n "$np" bash -c 'export SLURM_PROCID=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}; exec "$@"' - "$@"
    else
        cluster_run -n "$np" "$@"
    fi
}

# As cluster_run; the ranks get the signal that srun gets.
steps() {
    local status=0
    trap pass_on USR1
    cluster_run "$@" &
    wait $! || status=$?
    while [ "$status" -gt 128 ] && kill -0 $! 2>/dev/null; do
        status=0
        wait $! || status=$?
    done
    return "$status"
}
pass_on() {
    local file pid
    for file in "$CLUSTER_DIR"/ranks/*; do { read -r pid _ <"$file" && kill -USR1 "$pid"; } 2>/dev/null || true; done
}

case $me in
    scontrol) [ "$1 $2" = 'show hostnames' ] || unknown "$@"; list "$3" ;;
    sbatch) batch "$@" ;;
    *) launch "$@" ;;
esac
