/* test_logical.c: data files as one logical file, and what verification says of them and of a payload
 * (member.h; P2): each block that differs, nothing else, and never more than was recorded. */
#include "image.h"
#include "member/journal.h"
#include "member/member.h"
#include "sums.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 3, BLOCK = 1000, PAYLOAD_AT = 77, PAYLOAD = 2500 };

static const size_t      sizes[FILES] = {2500, 0, 1000};
static const char *const names[FILES] = {"a", "b", "c"};

/* Three data files and a redundancy file, whose header is `ev` alone: verification reads the payload. */
typedef struct scene {
    char          *base;
    rset_dir      *dir;
    uint8_t        bytes[3500], payload[PAYLOAD_AT + PAYLOAD];
    rset_local     local;
    rset_info      info;
    rset_file_info files[FILES];
    rset_info      infos[2];
    rset_evidence  ev;
} scene;

static const char *
in(const scene *s, const char *name)
{
    return path_of("%s/%s", s->base, name);
}

static void
write_all(const scene *s)
{
    size_t at = 0;

    for (int i = 0; i < FILES; at += sizes[i++])
        write_file(in(s, names[i]), s->bytes + at, sizes[i]);
    write_file(in(s, "redundancy"), s->payload, sizeof s->payload);
}

static int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;
    scene   *s = calloc(1, sizeof *s);
    size_t   at = 0;

    s->base = scratch_make();
    assert_int_equal(rset_dir_open(s->base, false, &s->dir, &err), RSET_OK);
    fill_random(s->bytes, sizeof s->bytes, 1);
    fill_random(s->payload, sizeof s->payload, 2);
    s->local = (rset_local){
        .dir = s->dir, .prefix = "a.", .nfiles = FILES, .names = names, .paths = names};
    s->info = (rset_info){.nfiles = FILES, .files = s->files};
    for (int i = 0; i < FILES; at += sizes[i++]) {
        s->files[i].attrs.size = sizes[i];
        s->files[i].has_sums = true;
        sums_of(&s->files[i].sums, s->bytes + at, sizes[i], BLOCK);
    }
    s->infos[0].desc = (rset_desc){.scheme = &rset_scheme_rs, .parity = 2};
    s->ev = (rset_evidence){.has_header = true,
                            .payload_at = PAYLOAD_AT,
                            .header = {.chunk = PAYLOAD / 2, .ninfos = 2, .infos = s->infos}};
    s->ev.name = strdup("redundancy");
    s->ev.header.has_payload_sums = true;
    sums_of(&s->ev.header.payload, s->payload + PAYLOAD_AT, PAYLOAD, BLOCK);
    write_all(s);
    *state = s;
    return 0;
}

static int
tear_down(void **state)
{
    scene *s = *state;

    rset_sys_use(NULL);
    for (int i = 0; i < FILES; i++)
        rset_sums_free(&s->files[i].sums);
    rset_sums_free(&s->ev.header.payload);
    free(s->ev.name);
    rset_dir_close(s->dir);
    remove_tree(s->base);
    free(s->base);
    free(s);
    return 0;
}

/* Verifies the data: exactly [from, to) is bad (from == to: nothing). */
static void
assert_data(scene *s, bool content, uint64_t from, uint64_t to, bool damaged)
{
    rset_damage found = {0};
    rset_err    err = RSET_ERR_NONE;

    assert_int_equal(rset_verify_data(&s->local, &s->info, content, &found, &err), RSET_OK);
    assert_int_equal(found.any, damaged);
    assert_int_equal(found.bad.n, from < to);
    if (from < to) {
        assert_int_equal(found.bad.at[0].from, from);
        assert_int_equal(found.bad.at[0].to, to);
    }
    rset_damage_free(&found);
}

static void
assert_payload(scene *s, bool content, uint64_t from, uint64_t to)
{
    rset_damage found = {0};
    rset_err    err = RSET_ERR_NONE;

    assert_int_equal(rset_verify_payload(&s->local, &s->ev, content, &found, &err), RSET_OK);
    assert_int_equal(found.bad.n, from < to);
    if (from < to) {
        assert_int_equal(found.bad.at[0].from, from);
        assert_int_equal(found.bad.at[0].to, to);
    }
    rset_damage_free(&found);
}

