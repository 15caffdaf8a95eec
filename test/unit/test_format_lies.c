/* test_format_lies.c: headers that lie, each with a valid checksum (B8, B9): keys that are missing, more or wrong, and
 * sizes that do not add up. Refused, whatever it is, and never used (P2, P7). */
#include "format_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Every change of the list, applied to a header of member 2 of an XOR or RS set of 4, two files each. */
static void
assert_all_refused(const rset_scheme *scheme, int parity, const cut *cuts, size_t n)
{
    rset_header h = sample_header(scheme, 4, parity, 2, 2), back;
    size_t      len, len2;
    uint8_t    *buf = sample_pack(&h, &len), *bad;

    assert_int_equal(rset_format_unpack_header(buf, len, "file", 2, &back, NULL), RSET_OK);
    rset_header_free(&back);
    for (size_t i = 0; i < n; i++) {
        char damage[256];

        snprintf(damage, sizeof damage, "%s %s %.40s", cuts[i].path,
                 cuts[i].value != NULL ? "="
                 : cuts[i].add != NULL ? "+"
                                       : "removed",
                 cuts[i].value != NULL ? cuts[i].value
                 : cuts[i].add != NULL ? cuts[i].add
                                       : "");
        bad = cut_buffer(buf, len, &cuts[i], &len2);
        if (len == len2 && memcmp(buf, bad, len) == 0)
            fail_msg("no damage done: %s", damage);
        assert_sample_refused(bad, len2, 2, damage);
        free(bad);
    }
    free(buf);
    rset_header_free(&h);
}

#define REMOVED NULL, NULL
#define NUMBERS_REFUSED(path)                                                                      \
    {path, REMOVED}, {path, "", NULL}, {path, "-1", NULL}, {path, "+1", NULL}, {path, "x", NULL},  \
        {path, NULL, "12345678901"},                                                               \
    {                                                                                              \
        path, "18446744073709551616", NULL                                                         \
    }
#define SMALL_NUMBERS_REFUSED(path)                                                                \
    NUMBERS_REFUSED(path), {path, "4294967296", NULL}, {path, "4294967298", NULL},                 \
        {path, "16777217", NULL},                                                                  \
    {                                                                                              \
        path, "18446744073709551615", NULL                                                         \
    }

#define DESC  "DESC/2/DESC/"
#define LEFT  "DESC/1/DESC/"
#define FILE0 "DESC/2/FILE/0/dir/ckpt_5_0.h5/" /* 65537 bytes: 2 blocks */
#define FILE1 "DESC/1/FILE/1/dir/ckpt_3_1.h5/" /* empty */

static void
wrong_top_level_keys(void **state)
{
    static const cut cuts[] = {
        NUMBERS_REFUSED("CHUNK"),
        {"CHUNK", "0", NULL},
        {"CHUNK", "1", NULL},
        {"CHUNK", "01", NULL},
        {"CHUNK", "9223372036854775807", NULL},
        {"CHUNK", "9223372036854775808", NULL},
        {"CHUNK", "4611686018427387904", NULL},
        {"DESC", REMOVED},
        {"DESC", "2", NULL},
        {"DESC/2", REMOVED},
        {"DESC/1", REMOVED},
        {"DESC/2", "DESC", NULL},
        {"DESC/1", "x", NULL},
        {"RANK", REMOVED},
        {"RANK", "1", NULL},
        {"RANK", "0", NULL},
        {"RANK", "4", NULL},
        {"RANK", "02", NULL},
        {"RANK", NULL, "-1"},
        {"RANK", NULL, "4294967298"},
        {"GROUP", REMOVED},
        {"GROUP", "0", NULL},
        {"GROUP/RANK", REMOVED},
        {"GROUP/RANKS", REMOVED},
        {"GROUP/RANKS", "3", NULL},
        {"GROUP/RANKS", "5", NULL},
        {"GROUP/RANKS", "4294967295", NULL},
        {"GROUP/RANK/3", REMOVED},
        {"GROUP/RANK", NULL, "4"},
        {"GROUP/RANK", NULL, "x"},
        {"GROUP/RANK/3", "1", NULL},
        {"GROUP/RANK/0", NULL, "2"},
        {"GROUP/RANK/0", "18", NULL},
        {"GROUP/RANK/0", "x", NULL},
        {"GROUP/RANK/0", "4294967297", NULL},
        {"GROUP/RANK/2", "2", NULL},
        {"GROUP/RANK/1", "2", NULL},
        {"VFD", "0", NULL},
        {"VFD", "0", NULL},
        {"VFD", "x", NULL},
        {"VFD", NULL, "2"},
        {"PAYLOAD", "x", NULL},
        {"PAYLOAD/SIZE", REMOVED},
        {"PAYLOAD/SIZE", "1", NULL},
        {"PAYLOAD/SIZE", "18446744073709551615", NULL},
        {"PAYLOAD/CRC64", REMOVED},
        {"PAYLOAD/CRC64_BLOCK", REMOVED},
        {"PAYLOAD/CRC64_BLOCKS", REMOVED},
    };

    (void)state;
    assert_all_refused(&rset_scheme_xor, 1, cuts, sizeof cuts / sizeof *cuts);
    assert_all_refused(&rset_scheme_rs, 1, cuts, sizeof cuts / sizeof *cuts);
}

