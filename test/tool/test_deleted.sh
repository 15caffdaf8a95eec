#!/usr/bin/env bash
# Checkpoints that were deleted: what each command of h5redset makes of them, and rm and gc, which remove them and what is left of
# them. Files are compared whole with what they were. What the driver makes of them: unit.engine_damage; beside programs: vfd.in_use.
set -euo pipefail

: "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
lines() { [ "$(wc -l <"$out")" = "$1" ]; }
keep_as_is() { rm -rf before && cp -a set before; }
unchanged() { diff -r before set; }
as_protected() { diff -r kept set; }
begin() { rm -rf set && cp -a kept set; }
parallel() { timeout 120 "$mpiexec" -n 4 "$@"; }
# what is left beside the checkpoint a
others() { find set -type f ! -name 'a_*' | sort; }
none() { ! find set -name "$1*" | grep .; }

# Two checkpoints of four ranks, each rank with a directory of its own, and a file that nobody protects.
make_set() { # SCHEME
    local k s
    rm -rf set kept
    for s in a b; do
        for k in 0 1 2 3; do
            mkdir -p set/n$k
            head -c $((200000 + 1000 * k)) /dev/urandom >"set/n$k/${s}_$k.h5"
        done
        "$tool" protect --scheme "$1" set/n{0,1,2,3}/${s}_*.h5 || return 1
    done
    echo notes >set/n0/notes.txt
    cp -a set kept
}
delete() { rm set/n?/a_?.h5; }

# ---- said ----

deleted_is_said() {
    begin && delete && keep_as_is
    gives 0 "$tool" status set && says 'a_0.h5: '"$1" && says 'set 0: deleted' && says '2 checkpoints: 1 healthy, 1 deleted' || return 1
    says 'a_2.h5  deleted; its redundancy file is there' && says "$2" && never_says 'lost|unrecoverable|node' || return 1
    gives 0 "$tool" status --problems set && lines 2 || return 1
    gives 0 "$tool" status --verify set && gives 0 "$tool" status --json set && says '"verdict": "deleted"' || return 1
    says '"reason": "deleted"' && says '"state": "deleted"' && says '"exit_status": 0' || return 1
    gives 0 "$tool" map set && says ' 2- ' && says '\[-\] deleted' && never_says 'lost' || return 1
    gives 0 "$tool" list set && says 'deleted, newest' || return 1
    gives 0 "$tool" rebuild set && says '^a_0.h5: deleted, and left alone; --deleted' && lines 1 || return 1
    gives 0 "$tool" rebuild --dry-run set/n1/a_1.h5 && says 'deleted, and left alone' || return 1
    unchanged
}
scavenge_leaves_out() {
    rm -rf safe
    gives 0 "$tool" scavenge --to safe set && says '^a_0.h5: deleted, and left out' && says '^4 files: 4 copied' && ! ls safe/a_*
}
# One data file that is left makes it a loss, for every command.
one_left() { # STATUS
    begin && rm set/n[123]/a_?.h5 && keep_as_is
    gives "$1" "$tool" status set && never_says 'deleted' || return 1
    gives 0 "$tool" gc set && says 'nothing that was deleted is left' && unchanged || return 1
    begin && delete && touch set/n2/a_2.h5 && keep_as_is # an empty one is one, too
    gives "$1" "$tool" status set && never_says 'deleted' && gives 0 "$tool" gc set && unchanged
}

# ---- removed, and rebuilt ----

gc_removes_what_is_left() { # COMMAND...: with what the tool is started
    begin && delete && keep_as_is
    gives 0 "$@" "$tool" gc --dry-run set && says 'a_3.h5: what protected it would be removed' && unchanged || return 1
    others >before_gc
    gives 0 "$@" "$tool" gc set && says 'a_3.h5: what protected it was removed' && none a_ && others | cmp - before_gc || return 1
    gives 0 "$@" "$tool" gc set && says 'nothing that was deleted is left' && gives 0 "$tool" status --verify set
}
rm_removes_all() { # COMMAND...
    begin && keep_as_is
    gives 0 "$@" "$tool" rm --dry-run set/n?/a_?.h5 && says 'a_1.h5: would be removed' && unchanged || return 1
    others >before_rm
    gives 0 "$@" "$tool" rm set/n?/a_?.h5 && says 'a_1.h5: was removed' && none a_ && others | cmp - before_rm || return 1
    gives 0 "$tool" status --verify set
}
comes_back() { # COMMAND...
    begin && delete && keep_as_is
    gives 0 "$@" "$tool" rebuild --deleted --dry-run set && says 'a_2.h5: would be rebuilt' && unchanged || return 1
    gives 0 "$@" "$tool" rebuild --deleted set && says 'a_2.h5: rebuilt' && as_protected
}
one_comes_back() {
    begin && delete
    gives 0 "$tool" rebuild --deleted set/n2/a_2.h5 && cmp kept/n2/a_2.h5 set/n2/a_2.h5 && [ ! -e set/n1/a_1.h5 ] || return 1
    gives 1 "$tool" status set && says 'lost' && gives 0 "$tool" rebuild set && as_protected # and the others with it
}
does_not_come_back() { # COMMAND...
    begin && delete && keep_as_is
    gives 2 "$@" "$tool" rebuild --deleted set && says 'unrecoverable' && says 'deleted, and what is left cannot bring them back' || return 1
    never_says 'node' && unchanged
}

