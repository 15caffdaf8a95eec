/* test_format_bounds.c: values of headers that are wrong only beside others, one at a time, so
 * that each check stands alone; headers that do not say whose they are (FORMAT.md 10). */
#include "format_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Each number of a descriptor against the one that bounds it, with all others right. Reading and
 * writing share these checks, so they are tried where it is easiest: when writing. */
static void
descriptors_out_of_bounds(void **state)
{
    const rset_desc single = {
        .scheme = &rset_scheme_single, .members = 1, .set = 2, .sets = 5, .rank = 2, .ranks = 5};
    rset_desc bad[8];
    rset_info info = {.desc = single};
    uint8_t  *buf = NULL;
    size_t    len;

    (void)state;
    assert_int_equal(rset_format_pack_info(&info, true, &buf, &len, NULL), RSET_OK);
    free(buf);
    for (size_t i = 0; i < 8; i++)
        bad[i] = single;
    bad[0].member = 1;
    bad[1].set = 5;
    bad[2].rank = 5;
    bad[3].sets = 6;
    bad[4].rank = -1;
    bad[5].parity = 1;
    bad[6].scheme = NULL;
    bad[7] = (rset_desc){.scheme = &rset_scheme_xor,
                         .parity = 1,
                         .members = 4,
                         .sets = 1,
                         .ranks = 3}; /* more members than ranks */
    for (size_t i = 0; i < 8; i++) {
        info.desc = bad[i];
        assert_int_equal(rset_format_pack_info(&info, true, &buf, &len, NULL), RSET_BUG);
    }
}

/* Numbers that are only wrong together with others: products and sums that wrap. */
static void
sizes_out_of_bounds(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 0);
    uint8_t    *buf = NULL;
    size_t      len;

    (void)state;
    h.has_payload_sums = false;
    h.chunk = 0; /* all known files are empty: no file is too long for it */
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_BUG);
    h.chunk = (uint64_t)1 << 61; /* times 4 members */
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_BUG);
    h.chunk--;
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_OK);
    free(buf);
    rset_sums_free(&h.payload);
    rset_header_free(&h);
    h = sample_header(&rset_scheme_partner, 4, 2, 2, 1);
    h.has_payload_sums = false;
    for (int d = 1; d <= 2; d++) {
        h.infos[d].files[0].has_sums = false;
        h.infos[d].files[0].attrs.size = INT64_MAX;
    }
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_BUG);
    h.infos[1].files[0].attrs.size = 0;
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_OK);
    free(buf);
    h.infos[1].files[0].path[0] = '\0'; /* and an empty path */
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_BUG);
    rset_header_free(&h);
}

/* Two members could own the header, or too many (each costs a search); without a name nobody knows. */
static void
owner_unknown(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 2, 1, 0, 1), back;
    cut         more = {"RANK", NULL, "1"};
    size_t      len, len2;
    uint8_t    *buf = sample_pack(&h, &len), *two = cut_buffer(buf, len, &more, &len2), *next;
    char        value[16];

    (void)state;
    assert_true(sample_refused(two, len2, -1));
    assert_int_equal(rset_format_unpack_header(two, len2, "file", 0, &back, NULL), RSET_OK);
    rset_header_free(&back);
    free(two);
    more.add = value;
    for (int i = 100; i < 164; i++) {
        snprintf(value, sizeof value, "%d", i);
        next = cut_buffer(buf, len, &more, &len2);
        free(buf);
        buf = next;
        len = len2;
    }
    assert_true(sample_refused(buf, len, -1));
    assert_int_equal(rset_format_unpack_header(buf, len, "file", 0, &back, NULL), RSET_OK);
    rset_header_free(&back);
    free(buf);
    rset_header_free(&h);
}

/* PAYLOAD with nothing but a size promises checksums that are not there. */
static void
payload_without_checksums(void **state)
{
    static const cut cuts[] = {{"PAYLOAD/CRC64", NULL, NULL},
                               {"PAYLOAD/CRC64_BLOCK", NULL, NULL},
                               {"PAYLOAD/CRC64_BLOCKS", NULL, NULL}};
    rset_header      h = sample_header(&rset_scheme_xor, 4, 1, 2, 1);
    size_t           len;
    uint8_t         *buf = sample_pack(&h, &len), *next;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        next = cut_buffer(buf, len, &cuts[i], &len);
        free(buf);
        buf = next;
        assert_true(sample_refused(buf, len, 2));
    }
    free(buf);
    rset_header_free(&h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_out_of_bounds),
        cmocka_unit_test(sizes_out_of_bounds),
        cmocka_unit_test(owner_unknown),
        cmocka_unit_test(payload_without_checksums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
