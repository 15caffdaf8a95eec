/* soak_world.c: see soak_world.h. */
#include "soak_world.h"

#include "commit/shadow.h"
#include "member/journal.h"
#include "soak_story.h"
#include "sweep.h"
#include "tap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

const char *const soak_operation_names[SOAK_RUNS] = {"nothing",
                                                     "update",
                                                     "update, protect",
                                                     "new file, protect",
                                                     "new file, left",
                                                     "new file, unprotected",
                                                     "protect",
                                                     "commit while open",
                                                     "",
                                                     "open all",
                                                     "open as other ranks",
                                                     "open one alone",
                                                     "read one alone",
                                                     "edit one alone",
                                                     "open one, several processes at once"};

soak_outcome *soak_said;

/* ---- bytes and names ---- */

void
soak_bytes_set(soak_bytes *b, const uint8_t *at, size_t n)
{
    uint8_t *copy = NULL;

    if (at != NULL) {
        copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, at, n);
    }
    free(b->at);
    *b = (soak_bytes){copy, copy != NULL ? n : 0};
}

bool
soak_bytes_equal(const soak_bytes *a, const soak_bytes *b)
{
    return a->at != NULL && b->at != NULL && a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static const char *
below_base(const soak_world *w, const char *path)
{
    return path + strlen(w->base) + 1;
}

const char *
soak_data(const soak_world *w, int r)
{
    return below_base(w, job_data(&w->job, r));
}

const char *
soak_redundancy(const soak_world *w, int r)
{
    return below_base(w, job_redundancy(&w->job, r));
}

const char *
soak_descriptor(const soak_world *w, int r)
{
    return below_base(w, job_descriptor(&w->job, r));
}

void
soak_look(const soak_world *w, int r, soak_bytes *out)
{
    const char *path = job_data(&w->job, r);

    soak_bytes_set(out, NULL, 0);
    if (exists(path))
        out->at = read_file(path, &out->n);
}

void
soak_lose(const soak_world *w, int r)
{
    remove_tree(w->job.ranks[r].dir);
    mkdir(w->job.ranks[r].dir, 0777);
}

void
soak_world_open(soak_world *w, const rset_scheme *scheme, int parity, int n, int min_size)
{
    *w = (soak_world){.base = scratch_make()};
    job_init(&w->job, w->base, n, scheme, parity, min_size);
    w->job.timeout = SOAK_PATIENCE;
    if (soak_said == NULL)
        soak_said = sweep_shared(SOAK_RANKS * sizeof *soak_said);
}

static void
version_free(soak_version *v)
{
    for (int r = 0; r < SOAK_RANKS; r++) {
        free(v->data[r].at);
        free(v->redundancy[r].at);
        free(v->descriptor[r].at);
    }
}

void
soak_world_close(soak_world *w)
{
    for (int i = 0; i < w->nversions; i++)
        version_free(&w->versions[i]);
    for (int i = 0; i < w->nedits; i++) {
        free(w->edits[i].from.at);
        free(w->edits[i].to.at);
    }
    for (int r = 0; r < SOAK_RANKS; r++)
        free(w->part[r].target.at);
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
}

/* ---- what ranks do, in the child ---- */

static soak_world    *world;
static soak_operation running;

typedef struct hand {
    rset_dir     *dir;
    rset_local    local;
    rset_evidence ev;
    rset_journal *journal;
    const char   *names[1];
    char         *shadow;
    rset_err     *err;
} hand;

static rset_status
hand_open(hand *h, job_rank *k)
{
    rset_status st = rset_dir_open(k->dir, false, &h->dir, &k->err);

    h->err = &k->err;
    h->names[0] = k->names[0];
    h->local = (rset_local){
        .dir = h->dir, .prefix = k->prefix, .nfiles = 1, .names = h->names, .paths = h->names};
    return st == RSET_OK ? rset_survey(h->dir, k->prefix, k->names[0], &h->ev, h->err) : st;
}

static void
hand_close(hand *h)
{
    rset_evidence_free(&h->ev);
    rset_dir_close(h->dir);
    free(h->shadow);
}

/* As the driver does: what cannot be kept changes all the same, and it cannot be rolled back. */
static rset_status
save(hand *h, uint64_t off, uint64_t len)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_journal_save(h->journal, off, len, &ignored) == RSET_OK)
        return RSET_OK;
    return rset_journal_give_up(h->journal, h->err);
}

static rset_status
resize(hand *h, rset_file *file, size_t size)
{
    rset_status st = save(h, size, UINT64_MAX - size);

    return st == RSET_OK ? rset_file_resize(file, size, h->err) : st;
}

