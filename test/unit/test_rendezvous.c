/* test_rendezvous.c: ranks that come to do the same, and that come for something else (P4, T9), and many random schedules
 * of both. Those that do not come are in test_rendezvous_missing.c. */
#include "rendezvous_ranks.h"

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
    if (me->comm->rank != 0)
        CHECK(closing(me, "b_4.h5") == RSET_PEER && me->known && me->p.told);
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
        if (me->comm->rank > 1) /* not all four: what all have had is waited for again */
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

/* With required=yes, even of one rank, it is an error for those who are refused. The larger group is not refused for what
 * others do. */
static void
insisting(rank *me, void *arg)
{
    bool odd = me->comm->rank == 2;

    (void)arg;
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

static void
test_required(void **state)
{
    (void)state;
    run(4, never, insisting, NULL);
}

/* P2: numbers that were equal on all ranks say which step it is: files of two steps are not closed together. */
static void
another_step(rank *me, void *arg)
{
    const bool late = me->comm->rank == 3;
    char       path[64];

    (void)arg;
    snprintf(path, sizeof path, "ckpt_%d.%d.h5", 3, me->comm->rank);
    CHECK(closing(me, path) == RSET_OK);
    snprintf(path, sizeof path, "ckpt_%d.%d.h5", 4, me->comm->rank);
    if (late) {
        CHECK(closing(me, path) == RSET_PEER && !me->known);
        CHECK(says(me, "rank 3 (node3) is closing ckpt_4.#.h5"));
    }
    snprintf(path, sizeof path, "ckpt_%d.%d.h5", 5, me->comm->rank);
    CHECK(closing(me, path) == RSET_OK);
}

static void
test_another_step(void **state)
{
    (void)state;
    run(4, never, another_step, NULL);
}

/* P2: whose file has another number since it has closed one more, or failed to create it, is not left out for that. */
static void
named_step(rank *me, void *arg)
{
    char path[64];

    (void)arg;
    for (int step = 0; step < 4; step++) {
        snprintf(path, sizeof path, "ckpt_%d.%d.h5", step, me->comm->rank);
        if (step == 2 && me->comm->rank % 2 == 0)
            rset_rendezvous_skip(me->place, &me->p.kind);
        CHECK(closing(me, path) == RSET_OK);
    }
    CHECK(label_of(me, path).ranks == 4 && label_of(me, path).step >= 4);
}

static void
test_names_tell_the_step(void **state)
{
    (void)state;
    run(4, never, named_step, NULL);
}

/* Who cannot create its file says so, and the others need not wait for it. It is in step again the next time. */
static void
failed_create(rank *me, void *arg)
{
    const int failing = *(const int *)arg;

    for (int step = 0; step < 4; step++) {
        if (step % 2 == 0) {
            CHECK(closing(me, "state.h5") == RSET_OK);
        } else if (me->comm->rank == failing) {
            rset_kind kind;

            rset_kind_of("state.h5", &kind);
            rset_rendezvous_announce_failure(me->place, &kind);
        } else {
            CHECK(closing(me, "state.h5") == RSET_PEER && !me->known && me->took < never / 2);
            CHECK(says(me, "could not create its file"));
        }
    }
}

static void
test_failed_create(void **state)
{
    (void)state;
    for (int failing = 1; failing < 4; failing++)
        run(4, never, failed_create, &failing);
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

enum { STEPS = 12, KINDS = 4, FOR_ALL = 2 };

typedef struct step {
    int      kind, op;
    uint64_t key;
} step;

typedef struct schedule {
    int         ranks, n[MAX_RANKS];
    step        steps[MAX_RANKS][STEPS];
    rset_status want[MAX_RANKS][STEPS];
    uint64_t    nonce[MAX_RANKS][STEPS];
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

/* Mostly the same on all ranks: some leave out, repeat or exchange a step. */
static void
make_schedule(schedule *s, uint64_t *seed)
{
    step common[STEPS];

    s->ranks = 2 + (int)random_number(seed, MAX_RANKS - 1);
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
    int  at[MAX_RANKS];
    int  epoch[MAX_RANKS][KINDS];
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
        me->p.key = me->comm->timeout < 1 ? 0 : todo->key;
        st = meet_as(me, (rset_rendezvous_op)todo->op, kind_names[todo->kind]);
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
        cmocka_unit_test(test_another_step),
        cmocka_unit_test(test_names_tell_the_step),
        cmocka_unit_test(test_failed_create),
        cmocka_unit_test(test_configurations_differ),
        cmocka_unit_test(test_random_schedules),
        cmocka_unit_test(test_random_delays),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
