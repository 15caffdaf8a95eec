/* settle.c: what rank 0 answers in a direct round, in which all propose to it. See rendezvous_internal.h. */
#include "rendezvous_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MISSED_MAX = 16 };

/* ---- answers ---- */

void
rset_settle_answer(rset_rendezvous *m, int rank, const rset_note *n)
{
    rset_err  ignored = RSET_ERR_NONE;
    rset_note copy = *n;

    copy.seq = m->guests[rank].note.seq;
    m->guests[rank].here = false;
    m->stirred = true;
    if (rank == 0)
        m->answer = copy;
    else /* one that cannot be told runs into its own timeout */
        (void)rset_outbox_post(&m->outbox, rank, &copy, &ignored);
}

void
rset_settle_tell_all(rset_rendezvous *m, const rset_note *n)
{
    rset_err ignored = RSET_ERR_NONE;

    for (int r = 1; r < m->comm->size; r++)
        if (!rset_root_is_gone(m, r))
            (void)rset_outbox_post(&m->outbox, r, n, &ignored);
}

void
rset_settle_spread(rset_rendezvous *m, const rset_kind *kind, int op, bool evidence)
{
    rset_note        n = {.type = RSET_NOTE_SOME, .op = op, .evidence = evidence, .kind = *kind};
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);

    if (k != NULL && rset_kind_not_met(k, op, evidence))
        rset_settle_tell_all(m, &n);
}

/* ---- refusing ---- */

static bool
anybody_requires(const rset_rendezvous *m)
{
    for (int r = 0; r < m->comm->size; r++)
        if (m->guests[r].here && m->guests[r].note.required)
            return true;
    return false;
}

/* The first rank that does not propose what rank r does; 0: all do. */
static int
first_missing(const rset_rendezvous *m, int r)
{
    int i = 0;

    while (i < m->comm->size && rset_root_with(m, i, r))
        i++;
    return i < m->comm->size ? i : 0;
}

/* The same answer to all who propose what rank r does; the lowest of them tells the user. It is an
 * error for all if it is for one. `waited`: for somebody who has not come; else all are here. */
static void
refuse_group(rset_rendezvous *m, int r, bool waited, const char *text)
{
    const rset_note  what = m->guests[r].note;
    rset_known_kind *k = rset_kinds_find(m->kinds, what.kind.text);
    rset_note        no = {.type = RSET_NOTE_NO, .required = !waited && anybody_requires(m)};

    snprintf(no.text, sizeof no.text, "%s", text);
    if (waited && m->ngone == 0) /* in MPI_Finalize nobody is late any more */
        no.waited = rset_clock() - m->guests[r].since;
    if (waited && what.op == RSET_RENDEZVOUS_OPEN && what.came == 0)
        no.came = (uint64_t)rset_root_group_size(m, r);
    no.nth = waited ? 1 + first_missing(m, r) : 0;
    for (int i = 0; i < m->comm->size; i++) {
        const rset_note *n = &m->guests[i].note;

        if (!rset_root_with(m, i, r))
            continue;
        no.required = no.required || n->required || n->needs_all;
        no.evidence = no.evidence || n->evidence;
        no.protected_ = no.protected_ || n->protected_;
    }
    no.told = k != NULL && rset_kind_tell(k, what.op, no.evidence != 0);
    no.told = no.told || rset_kind_is_seldom(k, what.op, no.evidence != 0);
    for (int i = 0; i < m->comm->size; i++)
        if (m->guests[i].here && rset_root_same(m, &m->guests[i].note, &what)) {
            rset_settle_answer(m, i, &no);
            no.told = 1;
        }
}

/* ---- deciding: all are here ---- */

/* `odd`: the first rank that has another one than rank 0. */
static void
refuse_keys(rset_rendezvous *m, rset_key key, int odd)
{
    static const char *const texts[RSET_KEYS] = {
        [RSET_KEY_SCHEME] = "scheme, set size or parity",
        [RSET_KEY_KEEP] = "keep=",
        [RSET_KEY_ROOT] = "root=",
        [RSET_KEY_TOGETHER] = "together=, or number of files that it closes together,"};
    rset_note no = {.type = RSET_NOTE_NO, .told = m->keys_told};

    snprintf(
        no.text, sizeof no.text,
        "rank %d (%s) has another %s than rank %d (%s); give all ranks the same HDF5_DRIVER_CONFIG",
        rset_comm_world(m->comm, odd), m->guests[odd].note.host, texts[key],
        rset_comm_world(m->comm, 0), m->guests[0].note.host);
    for (int r = 0; r < m->comm->size; r++)
        no.required = no.required || m->guests[r].note.required;
    for (int r = 0; r < m->comm->size; r++) {
        rset_settle_answer(m, r, &no);
        no.told = 1;
    }
    m->keys_told = true;
}

