#!/usr/bin/env bash
# h5redset in one process: what it says of files in every state, what it brings back, what it refuses, and that
# looking never writes. Files are compared whole with what they were.
set -euo pipefail

# shellcheck source=test/tool/head.sh
. "${REDSET_SOURCE_DIR:?}/test/tool/head.sh"
same() { diff -r kept set; }
begin() { rm -rf set && cp -a kept set; }

# Four ranks' files, each in a directory of its own as if it were another node's.
make_set() { # SCHEME
    rm -rf set kept
    for k in 0 1 2 3; do
        mkdir -p set/n$k
        head -c $((200000 + 1000 * k)) /dev/urandom >set/n$k/ck_$k.h5
    done
    cp -a set plain
    "$tool" protect --scheme "$1" set/n{0,1,2,3}/ck_*.h5 >"$out" 2>note
    for k in 0 1 2 3; do cmp plain/n$k/ck_$k.h5 set/n$k/ck_$k.h5; done
    rm -rf plain
    cp -a set kept
}

# ---- healthy ----

healthy() {
    gives 0 "$tool" status set && says 'set 0: healthy' && says "$1" || return 1
    [ "$(grep -cE 'ck_[0-3].h5  healthy$' "$out")" = 4 ] || return 1
    gives 0 "$tool" status --verify set && [ "$(grep -c 'healthy, verified' "$out")" = 4 ] && same
}
for scheme in SINGLE PARTNER PARTNER:2 XOR RS RS:3; do
    check "$scheme: protected" make_set "$scheme"
    [ "$scheme" != SINGLE ] || { check 'SINGLE: each is a set of its own' gives 0 "$tool" status set; continue; }
    check "$scheme: healthy" healthy "4 ranks in 1 set"
done
one_host() { grep -q 'the loss of the node cannot' note; }
check 'one host: says what is not covered' one_host

# ---- lost, damaged, outdated ----

