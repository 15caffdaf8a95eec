/* meet_root.c: rank 0's side of the meetings, see meet.h: who proposes what, and what to answer. */
#include "meet_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { NAMED = 8, MISSED_MAX = 16 };

static void
answer(rset_meeting *m, int rank, const rset_note *n)
{
    rset_err  ignored = RSET_ERR_NONE;
    rset_note copy = *n;

    copy.seq = m->seats[rank].note.seq;
    m->seats[rank].here = false;
    if (rank == 0)
        m->answer = copy;
    else /* one that cannot be told runs into its own timeout */
        (void)rset_meet_post(m, rank, &copy, &ignored);
}

void
rset_meet_teach_all(rset_meeting *m, const char *kind, int op, bool evidence)
{
    rset_note n = {.type = NOTE_LEARN, .op = op, .evidence = evidence};
    rset_err  ignored = RSET_ERR_NONE;

    if (!rset_meet_learn(m, kind, op, evidence))
        return;
    snprintf(n.kind, sizeof n.kind, "%s", kind);
    for (int r = 1; r < m->comm->size; r++)
        if (!m->seats[r].gone)
            (void)rset_meet_post(m, r, &n, &ignored);
}

static bool
same(const rset_note *a, const rset_note *b)
{
    return a->op == b->op && strcmp(a->kind, b->kind) == 0;
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

/* The same answer to all who propose what rank r does; the lowest of them tells the user. It is an
 * error for all if it is for one. `waited`: for somebody who has not come. */
static void
refuse_group(rset_meeting *m, int r, bool required, bool waited, const char *text)
{
    rset_note no = {.type = NOTE_NO, .required = required}, what = m->seats[r].note;

    snprintf(no.text, sizeof no.text, "%s", text);
    for (int i = 0; i < m->comm->size; i++) {
        const rset_note *n = &m->seats[i].note;

        if (!m->seats[i].here || !same(n, &what))
            continue;
        no.required = no.required || n->required;
        no.evidence = no.evidence || n->evidence;
        no.protected_ = no.protected_ || n->protected_;
    }
    no.told = rset_meet_is_seldom(m, what.kind, what.op, no.evidence != 0);
    no.vain = waited && !no.told;
    for (int i = 0; i < m->comm->size; i++)
        if (m->seats[i].here && same(&m->seats[i].note, &what)) {
            answer(m, i, &no);
            no.told = 1;
        }
    rset_meet_teach_all(m, what.kind, what.op, no.evidence != 0);
}

/* ---- what is said ---- */

static bool
first_of_group(const rset_meeting *m, int r)
{
    if (!m->seats[r].here)
        return false;
    for (int i = 0; i < r; i++)
        if (m->seats[i].here && same(&m->seats[i].note, &m->seats[r].note))
            return false;
    return true;
}

/* "rank 0 (node0) is closing log.h5, rank 1 (node0) and 2 more are closing ckpt_#.h5" */
static void
say_who(const rset_meeting *m, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int r = 0; r < m->comm->size && used + 1 < size; r++) {
        const rset_note *n = &m->seats[r].note;
        char             more[32] = " is";

        if (!first_of_group(m, r))
            continue;
        if (group_size(m, r) > 1)
            snprintf(more, sizeof more, " and %d more are", group_size(m, r) - 1);
        used += (size_t)snprintf(buf + used, size - used, "%srank %d (%s)%s %s %s",
                                 used > 0 ? ", " : "", r, n->host, more, rset_meet_op_text(n->op),
                                 n->kind);
    }
}

