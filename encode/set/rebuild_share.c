/* rebuild_share.c: the members of a set tell each other how their files are, and what is recorded of them, in one gather. See
 * rebuild_internal.h. */
#include "rebuild_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members tell each other. */
enum {
    WANT_DATA = 8, /* beside what is missing of records (coverage.h) */
    WANT_PAYLOAD = 16
};

/* One member's health on the wire: flags, numbers of ranges, where its files were, then the ranges. */
typedef struct wire_health {
    uint64_t    flags, ndata, npayload;
    uint64_t    length; /* of its logical file; UINT64_MAX: nobody has its info */
    int64_t     rank;   /* in the job, by its info */
    int64_t     unread; /* as of its health */
    rset_access access; /* who may use its data files */
    char        was[RSET_HOST_NAME];
} wire_health;

static rset_status
unpack_health(const uint8_t *at, size_t len, rset_repair *rep, int m, rset_err *err)
{
    rset_health *h = &rep->health[m];
    wire_health  f;
    rset_range   r;
    bool         ok = len >= sizeof f;

    if (ok) {
        memcpy(&f, at, sizeof f);
        ok = f.ndata <= len && f.npayload <= len && f.unread >= 0 && f.unread <= RSET_ERRNO_MAX &&
             len == sizeof f + (size_t)(f.ndata + f.npayload) * sizeof r;
    }
    if (!ok)
        return rset_fail(err, RSET_PEER, "a member sent a list of damage that is not valid");
    f.was[sizeof f.was - 1] = '\0';
    rep->length[m] = f.length;
    rep->access = m == 0 ? f.access : rset_access_both(rep->access, f.access);
    if (rep->header.group != NULL)
        rep->header.group[m] = (int)f.rank;
    memcpy(rep->was[m], f.was, sizeof f.was);
    rep->flags |= (unsigned)f.flags;
    h->want_data = (f.flags & WANT_DATA) != 0;
    h->want_payload = (f.flags & WANT_PAYLOAD) != 0;
    h->unread = (int)f.unread;
    at += sizeof f;
    for (uint64_t i = 0; i < f.ndata + f.npayload; i++, at += sizeof r) {
        rset_ranges *list = i < f.ndata ? &h->data : &h->payload;

        memcpy(&r, at, sizeof r);
        if (list->n > 0 && r.from < list->at[list->n - 1].to)
            return rset_fail(err, RSET_PEER, "a member sent a list of damage that is not valid");
        if (!rset_ranges_add(list, r.from, r.to))
            return rset_fail(err, RSET_NOMEM, "no memory for a list of damage");
    }
    return RSET_OK;
}

static wire_health
own_health(const rset_repair *rep)
{
    const rset_health *mine = &rep->health[rep->set->rank];
    const rset_info   *info = rep->header.infos;
    wire_health        f = {.flags = rep->flags | (mine->want_data ? WANT_DATA : 0) |
                                     (mine->want_payload ? WANT_PAYLOAD : 0),
                            .ndata = mine->data.n,
                            .npayload = mine->payload.n,
                            .length = UINT64_MAX,
                            .unread = mine->unread};

    if (info == NULL)
        return f;
    if (info->desc.scheme != NULL)
        f.length = rset_info_length(info);
    f.access = rset_local_access_of(rep->local, info);
    f.rank = info->desc.rank;
    if (info->host != NULL && f.ndata + f.npayload > 0)
        snprintf(f.was, sizeof f.was, "%s", info->host);
    return f;
}

/* With the ranges behind it: *len_out bytes, freed by the caller. NULL: no memory. */
static uint8_t *
pack_health(const rset_health *mine, const wire_health *f, size_t *len_out)
{
    const size_t data = mine->data.n * sizeof(rset_range);
    const size_t payload = mine->payload.n * sizeof(rset_range);
    uint8_t     *buf = malloc(sizeof *f + data + payload);

    *len_out = sizeof *f + data + payload;
    if (buf == NULL)
        return NULL;
    memcpy(buf, f, sizeof *f);
    if (data > 0)
        memcpy(buf + sizeof *f, mine->data.at, data);
    if (payload > 0)
        memcpy(buf + sizeof *f + data, mine->payload.at, payload);
    return buf;
}

rset_status
rset_repair_share(rset_repair *rep, rset_status own, rset_err *err)
{
    const wire_health f = own_health(rep);
    size_t            len = 0;
    uint8_t          *buf = pack_health(&rep->health[rep->set->rank], &f, &len);
    rset_gathered     all = {0};
    rset_status       st = own;

    if (buf == NULL && st == RSET_OK)
        st = rset_fail(err, RSET_NOMEM, "no memory for a list of damage");
    st = rset_gather_all(rep->set, st, rep->host, &(rset_share){buf, len, (size_t)1 << 30}, &all,
                         err);
    for (int m = 0; st == RSET_OK && m < rep->set->size; m++) {
        rset_health_free(&rep->health[m]);
        rep->health[m] = (rset_health){0};
        st = unpack_health(all.bytes + all.offs[m], all.offs[m + 1] - all.offs[m], rep, m, err);
    }
    free(buf);
    rset_gathered_free(&all);
    return st;
}
