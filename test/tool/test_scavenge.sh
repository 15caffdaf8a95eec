#!/usr/bin/env bash
# h5redset scavenge: after a job died, the files of its ranks are brought to a safe directory. Four ranks on nodes with
# storage of their own write them through the driver; what is left is seen from outside. What is brought is compared byte by
# byte with what was protected, and the nodes with what they were.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/cluster/cluster.sh
. "$REDSET_SOURCE_DIR/test/cluster/cluster.sh"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
redset_mpi_or_skip
# what launchers set would make it wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
if [ -n "${REDSET_SANITIZE:-}" ] && [ "$REDSET_SANITIZE" != OFF ]; then
    echo 'SKIP: programs without the sanitizers cannot load a plugin with them'
    exit 77
fi
command -v python3 >/dev/null || { echo 'SKIP: no python3 to read the index'; exit 77; }
tool=$REDSET_BUILD_DIR/tools/h5redset
bin=$REDSET_BUILD_DIR/test/vfd
export HDF5_DRIVER=redset HDF5_PLUGIN_PATH
trap cluster_down EXIT
cluster_up 4 1
log=$CLUSTER_DIR/log out=$CLUSTER_DIR/out
if [ "$CLUSTER_MODE" = plain ]; then echo 'SKIP: nodes are mere directories here'; exit 77; fi
nodes=$CLUSTER_DIR/nodes safe=$CLUSTER_DIR/safe

# brings STATUS [ARGUMENT...]: scavenge from the nodes to $safe ends with that exit status, and the nodes are as before
brings() {
    local want=$1 status=0
    shift
    rm -rf "$CLUSTER_DIR/before" && cp -a "$nodes" "$CLUSTER_DIR/before"
    "$tool" scavenge --to "$safe" "$@" "${from[@]}" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
    listing "$CLUSTER_DIR/before" >"$CLUSTER_DIR/was"
    listing "$nodes" | diff "$CLUSTER_DIR/was" - && diff -r "$CLUSTER_DIR/before" "$nodes" || { echo 'the nodes were changed'; return 1; }
    [ ! -e "$safe/redset-scavenge.tmp" ] || { echo 'leftovers in the target'; return 1; }
}
from=("$nodes")
# names, sizes, modes and times of all that is below a directory
listing() { (cd "$1" && find . -printf '%p %s %m %T@\n' | sort); }
says() { grep -qE -- "$1" "$out" || { echo "not said: $1"; return 1; }; }
# index EXPRESSION: of the index `i`, and `f`, its files by name
index() {
    "$REDSET_SOURCE_DIR/test/tool/schema.py" "$safe/redset-index.json" || return 1
    python3 - "$safe/redset-index.json" "$1" <<'END'
import json, sys
i = json.load(open(sys.argv[1]))
f = {one["name"]: one for one in i["files"]}
if not eval(sys.argv[2]):
    print("the index is not", sys.argv[2], json.dumps(i, indent=1))
    sys.exit(1)
END
}
keep() { rm -rf "${CLUSTER_DIR:?}/$1" && cp -a "$nodes" "$CLUSTER_DIR/$1"; }
begin() { rm -rf "$nodes" "$safe" && cp -a "$CLUSTER_DIR/$1" "$nodes"; }
lose() { local k; for k in "$@"; do rm -rf "${nodes:?}/node$k"; done; }
# are KEPT RANK...: in the target these ranks' files are as in KEPT, and there are no others
are() {
    local kept=$1 k
    shift
    for k in "$@"; do cmp "$CLUSTER_DIR/$kept/node$k/data_$k.h5" "$safe/data_$k.h5" || return 1; done
    [ "$(find "$safe" -name '*.h5' | wc -l)" = $# ] || { ls -R "$safe"; return 1; }
}
job() { HDF5_DRIVER_CONFIG="scheme=XOR timeout=60 ${config:-}" cluster_run "$@"; }

make() {
    job "$bin/ranks" write "$CLUSTER_LOCAL" 20000 1 && keep one || return 1
    job "$bin/ranks" write "$CLUSTER_LOCAL" 20000 2 && keep two
}
check 'four ranks write their files twice' make

# ---- whole ----

whole() {
    brings 0 && are two 0 1 2 3 && says '4 files: 4 copied' || return 1
    index 'i["schema"] == "h5redset-scavenge/1" and i["checksum"] == "CRC-64/XZ" and i["unrecoverable"] == i["failed"] == []' || return 1
    index 'sorted(f) == ["data_%d.h5" % k for k in range(4)]' || return 1
    index 'all(f["data_%d.h5" % k]["rank"] == k and f["data_%d.h5" % k]["ranks"] == 4 for k in range(4))' || return 1
    index 'all(o["how"] == "copied" and o["verified"] and o["complete"] and o["generation"] == 2 for o in f.values())' || return 1
    index "f['data_3.h5']['path'] == '$nodes/node3/data_3.h5' and f['data_3.h5']['host'] == '$(hostname)'" || return 1
    index "f['data_3.h5']['size'] == $(stat -c %s "$nodes/node3/data_3.h5")" || return 1
    [ "$(stat -c '%Y %a' "$safe/data_3.h5")" = "$(stat -c '%Y %a' "$nodes/node3/data_3.h5")" ]
}
begin two; check 'all whole: copied, and the index says so' whole
checksum() { # CRC-64/XZ of another program
    python3 - "$safe" <<'END'
import json, sys
table = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0xC96C5795D7870F42 if n & 1 else 0)
    table.append(n)
for one in json.load(open(sys.argv[1] + "/redset-index.json"))["files"]:
    crc = 2**64 - 1
    for byte in open(sys.argv[1] + "/" + one["name"], "rb").read():
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    if "%016x" % (crc ^ 2**64 - 1) != one["crc64"]:
        sys.exit("%s: %016x, and the index says %s" % (one["name"], crc ^ 2**64 - 1, one["crc64"]))
END
}
check 'the checksums of the index are right' checksum
unprotected() { # they do not take part in any rendezvous
    "$tool" status "$safe" >"$out" 2>&1 && return 1
    says 'nothing protected was found' && ! find "$safe" -name '*redset' | grep .
}
check 'the copies are plain files' unprotected
again() {
    (cd "$safe" && find . -type f -printf '%p %i %T@ %C@\n' | sort) >"$CLUSTER_DIR/first"
    brings 0 && says '4 files: 4 was there' || return 1
    (cd "$safe" && find . -type f -printf '%p %i %T@ %C@\n' | sort) | diff "$CLUSTER_DIR/first" -
}
check 'a second run changes nothing' again
index_stays() { index 'f["data_0.h5"]["how"] == "copied"'; }
check 'and the index still says how they came' index_stays
finishes() {
    rm "$safe/data_2.h5" && brings 0 && says '3 was there, 1 copied' && are two 0 1 2 3
}
check 'a second run brings what is missing' finishes

