/* soak_older.c: see soak_older.h. */
#include "soak_older.h"

#include "names/names.h"
#include "older.h"
#include "sweep.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 4 }; /* so many are tried, one more than are kept */

/* What the child came to. */
typedef struct finding {
    uint64_t generation[SOAK_RANKS]; /* that is meant; 0: there is none such */
    bool     ready[SOAK_RANKS];
} finding;

static finding    *found;
static unsigned    back; /* so many before the newest */
static soak_world *world;

static void
find(rset_comm *comm, void *arg)
{
    job_rank *k = &((job *)arg)->ranks[comm->rank];

    found->ready[comm->rank] = older_find(comm, k, back, &found->generation[comm->rank]) == RSET_OK;
}

static bool
all_are_ready(const soak_world *w)
{
    for (int r = 0; r < w->job.n; r++)
        if (!found->ready[r] || found->generation[r] == 0)
            return false;
    return true;
}

static void
report(rset_comm *comm, void *arg)
{
    const job_rank *k = &((job *)arg)->ranks[comm->rank];

    job_body_recover(comm, arg);
    soak_said[comm->rank].st = k->st;
    soak_said[comm->rank].out = k->out;
    memcpy(soak_said[comm->rank].text, k->err.text, sizeof k->err.text);
    soak_said[comm->rank].done = true;
}

static void
in_child(void *arg)
{
    job *j = &world->job;

    (void)arg;
    tap_use(NULL);
    job_run(j, find);
    if (!all_are_ready(world))
        return;
    for (int r = 0; r < j->n; r++)
        older_call(&j->ranks[r], found->generation[r]);
    job_run(j, report);
}

static const soak_version *
version_of(const soak_world *w, uint64_t generation)
{
    for (int i = w->nversions - 1; i >= 0; i--)
        if (w->versions[i].generation == generation)
            return &w->versions[i];
    return NULL;
}

static void
judge_content(const soak_trial *l, const image *before)
{
    const soak_version *v = version_of(&l->w, found->generation[0]);

    if (v == NULL) {
        soak_wrong(l, before, "%u before the newest is of a generation that nobody made", back);
        return;
    }
    sweep_tally("older generations opened");
    for (int r = 0; r < l->w.job.n; r++) {
        const job_rank *k = &l->w.job.ranks[r];
        char           *name = rset_name_of(RSET_NAME_DATA, k->prefix, v->generation);
        const char     *path = path_of("%s/%s", k->dir, name);
        soak_bytes      now = {0};

        if (exists(path))
            now.at = read_file(path, &now.n);
        if (!soak_bytes_equal(&now, &v->data[r]))
            soak_wrong(l, before, "rank %d: %u before the newest is not what it was", r, back);
        free(now.at);
        free(name);
    }
}

static void
judge_one(const soak_trial *l, const image *before)
{
    for (int r = 0; r < l->w.job.n; r++)
        if (found->generation[r] != found->generation[0] || soak_said[r].st != soak_said[0].st) {
            soak_wrong(l, before, "%u before the newest: ranks 0 and %d do not agree", back, r);
            return;
        }
    if (found->generation[0] == 0)
        return;
    if (all_are_ready(&l->w) && soak_said[0].st == RSET_OK && soak_said[0].out.protected_)
        judge_content(l, before);
    else if (soak_said[0].st == RSET_OK && soak_said[0].done && soak_said[0].out.note[0] == '\0')
        soak_wrong(l, before, "%u before the newest: lost protection is not reported", back);
    else if (soak_said[0].st != RSET_OK && soak_said[0].text[0] == '\0')
        soak_wrong(l, before, "%u before the newest is refused without a word", back);
    else
        sweep_tally("older generations refused, or without protection");
}

void
soak_judge_older(soak_trial *l)
{
    image before = image_take(l->w.base);

    if (found == NULL)
        found = sweep_shared(sizeof *found);
    world = &l->w;
    for (back = 1; back <= KEPT; back++) {
        memset(found, 0, sizeof *found);
        memset(soak_said, 0, SOAK_RANKS * sizeof *soak_said);
        if (sweep_child(in_child, NULL) == CHILD_DONE)
            judge_one(l, &before);
        else
            soak_wrong(l, &before, "opening %u before the newest hangs or crashes", back);
        for (int r = 0; r < l->w.job.n; r++)
            soak_lose(&l->w, r);
        image_put(&before, l->w.base, NULL);
        if (found->generation[0] == 0)
            break;
    }
    image_free(&before);
}
