#!/usr/bin/env bash
# Whatever state crashes and losses leave the files of four ranks in: h5redset status, rebuild --dry-run, rebuild, scavenge,
# and the driver with all ranks say and do the same.
set -euo pipefail

: "${REDSET_BUILD_DIR:?}" "${REDSET_SOURCE_DIR:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/support/script.sh
. "$REDSET_SOURCE_DIR/test/support/script.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
# what launchers set would make the tool wait for other processes
unset "${!OMPI_COMM_@}" "${!PMIX_@}" "${!PMI_@}"
if [ -n "${REDSET_SANITIZE:-}" ] && [ "$REDSET_SANITIZE" != OFF ]; then
    echo 'SKIP: programs without the sanitizers cannot load a plugin with them'
    exit 77
fi
tool=$REDSET_BUILD_DIR/tools/h5redset
bin=$REDSET_BUILD_DIR/test/vfd
export HDF5_DRIVER=redset
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
log=$dir/log out=$dir/out now=$dir/now

job() { # PROGRAM ARGUMENT...: with four ranks, and $config
    HDF5_DRIVER_CONFIG="timeout=60 ${config:-}" timeout 180 "$mpiexec" -n 4 "$@"
}
keep() { rm -rf "${dir:?}/$1" && cp -a "$now" "$dir/$1"; }
begin() { rm -rf "$now" && cp -a "$dir/$1" "$now"; } # KEPT
lose() { local k; for k in "$@"; do rm -f "$now/data_$k.h5"*; done; }
# those of rank K as they were in KEPT
take() { local k; for k in "${@:2}"; do lose "$k" && cp -a "$dir/$1/data_$k.h5"* "$now"; done; }

# gives STATUS TEXT ARGUMENT...: the tool ends with that exit status, and says that
gives() {
    local want=$1 text=$2 status=0
    shift 2
    "$tool" "$@" >"$out" 2>&1 || status=$?
    echo "h5redset $*: exit status $status"
    [ "$2" = --json ] || cat "$out"
    [ "$status" = "$want" ] || { echo "not $want"; return 1; }
    [ -z "$text" ] || grep -qE -- "$text" "$out" || { echo "not said: $text"; return 1; }
}

# What all ranks read, or whether they are refused.
all_read() { # SEED, anything, or refused
    local status=0
    if [ "$1" = refused ]; then
        job "$bin/ranks" readwrite "$now" 20000 1 || status=$?
        [ "$status" = 3 ]
    elif [ "$1" = anything ]; then
        job "$bin/changes" look open "$now"
    else
        job "$bin/ranks" readwrite "$now" 20000 "$1"
    fi
}

# What a rebuild then makes of the files where they are is what was brought.
scavenge() { # STATUS
    rm -rf "$dir/safe"
    gives "$1" . scavenge --to "$dir/safe" "$now" || return 1
    diff -r "$dir/state" "$now" || { echo 'scavenge wrote where it read'; return 1; }
}
brought() {
    local k
    for k in 0 1 2 3; do cmp "$now/data_$k.h5" "$dir/safe/data_$k.h5" || { echo 'not what scavenge has brought'; return 1; }; done
}

# agree STATUS TEXT REBUILT TEXT CONTENT: status ends with STATUS, a rebuild, dry or not, with REBUILT; and the driver
# reads CONTENT, with and without it.
agree() {
    keep state
    gives "$1" "$2" status --verify "$now" || return 1
    gives "$1" . status --json --verify "$now" || return 1
    gives "$1" . map --verify "$now" || return 1
    gives "$3" "$4" rebuild --dry-run "$now" || return 1
    diff -r "$dir/state" "$now" || { echo 'the dry run wrote'; return 1; }
    all_read "$5" || { echo "the driver did not read $5"; return 1; }
    begin state
    scavenge "$3" || return 1
    gives "$3" "${4//would be /}" rebuild "$now" || return 1
    [ "$5" = refused ] || brought || return 1
    [ "$5" != refused ] || diff -r "$dir/state" "$now" || { echo 'the rebuild wrote'; return 1; }
    all_read "$5" || { echo "after a rebuild the driver did not read $5"; return 1; }
}