/* The number of the format (FORMAT-extensions.md 1): one that this reader does not know is said to be that. */
static void
another_number_is_named(void **state)
{
    static const cut c = {"VFD", "2", NULL};
    rset_header      h = sample_header(&rset_scheme_xor, 4, 1, 2, 2), none = {.infos = NULL};
    size_t           len, len2;
    uint8_t         *buf = sample_pack(&h, &len), *bad = cut_buffer(buf, len, &c, &len2);
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(len2, len);
    assert_int_equal(rset_format_unpack_header(bad, len2, "file", 2, &none, &err), RSET_USAGE);
    assert_non_null(
        strstr(err.text, "newer release of redset (its VFD is 2, this release knows 1)"));
    rset_header_free(&h);
    free(buf);
    free(bad);
}

static void
wrong_descriptors(void **state)
{
    static const cut cuts[] = {
        {"DESC/2/DESC", REMOVED},
        {"DESC/2/DESC", "x", NULL},
        {"DESC/1/DESC", REMOVED},
        {DESC "ENABLED", REMOVED},
        {DESC "ENABLED", "0", NULL},
        {DESC "TYPE", REMOVED},
        {DESC "TYPE", "RAID", NULL},
        {DESC "TYPE", "", NULL},
        {DESC "TYPE", "SINGLE", NULL},
        {DESC "TYPE", "XOR", NULL},
        {LEFT "TYPE", "XOR", NULL},
        {DESC "TYPE", NULL, "XOR"},
        {DESC "TYPE", "PARTNER", NULL},
        SMALL_NUMBERS_REFUSED(DESC "CKSUM"),
        SMALL_NUMBERS_REFUSED(DESC "GROUP"),
        SMALL_NUMBERS_REFUSED(DESC "GROUPS"),
        SMALL_NUMBERS_REFUSED(DESC "RANK"),
        SMALL_NUMBERS_REFUSED(DESC "RANKS"),
        SMALL_NUMBERS_REFUSED(DESC "WRANK"),
        SMALL_NUMBERS_REFUSED(DESC "WRANKS"),
        SMALL_NUMBERS_REFUSED(LEFT "RANK"),
        {DESC "CKSUM", "0", NULL},
        {DESC "CKSUM", "4", NULL},
        {DESC "CKSUM", "3", NULL},
        {DESC "CKSUM", "255", NULL},
        {DESC "CKSUM", "01", NULL},
        {LEFT "CKSUM", "1", NULL},
        {DESC "GROUP", "3", NULL},
        {DESC "GROUP", "0", NULL},
        {LEFT "GROUP", "0", NULL},
        {DESC "GROUPS", "1", NULL},
        {DESC "GROUPS", "4", NULL},
        {DESC "GROUPS", "0", NULL},
        {DESC "RANK", "4", NULL},
        {DESC "RANK", "1", NULL},
        {LEFT "RANK", "2", NULL},
        {LEFT "RANK", "3", NULL},
        {DESC "RANKS", "0", NULL},
        {DESC "RANKS", "2", NULL},
        {DESC "RANKS", "5", NULL},
        {DESC "RANKS", "16777216", NULL},
        {LEFT "RANKS", "5", NULL},
        {DESC "WRANK", "6", NULL},
        {DESC "WRANK", "18", NULL},
        {LEFT "WRANK", "5", NULL},
        {DESC "WRANKS", "0", NULL},
        {DESC "WRANKS", "5", NULL},
        {DESC "WRANKS", "19", NULL},
        {LEFT "WRANKS", "19", NULL},
        {DESC "GENERATION", "x", NULL},
        {DESC "GENERATION", "18446744073709551616", NULL},
        {DESC "GENERATION", "1", NULL},
        {LEFT "GENERATION", "1", NULL},
        {LEFT "GENERATION", REMOVED},
        {DESC "GENERATION", NULL, "1"},
    };

    (void)state;
    assert_all_refused(&rset_scheme_rs, 2, cuts, sizeof cuts / sizeof *cuts);
}

