/* soak_model.c: see soak_model.h. */
#include "soak_model.h"

#include "common/bytes.h"
#include "member/journal.h"
#include "survival.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCK = 65536 }; /* of checksums, for files of these sizes (FORMAT.md 14) */

typedef struct journal_seen {
    bool begun;    /* there is one, and it is not rotten */
    bool has_head; /* and it was begun so far */
    bool closed;   /* what was changed was closed */
    uint64_t
        generation; /* 0: of a file that is written for the first time, or it has no head yet */
    uint64_t size;  /* of the data file then */
} journal_seen;

/* What one rank's directory holds. */
typedef struct holding {
    const image_file  *data, *redundancy, *waiting, *beside, *aside, *journal;
    const soak_commit *head; /* commit that the newest good redundancy file belongs to */
    const soak_commit *next; /* of one not yet published */
    bool               is_void, sign;
    journal_seen       seen; /* of the journal */
    /* There is no redundancy file, but a journal. */
    bool     first;  /* what lies there was written for the first time */
    bool     astray; /* or was being changed, when the job died */
    uint64_t since;  /* it was changed since that generation; 0: not */
} holding;

typedef enum { DAMAGE = 1, STALE = 2, CUT = 4, BESIDE = 8, APART = 16 } flaw;

/* ---- reading ---- */

static const soak_commit *
commit_of(const soak_world *w, int r, const image_file *f)
{
    for (int i = 0; f != NULL && i < w->ncommits; i++) {
        const soak_commit *c = &w->commits[i];

        if (f->size >= c->head[r] && memcmp(f->data, c->redundancy[r].at, c->head[r]) == 0)
            return c;
    }
    return NULL;
}

static bool
newer(const soak_commit *a, const soak_commit *b)
{
    return a != NULL && (b == NULL || rset_generation_newer(a->generation, b->generation));
}

/* Of two files of one generation that which the directory lists first is taken; it is as good. */
static bool
listed_first(const soak_world *w, int r, const char *name)
{
    DIR           *d = opendir(w->job.ranks[r].dir);
    struct dirent *e;
    bool           first = false;
    size_t         n = strlen(name);

    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, name, n) == 0 &&
            (e->d_name[n] == '\0' || strcmp(e->d_name + n, RSET_SUFFIX_VOID) == 0)) {
            first = e->d_name[n] == '\0';
            break;
        }
    closedir(d);
    return first;
}

/* One entry (journal.h) of a journal of that generation; false: none is there that fits. `at` moves behind it. */
static bool
next_entry(const image_file *f, uint64_t generation, uint64_t size, uint64_t *at, uint64_t *off,
           uint64_t *len, bool *closed_out)
{
    if (f->size - *at < RSET_OVERLAY_ENTRY)
        return false;
    *off = rset_get64(f->data + *at);
    *len = rset_get64(f->data + *at + 8);
    if (rset_get64(f->data + *at + 16) != rset_overlay_entry_crc(*off, *len, generation))
        return false;
    *at += RSET_OVERLAY_ENTRY;
    *closed_out = *off == RSET_OVERLAY_END;
    if (*len == 0 || *off >= size || *len > size - *off || *len > f->size - *at)
        return false;
    *at += *len;
    return true;
}

static journal_seen
see_journal(const image_file *f)
{
    static const uint8_t none[RSET_OVERLAY_HEAD];
    journal_seen         seen = {0};
    uint64_t             at = RSET_OVERLAY_HEAD, off, len;

    if (f == NULL)
        return seen;
    if (f->size < sizeof none || memcmp(f->data, none, sizeof none) == 0)
        return (journal_seen){.begun = true};
    seen.has_head = seen.begun = memcmp(f->data, RSET_JOURNAL_MAGIC, 8) == 0 &&
                                 rset_get64(f->data + 24) == rset_crc64(0, f->data, 24);
    seen.generation = rset_get64(f->data + 8);
    seen.size = rset_get64(f->data + 16);
    while (seen.begun && next_entry(f, seen.generation, seen.size, &at, &off, &len, &seen.closed))
        continue;
    return seen;
}

/* What the descriptor file or the mark of the data says is newer than what the journal leads back to. */
static bool
protected_since(const soak_world *w, const image *img, const holding *h, int r, uint64_t generation)
{
    const image_file *desc = image_find(img, soak_descriptor(w, r));

    if (h->data != NULL && h->data->has_mark &&
        rset_generation_newer(rset_get64(h->data->mark), generation))
        return true;
    for (int i = 0; desc != NULL && i < w->ncommits; i++) {
        const soak_bytes *d = &w->commits[i].descriptor[r];

        if (desc->size == d->n && memcmp(desc->data, d->at, d->n) == 0)
            return rset_generation_newer(w->commits[i].generation, generation);
    }
    return false;
}

