/* parts.c: kinds of files that some ranks have none of: which ranks have said so, and the rendezvous of those that remain, a
 * part of the ranks. See rendezvous_internal.h.
 *
 * A part has rounds, a tree and known kinds of its own, and its messages say which part they are of. Nobody agrees on parts:
 * each rank goes by what it has heard so far, and who hears more while it waits goes on to a smaller part. In one that holds a
 * rank that has none, nothing can happen meanwhile: GO needs all of it. */
#include "rendezvous_internal.h"

#include "common/crc64.h"
#include "common/pattern.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which ranks have no files whose names match. */
struct rset_lack {
    struct rset_lack *next;
    char              pattern[RSET_NOTE_TEXT];
    bool              by[]; /* per rank */
};

/* A message of a part that this rank has not come to yet. */
struct rset_held {
    struct rset_held *next;
    int               from;
    rset_note         note;
};

/* As many are kept of each rank, on average: one that waits sends a few in a round. */
enum { HELD_MOST = 8 };

/* ---- who has none ---- */

static struct rset_lack *
get_lack(rset_rendezvous *whole, const char *pattern)
{
    struct rset_lack *l = whole->lacks;

    while (l != NULL && strcmp(l->pattern, pattern) != 0)
        l = l->next;
    if (l != NULL || (l = calloc(1, sizeof *l + (size_t)whole->size * sizeof *l->by)) == NULL)
        return l;
    snprintf(l->pattern, sizeof l->pattern, "%s", pattern);
    l->next = whole->lacks;
    whole->lacks = l;
    return l;
}

/* It took GO of the round that this rank waits in: that GO is on its way to this rank, too. */
static bool
has_gone_with_us(const rset_rendezvous *at, const rset_note *n)
{
    return n->seq == at->part && n->round == at->round;
}

bool
rset_parts_take_lack(rset_rendezvous *whole, int from, const rset_note *n)
{
    struct rset_lack      *l = get_lack(whole, n->text);
    const rset_rendezvous *at = whole->at;

    assert(whole->whole == whole); /* Z6 */
    if (l == NULL)
        return false;
    l->by[from] = true;
    if (at != NULL && whole->path != NULL && rset_parts_rank(at, from) >= 0 &&
        rset_pattern_matches(n->text, whole->path) && !has_gone_with_us(at, n))
        whole->elsewhere = true;
    return true;
}

/* Into by[size]; false: all ranks have such files. */
static bool
who_lacks(const rset_rendezvous *whole, const char *path, bool *by)
{
    bool any = false;

    for (const struct rset_lack *l = whole->lacks; l != NULL; l = l->next) {
        if (!rset_pattern_matches(l->pattern, path))
            continue;
        any = true;
        for (int r = 0; r < whole->size; r++)
            by[r] = by[r] || l->by[r];
    }
    return any;
}

/* ---- the parts ---- */

rset_rendezvous *
rset_parts_find(rset_rendezvous *whole, uint64_t part)
{
    rset_rendezvous *m = whole;

    while (m != NULL && m->part != part)
        m = m->next;
    return m;
}

rset_rendezvous *
rset_parts_of_kind(rset_rendezvous *whole, const char *text)
{
    const rset_known_kind *k = rset_kinds_find(whole->kinds, text);

    return k != NULL && k->part != 0 ? rset_parts_find(whole, k->part) : whole;
}

