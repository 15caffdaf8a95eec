/* root.c: rank 0's side of a rendezvous: what comes, whether the round stays calm, and when all are told to go. What it
 * answers in a direct round is in settle.c. See rendezvous_internal.h. */
#include "rendezvous_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what is kept of each rank ---- */

/* Without memory it is tried for some ms: others may be about to give some back, and all wait for rank 0. */
static void *
insist(size_t n, size_t size)
{
    rset_pause pause = {0};
    void      *p = calloc(n, size);

    for (int tries = 0; p == NULL && tries < 200; tries++) {
        rset_pause_once(&pause);
        p = calloc(n, size);
    }
    return p;
}

/* One more rank has files of this kind, which not all were known to have. When all have, none was wrong to come: they do
 * it together from now on. */
static void
count_one(rset_rendezvous *m, const rset_kind *kind)
{
    rset_note        n = {.type = RSET_NOTE_ALL, .op = RSET_RENDEZVOUS_CLOSE, .kind = *kind};
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);

    if (k == NULL || ++k->have != m->comm->size)
        return;
    rset_kind_for_all(k, RSET_RENDEZVOUS_CLOSE);
    rset_settle_tell_all(m, &n);
}

void
rset_root_announce(rset_rendezvous *m, int op, const rset_kind *kind)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);
    rset_note        n = {.type = RSET_NOTE_HAVE, .op = op, .kind = *kind};
    rset_err         ignored = RSET_ERR_NONE;

    if (k == NULL || k->announced || op != RSET_RENDEZVOUS_CLOSE)
        return;
    k->announced = true;
    if (m->comm->rank == 0)
        count_one(m, kind);
    else
        (void)rset_outbox_post(&m->outbox, 0, &n, &ignored);
}

static void
take_leave(rset_rendezvous *m, int from)
{
    if (m->gone == NULL)
        m->gone = insist((size_t)m->comm->size, sizeof *m->gone);
    if (m->gone == NULL || m->gone[from])
        return;
    m->gone[from] = true;
    m->ngone++;
    if (m->guests != NULL)
        m->guests[from].here = false;
}

/* ---- a direct round ---- */

static void
take_proposal(rset_rendezvous *m, int from, const rset_note *n)
{
    const bool  likely = n->waited >= 0 && n->waited <= m->comm->timeout;
    rset_guest *s = &m->guests[from];
    rset_note   no = {.type = RSET_NOTE_NO, .told = 1, .known = 1};

    s->here = true;
    s->note = *n;
    s->since = rset_clock() - (likely ? n->waited : 0);
    if (!rset_kind_is_for_some(rset_root_kind_of(m, n), n->op, n->evidence != 0))
        return;
    snprintf(no.text, sizeof no.text, "this kind of file is not one per rank");
    rset_settle_answer(m, from, &no);
}

/* It has waited long enough, or knows that somebody will not come. */
static void
take_withdrawal(rset_rendezvous *m, int from)
{
    rset_guest *s = &m->guests[from];

    if (rset_kind_sure_absence(rset_root_kind_of(m, &s->note), &s->note, s->since) != NULL)
        s->here = false;
    else
        rset_settle_give_up(m, from);
}

/* Rank 0's own proposal, in a direct round. */
static void
take_own(rset_rendezvous *m)
{
    rset_note n = m->mine;

    rset_root_announce(m, n.op, &n.kind);
    n.waited = rset_clock() - m->since;
    take_proposal(m, 0, &n);
}

/* From now on all propose to rank 0 itself, and are told so; false without memory for that. */
static bool
turn(rset_rendezvous *m)
{
    rset_note n = {.type = RSET_NOTE_DIRECT, .round = m->round};

    if (m->guests != NULL)
        return true;
    m->guests = insist((size_t)m->comm->size, sizeof *m->guests);
    if (m->guests == NULL) {
        m->answer = (rset_note){.type = RSET_NOTE_NO};
        snprintf(m->answer.text, sizeof m->answer.text,
                 "no memory for the proposals of %d ranks; free some and run again", m->comm->size);
        return false;
    }
    m->stirred = true;
    rset_combine_turn(m);
    rset_settle_tell_all(m, &n);
    if (m->waits)
        take_own(m);
    return true;
}

