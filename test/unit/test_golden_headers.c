/* test_golden_headers.c: every redundancy and descriptor file that LLNL redset 0.4.0 wrote
 * (FORMAT.md 12, "Reader test") is read, and written again byte for byte (P8). */
#include "format/format.h"
#include "format/tree.h"
#include "golden.h"
#include "image.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#ifndef FORMAT_VECTORS
#define FORMAT_VECTORS "test/golden/vectors"
#endif

enum { ORIGINALS = 116 }; /* .redset files of the twelve original vectors */

/* Calls visit for each .redset file of each vector that is an original, or of each that upstream has
 * rebuilt. Returns the number of files. */
static int
each_file(bool want_rebuilt, void (*visit)(const char *dir, const char *name))
{
    char           path[4096];
    struct dirent *v, *n, *f;
    DIR           *vs = opendir(vectors()), *ns, *fs;
    int            files = 0;

    if (vs == NULL)
        fail_msg("no vectors in %s: set FORMAT_VECTORS", vectors());
    while ((v = readdir(vs)) != NULL) {
        bool rebuilt = strstr(v->d_name, "_rebuilt") != NULL;

        if (v->d_name[0] == '.' || v->d_type == DT_REG || rebuilt != want_rebuilt)
            continue;
        snprintf(path, sizeof path, "%s/%s", vectors(), v->d_name);
        ns = opendir(path);
        while (ns != NULL && (n = readdir(ns)) != NULL) {
            if (n->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s/%s", vectors(), v->d_name, n->d_name);
            fs = opendir(path);
            while (fs != NULL && (f = readdir(fs)) != NULL)
                if (strstr(f->d_name, ".redset") != NULL) {
                    visit(path, f->d_name);
                    files++;
                }
            if (fs != NULL)
                closedir(fs);
        }
        if (ns != NULL)
            closedir(ns);
    }
    closedir(vs);
    return files;
}

static void
assert_same(const char *path, const uint8_t *a, size_t len_a, const uint8_t *b, size_t len_b)
{
    if (len_a != len_b || memcmp(a, b, len_a) != 0)
        fail_msg("%s: %zu bytes became %zu others", path, len_a, len_b);
}

static void
through_tree(const char *dir, const char *name)
{
    char       path[8192];
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *buf, *again = NULL;
    size_t     len, total, len2 = 0;
    rset_tree *tree = NULL;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    buf = read_file(path, &len);
    if (rset_tree_total(buf, len, path, &total, &err) != RSET_OK ||
        rset_tree_unpack(buf, total, path, &tree, &err) != RSET_OK ||
        rset_tree_pack(tree, &again, &len2, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_same(path, buf, total, again, len2);
    rset_tree_free(tree);
    free(again);
    free(buf);
}

/* The payload's length that the header implies is the one there is. */
static void
assert_payload(const char *path, const rset_header *h, uint64_t length)
{
    const rset_desc *own = &h->infos[0].desc;
    uint64_t         expected = h->chunk * (uint64_t)own->parity;

    for (int d = 1; h->group == NULL && d < h->ninfos; d++)
        expected += rset_info_length(&h->infos[d]);
    if (expected != length)
        fail_msg("%s: payload of %zu bytes, header says %zu", path, (size_t)length,
                 (size_t)expected);
}

static void
assert_name_fits(const char *name, const rset_name *parsed, const rset_desc *desc)
{
    char *prefix = strndup(name, parsed->prefix_len);
    char *again = parsed->scheme == NULL ? rset_format_desc_name(prefix, desc->rank)
                                         : rset_format_redundancy_name(prefix, desc);

    assert_string_equal(again, name);
    assert_int_equal(parsed->rank, desc->rank);
    if (parsed->scheme != NULL) {
        assert_ptr_equal(parsed->scheme, desc->scheme);
        assert_true(parsed->set == desc->set && parsed->sets == desc->sets &&
                    parsed->member == desc->member && parsed->members == desc->members);
    }
    free(again);
    free(prefix);
}

/* Reads a header by its name or without, and returns it packed. */
static uint8_t *
repacked(const char *path, const uint8_t *buf, size_t len, int member, rset_header *h,
         size_t *len_out)
{
    rset_err err = RSET_ERR_NONE;
    uint8_t *again = NULL;

    if (rset_format_unpack_header(buf, len, path, member, h, &err) != RSET_OK ||
        rset_format_pack_header(h, false, &again, len_out, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_false(h->has_payload_sums);
    assert_int_equal(h->infos[0].desc.generation, 0);
    return again;
}

static void
header_through_struct(const char *path, const char *name, const rset_name *parsed)
{
    rset_header h;
    rset_err    err = RSET_ERR_NONE;
    size_t      len, len2, total;
    uint8_t    *buf = read_file(path, &len), *again;

    assert_int_equal(rset_tree_total(buf, len, path, &total, &err), RSET_OK);
    again = repacked(path, buf, len, parsed->member, &h, &len2);
    assert_same(path, buf, total, again, len2);
    assert_payload(path, &h, len - total);
    assert_name_fits(name, parsed, &h.infos[0].desc);
    rset_header_free(&h);
    free(again);
    again = repacked(path, buf, len, -1, &h, &len2);
    assert_same(path, buf, total, again, len2);
    rset_header_free(&h);
    free(again);
    free(buf);
}

static void
descs_through_struct(const char *path, const char *name, const rset_name *parsed)
{
    rset_err   err = RSET_ERR_NONE;
    size_t     len, len2;
    uint8_t   *buf = read_file(path, &len), *again = NULL;
    rset_descs descs = {0};

    if (rset_format_unpack_descs(buf, len, path, parsed->rank, &descs, &err) != RSET_OK ||
        rset_format_pack_descs(descs.at, descs.n, false, &again, &len2, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_same(path, buf, len, again, len2);
    assert_int_equal(descs.n, 1 + descs.at[0].scheme->left(descs.at[0].parity));
    assert_name_fits(name, parsed, &descs.at[0]);
    for (int d = 1; d < descs.n; d++)
        assert_int_equal(descs.at[d].member,
                         (descs.at[0].member - d + descs.at[0].members) % descs.at[0].members);
    free(again);
    free(buf);
    free(descs.at);
}

static void
through_struct(const char *dir, const char *name)
{
    char      path[8192];
    rset_name parsed;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!rset_format_parse_name(name, &parsed))
        fail_msg("%s: name not understood", path);
    if (parsed.scheme != NULL)
        header_through_struct(path, name, &parsed);
    else
        descs_through_struct(path, name, &parsed);
}

/* P8: upstream's leftovers (FORMAT.md 10) are readable, and written again they are the clean form,
 * which is what the vector that they were rebuilt from has. */
static void
rebuilt_gives_the_clean_form(const char *dir, const char *name)
{
    char        path[8192], origin[8192], *mark;
    rset_name   parsed;
    rset_header h;
    rset_err    err = RSET_ERR_NONE;
    size_t      len, clean_len, again_len, total;
    uint8_t    *buf, *clean, *again;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_true(rset_format_parse_name(name, &parsed));
    if (parsed.scheme == NULL) {
        descs_through_struct(path, name, &parsed);
        return;
    }
    strcpy(origin, path);
    mark = strstr(origin + strlen(vectors()), "_rebuilt/");
    memmove(mark, mark + strlen("_rebuilt"), strlen(mark + strlen("_rebuilt")) + 1);
    buf = read_file(path, &len);
    clean = read_file(origin, &clean_len);
    assert_int_equal(rset_tree_total(clean, clean_len, origin, &total, &err), RSET_OK);
    for (int member = -1; member <= parsed.member; member += parsed.member + 1) {
        again = repacked(path, buf, len, member, &h, &again_len);
        assert_int_equal(h.member, parsed.member);
        assert_same(path, clean, total, again, again_len);
        rset_header_free(&h);
        free(again);
    }
    free(buf);
    free(clean);
}

static void
containers_are_reproduced(void **state)
{
    (void)state;
    assert_int_equal(each_file(false, through_tree), ORIGINALS);
    assert_int_equal(each_file(true, through_tree), 16);
}

static void
structs_are_reproduced(void **state)
{
    (void)state;
    assert_int_equal(each_file(false, through_struct), ORIGINALS);
}

static void
leftovers_of_upstream_are_read(void **state)
{
    (void)state;
    assert_int_equal(each_file(true, rebuilt_gives_the_clean_form), 16);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_are_reproduced),
        cmocka_unit_test(structs_are_reproduced),
        cmocka_unit_test(leftovers_of_upstream_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
