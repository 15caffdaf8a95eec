/* comm_renew.c: a communicator that was revoked is used again, once all of its ranks have said that they are here: see comm.h. Words
 * go past the collectives and point to point calls, which a revoked communicator refuses; their tags are those of the time
 * before, so a word is never taken for one of another revocation. */
#include "comm_internal.h"

#include <stdlib.h>

typedef enum {
    WORD_HERE = 1, /* to rank 0: it is revoked, and I am here */
    WORD_CALL,     /* from rank 0: it is revoked */
    WORD_GO        /* from rank 0: all are here */
} word_type;

/* The words themselves: static, since a transport may read one at any time after it was sent. */
static const uint8_t words[] = {0, WORD_HERE, WORD_CALL, WORD_GO};

static bool
say(const rset_comm *comm, int to, word_type what, rset_req *req)
{
    const rset_message message = {.peer = rset_comm_world(comm, to),
                                  .tag = rset_comm_tag(comm, RSET_TAG_RENEW),
                                  .data = &words[what],
                                  .len = sizeof words[what]};
    rset_err           ignored = RSET_ERR_NONE;

    return comm->transport->isend(comm->self, &message, req, &ignored) == RSET_OK;
}

/* A word is on its way at once; what is not keeps its request. */
static bool
is_over(const rset_comm *comm, rset_req *req)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     done = true;

    return comm->transport->test(comm->self, req, &done, &ignored) != RSET_OK || done;
}

/* To all others, from rank 0; false without memory: try again. */
static bool
say_to_all(const rset_comm *comm, word_type what)
{
    rset_req *reqs = calloc((size_t)comm->size, sizeof *reqs);
    bool      over = true;

    if (reqs == NULL)
        return false;
    for (int r = 1; r < comm->size; r++)
        (void)say(comm, r, what, &reqs[r]);
    for (int r = 1; r < comm->size; r++)
        over = is_over(comm, &reqs[r]) && over;
    if (over) /* else the transport may still use them: leaked on purpose */
        free(reqs);
    return true;
}

static void
hear(rset_comm *comm, int from, uint8_t what)
{
    rset_renewal *r = &comm->renewal;

    if (what == WORD_HERE && comm->rank == 0)
        r->here++;
    else if (what == WORD_GO && from == 0)
        r->go = true;
    else if (what != WORD_CALL || from != 0)
        return;
    if (!comm->dead)
        (void)rset_comm_revoke(comm, NULL,
                               "another rank has given up waiting, for this one or a third one");
}

static void
take_words(rset_comm *comm)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     found = true;

    while (found) {
        uint8_t      word = 0;
        rset_message in = {
            .tag = rset_comm_tag(comm, RSET_TAG_RENEW), .room = &word, .len = sizeof word};

        if (comm->transport->poll(comm->self, &in, &found, &ignored) != RSET_OK)
            return;
        if (found && in.len == sizeof word)
            hear(comm, rset_comm_rank_of(comm, in.peer), word);
    }
}

/* Once; false: the transport takes nothing any more, or there was no memory. */
static bool
say_here(rset_comm *comm)
{
    rset_req req = {0};

    if (comm->renewal.said)
        return true;
    comm->renewal.said =
        comm->rank == 0 ? say_to_all(comm, WORD_CALL) : say(comm, 0, WORD_HERE, &req);
    if (comm->rank != 0)
        (void)is_over(comm, &req);
    return comm->renewal.said;
}

/* This rank takes in the words that have arrived. True: it may go on. Rank 0, where it `tells`, says so to all once all are here. */
static bool
may_go(rset_comm *comm, bool tells)
{
    rset_renewal *r = &comm->renewal;

    take_words(comm);
    if (tells && comm->rank == 0 && r->here == comm->size - 1)
        r->go = say_to_all(comm, WORD_GO);
    return r->go;
}

/* Is there a range of tags that was not used yet? */
static bool
has_tags(const rset_comm *comm)
{
    return comm->tags <= comm->most_tag - 2 * RSET_TAGS;
}

static bool
await_go(rset_comm *comm, double patience)
{
    enum { TRIES = 6 }; /* with a dead rank, all of them together do not take two patiences */
    rset_renewal *r = &comm->renewal;
    const double  until = rset_clock() + patience / (1 << r->tries);
    rset_pause    pause = {.until = until};

    while (!may_go(comm, patience >= 0)) {
        if (patience <= 0 || r->tries >= TRIES)
            return false;
        if (rset_clock() > until) {
            r->tries++;
            return false;
        }
        rset_pause_once(&pause);
    }
    return true;
}

void
rset_comm_reset(rset_comm *comm)
{
    comm->dead = false;
    comm->why[0] = '\0';
    comm->calls = 0;
    comm->spare = RSET_SPARE_UNKNOWN; /* some may have learnt it, and others not */
    comm->renewal = (rset_renewal){0};
}

rset_status
rset_comm_renew(rset_comm *comm, double patience, bool *renewed_out, rset_err *err)
{
    *renewed_out = false;
    if (comm->size < 2)
        return rset_comm_usable(comm, err);
    take_words(comm);
    if (!comm->dead || !has_tags(comm))
        return rset_comm_usable(comm, err);
    *renewed_out = say_here(comm) && await_go(comm, patience);
    if (!*renewed_out)
        return rset_comm_usable(comm, err);
    comm->tags += RSET_TAGS;
    rset_comm_reset(comm);
    return RSET_OK;
}
