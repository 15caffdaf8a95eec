/* test_format.c: headers, infos and descriptor files: there and back (P8), whatever the numbers. Sizes and limits:
 * test_format_sizes.c. What must be refused: test_format_damage.c and test_format_lies.c. Names: test_format_names.c. */
#include "format_samples.h"
#include "sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void
assert_same_desc(const rset_desc *a, const rset_desc *b, bool extra)
{
    rset_desc expected = *a;

    if (!extra)
        expected.generation = 0;
    assert_true(expected.scheme == b->scheme && expected.parity == b->parity &&
                expected.set == b->set && expected.sets == b->sets &&
                expected.member == b->member && expected.members == b->members &&
                expected.rank == b->rank && expected.ranks == b->ranks &&
                expected.generation == b->generation);
}

static void
assert_same_text(const char *a, const char *b, bool extra)
{
    assert_int_equal(b != NULL, extra && a != NULL);
    if (b != NULL)
        assert_string_equal(a, b);
}

static void
assert_same_stamp(const rset_stamp *a, const rset_stamp *b, bool extra)
{
    assert_int_equal(b->time, extra ? a->time : 0);
    assert_same_text(a->job, b->job, extra);
    assert_same_text(a->user, b->user, extra);
    assert_same_text(a->label, b->label, extra);
}

static void
assert_same_info(const rset_info *a, const rset_info *b, bool extra)
{
    assert_same_desc(&a->desc, &b->desc, extra);
    assert_same_text(a->host, b->host, extra);
    assert_same_stamp(&a->stamp, &b->stamp, extra);
    assert_int_equal(a->nfiles, b->nfiles);
    for (int i = 0; i < a->nfiles; i++) {
        assert_string_equal(a->files[i].path, b->files[i].path);
        assert_memory_equal(&a->files[i].attrs, &b->files[i].attrs, sizeof a->files[i].attrs);
        assert_int_equal(b->files[i].has_sums, extra && a->files[i].has_sums);
        if (b->files[i].has_sums)
            assert_same_sums(&a->files[i].sums, &b->files[i].sums);
    }
}

static void
assert_same_header(const rset_header *a, const rset_header *b, bool extra)
{
    assert_true(a->member == b->member && a->chunk == b->chunk && a->ninfos == b->ninfos);
    for (int d = 0; d < a->ninfos; d++)
        assert_same_info(&a->infos[d], &b->infos[d], extra);
    assert_int_equal(a->group != NULL, b->group != NULL);
    if (a->group != NULL)
        assert_memory_equal(a->group, b->group,
                            (size_t)a->infos[0].desc.members * sizeof *a->group);
    assert_int_equal(b->has_payload_sums, extra && a->has_payload_sums);
    if (b->has_payload_sums)
        assert_same_sums(&a->payload, &b->payload);
}

/* Packed, unpacked, compared field by field, packed again and compared as bytes. */
static void
round_trip(const rset_header *h, bool extra)
{
    rset_header back;
    rset_err    err = RSET_ERR_NONE;
    size_t      len, len2;
    uint8_t    *buf = sample_packed(h, extra, &len), *again;

    if (rset_format_unpack_header(buf, len, "file", h->member, &back, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_same_header(h, &back, extra);
    again = sample_packed(&back, extra, &len2);
    assert_int_equal(len, len2);
    assert_memory_equal(buf, again, len);
    rset_header_free(&back);
    free(buf);
    free(again);
}

static void
headers_come_back_under_every_scheme(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                members, parity;
    } shapes[] = {
        {&rset_scheme_single, 1, 0}, {&rset_scheme_partner, 2, 1}, {&rset_scheme_partner, 4, 3},
        {&rset_scheme_xor, 2, 1},    {&rset_scheme_xor, 12, 1},    {&rset_scheme_rs, 2, 1},
        {&rset_scheme_rs, 5, 2},     {&rset_scheme_rs, 250, 6},    {&rset_scheme_rs, 6, 5}};
    static const int nfiles[] = {0, 1, 2, 12, 111}; /* 12: text order 0 1 10 11 2 */

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t f = 0; f < sizeof nfiles / sizeof *nfiles; f++)
            for (int extra = 0; extra < 2; extra++) {
                rset_header h = sample_header(shapes[i].scheme, shapes[i].members, shapes[i].parity,
                                              (int)f % shapes[i].members, nfiles[f]);

                round_trip(&h, extra);
                rset_header_free(&h);
            }
}

