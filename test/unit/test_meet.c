/* test_meet.c: ranks that come to do the same, and that come for something else (D6, P4, T9, F17-F19), and many random schedules
 * of both. Those that do not come are in test_meet_missing.c. */
#include "meet_ranks.h"

#include <signal.h>
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
        snprintf(path, sizeof path, "/some/where%d/ckpt_%d.h5", me->comm->rank, me->comm->rank * i);
        me->p.bits = (uint64_t)1 << me->comm->rank;
        me->p.most = some_number(me->comm->rank);
        CHECK(meet_as(me, i % 2 ? RSET_MEET_OPEN : RSET_MEET_CLOSE, path) == RSET_OK);
        CHECK(me->p.bits == bits && me->p.most == most && me->nonce != last && !me->known);
        last = me->nonce;
        if (me->comm->rank == 0)
            atomic_store(&nonces[i], me->nonce);
        reach();
        await((i + 1) * me->comm->size); /* all have met, and rank 0 has written it down */
        CHECK(me->nonce == atomic_load(&nonces[i]));
    }
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
        {"v2.dir/t5.nc4", "t#.nc4"},
        {"/dir/", ""},
        {"", ""},
        {"a#1.h5", "a#.h5"},
    };
    char kind[RSET_KIND_MAX], longest[400];

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        rset_meet_kind(pairs[i][0], kind);
        assert_string_equal(kind, pairs[i][1]);
    }
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    rset_meet_kind(longest, kind);
    assert_int_equal(strlen(kind), RSET_KIND_MAX - 1);
}

/* ---- not the same ---- */

/* Ranks 0..2 close A, rank 3 closes B, then A: three wait, one goes on without and then joins. */
static void
minority(rank *me, void *arg)
{
    bool odd = me->comm->rank == 3;

    (void)arg;
    if (odd) {
        CHECK(closing(me, "b_3.h5") == RSET_PEER && !me->known && !me->p.told);
        CHECK(says(me, "rank 0 (node0) and 2 more are closing a_#.h5"));
        CHECK(says(me, "rank 3 (node3) is closing b_#.h5"));
    }
    CHECK(closing(me, "a_1.h5") == RSET_OK);
    /* All have learned it: neither rank 3 nor anybody else waits for b again. */
    CHECK(closing(me, "b_4.h5") == RSET_PEER && me->known && me->p.told);
    CHECK(rset_meet_known(me->meeting, RSET_MEET_CLOSE, "b_#.h5"));
    CHECK(!rset_meet_known(me->meeting, RSET_MEET_OPEN, "b_#.h5"));
    CHECK(!rset_meet_known(me->meeting, RSET_MEET_CLOSE, "a_#.h5"));
    CHECK(closing(me, "a_5.h5") == RSET_OK);
}

static void
test_minority_goes_on_without(void **state)
{
    (void)state;
    run(4, never, minority, NULL);
}

/* Two and two: those stay whose name has a number, as names of one file per rank have. */
static void
even_split(rank *me, void *arg)
{
    const int *numbered = arg;

    if (me->comm->rank % 2 == *numbered) {
        CHECK(closing(me, "ckpt_3.h5") == RSET_OK);
        CHECK(closing(me, "log.h5") == RSET_PEER && me->known);
    } else {
        CHECK(closing(me, "log.h5") == RSET_PEER && !me->known);
        CHECK(me->p.told == (me->comm->rank > 1)); /* the lower of the two tells */
        CHECK(closing(me, "ckpt_3.h5") == RSET_OK);
    }
}

static void
test_even_split(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++)
        run(4, never, even_split, &odd);
}

/* With required=yes, even of one rank, it is an error on all, at once. */
static void
insisting(rank *me, void *arg)
{
    bool odd = me->comm->rank >= 2;

    (void)arg;
    me->required = me->comm->rank == 1;
    CHECK(closing(me, "a_0.h5") == RSET_OK && me->p.required); /* all know that one insists */
    CHECK(closing(me, odd ? "b_1.h5" : "a_1.h5") == RSET_PEER && !me->known);
    CHECK(says(me, "rank 0 (node0) and 1 more are closing a_#.h5"));
    CHECK(says(me, "rank 2 (node2) and 1 more are closing b_#.h5"));
    CHECK(me->p.required);
    CHECK(me->p.told == (me->comm->rank % 2 == 1)); /* the lowest of each group tells */
}

