/* Division into sets, FORMAT.md 4: the table, the example, order and ids, and what holds always. */
#include "layout/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX_RANKS = 5000 };

static rset_place place[MAX_RANKS];
static uint64_t   groups[MAX_RANKS];
static char       text[MAX_RANKS][16];
static int        order[MAX_RANKS];

/* Rank r gets the failure group group(r). */
static void
name_ranks(int nranks, int (*group)(int r))
{
    for (int r = 0; r < nranks; r++) {
        snprintf(text[r], sizeof text[r], "node%d", group(r));
        groups[r] = rset_group_number(text[r]);
    }
}

static int
own(int r)
{
    return r;
}
static int
pairs(int r)
{
    return r / 2;
}
static int
cyclic_of_7(int r)
{
    return r % 7;
}
static int
uneven(int r)
{
    return r * r % 11;
}
static int
one(int r)
{
    return r * 0;
}

static int
form(int nranks, int min_size, const int *world)
{
    rset_err err = RSET_ERR_NONE;
    int      sets = -1;

    memset(place, 0xff, sizeof place);
    assert_int_equal(rset_group_form(&(rset_ranks){nranks, groups, world},
                                     &(rset_set_size){min_size, 1}, place, &sets, &err),
                     RSET_OK);
    return sets;
}

static void
sets_have_the_sizes_of_the_table(void **state)
{
    static const struct {
        int ranks, min_size, sizes[4];
    } table[] = {
        {4, 8, {4}},   {5, 2, {3, 2}}, {11, 3, {4, 4, 3}}, {11, 4, {6, 5}},
        {12, 8, {12}}, {7, 4, {7}},    {3, 1, {1, 1, 1}},  {1, 8, {1}},
    };

    (void)state;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        int rank = 0, sets;

        name_ranks(table[t].ranks, own);
        sets = form(table[t].ranks, table[t].min_size, NULL);
        for (int s = 0; s < sets; s++) {
            for (int i = 0; i < table[t].sizes[s]; i++, rank++) {
                assert_int_equal(place[rank].set, s);
                assert_int_equal(place[rank].member, i);
                assert_int_equal(place[rank].members, table[t].sizes[s]);
            }
        }
        assert_int_equal(rank, table[t].ranks);
    }
}

/* P8: the sets of the golden vector xor_6_3nodes. */
static void
two_ranks_per_node_give_the_sets_of_xor_6_3nodes_p8(void **state)
{
    (void)state;
    name_ranks(6, pairs);
    assert_int_equal(form(6, 8, NULL), 2);
    for (int r = 0; r < 6; r++) {
        assert_int_equal(place[r].set, r % 2);
        assert_int_equal(place[r].member, r / 2);
        assert_int_equal(place[r].members, 3);
    }
}

/* Nodes of 3, 1 and 2 ranks; the position in the group decides, not the number of the node. */
static void
unequal_groups_give_across_lists_by_position(void **state)
{
    static const char *const nodes[] = {"b", "b", "a", "c", "b", "c"};
    static const int         set[] = {0, 1, 0, 0, 2, 1}; /* {0,2,3} {1,5} {4} */

    (void)state;
    for (int r = 0; r < 6; r++)
        groups[r] = rset_group_number(nodes[r]);
    assert_int_equal(form(6, 8, NULL), 3);
    for (int r = 0; r < 6; r++)
        assert_int_equal(place[r].set, set[r]);
}

static void
members_stand_in_world_order_p8(void **state)
{
    static const int reversed[] = {4, 3, 2, 1, 0};

    (void)state;
    name_ranks(5, own);
    assert_int_equal(form(5, 2, reversed), 2); /* cut in parent order: {0,1,2} {3,4} */
    for (int r = 0; r < 5; r++) {
        assert_int_equal(place[r].set, r < 3 ? 0 : 1);
        assert_int_equal(place[r].member, r < 3 ? 2 - r : 4 - r);
        assert_int_equal(place[r].members, r < 3 ? 3 : 2);
    }
}

static void
ids_follow_the_leaders_in_parent_order_p8(void **state)
{
    static const int world[] = {4, 0, 3, 2, 5, 1};
    static const int member[] = {1, 0, 0, 2, 2, 1}; /* {2,0,4} led by 2, {1,5,3} led by 1 */

    (void)state;
    name_ranks(6, pairs);
    assert_int_equal(form(6, 8, world), 2);
    for (int r = 0; r < 6; r++) {
        assert_int_equal(place[r].set, r % 2 == 1 ? 0 : 1);
        assert_int_equal(place[r].member, member[r]);
    }
}