repairs() { # what is to be seen first
    gives 1 "$tool" status --verify set && says 'repairable' && says "$1" || return 1
    cp -a set before
    gives 0 "$tool" rebuild --dry-run set && says 'would be (rebuilt|re-encoded)' && diff -r before set || return 1
    rm -rf before
    gives 0 "$tool" rebuild set && same && gives 0 "$tool" status --verify set
}
check 'RS:2: protected' make_set RS:2
lose() { rm -rf "set/n$1"; }
begin; lose 1; check 'a node lost' repairs 'ck_1.h5 \(recorded\)  lost'
begin; lose 0; lose 3; check 'two nodes lost' repairs 'lost'
begin; rm set/n2/ck_2.h5; check 'a file lost' repairs 'lost; its redundancy file is there'
begin; flip set/n2/ck_2.h5 70000; check 'a flipped bit' repairs 'damaged at 65536 \(64.0 KiB\)'
begin; time=$(stat -c %y set/n0/ck_0.h5); truncate -s 1000 set/n0/ck_0.h5; touch -m -d "$time" set/n0/ck_0.h5
check 'a truncated file' repairs 'damaged at'
begin; rm set/n3/*redset; check 'redundancy lost' repairs 'redundancy missing'
begin; flip set/n3/ck_3.h5.3.rs.* 60000; check 'redundancy damaged' repairs 'redundancy damaged'
begin; rm set/n3/ck_3.h5.3.redset; check 'a descriptor lost' repairs 'descriptor file missing'

size_only() { gives 0 "$tool" status set && never_says damaged; }
begin; flip set/n2/ck_2.h5 70000; check 'without --verify content is not read' size_only

beyond() {
    cp -a set before
    gives 2 "$tool" status set && says 'unrecoverable' && says 'RS|survives|missing' || return 1
    gives 2 "$tool" rebuild set && says 'unrecoverable' && diff -r before set
}
begin; lose 0; lose 1; lose 2; check 'three nodes lost: refused, nothing changed' beyond; rm -rf before

old_copy() {
    mv set/n1 old_n1
    cp -a kept/n1 set/n1
    "$tool" protect --scheme RS:2 set/n{0,1,2,3}/ck_*.h5
    gives 0 "$tool" status set && says 'generation 2' || return 1
    rm -rf new && cp -a set new
    rm -rf set/n1 && mv old_n1 set/n1
    gives 1 "$tool" status set && says 'outdated: an old copy, of generation 1' && never_says 'set 0: beyond' || return 1
    gives 0 "$tool" rebuild set && diff -r new set && gives 0 "$tool" status --verify set
}
begin; check 'a node that comes back with an old copy' old_copy; rm -rf new

# ---- pieces elsewhere ----

scavenged() {
    rm -rf saved && mkdir saved
    for k in 0 1 3; do cp -a kept/n$k saved/piece$k; done
    rm -rf set
    gives 0 "$tool" rebuild --search saved "$work/set/n2/ck_2.h5" && cmp kept/n2/ck_2.h5 set/n2/ck_2.h5 || return 1
    gives 0 "$tool" rebuild --search saved "$work/elsewhere/ck_1.h5" && cmp kept/n1/ck_1.h5 elsewhere/ck_1.h5
}
check 'pieces that were copied elsewhere' scavenged

namesakes() {
    rm -rf set same saved out_dir
    for k in 0 1 2 3; do mkdir -p same/n$k; head -c 3000$k /dev/urandom >same/n$k/ckpt.h5; done
    "$tool" protect same/n{0,1,2,3}/ckpt.h5 || return 1
    mkdir saved
    for k in 0 1 3; do cp -a same/n$k saved/n$k; done
    mv same gone
    gives 2 "$tool" rebuild --search saved out_dir/ckpt.h5 && says 'rebuild --rank' && [ ! -e out_dir ] || return 1
    gives 0 "$tool" rebuild --search saved --rank 2 out_dir/ckpt.h5 && cmp gone/n2/ckpt.h5 out_dir/ckpt.h5
}
check 'files of one name: the rank has to be told' namesakes; rm -rf gone saved out_dir elsewhere

several() { # one healthy, one that misses a node, one lost
    rm -rf set kept
    for c in a b c; do
        mkdir -p set/$c/n{0,1}
        for k in 0 1; do head -c 5000 /dev/urandom >set/$c/n$k/ck_$k.h5; done
        "$tool" protect --scheme PARTNER set/$c/n{0,1}/ck_*.h5 || return 1
    done
    rm -r set/b/n1 set/c/n0/ck_0.h5 set/c/n1/ck_1.h5.1.*
}
counted() { [ "$(tail -n 1 "$out")" = '3 checkpoints: 1 healthy, 1 repairable, 1 unrecoverable' ]; }
problems() {
    gives 2 "$tool" status set && counted && says 'set/a/' || return 1
    gives 2 "$tool" status --problems set && counted && never_says 'set/a/' && says 'set/b/' && says 'set/c/' || return 1
    gives 2 "$tool" map --problems --color never set && counted && [ "$(grep -c '^ck_' "$out")" = 2 ] || return 1
    gives 0 "$tool" status --problems set/a && [ "$(tail -n 1 "$out")" = '1 checkpoint: 1 healthy' ] && [ "$(wc -l <"$out")" = 2 ] && says 'content was not read'
}
check 'three checkpoints' several
check 'a summary, and only the problems' problems

nothing() {
    mkdir -p empty && gives 3 "$tool" status empty && says 'nothing protected was found' || return 1
    gives 4 "$tool" status empty/none.h5 && says 'no such path' || return 1
    gives 4 "$tool" status --json empty/none.h5 && says '"exit_status": 4' || return 1
    gives 4 "$tool" rebuild empty/none.h5 && says 'nothing within reach records' && [ -z "$(ls empty)" ] || return 1
    gives 3 "$tool" rebuild empty && says 'nothing protected was found' || return 1
    make_set XOR && rm -r set/n2/* && gives 0 "$tool" rebuild set/n0 empty set/n1 set/n2 set/n3 && never_says empty && same
}
check 'nothing protected' nothing

# Three of four ranks went on: what they had protected with the fourth cannot be had any more, and that is no alarm. Without them it is one.
went_on() {
    make_set XOR && gives 0 "$tool" protect --force set/n{0,1,2}/ck_*.h5 || return 1
    gives 0 "$tool" status set && says '2 checkpoints: 1 healthy, 1 superseded' && says 'protected anew since, as generation 2' || return 1
    gives 0 "$tool" list set && says superseded && gives 0 "$tool" rebuild set && says superseded || return 1
    gives 0 "$tool" status --json set && says '"verdict": "superseded"' && says '"path": null' && never_says '"[?]"' || return 1
    rm -rf set/n0 set/n1 set/n2 && gives 2 "$tool" status set && says '1 checkpoint: 1 unrecoverable'
}
check 'a generation that some ranks went on from' went_on

# ---- scripts and pictures ----

check 'XOR: protected' make_set XOR
rm -rf set/n1
json() {
    gives 1 "$tool" status --json set || return 1
    command -v python3 >/dev/null || { echo 'SKIP: no python3 to read JSON with'; return 0; }
    python3 -c '
import json, re, sys
a = json.load(open(sys.argv[1]))
assert a["schema"] == "h5redset-status/1" and a["exit_status"] == 1, a
s, = a["sets"]
assert (s["scheme"], s["ranks"], s["verdict"], s["generation"]) == ("XOR", 4, "repairable", 1), s
f = {x["rank"]: x for x in s["files"]}
assert sorted(f) == [0, 1, 2, 3] and f[1]["state"] == "lost" and f[2]["state"] == "healthy", f
assert re.fullmatch("[0-9a-f]{16}", s["generation_id"]) and s["user"] == sys.argv[2], s
assert f[1]["path"].endswith("/set/n1/ck_1.h5") and f[2]["size"] == 202000, f
assert f[1]["recorded_host"] == f[2]["recorded_host"] == f[2]["host"], f
assert f[1]["detail"] == "lost; was on " + f[2]["host"] and "host" not in f[1], f
' "$out" "$(id -un)" || return 1
    # the number is that which --generation takes
    gives 5 "$tool" drop --generation "$(sed -n 's/.*"generation_id": "\(.*\)".*/\1/p' "$out" | head -n 1)" set && says 'is the newest'
}
check 'JSON' json
picture() {
    gives 1 "$tool" map --svg map.svg --color never set && says 'set 0 !' && says ' 1L' || return 1
    grep -q '^<svg ' map.svg && grep -q 'ck_1.h5: lost' map.svg && tail -n 1 map.svg | grep -q '</svg>'
}
check 'map, in the terminal and as SVG' picture
# no two of its texts and tiles lie over each other; a letter is 8 wide
apart() {
    sed 's/<title>[^<]*<\/title>//; s/></>\n</g' "$1" | awk -F'"' '
        function free(x, y, right, low) {
            for (i = 0; i < n; i++)
                if (x < r[i] && l[i] < right && y < b[i] && t[i] < low) { print "at " x " " y ": over another"; bad = 1 }
            l[n] = x; t[n] = y; r[n] = right; b[n++] = low
        }
        /^<g class="tile"/ { tile = 1 }
        /^<rect x=/ && tile { free($2, $4, $2 + $6, $4 + $8) }
        /^<rect x=/ && tile { tile = 0; inside = 1 }
        /^<\/g>/ { inside = 0 }
        /^<text/ && !inside { text = $0; gsub(/<[^>]*>/, "", text); free($2, $4 - 12, $2 + 8 * length(text), $4 + 2) }
        END { exit bad || n < 8 }'
}
large_picture() { # RANKS DIRECTORIES
    local k d files=()
    rm -rf large
    for ((k = 0; k < $1; k++)); do
        d=large/scratch-of-node$((k % $2))
        mkdir -p "$d" && head -c 5000 /dev/urandom >"$d/ck_$k.h5"
        files+=("$d/ck_$k.h5")
    done
    "$tool" protect --scheme RS:2 "${files[@]}" && rm -rf large/*node1 && flip large/*node2/ck_2.h5 300 || return 1
    if "$tool" map --verify --svg map.svg large; then return 1; fi
    [ "$(grep -c 'class="tile"' map.svg)" = "$1" ] && [ "$(grep -c 'class="tile".*: damaged' map.svg)" = 1 ] || return 1
    [ "$(grep -c 'class="tile".*: lost.*>L<' map.svg)" = $(($1 / $2)) ] && grep -q '>nowhere<' map.svg && grep -q 'of-node2<' map.svg &&
        apart map.svg
}
for size in '4 4' '16 4' '64 64' '64 4' '64 3'; do
    # shellcheck disable=SC2086
    check "SVG, ranks and nodes $size" large_picture $size
done
coloured() {
    gives 1 "$tool" map --color always set && grep -q $'\033\[97;48;5;160m' "$out" || return 1
    gives 1 "$tool" map set && ! grep -q $'\033' "$out"
}
check 'colour only in a terminal' coloured
list() { printf '%s\n' set/n0 "$work/set/n2/ck_2.h5" >paths && gives 1 "$tool" status @paths && says 'ck_2.h5  healthy'; }
check 'a list of paths' list
hostile_name() {
    rm -rf odd && mkdir odd && name=$'odd/\033[31mred\n.h5' && echo data >"$name"
    "$tool" protect --scheme SINGLE "$name" >/dev/null && gives 0 "$tool" status odd || return 1
    ! grep -q $'\033' "$out" && says 'x1b\[31mred\\x0a.h5'
}
check 'control characters in names are shown, not obeyed' hostile_name

# U+202E, U+2066 and U+061C turn the direction of what follows; letters, quotes and faces are printed as they are
turned_name() {
    rm -rf odd && mkdir odd && name=$'odd/a\xe2\x80\xaeb\xe2\x81\xa6c\xd8\x9cd\xe2\x80\x9c\xf0\x9f\x98\x80.h5' && echo data >"$name"
    "$tool" protect --scheme SINGLE "$name" >/dev/null && gives 0 "$tool" status odd || return 1
    says $'a\\\\xe2\\\\x80\\\\xaeb\\\\xe2\\\\x81\\\\xa6c\\\\xd8\\\\x9cd\xe2\x80\x9c\xf0\x9f\x98\x80.h5'
}
check 'nor characters that turn the direction of a line' turned_name

foreign() {
    gives 0 "$tool" status --verify "$REDSET_SOURCE_DIR/test/golden/vectors/xor_4" && says 'written by another program' || return 1
    says 'healthy by its size; no checksums are recorded' && never_says 'healthy, verified'
}
check 'a set of the reference: nothing is claimed that cannot be known' foreign

# ---- a copy of the files, beside them ----

copies() { # of what is named is told, and only that is mended
    begin && rm -rf copy again && cp -a set copy || return 1
    gives 0 "$tool" status --verify copy && says "copy/n2/ck_2.h5  healthy, verified" && never_says '/set/n' || return 1
    gives 0 "$tool" list copy && gives 0 "$tool" scavenge --to again copy && cmp again/ck_3.h5 set/n3/ck_3.h5 || return 1
    flip copy/n1/ck_1.h5 300 && gives 1 "$tool" status --verify copy && says 'copy/n1/ck_1.h5 +damaged' && same || return 1
    gives 0 "$tool" rebuild copy && same && diff -r kept copy || return 1
    rm copy/n1/ck_1.h5 && gives 0 "$tool" rebuild copy && same && diff -r kept copy || return 1
    gives 0 "$tool" unprotect copy && same && [ -z "$(find copy -name '*redset*')" ]
}
check 'a copy of protected files beside them' copies

# A backup: of what is lost of it nothing is left there, and the originals are gone, or have gone on.
backup() { # COMMAND: what has become of the originals
    begin && rm -rf copy && cp -a set copy && eval "$1" && rm -r copy/n1/* || return 1
    gives 1 "$tool" status copy && says "copy/n1/ck_1.h5 .*lost" && says 'can be rebuilt' || return 1
    gives 0 "$tool" rebuild --dry-run copy && says "copy/n1/ck_1.h5: would be rebuilt" || return 1
    gives 0 "$tool" rebuild copy && says "copy/n1/ck_1.h5: rebuilt" && diff -r kept copy && gives 0 "$tool" status --verify copy
}
check 'a copy, and the files are gone' backup 'rm -r set'
check 'a copy, and the files have gone on' backup '"$tool" protect set/n?/ck_?.h5'
others_are_lost() { # what is whole itself is no news, and what is lost is
    begin && rm -r set/n1 && gives 1 "$tool" status set/n0 && gives 1 "$tool" rebuild set/n0 && says "/set/n1/ck_1.h5: is lost, and not below" || return 1
    [ ! -e set/n1 ] && mkdir set/n1 && gives 0 "$tool" rebuild set/n0 set/n1 && same
}
check 'what is lost is not below what was named' others_are_lost; rm -rf copy again

# ---- unprotect, protect ----

unprotects() {
    begin
    gives 0 "$tool" unprotect --dry-run set && same || return 1
    gives 0 "$tool" unprotect set && [ -z "$(find set -name '*redset*')" ] || return 1
    for k in 0 1 2 3; do cmp kept/n$k/ck_$k.h5 set/n$k/ck_$k.h5 || return 1; done
    gives 3 "$tool" status set && gives 0 "$tool" protect set/n{0,1,2,3}/ck_*.h5 && gives 0 "$tool" status set
}
check 'unprotect, and protect again' unprotects
two_of_xor() { cp -a set before; gives 2 "$tool" status set && says 'set 0: unrecoverable: .*XOR' && gives 2 "$tool" rebuild set && diff -r before set; }
begin; lose 1; lose 3; check 'XOR: two nodes lost' two_of_xor; rm -rf before
gives_nothing_up() {
    begin
    rm set/n1/ck_1.h5
    cp -a set before
    gives 5 "$tool" unprotect set/n1 && says 'is lost' && diff -r before set || return 1
    gives 0 "$tool" unprotect --force set/n1 && [ -z "$(ls set/n1)" ]
}
check 'unprotect gives nothing up unless it is told to' gives_nothing_up; rm -rf before
blesses_no_damage() {
    begin
    flip set/n2/ck_2.h5 100
    cp -a set before
    gives 1 "$tool" protect set/n{0,1,2,3}/ck_*.h5 && says 'not what was protected' && diff -r before set
}
check 'protect does not bless damage' blesses_no_damage; rm -rf before
# refused_for WORDS COMMAND...: it says that of the file of rank 1, which was not named, and removes nothing
refused_for() {
    cp -a set before
    gives 5 "${@:2}" && says "/n1/ck_1.h5: $1" && diff -r before set && rm -rf before
}
needed_elsewhere() { # HOW WORDS: what has happened to the file of rank 1
    local n1=set/n1/ck_1.h5
    begin && eval "$1" || return 1
    refused_for "$2" "$tool" unprotect set/n0 && refused_for "$2" "$tool" unprotect set/n{0,2,3} || return 1
    refused_for "$2" "$tool" protect set/n{0,2,3}/ck_*.h5 && gives 0 "$tool" rebuild set && cmp kept/n1/ck_1.h5 $n1 || return 1
    begin && eval "$1" && gives 0 "$tool" unprotect --force set/n0 && [ -z "$(find set/n0 -name '*redset*')" ] || return 1
    begin && eval "$1" && gives 0 "$tool" protect --force set/n{0,2,3}/ck_*.h5
}
for how in 'rm set/n1/*|is lost or on a node that is out of sight' 'rm $n1|is lost, and' 'flip $n1 300|is damaged'; do
    check "unprotect, protect: another file needs what would go, ${how%%|*}" needed_elsewhere "${how%%|*}" "${how#*|}"
done
missing_file() { begin; rm set/n0/ck_0.h5; gives 4 "$tool" protect set/n{0,1,2,3}/ck_{0,1,2,3}.h5; }
check 'protect names a file that is missing' missing_file

# A directory: its HDF5 files and those below, in the order of the numbers in their paths; nothing else, and no link below is followed.
directory() {
    rm -rf set elsewhere && mkdir -p set/n9 set/n10 elsewhere/below
    for at in set/n9/ck_9.h5 set/n10/ck_10.h5 elsewhere/below/ck_11.h5; do { printf '\211HDF\r\n\032\n'; head -c 5000 /dev/urandom; } >$at; done
    { head -c 512 /dev/urandom; cat set/n9/ck_9.h5; } >set/n10/with_user_block
    echo text >set/n9/log && ln -s "$work/elsewhere/below" set/n11
    gives 0 "$tool" protect set && says 'set: 2 files there are not HDF5' && [ "$(grep -c 'protected$' "$out")" = 3 ] || return 1
    gives 0 "$tool" status --json set && says '"ranks": 3' || return 1
    [ "$(sed -n 's|.*"path": ".*/\(n.*\)",|\1|p' "$out" | tr '\n' ' ')" = 'n9/ck_9.h5 n10/ck_10.h5 n10/with_user_block ' ] || return 1
    mkdir -p empty && gives 3 "$tool" protect empty && says 'no HDF5 file' && gives 0 "$tool" protect --force set && says 'n10/ck_10.h5: protected'
}
check 'protect a directory' directory

