/* places.c: which rank has whose files. See recover_internal.h.
 *
 * Rank numbers need not be those of the encode: a rank with a redundancy file is who that file says; one without is
 * recognised by the name of the file that it opens.
 *
 * No rank knows all of it. Rank p keeps what is known of the file that rank p wrote, its seat; rank s keeps the places of set
 * s. Ranks send them what they have, and are told with whom they form a set. What is left over, because a rank neither has a
 * redundancy file nor opens the file of its own number, rank 0 fits together (leftovers.c). */
#include "places_internal.h"

#include <assert.h>
#include <stdlib.h>

/* ---- what is recorded ---- */

static bool
has_record(const rset_recovery *r)
{
    return r->evidence->has_header && rset_generation_code(r->evidence) == r->standing.counts;
}

/* What this rank opens, and what it is: its own seat, or one that seeks its seat. */
static rset_seat
own_seat(const rset_recovery *r)
{
    const rset_local *local = r->args->local;
    const rset_info  *info = r->evidence->header.infos;
    rset_seat         s = {.set = -1, .member = -1, .rank = -1, .by = r->args->world->rank};

    if (local->nfiles > 0)
        s.name = rset_recovery_name_hash(r, rset_path_base(local->names[0]));
    if (r->evidence->has_header && info->nfiles > 0)
        s.path = rset_name_hash(info->files[0].path);
    return s;
}

static rset_seat
recorded_seat(const rset_recovery *r, const rset_info *info)
{
    const rset_desc *d = &info->desc;
    rset_seat        s = {
               .rank = d->rank, .set = d->set, .member = d->member, .members = d->members, .by = -1};

    if (info->nfiles > 0) {
        s.name = rset_recovery_name_hash(r, rset_path_base(info->files[0].path));
        s.path = rset_name_hash(info->files[0].path);
    }
    return s;
}

/* Tells each rank what this one's header records of its seat: its own, its left neighbours' with names; and of all members,
 * for when those with names are lost. For that the first members suffice: without any of them, the set cannot be had. */
static rset_status
send_records(rset_places *p)
{
    const rset_recovery *r = p->r;
    const rset_header   *h = &r->evidence->header;
    rset_seat            s;

    if (!has_record(r))
        return RSET_OK;
    for (int d = 0; d < h->ninfos; d++) {
        s = recorded_seat(r, &h->infos[d]);
        s.by = d == 0 ? r->args->world->rank : -1;
        if (!rset_places_possible(p, &s))
            return rset_places_misfit(p, r->err);
        rset_places_send(p, s.rank, RSET_SEAT_RECORDED, &s);
    }
    s = recorded_seat(r, &h->infos[0]);
    s.by = -1;
    s.name = s.path = 0;
    if (h->group == NULL || s.member > h->infos[0].desc.parity)
        return RSET_OK;
    for (s.member = 0; s.member < s.members; s.member++) {
        s.rank = h->group[s.member];
        if (!rset_places_possible(p, &s))
            return rset_places_misfit(p, r->err);
        rset_places_send(p, s.rank, RSET_SEAT_RECORDED, &s);
    }
    return RSET_OK;
}

/* ---- a seat ---- */

/* What rank `from` says of this rank's seat. */
static rset_status
note_record(rset_places *p, int from, const rset_seat *rec)
{
    rset_seat *seat = &p->seat;

    if (!rset_places_possible(p, rec) || rec->rank != p->me || (rec->by >= 0 && rec->by != from))
        return rset_fail(p->r->err, RSET_PEER, "a rank sent records that are not valid");
    if (seat->set >= 0 &&
        (seat->set != rec->set || seat->member != rec->member || seat->members != rec->members))
        return rset_places_misfit(p, p->r->err);
    if (rec->by >= 0 && seat->by >= 0)
        return rset_fail(p->r->err, RSET_LOST,
                         "%s: ranks %d and %d both have the file of rank %d, and others are "
                         "missing; each rank must open its own",
                         rset_local_name(p->r->args->local), seat->by, rec->by, rec->rank);
    seat->set = rec->set;
    seat->member = rec->member;
    seat->members = rec->members;
    if (rec->by >= 0)
        seat->by = rec->by;
    if (rec->name != 0) {
        seat->name = rec->name;
        seat->path = rec->path;
    }
    return RSET_OK;
}

/* A rank without a redundancy file that opens the file of its own number: nobody has to be asked. */
static void
take_own_seat(rset_places *p)
{
    if (has_record(p->r))
        p->seated = true;
    else if (p->seat.by < 0 && (p->seat.name == 0 || rset_places_may_be(&p->own, &p->seat))) {
        p->seat.by = p->me;
        p->seated = true;
    }
}

static rset_status
learn_seat(rset_places *p)
{
    rset_status st = rset_places_deliver(p, send_records(p));

    for (size_t i = 0; st == RSET_OK && i < p->got.n; i++) {
        rset_seat rec;
        const int from = rset_records_get(&p->got, i, &rec);

        st = note_record(p, from, &rec);
    }
    if (st == RSET_OK)
        take_own_seat(p);
    return st;
}

/* ---- the places of a set ---- */

