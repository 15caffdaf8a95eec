/* send.c: other members get replicas of what a rank has written. See replicas.h. */
#include "replicas_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a member says of one of its files. Sent as it is. */
typedef struct offer {
    uint64_t generation;
    int32_t  copies, pad;
    char     path[RSET_PATH_MAX + 1];
} offer;

/* One file on its way from its writer, rank 0 of `some`, to the neighbours. */
typedef struct sending {
    const rset_replicas *args;
    const offer         *what;
    rset_comm           *some;
    char                *dir_path, *base, *prefix;
    const char          *names[1], *paths[1];
    rset_local           local;
    rset_evidence        evidence;
    rset_err             own; /* this rank's failure */
} sending;

/* ---- what is here ---- */

static rset_status
look(sending *s)
{
    const bool  writer = s->some->rank == 0;
    rset_status st = writer ? RSET_OK : s->args->may(s->args->arg, s->what->path, &s->own);

    if (st == RSET_OK)
        st = rset_path_split(s->what->path, &s->dir_path, &s->base, &s->own);
    if (st == RSET_OK && asprintf(&s->prefix, "%s.", s->base) < 0) {
        s->prefix = NULL;
        st = rset_fail(&s->own, RSET_NOMEM, "%s: no memory for a replica", s->what->path);
    }
    if (st == RSET_OK)
        st = rset_dir_open(s->dir_path, !writer, &s->local.dir, &s->own);
    if (st != RSET_OK)
        return st;
    s->names[0] = s->base;
    s->paths[0] = s->what->path;
    s->local = (rset_local){.dir = s->local.dir,
                            .prefix = s->prefix,
                            .nfiles = 1,
                            .names = s->names,
                            .paths = s->paths};
    return rset_survey(s->local.dir, s->prefix, s->base, &s->evidence, &s->own);
}

static rset_replica_args
as_args(sending *s)
{
    return (rset_replica_args){.world = s->some,
                               .local = &s->local,
                               .evidence = &s->evidence,
                               .host = s->args->host,
                               .content = RSET_CONTENT_ALL};
}

/* Is the file still what was to be sent? Else it was changed again, or removed: nothing is left to do. */
static bool
has_it(sending *s)
{
    return look(s) == RSET_OK && rset_evidence_generation(&s->evidence) == s->what->generation &&
           !s->evidence.is_void;
}

/* Not where something newer lies, or what nobody protects. */
static bool
wants_it(sending *s)
{
    rset_replica_args args = as_args(s);
    rset_replica_own  own;

    if (look(s) != RSET_OK || rset_replica_settle(&args, &own, &s->own) != RSET_OK)
        return false;
    if (own.state == RSET_REPLICA_PLAIN)
        (void)rset_fail(&s->own, RSET_IO,
                        "%s: a file of this name lies there that is not protected; it was left as "
                        "it is",
                        s->what->path);
    return own.state != RSET_REPLICA_PLAIN &&
           (own.generation < s->what->generation ||
            (own.generation == s->what->generation && own.state != RSET_REPLICA_INTACT));
}

/* ---- one file ---- */

/* The writer and those who want it. */
static rset_status
copy_among(sending *s, const int32_t *flags, rset_err *err)
{
    rset_replica_copy copy = {.local = &s->local,
                              .evidence = &s->evidence,
                              .generation = s->what->generation,
                              .host = s->args->host};
    rset_replica_args args = as_args(s);
    int               ranks[1 + RSET_REPLICAS_MOST], n = 0;
    rset_comm         few;
    rset_status       st;

    for (int r = 0; r < s->some->size; r++)
        if (flags[r] != 0)
            ranks[n++] = r;
    if (n < 2 || flags[0] == 0 || flags[s->some->rank] == 0)
        return RSET_OK;
    st = rset_comm_subset(s->some, ranks, n, &few, err);
    if (st != RSET_OK)
        return rset_comm_revoke(s->some, err, "%s: no memory to copy it", s->what->path);
    st = rset_replica_bring(&few, &copy, &s->own);
    if (st == RSET_OK && s->some->rank != 0)
        st = rset_replica_publish(&args, &copy.shadow, s->what->generation, &s->own);
    if (st != RSET_OK && copy.shadow != NULL)
        (void)rset_dir_unlink(s->local.dir, copy.shadow, NULL);
    free(copy.shadow);
    rset_comm_free(&few);
    return rset_comm_usable(s->some, err);
}

