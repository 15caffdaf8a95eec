/* meet.c: see meet.h: the door of each rank. Rank 0's side is in meet_root.c. */
#include "meet_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 256 };

/* How long a rank that withdraws waits for what rank 0 says to that: it may have called everybody in
 * that very moment. When rank 0 is silent it has not come itself. */
#define GRACE 0.5

#define PATIENCE_MIN 0.1

struct rset_letter {
    rset_letter *next;
    rset_req     req;
    rset_note    note;
};

rset_status
rset_meeting_new(rset_comm *comm, const char *host, rset_meeting **out, rset_err *err)
{
    rset_meeting *m = calloc(1, sizeof *m);

    if (m != NULL) {
        m->comm = comm;
        snprintf(m->host, sizeof m->host, "%s", host);
        m->kinds = calloc(KINDS_MAX, sizeof *m->kinds);
        m->blank = calloc(1, sizeof *m->blank);
        m->seats = comm->rank == 0 ? calloc((size_t)comm->size, sizeof *m->seats) : NULL;
    }
    if (m == NULL || m->kinds == NULL || m->blank == NULL ||
        (comm->rank == 0 && m->seats == NULL)) {
        rset_meeting_free(m);
        return rset_fail(err, RSET_NOMEM, "no memory for a meeting of %d ranks", comm->size);
    }
    *out = m;
    return RSET_OK;
}

void
rset_meeting_free(rset_meeting *meeting)
{
    rset_letter *l, *next;

    if (meeting == NULL)
        return;
    for (l = meeting->letters; l != NULL; l = next) {
        next = l->next;
        if (!l->req.active || rset_comm_cancel(meeting->comm, &l->req))
            free(l); /* else the transport keeps it */
    }
    free(meeting->blank);
    free(meeting->kinds);
    free(meeting->seats);
    free(meeting);
}

/* Where the suffix begins whose digits say what the file is, not which: ".h5", not ".0003". */
static const char *
suffix(const char *base)
{
    const char *dot = strrchr(base, '.');

    if (dot == NULL || dot[1 + strspn(dot + 1, "0123456789")] == '\0')
        return base + strlen(base);
    return dot;
}

void
rset_meet_kind(const char *path, char kind_out[RSET_KIND_MAX])
{
    const char *slash = strrchr(path, '/'), *at = slash != NULL ? slash + 1 : path;
    const char *end = suffix(at);
    size_t      n = 0;

    for (; *at != '\0' && n + 1 < RSET_KIND_MAX; at++) {
        bool digit = *at >= '0' && *at <= '9' && at < end;

        if (!digit)
            kind_out[n++] = *at;
        else if (n == 0 || kind_out[n - 1] != '#')
            kind_out[n++] = '#';
    }
    kind_out[n] = '\0';
}

const char *
rset_meet_op_text(int op)
{
    return op == RSET_MEET_OPEN ? "opening" : "closing";
}

static rset_known_kind *
find_kind(rset_meeting *m, const char *kind, int op)
{
    for (size_t i = 0; i < m->nkinds; i++)
        if (m->kinds[i].op == op && strcmp(m->kinds[i].kind, kind) == 0)
            return &m->kinds[i];
    return NULL;
}

/* Opened in vain before, and protected: worth a short wait. */
bool
rset_meet_is_seldom(rset_meeting *m, const char *kind, int op, bool evidence)
{
    return find_kind(m, kind, RSET_SELDOM - op) != NULL ||
           (evidence && find_kind(m, kind, -op) != NULL);
}

double
rset_meet_patience(rset_meeting *m, const rset_note *what, int missed)
{
    double patience = m->comm->timeout;

    if (rset_meet_is_seldom(m, what->kind, what->op, what->evidence != 0))
        return patience < RSET_MEET_SHORT ? patience : RSET_MEET_SHORT;

    for (; missed > 0 && patience > PATIENCE_MIN; missed--)
        patience /= 4;
    return missed > 0 && m->comm->timeout > PATIENCE_MIN ? PATIENCE_MIN : patience;
}

/* ---- what is known of kinds ---- */

