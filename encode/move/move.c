/* move.c: see move.h. */
#include "move_internal.h"

#include <stdlib.h>
#include <string.h>

struct rset_move {
    rset_move_args           args;
    rset_err                *err; /* of the call that is under way */
    rset_move_lodgers        lodgers;
    rset_move_offer          best; /* of those for this rank */
    rset_move_job            job;
    const rset_move_lodger **gives; /* owned, as `to` */
    int                     *to;
    rset_records             mail;
    bool                     here; /* this rank has got its own */
};

/* ---- who has what ---- */

/* May its file be brought here? Not when something beside it would contradict what comes. */
static bool
wants(const rset_move *m)
{
    const rset_evidence *ev = m->args.evidence;

    return m->args.wants && m->args.local->nfiles == 1 && !ev->undo.there && ev->nshadows == 0 &&
           ev->next == 0;
}

/* Own records of the same generation, in this directory, are as good without the data. */
static bool
is_better(const rset_move *m, const rset_move_offer *o)
{
    const rset_move_offer *best = &m->best;
    const uint64_t         own = rset_evidence_newest(m->args.evidence);

    if (rset_generation_newer(m->args.counts, o->generation))
        return false;
    if (o->name != rset_move_hash(m->args.local->names[0]) || o->rank != m->args.world->rank ||
        o->dir == rset_move_lodgers_dir(m->args.local, m->args.host) ||
        (own != 0 && !rset_generation_newer(o->generation, own) &&
         (o->generation != own || o->data == 0)))
        return false;
    if (m->job.from < 0 || rset_generation_newer(o->generation, best->generation))
        return true;
    return o->generation == best->generation && o->data > best->data;
}

/* Everybody tells the ranks of whom it has files. */
static rset_status
learn_offers(rset_move *m)
{
    const rset_move_args *a = &m->args;
    rset_status           st = RSET_OK;

    if (a->gives)
        st = rset_move_lodgers_find(a->local, a->world->size, a->host, &m->lodgers, m->err);
    m->mail.size = sizeof(rset_move_offer);
    for (size_t i = 0; st == RSET_OK && i < m->lodgers.n; i++) {
        const rset_move_offer *o = &m->lodgers.at[i].offer;

        if (o->rank >= 0 && o->rank < a->world->size && o->rank != a->world->rank)
            rset_records_add(&m->mail, o->rank, o);
    }
    st = rset_route(a->world, st, a->host, &m->mail, m->err);
    for (size_t i = 0; st == RSET_OK && wants(m) && i < m->mail.n; i++) {
        rset_move_offer o;
        const int       from = rset_records_get(&m->mail, i, &o);

        if (is_better(m, &o)) {
            m->best = o;
            m->job.from = from;
        }
    }
    rset_records_free(&m->mail);
    return st;
}

static const rset_move_lodger *
lodger_of(const rset_move *m, uint64_t name)
{
    for (size_t i = 0; i < m->lodgers.n; i++)
        if (m->lodgers.at[i].offer.name == name)
            return &m->lodgers.at[i];
    return NULL;
}

/* Each taker says so to its giver. */
static rset_status
say_to_giver(rset_move *m, bool so)
{
    const rset_move_args *a = &m->args;
    const uint64_t        name = m->best.name;

    m->mail.size = sizeof name;
    if (so)
        rset_records_add(&m->mail, m->job.from, &name);
    return rset_route(a->world, RSET_OK, a->host, &m->mail, m->err);
}

static rset_status
learn_takers(rset_move *m)
{
    rset_status st = say_to_giver(m, m->job.from >= 0);

    if (st == RSET_OK) {
        m->gives = calloc(m->mail.n + 1, sizeof(const rset_move_lodger *));
        m->to = calloc(m->mail.n + 1, sizeof *m->to);
        if (m->gives == NULL || m->to == NULL)
            st = rset_fail(m->err, RSET_NOMEM, "no memory to move files");
    }
    for (size_t i = 0; st == RSET_OK && i < m->mail.n; i++) {
        uint64_t                name;
        const int               to = rset_records_get(&m->mail, i, &name);
        const rset_move_lodger *l = lodger_of(m, name);

        if (l == NULL || l->offer.rank != to)
            st = rset_fail(m->err, RSET_PEER, "rank %d asks for files that it was not offered", to);
        m->to[m->job.ngives] = to;
        m->gives[m->job.ngives++] = l;
    }
    rset_records_free(&m->mail);
    return st;
}

/* ---- publishing ---- */

/* All names are noted before the first is given, the temporary ones too: what a crash leaves of them is found (N1). */
static rset_status
note_names(const rset_move *m)
{
    const rset_local    *local = m->args.local;
    const rset_move_job *job = &m->job;
    const char         **names = calloc(2 * job->nfiles + 1, sizeof *names);
    size_t               n = 0;
    rset_status          st;

    if (names == NULL)
        return rset_fail(m->err, RSET_NOMEM, "%s: no memory for the names beside it",
                         rset_local_name(local));
    for (size_t i = 0; i < job->nfiles; i++) {
        names[n++] = job->files[i].temp;
        if (strcmp(job->files[i].name, local->names[0]) != 0)
            names[n++] = job->files[i].name;
    }
    st = rset_names_note(local->dir, local->prefix, names, n, m->err);
    free(names);
    return st;
}