static void
test_required(void **state)
{
    (void)state;
    run(4, never, insisting, NULL);
}

static void
other_key(rank *me, void *arg)
{
    for (int i = 0; i < 3; i++) {
        me->p.key = me->comm->rank == *(int *)arg ? 17 : 4;
        CHECK(closing(me, "ckpt_1.h5") == RSET_PEER && !me->known);
        CHECK(says(me, "HDF5_DRIVER_CONFIG") && says(me, "(node0)"));
        CHECK(me->p.told == (i > 0 || me->comm->rank > 0)); /* said once */
    }
    me->p.key = 4;
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK); /* and was never taken for another kind of file */
}

static void
test_configurations_differ(void **state)
{
    (void)state;
    for (int odd = 0; odd < 4; odd++)
        run(4, never, other_key, &odd);
}

/* ---- many random schedules against a model ---- */

enum { STEPS = 12, KINDS = 4 };

typedef struct step {
    int      kind, op;
    bool     required;
    uint64_t key;
} step;

typedef struct schedule {
    int         ranks, n[MAX_RANKS];
    step        steps[MAX_RANKS][STEPS];
    rset_status want[MAX_RANKS][STEPS];
    uint64_t    nonce[MAX_RANKS][STEPS];
} schedule;

static const char *const kind_names[KINDS] = {"a_1.h5", "b_1.h5", "log.h5", "table.h5"};

