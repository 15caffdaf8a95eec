/* test_format_corners.c: conditions of the parser that no file of ours and no small damage to one meets:
 * what is announced against the bytes present, lists of others, and structs that must not be written. */
#include "format/tree.h"
#include "format_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The sample with `value` under `path`, and `n` keys without anything in them under `key` of the tree (or of
 * its key `below`). */
static uint8_t *
crowded(const rset_header *h, const cut *c, const char *below, const char *key, int n, size_t *len)
{
    uint8_t   *buf = sample_pack(h, len), *out = NULL;
    rset_tree *tree = NULL, *changed = rset_tree_new(), *at;

    assert_int_equal(rset_tree_unpack(buf, *len, "sample", &tree, NULL), RSET_OK);
    cut_copy(tree, changed, c->path, c);
    at = rset_tree_add(
        below != NULL ? rset_tree_add(rset_tree_add(changed, "DESC"), below) : changed, key);
    for (int i = 0; i < n; i++)
        assert_non_null(rset_tree_add_u64(at, (uint64_t)i));
    assert_int_equal(rset_tree_pack(changed, &out, len, NULL), RSET_OK);
    rset_tree_free(changed);
    rset_tree_free(tree);
    free(buf);
    return out;
}

/* P7: the number of infos or files that is announced is backed by keys, but by nothing in them. */
static void
announced_by_empty_keys(void **state)
{
    static const cut many = {"DESC/2/DESC/REPLICAS", "1000", NULL},
                     files = {"DESC/2/FILES", "5000", NULL};
    rset_header h = sample_header(&rset_scheme_partner, 4000, 1, 2, 1);
    size_t      len;
    uint8_t    *buf = crowded(&h, &many, NULL, "DESC", 2000, &len);

    (void)state;
    assert_true(sample_refused(buf, len, 2)); /* keys enough, bytes too few */
    free(buf);
    buf = crowded(&h, &many, NULL, "DESC", 3, &len);
    assert_true(sample_refused(buf, len, 2)); /* keys too few */
    free(buf);
    buf = crowded(&h, &files, "2", "FILE", 5000, &len);
    assert_true(sample_refused(buf, len, 2));
    free(buf);
    rset_header_free(&h);
}

/* Several values of RANK, and no name: the info under one of them says that it is another's. */
static void
info_of_another_under_this_key(void **state)
{
    static const cut more = {"RANK", NULL, "1"}, other = {"DESC/2/DESC/RANK", "3", NULL};
    rset_header      h = sample_header(&rset_scheme_xor, 4, 1, 2, 1);
    size_t           len;
    uint8_t         *buf = sample_pack(&h, &len), *two = cut_buffer(buf, len, &more, &len), *bad;

    (void)state;
    bad = cut_buffer(two, len, &other, &len);
    assert_true(sample_refused(bad, len, -1));
    free(bad);
    free(two);
    free(buf);
    rset_header_free(&h);
}

static void
refused_descriptors(rset_tree *tree)
{
    rset_descs back = {0};
    uint8_t   *buf = NULL;
    size_t     len;

    assert_int_equal(rset_tree_pack(tree, &buf, &len, NULL), RSET_OK);
    assert_int_equal(rset_format_unpack_descs(buf, len, "file", 5, &back, NULL), RSET_DAMAGED);
    free(buf);
    rset_tree_free(tree);
}

static void
lists_of_nothing(void **state)
{
    rset_tree *tree = rset_tree_new();

    (void)state;
    refused_descriptors(rset_tree_new());
    for (uint64_t i = 0; i < 1000; i++)
        assert_non_null(rset_tree_add_u64(tree, i));
    refused_descriptors(tree);
}

