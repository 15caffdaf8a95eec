/* test_meet.c: ranks that do, or do not, come to do the same (D6, P4, P5, T1, T9, F16-F20). Ranks are
 * threads; what must happen first is put in order with stages, times are only upper bounds.
 *
 * cmocka's asserts must not run in other threads: bodies use CHECK, which counts. */
#include "comm_local.h"
#include "meet.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_RANKS = 8, WATCHDOG = 100 };

/* How much later than the timeout a call may return (G8), and a timeout that no test runs into. */
static const double slack = 1.0, never = 60;

static atomic_int failures, stage;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            atomic_fetch_add(&failures, 1);                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, me->comm->rank,            \
                    #condition);                                                                   \
        }                                                                                          \
    } while (0)

/* One rank, and the outcome of its last proposal. */
typedef struct rank {
    rset_comm    *comm;
    rset_meeting *meeting;
    rset_proposal p;
    rset_err      err;
    uint64_t      nonce;
    bool          known, required;
    double        took;
} rank;

typedef struct job {
    void (*body)(rank *me, void *arg);
    void *arg;
} job;

static void
run_body(rset_comm *comm, void *arg)
{
    const job *j = arg;
    rank       one = {.comm = comm}, *me = &one;
    char       host[16];
    rset_err   err = RSET_ERR_NONE;

    snprintf(host, sizeof host, "node%d", comm->rank);
    CHECK(rset_meeting_new(comm, host, &me->meeting, &err) == RSET_OK);
    j->body(me, j->arg);
    rset_meet_end(me->meeting);
    rset_meeting_free(me->meeting);
}

static void
run(int size, double timeout, void (*body)(rank *me, void *arg), void *arg)
{
    job      j = {body, arg};
    rset_err err = RSET_ERR_NONE;

    atomic_store(&failures, 0);
    atomic_store(&stage, 0);
    assert_int_equal(rset_local_run(size, timeout, run_body, &j, &err), RSET_OK);
    assert_int_equal(atomic_load(&failures), 0);
}

/* Waits until `n` ranks have called reach(). */
static void
await(int n)
{
    while (atomic_load(&stage) < n)
        usleep(1000);
}

static void
reach(void)
{
    atomic_fetch_add(&stage, 1);
}

static rset_status
meet_as(rank *me, rset_meet_op op, const char *path)
{
    double      start = rset_clock();
    rset_status st;

    me->p.op = op;
    me->p.required = me->required;
    rset_meet_kind(path, me->p.kind);
    me->err = RSET_ERR_NONE;
    me->nonce = 0;
    st = rset_meet(me->meeting, &me->p, &me->nonce, &me->known, &me->err);
    me->took = rset_clock() - start;
    CHECK(st == me->err.status && (st == RSET_OK || (st == RSET_PEER && me->err.text[0] != '\0')));
    CHECK(me->took < me->comm->timeout + slack);
    return st;
}

static rset_status
closing(rank *me, const char *path)
{
    return meet_as(me, RSET_MEET_CLOSE, path);
}

static bool
says(const rank *me, const char *text)
{
    bool found = strstr(me->err.text, text) != NULL;

    if (!found)
        fprintf(stderr, "rank %d: no \"%s\" in: %s\n", me->comm->rank, text, me->err.text);
    return found;
}

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

/* ---- somebody does not come ---- */

static const double limit = 0.5;

/* Rank *arg does not come to a kind that was never met: all who wait hear who is missing, in time; the
 * kind is known then, to the late one as well. */
static void
one_missing(rank *me, void *arg)
{
    int  gone = *(int *)arg;
    char name[32];

    snprintf(name, sizeof name, "in vain for rank %d", gone);
    if (me->comm->rank != gone) {
        CHECK(closing(me, "once_1.h5") == RSET_PEER && !me->known && says(me, name));
        CHECK(closing(me, "once_2.h5") == RSET_PEER && me->known && me->took < limit);
        reach();
    } else {
        await(me->comm->size - 1);
        CHECK(closing(me, "once_1.h5") == RSET_PEER && me->known && me->took < limit);
        reach();
    }
    await(me->comm->size);
    CHECK(closing(me, "other_1.h5") == RSET_OK); /* nothing else is the worse for it */
}

static void
test_missing(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, limit, one_missing, &gone);
}

