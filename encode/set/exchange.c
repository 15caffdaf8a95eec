/* exchange.c: see exchange.h. An info goes in pieces of at most CHUNK bytes, the first with a head that says how many there are; in the
 * place of an info goes an error. There is room for a piece before the exchange begins, so that a member without memory for
 * the rest takes it all the same, and throws it away. */
#include "exchange.h"

#include "format/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16 * 1024 };

/* Before the first piece. */
typedef struct head {
    uint64_t len;    /* of the info, or of the error */
    uint64_t failed; /* it is an error */
} head;

typedef struct transit {
    int              member;
    const rset_info *send; /* NULL: it is taken */
    rset_info       *into;
    head             head;
    uint64_t         done;   /* bytes that were sent or taken */
    bool             moving; /* a piece of it is under way */
    uint8_t         *buf;    /* the info; NULL: it is not kept */
    rset_req         req;
    uint8_t          piece[CHUNK];
} transit;

struct rset_exchange {
    int     n, most;
    bool    lost; /* the transport may still touch it */
    transit at[];
};

_Static_assert(sizeof(head) + sizeof(rset_err) <= CHUNK, "an error is one piece");

rset_status
rset_exchange_new(int n, rset_exchange **out, rset_err *err)
{
    *out = malloc(sizeof **out + (size_t)n * sizeof(transit));
    if (*out == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d infos", n);
    (*out)->n = 0;
    (*out)->most = n;
    (*out)->lost = false;
    return RSET_OK;
}

void
rset_exchange_free(rset_exchange *x)
{
    if (x != NULL && !x->lost)
        free(x);
}

static void
list(rset_exchange *x, int member, const rset_info *send, rset_info *into)
{
    transit *t = &x->at[x->n];

    assert(x->n < x->most); /* E6 */
    x->n++;
    t->member = member;
    t->send = send;
    t->into = into;
    t->head = (head){0};
    t->done = 0;
    t->moving = false;
    t->buf = NULL;
    t->req = (rset_req){0};
}

void
rset_exchange_send(rset_exchange *x, int member, const rset_info *info)
{
    list(x, member, info, NULL);
}

void
rset_exchange_take(rset_exchange *x, int member, rset_info *into)
{
    list(x, member, NULL, into);
}

/* ---- what is sent ---- */

static rset_status
pack(rset_exchange *x, bool extra, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < x->n; i++) {
        transit *t = &x->at[i];
        size_t   len = 0;

        if (t->send == NULL)
            continue;
        st = rset_format_pack_info(t->send, extra, &t->buf, &len, err);
        t->head.len = len;
    }
    return st;
}

/* In the place of all infos: whoever gets it says the same, of the same rank. */
static void
pack_error(rset_exchange *x, const rset_err *own)
{
    for (int i = 0; i < x->n; i++) {
        transit *t = &x->at[i];

        if (t->send == NULL)
            continue;
        free(t->buf);
        t->buf = NULL;
        t->head = (head){.len = sizeof *own, .failed = 1};
        memcpy(t->piece + sizeof t->head, own, sizeof *own);
    }
}

/* ---- pieces ---- */

/* Bytes of the next piece, without the head. */
static size_t
next_piece(const transit *t)
{
    const size_t   room = CHUNK - (t->done == 0 ? sizeof t->head : 0);
    const uint64_t left = t->head.len - t->done;

    return left < room ? (size_t)left : room;
}

static rset_status
post(transit *t, rset_comm *set, bool first, rset_err *err)
{
    const size_t at = first ? sizeof t->head : 0, len = next_piece(t);
    rset_message m = {.peer = t->member, .tag = RSET_TAG_INFO, .room = t->piece, .len = at + len};

    if (t->send == NULL) {
        m.len = first ? CHUNK : len;
        return rset_comm_irecv(set, &m, &t->req, err);
    }
    if (first)
        memcpy(t->piece, &t->head, sizeof t->head);
    if (t->buf != NULL)
        memcpy(t->piece + at, t->buf + t->done, len);
    t->done += len;
    return rset_comm_isend(set, &m, &t->req, err);
}

/* A piece has come: checks it, and appends it to the info. */
static rset_status
take(transit *t, rset_comm *set, bool first, rset_err *err)
{
    const size_t at = first ? sizeof t->head : 0;
    size_t       len;

    if (first && t->req.got >= sizeof t->head)
        memcpy(&t->head, t->piece, sizeof t->head);
    len = next_piece(t);
    if (t->req.got != at + len || t->head.len > RSET_TREE_MAX_BYTES ||
        (t->head.failed != 0 && t->head.len != sizeof(rset_err)))
        return rset_comm_revoke(set, err, "member %d announces an info of %llu bytes", t->member,
                                (unsigned long long)t->head.len);
    if (first)
        t->buf = malloc((size_t)t->head.len + 1);
    if (t->buf != NULL)
        memcpy(t->buf + t->done, t->piece + at, len);
    t->done += len;
    return RSET_OK;
}