/* What must hold for any division. */
static void
expect_valid(int nranks, int min_size, int sets)
{
    bool *used = calloc((size_t)nranks * (size_t)nranks, sizeof *used); /* [set][member] */
    int   next = 0;

    assert_non_null(used);
    for (int r = 0; r < nranks; r++) {
        bool *cell = used + (size_t)place[r].set * (size_t)nranks + place[r].member;

        assert_true(place[r].set >= 0 && place[r].set <= sets - 1);
        assert_true(place[r].member >= 0 && place[r].member <= place[r].members - 1);
        assert_false(*cell);
        *cell = true;
        if (place[r].member == 0)
            assert_int_equal(place[r].set, next++); /* ids by leaders in parent order */
        for (int q = 0; q < r; q++) {
            if (place[q].set != place[r].set)
                continue;
            assert_true(groups[q] != groups[r]);
            assert_int_equal(place[q].members, place[r].members);
        }
    }
    assert_int_equal(next, sets);
    for (int r = 0; r < nranks; r++) { /* no member is missing, no set could have been cut again */
        assert_true(used[(size_t)place[r].set * (size_t)nranks + place[r].members - 1]);
        assert_true(place[r].members < 2 * min_size);
    }
    free(used);
}

static void
no_set_has_two_ranks_of_one_failure_group(void **state)
{
    int (*const divisions[])(int) = {own, pairs, cyclic_of_7, uneven, one};

    (void)state;
    for (size_t g = 0; g < sizeof divisions / sizeof divisions[0]; g++) {
        for (int nranks = 1; nranks <= 60; nranks++) {
            name_ranks(nranks, divisions[g]);
            for (int min_size = 1; min_size <= 9; min_size++) {
                for (int r = 0; r < nranks; r++)
                    order[r] = (r * 61 + 17) % 67; /* distinct */
                expect_valid(nranks, min_size, form(nranks, min_size, NULL));
                expect_valid(nranks, min_size, form(nranks, min_size, order));
            }
        }
    }
}

static void
five_thousand_ranks_are_divided_quickly_p9(void **state)
{
    (void)state;
    name_ranks(MAX_RANKS, pairs);
    assert_int_equal(form(MAX_RANKS, 8, NULL), 624); /* 2 lists of 2500, 312 sets each */
    assert_int_equal(place[0].members, 9);
    assert_int_equal(place[MAX_RANKS - 1].members, 8);
    assert_int_equal(place[MAX_RANKS - 1].member, 7);
    name_ranks(MAX_RANKS, one);
    assert_int_equal(form(MAX_RANKS, 8, NULL), MAX_RANKS);
}

static void
impossible_sizes_are_refused_as_usage(void **state)
{
    int sets = -1;

    (void)state;
    name_ranks(4, own);
    for (int min_size = -2; min_size < 1; min_size++) {
        rset_err err = RSET_ERR_NONE;

        assert_int_equal(rset_group_form(&(rset_ranks){4, groups, NULL},
                                         &(rset_set_size){min_size, 1}, place, &sets, &err),
                         RSET_USAGE);
        assert_true(strlen(err.text) > 20);
    }
    assert_int_equal(
        rset_group_form(&(rset_ranks){0, groups, NULL}, &(rset_set_size){8, 1}, place, &sets, NULL),
        RSET_USAGE);
    assert_int_equal(sets, -1); /* outputs only on success */
}

/* ---- uneven nodes ---- */

enum { NODES = 4, MOST = 4 }; /* nodes, and ranks on each */

/* The most ranks of these nodes that sets of `least` or more can have, no two of a node in one: every choice of sets. */
static int
most_in_sets(const int *nodes, int least, int (*known)[MOST + 1][MOST + 1][MOST + 1])
{
    int *answer = &known[nodes[0]][nodes[1]][nodes[2]][nodes[3]], best = 0;

    if (*answer >= 0)
        return *answer;
    for (unsigned set = 1; set < 1u << NODES; set++) {
        int  left[NODES], members = 0;
        bool possible = true;

        for (int k = 0; k < NODES; k++) {
            const int in = set >> k & 1;

            left[k] = nodes[k] - in;
            members += in;
            possible = possible && left[k] >= 0;
        }
        if (possible && members >= least) {
            const int more = members + most_in_sets(left, least, known);

            best = more > best ? more : best;
        }
    }
    *answer = best;
    return best;
}

/* Ranks node by node, or in turn. */
static int
put_ranks(const int *nodes, bool in_turn)
{
    int ranks = 0;

    for (int i = 0; i < MOST; i++)
        for (int k = 0; in_turn && k < NODES; k++)
            if (i < nodes[k])
                groups[ranks++] = (uint64_t)k;
    for (int k = 0; !in_turn && k < NODES; k++)
        for (int i = 0; i < nodes[k]; i++)
            groups[ranks++] = (uint64_t)k;
    return ranks;
}