static void
descriptor_under_no_number(void **state)
{
    rset_header h = sample_header(&rset_scheme_single, 1, 0, 0, 0);
    rset_descs  back = {0};
    rset_tree  *tree = NULL, *changed = rset_tree_new();
    uint8_t    *buf = NULL;
    size_t      len;

    (void)state;
    assert_int_equal(rset_format_pack_descs(&h.infos[0].desc, 1, true, &buf, &len, NULL), RSET_OK);
    assert_int_equal(rset_format_unpack_descs(buf, len, "file", 1, &back, NULL), RSET_OK);
    free(back.at);
    assert_int_equal(rset_tree_unpack(buf, len, "file", &tree, NULL), RSET_OK);
    cut_copy(rset_tree_child(tree, 0), rset_tree_add(changed, "one"), NULL, NULL);
    refused_descriptors(changed);
    rset_tree_free(tree);
    free(buf);
    rset_header_free(&h);
}

/* All of it, under another name where a key is `key`. */
static void
copy_renamed(const rset_tree *from, rset_tree *to, const char *key, const char *name)
{
    for (size_t i = 0; i < rset_tree_count(from); i++) {
        const char *is = rset_tree_key(from, i);

        copy_renamed(rset_tree_child(from, i), rset_tree_add(to, strcmp(is, key) == 0 ? name : is),
                     key, name);
    }
}

/* With all that belongs to the file below it. */
static void
path_longer_than_any(void **state)
{
    char        path[RSET_PATH_MAX + 2] = "";
    rset_header h = sample_header(&rset_scheme_single, 1, 0, 0, 1), back = {.infos = NULL};
    size_t      len, longer;
    uint8_t    *buf = sample_pack(&h, &len), *out = NULL;
    rset_tree  *tree = NULL;

    (void)state;
    assert_int_equal(rset_tree_unpack(buf, len, "file", &tree, NULL), RSET_OK);
    for (size_t extra = 0; extra < 2; extra++) {
        rset_tree *changed = rset_tree_new();

        memset(path, 'p', RSET_PATH_MAX + extra);
        copy_renamed(tree, changed, h.infos[0].files[0].path, path);
        assert_int_equal(rset_tree_pack(changed, &out, &longer, NULL), RSET_OK);
        if (extra == 0)
            assert_int_equal(rset_format_unpack_header(out, longer, "file", -1, &back, NULL),
                             RSET_OK);
        else
            assert_true(sample_refused(out, longer, -1));
        rset_header_free(&back);
        rset_tree_free(changed);
        free(out);
    }
    rset_tree_free(tree);
    free(buf);
    rset_header_free(&h);
}

/* An update asks for a header as long as the one before: it is, or is refused (FORMAT-extensions.md 5). */
static void
headers_of_a_given_length(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 1);
    uint8_t    *buf = NULL;
    size_t      bare, len;

    (void)state;
    h.total = 1 << 16;
    assert_int_equal(rset_format_pack_header(&h, true, &buf, &len, NULL), RSET_OK);
    assert_int_equal(len, h.total);
    free(buf);
    assert_int_equal(rset_format_pack_header(&h, false, &buf, &bare, NULL), RSET_OK);
    free(buf);
    for (h.total = bare; rset_format_pack_header(&h, true, &buf, &len, NULL) != RSET_OK; h.total++)
        assert_true(h.total < 1 << 16);
    free(buf);
    assert_int_equal(len, h.total); /* without a byte to fill up: the shortest */
    assert_true(len > bare);
    for (int more = 1; more <= 16; more++) {
        h.total = len + (size_t)more; /* the key that fills up takes 13 itself (FORMAT.md 3) */
        assert_int_equal(rset_format_pack_header(&h, true, &buf, &bare, NULL),
                         more < 13 ? RSET_USAGE : RSET_OK);
        if (more < 13)
            continue;
        assert_int_equal(bare, h.total);
        free(buf);
    }
    rset_header_free(&h);
}

/* ---- what is not written ---- */

static void
assert_no_header(const rset_header *h)
{
    uint8_t *buf = NULL;
    size_t   len;

    assert_int_equal(rset_format_pack_header(h, true, &buf, &len, NULL), RSET_BUG);
    assert_null(buf);
}

