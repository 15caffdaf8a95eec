/* combine.c: the combining tree: in a calm round each rank merges what the ranks below it propose, and sends that up; what
 * rank 0 says to it all goes down the same way. See rendezvous_internal.h. Who waits, and when a round is not calm any
 * more, is in wait.c and root.c. */
#include "rendezvous_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

rset_status
rset_combine_open(rset_rendezvous *m, rset_err *err)
{
    int n = 0;

    while (rset_coll_child(m->comm, m->comm->rank, n) >= 0)
        n++;
    m->children = n > 0 ? calloc((size_t)n, sizeof *m->children) : NULL;
    if (n > 0 && m->children == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a rendezvous of %d ranks", m->comm->size);
    m->nchildren = n;
    m->round = 1;
    return RSET_OK;
}

void
rset_combine_renew(rset_rendezvous *m)
{
    if (m->nchildren > 0)
        memset(m->children, 0, (size_t)m->nchildren * sizeof *m->children);
    m->round = 1;
    m->direct = m->up = m->up_seq = 0;
}

/* ---- rounds ---- */

bool
rset_combine_is_direct(const rset_rendezvous *m)
{
    return m->direct >= m->round;
}

void
rset_combine_turn(rset_rendezvous *m)
{
    rset_combine_told(m, m->round);
}

/* GO of this round may still be under way when somebody speaks of the next one. */
void
rset_combine_told(rset_rendezvous *m, uint64_t round)
{
    if ((round == m->round || round == m->round + 1) && round > m->direct)
        m->direct = round;
}

/* ---- up ---- */

static void
send_away(rset_rendezvous *m, int child, uint64_t round)
{
    rset_note n = {.type = RSET_NOTE_DIRECT, .round = round};
    rset_err  ignored = RSET_ERR_NONE;

    (void)rset_outbox_post(&m->outbox, child, &n, &ignored);
}

void
rset_combine_take(rset_rendezvous *m, int from, const rset_note *n)
{
    if (n->round != m->round && n->round != m->round + 1)
        return;
    for (int k = 0; k < m->nchildren; k++)
        if (rset_coll_child(m->comm, m->comm->rank, k) == from) {
            m->children[k] = *n;
            m->stirred = true;
            if (m->leaving && m->comm->rank != 0)
                send_away(m, from, n->round);
        }
}

/* Has child number k sent up something in this round? */
static bool
is_here(const rset_rendezvous *m, int k)
{
    return m->children[k].type == RSET_NOTE_TOGETHER && m->children[k].round == m->round;
}

rset_combined
rset_combine_look(const rset_rendezvous *m, const rset_note *mine, rset_note *sum_out)
{
    bool whole = true;

    *sum_out = *mine;
    for (int k = 0; k < m->nchildren; k++) {
        if (!is_here(m, k))
            whole = false;
        else if (!rset_root_alike(m, mine, &m->children[k]))
            return RSET_COMBINE_DIFFERS;
        else
            rset_proposal_merge(sum_out, &m->children[k]);
    }
    return whole ? RSET_COMBINE_WHOLE : RSET_COMBINE_WAITS;
}

bool
rset_combine_anybody(const rset_rendezvous *m)
{
    for (int k = 0; k < m->nchildren; k++)
        if (is_here(m, k))
            return true;
    return false;
}

rset_status
rset_combine_send_up(rset_rendezvous *m, const rset_note *sum, rset_err *err)
{
    rset_note n = *sum;

    assert(m->comm->rank != 0 && m->up < m->round && !rset_combine_is_direct(m)); /* Z3 */
    n.type = RSET_NOTE_TOGETHER;
    n.round = m->up = m->round;
    m->up_seq = m->seq;
    return rset_outbox_post(&m->outbox, rset_coll_parent(m->comm->rank), &n, err);
}

/* ---- down ---- */

void
rset_combine_go(rset_rendezvous *m, const rset_note *go)
{
    rset_err ignored = RSET_ERR_NONE;

    for (int k = m->nchildren - 1; k >= 0 && go->relay != 0; k--)
        (void)rset_outbox_post(&m->outbox, rset_coll_child(m->comm, m->comm->rank, k), go,
                               &ignored);
    m->round++;
}
