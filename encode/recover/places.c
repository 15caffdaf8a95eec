/* places.c: which rank has whose files. See recover_internal.h.
 *
 * Rank numbers need not be those of the encode: a rank with a redundancy file is who that file says; one without is
 * recognised by the name of the file that it opens. */
#include "recover_internal.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
uint64_t
rset_recovery_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return h | 1;
}

/* ---- what is recorded ---- */

/* What a redundancy file records about one rank, on the wire. */
typedef struct record {
    int32_t  rank, set, member, unused;
    uint64_t name, path; /* of its file, hashed; 0: unknown */
} record;

static rset_claim
own_claim(const rset_recovery *r)
{
    const rset_local *local = r->args->local;
    const rset_info  *info = &r->evidence->header.infos[0];
    rset_claim        c = {.rank = -1};

    if (local->nfiles > 0)
        c.name = rset_recovery_hash(rset_path_base(local->names[0]));
    if (r->evidence->has_header && info->nfiles > 0)
        c.path = rset_recovery_hash(info->files[0].path);
    if (!r->evidence->has_header || rset_generation_code(r->evidence) != r->standing.counts)
        return c;
    c.has = 1;
    c.rank = info->desc.rank;
    c.set = info->desc.set;
    c.members = info->desc.members;
    return c;
}

/* Is this rank the first of its set that has such a file? */
static bool
speaks_for_set(const rset_recovery *r)
{
    const int me = r->args->world->rank;

    for (int i = 0; i < me; i++)
        if (r->claims[i].has && r->claims[i].set == r->claims[me].set)
            return false;
    return true;
}

/* Own and left neighbours, with names; from the first of each set also the whole GROUP. `to` has room for all, or is
 * NULL. Returns how many. */
static size_t
own_records(const rset_recovery *r, record *to)
{
    const rset_header *h = &r->evidence->header;
    size_t             n = 0;

    if (!r->claims[r->args->world->rank].has)
        return 0;
    for (int d = 0; d < h->ninfos; d++, n++) {
        const rset_info *info = &h->infos[d];

        if (to == NULL)
            continue;
        to[n] =
            (record){.rank = info->desc.rank, .set = info->desc.set, .member = info->desc.member};
        if (info->nfiles > 0) {
            to[n].name = rset_recovery_hash(rset_path_base(info->files[0].path));
            to[n].path = rset_recovery_hash(info->files[0].path);
        }
    }
    for (int i = 0; h->group != NULL && speaks_for_set(r) && i < h->infos[0].desc.members; i++, n++)
        if (to != NULL)
            to[n] = (record){.rank = h->group[i], .set = h->infos[0].desc.set, .member = i};
    return n;
}

static rset_status
note_records(rset_recovery *r, const uint8_t *at, size_t len)
{
    record rec;

    for (; len >= sizeof rec; at += sizeof rec, len -= sizeof rec) {
        rset_seat *seat;

        memcpy(&rec, at, sizeof rec);
        if (rec.rank < 0 || rec.rank >= r->ranks || rec.set < 0 || rec.set >= r->ranks ||
            rec.member < 0 || rec.member >= r->ranks)
            return rset_fail(r->err, RSET_PEER, "a rank sent records that are not valid");
        seat = &r->seats[rec.rank];
        if (seat->set < 0) {
            seat->set = rec.set;
            seat->member = rec.member;
        }
        if (rec.name != 0) {
            seat->name = rec.name;
            seat->path = rec.path;
        }
    }
    return RSET_OK;
}

static rset_status
gather_claims(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    rset_claim               mine = own_claim(r);
    rset_err                 own = RSET_ERR_NONE;
    rset_status              st;

    r->ranks = (int)r->policy.published_ranks;
    r->claims = calloc((size_t)a->world->size, sizeof *r->claims);
    r->seats = calloc((size_t)r->ranks + 1, sizeof *r->seats);
    if (r->claims == NULL || r->seats == NULL)
        (void)rset_fail(&own, RSET_NOMEM, "no memory for %d ranks", a->world->size);
    for (int i = 0; r->seats != NULL && i < r->ranks; i++)
        r->seats[i] = (rset_seat){.set = -1, .member = -1, .by = -1};
    st = rset_gather_fixed(a->world, &mine, sizeof mine, r->claims, r->err);
    if (own.status != RSET_OK && st == RSET_OK) {
        *r->err = own;
        st = own.status;
    }
    return rset_agree(a->world, st, a->host, r->err);
}