/* What all propose, merged. */
static rset_note
sum_of_guests(const rset_rendezvous *m)
{
    rset_note sum = m->guests[0].note;

    for (int r = 0; r < m->comm->size; r++) {
        assert(m->guests[r].here); /* Z3 */
        rset_proposal_merge(&sum, &m->guests[r].note);
    }
    return sum;
}

void
rset_settle_go(rset_rendezvous *m, const rset_note *sum, bool relay)
{
    rset_note *go = &m->last_go;

    *go = (rset_note){.type = RSET_NOTE_GO,
                      .op = sum->op,
                      .round = m->round,
                      .relay = relay,
                      .apart = sum->apart,
                      .kind = sum->kind,
                      .required = sum->required,
                      .bits = sum->bits,
                      .most = sum->most,
                      .latest = sum->latest,
                      .least_base = sum->least_base,
                      .most_base = sum->most_base,
                      .equal = sum->equal,
                      .epoch = sum->epoch};
    memcpy(go->gone, sum->gone, sizeof go->gone);
    if (getrandom(&go->nonce, sizeof go->nonce, 0) != (ssize_t)sizeof go->nonce)
        go->nonce = (uint64_t)(rset_clock() * 1e9);
}

/* All are here and want the same, or read apart: do their configurations agree? */
static void
answer_all(rset_rendezvous *m, bool alike)
{
    rset_note sum = sum_of_guests(m);
    rset_key  key;
    const int odd = rset_root_odd_key(m, &key);

    if (odd >= 0) {
        refuse_keys(m, key, odd);
        return;
    }
    sum.apart = !alike;
    rset_settle_go(m, &sum, false);
    for (int r = m->comm->size - 1; r >= 0; r--)
        rset_settle_answer(m, r, &m->last_go);
    rset_combine_go(m, &m->last_go);
    free(m->guests); /* all have come: nothing of this round has to be kept */
    m->guests = NULL;
}

/* How likely it is that all do what rank r does. All come to a call. Where `some_alone` can do without the others, next comes
 * what seems to be done by all and cannot. Else it is what most do; of what equally many do, that whose name has a number in it, as names of one file per rank have. */
static int
likelihood(const rset_rendezvous *m, int r, bool some_alone)
{
    const rset_note *n = &m->guests[r].note;
    const bool       numbered = strchr(n->kind.text, '#') != NULL;
    const bool       by_all = numbered || rset_kind_was_met(rset_root_kind_of(m, n), n->op);
    const int        more = 2 * m->comm->size + 2;

    if (n->op == RSET_RENDEZVOUS_CALL)
        return 2 * more;
    return 2 * rset_root_group_size(m, r) + numbered +
           (some_alone && by_all && !rset_root_stands_alone(m, r) ? more : 0);
}

/* Tells all ranks that are not with rank r whether they may open files of its kind without the others, when they come to them. */
static void
tell_others(rset_rendezvous *m, int r)
{
    rset_note        itself = m->guests[r].note;
    rset_known_kind *k = rset_kinds_get(&m->kinds, itself.kind.text);
    rset_err         ignored = RSET_ERR_NONE;

    itself.type = RSET_NOTE_ITSELF;
    itself.whole = rset_root_stands_alone(m, r);
    for (int i = 0; i < m->comm->size; i++)
        if (rset_root_with(m, i, r) && m->guests[i].note.nth > itself.nth)
            itself.nth = m->guests[i].note.nth;
    for (int i = 1; i < m->comm->size; i++)
        if (!rset_root_with(m, i, r))
            (void)rset_outbox_post(&m->outbox, i, &itself, &ignored);
    if (k != NULL && !rset_root_with(m, 0, r))
        rset_kind_note_itself(k, &itself);
}

/* Those who propose what rank r does open their files by themselves; so may the others, when they come to such files. */
static void
let_alone(rset_rendezvous *m, int r)
{
    const rset_note what = m->guests[r].note;
    rset_note       no = {.type = RSET_NOTE_NO, .by_itself = 1, .told = 1};

    snprintf(no.text, sizeof no.text, "other ranks do something else");
    tell_others(m, r);
    for (int i = 0; i < m->comm->size; i++)
        if (m->guests[i].here && rset_root_same(m, &m->guests[i].note, &what))
            rset_settle_answer(m, i, &no);
}

