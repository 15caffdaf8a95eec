#!/usr/bin/env bash
# shellcheck disable=SC2016 # the driver puts in what $TEAM is
# Two programs in one MPI_COMM_WORLD, and an ensemble, with team=: the ranks of one text protect each other, and wait for nobody
# else. Ranks wait for 600 s for each other, and `timeout`, the watchdog, for 60: whoever waited for the other team would not come
# back (P5). While one team writes and opens its files, the ranks of the other one stand still outside of HDF5 and MPI.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
said=$work/said
member=$bin/member
mkdir "$d"

# job STATUS RANKS NAME "ROUND..." [RANKS NAME "ROUND..."]...: one world of so many programs, each with $TEAM as its name; $settings
# are those of all
settings='timeout=600 required=yes team=$TEAM'
job() {
    local want=$1 status=0 words=()
    shift
    while [ $# -gt 0 ]; do
        # shellcheck disable=SC2206 # a round is a word
        words+=(-n "$1" env "TEAM=$2" "$member" "$d" "$2" $3)
        shift 3
        [ $# = 0 ] || words+=(:)
    done
    rm -f "$d"/*.done
    HDF5_DRIVER=redset HDF5_DRIVER_CONFIG="$settings" timeout -s KILL 60 "$mpiexec" "${words[@]}" >"$said" 2>&1 || status=$?
    cat "$said"
    [ "$status" = "$want" ] || { echo "exit status $status instead of $want"; return 1; }
}
# says TIMES WORDS: so many lines say this
says() { [ "$(grep -c -- "$2" "$said")" = "$1" ] || { echo "not $1 times: $2"; cat "$said"; return 1; }; }
quiet() { says 0 'waiting\|timed out\|not protected'; }
lose() { local r; for r in "$@"; do rm "$d"/*_"$r".h5*; done; }
sets() { [ "$("$tool" status "$d" | grep -c "$1")" = "$2" ] || { "$tool" status "$d"; return 1; }; }
fresh() { rm -rf "$d" && mkdir "$d"; }

check 'two programs: each writes while the other one stands still' all \
    job 0 4 ocean 'write:1 write:2 read:2 write:3 done:ocean.done await:atm.done' \
    4 atm 'write:1 await:ocean.done write:2 read:2 done:atm.done' , quiet
check 'each is protected by itself' sets '4 ranks in 1 set' 2
check 'a rank of each is lost: rebuilt, each while the other one stands still' all lose 1 6 , \
    job 0 4 ocean 'read:3 done:ocean.done await:atm.done' 4 atm 'read:2 await:ocean.done read:2 done:atm.done' , quiet , \
    says 2 'was rebuilt' , says 1 'ocean_1.h5.*was rebuilt (rank 1 ' , says 1 'atm_6.h5.*was rebuilt (rank 6 '
check 'more is lost of one than the scheme covers: the other one has its own' all lose 0 1 5 , \
    job 1 4 ocean 'read:3' 4 atm 'read:2 write:4 read:4' , says 1 'atm_5.h5.*was rebuilt' , says 0 'member atm' , \
    says 4 'member ocean rank . read:3 failed\|member ocean rank .: read:3 failed'

fresh
check 'an ensemble of three, not of one size' all job 0 3 a 'write:1 write:2 done:a.done' 2 b 'write:1 await:a.done read:1' \
    3 c 'write:1 await:a.done write:2 read:2' , quiet
check 'a rank of each is lost' all lose 0 3 7 , job 0 3 a 'read:2' 2 b 'read:1' 3 c 'read:2' , quiet , says 3 'was rebuilt'

fresh
settings='timeout=600 required=yes team=${TEAM_OF_ALL:-x}'
check 'a value that is no name of a variable: an error names the setting' all job 1 2 a 'write:1' , \
    says 2 'member a' , says 0 'redset: waiting'
settings='timeout=600 required=yes team=$NOT_SET_ANYWHERE'
check 'a variable that is not set: an error names it' all job 1 2 a 'write:1' , says 2 'names the environment variable NOT_SET_ANYWHERE, which is not set'
settings='timeout=600 required=yes team=ocean'
check 'one text on all ranks: all are one team' all fresh , job 0 4 a 'write:1 read:1' , quiet , sets '4 ranks in 1 set' 1
settings='timeout=600 required=yes team=$TEAM'
check 'another text in the same process: an error, and nobody waits' all fresh , job 0 2 a 'write:1 other:b' 2 b 'write:1 other:a' , \
    says 4 'this process has used files with another team= before' , says 0 waiting
settings='timeout=3 required=no'
fresh
check 'without teams the halves of a world wait, and the message proposes team=' all job 0 2 ocean 'write:1' 2 atm 'write:1' , \
    says 1 'redset: not protected: .*not all ranks do the same: .* team='
finish