/* Several at once; each is named. */
static void
two_missing(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank % 2 == 0)
        CHECK(closing(me, "even.h5") == RSET_PEER &&
              (me->known || says(me, "in vain for rank 1, 3")));
    reach();
    await(me->comm->size); /* nobody is in MPI_Finalize before */
}

static void
test_two_missing(void **state)
{
    (void)state;
    run(4, limit, two_missing, NULL);
}

/* A kind that was met is waited for again after one rank was late, and met again. */
static void
late_once(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank == late) {
        await(n - 1);
    } else {
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && !me->known);
        reach();
    }
    await(n - 1);
    reach();
    await(2 * n - 1);
    CHECK(!rset_meet_known(me->meeting, RSET_MEET_CLOSE, "ckpt_#.h5"));
    while (closing(me, "ckpt_3.h5") != RSET_OK &&
           !me->known) /* waited for less now, never given up */
        continue;
    CHECK(!me->known);
    for (int i = 0; i < 5; i++)
        CHECK(closing(me, "ckpt_4.h5") == RSET_OK);
}

static void
test_late_once(void **state)
{
    (void)state;
    for (int late = 0; late < 4; late++)
        run(4, limit, late_once, &late);
}

static void
only_root(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 0)
        CHECK(closing(me, "log.h5") == RSET_PEER && says(me, "in vain for rank 1, 2, 3"));
    reach();
    await(me->comm->size);
}

static void
test_only_root(void **state)
{
    (void)state;
    run(4, 1, only_root, NULL);
}

/* An error for all who wait, when one of them insists, or has insisted and does not come. */
static void
insisting_in_vain(rank *me, void *arg)
{
    me->required = me->comm->rank == 1;
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank != *(int *)arg)
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && me->p.required);
    reach();
    await(me->comm->size);
}

static void
test_required_in_vain(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, limit, insisting_in_vain, &gone);
}

/* A sign of life, and the whole timeout is waited again: rank *arg is late, then it is not, then it
 * takes half the timeout. */
static void
patience(rank *me, void *arg)
{
    bool late = me->comm->rank == *(int *)arg;
    int  n = me->comm->size;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (!late) {
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER);
        reach();
    }
    await(n - 1);
    while (closing(me, "ckpt_3.h5") != RSET_OK && !me->known)
        continue;
    if (late)
        usleep((useconds_t)(me->comm->timeout / 2 * 1e6));
    CHECK(closing(me, "ckpt_4.h5") == RSET_OK);
}

static void
test_patience_comes_back(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++)
        run(2, 2, patience, &late);
}

/* The answer to a proposal that was given up is not taken for that to the next one. */
static void
old_answer(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 1) {
        CHECK(closing(me, "given_up.h5") == RSET_PEER && says(me, "in vain for rank 0"));
        reach();
    } else {
        await(1);
        usleep((useconds_t)me->comm->rank * 200000 + 200000); /* rank 1 waits, rank 0 answers it */
    }
    CHECK(closing(me, "next.h5") == RSET_OK);
}

static void
test_old_answer(void **state)
{
    (void)state;
    run(3, 2, old_answer, NULL);
}

/* Who stops for good costs the timeout once, not at every file (F16). */
static void
stopped(rank *me, void *arg)
{
    int    gone = *(int *)arg;
    double took = 0;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank != gone) {
        for (int i = 0; i < 4; i++) {
            CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && !me->known);
            took += i > 0 ? me->took : 0;
        }
        /* 1/4 + 1/16 + 1/64 of the timeout, and without rank 0 a word of grace each */
        CHECK(took < me->comm->timeout + (gone == 0 ? 1.5 : 0));
        reach();
    } else {
        await(me->comm->size - 1);
    }
}

static void
test_stopped(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++)
        run(3, 2, stopped, &gone);
}

/* Rank 0 comes when the others have waited for some time, and rank 2 never: the others hear that in
 * time, from rank 0, and rightly. */
static void
root_comes_late(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 0)
        usleep(2100 * 1000);
    if (me->comm->rank != 2)
        CHECK(closing(me, "ckpt_1.h5") == RSET_PEER && says(me, "in vain for rank 2"));
    reach();
    await(me->comm->size); /* nobody is in MPI_Finalize before */
}

static void
test_root_comes_late(void **state)
{
    (void)state;
    run(4, 3.0, root_comes_late, NULL); /* also under sanitizers, on a busy machine */
}