# ---- lost, damaged ----

lost() {
    lose 2 && brings 0 && are two 0 1 2 3 && says 'data_2.h5: rebuilt' || return 1
    index 'f["data_2.h5"]["how"] == "rebuilt" and f["data_2.h5"]["verified"] and f["data_2.h5"]["host"] is None' || return 1
    index "f['data_2.h5']['path'] == '$CLUSTER_LOCAL/data_2.h5' and f['data_1.h5']['how'] == 'copied'" || return 1
    unprotected
}
begin two; check 'a node lost: rebuilt at the target' lost
damaged() {
    flip "$nodes/node1/data_1.h5" 9000 && brings 0 && are two 0 1 2 3 || return 1
    index 'f["data_1.h5"]["how"] == "rebuilt" and f["data_0.h5"]["how"] == "copied"'
}
begin two; check 'a damaged file: rebuilt at the target' damaged
healthy_enough() { # redundancy of a set that misses nothing is not looked at
    rm "$nodes"/node3/data_3.h5.* && flip "$nodes"/node1/data_1.h5.1.xor*redset 9000 && brings 0 && are two 0 1 2 3
}
begin two; check 'redundancy lost, data there: copied' healthy_enough
too_many() {
    lose 0 2 && brings 2 && are two 1 3 && says 'data_0.h5 \(rank 0 of 4\): unrecoverable' || return 1
    says 'data_2.h5 \(rank 2 of 4\): unrecoverable' || return 1
    index 'sorted(o["rank"] for o in i["unrecoverable"]) == [0, 2] and all(o["why"] for o in i["unrecoverable"])' || return 1
    index 'sorted(f) == ["data_1.h5", "data_3.h5"] and not any(o["complete"] for o in f.values())'
}
begin two; check 'too many lost: what can be had is brought, the rest is listed' too_many
both() { # blocks of both are damaged, in different places
    flip "$nodes/node1/data_1.h5" 100 && lose 2 && brings 2 && are two 0 3 && index 'len(i["unrecoverable"]) == 2'
}
begin two; check 'a node lost, another file damaged: neither is given' both

