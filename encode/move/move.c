/* move.c: see move.h. */
#include "commit/forget.h"
#include "commit/kept.h"
#include "move_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- who lies where ---- */

/* There is another rank's file where this one's belongs, or an older generation of one; or a run was cut short when this rank's was on
 * its way. */
static rset_status
make_room(rset_move *m)
{
    rset_move_args       *a = &m->args;
    const rset_local     *local = a->local;
    const rset_move_guest guest = {.rank = a->world->rank,
                                   .owner =
                                       a->strange ? a->evidence->header.infos[0].desc.rank : -1,
                                   .ranks = a->world->size};
    rset_status           st = RSET_OK;

    m->wants = a->wants;
    if (local->dir == NULL || local->nfiles != 1)
        return RSET_OK;
    if (a->gives)
        st = rset_move_free_older(local, !a->strange && !a->wants, m->err);
    if (st == RSET_OK && (a->strange || a->wants))
        st = rset_move_make_room(local, &guest, &m->out, m->err);
    if (st == RSET_OK && a->wants && rset_move_is_half_out(local, a->world->rank, a->evidence))
        st = rset_move_bring_home(local, a->world->rank, &m->home, m->err);
    if (!a->strange && m->out.n == 0 && m->home.n == 0)
        return st;
    if (st == RSET_OK)
        st = rset_survey_local(local, &m->after, m->err);
    a->evidence = &m->after;
    m->wants = a->strange ? m->out.done > 0 : a->wants && m->home.done == 0;
    return st;
}

/* ---- who takes what ---- */

/* The file that a taker means: several may have its name, and one of them lies in that directory and was written by that rank. */
static const rset_located *
located_of(const rset_move *m, const rset_holding *what)
{
    for (size_t i = 0; i < m->look.found.n; i++) {
        const rset_located *l = &m->look.found.at[i];

        if (rset_name_hash(l->name) == what->name &&
            l->evidence.header.infos[0].desc.rank == what->rank && l->place == what->dir)
            return l;
    }
    return NULL;
}

/* Each taker says to its giver which holding it takes; `takers` is then what came. Collective. */
static rset_status
say_to_giver(rset_move *m, bool so, rset_records *takers)
{
    const rset_move_args *a = &m->args;

    *takers = (rset_records){.size = sizeof m->best};
    if (so && m->job.from >= 0)
        rset_records_add(takers, m->job.from, &m->best);
    return rset_route(a->world, RSET_OK, a->host, takers, m->err);
}

/* What taker number i, *to_out, was offered; NULL: it was not. */
static const rset_located *
taken(const rset_move *m, const rset_records *takers, size_t i, int *to_out)
{
    rset_holding what;

    *to_out = rset_records_get(takers, i, &what);
    return located_of(m, &what);
}

/* Else it is a copy for a reader, and the file is at home where it lies; or it is not whole, or not in this rank's directory. */
static bool
goes_to(const rset_move *m, const rset_located *l, int rank)
{
    const rset_desc *d = &l->evidence.header.infos[0].desc;

    return !m->args.copies && l->there && l->dir == m->args.local->dir &&
           d->ranks == m->args.world->size && d->rank == rank;
}

static rset_status
learn_takers(rset_move *m)
{
    rset_move_job *job = &m->job;
    rset_records   takers;
    rset_status    st = say_to_giver(m, true, &takers);

    if (st == RSET_OK) {
        job->gives = calloc(takers.n + 1, sizeof(const rset_located *));
        job->to = calloc(takers.n + 1, sizeof *job->to);
        job->stays = calloc(takers.n + 1, sizeof *job->stays);
        if (job->gives == NULL || job->to == NULL || job->stays == NULL)
            st = rset_fail(m->err, RSET_NOMEM, "no memory to move files");
    }
    for (size_t i = 0; st == RSET_OK && i < takers.n; i++) {
        job->gives[i] = taken(m, &takers, i, &job->to[i]);
        if (job->gives[i] == NULL)
            st = rset_fail(m->err, RSET_PEER, "rank %d asks for files that it was not offered",
                           job->to[i]);
        else
            job->stays[i] = !goes_to(m, job->gives[i], job->to[i]);
        job->ngives++;
    }
    rset_records_free(&takers);
    return st;
}