static rset_status
change(hand *h, const soak_part *part)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_file  *file = NULL;
    rset_status st = rset_change_begin(&h->local, &h->ev, part->keep, &h->journal, &ignored);

    if (st != RSET_OK)
        st = rset_change_begin(&h->local, &h->ev, false, &h->journal, h->err);
    if (st == RSET_OK)
        st = rset_file_open_update(h->dir, h->names[0], &file, h->err);
    if (st == RSET_OK && part->shortens)
        st = resize(h, file, part->target.n);
    for (int i = 0; st == RSET_OK && i < part->nchanges; i++) {
        st = save(h, part->off[i], part->len[i]);
        if (st == RSET_OK)
            st = rset_file_write(file, part->off[i], part->target.at + part->off[i],
                                 (size_t)part->len[i], h->err);
    }
    if (st == RSET_OK && !part->shortens)
        st = resize(h, file, part->target.n);
    rset_file_close(file, NULL);
    return st;
}

static rset_status
write_shadow(hand *h, const soak_bytes *target)
{
    rset_file  *file = NULL;
    rset_access access;
    const bool  old = rset_file_access(h->dir, h->local.names[0], &access);
    size_t      half = target->n / 2;
    rset_status st = rset_shadow_begin(&h->local, &h->ev, &h->shadow, h->err);

    if (st == RSET_OK)
        st = rset_file_create(h->dir, h->shadow, old ? &access : NULL, &file, h->err);
    if (st == RSET_OK)
        st = rset_file_write(file, 0, target->at, half, h->err);
    if (st == RSET_OK && running != SOAK_ABANDON)
        st = rset_file_write(file, half, target->at + half, target->n - half, h->err);
    if (rset_file_close(file, h->err) != RSET_OK && st == RSET_OK)
        st = RSET_IO;
    return st;
}

/* The step that this rank closes in; one process alone is a job of its own. */
static rset_label
label_of(const soak_part *part)
{
    if (running == SOAK_EDIT)
        return (rset_label){.job = 1000000 + world->step, .step = 1, .ranks = 1};
    return (rset_label){
        .job = 1, .step = world->step - part->late, .ranks = (uint64_t)world->job.n};
}

/* A rank that had nothing to change closes in the same step, too. */
static rset_status
close_in_step(hand *h, const soak_part *part)
{
    const rset_label label = label_of(part);
    rset_status      st = RSET_OK;

    if (h->shadow != NULL) {
        h->local.shadow = h->shadow;
        st = rset_shadow_settle(&h->local, &h->ev, label.ranks > 1, &h->journal, h->err);
    } else if (h->journal == NULL)
        st = rset_change_begin(&h->local, &h->ev, true, &h->journal, h->err);
    if (st == RSET_OK && h->journal != NULL)
        st = rset_journal_close(h->journal, &label, h->err);
    h->journal = NULL;
    return st;
}

/* As the driver does: the journal of a file that is protected at its close stays open until it was. */
static rset_status
prepare(hand *h, const soak_part *part)
{
    const bool changes = running == SOAK_UPDATE || running == SOAK_RENEW ||
                         running == SOAK_COMMIT || running == SOAK_EDIT;
    rset_status st = RSET_OK;

    if (changes && part->takes_part)
        st = change(h, part);
    if (running == SOAK_REPLACE || running == SOAK_ABANDON || running == SOAK_PUT)
        st = write_shadow(h, &part->target);
    if (st == RSET_OK &&
        (running == SOAK_PUT || running == SOAK_EDIT || (running == SOAK_UPDATE && part->closes)))
        st = close_in_step(h, part);
    return st;
}

/* It was committed, and goes on to change: nobody was promised anything of that. */
static void
go_on(hand *h, job_rank *k, const soak_part *part)
{
    const size_t n = part->target.n;
    uint8_t     *other = malloc(n + 1);
    soak_part    past = {.keep = true, .nchanges = n > 0, .off = {n / 2}, .len = {n - n / 2}};

    assert_non_null(other);
    for (size_t i = 0; i < n; i++)
        other[i] = (uint8_t)~part->target.at[i];
    past.target = (soak_bytes){other, n};
    rset_journal_leave(h->journal);
    h->journal = NULL;
    if (k->st == RSET_OK &&
        rset_survey_again(h->dir, k->prefix, k->names[0], &h->ev, h->err) == RSET_OK)
        (void)change(h, &past);
    free(other);
}

static void
report(const job *j, int r)
{
    const job_rank *k = &j->ranks[r];

    tap_leave();
    soak_said[r].st = k->st;
    soak_said[r].out = k->out;
    memcpy(soak_said[r].text, k->err.text, sizeof k->err.text);
    soak_said[r].done = true;
}