/* All are here, for files whose names are not alike: perhaps the user takes them for one kind. */
static bool
differ_in_names(const rset_rendezvous *m)
{
    const rset_note *first = &m->guests[0].note;
    bool             differ = false;

    for (int r = 1; r < m->comm->size; r++) {
        const rset_note *n = &m->guests[r].note;

        if (n->op != first->op || n->op == RSET_RENDEZVOUS_CALL)
            return false;
        differ = differ || strcmp(n->kind.text, first->kind.text) != 0;
    }
    return differ;
}

/* All are here, and ranks with files of one kind are several, as are those with files of another: perhaps they are two programs. */
static bool
are_several(const rset_rendezvous *m)
{
    const rset_note *first = NULL;

    for (int r = 0; r < m->comm->size; r++) {
        const rset_note *n = &m->guests[r].note;

        if (rset_root_group_size(m, r) < 2 || n->op == RSET_RENDEZVOUS_CALL)
            continue;
        if (first != NULL && strcmp(n->kind.text, first->kind.text) != 0)
            return true;
        first = n;
    }
    return false;
}

/* The rule, and a way out. What ends the message in vfd/ is another one. */
static const char *
advice(const rset_rendezvous *m)
{
    if (are_several(m))
        return "; files go together whose names differ in numbers only; ranks that are a program "
               "or a member of an ensemble of their own need a team= of their own";
    if (differ_in_names(m))
        return "; files go together whose names differ in numbers only: name them alike but for "
               "the rank, as in state_0.h5, state_1.h5";
    return "";
}

/* All are here and want different things. The likeliest waits on: the others come to that, or not. */
static void
settle_conflict(rset_rendezvous *m)
{
    char      who[RSET_NOTE_TEXT - 192], text[RSET_NOTE_TEXT];
    int       keep = 0, best = 0;
    bool      some_alone = false;
    rset_note kept;

    rset_root_say_who(m, who, sizeof who);
    snprintf(text, sizeof text, "not all ranks do the same: %s%s", who, advice(m));
    for (int r = 0; r < m->comm->size; r++)
        some_alone = some_alone || rset_root_stands_alone(m, r);
    for (int r = 0; r < m->comm->size; r++) {
        const int n = likelihood(m, r, some_alone);

        if (n > best) {
            keep = r;
            best = n;
        }
    }
    kept = m->guests[keep].note;
    if (kept.op == RSET_RENDEZVOUS_OPEN && !rset_root_stands_alone(m, keep))
        tell_others(m, keep);
    for (int r = 0; r < m->comm->size; r++) {
        const rset_note n = m->guests[r].note;

        if (!m->guests[r].here || rset_root_same(m, &n, &kept))
            continue;
        if (rset_root_stands_alone(m, r)) {
            let_alone(m, r);
            continue;
        }
        refuse_group(m, r, false, text);
        if (strcmp(n.kind.text, kept.kind.text) != 0) /* else it is only of another step */
            rset_settle_spread(m, &n.kind, n.op, n.evidence != 0);
    }
}

/* ---- deciding: some are ---- */

/* Has nobody else shown any file of this kind? Of two ranks one may be late as well. */
static bool
is_of_one_rank(const rset_rendezvous *m, int r, const rset_known_kind *k)
{
    return m->comm->size > 2 && k->have <= 1 && rset_root_group_size(m, r) == 1;
}

void
rset_settle_give_up(rset_rendezvous *m, int r)
{
    const rset_note     n = m->guests[r].note;
    rset_known_kind    *k = rset_kinds_get(&m->kinds, n.kind.text);
    const bool          expected = rset_kind_was_met(k, n.op);
    const rset_absence *absence = rset_kind_absence(k, &n);
    const bool          by_one = k != NULL && is_of_one_rank(m, r, k);
    char                text[RSET_NOTE_TEXT];

    if (absence != NULL && absence->at <= m->guests[r].since) { /* nobody is missed: it is late */
        rset_kind_absence_text(absence, &n, text, sizeof text);
        refuse_group(m, r, true, text);
        return;
    }
    if (rset_kind_reads_apart(k, &n)) { /* nobody is missed: each may be done */
        rset_root_say_missing(m, r, "timed out waiting", text, sizeof text);
        refuse_group(m, r, true, text);
        return;
    }
    for (int i = 0; i < m->comm->size && expected && m->guests[0].here; i++)
        if (!m->guests[i].here && m->guests[i].missed < MISSED_MAX)
            m->guests[i].missed++;
    m->timed_out = m->timed_out || !(expected || n.op == RSET_RENDEZVOUS_CALL);
    rset_root_say_missing(m, r, "timed out waiting", text, sizeof text);
    refuse_group(m, r, true, text);
    if (k == NULL || expected || by_one || n.op == RSET_RENDEZVOUS_OPEN ||
        ++k->timeouts >= RSET_TRIES)
        rset_settle_spread(m, &n.kind, n.op, n.evidence != 0);
}