static void
headers_not_written(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 2), bad;
    rset_info  *own = &h.infos[0];
    int         rank = h.group[0];
    char       *path = own->files[0].path;

    (void)state;
    bad = h, bad.ninfos = 0;
    assert_no_header(&bad);
    bad = h, bad.group = NULL;
    assert_no_header(&bad);
    bad = h, bad.payload.block = 0;
    assert_no_header(&bad);
    h.group[0] = -1;
    assert_no_header(&h);
    h.group[0] = rank;
    rank = h.group[3];
    h.group[3] = own->desc.ranks;
    assert_no_header(&h);
    h.group[3] = rank;
    own->files[0].path = NULL;
    assert_no_header(&h);
    own->files[0].path = path;
    own->files[0].sums.size++;
    assert_no_header(&h);
    own->files[0].sums.size--;
    own->files[0].sums.block = 0;
    assert_no_header(&h);
    own->files[0].sums.block = SAMPLE_BLOCK;
    own->desc.rank = RSET_MAX_RANKS + 1;
    assert_no_header(&h);
    rset_header_free(&h);
}

static void
descriptors_not_written(void **state)
{
    rset_header h = sample_header(&rset_scheme_rs, 5, 2, 2, 0);
    rset_desc   descs[3] = {h.infos[0].desc, h.infos[1].desc, h.infos[2].desc};
    uint8_t    *buf = NULL;
    size_t      len;

    (void)state;
    assert_int_equal(rset_format_pack_descs(descs, 0, true, &buf, &len, NULL), RSET_BUG);
    descs[2].set = 2; /* there is one of that number, but it is another set */
    assert_int_equal(rset_format_pack_descs(descs, 3, true, &buf, &len, NULL), RSET_BUG);
    descs[1].set = 2;
    assert_int_equal(rset_format_pack_descs(descs, 3, true, &buf, &len, NULL), RSET_BUG);
    descs[0].members = 0;
    assert_int_equal(rset_format_pack_descs(descs, 3, true, &buf, &len, NULL), RSET_BUG);
    assert_null(buf);
    rset_header_free(&h);
}

/* ---- names and keys ---- */

static void
no_such_names(void **state)
{
    static const char *const bad[] = {
        "xor.grp_1_of_1.mem_1_of_4.redset",
        "a.3.a_word_longer_than_any_scheme.grp_1_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_4.redset",
        "a.3.xor.grp_1.mem_1_of_4.redset",
        "12.redset",
    };
    static const char *const descriptors[] = {"b_of_1.redset", "a.me_of_2.redset",
                                              "a.memory_of_2.redset"};
    rset_name                n;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rset_format_parse_name(bad[i], &n) && n.scheme != NULL)
            fail_msg("taken for a redundancy file: %s", bad[i]);
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        assert_true(rset_format_parse_name(descriptors[i], &n) && n.scheme == NULL);
}

static void
key_longer_than_any_header(void **state)
{
    char      *key = malloc(RSET_TREE_MAX_BYTES + 1);
    rset_tree *tree = rset_tree_new();

    (void)state;
    assert_non_null(key);
    memset(key, 'k', RSET_TREE_MAX_BYTES);
    key[RSET_TREE_MAX_BYTES] = '\0';
    assert_null(rset_tree_add(tree, key));
    assert_int_equal(rset_tree_count(tree), 0);
    rset_tree_free(tree);
    free(key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(announced_by_empty_keys), cmocka_unit_test(info_of_another_under_this_key),
        cmocka_unit_test(lists_of_nothing),        cmocka_unit_test(descriptor_under_no_number),
        cmocka_unit_test(path_longer_than_any),    cmocka_unit_test(headers_of_a_given_length),
        cmocka_unit_test(headers_not_written),     cmocka_unit_test(descriptors_not_written),
        cmocka_unit_test(no_such_names),           cmocka_unit_test(key_longer_than_any_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