static void
wrong_files(void **state)
{
    static char      too_long[RSET_PATH_MAX + 2], long_host[RSET_HOST_MAX + 2];
    static char      long_label[RSET_STAMP_TEXT + 2];
    static const cut cuts[] = {
        {"DESC/2/HOST", "", NULL},
        {"DESC/2/HOST", NULL, "two"},
        {"DESC/2/HOST", long_host, NULL},
        {"DESC/2/TIME", "", NULL},
        {"DESC/2/TIME", "soon", NULL},
        {"DESC/2/TIME", "-1", NULL},
        {"DESC/2/TIME", "9223372036854775808", NULL},
        {"DESC/2/SINCE", "", NULL},
        {"DESC/2/SINCE", "-1", NULL},
        {"DESC/2/SINCE", NULL, "1"},
        {"DESC/2/JOB", "", NULL},
        {"DESC/2/JOB", "a\nb", NULL},
        {"DESC/2/USER", "\x1b[2J", NULL},
        {"DESC/2/LABEL", "", NULL},
        {"DESC/2/LABEL", NULL, "two"},
        {"DESC/2/LABEL", "\xc3", NULL},
        {"DESC/2/LABEL", "\xe2\x80\xae", NULL},
        {"DESC/2/LABEL", long_label, NULL},
        {"DESC/2/FILE", REMOVED},
        {"DESC/2/FILE", "x", NULL},
        {"DESC/2/FILE", "0", NULL},
        {"DESC/2/FILES", REMOVED},
        {"DESC/2/FILES", "0", NULL},
        {"DESC/2/FILES", "1", NULL},
        {"DESC/2/FILES", "3", NULL},
        {"DESC/2/FILES", "4294967295", NULL},
        {"DESC/2/FILES", "4294967298", NULL},
        {"DESC/2/FILES", "18446744073709551615", NULL},
        {"DESC/1/FILES", "02", NULL},
        {"DESC/2/FILE/0", REMOVED},
        {"DESC/2/FILE", NULL, "2"},
        {"DESC/2/FILE", NULL, "00"},
        {"DESC/2/FILE/1", "x", NULL},
        {"DESC/2/FILE/1", NULL, "x"},
        {"DESC/2/FILE/1", "", NULL},
        {"DESC/2/FILE/1", too_long, NULL},
        NUMBERS_REFUSED(FILE0 "ATIME_NSECS"),
        NUMBERS_REFUSED(FILE0 "ATIME_SECS"),
        NUMBERS_REFUSED(FILE0 "CTIME_NSECS"),
        NUMBERS_REFUSED(FILE0 "CTIME_SECS"),
        NUMBERS_REFUSED(FILE0 "GID"),
        NUMBERS_REFUSED(FILE0 "MODE"),
        NUMBERS_REFUSED(FILE0 "UID"),
        NUMBERS_REFUSED(FILE0 "MTIME_NSECS"),
        NUMBERS_REFUSED(FILE0 "MTIME_SECS"),
        NUMBERS_REFUSED(FILE0 "SIZE"),
        {FILE0 "MODE", "0644", NULL},
        {FILE0 "SIZE", "0", NULL},
        {FILE0 "SIZE", "65536", NULL},
        {FILE0 "SIZE", "131073", NULL},
        {FILE0 "SIZE", "9223372036854775807", NULL},
        {FILE0 "SIZE", "9223372036854775808", NULL},
        {FILE0 "SIZE", "18446744073709551615", NULL},
        {FILE0 "CRC64", REMOVED},
        {FILE0 "CRC64", "0123456789abcde", NULL},
        {FILE0 "CRC64", "0123456789abcdef0", NULL},
        {FILE0 "CRC64", "0123456789ABCDEF", NULL},
        {FILE0 "CRC64", "0123456789abcdeg", NULL},
        {FILE0 "CRC64", "0x23456789abcdef", NULL},
        {FILE0 "CRC64", NULL, "0123456789abcdef"},
        {FILE0 "CRC64_BLOCK", REMOVED},
        {FILE0 "CRC64_BLOCK", "0", NULL},
        {FILE0 "CRC64_BLOCK", "1", NULL},
        {FILE0 "CRC64_BLOCK", "131072", NULL},
        {FILE0 "CRC64_BLOCK", "18446744073709551615", NULL},
        {FILE0 "CRC64_BLOCK", "x", NULL},
        {FILE0 "CRC64_BLOCKS", REMOVED},
        {FILE0 "CRC64_BLOCKS", "", NULL},
        {FILE0 "CRC64_BLOCKS", "0123456789abcdef", NULL},
        {FILE0 "CRC64_BLOCKS", "0123456789abcdef0123456789abcde", NULL},
        {FILE0 "CRC64_BLOCKS", "0123456789abcdef0123456789abcdef0", NULL},
        {FILE0 "CRC64_BLOCKS", "0123456789abcdef0123456789abcdeg", NULL},
        {FILE0 "CRC64_BLOCKS", "0123456789abcdef0123456789abcdef0123456789abcdef0", NULL},
        {FILE1 "SIZE", "1", NULL},
        {FILE1 "CRC64_BLOCK", "0", NULL},
    };

    (void)state;
    memset(too_long, 'p', sizeof too_long - 1);
    memset(long_host, 'h', sizeof long_host - 1);
    memset(long_label, 'l', sizeof long_label - 1);
    assert_all_refused(&rset_scheme_xor, 1, cuts, sizeof cuts / sizeof *cuts);
}

