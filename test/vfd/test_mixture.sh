#!/usr/bin/env bash
# Ranks that come late, fail, die or have lost their files, on real ranks with a directory each: all ranks of one open
# get files of one version, or nobody gets any (P2). mixture.c is the program, and says what its cases are.
#
#   test_mixture.sh [REGEX]   only the cases that match
#
# Every case begins with version 1 protected on all ranks, unless it says otherwise, in a directory of its own; some run
# at a time, because most of them wait. Where nobody is late on purpose, the timeout is long.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
limit=2 # seconds: the timeout of redset where somebody is late
watchdog=120
only=${1:-}
at_once=${MIXTURE_AT_ONCE:-4}
export HDF5_DRIVER=redset
late="timeout=$limit"
patient='timeout=90' # also for a disk that stands still for a minute
ncases=0

# ---- jobs ----

# ranks SETTINGS CASE ARGUMENT...: runs it on 4 ranks. What each rank says goes to a file of its own, because mpirun cuts
# it up, then to $dir/says; what they found to $dir/found. mpirun ends all ranks when it misses one: it does not miss a
# rank that is killed as long as the shell it was started from is there.
ranks() {
    local settings=$1 status=0
    shift
    rm -f "$dir"/calls.* "$dir"/said.*
    echo "-- $settings: $*"
    # shellcheck disable=SC2016
    HDF5_DRIVER_CONFIG=$settings timeout -s KILL "$watchdog" "$mpiexec" -np 4 \
        sh -c 'said=$1 rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}; shift; "$@" 2>"$said.$rank"; status=$?
            [ "$rank" != "${DIE_RANK:-}" ] || sleep 20; exit $status' sh \
        "$dir/said" "$bin/mixture" "$1" "$dir" "$limit" "${@:2}" >"$dir/found" 2>"$dir/mpirun" || status=$?
    grep -hvE '^HDF5-DIAG|H5[A-Za-z_0-9]*\.c line|^ +(major|minor): ' "$dir"/said.* >"$dir/says" || true
    cat "$dir/says" "$dir/found"
    cat "$dir"/calls.* 2>/dev/null || true
    [ "$status" = 0 ] || { echo "mpirun, exit status $status:"; cat "$dir/mpirun"; }
    if grep 'mixture\.c:' "$dir/says"; then return 1; fi
    return "$status"
}

# One that ends before its end.
killed() {
    local status=0
    ranks "$@" || status=$?
    [ "$status" != 0 ] || { echo 'the job should have been killed'; return 1; }
    if grep 'mixture\.c:' "$dir/says"; then return 1; fi
}

# with LIBRARY NAME=VALUE... -- COMMAND...: what it does to ranks is said in preload_LIBRARY.c
with() {
    local library=$1 settings=()
    shift
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    (
        export LD_PRELOAD=$bin/libpreload_$library.so${LD_PRELOAD:+:$LD_PRELOAD} "${settings[@]}"
        "$@"
    )
}

# ---- what came of them ----

