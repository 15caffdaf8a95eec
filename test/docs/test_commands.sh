#!/usr/bin/env bash
# Every command in the documents below is run here, as it stands there and in that order; every output shown is
# compared, every message quoted looked for in the sources. What a block is stands in a remark before it, which
# readers do not see:
#
#   <!-- run: NAME -->             ```sh: all of its commands end well
#   <!-- run: NAME, status 1 2 --> as many of them do not, and end with these statuses
#   <!-- file: NAME -->            ```sh: a script; ```c, ```cmake: a source; a later block has to run or use it
#   <!-- not run: REASON -->       ```sh: not here
#   <!-- do: COMMAND -->           what the text tells of and no reader would type: cluster_lose_node 2
#   <!-- printed -->               ```text: lines that the block before printed; ... stands for anything
#   <!-- messages -->              a table whose first column quotes messages; ... stands for what differs
#   <!-- figures: FILE -->         a table whose last column has figures that stand in FILE
#   <!-- settings -->              a table whose first column has all keys of configuration strings
#
# A block of commands without a remark, or indented instead of fenced, is an error. Commands run in a directory of
# their own. In the README they are for one machine; elsewhere `mpiexec` and Slurm's commands are stand_in.sh, on
# five nodes made here, and /local, /dev/shm, /shared and /path/to/plugins are what they mean on these.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
MPIEXEC=$(command -v "${MPIEXEC:-mpirun}") || { echo "SKIP: no ${MPIEXEC:-mpirun}"; exit 77; }
plugins=$HDF5_PLUGIN_PATH
unset HDF5_DRIVER HDF5_DRIVER_CONFIG HDF5_PLUGIN_PATH "${!SLURM_@}" # as a reader begins

trap cluster_down EXIT
cluster_up 5 2
[ "$CLUSTER_MODE" != plain ] || { echo 'SKIP: nodes are mere directories here'; exit 77; }
export CLUSTER_HOME CLUSTER_NODES CLUSTER_USED=4 MPIEXEC CLUSTER_TIMEOUT
log=$CLUSTER_DIR/log work=$CLUSTER_DIR/work
: >"$CLUSTER_DIR/down"
mkdir "$CLUSTER_DIR/shared" "$CLUSTER_DIR/bin" "$work"
for name in mpirun mpiexec srun sbatch scontrol; do
    ln -s "$REDSET_SOURCE_DIR/test/docs/stand_in.sh" "$CLUSTER_DIR/bin/$name"
done

# ---- taking documents to pieces ----

