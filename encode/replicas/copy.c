/* copy.c: content from one rank to others, in pieces down a binomial tree: what is recorded of the file, then the file. See
 * replicas_internal.h. */
#include "commit/shadow.h"
#include "format/tree.h"
#include "replicas_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 512 * 1024 };

/* Sent as it is. */
typedef struct head {
    uint64_t        size, info; /* bytes of the file, and of what is recorded of it */
    rset_file_attrs attrs;
    char            host[RSET_HOST_NAME];
} head;

/* What goes through the tree. Allocated: the transport may have it for longer than the caller. */
typedef struct parcel {
    head    head;
    uint8_t bytes[PIECE];
} parcel;

typedef struct transit {
    rset_comm         *comm;
    rset_replica_copy *copy;
    parcel            *parcel;
    uint8_t           *info; /* what is recorded, packed */
    rset_file         *file; /* read on rank 0, written on the others */
    rset_err           own;  /* this rank's failure: it goes on passing on what comes */
    bool               leak; /* the transport may still use the parcel */
} transit;

/* ---- one message down the tree ---- */

static rset_status
finish(transit *t, rset_req *req, int peer, const char *doing, rset_err *err)
{
    const rset_status st = rset_comm_wait(t->comm, req, peer, doing, err);

    t->leak = t->leak || req->active;
    return st;
}

/* `len` bytes at `at` of the parcel, from the parent to the children. */
static rset_status
pass(transit *t, void *at, size_t len, rset_err *err)
{
    rset_comm   *comm = t->comm;
    rset_message m = {
        .peer = rset_coll_parent(comm->rank), .tag = RSET_TAG_REPLICA, .room = at, .len = len};
    rset_req    req = {0};
    rset_status st = RSET_OK;

    if (comm->rank != 0) {
        st = rset_comm_irecv(comm, &m, &req, err);
        if (st == RSET_OK)
            st = finish(t, &req, m.peer, "send a file", err);
        if (st == RSET_OK && req.got != len)
            st = rset_comm_revoke(comm, err, "rank %d sent %zu bytes of a file instead of %zu",
                                  rset_comm_world(comm, m.peer), req.got, len);
    }
    for (int k = 0; st == RSET_OK && (m.peer = rset_coll_child(comm, comm->rank, k)) >= 0; k++) {
        rset_message out = {.peer = m.peer, .tag = RSET_TAG_REPLICA, .data = at, .len = len};

        req = (rset_req){0};
        st = rset_comm_isend(comm, &out, &req, err);
        if (st == RSET_OK)
            st = finish(t, &req, out.peer, "take a file", err);
    }
    return st;
}

/* ---- rank 0 ---- */

static rset_status
describe(transit *t)
{
    rset_replica_copy    *c = t->copy;
    const rset_file_info *f = &c->evidence->header.infos[0].files[0];
    head                 *h = &t->parcel->head;
    size_t                len = 0;
    rset_status           st;

    if (rset_evidence_generation(c->evidence) != c->generation ||
        c->evidence->header.infos[0].nfiles != 1)
        return rset_fail(&t->own, RSET_BUG, "%s: is not what is to be copied",
                         rset_local_name(c->local));
    st = rset_format_pack_info(&c->evidence->header.infos[0], true, &t->info, &len, &t->own);
    if (st == RSET_OK)
        st = rset_file_open(c->local->dir, c->local->names[0], &t->file, &t->own);
    if (st != RSET_OK)
        return st;
    h->info = len;
    h->size = f->attrs.size;
    h->attrs = rset_local_attrs(c->local, 0, &f->attrs);
    return RSET_OK;
}

/* What cannot be read goes as zeros, and has not the checksums. */
static void
fetch(transit *t, uint64_t off, size_t len)
{
    size_t got = 0;

    if (t->own.status == RSET_OK)
        (void)rset_file_read(t->file, off, t->parcel->bytes, len, &got, &t->own);
    if (t->own.status == RSET_OK && got < len)
        (void)rset_fail(&t->own, RSET_IO, "%s: has become shorter", rset_file_path(t->file));
    memset(t->parcel->bytes + got, 0, len - got);
}

/* ---- the others ---- */

static void
begin_file(transit *t)
{
    rset_replica_copy *c = t->copy;
    const head        *h = &t->parcel->head;
    const rset_access  access = rset_file_attrs_access(&h->attrs);

    snprintf(c->from, sizeof c->from, "%.*s", (int)sizeof h->host - 1, h->host);
    t->info = malloc((size_t)h->info + 1);
    if (t->info == NULL)
        (void)rset_fail(&t->own, RSET_NOMEM, "%s: no memory for what is recorded of it",
                        rset_local_name(c->local));
    if (t->own.status == RSET_OK)
        (void)rset_shadow_begin(c->local, c->evidence, &c->shadow, &t->own);
    if (t->own.status == RSET_OK)
        (void)rset_file_create(c->local->dir, c->shadow, &access, &t->file, &t->own);
}