static void
remember(rset_meeting *m, const char *kind, int op)
{
    rset_known_kind *k = find_kind(m, kind, op);

    if (k != NULL)
        return;
    k = &m->kinds[m->next_kind];
    m->next_kind = (m->next_kind + 1) % KINDS_MAX;
    m->nkinds += m->nkinds < KINDS_MAX;
    snprintf(k->kind, sizeof k->kind, "%s", kind);
    k->op = op;
    k->insisted = false;
}

static bool
forget(rset_meeting *m, const char *kind, int op)
{
    rset_known_kind *k = find_kind(m, kind, op);

    if (k != NULL)
        *k = (rset_known_kind){.op = 0};
    return k != NULL;
}

/* That a file was opened by some before it was protected says little about it now: a rank that has lost
 * it has nothing left that says it was. */
void
rset_meet_done(rset_meeting *m, const char *kind, int op)
{
    remember(m, kind, op);
    (void)forget(m, kind, RSET_SELDOM - op);
    if (op == RSET_MEET_CLOSE && forget(m, kind, -RSET_MEET_OPEN))
        remember(m, kind, RSET_SELDOM - RSET_MEET_OPEN);
}

/* A protected file was done together once, and will be again: that it was opened by some says little. */
bool
rset_meet_learn(rset_meeting *m, const char *kind, int op, bool evidence)
{
    bool met = rset_meet_was_met(m, kind, RSET_MEET_CLOSE) || rset_meet_was_met(m, kind, op);
    int  code = op == RSET_MEET_OPEN && (evidence || met) ? RSET_SELDOM - op : -op;

    if (find_kind(m, kind, code) != NULL || (code == -op && rset_meet_was_met(m, kind, op)))
        return false;
    remember(m, kind, code);
    return true;
}

bool
rset_meet_was_met(rset_meeting *m, const char *kind, int op)
{
    return find_kind(m, kind, RSET_MEET_OPEN) != NULL ||
           (op == RSET_MEET_CLOSE && find_kind(m, kind, RSET_MEET_CLOSE) != NULL);
}

/* What was done together is never taken for what is not. */
bool
rset_meet_is_alone(rset_meeting *m, const char *kind, int op, bool evidence)
{
    return find_kind(m, kind, -op) != NULL && !rset_meet_was_met(m, kind, op) &&
           !rset_meet_is_seldom(m, kind, op, evidence);
}

/* ---- sending ---- */

static void
reap_letters(rset_meeting *m)
{
    for (rset_letter **at = &m->letters; *at != NULL;) {
        rset_letter *l = *at;
        rset_err     ignored = RSET_ERR_NONE;
        bool         done = !l->req.active;

        if (!done && rset_comm_test(m->comm, &l->req, &done, &ignored) != RSET_OK)
            return;
        if (!done) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        if (m->blank == NULL)
            m->blank = l;
        else
            free(l);
    }
}

/* Without memory the blank one, once it is back: a rank that cannot say that it comes keeps all others waiting. */
static rset_letter *
new_letter(rset_meeting *m, const rset_note *n)
{
    const double until = rset_clock() + m->comm->timeout;
    rset_letter *l = malloc(sizeof *l);
    rset_pause   pause = {0};
    rset_err     ignored = RSET_ERR_NONE;

    while (l == NULL && m->blank == NULL && rset_clock() < until &&
           rset_comm_usable(m->comm, &ignored) == RSET_OK) {
        reap_letters(m);
        rset_pause_once(&pause);
    }
    if (l == NULL) {
        l = m->blank;
        m->blank = NULL;
    }
    if (l != NULL)
        *l = (rset_letter){.note = *n};
    return l;
}

