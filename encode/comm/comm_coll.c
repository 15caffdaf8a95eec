/* comm_coll.c: the collectives of comm.h, in steps of comm_step.c. A failed step ends them: the
 * communicator is then revoked already. */
#include "comm_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- agree ---- */

/* A cause before what may follow from it, then the worse, then the first. */
static bool
is_worse(const rset_err *a, const rset_err *than)
{
    if (a->status == RSET_OK || than->status == RSET_OK)
        return a->status != RSET_OK && than->status == RSET_OK;
    if ((a->follows != 0) != (than->follows != 0))
        return than->follows != 0;
    return a->status != than->status ? a->status > than->status : a->rank < than->rank;
}

void
rset_coll_keep_worse(rset_err *mine, const rset_err *other)
{
    if (is_worse(other, mine))
        *mine = *other;
}

/* The two sweeps over verdicts only. *verdict: this rank's own, then everybody's. */
static rset_status
exchange_verdict(rset_comm *comm, rset_err *verdict, rset_err *err)
{
    static const char doing[] = "agree on an outcome";
    struct rset_coll *coll = comm->coll;
    rset_status       st = RSET_OK;

    for (int k = 0; rset_coll_child(comm, comm->rank, k) >= 0; k++) {
        if ((st = rset_coll_recv_packet(comm, k, RSET_KIND_AGREE, doing, err)) != RSET_OK)
            return st;
        if (coll->in.status != RSET_OK) {
            const rset_err other = rset_coll_unpack_err(&coll->in);

            rset_coll_keep_worse(verdict, &other);
        }
    }
    if (comm->rank != 0) {
        const int parent = rset_coll_parent(comm->rank);

        if (verdict->status != RSET_OK)
            rset_coll_pack_err(comm, &coll->up, RSET_KIND_AGREE, verdict);
        else
            rset_coll_pack(comm, &coll->up, RSET_KIND_AGREE, NULL, 0);
        if ((st = rset_coll_send_packet(comm, parent, &coll->up, NULL, err)) != RSET_OK ||
            (st = rset_coll_recv_packet(comm, -1, RSET_KIND_AGREE, doing, err)) != RSET_OK)
            return st;
        *verdict = coll->in.status != RSET_OK ? rset_coll_unpack_err(&coll->in) : RSET_ERR_NONE;
        coll->down = coll->in;
    } else if (verdict->status != RSET_OK) {
        rset_coll_pack_err(comm, &coll->down, RSET_KIND_AGREE, verdict);
    } else {
        rset_coll_pack(comm, &coll->down, RSET_KIND_AGREE, NULL, 0);
    }
    if ((st = rset_coll_send_down(comm, NULL, err)) != RSET_OK)
        return st;
    return rset_coll_finish(comm, err);
}

/* Why a communicator is dead; "" while it is not. */
static const char *
why_dead(const rset_comm *comm)
{
    for (; comm != NULL; comm = comm->parent)
        if (comm->dead)
            return comm->why;
    return "";
}

rset_status
rset_coll_no_agreement(rset_comm *comm, rset_status st, const char *host, rset_err *failed,
                       rset_err *err)
{
    const size_t n = strlen(failed->text);

    (void)rset_coll_abandon(comm);
    if (err == NULL)
        return RSET_PEER;
    if (st != RSET_OK && strstr(err->text, why_dead(comm)) != NULL)
        snprintf(failed->text, sizeof failed->text, "%s", err->text);
    else if (st != RSET_OK)
        snprintf(failed->text + n, sizeof failed->text - n, "; this rank itself: %.*s",
                 (int)(sizeof failed->text - n), err->text);
    failed->status = RSET_PEER; /* whatever it was here: the others see us missing */
    failed->rank = rset_comm_world(comm, comm->rank);
    snprintf(failed->host, sizeof failed->host, "%s", host);
    *err = *failed;
    return RSET_PEER;
}

rset_err
rset_own_verdict(const rset_comm *comm, rset_status st, const char *host, const rset_err *err)
{
    rset_err verdict = RSET_ERR_NONE;

    if (st == RSET_OK)
        return verdict;
    if (err != NULL && err->status != RSET_OK)
        verdict = *err;
    else
        (void)rset_fail(&verdict, st, "failed without saying why (%s)", rset_status_name(st));
    verdict.status = st;
    if (verdict.rank < 0) {
        verdict.rank = rset_comm_world(comm, comm->rank);
        snprintf(verdict.host, sizeof verdict.host, "%s", host);
    }
    return verdict;
}