# ---- changed ----

rolled_back() {
    ! job "$bin/changes" update killed "$CLUSTER_LOCAL" || return 1
    brings 0 && are one 0 1 2 3 && index 'f["data_1.h5"]["how"] == "rolled back" and f["data_1.h5"]["verified"]'
}
begin one; check 'killed while changing: as it was protected last' rolled_back
rolled_back_and_lost() {
    ! job "$bin/changes" update killed "$CLUSTER_LOCAL" || return 1
    lose 3 && brings 0 && are one 0 1 2 3 && index 'f["data_3.h5"]["how"] == "rebuilt"'
}
begin one; check 'the same, and a node lost' rolled_back_and_lost
# All ranks change and close their files, and rank 1 cannot write its redundancy.
close_unprotected() {
    local file
    begin one
    for file in "$nodes/node1/data_1.h5".1.xor*redset; do mkdir "$file.new" && touch "$file.new/x"; done
    job "$bin/ranks" update "$CLUSTER_LOCAL" 20000 1:2 || true
    rm -rf "$nodes"/node1/*.redset.new
    keep closed
}
closed() { # twice: what nobody can verify is not taken for what was brought, unless it is the same
    for _ in 1 2; do brings 1 && are closed 0 1 2 3 && says 'its content is not verified' || return 1; done
    index 'all(o["how"] == "copied as it is" and not o["verified"] for o in f.values()) and len(f) == 4'
}
close_unprotected >"$log" 2>&1
check 'closed by all, not protected: as it is, and said' closed
closed_by_one() {
    rm -rf "$nodes/node2" && cp -a "$CLUSTER_DIR/closed/node2" "$nodes" && brings 0 && are one 0 1 2 3 && index 'f["data_2.h5"]["how"] == "rolled back"'
}
begin one; check 'closed by one of four: as it was protected last' closed_by_one
no_way_back() { # the old bytes in its journal are damaged: it is rebuilt from the others
    rm -rf "$nodes/node2" && cp -a "$CLUSTER_DIR/closed/node2" "$nodes" || return 1
    flip "$(echo "$nodes"/node2/data_2.h5.redset.*.undo)" $(($(stat -c %s "$nodes"/node2/data_2.h5.redset.*.undo) - 100))
    brings 0 && are one 0 1 2 3 && index 'f["data_2.h5"]["how"] == "rebuilt"'
}
begin one; check 'the same, and its journal is damaged' no_way_back
generation_of() { "$tool" status --json "$CLUSTER_DIR/$1" | sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1; }
half_committed() { # [PUBLISHED]: that rank has, the others have prepared
    local k file generation
    generation=$(generation_of two)
    for k in 0 1 2 3; do
        for file in "$CLUSTER_DIR/two/node$k/data_$k.h5".*redset; do
            cp -a "$file" "$nodes/node$k/$(basename "$file")$([ "$k" = "${1:-}" ] || echo .new)"
        done
        cp -a "$CLUSTER_DIR/two/node$k/data_$k.h5" "$nodes/node$k/data_$k.h5.redset.$generation.new"
    done
}
committing() {
    half_committed 0 && brings 0 && are two 0 1 2 3 && index 'all(o["generation"] == 2 and o["how"] == "finished" for o in f.values())'
}
begin one; check 'died in a commit that was decided: as it will be' committing
committing_and_lost() { # LOST
    half_committed 0 && lose "$1" && brings 0 && are two 0 1 2 3 && index "all(o['generation'] == 2 and o['how'] == ('rebuilt' if o['rank'] == $1 else 'finished') for o in f.values())"
}
begin one; check 'the same, and a node lost' committing_and_lost 3
prepared() { # by all, and published by none: that counts, and one of the new files is damaged
    half_committed && flip "$nodes"/node2/data_2.h5.redset.*.new 9000 && brings 0 && are two 0 1 2 3 && index 'f["data_2.h5"]["how"] == "rebuilt"'
}
begin one; check 'died in a commit that all had prepared, and one is damaged' prepared
half_prepared() { # the older generation counts
    half_committed && rm "$nodes/node2/data_2.h5".*.new && brings 0 && are one 0 1 2 3
}
begin one; check 'died in a commit that not all had prepared: as it was before' half_prepared
refused() { # an outdated node, and damage: the table refuses all of it
    rm -rf "$nodes/node1" && cp -a "$CLUSTER_DIR/one/node1" "$nodes/node1"
    rm -rf "$nodes/node3"
    brings 2 && are two && says 'newer commit' && index 'i["files"] == [] and len(i["unrecoverable"]) == 4'
}
begin two; check 'refused by the table: nothing is given' refused

# ---- the target ----

dry() {
    lose 2 && brings 0 --dry-run && [ ! -e "$safe" ] && says 'data_2.h5: would be rebuilt' && says 'data_1.h5: would be copied' || return 1
    lose 0 && brings 2 --dry-run && [ ! -e "$safe" ] && says 'data_0.h5 \(rank 0 of 4\): unrecoverable'
}
begin two; check '--dry-run writes nothing' dry
dry_again() {
    mkdir "$safe" && cp "$nodes/node0/data_0.h5" "$safe" && echo mine >"$safe/data_1.h5" && brings 5 --dry-run || return 1
    says 'data_0.h5: is there' && says 'data_1.h5 \(rank 1 of 4\): not brought: another file' && [ "$(find "$safe" -type f | wc -l)" = 2 ]
}
begin two; check '--dry-run says what is there already' dry_again
in_the_way() {
    mkdir "$safe" && echo mine >"$safe/data_1.h5" && brings 5 && says 'data_1.h5 is there already, and has other content' || return 1
    [ "$(cat "$safe/data_1.h5")" = mine ] && cmp "$CLUSTER_DIR/two/node0/data_0.h5" "$safe/data_0.h5" || return 1
    index '[o["name"] for o in i["failed"]] == ["data_1.h5"] and len(f) == 3' || return 1
    brings 0 --force && are two 0 1 2 3 && index 'len(f) == 4 and i["failed"] == []'
}
begin two; check 'another file of that name stays, but for --force' in_the_way
not_ours() {
    mkdir "$safe" && echo '{}' >"$safe/redset-index.json" && brings 5 && says 'is no index' && [ "$(cat "$safe/redset-index.json")" = '{}' ]
}
begin two; check 'another index stays' not_ours
inside() {
    gives() { local status=0; "$tool" scavenge "$@" >"$out" 2>&1 || status=$?; cat "$out"; echo "exit status $status"; return "$status"; }
    gives --to "$nodes/safe" "$nodes" || [ $? = 64 ] && [ ! -e "$nodes/safe" ] || return 1
    ln -s "$nodes/node1" "$CLUSTER_DIR/link"
    gives --to "$CLUSTER_DIR/link" "$nodes" || [ $? = 5 ] && says 'is the directory .*node1, which is to be saved' || return 1
    gives "$nodes" || [ $? = 64 ] && says '--to DIR is missing'
}
begin two; check 'a target among what is to be saved: refused' inside
unwritable() {
    rm -rf "$safe" && echo file >"$safe" && brings 5 && says 'safe' && [ "$(cat "$safe")" = file ] && rm "$safe"
}
begin two; check 'no directory: refused' unwritable
full() { # a target of 80 KiB; what came to it goes to got/
    local status=0 flags=''
    [ "$CLUSTER_MODE" = root ] || flags='--user --map-root-user'
    mkdir "$safe"
    # shellcheck disable=SC2016,SC2086 # for another shell; flags are words
    unshare $flags --mount sh -c 'mount -t tmpfs -o size=80k none "$1" && "$0" scavenge --to "$1" "$2"; status=$?; cp -a "$1" "$3"; exit $status' \
        "$tool" "$safe" "$nodes" "$CLUSTER_DIR/got" >"$out" 2>&1 || status=$?
    cat "$out"
    [ "$status" = 5 ] && says 'No space left' && says 'not tried; run it again' || return 1
    ls -R "$CLUSTER_DIR/got"
    [ ! -e "$CLUSTER_DIR/got/redset-index.json" ] && [ ! -e "$CLUSTER_DIR/got/redset-scavenge.tmp" ] || return 1
    for file in "$CLUSTER_DIR"/got/*.h5; do cmp "$file" "$nodes"/node?/"$(basename "$file")" || return 1; done
}
begin two; check 'a full target: said, and no half files' full
killed() { # in the middle of the first file: its second call below a name of this form
    local status=0 safe=$CLUSTER_DIR/data_safe
    DIE_AT=2 LD_PRELOAD=$bin/libpreload_die.so "$tool" scavenge --to "$safe" "$nodes" >"$out" 2>&1 || status=$?
    [ "$status" -gt 128 ] || { echo "not killed: exit status $status"; return 1; }
    ls -R "$safe"
    [ -z "$(find "$safe" -name '*.h5' -o -name '*.json')" ] && [ -e "$safe/redset-scavenge.tmp" ] || return 1
    brings 0 && are two 0 1 2 3
}
begin two; check 'killed in the middle: no half file, and the next run finishes' killed
appears() { # while its first file is copied, a file of that name is made in the target
    local status=0 stat='' safe=$CLUSTER_DIR/data_safe made
    rm -rf "$safe"
    DIE_RANK=-1 STOP_AT=1 LD_PRELOAD=$bin/libpreload_die.so "$tool" scavenge --to "$safe" "$@" "$nodes" >"$out" 2>&1 &
    until [ "$stat" = T ]; do
        sleep 0.02
        stat=$(sed 's/.*) //; s/ .*//' "/proc/$!/stat" 2>/dev/null) && [ "$stat" != Z ] || { cat "$out"; return 1; }
    done
    for made in "$safe"/data_{0,1,2,3}.h5; do echo other >"$made"; done
    kill -CONT $!
    wait $! || status=$?
    cat "$out"
    if [ $# = 0 ]; then
        [ "$status" = 5 ] && says 'data_0.h5: was made by another program meanwhile' || return 1
        for made in "$safe"/data_{0,1,2,3}.h5; do [ "$(cat "$made")" = other ] || return 1; done
    else
        [ "$status" = 0 ] && are two 0 1 2 3
    fi
}
begin two; check 'a file that appears in the target meanwhile stays' appears
begin two; check 'with --force it is replaced' appears --force
busy() { # another run has the target
    mkdir -p "$safe/redset-scavenge.tmp/new/0.1" && touch "$safe/redset-scavenge.tmp/new/0.1/file"
    flock "$safe/redset-scavenge.tmp/lock" "$tool" scavenge --to "$safe" "$nodes" >"$out" 2>&1 && return 1
    cat "$out"
    says 'another h5redset scavenge' && [ -e "$safe/redset-scavenge.tmp/new/0.1/file" ] && [ ! -e "$safe/redset-index.json" ]
}
begin two; check 'two runs at a time: the second is refused' busy

one_by_one() { # the index keeps what earlier runs have brought
    from=("$nodes/node1/data_1.h5") && brings 0 && are two 1 && index 'sorted(f) == ["data_1.h5"]' || return 1
    from=("$nodes/node3/data_3.h5" "$nodes/node0/data_0.h5") && brings 0 && are two 0 1 3 && index 'sorted(f) == ["data_%d.h5" % k for k in (0, 1, 3)]' || return 1
    rm "$safe/data_1.h5" && from=("$nodes/node3/data_3.h5") && brings 0 && index 'sorted(f) == ["data_0.h5", "data_3.h5"]'
}
begin two; check 'some files, and more of them later' one_by_one
from=("$nodes")
nothing() { rm -rf "${nodes:?}"/* && brings 3 && says 'nothing protected was found' && [ ! -e "$safe" ]; }
begin two; check 'nothing protected: said' nothing

# ---- names ----

namesakes() {
    local k
    for k in 0 1 2 3; do lose $k && mkdir "$nodes/node$k" && head -c 3000$k /dev/urandom >"$nodes/node$k/own.h5"; done
    "$tool" protect "$nodes"/node{0,1,2,3}/own.h5 && keep own && lose 3 && brings 0 || return 1
    for k in 0 1 2 3; do cmp "$CLUSTER_DIR/own/node$k/own.h5" "$safe/rank_$k/own.h5" || return 1; done
    index 'sorted(f) == ["rank_%d/own.h5" % k for k in range(4)] and f["rank_3/own.h5"]["how"] == "rebuilt"'
}
begin two; check 'files of one name: below their rank' namesakes
pieces() { # a node lost, and two others damaged, each in another place
    local k
    for k in 0 1 2 3; do lose $k && mkdir "$nodes/node$k" && head -c 100000$k /dev/urandom >"$nodes/node$k/own_$k.h5"; done
    "$tool" protect --scheme RS:2 "$nodes"/node?/own_?.h5 && keep own && lose 2 || return 1
    flip "$nodes/node0/own_0.h5" 700000 && flip "$nodes/node1/own_1.h5" 100 && brings 0 || return 1
    for k in 0 1 2 3; do cmp "$CLUSTER_DIR/own/node$k/own_$k.h5" "$safe/own_$k.h5" || return 1; done
    says '3 rebuilt, 1 copied'
}
begin two; check 'what is left of a damaged file is used' pieces

# Sets of LLNL redset have no checksums: sizes tell what is whole.
foreign() { # VECTOR FILES
    rm -rf "${nodes:?}"/* "$safe" && cp -a "$REDSET_SOURCE_DIR/test/golden/vectors/$1"/* "$nodes" && brings 0 || return 1
    [ "$(find "$safe" -name '*.h5' | wc -l)" = "$2" ] && index 'not any(o["verified"] for o in f.values())' || return 1
    for file in "$safe"/*.h5; do cmp "$file" "$nodes"/*/"$(basename "$file")" || return 1; done
}
check 'files that LLNL redset has protected' foreign rs_6_k3 6
foreign_long() {
    rm -rf "${nodes:?}"/* "$safe" && cp -a "$REDSET_SOURCE_DIR/test/golden/vectors/rs_6_k3"/* "$nodes" && echo >>"$nodes/node2/ckpt_2.h5" || return 1
    brings 0 && says 'ckpt_2.h5: rebuilt' && cmp "$REDSET_SOURCE_DIR/test/golden/vectors/rs_6_k3/node2/ckpt_2.h5" "$safe/ckpt_2.h5"
}
check 'the same, and one is too long' foreign_long
check 'a rank that has no file is not missed' foreign xor_6_3nodes 5
sparse() { # 1 GiB each, nearly all of it holes: redundancy, what is rebuilt and what is brought take a hundredth of that
    local k
    rm -rf "${nodes:?}"/* "$safe"
    for k in 0 1 2 3; do
        mkdir "$nodes/node$k" && truncate -s 1G "$nodes/node$k/sparse_$k.h5" || return 1
        head -c 10000 /dev/urandom | dd of="$nodes/node$k/sparse_$k.h5" bs=1000 seek=$((k * 300000 + 77777)) conv=notrunc status=none
    done
    "$tool" protect --scheme RS:2 "$nodes"/node?/sparse_?.h5 && keep sparse && lose 1 && brings 0 || return 1
    for k in 0 1 2 3; do cmp "$CLUSTER_DIR/sparse/node$k/sparse_$k.h5" "$safe/sparse_$k.h5" || return 1; done
    [ "$(du -sm "$safe" "$CLUSTER_DIR/sparse" | awk '$1 < 40' | wc -l)" = 2 ] || { du -am "$safe" "$CLUSTER_DIR/sparse"; return 1; }
}
check 'holes stay holes' sparse
several() {
    rm -rf "${nodes:?}"/* "$safe" && cp -a "$REDSET_SOURCE_DIR/test/golden/vectors/single_2"/* "$nodes" && brings 5 || return 1
    says 'ckpt_1.h5 \(rank 1 of 2\): not brought: several files were protected as one' && index 'len(f) == len(i["failed"]) == 1'
}
check 'several files of one rank: said' several
finish