/* A rank that is left over is a set of one, and comes after those of its node that are not. */
static void
expect_left_over(int ranks, int least, int left)
{
    bool over[NODES] = {false};
    int  found = 0;

    for (int r = 0; r < ranks; r++) {
        const bool is = place[r].members < least;

        assert_true(!is || (place[r].members == 1 && place[r].member == 0));
        assert_true(is || !over[groups[r]]);
        over[groups[r]] = is;
        found += is;
    }
    assert_int_equal(found, left);
}

/* No set has two ranks of a node. Sets that are too small for the scheme have ranks that are left over: none where the
 * largest node times the least size is at most the number of ranks, else as few as any choice of sets would leave. */
static void
expect_dealt(const int *nodes, int ranks, int wanted, int least)
{
    static int known[MOST + 1][MOST + 1][MOST + 1][MOST + 1];
    int        largest = 0, sets = 0, most;
    bool       met[NODES * MOST][NODES] = {{false}};
    rset_err   err = RSET_ERR_NONE;

    memset(known, 0xff, sizeof known);
    most = most_in_sets(nodes, least, known);
    for (int k = 0; k < NODES; k++)
        largest = nodes[k] > largest ? nodes[k] : largest;
    assert_int_equal(rset_group_form(&(rset_ranks){ranks, groups, NULL},
                                     &(rset_set_size){wanted, least}, place, &sets, &err),
                     RSET_OK);
    for (int r = 0; r < ranks; r++) {
        assert_true(place[r].set >= 0 && place[r].set < sets);
        assert_false(met[place[r].set][groups[r]]);
        met[place[r].set][groups[r]] = true;
    }
    assert_int_equal(most == ranks, largest * least <= ranks);
    if (most > 0)
        expect_left_over(ranks, least, ranks - most);
    for (int r = 0; most == 0 && r < ranks; r++) /* no set is possible: as FORMAT.md 4 says */
        assert_true(place[r].members < least);
}

/* 1 to 4 nodes with 1 to 4 ranks each, every mix. */
static void
as_many_as_possible_have_sets_on_uneven_nodes(void **state)
{
    int nodes[NODES], layouts = 0;

    (void)state;
    for (int code = 0; code < 5 * 5 * 5 * 5; code++) {
        for (int k = 0, rest = code; k < NODES; k++, rest /= MOST + 1)
            nodes[k] = rest % (MOST + 1);
        for (int in_turn = 0; in_turn < 2; in_turn++) {
            const int ranks = put_ranks(nodes, in_turn != 0);

            layouts += ranks > 0;
            for (int least = 1; ranks > 0 && least <= 4; least++)
                for (int wanted = 1; wanted <= 9; wanted += 4)
                    expect_dealt(nodes, ranks, wanted, least);
        }
    }
    assert_int_equal(layouts, 2 * (625 - 1));
}

/* Many ranks on one node: the sets are as many as the others allow, and quickly found. */
static void
a_crowd_leaves_its_last_ranks_over(void **state)
{
    int sets = 0, left = 0;

    (void)state;
    for (int r = 0; r < MAX_RANKS; r++)
        groups[r] = r < MAX_RANKS - 1000 ? 0 : (uint64_t)r;
    assert_int_equal(rset_group_form(&(rset_ranks){MAX_RANKS, groups, NULL}, &(rset_set_size){8, 3},
                                     place, &sets, NULL),
                     RSET_OK);
    for (int r = 0; r < MAX_RANKS; r++) {
        left += place[r].members == 1;
        assert_int_equal(place[r].members == 1, r >= 500 && r < MAX_RANKS - 1000);
        assert_true(place[r].members == 1 || place[r].members == 3);
    }
    assert_int_equal(left, MAX_RANKS - 1500); /* 500 sets of one of the crowd and two others */
    assert_int_equal(sets, 500 + left);
}

static void
single_makes_each_rank_its_own_set(void **state)
{
    int sets = 0;

    (void)state;
    rset_group_single(3, place, &sets);
    assert_int_equal(sets, 3);
    for (int r = 0; r < 3; r++)
        assert_true(place[r].set == r && place[r].member == 0 && place[r].members == 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_possible_have_sets_on_uneven_nodes),
        cmocka_unit_test(a_crowd_leaves_its_last_ranks_over),
        cmocka_unit_test(sets_have_the_sizes_of_the_table),
        cmocka_unit_test(two_ranks_per_node_give_the_sets_of_xor_6_3nodes_p8),
        cmocka_unit_test(unequal_groups_give_across_lists_by_position),
        cmocka_unit_test(members_stand_in_world_order_p8),
        cmocka_unit_test(ids_follow_the_leaders_in_parent_order_p8),
        cmocka_unit_test(no_set_has_two_ranks_of_one_failure_group),
        cmocka_unit_test(five_thousand_ranks_are_divided_quickly_p9),
        cmocka_unit_test(impossible_sizes_are_refused_as_usage),
        cmocka_unit_test(single_makes_each_rank_its_own_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
