/* recover_who.c: which rank has whose files. See recover_internal.h.
 *
 * Rank numbers need not be those of the encode: a rank with a redundancy file is who that file says;
 * one without is recognised by the name of the file that it opens (F19). */
#include "recover_internal.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a; only ever compares names within one job. */
uint64_t
rset_muster_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return h | 1;
}

/* What one rank records about parent ranks, on the wire. */
typedef struct record {
    int32_t  rank, set, member, unused;
    uint64_t name, path; /* of its file, hashed; 0: unknown */
} record;

bool
rset_muster_has(const muster *m, int r)
{
    return m->cards[r].has && m->cards[r].generation == m->generation;
}

int
rset_muster_mixed(const muster *m, int *first_out)
{
    int first = -1;

    for (int r = 0; r < m->args->world->size; r++) {
        if (m->cards[r].mark == 0)
            continue;
        if (first < 0)
            first = r;
        *first_out = first;
        if (m->cards[r].mark != m->cards[first].mark)
            return r;
    }
    return -1;
}

/* Own and left neighbours, with names; from the first of each set also the whole GROUP. */
static size_t
own_records(const muster *m, record *to)
{
    const rset_header *h = &m->args->evidence->header;
    size_t             n = 0;
    bool               first = true;

    if (!rset_muster_has(m, m->args->world->rank))
        return 0;
    for (int d = 0; d < h->ninfos; d++, n++) {
        const rset_info *info = &h->infos[d];

        if (to == NULL)
            continue;
        to[n] =
            (record){.rank = info->desc.rank, .set = info->desc.set, .member = info->desc.member};
        if (info->nfiles > 0) {
            to[n].name = rset_muster_hash(rset_path_base(info->files[0].path));
            to[n].path = rset_muster_hash(info->files[0].path);
        }
    }
    for (int r = 0; r < m->args->world->rank; r++)
        if (rset_muster_has(m, r) && m->cards[r].set == h->infos[0].desc.set)
            first = false;
    for (int i = 0; first && h->group != NULL && i < h->infos[0].desc.members; i++, n++)
        if (to != NULL)
            to[n] = (record){.rank = h->group[i], .set = h->infos[0].desc.set, .member = i};
    return n;
}

static rset_status
note_records(muster *m, const uint8_t *at, size_t len)
{
    record rec;

    for (; len >= sizeof rec; at += sizeof rec, len -= sizeof rec) {
        memcpy(&rec, at, sizeof rec);
        if (rec.rank < 0 || rec.rank >= m->ranks || rec.set < 0 || rec.set >= m->ranks ||
            rec.member < 0 || rec.member >= m->ranks)
            return rset_fail(m->err, RSET_PEER, "a rank sent records that are not valid");
        if (m->places[rec.rank].set < 0) {
            m->places[rec.rank].set = rec.set;
            m->places[rec.rank].member = rec.member;
        }
        if (rec.name != 0) {
            m->places[rec.rank].name = rec.name;
            m->places[rec.rank].path = rec.path;
        }
    }
    return RSET_OK;
}

static rset_status
gather_records(muster *m)
{
    size_t      n = own_records(m, NULL), *offs = NULL;
    record     *mine = calloc(n + 1, sizeof *mine);
    uint8_t    *all = NULL;
    rset_status st = RSET_OK;

    m->places = calloc((size_t)m->ranks + 1, sizeof *m->places);
    if (mine == NULL || m->places == NULL)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for the records of %d ranks", m->ranks);
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st == RSET_OK) {
        own_records(m, mine);
        st = rset_gather_all(m->args->world, mine, n * sizeof *mine, (size_t)1 << 30, &all, &offs,
                             m->err);
    }
    for (int r = 0; st == RSET_OK && r < m->ranks; r++)
        m->places[r] = (place){.set = -1, .member = -1, .by = -1};
    for (int r = 0; st == RSET_OK && r < m->args->world->size; r++)
        st = note_records(m, all + offs[r], offs[r + 1] - offs[r]);
    free(mine);
    free(all);
    free(offs);
    return st;
}

/* May rank r's file be that of place p? Not when it is protected itself, under another path: files of two steps have
 * one name in two directories, and none is to be overwritten with the other (P2). An old copy of the same file, in
 * a directory that comes back, records the same path (F9). */
static bool
may_be(const muster *m, int r, int p)
{
    const uint64_t own = m->cards[r].path, recorded = m->places[p].path;

    return m->places[p].by < 0 && m->places[p].name == m->cards[r].name &&
           (own == 0 || recorded == 0 || own == recorded);
}

/* A rank without redundancy file opens a name: whose is it? First its own number, then by name. */
static int
claim(const muster *m, int r)
{
    int found = -1;

    if (r < m->ranks && (may_be(m, r, r) || (m->places[r].by < 0 && m->places[r].name == 0)))
        return r;
    for (int p = 0; p < m->ranks; p++)
        if (may_be(m, r, p)) {
            if (found >= 0)
                return -1; /* two of that name: a guess could be wrong */
            found = p;
        }
    for (int p = 0; found < 0 && p < m->ranks; p++) /* nothing can be written for any of these */
        if (m->places[p].by < 0 && m->places[p].name == 0)
            found = p;
    return found;
}