int
rset_parts_rank(const rset_rendezvous *m, int rank)
{
    const int world = rset_comm_world(m->whole->comm, rank);
    int       low = 0, high = m->comm->size - 1;

    while (low <= high) {
        const int middle = low + (high - low) / 2, there = rset_comm_world(m->comm, middle);

        if (there == world)
            return middle;
        if (there < world)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static void
free_part(rset_rendezvous *m)
{
    rset_outbox_close(&m->outbox);
    rset_kinds_free(m->kinds);
    rset_comm_free(m->comm);
    free(m->comm);
    free(m->children);
    free(m->guests);
    free(m->gone);
    free(m);
}

static rset_status
form_comm(rset_rendezvous *m, const bool *lacks, rset_err *err)
{
    int *ranks = malloc((size_t)m->whole->size * sizeof *ranks);

    if (ranks == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d ranks", m->whole->size);
    for (int r = 0; r < m->whole->size; r++)
        if (!lacks[r])
            ranks[m->size++] = r;
    const rset_status st = rset_comm_subset(m->whole->comm, ranks, m->size, m->comm, err);

    free(ranks);
    return st;
}

static rset_status
set_up(rset_rendezvous *m, const bool *lacks, rset_err *err)
{
    rset_status st = form_comm(m, lacks, err);

    if (st == RSET_OK)
        st = rset_outbox_open(&m->outbox, m->comm, err);
    m->outbox.part = m->part;
    return st == RSET_OK ? rset_combine_open(m, err) : st;
}

static rset_rendezvous *
new_part(rset_rendezvous *whole, uint64_t part, const bool *lacks, rset_err *err)
{
    rset_rendezvous *m = calloc(1, sizeof *m);
    rset_comm       *comm = calloc(1, sizeof *comm);

    if (m == NULL || comm == NULL) {
        free(m);
        free(comm);
        (void)rset_fail(err, RSET_NOMEM, "no memory for a rendezvous of %d ranks", whole->size);
        return NULL;
    }
    m->whole = whole;
    m->part = part;
    m->comm = comm;
    m->job = whole->job;
    memcpy(m->host, whole->host, sizeof m->host);
    if (set_up(m, lacks, err) != RSET_OK) {
        free_part(m);
        return NULL;
    }
    m->next = whole->next;
    whole->next = m;
    return m;
}

/* From now on files of this kind are those of that part: steps are counted on. */
static rset_status
settle_kind(rset_rendezvous *m, const char *text, rset_err *err)
{
    rset_known_kind       *k = rset_kinds_get(&m->whole->kinds, text);
    rset_known_kind       *own = rset_kinds_get(&m->kinds, text);
    const rset_known_kind *before =
        rset_kinds_find(rset_parts_of_kind(m->whole, text)->kinds, text);

    if (k == NULL || own == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a kind of file");
    if (k->part != m->part && before != NULL)
        own->epoch = before->epoch;
    k->part = m->part;
    return RSET_OK;
}

static rset_status
choose(rset_rendezvous *whole, const rset_proposal *p, const bool *lacks, rset_rendezvous **out,
       rset_err *err)
{
    uint64_t         part = rset_crc64(0, lacks, (size_t)whole->size * sizeof *lacks);
    rset_rendezvous *m;

    if (lacks[whole->comm->rank])
        return rset_fail(err, RSET_PEER,
                         "this rank has said with H5FDredset_skip that it has no such files");
    part += part == 0;
    m = rset_parts_find(whole, part);
    if (m == NULL)
        m = new_part(whole, part, lacks, err);
    if (m == NULL)
        return err->status;
    m->comm->timeout = whole->comm->timeout;
    *out = m;
    return settle_kind(m, p->kind.text, err);
}

rset_status
rset_parts_choose(rset_rendezvous *whole, const rset_proposal *p, rset_rendezvous **out,
                  rset_err *err)
{
    rset_status st = RSET_OK;
    bool       *lacks;

    *out = whole;
    if (p->path == NULL || whole->lacks == NULL)
        return RSET_OK;
    lacks = calloc((size_t)whole->size, sizeof *lacks);
    if (lacks == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d ranks", whole->size);
    if (who_lacks(whole, p->path, lacks))
        st = choose(whole, p, lacks, out, err);
    free(lacks);
    return st;
}

/* ---- messages of parts that are not there yet ---- */

void
rset_parts_hold(rset_rendezvous *whole, int from, const rset_note *n)
{
    struct rset_held **at = &whole->held, *h;
    int                held = 0;

    for (; *at != NULL; at = &(*at)->next)
        held++;
    if (held / HELD_MOST >= whole->size || (h = malloc(sizeof *h)) == NULL)
        return; /* as if it had been lost: its sender runs into its own timeout */
    *h = (struct rset_held){.from = from, .note = *n};
    *at = h;
}

bool
rset_parts_next_held(rset_rendezvous *whole, uint64_t part, int *from_out, rset_note *out)
{
    struct rset_held **at = &whole->held, *h;

    while (*at != NULL && (*at)->note.part != part)
        at = &(*at)->next;
    h = *at;
    if (h == NULL)
        return false;
    *from_out = h->from;
    *out = h->note;
    *at = h->next;
    free(h);
    return true;
}

/* ---- once more ---- */

rset_status
rset_parts_say_lack(rset_rendezvous *whole, const char *pattern, rset_err *err)
{
    rset_note   n = {.type = RSET_NOTE_LACK, .seq = whole->last_part, .round = whole->last_round};
    rset_status st = RSET_OK;

    snprintf(n.text, sizeof n.text, "%s", pattern);
    for (int r = 0; r < whole->size && st == RSET_OK; r++)
        if (r != whole->comm->rank)
            st = rset_outbox_post(&whole->outbox, r, &n, err);
    return st;
}

static void
drop_held(rset_rendezvous *whole)
{
    for (struct rset_held *h = whole->held, *next; h != NULL; h = next) {
        next = h->next;
        free(h);
    }
    whole->held = NULL;
}

void
rset_parts_renew(rset_rendezvous *whole)
{
    drop_held(whole);
    whole->last_part = whole->last_round = 0;
    for (const struct rset_lack *l = whole->lacks; l != NULL; l = l->next)
        if (l->by[whole->comm->rank])
            (void)rset_parts_say_lack(whole, l->pattern, NULL);
}

/* ---- the end ---- */

void
rset_parts_free(rset_rendezvous *whole)
{
    for (rset_rendezvous *m = whole->next, *next; m != NULL; m = next) {
        next = m->next;
        free_part(m);
    }
    for (struct rset_lack *l = whole->lacks, *next; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    drop_held(whole);
    whole->next = NULL;
    whole->lacks = NULL;
}
