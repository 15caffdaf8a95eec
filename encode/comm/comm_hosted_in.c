/* comm_hosted_in.c: what comes from other processes for ranks of this one. See comm_hosted_internal.h. */
#include "comm_hosted_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
nonsense(rset_carrier *c, int process)
{
    rset_err why = RSET_ERR_NONE;

    (void)rset_fail(&why, RSET_PEER, "process %d sent a packet that makes no sense", process);
    rset_hosted_cut(c, &why);
}

static void
take_receipt(rset_carrier *c, uint64_t receipt)
{
    for (rset_parcel *p = c->out; p != NULL; p = p->next)
        if (p->op != NULL && p->packet.receipt == receipt)
            p->taken = true;
}

/* Its text is that of the process that gave up. */
static void
take_cut(rset_carrier *c, const rset_hosted_packet *in)
{
    rset_err why = {.status = RSET_PEER, .rank = -1};

    snprintf(why.text, sizeof why.text, "%.*s", (int)in->len, (const char *)in->data);
    rset_hosted_cut(c, &why);
}

/* The op of a message from rank in->from; a long one's content follows. */
static void
take_message(rset_carrier *c, const rset_hosted_packet *in, int process, bool foreign)
{
    const size_t   room = in->len < 1 ? 1 : (size_t)in->len;
    rset_arrival  *a = calloc(1, sizeof *a);
    rset_local_op *op = malloc(sizeof *op + room);
    rset_err       why = RSET_ERR_NONE;

    if (a == NULL || op == NULL) {
        free(a);
        free(op);
        (void)rset_fail(&why, RSET_NOMEM, "no memory for a message of %zu bytes", room);
        rset_hosted_cut(c, &why);
        return;
    }
    *op = (rset_local_op){.from = in->from,
                          .to = in->to,
                          .tag = in->tag,
                          .buf = op->data,
                          .len = (size_t)in->len,
                          .eager = true,
                          .process = process,
                          .receipt = in->receipt};
    *a = (rset_arrival){.op = op, .foreign = foreign};
    *c->in_end = a;
    c->in_end = &a->next;
    if (in->receipt == 0) {
        memcpy(op->data, in->data, op->len);
        return;
    }
    if (rset_comm_irecv(
            c->how->outer,
            &(rset_message){
                .peer = process, .tag = RSET_TAG_HOSTED_BODY, .room = op->data, .len = op->len},
            &a->body, &why) != RSET_OK)
        rset_hosted_cut(c, &why);
}

static bool
makes_sense(const rset_carrier *c, const rset_hosted_packet *in, size_t len, int process)
{
    const rset_hosting *h = c->how;

    if (len < offsetof(rset_hosted_packet, data) || in->magic != RSET_HOSTED_MAGIC ||
        in->kind < 0 || in->kind >= RSET_HOSTED_KINDS || in->len > INT32_MAX ||
        len != rset_hosted_packet_size(in))
        return false;
    if (in->run != c->run)
        return true;
    if (in->kind == RSET_HOSTED_END)
        return in->receipt < (uint64_t)c->steps;
    return in->kind != RSET_HOSTED_MESSAGE ||
           (in->from >= 0 && in->from < h->ranks && h->host_of[in->from] == process &&
            in->to >= 0 && in->to < h->ranks && c->slot[in->to] >= 0);
}

static void
take_packet(rset_carrier *c, int process, size_t len)
{
    const rset_hosted_packet *in = c->room;
    const bool                foreign = in->run != c->run;

    if (!makes_sense(c, in, len, process))
        nonsense(c, process);
    else if (in->kind == RSET_HOSTED_MESSAGE && (!foreign || in->receipt != 0))
        take_message(c, in, process, foreign);
    else if (in->kind == RSET_HOSTED_RECEIPT && !foreign)
        take_receipt(c, in->receipt);
    else if (in->kind == RSET_HOSTED_END && !foreign)
        c->ended |= 1u << in->receipt;
    else if (in->kind == RSET_HOSTED_CUT && !foreign)
        take_cut(c, in);
}

bool
rset_hosted_look_for_packets(rset_carrier *c)
{
    rset_err why = RSET_ERR_NONE;
    bool     any = false, found = true;

    while (found && c->st == RSET_OK) {
        rset_message in = {.tag = RSET_TAG_HOSTED, .room = c->room, .len = sizeof *c->room};

        if (rset_comm_poll(c->how->outer, &in, &found, &why) != RSET_OK) {
            rset_hosted_cut(c, &why);
            found = false;
        }
        if (found && in.peer >= 0)
            take_packet(c, in.peer, in.len);
        any = any || found;
    }
    return any;
}

/* In the order in which they came. */
bool
rset_hosted_look_after_in(rset_carrier *c)
{
    rset_err why = RSET_ERR_NONE;
    bool     any = false, done = true;

    while (c->in != NULL && c->st == RSET_OK) {
        rset_arrival *a = c->in;

        if (a->body.active && rset_comm_test(c->how->outer, &a->body, &done, &why) != RSET_OK)
            rset_hosted_cut(c, &why);
        if (a->body.active || c->st != RSET_OK)
            break;
        c->in = a->next;
        if (c->in == NULL)
            c->in_end = &c->in;
        if (a->foreign)
            free(a->op);
        else
            rset_local_deliver(&c->world, &c->world.boxes[c->slot[a->op->to]], a->op);
        free(a);
        any = true;
    }
    return any;
}
