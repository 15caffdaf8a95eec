/* comm_mpi.c: see comm_mpi.h.
 *
 * Only non-blocking calls, apart from local ones: a rank that died or never comes must not hold up
 * the others (P5). Errors of MPI are returned, on our own communicator (P6); of the parent
 * communicator nothing is used but its attributes and one MPI_Comm_idup. */
#include "comm_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_mpi_first.h"
#include "comm_mpi_weak.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "rset_req.h holds an MPI_Request");

/* Our side of a communicator of the application; its attribute. Never freed, because files that are
 * closed after MPI_Finalize still ask their rset_comm. */
typedef struct side {
    struct side *next;
    MPI_Comm     dup;
    rset_first  *first;   /* until all ranks have come */
    MPI_Request  pending; /* of MPI_Comm_idup, once they have */
    bool         ready;   /* dup is there, comm is initialised */
    bool         gone;    /* the parent is freed or MPI finalised: no MPI call any more */
    rset_comm    comm;
} side;

typedef struct at_finalize {
    struct at_finalize *next;
    void (*callback)(void *arg);
    void *arg;
} at_finalize;

/* Threads: whoever may call MPI holds HDF5's lock, or is the only thread. */
static side        *sides;
static at_finalize *callbacks, *callbacks_before;
static int          side_keyval = MPI_KEYVAL_INVALID;
static int          self_keyval = MPI_KEYVAL_INVALID;

/* ---- messages ---- */

static rset_status
mpi_failed(int rc, const char *what, rset_err *err)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int  len = 0;

    if (MPI_Error_string(rc, text, &len) != MPI_SUCCESS || len == 0)
        snprintf(text, sizeof text, "MPI error %d", rc);
    return rset_fail(err, RSET_PEER, "%s failed: %s", what, text);
}

static rset_status
check_side(const side *me, rset_err *err)
{
    return me->gone ? rset_fail(err, RSET_PEER, "%s", me->comm.why) : RSET_OK;
}

static void
keep(rset_req *req, MPI_Request request)
{
    req->h = 0;
    memcpy(&req->h, &request, sizeof request);
}

static MPI_Request
kept(const rset_req *req)
{
    MPI_Request request;

    memcpy(&request, &req->h, sizeof request);
    return request;
}

/* What `got` is while a send is under way: an MPI_Request does not tell what it is. */
static const size_t sending = SIZE_MAX;

/* ---- the transport ---- */

static rset_status
mpi_isend(void *self, int to, int tag, const void *buf, size_t len, rset_req *req, rset_err *err)
{
    side       *me = self;
    MPI_Request request = MPI_REQUEST_NULL;
    int         rc;

    *req = (rset_req){.got = sending};
    if (check_side(me, err) != RSET_OK)
        return RSET_PEER;
    if (len > INT_MAX)
        return rset_fail(err, RSET_BUG, "a message of %zu bytes is too long for MPI", len);
    rc = MPI_Isend(buf, (int)len, MPI_BYTE, to, tag, me->dup, &request);
    if (rc != MPI_SUCCESS)
        return mpi_failed(rc, "sending to another rank", err);
    keep(req, request);
    req->active = true;
    return RSET_OK;
}

static rset_status
mpi_irecv(void *self, int from, int tag, void *buf, size_t len, rset_req *req, rset_err *err)
{
    side       *me = self;
    MPI_Request request = MPI_REQUEST_NULL;
    int         rc;

    *req = (rset_req){0};
    if (check_side(me, err) != RSET_OK)
        return RSET_PEER;
    if (len > INT_MAX)
        return rset_fail(err, RSET_BUG, "a message of %zu bytes is too long for MPI", len);
    rc = MPI_Irecv(buf, (int)len, MPI_BYTE, from, tag, me->dup, &request);
    if (rc != MPI_SUCCESS)
        return mpi_failed(rc, "receiving from another rank", err);
    keep(req, request);
    req->active = true;
    return RSET_OK;
}