/* Values beyond 2^32 and up to 2^64. */
static void
large_values_come_back(void **state)
{
    rset_header     h = sample_header(&rset_scheme_rs, 5, 2, 4, 1);
    rset_file_info *file = &h.infos[0].files[0];

    (void)state;
    file->attrs = (rset_attrs){.atime_secs = UINT64_MAX,
                               .atime_nsecs = UINT64_MAX,
                               .ctime_secs = UINT64_MAX - 1,
                               .ctime_nsecs = 999999999,
                               .mtime_secs = (uint64_t)1 << 63,
                               .mtime_nsecs = 0,
                               .uid = ((uint64_t)1 << 32) + 17,
                               .gid = UINT32_MAX,
                               .mode = 0107777,
                               .size = ((uint64_t)1 << 60) + 1};
    rset_sums_free(&file->sums);
    assert_int_equal(rset_sums_init(&file->sums, file->attrs.size, (uint64_t)1 << 53), 0);
    file->sums.whole = UINT64_MAX;
    assert_int_equal(file->sums.nblocks, 129);
    h.chunk = ((uint64_t)1 << 59) + 12345;
    rset_sums_free(&h.payload);
    assert_int_equal(rset_sums_init(&h.payload, 2 * h.chunk, (uint64_t)1 << 55), 0);
    round_trip(&h, true);
    round_trip(&h, false);
    rset_header_free(&h);
}

/* A path is any bytes: it is data. Up to RSET_PATH_MAX of them. */
static void
paths_come_back_unchanged(void **state)
{
    static const char *const paths[] = {"/etc/passwd", "../../x", "a\nb", "\xff\x01", " ", "DESC"};
    rset_header              h = sample_header(&rset_scheme_xor, 3, 1, 0, 1);
    char                    *longest = sample_alloc(RSET_PATH_MAX + 2, 1);
    rset_err                 err = RSET_ERR_NONE;
    uint8_t                 *buf = NULL;
    size_t                   len;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        free(h.infos[0].files[0].path);
        h.infos[0].files[0].path = strdup(paths[i]);
        round_trip(&h, true);
    }
    memset(longest, 'p', RSET_PATH_MAX);
    free(h.infos[0].files[0].path);
    h.infos[0].files[0].path = longest;
    round_trip(&h, false);
    longest[RSET_PATH_MAX] = 'p'; /* what could not be read again is not written */
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, &err), RSET_BUG);
    assert_null(buf);
    rset_header_free(&h);
}

/* Up to RSET_HOST_MAX bytes. Without our own keys, and in files of earlier versions, there is none. */
static void
hosts_come_back_unchanged(void **state)
{
    static const cut none = {"DESC/0/HOST", NULL, NULL};
    rset_header      h = sample_header(&rset_scheme_xor, 3, 1, 0, 1), back;
    char            *longest = sample_alloc(RSET_HOST_MAX + 2, 1);
    rset_err         err = RSET_ERR_NONE;
    uint8_t         *buf, *without, *none_out = NULL;
    size_t           len, len2;

    (void)state;
    assert_string_equal(h.infos[0].host, "node0");
    buf = sample_pack(&h, &len);
    without = cut_buffer(buf, len, &none, &len2);
    assert_int_equal(rset_format_unpack_header(without, len2, "file", 0, &back, &err), RSET_OK);
    assert_null(back.infos[0].host);
    assert_string_equal(back.infos[1].host, "node2");
    rset_header_free(&back);
    memset(longest, 'h', RSET_HOST_MAX);
    free(h.infos[0].host);
    h.infos[0].host = longest;
    round_trip(&h, true);
    round_trip(&h, false);
    longest[RSET_HOST_MAX] = 'h'; /* what could not be read again is not written */
    assert_int_equal(rset_format_pack_header(&h, true, &none_out, &len2, &err), RSET_BUG);
    longest[0] = '\0';
    assert_int_equal(rset_format_pack_header(&h, true, &none_out, &len2, &err), RSET_BUG);
    assert_null(none_out);
    rset_header_free(&h);
    free(buf);
    free(without);
}

/* Up to RSET_STAMP_TEXT bytes of printable UTF-8; what could not be read again is not written. */
static void
stamps_come_back_unchanged(void **state)
{
    static const char *const bad[] = {"", "a\nb", "\x7f", "\xc2\x85", "\xe2\x80\xae", "\xff"};
    rset_header              h = sample_header(&rset_scheme_xor, 3, 1, 1, 1);
    rset_err                 err = RSET_ERR_NONE;
    uint8_t                 *none_out = NULL;
    size_t                   len;
    char                    *longest = sample_alloc(RSET_STAMP_TEXT + 2, 1);

    (void)state;
    assert_string_equal(h.infos[0].stamp.user, "ann");
    memset(longest, 'l', RSET_STAMP_TEXT);
    free(h.infos[0].stamp.label);
    h.infos[0].stamp.label = longest;
    round_trip(&h, true);
    round_trip(&h, false);
    longest[RSET_STAMP_TEXT] = 'l';
    assert_int_equal(rset_format_pack_header(&h, true, &none_out, &len, &err), RSET_BUG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(longest, bad[i]);
        assert_int_equal(rset_format_pack_header(&h, true, &none_out, &len, &err), RSET_BUG);
    }
    assert_null(none_out);
    rset_header_free(&h);
}