/* Each seat is told to its set. */
static rset_status
learn_set(rset_places *p, rset_status own)
{
    rset_status st;

    if (own == RSET_OK && p->seat.set >= 0)
        rset_places_send(p, p->seat.set, RSET_SEAT_PLACE, &p->seat);
    st = rset_places_deliver(p, own);
    for (size_t i = 0; st == RSET_OK && i < p->got.n; i++) {
        rset_seat s;

        (void)rset_records_get(&p->got, i, &s);
        st = rset_places_fill(p, &s);
    }
    return st;
}

/* Is something left over that rank 0 has to fit together? The same answer on all ranks. */
static rset_status
anything_left(rset_places *p, rset_status own, bool *left_out)
{
    const rset_recover_args *a = p->r->args;

    *left_out = !p->seated;
    for (int m = 0; m < rset_places_members(p); m++)
        *left_out = *left_out || p->places[m].rank < 0;
    return rset_any(a->world, own, a->host, left_out, p->r->err);
}

/* ---- the set ---- */

/* Every member is told who the others are. */
static rset_status
send_members(rset_places *p)
{
    const int n = rset_places_members(p);

    for (int m = 0; m < n; m++)
        if (p->places[m].by < 0)
            return rset_fail(p->r->err, RSET_LOST, "%s: member %d of set %d is not known",
                             rset_local_name(p->r->args->local), m, p->places[m].set);
    for (int to = 0; to < n; to++)
        for (int m = 0; m < n; m++)
            rset_places_send(p, p->places[to].by, RSET_SEAT_PLACE, &p->places[m]);
    return RSET_OK;
}

static rset_status
join_set(rset_places *p)
{
    rset_recovery *r = p->r;
    const int      n = (int)p->got.n;
    int           *ranks = calloc((size_t)n + 1, sizeof *ranks);
    rset_status    st = RSET_OK;
    rset_seat      s;

    if (ranks == NULL)
        return rset_fail(r->err, RSET_NOMEM, "no memory for a set of %d ranks", n);
    for (int i = 0; i < n; i++)
        ranks[i] = -1;
    for (int i = 0; st == RSET_OK && i < n; i++) {
        (void)rset_records_get(&p->got, (size_t)i, &s);
        if (s.members != n || s.member < 0 || s.member >= n || ranks[s.member] >= 0 || s.by < 0 ||
            s.by >= r->args->world->size)
            st = rset_places_misfit(p, r->err);
        else
            ranks[s.member] = s.by;
    }
    if (st == RSET_OK && n > 0)
        st = rset_comm_subset(r->args->world, ranks, n, &r->set, r->err);
    r->has_set = st == RSET_OK && n > 0;
    free(ranks);
    return st;
}

/* ---- ranks of which nothing is known ---- */

/* What ranks know of the division, added up. */
typedef struct division {
    uint64_t sets;  /* the most that a header says there are */
    uint64_t known; /* sets of which a place is known */
    uint64_t seen;  /* ranks that have a set */
} division;

static void
merge_divisions(void *into, const void *other)
{
    division       *a = into;
    const division *b = other;

    a->sets = b->sets > a->sets ? b->sets : a->sets;
    a->known += b->known;
    a->seen += b->seen;
}

/* All have their sets, or none goes on. A set has two members or more, or it is that of a rank that no set had room for: so
 * where as many ranks as sets are without a record, each of them was left over. Collective. */
static rset_status
agree_on_sets(const rset_places *p, rset_status own)
{
    rset_recovery   *r = p->r;
    const rset_desc *desc = has_record(r) ? &r->evidence->header.infos[0].desc : NULL;
    division         d = {desc != NULL ? (uint64_t)desc->sets : 0, p->places != NULL, r->has_set};
    const rset_reduction what = {&d, sizeof d, merge_divisions};
    const uint64_t       ranks = (uint64_t)p->ranks;
    rset_status          st = rset_reduce(r->args->world, own, r->args->host, &what, r->err);

    if (st == RSET_OK)
        r->was_left_over = !r->has_set && d.sets < ranks && ranks - d.seen == d.sets - d.known;
    return st;
}

static rset_status
form_set(rset_places *p, rset_status own)
{
    rset_status st = rset_places_deliver(p, own == RSET_OK ? send_members(p) : own);

    return st == RSET_OK ? agree_on_sets(p, join_set(p)) : st;
}

rset_status
rset_recovery_places(rset_recovery *r, rset_status own)
{
    rset_places p = {.r = r,
                     .me = r->args->world->rank,
                     .ranks = (int)r->policy.published_ranks,
                     .mail.size = sizeof(rset_seat),
                     .got.size = sizeof(rset_seat),
                     .seat = {.set = -1, .member = -1, .by = -1}};
    bool        left = false;
    rset_status st;

    assert(p.ranks == r->args->world->size); /* R1 */
    st = rset_recovery_agree_on_names(r, own);
    if (st != RSET_OK)
        return st;
    p.own = own_seat(r);
    p.seat.rank = p.me;
    st = learn_set(&p, learn_seat(&p));
    st = anything_left(&p, st, &left);
    if (st == RSET_OK)
        st = form_set(&p, left ? rset_places_fit(&p) : RSET_OK);
    rset_records_free(&p.mail);
    rset_records_free(&p.got);
    free(p.places);
    r->placed = st == RSET_OK;
    return st;
}

void
rset_recovery_forget_places(rset_recovery *r)
{
    rset_repair_end(&r->rep); /* it is of that set */
    if (r->has_set)
        rset_comm_free(&r->set);
    r->has_set = r->placed = r->was_left_over = false;
}
