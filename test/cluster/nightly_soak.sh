#!/usr/bin/env bash
# Random trials of real files (G15): four ranks on four nodes write, update and create HDF5 files, die while
# they do or while they open them, come later than the others wait, write files of their own in between; nodes are
# lost, bits flip, an old copy of a node comes back. Whatever happened, the next run finds one content on all ranks:
# what was protected last, or what was written since; it is refused only when more is lost than the scheme survives,
# and then nothing is changed.
#
#   SOAK_CYCLES=N   how many; 2000
#   SOAK_SEED=N     another sequence (printed)
#   SOAK_KEEP=DIR   after a violation, what the nodes had before and after the last run is kept there
#   CLUSTER_MPI_FLAGS='--with-ft ulfm' and MPIEXEC: with another MPI (cluster.sh)
#
# The content of a file is known by the seeds that test/vfd/ranks.c and steps.c made it from. The last line printed is
# "soak: N points, M violations".
set -euo pipefail

# shellcheck source=test/cluster/head.sh
. "$(dirname "${BASH_SOURCE[0]}")/head.sh"
cycles=${SOAK_CYCLES:-2000} RANDOM=${SOAK_SEED:-1}
echo "SOAK_SEED=${SOAK_SEED:-1}, $cycles cycles"

exec 3>&1 # a run that is ended has its output elsewhere
trap 'sum_up "cut short after $((cycle - 1))" >&3; exit 1' TERM
violations=0 size=20000 next_seed=1 keep=${SOAK_KEEP:+$SOAK_KEEP/$$}
declare -A tally=()

count() { tally[$1]=$((${tally[$1]:-0} + 1)); }
sum_up() {
    local what
    for what in "${!tally[@]}"; do printf '%8d %s\n' "${tally[$what]}" "$what"; done | sort -k 2
    echo "soak: $1 points, $violations violations"
}
chance() { [ $((RANDOM % 100)) -lt "$1" ]; }

wrong() {
    violations=$((violations + 1))
    echo "VIOLATION cycle $cycle, $scheme, $done_so_far: $*"
    echo "          | expected: $may (protected: $safe)"
    grep -vE '^HDF5-DIAG|H5[A-Za-z_0-9]*\.c line|^ +(major|minor): |^-+$' "$log" | sed -n '1,20s/^/          | /p' || true
    [ -z "$keep" ] || cp -a "$CLUSTER_DIR/nodes" "$keep/cycle$cycle.$violations"
    [ -z "$keep" ] || cp -a "$CLUSTER_DIR/before" "$keep/cycle$cycle.$violations.before"
    fresh=yes # what follows would be wrong too
}

# run PROGRAM ARGUMENT...: exit status in $status. With $dies one rank is killed somewhere in what it writes,
# preferably one that has something to bring back.
run() {
    local with=() preload=$bin/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} victim=$((RANDOM % 4))
    status=0
    while [ "${hurt[victim]}" = 0 ] && [[ ${hurt[*]} == *1* ]] && chance 80; do victim=$(((victim + 1) % 4)); done
    [ -z "$dies" ] || with=(env "LD_PRELOAD=$preload" "DIE_RANK=$victim" "DIE_AT=$((RANDOM % 18 + 1))")
    [ -z "$keep" ] || { rm -rf "$CLUSTER_DIR/before" && cp -a "$CLUSTER_DIR/nodes" "$CLUSTER_DIR/before"; }
    cluster_run "${with[@]}" "$bin/$1" "${@:2}" >"$log" 2>&1 || status=$?
    [ "$status" != 124 ] || wrong "it hangs: $*"
    # Open MPI's own (docs/reliability.md): all ranks have closed their files when one comes there
    if [ "$status" = 134 ] && grep -q 'malloc_consolidate' "$log" && grep -q 'mca_base_var_finalize' "$log"; then
        count 'Open MPI aborted in MPI_Finalize'
        status=0
    fi
    [ -z "$dies" ] || [ "$status" = 0 ] || count 'runs died'
}
ranks() { run ranks "$1" "$CLUSTER_LOCAL" "$size" "${@:2}"; }

tree() { (cd "$CLUSTER_DIR/nodes" && find . -type f -printf '%p %i %s %C@\n' | sort); }

same() { diff <(echo "$1") <(echo "$2") >"$log"; }

# ---- what the scheme promises ----

# A rank of whose file nobody may have a record, because a bit has flipped, is so until the files are protected again.
touched() { [ "${hurt[$1]}" = 1 ] || [ "${unrecorded[$1]}" = 1 ]; }
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

# Contents are what `ranks find` takes: A, or A:B after an update. $now: what the last run has found or written; $safe:
# what may be protected last, mostly one content; $may: what may be found, that and what was written since. It is $loose
# when a run has closed files that were not protected: they may be found, and all may go back to what is safe.
all_is() { now=$1 safe=$1 may=$1 loose='' unrecorded=(0 0 0 0); }