rset_status
rset_coll_take_verdict(const rset_err *verdict, rset_err *err)
{
    if (verdict->status != RSET_OK && err != NULL)
        *err = *verdict;
    return verdict->status;
}

rset_status
rset_agree(rset_comm *comm, rset_status st, const char *host, rset_err *err)
{
    rset_err verdict = rset_own_verdict(comm, st, host, err), failed = RSET_ERR_NONE;

    if (rset_coll_begin(comm, &failed) != RSET_OK ||
        exchange_verdict(comm, &verdict, &failed) != RSET_OK)
        return rset_coll_no_agreement(comm, st, host, &failed, err);
    return rset_coll_take_verdict(&verdict, err);
}

/* ---- gather ---- */

/* What ranks give, in ascending order: each its length and its bytes; or `each` bytes, where that is not 0. */
typedef struct {
    uint8_t *buf;
    size_t   len, each;
} records;

static bool
grow(records *all, size_t more)
{
    uint8_t *buf = more <= SIZE_MAX - all->len ? realloc(all->buf, all->len + more) : NULL;

    if (buf == NULL)
        return false;
    all->buf = buf;
    all->len += more;
    return true;
}

static rset_status
no_memory(rset_comm *comm, uint64_t len, rset_err *err)
{
    (void)rset_comm_revoke(comm, NULL, "rank %d has no memory for %llu bytes from the others",
                           rset_comm_world(comm, comm->rank), (unsigned long long)len);
    return rset_fail(err, RSET_NOMEM, "no memory for %llu bytes from the other ranks",
                     (unsigned long long)len);
}

/* How many ranks' records come from child k, or from the parent (k < 0): those of all. */
static int
ranks_from(const rset_comm *comm, int k)
{
    const int from = rset_coll_neighbour(comm, k);

    return k < 0 ? comm->size : rset_coll_last(comm, from, k) - from + 1;
}

/* Appends what child k or the parent (k < 0) sends. */
static rset_status
take_records(rset_comm *comm, int k, size_t max, records *all, rset_err *verdict, rset_err *err)
{
    static const char doing[] = "give its share";
    const uint64_t    ranks = (uint64_t)ranks_from(comm, k);
    const uint64_t    heads = all->each > 0 ? 0 : sizeof(uint64_t) * ranks;
    const size_t      at = all->len;
    rset_packet      *in = &comm->coll->in;
    rset_status       st = rset_coll_recv_packet(comm, k, RSET_KIND_GATHER, doing, err);

    if (st != RSET_OK)
        return st;
    if (in->status != RSET_OK) {
        const rset_err other = rset_coll_unpack_err(in);

        rset_coll_keep_worse(verdict, &other);
        return RSET_OK;
    }
    if (all->each > 0 && in->len != all->each * ranks)
        return rset_comm_revoke(comm, err, "rank %d gave %llu bytes instead of %zu",
                                rset_comm_world(comm, rset_coll_neighbour(comm, k)),
                                (unsigned long long)in->len, (size_t)(all->each * ranks));
    if (in->len > max + heads)
        return rset_comm_revoke(comm, err, "rank %d sent %llu bytes where at most %zu make sense",
                                rset_comm_world(comm, rset_coll_neighbour(comm, k)),
                                (unsigned long long)in->len, max);
    if (!grow(all, (size_t)in->len))
        return no_memory(comm, in->len, err);
    return rset_coll_recv_body(comm, k, all->buf + at, doing, err);
}

/* Collects this rank's subtree, then hands it up, then gets everything from above and hands it down.
 * `up` and `all` must stay until finish; at the root they are one. */
