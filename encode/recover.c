/* recover.c: all ranks look at what they have, find out which file is whose, and bring back what is
 * lost. The parallel side of the door (encode.h); one set's part is rebuild.c.
 *
 * Rank numbers need not be those of the encode: a rank with a redundancy file is who that file says;
 * one without is recognised by the name of the file that it opens (F19). */
#include "encode.h"
#include "rebuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every rank tells all others. Sent as it is. */
typedef struct card {
    int32_t  status; /* this rank's failure so far */
    int32_t  any, has, is_void, there, damaged; /* evidence; data file exists; is not as recorded */
    int32_t  rank, ranks, set, member, members; /* of its header */
    uint64_t generation, next;                  /* of its header; of a complete unpublished one */
    uint64_t name;                              /* hash of the base name it opens */
} card;

/* What is known of one parent rank of the encode. */
typedef struct place {
    int      set, member; /* -1: nobody recorded it */
    uint64_t name;        /* hash of its file's base name, 0: unknown */
    int      by;          /* rank that has it now, -1: nobody yet */
} place;

typedef struct muster {
    const rset_recover_args *args;
    rset_err                *err;
    rset_outcome            *out;
    card                    *cards;
    uint64_t                 generation;
    int                      ranks; /* parent ranks of the encode */
    place                   *places;
    int                      me; /* this rank's parent rank */
    rset_comm                set;
    bool                     has_set;
    rset_repair              rep;
} muster;

/* FNV-1a; only ever compares names within one job. */
static uint64_t
hash_name(const char *path)
{
    const char *base = strrchr(path, '/');
    uint64_t    h = UINT64_C(0xcbf29ce484222325);

    for (base = base != NULL ? base + 1 : path; *base != '\0'; base++)
        h = (h ^ (uint8_t)*base) * UINT64_C(0x100000001b3);
    return h | 1;
}

/* ---- step 1: everyone's card ---- */

static card
own_card(muster *m, rset_status *st)
{
    const rset_recover_args *a = m->args;
    const rset_evidence     *ev = a->evidence;
    card                     c = { .status = (int32_t)*st, .any = ev->any, .has = ev->has_header,
                                   .is_void = ev->is_void, .next = ev->next };
    struct stat              sb;
    rset_ranges              bad = { 0 };
    bool                     damaged = false;

    c.name = a->local->nfiles > 0 ? hash_name(a->local->names[0]) : 0;
    c.there = *st == RSET_OK;
    for (int i = 0; c.there && i < a->local->nfiles; i++)
        c.there = rset_dir_stat(a->local->dir, a->local->names[i], &sb, NULL) == RSET_OK;
    if (*st == RSET_OK && ev->has_header) {
        const rset_desc *d = &ev->header.infos[0].desc;

        c.rank = d->rank;
        c.ranks = d->ranks;
        c.set = d->set;
        c.member = d->member;
        c.members = d->members;
        c.generation = d->generation;
        *st = rset_verify_data(a->local, &ev->header.infos[0], a->content || ev->is_void, &bad,
                               &damaged, m->err);
        c.damaged = damaged;
        c.status = (int32_t)*st;
    }
    rset_ranges_free(&bad);
    return c;
}

static rset_status
gather_cards(muster *m)
{
    rset_status st = m->args->before;
    card        mine = own_card(m, &st);

    m->cards = calloc((size_t)m->args->world->size, sizeof *m->cards);
    if (m->cards == NULL && st == RSET_OK)
        st = rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    st = rset_agree(m->args->world, st, m->args->host, m->err);
    if (st == RSET_OK)
        st = rset_gather_fixed(m->args->world, &mine, sizeof mine, m->cards, m->err);
    return st;
}

/* ---- step 2: which generation ---- */

/* Votes for a generation: published headers, and complete unpublished ones when somebody published
 * it: then the commit had been decided by all, and goes forward (P11). */
static int
votes(const muster *m, uint64_t generation)
{
    int published = 0, waiting = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];

        if (c->has && c->generation == generation)
            published++;
        else if (c->next == generation && generation != 0)
            waiting++;
    }
    return published > 0 ? published + waiting : 0;
}

