/* test_layout.c: dividing ranks into sets together (layout.h): what each is told, and that a division which
 * cannot be is refused on all ranks. The division itself is test_group.c's. */
#include "layout/layout.h"

#include "comm/comm_local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 6 };

typedef struct outcome {
    rset_status st;
    rset_desc   desc;
    int         ranks[RANKS];
    bool        noted;
    int         left_over;
    char        note[RSET_ERR_TEXT];
    rset_status for_all;
    rset_err    err;
} outcome;

typedef struct trial {
    rset_wish   wish;
    int         per_node; /* ranks on each node */
    const char *node;     /* all are there; NULL: by per_node, */
    const char *nodes;    /* or a letter for each rank */
    bool        reversed; /* MPI_COMM_WORLD has them the other way round */
    outcome     out[RANKS];
} trial;

static void
one_rank(rset_comm *world, void *arg)
{
    trial      *t = arg;
    outcome    *o = &t->out[world->rank];
    rset_wish   wish = t->wish;
    rset_layout layout;
    char        node[32];

    if (t->nodes != NULL)
        snprintf(node, sizeof node, "node%c", t->nodes[world->rank]);
    else
        snprintf(node, sizeof node, "node%d", world->rank / t->per_node);
    wish.group = t->node != NULL ? t->node : node;
    wish.order = t->reversed ? world->size - 1 - world->rank : world->rank;
    o->err = RSET_ERR_NONE;
    o->st = rset_layout_form(world, &wish, node, &layout, &o->err);
    if (o->st != RSET_OK) {
        assert_null(layout.ranks);
        return;
    }
    o->desc = layout.desc;
    for (int m = 0; m < layout.desc.members; m++)
        o->ranks[m] = layout.ranks[m];
    o->noted = rset_layout_tell(&layout)[0] != '\0';
    assert_string_equal(rset_layout_tell(&layout), "");
    o->left_over = layout.left_over;
    memcpy(o->note, layout.note, sizeof o->note);
    o->for_all = rset_layout_for_all(&layout, &o->err);
    assert_int_equal(layout.set.size, layout.desc.members);
    assert_int_equal(layout.set.rank, layout.desc.member);
    rset_layout_free(&layout);
}

static void
form(trial *t, int ranks)
{
    rset_err err = RSET_ERR_NONE;

    assert_int_equal(rset_local_run(ranks, 20, one_rank, t, &err), RSET_OK);
}

/* P7: no set has two ranks of a node; all know of each other what they know of themselves. */
static void
sets_over_nodes(void **state)
{
    trial t = {.wish = {.scheme = &rset_scheme_xor, .parity = 1, .set_size = 3}, .per_node = 2};

    (void)state;
    form(&t, RANKS);
    for (int r = 0; r < RANKS; r++) {
        const outcome *o = &t.out[r];

        assert_int_equal(o->st, RSET_OK);
        assert_false(o->noted);
        assert_int_equal(o->desc.members, 3);
        assert_int_equal(o->desc.rank, r);
        assert_int_equal(o->desc.ranks, RANKS);
        assert_int_equal(o->ranks[o->desc.member], r);
        for (int m = 0; m < 3; m++) {
            assert_int_equal(t.out[o->ranks[m]].desc.set, o->desc.set);
            for (int other = 0; other < m; other++)
                assert_int_not_equal(o->ranks[m] / 2, o->ranks[other] / 2);
        }
    }
}

/* One node for all: divided all the same, and said. Alone, or without redundancy, there is nothing to say. */
static void
one_node(void **state)
{
    trial together = {.wish = {.scheme = &rset_scheme_partner, .parity = 1, .set_size = 4},
                      .per_node = RANKS,
                      .node = "here"};
    trial single = {.wish = {.scheme = &rset_scheme_single, .set_size = 8}, .per_node = RANKS};

    (void)state;
    form(&together, RANKS);
    form(&single, RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(together.out[r].st, RSET_OK);
        assert_true(together.out[r].noted);
        assert_true(together.out[r].desc.members >= 4);
        assert_int_equal(single.out[r].st, RSET_OK);
        assert_false(single.out[r].noted);
        assert_int_equal(single.out[r].desc.members, 1);
        assert_int_equal(single.out[r].desc.set, r);
    }
}

