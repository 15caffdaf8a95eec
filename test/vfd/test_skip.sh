#!/usr/bin/env bash
# Files of all ranks of 4 but one, which has said so with H5FDredset_skip: link_skip.c says what each case does, and checks what the
# calls return; here, what is on disk, and what is said. Ranks wait for 600 s for each other, and `timeout`, the watchdog, for 60:
# whoever waited for the skipper would not come back (P5).
set -euo pipefail

# shellcheck source=test/vfd/nodes.sh
. "${REDSET_SOURCE_DIR:?}/test/vfd/nodes.sh"
program=$bin/link_skip

# job CASE SKIPPER [SEED]: on $ranks ranks; what rank r says is in $d.said.<r>
settings='timeout=600 required=no'
ranks=4
job() { HDF5_DRIVER_CONFIG="$settings" heard "$mpiexec" -np "$ranks" "$program" "$1" "$d" ckpt "${@:2}"; }
fresh() { rm -rf "$d" && mkdir "$d"; }
healthy() { "$tool" status "$d" | grep -x '2 checkpoints: 2 healthy'; }
# with_more WORDS: the last line of the tool begins so, and goes on with what is not protected
with_more() { { "$tool" status "$d" || true; } | grep "^$1, 1 file of which nothing is recorded"; }
none_of() { [ ! -e "$d/node$1/ckpt.$1.h5" ] && ! ls "$d/node$1"/ckpt.*redset* 2>/dev/null; }

for skipper in 0 2; do
    lost=$(((skipper + 1) % 4))
    fresh
    check "rank $skipper has none: the files of the others are closed, protected" all job write $skipper , says 0 'not protected' , healthy , none_of $skipper
    check 'they are opened without it' all job read $skipper , says 0 .
    check "a node is lost: $lost" all lose $lost , job read $skipper , says 1 "ckpt.$lost.h5.*was rebuilt" , healthy , none_of $skipper
    check 'and the one that has none' all lose $skipper , job read $skipper , healthy , none_of $skipper
    check 'opened for writing' all job change $skipper , says 0 . , healthy
    check 'more is lost than the scheme covers' all lose $lost $(((skipper + 3) % 4)) , job gone $skipper , says 3 'unrecoverable'
    fresh
    check 'it says so while they wait' all job late $skipper , says 0 'not protected' , healthy , none_of $skipper , job read $skipper , says 0 .
done

fresh
older() { local settings="$settings generation=-1"; job read 0 1; }
settings='timeout=600 required=no keep=2'
check 'the generation before the newest is opened without it' all job write 0 1 , job write 0 2 , job read 0 2 , older , says 0 .
check 'where a node is lost, too' all lose 1 , older , says 1 'ckpt.1.h5.*was rebuilt'
check 'calls for such files' all fresh , job write 0 1 , job write 0 2 , job calls 0 , says 0 'not protected' , test -e "$d/node1/renamed.1.h5"
settings='timeout=600 required=no'

check 'two ranks, one has none: the other is alone, and XOR needs two' all fresh , eval 'ranks=2 job write 1' , \
    says 1 'set 0 has 1 member' , with_more '1 checkpoint: 1 healthy'
fresh
check 'patterns that nothing is done by; the skipper has such a file after all' all job odd 1 , \
    says 1 'has said with H5FDredset_skip that it has no such files' , says 1 'a pattern has 1 to 511 bytes' , \
    with_more '2 checkpoints: 2 healthy'
fresh
settings='timeout=2 required=no'
check 'nobody says anything: the others wait for it, at most timeout=' all job silent 2 , says 1 'timed out waiting for rank 2' , \
    eval "! ls $d/node*/ckpt.*redset"
settings='timeout=600 report=stderr'
fresh
check 'the report is told among those that have such files, and of all' all job write 0 , says 1 'all_ckpt.#.h5 cost' , \
    says 1 '3 ranks, 3 of them with such files'

finish