/* The generation that most ranks have; of two equally common ones the newer. */
static void
choose_generation(muster *m)
{
    int best = 0;

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];
        int         n = c->has ? votes(m, c->generation) : 0;

        if (n > best ||
            (n > 0 && n == best && rset_generation_newer(c->generation, m->generation))) {
            best = n;
            m->generation = c->generation;
            m->ranks = c->ranks;
        }
    }
}

/* This rank's share of a commit that was decided but not finished. */
static rset_status
roll_forward(muster *m)
{
    rset_evidence *ev = m->args->evidence;
    rset_dir      *dir = m->args->local->dir;
    char          *name;
    rset_status    st;

    if (ev->next == 0 || ev->next != m->generation ||
        (ev->has_header && ev->header.infos[0].desc.generation == m->generation))
        return RSET_OK;
    name = strndup(ev->next_name, strlen(ev->next_name) - strlen(RSET_SUFFIX_NEW));
    if (name == NULL)
        return rset_fail(m->err, RSET_NOMEM, "no memory to finish the commit of %s", ev->next_name);
    st = rset_dir_rename(dir, ev->next_name, name, m->err);
    free(name);
    if (st == RSET_OK)
        st = rset_dir_sync(dir, m->err);
    if (st != RSET_OK)
        return st;
    rset_evidence_free(ev);
    return rset_survey(dir, m->args->local->prefix, m->args->local->names[0], ev, m->err);
}

static bool
commit_unfinished(const muster *m)
{
    for (int r = 0; r < m->args->world->size; r++)
        if (m->cards[r].next == m->generation && m->generation != 0 &&
            !(m->cards[r].has && m->cards[r].generation == m->generation))
            return true;
    return false;
}

/* ---- step 3: is there anything to do ---- */

typedef struct tally {
    int any, has, missing, damaged, stale;
} tally;

static tally
count(const muster *m)
{
    tally t = { 0 };

    for (int r = 0; r < m->args->world->size; r++) {
        const card *c = &m->cards[r];
        bool        has = c->has && c->generation == m->generation;

        t.any += c->any != 0;
        t.has += has;
        t.missing += !c->there;
        t.damaged += has && c->damaged && !c->is_void && c->there;
        t.stale += has && c->is_void;
    }
    return t;
}

/* ---- step 4: who is who ---- */

/* What one rank records about parent ranks, on the wire. */
typedef struct record {
    int32_t  rank, set, member, unused;
    uint64_t name;
} record;

static bool
has_generation(const muster *m, int r)
{
    return m->cards[r].has && m->cards[r].generation == m->generation;
}

/* Own and left neighbours, with names; from the first of each set also the whole GROUP. */
static size_t
own_records(const muster *m, record *to)
{
    const rset_header *h = &m->args->evidence->header;
    size_t             n = 0;
    bool               first = true;

    if (!has_generation(m, m->args->world->rank))
        return 0;
    for (int d = 0; d < h->ninfos; d++, n++) {
        const rset_info *info = &h->infos[d];

        if (to != NULL)
            to[n] = (record){ .rank = info->desc.rank, .set = info->desc.set,
                              .member = info->desc.member,
                              .name = info->nfiles > 0 ? hash_name(info->files[0].path) : 0 };
    }
    for (int r = 0; r < m->args->world->rank; r++)
        if (has_generation(m, r) && m->cards[r].set == h->infos[0].desc.set)
            first = false;
    for (int i = 0; first && h->group != NULL && i < h->infos[0].desc.members; i++, n++)
        if (to != NULL)
            to[n] = (record){ .rank = h->group[i], .set = h->infos[0].desc.set, .member = i };
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
        if (rec.name != 0)
            m->places[rec.rank].name = rec.name;
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
        m->places[r] = (place){ .set = -1, .member = -1, .by = -1 };
    for (int r = 0; st == RSET_OK && r < m->args->world->size; r++)
        st = note_records(m, all + offs[r], offs[r + 1] - offs[r]);
    free(mine);
    free(all);
    free(offs);
    return st;
}