static rset_status
exchange_records(rset_comm *comm, size_t max, records *up, records *all, rset_err *verdict,
                 rset_err *err)
{
    struct rset_coll *coll = comm->coll;
    rset_status       st = RSET_OK;
    int               ranks = 1;

    for (int k = 0; rset_coll_neighbour(comm, k) >= 0 && st == RSET_OK; k++) {
        st = take_records(comm, k, max, up, verdict, err);
        ranks += ranks_from(comm, k);
    }
    if (st != RSET_OK)
        return st;
    if (verdict->status == RSET_OK && up->len > max + sizeof(uint64_t) * (size_t)ranks) {
        (void)rset_fail(verdict, RSET_PEER, "ranks have more than %zu bytes to exchange", max);
        verdict->rank = rset_comm_world(comm, comm->rank);
    }
    if (comm->rank != 0) {
        const int parent = rset_coll_parent(comm->rank);

        if (verdict->status != RSET_OK)
            rset_coll_pack_err(comm, &coll->up, RSET_KIND_GATHER, verdict);
        else
            rset_coll_pack(comm, &coll->up, RSET_KIND_GATHER, up->buf, up->len);
        st = rset_coll_send_packet(comm, parent, &coll->up, up->buf, err);
        if (st == RSET_OK)
            st = take_records(comm, -1, max, all, verdict, err);
        if (st != RSET_OK)
            return st;
        coll->down = coll->in;
    } else {
        *all = *up;
        up->buf = NULL;
        up->len = 0;
        if (verdict->status != RSET_OK)
            rset_coll_pack_err(comm, &coll->down, RSET_KIND_GATHER, verdict);
        else
            rset_coll_pack(comm, &coll->down, RSET_KIND_GATHER, all->buf, all->len);
    }
    if ((st = rset_coll_send_down(comm, all->buf, err)) != RSET_OK)
        return st;
    return rset_coll_finish(comm, err);
}

/* Takes the lengths out of the records; false when they do not add up. */
static bool
unpack_records(records *all, int size, size_t *offs)
{
    size_t from = 0, to = 0;

    for (int r = 0; r < size; r++) {
        uint64_t len;

        if (all->len - from < sizeof len)
            return false;
        memcpy(&len, all->buf + from, sizeof len);
        from += sizeof len;
        if (len > all->len - from)
            return false;
        memmove(all->buf + to, all->buf + from, (size_t)len);
        offs[r] = to;
        from += (size_t)len;
        to += (size_t)len;
    }
    offs[size] = to;
    return from == all->len;
}

/* Puts this rank's own record into *up. `max`: of all together. */
static rset_status
own_record(const rset_share *mine, size_t max, records *up, rset_err *err)
{
    const uint64_t length = mine->len;
    const size_t   head = up->each > 0 ? 0 : sizeof length;

    if (mine->len > max)
        return rset_fail(err, RSET_PEER, "more than %zu bytes to exchange", max);
    if (!grow(up, head + mine->len))
        return rset_fail(err, RSET_NOMEM, "no memory for %zu bytes to exchange", mine->len);
    memcpy(up->buf, &length, head);
    if (mine->len > 0)
        memcpy(up->buf + head, mine->bytes, mine->len);
    return RSET_OK;
}

void
rset_gathered_free(rset_gathered *all)
{
    free(all->bytes);
    free(all->offs);
    *all = (rset_gathered){0};
}

/* Both gathers: `all` gets what all have given, owned. */
static rset_status
gather(rset_comm *comm, const char *host, rset_err *verdict, const rset_share *mine, records *all,
       rset_err *err)
{
    const size_t most = SIZE_MAX / 2 - sizeof(uint64_t) * (size_t)comm->size;
    const size_t max = mine->max < most ? mine->max : most;
    rset_err     own = RSET_ERR_NONE;
    records      up = {.each = all->each};
    rset_status  st = rset_coll_begin(comm, err);

    if (st != RSET_OK)
        return st;
    if (verdict->status == RSET_OK)
        *verdict = rset_own_verdict(comm, own_record(mine, max, &up, &own), host, &own);
    st = exchange_records(comm, max, &up, all, verdict, err);
    if (st != RSET_OK && !rset_coll_abandon(comm))
        up.buf = all->buf = NULL; /* the transport may still use them: leaked on purpose */
    free(up.buf);
    return st;
}

rset_status
rset_gather_all(rset_comm *comm, rset_status own, const char *host, const rset_share *mine,
                rset_gathered *all_out, rset_err *err)
{
    size_t     *offs = malloc(((size_t)comm->size + 1) * sizeof *offs);
    rset_err    verdict, failed = RSET_ERR_NONE;
    records     all = {0};
    rset_status st;

    if (offs == NULL && own == RSET_OK)
        own = rset_fail(err, RSET_NOMEM, "no memory for what %d ranks exchange", comm->size);
    verdict = rset_own_verdict(comm, own, host, err);
    st = gather(comm, host, &verdict, mine, &all, &failed);
    if (st == RSET_OK && verdict.status == RSET_OK && !unpack_records(&all, comm->size, offs))
        st = rset_comm_revoke(comm, &failed, "what the ranks have sent does not add up");
    if (st == RSET_OK && verdict.status == RSET_OK) {
        *all_out = (rset_gathered){.bytes = all.buf, .offs = offs};
        return RSET_OK;
    }
    free(all.buf);
    free(offs);
    return st == RSET_OK ? rset_coll_take_verdict(&verdict, err)
                         : rset_coll_no_agreement(comm, own, host, &failed, err);
}