# ---- the states ----

generation_of() { # the files of KEPT, as in the names of shadow files
    begin "$1" && "$tool" status --json "$now" | sed -n 's/.*"generation_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1
}
# Rank K has prepared what is in `two`, and published nothing.
prepare() {
    local k file
    for k in "$@"; do
        for file in "$dir/two/data_$k.h5".*redset; do cp -a "$file" "$now/$(basename "$file").new"; done
        cp -a "$dir/two/data_$k.h5" "$now/data_$k.h5.redset.$generation.new"
    done
}
# ... has published it, and its data file has not the name yet.
publish() {
    local k
    for k in "$@"; do
        cp -a "$dir/two/data_$k.h5".*redset "$now"
        cp -a "$dir/two/data_$k.h5" "$now/data_$k.h5.redset.$generation.new"
    done
}
# All ranks change and close their files, and rank 1 cannot write its redundancy.
close_unprotected() {
    local file
    begin one
    for file in "$now/data_1.h5".1.xor*redset; do mkdir "$file.new" && touch "$file.new/x"; done
    job "$bin/ranks" update "$now" 20000 1:2 || true
    rm -rf "$now"/*.redset.new
    keep closed
}

mkdir "$now"
config='required=yes'
make_all() {
    job "$bin/ranks" write "$now" 20000 1 && keep one || return 1
    job "$bin/ranks" write "$now" 20000 2 && keep two || return 1
    generation=$(generation_of two) && [ "$generation" != 0000000000000000 ]
}
check 'two generations of the files' make_all
config=''
generation=$(generation_of two)

begin one; check 'healthy' agree 0 'set 0: healthy' 0 '' 1
begin one; lose 2; check 'a node lost' agree 1 'set 0: repairable' 0 'data_2.h5: would be rebuilt' 1
begin one; flip "$now/data_2.h5" 9000; check 'data damaged' agree 1 'damaged at' 0 'data_2.h5: would be rebuilt' 1
begin one; rm "$now"/data_3.h5.*redset; check 'redundancy lost' agree 1 'redundancy missing' 0 'data_3.h5: redundancy would be re-encoded' 1
begin one; rm "$now"/data_3.h5.*redset; flip "$now/data_3.h5" 9000
check 'redundancy lost, data damaged' agree 1 'damaged at' 0 'data_3.h5: would be rebuilt' 1
begin one; rm "$now"/data_3.h5.*redset; flip "$now/data_3.h5" 9000; lose 1
check 'the same, and a node lost' agree 2 'set 0: unrecoverable' 2 'unrecoverable' refused
begin two; cp "$dir/one/data_1.h5" "$now"; check 'an old file put back' agree 1 'changed by another program on .*; it differs at' 0 'data_1.h5: (would be rebuilt|was changed by another program on .*, and was rebuilt)' 2

begin one; job "$bin/changes" update killed "$now" 2>"$log" || true
keep open
check 'killed while changing' agree 1 'will be rolled back' 0 'data_1.h5: would be rolled back' 1
begin one; take open 2; check 'one rank killed while changing' agree 1 'will be rolled back' 0 'data_2.h5: would be rolled back' 1
close_unprotected >"$log" 2>&1
check 'closed by all, not protected' agree 1 'opened as they are, not protected' 1 'opened as they are, not protected' 1:2
begin one; take closed 2; check 'closed by one of four' agree 1 'discarded on all ranks' 0 'data_2.h5: would be rolled back' 1
begin closed; lose 0; check 'closed by all, and a node lost' agree 1 'discarded on all ranks' 0 'data_2.h5: would be rolled back' 1
begin one; (cd "$now" && "$bin/driver" change data_2.h5 >"$log") || true
check 'changed by a process alone' agree 1 'opened as they are, not protected' 1 'opened as they are, not protected' anything

begin one; prepare 0 1 2 3; check 'commit prepared by all' agree 1 'it will be finished' 0 'data_0.h5: commit would be finished' 2
begin one; prepare 1 2 3; check 'commit prepared by three' agree 0 'set 0: healthy' 0 '' 1
begin one; prepare 1 2 3; publish 0; check 'commit published by one' agree 1 'it will be finished' 0 'data_1.h5: commit would be finished' 2
begin one; prepare 1 2 3; take two 0; check 'commit finished by one' agree 1 'it will be finished' 0 'data_1.h5: commit would be finished' 2
begin one; prepare 1 2 3; take two 0; lose 3; check 'the same, and a node lost' agree 1 'what is lost rebuilt' 0 'data_3.h5: would be rebuilt' 2
begin two; take one 1; check 'an outdated node' agree 1 'outdated: an old copy, of generation 1' 0 'data_1.h5: would be rebuilt' 2
begin two; take one 1; flip "$now/data_3.h5" 100; check 'an outdated node, and data damaged' agree 2 'has a newer commit than others' 2 'has a newer commit than others' refused
begin one; lose 1 3; check 'too much lost' agree 2 'set 0: unrecoverable' 2 'unrecoverable' refused

# ---- one file alone ----

# one TEXT: a rebuild of rank 2's file alone says that, dry or not, with the exit status, and the driver opens it so
one() { # STATUS TEXT KEPT|as_is|refused
    cp -a "$now/data_2.h5" "$dir/as_is" 2>"$log" || true
    gives "$1" "$2" rebuild --dry-run "$now/data_2.h5" || return 1
    gives "$1" "${2//would be /}" rebuild "$now/data_2.h5" || return 1
    case $3 in
        as_is) cmp "$dir/as_is" "$now/data_2.h5" ;;
        refused) ! "$bin/driver" open-read "$now/data_2.h5" | grep -q ': ok' ;;
        *) cmp "$dir/$3/data_2.h5" "$now/data_2.h5" ;;
    esac
}
begin one; lose 2; check 'alone: lost' one 0 'data_2.h5: would be rebuilt' one
begin one; take open 2; check 'alone: a rank was killed' one 0 'data_2.h5: would be rolled back' one
begin one; take closed 2; check 'alone: closed' one 1 'opened as it is, unverified' as_is
begin one; prepare 1 2; take two 0 3; check 'alone: commit published by a neighbour' one 0 'data_2.h5: commit would be finished' two
begin one; prepare 1 2 3; take two 0; check 'alone: commit published, out of its sight' one 1 'what was protected last or was about to be' as_is
begin one; prepare 1 2 3; check 'alone: healthy, and in doubt' gives 0 '' rebuild "$now/data_2.h5"
begin two; take one 2; check 'alone: outdated' one 0 'data_2.h5: would be rebuilt' two
begin one; lose 1 2; check 'alone: too much lost' one 2 'unrecoverable|out of reach' refused

# ---- several sets ----

rm -rf "$now" && mkdir "$now"
config='required=yes set_size=2'
pairs() { job "$bin/ranks" write "$now" 20000 1 && keep pairs; }
check 'two sets' pairs
config=''
gone='set [01]: nothing of it is left: ranks [0-3], [0-3] unrecoverable'
# the ranks of set 1
mapfile -t second < <("$tool" status "$now" | sed -n '/set 1:/,$ s/^ *\([0-3]\)  *[01]  .*/\1/p')
begin pairs; lose "${second[@]}"; check 'a wholly lost set' agree 2 "$gone" 2 "$gone" refused
begin pairs; lose "${second[0]}"; check 'half of a set' agree 1 'repairable' 0 'would be rebuilt' 1
rm -rf "$now" && mkdir "$now"
config='required=yes scheme=SINGLE'
singles() { job "$bin/ranks" write "$now" 20000 1 && keep singles; }
check 'SINGLE' singles
config=''
begin singles; lose 2; check 'SINGLE, and a node lost' agree 2 'set 2: nothing of it is left: rank 2 unrecoverable' 2 'set 2: nothing' refused
finish
