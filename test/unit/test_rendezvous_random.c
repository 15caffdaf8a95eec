/* test_rendezvous_random.c: many random schedules of files that ranks close: who comes together is what a model of the
 * rendezvous says (P4, P5), and everybody comes back also with a timeout that is often run into. */
#include "rendezvous_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 12, KINDS = 4, FOR_ALL = 2, MANY = 40 };

typedef struct step {
    int      kind, op;
    uint64_t key;
} step;

typedef struct schedule {
    int         ranks, n[MANY];
    step        steps[MANY][STEPS];
    rset_status want[MANY][STEPS];
    uint64_t    nonce[MANY][STEPS];
} schedule;

/* The first two are closed by all in the end; of the others rank 0 has none: whether all have shown such a file would
 * depend on who comes first. */
static const char *const kind_names[KINDS] = {"a_1.h5", "b_1.h5", "log.h5", "table.h5"};

static uint64_t
random_number(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static step
random_step(uint64_t *seed)
{
    step s = {.kind = (int)random_number(seed, KINDS), .op = 1 + (int)random_number(seed, 2)};

    return s;
}

/* Mostly the same on all of `least` to `most` ranks: some leave out, repeat or exchange a step. */
static void
make_schedule(schedule *s, int least, int most, uint64_t *seed)
{
    step common[STEPS];

    s->ranks = least + (int)random_number(seed, (uint64_t)(most - least + 1));
    for (int i = 0; i < STEPS; i++)
        common[i] =
            i < FOR_ALL ? (step){.kind = i, .op = RSET_RENDEZVOUS_CLOSE} : random_step(seed);
    for (int r = 0; r < s->ranks; r++) {
        s->n[r] = 0;
        for (int i = 0; i < STEPS && s->n[r] < STEPS; i++) {
            step *to = &s->steps[r][s->n[r]];

            if (i >= FOR_ALL && random_number(seed, 12) == 0)
                continue;
            *to = common[i];
            if (i >= FOR_ALL && random_number(seed, 12) == 0)
                to->kind = (int)random_number(seed, KINDS);
            if (r == 0 && to->kind >= FOR_ALL)
                to->op = RSET_RENDEZVOUS_OPEN;
            to->key = i >= FOR_ALL && random_number(seed, 60) == 0;
            s->n[r]++;
        }
    }
}

typedef struct model {
    int  at[MANY];
    int  epoch[MANY][KINDS];
    bool met[KINDS][3], alone[KINDS][3];
} model;

static bool
same_step(const step *a, const step *b)
{
    return a->kind == b->kind && a->op == b->op;
}

static bool
was_met(const model *m, const step *s)
{
    return m->met[s->kind][RSET_RENDEZVOUS_OPEN] ||
           (s->op == RSET_RENDEZVOUS_CLOSE && m->met[s->kind][RSET_RENDEZVOUS_CLOSE]);
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

/* Rank r's proposal has come to that. */
static void
pass(schedule *s, model *m, int r, rset_status st)
{
    const step *c = current(s, m, r);

    s->want[r][m->at[r]] = st;
    if (c->op == RSET_RENDEZVOUS_CLOSE)
        m->epoch[r][c->kind]++;
    m->at[r]++;
}

/* Rank r is told that others have closed such files more often. */
static bool
is_behind(const schedule *s, const model *m, int r)
{
    const step *c = current(s, m, r);

    for (int i = 0; i < s->ranks; i++)
        if (c->op == RSET_RENDEZVOUS_CLOSE && m->at[i] < s->n[i] &&
            same_step(current(s, m, i), c) && m->epoch[i][c->kind] > m->epoch[r][c->kind])
            return true;
    return false;
}

static void
model_meets(schedule *s, model *m)
{
    const step c = *current(s, m, 0);
    bool       keys = true;

    for (int r = 0; r < s->ranks; r++)
        keys = keys && current(s, m, r)->key == c.key;
    if (keys) {
        m->met[c.kind][c.op] = true;
        if (c.op == RSET_RENDEZVOUS_CLOSE) /* protected now: what was before says little */
            m->alone[c.kind][RSET_RENDEZVOUS_OPEN] = false;
    }
    for (int r = 0; r < s->ranks; r++)
        pass(s, m, r, keys ? RSET_OK : RSET_PEER);
}

static void
model_settles(schedule *s, model *m)
{
    int  keep = 0;
    step kept;

    for (int r = 0; r < s->ranks; r++) {
        int n = size_of_group(s, m, r), best = size_of_group(s, m, keep);

        if (n > best || (n == best && current(s, m, r)->kind < 2 && current(s, m, keep)->kind >= 2))
            keep = r;
    }
    kept = *current(s, m, keep);
    for (int r = 0; r < s->ranks; r++) {
        const step c = *current(s, m, r);

        if (same_step(&c, &kept))
            continue;
        pass(s, m, r, RSET_PEER);
        /* opened by some of those that closed it together: waited for again, but not for long */
        if (c.kind != kept.kind &&
            !(c.op == RSET_RENDEZVOUS_OPEN && m->met[c.kind][RSET_RENDEZVOUS_CLOSE]))
            m->alone[c.kind][c.op] = true;
    }
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
            if ((m.alone[c->kind][c->op] && !was_met(&m, c)) || is_behind(s, &m, r)) {
                pass(s, &m, r, RSET_PEER);
                moved = true;
            }
        }
        if (moved)
            continue;
        if (size_of_group(s, &m, 0) == s->ranks)
            model_meets(s, &m);
        else
            model_settles(s, &m);
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
        me->p.keys[RSET_KEY_SCHEME] = me->comm->timeout < 1 ? 0 : todo->key;
        st = meet_as(me, (rset_rendezvous_op)todo->op, kind_names[todo->kind]);
        s->nonce[r][i] = st == RSET_OK ? me->nonce : 0;
        if (me->comm->timeout >= 1)
            CHECK(st == s->want[r][i]);
    }
}