# opened SETTINGS read|take_up PATTERN NAME...: a new job opens the files, and finds in each what the pattern says
opened() {
    local pattern=$3
    ranks "$1" "$2" "${@:4}" || return 1
    [ "$(grep -cxE -- "$pattern" "$dir/found")" = $(($# - 3)) ] || { echo "not all are $pattern"; return 1; }
}
all_of() { printf '(%s)( \\1){3}' "$1"; } # VERSION|VERSION...: the same on all ranks; "-" is refused
strictly="$patient required=yes"
leniently="$patient required=no"

# together NAME VERSIONS [VERSIONS]: on all ranks the same one of these; of the last ones when a node is lost besides
together() {
    local versions=$2 less=${3:-$2}
    copy as_is lost0 lost3
    lose 0 lost0/ && lose 3 lost3/
    opened "$strictly" read "$(all_of "$versions|$less")" {as_is,lost0,lost3}:"$1" &&
        head -n 1 "$dir/found" | grep -xE -- "$(all_of "$versions")"
}
# The same, and with required=no, to write, as well.
always_together() { together "$@" && opened "$leniently" take_up "$(all_of "$2")" "$1"; }

says() { grep -qE -- "$1" "$dir/says" || { echo "nobody says: $1"; return 1; }; }
# returned CALL VERSION RANK ok|error
returned() { grep -qE "^$1 [^ ]+ $2 $4 " "$dir/calls.$3" || { echo "rank $3, $1 of version $2: not $4"; return 1; }; }
closed() { returned close "$@"; }
closed_by_all() { for r in 0 1 2 3; do closed "$1" $r "$2" || return 1; done; }
# protected NAME: on each node
protected() { for r in 0 1 2 3; do ls "$dir/node$r/$1".$r.xor.*_of_4.redset || return 1; done; }

# ---- nodes ----

lose() { rm -rf "$dir/${2:-}node$1" && mkdir "$dir/${2:-}node$1"; } # NODE [TREE/]
# copy TREE...: all nodes as they are now
copy() {
    local tree
    for tree; do rm -rf "${dir:?}/$tree" && mkdir "$dir/$tree" && cp -a "$dir"/node? "$dir/$tree"; done
}
nothing_there() { rm -rf "$dir"/node? && mkdir "$dir"/node{0,1,2,3}; }
# flip FILE OFFSET: one bit of that byte
flip() {
    local byte time
    byte=$(od -An -tu1 -j "$2" -N1 "$1") time=$(stat -c %y "$1")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    touch -m -d "$time" "$1" # as a disk that fails
}

# ---- the cases; all files are data_a.h5, because that is what preload_*.c look for ----

a=data_a.h5
begin() { nothing_there && cp -a "$work"/made/node? "$dir"; }

# a first run that died: each rank that opens its partially written file is told
first_torn_is_told() {
    nothing_there
    killed "$patient" torn $a || return 1
    ranks "$patient required=no" read $a
    [ "$(grep -c '^redset: .*never protected.*opened as they are' "$dir/says")" = 4 ] || { echo 'not every rank says it'; return 1; }
}

# and one of the files is lost: where that is wanted, the others are opened, or none; each rank is told
first_torn_and_lost() { # RANK
    nothing_there
    killed "$patient" torn $a && lose "$1" || return 1
    opened "$strictly" read '- - - -' $a && opened "$leniently" read "$(seq 0 3 | sed "s/$1/-/;t;s/.*/[0-9?]/" | paste -sd ' ')" $a &&
        [ "$(grep -c '^redset: .*never protected.*opened as they are' "$dir/says")" = 4 ]
}

# one rank late once, at version 3 of 5
late_and_in_step_again() {
    nothing_there
    ranks "$late required=yes" late $a || return 1
    closed 3 3 error && closed 3 0 error && closed_by_all 5 ok && protected $a &&
        opened "$strictly" read "$(all_of 5)" $a
}
late_and_warned() {
    nothing_there
    ranks "$late required=no" late $a || return 1
    says 'not protected: ' && protected $a && opened "$strictly" read "$(all_of 5)" $a
}
late_and_killed() { # before|after
    nothing_there
    killed "$late required=yes" "late_killed_$1" $a || return 1
    closed 3 3 error && closed 3 0 error && always_together $a '2|4|-'
}
late_to_open() {
    local r
    begin
    ranks "$late required=yes" late_to_open $a || return 1
    for r in 0 1 2 3; do returned open 3 $r error || return 1; done
    closed_by_all 2 ok && closed_by_all 5 ok && opened "$strictly" read "$(all_of 5)" $a
}

# a file of rank 0 between two checkpoints
checkpoints_around_a_log() {
    local names=() n wanted line
    nothing_there
    ranks "$late required=yes" log || return 1
    cat "$dir"/calls.? >"$dir/calls"
    for n in 1 2 3 4 5 6; do
        names+=({as_is,lost0,lost2}":ckpt_$n.@.h5")
    done
    copy as_is lost0 lost2
    lose 0 lost0/ && lose 2 lost2/
    ranks "$strictly" read "${names[@]}" || return 1
    for n in 1 2 3 4 5 6; do
        wanted="$n $n $n $n"
        if [ "$(grep -cE "^close ckpt_${n}[^ ]* $n ok " "$dir/calls")" != 4 ]; then
            [ $n = 4 ] || { echo "checkpoint $n was not protected"; return 1; }
            wanted=$(all_of "$n|-")
        fi
        for _ in 1 2 3; do
            read -r line
            grep -qxE -- "$wanted" <<<"$line" || { echo "checkpoint $n: $line"; return 1; }
        done
    done <"$dir/found"
}

# a rank without evidence
closes_in_vain() { # RANKS
    begin && lose 3
    killed "$late required=no" vain $a "$1" && always_together $a '1|-'
}
half_written_and_alone() {
    begin && lose 3
    killed "$patient required=yes" torn $a || return 1
    copy torn
    opened "$late required=yes" read_apart '[-1] [-1] [-1] [-1]' $a && always_together $a '1|-' &&
        ranks "$late required=no" read_apart torn:$a && opened "$strictly" read "$(all_of '1|-')" torn:$a
}
creates_while_others_open() { # required
    begin && lose 3
    ranks "$late required=$1" create_or_open $a || return 1
    if [ "$1" = yes ]; then
        closed 2 3 error || return 1
        grep -xE -- '- - - -' "$dir/found" || { echo 'not one outcome'; return 1; }
    else
        says 'not protected: ' || return 1
    fi
    always_together $a '1|-'
}
old_file_put_back() {
    begin
    ranks "$strictly" write $a 2 || return 1
    copy over removed archive
    rm "$dir"/{removed,archive}/node0/$a
    cp "$work/made/node0/$a" "$dir/over/node0/$a"
    cp "$work/made/node0/$a" "$dir/removed/node0/$a"
    cp -a "$work/made/node0/$a" "$dir/archive/node0/$a" # its times and attributes as well
    rm -r "$dir"/node? && cp -a "$dir"/over/node? "$dir"
    opened "$strictly" read "$(all_of 2)" {over,removed,archive}:$a && opened "$leniently" take_up "$(all_of 2)" $a
}

# an H5Fcreate that fails
told() { # who could not create it
    local r
    returned create 2 1 error || return 1
    for r in 0 2 3; do closed 2 $r error || return 1; done
}
told_at_once() { # long before the timeout
    told || return 1
    awk '$1 == "close" && $3 == 2 && $5 >= 15 { exit 1 }' "$dir"/calls.? || { echo 'nobody was told at once'; return 1; }
    says 'rank 1 .*could not create its file'
}
create_fails() { # space|descriptors|lock
    begin
    ranks 'timeout=30 required=yes' fail $a "$1" && told_at_once && always_together $a 1
}
directory_broken() { # fail|fail_first
    begin
    local timeout=30
    [ "$1" = fail ] || timeout=6
    ranks "timeout=$timeout required=yes" "$1" $a node1 || return 1
    # ranks that have never met have no way to tell each other: they wait for it
    if [ "$1" = fail_first ]; then told; else told_at_once; fi
}
directory_broken_and_reopened() { # lost|back
    begin
    ranks "$late required=yes" fail $a node1 && told || return 1
    rm "$dir/node1"
    if [ "$1" = lost ]; then mkdir "$dir/node1"; else mv "$dir/node1.away" "$dir/node1"; fi
    always_together $a 1 '1|-'
}

# a rank that dies
dies() { # CASE [AT]
    begin
    with die DIE_RANK=2 DIE_AT="${2:-0}" -- killed "$late required=yes" "$1" $a || return 1
    closed 2 0 error && closed 2 1 error && closed 2 3 error && not_closed 2 2 && together $a 1 '1|-'
}
not_closed() { ! grep "^close [^ ]* $1 " "$dir/calls.$2"; }

# more is lost than can be mended
redundancy_and_a_bit() { # read|take_up required
    begin
    rm "$dir"/node[01]/$a.*redset && flip "$dir/node0/$a" 30000
    copy before
    ranks "$patient required=$2" "$1" $a || return 1
    if [ "$2" = yes ]; then
        grep -xE -- "$(all_of -)" "$dir/found"
        return
    fi
    says 'unverified' || return 1
    # nothing is sealed as it is now: the redundancy that is there was there before
    diff <(cd "$dir/before" && sha256sum node?/*.redset) <(cd "$dir" && sha256sum node?/*.redset) || return 1
    [ -x "$tool" ] || return 0
    not_healthy
}
not_healthy() {
    local status=0
    "$tool" status "$dir"/node{0,1,2,3} || status=$?
    [ "$status" = 1 ] || [ "$status" = 2 ] || { echo "h5redset status: $status"; return 1; }
}

# ranks on each other's nodes: each gets its own file, or with moved=no none does
exchanged() { # required
    begin
    mv "$dir/node0" "$dir/node" && mv "$dir/node1" "$dir/node0" && mv "$dir/node" "$dir/node1"
    copy later
    opened "$patient required=$1 moved=no" read "$(all_of -)" $a && says 'the file of rank [01] was written by another rank' &&
        opened "$patient required=$1" read "$(all_of 1)" $a && says 'lay on .*, and was moved here' &&
        opened "$patient required=$1" take_up "$(all_of 1)" later:$a
}

# closed without protection by all in one step, and of another size since
cut() { # first|again
    begin
    [ "$1" = again ] || nothing_there
    ranks "$late required=no" unprotected $a && says 'not protected: ' || return 1
    copy as_is shorter longer
    truncate -s 50000 "$dir/shorter/node1/$a"
    truncate -s +4096 "$dir/longer/node1/$a"
    opened "$strictly" read "$(all_of 2)" as_is:$a || return 1 # that would do
    if [ "$1" = first ]; then
        opened "$strictly" read "$(all_of -)" {shorter,longer}:$a
    else
        opened "$strictly" read "$(all_of '1|-')" {shorter,longer}:$a
    fi
}

# a file that is created through a symbolic link
x=a/data_x.h5 real=b/data_real.h5
link() { mkdir "$dir/node$1"/{a,b} && ln -s ../$real "$dir/node$1/$x"; }
begin_links() {
    local r
    nothing_there
    for r in 0 1 2 3; do link $r; done
    ranks "$strictly" write $real 1
}
still_links() { for r in 0 1 2 3; do [ -L "$dir/node$r/$x" ] && [ ! -L "$dir/node$r/$real" ] || return 1; done; }
link_protects() {
    begin_links && ranks "$strictly" write $x 2 && closed_by_all 2 ok && still_links && protected $real && copy as_is &&
        lose 1 && link 1 && opened "$strictly" read "$(all_of 2)" as_is:$x as_is:$real $x $real && still_links
}
old_behind_link() { # by either name
    still_links && copy later &&
        opened "$strictly" read "$(all_of 1)" $real $x && opened "$leniently" take_up "$(all_of 1)" later:$x &&
        still_links
}
link_fails() { # space|descriptors|node1/b
    begin_links && ranks 'timeout=6 required=yes' fail $x "$1" && told || return 1
    if [ -f "$dir/$1" ]; then rm "${dir:?}/$1" && mv "$dir/$1.away" "$dir/$1" || return 1; fi
    old_behind_link
}
link_dies() { begin_links && killed "$patient required=yes" torn $x && old_behind_link; }

# one rank late at the first close
late_at_first() { # late_first|late_first_free
    nothing_there
    ranks "$late required=yes" "$1" $a || return 1
    closed 1 0 error && closed 1 3 error && closed_by_all 4 ok && protected $a &&
        opened "$strictly" read "$(all_of 4)" $a
}

# a neighbour's error: what the next open discards was said to be unprotected
discarded_as_said() { # write|change AT
    local r at_risk=0
    begin
    with fail FAIL_RANK=1 FAIL_WHAT=call FAIL_AT="$2" FAIL_SAID="$dir/failed" -- \
        ranks "timeout=6 required=no" "$1" $a 2 || return 1
    [ -e "$dir/failed" ] || { echo 'nothing has failed'; return 1; }
    for r in 0 2 3; do # what is written beside the old file is not at risk where it was dropped in H5Fclose
        closed 2 $r ok || return 1
        cmp "$work/made/node$r/$a" "$dir/node$r/$a" || at_risk=$((at_risk + 1))
    done
    cp "$dir/says" "$dir/said_at_close"
    opened "$leniently" read "$(all_of '1|2')" $a || return 1
    if grep -qx '1 1 1 1' "$dir/found"; then
        echo "discarded; on $at_risk ranks by this open"
        grep 'not protected' "$dir/said_at_close" || { echo 'nobody was told at the close'; return 1; }
        [ $at_risk = 0 ] || says 'rolled back'
    fi
}

# the same where the error is that H5Fcreate fails
discarded_and_told() {
    begin
    ranks "$late required=no" fail $a lock && closed 2 0 ok && closed 2 3 ok && says 'not protected: ' || return 1
    opened "$leniently" read "$(all_of 1)" $a && says 'rolled back to what was protected last'
}
# H5Fopen fails on a rank when all have met: what the others write is not sealed together with what it has
# Which call is that of an open that cannot go on differs from run to run: most that fail are made up for.
open_fails() { # required
    local at seen=''
    for at in 6 7 8 9 10 11; do
        begin
        with fail FAIL_RANK=1 FAIL_WHAT=call FAIL_AT=$at -- ranks "$late required=$1" change $a 2 || return 1
        if returned open 2 1 error; then
            seen=yes
            together $a '1|-' || return 1
        fi
    done
    [ -n "$seen" ] || { echo 'no open has failed'; return 1; }
}

# ---- all of them ----

# one COMMAND...: a case, in a directory of its own
one() {
    local dir start=$SECONDS
    dir=$(mktemp -d "$work/case.XXXXXX")
    if "$@" >"$dir.log" 2>&1; then
        echo "  ok      $* ($((SECONDS - start)) s)"
        [ -z "${MIXTURE_VERBOSE:-}" ] || sed 's/^/          . /' "$dir.log"
    else
        { echo "  FAILED  $*"; sed 's/^/          | /' "$dir.log"; } | tee "$dir.failed"
    fi
    rm -rf "$dir"
}

# try COMMAND...: the same, some at a time
try() {
    [[ -z $only || "$*" =~ $only ]] || return 0
    ncases=$((ncases + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
    one "$@" &
}

dir=$work/made
mkdir "$dir" "$dir"/node{0,1,2,3}
if ! { ranks "$strictly" write $a 1 && protected $a; } >"$work/log" 2>&1; then
    cat "$work/log"
    exit 1
fi

for when in fail fail_first; do try directory_broken $when; done # these wait longest where they fail
try first_torn_is_told
for who in 0 2; do try first_torn_and_lost $who; done
try late_and_in_step_again
try late_and_warned
for when in $(some before after); do try late_and_killed "$when"; done
try late_to_open
try checkpoints_around_a_log
for who in 3 123; do try closes_in_vain $who; done
try half_written_and_alone
for required in yes no; do try creates_while_others_open $required; done
try old_file_put_back
for why in $(some space descriptors lock); do try create_fails "$why"; done
for node in lost back; do try directory_broken_and_reopened $node; done
try dies die_created
for at in $(some 2 1 3); do
    try dies die_creating "$at"
    try dies die_changing "$at"
done
try redundancy_and_a_bit read yes
try redundancy_and_a_bit take_up no
for required in yes no; do try exchanged $required; done
for when in $(some again first); do try cut "$when"; done
try link_protects
for why in $(some node1/b space descriptors); do try link_fails "$why"; done
try link_dies
for how in late_first late_first_free; do try late_at_first $how; done
try discarded_and_told
if [ "${REDSET_SANITIZE:-OFF}" = OFF ]; then
    for required in $(some yes no); do try open_fails "$required"; done
    for at in $(some 12 8 20); do try discarded_as_said write "$at"; done
    for at in $(some 12 24 26 25); do try discarded_as_said change "$at"; done
else
    echo '  left out: calls that fail: preload_fail.c has a malloc of its own, as the sanitizer has'
fi
wait
failed=$(find "$work" -maxdepth 1 -name '*.failed' | wc -l)
echo "$ncases cases, $failed failed"
[ "$ncases" -gt 0 ] && [ "$failed" = 0 ]
