/* comm_mpi.c: see comm_mpi.h: private communicators, from their first use to the end of MPI.
 *
 * Only non-blocking calls, apart from local ones: a rank that died or never comes must not hold up
 * the others (P5). Errors of MPI are returned (P6); of the parent communicator nothing is used but its
 * attributes, the few messages of comm_mpi_first.c and one MPI_Comm_idup. */
#include "comm_mpi.h"

#include "comm_mpi_fault.h"
#include "comm_mpi_side.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_mpi_calls.h"

typedef struct at_finalize {
    struct at_finalize *next;
    void (*callback)(void *arg);
    void *arg;
} at_finalize;

/* Threads: whoever may call MPI holds HDF5's lock, or is the only thread, or works in the background while the
 * others wait (vfd/background.h). */
static rset_side   *sides;
static at_finalize *callbacks, *callbacks_before;
static int          side_keyval = MPI_KEYVAL_INVALID;
static int          self_keyval = MPI_KEYVAL_INVALID;

/* ---- the end ---- */

static void (*before_free)(void);

void
rset_mpi_before_free(void (*callback)(void))
{
    before_free = callback;
}

/* From now on no MPI call for this side. Its communicator is not freed (comm_mpi_dup.h). */
static void
retire(rset_side *me, const char *why)
{
    if (me->gone)
        return;
    me->gone = true;
    rset_first_free(me->first);
    me->first = NULL;
    me->comm.dead = true;
    snprintf(me->comm.why, sizeof me->comm.why, "%s", why);
}

static int
delete_side(MPI_Comm parent, int keyval, void *value, void *extra)
{
    rset_side *me = value;

    (void)parent;
    (void)keyval;
    (void)extra;
    if (before_free != NULL && !me->gone)
        before_free();
    retire(me, "the program has freed the communicator that the ranks of this file share");
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
    for (rset_side *me = sides; me != NULL; me = me->next)
        retire(me, "the program has called MPI_Finalize");
    return MPI_SUCCESS;
}

/* In a child that was forked: MPI is the parent's, and so are the conversations of its ranks and all that is to be done in its
 * MPI_Finalize, if the child should call that. No MPI call, and nothing is freed. */
static void
leave_to_parent(void)
{
    callbacks = callbacks_before = NULL;
    for (rset_side *me = sides; me != NULL; me = me->next) {
        me->gone = me->comm.dead = true;
        me->first = NULL;
        snprintf(
            me->comm.why, sizeof me->comm.why,
            "this process was forked from one that has called MPI_Init, and is no rank itself");
    }
}

/* Hooks us to the end of MPI, once. */
static rset_status
hook_finalize(rset_err *err)
{
    int rc;

    if (self_keyval != MPI_KEYVAL_INVALID)
        return RSET_OK;
    if (pthread_atfork(NULL, NULL, leave_to_parent) != 0)
        return rset_fail(err, RSET_NOMEM, "no memory to see forks");
    rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_self, &self_keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_attr(MPI_COMM_SELF, self_keyval, &self_keyval);
    if (rc == MPI_SUCCESS)
        return RSET_OK;
    self_keyval = MPI_KEYVAL_INVALID;
    return rset_mpi_failed(MPI_COMM_SELF, rc, "attaching redset to MPI_COMM_SELF", err);
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

/* Our side of `parent`, made at the first call. */
static rset_status
get_side(MPI_Comm parent, rset_side **side_out, rset_err *err)
{
    rset_side  *me = NULL;
    int         found = 0, rc = MPI_SUCCESS;
    rset_status st = hook_finalize(err);

    if (st != RSET_OK)
        return st;
    if (side_keyval == MPI_KEYVAL_INVALID)
        rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_side, &side_keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(parent, side_keyval, &me, &found);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(parent, rc, "reading an attribute of the communicator", err);
    if (found) {
        *side_out = me;
        return RSET_OK;
    }
    me = calloc(1, sizeof *me);
    if (me == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    st = rset_first_new(parent, &me->first, err);
    if (st != RSET_OK) {
        free(me);
        return st;
    }
    rc = MPI_Comm_set_attr(parent, side_keyval, me);
    if (rc != MPI_SUCCESS) {
        rset_first_free(me->first);
        free(me);
        return rset_mpi_failed(parent, rc, "attaching redset to the communicator", err);
    }
    me->id = sides != NULL ? sides->id + 1 : 1;
    me->next = sides;
    sides = me;
    *side_out = me;
    return RSET_OK;
}

static rset_status
check_tags(int need, int *most_out, rset_err *err)
{
    const int *most = NULL;
    int        found = 0;

    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found) != MPI_SUCCESS || !found ||
        *most < need)
        return rset_fail(err, RSET_USAGE, "this MPI has only %d message tags, redset needs %d",
                         found ? *most : 0, need);
    *most_out = *most;
    return RSET_OK;
}

