/* test_golden_own.c: the vectors of test/golden/own, which are made from FORMAT-extensions.md without the engine: headers, updates, names
 * file and placeholder. The engine reads in them what the document says, and writes the same values as the same bytes. */
#include "common/bytes.h"
#include "golden_own.h"
#include "image.h"
#include "member/delta.h"
#include "member/placeholder.h"
#include "names/names_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES OWN_PREFIX "redset.names"
#define REDO  OWN_REDUNDANCY ".redo"
#define NEW   OWN_REDUNDANCY ".new"

enum { ENTRY = RSET_OVERLAY_ENTRY, LATER = 60 /* seconds, of the update */ };

/* ---- headers and descriptors ---- */

static void
check_header(const char *name, int member, const rset_header *want, size_t payload)
{
    rset_header got;
    rset_err    err = RSET_ERR_NONE;
    size_t      n, packed = 0;
    uint8_t    *bytes = own_vector(name, &n), *again = NULL;

    assert_int_equal(n, OWN_HEADER + payload);
    if (rset_format_unpack_header(bytes, n, name, member, &got, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_same_own_header(&got, want);
    assert_int_equal(rset_format_pack_header(want, true, &again, &packed, &err), RSET_OK);
    again = realloc(again, packed + payload);
    memcpy(again + packed, bytes + OWN_HEADER, payload);
    assert_is_own_vector(again, packed + payload, name);
    rset_header_free(&got);
    free(again);
    free(bytes);
}

static void
a_header_has_all_keys(void **state)
{
    rset_header want = own_header_of_set(OWN_GENERATION, OWN_TIME, false);
    uint8_t     payload[OWN_CHUNK], *bytes;
    size_t      n;

    (void)state;
    check_header("set/" OWN_REDUNDANCY, 1, &want, OWN_CHUNK);
    own_payload(payload, false);
    bytes = own_vector("set/" OWN_REDUNDANCY, &n);
    assert_memory_equal(bytes + OWN_HEADER, payload, sizeof payload);
    rset_header_free(&want);
    free(bytes);
}

/* SINCE, two blocks, and a payload of none. */
static void
a_header_of_one_rank_has_all_keys(void **state)
{
    rset_header want = own_header_of_one_rank();

    (void)state;
    check_header("one_rank/" OWN_ONE_RANK, 0, &want, 0);
    assert_int_equal(want.infos[0].files[0].sums.nblocks, 2);
    rset_header_free(&want);
}

static void
descriptors_say_their_generation(void **state)
{
    const rset_desc want[] = {own_desc(1, OWN_GENERATION), own_desc(0, OWN_GENERATION)};
    rset_descs      got;
    rset_err        err = RSET_ERR_NONE;
    size_t          n, packed;
    uint8_t        *bytes = own_vector("set/" OWN_DESCRIPTOR, &n), *again = NULL;

    (void)state;
    assert_int_equal(rset_format_unpack_descs(bytes, n, "descriptor", 1, &got, &err), RSET_OK);
    assert_int_equal(got.n, 2);
    assert_same_own_desc(&got.at[0], &want[0]);
    assert_same_own_desc(&got.at[1], &want[1]);
    assert_int_equal(rset_format_pack_descs(want, 2, true, &again, &packed, &err), RSET_OK);
    assert_is_own_vector(again, packed, "set/" OWN_DESCRIPTOR);
    free(got.at);
    free(again);
    free(bytes);
}

/* Section 2: a count and 40 random bits; of a file of one rank milliseconds and 22. */
static void
generations_are_made_of_their_parts(void **state)
{
    (void)state;
    assert_true(rset_generation_next(OWN_GENERATION, UINT64_C(0xff1020304050)) == OWN_NEXT);
    assert_true(rset_generation_at(OWN_SINCE, UINT64_C(200000000777), 0xffd55555) == OWN_OF_ONE);
    assert_true(rset_generation_at(OWN_SINCE, 5, 0x155555) ==
                (((OWN_SINCE >> 22) + 1) << 22 | 0x155555)); /* of a clock that went back */
}

/* ---- updates ---- */

/* The redundancy file as it is to be read: with the update that is published. */
static void
a_complete_update_is_laid_over(void **state)
{
    own_place   *p = *state;
    rset_header  want = own_header_of_set(OWN_NEXT, OWN_TIME + LATER, true);
    rset_layered file;
    uint8_t      payload[OWN_CHUNK], got[OWN_CHUNK];

    own_put(p, "set", OWN_REDUNDANCY);
    own_put(p, "update", REDO);
    assert_true(rset_delta_is(p->dir, REDO));
    own_must(p, rset_survey_local(&p->local, &p->ev, &p->err));
    assert_true(p->ev.has_header && p->ev.over_name != NULL && p->ev.over.complete);
    assert_true(p->ev.over.generation == OWN_NEXT);
    assert_int_equal(p->ev.over.size, OWN_HEADER + OWN_CHUNK);
    assert_int_equal(p->ev.over.n, 2);
    assert_int_equal(p->ev.over.runs[1].off, OWN_HEADER + OWN_CHANGED_AT);
    assert_int_equal(p->ev.over.runs[1].len, OWN_CHANGED);
    assert_same_own_header(&p->ev.header, &want);
    own_payload(payload, true);
    own_must(p, rset_layered_evidence(p->dir, &p->ev, &file, &p->err));
    own_must(p, rset_layered_exactly(&file, OWN_HEADER, got, sizeof got, "payload", &p->err));
    assert_memory_equal(got, payload, sizeof got);
    rset_layered_close(&file);
    rset_header_free(&want);
}

static void
updates_are_written(void **state)
{
    own_place   *p = *state;
    rset_header  want = own_header_of_set(OWN_NEXT, OWN_TIME + LATER, true);
    rset_overlay over = {.generation = OWN_NEXT, .size = OWN_HEADER + OWN_CHUNK};
    uint8_t      payload[OWN_CHUNK], buf[ENTRY + OWN_HEADER], *packed = NULL;
    rset_file   *file;
    size_t       n;

    want.total = OWN_HEADER;
    own_must(p, rset_format_pack_header(&want, true, &packed, &n, &p->err));
    assert_int_equal(n, OWN_HEADER);
    own_payload(payload, true);
    own_must(p, rset_file_create(p->dir, REDO, NULL, &file, &p->err));
    own_must(p, rset_delta_begin(file, &over, &p->err));
    memcpy(buf + ENTRY, payload + OWN_CHANGED_AT, OWN_CHANGED);
    own_must(p, rset_overlay_append(file, &over, OWN_HEADER + OWN_CHANGED_AT, buf, OWN_CHANGED,
                                    &p->err));
    memcpy(buf + ENTRY, packed, n);
    own_must(p, rset_overlay_append(file, &over, 0, buf, n, &p->err));
    own_must(p, rset_overlay_complete(file, &over, &p->err));
    rset_file_close(file, NULL);
    assert_own_wrote(p, "update", REDO);
    rset_header_free(&want);
    free(packed);
}

/* The last byte of its last entry is missing: it is an update, and none to use. */
static void
a_torn_update_is_ignored(void **state)
{
    own_place   *p = *state;
    rset_overlay over;
    size_t       n, torn;
    uint8_t *whole = own_vector("update/" REDO, &n), *bytes = own_vector("update_torn/" NEW, &torn);

    assert_int_equal(torn, n - 1);
    assert_memory_equal(bytes, whole, torn);
    own_put_set(p);
    own_put(p, "update_torn", NEW);
    assert_true(rset_delta_is(p->dir, NEW));
    own_must(p, rset_delta_load(p->dir, NEW, &over, &p->err));
    assert_false(over.complete);
    assert_int_equal(over.n, 0);
    own_must(p, rset_survey_again(p->dir, OWN_PREFIX, OWN_DATA, &p->ev, &p->err));
    assert_true(p->ev.has_header && p->ev.next == 0 && p->ev.orphans);
    assert_true(rset_evidence_generation(&p->ev) == OWN_GENERATION);
    free(whole);
    free(bytes);
}

/* The last digit of the magic is the version of the bytes behind it. */
static void
an_update_of_another_version_is_ignored(void **state)
{
    own_place   *p = *state;
    rset_overlay over;
    size_t       n;
    uint8_t     *bytes = own_vector("update/" REDO, &n);

    bytes[7]++;
    rset_put64(bytes + 24, rset_crc64(0, bytes, 24));
    write_file(path_of("%s/%s", p->base, REDO), bytes, n);
    assert_false(rset_delta_is(p->dir, REDO));
    own_must(p, rset_delta_load(p->dir, REDO, &over, &p->err));
    assert_true(!over.complete && over.n == 0);
    free(bytes);
}

/* ---- the names file ---- */

static void
names_files_are_read(void **state)
{
    static const char *const stems[] = {"1.xor.grp_1_of_1.mem_2_of_3.redset", "1.redset",
                                        "redset.0000041020304051", "1.redset.1"};
    own_place               *p = *state;
    rset_stems               got;
    rset_noted               noted;

    own_put(p, "set", NAMES);
    own_must(p, rset_stems_load(p->dir, OWN_PREFIX, &got, &noted, &p->err));
    assert_int_equal(noted, RSET_NOTED_GOOD);
    assert_int_equal(got.n, sizeof stems / sizeof *stems);
    for (size_t i = 0; i < got.n; i++)
        assert_string_equal(got.at[i], stems[i]);
    assert_int_equal(got.nolder, 2);
    assert_true(got.older[0].generation == OWN_OLDER && !got.older[0].refused);
    assert_true(got.older[1].generation == OWN_OLDEST && got.older[1].refused);
    rset_stems_free(&got);
    own_boot++;
    own_must(p, rset_stems_load(p->dir, OWN_PREFIX, &got, &noted, &p->err));
    assert_int_equal(noted, RSET_NOTED_OLD);
    rset_stems_free(&got);
}

static void
names_files_are_written(void **state)
{
    static const char *const names[] = {NEW, OWN_DESCRIPTOR ".new",
                                        OWN_PREFIX "redset.0000041020304051.new",
                                        OWN_PREFIX "1.redset.1.fix"};
    own_place               *p = *state;

    own_must(p, rset_names_note(p->dir, OWN_PREFIX, names, sizeof names / sizeof *names, &p->err));
    own_must(p, rset_names_note_kept(p->dir, OWN_PREFIX, NULL, 0, OWN_OLDEST, &p->err));
    own_must(p, rset_names_note_kept(p->dir, OWN_PREFIX, NULL, 0, OWN_OLDER, &p->err));
    rset_names_note_refused(p->dir, OWN_PREFIX, OWN_OLDEST, true);
    assert_own_wrote(p, "set", NAMES);
}

static void
a_names_file_of_another_version_is_bad(void **state)
{
    rset_stems stems;
    rset_noted noted;
    rset_err   err = RSET_ERR_NONE;
    size_t     n;
    uint8_t   *bytes = own_vector("set/" NAMES, &n);

    (void)state;
    for (int i = -1; i <= 1; i++) {
        bytes[7] = (uint8_t)('3' + i);
        rset_put64(bytes + 40, rset_crc64(rset_crc64(0, bytes, 40), bytes + 48, n - 48));
        assert_int_equal(rset_stems_unpack(bytes, n, OWN_PREFIX, &stems, &noted, &err), RSET_OK);
        assert_int_equal(noted, i == 0 ? RSET_NOTED_GOOD : RSET_NOTED_BAD);
        rset_stems_free(&stems);
    }
    free(bytes);
}

/* The boot of a names file is the checksum of all that the system says, line end included. */
static void
the_boot_is_the_checksum_of_the_boot_id(void **state)
{
    char   text[64];
    size_t n;
    FILE  *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    (void)state;
    if (file == NULL)
        return;
    n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(n > 1 && text[n - 1] == '\n');
    assert_true(rset_sys_posix.boot() == rset_crc64(0, text, n));
}

/* ---- the placeholder ---- */

static void
placeholders_are_one_line(void **state)
{
    own_place *p = *state;

    own_put(p, "placeholder", "new.h5");
    assert_true(rset_placeholder_has_name(p->dir, "new.h5"));
    append_file(path_of("%s/new.h5", p->base), "\n", 1);
    assert_false(rset_placeholder_has_name(p->dir, "new.h5"));
    p->local.names = (const char *const[]){"new.h5"};
    own_must(p, rset_dir_unlink(p->dir, "new.h5", &p->err));
    own_must(p, rset_placeholder_make(&p->local, &p->err));
    assert_own_wrote(p, "placeholder", "new.h5");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_TEST(a_header_has_all_keys),
        OWN_TEST(a_header_of_one_rank_has_all_keys),
        OWN_TEST(descriptors_say_their_generation),
        OWN_TEST(generations_are_made_of_their_parts),
        OWN_TEST(a_complete_update_is_laid_over),
        OWN_TEST(updates_are_written),
        OWN_TEST(a_torn_update_is_ignored),
        OWN_TEST(an_update_of_another_version_is_ignored),
        OWN_TEST(names_files_are_read),
        OWN_TEST(names_files_are_written),
        OWN_TEST(a_names_file_of_another_version_is_bad),
        OWN_TEST(the_boot_is_the_checksum_of_the_boot_id),
        OWN_TEST(placeholders_are_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
