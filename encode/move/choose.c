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

rset_holding
rset_move_own_holding(const rset_move_args *a)
{
    return (rset_holding){.rank = a->world->rank,
                          .name = rset_name_hash(a->local->names[0]),
                          .dir = rset_look_number(a->local->dir, a->host),
                          .newest = rset_evidence_newest(a->evidence)};
}

/* Own records of the same generation, in this directory, are as good without the data. */
static bool
is_better(const rset_move *m, const rset_holding *o)
{
    const rset_holding *best = &m->best, *own = &m->own;
    const unsigned      data = o->facts & RSET_HOLDING_DATA;

    if ((o->facts & RSET_HOLDING_HERE) == 0 ||
        rset_generation_newer(m->record.generation, o->newest))
        return false;
    if (own->newest != 0 && !rset_generation_newer(o->newest, own->newest) &&
        (o->newest != own->newest || data == 0))
        return false;
    if (m->job.from < 0 || rset_generation_newer(o->newest, best->newest))
        return true;
    return o->newest == best->newest && data > (best->facts & RSET_HOLDING_DATA);
}

/* The newest of which this rank has heard. */
static void
take_record(rset_move *m, const rset_holding *o)
{
    rset_move_record *r = &m->record;

    if ((o->facts & RSET_HOLDING_HERE) == 0 && o->ranks > 0 &&
        (r->ranks == 0 || rset_generation_newer(o->newest, r->generation)))
        *r = (rset_move_record){.generation = o->newest, .ranks = o->ranks};
}

/* Is it this rank's, and out of the way? */
static bool
is_own(const rset_move *m, const rset_located *l)
{
    const rset_desc *d = &l->evidence.header.infos[0].desc;

    return l->dir == m->args.local->dir && rset_located_is_displaced(l) &&
           d->rank == m->args.world->rank && strcmp(l->name, m->args.local->names[0]) == 0;
}

static bool
has_own(const rset_move *m)
{
    for (size_t i = 0; i < m->look.found.n && wants(m); i++)
        if (is_own(m, &m->look.found.at[i]))
            return true;
    return false;
}

/* What is out of the way here need not come from elsewhere. */
static void
choose_own(rset_move *m)
{
    for (size_t i = 0; i < m->look.found.n && wants(m); i++) {
        const rset_located *l = &m->look.found.at[i];
        const rset_holding  o = rset_look_holding(l, 0, m->args.world->rank);

        if (!is_own(m, l) || !is_better(m, &o))
            continue;
        m->best = o;
        m->job.from = m->args.world->rank;
        m->comes_home = true;
    }
}

/* This rank chooses the best holding of its file, here or elsewhere. One that is older than any record of the file is of no use. */
static void
choose(rset_move *m, const rset_records *told)
{
    rset_saying it;

    for (size_t i = 0; i < told->n; i++) {
        (void)rset_records_get(told, i, &it);
        if (rset_holding_fits(&it.holding, m->args.local))
            take_record(m, &it.holding);
    }
    choose_own(m);
    for (size_t i = 0; i < told->n; i++) {
        (void)rset_records_get(told, i, &it);
        if (it.holding.by < 0 || it.holding.by >= m->args.world->size ||
            !rset_holding_fits(&it.holding, m->args.local) || !is_better(m, &it.holding))
            continue;
        m->best = it.holding;
        m->job.from = it.holding.by;
        m->comes_home = false;
    }
    if (m->comes_home)
        m->job.from = -1;
}

rset_status
rset_move_learn_offers(rset_move *m, rset_status before, bool *any)
{
    const rset_move_args *a = &m->args;
    const bool            has_name = a->local->dir != NULL && a->local->nfiles > 0;
    rset_move_question    q = {
           .args = a, .look = &m->look, .wants = has_name && wants(m), .news = any};
    rset_records told;
    rset_status  st = before;

    if (has_name)
        q.own = m->own = rset_move_own_holding(a);
    if (st == RSET_OK && a->gives && has_name)
        st = rset_look_around(&(rset_look_at){.dir = a->local->dir,
                                              .like = a->local->names[0],
                                              .search = a->search,
                                              .host = a->host},
                              &m->look, m->err);
    *any = *any || (st == RSET_OK && has_own(m));
    st = rset_move_ask(&q, st, &told, m->err);
    if (st == RSET_OK && *any)
        choose(m, &told);
    rset_records_free(&told);
    return st;
}
