#!/usr/bin/env bash
# The generations of the files of 4 ranks, each in a directory of its own: a program lists them, opens one by its label, and drops
# one; with losses. link_generations.c says what each case does, and checks what the calls return; here, what is on disk, and what is
# said. `timeout` is the watchdog (P5).
set -euo pipefail

# shellcheck source=test/vfd/nodes.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/nodes.sh"
program=$bin/link_generations

# job CASE [ARG...]: on 4 ranks; what rank r says is in $d.said.<r>
settings=
job() { HDF5_DRIVER_CONFIG="timeout=60 required=yes keep=3 $settings" heard "$mpiexec" -np 4 "$program" "$1" "$d" "${@:2}"; }
alone() { HDF5_DRIVER_CONFIG="$settings" heard "$program" "$1" "$d" "${@:2}"; }
said() { grep -qF -- "$1" "$log" || { echo "not said: $1"; return 1; }; }
unchanged() { diff -r "$work/kept" "$d"; }
# older RANK BACK: the data file of the one that is so many older than the newest
older() { find "$d/node$1" -name '*.data' | sort | tail -n "$2" | sed -n 1p; }
halve() { local r; for r in 0 1; do rm "$(older $r 1)"* || return 1; done; }
# count N: so many names of older generations are there
count() { [ "$(find "$d" -name '*.data*' | wc -l)" = "$1" ] || { find "$d" -name '*.data*'; return 1; }; }
# takes NUMBER BYTES: rank 1 said that generation NUMBER takes so many
takes() { grep -q "^number $1 .* bytes $2\$" "$d.said.1" || { echo "not $2"; cat "$d.said.1"; return 1; }; }
on_disk() { find "$@" -printf '%b\n' | awk '{ n += 512 * $1 } END { print n }'; }

echo 'listed:'
check 'nothing is protected yet, and nothing can be dropped' all job nodrop 0 , says 4 'is protected, so there is no generation to remove'
check 'three generations' all job write 1 start , job write 2 '' , job write 3 'after the bump' , job write 4 "it's \\100 %" , keep , cp -a "$d" "$work/first"
check 'each rank sees them, newest first' all job list , says 4 '^number 4 "it.s .100 %" scheme 2:1 ranks 4 size [0-9]* newest here ' , \
    says 4 '^number 3 "after the bump" scheme 2:1 ranks 4 size [0-9]* here ' , says 4 '^number 2 "" .* here ' , says 0 '^number 1' , unchanged
