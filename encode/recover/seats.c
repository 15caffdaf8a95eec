/* seats.c: messages about who has whose files, and what is noted of them. See places_internal.h. */
#include "places_internal.h"

#include <stdlib.h>

rset_status
rset_places_misfit(const rset_places *p, rset_err *err)
{
    return rset_fail(err, RSET_LOST, "%s: the ranks record sets that do not fit together",
                     rset_local_name(p->r->args->local));
}

void
rset_places_send(rset_places *p, int to, rset_seat_what what, const rset_seat *seat)
{
    rset_seat copy = *seat;

    copy.what = what;
    rset_records_add(&p->mail, to, &copy);
}

rset_status
rset_places_deliver(rset_places *p, rset_status own)
{
    const rset_recover_args *a = p->r->args;
    rset_status              st = rset_route(a->world, own, a->host, &p->mail, p->r->err);

    rset_records_free(&p->got);
    p->got = p->mail;
    p->mail = (rset_records){.size = sizeof(rset_seat)};
    return st;
}

bool
rset_places_possible(const rset_places *p, const rset_seat *s)
{
    return s->rank >= 0 && s->rank < p->ranks && s->set >= 0 && s->set < p->ranks &&
           s->member >= 0 && s->member < s->members && s->members <= p->ranks;
}

bool
rset_places_may_be(const rset_seat *who, const rset_seat *seat)
{
    return seat->name == who->name &&
           (who->path == 0 || seat->path == 0 || who->path == seat->path);
}

int
rset_places_members(const rset_places *p)
{
    return p->places != NULL ? p->places[0].members : 0;
}

/* What rank s knows of set s. */
rset_status
rset_places_fill(rset_places *p, const rset_seat *s)
{
    if (!rset_places_possible(p, s) || s->set != p->me ||
        (p->places != NULL && s->members != rset_places_members(p)))
        return rset_places_misfit(p, p->r->err);
    if (p->places == NULL) {
        p->places = calloc((size_t)s->members, sizeof *p->places);
        if (p->places == NULL)
            return rset_fail(p->r->err, RSET_NOMEM, "no memory for a set of %d ranks", s->members);
        for (int m = 0; m < s->members; m++)
            p->places[m] = (rset_seat){.set = s->set,
                                       .member = m,
                                       .members = s->members,
                                       .rank = -1,
                                       .by = -1,
                                       .left = -1};
    }
    if (p->places[s->member].rank >= 0 && p->places[s->member].rank != s->rank)
        return rset_places_misfit(p, p->r->err);
    p->places[s->member] = *s;
    return RSET_OK;
}
