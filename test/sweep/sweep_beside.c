/* sweep_beside.c: while the ranks of a job change and commit their files, other processes look at them: one alone, as h5dump with
 * the driver, and a second job that only reads, without HDF5's locks. The commit comes to the same as without them, and what they
 * were told is true. They look at what stands still, before each call of one rank; or while it goes on, both by some calls in turn:
 * then what was listed is renamed before it is opened. */
#include "judge.h"
#include "scene.h"
#include "sweep.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT = 60, SAMPLE = 1, PACES = 3, MOMENT = 2 };

/* Who may make how many calls before it is the other one's turn. */
typedef enum { WRITER, READER, BOTH } party;
typedef struct pace {
    int calls[BOTH];
} pace;

static const pace paces[PACES] = {{{1, 1}}, {{1, 3}}, {{4, 1}}};

/* Beside which rank somebody looks, before each call that matters to others; and where the file system has no locks, who must
 * not write anything then (readonly_rebuild=no). With a pace: while that rank goes on. */
typedef struct moment {
    int         rank;
    bool        no_locks;
    const pace *pace;
} moment;

/* What the readers came to, shared with the child: what must not be. */
typedef struct seen {
    int  readers, opened, busy;
    char wrong[2048];
} seen;

static const scene *running;
static moment       ordered;
static seen        *said;

/* ---- taking turns ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    party           whose;
    int             made; /* calls of this turn */
    bool            free; /* nobody waits for a turn any more */
    bool            over; /* the writer has ended */
    tap_event       last; /* of the writer's calls */
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The other one may be waiting for a rank that waits for this one: then both go on as they like. */
static void
wait_for_turn(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOMENT;
    if (pthread_cond_timedwait(&turns.changed, &turns.lock, &until) == ETIMEDOUT)
        turns.free = true;
}

/* Before a call: whoever has made those of its turn waits for the next. Between two calls of the one in turn the other stands still. */
static void
take_turn(party who, const tap_event *e)
{
    pthread_mutex_lock(&turns.lock);
    if (turns.whose == who && turns.made == ordered.pace->calls[who]) {
        turns.whose = who == WRITER ? READER : WRITER;
        turns.made = 0;
        pthread_cond_broadcast(&turns.changed);
    }
    while (turns.whose != who && !turns.free)
        wait_for_turn();
    turns.made++;
    if (who == WRITER)
        turns.last = *e;
    pthread_mutex_unlock(&turns.lock);
}

static bool
are_over(void)
{
    bool over;

    pthread_mutex_lock(&turns.lock);
    over = turns.over;
    pthread_mutex_unlock(&turns.lock);
    return over;
}

static void
end_turns(int rank)
{
    if (rank != ordered.rank)
        return;
    pthread_mutex_lock(&turns.lock);
    turns.free = turns.over = true;
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
}

/* ---- in the child ---- */

static bool
holds_either(int rank, const char *path)
{
    size_t     size = 0;
    uint8_t   *data = exists(path) ? read_file(path, &size) : NULL;
    const bool is = data != NULL && (scene_holds(&running->old, rank, data, size) ||
                                     scene_holds(&running->new, rank, data, size));

    free(data);
    return is;
}

/* RSET_BUSY and "never protected" are true answers while somebody else commits; that anything is lost is none. Without locks nobody can
 * tell a commit that is under way from one that was cut short. */
static void
note(const tap_event *e, const char *who, const job_rank *k, int rank, const char *path)
{
    said->readers++;
    said->opened += k->st == RSET_OK;
    said->busy += k->st == RSET_BUSY;
    if (said->wrong[0] != '\0' || k->st == RSET_BUSY || k->st == RSET_ABSENT ||
        (k->st != RSET_OK && ordered.no_locks))
        return;
    if (k->st != RSET_OK)
        snprintf(said->wrong, sizeof said->wrong, "call %d (%s): %s of rank %d is refused: %s",
                 e->nth, tap_name(e->call), who, rank, k->err.text);
    else if (ordered.pace == NULL && rank == e->rank && k->out.protected_ &&
             !holds_either(rank, path))
        snprintf(said->wrong, sizeof said->wrong,
                 "call %d (%s): %s of rank %d calls protected what is neither old nor new", e->nth,
                 tap_name(e->call), who, rank);
}

/* Calls of each rank are told apart where ranks take turns. */
static void
enter(int rank, void *arg)
{
    (void)arg;
    if (ordered.pace != NULL)
        tap_enter(TAP_HOSTS + rank);
}

static void
leave(int rank, void *arg)
{
    (void)rank, (void)arg;
    tap_leave();
}

