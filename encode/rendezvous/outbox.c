/* outbox.c: messages that were sent and may still be under way: nobody waits for them. See rendezvous_internal.h. */
#include "rendezvous_internal.h"

#include <stdlib.h>

struct rset_outbox_message {
    rset_outbox_message *next;
    rset_req             req;
    rset_note            note;
};

rset_status
rset_outbox_open(rset_outbox *box, rset_comm *comm, rset_err *err)
{
    *box = (rset_outbox){.comm = comm, .blank = calloc(1, sizeof *box->blank)};
    return box->blank != NULL ? RSET_OK : rset_fail(err, RSET_NOMEM, "no memory for messages");
}

void
rset_outbox_close(rset_outbox *box)
{
    for (rset_outbox_message *l = box->messages, *next; l != NULL; l = next) {
        next = l->next;
        if (!l->req.active || rset_comm_cancel(box->comm, &l->req))
            free(l); /* else the transport keeps it */
    }
    free(box->blank);
    *box = (rset_outbox){0};
}

/* One is always kept. */
static void
drop(rset_outbox *box, rset_outbox_message *l)
{
    if (box->blank == NULL)
        box->blank = l;
    else
        free(l);
}

void
rset_outbox_renew(rset_outbox *box)
{
    for (rset_outbox_message *l = box->messages, *next; l != NULL; l = next) {
        next = l->next;
        if (!l->req.active || rset_comm_cancel(box->comm, &l->req))
            drop(box, l); /* else the transport keeps it */
    }
    box->messages = NULL;
}

void
rset_outbox_reap(rset_outbox *box)
{
    for (rset_outbox_message **at = &box->messages; *at != NULL;) {
        rset_outbox_message *l = *at;
        rset_err             ignored = RSET_ERR_NONE;
        bool                 done = !l->req.active;

        if (!done && rset_comm_test(box->comm, &l->req, &done, &ignored) != RSET_OK)
            return;
        if (!done) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        drop(box, l);
    }
}

/* Without memory, once it is back: a rank that cannot say that it comes keeps all others waiting. */
static rset_outbox_message *
take_blank(rset_outbox *box)
{
    const double         until = rset_clock() + box->comm->timeout;
    rset_outbox_message *l;
    rset_pause           pause = {0};
    rset_err             ignored = RSET_ERR_NONE;

    while (box->blank == NULL && rset_clock() < until &&
           rset_comm_usable(box->comm, &ignored) == RSET_OK) {
        rset_outbox_reap(box);
        rset_pause_once(&pause);
    }
    l = box->blank;
    box->blank = NULL;
    return l;
}

rset_status
rset_outbox_post(rset_outbox *box, int to, const rset_note *n, rset_err *err)
{
    rset_outbox_message *l = malloc(sizeof *l);
    rset_message         out = {.peer = to, .tag = RSET_TAG_RENDEZVOUS, .len = rset_note_size(n)};
    rset_status          st;

    if (l == NULL)
        l = take_blank(box);
    if (l == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    *l = (rset_outbox_message){.note = *n};
    l->note.part = box->part;
    out.data = &l->note;
    st = rset_comm_isend(box->comm, &out, &l->req, err);
    if (st != RSET_OK) {
        drop(box, l);
        return st;
    }
    l->next = box->messages;
    box->messages = l;
    return RSET_OK;
}