size() { stat -c %s "$d/node1/data.1.h5"; }
check 'with the size of the file' grep -q "^number 4 .* size $(size) " "$d.said.1"
newer=$(on_disk "$d/node1" -type f ! -name '*.data*') one=$(older 1 1)
check 'and what it takes on disk' all takes 4 "$newer" , takes 3 "$(on_disk "$d/node1" -type f -name "${one##*/}*")"
check 'one that is not whole' all truncate -s 5000 "$one" , job list , says 1 '^number 3 .* size [0-9]* lost ' , says 3 '^number 3 .* size [0-9]* here '
restore
check 'without MPI; short lists, and structs of other versions' alone calls

echo 'by label:'
check 'one that is older' all job read 3 'label:after the bump' , says 0 .
check 'the newest' all job read 4 "label:it's \\100 %" , says 0 .
check 'one that is gone: refused, and those that there are are named' all job refused label:start , \
    says 4 'no generation label:start; there are, newest first: 4 "it.s .100 %", 3 "after the bump", 2; '
check 'a rank has lost all: it learns the label from the others' all lose 0 , job read 3 'label:after the bump' , says 1 'was rebuilt'
restore
check 'and is told what there is' all lose 0 , job refused label:start , says 4 'there are, newest first: 4 "it'
restore
check 'two have the label: the newer one is meant' all job write 5 'after the bump' , job read 5 'label:after the bump' , \
    job read 4 "label:it's \\100 %"
restore

echo 'told of what was opened:'
check 'the newest' job opened '' "1:4:it's \\100 %"
check 'one that is older, and whole' job opened -1 '1:3:after the bump'
check 'by its label; a rank that has lost it knows it as well' all lose 0 , job opened 'label:after the bump' '?:3:after the bump'
restore
settings=fallback=yes
check 'the one that an open falls back to' all rm "$d"/node1/data.1.h5 "$d"/node2/data.2.h5 , job opened '' '8:3:after the bump'
settings=
restore

echo 'dropped:'
check 'the one before the newest: nothing is left of it' all job drop 1 , count 16 , job list , says 0 '^number 3' , says 4 '^number 2' , says 4 '^number 4'
check 'the others are what they were' all job read 4 '' , job read 2 -1 , job refused 3 , says 4 'there are, newest first: 4, 2;'
check 'a node is lost: so they are' all lose 2 , job read 2 -1 , job read 4 '' , says 1 'was rebuilt'
restore
check 'the newest: refused' all job nodrop 0 , says 4 'is the newest, and not removed' , unchanged
check 'one that there is not' all job nodrop 7 , says 4 'there are, newest first: 4, 3, 2;' , unchanged
check 'ranks mean different ones: refused' all job differ , says 4 'ranks mean different generations' , unchanged
check 'a rank has it open: refused on all, until it is closed' all job busy , says 4 'generation 3 is open, and not removed' , count 16
restore
check 'a node is lost: on the others it goes' all lose 3 , job drop 2 , count 12 , job read 3 -1 , job read 4 ''
restore
check 'half of it was dropped: the rest goes' all halve , job drop 1 , count 16 , job read 2 -1
restore
check 'a rank has no space for what rests on it: it stays on all' all job change 5 , job change 6 , job full 1 , said 'File too large' , \
    job list , says 4 '^number 5 '
restore
check 'changed in place: the one before that stays' all job change 5 , job drop 1 , job read 3 -1 , job list , says 4 '^number 5 "" .* newest'

echo 'h5redset:'
# on_nodes COMMAND...: with 2 processes
on_nodes() { OMPI_MCA_rmaps_base_oversubscribe=1 timeout -s KILL 180 "$mpiexec" -np 2 "$tool" "$@"; }
# lists RANGE: the lines of each generation, without times and sizes
lists() { { "$tool" list "$d" || true; } | sed -nE 's/^ +([0-9]+) +[-0-9]{10} [:0-9]{8} +(XOR|SINGLE|RS:2) +4 +[0-9.]+ [KM]iB +[0-9.]+ [KM]iB +/\1 \2 /p' | tee "$work/lists" | diff - "$work/wanted"; }
want() { printf '%s\n' "$@" >"$work/wanted"; }
status_of() { local status=0 wanted=$1; shift; "$@" || status=$?; [ "$status" = "$wanted" ] || { echo "status $status"; return 1; }; }
restore
want "4 XOR healthy, newest  \"it's \\100 %\"" '3 XOR healthy  "after the bump"' '2 XOR healthy'
check 'list: three generations' all lists , status_of 0 "$tool" list "$d" , status_of 0 "$tool" list --verify "$d" , unchanged
check 'of one file that is named' eval "'$tool' list '$d/node2/data.2.h5' | grep -x 'data.0.h5: 3 generations'"
check 'with one process on each node' eval "on_nodes list '$d' | grep -E '^ +3 .* healthy  \"after the bump\"'"
check 'status tells the space of each' eval "'$tool' status '$d' | grep -E '^  on disk: [0-9.]+ KiB; older generations: 3: [0-9.]+ KiB, 2: [0-9.]+ KiB\$'"
json() { "$tool" "$1" --json "$d" | python3 -c "import json, sys; o = json.load(sys.stdin); print($2)"; }
check 'list --json' all eval "json list '[(g[\"generation\"], g[\"label\"], g[\"newest\"], g[\"can_be_had\"], g[\"ranks\"], g[\"size\"] > 0) for g in o[\"files\"][0][\"generations\"]]' |
    grep -xF '[(4, \"it'\''s \\\\100 %\", True, True, 4, True), (3, '\''after the bump'\'', False, True, 4, True), (2, None, False, True, 4, True)]'"
check 'its bytes are those on disk' eval "[ \"\$(json list 'sum(g[\"bytes\"] for g in o[\"files\"][0][\"generations\"])')\" = \"\$(on_disk '$d' -type f)\" ]"
check 'status --json has them as well' eval "json status '[g[\"generation\"] for g in o[\"sets\"][0][\"generations\"]]' | grep -xF '[4, 3, 2]'"
flip "$(older 3 1)" 9000
verifies() { { "$tool" list --verify "$d" || true; } | grep -E '^ +3 .* can be rebuilt'; }
check 'an older one is damaged: seen with --verify' verifies
restore
lose 1
rm "$d/node2/data.2.h5"
want "4 XOR cannot be had, newest  \"it's \\100 %\"" '3 XOR can be rebuilt  "after the bump"' '2 XOR can be rebuilt'
check 'with losses: what can be had, and what not' all status_of 2 "$tool" list "$d" , lists
restore
check 'drop by label' all status_of 0 "$tool" drop --generation 'label:after the bump' "$d" , count 16 , job read 2 -1 , job read 4 ''
restore
check 'drop with one process on each node' all on_nodes drop --generation -2 "$d" , count 16 , job read 3 -1
restore
check 'drop --dry-run' all eval "'$tool' drop --dry-run --generation 3 '$d' | grep -c 'generation 3 would be dropped' | grep -x 4" , unchanged
check 'drop of the newest, of one that there is not, of none: refused' all status_of 5 "$tool" drop --generation 4 "$d" , \
    status_of 5 "$tool" drop --generation label:start "$d" , status_of 64 "$tool" drop "$d" , status_of 64 "$tool" drop --generation x "$d" , unchanged
check 'those that there are are named' all status_of 5 "$tool" drop --generation label:start "$d" , said '3 "after the bump", 2; keep=N'
# nothing is left that records the newest; its files are there, or not
forget_newest() { rm "$d"/node?/data.?.h5.?.*redset "$d"/node?/data.?.h5.redset.names; }
lose_data() { rm "$d"/node?/data.?.h5; }
older_is_3() { "$tool" drop --dry-run --generation -1 "$d" | grep -c 'generation 3 would be dropped' | grep -x 4; }
check 'nothing records the newest: no older one is taken for it' all forget_newest , older_is_3 , lose_data , older_is_3
restore
exec 9<"$(older 2 1)"
flock -s 9
check 'a program has it open: refused' all status_of 5 "$tool" drop --generation 3 "$d" , unchanged
exec 9<&-
lose 3
check 'a rank is out of sight: refused without --force' all status_of 5 "$tool" drop --generation 3 "$d" , status_of 0 "$tool" drop --force --generation 3 "$d" , count 12
restore
# files of ranks 0 and 1 cannot be written whole; those of 2 and 3 are shorter
no_room() { (trap '' XFSZ; ulimit -f 75; exec "$tool" "$@"); }
none_dropped() { not said dropped && job list && says 4 '^number 5 .* here'; }
check 'no space for what rests on it: it stays on all ranks' all job change 5 , job change 6 , status_of 5 no_room drop --generation -1 "$d" , \
    said 'File too large' , none_dropped
check 'with space it goes' all status_of 0 "$tool" drop --generation -1 "$d" , job read 4 -1
restore
want '5 XOR healthy, newest' "4 XOR healthy  \"it's \\100 %\"" '3 XOR healthy  "after the bump"'
check 'changed in place: what only leads back is listed as what it is' all job change 5 , lists , status_of 0 "$tool" list --verify "$d" , \
    "$tool" drop --generation -1 "$d" , job read 3 -1

restore
echo 'protected as files that HDF5 does not open:'
by_single() { local settings=scheme=SINGLE; job protect; }
check 'what leads back from them is made whole, with its own redundancy' all job change 5 , by_single , lose 2 , job read 4 4
restore
# behind what `change` has changed, of which the old bytes are kept
rewrite() { local r; for r in 0 1 2 3; do flip "$d/node$r/data.$r.h5" 70000 || return; done; }
want '6 XOR healthy, newest' "4 XOR cannot be had  \"it's \\100 %\"" '3 XOR healthy  "after the bump"'
check 'rewritten without the driver: what led back is not listed as if it could be had' all job change 5 , rewrite , job protect , lists , \
    status_of 2 "$tool" list --verify "$d" , job refused 4 , job read 3 3

restore
check 'restore: the one before is the newest, and what was the newest is kept' all status_of 0 "$tool" restore --generation -1 "$d" , job read 3 '' , \
    job read 4 -1 , job read 2 -2
check 'it is protected' all lose 1 , job read 3 '' , says 1 'was rebuilt'
restore
check 'restore by label, with one process on each node' all on_nodes restore --generation 'label:after the bump' "$d" , job read 3 ''
restore
check 'a node is lost: the older one is rebuilt for that' all lose 2 , status_of 0 "$tool" restore --generation 2 "$d" , job read 2 ''
restore
check 'of files that changed in place' all job change 5 , status_of 0 "$tool" restore --generation 4 "$d" , job read 4 ''
restore
check 'nothing records the newest: the one before that is the newest' all forget_newest , status_of 0 "$tool" restore --generation -1 "$d" , job read 3 '' , \
    eval "[ \$(find '$d' -name 'data.?.h5.redset.*.newer' | wc -l) = 4 ]" , job read 2 -1
restore
check 'restore --dry-run' all status_of 0 "$tool" restore --dry-run --generation 3 "$d" , unchanged
check 'restore of the newest, of one that there is not, of none: refused' all status_of 5 "$tool" restore --generation 4 "$d" , \
    status_of 5 "$tool" restore --generation 1 "$d" , status_of 64 "$tool" restore "$d" , unchanged
check 'more is lost than it covers: refused, and nothing is changed' all lose 1 2 , cp -a "$d" "$work/left" , \
    not "$tool" restore --generation 3 "$d" , diff -r "$work/left" "$d"
restore
echo 'put aside:'
# the newest, with number 4, is lost on two ranks; the one before it becomes the newest, with number 5, and changes
fall_back() { rm "$d/node1/data.1.h5" "$d/node2/data.2.h5" && settings=fallback=yes && job change 5; settings=; }
aside() { find "$d" -name '*.newer*' -type f; }
restore
check 'a program goes on with an older generation: what was newer is not listed as one' all fall_back , \
    eval "aside | grep -c 'newer$' | grep -x 4" , eval "json list '[g[\"generation\"] for g in o[\"files\"][0][\"generations\"]]' | grep -xF '[6, 5, 2]'" , keep
space=$(on_disk "$d" -type f -name '*.newer*')
human() { awk -v n="$space" 'BEGIN { printf n < 102400 ? "%.1f KiB" : "%.0f KiB", n / 1024 }'; }
names="*.redset.$(aside | sed -n 's/.*redset\.\([0-9a-f]*\)\.newer$/\1/p' | sort -u).newer*"
for command in status list; do
    check "$command says so, with its space, and what to do with it" all "$tool" $command "$d" , said "  put aside, since it could not be had: generation 4: $(human), as $names" , \
        said 'make it the newest again: h5redset restore --generation=4' , said 'remove it: h5redset drop --generation=4' , unchanged
done
check 'list is not worse for it' status_of 0 "$tool" list "$d"
check 'with one process on each node' eval "on_nodes status '$d' | grep -F 'generation 4: $(human), as $names'"
check 'list --json' eval "json list '[(g[\"generation\"], g[\"bytes\"], g[\"names\"]) for g in o[\"files\"][0][\"put_aside\"]]' | grep -xF \"[(4, $space, '$names')]\""
check 'status --json' eval "json status '[(g[\"generation\"], g[\"bytes\"], g[\"names\"]) for g in o[\"sets\"][0][\"put_aside\"]]' | grep -xF \"[(4, $space, '$names')]\""
check 'all together is what is on disk' eval "[ \"\$(json list 'sum(g[\"bytes\"] for l in (\"generations\", \"put_aside\") for g in o[\"files\"][0][l])')\" = \"\$(on_disk '$d' -type f)\" ]"
check 'dropped as it is said: nothing more is told of it' all status_of 0 "$tool" drop --generation 4 "$d" , eval "'$tool' status '$d' | not grep 'put aside'" , job read 2 -2
restore_first() { rm -rf "$d" && cp -a "$work/first" "$d"; }
restore_first && keep
echo 'and go:'
nothing() { ! find "$d" -name '*redset*' | grep .; }
restore
check 'with h5redset unprotect' all status_of 0 "$tool" unprotect "$d" , nothing
restore
settings='scheme=RS checksums=2'
want '5 RS:2 healthy, newest' "4 XOR healthy  \"it's \\100 %\"" '3 XOR healthy  "after the bump"'
check 'not with another scheme, each has its own' all job write 5 '' , lists
settings='scheme=SINGLE keep=1'
want '6 SINGLE healthy, newest'
check 'a smaller keep= takes all older ones, whatever their schemes' all job write 6 '' , lists , count 0

finish
