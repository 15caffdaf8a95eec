#!/usr/bin/env bash
# What cannot be protected, or cannot be changed, is refused when it is opened, on all ranks, before anything is written:
# a name that leaves no room for those of redundancy files; a directory in which no journal can be written.
set -euo pipefail

# shellcheck source=test/vfd/head.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/head.sh"
dir=$work/dir out=$work/out
mkdir "$dir"
chmod 755 "$work" "$dir"
export HDF5_DRIVER=redset

# refused CONFIG STATUS HOW NAME: what it says is then in $out. Each rank has a file for it: mpirun mixes long lines.
refused() {
    local status=0
    rm -f "$out".*
    # shellcheck disable=SC2016
    HDF5_DRIVER_CONFIG="timeout=20 $1" timeout 60 "$MPIEXEC" -n "${np:-3}" sh -c \
        'out=$1 rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}; shift; TEAM=$((rank / 2)) exec "$@" >"$out.$rank" 2>&1' sh \
        "$out" "$bin/${program:-refused}" "$3" "$4" >"$out.mpirun" 2>&1 || status=$?
    cat "$out".? | tee "$out"
    [ "$((status > 0))" = "$2" ] || { cat "$out.mpirun"; return 1; }
}
said() { [ "$(grep -cE "$2" "$out")" = "$1" ] || { echo "not $1 times: $2"; return 1; }; }

long=$(printf 'n%.0s' {1..220})
too_long_required() {
    refused required=yes 1 create "$dir/$long.%d.h5" && said 3 "open: not protected: .*the name is too long" &&
        [ -z "$(ls "$dir")" ]
}
too_long() {
    refused '' 0 create "$dir/$long.%d.h5" && said 3 '^redset: not protected: .*the name is too long' && said 3 ': ok$' &&
        [ "$(find "$dir" -type f | wc -l)" = 3 ]
}
just_fits() {
    refused required=yes 0 create "$dir/${long:20}.%d.h5" && said 0 'not protected' &&
        [ "$(find "$dir" -name '*.redset.new' -o -name '*.redset' | wc -l)" = 6 ] || return 1
    refused required=yes 0 open "$dir/${long:20}.%d.h5" # an update adds most
}
check 'a name too long, required=yes: H5Fcreate is refused, nothing is written' too_long_required
check 'a name too long: a warning, and the file as it is' too_long
rm "$dir"/*
check 'a long name that just fits is protected' just_fits
rm "$dir"/*

keeps() { # each way in which an older one is kept
    refused 'required=yes keep=2' 0 create "$dir/$1.%d.h5" && refused 'required=yes keep=2' 0 create "$dir/$1.%d.h5" &&
        refused 'required=yes keep=2' 0 open "$dir/$1.%d.h5" && [ "$(find "$dir" -name '*.data' -o -name '*.undo' | wc -l)" = 3 ]
}
too_long_to_keep() {
    refused 'required=yes keep=2' 1 create "$dir/${long:20}.%d.h5" && said 3 'the name is too long: .*keep=' && [ -z "$(ls "$dir")" ]
}
check 'keep=2: a name that leaves no room for those of older generations is refused' too_long_to_keep
check 'keep=2: one that just fits is kept' keeps "${long:50}"
rm "$dir"/*

# A program that tries, and mutes what HDF5 prints, is told all the same: by one rank, once for each kind of file.
muted() {
    refused required=yes 0 create "$dir/ck_%d.h5" && rm "$dir"/ck_[12].h5* || return 1
    refused required=yes 1 muted "$dir/ck_%d.h5" && said 1 '^redset: .*ck_.*unrecoverable' && said 3 ': open$' || return 1
    refused required=yes 1 open "$dir/ck_%d.h5" && said 0 '^redset: .*ck_' && said 3 ': open: .*unrecoverable' || return 1
    refused required=yes 1 muted "$dir/none_%d.h5" && said 0 '^redset: .*none_' # a file that never was is no refusal
}
check 'a program that mutes errors is told of a refusal, once' muted
rm "$dir"/*

# Ranks of which the first of MPI_COMM_WORLD is none: those of a team, or of a communicator of the program.
lose_pair() { # of ranks 2 and 3: a file, and four bytes of the other one
    touch -r "$dir/ck_3.h5" "$work/then"
    rm "$dir"/ck_2.h5* && printf XXXX | dd of="$dir/ck_3.h5" bs=1 seek=900 conv=notrunc status=none && touch -r "$work/then" "$dir/ck_3.h5"
}
muted_pairs() {
    # shellcheck disable=SC2016 # the driver puts in what $TEAM is
    local np=4 pair='required=yes team=$TEAM'
    refused "$pair" 0 create "$dir/ck_%d.h5" && lose_pair || return 1
    refused "$pair" 1 muted "$dir/ck_%d.h5" && said 1 '^redset: .*ck_.*unrecoverable' && said 1 '^redset: .*.rank [23] on' &&
        rm "$dir"/* || return 1
    local program=link_fapl
    refused '' 0 create "$dir/ck_%d.h5" && lose_pair || return 1
    refused '' 0 muted "$dir/ck_%d.h5" && said 1 '^redset: .*ck_.*unrecoverable' &&
        said 1 '^redset: .*.rank [01] of its communicator on' && said 2 ': open$'
}
check 'the same in pairs of ranks' muted_pairs
rm -f "$dir"/*

# On a node whose file system has none.
no_locks() {
    local -x LD_PRELOAD=$bin/libpreload_no_locks.so${LD_PRELOAD:+:$LD_PRELOAD} NO_LOCKS=1
    refused required=yes 0 create "$dir/ck_%d.h5" || return 1
    HDF5_USE_FILE_LOCKING=TRUE refused required=yes 1 open "$dir/ck_%d.h5" && said 1 'rank 1: open: unable to lock file, errno = 38' &&
        said 2 'ck_1.h5: cannot be locked; where its file system has no locks, set HDF5_USE_FILE_LOCKING=BEST_EFFORT' || return 1
    HDF5_USE_FILE_LOCKING=BEST_EFFORT refused required=yes 0 open "$dir/ck_%d.h5"
}
check 'where there are no locks, that is said, and no other program is blamed' no_locks
rm "$dir"/*

no_permission() {
    local before
    refused required=yes 0 create "$dir/ck_%d.h5" || return 1
    chown -R 65534 "$dir" && chmod 555 "$dir"
    before=$(find "$dir" -printf '%p %s %C@\n' | sort)
    refused "$1" 1 open_nobody "$dir/ck_%d.h5" && said 3 ': open: .*cannot be opened for writing' &&
        [ "$(find "$dir" -printf '%p %s %C@\n' | sort)" = "$before" ]
}
if [ "$(id -u)" = 0 ]; then
    for config in '' required=yes atomic=no; do
        check "a directory that cannot be written, ${config:-required=no}: H5Fopen is refused" no_permission "$config"
        chown -R 0 "$dir"
        chmod 755 "$dir"
        rm "$dir"/*
    done
else
    echo '  left out: only root can become nobody'
fi
finish