/* A rank without redundancy file opens a name: whose is it? First its own number, then by name. */
static int
claim(const muster *m, int r)
{
    uint64_t name = m->cards[r].name;
    int      found = -1;

    if (r < m->ranks && m->places[r].by < 0 &&
        (m->places[r].name == name || m->places[r].name == 0))
        return r;
    for (int p = 0; p < m->ranks; p++)
        if (m->places[p].by < 0 && m->places[p].name == name) {
            if (found >= 0)
                return -1; /* two of that name: a guess could be wrong */
            found = p;
        }
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
                         m->args->local->prefix, m->ranks, size);
    for (int r = 0; r < size; r++) {
        int p = m->cards[r].rank;

        if (!has_generation(m, r))
            continue;
        if (p < 0 || p >= m->ranks || m->places[p].by >= 0)
            return rset_fail(m->err, RSET_LOST,
                             "%s: ranks %d and %d both have the file of rank %d, and others are "
                             "missing; each rank must open its own",
                             m->args->local->prefix, p >= 0 && p < m->ranks ? m->places[p].by : r,
                             r, p);
        m->places[p].by = r;
    }
    for (int r = 0; r < size; r++) {
        int p = has_generation(m, r) ? -2 : claim(m, r);

        if (p == -1)
            return rset_fail(m->err, RSET_LOST,
                             "rank %d opens a file that is none of those protected together with "
                             "%s; open it under the name that it was written by",
                             r, m->args->local->prefix);
        if (p >= 0)
            m->places[p].by = r;
    }
    return RSET_OK;
}

static rset_status
form_set(muster *m)
{
    int         n = 0, *members;
    rset_status st;

    for (m->me = 0; m->places[m->me].by != m->args->world->rank; m->me++)
        continue;
    for (int p = 0; p < m->ranks; p++) {
        if (m->places[p].set < 0)
            return rset_fail(m->err, RSET_LOST,
                             "nothing is left that says to which set the file of rank %d belonged: "
                             "it and all its neighbours are lost", p);
        n += m->places[p].set == m->places[m->me].set;
    }
    members = malloc((size_t)n * sizeof *members);
    if (members == NULL)
        return rset_fail(m->err, RSET_NOMEM, "no memory for %d members", n);
    for (int i = 0; i < n; i++)
        members[i] = -1;
    for (int p = 0; p < m->ranks; p++)
        if (m->places[p].set == m->places[m->me].set && m->places[p].member < n)
            members[m->places[p].member] = m->places[p].by;
    st = RSET_OK;
    for (int i = 0; i < n; i++)
        if (members[i] < 0)
            st = rset_fail(m->err, RSET_LOST, "%s: member %d of the set is not known",
                           m->args->local->prefix, i);
    if (st == RSET_OK)
        st = rset_comm_subset(m->args->world, members, n, &m->set, m->err);
    m->has_set = st == RSET_OK;
    free(members);
    return st;
}

/* ---- step 5: repair ---- */

static rset_status
look(muster *m, bool content)
{
    rset_repair_end(&m->rep);
    m->rep = (rset_repair){ .set = &m->set, .local = m->args->local, .evidence = m->args->evidence,
                            .generation = m->generation, .writable = true, .content = content,
                            .host = m->args->host };
    return rset_agree(m->args->world, rset_repair_look(&m->rep, m->err), m->args->host, m->err);
}

/* What all ranks found, or-ed. */
static rset_status
found_anywhere(muster *m, int *found_out)
{
    int32_t     mine = m->rep.found, *all = calloc((size_t)m->args->world->size, sizeof *all);
    rset_status st;

    if (all == NULL)
        return rset_fail(m->err, RSET_NOMEM, "no memory for %d ranks", m->args->world->size);
    st = rset_gather_fixed(m->args->world, &mine, sizeof mine, all, m->err);
    *found_out = 0;
    for (int r = 0; st == RSET_OK && r < m->args->world->size; r++)
        *found_out |= all[r];
    free(all);
    return st;
}

static rset_status
write_and_publish(muster *m)
{
    const rset_recover_args *a = m->args;
    rset_status              st;

    st = rset_agree(a->world, rset_repair_write(&m->rep, m->err), a->host, m->err);
    if (st == RSET_OK)
        st = rset_agree(a->world, rset_repair_publish(&m->rep, &m->out->replaced, m->err), a->host,
                        m->err);
    m->out->protected_ = st == RSET_OK;
    return st;
}

