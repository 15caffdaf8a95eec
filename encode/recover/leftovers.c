/* leftovers.c: rank 0 fits together what is left over of seats, ranks and places. See places_internal.h. */
#include "places_internal.h"

#include <stdlib.h>

typedef struct leftovers {
    rset_seat *seats; /* nobody has them, or nobody recorded their set; by name */
    rset_seat *sought;
    rset_seat *empty; /* places, in the order of sets */
    size_t     nseats, nsought, nempty;
} leftovers;

/* ---- sorting ---- */

static int
by_rank(const void *a, const void *b)
{
    const rset_seat *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int
by_name(const void *a, const void *b)
{
    const rset_seat *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return by_rank(a, b);
}

static int
by_place(const void *a, const void *b)
{
    const rset_seat *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static void
put(rset_seat *list, size_t *n, const rset_seat *s)
{
    list[(*n)++] = *s;
}

/* Takes what came apart; seekers are in the order of ranks, as messages are. */
static rset_status
sort_out(const rset_places *p, leftovers *left)
{
    const size_t n = p->got.n + 1;

    left->seats = calloc(n, sizeof *left->seats);
    left->sought = calloc(n, sizeof *left->sought);
    left->empty = calloc(n, sizeof *left->empty);
    if (left->seats == NULL || left->sought == NULL || left->empty == NULL)
        return rset_fail(p->r->err, RSET_NOMEM, "no memory for %zu ranks", n);
    for (size_t i = 0; i < p->got.n; i++) {
        rset_seat s;

        (void)rset_records_get(&p->got, i, &s);
        if (s.what == RSET_SEAT_LEFT)
            put(left->seats, &left->nseats, &s);
        else if (s.what == RSET_SEAT_SOUGHT)
            put(left->sought, &left->nsought, &s);
        else if (s.what == RSET_SEAT_EMPTY)
            put(left->empty, &left->nempty, &s);
    }
    qsort(left->seats, left->nseats, sizeof *left->seats, by_name);
    qsort(left->empty, left->nempty, sizeof *left->empty, by_place);
    return RSET_OK;
}

static void
leftovers_free(leftovers *left)
{
    free(left->seats);
    free(left->sought);
    free(left->empty);
}

/* ---- fitting together ---- */

/* The first seat of this name. */
static size_t
first_of_name(const leftovers *left, uint64_t name)
{
    size_t from = 0, to = left->nseats;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (left->seats[middle].name < name)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The one seat that the rank's file may be of. NULL: none; *several: which of them is not clear, and a guess could be wrong. */
static rset_seat *
find_by_name(const leftovers *left, const rset_seat *who, bool *several)
{
    rset_seat *found = NULL;

    *several = false;
    for (size_t i = first_of_name(left, who->name);
         i < left->nseats && left->seats[i].name == who->name && !*several; i++) {
        rset_seat *seat = &left->seats[i];

        if (seat->by >= 0 || !rset_places_may_be(who, seat))
            continue;
        *several = found != NULL;
        found = seat;
    }
    return found;
}

/* A seat without a name: nothing can be written for it. */
static rset_seat *
find_unknown(const leftovers *left)
{
    for (size_t i = 0; i < left->nseats && left->seats[i].name == 0; i++)
        if (left->seats[i].by < 0)
            return &left->seats[i];
    return NULL;
}

static rset_status
find_seats(const rset_places *p, leftovers *left)
{
    for (size_t i = 0; i < left->nsought; i++) {
        bool       several = false;
        rset_seat *seat = find_by_name(left, &left->sought[i], &several);

        if (seat == NULL)
            seat = find_unknown(left);
        if (seat == NULL || several)
            return rset_fail(p->r->err, RSET_LOST,
                             "rank %d opens a file that is none of those protected together with "
                             "%s; open it under the name that it was written by",
                             left->sought[i].by, rset_local_name(p->r->args->local));
        seat->by = left->sought[i].by;
    }
    return RSET_OK;
}

/* Of a member whose place nobody recorded all is lost that could be sent or written; any rank without a place may sit
 * there. */
static rset_status
fill_places(const rset_places *p, leftovers *left)
{
    size_t spare = 0;

    qsort(left->seats, left->nseats, sizeof *left->seats, by_rank);
    for (size_t i = 0; i < left->nempty; i++) {
        const rset_seat *place = &left->empty[i];

        while (spare < left->nseats && left->seats[spare].set >= 0)
            spare++;
        if (spare == left->nseats)
            return rset_fail(p->r->err, RSET_LOST, "%s: member %d of set %d is not known",
                             rset_local_name(p->r->args->local), place->member, place->set);
        left->seats[spare].set = place->set;
        left->seats[spare].member = place->member;
        left->seats[spare].members = place->members;
    }
    return RSET_OK;
}

/* ---- rank 0 and the others ---- */

static void
send_leftovers(rset_places *p)
{
    if (p->seat.by < 0 || p->seat.set < 0)
        rset_places_send(p, 0, RSET_SEAT_LEFT, &p->seat);
    if (!p->seated)
        rset_places_send(p, 0, RSET_SEAT_SOUGHT, &p->own);
    for (int m = 0; m < rset_places_members(p); m++)
        if (p->places[m].rank < 0)
            rset_places_send(p, 0, RSET_SEAT_EMPTY, &p->places[m]);
}

static rset_status
fit_together(rset_places *p)
{
    leftovers   left = {0};
    rset_status st = sort_out(p, &left);

    if (st == RSET_OK)
        st = find_seats(p, &left);
    if (st == RSET_OK)
        st = fill_places(p, &left);
    for (size_t i = 0; st == RSET_OK && i < left.nseats; i++)
        if (left.seats[i].set >= 0)
            rset_places_send(p, left.seats[i].set, RSET_SEAT_PLACE, &left.seats[i]);
    leftovers_free(&left);
    return st;
}

rset_status
rset_places_fit(rset_places *p)
{
    rset_status st;

    send_leftovers(p);
    st = rset_places_deliver(p, RSET_OK);
    st = rset_places_deliver(p, st == RSET_OK ? fit_together(p) : st);
    for (size_t i = 0; st == RSET_OK && i < p->got.n; i++) {
        rset_seat s;

        (void)rset_records_get(&p->got, i, &s);
        st = rset_places_fill(p, &s);
    }
    return st;
}