/* Sends without waiting; the copy lives until the transport is done with it. */
rset_status
rset_meet_post(rset_meeting *m, int to, const rset_note *n, rset_err *err)
{
    rset_letter *l = new_letter(m, n);
    rset_status  st;

    if (l == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    st = rset_comm_isend(m->comm, to, RSET_TAG_MEET, &l->note, sizeof l->note, &l->req, err);
    if (st != RSET_OK) {
        free(l);
        return st;
    }
    l->next = m->letters;
    m->letters = l;
    return RSET_OK;
}

/* ---- receiving ---- */

static void
take(rset_meeting *m, int from, rset_note *n)
{
    n->kind[sizeof n->kind - 1] = n->host[sizeof n->host - 1] = n->text[sizeof n->text - 1] = '\0';
    if (m->comm->rank == 0) {
        rset_meet_take_to_root(m, from, n);
        return;
    }
    if (from != 0)
        return;
    m->root_missed = 0;
    if (n->type == NOTE_LEARN)
        (void)rset_meet_learn(m, n->kind, n->op, n->evidence != 0);
    else if (n->type == NOTE_BYE_ALL)
        m->all_gone = true;
    else if ((n->type == NOTE_GO || n->type == NOTE_NO) && n->seq == m->seq)
        m->answer = *n;
}

/* Takes in all messages that are there; *any_out: there was one. */
static rset_status
take_all(rset_meeting *m, bool *any_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        found = true;

    *any_out = false;
    reap_letters(m);
    while (st == RSET_OK && found) {
        rset_note n = {0};
        int       from = -1;
        size_t    got = 0;

        st = rset_comm_poll(m->comm, RSET_TAG_MEET, &n, sizeof n, &from, &got, &found, err);
        if (st == RSET_OK && found && got == sizeof n)
            take(m, from, &n);
        *any_out = *any_out || found;
    }
    return st;
}

/* ---- the door ---- */

static rset_note
note_of(const rset_meeting *m, const rset_proposal *p)
{
    rset_note n = {.type = NOTE_PROPOSE,
                   .op = (int32_t)p->op,
                   .seq = m->seq,
                   .required = p->required,
                   .evidence = p->evidence,
                   .key = p->key,
                   .bits = p->bits,
                   .most = p->most};

    snprintf(n.kind, sizeof n.kind, "%s", p->kind);
    snprintf(n.host, sizeof n.host, "%s", m->host);
    return n;
}

static rset_status
withdraw(rset_meeting *m, const rset_note *mine, rset_err *err)
{
    rset_note n = *mine;

    n.type = NOTE_WITHDRAW;
    return rset_meet_post(m, 0, &n, err);
}

/* Rank 0 itself has not come. */
static rset_status
give_up(rset_meeting *m, const rset_note *mine, double waited, rset_err *err)
{
    if (rset_meet_was_met(m, mine->kind, mine->op))
        m->root_missed++;
    m->answer.told = !rset_meet_learn(m, mine->kind, mine->op, mine->evidence != 0);
    return rset_fail(err, RSET_PEER, "%s %s: waited in vain for rank 0, %.3g s",
                     rset_meet_op_text(mine->op), mine->kind, waited);
}

/* On rank 0: decides until its own proposal is answered as well. */
static rset_status
wait_at_root(rset_meeting *m, rset_err *err)
{
    rset_pause  pause = {0};
    bool        any = false;
    rset_status st = take_all(m, &any, err);

    while (st == RSET_OK) {
        if (!any)
            rset_meet_decide(m);
        if (m->answer.type != 0)
            return RSET_OK;
        if (any)
            pause.spins = 0;
        else
            rset_pause_once(&pause);
        st = take_all(m, &any, err);
    }
    return st;
}

static rset_status
wait_for_answer(rset_meeting *m, const rset_note *mine, rset_err *err)
{
    rset_pause  pause = {0};
    double      start = rset_clock(), until = start + rset_meet_patience(m, mine, m->root_missed);
    bool        any = false, withdrawn = false;
    rset_status st = RSET_OK;

    while (st == RSET_OK) {
        const double now = rset_clock(); /* before the look: who was stopped looks once more */

        st = take_all(m, &any, err);
        if (st != RSET_OK || m->answer.type != 0)
            return st;
        if (now > until && withdrawn)
            return give_up(m, mine, now - start, err);
        if (now > until) {
            withdrawn = true;
            until = now + GRACE;
            st = withdraw(m, mine, err);
        }
        if (any)
            pause.spins = 0;
        else
            rset_pause_once(&pause);
    }
    return st;
}

bool
rset_meet_known(rset_meeting *meeting, rset_meet_op op, const char *kind)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     any;

    if (rset_comm_usable(meeting->comm, &ignored) == RSET_OK)
        (void)take_all(meeting, &any, &ignored);
    return rset_meet_is_alone(meeting, kind, (int)op, false);
}

