/* rebuild_look.c: who has what of a set, and whether that is enough. See rebuild.h. */
#include "exchange.h"
#include "member/where.h"
#include "rebuild_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each member tells the others first. Sent as it is: all members run the same program. */
typedef struct telling {
    int32_t  has;   /* a header of the generation in question; what follows is valid then */
    int32_t  reach; /* its files are within reach */
    int32_t  away;  /* they were protected in another directory */
    int32_t  parity, set, sets, rank, ranks;
    char     scheme[16];
    uint64_t chunk;
} telling;

/* Is this member's file, by its path, the one that a header records? */
static bool
is_recorded_there(const rset_repair *rep, const rset_header *header)
{
    const rset_where where = rset_where_of(header, 0, NULL);

    return !rep->by_path ||
           rset_where_fits(&where, rset_dir_path(rep->local->dir), rset_local_name(rep->local));
}

static telling
own_telling(const rset_repair *rep)
{
    const rset_header *h = &rep->evidence->header;
    telling            s = {.reach = rep->local->dir != NULL};
    const rset_desc   *d;

    if (!rep->evidence->has_header || h->infos[0].desc.generation != rep->generation)
        return s;
    d = &h->infos[0].desc;
    if (d->members != rep->set->size || d->member != rep->set->rank)
        return s;
    s.has = 1;
    s.away = rep->local->dir != NULL && !is_recorded_there(rep, h);
    s.parity = d->parity;
    s.set = d->set;
    s.sets = d->sets;
    s.rank = d->rank;
    s.ranks = d->ranks;
    s.chunk = h->chunk;
    snprintf(s.scheme, sizeof s.scheme, "%s", d->scheme->name);
    return s;
}

/* The first member with a header speaks for the set; the others must say the same. */
static rset_status
agree_on_set(rset_repair *rep, const telling *told, rset_err *err)
{
    const telling *first = NULL;

    for (int m = 0; m < rep->set->size; m++) {
        const telling *s = &told[m];

        if (!s->has)
            continue;
        if (first == NULL)
            first = s;
        if (strncmp(s->scheme, first->scheme, sizeof s->scheme) != 0 || s->set != first->set ||
            s->parity != first->parity || s->sets != first->sets || s->ranks != first->ranks ||
            s->chunk != first->chunk)
            return rset_fail(err, RSET_LOST,
                             "%s: members %d and %d of the set record different sets (%.15s %d "
                             "parity, %.15s %d parity); restore the redundancy files of one encode",
                             rset_local_name(rep->local), (int)(first - told), m, first->scheme,
                             first->parity, s->scheme, s->parity);
    }
    if (first == NULL)
        return rset_fail(err, RSET_LOST, "%s: no member of the set has a redundancy file left",
                         rset_local_name(rep->local));
    rep->shape = (rset_shape){.scheme = rset_scheme_by_name(first->scheme),
                              .members = rep->set->size,
                              .parity = first->parity,
                              .chunk = first->chunk};
    if (rep->shape.scheme == NULL)
        return rset_fail(err, RSET_PEER, "a member names an unknown scheme %.15s", first->scheme);
    return rep->shape.scheme->check(rep->shape.members, rep->shape.parity, err);
}

/* The nearest member that has a header with the info of member y: itself, or a right neighbour. */
static int
provider(const rset_repair *rep, const telling *told, int y)
{
    int left = rep->shape.scheme->left(rep->shape.parity);

    for (int d = 0; d <= left; d++)
        if (told[(y + d) % rep->shape.members].has)
            return (y + d) % rep->shape.members;
    return -1;
}

static rset_status
copy_own_header(rset_repair *rep, rset_err *err)
{
    const rset_header *h = &rep->evidence->header;
    rset_status        st = RSET_OK;

    for (int d = 0; st == RSET_OK && d < h->ninfos; d++)
        st = rset_info_copy(&h->infos[d], &rep->header.infos[d], err);
    return st;
}

/* The infos that members without header are to get: own and left neighbours'. Those that nobody has are found
 * missing. */
static void
list_infos(rset_repair *rep, const telling *told, rset_exchange *x)
{
    int n = rep->shape.members, me = rep->set->rank;
    int left = rep->shape.scheme->left(rep->shape.parity);

    for (int m = 0; m < n; m++) {
        for (int d = 0; !told[m].has && d <= left; d++) {
            int        y = (m - d + n) % n, p = provider(rep, told, y);
            rset_info *into = rep->header.infos != NULL ? &rep->header.infos[d] : NULL;

            if (p == me)
                rset_exchange_send(x, m, &rep->evidence->header.infos[(me - y + n) % n]);
            else if (m == me && p >= 0)
                rset_exchange_take(x, p, into);
            else if (m == me)
                rep->has_infos = false;
        }
    }
}

