/* meet.c: see meet.h. All messages have one form and one tag; rank 0 keeps a table of who proposes
 * what, the others talk to rank 0 only. */
#include "meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { NOTE_TEXT = 512, KINDS_MAX = 256 };

/* How much longer than the timeout a rank waits for the answer of rank 0, which knows who is missing
 * and decides at the timeout. */
#define GRACE 0.5

typedef enum {
    NOTE_PROPOSE = 1, /* to rank 0: I want to do this */
    NOTE_WITHDRAW,    /* to rank 0: I do not wait any longer */
    NOTE_GO,          /* from rank 0: all are here */
    NOTE_NO,          /* from rank 0: it will not be; text says why */
    NOTE_LEARN,       /* from rank 0: this kind is not one per rank */
    NOTE_BYE,         /* to rank 0: I am in MPI_Finalize */
    NOTE_BYE_ALL      /* from rank 0: all are; no message follows */
} note_type;

/* Sent as it is: all ranks run the same program. */
typedef struct note {
    int32_t  type, op;
    uint32_t seq; /* of the proposal that this is or answers */
    int32_t  required;
    uint64_t key, bits, most, nonce;
    double   patience; /* PROPOSE: seconds until the sender gives up */
    char     kind[RSET_KIND_MAX];
    char     host[RSET_HOST_NAME];
    char     text[NOTE_TEXT];
} note;

typedef struct known_kind {
    char kind[RSET_KIND_MAX];
    int  op; /* operation that was met; 0 with alone */
    bool alone;
} known_kind;

/* A message that may still be under way. */
typedef struct letter {
    struct letter *next;
    rset_req       req;
    note           note;
} letter;

/* Rank 0's view of one rank. */
typedef struct seat {
    bool   here, gone; /* proposes; is in MPI_Finalize */
    double until;
    note   note;
} seat;

struct rset_meeting {
    rset_comm  *comm;
    char        host[RSET_HOST_NAME];
    uint32_t    seq;
    known_kind *kinds; /* the latest KINDS_MAX */
    size_t      nkinds, next_kind;
    letter     *letters;
    seat       *seats;  /* rank 0 only */
    note        answer; /* to this rank's proposal, type 0 while there is none */
    bool        all_gone;
};

rset_status
rset_meeting_new(rset_comm *comm, const char *host, rset_meeting **out, rset_err *err)
{
    rset_meeting *m = calloc(1, sizeof *m);

    if (m != NULL) {
        m->comm = comm;
        snprintf(m->host, sizeof m->host, "%s", host);
        m->kinds = calloc(KINDS_MAX, sizeof *m->kinds);
        m->seats = comm->rank == 0 ? calloc((size_t)comm->size, sizeof *m->seats) : NULL;
    }
    if (m == NULL || m->kinds == NULL || (comm->rank == 0 && m->seats == NULL)) {
        rset_meeting_free(m);
        return rset_fail(err, RSET_NOMEM, "no memory for a meeting of %d ranks", comm->size);
    }
    *out = m;
    return RSET_OK;
}

void
rset_meeting_free(rset_meeting *meeting)
{
    letter *l, *next;

    if (meeting == NULL)
        return;
    for (l = meeting->letters; l != NULL; l = next) {
        next = l->next;
        if (!l->req.active || rset_comm_cancel(meeting->comm, &l->req))
            free(l); /* else the transport keeps it */
    }
    free(meeting->kinds);
    free(meeting->seats);
    free(meeting);
}

void
rset_meet_kind(const char *path, char kind_out[RSET_KIND_MAX])
{
    const char *base = strrchr(path, '/');
    size_t      n = 0;

    for (base = base != NULL ? base + 1 : path; *base != '\0' && n + 1 < RSET_KIND_MAX; base++) {
        bool digit = *base >= '0' && *base <= '9';

        if (!digit)
            kind_out[n++] = *base;
        else if (n == 0 || kind_out[n - 1] != '#')
            kind_out[n++] = '#';
    }
    kind_out[n] = '\0';
}

/* ---- what is known of kinds ---- */

static known_kind *
find_kind(rset_meeting *m, const char *kind, int op)
{
    for (size_t i = 0; i < m->nkinds; i++)
        if (m->kinds[i].op == op && strcmp(m->kinds[i].kind, kind) == 0)
            return &m->kinds[i];
    return NULL;
}

static void
remember(rset_meeting *m, const char *kind, int op, bool alone)
{
    known_kind *k = find_kind(m, kind, op);

    if (k == NULL) {
        k = &m->kinds[m->next_kind];
        m->next_kind = (m->next_kind + 1) % KINDS_MAX;
        m->nkinds += m->nkinds < KINDS_MAX;
    }
    snprintf(k->kind, sizeof k->kind, "%s", kind);
    k->op = op;
    k->alone = alone;
}