/* The others have gone on without this rank: what it closes, or opens to change it, is not what they do. Told at once; it
 * is in step again the next time. */
static void
tell_who_is_behind(rset_rendezvous *m)
{
    for (int r = 0; r < m->comm->size; r++) {
        const rset_note *mine = &m->guests[r].note;
        rset_note        no = {.type = RSET_NOTE_NO, .required = mine->required};
        rset_known_kind *known;
        char             kind[RSET_KIND_MAX];
        uint64_t         most;
        int              ahead = r;

        if (!m->guests[r].here || mine->epoch == 0 ||
            rset_kind_names_step(rset_root_kind_of(m, mine), &mine->kind) ||
            (most = rset_root_furthest(m, r, &ahead)) == mine->epoch)
            continue;
        known = rset_kinds_get(&m->kinds, mine->kind.text);
        no.told = known != NULL && rset_kind_tell_late(known, r, mine);
        rset_root_show_kind(m, mine, kind, sizeof kind);
        snprintf(
            no.text, sizeof no.text,
            "%s %s: not all ranks are at the same step: rank %d (%s) has gone %llu further than "
            "this one; they are in step again from the next one on",
            rset_rendezvous_op_text(mine->op), kind, rset_comm_world(m->comm, ahead),
            m->guests[ahead].note.host, (unsigned long long)(most - mine->epoch));
        rset_settle_answer(m, r, &no);
    }
}

/* Somebody will not come to what they do. */
static void
tell_who_waits_in_vain(rset_rendezvous *m)
{
    for (int r = 0, counted = 0; r < m->comm->size; r++) {
        const rset_note    *mine = &m->guests[r].note;
        rset_known_kind    *k = rset_kinds_find(m->kinds, mine->kind.text);
        const rset_absence *absence = rset_kind_sure_absence(k, mine, m->guests[r].since);
        rset_note           no;

        if (!m->guests[r].here || absence == NULL)
            continue;
        rset_kind_say_absent(k, absence, r, mine, &no);
        if (counted++ == 0)
            rset_kind_count_late(k, absence, mine);
        no.required = mine->required;
        rset_settle_answer(m, r, &no);
    }
}

/* Those who came without the others know now whether they can do without them, and all of them do, or none does. */
static void
settle_again(rset_rendezvous *m, int r)
{
    char text[RSET_NOTE_TEXT], how[RSET_HOST_NAME + 96] = "timed out waiting";

    for (int i = m->comm->size - 1; i >= 0; i--)
        if (rset_root_with(m, i, r) && m->guests[i].note.needs_all != 0)
            snprintf(how, sizeof how,
                     "rank %d (%s) cannot have its file by itself; timed out waiting",
                     rset_comm_world(m->comm, i), m->guests[i].note.host);
    rset_root_say_missing(m, r, how, text, sizeof text);
    refuse_group(m, r, true, text);
}

/* Rank r waits at most until then. `missed`: how often the one of those that are not here was missed that was most often. */
static double
deadline(rset_rendezvous *m, int r, int missed)
{
    return rset_rendezvous_until(m, &m->guests[r].note, m->guests[r].since, missed);
}

/* Gives up those who have waited long enough, and says when to look at them again. */
static void
give_up_late(rset_rendezvous *m, int missed)
{
    const double now = rset_clock();

    m->due = now + m->comm->timeout;
    for (int r = 0; r < m->comm->size; r++) {
        if (!m->guests[r].here)
            continue;
        if (rset_root_came_again(m, r))
            settle_again(m, r);
        else if (m->ngone > 0 || now >= deadline(m, r, missed))
            rset_settle_give_up(m, r);
        else if (deadline(m, r, missed) < m->due)
            m->due = deadline(m, r, missed);
    }
}

void
rset_settle_round(rset_rendezvous *m)
{
    int  here = 0, missed = 0;
    bool alike = true;

    assert(m->comm->rank == 0 && m->guests != NULL); /* Z2 */
    m->stirred = false;
    tell_who_waits_in_vain(m);
    if (rset_root_epochs_differ(m))
        tell_who_is_behind(m);
    for (int r = 0; r < m->comm->size; r++) {
        const rset_guest *s = &m->guests[r];

        here += s->here;
        alike = alike && s->here && rset_root_same(m, &s->note, &m->guests[0].note);
        if (!s->here && s->missed > missed)
            missed = s->missed;
    }
    if (here == m->comm->size && (alike || rset_root_all_read(m)))
        answer_all(m, alike);
    else if (here == m->comm->size)
        settle_conflict(m);
    if (m->guests != NULL)
        give_up_late(m, missed);
}
