/* choose.c: what this rank sees of other ranks' files, and which of those that it is offered is the best for it. See
 * move_internal.h. */
#include "move_internal.h"

#include <string.h>

/* May its files be brought here? Not when something beside them would contradict what comes. */
static bool
wants(const rset_move *m)
{
    const rset_evidence *ev = m->args.evidence;

    return m->wants && m->args.local->nfiles > 0 && !ev->undo.there && ev->nshadows == 0 &&
           ev->next == 0;
}

rset_move_offer
rset_move_own_offer(const rset_move_args *a)
{
    return (rset_move_offer){.rank = a->world->rank,
                             .name = rset_name_hash(a->local->names[0]),
                             .dir = rset_move_dir(a->local->dir, a->host),
                             .generation = rset_evidence_newest(a->evidence)};
}

/* Is it what this rank asks for, and no other file of that name? */
static bool
is_meant(const rset_move *m, const rset_move_offer *o)
{
    const rset_local *local = m->args.local;

    return rset_where_fits(&o->where, rset_dir_path(local->dir), local->paths[0]);
}

/* Own records of the same generation, in this directory, are as good without the data. */
static bool
is_better(const rset_move *m, const rset_move_offer *o)
{
    const rset_move_offer *best = &m->best, *own = &m->own;

    if (o->recorded != 0 || rset_generation_newer(m->record.generation, o->generation))
        return false;
    if (own->generation != 0 && !rset_generation_newer(o->generation, own->generation) &&
        (o->generation != own->generation || o->data == 0))
        return false;
    if (m->job.from < 0 || rset_generation_newer(o->generation, best->generation))
        return true;
    return o->generation == best->generation && o->data > best->data;
}

/* The newest of which this rank has heard. */
static void
take_record(rset_move *m, const rset_move_offer *o)
{
    rset_move_record *r = &m->record;

    if (o->recorded != 0 && o->ranks > 0 &&
        (r->ranks == 0 || rset_generation_newer(o->generation, r->generation)))
        *r = (rset_move_record){.generation = o->generation, .ranks = o->ranks};
}

/* Is it this rank's, and out of the way? */
static bool
is_own(const rset_move *m, const rset_located *l)
{
    const rset_desc *d = &l->evidence.header.infos[0].desc;

    return l->dir == m->args.local->dir && rset_located_is_displaced(l) &&
           d->rank == m->args.world->rank && strcmp(l->name, m->args.local->names[0]) == 0;
}

/* What is out of the way here need not come from elsewhere. */
static void
choose_own(rset_move *m)
{
    for (size_t i = 0; i < m->located.n && wants(m); i++) {
        const rset_located   *l = &m->located.at[i];
        const rset_move_offer o = {.data = l->there,
                                   .rank = m->args.world->rank,
                                   .generation = rset_evidence_newest(&l->evidence)};

        if (!is_own(m, l) || !is_better(m, &o))
            continue;
        m->best = o;
        m->job.from = m->args.world->rank;
        m->comes_home = true;
    }
}

/* And the best that it was offered: what is older than any record of it is of no use. */
static void
choose(rset_move *m, const rset_records *tips)
{
    rset_move_tip tip;

    for (size_t i = 0; i < tips->n; i++) {
        (void)rset_records_get(tips, i, &tip);
        if (is_meant(m, &tip.offer))
            take_record(m, &tip.offer);
    }
    choose_own(m);
    for (size_t i = 0; i < tips->n; i++) {
        (void)rset_records_get(tips, i, &tip);
        if (tip.by < 0 || tip.by >= m->args.world->size || !is_meant(m, &tip.offer) ||
            !is_better(m, &tip.offer))
            continue;
        m->best = tip.offer;
        m->job.from = tip.by;
        m->comes_home = false;
    }
    if (m->comes_home)
        m->job.from = -1;
}

/* A directory that cannot be looked at has nothing. */
static rset_status
look_further(rset_move *m)
{
    const rset_move_args *a = &m->args;
    rset_status           st = RSET_OK;

    for (int i = 0; a->search != NULL && a->search[i] != NULL && m->ndirs < RSET_MOVE_DIRS; i++) {
        rset_dir *dir = NULL;

        if (st != RSET_OK || rset_dir_open(a->search[i], false, &dir, NULL) != RSET_OK)
            continue;
        m->dirs[m->ndirs++] = dir;
        if (rset_dir_number(dir) != rset_dir_number(a->local->dir))
            st = rset_locate(dir, a->local->names[0], &m->located, m->err);
    }
    return st;
}

/* Asked once: what is offered is found again by that. */
static void
say_places(rset_move *m)
{
    for (size_t i = 0; i < m->located.n; i++) {
        rset_located *l = &m->located.at[i];

        l->place = l->dir == m->args.local->dir ? m->own.dir : rset_move_dir(l->dir, m->args.host);
    }
}

rset_status
rset_move_learn_offers(rset_move *m, rset_status before)
{
    const rset_move_args *a = &m->args;
    const bool            any = a->local->dir != NULL && a->local->nfiles > 0;
    rset_move_question    q = {.args = a, .located = &m->located, .wants = any && wants(m)};
    rset_records          tips;
    rset_status           st = before;

    if (any)
        q.own = m->own = rset_move_own_offer(a);
    if (st == RSET_OK && a->gives && any)
        st = rset_locate(a->local->dir, a->local->names[0], &m->located, m->err);
    if (st == RSET_OK && a->gives && any)
        st = look_further(m);
    say_places(m);
    st = rset_move_ask(&q, st, &tips, m->err);
    if (st == RSET_OK)
        choose(m, &tips);
    rset_records_free(&tips);
    return st;
}