/* ---- removing ---- */

static void
forget_beside(const rset_local *gone, const rset_evidence *ev)
{
    for (size_t i = 0; i < ev->nkept; i++)
        (void)rset_kept_remove(gone, ev->kept[i], NULL);
    (void)rset_forget_others(gone, NULL, NULL);
}

/* The names file of what an older generation was one of lists it no more; and goes where that was the last. */
static void
forget_main(const rset_located *l)
{
    char      *name = NULL, *prefix = NULL;
    rset_names names = {0};

    if (rset_dir_lacks_file(l->dir, l->base))
        rset_kept_forget_named(l->dir, l->base);
    if (rset_name_kept(l->base) != 0 && rset_name_main(l->base, &name, &prefix, NULL) == RSET_OK &&
        rset_names_find_all(l->dir, prefix, name, &names, NULL) == RSET_OK && names.n == 0 &&
        rset_dir_lacks_file(l->dir, name))
        (void)rset_names_forget(l->dir, prefix, NULL);
    rset_names_free(&names);
    free(prefix);
    free(name);
}

/* What was given is not this rank's any more: its taker has it, under names that the taker's own program gave, whatever the
 * header here says (P7). What stays is an old copy, and does no harm: so does one without a data file. */
static void
remove_given(const rset_move *m, const rset_located *l)
{
    const rset_local given = {.dir = l->dir, .prefix = l->prefix};

    if (strcmp(l->prefix, m->args.local->prefix) == 0 || !rset_move_is_same(l, 0) ||
        rset_dir_unlink(given.dir, l->base, NULL) != RSET_OK)
        return;
    for (int i = 1; i < l->n; i++)
        if (rset_move_is_same(l, i))
            (void)rset_dir_unlink(given.dir, l->names[i], NULL);
    forget_beside(&given, &l->evidence);
    forget_main(l);
}

/* The data file first: without it what is left harms nobody. */
static void
remove_out(const rset_located *l)
{
    const rset_local out = {.dir = l->dir, .prefix = l->prefix};

    if (rset_dir_unlink(out.dir, l->base, NULL) == RSET_OK)
        forget_beside(&out, &l->evidence);
    forget_main(l);
}

/* ---- the whole ---- */

static rset_status
bring(rset_move *m, rset_moved *out)
{
    const rset_move_args *a = &m->args;
    rset_status           st = rset_agree(a->world, learn_takers(m), a->host, m->err);

    if (st != RSET_OK)
        return st;
    st = rset_move_copy(&m->job, m->err);
    m->here = st == RSET_OK && m->job.complete && m->job.nfiles > 0;
    st = rset_agree(a->world, st, a->host, m->err);
    if (st == RSET_OK && m->here)
        st = rset_move_publish(m);
    else if (st == RSET_OK && m->comes_home)
        st = rset_move_bring_home(a->local, a->world->rank, &m->home, m->err);
    m->here = m->here && st == RSET_OK;
    if (!m->here)
        rset_move_take_back(m);
    out->here = m->here;
    out->copied = m->job.copied;
    memcpy(out->host, m->job.from_host, sizeof out->host);
    return rset_agree(a->world, st, a->host, m->err);
}

static void
move_free(rset_move *m)
{
    rset_move_room_free(&m->out);
    rset_move_room_free(&m->home);
    rset_evidence_free(&m->after);
    free(m->job.gives);
    free(m->job.to);
    free(m->job.stays);
    free(m->job.files);
    rset_look_free(&m->look);
    free(m);
}

/* Of any rank, in one reduction. */
typedef struct findings {
    bool taken;   /* files can be had */
    bool changed; /* what was in the way is not any more */
    bool news;    /* some rank has heard of a generation that was not known */
} findings;

static void
merge_findings(void *into, const void *other)
{
    findings       *a = into;
    const findings *b = other;

    a->taken = a->taken || b->taken;
    a->changed = a->changed || b->changed;
    a->news = a->news || b->news;
}