/* ---- data ---- */

static uint64_t
block_end(uint64_t at, uint64_t size)
{
    uint64_t end = (at / BLOCK + 1) * BLOCK;

    return end < size ? end : size;
}

static void
every_wrong_byte_is_found_in_its_block(void **state)
{
    scene *s = *state;

    assert_data(s, true, 0, 0, false);
    for (size_t i = 0; i < 2500; i += 83) {
        flip_bit(in(s, "a"), i);
        assert_data(s, true, i / BLOCK * BLOCK, block_end(i, 2500), true);
        assert_data(s, false, 0, 0, false); /* sizes only */
        flip_bit(in(s, "a"), i);
    }
    flip_bit(in(s, "c"), 999);
    assert_data(s, true, 2500, 3500, true);
}

static void
wrong_sizes_are_bad_from_end_to_end(void **state)
{
    static const size_t wrong[] = {0, 1, 2499, 2501, 10000};
    scene              *s = *state;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(truncate(in(s, "a"), (off_t)wrong[i]), 0);
        assert_data(s, true, 0, 2500, true);
        assert_data(s, false, 0, 2500, true);
        write_all(s);
    }
    assert_int_equal(truncate(in(s, "b"), 1), 0); /* of nothing all is bad, which is nothing */
    assert_data(s, true, 0, 0, true);
}

static void
what_is_no_regular_file_is_missing(void **state)
{
    scene *s = *state;

    for (int i = 0; i < FILES; i++) {
        uint64_t from = i == 2 ? 2500 : 0, to = i == 1 ? 0 : from + sizes[i];

        remove(in(s, names[i]));
        assert_data(s, true, from, to, true);
        assert_int_equal(mkdir(in(s, names[i]), 0777), 0);
        assert_data(s, true, from, to, true);
        assert_int_equal(rmdir(in(s, names[i])), 0);
        write_file(in(s, "elsewhere"), s->bytes, sizes[i]);
        assert_int_equal(symlink("elsewhere", in(s, names[i])), 0);
        assert_data(s, true, from, to, true);
        remove(in(s, names[i]));
        write_all(s);
    }
    s->local.dir = NULL; /* out of reach */
    assert_data(s, false, 0, 3500, true);
}

static void
without_sums_the_size_decides(void **state)
{
    scene *s = *state;

    s->files[0].has_sums = false;
    flip_bit(in(s, "a"), 5);
    assert_data(s, true, 0, 0, false);
    assert_int_equal(truncate(in(s, "a"), 5), 0);
    assert_data(s, true, 0, 2500, true);
}

/* ---- a disk that cannot read ---- */

static off_t unreadable;

static ssize_t
failing_pread(int fd, void *buf, size_t len, off_t off)
{
    if (off + (off_t)len > unreadable) {
        if (off >= unreadable) {
            errno = EIO;
            return -1;
        }
        len = (size_t)(unreadable - off);
    }
    return rset_sys_posix.pread(fd, buf, len, off);
}

static void
unreadable_blocks_are_bad(void **state)
{
    scene   *s = *state;
    rset_sys sys = rset_sys_posix;

    sys.pread = failing_pread;
    rset_sys_use(&sys);
    unreadable = 1500;
    s->info.nfiles = 1;
    assert_data(s, true, 0, 2500, true); /* of a piece that fails nothing is believed */
    unreadable = PAYLOAD_AT + 1;
    assert_payload(s, true, 0, PAYLOAD);
}

/* ---- payload ---- */

static void
every_wrong_byte_of_a_payload_is_found(void **state)
{
    scene *s = *state;

    assert_payload(s, true, 0, 0);
    for (size_t i = 0; i < PAYLOAD; i += 83) {
        flip_bit(in(s, "redundancy"), PAYLOAD_AT + i);
        assert_payload(s, true, i / BLOCK * BLOCK, block_end(i, PAYLOAD));
        assert_payload(s, false, 0, 0);
        flip_bit(in(s, "redundancy"), PAYLOAD_AT + i);
    }
    flip_bit(in(s, "redundancy"), PAYLOAD_AT - 1); /* the header's business */
    assert_payload(s, true, 0, 0);
}

