/* send.c: other members get replicas of what a rank has written. See replicas.h. */
#include "names/claim.h"
#include "replicas_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a member says of one of its files. */
typedef struct offer {
    uint64_t generation;
    int32_t  copies, keep;
    char     path[RSET_PATH_MAX + 1];
} offer;

/* Sent as it is, and the path after it. */
typedef struct offer_head {
    uint64_t generation;
    int32_t  copies, keep;
    uint32_t length, pad;
} offer_head;

/* One file on its way from its writer, rank 0 of `some`, to the neighbours. */
typedef struct sending {
    const rset_replicas *args;
    const offer         *what;
    uint64_t
        generation; /* that it has; a newer one than was offered where a neighbour has one that was newer */
    rset_comm    *some;
    char         *dir_path, *base, *prefix;
    char         *made; /* the first directory that had to be made for it, or NULL */
    const char   *names[1], *paths[1];
    rset_local    local;
    rset_evidence evidence;
    rset_err      own; /* this rank's failure */
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
    if (st == RSET_OK && !writer)
        st = rset_dir_make(s->dir_path, &s->made, &s->own);
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
                               .content = RSET_CONTENT_ALL,
                               .keep = s->what->keep};
}

/* What one of them finds on its disk. Sent as it is. */
typedef struct found {
    uint64_t newest;     /* generation of which there is a sign; of the writer, that of its file */
    uint64_t generation; /* that is whole here */
    int32_t  takes_part, pad;
} found;

/* Is the file still what was to be sent? Else it was changed again, or removed: nothing is left to do, and no failure of this
 * rank; not being able to look is one. */
static found
look_at_own(sending *s)
{
    const rset_status st = look(s);
    found             f = {.newest = s->generation};

    if (st == RSET_ABSENT)
        s->own = RSET_ERR_NONE;
    f.takes_part = st == RSET_OK && rset_evidence_generation(&s->evidence) == s->generation &&
                   !s->evidence.is_void;
    return f;
}

/* Nothing is brought in the place of what nobody protects. */
static found
look_at_place(sending *s)
{
    rset_replica_args args = as_args(s);
    rset_replica_own  own;
    found             f = {0};

    if (look(s) != RSET_OK || rset_replica_settle(&args, &own, &s->own) != RSET_OK)
        return f;
    f = (found){.newest = own.newest, .takes_part = own.state != RSET_REPLICA_PLAIN};
    if (own.state == RSET_REPLICA_INTACT)
        f.generation = own.generation;
    if (own.state == RSET_REPLICA_PLAIN)
        (void)rset_fail(&s->own, RSET_IO,
                        "%s: a file of this name lies there that is not protected; it was left as "
                        "it is",
                        s->what->path);
    return f;
}

/* The newest that a neighbour has is older than what this process has written since, though its number is not: a clock was behind.
 * Not while a program changes the file. */
static rset_status
write_last(sending *s)
{
    rset_replica_args args = as_args(s);
    rset_file        *claim = NULL;
    rset_status       st =
        rset_claim(s->local.dir, s->prefix, s->what->path, RSET_CLAIM_ALONE, &claim, &s->own);

    if (st == RSET_OK)
        st = rset_replica_renew(&args, s->generation, &s->own);
    rset_claim_end(claim);
    return st;
}

/* Sees to it that the writer's file is the newest of all that they have. Collective over `some`. */
static rset_status
be_newest(sending *s, const found *all, rset_err *err)
{
    uint64_t    newest = s->generation;
    rset_status st = RSET_OK;

    for (int r = 1; r < s->some->size; r++)
        if (all[r].takes_part != 0 && rset_generation_newer(all[r].newest, newest))
            newest = all[r].newest;
    if (all[0].takes_part == 0 || newest == s->generation)
        return RSET_OK;
    s->generation = rset_generation_at(newest, 0, s->generation);
    if (s->some->rank == 0)
        st = write_last(s);
    *err = s->own;
    return rset_agree(s->some, st, s->args->host, err);
}

/* Who takes part: the writer, and those who have not got what it has. */
static void
list(const sending *s, const found *all, int32_t *flags)
{
    flags[0] = all[0].takes_part;
    for (int r = 1; r < s->some->size; r++)
        flags[r] = all[r].takes_part != 0 && all[r].generation != s->generation;
}

/* ---- one file ---- */

/* The writer and those who want it. */
static rset_status
copy_among(sending *s, const int32_t *flags, rset_err *err)
{
    rset_replica_copy copy = {.local = &s->local,
                              .evidence = &s->evidence,
                              .generation = s->generation,
                              .host = s->args->host};
    rset_replica_args args = as_args(s);
    int               ranks[1 + RSET_REPLICAS_MOST], n = 0;
    rset_comm         few = {0};
    rset_err          why;
    rset_status       st = RSET_OK;

    for (int r = 0; r < s->some->size; r++)
        if (flags[r] != 0)
            ranks[n++] = r;
    if (n < 2 || flags[0] == 0)
        return RSET_OK;
    if (flags[s->some->rank] != 0)
        st = rset_comm_subset(s->some, ranks, n, &few, &s->own);
    why = s->own;
    if (rset_agree(s->some, st, s->args->host, &why) != RSET_OK || flags[s->some->rank] == 0) {
        rset_comm_free(&few); /* nobody waits for a rank that has none */
        return rset_comm_usable(s->some, err);
    }
    st = rset_replica_bring(&few, &copy, &s->own);
    if (st == RSET_OK && s->some->rank != 0)
        st = rset_replica_publish(&args, &copy, &s->own);
    if (st != RSET_OK && copy.shadow != NULL)
        (void)rset_dir_unlink(s->local.dir, copy.shadow, NULL);
    free(copy.shadow);
    rset_comm_free(&few);
    return rset_comm_usable(s->some, err);
}