static bool
has_changed(const rset_move *m)
{
    return m->out.done > 0 || m->home.done > 0;
}

static rset_status
look(rset_move *m, rset_status own, findings *all)
{
    const rset_reduction what = {all, sizeof *all, merge_findings};
    rset_status          st = own == RSET_OK ? make_room(m) : own;
    bool                 any = has_changed(m);

    st = rset_move_learn_offers(m, st, &any);
    if (st != RSET_OK || !any)
        return st;
    *all = (findings){.taken = m->job.from >= 0 || m->comes_home,
                      .changed = has_changed(m),
                      .news = m->record.ranks > 0 && m->record.generation != m->args.known};
    return rset_reduce(m->args.world, RSET_OK, m->args.host, &what, m->err);
}

rset_status
rset_move_missing(const rset_move_args *args, rset_move **move_out, rset_moved *out, rset_err *err)
{
    rset_move   lacking, *m = calloc(1, sizeof *m);
    findings    all = {0};
    rset_status st = args->before;

    *move_out = NULL;
    *out = (rset_moved){0};
    if (m == NULL) { /* it fails in the others' first step */
        st = rset_fail(err, RSET_NOMEM, "no memory to move files");
        m = &lacking;
    }
    *m = (rset_move){.args = *args, .err = err};
    m->job =
        (rset_move_job){.world = args->world, .local = args->local, .host = args->host, .from = -1};
    st = look(m, st, &all);
    if (m == &lacking)
        return st;
    out->record = m->record;
    out->any = st == RSET_OK && (all.taken || all.changed || all.news);
    if (st == RSET_OK && all.taken)
        st = bring(m, out);
    out->changed = m->here || has_changed(m);
    if (st == RSET_OK && (all.taken || all.changed)) {
        *move_out = m;
        return RSET_OK;
    }
    rset_move_undo(m);
    return st;
}

static bool
was_given(const rset_move *m, const rset_located *l)
{
    for (size_t i = 0; i < m->job.ngives; i++)
        if (m->job.gives[i] == l)
            return true;
    return false;
}

/* What is out of the way, and has the name that all open, is of use to nobody: all have their files, in this generation or a
 * newer one. Those of another name may be all there is of another step; and what was given is gone, or its taker lacks some of it. */
static void
remove_what_is_left(const rset_move *m, uint64_t generation)
{
    for (size_t i = 0; i < m->look.found.n; i++) {
        const rset_located *l = &m->look.found.at[i];
        const uint64_t      newest = rset_evidence_newest(&l->evidence);
        const bool          of_now = newest == generation && m->args.copies;

        if (l->dir == m->args.local->dir && rset_located_is_displaced(l) && !was_given(m, l) &&
            strcmp(l->name, m->args.local->names[0]) == 0 && !of_now &&
            !rset_generation_newer(newest, generation) &&
            l->evidence.header.infos[0].desc.ranks == m->args.world->size)
            remove_out(l);
    }
}

rset_status
rset_move_keep(rset_move *m, uint64_t generation, rset_err *err)
{
    rset_records takers;
    rset_status  st;

    m->err = err;
    for (size_t i = 0; m->here && i < m->job.nfiles; i++)
        if (m->job.files[i].was[0] != '\0')
            (void)rset_dir_unlink(m->args.local->dir, m->job.files[i].was, NULL);
    st = say_to_giver(m, m->here && !m->job.partly, &takers);
    for (size_t i = 0; st == RSET_OK && i < takers.n; i++) {
        int                 to;
        const rset_located *l = taken(m, &takers, i, &to);

        if (l != NULL && goes_to(m, l, to))
            remove_given(m, l);
    }
    if (st == RSET_OK && generation != 0)
        remove_what_is_left(m, generation);
    rset_records_free(&takers);
    move_free(m);
    return st;
}

void
rset_move_undo(rset_move *m)
{
    if (m == NULL)
        return;
    if (m->here)
        rset_move_take_back(m);
    rset_move_give_back(m->args.local->dir, &m->home);
    rset_move_give_back(m->args.local->dir, &m->out);
    move_free(m);
}