/* ---- MPI_Finalize ---- */

/* Who waits for a rank in MPI_Finalize is told at once. */
static void
finalizing(rank *me, void *arg)
{
    int gone = *(int *)arg;

    if (me->comm->rank == gone)
        return;
    CHECK(closing(me, "last_1.h5") == RSET_PEER && me->took < never / 2);
    CHECK(me->known || says(me, gone == 0 ? "rank 0" : "(is in MPI_Finalize)"));
}

static void
test_finalizing(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, never, finalizing, &gone);
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

/* A protected file that one rank opened alone, in vain, is waited for again, so that all can open it later
 * and bring back what one has lost; a file that nobody protects is not. */
static void
opened_alone_before(rank *me, void *arg)
{
    bool protected_ = *(bool *)arg;

    me->p.evidence = protected_;
    if (me->comm->rank == 0)
        CHECK(meet_as(me, RSET_MEET_OPEN, "ckpt_0.h5") == RSET_PEER && !me->known);
    reach();
    await(me->comm->size);
    me->p.evidence = protected_ && me->comm->rank != 1; /* rank 1 has lost all */
    CHECK(meet_as(me, RSET_MEET_OPEN, "ckpt_1.h5") == (protected_ ? RSET_OK : RSET_PEER));
    CHECK(me->known == !protected_);
}

static void
test_opened_alone_before(void **state)
{
    bool protected_ = true;

    (void)state;
    run(4, limit, opened_alone_before, &protected_);
    protected_ = false;
    run(4, limit, opened_alone_before, &protected_);
}

/* Who waits in vain learns whether that of another who did was protected, and that it was a whole wait: not so when it was
 * short, nor when the others have come for something else. */
static void
in_vain(rank *me, void *arg)
{
    const bool comes = me->comm->rank < 2;

    (void)arg;
    for (int times = 0; times < 2; times++) {
        me->p.evidence = true; /* begun, or protected */
        me->p.protected_ = me->comm->rank == 1;
        if (comes)
            CHECK(meet_as(me, RSET_MEET_OPEN, "ckpt_0.h5") == RSET_PEER && me->p.protected_ &&
                  me->p.vain == (times == 0));
        reach();
        await(me->comm->size * (times + 1));
    }
    if (!comes) { /* the others go on with theirs, and in vain at last */
        CHECK(meet_as(me, RSET_MEET_OPEN, "other.h5") == RSET_PEER && !me->p.vain);
        return;
    }
    CHECK(meet_as(me, RSET_MEET_OPEN, "one_0.h5") == RSET_PEER && me->p.vain);
}

static void
test_in_vain(void **state)
{
    (void)state;
    run(3, limit, in_vain, NULL);
}

/* One rank looks for a file before anybody has protected one; then all protect theirs, and it loses its
 * own: it has nothing that says so but what it remembers. */
static void
opened_alone_at_first(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 1)
        CHECK(meet_as(me, RSET_MEET_OPEN, "ckpt_1.h5") == RSET_PEER && !me->known);
    reach();
    await(me->comm->size);
    CHECK(closing(me, "ckpt_2.h5") == RSET_OK);
    me->p.evidence = me->comm->rank != 1;
    CHECK(meet_as(me, RSET_MEET_OPEN, "ckpt_2.h5") == RSET_OK);
}

static void
test_opened_alone_at_first(void **state)
{
    (void)state;
    run(4, limit, opened_alone_at_first, NULL);
}

static void
watchdog(int sig)
{
    static const char text[] = "test_meet: hangs\n";

    (void)sig;
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_all_come),
        cmocka_unit_test(test_opened_alone_before),
        cmocka_unit_test(test_opened_alone_at_first),
        cmocka_unit_test(test_in_vain),
        cmocka_unit_test(test_minority_goes_on_without),
        cmocka_unit_test(test_even_split),
        cmocka_unit_test(test_required),
        cmocka_unit_test(test_configurations_differ),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_two_missing),
        cmocka_unit_test(test_only_root),
        cmocka_unit_test(test_required_in_vain),
        cmocka_unit_test(test_late_once),
        cmocka_unit_test(test_patience_comes_back),
        cmocka_unit_test(test_old_answer),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_root_comes_late),
        cmocka_unit_test(test_finalizing),
        cmocka_unit_test(test_random_schedules),
        cmocka_unit_test(test_random_delays),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
