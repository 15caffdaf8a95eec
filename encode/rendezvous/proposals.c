/* proposals.c: what rank 0 sees in the proposals that are here: which ranks go together, and in what they differ. See
 * rendezvous_internal.h. Nothing changes here, and nothing is sent. */
#include "rendezvous_internal.h"

#include <string.h>

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

int
rset_root_odd_key(const rset_rendezvous *m)
{
    for (int r = 1; r < m->comm->size; r++)
        if (m->guests[r].note.key != m->guests[0].note.key)
            return r;
    return -1;
}

uint64_t
rset_root_equal_runs(const rset_rendezvous *m)
{
    const rset_kind *first = &m->guests[0].note.kind;
    uint64_t         equal = 0;

    for (uint64_t i = 0; i < first->nruns; i++) {
        bool is = true;

        for (int r = 1; r < m->comm->size; r++)
            is = is && m->guests[r].note.kind.runs[i] == first->runs[i];
        equal |= (uint64_t)is << i;
    }
    return equal;
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