for scheme in SINGLE PARTNER XOR RS:2; do
    check "$scheme: protected" make_set "$scheme"
    case $scheme in
        SINGLE | XOR) able='what is left cannot bring them back' left=2 ;;
        *) able='rebuild --deleted. brings them back' left=1 ;;
    esac
    [ "$scheme" != PARTNER ] || left=1
    check "$scheme: deleted is said" deleted_is_said "${scheme%:*}" "$able"
    check "$scheme: scavenge leaves it out" scavenge_leaves_out
    check "$scheme: one data file that is left makes it a loss" one_left $left
    check "$scheme: gc removes what is left" gc_removes_what_is_left
    check "$scheme: rm removes all of it" rm_removes_all
    if [ $left = 2 ]; then
        check "$scheme: what its redundancy does not cover does not come back" does_not_come_back
    else
        check "$scheme: comes back" comes_back
        check "$scheme: one of them comes back alone" one_comes_back
    fi
    whole_directory() {
        begin && delete && rm -r set/n1
        gives 0 "$tool" status set/n0/a_0.h5 && says 'set 0: deleted' || return 1
        gives 0 "$tool" gc set && none a_ && [ -d set/n0 ]
    }
    check "$scheme: a directory was removed whole" whole_directory
done
check 'RS:2, four processes: gc' gc_removes_what_is_left parallel
check 'RS:2, four processes: rm' rm_removes_all parallel
check 'RS:2, four processes: comes back' comes_back parallel

# ---- rm: all or nothing ----

refuses_a_part() {
    begin && keep_as_is
    gives 5 "$tool" rm set/n1/a_1.h5 && says 'of 4 files that were protected together 3 are not named' && says '--force' && unchanged || return 1
    gives 5 "$tool" rm set/n1 set/n2 && unchanged || return 1
    gives 0 "$tool" rm --force set/n1/a_1.h5 && [ -z "$(find set/n1 -name 'a_*')" ] && gives 1 "$tool" status set && says 'lost' || return 1
    gives 0 "$tool" rebuild set && as_protected
}
check 'rm refuses a part, and is told to' refuses_a_part
refuses_open_files() { # -s or -x: with that lock, as HDF5 takes it
    begin && keep_as_is
    exec 9<>set/n2/a_2.h5
    flock "$1" 9
    gives 5 "$tool" rm set && says 'a_2.h5: a program on .* has it open' || { exec 9>&-; return 1; }
    exec 9>&-
    unchanged
}
check 'rm refuses what a program reads' refuses_open_files -s
check 'rm refuses what a program writes' refuses_open_files -x
a_lost_one() { begin && rm -r set/n3 && gives 0 "$tool" rm set/n?/?_?.h5 && none a_ && none b_ && [ -e set/n0/notes.txt ]; }
check 'rm removes all that is there where one is lost' a_lost_one
nothing() { mkdir -p empty && gives 3 "$tool" rm empty && says 'nothing protected' && gives 0 "$tool" gc empty && begin && keep_as_is && gives 0 "$tool" gc set && unchanged; }
check 'nothing to remove' nothing

# ---- gc: never where a data file may be ----

moved_away() { # a copy that says it is of these is in sight
    begin && mkdir set/moved && mv set/n?/a_?.h5 set/moved && keep_as_is
    gives 5 "$tool" gc set && says 'moved/a_[0-3].h5: is there' && unchanged || return 1
    mv set/moved away && gives 0 "$tool" gc set && none a_
    rm -r away
}
if python3 -c 'import os; exit(not os.listxattr("kept/n0/a_0.h5"))' 2>"$out"; then
    check 'files moved away' moved_away
else
    echo '  skipped files moved away: no attributes here to recognise them by'
