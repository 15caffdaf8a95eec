/* scavenge_share.c: what each process has done, on all of them. See scavenge.h. */
#include "common/parts.h"
#include "exits.h"
#include "scavenge.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* As it is sent: the files are in the same order everywhere. */
typedef struct sent {
    uint64_t index;
    outcome  out;
} sent;

static const size_t bools[] = {offsetof(outcome, verified), offsetof(outcome, broken)};

static size_t
collect(const scavenge *s, sent *to)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].by == s->j->rank && s->items[i].done)
            to[n++] = (sent){i, s->items[i].out};
    return n;
}

/* What comes from another process, of a file that is process r's, is checked (HR3). */
static bool
take(scavenge *s, const uint8_t *bytes, int r)
{
    sent one;

    memcpy(&one, bytes, sizeof one);
    if (!rset_are_bools(&one.out, bools, sizeof bools / sizeof *bools) || one.index >= s->n ||
        s->items[one.index].by != r || (unsigned)one.out.how >= HOW_COUNT ||
        (unsigned)one.out.status > EXITS_ERROR || one.out.from < -1 ||
        one.out.from >= (int64_t)s->c->sightings->n || one.out.why[WHY_MAX - 1] != '\0')
        return false;
    s->items[one.index].done = true;
    s->items[one.index].out = one.out;
    return true;
}

rset_status
scavenge_share(scavenge *s, rset_err *err)
{
    rset_gathered all = {0};
    sent         *mine;
    rset_status   st;

    if (s->j->comm == NULL)
        return RSET_OK;
    mine = must_alloc((s->n + 1) * sizeof *mine);
    st = rset_gather_all(s->j->comm, RSET_OK, s->j->host,
                         &(rset_share){mine, collect(s, mine) * sizeof *mine, (size_t)1 << 32},
                         &all, err);
    for (int r = 0; st == RSET_OK && r < s->j->size; r++)
        for (size_t at = all.offs[r]; st == RSET_OK && at < all.offs[r + 1]; at += sizeof(sent))
            if (all.offs[r + 1] - at < sizeof(sent) || !take(s, all.bytes + at, r))
                st = rset_fail(err, RSET_PEER, "process %d sent outcomes that are not valid", r);
    rset_gathered_free(&all);
    free(mine);
    return st;
}