static rset_status
publish(rset_move *m)
{
    const rset_local *local = m->args.local;
    rset_move_job    *job = &m->job;
    rset_status       st = note_names(m);

    for (size_t i = 0; st == RSET_OK && i < job->nfiles; i++) {
        if (i + 1 == job->nfiles) /* the data file: from now on it is there */
            st = rset_dir_sync(local->dir, m->err);
        if (st == RSET_OK)
            st = rset_dir_rename(local->dir, job->files[i].temp, job->files[i].name, m->err);
        if (st == RSET_OK)
            job->files[i].temp[0] = '\0';
    }
    return st == RSET_OK ? rset_dir_sync(local->dir, m->err) : st;
}

/* Removes what came, whether it has its names or not; and the names file, where nothing else of ours lies there. */
static void
take_back(const rset_move *m)
{
    const rset_local *local = m->args.local;
    rset_names        names = {0};

    if (m->job.nfiles == 0)
        return;
    for (size_t i = m->job.nfiles; i > 0; i--) {
        const rset_move_file *f = &m->job.files[i - 1];

        (void)rset_dir_unlink(local->dir, f->temp[0] == '\0' ? f->name : f->temp, NULL);
    }
    if (rset_names_find(local->dir, local->prefix, local->names[0], &names, NULL) == RSET_OK &&
        names.n == 0)
        (void)rset_names_forget(local->dir, local->prefix, NULL);
    rset_names_free(&names);
}

/* ---- removing ---- */

/* What was given is not this rank's any more. What stays is an old copy, and does no harm: so does one without a data file. */
static void
remove_given(const rset_move *m, const rset_move_lodger *l)
{
    rset_dir  *dir = m->args.local->dir;
    rset_names names = {0};

    if (rset_move_lodger_is_same(m->args.local, l) &&
        rset_names_find(dir, l->prefix, l->base, &names, NULL) == RSET_OK) {
        (void)rset_dir_unlink(dir, l->base, NULL);
        for (size_t i = 0; i < names.n; i++)
            (void)rset_dir_unlink(dir, names.at[i], NULL);
        (void)rset_names_forget(dir, l->prefix, NULL);
    }
    rset_names_free(&names);
}

/* ---- the whole ---- */

static rset_status
bring(rset_move *m, rset_moved *out)
{
    const rset_move_args *a = &m->args;
    rset_status           st = rset_agree(a->world, learn_takers(m), a->host, m->err);

    if (st != RSET_OK)
        return st;
    m->job.gives = m->gives;
    m->job.to = m->to;
    st = rset_move_copy(&m->job, m->err);
    m->here = st == RSET_OK && m->job.complete && m->job.nfiles > 0;
    st = rset_agree(a->world, st, a->host, m->err);
    if (st == RSET_OK && m->here)
        st = publish(m);
    m->here = m->here && st == RSET_OK;
    if (!m->here)
        take_back(m);
    out->here = m->here;
    memcpy(out->host, m->job.from_host, sizeof out->host);
    return rset_agree(a->world, st, a->host, m->err);
}

static void
move_free(rset_move *m)
{
    free(m->gives);
    free(m->to);
    free(m->job.files);
    rset_move_lodgers_free(&m->lodgers);
    free(m);
}

rset_status
rset_move_missing(const rset_move_args *args, rset_move **move_out, rset_moved *out, rset_err *err)
{
    rset_move  *m = calloc(1, sizeof *m);
    rset_status st;

    *move_out = NULL;
    *out = (rset_moved){0};
    if (m == NULL) /* to the others' first step */
        return rset_agree(args->world, rset_fail(err, RSET_NOMEM, "no memory to move files"),
                          args->host, err);
    *m = (rset_move){.args = *args, .err = err};
    m->job =
        (rset_move_job){.world = args->world, .local = args->local, .host = args->host, .from = -1};
    st = learn_offers(m);
    out->any = m->job.from >= 0;
    if (st == RSET_OK)
        st = rset_any(args->world, RSET_OK, args->host, &out->any, err);
    if (st == RSET_OK && out->any)
        st = bring(m, out);
    if (st == RSET_OK && out->any) {
        *move_out = m;
        return RSET_OK;
    }
    rset_move_undo(m);
    return st;
}

rset_status
rset_move_keep(rset_move *m, rset_err *err)
{
    rset_status st;

    m->err = err;
    st = say_to_giver(m, m->here);
    for (size_t i = 0; st == RSET_OK && i < m->mail.n; i++) {
        uint64_t                name;
        const int               to = rset_records_get(&m->mail, i, &name);
        const rset_move_lodger *l = lodger_of(m, name);

        if (l != NULL && l->offer.rank == to && !m->args.copies)
            remove_given(m, l);
    }
    rset_records_free(&m->mail);
    move_free(m);
    return st;
}

void
rset_move_undo(rset_move *m)
{
    if (m == NULL)
        return;
    if (m->here)
        take_back(m);
    move_free(m);
}