static uint64_t
random_number(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

/* Mostly the same on all ranks: some leave out, repeat or exchange a step. */
static void
make_schedule(schedule *s, uint64_t *seed)
{
    step common[STEPS];

    s->ranks = 2 + (int)random_number(seed, MAX_RANKS - 1);
    for (int i = 0; i < STEPS; i++)
        common[i] =
            (step){.kind = (int)random_number(seed, KINDS), .op = 1 + (int)random_number(seed, 2)};
    for (int r = 0; r < s->ranks; r++) {
        s->n[r] = 0;
        for (int i = 0; i < STEPS && s->n[r] < STEPS; i++) {
            step *to = &s->steps[r][s->n[r]];

            if (random_number(seed, 12) == 0)
                continue;
            *to = common[i];
            if (random_number(seed, 12) == 0)
                to->kind = (int)random_number(seed, KINDS);
            to->required = random_number(seed, 40) == 0;
            to->key = random_number(seed, 60) == 0;
            s->n[r]++;
        }
    }
}

typedef struct model {
    int  at[MAX_RANKS];
    bool met[KINDS][3], alone[KINDS][3], insisted[KINDS][3];
} model;

static bool
same_step(const step *a, const step *b)
{
    return a->kind == b->kind && a->op == b->op;
}

static bool
was_met(const model *m, const step *s)
{
    return m->met[s->kind][RSET_MEET_OPEN] ||
           (s->op == RSET_MEET_CLOSE && m->met[s->kind][RSET_MEET_CLOSE]);
}

static const step *
current(const schedule *s, const model *m, int r)
{
    return &s->steps[r][m->at[r]];
}

static int
size_of_group(const schedule *s, const model *m, int r)
{
    int n = 0;

    for (int i = 0; i < s->ranks; i++)
        n += same_step(current(s, m, i), current(s, m, r));
    return n;
}

/* Whoever insisted when it was met the last time has told the others. */
static bool
insists(const model *m, const step *s)
{
    return s->required || m->insisted[s->kind][s->op];
}

/* What must come of the proposals that all ranks make now, when none of them is known alone. */
static void
model_decides(schedule *s, model *m)
{
    bool all_same = size_of_group(s, m, 0) == s->ranks, keys = true, required = false;
    int  keep = 0;
    step kept;

    for (int r = 0; r < s->ranks; r++) {
        int n = size_of_group(s, m, r), best = size_of_group(s, m, keep);

        keys = keys && current(s, m, r)->key == current(s, m, 0)->key;
        required = required || insists(m, current(s, m, r));
        if (n > best || (n == best && current(s, m, r)->kind < 2 && current(s, m, keep)->kind >= 2))
            keep = r;
    }
    kept = *current(s, m, keep);
    if (all_same && keys) {
        m->met[kept.kind][kept.op] = true;
        m->insisted[kept.kind][kept.op] = required;
        if (kept.op == RSET_MEET_CLOSE) /* protected now: what was before says little */
            m->alone[kept.kind][RSET_MEET_OPEN] = false;
    }
    for (int r = 0; r < s->ranks; r++) {
        const step *c = current(s, m, r);

        if (!all_same && !required && same_step(c, &kept))
            continue;
        s->want[r][m->at[r]] = all_same && keys ? RSET_OK : RSET_PEER;
        if (!all_same && !(c->op == RSET_MEET_OPEN && m->met[c->kind][RSET_MEET_CLOSE]))
            m->alone[c->kind][c->op] = true; /* else waited for again, but not for long */
    }
    for (int r = 0; r < s->ranks; r++)
        m->at[r] += all_same || required || !same_step(current(s, m, r), &kept);
}

static void
predict(schedule *s)
{
    model m = {0};

    for (int r = 0; r < s->ranks; r++)
        for (int i = 0; i < STEPS; i++)
            s->want[r][i] = RSET_PEER; /* stays when somebody is in MPI_Finalize already */
    for (;;) {
        bool moved = false;

        for (int r = 0; r < s->ranks; r++) {
            const step *c = current(s, &m, r);

            if (m.at[r] == s->n[r])
                return;
            if (m.alone[c->kind][c->op] && !was_met(&m, c)) {
                m.at[r]++;
                moved = true;
            }
        }
        if (!moved)
            model_decides(s, &m);
    }
}

static void
play(rank *me, void *arg)
{
    schedule *s = arg;
    int       r = me->comm->rank;

    for (int i = 0; i < s->n[r]; i++) {
        const step *todo = &s->steps[r][i];
        rset_status st;

        if (me->comm->timeout < 1)
            usleep((useconds_t)(todo->key * 150000 + (unsigned)(r * i) % 7 * 1000));
        me->required = todo->required;
        me->p.key = me->comm->timeout < 1 ? 0 : todo->key;
        st = meet_as(me, (rset_meet_op)todo->op, kind_names[todo->kind]);
        s->nonce[r][i] = st == RSET_OK ? me->nonce : 0;
        if (me->comm->timeout >= 1)
            CHECK(st == s->want[r][i]);
    }
}

static void
test_random_schedules(void **state)
{
    uint64_t  seed = 20260101;
    schedule *s = calloc(1, sizeof *s);
    int       ok = 0;

    (void)state;
    assert_non_null(s);
    for (int i = 0; i < 400; i++) {
        make_schedule(s, &seed);
        predict(s);
        for (int k = 0; k < s->n[0]; k++)
            ok += s->want[0][k] == RSET_OK;
        run(s->ranks, never, play, s);
    }
    assert_true(ok >= 400 && ok <= 400 * STEPS); /* the schedules are worth something */
    free(s);
}

/* The same with a timeout that is often run into: then only that everybody comes back, in time, and
 * that who is told to go is told so with all others. */
static void
test_random_delays(void **state)
{
    uint64_t  seed = 4711;
    schedule *s = calloc(1, sizeof *s);

    (void)state;
    assert_non_null(s);
    for (int i = 0; i < 12; i++) {
        uint64_t met[MAX_RANKS][STEPS] = {{0}};

        make_schedule(s, &seed);
        run(s->ranks, 0.1, play, s);
        for (int r = 0; r < s->ranks; r++)
            for (int k = 0, n = 0; k < s->n[r]; k++)
                if (s->nonce[r][k] != 0)
                    met[r][n++] = s->nonce[r][k];
        for (int r = 1; r < s->ranks; r++)
            assert_memory_equal(met[r], met[0], sizeof met[0]);
    }
    free(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_all_come),
        cmocka_unit_test(test_minority_goes_on_without),
        cmocka_unit_test(test_even_split),
        cmocka_unit_test(test_required),
        cmocka_unit_test(test_configurations_differ),
        cmocka_unit_test(test_random_schedules),
        cmocka_unit_test(test_random_delays),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