static rset_status
gather_records(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    size_t                   n = own_records(r, NULL);
    record                  *mine = calloc(n + 1, sizeof *mine);
    rset_gathered            all = {0};
    rset_status              st = RSET_OK;

    if (mine == NULL)
        st = rset_fail(r->err, RSET_NOMEM, "no memory for the records of %d ranks", r->ranks);
    st = rset_agree(a->world, st, a->host, r->err);
    if (st == RSET_OK) {
        own_records(r, mine);
        st = rset_gather_all(a->world, mine, n * sizeof *mine, (size_t)1 << 30, &all, r->err);
    }
    for (int i = 0; st == RSET_OK && i < a->world->size; i++)
        st = note_records(r, all.bytes + all.offs[i], all.offs[i + 1] - all.offs[i]);
    free(mine);
    rset_gathered_free(&all);
    return st;
}

/* ---- who has whose ---- */

/* May rank i's file be that of seat p? Not when it is protected itself, under another path: files of two steps have
 * one name in two directories, and none is to be overwritten with the other (P2). An old copy of the same file, in
 * a directory that comes back, records the same path. */
static bool
may_be(const rset_recovery *r, int i, int p)
{
    const uint64_t own = r->claims[i].path, recorded = r->seats[p].path;

    return r->seats[p].by < 0 && r->seats[p].name == r->claims[i].name &&
           (own == 0 || recorded == 0 || own == recorded);
}

static bool
is_free_and_unknown(const rset_recovery *r, int p)
{
    return r->seats[p].by < 0 && r->seats[p].name == 0;
}

/* A rank without redundancy file opens a name: whose is it? First its own number, then by name. */
static int
find_seat(const rset_recovery *r, int i)
{
    int found = -1;

    if (i < r->ranks && (may_be(r, i, i) || is_free_and_unknown(r, i)))
        return i;
    for (int p = 0; p < r->ranks; p++)
        if (may_be(r, i, p)) {
            if (found >= 0)
                return -1; /* two of that name: a guess could be wrong */
            found = p;
        }
    for (int p = 0; found < 0 && p < r->ranks; p++) /* nothing can be written for any of these */
        if (is_free_and_unknown(r, p))
            found = p;
    return found;
}

static rset_status
take_recorded_seats(rset_recovery *r)
{
    for (int i = 0; i < r->args->world->size; i++) {
        int p = r->claims[i].rank;

        if (!r->claims[i].has)
            continue;
        if (p < 0 || p >= r->ranks || r->seats[p].by >= 0)
            return rset_fail(r->err, RSET_LOST,
                             "%s: ranks %d and %d both have the file of rank %d, and others are "
                             "missing; each rank must open its own",
                             rset_local_name(r->args->local),
                             p >= 0 && p < r->ranks ? r->seats[p].by : i, i, p);
        r->seats[p].by = i;
    }
    return RSET_OK;
}

static rset_status
take_other_seats(rset_recovery *r)
{
    for (int i = 0; i < r->args->world->size; i++) {
        int p = r->claims[i].has ? -2 : find_seat(r, i);

        if (p == -1)
            return rset_fail(r->err, RSET_LOST,
                             "rank %d opens a file that is none of those protected together with "
                             "%s; open it under the name that it was written by",
                             i, rset_local_name(r->args->local));
        if (p >= 0)
            r->seats[p].by = i;
    }
    return RSET_OK;
}

/* ---- the set ---- */

static rset_status
do_not_fit(const rset_recovery *r)
{
    return rset_fail(r->err, RSET_LOST, "%s: the ranks record sets that do not fit together",
                     rset_local_name(r->args->local));
}

/* Where the members of each set begin in one list of all: first_out[set]; sets of which no header is
 * left have no room. */
