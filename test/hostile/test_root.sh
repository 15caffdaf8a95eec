#!/usr/bin/env bash
# h5redset run as root over the files of two users, in a directory that everybody may write to: what it does for a user, the user
# could have done himself. alice has files that are to come back; mallory makes hers such that they lead elsewhere.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${FORMAT_VECTORS:?}"
# shellcheck source=test/hostile/users.sh
. "$REDSET_SOURCE_DIR/test/hostile/users.sh"

# ---- what comes back is the owner's ----

sticky() { # in a directory of root's that everybody may write to
    mkdir -m 1777 "$scratch/all"
    protects "$alice" "$scratch"/all/a_{0..3}.h5 && lose "$scratch/all/a_1.h5" && tells 0 rebuild "$scratch" || return 1
    all are "$scratch"/all/a_{0..3}.h5 , of_user "$alice" "$scratch/all" , as "$alice" cmp "$scratch/all/a_1.h5" "$scratch/all/a_1.h5"
}
begin; check 'a file that is lost comes back as its owner'\''s, in a sticky directory too' sticky
two_users() { # each has her own in one directory, with names that are alike
    mkdir -m 1777 "$scratch/all" || return 1
    protects "$alice" "$scratch"/all/a_{0..3}.h5 && mv "$top/kept" "$top/kept_a" || return 1
    protects $mallory "$scratch"/all/b_{0..3}.h5 && mv "$top/kept_a"/* "$top/kept/" && rmdir "$top/kept_a" || return 1
    lose "$scratch/all/a_2.h5" "$scratch/all/b_3.h5" && tells 0 rebuild "$scratch" && tells 0 status --verify "$scratch" || return 1
    are "$scratch"/all/{a,b}_{0..3}.h5 || return 1
    [ -z "$(find "$scratch/all" -name 'a_*' ! -user "$alice" -o -name 'b_*' ! -user $mallory)" ]
}
begin; check 'files of two users in one directory' two_users
protected() {
    protects "$alice" "$scratch"/alice/a_{0..1}.h5 && as "$alice" "$tool" unprotect "$scratch/alice" || return 1
    tells 0 protect "$scratch"/alice/a_{0..1}.h5 && of_user "$alice" "$scratch/alice"
}
begin; check 'what root protects is protected by its owner' protected
mixed() {
    as "$alice" sh -c 'echo hers >"$1"' - "$scratch/alice/a_0.h5" && as $mallory sh -c 'echo hers >"$1"' - "$scratch/mallory/a_1.h5" || return 1
    unchanged "$scratch" tells 5 protect "$scratch/alice/a_0.h5" "$scratch/mallory/a_1.h5" && says 'files of several owners'
}
begin; check 'files of several owners are not protected together' mixed

# ---- scavenge: what is brought is the owner's, too ----

brought() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" && tells 0 scavenge --to "$safe" "$scratch" || return 1
    rm -f "$safe/redset-index.json"
    all are "$safe"/a_{0..3}.h5 , of_user "$alice" "$safe" , as "$alice" cmp "$scratch/alice/a_0.h5" "$safe/a_0.h5"
}
begin; check 'what scavenge brings is its owner'\''s, as open as it was' brought
other_owner() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" || return 1
    tells 0 scavenge --to "$safe" --owner $mallory "$scratch" && rm -f "$safe/redset-index.json"
    all are "$safe"/a_{0..3}.h5 , of_user $mallory "$safe"
}
begin; check 'scavenge --owner' other_owner
both_brought() {
    mkdir -m 1777 "$scratch/all" || return 1
    protects "$alice" "$scratch"/all/a_{0..3}.h5 && mv "$top/kept" "$top/kept_a" || return 1
    protects $mallory "$scratch"/all/b_{0..3}.h5 && mv "$top/kept_a"/* "$top/kept/" && rmdir "$top/kept_a" || return 1
    lose "$scratch/all/a_2.h5" "$scratch/all/b_3.h5" && chmod 700 "$safe" && tells 0 scavenge --to "$safe" "$scratch" || return 1
    are "$safe"/{a,b}_{0..3}.h5 || return 1
    [ -z "$(find "$safe" -name 'a_*' ! -user "$alice" -o -name 'b_*' ! -user $mallory)" ]
}
begin; check 'scavenge of two users'\'' files, to where neither may look' both_brought

# ---- what leads elsewhere ----

link_rebuild() { leads_away && unchanged "$private" tells any rebuild "$scratch" && says 'mallory/two'; }
begin; check 'rebuild: a recorded directory that is a link to one of root'\''s' link_rebuild
link_scavenge() { leads_away && unchanged "$private" tells 0 scavenge --to "$safe" "$scratch" && are "$safe/m_1.h5"; }
begin; check 'scavenge: the same' link_scavenge
link_open() { # the link leads to where mallory may write, too, and the user that runs the tool is alice
    leads_away && rm "$scratch/mallory/two" && mkdir -m 777 "$top/open" && as $mallory ln -s "$top/open" "$scratch/mallory/two" || return 1
    unchanged "$top/open" tells 5 rebuild "$scratch" && says 'two' && rmdir "$top/open"
}
begin; check 'rebuild: a recorded directory that is a link out of what was named' link_open
link_unprotect() {
    as "$alice" mkdir "$scratch/alice/job"
    mkdir -p "$top/far" && chown "$alice" "$top/far"
    as "$alice" mkdir "$scratch/alice/far" && protects "$alice" "$scratch"/alice/job/a_0.h5 "$scratch"/alice/far/a_1.h5 || return 1
    as "$alice" sh -c 'mv "$1"/far/* "$2/" && rmdir "$1/far" && ln -s "$2" "$1/far"' - "$scratch/alice" "$top/far" || return 1
    unchanged "$top/far" tells 5 unprotect --force "$scratch" && says 'far' && rm -r "$top/far"
}
begin; check 'unprotect: redundancy behind a recorded directory that is a link stays, and that is said' link_unprotect

# A set as another program makes it, without checksums, that takes a private file of alice's for one of its own.
cat >"$top/lie.py" <<'END'
import struct, sys, zlib
def read(b, at):
    (n,), at, out = struct.unpack_from(">I", b, at), at + 4, {}
    for _ in range(n):
        end = b.index(b"\0", at)
        out[b[at:end]], at = read(b, end + 1)
    return out, at
def pack(t):
    return struct.pack(">I", len(t)) + b"".join(k + b"\0" + pack(t[k]) for k in sorted(t))
def changed(t, names):
    return {names.get(k, k): changed(v, names) for k, v in t.items()}
names = dict(pair.encode().split(b"=") for pair in sys.argv[2:])
b = open(sys.argv[1], "rb").read()
total = struct.unpack_from(">Q", b, 8)[0]
tree = pack(changed(read(b, 20)[0], names))
head = b[:8] + struct.pack(">QI", 24 + len(tree), 1)
open(sys.argv[1], "wb").write(head + tree + struct.pack(">I", zlib.crc32(head + tree)) + b[total:])
END
lies() {
    local k file
    as "$alice" mkdir -m 700 "$scratch/alice/private"
    as "$alice" sh -c 'yes "for alice alone" | head -c 1234 >"$1"' - "$scratch/alice/private/secret"
    as $mallory mkdir "$scratch/mallory/set" && as $mallory ln -s "$scratch/alice/private" "$scratch/mallory/see"
    for k in 0 2; do cp "$FORMAT_VECTORS/partner_3_r1/node$k"/* "$scratch/mallory/set/"; done
    truncate -s -100 "$scratch"/mallory/set/ckpt_2.h5.2.partner* # what would have a copy of it
    for file in "$scratch"/mallory/set/*redset; do
        python3 "$top/lie.py" "$file" "ckpt_0.h5=$scratch/mallory/set/ckpt_0.h5" "ckpt_1.h5=$1/secret" "ckpt_2.h5=$scratch/mallory/set/ckpt_2.h5"
    done
    chown -R $mallory:$mallory "$scratch/mallory/set"
}
keeps_secret() { # DIR...
    ! grep -rlF 'for alice alone' "$@" || { echo 'somebody else has it'; return 1; }
}
lie_rebuild() { lies "$scratch/alice/private" && unchanged "$scratch/alice" tells any rebuild "$scratch" && keeps_secret "$scratch/mallory"; }
begin; check 'rebuild: a set that names a private file of another user' lie_rebuild
lie_link() { lies "$scratch/mallory/see" && unchanged "$scratch/alice" tells any rebuild "$scratch" && keeps_secret "$scratch/mallory/set"; }
begin; check 'rebuild: the same through a link' lie_link
lie_scavenge() {
    lies "$scratch/mallory/see" && unchanged "$scratch" tells any scavenge --to "$safe" "$scratch" && keeps_secret "$safe"
}
begin; check 'scavenge: the same' lie_scavenge

# ---- somebody else's names ----

# alice's lost file is covered; mallory has a set in her own directory that says to be a newer generation of it.
covered() {
    local id newer file
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 || return 1
    id=$("$tool" status --json "$scratch" | sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
    id=$((16#$id)) newer=$((16#$id + (1 << 40)))
    cp "$scratch"/alice/*.redset "$scratch/mallory/"
    for file in "$scratch"/mallory/*.redset; do python3 "$top/lie.py" "$file" "$id=$newer"; done
    chown -R $mallory:$mallory "$scratch/mallory" && lose "$scratch/alice/a_1.h5"
}
covered_scavenge() {
    local k
    covered && tells any scavenge --to "$safe" "$scratch" || return 1
    for k in 0 1 2 3; do # under a longer name, where mallory's would be called so, too
        cmp "$top/kept/a_$k.h5" "$(find "$safe" -name "a_$k.h5")" || return 1
    done
}
begin; check 'scavenge: alice'\''s lost file is brought, whoever records it as hers' covered_scavenge
covered_rebuild() { covered && tells any rebuild "$scratch"; are "$scratch"/alice/a_{0..3}.h5 && of_user "$alice" "$scratch/alice"; }
begin; check 'rebuild: the same' covered_rebuild
strangers() { # a file of mallory's set is gone, and alice has one under its name
    mkdir -m 1777 "$scratch/all" && protects $mallory "$scratch"/all/m_{0..3}.h5 && lose "$scratch/all/m_1.h5" || return 1
    as "$alice" sh -c 'echo hers >"$1"' - "$scratch/all/m_1.h5"
    unchanged "$scratch" tells 5 rebuild "$scratch" && says 'files of several owners'
}
begin; check 'a set with a file of another user in it is refused' strangers

# ---- the target of scavenge ----

stage_link() { # the target is mallory's, and has links for what scavenge makes there
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" && chown $mallory "$safe" || return 1
    mkdir "$private/new" && echo precious >"$private/new/it" && as $mallory ln -s "$private" "$safe/redset-scavenge.tmp"
    unchanged "$private" tells any scavenge --to "$safe" "$scratch"
}
begin; check 'scavenge: a link for its stage is not followed' stage_link
stage_inner() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && lose "$scratch/alice/a_1.h5" && chown $mallory "$safe" || return 1
    mkdir "$private/new" && echo precious >"$private/new/it" && as $mallory mkdir -m 777 "$safe/redset-scavenge.tmp"
    as $mallory ln -s "$private/new" "$safe/redset-scavenge.tmp/new"
    unchanged "$private" tells any scavenge --to "$safe" "$scratch"
}
begin; check 'scavenge: nor one in a stage that is another user'\''s' stage_inner
index_fifo() {
    protects "$alice" "$scratch"/alice/a_{0..3}.h5 && chown $mallory "$safe" && as $mallory mkfifo "$safe/redset-index.json" || return 1
    tells 5 scavenge --to "$safe" "$scratch" && says 'redset-index.json'
}
begin; check 'scavenge: an index that is a FIFO is waited for by nobody' index_fifo
sub_link() { # two files of one name get directories of their own
    as "$alice" mkdir "$scratch/alice/one" "$scratch/alice/two" && protects "$alice" "$scratch"/alice/one/a.h5 "$scratch"/alice/two/a.h5 || return 1
    chown $mallory "$safe" && as $mallory ln -s "$private" "$safe/rank_0" && unchanged "$private" tells 5 scavenge --to "$safe" "$scratch"
}
begin; check 'scavenge: a link for a directory in the target is not followed' sub_link

finish