/* A kind that was met is never taken for one that is not one per rank. */
static bool
was_met(rset_meeting *m, const char *kind)
{
    return find_kind(m, kind, RSET_MEET_OPEN) != NULL || find_kind(m, kind, RSET_MEET_CLOSE) != NULL;
}

static bool
is_alone(rset_meeting *m, const char *kind)
{
    return find_kind(m, kind, 0) != NULL && !was_met(m, kind);
}

/* ---- sending ---- */

static void
reap_letters(rset_meeting *m)
{
    for (letter **at = &m->letters; *at != NULL;) {
        letter  *l = *at;
        rset_err ignored = RSET_ERR_NONE;
        bool     done = !l->req.active;

        if (!done && rset_comm_test(m->comm, &l->req, &done, &ignored) != RSET_OK)
            return;
        if (done) {
            *at = l->next;
            free(l);
        } else {
            at = &l->next;
        }
    }
}

/* Sends without waiting; the copy lives until the transport is done with it. */
static rset_status
post(rset_meeting *m, int to, const note *n, rset_err *err)
{
    letter     *l = calloc(1, sizeof *l);
    rset_status st;

    if (l == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    l->note = *n;
    st = rset_comm_isend(m->comm, to, RSET_TAG_MEET, &l->note, sizeof l->note, &l->req, err);
    if (st != RSET_OK) {
        free(l);
        return st;
    }
    l->next = m->letters;
    m->letters = l;
    return RSET_OK;
}

/* ---- rank 0: answering ---- */

static void
answer(rset_meeting *m, int rank, const note *n)
{
    rset_err ignored = RSET_ERR_NONE;
    note     copy = *n;

    copy.seq = m->seats[rank].note.seq;
    m->seats[rank].here = false;
    if (rank == 0)
        m->answer = copy;
    else
        post(m, rank, &copy, &ignored); /* one that cannot be told runs into its own timeout */
}

/* Tells all ranks that a kind is not one per rank. */
static void
teach(rset_meeting *m, const char *kind)
{
    note     n = { .type = NOTE_LEARN };
    rset_err ignored = RSET_ERR_NONE;

    if (was_met(m, kind) || find_kind(m, kind, 0) != NULL)
        return;
    remember(m, kind, 0, true);
    snprintf(n.kind, sizeof n.kind, "%s", kind);
    for (int r = 1; r < m->comm->size; r++)
        if (!m->seats[r].gone)
            post(m, r, &n, &ignored);
}

static bool
same(const note *a, const note *b)
{
    return a->op == b->op && strcmp(a->kind, b->kind) == 0;
}

static const char *
op_text(int op)
{
    return op == RSET_MEET_OPEN ? "opening" : "closing";
}

/* How many ranks propose what rank r does. */
static int
group_size(const rset_meeting *m, int r)
{
    int n = 0;

    for (int i = 0; i < m->comm->size; i++)
        n += m->seats[i].here && same(&m->seats[i].note, &m->seats[r].note);
    return n;
}

static void
refuse_group(rset_meeting *m, int r, const char *text)
{
    note no = { .type = NOTE_NO }, what = m->seats[r].note;

    snprintf(no.text, sizeof no.text, "%s", text);
    for (int i = 0; i < m->comm->size; i++)
        if (m->seats[i].here && same(&m->seats[i].note, &what))
            answer(m, i, &no);
    teach(m, what.kind);
}

/* "rank 0 (node0) is closing log.h5, rank 1 (node0) and 2 more are closing ckpt_#.h5" */
static void
say_who(const rset_meeting *m, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int r = 0; r < m->comm->size && used + 1 < size; r++) {
        const note *n = &m->seats[r].note;
        bool        first = m->seats[r].here;
        int         more = group_size(m, r) - 1;

        for (int i = 0; i < r && first; i++)
            first = !m->seats[i].here || !same(&m->seats[i].note, n);
        if (!first)
            continue;
        used += (size_t)snprintf(buf + used, size - used, "%srank %d (%s)", used > 0 ? ", " : "", r,
                                 n->host);
        if (more > 0 && used < size)
            used += (size_t)snprintf(buf + used, size - used, " and %d more are", more);
        else if (used < size)
            used += (size_t)snprintf(buf + used, size - used, " is");
        if (used < size)
            used += (size_t)snprintf(buf + used, size - used, " %s %s", op_text(n->op), n->kind);
    }
}

