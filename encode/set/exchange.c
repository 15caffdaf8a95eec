/* exchange.c: see exchange.h. Each parcel travels as its length, then its container. Before each of the two, members
 * agree that all can go on: nobody waits for what a member without memory does not send, or does not take. What a member
 * finds in what it has got is for the caller's next agreement. */
#include "exchange.h"

#include "format/tree.h"

#include <stdlib.h>

typedef struct transit {
    uint64_t len;
    uint8_t *buf;
    rset_req req;
} transit;

typedef struct exchange {
    rset_comm         *set;
    const rset_parcel *parcels;
    int                n;
    bool               extra;
    transit           *t; /* per parcel */
    rset_err          *err;
} exchange;

static rset_status
pack(exchange *x)
{
    rset_status st = RSET_OK;

    x->t = calloc((size_t)x->n + 1, sizeof *x->t);
    if (x->t == NULL)
        return rset_fail(x->err, RSET_NOMEM, "no memory for %d infos", x->n);
    for (int i = 0; st == RSET_OK && i < x->n; i++)
        if (x->parcels[i].send != NULL) {
            size_t len = 0;

            st = rset_format_pack_info(x->parcels[i].send, x->extra, &x->t[i].buf, &len, x->err);
            x->t[i].len = len;
        }
    return st;
}

/* All lengths, or all bodies. */
static rset_status
transfer(exchange *x, bool bodies)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < x->n; i++) {
        const rset_parcel *p = &x->parcels[i];
        transit           *t = &x->t[i];
        const rset_message m = {.peer = p->member,
                                .tag = bodies ? RSET_TAG_INFO_BODY : RSET_TAG_INFO,
                                .room = bodies ? (void *)t->buf : &t->len,
                                .len = bodies ? (size_t)t->len : sizeof t->len};

        st = p->send != NULL ? rset_comm_isend(x->set, &m, &t->req, x->err)
                             : rset_comm_irecv(x->set, &m, &t->req, x->err);
    }
    for (int i = 0; st == RSET_OK && i < x->n; i++)
        st = rset_comm_wait(x->set, &x->t[i].req, x->parcels[i].member,
                            x->parcels[i].send != NULL ? "take an info" : "send what it recorded",
                            x->err);
    return st;
}

static rset_status
make_room(exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        transit *t = &x->t[i];

        if (x->parcels[i].send != NULL)
            continue;
        if (t->req.got != sizeof t->len || t->len > RSET_TREE_MAX_BYTES)
            return rset_fail(x->err, RSET_PEER, "member %d announces an info of %llu bytes",
                             x->parcels[i].member, (unsigned long long)t->len);
        t->buf = malloc((size_t)t->len + 1);
        if (t->buf == NULL)
            return rset_fail(x->err, RSET_NOMEM, "no memory for an info of %llu bytes",
                             (unsigned long long)t->len);
    }
    return RSET_OK;
}

static rset_status
unpack(exchange *x)
{
    rset_err    bad = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < x->n; i++) {
        const rset_parcel *p = &x->parcels[i];

        if (p->send == NULL)
            st = rset_format_unpack_info(x->t[i].buf, x->t[i].req.got, "info from a peer", p->into,
                                         &bad);
        if (st != RSET_OK)
            return rset_fail(x->err, st == RSET_NOMEM ? st : RSET_PEER,
                             "member %d sent an info that is not valid: %s", p->member, bad.text);
    }
    return st;
}

/* What the transport still holds (a failed wait) stays with it. */
static void
end(exchange *x)
{
    bool ours = true;

    for (int i = 0; x->t != NULL && i < x->n; i++) {
        bool done = !x->t[i].req.active || rset_comm_cancel(x->set, &x->t[i].req);

        if (done)
            free(x->t[i].buf);
        ours = ours && done; /* lengths are received into t itself */
    }
    if (ours)
        free(x->t);
}

rset_status
rset_exchange(rset_comm *set, const rset_parcels *parcels, rset_status own, const char *host,
              rset_err *err)
{
    exchange    x = {set, parcels->at, parcels->n, parcels->extra, NULL, err};
    rset_status st = rset_agree(set, own == RSET_OK ? pack(&x) : own, host, err);

    if (st == RSET_OK)
        st = transfer(&x, false);
    if (st == RSET_OK)
        st = rset_agree(set, make_room(&x), host, err);
    if (st == RSET_OK)
        st = transfer(&x, true);
    if (st == RSET_OK)
        st = unpack(&x);
    end(&x);
    return st;
}