/* Who has not proposed what rank r does. Nobody: r itself was here before the others, and gave up. */
static void
say_missing(const rset_meeting *m, int r, char *buf, size_t size)
{
    const rset_note *want = &m->seats[r].note;
    size_t           used;
    int              listed = 0;

    used = (size_t)snprintf(buf, size, "%s %s: waited in vain for rank",
                            rset_meet_op_text(want->op), want->kind);
    for (int i = 0; i < m->comm->size && used + 1 < size; i++) {
        const rset_seat *s = &m->seats[i];

        if (s->here && same(&s->note, want))
            continue;
        if (listed++ == NAMED) {
            snprintf(buf + used, size - used, " and others");
            return;
        }
        used += (size_t)snprintf(buf + used, size - used, "%s %d", listed > 1 ? "," : "", i);
        if (s->gone && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (is in MPI_Finalize)");
        else if (s->here && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (%s, is %s %s)", s->note.host,
                                     rset_meet_op_text(s->note.op), s->note.kind);
    }
    if (listed == 0)
        snprintf(buf, size, "%s %s: rank %d (%s) was here and did not wait any longer",
                 rset_meet_op_text(want->op), want->kind, r, want->host);
}

/* ---- deciding ---- */

/* The first rank whose configuration is not that of rank 0; -1: none. */
static int
odd_key(const rset_meeting *m)
{
    for (int r = 1; r < m->comm->size; r++)
        if (m->seats[r].note.key != m->seats[0].note.key)
            return r;
    return -1;
}

static void
refuse_keys(rset_meeting *m, int odd)
{
    rset_note no = {.type = NOTE_NO, .told = m->keys_told};

    snprintf(
        no.text, sizeof no.text,
        "rank %d (%s) has another scheme, set size or number of parities than rank 0 (%s); give "
        "all ranks the same HDF5_DRIVER_CONFIG",
        odd, m->seats[odd].note.host, m->seats[0].note.host);
    for (int r = 0; r < m->comm->size; r++)
        no.required = no.required || m->seats[r].note.required;
    for (int r = 0; r < m->comm->size; r++) {
        answer(m, r, &no);
        no.told = 1;
    }
    m->keys_told = true;
}

/* All are here and want the same: do their configurations agree? */
static void
answer_all(rset_meeting *m)
{
    rset_note go = {.type = NOTE_GO};
    int       odd = odd_key(m);

    if (odd >= 0) {
        refuse_keys(m, odd);
        return;
    }
    for (int r = 0; r < m->comm->size; r++) {
        const rset_note *n = &m->seats[r].note;

        go.bits |= n->bits;
        go.required = go.required || n->required;
        go.most = n->most > go.most ? n->most : go.most;
    }
    if (getrandom(&go.nonce, sizeof go.nonce, 0) != (ssize_t)sizeof go.nonce)
        go.nonce = (uint64_t)(rset_clock() * 1e9);
    rset_meet_done(m, m->seats[0].note.kind, m->seats[0].note.op);
    for (int r = m->comm->size - 1; r >= 0; r--)
        answer(m, r, &go);
}

/* All are here and want different things. The largest group stays; of equal ones that whose name has
 * a number in it, as names of one file per rank have. */
static void
settle_conflict(rset_meeting *m)
{
    char      who[RSET_NOTE_TEXT - 128], text[RSET_NOTE_TEXT];
    bool      required = false;
    int       keep = 0, best = group_size(m, 0);
    rset_note kept;

    say_who(m, who, sizeof who);
    snprintf(text, sizeof text, "not all ranks do the same: %s", who);
    for (int r = 0; r < m->comm->size; r++) {
        int  n = group_size(m, r);
        bool numbered = strchr(m->seats[r].note.kind, '#') != NULL &&
                        strchr(m->seats[keep].note.kind, '#') == NULL;

        required = required || m->seats[r].note.required;
        if (n > best || (n == best && numbered)) {
            keep = r;
            best = n;
        }
    }
    kept = m->seats[keep].note;
    for (int r = 0; r < m->comm->size; r++)
        if (m->seats[r].here && (required || !same(&m->seats[r].note, &kept)))
            refuse_group(m, r, required, false, text);
}

/* Rank r has waited long enough. Who was expected, because the kind was met before, and sends no sign
 * of life, is not waited for as long the next time. */
static void
give_up_group(rset_meeting *m, int r)
{
    char text[RSET_NOTE_TEXT];
    bool expected = rset_meet_was_met(m, m->seats[r].note.kind, m->seats[r].note.op);

    for (int i = 0; i < m->comm->size && expected; i++)
        if (!m->seats[i].here && m->seats[i].missed < MISSED_MAX)
            m->seats[i].missed++;
    say_missing(m, r, text, sizeof text);
    refuse_group(m, r, false, true, text);
}

void
rset_meet_decide(rset_meeting *m)
{
    int    here = 0, gone = 0, missed = 0;
    bool   alike = true;
    double now = rset_clock();

    for (int r = 0; r < m->comm->size; r++) {
        const rset_seat *s = &m->seats[r];

        here += s->here;
        gone += s->gone;
        alike = alike && s->here && same(&s->note, &m->seats[0].note);
        if (!s->here && s->missed > missed)
            missed = s->missed;
    }
    if (here == m->comm->size && alike)
        answer_all(m);
    else if (here == m->comm->size)
        settle_conflict(m);
    for (int r = 0; r < m->comm->size; r++) {
        const rset_seat *s = &m->seats[r];

        if (s->here && (gone > 0 || now >= s->since + rset_meet_patience(m, &s->note, missed)))
            give_up_group(m, r);
    }
}

/* ---- receiving ---- */

static void
take_proposal(rset_meeting *m, int from, const rset_note *n)
{
    rset_seat *s = &m->seats[from];
    rset_note  no = {.type = NOTE_NO, .told = 1, .known = 1};

    s->here = true;
    s->note = *n;
    s->since = rset_clock();
    if (!rset_meet_is_alone(m, n->kind, n->op, n->evidence != 0))
        return;
    snprintf(no.text, sizeof no.text, "this kind of file is not one per rank");
    answer(m, from, &no);
}

void
rset_meet_take_to_root(rset_meeting *m, int from, const rset_note *n)
{
    rset_seat *s = &m->seats[from];

    s->missed = 0;
    switch (n->type) {
    case NOTE_PROPOSE: take_proposal(m, from, n); break;
    case NOTE_WITHDRAW:
        if (s->here && s->note.seq == n->seq)
            give_up_group(m, from);
        break;
    case NOTE_LEARN: rset_meet_teach_all(m, n->kind, n->op, n->evidence != 0); break;
    case NOTE_BYE:
        s->gone = true;
        s->here = false;
        break;
    default: break; /* nobody else's business with rank 0 */
    }
}
