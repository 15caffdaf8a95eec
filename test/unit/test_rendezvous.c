/* test_rendezvous.c: ranks that come to do the same, and that come for something else (P4, T9). Those that do not come are
 * in test_rendezvous_missing.c, those that come late in test_rendezvous_late.c; many random schedules of all that in
 * test_rendezvous_random.c. */
#include "rendezvous_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- all come ---- */

static _Atomic uint64_t nonces[64];

static uint64_t
some_number(int r)
{
    return (uint64_t)(r * 5 + 3) % 7; /* the largest is at rank 5, 2 or 1 */
}

static void
together(rank *me, void *arg)
{
    char     path[64];
    uint64_t bits = 0, most = 0, last = 0;

    (void)arg;
    for (int r = 0; r < me->comm->size; r++) {
        bits |= (uint64_t)1 << r;
        most = some_number(r) > most ? some_number(r) : most;
    }
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof path, "/some/where%d/ckpt_%d.h5", me->comm->rank,
                 me->comm->rank * (i + 1));
        me->p.bits = (uint64_t)1 << me->comm->rank;
        me->p.most = some_number(me->comm->rank);
        CHECK(meet_as(me, i % 2 ? RSET_RENDEZVOUS_OPEN : RSET_RENDEZVOUS_CLOSE, path) == RSET_OK);
        CHECK(me->p.bits == bits && me->p.most == most && me->nonce != last && !me->known);
        last = me->nonce;
        if (me->comm->rank == 0)
            atomic_store(&nonces[i], me->nonce);
        reach();
        await((i + 1) * me->comm->size); /* all have met, and rank 0 has written it down */
        CHECK(me->nonce == atomic_load(&nonces[i]));
    }
}

/* What all say is gone comes to all, and nothing else: rank r leaves out what its number divides. */
static void
say_gone(rank *me, void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        const uint64_t top = 100 + (uint64_t)i;
        size_t         n = 0;

        memset(me->p.gone, 0, sizeof me->p.gone);
        for (uint64_t g = top; n < RSET_GONE_MAX; g--)
            if (g % (uint64_t)(me->comm->rank + 2) != 0)
                me->p.gone[n++] = g;
        CHECK(meet_as(me, RSET_RENDEZVOUS_CLOSE, "/d/ckpt.h5") == RSET_OK);
        n = 0;
        for (uint64_t g = top; g + 3 * RSET_GONE_MAX > top; g--) {
            bool all = true;

            for (int r = 0; r < me->comm->size; r++) {
                uint64_t before = 0; /* how many rank r names before this one */

                for (uint64_t k = top; k > g; k--)
                    before += k % (uint64_t)(r + 2) != 0;
                all = all && before < RSET_GONE_MAX && g % (uint64_t)(r + 2) != 0;
            }
            CHECK(!all || me->p.gone[n++] == g);
        }
        CHECK(n == RSET_GONE_MAX || me->p.gone[n] == 0);
    }
}

static void
test_all_say_gone(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++)
        run(n, 60, say_gone, NULL);
}

static void
test_all_come(void **state)
{
    (void)state;
    for (int n = 1; n <= MAX_RANKS; n++)
        run(n, never, together, NULL);
}

static void
test_kinds(void **state)
{
    static const char *const pairs[][2] = {
        {"/a/b/ckpt_12.h5", "ckpt_#.h5"},
        {"ckpt_007_of_8.h5", "ckpt_#_of_#.h5"},
        {"/x9/y", "y"},
        {"123", "#"},
        {"ckpt.0003", "ckpt.#"},
        {"ckpt3.", "ckpt#."},
        {"ckpt.rank12", "ckpt.rank#"},
        {"ckpt.p3", "ckpt.p#"},
        {".ckpt_3", ".ckpt_#"},
        {"v2.dir/t5.nc4", "t#.nc4"},
        {"T5.HDF5", "T#.HDF5"},
        {"/dir/", ""},
        {"", ""},
        {"a#1.h5", "a##.h5"},
    };
    rset_kind kind;
    char      longest[400];

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        rset_kind_of(pairs[i][0], &kind);
        assert_string_equal(kind.text, pairs[i][1]);
    }
    rset_kind_of("dir7/ckpt_007_of_12.h5", &kind);
    assert_int_equal(kind.nruns, 2);
    assert_int_equal(kind.runs[0], 7);
    assert_int_equal(kind.runs[1], 12);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    rset_kind_of(longest, &kind);
    assert_int_equal(strlen(kind.text), RSET_KIND_MAX - 1);
    memset(longest, '1', sizeof longest - 1);
    for (size_t i = 1; i < sizeof longest - 1; i += 2)
        longest[i] = '_';
    rset_kind_of(longest, &kind);
    assert_int_equal(kind.nruns, RSET_RUNS_MAX); /* the rest is not looked at */
}

/* ---- not the same ---- */

