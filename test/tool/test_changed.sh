#!/usr/bin/env bash
# What another program had made of a file, put aside when that was restored (*.redset.*.changed): what each command of h5redset makes of it.
# It is a user's: nothing removes it without a word. How files come back: vfd.changed.
set -euo pipefail

# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
# shellcheck source=cmake/mpi_settings.sh
. "$REDSET_SOURCE_DIR/cmake/mpi_settings.sh"
redset_mpi_or_skip
parallel() { timeout 120 "$mpiexec" -n 4 "$@"; }
keep_as_is() { rm -rf before && cp -a set before; }
unchanged() { diff -r before set; }
begin() { rm -rf set && cp -a kept set; }
aside() { find set -name '*.changed' | sort; }
there() { [ "$(aside | wc -l)" = "$1" ] && aside | while IFS= read -r file; do grep -qa somebody "$file" || return 1; done; }
# What lies in the set but the data files and what was put aside.
only_data() { ! find set -type f ! -name 'a_?.h5' ! -name '*.changed' ! -name '*.redset.names' | grep .; }

# A checkpoint of four ranks, each with a directory of its own. Rank 2's and then rank 0's file was changed, and came back.
was_changed() { # COMMAND...: with what the tool is started
    local k
    rm -rf set
    for k in 0 1 2 3; do
        mkdir -p set/n$k
        head -c $((200000 + 1000 * k)) /dev/urandom >set/n$k/a_$k.h5
    done
    "$tool" protect --scheme XOR set/n{0,1,2,3}/a_*.h5 && cp -a set as_protected || return 1
    echo somebody >>set/n2/a_2.h5
    touch -d '2021-02-03 04:05:06 UTC' set/n2/a_2.h5
    gives 0 "$@" "$tool" rebuild set || return 1
    says 'n2/a_2.h5: was only made longer by another program on 2021-02-03 04:05:06 UTC, and was rebuilt as it was protected' || return 1
    says 'what it was changed to is a_2.h5.redset.[0-9a-f]{16}.changed now' && never_says 'a_1.h5' || return 1
    printf somebody | dd of=set/n0/a_0.h5 bs=1 seek=1000 conv=notrunc status=none
    gives 0 "$tool" rebuild set/n0/a_0.h5 && says 'n0/a_0.h5: was changed by another program on .* a_0.h5.redset.[0-9a-f]{16}.changed now' || return 1
    there 2 && diff -r -x '*.changed' -x '*.names' as_protected set && rm -rf kept && cp -a set kept
    rm -rf as_protected
}
check 'rebuild says where what was changed lies' was_changed
check 'four processes: the same' was_changed parallel

# ---- shown ----

# lines of one that was put aside
shown() {
    says 'put aside, since another program had changed it' && says "rank 2, generation 1: .*n2/a_2.h5.redset.*.changed, [0-9.]+ [KM]iB, written on 2021-02-03" || return 1
    says 'rank 0, generation 1: .*n0/a_0.h5.redset.*.changed' && says 'drop --changed'
}
list_and_status_show() { # COMMAND...
    begin && keep_as_is
    gives 0 "$@" "$tool" list set && shown || return 1
    gives 0 "$@" "$tool" status set && shown || return 1
    gives 0 "$tool" list set/n2/a_2.h5 && says 'rank 2, ' && never_says 'rank 0, ' || return 1
    gives 0 "$tool" list --json set && says '"changed_files"' && says '"path": ".*n2/a_2.h5.redset.*.changed"' || return 1
    says '"rank": 2' && says '"time": 1612325106' || return 1
    gives 0 "$tool" status --json set && says '"path": ".*n0/a_0.h5.redset.*.changed"' && unchanged
}
check 'list and status show what was put aside' list_and_status_show
check 'four processes: the same' list_and_status_show parallel

# ---- removed when somebody says so ----

