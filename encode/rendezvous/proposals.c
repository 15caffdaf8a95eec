/* proposals.c: what is the same in two proposals, and what rank 0 sees in those that are here: which ranks go together, and in
 * what they differ. See rendezvous_internal.h. Nothing is sent here. */
#include "rendezvous_internal.h"

#include <string.h>

#define WAIT_MIN 0.1

/* ---- who is with whom ---- */

const rset_known_kind *
rset_root_kind_of(const rset_rendezvous *m, const rset_note *n)
{
    return rset_kinds_find(m->kinds, n->kind.text);
}

bool
rset_root_same(const rset_rendezvous *m, const rset_note *a, const rset_note *b)
{
    return a->op == b->op && strcmp(a->kind.text, b->kind.text) == 0 &&
           rset_kind_same_step(rset_root_kind_of(m, a), &a->kind, &b->kind);
}

/* The first in which they differ; RSET_KEYS: none. */
static rset_key
odd_key(const rset_note *a, const rset_note *b)
{
    rset_key key = 0;

    while (key < RSET_KEYS && a->keys[key] == b->keys[key])
        key++;
    return key;
}

bool
rset_root_alike(const rset_rendezvous *m, const rset_note *a, const rset_note *b)
{
    return odd_key(a, b) == RSET_KEYS && a->epoch == b->epoch && rset_root_same(m, a, b);
}

bool
rset_root_with(const rset_rendezvous *m, int i, int r)
{
    return m->guests[i].here && rset_root_same(m, &m->guests[i].note, &m->guests[r].note);
}

int
rset_root_group_size(const rset_rendezvous *m, int r)
{
    int n = 0;

    for (int i = 0; i < m->comm->size; i++)
        n += rset_root_with(m, i, r);
    return n;
}

/* ---- all want the same ---- */

/* Who only reads counts no step. */
bool
rset_root_all_read(const rset_rendezvous *m)
{
    for (int r = 0; r < m->comm->size; r++) {
        const rset_guest *s = &m->guests[r];

        if (!s->here || s->note.op != RSET_RENDEZVOUS_OPEN || s->note.epoch != 0 ||
            strcmp(s->note.kind.text, m->guests[0].note.kind.text) != 0)
            return false;
    }
    return true;
}

bool
rset_root_came_again(const rset_rendezvous *m, int r)
{
    const uint64_t came = m->guests[r].note.came;
    uint64_t       again = 0;

    for (int i = 0; came > 0 && i < m->comm->size; i++)
        again += rset_root_with(m, i, r) && m->guests[i].note.came == came;
    return came > 0 && again >= came;
}

bool
rset_root_stands_alone(const rset_rendezvous *m, int r)
{
    const rset_note *mine = &m->guests[r].note;

    for (int i = 0; i < m->comm->size; i++) {
        const rset_note *n = &m->guests[i].note;

        if (m->guests[i].here && strcmp(n->kind.text, mine->kind.text) == 0 &&
            (n->whole == 0 || n->most != mine->most ||
             !rset_kind_of_one_step(n->epoch, mine->epoch) || !rset_root_same(m, n, mine)))
            return false;
    }
    return mine->op == RSET_RENDEZVOUS_OPEN;
}

int
rset_root_odd_key(const rset_rendezvous *m, rset_key *key_out)
{
    for (int r = 1; r < m->comm->size; r++) {
        *key_out = odd_key(&m->guests[r].note, &m->guests[0].note);
        if (*key_out != RSET_KEYS)
            return r;
    }
    return -1;
}

/* Which runs of two names are equal. */
static uint64_t
equal_runs(const rset_kind *a, const rset_kind *b)
{
    uint64_t equal = 0;

    for (uint64_t i = 0; i < a->nruns; i++)
        equal |= (uint64_t)(a->runs[i] == b->runs[i]) << i;
    return equal;
}

/* Keeps of `into` what is in `other` as well; both are descending. */
static void
keep_common(uint64_t into[RSET_GONE_MAX], const uint64_t other[RSET_GONE_MAX])
{
    size_t n = 0, k = 0;

    for (size_t i = 0; i < RSET_GONE_MAX && into[i] != 0; i++) {
        while (k < RSET_GONE_MAX && other[k] > into[i])
            k++;
        if (k < RSET_GONE_MAX && other[k] == into[i])
            into[n++] = into[i];
    }
    while (n < RSET_GONE_MAX)
        into[n++] = 0;
}

void
rset_proposal_merge(rset_note *into, const rset_note *other)
{
    into->bits |= other->bits;
    into->required = into->required || other->required;
    into->most = other->most > into->most ? other->most : into->most;
    into->latest = other->latest > into->latest ? other->latest : into->latest;
    into->least_base = other->least_base < into->least_base ? other->least_base : into->least_base;
    into->most_base = other->most_base > into->most_base ? other->most_base : into->most_base;
    keep_common(into->gone, other->gone);
    into->epoch = other->epoch > into->epoch ? other->epoch : into->epoch;
    into->equal &= other->equal & equal_runs(&into->kind, &other->kind);
}

/* ---- who is ahead ---- */

bool
rset_root_epochs_differ(const rset_rendezvous *m)
{
    const rset_guest *first = NULL;

    for (int r = 0; r < m->comm->size; r++) {
        const rset_guest *s = &m->guests[r];

        if (!s->here)
            continue;
        if (first != NULL && s->note.epoch != first->note.epoch)
            return true;
        first = s;
    }
    return false;
}

uint64_t
rset_root_furthest(const rset_rendezvous *m, int r, int *who_out)
{
    uint64_t most = m->guests[r].note.epoch;

    for (int i = 0; i < m->comm->size; i++)
        if (rset_root_with(m, i, r) && m->guests[i].note.epoch > most) {
            most = m->guests[i].note.epoch;
            *who_out = i;
        }
    return most;
}

/* ---- how long ---- */

static double
wait_for(rset_rendezvous *m, const rset_note *what, int missed)
{
    const rset_known_kind *k = rset_kinds_find(m->kinds, what->kind.text);
    double                 wait = m->comm->timeout;

    if (what->came > 0) /* they came before, and verify what they have */
        return wait;
    if (rset_kind_is_seldom(k, what->op, what->evidence != 0))
        return wait < RSET_RENDEZVOUS_SHORT ? wait : RSET_RENDEZVOUS_SHORT;
    if (rset_kind_reads_apart(k, what))
        return rset_kind_apart_wait(k, wait);
    if (what->op != RSET_RENDEZVOUS_CALL && !rset_kind_was_met(k, what->op))
        wait = rset_kind_wait(k, wait, m->timed_out && !what->required);
    for (; missed > 0 && wait > WAIT_MIN; missed--)
        wait /= 4;
    return missed > 0 && m->comm->timeout > WAIT_MIN ? WAIT_MIN : wait;
}

double
rset_rendezvous_until(rset_rendezvous *m, const rset_note *what, double since, int missed)
{
    const double        until = since + wait_for(m, what, missed);
    const rset_absence *absence = rset_kind_absence(rset_root_kind_of(m, what), what);
    double              soon;

    if (absence == NULL || absence->type != RSET_NOTE_LEFT)
        return until;
    soon = (absence->at > since ? absence->at : since) + RSET_LEFT_WAIT;
    return soon < until ? soon : until;
}

bool
rset_root_is_gone(const rset_rendezvous *m, int r)
{
    return m->gone != NULL && m->gone[r];
}