void
rset_meet_teach(rset_meeting *meeting, rset_meet_op op, const char *kind, bool evidence)
{
    rset_note n = {.type = NOTE_LEARN, .op = (int32_t)op, .evidence = evidence};
    rset_err  ignored = RSET_ERR_NONE;

    if (meeting->comm->rank == 0) {
        rset_meet_teach_all(meeting, kind, (int)op, evidence);
        return;
    }
    snprintf(n.kind, sizeof n.kind, "%s", kind);
    (void)rset_meet_learn(meeting, kind, (int)op, evidence);
    (void)rset_meet_post(meeting, 0, &n, &ignored);
}

static rset_status
propose(rset_meeting *m, const rset_proposal *p, rset_err *err)
{
    rset_note   mine;
    rset_status st;

    m->seq++;
    m->answer.type = m->answer.told = 0;
    mine = note_of(m, p);
    if (m->comm->rank == 0) {
        rset_meet_take_to_root(m, 0, &mine);
        return wait_at_root(m, err);
    }
    st = rset_meet_post(m, 0, &mine, err);
    return st == RSET_OK ? wait_for_answer(m, &mine, err) : st;
}

/* Did one insist when this was met the last time? Then all do, whoever comes this time. */
static bool
insisted(rset_meeting *m, const rset_proposal *p)
{
    const rset_known_kind *k = find_kind(m, p->kind, (int)p->op);

    return k != NULL && k->insisted;
}

rset_status
rset_meet(rset_meeting *meeting, rset_proposal *proposal, uint64_t *nonce_out, bool *known_out,
          rset_err *err)
{
    const rset_note *answer = &meeting->answer;
    rset_status      st = rset_comm_usable(meeting->comm, err);

    *known_out = proposal->told = false;
    if (st == RSET_OK && rset_meet_known(meeting, proposal->op, proposal->kind) &&
        rset_meet_is_alone(meeting, proposal->kind, (int)proposal->op, proposal->evidence)) {
        *known_out = proposal->told = true;
        return rset_fail(err, RSET_PEER, "%s is not one per rank", proposal->kind);
    }
    proposal->required = proposal->required || insisted(meeting, proposal);
    if (st == RSET_OK)
        st = propose(meeting, proposal, err);
    proposal->told = proposal->told || answer->told != 0;
    if (st != RSET_OK)
        return st;
    proposal->required = proposal->required || answer->required;
    if (answer->type == NOTE_NO) {
        *known_out = answer->known != 0;
        return rset_fail(err, RSET_PEER, "%s", answer->text);
    }
    rset_meet_done(meeting, proposal->kind, (int)proposal->op);
    find_kind(meeting, proposal->kind, (int)proposal->op)->insisted = proposal->required;
    proposal->bits = answer->bits;
    proposal->most = answer->most;
    *nonce_out = answer->nonce;
    return RSET_OK;
}

static bool
everybody_gone(const rset_meeting *m)
{
    if (m->comm->rank != 0)
        return m->all_gone;
    for (int r = 1; r < m->comm->size; r++)
        if (!m->seats[r].gone)
            return false;
    return true;
}

void
rset_meet_end(rset_meeting *meeting)
{
    rset_note  bye = {.type = meeting->comm->rank == 0 ? NOTE_BYE_ALL : NOTE_BYE};
    rset_err   ignored = RSET_ERR_NONE;
    rset_pause pause = {0};
    double     until = rset_clock() + meeting->comm->timeout;
    bool       any;

    if (meeting->comm->rank == 0)
        meeting->seats[0].gone = true;
    else if (rset_meet_post(meeting, 0, &bye, &ignored) != RSET_OK)
        return;
    while (!everybody_gone(meeting) && rset_clock() < until) {
        if (take_all(meeting, &any, &ignored) != RSET_OK)
            return;
        if (meeting->comm->rank == 0 && !any)
            rset_meet_decide(meeting);
        rset_pause_once(&pause);
    }
    for (int r = 1; meeting->comm->rank == 0 && r < meeting->comm->size; r++)
        (void)rset_meet_post(meeting, r, &bye, &ignored);
    while (meeting->letters != NULL && rset_clock() < until &&
           rset_comm_usable(meeting->comm, &ignored) == RSET_OK) {
        reap_letters(meeting);
        rset_pause_once(&pause);
    }
}
