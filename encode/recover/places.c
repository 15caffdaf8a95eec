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
    rset_seat s = {.set = -1, .member = -1, .rank = -1, .by = r->args->world->rank, .left = -1};

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
    rset_seat        s = {.rank = d->rank,
                          .set = d->set,
                          .member = d->member,
                          .members = d->members,
                          .by = -1,
                          .left = d->scheme != NULL ? d->scheme->left(d->parity) : -1};

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
        s.headed = d == 0;
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
    seat->left = rec->left > seat->left ? rec->left : seat->left;
    if (rec->by >= 0) {
        seat->by = rec->by;
        seat->headed = 1;
    }
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
note_records(rset_places *p)
{
    rset_status st = RSET_OK;

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

/* ---- the set ---- */

/* Who has some places of a set. Sent as it is. */
enum { PART = 16 };
typedef struct set_part {
    int32_t members;  /* of the set */
    int32_t left;     /* as in rset_seat, of all of its seats; -1 where all have their headers */
    int32_t first;    /* of the members that this part is about */
    int32_t by[PART]; /* ranks that have their places; -1: there are no more members */
} set_part;

/* Every member is told who the others are. */
static rset_status
send_members(const rset_places *p, rset_records *parts)
{
    const int n = rset_places_members(p);
    int       left = -1;
    bool      all = true; /* have their headers */

    for (int m = 0; m < n; m++) {
        if (p->places[m].by < 0)
            return rset_fail(p->r->err, RSET_LOST, "%s: member %d of set %d is not known",
                             rset_local_name(p->r->args->local), m, p->places[m].set);
        left = p->places[m].left > left ? p->places[m].left : left;
        all = all && p->places[m].headed != 0;
    }
    for (int first = 0; first < n; first += PART) {
        set_part part = {.members = n, .left = all ? -1 : left, .first = first};

        for (int i = 0; i < PART; i++)
            part.by[i] = first + i < n ? p->places[first + i].by : -1;
        for (int to = 0; to < n; to++)
            rset_records_add(parts, p->places[to].by, &part);
    }
    return RSET_OK;
}

/* Puts the parts that came together. *n_out: members of the set. False: they do not make one. */
static bool
put_together(const rset_records *parts, int room, int *ranks, int *n_out)
{
    set_part part;
    int      n;

    (void)rset_records_get(parts, 0, &part);
    n = part.members;
    if (n < 1 || n > room || parts->n != ((size_t)n + PART - 1) / PART)
        return false;
    for (int m = 0; m < n; m++)
        ranks[m] = -1;
    for (size_t i = 0; i < parts->n; i++) {
        (void)rset_records_get(parts, i, &part);
        if (part.members != n || part.first < 0 || part.first >= n || part.first % PART != 0)
            return false;
        for (int k = 0; k < PART && part.first + k < n; k++)
            ranks[part.first + k] = part.by[k];
    }
    *n_out = n;
    return true;
}

/* What a rank that keeps a set has sent was checked there. Others may wait for this rank in its set from now on: who cannot join it
 * revokes. */
static rset_status
join_set(rset_places *p, const rset_records *parts)
{
    rset_recovery *r = p->r;
    rset_comm     *world = r->args->world;
    rset_err       ignored = RSET_ERR_NONE;
    set_part       part;
    int            n, *ranks = p->ranks_of_set;

    if (parts->n == 0)
        return RSET_OK;
    p->ranks_of_set = NULL;
    (void)rset_records_get(parts, 0, &part);
    if (!put_together(parts, p->room, ranks, &n)) {
        free(ranks);
        return rset_comm_revoke(world, r->err, "rank %d was sent a set that is none",
                                rset_comm_world(world, world->rank));
    }
    if (rset_comm_subset_of(world, ranks, n, &r->set, &ignored) != RSET_OK)
        return rset_comm_revoke(world, r->err, "rank %d was sent a set without itself",
                                rset_comm_world(world, world->rank));
    r->has_set = true;
    r->left = part.left;
    return RSET_OK;
}

/* So many members may its set have: as many as its seat says, or where rank 0 has fitted it in, any number. */
static rset_status
make_room(rset_places *p, bool fitted)
{
    const rset_info *info = p->r->evidence->header.infos;
    const int        size = p->r->args->world->size;
    const int        own = has_record(p->r) ? info->desc.members : p->seat.members;

    free(p->ranks_of_set);
    p->room = fitted || own > size ? size : own > 0 ? own : 1;
    p->ranks_of_set = calloc((size_t)p->room, sizeof *p->ranks_of_set);
    return p->ranks_of_set != NULL
               ? RSET_OK
               : rset_fail(p->r->err, RSET_NOMEM, "no memory for a set of %d ranks", p->room);
}

/* Nobody waits for a rank that has no room for its set: it says so in the step that would tell it the members. */
static rset_status
form_set(rset_places *p, bool fitted, rset_status own)
{
    const rset_recover_args *a = p->r->args;
    rset_records             parts = {.size = sizeof(set_part)};
    rset_status              st = own;

    if (st == RSET_OK)
        st = send_members(p, &parts);
    if (st == RSET_OK)
        st = make_room(p, fitted);
    st = rset_route(a->world, st, a->host, &parts, p->r->err);
    if (st == RSET_OK)
        st = join_set(p, &parts);
    rset_records_free(&parts);
    return st;
}

/* ---- what is left over ---- */

/* The verdict of a rank that knows of something which rank 0 has to fit together: no failure, and the sets are formed once that is
 * done. So all hear of it in the step that forms them where nothing is left over. Nothing else in that step has this status. */
static const rset_status left_over = RSET_ABSENT;

static bool
is_left_over(const rset_places *p)
{
    bool left = !p->seated;

    for (int m = 0; m < rset_places_members(p); m++)
        left = left || p->places[m].rank < 0 || p->places[m].by < 0;
    return left;
}

static rset_status
form_sets(rset_places *p, rset_status own)
{
    rset_status st = own;

    if (st == RSET_OK && is_left_over(p))
        st = rset_fail(p->r->err, left_over, "some places are left over");
    st = form_set(p, false, st);
    if (st != left_over)
        return st;
    *p->r->err = RSET_ERR_NONE;
    return form_set(p, true, rset_places_fit(p));
}

/* ---- the whole ---- */

/* What this rank knows of the division, to be added up with the next reports. */
static void
note_division(const rset_places *p)
{
    rset_recovery   *r = p->r;
    const rset_desc *desc = has_record(r) ? &r->evidence->header.infos[0].desc : NULL;

    r->division = (rset_division){.sets = desc != NULL ? (uint64_t)desc->sets : 0,
                                  .known = p->places != NULL,
                                  .seen = r->has_set};
}

rset_status
rset_recovery_places(rset_recovery *r, rset_status own)
{
    rset_places p = {.r = r,
                     .me = r->args->world->rank,
                     .ranks = (int)r->policy.published_ranks,
                     .mail.size = sizeof(rset_seat),
                     .got.size = sizeof(rset_seat),
                     .seat = {.set = -1, .member = -1, .by = -1, .left = -1}};
    rset_status st = rset_recovery_agree_on_names(r, own);

    assert(p.ranks == r->args->world->size); /* R1 */
    p.own = own_seat(r);
    p.seat.rank = p.me;
    st = rset_places_deliver(&p, st == RSET_OK ? send_records(&p) : st);
    if (st == RSET_OK)
        st = form_sets(&p, learn_set(&p, note_records(&p)));
    if (st == RSET_OK)
        note_division(&p);
    rset_records_free(&p.mail);
    rset_records_free(&p.got);
    free(p.places);
    free(p.ranks_of_set);
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
    r->left = 0;
    r->division = (rset_division){0};
}