rset_status
rset_gather_fixed(rset_comm *comm, rset_status own, const char *host, const rset_share *mine,
                  void *all, rset_err *err)
{
    const rset_share share = {mine->bytes, mine->len, mine->len * (size_t)comm->size};
    rset_err         verdict = rset_own_verdict(comm, own, host, err), failed = RSET_ERR_NONE;
    records          got = {.each = mine->len};
    rset_status      st = gather(comm, host, &verdict, &share, &got, &failed);

    if (st == RSET_OK && verdict.status == RSET_OK && all != NULL)
        memcpy(all, got.buf, got.len);
    free(got.buf);
    return st == RSET_OK ? rset_coll_take_verdict(&verdict, err)
                         : rset_coll_no_agreement(comm, own, host, &failed, err);
}

/* ---- reduce ---- */

/* A verdict, or a value of `len` bytes, from child k or the parent (k < 0): comm->coll->in. */
static rset_status
receive_value(rset_comm *comm, int k, size_t len, rset_err *err)
{
    const rset_packet *in = &comm->coll->in;
    rset_status        st = rset_coll_recv_packet(comm, k, RSET_KIND_REDUCE, "give its share", err);

    if (st == RSET_OK && in->status == RSET_OK && in->len != len)
        st = rset_comm_revoke(comm, err, "rank %d gave %llu bytes instead of %zu",
                              rset_comm_world(comm, rset_coll_neighbour(comm, k)),
                              (unsigned long long)in->len, len);
    return st;
}

/* Verdicts and values go up, and down again what they come to. */
static rset_status
exchange_value(rset_comm *comm, rset_err *verdict, void *value, size_t len, rset_merge_fn *merge,
               rset_err *err)
{
    struct rset_coll *coll = comm->coll;
    rset_status       st = RSET_OK;

    for (int k = 0; rset_coll_neighbour(comm, k) >= 0; k++) {
        if ((st = receive_value(comm, k, len, err)) != RSET_OK)
            return st;
        if (coll->in.status != RSET_OK) {
            const rset_err other = rset_coll_unpack_err(&coll->in);

            rset_coll_keep_worse(verdict, &other);
        } else {
            merge(value, coll->in.data);
        }
    }
    if (verdict->status != RSET_OK)
        rset_coll_pack_err(comm, &coll->up, RSET_KIND_REDUCE, verdict);
    else
        rset_coll_pack(comm, &coll->up, RSET_KIND_REDUCE, value, len);
    coll->down = coll->up;
    if (comm->rank != 0) {
        const int parent = rset_coll_parent(comm->rank);

        if ((st = rset_coll_send_packet(comm, parent, &coll->up, NULL, err)) != RSET_OK ||
            (st = receive_value(comm, -1, len, err)) != RSET_OK)
            return st;
        coll->down = coll->in;
    }
    if ((st = rset_coll_send_down(comm, NULL, err)) != RSET_OK)
        return st;
    return rset_coll_finish(comm, err);
}

rset_status
rset_reduce(rset_comm *comm, rset_status own, const char *host, const rset_reduction *what,
            rset_err *err)
{
    rset_err    verdict = rset_own_verdict(comm, own, host, err), failed = RSET_ERR_NONE;
    rset_status st = rset_coll_begin(comm, &failed);

    assert(what->len <= sizeof comm->coll->up.data); /* C6 */
    if (st == RSET_OK)
        st = exchange_value(comm, &verdict, what->value, what->len, what->merge, &failed);
    if (st != RSET_OK)
        return rset_coll_no_agreement(comm, own, host, &failed, err);
    if (comm->coll->down.status != RSET_OK) {
        *err = rset_coll_unpack_err(&comm->coll->down);
        return err->status;
    }
    memcpy(what->value, comm->coll->down.data, what->len);
    return RSET_OK;
}

static void
any_of(void *into, const void *other)
{
    *(uint64_t *)into |= *(const uint64_t *)other;
}

rset_status
rset_any_of(rset_comm *comm, rset_status own, const char *host, uint64_t *are, rset_err *err)
{
    return rset_reduce(comm, own, host, &(rset_reduction){are, sizeof *are, any_of}, err);
}

rset_status
rset_any(rset_comm *comm, rset_status own, const char *host, bool *is, rset_err *err)
{
    uint64_t    any = *is;
    rset_status st = rset_any_of(comm, own, host, &any, err);

    *is = any != 0;
    return st;
}