static void
payload_of_the_wrong_length_is_bad(void **state)
{
    scene *s = *state;

    append_file(in(s, "redundancy"), "more", 4); /* does no harm */
    assert_payload(s, true, 0, 0);
    assert_int_equal(truncate(in(s, "redundancy"), PAYLOAD_AT + PAYLOAD - 1), 0);
    assert_payload(s, true, 0, PAYLOAD);
    assert_payload(s, false, 0, PAYLOAD);
    assert_int_equal(truncate(in(s, "redundancy"), PAYLOAD_AT - 1), 0);
    assert_payload(s, true, 0, PAYLOAD);
    write_all(s);
    s->ev.header.payload.size--; /* sums of another payload */
    assert_payload(s, true, 0, PAYLOAD);
    s->ev.header.payload.size++;
    remove(in(s, "redundancy"));
    assert_payload(s, true, 0, PAYLOAD);
    assert_int_equal(mkdir(in(s, "redundancy"), 0777), 0);
    assert_payload(s, true, 0, PAYLOAD);
}

static void
payload_without_sums_is_judged_by_length(void **state)
{
    scene *s = *state;

    s->ev.header.has_payload_sums = false;
    flip_bit(in(s, "redundancy"), PAYLOAD_AT);
    assert_payload(s, true, 0, 0);
    assert_int_equal(truncate(in(s, "redundancy"), PAYLOAD_AT), 0);
    assert_payload(s, true, 0, PAYLOAD);
}

/* PARTNER's is as long as the neighbours' files. */
static void
payload_of_copies(void **state)
{
    scene *s = *state;

    s->infos[0].desc = (rset_desc){.scheme = &rset_scheme_partner, .parity = 1};
    s->infos[1] = s->info;
    s->ev.header.has_payload_sums = false;
    assert_payload(s, true, 0, 3500); /* there are only 2500 */
    append_file(in(s, "redundancy"), s->bytes, 1000);
    assert_payload(s, true, 0, 0);
}

/* ---- reading and writing ---- */

static void
reads_over_the_seams(void **state)
{
    scene       *s = *state;
    rset_err     err = RSET_ERR_NONE;
    uint8_t      got[4000];
    rset_logical l;

    assert_int_equal(rset_logical_open(&s->local, NULL, &l, &err), RSET_OK);
    assert_int_equal(l.start[FILES], 3500);
    for (size_t off = 0; off < 4000; off += 250)
        for (size_t len = 0; off + len <= 4000; len += 250) {
            size_t real = off >= 3500 ? 0 : 3500 - off < len ? 3500 - off : len;

            memset(got, 0xff, sizeof got);
            assert_int_equal(rset_logical_read(&l, off, got, len, NULL, &err), RSET_OK);
            assert_memory_equal(got, s->bytes + (off < 3500 ? off : 0), real);
            for (size_t i = real; i < len; i++)
                assert_int_equal(got[i], 0);
        }
    assert_int_equal(truncate(in(s, "c"), 500), 0);
    assert_int_equal(rset_logical_read(&l, 2000, got, 1000, NULL, &err), RSET_OK);
    assert_int_equal(rset_logical_read(&l, 2000, got, 1500, NULL, &err), RSET_IO);
    rset_logical_close(&l, NULL);
}

static void
missing_sources_are_our_mistake(void **state)
{
    scene       *s = *state;
    rset_err     err = RSET_ERR_NONE;
    uint8_t      got[10];
    rset_logical l;

    remove(in(s, "a"));
    assert_int_equal(rset_logical_open(&s->local, NULL, &l, &err), RSET_ABSENT);
    err = RSET_ERR_NONE;
    assert_int_equal(rset_logical_open(&s->local, &s->info, &l, &err), RSET_OK);
    assert_int_equal(rset_logical_read(&l, 2500, got, 10, NULL, &err), RSET_OK);
    assert_int_equal(rset_logical_read(&l, 2499, got, 10, NULL, &err), RSET_BUG);
    rset_logical_close(&l, NULL);
}