begin_trial() {
    local schemes=('scheme=XOR' 'scheme=PARTNER replicas=1' 'scheme=RS checksums=2' 'scheme=SINGLE') k
    for k in 0 1 2 3; do cluster_lose_node "$k"; done
    rm -rf "$CLUSTER_DIR/past"
    scheme=${schemes[RANDOM % 4]} fresh='' dies='' done_so_far='first write' hurt=(0 0 0 0)
    wait_for 60
    size=$((RANDOM % 5 == 0 ? 150000 : RANDOM % 20000 + 1))
    all_is $((next_seed++))
    ranks write "$now"
    [ "$status" = 0 ] || wrong "it fails with status $status"
}
wait_for() { export HDF5_DRIVER_CONFIG="$scheme required=yes timeout=$1"; }

# in_the_middle HOW: everything is flushed, but nothing closed, when all ranks or one of them die
in_the_middle() {
    local when=killed
    ! chance 50 || when=killed1
    done_so_far="$1 $when" dies=''
    run changes "$1" $when "$CLUSTER_LOCAL"
    [ "$status" != 0 ] || wrong 'it was to die, but did not'
}

change() { # COMMAND CONTENT
    done_so_far="$1${dies:+ (dies)}"
    ranks "$1" "$2"
    if [ "$status" != 0 ]; then
        may+=" $2"
        [ -n "$dies" ] || wrong "it fails with status $status"
    elif [ "$1" != readwrite ]; then
        all_is "$2"
    fi
}

# ---- several steps of one run ----

# checkpoint LATE: words of steps.c that create or update the files and close them; before one of the two a rank is late
checkpoint() {
    local how=create late=$1 first=''
    ! chance 50 || how=open
    ! chance 50 || first=yes
    [ -z "$late" ] || [ -z "$first" ] || words+=("late=$late")
    words+=("$how=$((next_seed++))")
    [ -z "$late" ] || [ -n "$first" ] || words+=("late=$late")
    words+=(close)
}

# Words of a run of two to five checkpoints. For one of them a rank may come later than the others wait, between two of
# them a rank may write a file of its own, and it may be killed anywhere. Else the last one is written when all have met.
make_words() {
    local n=$((RANDOM % 4 + 1)) who=$((RANDOM % 4)) i at late
    late="$who:$((patience + RANDOM % 3)).$((RANDOM % 9 + 1))"
    words=() last=''
    at=$((RANDOM % n))
    for ((i = 0; i < n; i++)); do
        if [ -n "$is_late" ] && [ $i = $at ]; then checkpoint "$late"; else checkpoint ''; fi
        [ -z "$has_log" ] || ! chance 60 || words+=("log=$((RANDOM % 2 * (RANDOM % 4)))")
    done
    if [ -n "$is_killed" ]; then
        at=$((RANDOM % ${#words[@]} + 1))
        chance 50 && who='' || who="=$((RANDOM % 4))"
        words=("${words[@]:0:at}" "killed$who" "${words[@]:at}")
    else
        words+=(meet)
        checkpoint ''
        last=${#words[@]}
    fi
}

# What a word has come to on the ranks that came to it: "ok", "error", "ok error", or nothing.
said() { sed -n "s/^$1 //p" "$says".? | sort -u | xargs; }

# What may be found after the words: a step that succeeded on any rank is protected; of one that did not its files may be
# found, or what was there before.
follow_words() {
    local i a new='' outcome
    for ((i = 0; i < ${#words[@]}; i++)); do
        case ${words[i]} in
            create=*) new=${words[i]#*=} ;;
            open=*)
                new=''
                for a in $(printf '%s\n' $may | sed 's/:.*//' | sort -u); do new+="${new:+ }$a:${words[i]#*=}"; done ;;
            close)
                outcome=$(said $((i + 1)))
                if [[ $outcome == ok* ]] || [[ $outcome == *ok ]]; then
                    all_is "$new"
                else
                    may+=" $new"
                    [ "$outcome" != error ] || loose=yes
                fi
                [ -n "$died" ] || [ "$outcome" != 'error ok' ] || wrong "word $((i + 1)): protected on some ranks only"
                [ -n "$died" ] || [ "$outcome" != ok ] || [ "$(cat "$says".? | grep -c "^$((i + 1)) ok")" = 4 ] ||
                    wrong "word $((i + 1)): not closed by all ranks" ;;
        esac
    done
}

several_steps() {
    local is_late='' has_log='' is_killed='' died='' words last patience=2 k
    ! chance 75 || is_late=yes
    { [ -n "$is_late" ] && ! chance 25; } || has_log=yes
    ! chance 40 || is_killed=yes
    chance 20 || dies=''
    make_words
    done_so_far="steps ${words[*]}${dies:+ (dies)}"
    rm -f "$says".?
    wait_for $patience
    run steps "$CLUSTER_LOCAL" "$size" "$says" "${words[@]}"
    wait_for 60
    for k in 0 1 2 3; do echo "rank $k said: $(xargs <"$says.$k")"; done >>"$log"
    [ "$status" = 0 ] || died=yes
    count "steps${is_late:+, late}${has_log:+, own file}${died:+, died}"
    [ -z "$died" ] || [ -n "$is_killed$dies" ] || wrong "it fails with status $status"
    follow_words
    [ -z "$last" ] || [ -n "$died" ] || [ "$(said "$last")" = ok ] || wrong 'the last checkpoint was not protected'
}

operate() {
    case $((RANDOM % 14)) in
        0 | 1 | 2) change write $((next_seed++)) ;;
        3 | 4 | 5) change update "${now%:*}:$((next_seed++))" ;;
        6) in_the_middle update ;;
        7) in_the_middle create ;;
        8 | 9) dies='' && change readwrite "$now" ;;
        *)
            several_steps
            return ;;
    esac
    count "$done_so_far"
}

