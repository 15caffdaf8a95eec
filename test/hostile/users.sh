# shellcheck shell=bash
# What the tests of root's tool share: two users in a directory that everybody may write to. alice has files that are to come back;
# mallory makes hers such that they lead elsewhere. Sourced; end with `finish`.

# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# what launchers set would make it wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
launch=() # what root's tool is started with
[ "$(id -u)" = 0 ] || { echo 'SKIP: only root can work for other users'; exit 77; }
command -v setpriv >/dev/null || { echo 'SKIP: no setpriv to be another user'; exit 77; }
command -v python3 >/dev/null || { echo 'SKIP: no python3 to make files that lie'; exit 77; }
alice=$(id -u games 2>/dev/null) || { echo 'SKIP: no user "games", who alice is to be'; exit 77; }
mallory=20003 # whom nothing knows
as() { setpriv --reuid="$1" --regid="$(id -g "$1" 2>/dev/null || echo "$1")" --clear-groups "${@:2}"; }

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
chmod 755 "$top"
tool=$top/h5redset log=$top/log out=$top/out
cp "$REDSET_BUILD_DIR/tools/h5redset" "$tool" && chmod 755 "$tool"
as $mallory "$tool" --version >/dev/null || { echo 'SKIP: other users cannot run programs here'; exit 77; }
scratch=$top/scratch safe=$top/safe private=$top/private

begin() {
    rm -rf "$scratch" "$safe" "$private"
    mkdir -m 1777 "$scratch" && mkdir -m 755 "$safe" && mkdir -m 700 "$private"
    echo 'of root' >"$private/own"
    as "$alice" mkdir -m 755 "$scratch/alice"
    as $mallory mkdir -m 755 "$scratch/mallory"
}
# protects USER FILE...: new files of that user, mode 0600, protected together; they are kept
protects() {
    local user=$1 file
    shift
    for file in "$@"; do as "$user" sh -c 'umask 077; head -c 20000 /dev/urandom >"$1"' - "$file"; done
    as "$user" "$tool" protect "$@" >"$out" 2>&1 || { cat "$out"; return 1; }
    rm -rf "$top/kept" && mkdir "$top/kept" && cp -p --backup=numbered "$@" "$top/kept/"
}
lose() { local file; for file in "$@"; do rm -f "$file" "$file".*; done; }
# tells STATUS ARGUMENT...: the tool, as root, ends with that status (any: with one); it does not wait for what never comes
tells() {
    local want=$1 status=0
    shift
    timeout --kill-after=5 120 "${launch[@]}" "$tool" "$@" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$want" = any ] && [ "$status" -lt 124 ] || [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
}
says() { grep -qE -- "$1" "$out" || { echo "not said: $1"; return 1; }; }
# all that is below a directory: names, kinds, owners, modes, content
listing() { (cd "$1" && find . -printf '%p %y %U %m %l\n' -type f -exec md5sum {} + | sort); }
# unchanged DIR COMMAND...: it leaves what is below the directory as it was
unchanged() {
    local dir=$1
    shift
    listing "$dir" >"$top/before"
    "$@" || return 1
    listing "$dir" | diff "$top/before" - || { echo "$dir was changed"; return 1; }
}
of_user() { # USER DIR: all below it is hers, and what is a data file has the mode that it had
    local strange
    strange=$(find "$2" -mindepth 1 ! -type d ! -user "$1" -printf '%p is of %u\n')
    [ -z "$strange" ] || { echo "$strange"; return 1; }
    strange=$(find "$2" -name '*.h5' ! -perm 600 -printf '%p has mode %m\n')
    [ -z "$strange" ] || { echo "$strange"; return 1; }
}
are() { local file; for file in "$@"; do cmp "$top/kept/$(basename "$file")" "$file" || return 1; done; }

# Two files protected together in two directories, of which the second becomes a link to root's.
leads_away() {
    as $mallory mkdir "$scratch/mallory/one" "$scratch/mallory/two"
    protects $mallory "$scratch"/mallory/one/m_0.h5 "$scratch"/mallory/two/m_1.h5 || return 1
    as $mallory rm -r "$scratch/mallory/two" && as $mallory ln -s "$private" "$scratch/mallory/two"
}