static void
end_file(transit *t, const rset_file_attrs *attrs)
{
    if (t->own.status == RSET_OK)
        (void)rset_file_set_attrs(t->file, attrs, &t->own);
    if (t->own.status == RSET_OK)
        (void)rset_file_sync(t->file, &t->own);
    (void)rset_file_close(t->file, t->own.status == RSET_OK ? &t->own : NULL);
    t->file = NULL;
}

/* Is what has come what its writer recorded, of the generation that is wanted? */
static rset_status
verify(transit *t, size_t len)
{
    rset_replica_copy *c = t->copy;
    rset_local         local = *c->local;
    rset_info          info = {0};
    bool               same = false;
    rset_status        st =
        rset_format_unpack_info(t->info, len, "what is recorded of a replica", &info, &t->own);

    if (st != RSET_OK)
        return st;
    local.shadow = c->shadow;
    st = rset_dir_identity(c->local->dir, c->shadow, &c->is, &t->own);
    if (st == RSET_OK && info.nfiles == 1 && info.files[0].has_sums && info.desc.ranks == 1 &&
        info.desc.generation == c->generation)
        st = rset_is_as_recorded(&local, &info, &same, &t->own);
    rset_stamp_again(&info.stamp, &c->stamp);
    rset_info_free(&info);
    if (st == RSET_OK && !same)
        st = rset_fail(&t->own, RSET_DAMAGED,
                       "%s: what came from %s is not what was protected there",
                       rset_local_name(c->local), c->from);
    return st;
}

/* ---- both ---- */

static rset_status
pass_info(transit *t, size_t len, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t off = 0; st == RSET_OK && off < len; off += PIECE) {
        const size_t now = len - off < PIECE ? len - off : PIECE;

        if (t->comm->rank == 0)
            memcpy(t->parcel->bytes, t->info + off, now);
        st = pass(t, t->parcel->bytes, now, err);
        if (st == RSET_OK && t->comm->rank != 0 && t->info != NULL)
            memcpy(t->info + off, t->parcel->bytes, now);
    }
    return st;
}

static rset_status
pass_file(transit *t, uint64_t size, rset_err *err)
{
    rset_status st = RSET_OK;

    for (uint64_t off = 0; st == RSET_OK && off < size; off += PIECE) {
        const size_t now = size - off < PIECE ? (size_t)(size - off) : PIECE;

        if (t->comm->rank == 0)
            fetch(t, off, now);
        st = pass(t, t->parcel->bytes, now, err);
        if (st == RSET_OK && t->comm->rank != 0 && t->own.status == RSET_OK)
            (void)rset_file_write(t->file, off, t->parcel->bytes, now, &t->own);
    }
    return st;
}

/* All pass on all of it, whatever their own failures are. */
static rset_status
run(transit *t, rset_err *err)
{
    rset_status st;
    head        h;

    if (t->comm->rank == 0) {
        snprintf(t->parcel->head.host, sizeof t->parcel->head.host, "%s", t->copy->host);
        (void)describe(t);
    }
    st = pass(t, &t->parcel->head, sizeof t->parcel->head, err);
    h = t->parcel->head;
    if (st == RSET_OK && h.info > RSET_TREE_MAX_BYTES)
        st = rset_comm_revoke(t->comm, err, "rank %d announces %llu bytes that it has recorded",
                              rset_comm_world(t->comm, 0), (unsigned long long)h.info);
    if (st == RSET_OK && t->comm->rank != 0)
        begin_file(t);
    if (st == RSET_OK)
        st = pass_info(t, (size_t)h.info, err);
    if (st == RSET_OK)
        st = pass_file(t, h.size, err);
    if (st != RSET_OK || t->comm->rank == 0) /* or it was never begun */
        return st;
    end_file(t, &h.attrs);
    if (t->own.status == RSET_OK)
        (void)verify(t, (size_t)h.info);
    return st;
}

static void
drop_shadow(rset_replica_copy *c)
{
    if (c->shadow != NULL)
        (void)rset_dir_unlink(c->local->dir, c->shadow, NULL);
    free(c->shadow);
    c->shadow = NULL;
}

rset_status
rset_replica_bring(rset_comm *comm, rset_replica_copy *copy, rset_err *err)
{
    transit     t = {.comm = comm, .copy = copy, .own = RSET_ERR_NONE};
    rset_status st = RSET_OK;

    copy->shadow = NULL;
    copy->from[0] = '\0';
    t.parcel = calloc(1, sizeof *t.parcel);
    if (t.parcel == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to copy it", rset_local_name(copy->local));
    st = rset_agree(comm, st, copy->host, err); /* nobody waits for a rank without a buffer */
    if (st == RSET_OK)
        st = run(&t, err);
    if (st == RSET_OK && t.own.status != RSET_OK) {
        *err = t.own;
        st = err->status;
    }
    if (st != RSET_OK)
        drop_shadow(copy);
    rset_file_close(t.file, NULL);
    free(t.info);
    if (!t.leak)
        free(t.parcel);
    return st;
}