/* The next piece of each info that has one: both ends know of which, and have them in one order. */
static rset_status
move_pieces(rset_exchange *x, rset_comm *set, bool first, bool *more_out, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < x->n; i++) {
        transit *t = &x->at[i];

        t->moving = first || t->done < t->head.len;
        if (t->moving)
            st = post(t, set, first, err);
    }
    *more_out = false;
    for (int i = 0; st == RSET_OK && i < x->n; i++) {
        transit *t = &x->at[i];

        if (t->moving)
            st = rset_comm_wait(set, &t->req, t->member,
                                t->send != NULL ? "take an info" : "send what it recorded", err);
        if (st == RSET_OK && t->moving && t->send == NULL)
            st = take(t, set, first, err);
        *more_out = *more_out || t->done < t->head.len;
    }
    return st;
}

/* ---- what was taken ---- */

/* An error as it came from another rank. */
static rset_status
fail_as_peer(const transit *t, rset_err *err)
{
    rset_err theirs;

    memcpy(&theirs, t->buf, sizeof theirs);
    theirs.host[sizeof theirs.host - 1] = theirs.text[sizeof theirs.text - 1] = '\0';
    if (theirs.status <= RSET_OK || theirs.status > RSET_BUG)
        return rset_fail(err, RSET_PEER, "member %d sent an error that is not valid", t->member);
    return rset_fail_as(err, &theirs);
}

static rset_status
unpack(const rset_exchange *x, rset_err *err)
{
    rset_err bad = RSET_ERR_NONE;

    for (int i = 0; i < x->n; i++) {
        const transit *t = &x->at[i];
        rset_status    st;

        if (t->send != NULL)
            continue;
        if (t->buf == NULL)
            return rset_fail(err, RSET_NOMEM, "no memory for an info of %llu bytes",
                             (unsigned long long)t->head.len);
        if (t->head.failed != 0)
            return fail_as_peer(t, err);
        st =
            rset_format_unpack_info(t->buf, (size_t)t->head.len, "info from a peer", t->into, &bad);
        if (st != RSET_OK)
            return rset_fail(err, st == RSET_NOMEM ? st : RSET_PEER,
                             "member %d sent an info that is not valid: %s", t->member, bad.text);
    }
    return RSET_OK;
}

/* The set is revoked, which a member that waits here for this one does not hear otherwise. */
static void
tell(rset_exchange *x, const rset_comm *set)
{
    for (int i = 0; i < x->n; i++) {
        transit           *t = &x->at[i];
        const rset_message m = {.peer = t->member,
                                .tag = RSET_TAG_INFO,
                                .data = t->piece,
                                .len = sizeof t->head + (size_t)t->head.len};

        if (t->send == NULL)
            continue;
        memcpy(t->piece, &t->head, sizeof t->head);
        x->lost = !rset_comm_tell(set, &m, &t->req, 1) || x->lost;
        t->req.active = false;
    }
}

/* The list is emptied. Where a wait has failed, the transport may go on using its piece: then x is never freed. */
static void
end(rset_exchange *x, rset_comm *set)
{
    for (int i = 0; i < x->n; i++) {
        if (x->at[i].req.active && !rset_comm_cancel(set, &x->at[i].req))
            x->lost = true;
        free(x->at[i].buf);
    }
    x->n = 0;
}

rset_status
rset_exchange_run(rset_exchange *x, rset_comm *set, bool extra, rset_status own, const char *host,
                  rset_err *err)
{
    rset_err    failed = RSET_ERR_NONE;
    rset_status st = rset_comm_usable(set, &failed);
    bool        more = st == RSET_OK;

    if (own != RSET_OK)
        st = own;
    else if (st == RSET_OK)
        st = pack(x, extra, err);
    else
        (void)rset_fail_as(err, &failed);
    if (st != RSET_OK && !x->lost) {
        const rset_err said = rset_own_verdict(set, st, host, err);

        pack_error(x, &said);
    }
    if (!more && !x->lost)
        tell(x, set);
    for (bool first = true; failed.status == RSET_OK && more; first = false)
        (void)move_pieces(x, set, first, &more, &failed);
    if (st == RSET_OK)
        st = failed.status == RSET_OK ? unpack(x, err) : rset_fail_as(err, &failed);
    end(x, set);
    return st;
}