static void
hold_without_head(const soak_world *w, const image *img, int r, holding *h)
{
    const uint64_t from = h->seen.generation;
    const bool     counts = h->seen.begun && (from == 0 || !protected_since(w, img, h, r, from));

    h->first = counts && from == 0;
    h->astray = counts && !h->seen.closed;
    h->since = counts ? from : 0;
}

static holding
hold(const soak_world *w, const image *img, int r)
{
    const char        *name = path_of("%s", soak_redundancy(w, r));
    const image_file  *plain = image_find(img, name);
    const image_file  *marked = image_find(img, path_of("%s" RSET_SUFFIX_VOID, name));
    const soak_commit *a = commit_of(w, r, plain), *b = commit_of(w, r, marked);
    holding            h = {.data = image_find(img, soak_data(w, r)),
                            .waiting = image_find(img, path_of("%s" RSET_SUFFIX_NEW, name)),
                            .beside = image_find(img, soak_beside(w, r, RSET_NAME_BESIDE)),
                            .aside = image_find(img, soak_beside(w, r, RSET_NAME_OLD)),
                            .journal = image_find(img, soak_beside(w, r, RSET_NAME_JOURNAL))};

    h.is_void = newer(b, a) || (b != NULL && b == a && !listed_first(w, r, strchr(name, '/') + 1));
    h.head = h.is_void ? b : a;
    h.redundancy = h.is_void ? marked : plain;
    h.next = commit_of(w, r, h.waiting);
    h.sign = plain != NULL || marked != NULL || h.aside != NULL || h.journal != NULL ||
             image_find(img, soak_descriptor(w, r)) != NULL || (h.data != NULL && h.data->has_mark);
    h.seen = see_journal(h.journal);
    if (h.head == NULL)
        hold_without_head(w, img, r, &h);
    return h;
}

static bool
holds(const image_file *f, const soak_bytes *b)
{
    return f != NULL && f->size == b->n && memcmp(f->data, b->at, b->n) == 0;
}

/* ---- which commit counts ---- */

static const soak_commit *
choose(const soak_world *w, const holding *h)
{
    const soak_commit *best = NULL;
    int                most = 0;

    for (int i = 0; i < w->ncommits; i++) {
        const soak_commit *c = &w->commits[i];
        int                published = 0, waiting = 0;

        for (int r = 0; r < w->job.n; r++) {
            published += h[r].head == c;
            waiting += h[r].head != c && h[r].next == c;
        }
        if (published > 0 &&
            (published + waiting > most || (published + waiting == most && newer(c, best)))) {
            most = published + waiting;
            best = c;
        }
    }
    return best;
}

/* One rank has published it: then all had agreed, and the others' share is done now. */
static bool
go_forward(const soak_commit *c, holding *h, int r)
{
    bool forward = h->head != c && h->next == c;

    if (forward) {
        h->head = c;
        h->is_void = h->first = h->astray = false;
        h->since = 0;
        h->redundancy = h->waiting;
    }
    if (h->head == c && !h->is_void && !holds(h->data, &c->data[r]) &&
        holds(h->beside, &c->data[r])) {
        h->data = h->beside;
        forward = true;
    }
    if (forward) {
        h->journal = NULL;
        h->seen = (journal_seen){0};
    }
    return forward;
}

/* ---- what is bad ---- */

/* What can be read from the beginning is `have`: blocks that differ are bad, or reach beyond it. */
static void
spoil_differences(survival_bad *bad, const uint8_t *have, size_t n, const soak_bytes *want)
{
    for (size_t from = 0; from < want->n; from += BLOCK) {
        size_t to = want->n - from < BLOCK ? want->n : from + BLOCK;

        if (to > n || memcmp(have + from, want->at + from, to - from) != 0)
            survival_spoil(bad, from, to);
    }
}

static void
spoil_payload(survival_bad *bad, const image_file *f, const soak_commit *c, int r)
{
    const soak_bytes *want = &c->redundancy[r];

    if (f->size < want->n)
        survival_spoil(bad, 0, UINT64_MAX);
    else
        spoil_differences(bad, f->data + c->head[r], f->size - c->head[r],
                          &(soak_bytes){want->at + c->head[r], want->n - c->head[r]});
}

typedef struct way_back {
    bool     there, closed;
    uint8_t *content; /* as much of it as can be read from the beginning */
    size_t   n;
} way_back;