flip() {
    local files file at byte
    mapfile -t files < <(find "$(cluster_storage "$1")" -name 'data_*' -type f -size +0 | sort)
    [ ${#files[@]} -gt 0 ] || return 0
    file=${files[RANDOM % ${#files[@]}]}
    at=$(((RANDOM * 32768 + RANDOM) % $(stat -c %s "$file")))
    byte=$(od -An -tu1 -j "$at" -N 1 "$file")
    # shellcheck disable=SC2059 # the format is the byte
    time=$(stat -c %y "$file") # as a disk that fails: the time stays
    printf "\\x$(printf %x $((byte ^ 1 << RANDOM % 8)))" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
    touch -m -d "$time" "$file"
}

# A bit flips only where nothing else happens: with all that was recorded of a file lost nobody could tell; nor can
# anybody of what was not protected.
harm() {
    local k=$((RANDOM % 4)) which=$((RANDOM % 10)) alone
    alone=$([[ ${hurt[*]} == '0 0 0 0' ]] && echo yes || true)
    if [ $which -ge 8 ] && [ -d "$CLUSTER_DIR/past" ]; then
        done_so_far+=", an old copy of node $k"
        count 'old copies of nodes'
        cluster_lose_node $k
        cp -a "$CLUSTER_DIR/past/node$k/." "$(cluster_storage $k)/"
        copies=$((copies + 1))
    elif [ $which -ge 6 ] && [ -n "$alone" ] && [ -z "$loose" ]; then
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

# One of the contents that it may be, on all ranks; which is then what was protected last, or closed without that.
find_content() {
    local flags=find
    ! chance 50 || flags=take_up
    # shellcheck disable=SC2086 # contents are words
    ranks $flags $may
    [ "$status" = 0 ] || return 0
    now=$(sed -n 's/^found //p' "$log")
    if [ -n "$loose" ] && [[ " $safe " != *" $now "* ]]; then
        may="$safe $now"
    else
        safe=$now may=$now loose=''
    fi
}

judge() {
    local before may_change=$1
    before=$(tree)
    find_content
    case $status in
        0)
            count opened
            [ -z "$loose" ] || count 'opened, not protected'
            [[ $scheme != scheme=SINGLE ]] || [ -z "$flipped" ] || unrecorded=("${hurt[@]}")
            [ -z "$flipped" ] || repair_redundancy
            ! chance 20 || opens_untouched ;;
        3)
            count refused
            ! survives || wrong 'refused, although no more is lost than the scheme survives'
            [ -n "$may_change" ] || same "$before" "$(tree)" || wrong 'refused, but files were changed'
            fresh=yes ;;
        5) if outvoted; then fresh=yes && count 'older content, by most nodes'; else wrong 'other content'; fi ;;
        *) wrong "opened with status $status (4: not on all ranks)" ;;
    esac
}

# Nobody waited for the redundancy; damage in it would count as a loss in the next cycle.
repair_redundancy() {
    local -x HDF5_DRIVER_CONFIG="$HDF5_DRIVER_CONFIG verify=all"
    ranks read "$now"
    [ "$status" = 0 ] || wrong "opened with verify=all: status $status"
}

# A look changes nothing once all is well; leftovers of runs that died go when files are opened for writing.
opens_untouched() {
    local before
    ranks readwrite "$now"
    before=$(tree)
    ranks read "$now"
    [ "$status" = 0 ] || wrong "opened again with status $status"
    same "$before" "$(tree)" || wrong 'opened again, files were changed'
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
log=$CLUSTER_DIR/log says=$CLUSTER_DIR/says fresh=yes
[ -z "$keep" ] || mkdir -p "$keep"
for ((cycle = 1; cycle <= cycles; cycle++)); do
    [ -z "$fresh" ] || begin_trial
    [ -n "$fresh" ] || one_cycle
done
sum_up "$cycles"
[ "$violations" = 0 ]