/* This member's header, with room for what it has to be told. */
static rset_status
begin_header(rset_repair *rep, bool has, rset_err *err)
{
    const int left = rep->shape.scheme->left(rep->shape.parity);

    rep->has_infos = true;
    rep->header.member = rep->set->rank;
    rep->header.chunk = rep->shape.chunk;
    rep->header.infos = calloc((size_t)left + 1, sizeof *rep->header.infos);
    if (rep->header.infos == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d infos", left + 1);
    rep->header.ninfos = left + 1;
    if (rep->shape.scheme->striped) /* parent ranks of all members, which every header carries */
        rep->header.group = calloc((size_t)rep->shape.members, sizeof *rep->header.group);
    if (rep->shape.scheme->striped && rep->header.group == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d members", rep->shape.members);
    return has ? copy_own_header(rep, err) : RSET_OK;
}

/* Room for what a member is told of its own and its left neighbours' files, and tells each of those that lack that. */
static rset_status
make_room(int left, rset_exchange **x, rset_err *err)
{
    return rset_exchange_new((left + 1) * (left + 2), x, err);
}

/* Where some members lack theirs. `own`: this member's failure so far. *x: room that all have already, or NULL on all. */
static rset_status
hand_out_infos(rset_repair *rep, const telling *told, rset_status own, rset_exchange **x,
               rset_err *err)
{
    const int   left = rep->shape.scheme->left(rep->shape.parity);
    const bool  has_room = *x != NULL && left <= rep->left;
    rset_status st = own;

    if (!has_room) {
        rset_exchange_free(*x);
        *x = NULL;
        if (st == RSET_OK)
            st = make_room(left, x, err);
        st = rset_agree(rep->set, st, rep->host, err);
        if (st != RSET_OK)
            return st;
    }
    list_infos(rep, told, *x);
    return rset_exchange_run(*x, rep->set, true, st, rep->host, err);
}

/* The descriptors that came from neighbours must be this member's. */
static rset_status
check_infos(const rset_repair *rep, rset_err *err)
{
    for (int d = 0; rep->has_infos && d < rep->header.ninfos; d++) {
        const rset_desc *desc = &rep->header.infos[d].desc;

        if (desc->scheme != rep->shape.scheme || desc->parity != rep->shape.parity ||
            desc->members != rep->shape.members || desc->generation != rep->generation ||
            desc->member != (rep->set->rank - d + rep->shape.members) % rep->shape.members)
            return rset_fail(err, RSET_LOST,
                             "%s: what neighbours record of this member belongs to "
                             "another set",
                             rset_local_name(rep->local));
    }
    return RSET_OK;
}

/* Files of one name in another directory are other files, as long as those of the set that are there have stayed in theirs. */
static rset_status
check_path(const rset_repair *rep, const telling *told, rset_err *err)
{
    bool away = !rep->has_infos || rep->local->dir == NULL || told[rep->set->rank].has;
    for (int m = 0; m < rep->set->size; m++)
        away = away || told[m].away;
    if (away || is_recorded_there(rep, &rep->header))
        return RSET_OK;
    return rset_fail(
        err, RSET_LOST,
        "%s: the others open files that were protected together with %s, which is "
        "another one; open the files of one directory on all ranks, or where a symbolic "
        "link led to that file, make the link again",
        rset_local_name(rep->local), rep->header.infos[0].files[0].path);
}

static rset_status
find_infos(rset_repair *rep, const telling *told, rset_exchange **x, rset_err *err)
{
    bool        all = true;
    rset_status st = begin_header(rep, told[rep->set->rank].has != 0, err);

    for (int m = 0; m < rep->set->size; m++)
        all = all && told[m].has;
    if (!all)
        st = hand_out_infos(rep, told, st, x, err);
    if (st == RSET_OK)
        st = check_infos(rep, err);
    return st == RSET_OK ? check_path(rep, told, err) : st;
}

/* ---- all ---- */

/* Members that know before they have looked how much they may have to tell each other make room for it, and say in their first step
 * whether they have it. More than a little is allocated only where it is needed. */
enum { LEFT_LITTLE = 8 };

rset_status
rset_repair_look(rset_repair *rep, rset_err *err)
{
    size_t         n = (size_t)rep->set->size;
    telling        mine = own_telling(rep), *told = calloc(n, sizeof *told);
    rset_exchange *x = NULL;
    rset_status    st = RSET_OK;

    rep->source = *rep->local;
    rep->length = calloc(n, sizeof *rep->length);
    rep->health = calloc(n, sizeof *rep->health);
    rep->was = calloc(n, sizeof *rep->was);
    if (told == NULL || rep->length == NULL || rep->health == NULL || rep->was == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for %zu members", n);
    else if (rep->left > 0 && rep->left <= LEFT_LITTLE)
        st = make_room(rep->left, &x, err);
    st = rset_gather_fixed(rep->set, st, rep->host,
                           &(rset_share){.bytes = &mine, .len = sizeof mine}, told, err);
    if (st == RSET_OK)
        st = agree_on_set(rep, told, err); /* the same answer on all members */
    if (st == RSET_OK) {
        rep->shape.length = rep->length;
        st = find_infos(rep, told, &x, err);
        if (st == RSET_OK)
            st = rset_repair_verify_own(rep, mine.has != 0, err);
        st = rset_repair_share(rep, st, err);
    }
    rset_exchange_free(x);
    free(told);
    return st;
}

enum { UNREAD_TEXT = 96 };

/* Where a read failed nobody knows what is there: the same may be had when the storage answers again. */
static const char *
say_unread(const rset_health *h, char text[UNREAD_TEXT])
{
    char why[64];

    text[0] = '\0';
    if (h->unread != 0)
        snprintf(text, UNREAD_TEXT, ", which cannot be read: %s",
                 strerror_r(h->unread, why, sizeof why));
    return text;
}

/* One of the members that miss something: "rank 7 on node3 (data and redundancy)". One process that has all of them knows
 * their numbers in the set only. */
static void
say_loss(const rset_repair *rep, int m, char *buf, size_t size)
{
    const bool parallel = rep->set->parent != NULL;
    const bool data = rep->health[m].data.n > 0, payload = rep->health[m].payload.n > 0;
    char       unread[UNREAD_TEXT];

    snprintf(buf, size, "%s %d%s%s (%s%s%s%s)", parallel ? "rank" : "member",
             parallel ? rset_comm_world(rep->set, m) : m, rep->was[m][0] != '\0' ? " on " : "",
             rep->was[m], data ? "data" : "", data && payload ? " and " : "",
             payload ? "redundancy" : "", say_unread(&rep->health[m], unread));
}

/* All of them that have room, for the message. */
static void
list_losses(const rset_repair *rep, char *buf, size_t size)
{
    char   one[64 + RSET_HOST_NAME + UNREAD_TEXT];
    size_t used = 0;

    buf[0] = '\0';
    for (int m = 0; m < rep->set->size; m++) {
        if (rep->health[m].data.n == 0 && rep->health[m].payload.n == 0)
            continue;
        say_loss(rep, m, one, sizeof one);
        if (used + strlen(one) + 3 > size)
            return;
        used += (size_t)snprintf(buf + used, size - used, "%s%s", used > 0 ? ", " : "", one);
    }
}

/* What a member without others has lost, which is for ever: where that begins is what its owner wants to know. */
static void
say_own_loss(rset_repair *rep)
{
    const rset_ranges *bad = &rep->health[0].data;
    const rset_desc   *own = &rep->header.infos[0].desc;
    const bool         left_over = rep->has_infos && rset_desc_is_left_over(own);
    char               more[48] = "", whose[64] = "", unread[UNREAD_TEXT];

    if (left_over)
        snprintf(whose, sizeof whose, " of the file of rank %d", own->rank);
    if (bad->n > 1)
        snprintf(more, sizeof more, ", and more in %zu places", bad->n - 1);
    (void)rset_fail(
        &rep->why, RSET_LOST,
        "missing or damaged are bytes %llu to %llu of the content%s%s%s; %s keeps nothing to "
        "repair them with%s",
        (unsigned long long)bad->at[0].from, (unsigned long long)bad->at[0].to - 1, whose, more,
        say_unread(&rep->health[0], unread), rep->shape.scheme->name,
        left_over ? RSET_WAS_LEFT_OVER : "");
}

rset_status
rset_repair_plan(rset_repair *rep, rset_coverage *coverage_out, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    char        losses[512];
    rset_status st =
        rset_cover(&rep->shape, rep->health, rep->flags, &rep->plan, coverage_out, &why);

    if (st != RSET_OK)
        return rset_fail_as(err, &why);
    rep->redundancy_out = rep->redundancy_out && rep->health[rep->set->rank].want_payload;
    if (*coverage_out != RSET_COVERAGE_NOT)
        return RSET_OK;
    if (rep->set->size == 1 && rep->health[0].data.n > 0) {
        say_own_loss(rep);
        return RSET_OK;
    }
    list_losses(rep, losses, sizeof losses);
    (void)rset_fail(&rep->why, RSET_LOST, "missing or damaged are %s: %s", losses, why.text);
    return RSET_OK;
}