/* An empty file has no blocks: an (empty) list of them is damage. */
static void
empty_list_of_blocks(void **state)
{
    static const cut add = {"DESC/1/FILE/1/dir/ckpt_3_1.h5", NULL, "CRC64_BLOCKS"};

    (void)state;
    assert_all_refused(&rset_scheme_xor, 1, &add, 1);
}

/* Sums of sizes that wrap, and sizes larger than the chunks can hold. */
static void
sizes_that_do_not_add_up(void **state)
{
    static const struct {
        const char *size0, *size1;
    } sizes[] = {{"9223372036854775807", "1"},
                 {"9223372036854775807", "9223372036854775807"},
                 {"1099511627776", "0"},
                 {"4611686018427387904", "4611686018427387904"}};
    const rset_scheme *schemes[] = {&rset_scheme_xor, &rset_scheme_partner};

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        rset_header h = sample_header(schemes[s], 4, 1, 2, 2), back;
        rset_err    err = RSET_ERR_NONE;
        size_t      len, len2, len3;
        uint8_t    *buf, *one, *two;

        assert_int_equal(rset_format_pack_header(&h, false, &buf, &len, &err), RSET_OK);
        assert_int_equal(rset_format_unpack_header(buf, len, "file", 2, &back, NULL), RSET_OK);
        rset_header_free(&back);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            cut first = {FILE0 "SIZE", sizes[i].size0, NULL};
            cut second = {"DESC/2/FILE/1/dir/ckpt_5_1.h5/SIZE", sizes[i].size1, NULL};

            if (s == 1 && i == 2) /* without chunks a file may have any size */
                continue;
            one = cut_buffer(buf, len, &first, &len2);
            two = cut_buffer(one, len2, &second, &len3);
            assert_sample_refused(two, len3, 2, sizes[i].size0);
            free(one);
            free(two);
        }
        free(buf);
        rset_header_free(&h);
    }
}