/* A set that cannot carry its scheme is refused on all ranks, with the numbers. */
static void
too_few_for_the_scheme(void **state)
{
    trial few = {.wish = {.scheme = &rset_scheme_rs, .parity = 3, .set_size = 8}, .per_node = 3};
    trial alone = {.wish = {.scheme = &rset_scheme_xor, .parity = 1, .set_size = 8}, .per_node = 1};

    (void)state;
    form(&few, RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(few.out[r].st, RSET_USAGE);
        assert_non_null(strstr(few.out[r].err.text, "has 2 members (6 ranks, set_size=8)"));
        assert_non_null(strstr(few.out[r].err.text, "more than 1 of the ranks"));
    }
    form(&alone, 1);
    assert_int_equal(alone.out[0].st, RSET_USAGE);
    assert_non_null(strstr(alone.out[0].err.text, "has 1 member (1 ranks, set_size=8)"));
}

/* L6: a host has more ranks than there can be sets. What can be protected is; the others are sets of their own, and all
 * know which. */
static void
ranks_are_left_over(void **state)
{
    static const int left[] = {2, 3}; /* of the four ranks on node a the last two */
    trial t = {.wish = {.scheme = &rset_scheme_xor, .parity = 1, .set_size = 8}, .nodes = "aaaabc"};

    (void)state;
    form(&t, RANKS);
    for (int r = 0; r < RANKS; r++) {
        const outcome *o = &t.out[r];
        const bool     is = r == left[0] || r == left[1];

        assert_int_equal(o->st, RSET_OK);
        assert_true(o->noted);
        assert_int_equal(o->left_over, 2);
        assert_int_equal(o->desc.sets, 4);
        assert_true(o->desc.scheme == (is ? &rset_scheme_single : &rset_scheme_xor));
        assert_int_equal(o->desc.members, is ? 1 : 2);
        assert_int_equal(rset_desc_is_left_over(&o->desc), is);
        assert_non_null(strstr(o->note, "2 of 6 ranks are not protected"));
        assert_non_null(strstr(o->note, "nodea has 4 of 6 ranks, not protected are 2, 3;"));
        assert_non_null(strstr(o->note, "with at most 3 ranks on each host"));
        assert_int_equal(o->for_all, RSET_USAGE);
        assert_string_equal(o->err.text, o->note);
    }
}

/* Several hosts with too many are all named, by ranks that are on them; ranks that are all protected are for all. */
static void
crowded_hosts_are_named(void **state)
{
    trial t = {.wish = {.scheme = &rset_scheme_partner, .parity = 2, .set_size = 8},
               .nodes = "ababac"};
    trial even = {.wish = {.scheme = &rset_scheme_xor, .parity = 1, .set_size = 8},
                  .nodes = "aabbcc"};

    (void)state;
    form(&t, RANKS); /* one set of three */
    form(&even, RANKS);
    for (int r = 0; r < RANKS; r++) {
        const outcome *o = &t.out[r];

        assert_int_equal(o->st, RSET_OK);
        assert_int_equal(o->left_over, 3);
        assert_non_null(strstr(o->note, "nodea has 3 of 6 ranks, not protected are 2, 4; "
                                        "nodeb has 2 of 6 ranks, not protected are 3;"));
        assert_int_equal(even.out[r].left_over, 0);
        assert_int_equal(even.out[r].for_all, RSET_OK);
        assert_false(even.out[r].noted);
    }
}

/* FORMAT.md 4.4: members are in the order of MPI_COMM_WORLD, whatever that of the communicator is. */
static void
members_are_in_the_order_of_the_world(void **state)
{
    trial t = {.wish = {.scheme = &rset_scheme_xor, .parity = 1, .set_size = 3}, .per_node = 2};

    (void)state;
    for (int reversed = 0; reversed < 2; reversed++) {
        t.reversed = reversed != 0;
        form(&t, RANKS);
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(t.out[r].st, RSET_OK);
            for (int m = 0; m < 3; m++)
                assert_int_equal(t.out[r].ranks[m], (reversed ? 2 - m : m) * 2 + r % 2);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_in_the_order_of_the_world),
        cmocka_unit_test(sets_over_nodes),
        cmocka_unit_test(one_node),
        cmocka_unit_test(too_few_for_the_scheme),
        cmocka_unit_test(ranks_are_left_over),
        cmocka_unit_test(crowded_hosts_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