static rset_status
assign_places(muster *m)
{
    int size = m->args->world->size;

    if (m->ranks != size)
        return rset_fail(m->err, RSET_LOST,
                         "%s: protected by %d ranks, opened by %d, and not all files are there; "
                         "start as many ranks as wrote them",
                         rset_local_name(m->args->local), m->ranks, size);
    for (int r = 0; r < size; r++) {
        int p = m->cards[r].rank;

        if (!rset_muster_has(m, r))
            continue;
        if (p < 0 || p >= m->ranks || m->places[p].by >= 0)
            return rset_fail(m->err, RSET_LOST,
                             "%s: ranks %d and %d both have the file of rank %d, and others are "
                             "missing; each rank must open its own",
                             rset_local_name(m->args->local),
                             p >= 0 && p < m->ranks ? m->places[p].by : r, r, p);
        m->places[p].by = r;
    }
    for (int r = 0; r < size; r++) {
        int p = rset_muster_has(m, r) ? -2 : claim(m, r);

        if (p == -1)
            return rset_fail(m->err, RSET_LOST,
                             "rank %d opens a file that is none of those protected together with "
                             "%s; open it under the name that it was written by",
                             r, rset_local_name(m->args->local));
        if (p >= 0)
            m->places[p].by = r;
    }
    return RSET_OK;
}

/* Where the members of each set begin in one list of all: first_out[set]; sets of which no header is
 * left have no room. */
static rset_status
measure_sets(const muster *m, int *first_out)
{
    int total = 0;

    for (int r = 0; r < m->args->world->size; r++)
        if (rset_muster_has(m, r) && m->cards[r].set >= 0 && m->cards[r].set < m->ranks)
            first_out[m->cards[r].set + 1] = m->cards[r].members;
    for (int s = 0; s < m->ranks; s++) {
        int n = first_out[s + 1];

        if (n < 0 || n > m->ranks - total)
            return rset_fail(m->err, RSET_LOST,
                             "%s: the ranks record sets that do not fit together",
                             rset_local_name(m->args->local));
        first_out[s] = total;
        total += n;
    }
    first_out[m->ranks] = total;
    return RSET_OK;
}

/* Fills the list: slots[first[set] + member] = parent rank. Of a member whose place nobody recorded all
 * is lost that could be sent or written; any rank without a place may sit there. */
static rset_status
seat_all(muster *m, const int *first, int *slots)
{
    int spare = 0;

    for (int i = 0; i < first[m->ranks]; i++)
        slots[i] = -1;
    for (int p = 0; p < m->ranks; p++) {
        const place *at = &m->places[p];

        if (at->set < 0)
            continue;
        if (at->member >= first[at->set + 1] - first[at->set] ||
            slots[first[at->set] + at->member] >= 0)
            return rset_fail(m->err, RSET_LOST,
                             "%s: the ranks record sets that do not fit together",
                             rset_local_name(m->args->local));
        slots[first[at->set] + at->member] = p;
    }
    for (int s = 0; s < m->ranks; s++)
        for (int i = first[s]; i < first[s + 1]; i++) {
            if (slots[i] >= 0)
                continue;
            while (spare < m->ranks && m->places[spare].set >= 0)
                spare++;
            if (spare == m->ranks)
                return rset_fail(m->err, RSET_LOST, "%s: member %d of set %d is not known",
                                 rset_local_name(m->args->local), i - first[s], s);
            m->places[spare].set = s;
            m->places[spare].member = i - first[s];
            slots[i] = spare;
        }
    return RSET_OK;
}

static rset_status
form_set(muster *m)
{
    int        *first = calloc((size_t)m->ranks + 1, sizeof *first);
    int        *slots = calloc((size_t)m->ranks + 1, sizeof *slots);
    rset_status st = RSET_OK;
    int         set;

    for (m->me = 0; m->places[m->me].by != m->args->world->rank; m->me++)
        continue;
    if (first == NULL || slots == NULL)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for the sets of %d ranks", m->ranks);
    if (st == RSET_OK)
        st = measure_sets(m, first);
    if (st == RSET_OK)
        st = seat_all(m, first, slots);
    set = m->places[m->me].set;
    if (st == RSET_OK && set >= 0) {
        int *members = slots + first[set], n = first[set + 1] - first[set];

        for (int i = 0; i < n; i++)
            members[i] = m->places[members[i]].by;
        st = rset_comm_subset(m->args->world, members, n, &m->set, m->err);
        m->has_set = st == RSET_OK;
    }
    free(first);
    free(slots);
    return st;
}

rset_status
rset_muster_places(muster *m)
{
    rset_status st = gather_records(m);

    if (st == RSET_OK)
        st = assign_places(m); /* the same answer on all ranks, as the cards are */
    return st == RSET_OK ? rset_agree(m->args->world, form_set(m), m->args->host, m->err) : st;
}