/* ---- a calm round ---- */

/* How long rank 0 waits before it wants to know who is missing: soon enough to say so in time. */
static double
calm_wait(rset_rendezvous *m)
{
    const double half = (rset_rendezvous_until(m, &m->mine, m->since, 0) - m->since) / 2;

    return half < RSET_LONG_WAIT - 1 ? half : RSET_LONG_WAIT - 1;
}

/* Does rank 0 know of something that has to be told to somebody who waits? */
static bool
is_disturbed(rset_rendezvous *m)
{
    const rset_known_kind *k = rset_root_kind_of(m, &m->mine);

    if (!m->waits)
        return m->leaving && rset_combine_anybody(m);
    return m->ngone > 0 || rset_kind_sure_absence(k, &m->mine, m->since) != NULL ||
           rset_kind_is_for_some(k, m->mine.op, m->mine.evidence != 0) ||
           rset_clock() >= m->since + calm_wait(m);
}

static void
decide_calm(rset_rendezvous *m)
{
    rset_combined what = RSET_COMBINE_WAITS;
    rset_note     sum;

    if (m->waits && m->stirred)
        what = rset_combine_look(m, &m->mine, &sum);
    m->stirred = false;
    if (what == RSET_COMBINE_DIFFERS || is_disturbed(m)) {
        (void)turn(m);
    } else if (what == RSET_COMBINE_WHOLE) {
        rset_settle_go(m, &sum, true);
        m->answer = m->last_go;
        rset_combine_go(m, &m->last_go);
    }
}

/* ---- the door ---- */

void
rset_root_come(rset_rendezvous *m, const rset_note *mine)
{
    m->mine = *mine;
    m->waits = true;
    m->since = m->whole->began;
    m->stirred = true;
    if (m->guests != NULL)
        take_own(m);
    else if (rset_combine_is_direct(m))
        (void)turn(m);
}

void
rset_root_decide(rset_rendezvous *m)
{
    assert(m->comm->rank == 0); /* Z2 */
    if (m->guests == NULL)
        decide_calm(m);
    if (m->guests != NULL && (m->stirred || rset_clock() >= m->due))
        rset_settle_round(m);
}

/* Of a rank that does not know yet that all were told to go: it gets that from its parent, who may be slow, or dead. */
static void
say_again(rset_rendezvous *m, int from)
{
    rset_err ignored = RSET_ERR_NONE;

    (void)rset_outbox_post(&m->outbox, from, &m->last_go, &ignored);
}

void
rset_root_go_elsewhere(rset_rendezvous *m)
{
    m->waits = false;
    m->stirred = true;
    if (m->guests != NULL)
        m->guests[0].here = false;
}

static void
take_direct(rset_rendezvous *m, int from, const rset_note *n)
{
    if (n->round + 1 == m->round)
        say_again(m, from);
    if (n->round != m->round || !turn(m)) /* Z3 */
        return;
    if (n->type == RSET_NOTE_PROPOSE)
        take_proposal(m, from, n);
    else if (n->type == RSET_NOTE_ELSEWHERE)
        m->guests[from].here = m->guests[from].here && m->guests[from].note.seq != n->seq;
    else if (m->guests[from].here && m->guests[from].note.seq == n->seq)
        take_withdrawal(m, from);
}

void
rset_root_take(rset_rendezvous *m, int from, const rset_note *n)
{
    m->stirred = true;
    if (m->guests != NULL)
        m->guests[from].missed = 0;
    switch (n->type) {
    case RSET_NOTE_PROPOSE:
    case RSET_NOTE_ELSEWHERE:
    case RSET_NOTE_WITHDRAW: take_direct(m, from, n); break;
    case RSET_NOTE_HAVE: count_one(m, &n->kind); break;
    case RSET_NOTE_SOME: rset_settle_spread(m, &n->kind, n->op, n->evidence != 0); break;
    case RSET_NOTE_LEAVE: take_leave(m, from); break;
    default: break; /* nobody else's business with rank 0 */
    }
}