# split DOCUMENT: NUMBER.block with the text and NUMBER.mark with the remark of each block; says what has none.
split() {
    awk '
        function bad(text) { printf "%s:%d: %s\n", FILENAME, NR, text; failed = 1 }
        function begin(kind) { n++; out = sprintf("%03d.", n); print mark > (out "mark"); print kind > (out "kind") }
        fence { if ($0 ~ /^ *```$/) { fence = 0; mark = "" }
                else { for (i = 0; i < indent; i++) sub(/^ /, ""); print > (out "block") }
                next }
        /^ *<!-- .* -->$/ { mark = $0; sub(/^ *<!-- /, "", mark); sub(/ -->$/, "", mark); table = 0
                if (mark ~ /^do: /) { begin("do"); mark = "" }
                else if (mark !~ /^(run: |file: |not run: |printed$|messages$|settings$|figures: )/) bad("what does this mean: " mark)
                next }
        /^ *```/ { match($0, /^ */); indent = RLENGTH; kind = substr($0, indent + 4); fence = 1
                if (kind == "sh" ? mark !~ /^(run|file|not run): / : kind == "text" ? mark != "" && mark != "printed" \
                    : kind !~ /^(c|cmake|fortran|python)$/ || (mark != "" && mark !~ /^file: /)) bad("a block \"" kind "\" with the remark \"" mark "\"")
                begin(kind); printf "" > (out "block"); next }
        /^ *\|/ && mark ~ /^(messages$|settings$|figures: )/ { if (!table) { begin("table"); printf "" > (out "block"); table = 1 }
                cells = split($0, cell, "|"); print cell[mark ~ /^figures/ ? cells - 1 : 2] > (out "block"); next }
        /^    [^ ]/ && blank { bad("indented commands: use ```sh") }
        { blank = $0 ~ /^ *$/
                if (!blank && mark != "" && !table) bad("nothing belongs to the remark: " mark)
                if (!blank || table) { mark = ""; table = 0 } }
        END { exit failed }' "$1"
}

# What paths in documents mean here, and back.
meant() {
    sed -E -e "s#/(local|dev/shm)(/\\\$USER)?([^[:alnum:]_.]|\$)#$CLUSTER_LOCAL\3#g" \
        -e "s#(^|[^[:alnum:]])/shared#\1$CLUSTER_DIR/shared#g" -e "s#/path/to/plugins#$plugins#g" \
        -e "s#/path/to/prefix#$CLUSTER_DIR/prefix#g" "$1"
}
written() { sed -e "s#$CLUSTER_LOCAL#/local#g" -e "s#$CLUSTER_DIR/shared#/shared#g" -e "s#$PWD#.#g"; }
squeezed() { tr -s ' ' | sed 's/^ //; s/ $//'; }

# ---- what is done with the pieces ----

# As check of script.sh, but not in a condition, where the shell ignores traps on errors.
step() { # TEXT COMMAND...
    local text=$1 status
    shift
    "$@" >"$log.1" 2>&1
    status=$?
    check "$text" shows_status $status
}
shows_status() { [ "$1" = 0 ] || { cat "$log.1"; return "$1"; }; }

# Sourced by the shell that runs a whole document: what one block exports the next ones see.
run_block() { # BLOCK STATUSES
    local statuses=''
    { meant "$1"; echo :; } >now.sh # the `.` itself succeeds
    trap 'statuses+=" $?"' ERR
    # shellcheck source=/dev/null
    . ./now.sh >printed 2>&1 </dev/null
    trap - ERR
    cat printed
    [ "$statuses" = "$2" ] || { echo "exit statuses:${statuses:- none but 0}, expected:${2:- none but 0}"; return 1; }
}

was_printed() { # BLOCK
    local line all
    all=$(written <printed | squeezed)
    while IFS= read -r line; do
        line=$(sed 's/[][\\*?]/\\&/g; s/\.\.\./*/g' <<<"$line" | squeezed)
        # shellcheck disable=SC2053 # a pattern
        [[ $all == *$line* ]] || { echo "not printed: $line"; echo "$all"; return 1; }
    done <"$1"
}

save_file() { # BLOCK NAME KIND
    meant "$1" >"$2"
    if [ "$3" = sh ]; then
        bash -n "$2" && { ! command -v shellcheck >/dev/null || shellcheck --severity=warning "$2"; } || return 1
    fi
    [ "$3" = cmake ] || grep -qE "^[^#]*\b$2\b" ./*.block || { echo "no block runs $2"; return 1; }
}

# All string literals of the program; those that the compiler joins are one.
literals() {
    cat "$REDSET_SOURCE_DIR"/{vfd,encode/*,encode/comm/mpi,tools/h5redset}/*.[ch] | sed -z 's/"[[:space:]]*\(ADVICE[[:space:]]*\)\?"//g'
}

are_said() { # BLOCK
    local line part bad=0
    literals >said
    grep '`' "$1" >quoted
    while IFS= read -r line; do
        while IFS= read -r part; do
            [ -z "$part" ] || grep -qF -- "$part" said || { echo "nowhere in the sources: $part"; bad=1; }
        done < <(sed 's/^[^`]*`//; s/`.*//; s/ *\.\.\. */\n/g' <<<"$line")
    done <quoted
    return $bad
}

are_keys() { # BLOCK
    diff <(grep -o '`[a-z_]*`' "$1" | tr -d '`') \
        <(sed -n '/^static const setting keys/,/^};/ s/^    {"\([a-z_]*\)",.*/\1/p' "$REDSET_SOURCE_DIR/vfd/config_keys.c")
}

# What documents do with `do:`, beside the functions of cluster.sh.
empty_nodes() {
    local node
    for ((node = 0; node < CLUSTER_NODES; node++)); do cluster_lose_node $node; done
    find "$CLUSTER_DIR/shared" -mindepth 1 -delete
    : >"$CLUSTER_DIR/down"
}
installed_here() { cmake --install "$REDSET_BUILD_DIR" --prefix "$CLUSTER_DIR/prefix"; }
# Programs of the reader's: all ranks write a file, as test/vfd/member.c does.
programs_here() { # NAME...
    local name
    for name in "$@"; do
        printf '#!/bin/sh\nexec "%s" "%s" %s write:1\n' "$REDSET_BUILD_DIR/test/vfd/member" "$CLUSTER_LOCAL" "$name" >"$CLUSTER_DIR/bin/$name"
        chmod +x "$CLUSTER_DIR/bin/$name"
    done
}
one_file_here() { cp "$(cluster_storage 0)"/heat_a.0.h5* .; }

stand_in_file() { # BLOCK FILE
    local figure
    for figure in $(grep -oE '[0-9]+\.[0-9]+' "$1"); do
        grep -qE "(^|[^0-9.])$figure([^0-9.]|\.?$)" "$REDSET_SOURCE_DIR/$2" || { echo "not in $2: $figure"; return 1; }
    done
}

# document FILE: in a subshell, so that the next one begins with a clean environment
document() {
    local number kind mark statuses words
    echo "$1:"
    mkdir "$work/${1//\//_}"
    cd "$work/${1//\//_}"
    mkdir build
    ln -s "$REDSET_SOURCE_DIR"/{cmake,examples,test} .
    ln -s "$REDSET_BUILD_DIR" build/quickstart
    check 'every block of commands says what it is' split "$REDSET_SOURCE_DIR/$1"
    for number in $(printf '%s\n' ./*.kind | sed 's/\.kind$//'); do
        kind=$(<"$number.kind") mark=$(<"$number.mark")
        statuses=$(sed -n 's/.*, status\(.*\)$/\1/p' <<<"$mark")
        case $kind:$mark in
            *:'not run: '*) echo "  --      not run: ${mark#*: }" ;;
            do:*) read -r -a words <<<"${mark#do: }"; check "$mark" "${words[@]}" ;;
            *:'run: '*h5dump*) if command -v h5dump >/dev/null; then step "$mark" run_block "$number.block" "$statuses"
                else echo "SKIP: no h5dump of this flavour to run what $1 says of it"; fi ;;
            *:'run: '*) step "$mark" run_block "$number.block" "$statuses" ;;
            *:'file: '*) check "$mark" save_file "$number.block" "${mark#file: }" "$kind" ;;
            *:printed) check 'it printed that' was_printed "$number.block" ;;
            *:messages) check 'messages are those of the sources' are_said "$number.block" ;;
            *:'figures: '*) check "$mark" stand_in_file "$number.block" "${mark#figures: }" ;;
            *:settings) check 'keys are those of the sources, in their order' are_keys "$number.block" ;;
        esac
    done
    [ "$failures" = 0 ]
}

set +e # and no `||` after the parentheses: in a condition the shell ignores traps on errors
bad=0
(document README.md)
# shellcheck disable=SC2181
[ $? = 0 ] || bad=1
export PATH=$CLUSTER_DIR/bin:$REDSET_BUILD_DIR/tools:$REDSET_BUILD_DIR/examples:$PATH
# shellcheck disable=SC2181
for file in docs/configuration.md docs/user-guide.md docs/troubleshooting.md examples/README.md examples/slurm/README.md; do
    [ -e "$REDSET_SOURCE_DIR/$file" ] || continue
    empty_nodes
    (document "$file")
    [ $? = 0 ] || bad=1
done
exit $bad