# ---- looking never writes ----

reads_only() {
    command -v strace >/dev/null || { echo 'SKIP: no strace'; return 0; }
    begin
    rm -rf set/n1
    for command in 'status --verify' map 'rebuild --dry-run' 'unprotect --dry-run'; do
        # shellcheck disable=SC2086 # words
        strace -f -qq -e trace=open,openat,openat2,creat,unlink,unlinkat,rename,renameat,mkdir,mkdirat,truncate,ftruncate \
            -o trace "$tool" $command set >"$out" 2>&1 || true
        ! grep -E 'O_WRONLY|O_RDWR|O_CREAT|unlink|rename|mkdir|truncate|creat\(' trace |
            grep -F "$work" || { echo "$command wrote"; return 1; }
        grep -q 'ck_2.h5' trace || { echo "nothing was traced"; return 1; }
    done
}
check_traced() {
    if [ -n "${REDSET_SANITIZE:-}" ] && [ "$REDSET_SANITIZE" != OFF ]; then
        echo "  skipped $1: the leak sanitizer does not work under strace"
    else
        check "$@"
    fi
}
check_traced 'looking never writes' reads_only

# A disk that fails after the first look: what could not be read is not healthy.
unreadable() {
    command -v strace >/dev/null || { echo 'SKIP: no strace'; return 0; }
    begin
    strace -f -qq -e trace=pread64 -o trace "$tool" status set >"$out" 2>&1
    local reads
    reads=$(grep -c pread64 trace)
    for error in EIO ENOMEM; do
        gives 2 strace -f -qq -o trace -e trace=pread64 -e "inject=pread64:error=$error:when=$((reads + 1))+" \
            "$tool" status --verify set && says 'cannot be read' && never_says 'verified' || return 1
    done
    same
}
check_traced 'a disk that fails while it looks' unreadable