fi
one_is_elsewhere() { # only a part of them is asked for, and one of the others is there
    begin && rm set/n[012]/a_?.h5 && keep_as_is
    gives 0 "$tool" gc set/n0 set/n1 set/n2 && says 'nothing that was deleted' && unchanged
}
check 'the file that is there lies where gc was not sent' one_is_elsewhere
# on_node NAME COMMAND...: as if this were another host
# shellcheck disable=SC2086 # words
on_node() { unshare $flags --uts sh -c 'hostname "$0" && exec "$@"' "$@"; }
out_of_sight() {
    begin && delete && rm -r set/n1 && keep_as_is
    gives 5 on_node other "$tool" gc set && says 'the files of 1 rank may be on nodes that are out of sight' && unchanged || return 1
    gives 0 on_node other "$tool" status set/n0/a_0.h5 && says 'Of 1 rank nothing was found: look on the other nodes' || return 1
    begin && rm -r set/n1 && keep_as_is
    gives 5 on_node other "$tool" rm set && says 'out of sight' && unchanged && gives 0 on_node other "$tool" rm --force set && none a_
}
flags=''
[ "$(id -u)" = 0 ] || flags='--user --map-root-user'
if on_node other true 2>"$out"; then
    check 'ranks that may be on another node' out_of_sight
else
    echo '  skipped ranks that may be on another node: unshare does not work here'
fi

# ---- cut short, and run again ----

die() { DIE_RANK=-1 DIE_AT=$at LD_PRELOAD=$REDSET_BUILD_DIR/test/vfd/libpreload_die.so${LD_PRELOAD:+:$LD_PRELOAD} "$@"; }
# again COMMAND: killed before each of its calls, one after the other; again it ends, and leaves nothing but what it has to
again() {
    local status at=0
    while status=0 && at=$((at + 1)); do
        begin && { [ "$1" != gc ] || rm set/n?/data_?.h5; } || return 1
        die "$tool" "$1" set >"$out" 2>&1 || status=$?
        [ $status != 0 ] || break
        echo "killed before call $at"
        [ $status = 137 ] || { cat "$out" && return 1; }
        status=0 && "$tool" "$1" set >"$out" 2>&1 || status=$?
        cat "$out"
        # 3: it had been done
        [ $status = 0 ] || [ $status = 3 ] || return 1
        [ "$(find set -type f | sort)" = "$2" ] || { find set -type f; return 1; }
    done
    [ $at -gt 12 ]
}
make_data() {
    rm -rf set kept && mkdir -p set/n0 set/n1 set/n2 set/n3 || return 1
    for k in 0 1 2 3; do head -c 70000 /dev/urandom >set/n$k/data_$k.h5; done
    "$tool" protect set/n?/data_?.h5 && cp -a set kept
}
check 'XOR: protected' make_data
check 'unprotect is killed, and run again' again unprotect "$(printf '%s\n' set/n{0,1,2,3}/data_?.h5)"
check 'rm is killed, and run again' again rm ''
check 'gc is killed, and run again' again gc ''

# ---- what the driver leaves ----

if [ -n "${REDSET_SANITIZE:-}" ] && [ "$REDSET_SANITIZE" != OFF ]; then
    echo '  skipped what the driver leaves: programs without the sanitizers cannot load a plugin with them'
    finish
    exit
fi
export HDF5_DRIVER=redset
job() { HDF5_DRIVER_CONFIG='required=yes keep=3 timeout=60' timeout 180 "$mpiexec" -n 4 "$REDSET_BUILD_DIR/test/vfd/ranks" "$1" set 20000 "$2"; }
kept_generations() {
    rm -rf set && mkdir set && echo notes >set/notes.txt
    job write 1 && job write 2 && job update 3 && ls set/*.data >"$log.kept" || return 1
    gives 0 "$tool" list set && says '3 generations' && rm -rf kept && cp -a set kept
}
check 'three generations are kept' kept_generations
all_generations_go() {
    begin && rm set/data_?.h5
    gives 0 "$tool" list set && says 'deleted, newest' && gives 0 "$tool" gc set && [ "$(ls set)" = notes.txt ] || return 1
    begin && gives 0 "$tool" rm set && [ "$(ls set)" = notes.txt ]
}
check 'and go with it' all_generations_go
drop_again() { # what one rank has given up already is not out of sight
    local at=0 status=0
    until begin && status=0 && at=$((at + 1)) && die "$tool" drop --generation 2 set >"$out" 2>&1; do
        "$tool" drop --generation 2 set >"$out" 2>&1 || status=$?
        [ $status = 0 ] || says 'there is no generation 2; there are, newest first: 3, 1' || { echo "killed before call $at" && cat "$out" && return 1; }
        "$tool" list set >"$out" 2>&1 && says '2 generations' || { echo "killed before call $at" && cat "$out" && return 1; }
    done
    [ $at -gt 12 ]
}
check 'drop is killed, and run again' drop_again
finish