static rset_status
mpi_test(void *self, rset_req *req, bool *done, rset_err *err)
{
    side       *me = self;
    MPI_Request request = kept(req);
    MPI_Status  status = {0};
    int         rc, flag = 0, count = 0;

    *done = true;
    if (!req->active)
        return RSET_OK;
    if (check_side(me, err) != RSET_OK)
        return RSET_PEER;
    rc = MPI_Test(&request, &flag, &status);
    if (rc != MPI_SUCCESS) {
        req->active = false;
        return mpi_failed(rc, "exchanging messages with another rank", err);
    }
    keep(req, request);
    *done = flag != 0;
    if (!*done)
        return RSET_OK;
    req->active = false;
    if (req->got == sending) {
        req->got = 0;
        return RSET_OK;
    }
    rc = MPI_Get_count(&status, MPI_BYTE, &count);
    if (rc != MPI_SUCCESS || count < 0)
        return mpi_failed(rc, "receiving a message", err);
    req->got = (size_t)count;
    return RSET_OK;
}

static bool
mpi_cancel(void *self, rset_req *req)
{
    const double deadline = rset_clock() + 0.01;
    side        *me = self;
    bool         done = false;
    MPI_Request  request = kept(req);

    /* A send cannot be called back (MPI 4.0, 3.8.4); it may be over in a moment, though. */
    if (req->active && !me->gone && req->got != sending)
        (void)MPI_Cancel(&request);
    while (req->active && !done && rset_clock() < deadline && !me->gone) {
        /* a truncated or failed message is over as well */
        if (MPI_Test(&request, (int[]){0}, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            done = true;
        done = done || request == MPI_REQUEST_NULL;
    }
    req->active = false;
    req->h = 0;
    if (!done && !me->gone)
        (void)MPI_Request_free(&request);
    return done;
}

/* Receives what MPI_Iprobe has announced. Into memory of our own and not with MPI_Recv: the rest of a
 * long message comes only while its sender lives. */
static rset_status
take_announced(side *me, int from, int tag, size_t len, char **buf_out, rset_err *err)
{
    char       *buf = malloc(len > 0 ? len : 1);
    rset_req    req = {0};
    rset_status st;

    if (buf == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message of %zu bytes", len);
    st = rset_comm_irecv(&me->comm, from, tag, buf, len, &req, err);
    if (st == RSET_OK)
        st = rset_comm_wait(&me->comm, &req, from, "complete a message", err);
    if (st != RSET_OK) {
        if (!req.active) /* else MPI may still write to it: leaked on purpose */
            free(buf);
        return st;
    }
    *buf_out = buf;
    return RSET_OK;
}

static rset_status
mpi_poll(void *self, int tag, void *buf, size_t cap, int *from_out, size_t *got_out,
         bool *found_out, rset_err *err)
{
    side       *me = self;
    MPI_Status  status = {0};
    int         rc, flag = 0, count = 0;
    char       *message = NULL;
    rset_status st = check_side(me, err);

    *found_out = false;
    if (st != RSET_OK)
        return st;
    rc = MPI_Iprobe(MPI_ANY_SOURCE, tag, me->dup, &flag, &status);
    if (rc == MPI_SUCCESS && flag)
        rc = MPI_Get_count(&status, MPI_BYTE, &count);
    if (rc != MPI_SUCCESS || count < 0)
        return mpi_failed(rc, "looking for messages of other ranks", err);
    if (!flag)
        return RSET_OK;
    st = take_announced(me, status.MPI_SOURCE, tag, (size_t)count, &message, err);
    if (st != RSET_OK)
        return st;
    if ((size_t)count > cap) {
        st = rset_fail(err, RSET_PEER, "rank %d sent %d bytes where at most %zu make sense",
                       status.MPI_SOURCE, count, cap);
    } else {
        memcpy(buf, message, (size_t)count);
        *from_out = status.MPI_SOURCE;
        *got_out = (size_t)count;
        *found_out = true;
    }
    free(message);
    return st;
}

static void
mpi_free(void *self)
{
    (void)self; /* belongs to the attribute */
}

static const rset_transport mpi_transport = {mpi_isend, mpi_irecv,  mpi_test,
                                             mpi_poll,  mpi_cancel, mpi_free};

/* ---- the end ---- */

/* From now on no MPI call for this side. A dead communicator may have messages under way to ranks that
 * will never take them: it is left alone, freeing it could wait for them. */
static void
retire(side *me, const char *why)
{
    if (me->gone)
        return;
    me->gone = true;
    rset_first_free(me->first);
    me->first = NULL;
    if (me->ready && !me->comm.dead) {
        (void)MPI_Comm_free(&me->dup);
        free(me->comm.coll);
        me->comm.coll = NULL;
    }
    me->comm.dead = true;
    snprintf(me->comm.why, sizeof me->comm.why, "%s", why);
}

static int
delete_side(MPI_Comm parent, int keyval, void *value, void *extra)
{
    (void)parent;
    (void)keyval;
    (void)extra;
    retire(value, "the program has freed the communicator that the ranks of this file share");
    return MPI_SUCCESS;
}

static void
run_callbacks(at_finalize **list)
{
    while (*list != NULL) {
        at_finalize *last = *list;

        *list = last->next;
        last->callback(last->arg);
        free(last);
    }
}

static int
delete_self(MPI_Comm self, int keyval, void *value, void *extra)
{
    (void)self;
    (void)keyval;
    (void)value;
    (void)extra;
    run_callbacks(&callbacks_before); /* may make new ones of the others */
    run_callbacks(&callbacks);
    for (side *me = sides; me != NULL; me = me->next)
        retire(me, "the program has called MPI_Finalize");
    return MPI_SUCCESS;
}

/* Hooks us to the end of MPI, once. */
static rset_status
hook_finalize(rset_err *err)
{
    int rc;

    if (self_keyval != MPI_KEYVAL_INVALID)
        return RSET_OK;
    rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_self, &self_keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_attr(MPI_COMM_SELF, self_keyval, &self_keyval);
    if (rc == MPI_SUCCESS)
        return RSET_OK;
    self_keyval = MPI_KEYVAL_INVALID;
    return mpi_failed(rc, "attaching redset to MPI_COMM_SELF", err);
}

static rset_status
add_callback(at_finalize **list, void (*callback)(void *arg), void *arg, rset_err *err)
{
    at_finalize *new;
    rset_status st;

    if (!rset_mpi_usable())
        return rset_fail(err, RSET_USAGE, "MPI is not initialised, or finalised already");
    st = hook_finalize(err);
    if (st != RSET_OK)
        return st;
    new = malloc(sizeof *new);
    if (new == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a callback");
    *new = (at_finalize){*list, callback, arg};
    *list = new;
    return RSET_OK;
}

rset_status
rset_mpi_at_finalize(void (*callback)(void *arg), void *arg, rset_err *err)
{
    return add_callback(&callbacks, callback, arg, err);
}

rset_status
rset_mpi_before_finalize(void (*callback)(void *arg), void *arg, rset_err *err)
{
    return add_callback(&callbacks_before, callback, arg, err);
}

/* ---- private communicators ---- */

static rset_status
check_parent(MPI_Comm parent, rset_err *err)
{
    int inter = 0, rc;

    if (parent == MPI_COMM_NULL)
        return rset_fail(err, RSET_USAGE, "the communicator given to redset is MPI_COMM_NULL");
    rc = MPI_Comm_test_inter(parent, &inter);
    if (rc != MPI_SUCCESS)
        return mpi_failed(rc, "looking at the communicator given to redset", err);
    if (inter)
        return rset_fail(err, RSET_USAGE,
                         "the communicator given to redset is an intercommunicator");
    return RSET_OK;
}

/* Our side of `parent`, made at the first call. */
static rset_status
get_side(MPI_Comm parent, side **side_out, rset_err *err)
{
    side       *me = NULL;
    int         found = 0, rc = MPI_SUCCESS;
    rset_status st = hook_finalize(err);

    if (st != RSET_OK)
        return st;
    if (side_keyval == MPI_KEYVAL_INVALID)
        rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_side, &side_keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(parent, side_keyval, &me, &found);
    if (rc != MPI_SUCCESS)
        return mpi_failed(rc, "reading an attribute of the communicator", err);
    if (found) {
        *side_out = me;
        return RSET_OK;
    }
    me = calloc(1, sizeof *me);
    if (me == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    me->dup = MPI_COMM_NULL;
    me->pending = MPI_REQUEST_NULL;
    st = rset_first_new(parent, &me->first, err);
    if (st != RSET_OK) {
        free(me);
        return st;
    }
    rc = MPI_Comm_set_attr(parent, side_keyval, me);
    if (rc != MPI_SUCCESS) {
        rset_first_free(me->first);
        free(me);
        return mpi_failed(rc, "attaching redset to the communicator", err);
    }
    me->next = sides;
    sides = me;
    *side_out = me;
    return RSET_OK;
}

/* Waits until all ranks are here, then asks for the duplicate: a rank that alone called a collective
 * of the application's communicator would spoil those of the application (comm_mpi_first.h). */
static rset_status
ask_together(side *me, MPI_Comm parent, double timeout, rset_err *err)
{
    rset_status st = rset_first_come(me->first, timeout, err);
    int         rc;

    if (st != RSET_OK)
        return st;
    rset_first_free(me->first);
    me->first = NULL;
    rc = MPI_Comm_idup(parent, &me->dup, &me->pending);
    if (rc == MPI_SUCCESS)
        return RSET_OK;
    me->comm.dead = true;
    snprintf(me->comm.why, sizeof me->comm.why, "duplicating the communicator failed");
    return mpi_failed(rc, "duplicating the communicator", err);
}

static rset_status
check_tags(rset_err *err)
{
    const int *most = NULL;
    int        found = 0;

    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found) != MPI_SUCCESS || !found ||
        *most < RSET_TAG_STREAM + RSET_STREAM_TAGS)
        return rset_fail(err, RSET_USAGE, "this MPI has only %d message tags, redset needs %d",
                         found ? *most : 0, RSET_TAG_STREAM + RSET_STREAM_TAGS);
    return RSET_OK;
}

/* The duplicate is there: makes a communicator of it. */
static rset_status
make_ready(side *me, rset_err *err)
{
    int         rank = 0, size = 0, rc;
    rset_status st = check_tags(err);

    if (st != RSET_OK)
        return st;
    rc = MPI_Comm_set_errhandler(me->dup, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(me->dup, &rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(me->dup, &size);
    if (rc != MPI_SUCCESS)
        return mpi_failed(rc, "setting up the duplicate of the communicator", err);
    rset_comm_init(&me->comm, &mpi_transport, me, rank, size, 1.0, false);
    me->ready = true;
    return RSET_OK;
}

static rset_status
await_duplicate(side *me, double timeout, rset_err *err)
{
    const double deadline = rset_clock() + timeout;
    rset_pause   pause = {0};
    int          done = 0;

    for (;;) {
        const double now = rset_clock();
        const int    rc = MPI_Test(&me->pending, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS) {
            me->comm.dead = true;
            snprintf(me->comm.why, sizeof me->comm.why, "duplicating the communicator failed");
            return mpi_failed(rc, "duplicating the communicator", err);
        }
        if (done)
            return make_ready(me, err);
        if (now > deadline)
            return rset_fail(
                err, RSET_PEER,
                "after %g s not all ranks of the communicator have come to redset; if not "
                "every rank has a file of its own here, exclude it from protection with "
                "files=, else see which rank died or hangs",
                timeout);
        rset_pause_once(&pause);
    }
}

bool
rset_mpi_told(const void *parent)
{
    side *me = NULL;
    int   found = 0;

    if (!rset_mpi_usable() || side_keyval == MPI_KEYVAL_INVALID ||
        MPI_Comm_get_attr(parent != NULL ? *(const MPI_Comm *)parent : MPI_COMM_WORLD, side_keyval,
                          &me, &found) != MPI_SUCCESS)
        return false;
    return found && me->first != NULL && rset_first_told(me->first);
}

uintptr_t
rset_mpi_id(const void *parent)
{
    uintptr_t id = 0;

    if (parent != NULL)
        memcpy(&id, parent, sizeof(MPI_Comm));
    return id; /* MPI_COMM_WORLD, given by name or not: no harm when it counts as two */
}

rset_status
rset_mpi_private(const void *parent, double timeout, rset_comm **comm_out, rset_err *err)
{
    side       *me = NULL;
    MPI_Comm    comm;
    rset_status st;

    if (!rset_mpi_usable())
        return rset_fail(err, RSET_USAGE, "MPI is not initialised, or finalised already");
    comm = parent != NULL ? *(const MPI_Comm *)parent : MPI_COMM_WORLD;
    st = check_parent(comm, err);
    if (st == RSET_OK)
        st = get_side(comm, &me, err);
    if (st == RSET_OK)
        st = rset_comm_usable(&me->comm, err);
    if (st == RSET_OK && me->first != NULL)
        st = ask_together(me, comm, timeout, err);
    if (st == RSET_OK && !me->ready)
        st = await_duplicate(me, timeout, err);
    if (st != RSET_OK)
        return st;
    me->comm.timeout = timeout;
    *comm_out = &me->comm;
    return RSET_OK;
}
