/* root_text.c: what rank 0 says about a rendezvous. See rendezvous_internal.h. */
#include "rendezvous_internal.h"

#include <stdio.h>

enum { NAMED = 8 }; /* ranks that a message names */

static bool
first_of_group(const rset_rendezvous *m, int r)
{
    if (!m->guests[r].here)
        return false;
    for (int i = 0; i < r; i++)
        if (rset_root_with(m, i, r))
            return false;
    return true;
}

void
rset_root_show_kind(const rset_rendezvous *m, const rset_note *n, char *buf, size_t size)
{
    const rset_known_kind *k = rset_kinds_find(m->kinds, n->kind.text);
    size_t                 used = 0;
    uint64_t               run = 0;

    for (const char *at = n->kind.text; *at != '\0' && used + 21 < size; at++) {
        if (*at != '#' || run >= n->kind.nruns) {
            buf[used++] = *at;
            continue;
        }
        if (k != NULL && k->compared && (k->common >> run & 1) != 0)
            used += (size_t)snprintf(buf + used, size - used, "%llu",
                                     (unsigned long long)n->kind.runs[run]);
        else
            buf[used++] = '#';
        run++;
    }
    buf[used] = '\0';
}

void
rset_root_say_who(const rset_rendezvous *m, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int r = 0; r < m->comm->size && used + 1 < size; r++) {
        const rset_note *n = &m->guests[r].note;
        char             more[32] = " is", kind[RSET_KIND_MAX];

        if (!first_of_group(m, r))
            continue;
        if (rset_root_group_size(m, r) > 1)
            snprintf(more, sizeof more, " and %d more are", rset_root_group_size(m, r) - 1);
        rset_root_show_kind(m, n, kind, sizeof kind);
        used += (size_t)snprintf(buf + used, size - used, "%srank %d (%s)%s %s %s",
                                 used > 0 ? ", " : "", rset_comm_world(m->comm, r), n->host, more,
                                 rset_rendezvous_op_text(n->op), kind);
    }
}

void
rset_root_say_missing(const rset_rendezvous *m, int r, const char *how, char *buf, size_t size)
{
    const rset_note *want = &m->guests[r].note;
    char             kind[RSET_KIND_MAX];
    size_t           used;
    int              listed = 0;

    rset_root_show_kind(m, want, kind, sizeof kind);
    used = (size_t)snprintf(buf, size, "%s %s: %s for rank", rset_rendezvous_op_text(want->op),
                            kind, how);
    for (int i = 0; i < m->comm->size && used + 1 < size; i++) {
        const rset_guest *s = &m->guests[i];

        if (rset_root_with(m, i, r))
            continue;
        if (listed++ == NAMED) {
            snprintf(buf + used, size - used, " and others");
            return;
        }
        used += (size_t)snprintf(buf + used, size - used, "%s %d", listed > 1 ? "," : "",
                                 rset_comm_world(m->comm, i));
        rset_root_show_kind(m, &s->note, kind, sizeof kind);
        if (rset_root_is_gone(m, i) && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (is in MPI_Finalize)");
        else if (s->here && used < size)
            used += (size_t)snprintf(buf + used, size - used, " (%s, is %s %s)", s->note.host,
                                     rset_rendezvous_op_text(s->note.op), kind);
    }
    if (listed == 0)
        snprintf(buf, size, "%s %s: rank %d (%s) was here and did not wait any longer",
                 rset_rendezvous_op_text(want->op), kind, rset_comm_world(m->comm, r), want->host);
}