/* All are here and want the same: do their configurations agree? */
static void
answer_all(rset_meeting *m)
{
    note go = { .type = NOTE_GO };

    for (int r = 0; r < m->comm->size; r++) {
        const note *n = &m->seats[r].note, *first = &m->seats[0].note;

        if (n->key != first->key) {
            go.type = NOTE_NO;
            snprintf(go.text, sizeof go.text,
                     "rank %d (%s) has another scheme, set size or number of parities than rank 0 "
                     "(%s); give all ranks the same HDF5_DRIVER_CONFIG",
                     r, n->host, first->host);
            break;
        }
        go.bits |= n->bits;
        go.most = n->most > go.most ? n->most : go.most;
    }
    if (getrandom(&go.nonce, sizeof go.nonce, 0) != (ssize_t)sizeof go.nonce)
        go.nonce = (uint64_t)(rset_clock() * 1e9);
    if (go.type == NOTE_GO)
        remember(m, m->seats[0].note.kind, m->seats[0].note.op, false);
    for (int r = m->comm->size - 1; r >= 0; r--)
        answer(m, r, &go);
}

/* All are here and want different things. The largest group stays; of equal ones that whose name has
 * a number in it, as names of one file per rank have. */
static void
settle_conflict(rset_meeting *m)
{
    char who[NOTE_TEXT - 128], text[NOTE_TEXT];
    bool required = false;
    int  keep = 0;

    say_who(m, who, sizeof who);
    snprintf(text, sizeof text, "not all ranks do the same: %s", who);
    for (int r = 0; r < m->comm->size; r++) {
        int  n = group_size(m, r), best = group_size(m, keep);
        bool numbered = strchr(m->seats[r].note.kind, '#') != NULL &&
                        strchr(m->seats[keep].note.kind, '#') == NULL;

        required = required || m->seats[r].note.required;
        if (n > best || (n == best && numbered))
            keep = r;
    }
    for (int r = 0; r < m->comm->size; r++)
        if (m->seats[r].here && (required || !same(&m->seats[r].note, &m->seats[keep].note)))
            refuse_group(m, r, text);
}

/* Who has not proposed what rank r waits for; -1 when the first of them is not in sight at all. */
static void
say_missing(const rset_meeting *m, int r, char *buf, size_t size)
{
    const note *want = &m->seats[r].note;
    size_t      used = 0;
    int         listed = 0;

    used = (size_t)snprintf(buf, size, "%s %s: waited in vain for rank", op_text(want->op),
                            want->kind);
    for (int i = 0; i < m->comm->size && used + 1 < size; i++) {
        const seat *s = &m->seats[i];

        if (s->here && same(&s->note, want))
            continue;
        if (listed++ == 8) {
            snprintf(buf + used, size - used, " and others");
            return;
        }
        used += (size_t)snprintf(buf + used, size - used, "%s %d", listed > 1 ? "," : "", i);
        if (s->gone && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (is in MPI_Finalize)");
        else if (s->here && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (%s, is %s %s)", s->note.host,
                                     op_text(s->note.op), s->note.kind);
    }
}

/* Answers whatever can be answered now. */
static void
decide(rset_meeting *m)
{
    int    here = 0, gone = 0, late = -1;
    bool   alike = true;
    double now = rset_clock();
    char   text[NOTE_TEXT];

    for (int r = 0; r < m->comm->size; r++) {
        const seat *s = &m->seats[r];

        here += s->here;
        gone += s->gone;
        alike = alike && s->here && same(&s->note, &m->seats[0].note);
        if (s->here && now >= s->until)
            late = r;
    }
    if (here == m->comm->size && alike)
        answer_all(m);
    else if (here == m->comm->size)
        settle_conflict(m);
    for (int r = 0; r < m->comm->size && (gone > 0 || late >= 0); r++) {
        if (!m->seats[r].here || (gone == 0 && r != late))
            continue;
        say_missing(m, r, text, sizeof text);
        refuse_group(m, r, text);
    }
}

/* ---- receiving ---- */

static void
take_to_root(rset_meeting *m, int from, const note *n)
{
    seat *s = &m->seats[from];

    switch (n->type) {
    case NOTE_PROPOSE:
        s->here = true;
        s->note = *n;
        s->until = rset_clock() + n->patience;
        if (is_alone(m, n->kind)) {
            note no = { .type = NOTE_NO, .text = "this kind of file is not one per rank" };

            answer(m, from, &no);
        }
        break;
    case NOTE_WITHDRAW:
        if (s->here && s->note.seq == n->seq)
            s->here = false;
        teach(m, n->kind);
        break;
    case NOTE_BYE:
        s->gone = true;
        s->here = false;
        break;
    default: break; /* nobody else's business with rank 0 */
    }
}

static void
take(rset_meeting *m, int from, note *n)
{
    n->kind[sizeof n->kind - 1] = n->host[sizeof n->host - 1] = n->text[sizeof n->text - 1] = '\0';
    if (m->comm->rank == 0) {
        take_to_root(m, from, n);
        return;
    }
    if (from != 0)
        return;
    if (n->type == NOTE_LEARN && !was_met(m, n->kind))
        remember(m, n->kind, 0, true);
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
        note   n = { 0 };
        int    from = -1;
        size_t got = 0;

        st = rset_comm_poll(m->comm, RSET_TAG_MEET, &n, sizeof n, &from, &got, &found, err);
        if (st == RSET_OK && found && got == sizeof n)
            take(m, from, &n);
        *any_out = *any_out || found;
    }
    return st;
}

