/* rendezvous_ranks.h: ranks that are threads and propose to each other to do something, for the tests of the rendezvous. What must
 * happen first is put in order with stages, times are only upper bounds.
 *
 * cmocka's asserts must not run in other threads: bodies use CHECK, which counts. */
#ifndef RSET_TEST_RENDEZVOUS_RANKS_H
#define RSET_TEST_RENDEZVOUS_RANKS_H

#include "comm/comm_local.h"
#include "rendezvous/rendezvous.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_RANKS = 8, WATCHDOG = 300 };

/* How much later than the timeout a call may return, and a timeout that no test runs into. */
static const double slack = 3.0, never = 60;

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
    rset_comm       *comm;
    rset_rendezvous *place;
    rset_proposal    p;
    rset_err         err;
    uint64_t         nonce;
    bool             known, required;
    int              came; /* what the next proposal says */
    double           took;
} rank;

typedef struct job {
    void (*body)(rank *me, void *arg);
    void *arg;
} job;

static inline void
run_body(rset_comm *comm, void *arg)
{
    const job *j = arg;
    rank       one = {.comm = comm}, *me = &one;
    char       host[16];
    rset_err   err = RSET_ERR_NONE;

    snprintf(host, sizeof host, "node%d", comm->rank);
    CHECK(rset_rendezvous_new(host, comm->size, &me->place, &err) == RSET_OK);
    CHECK(rset_rendezvous_attach(me->place, comm, &err) == RSET_OK);
    j->body(me, j->arg);
    rset_rendezvous_end(me->place);
    rset_rendezvous_free(me->place);
}

static inline void
run(int size, double timeout, void (*body)(rank *me, void *arg), void *arg)
{
    job      j = {body, arg};
    rset_err err = RSET_ERR_NONE;

    atomic_store(&failures, 0);
    atomic_store(&stage, 0);
    assert_int_equal(rset_local_run(size, timeout, run_body, &j, &err), RSET_OK);
    assert_int_equal(atomic_load(&failures), 0);
}

/* The two ranks before them are another team, which does nothing here. */
static inline void
run_team_body(rset_comm *whole, void *arg)
{
    int       ranks[MAX_RANKS], n = 0;
    rset_comm own = {0}, *comm = &own;

    if (whole->rank < 2)
        return;
    while (n + 2 < whole->size) {
        ranks[n] = n + 2;
        n++;
    }
    assert_int_equal(rset_comm_divide(whole, ranks, n, comm, NULL), RSET_OK);
    run_body(comm, arg);
    rset_comm_free(comm);
}

/* As run, where the ranks are a team of a larger communicator. */
static inline void
run_as_team(int size, double timeout, void (*body)(rank *me, void *arg), void *arg)
{
    job      j = {body, arg};
    rset_err err = RSET_ERR_NONE;

    atomic_store(&failures, 0);
    atomic_store(&stage, 0);
    assert_int_equal(rset_local_run(size + 2, timeout, run_team_body, &j, &err), RSET_OK);
    assert_int_equal(atomic_load(&failures), 0);
}

/* The path of rank me's file of that kind and step. */
static inline const char *
name_of(const rank *me, const char *kind, int step)
{
    static _Thread_local char text[64];

    snprintf(text, sizeof text, "/some/where/%s_%d.%d.h5", kind, step, me->comm->rank);
    return text;
}

/* Waits until `n` ranks have called reach(). */
static inline void
await(int n)
{
    while (atomic_load(&stage) < n)
        usleep(1000);
}

static inline void
reach(void)
{
    atomic_fetch_add(&stage, 1);
}

static inline rset_status
meet_as(rank *me, rset_rendezvous_op op, const char *path)
{
    double      start = rset_clock();
    rset_status st;

    me->p.op = op;
    me->p.required = me->required;
    me->p.came = me->came;
    rset_kind_of(path, &me->p.kind);
    me->err = RSET_ERR_NONE;
    me->nonce = 0;
    st = rset_rendezvous_meet(me->place, &me->p, &me->nonce, &me->known, &me->err);
    me->took = rset_clock() - start;
    CHECK(st == me->err.status && (st == RSET_OK || (st == RSET_PEER && me->err.text[0] != '\0')));
    CHECK(me->took < me->comm->timeout + slack);
    return st;
}

static inline rset_status
closing(rank *me, const char *path)
{
    return meet_as(me, RSET_RENDEZVOUS_CLOSE, path);
}

static inline rset_label
label_of(rank *me, const char *path)
{
    rset_kind kind;

    rset_kind_of(path, &kind);
    return rset_rendezvous_label(me->place, &kind);
}

static inline bool
says(const rank *me, const char *text)
{
    bool found = strstr(me->err.text, text) != NULL;

    if (!found)
        fprintf(stderr, "rank %d: no \"%s\" in: %s\n", me->comm->rank, text, me->err.text);
    return found;
}

static inline void
watchdog(int sig)
{
    static const char text[] = "rendezvous: hangs\n";

    (void)sig;
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

/* For cmocka, before a group of tests. */
static inline int
set_watchdog(void **state)
{
    (void)state;
    signal(SIGALRM, watchdog);
    return (int)alarm(WATCHDOG);
}

/* ---- tables of tests ---- */

/* A row of a table: so many ranks do that; either once, or for each `odd` from `first` to before `end`, which mostly is the rank
 * that does something else. */
typedef struct scene {
    void (*once)(rank *me);
    void (*each)(rank *me, int odd);
    int    ranks;
    double timeout;
    int    first, end, step;
} scene;

typedef struct scene_run {
    const scene *scene;
    int          odd;
} scene_run;

static inline void
scene_body(rank *me, void *arg)
{
    const scene_run *r = arg;

    if (r->scene->once != NULL)
        r->scene->once(me);
    else
        r->scene->each(me, r->odd);
}

static inline void
scene_play(void **state)
{
    const scene *s = *state;

    for (int odd = s->first; odd < s->end; odd += s->step)
        run(s->ranks, s->timeout, scene_body, &(scene_run){s, odd});
}

/* Members of an array of struct CMUnitTest. */
#define SCENE_ROW(body, ...)                                                                       \
    {                                                                                              \
        .name = #body, .test_func = scene_play, .initial_state = &(scene){__VA_ARGS__},            \
    }
#define SCENE(body, n, limit)                                                                      \
    SCENE_ROW(body, .once = (body), .ranks = (n), .timeout = (limit), .end = 1, .step = 1)
#define SCENE_FOR(body, n, limit, from, before, by)                                                \
    SCENE_ROW(body, .each = (body), .ranks = (n), .timeout = (limit), .first = (from),             \
              .end = (before), .step = (by))

#endif
