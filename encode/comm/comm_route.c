/* comm_route.c: records to the ranks that they are for (rset_route), in steps of comm_step.c over the ring of all ranks.
 *
 * In step j a rank hands the rank that is 2^j behind it all records whose distance from here has bit j, and takes over those
 * of the rank that is 2^j before it. After the last step each has heard of every other one, through others or itself: so the worst that
 * any has to say of itself goes the same way, in the place of records. What goes wrong on the way comes too late for that, and
 * revokes. */
#include "comm_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What stands before each record. */
typedef struct ends {
    int32_t to, from;
} ends;

/* A packet under way. */
typedef struct parcel {
    rset_packet packet;
    rset_req    sent;
} parcel;

/* What is sent in one step: full packets, and one more that tells by its length that it is the last. */
typedef struct hop {
    parcel  last;
    parcel *full; /* owned */
    size_t  nfull;
} hop;

typedef struct route {
    rset_comm    *comm;
    rset_records *list;
    rset_err      verdict; /* the worst that this rank has heard of, or its own */
    int           steps;
    hop          *hops; /* owned */
} route;

/* ---- lists ---- */

static size_t
stride(const rset_records *list)
{
    return sizeof(ends) + list->size;
}

static ends
ends_of(const rset_records *list, size_t i)
{
    ends e;

    memcpy(&e, list->at + i * stride(list), sizeof e);
    return e;
}

/* Room for `more` records behind the others; NULL: no memory, which the list keeps in mind. */
static uint8_t *
make_room(rset_records *list, size_t more)
{
    if (list->n + more > list->room || list->at == NULL) {
        const size_t room = list->n + more > 2 * list->room ? list->n + more : 2 * list->room;
        uint8_t     *at = realloc(list->at, (room + 1) * stride(list));

        if (at == NULL) {
            list->nomem = true;
            return NULL;
        }
        list->at = at;
        list->room = room;
    }
    return list->at + list->n * stride(list);
}

void
rset_records_add(rset_records *list, int to, const void *record)
{
    const ends e = {.to = to, .from = -1};
    uint8_t   *at = make_room(list, 1);

    if (at == NULL)
        return;
    memcpy(at, &e, sizeof e);
    memcpy(at + sizeof e, record, list->size);
    list->n++;
}

void
rset_records_add_by_key(rset_records *list, const rset_comm *comm, uint64_t key, const void *record)
{
    rset_records_add(list, (int)(key % (uint64_t)comm->size), record);
}

int
rset_records_get(const rset_records *list, size_t i, void *record)
{
    memcpy(record, list->at + i * stride(list) + sizeof(ends), list->size);
    return ends_of(list, i).from;
}

void
rset_records_free(rset_records *list)
{
    free(list->at);
    *list = (rset_records){.size = list->size};
}

/* By sender, then by content. */
static int
by_sender(const void *a, const void *b, void *arg)
{
    const rset_records *list = arg;
    ends                x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.from != y.from)
        return x.from < y.from ? -1 : 1;
    return memcmp((const uint8_t *)a + sizeof x, (const uint8_t *)b + sizeof y, list->size);
}

/* ---- one step ---- */

/* Whole records only. */
static size_t
per_packet(const rset_records *list)
{
    return sizeof((rset_packet *)NULL)->data / stride(list);
}

static bool
goes_on(const rset_comm *comm, int to, int j)
{
    const int64_t distance = ((int64_t)to - comm->rank + comm->size) % comm->size;

    return (distance >> j & 1) != 0;
}

/* Room for the packets of step j. */
static void
make_packets(route *r, int j)
{
    hop   *h = &r->hops[j];
    size_t n = 0;

    for (size_t i = 0; i < r->list->n; i++)
        n += goes_on(r->comm, ends_of(r->list, i).to, j);
    h->nfull = n / per_packet(r->list);
    h->full = h->nfull > 0 ? calloc(h->nfull, sizeof *h->full) : NULL;
    if (h->nfull > 0 && h->full == NULL) {
        r->list->nomem = true;
        h->nfull = 0;
    }
}

/* Moves what goes on in step j from the list into packets. */
static void
fill_packets(route *r, int j)
{
    rset_records *list = r->list;
    const size_t  each = stride(list), per = per_packet(list);
    hop          *h = &r->hops[j];
    size_t        kept = 0, gone = 0;

    for (size_t i = 0; i < list->n; i++) {
        const uint8_t *at = list->at + i * each;

        if (goes_on(r->comm, ends_of(list, i).to, j)) {
            parcel *p = gone / per < h->nfull ? &h->full[gone / per] : &h->last;

            memcpy(p->packet.data + gone++ % per * each, at, each);
        } else {
            memmove(list->at + kept++ * each, at, each);
        }
    }
    list->n = kept;
    for (size_t i = 0; i < h->nfull; i++)
        rset_coll_pack_head(r->comm, &h->full[i].packet, RSET_KIND_ROUTE, per * each);
    rset_coll_pack_head(r->comm, &h->last.packet, RSET_KIND_ROUTE, (gone - h->nfull * per) * each);
}

static rset_status
send(route *r, int j, parcel *p, rset_err *err)
{
    const rset_message message = {.peer = rset_coll_next(r->comm, j),
                                  .tag = RSET_TAG_COLL,
                                  .data = &p->packet,
                                  .len = rset_coll_packet_size(&p->packet)};

    return rset_comm_isend(r->comm, &message, &p->sent, err);
}

static rset_status
no_memory(route *r, rset_err *err)
{
    return rset_comm_revoke(r->comm, err, "rank %d has no memory for the records of other ranks",
                            rset_comm_world(r->comm, r->comm->rank));
}

