/* exchange.c: see exchange.h. Each parcel travels as its length, then its container. */
#include "exchange.h"

#include "tree.h"

#include <stdlib.h>

typedef struct transit {
    uint64_t len;
    uint8_t *buf;
    rset_req head, body;
} transit;

static rset_status
start(rset_comm *set, const rset_parcel *p, transit *t, bool extra, rset_err *err)
{
    size_t      len = 0;
    rset_status st;

    if (p->send == NULL)
        return rset_comm_irecv(set, p->member, RSET_TAG_INFO, &t->len, sizeof t->len, &t->head,
                               err);
    st = rset_format_pack_info(p->send, extra, &t->buf, &len, err);
    t->len = len;
    if (st == RSET_OK)
        st = rset_comm_isend(set, p->member, RSET_TAG_INFO, &t->len, sizeof t->len, &t->head, err);
    if (st == RSET_OK)
        st = rset_comm_isend(set, p->member, RSET_TAG_INFO_BODY, t->buf, len, &t->body, err);
    return st;
}

static rset_status
receive(rset_comm *set, const rset_parcel *p, transit *t, rset_err *err)
{
    rset_err    bad = RSET_ERR_NONE;
    rset_status st = rset_comm_wait(set, &t->head, p->member, "send what it recorded", err);

    if (st != RSET_OK)
        return st;
    if (t->len > RSET_TREE_MAX_BYTES)
        return rset_fail(err, RSET_PEER, "member %d announces an info of %llu bytes", p->member,
                         (unsigned long long)t->len);
    t->buf = malloc((size_t)t->len + 1);
    if (t->buf == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for an info of %llu bytes",
                         (unsigned long long)t->len);
    st = rset_comm_irecv(set, p->member, RSET_TAG_INFO_BODY, t->buf, (size_t)t->len, &t->body, err);
    if (st == RSET_OK)
        st = rset_comm_wait(set, &t->body, p->member, "send what it recorded", err);
    if (st != RSET_OK)
        return st;
    st = rset_format_unpack_info(t->buf, (size_t)t->len, "info from a peer", p->into, &bad);
    return st == RSET_OK
               ? st
               : rset_fail(err, st == RSET_NOMEM ? st : RSET_PEER,
                           "member %d sent an info that is not valid: %s", p->member, bad.text);
}

/* True when the transport is done with the buffer. */
static bool
settle(rset_comm *set, rset_req *req)
{
    return !req->active || rset_comm_cancel(set, req);
}

rset_status
rset_exchange(rset_comm *set, rset_parcel *parcels, int n, bool extra, rset_err *err)
{
    transit    *t = calloc((size_t)n + 1, sizeof *t);
    rset_status st = RSET_OK;
    bool        ours = true;

    if (t == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d infos", n);
    for (int i = 0; st == RSET_OK && i < n; i++)
        st = start(set, &parcels[i], &t[i], extra, err);
    for (int i = 0; st == RSET_OK && i < n; i++)
        if (parcels[i].send == NULL)
            st = receive(set, &parcels[i], &t[i], err);
    for (int i = 0; st == RSET_OK && i < n; i++)
        if (parcels[i].send != NULL) {
            st = rset_comm_wait(set, &t[i].head, parcels[i].member, "take an info", err);
            if (st == RSET_OK)
                st = rset_comm_wait(set, &t[i].body, parcels[i].member, "take an info", err);
        }
    for (int i = 0; i < n; i++) {
        bool done = settle(set, &t[i].head);

        if (settle(set, &t[i].body))
            free(t[i].buf);
        ours = ours && done; /* lengths are received into t itself */
    }
    if (ours)
        free(t);
    return st;
}
