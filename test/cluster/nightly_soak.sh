#!/usr/bin/env bash
# Random trials of real files: four ranks on four nodes write, update and create HDF5 files, die while
# they do or while they open them, nodes are lost, bits flip, an old copy of a node comes back. Whatever
# happened, the next run finds the content that was protected last, or what a run was about to protect, on all
# ranks; it is refused only when more is lost than the scheme survives, and then nothing is changed.
#
#   SOAK_CYCLES=N   how many; 2000
#   SOAK_SEED=N     another sequence (printed)
#   CLUSTER_MPI_FLAGS='--with-ft ulfm' and MPIEXEC: with another MPI (cluster.sh)
#
# The content of a file is known by the seeds that test/vfd/ranks.c made it from. The last line printed is
# "soak: N points, M violations".
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
command -v "${MPIEXEC:-mpirun}" >/dev/null || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }
bin=$REDSET_BUILD_DIR/test/vfd
cycles=${SOAK_CYCLES:-2000} RANDOM=${SOAK_SEED:-1}
echo "SOAK_SEED=${SOAK_SEED:-1}, $cycles cycles"

export HDF5_DRIVER=redset HDF5_PLUGIN_PATH
CLUSTER_TIMEOUT=180
trap cluster_down EXIT
exec 3>&1 # a run that is ended has its output elsewhere
trap 'echo "soak: cut short after $((cycle - 1)) points, $violations violations" >&3; exit 1' TERM
violations=0 size=20000 next_seed=1
declare -A tally=()

count() { tally[$1]=$((${tally[$1]:-0} + 1)); }
chance() { [ $((RANDOM % 100)) -lt "$1" ]; }

wrong() {
    violations=$((violations + 1))
    echo "VIOLATION cycle $cycle, $scheme, $done_so_far: $*"
    sed -n '1,12s/^/          | /p' "$log"
    fresh=yes # what follows would be wrong too
}

# run PROGRAM ARGUMENT...: exit status in $status. With $dies one rank is killed somewhere in what it writes,
# preferably one that has something to bring back.
run() {
    local with=() preload=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} victim=$((RANDOM % 4))
    status=0
    while [ "${hurt[victim]}" = 0 ] && [[ ${hurt[*]} == *1* ]] && chance 80; do victim=$(((victim + 1) % 4)); done
    [ -z "$dies" ] || with=(env "LD_PRELOAD=$preload" "DIE_RANK=$victim" "DIE_AT=$((RANDOM % 18 + 1))")
    cluster_run "${with[@]}" "$bin/$1" "${@:2}" >"$log" 2>&1 || status=$?
    [ "$status" != 124 ] || wrong "it hangs: $*"
    [ -z "$dies" ] || [ "$status" = 0 ] || count 'runs died'
}
ranks() { run ranks "$1" "$CLUSTER_LOCAL" "$size" "$2"; }

tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f -printf '%p %i %s %C@\n' | sort); }

# ---- what the scheme promises ----

touched() { [ "${hurt[$1]}" = 1 ]; }
survives() {
    local k n=0
    for k in 0 1 2 3; do
        touched "$k" || continue
        n=$((n + 1))
        [[ $scheme != scheme=PARTNER* ]] || ! touched $(((k + 1) % 4)) || return 1
    done
    case $scheme in
        scheme=SINGLE) [ $n = 0 ] ;;
        scheme=XOR) [ $n -le 1 ] ;;
        scheme=RS*) [ $n -le 2 ] ;;
    esac
}

# ---- what happens ----

# Contents are what `ranks read` takes: A, or A:B after an update. $now: protected last; $maybe: what a run
# that died may have protected.
begin_trial() {
    local schemes=('scheme=XOR' 'scheme=PARTNER replicas=1' 'scheme=RS checksums=2' 'scheme=SINGLE') k
    for k in 0 1 2 3; do cluster_lose_node "$k"; done
    rm -rf "$CLUSTER_DIR/past"
    scheme=${schemes[RANDOM % 4]} fresh='' dies='' done_so_far='first write' hurt=(0 0 0 0)
    export HDF5_DRIVER_CONFIG="$scheme required=yes timeout=60"
    size=$((RANDOM % 5 == 0 ? 150000 : RANDOM % 20000 + 1))
    now=$((next_seed++)) maybe=$now
    ranks write "$now"
    [ "$status" = 0 ] || wrong "it fails with status $status"
}

# in_the_middle HOW: everything is flushed, but nothing closed, when all ranks or one of them die
in_the_middle() {
    local when=killed
    ! chance 50 || when=killed1
    done_so_far="$1 $when" dies=''
    run changes "$1" $when "$CLUSTER_LOCAL"
    [ "$status" != 0 ] || wrong 'it was to die, but did not'
}