static void
writes_over_the_seams(void **state)
{
    scene       *s = *state;
    rset_err     err = RSET_ERR_NONE;
    rset_sums    sums[FILES];
    uint8_t      beyond[4000] = {0};
    rset_logical l;

    s->info.desc.rank = 4;
    memcpy(beyond, s->bytes, sizeof s->bytes);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(rset_sums_init(&sums[i], sizes[i], BLOCK), 0);
    assert_int_equal(rset_logical_create(&s->local, &s->info, &RSET_ACCESS_ALL, &l, &err), RSET_OK);
    for (size_t off = 0; off < sizeof beyond; off += 400)
        assert_int_equal(rset_logical_write(&l, off, beyond + off, 400, sums, &err), RSET_OK);
    assert_int_equal(rset_logical_close(&l, &err), RSET_OK);
    for (int i = 0; i < FILES; i++) {
        struct stat sb;

        rset_sums_finish(&sums[i]);
        assert_int_equal(sums[i].whole, s->files[i].sums.whole);
        rset_sums_free(&sums[i]);
        assert_int_equal(stat(in(s, path_of("a.4.redset.%d.fix", i)), &sb), 0);
        assert_int_equal(sb.st_size, sizes[i]); /* and what is beyond was dropped */
    }
}

/* A file that is not there, but not the one of which the old content is read. */
static void
only_the_first_has_a_journal(void **state)
{
    scene          *s = *state;
    rset_err        err = RSET_ERR_NONE;
    const rset_undo undo = {.there = true};
    rset_file      *first;
    uint8_t         got[10];
    rset_logical    l;

    write_file(in(s, "a.redset.0000000000000000.undo"), s->bytes, 1);
    s->local.undo = &undo;
    s->local.nfiles = 2; /* fewer than were recorded */
    assert_int_equal(rset_logical_open(&s->local, &s->info, &l, &err), RSET_OK);
    assert_int_equal(rset_logical_read(&l, 2500, got, 10, NULL, &err), RSET_BUG);
    assert_int_equal(rset_logical_read(&l, 0, got, 10, NULL, &err), RSET_OK);
    first = l.files[0];
    l.files[0] = NULL; /* what is read of it then comes from the journal */
    err = RSET_ERR_NONE;
    assert_int_equal(rset_logical_read(&l, 0, got, 10, NULL, &err), RSET_IO);
    l.files[0] = first;
    rset_logical_close(&l, NULL);
}

static int
no_close(int fd)
{
    close(fd);
    errno = EIO;
    return -1;
}

/* The first failure counts; all are closed. Without checksums nothing is added up. */
static void
failing_closes(void **state)
{
    scene       *s = *state;
    rset_err     err = RSET_ERR_NONE;
    rset_sys     sys = rset_sys_posix;
    rset_logical l;

    assert_int_equal(rset_logical_create(&s->local, &s->info, &RSET_ACCESS_ALL, &l, &err), RSET_OK);
    assert_int_equal(rset_logical_write(&l, 0, s->bytes, 3000, NULL, &err), RSET_OK);
    sys.close = no_close;
    rset_sys_use(&sys);
    assert_int_equal(rset_logical_close(&l, &err), RSET_IO);
    rset_sys_use(NULL);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(every_wrong_byte_is_found_in_its_block),
        WITH_SCENE(wrong_sizes_are_bad_from_end_to_end),
        WITH_SCENE(what_is_no_regular_file_is_missing),
        WITH_SCENE(without_sums_the_size_decides),
        WITH_SCENE(unreadable_blocks_are_bad),
        WITH_SCENE(every_wrong_byte_of_a_payload_is_found),
        WITH_SCENE(payload_of_the_wrong_length_is_bad),
        WITH_SCENE(payload_without_sums_is_judged_by_length),
        WITH_SCENE(payload_of_copies),
        WITH_SCENE(reads_over_the_seams),
        WITH_SCENE(missing_sources_are_our_mistake),
        WITH_SCENE(writes_over_the_seams),
        WITH_SCENE(only_the_first_has_a_journal),
        WITH_SCENE(failing_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