/* In a thread of its own: those of ranks have small stacks, and file calls that are seen. */
static void *
look(void *arg)
{
    const tap_event *e = arg;
    job              other;

    job_init(&other, running->base, SCENE_RANKS, running->kind->scheme, running->kind->parity,
             SCENE_RANKS);
    other.content = RSET_CONTENT_DATA;
    other.readonly = ordered.no_locks;
    for (int i = 0; i < 2; i++) {
        const int r = (e->rank + i) % SCENE_RANKS;

        enter(r, NULL);
        (void)job_recover_serial(&other, r);
        leave(r, NULL);
        note(e, "one process", &other.ranks[r], r, job_data(&other, r));
    }
    other.timeout = TIMEOUT;
    other.reads = other.leave_orphans = true;
    other.before = enter;
    other.after = leave;
    job_run(&other, job_body_recover);
    for (int r = 0; r < SCENE_RANKS; r++)
        note(e, "a second job", &other.ranks[r], r, job_data(&other, r));
    job_free(&other);
    return NULL;
}

static void *
look_on(void *arg)
{
    (void)arg;
    while (!are_over())
        look(&turns.last);
    return NULL;
}

static bool
is_worth_it(tap_call call)
{
    return call == TAP_CREATE || call == TAP_PWRITE || call == TAP_RENAME || call == TAP_LINK ||
           call == TAP_UNLINK || call == TAP_FSYNC || call == TAP_GUARD || call == TAP_FLOCK;
}

static tap_order
at_call(const tap_event *e, int *err_out)
{
    pthread_t other;

    if (ordered.pace != NULL && e->rank == ordered.rank)
        take_turn(WRITER, e);
    else if (ordered.pace != NULL && e->rank == TAP_HOSTS + ordered.rank)
        take_turn(READER, e);
    else if (ordered.pace == NULL && e->rank == ordered.rank && is_worth_it(e->call) &&
             pthread_create(&other, NULL, look, (void *)(uintptr_t)e) == 0)
        pthread_join(other, NULL);
    *err_out = ENOSYS;
    return ordered.no_locks && (e->call == TAP_GUARD || e->call == TAP_FLOCK) ? TAP_FAIL : TAP_GO;
}

static const tap_hooks hooks = {.before = at_call};

static void
run_in_child(void *arg)
{
    scene    *s = arg;
    pthread_t other;
    bool      looks = false;

    s->job.timeout = TIMEOUT;
    turns.last.rank = ordered.rank;
    if (ordered.pace != NULL)
        looks = pthread_create(&other, NULL, look_on, NULL) == 0;
    scene_run(s, s->op->run, 1, ordered.pace != NULL ? end_turns : NULL);
    if (looks)
        pthread_join(other, NULL);
}

/* ---- one moment ---- */

static void
one_moment(scene *s, moment m)
{
    char      what[256];
    child_end end;

    scene_begin(s);
    running = s;
    ordered = m;
    *said = (seen){0};
    snprintf(what, sizeof what, "%s, beside rank %d%s", scene_name(s), m.rank,
             m.pace != NULL ? ", in turn"
             : m.no_locks   ? ", no locks"
                            : "");
    sweep_point();
    tap_use(&hooks);
    end = sweep_child(run_in_child, s);
    tap_use(NULL);
    if (end != CHILD_DONE)
        sweep_violation("%s: it %s", what, end == CHILD_HUNG ? "hangs" : "crashes");
    if (said->wrong[0] != '\0')
        sweep_violation("%s, %s", what, said->wrong);
    for (int r = 0; r < SCENE_RANKS; r++)
        if (!scene_said->rank[r].done || scene_said->rank[r].st != RSET_OK)
            sweep_violation("%s: rank %d fails: %s", what, r, scene_said->rank[r].text);
    for (int i = 0; i < said->readers; i++)
        sweep_tally(i < said->opened                ? "opened"
                    : i < said->opened + said->busy ? "refused as in use"
                                                    : "never protected");
    judge(&(judge_case){
        .scene = s, .what = what, .reported = scene_reported() ? SCENE_NEW : 0, .losses = 0});
}

/* How redundancy is laid out makes no difference to readers: a sample does without two of the schemes. */
static bool
is_tried(const scene *s)
{
    if (!sweep_all() &&
        (s->kind->scheme == &rset_scheme_partner || s->kind->scheme == &rset_scheme_rs))
        return false;
    return s->op->run == scene_protect && (s->op->flags & SCENE_VAIN) == 0 && s->job.change != NULL;
}

static void
try_scene(scene *s)
{
    if (!is_tried(s))
        return;
    for (int i = 0; i < (sweep_all() ? 2 * SCENE_RANKS : sweep_sample(SAMPLE)); i++)
        one_moment(s, sweep_all() ? (moment){.rank = i / 2, .no_locks = i % 2 != 0}
                                  : (moment){.rank = (int)sweep_random(SCENE_RANKS),
                                             .no_locks = sweep_random(4) == 0});
    for (int i = 0; i < PACES * (sweep_all() ? SCENE_RANKS : 1); i++)
        one_moment(s, (moment){.rank = sweep_all() ? i / PACES : (int)sweep_random(SCENE_RANKS),
                               .pace = &paces[i % PACES]});
}

int
main(int argc, char **argv)
{
    sweep_begin("beside", argc, argv);
    said = sweep_shared(sizeof *said);
    scene_each(1, try_scene);
    return sweep_end();
}
