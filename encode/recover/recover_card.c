/* recover_card.c: what each rank has, told to all others. See recover_internal.h. */
#include "member/beside.h"
#include "recover_internal.h"

#include <stdlib.h>

enum { LOOK_NOW = 64 * 1024 };

/* Storage that loses or garbles content leaves the times alone; whoever writes a file changes them. */
static bool
times_changed(const rset_local *local, const rset_info *info)
{
    struct stat sb;

    for (int i = 0; i < local->nfiles && i < info->nfiles; i++) {
        const rset_attrs *a = &info->files[i].attrs;

        if (rset_dir_stat(local->dir, local->names[i], &sb, NULL) == RSET_OK &&
            ((uint64_t)sb.st_mtim.tv_sec != a->mtime_secs ||
             (uint64_t)sb.st_mtim.tv_nsec != a->mtime_nsecs))
            return true;
    }
    return false;
}

/* Data and redundancy against this rank's own header; with `content` or by size. */
static rset_status
verify_card(muster *m, bool content, card *c)
{
    const rset_recover_args *a = m->args;
    const rset_evidence     *ev = a->evidence;
    rset_ranges              data = {0}, payload = {0};
    bool                     damaged = false;
    rset_status              st;

    st = rset_verify_data(a->local, &ev->header.infos[0], content, &data, &damaged, m->err);
    if (st == RSET_OK)
        st = rset_verify_payload(a->local, ev, content && a->content, &payload, m->err);
    c->looked = content || !a->content;
    c->damaged = damaged;
    if (st == RSET_OK && damaged && (ev->beside || ev->waiting)) {
        const char *at = NULL;

        st = rset_beside_find(a->local, ev, &at, m->err);
        c->beside = at != NULL;
    }
    c->written = damaged && a->own_run && times_changed(a->local, &ev->header.infos[0]);
    c->bare = payload.n > 0 || !rset_evidence_described(ev);
    rset_ranges_free(&data);
    rset_ranges_free(&payload);
    return st;
}

/* Small files are looked at right away. With a new file beside, that the size is right says nothing: the
 * commit may have been cut short. */
static bool
look_now(const rset_recover_args *a)
{
    const rset_evidence *ev = a->evidence;

    return ev->is_void || ev->beside || ev->waiting ||
           (a->content && rset_info_length(&ev->header.infos[0]) <= LOOK_NOW);
}

static card
own_card(muster *m, rset_status *st)
{
    const rset_recover_args *a = m->args;
    const rset_evidence     *ev = a->evidence;
    card                     c = {.looked = 1,
                                  .any = ev->any,
                                  .has = ev->has_header,
                                  .is_void = ev->is_void,
                                  .cut = rset_evidence_cut(ev),
                                  .next = ev->next,
                                  .pending = ev->over_name != NULL,
                                  .litter = ev->litter,
                                  .frozen = a->frozen,
                                  .content = a->content,
                                  .apart = rset_evidence_apart(ev),
                                  .mark = ev->mark};
    bool                     there = false;

    c.name = a->local->nfiles > 0 ? rset_muster_hash(rset_path_base(a->local->names[0])) : 0;
    if (*st == RSET_OK)
        *st = rset_local_there(a->local, &there, m->err);
    c.there = there && (ev->has_header || !ev->empty);
    if (*st == RSET_OK && ev->old.busy)
        *st = rset_fail(m->err, RSET_IO,
                        "%s: is being changed by another process; wait until it has closed it",
                        rset_local_name(a->local));
    if (*st == RSET_OK && ev->has_header) {
        const rset_desc *d = &ev->header.infos[0].desc;

        c.rank = d->rank;
        c.ranks = d->ranks;
        c.set = d->set;
        c.member = d->member;
        c.members = d->members;
        c.generation = d->generation;
        if (ev->header.infos[0].nfiles > 0)
            c.path = rset_muster_hash(ev->header.infos[0].files[0].path);
        *st = verify_card(m, look_now(a), &c);
    }
    return c;
}

rset_status
rset_muster_gather(muster *m, rset_status own, const void *mine, size_t len, void *all)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_gather_fixed(m->args->world, mine, len, all, &why);

    if (own == RSET_OK && st != RSET_OK) {
        own = st;
        *m->err = why;
    }
    return rset_agree(m->args->world, own, m->args->host, m->err);
}

rset_status
rset_muster_gather_cards(muster *m)
{
    rset_status st = m->args->before;
    card        mine = own_card(m, &st);

    m->cards = calloc((size_t)m->args->world->size, sizeof *m->cards);
    if (m->cards == NULL && st == RSET_OK)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    return rset_muster_gather(m, st, &mine, sizeof mine, m->cards);
}

rset_status
rset_muster_look_closer(muster *m)
{
    card        mine = m->cards[m->args->world->rank];
    bool        all = true;
    rset_status st = RSET_OK;

    for (int r = 0; r < m->args->world->size; r++)
        all = all && m->cards[r].looked;
    if (all)
        return RSET_OK;
    if (!mine.looked)
        st = verify_card(m, true, &mine);
    return rset_muster_gather(m, st, &mine, sizeof mine, m->cards);
}
