/* format_desc.c: descriptor files (FORMAT.md 5). See format.h. */
#include "format_internal.h"

#include <stdlib.h>

bool
rset_desc_is_left_over(const rset_desc *desc)
{
    return desc->scheme == &rset_scheme_single && desc->sets < desc->ranks;
}

/* How far a member stands to the left of the first descriptor's. */
static int
distance(const rset_desc *own, const rset_desc *desc)
{
    int d = own->member - desc->member;

    return d < 0 ? d + own->members : d;
}

static int
compare_members(const void *a, const void *b)
{
    int x = ((const rset_desc *)a)->member, y = ((const rset_desc *)b)->member;

    return (x > y) - (x < y);
}

static void
reverse(rset_desc *descs, int n)
{
    for (int i = 0; i < n / 2; i++) {
        rset_desc swap = descs[i];

        descs[i] = descs[n - 1 - i];
        descs[n - 1 - i] = swap;
    }
}

/* From ascending members to ascending distance from the one of `rank`: that one and the smaller ones
 * backwards, then the larger ones backwards. False, and nothing done, when it is not there. */
static bool
turn(rset_desc *descs, int n, int rank)
{
    int at = 0;

    while (at < n && descs[at].rank != rank)
        at++;
    if (at == n)
        return false;
    reverse(descs, at + 1);
    reverse(descs + at + 1, n - at - 1);
    return true;
}

/* Ascending members, none twice, all of one set. */
static rset_status
check_set(const rset_subject *on, const rset_desc *descs, int n)
{
    for (int i = 1; i < n; i++)
        if (!rset_part_same_set(&descs[0], &descs[i]) || descs[i - 1].member >= descs[i].member)
            return rset_subject_bad(on, "has descriptors that are not of one set");
    return RSET_OK;
}

/* The first is followed by all of its left neighbours, the nearest first. */
static rset_status
check_left(const rset_subject *on, const rset_desc *descs, int n)
{
    int left = descs[0].scheme->left(descs[0].parity);

    for (int d = 1; d <= left; d++)
        if (d >= n || distance(&descs[0], &descs[d]) != d)
            return rset_subject_bad(on, "lacks descriptors of left neighbours");
    return RSET_OK;
}

/* The entry under the i-th key, a parent rank. */
static rset_status
get_entry(const rset_subject *on, const rset_tree *tree, size_t i, rset_desc *out)
{
    const rset_tree *desc = rset_tree_find(rset_tree_child(tree, i), "DESC");
    uint64_t         rank;
    rset_status      st = rset_part_get_desc(on, desc, out);

    if (st == RSET_OK && (!rset_text_u64(rset_tree_key(tree, i), RSET_MAX_RANKS, &rank) ||
                          rank != (uint64_t)out->rank))
        st = rset_subject_bad(on, "has the descriptor of rank %d under another key", out->rank);
    return st;
}

static rset_status
get_all(const rset_subject *on, const rset_tree *tree, int rank, rset_descs *descs_out)
{
    size_t      n = rset_tree_count(tree);
    rset_desc  *descs;
    rset_status st = RSET_OK;

    if (n == 0 || n > on->len / RSET_DESC_BYTES)
        return rset_subject_bad(on, "has no descriptors");
    descs = calloc(n, sizeof *descs);
    if (descs == NULL)
        return rset_subject_nomem(on);
    for (size_t i = 0; st == RSET_OK && i < n; i++)
        st = get_entry(on, tree, i, &descs[i]);
    if (st == RSET_OK) {
        qsort(descs, n, sizeof *descs, compare_members);
        st = check_set(on, descs, (int)n);
    }
    if (st == RSET_OK && turn(descs, (int)n, rank))
        st = check_left(on, descs, (int)n);
    if (st != RSET_OK) {
        free(descs);
        return st;
    }
    *descs_out = (rset_descs){.n = (int)n, .at = descs};
    return RSET_OK;
}

rset_status
rset_format_unpack_descs(const uint8_t *buf, size_t len, const char *what, int rank,
                         rset_descs *descs_out, rset_err *err)
{
    rset_subject on = {.what = what, .len = len, .blame = RSET_DAMAGED, .err = err};
    rset_tree   *tree = NULL;
    rset_status  st = rset_tree_unpack(buf, len, what, &tree, err);

    if (st == RSET_OK)
        st = get_all(&on, tree, rank, descs_out);
    rset_tree_free(tree);
    return st;
}

rset_status
rset_format_pack_descs(const rset_desc *descs, int n, bool extra, uint8_t **buf_out,
                       size_t *len_out, rset_err *err)
{
    rset_subject on = {.what = "descriptor file", .blame = RSET_BUG, .err = err};
    rset_tree   *tree;
    rset_status  st = n > 0 ? RSET_OK : rset_subject_bad(&on, "has no descriptors");
    bool         ok;

    for (int i = 0; st == RSET_OK && i < n; i++)
        st = rset_part_check_desc(&on, &descs[i]);
    for (int i = 1; st == RSET_OK && i < n; i++)
        if (!rset_part_same_set(&descs[0], &descs[i]))
            st = rset_subject_bad(&on, "has descriptors that are not of one set");
    if (st == RSET_OK)
        st = check_left(&on, descs, n);
    if (st != RSET_OK)
        return st;
    tree = rset_tree_new();
    ok = tree != NULL;
    for (int i = 0; ok && i < n; i++) {
        rset_tree *entry = rset_tree_add_u64(tree, (uint64_t)descs[i].rank);

        ok = rset_part_put_desc(rset_tree_add(entry, "DESC"), &descs[i], extra);
    }
    st = rset_tree_pack(ok ? tree : NULL, buf_out, len_out, err);
    rset_tree_free(tree);
    return st;
}
