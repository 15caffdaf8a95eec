#!/usr/bin/env bash
# h5redset run as root under mpiexec over the files of two users (hostile.root: as one process). Each of four processes works for the
# owner of what it does, while they wait for each other.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}"
# shellcheck source=test/hostile/users.sh
. "$REDSET_SOURCE_DIR/test/hostile/users.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
launch=(env ${LD_PRELOAD:+LD_PRELOAD="$LD_PRELOAD"} "$mpiexec" "${redset_mpi_flags[@]}" -n 4)
unset LD_PRELOAD # the users cannot look into the build

# outside STATUS ARGUMENT...: the tool ends with that status, and what is root's stays as it is, in content, owner and mode
outside() { unchanged "$private" tells "$@"; }

sticky() {
    mkdir -m 1777 "$scratch/all"
    protects "$alice" "$scratch"/all/a_{0..3}.h5 && lose "$scratch/all/a_1.h5" && outside 0 rebuild "$scratch" || return 1
    all are "$scratch"/all/a_{0..3}.h5 , of_user "$alice" "$scratch/all" , as "$alice" cat "$scratch/all/a_1.h5" , \
        tells 0 status --verify "$scratch"
}
begin; check 'rebuild: a lost file is its owner'\''s again, in a sticky directory' sticky
two_users() {
    mkdir -m 1777 "$scratch/all" || return 1
    protects "$alice" "$scratch"/all/a_{0..3}.h5 && mv "$top/kept" "$top/kept_a" || return 1
    protects $mallory "$scratch"/all/b_{0..3}.h5 && mv "$top/kept_a"/* "$top/kept/" && rmdir "$top/kept_a" || return 1
    lose "$scratch/all/a_2.h5" "$scratch/all/b_3.h5" && outside 0 rebuild "$scratch" || return 1
    are "$scratch"/all/{a,b}_{0..3}.h5 || return 1
    [ -z "$(find "$scratch/all" -name 'a_*' ! -user "$alice" -o -name 'b_*' ! -user $mallory)" ]
}
begin; check 'rebuild: files of two users in one directory' two_users
private_directory() { # where root has no more rights than she by what the group and others may
    as "$alice" chmod 700 "$scratch/alice"
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_3.h5" && outside 0 rebuild "$scratch" || return 1
    are "$scratch"/alice/a_{0..3}.h5 && of_user "$alice" "$scratch/alice"
}
begin; check 'rebuild: in a directory that only its owner may enter' private_directory
brought() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" && outside 0 scavenge --to "$safe" "$scratch" || return 1
    rm -f "$safe/redset-index.json"
    all are "$safe"/a_{0..3}.h5 , of_user "$alice" "$safe"
}
begin; check 'scavenge: what is brought is its owner'\''s, as open as it was' brought
link_rebuild() { leads_away && outside any rebuild "$scratch" && says 'mallory/two'; }
begin; check 'rebuild: a recorded directory that is a link to one of root'\''s' link_rebuild
link_scavenge() { leads_away && outside 0 scavenge --to "$safe" "$scratch" && are "$safe/m_1.h5"; }
begin; check 'scavenge: the same' link_scavenge
stage_link() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" && chown $mallory "$safe" || return 1
    as $mallory ln -s "$private" "$safe/redset-scavenge.tmp" && outside any scavenge --to "$safe" "$scratch"
}
begin; check 'scavenge: a link for its stage is not followed' stage_link
strangers() { # a file of mallory's set is gone, and alice has one under its name
    mkdir -m 1777 "$scratch/all" && protects $mallory "$scratch"/all/m_{0..3}.h5 && lose "$scratch/all/m_1.h5" || return 1
    as "$alice" sh -c 'echo hers >"$1"' - "$scratch/all/m_1.h5"
    unchanged "$scratch" tells any rebuild "$scratch" && says 'files of several owners'
}
begin; check 'a set with a file of another user in it is refused' strangers

finish
