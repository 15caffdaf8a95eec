/* rendezvous_words.h: a rank that plays its part by messages, where the real one cannot be stopped at that place. */
#ifndef RSET_TEST_RENDEZVOUS_WORDS_H
#define RSET_TEST_RENDEZVOUS_WORDS_H

#include "rendezvous/rendezvous_internal.h"
#include "rendezvous_ranks.h"

static inline void
say(rank *me, int to, const rset_note *n)
{
    rset_message out = {
        .peer = to, .tag = RSET_TAG_RENDEZVOUS, .data = n, .len = rset_note_size(n)};
    rset_req req = {0};
    bool     done = false;

    CHECK(rset_comm_isend(me->comm, &out, &req, &me->err) == RSET_OK);
    while (!done)
        CHECK(rset_comm_test(me->comm, &req, &done, &me->err) == RSET_OK);
}

/* The next one of that type; what comes before is dropped. */
static inline rset_note
hear(rank *me, int type)
{
    rset_note n = {0};
    bool      found = false;

    while (!found || n.type != type) {
        rset_message in = {.tag = RSET_TAG_RENDEZVOUS, .room = &n, .len = sizeof n};

        CHECK(rset_comm_poll(me->comm, &in, &found, &me->err) == RSET_OK);
        if (!found)
            usleep(1000);
    }
    return n;
}

#endif