/* P4: who is told to go is told so with all others. */
static void
check_all_or_none(const schedule *s)
{
    uint64_t met[MANY][STEPS] = {{0}};

    for (int r = 0; r < s->ranks; r++)
        for (int k = 0, n = 0; k < s->n[r]; k++)
            if (s->nonce[r][k] != 0)
                met[r][n++] = s->nonce[r][k];
    for (int r = 1; r < s->ranks; r++)
        assert_memory_equal(met[r], met[0], sizeof met[0]);
}

/* `times` schedules of `least` to `most` ranks; how often all have to go. */
static int
play_schedules(int times, int least, int most, uint64_t seed)
{
    schedule *s = calloc(1, sizeof *s);
    int       ok = 0;

    assert_non_null(s);
    for (int i = 0; i < times; i++) {
        make_schedule(s, least, most, &seed);
        predict(s);
        for (int k = 0; k < s->n[0]; k++)
            ok += s->want[0][k] == RSET_OK;
        run(s->ranks, never, play, s);
        check_all_or_none(s);
    }
    free(s);
    return ok;
}

static void
test_random_schedules(void **state)
{
    int ok;

    (void)state;
    ok = play_schedules(400, 2, MAX_RANKS, 20260101);
    assert_true(ok >= 400 && ok <= 400 * STEPS); /* the schedules are worth something */
}

/* Calm rounds and direct ones by turns, in a tree of some levels. */
static void
test_many_ranks(void **state)
{
    (void)state;
    assert_true(play_schedules(60, 5, MANY, 31337) >= 60);
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
    for (int i = 0; i < 18; i++) {
        make_schedule(s, i < 12 ? 2 : 5, i < 12 ? MAX_RANKS : MANY, &seed);
        run(s->ranks, 0.1, play, s);
        check_all_or_none(s);
    }
    free(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_schedules),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_random_delays),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