/* Collective over `some`; the writer learns what came of it. */
static void
send_one(sending *s, rset_replica *mine)
{
    int32_t     flags[1 + RSET_REPLICAS_MOST] = {0};
    found       all[1 + RSET_REPLICAS_MOST] = {0}, own;
    rset_err    why = RSET_ERR_NONE;
    rset_status st;

    s->generation = s->what->generation;
    own = s->some->rank == 0 ? look_at_own(s) : look_at_place(s);
    st = rset_gather_fixed(s->some, RSET_OK, s->args->host,
                           &(rset_share){.bytes = &own, .len = sizeof own}, all, &why);
    if (st == RSET_OK)
        st = be_newest(s, all, &why);
    list(s, all, flags);
    if (st == RSET_OK)
        st = copy_among(s, flags, &why);
    if (st == RSET_OK) {
        why = s->own;
        (void)rset_agree(s->some, why.status, s->args->host, &why);
    }
    if (mine != NULL) {
        mine->done = why.status == RSET_OK;
        mine->why = why;
        if (rset_evidence_generation(&s->evidence) == s->generation)
            mine->generation = s->generation;
    }
}

static void
sending_free(sending *s)
{
    rset_evidence_free(&s->evidence);
    rset_dir_close(s->local.dir);
    if (s->made != NULL) /* which fails where something has come */
        rset_dir_unmake(s->dir_path, s->made);
    free(s->made);
    free(s->dir_path);
    free(s->base);
    free(s->prefix);
}

/* Member `writer` and its neighbours become a communicator, *some_out, where this rank is one of them. All of the set hear
 * whether it is there: nobody waits for a rank that has no memory for it. */
static rset_status
join(const rset_replicas *a, int writer, int copies, rset_comm *some_out, rset_err *err)
{
    const int   n = a->set->size;
    int         ranks[1 + RSET_REPLICAS_MOST];
    rset_status st = RSET_OK;

    for (int d = 0; d <= copies; d++)
        ranks[d] = (writer + d) % n;
    if ((a->set->rank - writer + n) % n <= copies)
        st = rset_comm_subset(a->set, ranks, copies + 1, some_out, err);
    return rset_agree(a->set, st, a->host, err);
}

static rset_status
pass_to_neighbours(const rset_replicas *a, int writer, const offer *what, rset_replica *mine,
                   rset_err *err)
{
    const int n = a->set->size, most = n - 1 < RSET_REPLICAS_MOST ? n - 1 : RSET_REPLICAS_MOST;
    const int copies = what->copies < most ? what->copies : most;
    rset_comm some = {0};
    sending   s = {.args = a, .what = what, .some = &some, .own = RSET_ERR_NONE};
    rset_err  why = RSET_ERR_NONE;

    if (join(a, writer, copies, &some, &why) != RSET_OK) {
        if (mine != NULL)
            mine->why = why;
    } else if (some.size > 0) {
        send_one(&s, mine);
        sending_free(&s);
    }
    rset_comm_free(&some);
    return rset_comm_usable(a->set, err);
}

/* ---- all of them ---- */

static size_t
pack(const rset_replica *r, uint8_t *to)
{
    const offer_head h = {.generation = r->generation,
                          .copies = r->copies,
                          .keep = r->keep,
                          .length = (uint32_t)strlen(r->path)};

    memcpy(to, &h, sizeof h);
    memcpy(to + sizeof h, r->path, h.length);
    return sizeof h + h.length;
}

/* The next of `left` bytes, which another rank has sent; returns how many it takes, 0: that is none. */
static size_t
unpack(const uint8_t *from, size_t left, offer *out)
{
    offer_head h;

    if (left < sizeof h)
        return 0;
    memcpy(&h, from, sizeof h);
    if (h.length > RSET_PATH_MAX || h.length > left - sizeof h)
        return 0;
    *out = (offer){.generation = h.generation, .copies = h.copies, .keep = h.keep > 0 ? h.keep : 1};
    memcpy(out->path, from + sizeof h, h.length);
    return sizeof h + h.length;
}

static rset_status
gather(const rset_replicas *a, rset_gathered *all, rset_err *err)
{
    const size_t n = a->n < RSET_REPLICAS_AT_ONCE ? a->n : RSET_REPLICAS_AT_ONCE;
    const size_t each = sizeof(offer_head) + RSET_PATH_MAX;
    uint8_t     *mine = malloc(n * each + 1);
    size_t       len = 0;
    rset_status  st = RSET_OK;

    if (mine == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for replicas");
    for (size_t i = 0; st == RSET_OK && i < n; i++)
        len += pack(&a->mine[i], mine + len);
    st = rset_gather_all(
        a->set, st, a->host,
        &(rset_share){mine, len, each * RSET_REPLICAS_AT_ONCE * (size_t)a->set->size}, all, err);
    free(mine);
    return st;
}

/* Those of one member: the same number of times on all. */
static rset_status
send_of(const rset_replicas *a, const rset_gathered *all, int writer, rset_err *err)
{
    const uint8_t *from = all->bytes + all->offs[writer];
    size_t         left = all->offs[writer + 1] - all->offs[writer], took;
    rset_status    st = RSET_OK;
    offer          what;

    for (size_t i = 0; st == RSET_OK && left > 0; i++, from += took, left -= took) {
        took = unpack(from, left, &what);
        if (took == 0)
            return rset_comm_revoke(a->set, err, "rank %d sent no files' names",
                                    rset_comm_world(a->set, writer));
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