/* Data is complete; redundancy is not, or void. */
static rset_status
mend_redundancy(muster *m, int found)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st;

    if ((found & RSET_FOUND_STALE) != 0) {
        snprintf(m->out->note, sizeof m->out->note,
                 "%s*: changed after it was last protected, and never protected again (a job died "
                 "before it closed the file); opened as it is",
                 m->args->local->prefix);
        return RSET_OK;
    }
    st = rset_agree(m->args->world, rset_repair_plan(&m->rep, false, &why), m->args->host, &why);
    if (st == RSET_OK)
        return write_and_publish(m);
    if (st != RSET_LOST)
        return rset_fail(m->err, st, "%s", why.text);
    m->out->reprotect = true;
    snprintf(m->out->note, sizeof m->out->note,
             "%s*: all files are there, but too many redundancy files are lost to repair them; the "
             "files are not protected until they are next written and closed",
             m->args->local->prefix);
    return RSET_OK;
}

static rset_status
repair(muster *m)
{
    int         found = 0;
    rset_status st = look(m, m->args->content);

    if (st == RSET_OK)
        st = found_anywhere(m, &found);
    if (st == RSET_OK && !m->args->content && (found & RSET_FOUND_DAMAGE) != 0) {
        st = look(m, true); /* whatever enters a rebuild is verified (P2) */
        if (st == RSET_OK)
            st = found_anywhere(m, &found);
    }
    if (st != RSET_OK)
        return st;
    if ((found & RSET_FOUND_DAMAGE) == 0)
        return mend_redundancy(m, found);
    st = rset_agree(m->args->world, rset_repair_plan(&m->rep, true, m->err), m->args->host, m->err);
    if (st == RSET_OK)
        st = write_and_publish(m);
    if (st == RSET_OK)
        snprintf(m->out->note, sizeof m->out->note, "%s*: lost or damaged files were brought back%s",
                 m->args->local->prefix,
                 (found & RSET_FOUND_STALE) != 0
                     ? "; files that a dead job had begun to change were taken back to the same state"
                     : "");
    return st;
}

/* Nobody has a redundancy file left, or never had. */
static rset_status
without_headers(muster *m, tally t)
{
    if (t.any == 0)
        return rset_fail(m->err, RSET_ABSENT, "%s*: not protected", m->args->local->prefix);
    if (t.missing > 0)
        return rset_fail(m->err, RSET_LOST,
                         "%s*: %d of %d files are missing, and no rank has a redundancy file left",
                         m->args->local->prefix, t.missing, m->args->world->size);
    m->out->reprotect = true;
    snprintf(m->out->note, sizeof m->out->note,
             "%s*: the files are there, but no rank has a redundancy file left; they are not "
             "protected until they are next written and closed",
             m->args->local->prefix);
    return RSET_OK;
}

static rset_status
bring_back(muster *m)
{
    rset_status st = gather_cards(m);
    tally       t;

    if (st != RSET_OK)
        return st;
    choose_generation(m);
    if (commit_unfinished(m)) {
        st = rset_agree(m->args->world, roll_forward(m), m->args->host, m->err);
        free(m->cards);
        m->cards = NULL;
        if (st == RSET_OK)
            st = gather_cards(m);
        if (st != RSET_OK)
            return st;
    }
    t = count(m);
    if (t.has == 0)
        return without_headers(m, t);
    if (t.has == m->args->world->size && t.missing + t.damaged + t.stale == 0) {
        m->out->protected_ = true;
        return RSET_OK;
    }
    st = gather_records(m);
    if (st == RSET_OK)
        st = assign_places(m); /* the same answer on all ranks, as the cards are */
    if (st == RSET_OK)
        st = rset_agree(m->args->world, form_set(m), m->args->host, m->err);
    return st == RSET_OK ? repair(m) : st;
}

rset_status
rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err)
{
    muster      m = { .args = args, .err = err, .out = out };
    rset_status st;

    *out = (rset_outcome){ 0 };
    st = bring_back(&m);
    rset_repair_end(&m.rep);
    if (m.has_set)
        rset_comm_free(&m.set);
    free(m.cards);
    free(m.places);
    return st;
}