/* Ranks 0..2 close A, rank 3 closes B, then A: three wait, one goes on without and then joins. */
static void
minority_goes_on_without(rank *me)
{
    bool odd = me->comm->rank == 3;

    if (odd) {
        CHECK(closing(me, "b_3.h5") == RSET_PEER && !me->known && !me->p.told);
        CHECK(says(me, "rank 0 (node0) and 2 more are closing a_#.h5"));
        CHECK(says(me, "rank 3 (node3) is closing b_#.h5"));
    }
    CHECK(closing(me, "a_1.h5") == RSET_OK);
    /* All have learned it: neither rank 3 nor anybody else waits for b again. */
    if (me->comm->rank != 0)
        CHECK(closing(me, "b_4.h5") == RSET_PEER && me->known && me->p.told);
    CHECK(closing(me, "a_5.h5") == RSET_OK);
}

/* Two and two: those stay whose name has a number, as names of one file per rank have. */
static void
even_split(rank *me, int numbered)
{
    if (me->comm->rank % 2 == numbered) {
        CHECK(closing(me, "ckpt_3.h5") == RSET_OK);
        if (me->comm->rank > 1) /* not all four: what all have had is waited for again */
            CHECK(closing(me, "log.h5") == RSET_PEER && me->known);
    } else {
        CHECK(closing(me, "log.h5") == RSET_PEER && !me->known);
        CHECK(me->p.told == (me->comm->rank > 1)); /* the lower of the two tells */
        CHECK(closing(me, "ckpt_3.h5") == RSET_OK);
    }
}

/* With required=yes, even of one rank, it is an error for those who are refused. The larger group is not refused for what
 * others do. */
static void
required(rank *me)
{
    bool odd = me->comm->rank == 2;

    me->required = me->comm->rank == 1;
    CHECK(closing(me, "a_0.h5") == RSET_OK && me->p.required); /* all know that one insists */
    if (odd) {
        CHECK(closing(me, "log.h5") == RSET_PEER && !me->known);
        CHECK(says(me, "rank 0 (node0) and 2 more are closing a_1.h5") ||
              says(me, "rank 0 (node0) and 2 more are closing a_#.h5"));
        CHECK(says(me, "rank 2 (node2) is closing log.h5"));
        CHECK(!me->p.told);
    }
    CHECK(closing(me, "a_1.h5") == RSET_OK && me->p.required);
}

/* P2: numbers that were equal on all ranks say which step it is: files of two steps are not closed together. */
static void
another_step(rank *me)
{
    CHECK(closing(me, name_of(me, "ckpt", 3)) == RSET_OK);
    if (me->comm->rank == 3) {
        CHECK(closing(me, name_of(me, "ckpt", 4)) == RSET_PEER && !me->known);
        CHECK(says(me, "rank 3 (node3) is closing ckpt_4.#.h5"));
    }
    CHECK(closing(me, name_of(me, "ckpt", 5)) == RSET_OK);
}

/* P2: whose file has another number since it has closed one more, or failed to create it, is not left out for that. */
static void
names_tell_the_step(rank *me)
{
    const char *path = NULL;

    for (int step = 0; step < 4; step++) {
        path = name_of(me, "ckpt", step);
        if (step == 2 && me->comm->rank % 2 == 0)
            rset_rendezvous_skip(me->place, &me->p.kind);
        CHECK(closing(me, path) == RSET_OK);
    }
    CHECK(label_of(me, path).ranks == 4 && label_of(me, path).step >= 4);
}

/* Who cannot create its file says so, and the others need not wait for it. It is in step again the next time. */
static void
failed_create(rank *me, int failing)
{
    for (int step = 0; step < 4; step++) {
        if (step % 2 == 0) {
            CHECK(closing(me, "state.h5") == RSET_OK);
        } else if (me->comm->rank == failing) {
            rset_kind kind;

            rset_kind_of("state.h5", &kind);
            rset_rendezvous_announce_failure(me->place, &kind, NULL);
        } else {
            CHECK(closing(me, "state.h5") == RSET_PEER && !me->known && me->took < never / 2);
            CHECK(says(me, "could not create its file"));
        }
    }
}

/* Each setting is called what it is, and one that is equal is not named. */
static void
configurations_differ(rank *me, int who)
{
    static const char *const texts[RSET_KEYS] = {"another scheme, set size or",
                                                 "another keep= than", "another root= than",
                                                 "another together="};

    for (int key = 0; key < RSET_KEYS; key++) {
        me->p.keys[key] = me->comm->rank == who ? 17 : 4;
        CHECK(closing(me, "ckpt_1.h5") == RSET_PEER && !me->known);
        CHECK(says(me, "HDF5_DRIVER_CONFIG") && says(me, "(node0)") && says(me, texts[key]));
        CHECK(me->p.told == (key > 0 || me->comm->rank > 0)); /* said once */
        me->p.keys[key] = 4;
    }
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK); /* and was never taken for another kind of file */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_all_come),
        cmocka_unit_test(test_all_say_gone),
        SCENE(minority_goes_on_without, 4, never),
        SCENE_FOR(even_split, 4, never, 0, 2, 1),
        SCENE(required, 4, never),
        SCENE(another_step, 4, never),
        SCENE(names_tell_the_step, 4, never),
        SCENE_FOR(failed_create, 4, never, 1, 4, 1),
        SCENE_FOR(configurations_differ, 4, never, 0, 4, 1),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
