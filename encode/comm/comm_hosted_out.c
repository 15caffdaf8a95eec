/* comm_hosted_out.c: what goes from ranks of this process to other processes. See comm_hosted_internal.h. */
#include "comm_hosted_internal.h"

#include <stdlib.h>
#include <string.h>

void
rset_hosted_cut(rset_carrier *c, const rset_err *why)
{
    if (c->st == RSET_OK) {
        c->st = why->status;
        *c->err = *why;
    }
    rset_local_cut(&c->world, why);
}

size_t
rset_hosted_packet_size(const rset_hosted_packet *p)
{
    const bool all =
        p->kind == RSET_HOSTED_CUT || (p->kind == RSET_HOSTED_MESSAGE && p->receipt == 0);

    return offsetof(rset_hosted_packet, data) + (all ? (size_t)p->len : 0);
}

rset_parcel *
rset_hosted_new_parcel(rset_carrier *c, rset_hosted_kind kind)
{
    rset_parcel *p = calloc(1, sizeof *p);
    rset_err     why = RSET_ERR_NONE;

    if (p == NULL) {
        (void)rset_fail(&why, RSET_NOMEM, "no memory for a message to another process");
        rset_hosted_cut(c, &why);
        return NULL;
    }
    p->packet.magic = RSET_HOSTED_MAGIC;
    p->packet.run = c->run;
    p->packet.kind = kind;
    p->next = c->out;
    c->out = p;
    return p;
}

void
rset_hosted_send(rset_carrier *c, rset_parcel *p, int process)
{
    rset_comm   *outer = c->how->outer;
    rset_message m = {.peer = process,
                      .tag = RSET_TAG_HOSTED,
                      .data = &p->packet,
                      .len = rset_hosted_packet_size(&p->packet)};
    rset_err     why = RSET_ERR_NONE;
    rset_status  st = rset_comm_isend(outer, &m, &p->head, &why);

    if (st == RSET_OK && p->op != NULL) {
        m.tag = RSET_TAG_HOSTED_BODY;
        m.data = p->op->buf;
        m.len = p->op->len;
        st = rset_comm_isend(outer, &m, &p->body, &why);
    }
    if (st != RSET_OK)
        rset_hosted_cut(c, &why);
}

/* A message of a rank here, or that one was taken. */
static void
send_op(rset_carrier *c, rset_local_op *op)
{
    const bool   receipt = op->receipt != 0;
    rset_parcel *p = rset_hosted_new_parcel(c, receipt ? RSET_HOSTED_RECEIPT : RSET_HOSTED_MESSAGE);
    int          process = receipt ? op->process : c->how->host_of[op->to];

    if (p == NULL && (receipt || op->eager))
        free(op);
    else if (p == NULL)
        rset_local_arrived(op); /* its sender learns of the cut */
    if (p == NULL)
        return;
    p->packet.from = op->from;
    p->packet.to = op->to;
    p->packet.tag = op->tag;
    p->packet.len = receipt ? 0 : op->len;
    p->packet.receipt = receipt ? op->receipt : op->eager ? 0 : ++c->receipts;
    if (!receipt && !op->eager)
        p->op = op;
    else if (!receipt && op->len > 0)
        memcpy(p->packet.data, op->buf, op->len);
    if (p->op == NULL)
        free(op);
    rset_hosted_send(c, p, process);
}

bool
rset_hosted_send_all(rset_carrier *c)
{
    rset_local_op *op;
    bool           any;

    pthread_mutex_lock(&c->post.lock);
    op = c->post.out;
    c->post.out = NULL;
    c->post.out_end = &c->post.out;
    pthread_mutex_unlock(&c->post.lock);
    any = op != NULL;
    while (op != NULL) {
        rset_local_op *next = op->next;

        send_op(c, op);
        op = next;
    }
    return any;
}

/* To all other processes, of memory that was put aside: only where something has failed. */
void
rset_hosted_send_cut(rset_carrier *c)
{
    const rset_comm *outer = c->how->outer;
    rset_err         ignored = RSET_ERR_NONE;

    *c->last = (rset_hosted_packet){.magic = RSET_HOSTED_MAGIC,
                                    .run = c->run,
                                    .kind = RSET_HOSTED_CUT,
                                    .len = strlen(c->post.why.text)};
    memcpy(c->last->data, c->post.why.text, (size_t)c->last->len);
    for (int r = 0; r < outer->size; r++) {
        const rset_message m = {.peer = r,
                                .tag = RSET_TAG_HOSTED,
                                .data = c->last,
                                .len = rset_hosted_packet_size(c->last)};

        if (r != outer->rank)
            (void)rset_comm_isend(c->how->outer, &m, &c->told[r], &ignored);
    }
}

/* Is it out, and where it is long, taken? */
static bool
is_over(rset_carrier *c, rset_parcel *p)
{
    rset_err why = RSET_ERR_NONE;
    bool     done;

    if ((p->head.active && rset_comm_test(c->how->outer, &p->head, &done, &why) != RSET_OK) ||
        (p->body.active && rset_comm_test(c->how->outer, &p->body, &done, &why) != RSET_OK))
        rset_hosted_cut(c, &why);
    return !p->head.active && !p->body.active && (p->op == NULL || p->taken);
}

bool
rset_hosted_look_after_out(rset_carrier *c)
{
    bool any = false;

    for (rset_parcel **at = &c->out; *at != NULL;) {
        rset_parcel *p = *at;

        if (!is_over(c, p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (p->op != NULL)
            rset_local_arrived(p->op);
        free(p);
        any = true;
    }
    return any;
}
