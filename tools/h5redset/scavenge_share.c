/* scavenge_share.c: what each process has done, on all of them. See scavenge.h. */
#include "scavenge.h"

#include <stdlib.h>
#include <string.h>

/* As it is sent: the files are in the same order everywhere. */
typedef struct sent {
    uint64_t index;
    outcome  out;
} sent;

static size_t
collect(const scavenge *s, sent *to)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].mine && s->items[i].done) {
            memset(&to[n], 0, sizeof to[n]);
            to[n].index = i;
            to[n++].out = s->items[i].out;
        }
    return n;
}

/* What comes from another process is checked (HR3). */
static bool
take(scavenge *s, const uint8_t *bytes, size_t len)
{
    if (len % sizeof(sent) != 0)
        return false;
    for (size_t at = 0; at < len; at += sizeof(sent)) {
        sent one;

        memcpy(&one, bytes + at, sizeof one);
        if (one.index >= s->n || (unsigned)one.out.how >= HOW_COUNT || one.out.status < 0 ||
            one.out.status > 2 || one.out.from < -1 ||
            one.out.from >= (int64_t)s->c->sightings->n || one.out.why[WHY_MAX - 1] != '\0')
            return false;
        s->items[one.index].out = one.out;
        s->items[one.index].done = true;
    }
    return true;
}

rset_status
scavenge_share(scavenge *s, rset_err *err)
{
    rset_gathered all = {0};
    sent         *mine;
    size_t        n;
    rset_status   st;

    if (s->j->comm == NULL)
        return RSET_OK;
    mine = must_alloc((s->n + 1) * sizeof *mine);
    n = collect(s, mine);
    st = rset_gather_all(s->j->comm, mine, n * sizeof *mine, (size_t)1 << 32, &all, err);
    for (int r = 0; st == RSET_OK && r < s->j->size; r++)
        if (!take(s, all.bytes + all.offs[r], all.offs[r + 1] - all.offs[r]))
            st = rset_fail(err, RSET_PEER, "process %d sent outcomes that are not valid", r);
    rset_gathered_free(&all);
    free(mine);
    return st;
}