/* Appends what comes in step j. */
static rset_status
take(route *r, int j, rset_err *err)
{
    rset_records      *list = r->list;
    const rset_packet *in = &r->comm->coll->in;
    const int          edge = RSET_RING + j;
    const size_t       full = per_packet(list) * stride(list);
    rset_status        st;

    do {
        uint8_t *at;

        st = rset_coll_recv_packet(r->comm, edge, RSET_KIND_ROUTE, "send records", err);
        if (st != RSET_OK)
            return st;
        if (in->status != RSET_OK) {
            const rset_err other = rset_coll_unpack_err(in);

            rset_coll_keep_worse(&r->verdict, &other);
            return RSET_OK;
        }
        if (in->len % stride(list) != 0 || in->len > full)
            return rset_comm_revoke(r->comm, err, "rank %d sent %llu bytes of records, of %zu each",
                                    rset_comm_world(r->comm, rset_coll_neighbour(r->comm, edge)),
                                    (unsigned long long)in->len, stride(list));
        at = make_room(list, (size_t)in->len / stride(list));
        if (at == NULL)
            return no_memory(r, err);
        memcpy(at, in->data, (size_t)in->len);
        list->n += (size_t)in->len / stride(list);
    } while (in->len == full);
    return RSET_OK;
}

static rset_status
step(route *r, int j, rset_err *err)
{
    hop        *h = &r->hops[j];
    rset_status st = RSET_OK;

    if (r->verdict.status != RSET_OK) {
        r->list->n = 0;
        rset_coll_pack_err(r->comm, &h->last.packet, RSET_KIND_ROUTE, &r->verdict);
    } else {
        make_packets(r, j);
        if (r->list->nomem)
            return no_memory(r, err);
        fill_packets(r, j);
    }
    for (size_t i = 0; st == RSET_OK && i < h->nfull; i++)
        st = send(r, j, &h->full[i], err);
    if (st == RSET_OK)
        st = send(r, j, &h->last, err);
    return st == RSET_OK ? take(r, j, err) : st;
}

/* ---- the whole ---- */

/* Where each comes from. */
static void
address(const rset_comm *comm, rset_records *list)
{
    for (size_t i = 0; i < list->n; i++) {
        ends e = {.to = ends_of(list, i).to, .from = comm->rank};

        memcpy(list->at + i * stride(list), &e, sizeof e);
    }
}

static rset_status
check(rset_comm *comm, const rset_records *list, rset_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const ends e = ends_of(list, i);

        if (e.to != comm->rank || e.from < 0 || e.from >= comm->size)
            return rset_comm_revoke(comm, err, "rank %d was sent a record of rank %d for rank %d",
                                    rset_comm_world(comm, comm->rank), (int)e.from, (int)e.to);
    }
    return RSET_OK;
}

static rset_status
all_steps(route *r, rset_err *err)
{
    rset_status st = rset_coll_begin(r->comm, err);

    if (st != RSET_OK)
        return st;
    r->comm->coll->in_ring = true;
    r->hops = calloc((size_t)rset_coll_levels(r->comm) + 1, sizeof *r->hops);
    if (r->hops == NULL)
        return no_memory(r, err);
    r->steps = rset_coll_levels(r->comm);
    address(r->comm, r->list);
    for (int j = 0; st == RSET_OK && j < r->steps; j++)
        st = step(r, j, err);
    return st == RSET_OK && r->verdict.status == RSET_OK ? check(r->comm, r->list, err) : st;
}

/* All have what was sent, or will never take it. */
static rset_status
take_back(route *r, int j, parcel *p, bool *ours, rset_err *err)
{
    rset_status st = rset_comm_usable(r->comm, NULL);

    if (st == RSET_OK)
        st = rset_comm_wait(r->comm, &p->sent, rset_coll_next(r->comm, j), "take records", err);
    *ours = rset_comm_cancel(r->comm, &p->sent) && *ours;
    return st;
}

static rset_status
end(route *r, rset_err *err)
{
    rset_status st = RSET_OK, one;
    bool        ours = true;

    for (int j = 0; j < r->steps; j++)
        for (size_t i = 0; i <= r->hops[j].nfull; i++) {
            hop *h = &r->hops[j];

            one = take_back(r, j, i < h->nfull ? &h->full[i] : &h->last, &ours, err);
            st = st == RSET_OK ? one : st;
        }
    for (int j = 0; ours && j < r->steps; j++)
        free(r->hops[j].full);
    if (ours) /* else the transport may still read from it: leaked on purpose */
        free(r->hops);
    return st;
}

rset_status
rset_route(rset_comm *comm, rset_status own, const char *host, rset_records *list, rset_err *err)
{
    route       r = {.comm = comm, .list = list};
    rset_err    failed = RSET_ERR_NONE;
    rset_status st, sent;

    assert(list->size <= RSET_RECORD_MAX); /* C6 */
    if (own == RSET_OK && list->nomem)
        own = rset_fail(err, RSET_NOMEM, "no memory for records of %zu bytes", list->size);
    r.verdict = rset_own_verdict(comm, own, host, err);
    st = all_steps(&r, &failed);
    sent = end(&r, &failed);
    st = st == RSET_OK && sent == RSET_OK ? rset_coll_take_verdict(&r.verdict, err)
                                          : rset_coll_no_agreement(comm, own, host, &failed, err);
    if (st != RSET_OK)
        rset_records_free(list);
    else if (list->n > 1)
        qsort_r(list->at, list->n, stride(list), by_sender, list);
    return st;
}