/* PARTNER and SINGLE: impossible sets, and a payload whose parts add up to more than 2^63. */
static void
wrong_partner_and_single(void **state)
{
    static const cut partner[] = {
        {DESC "REPLICAS", REMOVED},
        {DESC "REPLICAS", "0", NULL},
        {DESC "REPLICAS", "4", NULL},
        {DESC "REPLICAS", "3", NULL},
        {DESC "REPLICAS", "16777215", NULL},
        {DESC "RANKS", "1", NULL},
        {DESC "WRANK", "3", NULL},
        {"DESC/0", REMOVED},
        {LEFT "RANK", "3", NULL},
        {LEFT "RANK", "0", NULL},
        {"DESC/1/FILE/0/dir/ckpt_3_0.h5/SIZE", "5", NULL},
        {"PAYLOAD/SIZE", "5", NULL},
    };

    (void)state;
    assert_all_refused(&rset_scheme_partner, 2, partner, sizeof partner / sizeof *partner);
}

/* RS with k = 1 and XOR differ in nothing but TYPE. */
static void
neighbour_of_another_scheme(void **state)
{
    static const cut type = {LEFT "TYPE", "XOR", NULL};

    (void)state;
    assert_all_refused(&rset_scheme_rs, 1, &type, 1);
}

/* Descriptor files: the same care. */
static void
wrong_descriptor_files(void **state)
{
    static const cut cuts[] = {
        {"5", REMOVED},
        {"3", REMOVED},
        {"", NULL, "7"},
        {"5/DESC", REMOVED},
        {"5", "DESC", NULL},
        {"5/DESC/WRANK", "3", NULL},
        {"3/DESC/WRANK", "5", NULL},
        {"5/DESC/RANK", "1", NULL},
        {"3/DESC/RANK", "2", NULL},
        {"3/DESC/RANK", "3", NULL},
        {"3/DESC/GROUP", "0", NULL},
        {"3/DESC/GENERATION", "7", NULL},
        {"5/DESC/RANK", REMOVED},
        {"3/DESC/TYPE", "RS", NULL},
        {"5/DESC/RANKS", "4294967300", NULL},
    };
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 0);
    rset_desc   descs[2] = {h.infos[0].desc, h.infos[1].desc};
    rset_descs  back;
    rset_err    err = RSET_ERR_NONE;
    uint8_t    *buf, *bad;
    size_t      len, len2;

    (void)state;
    assert_int_equal(rset_format_pack_descs(descs, 2, true, &buf, &len, &err), RSET_OK);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        rset_status st;

        bad = cut_buffer(buf, len, &cuts[i], &len2);
        st = rset_format_unpack_descs(bad, len2, "file", 5, &back, NULL);
        if (i == 0 && st == RSET_OK) /* without the own one it is a list of others' descriptors */
            free(back.at);
        else if (st != RSET_DAMAGED)
            fail_msg("not refused: %s", cuts[i].path);
        if (strcmp(cuts[i].path, "3/DESC/RANK") == 0) /* one member twice; read for another rank */
            assert_int_equal(rset_format_unpack_descs(bad, len2, "file", 0, &back, NULL),
                             cuts[i].value[0] == '2' ? RSET_DAMAGED : RSET_OK);
        if (strcmp(cuts[i].path, "3/DESC/RANK") == 0 && cuts[i].value[0] != '2')
            free(back.at);
        free(bad);
    }
    for (size_t bit = 0; bit < len * 8; bit++) {
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(rset_format_unpack_descs(buf, len, "file", 5, &back, NULL), RSET_DAMAGED);
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf = realloc(buf, len + 1);
    buf[len] = 0;
    assert_int_equal(rset_format_unpack_descs(buf, len + 1, "file", 5, &back, NULL), RSET_DAMAGED);
    free(buf);
    rset_header_free(&h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_top_level_keys),     cmocka_unit_test(another_number_is_named),
        cmocka_unit_test(wrong_descriptors),        cmocka_unit_test(wrong_files),
        cmocka_unit_test(empty_list_of_blocks),     cmocka_unit_test(sizes_that_do_not_add_up),
        cmocka_unit_test(wrong_partner_and_single), cmocka_unit_test(neighbour_of_another_scheme),
        cmocka_unit_test(wrong_descriptor_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