drop_removes() { # COMMAND...
    begin && keep_as_is
    gives 0 "$@" "$tool" drop --changed --dry-run set && says 'a_2.h5.redset.*.changed: would be removed' && unchanged || return 1
    gives 0 "$@" "$tool" drop --changed set/n2/a_2.h5 && says 'a_2.h5.redset.*.changed: was removed' && there 1 || return 1
    gives 0 "$@" "$tool" drop --changed set && says 'a_0.h5.redset.*.changed: was removed' && there 0 || return 1
    gives 0 "$@" "$tool" drop --changed set && says 'no changed file was put aside' || return 1
    gives 0 "$tool" status --verify set && never_says 'put aside'
}
check 'drop --changed removes it, and nothing else' drop_removes
check 'four processes: the same' drop_removes parallel
check 'drop wants to know what' all gives 64 "$tool" drop set , says 'generation is missing, or --changed' , \
    gives 64 "$tool" drop --changed --generation -1 set

rm_takes_it_along() { # COMMAND...
    begin && keep_as_is
    gives 0 "$@" "$tool" rm --dry-run set && says 'a_2.h5.redset.*.changed: would be removed' && unchanged || return 1
    gives 0 "$@" "$tool" rm set && says 'a_2.h5.redset.*.changed: was removed' && ! find set -type f | grep .
}
check 'rm takes it along, and says so' rm_takes_it_along
check 'four processes: the same' rm_takes_it_along parallel

# ---- left by all others, which say so ----

stays() { says 'n2/a_2.h5.redset.*.changed: stays there' && says 'n0/a_0.h5.redset.*.changed: stays there' && there 2; }
# it is found, and goes, without anything that protects its file
goes_then() {
    gives "$1" "$tool" list set && says 'generation 1: .*n2/a_2.h5.redset.*.changed' && never_says 'rank' || return 1
    gives 0 "$tool" drop --changed set && ! find set -name '*redset*' | grep .
}
gc_leaves_it() { # COMMAND...
    begin && rm set/n?/a_?.h5
    gives 0 "$tool" status set && says 'deleted' && says 'generation 1: .*a_2.h5.redset' || return 1
    gives 0 "$@" "$tool" gc set && stays && only_data && goes_then 3
}
check 'gc leaves it' gc_leaves_it
check 'four processes: the same' gc_leaves_it parallel
unprotect_leaves_it() { # COMMAND...
    begin && gives 0 "$@" "$tool" unprotect set && stays && only_data && goes_then 3
}
check 'unprotect leaves it' unprotect_leaves_it
check 'four processes: the same' unprotect_leaves_it parallel
mv_takes_it_along() { # COMMAND...
    begin && gives 0 "$@" "$tool" mv "set/n%r/a_%r.h5" "set/n%r/b_%r.h5" && never_says 'stays there' && there 2 && ! find set -name 'a_*' | grep . || return 1
    compgen -G 'set/n2/b_2.h5.redset.*.changed' && cmp kept/n2/*.changed set/n2/*.changed && gives 0 "$tool" status --verify set || return 1
    says 'b_2.h5 *healthy, verified' && gives 0 "$tool" list set && says 'rank 2, generation 1: .*n2/b_2.h5.redset' || return 1
    gives 0 "$tool" drop --changed set && there 0 && gives 0 "$tool" status --verify set
}
check 'mv takes it along' mv_takes_it_along
check 'four processes: the same' mv_takes_it_along parallel
scavenge_names_it() { # COMMAND...
    begin && keep_as_is && rm -rf safe
    gives 0 "$@" "$tool" scavenge --to safe set && says 'a_2.h5.redset.*.changed: not brought' && unchanged && [ -e safe/a_2.h5 ]
}
check 'scavenge names it' scavenge_names_it
check 'four processes: the same' scavenge_names_it parallel
another_is_none() { # by its name it could be one, and no file of ours lies there
    rm -rf set && mkdir -p set && ln -s /etc/passwd set/x.h5.redset.0000000100000000.changed && keep_as_is
    gives 3 "$tool" list set && never_says 'put aside' && gives 0 "$tool" drop --changed set && says 'no changed file' && unchanged
}
check 'a link of such a name is none' another_is_none
finish