# Nor is what cannot be looked at left out of the files of a directory: each is that of a rank. "NAME CALL": of that name that call fails.
directory_in_part() {
    local one
    command -v strace >/dev/null || { echo 'SKIP: no strace'; return 0; }
    rm -rf set && mkdir -p set/n0 set/n1
    for one in 0 1; do { printf '\211HDF\r\n\032\n'; head -c 5000 /dev/urandom; } >set/n$one/ck_$one.h5; done
    for one in 'ck_1.h5 newfstatat' 'ck_1.h5 openat2' "$work/set/n1 openat"; do
        gives 5 strace -f -qq -o trace -P "${one% *}" -e "trace=${one#* }" -e "inject=${one#* }:error=EIO" "$tool" protect set &&
            says 'Input/output error.* nothing is protected' && [ -z "$(find set -name '*redset*')" ] || return 1
    done
    gives 0 "$tool" protect set
}
check_traced 'protect a directory that cannot be looked at in part' directory_in_part

# ---- usage ----

usage() {
    gives 64 "$tool" && gives 64 "$tool" stat set && gives 64 "$tool" status && gives 64 "$tool" status --no set || return 1
    gives 64 "$tool" protect --scheme RAID set && says 'SINGLE, PARTNER, XOR, RS' || return 1
    gives 64 "$tool" status --force set && says 'not an option of status' || return 1
    gives 0 "$tool" --help && says 'usage: h5redset status' && gives 0 "$tool" --version && says '^h5redset [0-9]'
}
check 'wrong usage is 64, and says what is possible' usage

# Every command and option of --help is in the man page and is completed.
documented() {
    local word
    "$tool" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u >words
    for word in status map rebuild protect unprotect; do echo "$word"; done >>words
    while read -r word; do
        grep -qF -- "${word//-/\\-}" "$REDSET_SOURCE_DIR/docs/man/h5redset.1" || { echo "man page: $word"; return 1; }
        grep -qF -- "$word" "$REDSET_SOURCE_DIR/tools/h5redset/h5redset.bash" || { echo "completion: $word"; return 1; }
    done <words
}
check 'man page and completion know every option' documented

statuses() {
    local number
    "$tool" --help | sed -n '/^Exit status/,$p' >words
    for number in $(sed -nE 's/^    EXITS_[A-Z_]+ = ([0-9]+).*/\1/p' "$REDSET_SOURCE_DIR/tools/h5redset/exits.h"); do
        grep -qE "(^|[ ,])$number " words || { echo "--help: $number"; return 1; }
        grep -qxF ".B $number" "$REDSET_SOURCE_DIR/docs/man/h5redset.1" || { echo "man page: $number"; return 1; }
    done
    [ -n "$number" ]
}
check '--help and man page have every exit status' statuses

finish