/* Takes the entries into content; false: two of them overlap. */
static bool
take_entries(way_back *way, const holding *h, bool *kept)
{
    uint64_t at = RSET_OVERLAY_HEAD, off, len;

    while (next_entry(h->journal, h->seen.generation, h->seen.size, &at, &off, &len, &way->closed))
        for (uint64_t i = 0; i < len; i++) {
            if (kept[off + i])
                return false;
            kept[off + i] = true;
            way->content[off + i] = h->journal->data[at - len + i];
        }
    return true;
}

static bool /* back to the commit */
leads_to(const holding *h, const soak_commit *c, int r)
{
    return h->seen.has_head && h->seen.generation == c->generation && h->seen.size == c->data[r].n;
}

/* The old content: what the journal has, over the old file or, when that was not put aside, the file. */
static way_back
find_way_back(const holding *h, const soak_commit *c, int r)
{
    way_back          way = {0};
    size_t            size = c->data[r].n;
    const image_file *base = h->aside != NULL ? h->aside : h->data;
    bool             *kept = calloc(size + 1, sizeof *kept);

    way.content = calloc(size + 1, 1);
    assert_non_null(kept);
    assert_non_null(way.content);
    way.there = leads_to(h, c, r) && take_entries(&way, h, kept);
    for (bool more = way.there; more && way.n < size; way.n += more) {
        more = kept[way.n] || (base != NULL && way.n < base->size);
        if (more && !kept[way.n])
            way.content[way.n] = base->data[way.n];
    }
    free(kept);
    return way;
}

/* Does the journal say that a program died over the file that has a redundancy file? */
static bool
is_open(const holding *h, const way_back *way, const soak_commit *c, int r)
{
    if (h->head != c || !h->is_void || h->journal == NULL)
        return false;
    return way->there ? !way->closed
                      : leads_to(h, c, r) || h->seen.generation == 0 || !h->seen.has_head ||
                            !h->seen.closed;
}

/* Or that one was about to change it? */
static bool
is_begun(const holding *h, const soak_commit *c, int r)
{
    return h->head == c && !h->is_void && leads_to(h, c, r) && !h->seen.closed;
}

/* The data of a rank against what the commit held; all that is bad goes into `bad`. */
static int
judge_data(const holding *h, const soak_commit *c, int r, survival_bad *bad)
{
    bool     changed = h->first || h->since == c->generation;
    bool     is_void = (h->head == c && h->is_void) || changed;
    way_back way = is_void && !changed ? find_way_back(h, c, r) : (way_back){0};
    bool     open = changed ? h->astray : is_open(h, &way, c, r);
    int      flaws =
        (h->beside != NULL ? BESIDE : 0) | (open ? CUT : 0) | (is_begun(h, c, r) ? APART : 0);

    if (holds(h->data, &c->data[r])) {
        free(way.content);
        return flaws;
    }
    flaws |= is_void && h->data != NULL ? STALE : DAMAGE;
    if (way.there) {
        spoil_differences(bad, way.content, way.n, &c->data[r]);
    } else if (h->data == NULL || h->data->size != c->data[r].n) {
        survival_spoil(bad, 0, UINT64_MAX);
    } else {
        spoil_differences(bad, h->data->data, h->data->size, &c->data[r]);
    }
    free(way.content);
    return flaws;
}

/* ---- one set ---- */

static survival_plan
plan_of(const rset_scheme *scheme)
{
    return scheme == &rset_scheme_single    ? PLAN_SINGLE
           : scheme == &rset_scheme_partner ? PLAN_PARTNER
           : scheme == &rset_scheme_xor     ? PLAN_XOR
                                            : PLAN_RS;
}

/* Is there anyone left who knows what the file of rank r should be: itself, or a right neighbour? */
static bool
is_known(const soak_world *w, const holding *h, const soak_commit *c, int r)
{
    const job_rank *k = &w->job.ranks[r];
    int             red = k->desc.scheme == &rset_scheme_single ? 0 : k->desc.parity;

    for (int d = 0; d <= red; d++)
        if (h[k->members[(k->desc.member + d) % k->desc.members]].head == c)
            return true;
    return false;
}

/* A file of which nothing is known stays, unless something says that it is of another commit. */
static bool
may_stay(const holding *h, const soak_commit *c)
{
    return h->data != NULL && (h->data->size > 0 || h->beside == NULL) && h->head == NULL &&
           !h->astray && (!h->data->has_mark || rset_get64(h->data->mark) == c->generation);
}

