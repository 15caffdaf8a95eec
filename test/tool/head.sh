# shellcheck shell=bash disable=SC2034 # variables are for whoever sources this
# How a test of h5redset begins. Source it: what scripts share (script.sh), the tool in $tool, a directory of its own, where the script is, and goes
# with it, and what is said of a run of the tool.

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# what launchers set would make it wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
tool=$REDSET_BUILD_DIR/tools/h5redset
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log out=$work/out
cd "$work" || exit

# gives STATUS COMMAND...: ends with that exit status; what it printed is then in $out, and if it is JSON, as docs/schema/ says
gives() {
    local want=$1 status=0
    shift
    "$@" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
    [[ " $* " != *' --json '* ]] || "$REDSET_SOURCE_DIR/test/tool/schema.py" "$out"
}
says() { grep -qE -- "$1" "$out" || { echo "not said: $1"; return 1; }; }
never_says() { ! grep -qE -- "$1" "$out" || { echo "said: $1"; return 1; }; }