change() { # COMMAND CONTENT
    done_so_far="$1${dies:+ (dies)}" maybe=$2
    ranks "$1" "$2"
    if [ "$status" = 0 ]; then
        now=$maybe
    elif [ -z "$dies" ]; then
        wrong "it fails with status $status"
    fi
}

operate() {
    maybe=$now
    case $((RANDOM % 10)) in
        0 | 1 | 2) change write $((next_seed++)) ;;
        3 | 4 | 5) change update "${now%:*}:$((next_seed++))" ;;
        6) in_the_middle update ;;
        7) in_the_middle create ;;
        *) dies='' && change readwrite "$now" ;;
    esac
    count "$done_so_far"
}

flip() {
    local files file at byte
    mapfile -t files < <(find "$(cluster_storage "$1")" -type f -size +0 | sort)
    [ ${#files[@]} -gt 0 ] || return 0
    file=${files[RANDOM % ${#files[@]}]}
    at=$(((RANDOM * 32768 + RANDOM) % $(stat -c %s "$file")))
    byte=$(od -An -tu1 -j "$at" -N 1 "$file")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\x$(printf %x $((byte ^ 1 << RANDOM % 8)))" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
}

# A bit flips only where nothing else happens: with all that was recorded of a file lost nobody could tell.
harm() {
    local k=$((RANDOM % 4)) which=$((RANDOM % 10)) alone
    alone=$([[ ${hurt[*]} == '0 0 0 0' ]] && echo yes || true)
    if [ $which -ge 8 ] && [ -d "$CLUSTER_DIR/past" ]; then
        done_so_far+=", an old copy of node $k"
        count 'old copies of nodes'
        cluster_lose_node $k
        cp -a "$CLUSTER_DIR/past/node$k/." "$(cluster_storage $k)/"
        copies=$((copies + 1))
    elif [ $which -ge 6 ] && [ -n "$alone" ]; then
        done_so_far+=", a bit of node $k flips"
        count 'bits flipped'
        flip $k
        flipped=yes
    elif [ -z "$flipped" ]; then
        done_so_far+=", node $k lost"
        count 'nodes lost'
        cluster_lose_node $k
    else
        return 0
    fi
    hurt[k]=1
}

# What most nodes have counts: are those that have an old copy as many as those that have what they had?
outvoted() { [ $copies -gt 0 ] && [ $copies -ge $((4 - hurt[0] - hurt[1] - hurt[2] - hurt[3])) ]; }

# ---- what is found ----

# One of the contents that it may be, on all ranks; which is then what was protected last.
find_content() {
    local flags=read
    ! chance 50 || flags=readwrite
    ranks $flags "$now"
    if [ "$status" = 5 ] && [ "$maybe" != "$now" ]; then
        now=$maybe
        ranks read "$now"
    fi
}

judge() {
    local before may_change=$1
    before=$(tree)
    find_content
    case $status in
        0)
            count opened
            ! chance 20 || opens_untouched ;;
        3)
            count refused
            ! survives || wrong 'refused, although no more is lost than the scheme survives'
            [ -n "$may_change" ] || diff <(echo "$before") <(tree) >"$log" || wrong 'refused, but files were changed'
            fresh=yes ;;
        5) if outvoted; then fresh=yes && count 'older content, by most nodes'; else wrong 'other content'; fi ;;
        *) wrong "opened with status $status (4: not on all ranks)" ;;
    esac
}

# A look changes nothing once all is well; leftovers of runs that died go when files are opened for writing.
opens_untouched() {
    local before
    ranks readwrite "$now"
    before=$(tree)
    ranks read "$now"
    [ "$status" = 0 ] || wrong "opened again with status $status"
    diff <(echo "$before") <(tree) >"$log" || wrong 'opened again, files were changed'
    count 'opened again'
}

one_cycle() {
    local died=''
    hurt=(0 0 0 0) copies=0 flipped='' dies=''
    ! chance 70 || dies=yes
    operate
    [ "$status" = 0 ] || died=yes
    while chance 45; do harm; done
    if [[ ${hurt[*]} == *1* ]] && chance 60; then # and in the open, too
        dies=yes
        find_content
        died=yes done_so_far+=', opened (dies)'
        ! chance 20 || harm
    fi
    dies=''
    [ -n "$fresh" ] || judge "$died"
    if chance 15 && [ -z "$fresh" ]; then
        rm -rf "$CLUSTER_DIR/past"
        cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/past"
    fi
}

cluster_up 4 1
log=$CLUSTER_DIR/log fresh=yes
for ((cycle = 1; cycle <= cycles; cycle++)); do
    [ -z "$fresh" ] || begin_trial
    [ -n "$fresh" ] || one_cycle
done
for what in "${!tally[@]}"; do printf '%8d %s\n' "${tally[$what]}" "$what"; done | sort -k 2
echo "soak: $cycles points, $violations violations"
[ "$violations" = 0 ]