/* ---- the door ---- */

static note
note_of(const rset_meeting *m, const rset_proposal *p)
{
    note n = { .type = NOTE_PROPOSE, .op = (int32_t)p->op, .seq = m->seq, .required = p->required,
               .key = p->key, .bits = p->bits, .most = p->most, .patience = m->comm->timeout };

    snprintf(n.kind, sizeof n.kind, "%s", p->kind);
    snprintf(n.host, sizeof n.host, "%s", m->host);
    return n;
}

/* Nobody answered: rank 0 itself has not come. */
static rset_status
give_up(rset_meeting *m, const note *mine, rset_err *err)
{
    note     n = *mine;
    rset_err ignored = RSET_ERR_NONE;

    n.type = NOTE_WITHDRAW;
    post(m, 0, &n, &ignored);
    if (!was_met(m, n.kind))
        remember(m, n.kind, 0, true);
    return rset_fail(err, RSET_PEER, "%s %s: rank 0 has not come within %g s", op_text(n.op), n.kind,
                     m->comm->timeout);
}

static rset_status
wait_for_answer(rset_meeting *m, const note *mine, rset_err *err)
{
    rset_pause  pause = { 0 };
    double      until = rset_clock() + m->comm->timeout + (m->comm->rank == 0 ? 0 : GRACE);
    rset_status st = RSET_OK;

    while (m->answer.type == 0) {
        bool any = false;

        st = take_all(m, &any, err);
        if (st != RSET_OK)
            return st;
        if (m->comm->rank == 0)
            decide(m);
        else if (m->answer.type == 0 && rset_clock() > until)
            return give_up(m, mine, err);
        if (any)
            pause.spins = 0;
        else if (m->answer.type == 0)
            rset_pause_once(&pause);
    }
    return RSET_OK;
}

bool
rset_meet_known(rset_meeting *meeting, const char *kind)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     any;

    if (rset_comm_usable(meeting->comm, &ignored) == RSET_OK)
        take_all(meeting, &any, &ignored);
    return is_alone(meeting, kind);
}

rset_status
rset_meet(rset_meeting *meeting, rset_proposal *proposal, uint64_t *nonce_out, bool *known_out,
          rset_err *err)
{
    note        mine;
    rset_status st = rset_comm_usable(meeting->comm, err);

    *known_out = false;
    if (st == RSET_OK && rset_meet_known(meeting, proposal->kind)) {
        *known_out = true;
        return rset_fail(err, RSET_PEER, "%s is not one per rank", proposal->kind);
    }
    if (st != RSET_OK)
        return st;
    meeting->seq++;
    meeting->answer.type = 0;
    mine = note_of(meeting, proposal);
    if (meeting->comm->rank == 0)
        take_to_root(meeting, 0, &mine);
    else
        st = post(meeting, 0, &mine, err);
    if (st == RSET_OK)
        st = wait_for_answer(meeting, &mine, err);
    if (st != RSET_OK)
        return st;
    if (meeting->answer.type == NOTE_NO)
        return rset_fail(err, RSET_PEER, "%s", meeting->answer.text);
    remember(meeting, proposal->kind, (int)proposal->op, false);
    proposal->bits = meeting->answer.bits;
    proposal->most = meeting->answer.most;
    *nonce_out = meeting->answer.nonce;
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
    note       bye = { .type = meeting->comm->rank == 0 ? NOTE_BYE_ALL : NOTE_BYE };
    rset_err   ignored = RSET_ERR_NONE;
    rset_pause pause = { 0 };
    double     until = rset_clock() + meeting->comm->timeout;
    bool       any;

    if (meeting->comm->rank == 0)
        meeting->seats[0].gone = true;
    else if (post(meeting, 0, &bye, &ignored) != RSET_OK)
        return;
    while (!everybody_gone(meeting) && rset_clock() < until) {
        if (take_all(meeting, &any, &ignored) != RSET_OK)
            return;
        if (meeting->comm->rank == 0)
            decide(meeting);
        rset_pause_once(&pause);
    }
    for (int r = 1; meeting->comm->rank == 0 && r < meeting->comm->size; r++)
        post(meeting, r, &bye, &ignored);
    while (meeting->letters != NULL && rset_clock() < until &&
           rset_comm_usable(meeting->comm, &ignored) == RSET_OK) {
        reap_letters(meeting);
        rset_pause_once(&pause);
    }
}
