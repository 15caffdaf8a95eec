/* scavenge_share.c: what each process has done, on all of them. See scavenge.h. */
#include "scavenge.h"

#include <stdlib.h>
#include <string.h>

/* As it is sent: the files are in the same order everywhere. */
typedef struct sent {
    uint64_t index, size, crc;
    int64_t  from;
    uint32_t how, status, verified, broken;
    char     why[WHY_MAX];
} sent;

static size_t
collect(const scavenge *s, sent *to)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const outcome *out = &s->items[i].out;

        if (s->items[i].by != s->j->rank || !s->items[i].done)
            continue;
        to[n] = (sent){.index = i,
                       .size = out->size,
                       .crc = out->crc,
                       .from = out->from,
                       .how = (uint32_t)out->how,
                       .status = (uint32_t)out->status,
                       .verified = out->verified,
                       .broken = out->broken};
        memcpy(to[n++].why, out->why, WHY_MAX);
    }
    return n;
}

/* Of a file that is process r's. */
static bool
is_valid(const scavenge *s, const sent *one, int r)
{
    return one->index < s->n && s->items[one->index].by == r && one->how < HOW_COUNT &&
           one->status <= 2 && one->from >= -1 && one->from < (int64_t)s->c->sightings->n &&
           one->why[WHY_MAX - 1] == '\0';
}

/* What comes from another process is checked (HR3). */
static bool
take(scavenge *s, const uint8_t *bytes, size_t len, int r)
{
    if (len % sizeof(sent) != 0)
        return false;
    for (size_t at = 0; at < len; at += sizeof(sent)) {
        sent  one;
        item *it;

        memcpy(&one, bytes + at, sizeof one);
        if (!is_valid(s, &one, r))
            return false;
        it = &s->items[one.index];
        it->done = true;
        it->out = (outcome){.how = (scavenge_how)one.how,
                            .status = (int)one.status,
                            .verified = one.verified != 0,
                            .broken = one.broken != 0,
                            .size = one.size,
                            .crc = one.crc,
                            .from = one.from};
        memcpy(it->out.why, one.why, WHY_MAX);
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
    st = rset_gather_all(s->j->comm, RSET_OK, s->j->host,
                         &(rset_share){mine, n * sizeof *mine, (size_t)1 << 32}, &all, err);
    for (int r = 0; st == RSET_OK && r < s->j->size; r++)
        if (!take(s, all.bytes + all.offs[r], all.offs[r + 1] - all.offs[r], r))
            st = rset_fail(err, RSET_PEER, "process %d sent outcomes that are not valid", r);
    rset_gathered_free(&all);
    free(mine);
    return st;
}