/* What is text that may be recorded, and printed as it is. */
static void
printable_text(void **state)
{
    static const char *const good[] = {"a",
                                       "before the storm",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\"quoted\" \\",
                                       "\xd8\x9b",
                                       "\xe2\x80\x8d"};
    static const char *const bad[] = {"",
                                      "\t",
                                      "a\x1b[2J",
                                      "\x80",
                                      "\xc3",
                                      "\xc3(",
                                      "\xc0\xaf",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80",
                                      "\xe2\x80\xa8",
                                      "\xef\xbb\xbf",
                                      "\xe2\x81\xa6",
                                      "\xe2\x80\x8e",
                                      "\xe2\x80\x8f",
                                      "\xd8\x9c",
                                      "\xef\xbf\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(rset_stamp_may_be(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rset_stamp_may_be(bad[i]))
            fail_msg("bad text %zu was taken", i);
}

/* FM4: before the neighbours' infos are there, of which only the size is known. */
static void
the_size_of_a_header_is_known_before(void **state)
{
    static const rset_scheme *schemes[] = {&rset_scheme_single, &rset_scheme_partner,
                                           &rset_scheme_xor, &rset_scheme_rs};

    (void)state;
    for (int k = 0; k < 4; k++)
        for (int extra = 0; extra < 2; extra++) {
            const int   parity = k == 0 ? 0 : k == 2 ? 1 : 3, members = k == 0 ? 1 : 12;
            rset_header h = sample_header(schemes[k], members, parity, members / 12, 3), own = h;
            rset_info   infos[4] = {h.infos[0]};
            rset_err    err = RSET_ERR_NONE;
            size_t      neighbours = 0, len, expected;
            uint8_t    *buf;

            own.infos = infos;
            for (int d = 1; d < h.ninfos; d++) {
                assert_int_equal(rset_format_pack_info(&h.infos[d], extra, &buf, &len, &err),
                                 RSET_OK);
                free(buf);
                neighbours += len;
            }
            free(sample_packed(&h, extra, &expected));
            assert_int_equal(rset_format_header_size(&own, extra, neighbours, &len, &err), RSET_OK);
            assert_int_equal(len, expected);
            rset_header_free(&h);
        }
}

static void
infos_come_back_and_are_copied(void **state)
{
    (void)state;
    for (int nfiles = 0; nfiles < 13; nfiles += 12) {
        rset_header h = sample_header(&rset_scheme_partner, 4, 1, 1, nfiles);
        rset_info   back, copy;
        rset_err    err = RSET_ERR_NONE;
        uint8_t    *buf;
        size_t      len;

        for (int extra = 0; extra < 2; extra++) {
            assert_int_equal(rset_format_pack_info(&h.infos[1], extra, &buf, &len, &err), RSET_OK);
            assert_int_equal(rset_format_unpack_info(buf, len, "peer", &back, &err), RSET_OK);
            assert_same_info(&h.infos[1], &back, extra);
            assert_int_equal(rset_info_copy(&back, &copy, &err), RSET_OK);
            rset_info_free(&back);
            assert_same_info(&h.infos[1], &copy, extra);
            rset_info_free(&copy);
            for (size_t n = 0; n < len; n++)
                assert_int_equal(rset_format_unpack_info(buf, n, "peer", &back, NULL),
                                 RSET_DAMAGED);
            free(buf);
        }
        rset_header_free(&h);
    }
}

/* FORMAT.md 10: what upstream leaves after a rebuild. */
static void
leftovers_of_a_rebuild_are_accepted(void **state)
{
    static const cut more_ranks = {"RANK", NULL, "3"}, more_info = {"DESC", NULL, "3"},
                     foreign = {"RANK", NULL, "x"};
    rset_header h = sample_header(&rset_scheme_partner, 5, 2, 1, 2), back; /* infos of 1, 0, 4 */
    size_t      len, len2, len3;
    uint8_t    *buf = sample_pack(&h, &len);
    uint8_t    *ranks = cut_buffer(buf, len, &more_ranks, &len2), *both, *bad;
    rset_err    err = RSET_ERR_NONE;

    (void)state;
    both = cut_buffer(ranks, len2, &more_info, &len3); /* an extra info that is nonsense: ignored */
    for (int member = -1; member < 6; member++) {
        rset_status st = rset_format_unpack_header(both, len3, "file", member, &back, NULL);

        if (member == -1 || member == 1) {
            assert_int_equal(st, RSET_OK);
            assert_false(back.has_payload_sums); /* may be another member's */
            h.has_payload_sums = false;
            assert_same_header(&h, &back, true);
            rset_header_free(&back);
        } else
            assert_int_equal(st, RSET_DAMAGED);
    }
    bad = cut_buffer(buf, len, &foreign, &len2);
    assert_int_equal(rset_format_unpack_header(bad, len2, "file", 1, &back, &err), RSET_DAMAGED);
    free(bad);
    free(both);
    free(ranks);
    free(buf);
    rset_header_free(&h);
}

/* P8: a header without our keys, or with only some of ours where upstream kept them. */
static void
headers_without_our_keys_are_accepted(void **state)
{
    static const cut no_payload = {"PAYLOAD", NULL, NULL}, unknown = {"", NULL, "NEWKEY"};
    rset_header      h = sample_header(&rset_scheme_xor, 3, 1, 1, 1), back;
    size_t           len, len2;
    uint8_t         *buf = sample_pack(&h, &len), *cutted;
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    cutted = cut_buffer(buf, len, &unknown, &len2);
    assert_int_equal(rset_format_unpack_header(cutted, len2, "file", 1, &back, &err), RSET_OK);
    assert_same_header(&h, &back, true);
    rset_header_free(&back);
    free(cutted);
    cutted = cut_buffer(buf, len, &no_payload, &len2);
    assert_int_equal(rset_format_unpack_header(cutted, len2, "file", 1, &back, &err), RSET_OK);
    h.has_payload_sums = false;
    assert_same_header(&h, &back, true);
    rset_header_free(&back);
    free(cutted);
    free(buf);
    rset_header_free(&h);
}

static void
descriptor_files_come_back_in_order(void **state)
{
    (void)state;
    for (int own = 0; own < 7; own++) {
        rset_header h = sample_header(&rset_scheme_rs, 7, 3, own, 0);
        rset_desc   descs[4];
        rset_descs  back;
        rset_err    err = RSET_ERR_NONE;
        uint8_t    *buf = NULL;
        size_t      len;

        for (int d = 0; d < 4; d++)
            descs[d] = h.infos[d].desc;
        for (int extra = 0; extra < 2; extra++) {
            assert_int_equal(rset_format_pack_descs(descs, 4, extra, &buf, &len, &err), RSET_OK);
            assert_int_equal(rset_format_unpack_descs(buf, len, "file", descs[0].rank, &back, &err),
                             RSET_OK);
            assert_int_equal(back.n, 4);
            for (int d = 0; d < 4; d++)
                assert_same_desc(&descs[d], &back.at[d], extra);
            free(back.at);
            assert_int_equal(rset_format_unpack_descs(buf, len, "file", 2, &back, &err), RSET_OK);
            for (int d = 1; d < back.n; d++)
                assert_true(back.at[d - 1].member < back.at[d].member);
            free(back.at);
            /* a neighbour's rank in the name: its own left neighbours are not all there */
            assert_int_equal(rset_format_unpack_descs(buf, len, "file", descs[1].rank, &back, NULL),
                             RSET_DAMAGED);
            free(buf);
        }
        assert_int_equal(rset_format_pack_descs(descs, 3, true, &buf, &len, NULL), RSET_BUG);
        rset_header_free(&h);
    }
}

/* What would be refused when read is not written either. */
static void
inconsistent_headers_are_not_written(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 2), bad;
    uint8_t    *buf = NULL;
    size_t      len;

    (void)state;
    bad = h, bad.member = 1;
    assert_int_equal(rset_format_pack_header(&bad, true, &buf, &len, NULL), RSET_BUG);
    bad = h, bad.ninfos = 1;
    assert_int_equal(rset_format_pack_header(&bad, true, &buf, &len, NULL), RSET_BUG);
    bad = h, bad.chunk = 0;
    assert_int_equal(rset_format_pack_header(&bad, true, &buf, &len, NULL), RSET_BUG);
    bad = h, bad.payload.size--;
    assert_int_equal(rset_format_pack_header(&bad, true, &buf, &len, NULL), RSET_BUG);
    h.infos[1].desc.generation++;
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_BUG);
    assert_null(buf);
    rset_header_free(&h);
    rset_header_free(&h); /* zeroed: fine */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_come_back_under_every_scheme),
        cmocka_unit_test(large_values_come_back),
        cmocka_unit_test(paths_come_back_unchanged),
        cmocka_unit_test(hosts_come_back_unchanged),
        cmocka_unit_test(stamps_come_back_unchanged),
        cmocka_unit_test(printable_text),
        cmocka_unit_test(the_size_of_a_header_is_known_before),
        cmocka_unit_test(infos_come_back_and_are_copied),
        cmocka_unit_test(leftovers_of_a_rebuild_are_accepted),
        cmocka_unit_test(headers_without_our_keys_are_accepted),
        cmocka_unit_test(descriptor_files_come_back_in_order),
        cmocka_unit_test(inconsistent_headers_are_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
