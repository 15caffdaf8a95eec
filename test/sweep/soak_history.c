/* soak_history.c: see soak_history.h. */
#include "soak_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void
soak_history_begin(soak_world *w, uint64_t generation)
{
    soak_version *v;

    assert_true(w->nversions < SOAK_VERSIONS);
    v = &w->versions[w->nversions++];
    *v = (soak_version){.generation = generation};
    for (int r = 0; r < w->job.n; r++) {
        soak_bytes_set(&v->data[r], w->part[r].target.at, w->part[r].target.n);
        if (w->part[r].late && v->data[r].n > 0)
            v->data[r].at[0] ^= 1; /* it would have come to that one step later */
    }
}

void
soak_history_edit(soak_world *w, int r, const soak_bytes *from)
{
    soak_edit *e;

    if (w->nedits == SOAK_EDITS)
        return;
    e = &w->edits[w->nedits++];
    *e = (soak_edit){.rank = r};
    soak_bytes_set(&e->from, from->at, from->n);
    soak_bytes_set(&e->to, w->part[r].target.at, w->part[r].target.n);
}

/* Is it that, or what the first `n` edits have made of it? */
static bool
comes_by(const soak_world *w, int n, int r, const soak_bytes *now, const soak_bytes *origin)
{
    if (soak_bytes_equal(now, origin))
        return true;
    for (int i = n - 1; i >= 0; i--)
        if (w->edits[i].rank == r && soak_bytes_equal(&w->edits[i].to, now) &&
            comes_by(w, i, r, &w->edits[i].from, origin))
            return true;
    return false;
}

static bool
comes_from(const soak_world *w, int r, const soak_bytes *now, const soak_bytes *origin)
{
    return comes_by(w, w->nedits, r, now, origin);
}

int
soak_history_encoded(const soak_world *w, const soak_bytes *now, int i)
{
    for (; i >= 0; i--) {
        const soak_version *v = &w->versions[i];
        bool                is = v->complete && !v->gone;

        for (int r = 0; is && r < w->job.n; r++)
            is = soak_bytes_equal(&now[r], &v->data[r]);
        if (is)
            break;
    }
    return i;
}

int
soak_history_find(const soak_world *w, const soak_bytes *now, int least, const bool *excused)
{
    for (int i = w->nversions - 1; i >= 0 && i >= least; i--) {
        const soak_version *v = &w->versions[i];
        bool                is = !v->gone;

        for (int r = 0; is && r < w->job.n; r++)
            is = excused[r] || comes_from(w, r, &now[r], &v->data[r]);
        if (is)
            return i;
    }
    return -1;
}

bool
soak_history_knows(const soak_world *w, int r, const soak_bytes *now, int least)
{
    for (int i = w->nversions - 1; i >= 0 && i >= least; i--)
        if (!w->versions[i].gone && comes_from(w, r, now, &w->versions[i].data[r]))
            return true;
    return false;
}

void
soak_history_settle(soak_world *w, int i, const soak_bytes *now)
{
    int kept = 0;

    for (int j = i + 1; j < w->nversions; j++)
        w->versions[j].gone = true;
    for (int e = 0; e < w->nedits; e++) {
        soak_edit *edit = &w->edits[e];

        if (comes_from(w, edit->rank, &now[edit->rank], &edit->to)) {
            w->edits[kept++] = *edit;
        } else {
            free(edit->from.at);
            free(edit->to.at);
        }
    }
    w->nedits = kept;
}

void
soak_history_revive(soak_world *w)
{
    for (int i = 0; i < w->nversions; i++)
        w->versions[i].gone = false;
}
