# shellcheck shell=bash disable=SC2154 # the script that sources this sets the others
# Jobs of actors (actor.c) whose steps a script orders: no step is begun before the script says so, and time decides nothing. Source it
# instead of head.sh, and set $size. A step that is not answered within $patience seconds ends the script.

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
trap 'kill_jobs >/dev/null 2>&1; rm -rf "$work"' EXIT
patience=${patience:-100}
actors_begun=0
declare -A actors_gate actors_ranks actors_in actors_out actors_run actors_pid

# job NAME RANKS DIR: starts it; its ranks wait for steps. What it prints is in $work/NAME.log
job() {
    local r in out gate=$work/gate.$((++actors_begun))
    actors_gate[$1]=$gate actors_ranks[$1]=$2
    for ((r = 0; r < $2; r++)); do
        mkfifo "$gate.$r.in" "$gate.$r.out"
        exec {in}<>"$gate.$r.in" {out}<>"$gate.$r.out"
        actors_in[$1.$r]=$in actors_out[$1.$r]=$out
    done
    "$mpiexec" -n "$2" "$bin/actor" "$3" "$size" "$gate" >"$work/$1.log" 2>&1 &
    actors_run[$1]=$!
    for ((r = 0; r < $2; r++)); do
        tell "$1" "$r" pid
        hear "$1" "$r"
        actors_pid[$1.$r]=$heard
    done
}
# tell NAME RANK STEP: it begins with that; hear NAME RANK: what came of it, in $heard
tell() { echo "$3" >&"${actors_in[$1.$2]}"; }
hear() {
    heard=
    read -r -t "$patience" heard <&"${actors_out[$1.$2]}" || { echo "$1.$2 does not answer"; cat "$work/$1.log"; exit 1; }
    echo "$1.$2: $heard"
}
# does NAME STEP RANK...: these do it at the same time; true if all say ok
does() {
    local name=$1 step=$2 r good=0
    shift 2
    for r in "$@"; do tell "$name" "$r" "$step"; done
    for r in "$@"; do
        hear "$name" "$r"
        [ "$heard" = ok ] || good=1
    done
    return "$good"
}
# ends NAME: the job ends
ends() {
    local r
    for ((r = 0; r < actors_ranks[$1]; r++)); do tell "$1" "$r" end; done
    forget_job "$1"
}
# killed NAME: it is killed in the middle of what it does
killed() {
    local r
    for ((r = 0; r < actors_ranks[$1]; r++)); do kill -KILL "${actors_pid[$1.$r]}" || true; done
    forget_job "$1"
}
# What a check that has failed has left.
kill_jobs() {
    local name
    for name in "${!actors_run[@]}"; do killed "$name"; done
}
forget_job() {
    local r in out
    wait "${actors_run[$1]}" || true
    unset "actors_run[$1]"
    for ((r = 0; r < actors_ranks[$1]; r++)); do
        in=${actors_in[$1.$r]} out=${actors_out[$1.$r]}
        exec {in}>&- {out}>&-
        rm "${actors_gate[$1]}.$r.in" "${actors_gate[$1]}.$r.out"
    done
}
