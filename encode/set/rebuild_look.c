/* rebuild_look.c: who has what of a set, and what is bad. See rebuild.h. */
#include "exchange.h"
#include "rebuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each member tells the others first. Sent as it is: all members run the same program. */
typedef struct seat {
    int32_t  has;   /* a header of the generation in question; what follows is valid then */
    int32_t  reach; /* its files are within reach */
    int32_t  parity, set, sets, rank, ranks;
    char     scheme[16];
    uint64_t chunk;
} seat;

static seat
own_seat(const rset_repair *rep)
{
    const rset_header *h = &rep->evidence->header;
    seat               s = {.reach = rep->local->dir != NULL};
    const rset_desc   *d;

    if (!rep->evidence->has_header || h->infos[0].desc.generation != rep->generation)
        return s;
    d = &h->infos[0].desc;
    if (d->members != rep->set->size || d->member != rep->set->rank)
        return s;
    s.has = 1;
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
agree_on_set(rset_repair *rep, const seat *seats, rset_err *err)
{
    const seat *first = NULL;

    for (int m = 0; m < rep->set->size; m++) {
        const seat *s = &seats[m];

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
                             rset_local_name(rep->local), (int)(first - seats), m, first->scheme,
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
provider(const rset_repair *rep, const seat *seats, int y)
{
    int left = rep->shape.scheme->left(rep->shape.parity);

    for (int d = 0; d <= left; d++)
        if (seats[(y + d) % rep->shape.members].has)
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
 * missing. Returns how many parcels this member sends and receives. */
static int
list_parcels(rset_repair *rep, const seat *seats, rset_parcel *out)
{
    int n = rep->shape.members, me = rep->set->rank, count = 0;
    int left = rep->shape.scheme->left(rep->shape.parity);

    for (int x = 0; x < n; x++) {
        for (int d = 0; !seats[x].has && d <= left; d++) {
            int y = (x - d + n) % n, p = provider(rep, seats, y);

            if (p == me)
                out[count++] = (rset_parcel){
                    .member = x, .send = &rep->evidence->header.infos[(me - y + n) % n]};
            else if (x == me && p >= 0)
                out[count++] = (rset_parcel){.member = p, .into = &rep->header.infos[d]};
            else if (x == me)
                rep->has_infos = false;
        }
    }
    return count;
}

static rset_status
hand_out_infos(rset_repair *rep, const seat *seats, rset_err *err)
{
    int          left = rep->shape.scheme->left(rep->shape.parity), count = 0;
    size_t       room = ((size_t)left + 1) * ((size_t)left + 2);
    rset_parcel *parcels = calloc(room, sizeof *parcels);
    rset_status  st = RSET_OK;

    rep->has_infos = true;
    rep->header.member = rep->set->rank;
    rep->header.chunk = rep->shape.chunk;
    rep->header.infos = calloc((size_t)left + 1, sizeof *rep->header.infos);
    if (parcels == NULL || rep->header.infos == NULL) {
        st = rset_fail(err, RSET_NOMEM, "no memory for %d infos", left + 1);
    } else {
        rep->header.ninfos = left + 1;
        count = list_parcels(rep, seats, parcels);
        if (seats[rep->set->rank].has)
            st = copy_own_header(rep, err);
    }
    st = rset_exchange(rep->set, parcels, count, true, st, rep->host, err);
    free(parcels);
    return st;
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

bool
rset_may_stay_unverified(const rset_evidence *ev, bool there, uint64_t generation)
{
    return there && !ev->empty && !ev->has_header && !rset_evidence_cut(ev) &&
           (ev->mark == 0 || ev->mark == generation);
}

/* The file was changed, but there is a way back: what that leads to is what the others may count on. */
static rset_status
look_back(rset_repair *rep, rset_health *h, rset_err *err)
{
    bool damaged = false;

    rep->source.old = &rep->evidence->old;
    rset_ranges_free(&h->data);
    return rset_verify_data(&rep->source, &rep->header.infos[0], true, &h->data, &damaged, err);
}

/* Was the file opened for change since this generation was protected, or created where it was lost? The void mark of
 * another generation, in a directory that came back from an old copy, says nothing about that (F9). */
static bool
opened_for_change(const rset_repair *rep)
{
    const rset_evidence *ev = rep->evidence;

    if (!ev->has_header)
        return rset_evidence_changed(ev, rep->generation);
    return ev->is_void && ev->header.infos[0].desc.generation == rep->generation;
}

/* Are this member's files there? Of others, what cannot be looked at can be done without. */
static rset_status
look_for_files(const rset_repair *rep, bool *there_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    *there_out = false;
    if (rep->local->dir == NULL)
        return RSET_OK;
    st = rset_local_there(rep->local, there_out, &own);
    return st == RSET_OK || !rep->writable ? RSET_OK : rset_fail(err, st, "%s", own.text);
}

/* Nothing to compare with, or nothing to compare. */
static rset_status
without_data(rset_repair *rep, bool known, bool there, rset_health *h, rset_err *err)
{
    if (!rset_ranges_add(&h->data, 0, UINT64_MAX))
        return rset_fail(err, RSET_NOMEM, "no memory");
    if (rep->writable)
        rep->found |= rset_may_stay_unverified(rep->evidence, there, rep->generation)
                          ? RSET_FOUND_UNKNOWN | (opened_for_change(rep) ? RSET_FOUND_STALE : 0)
                          : RSET_FOUND_DAMAGE | (known ? 0 : RSET_FOUND_HOPELESS);
    return RSET_OK;
}

/* Own data against the record. */
static rset_status
verify_data(rset_repair *rep, rset_health *h, rset_err *err)
{
    bool        known = rep->header.infos[0].desc.scheme != NULL, damaged = false;
    bool        is_void = opened_for_change(rep), there;
    rset_status st = look_for_files(rep, &there, err);

    if (st != RSET_OK)
        return st;
    h->want_data = rep->writable && known;
    if (!known || rep->local->dir == NULL)
        return without_data(rep, known, there, h, err);
    st = rset_verify_data(rep->local, &rep->header.infos[0],
                          (rep->content && !rep->trusting) || is_void, &h->data, &damaged, err);
    rep->data_out = damaged;
    if (damaged) /* a missing file is no change that an application made */
        rep->found |= is_void && there ? RSET_FOUND_STALE : RSET_FOUND_DAMAGE;
    if (st == RSET_OK && damaged && is_void && rep->evidence->has_header &&
        rep->evidence->old.there)
        st = look_back(rep, h, err);
    return st;
}

/* Did a program die while it was writing this file? */
static int
cut_short(const rset_repair *rep)
{
    const rset_evidence *ev = rep->evidence;
    const bool           ours = opened_for_change(rep) ||
                      (ev->begun && ev->header.infos[0].desc.generation == rep->generation);

    return (ev->beside ? RSET_FOUND_BESIDE : 0) |
           (opened_for_change(rep) && rset_evidence_cut(ev) ? RSET_FOUND_CUT : 0) |
           (ours && rset_evidence_apart(ev) ? RSET_FOUND_APART : 0);
}

/* Own data and redundancy against the records. */
static rset_status
verify_own(rset_repair *rep, bool has, rset_err *err)
{
    rset_health *h = &rep->health[rep->set->rank];
    rset_status  st = verify_data(rep, h, err);

    h->want_payload = rep->writable;
    if (!rep->has_infos && rep->writable)
        rep->found |= RSET_FOUND_BLIND;
    if (!has && !rset_ranges_add(&h->payload, 0, UINT64_MAX))
        return rset_fail(err, RSET_NOMEM, "no memory");
    rep->found |= cut_short(rep);
    if (st == RSET_OK && has)
        st = rset_verify_payload(rep->local, rep->evidence, !rep->trusting, &h->payload, err);
    if (!has || h->payload.n > 0)
        rep->found |= RSET_FOUND_BARE;
    else if (!rset_evidence_described(rep->evidence))
        rep->found |= RSET_FOUND_NO_DESC;
    rep->redundancy_out = (rep->found & RSET_FOUND_BARE) != 0;
    rep->desc_out = rep->writable && (rep->found & RSET_FOUND_NO_DESC) != 0;
    return st;
}

/* ---- telling each other ---- */

enum { WANT_DATA = 1, WANT_PAYLOAD = 2 };

/* One member's findings on the wire: flags, what is wanted, numbers of ranges, then the ranges. */
typedef struct finding {
    uint32_t found, want;
    uint64_t ndata, npayload;
} finding;

static rset_status
unpack_health(const uint8_t *at, size_t len, rset_health *h, int *found_any, rset_err *err)
{
    finding    f;
    rset_range r;
    bool       ok = len >= sizeof f;

    if (ok) {
        memcpy(&f, at, sizeof f);
        ok = f.ndata <= len && f.npayload <= len &&
             len == sizeof f + (size_t)(f.ndata + f.npayload) * sizeof r;
    }
    if (!ok)
        return rset_fail(err, RSET_PEER, "a member sent findings that are not valid");
    *found_any |= (int)f.found;
    h->want_data = (f.want & WANT_DATA) != 0;
    h->want_payload = (f.want & WANT_PAYLOAD) != 0;
    at += sizeof f;
    for (uint64_t i = 0; i < f.ndata + f.npayload; i++, at += sizeof r) {
        rset_ranges *list = i < f.ndata ? &h->data : &h->payload;

        memcpy(&r, at, sizeof r);
        if (list->n > 0 && r.from < list->at[list->n - 1].to)
            return rset_fail(err, RSET_PEER, "a member sent findings that are not valid");
        if (!rset_ranges_add(list, r.from, r.to))
            return rset_fail(err, RSET_NOMEM, "no memory for findings");
    }
    return RSET_OK;
}

static rset_status
share_health(rset_repair *rep, rset_status own, rset_err *err)
{
    rset_health *mine = &rep->health[rep->set->rank];
    uint32_t     want = (mine->want_data ? WANT_DATA : 0) | (mine->want_payload ? WANT_PAYLOAD : 0);
    finding      f = {(uint32_t)rep->found, want, mine->data.n, mine->payload.n};
    size_t       ranges = (mine->data.n + mine->payload.n) * sizeof(rset_range), *offs = NULL;
    uint8_t     *buf = malloc(sizeof f + ranges), *all = NULL;
    rset_status  st = own;

    if (buf == NULL && st == RSET_OK)
        st = rset_fail(err, RSET_NOMEM, "no memory for findings");
    if (buf != NULL) {
        memcpy(buf, &f, sizeof f);
        if (mine->data.n > 0)
            memcpy(buf + sizeof f, mine->data.at, mine->data.n * sizeof(rset_range));
        if (mine->payload.n > 0)
            memcpy(buf + sizeof f + mine->data.n * sizeof(rset_range), mine->payload.at,
                   mine->payload.n * sizeof(rset_range));
    }
    st = rset_agree(rep->set, st, rep->host, err);
    if (st == RSET_OK)
        st = rset_gather_all(rep->set, buf, sizeof f + ranges, (size_t)1 << 30, &all, &offs, err);
    for (int m = 0; st == RSET_OK && m < rep->set->size; m++) {
        rset_health_free(&rep->health[m]);
        rep->health[m] = (rset_health){0};
        st = unpack_health(all + offs[m], offs[m + 1] - offs[m], &rep->health[m], &rep->found_any,
                           err);
    }
    free(buf);
    free(all);
    free(offs);
    return st;
}

/* Logical lengths of all members; UINT64_MAX for one whose info nobody has. */
static rset_status
share_lengths(rset_repair *rep, rset_err *err)
{
    bool     known = rep->header.infos != NULL && rep->header.infos[0].desc.scheme != NULL;
    uint64_t mine = known ? rset_info_length(&rep->header.infos[0]) : UINT64_MAX;

    rep->shape.length = rep->length;
    return rset_gather_fixed(rep->set, &mine, sizeof mine, rep->length, err);
}

rset_status
rset_repair_look(rset_repair *rep, rset_err *err)
{
    size_t      n = (size_t)rep->set->size;
    seat        mine = own_seat(rep), *seats = calloc(n, sizeof *seats);
    rset_status st = RSET_OK;

    rep->source = *rep->local;
    rep->length = calloc(n, sizeof *rep->length);
    rep->health = calloc(n, sizeof *rep->health);
    if (seats == NULL || rep->length == NULL || rep->health == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for %zu members", n);
    st = rset_agree(rep->set, st, rep->host, err);
    if (st == RSET_OK)
        st = rset_gather_fixed(rep->set, &mine, sizeof mine, seats, err);
    if (st == RSET_OK)
        st = agree_on_set(rep, seats, err); /* the same answer on all members */
    if (st == RSET_OK) {
        st = hand_out_infos(rep, seats, err);
        if (st == RSET_OK)
            st = check_infos(rep, err);
        st = rset_agree(rep->set, st, rep->host, err);
    }
    if (st == RSET_OK)
        st = share_lengths(rep, err);
    if (st == RSET_OK)
        st = share_health(rep, verify_own(rep, mine.has != 0, err), err);
    free(seats);
    return st;
}

/* Members that miss something, for the message: "1 3 (data), 2 (redundancy)". */
static void
list_losses(const rset_repair *rep, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int m = 0; m < rep->set->size && used + 48 < size; m++) {
        bool data = rep->health[m].data.n > 0, payload = rep->health[m].payload.n > 0;

        if (data || payload)
            used += (size_t)snprintf(buf + used, size - used, "%smember %d (%s%s%s)",
                                     used > 0 ? ", " : "", m, data ? "data" : "",
                                     data && payload ? " and " : "", payload ? "redundancy" : "");
    }
}

static void
skip_redundancy(rset_repair *rep)
{
    for (int m = 0; m < rep->set->size; m++)
        rep->health[m].want_payload = false;
    rep->redundancy_out = false;
}

static rset_status
plan(rset_repair *rep, bool data_only, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    char        losses[512];
    rset_status st;

    if (data_only)
        skip_redundancy(rep);
    if ((rep->found_any & RSET_FOUND_HOPELESS) != 0 ||
        (!data_only && (rep->found_any & RSET_FOUND_BLIND) != 0))
        st = rset_fail(&why, RSET_LOST,
                       "what was recorded of a member is lost together with its "
                       "neighbours' redundancy files");
    else
        st = rset_plan_make(&rep->shape, rep->health, &rep->plan, &why);
    if (st != RSET_LOST)
        return st == RSET_OK ? st : rset_fail(err, st, "%s", why.text);
    list_losses(rep, losses, sizeof losses);
    return rset_fail(
        err, RSET_LOST,
        "%s cannot be brought back: missing or damaged are %s: %s. Nothing was changed; "
        "bring a lost node's directory back, or go on from an earlier file",
        rset_local_name(rep->local), losses, why.text);
}

rset_status
rset_repair_plan(rset_repair *rep, bool *whole_out, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = plan(rep, false, &why);

    *whole_out = st == RSET_OK;
    if (st == RSET_LOST)
        return plan(rep, true, err);
    return st == RSET_OK ? st : rset_fail(err, st, "%s", why.text);
}