static void
body_operation(rset_comm *comm, void *arg)
{
    const int r = comm->rank;
    job_rank *k = &world->job.ranks[r];
    hand      h = {0};

    k->err = RSET_ERR_NONE;
    tap_enter(r);
    k->st = hand_open(&h, k);
    if (k->st == RSET_OK)
        k->st = prepare(&h, &world->part[r]);
    if (k->st != RSET_OK && soak_encodes(running))
        abort(); /* the others would wait for this rank */
    if (soak_encodes(running)) {
        k->shadow = h.shadow;
        h.shadow = NULL;
        job_body_protect(comm, arg);
    }
    if (running == SOAK_COMMIT)
        go_on(&h, k, &world->part[r]);
    rset_journal_leave(h.journal);
    hand_close(&h);
    report(arg, r);
}

/* One process; the other threads are not there. */
static void
body_serial(rset_comm *comm, void *arg)
{
    job_rank *k = &world->job.ranks[comm->rank];
    hand      h = {0};

    if (comm->rank != world->alone)
        return;
    k->err = RSET_ERR_NONE;
    tap_enter(comm->rank);
    if (running == SOAK_ALONE || running == SOAK_READ) {
        world->job.readonly = running == SOAK_READ;
        (void)job_recover_serial(arg, comm->rank);
    } else {
        k->st = hand_open(&h, k);
        if (k->st == RSET_OK && !rset_evidence_in_doubt(&h.ev)) /* as vfd/session.c */
            k->st = prepare(&h, &world->part[comm->rank]);
        rset_journal_leave(h.journal);
        hand_close(&h);
    }
    report(arg, comm->rank);
}

static void
body_recover(rset_comm *comm, void *arg)
{
    tap_enter(comm->rank);
    tap_see_threads(TAP_MINE); /* of ranks that it hosts */
    job_body_recover(comm, arg);
    report(arg, comm->rank);
}

static void
in_child(void *arg)
{
    (void)arg;
    switch (running) {
    case SOAK_RECOVER: job_run(&world->job, body_recover); break;
    case SOAK_OTHERS: job_run(&world->others, body_recover); break;
    case SOAK_ALONE:
    case SOAK_READ:
    case SOAK_EDIT: job_run(&world->job, body_serial); break;
    case SOAK_CROWD: world->crowd(world); break;
    default: job_run(&world->job, body_operation);
    }
}

/* ---- running ---- */

static soak_death ordered;
static atomic_int namings; /* of the rank that the job dies by */

static tap_order
at_call(const tap_event *e, int *err_out)
{
    (void)err_out;
    if (e->rank != ordered.rank)
        return TAP_GO;
    namings += e->call == TAP_RENAME || e->call == TAP_UNLINK;
    if ((ordered.naming ? namings : e->nth) != ordered.at)
        return TAP_GO;
    if (ordered.torn && e->call == TAP_PWRITE)
        (void)rset_sys_posix.pwrite(e->fd, e->data, e->len / 2, e->off);
    soak_story_dies(e);
    sweep_die();
}

static const tap_hooks hooks = {.before = at_call};

bool
soak_encodes(soak_operation op)
{
    return op == SOAK_RENEW || op == SOAK_REPLACE || op == SOAK_PROTECT || op == SOAK_COMMIT;
}

int
soak_calls(int rank)
{
    return tap_seen != NULL ? tap_seen->calls[rank] : 0;
}

soak_end
soak_run(soak_world *w, soak_operation op, const soak_death *death)
{
    soak_end end;

    ordered = death != NULL ? *death : (soak_death){.rank = -1};
    namings = 0;
    world = w;
    running = op;
    w->step += 2; /* so that the step before this one was nobody's */
    if (soak_encodes(op)) {
        w->newest = rset_generation_next(w->newest, w->newest * 977 + 12345);
        w->versions[w->nversions - 1].generation = w->newest;
        for (int r = 0; r < w->job.n; r++)
            w->job.ranks[r].desc.generation = w->newest;
    }
    memset(soak_said, 0, SOAK_RANKS * sizeof *soak_said);
    tap_use(&hooks);
    switch (sweep_child(in_child, NULL)) {
    case CHILD_DONE: end = SOAK_DONE; break;
    case CHILD_KILLED: end = SOAK_KILLED; break;
    case CHILD_HUNG: end = SOAK_HUNG; break;
    default: end = SOAK_CRASHED;
    }
    soak_story_ran(w, op, end);
    return end;
}