static survival
judge_set(const soak_world *w, const holding *h, soak_expectation *e, int first, int *flaws)
{
    const soak_commit *c = e->commit;
    const job_rank    *lead = &w->job.ranks[first];
    survival_set       set = {
              .plan = plan_of(lead->desc.scheme), .n = lead->desc.members, .k = lead->desc.parity};

    for (int m = 0; m < set.n; m++) {
        int            r = lead->members[m];
        survival_rank *rank = &set.ranks[m];

        rank->length = c->data[r].n;
        rank->head_lost = h[r].head != c;
        e->unverified[r] = !is_known(w, h, c, r);
        if (e->unverified[r] && h[r].beside != NULL)
            *flaws |= BESIDE;
        if (e->unverified[r] && (h[r].first || h[r].since == c->generation))
            *flaws |= STALE;
        if (!e->unverified[r]) {
            *flaws |= judge_data(&h[r], c, r, &rank->data);
        } else if (!may_stay(&h[r], c)) {
            *flaws |= DAMAGE;
            survival_spoil(&rank->data, 0, UINT64_MAX);
        }
        if (!rank->head_lost)
            spoil_payload(&rank->payload, h[r].redundancy, c, r);
    }
    return survival_of(&set);
}

/* ---- the verdict ---- */

static void
without_commit(const soak_world *w, const holding *h, soak_expectation *e)
{
    const image_file *marked = NULL;
    int               signs = 0, missing = 0, mixed = 0, cut = 0;

    for (int r = 0; r < w->job.n; r++) {
        const image_file *f = h[r].data;

        signs += h[r].sign;
        missing += f == NULL;
        cut += h[r].astray;
        e->unverified[r] = true;
        if (f == NULL || !f->has_mark)
            continue;
        mixed += marked != NULL && memcmp(marked->mark, f->mark, sizeof f->mark) != 0;
        marked = f;
    }
    e->verdict = signs == 0 ? SOAK_UNKNOWN : missing + mixed + cut > 0 ? SOAK_REFUSED : SOAK_AS_IS;
    snprintf(e->why, sizeof e->why,
             "no redundancy file left, %d files missing, %d of another mark, %d half changed",
             missing, mixed, cut);
}

static void
with_commit(const soak_world *w, const holding *h, soak_expectation *e)
{
    survival worst = SURVIVES_WHOLE;
    int      flaws = 0;
    bool     unknown = false;

    for (int r = 0; r < w->job.n; r++)
        if (w->job.ranks[r].desc.member == 0) {
            survival s = judge_set(w, h, e, r, &flaws);

            worst = s > worst ? s : worst;
        }
    for (int r = 0; r < w->job.n; r++)
        unknown = unknown || e->unverified[r];
    if ((flaws & STALE) != 0 && (flaws & APART) != 0)
        flaws |= CUT;
    flaws &= ~APART;
    if (flaws == STALE) /* what was changed was closed, and nothing is missing */
        e->verdict = SOAK_AS_IS;
    else if (worst != SURVIVES_NOT) /* never one file as it is among others that are taken back */
        e->verdict = unknown && (flaws & (STALE | CUT)) != 0 ? SOAK_REFUSED : SOAK_BACK;
    else /* also where nothing is missing but the way back from what is half changed */
        e->verdict = SOAK_REFUSED;
    e->protected_ = e->verdict == SOAK_BACK && worst == SURVIVES_WHOLE;
    snprintf(e->why, sizeof e->why, "generation %llx%s%s%s%s%s",
             (unsigned long long)e->commit->generation >> 40, e->forward ? ", finished" : "",
             (flaws & DAMAGE) != 0 ? ", damage" : "", (flaws & STALE) != 0 ? ", stale" : "",
             (flaws & CUT) != 0 ? ", cut" : "",
             worst == SURVIVES_NOT    ? ", too much lost"
             : worst == SURVIVES_DATA ? ", redundancy too much lost"
                                      : "");
}

soak_expectation
soak_expect(const soak_world *w, const image *img)
{
    holding          h[SOAK_RANKS];
    soak_expectation e = {0};

    for (int r = 0; r < w->job.n; r++)
        h[r] = hold(w, img, r);
    e.commit = choose(w, h);
    for (int r = 0; e.commit != NULL && r < w->job.n; r++)
        e.forward = go_forward(e.commit, &h[r], r) || e.forward;
    if (e.commit != NULL)
        with_commit(w, h, &e);
    else
        without_commit(w, h, &e);
    for (int r = 0; r < w->job.n; r++) {
        const image_file *f =
            e.verdict == SOAK_REFUSED ? image_find(img, soak_data(w, r)) : h[r].data;

        if (e.verdict == SOAK_BACK && !e.unverified[r])
            e.content[r] = e.commit->data[r];
        else if (f != NULL)
            e.content[r] = (soak_bytes){f->data, f->size};
    }
    return e;
}