static rset_status
measure_sets(const rset_recovery *r, int *first_out)
{
    int total = 0;

    for (int i = 0; i < r->args->world->size; i++)
        if (r->claims[i].has && r->claims[i].set >= 0 && r->claims[i].set < r->ranks)
            first_out[r->claims[i].set + 1] = r->claims[i].members;
    for (int s = 0; s < r->ranks; s++) {
        int n = first_out[s + 1];

        if (n < 0 || n > r->ranks - total)
            return do_not_fit(r);
        first_out[s] = total;
        total += n;
    }
    first_out[r->ranks] = total;
    return RSET_OK;
}

/* Who is recorded in which place: slots[first[set] + member] = rank that wrote it. */
static rset_status
seat_recorded(const rset_recovery *r, const int *first, int *slots)
{
    for (int p = 0; p < r->ranks; p++) {
        const rset_seat *at = &r->seats[p];

        if (at->set < 0)
            continue;
        if (at->member >= first[at->set + 1] - first[at->set] ||
            slots[first[at->set] + at->member] >= 0)
            return do_not_fit(r);
        slots[first[at->set] + at->member] = p;
    }
    return RSET_OK;
}

/* Of a member whose place nobody recorded all is lost that could be sent or written; any rank without a place may sit
 * there. */
static rset_status
seat_others(rset_recovery *r, const int *first, int *slots)
{
    int spare = 0;

    for (int s = 0; s < r->ranks; s++)
        for (int i = first[s]; i < first[s + 1]; i++) {
            if (slots[i] >= 0)
                continue;
            while (spare < r->ranks && r->seats[spare].set >= 0)
                spare++;
            if (spare == r->ranks)
                return rset_fail(r->err, RSET_LOST, "%s: member %d of set %d is not known",
                                 rset_local_name(r->args->local), i - first[s], s);
            r->seats[spare].set = s;
            r->seats[spare].member = i - first[s];
            slots[i] = spare;
        }
    return RSET_OK;
}

static rset_status
join_set(rset_recovery *r, const int *first, int *slots)
{
    const int   set = r->seats[r->me].set;
    rset_status st;

    if (set < 0)
        return RSET_OK;
    for (int i = first[set]; i < first[set + 1]; i++)
        slots[i] = r->seats[slots[i]].by;
    st = rset_comm_subset(r->args->world, slots + first[set], first[set + 1] - first[set], &r->set,
                          r->err);
    r->has_set = st == RSET_OK;
    return st;
}

static rset_status
form_set(rset_recovery *r)
{
    int        *first = calloc((size_t)r->ranks + 1, sizeof *first);
    int        *slots = calloc((size_t)r->ranks + 1, sizeof *slots);
    rset_status st = RSET_OK;

    for (r->me = 0; r->seats[r->me].by != r->args->world->rank; r->me++)
        continue;
    if (first == NULL || slots == NULL)
        st = rset_fail(r->err, RSET_NOMEM, "no memory for the sets of %d ranks", r->ranks);
    for (int i = 0; st == RSET_OK && i < r->ranks; i++)
        slots[i] = -1;
    if (st == RSET_OK)
        st = measure_sets(r, first);
    if (st == RSET_OK)
        st = seat_recorded(r, first, slots);
    if (st == RSET_OK)
        st = seat_others(r, first, slots);
    if (st == RSET_OK)
        st = join_set(r, first, slots);
    free(first);
    free(slots);
    return st;
}

rset_status
rset_recovery_places(rset_recovery *r)
{
    rset_status st = gather_claims(r);

    if (st == RSET_OK)
        st = gather_records(r);
    if (st == RSET_OK)
        st = take_recorded_seats(r); /* the same answer on all ranks, as the claims are */
    if (st == RSET_OK)
        st = take_other_seats(r);
    return st == RSET_OK ? rset_agree(r->args->world, form_set(r), r->args->host, r->err) : st;
}

void
rset_recovery_forget_places(rset_recovery *r)
{
    rset_repair_end(&r->rep); /* it is of that set */
    if (r->has_set)
        rset_comm_free(&r->set);
    r->has_set = false;
    free(r->claims);
    free(r->seats);
    r->claims = NULL;
    r->seats = NULL;
}