/* Collective over `some`; the writer learns what came of it. */
static rset_status
send_one(sending *s, rset_replica *mine, rset_err *err)
{
    int32_t     flags[1 + RSET_REPLICAS_MOST] = {0}, flag;
    rset_err    why = RSET_ERR_NONE;
    rset_status st;

    flag = s->some->rank == 0 ? has_it(s) : wants_it(s);
    st = rset_gather_fixed(s->some, &flag, sizeof flag, flags, err);
    if (st == RSET_OK && s->some->rank == 0 && flag == 0)
        s->own = RSET_ERR_NONE; /* gone, or another one now */
    if (st == RSET_OK)
        st = copy_among(s, flags, err);
    if (st != RSET_OK)
        return st;
    why = s->own;
    (void)rset_agree(s->some, why.status, s->args->host, &why);
    if (mine != NULL) {
        mine->done = why.status == RSET_OK;
        mine->why = why;
    }
    return rset_comm_usable(s->some, err);
}

static void
sending_free(sending *s)
{
    rset_evidence_free(&s->evidence);
    rset_dir_close(s->local.dir);
    free(s->dir_path);
    free(s->base);
    free(s->prefix);
}

/* Of member `writer`, which has this rank among its neighbours, or is it. */
static rset_status
pass_to_neighbours(const rset_replicas *a, int writer, const offer *what, rset_replica *mine,
                   rset_err *err)
{
    const int   n = a->set->size, most = n - 1 < RSET_REPLICAS_MOST ? n - 1 : RSET_REPLICAS_MOST;
    const int   copies = what->copies < most ? what->copies : most;
    const int   distance = (a->set->rank - writer + n) % n;
    int         ranks[1 + RSET_REPLICAS_MOST];
    sending     s = {.args = a, .what = what, .own = RSET_ERR_NONE};
    rset_comm   some;
    rset_status st;

    if (distance > copies)
        return RSET_OK;
    for (int d = 0; d <= copies; d++)
        ranks[d] = (writer + d) % n;
    st = rset_comm_subset(a->set, ranks, copies + 1, &some, err);
    if (st != RSET_OK)
        return rset_comm_revoke(a->set, err, "%s: no memory to copy it", what->path);
    s.some = &some;
    st = send_one(&s, mine, err);
    sending_free(&s);
    rset_comm_free(&some);
    return st;
}

/* ---- all of them ---- */

static rset_status
gather(const rset_replicas *a, rset_gathered *all, rset_err *err)
{
    const size_t n = a->n < RSET_REPLICAS_AT_ONCE ? a->n : RSET_REPLICAS_AT_ONCE;
    const size_t most = sizeof(offer) * RSET_REPLICAS_AT_ONCE * (size_t)a->set->size;
    offer       *mine = calloc(n + 1, sizeof *mine);
    rset_status  st = RSET_OK;

    if (mine == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for replicas");
    for (size_t i = 0; st == RSET_OK && i < n; i++) {
        mine[i].generation = a->mine[i].generation;
        mine[i].copies = a->mine[i].copies;
        snprintf(mine[i].path, sizeof mine[i].path, "%s", a->mine[i].path);
    }
    st = rset_agree(a->set, st, a->host, err);
    if (st == RSET_OK)
        st = rset_gather_all(a->set, mine, n * sizeof *mine, most, all, err);
    free(mine);
    return st;
}

/* Those of one member: the same number of times on all. */
static rset_status
send_of(const rset_replicas *a, const rset_gathered *all, int writer, rset_err *err)
{
    const size_t bytes = all->offs[writer + 1] - all->offs[writer];
    rset_status  st = RSET_OK;
    offer        what;

    for (size_t i = 0; st == RSET_OK && i < bytes / sizeof what; i++) {
        memcpy(&what, all->bytes + all->offs[writer] + i * sizeof what, sizeof what);
        what.path[sizeof what.path - 1] = '\0';
        if (what.copies > 0 && what.path[0] == '/')
            st = pass_to_neighbours(a, writer, &what, writer == a->set->rank ? &a->mine[i] : NULL,
                                    err);
    }
    return st;
}

rset_status
rset_replicas_send(const rset_replicas *args, rset_err *err)
{
    rset_gathered all = {0};
    rset_status   st = gather(args, &all, err);

    for (int w = 0; st == RSET_OK && w < args->set->size; w++)
        st = send_of(args, &all, w, err);
    rset_gathered_free(&all);
    return st;
}