/* The duplicate is there: makes a communicator of it, of the ranks of this process's team. */
static rset_status
make_ready(rset_side *me, double timeout, rset_err *err)
{
    int         rank = 0, size = 0, most = 0, rc;
    rset_status st = check_tags(me->teams ? 2 * RSET_TAGS : RSET_TAGS, &most, err);

    if (st != RSET_OK)
        return st;
    rc = MPI_Comm_rank(me->dup.comm, &rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(me->dup.comm, &size);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(me->dup.comm, rc, "setting up the duplicate of the communicator",
                               err);
    rset_comm_init(&me->comm, &rset_mpi_transport, me, rank, size, 1.0);
    me->comm.most_tag = most;
    if (me->teams)
        st = rset_side_divide(me, timeout, err);
    me->ready = st == RSET_OK;
    return st;
}

/* Waits until all ranks are here, then duplicates: a rank that alone called a collective of the
 * application's communicator would spoil those of the application (comm_mpi_first.h). */
static rset_status
gather_all(rset_side *me, MPI_Comm parent, double timeout, const rset_purpose *purpose,
           rset_err *err)
{
    rset_status st = RSET_OK;

    if (me->first != NULL) {
        me->team = purpose->team;
        st = rset_first_come(me->first, timeout, purpose, err);
    }
    if (st == RSET_OK) {
        me->teams = me->first != NULL ? rset_first_teams(me->first) : me->teams;
        rset_first_free(me->first);
        me->first = NULL;
        st = rset_mpi_dup(&me->dup, parent, timeout,
                          "come to redset, though they were about to; see which rank died or hangs",
                          err);
    }
    if (st == RSET_OK)
        return make_ready(me, timeout, err);
    me->comm.dead = me->dup.broken || rset_mpi_whole(parent, NULL) != RSET_OK;
    if (me->comm.dead)
        snprintf(me->comm.why, sizeof me->comm.why, "%s", err->text);
    return st;
}

/* What there is of our side of `parent`; NULL: nothing yet. */
static const rset_side *
look_up(const void *parent)
{
    MPI_Comm   comm;
    rset_side *me = NULL;
    int        found = 0;

    if (!rset_mpi_usable() || side_keyval == MPI_KEYVAL_INVALID)
        return NULL;
    comm = parent != NULL ? *(const MPI_Comm *)parent : MPI_COMM_WORLD;
    if (MPI_Comm_get_attr(comm, side_keyval, &me, &found) != MPI_SUCCESS || !found)
        return NULL;
    return me;
}

bool
rset_mpi_told(const void *parent)
{
    const rset_side *me = look_up(parent);

    return me != NULL && me->first != NULL && rset_first_told(me->first);
}

rset_apart
rset_mpi_apart(const void *parent)
{
    const rset_side *me = look_up(parent);

    return me != NULL && me->first != NULL ? rset_first_apart(me->first) : RSET_APART_MISSING;
}

rset_mpi_others
rset_mpi_others_of(const void *parent)
{
    const rset_side *me = look_up(parent);

    return me != NULL && me->first != NULL ? rset_first_others(me->first)
                                           : (rset_mpi_others){.needy = -1};
}

rset_status
rset_mpi_confer(const void *parent, double timeout, bool needs, rset_err *err)
{
    const rset_side *me = look_up(parent);

    if (me == NULL || me->first == NULL)
        return rset_fail(err, RSET_PEER, "the other ranks have come meanwhile");
    return rset_first_confer(me->first, timeout, needs, err);
}

void
rset_mpi_will_not_come(const void *parent, uint64_t what)
{
    const rset_side *me = look_up(parent);

    if (me != NULL && me->first != NULL)
        rset_first_fail(me->first, what);
}

/* Our side of the communicator that `parent` points to. */
static rset_status
find_side(const void *parent, MPI_Comm *comm_out, rset_side **side_out, rset_err *err)
{
    rset_status st;

    if (!rset_mpi_usable())
        return rset_fail(err, RSET_USAGE, "MPI is not initialised, or finalised already");
    *comm_out = parent != NULL ? *(const MPI_Comm *)parent : MPI_COMM_WORLD;
    st = rset_mpi_check(*comm_out, err);
    return st == RSET_OK ? get_side(*comm_out, side_out, err) : st;
}

rset_status
rset_mpi_know(const void *parent, rset_mpi_known *out, rset_err *err)
{
    rset_side  *me = NULL;
    MPI_Comm    comm;
    rset_status st = find_side(parent, &comm, &me, err);
    int         world = 0, rc;

    if (st != RSET_OK)
        return st;
    out->id = me->id;
    rc = MPI_Comm_size(comm, &out->size);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(comm, &out->rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(comm, rc, "looking at the communicator given to redset", err);
    out->others = out->size != world || out->rank != rset_mpi_world_rank();
    return RSET_OK;
}

rset_status
rset_mpi_private(const void *parent, double timeout, const rset_purpose *purpose,
                 rset_comm **comm_out, rset_err *err)
{
    static const rset_purpose none = {0};
    rset_side                *me = NULL;
    MPI_Comm                  comm;
    rset_status               st = find_side(parent, &comm, &me, err);

    if (st == RSET_OK)
        st = rset_comm_usable(&me->comm, err);
    if (st == RSET_OK && me->first == NULL && purpose != NULL && purpose->team != me->team)
        st = rset_fail(err, RSET_USAGE,
                       "this process has used files with another team= before: give all of its "
                       "files the same one");
    if (st == RSET_OK && !me->ready)
        st = gather_all(me, comm, timeout, purpose != NULL ? purpose : &none, err);
    if (st != RSET_OK)
        return st;
    me->comm.timeout = timeout;
    *comm_out = &me->comm;
    return RSET_OK;
}
