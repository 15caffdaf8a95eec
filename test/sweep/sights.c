/* sights.c: see sights.h. */
#include "sights.h"

#include "model.h"
#include "recover/classify.h"
#include "sweep.h"

#include <malloc.h>
#include <stdio.h>

/* What one rank's disk says, as the engine reads it. */
typedef struct rank_sight {
    rset_evidence evidence;
    rset_looked   looked;
} rank_sight;

static bool
look_at_rank(const job_rank *k, int rank, rank_sight *out)
{
    rset_dir   *dir = NULL;
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;
    rset_status st = rset_dir_open(k->dir, false, &dir, &ignored);

    *out = (rank_sight){.looked.rank = rank};
    if (st == RSET_OK)
        st = rset_survey(dir, k->prefix, k->names[0], &out->evidence, &ignored);
    if (st == RSET_OK && rset_dir_stat(dir, k->names[0], &sb, &ignored) == RSET_OK) {
        out->looked.there = !out->evidence.placeholder;
        out->looked.size = (uint64_t)sb.st_size;
    }
    rset_dir_close(dir);
    return st == RSET_OK;
}

static rset_standing
standing_of(const rank_sight *ranks)
{
    rset_census   census = {0};
    rset_standing standing;
    rset_policy   ignored;

    for (int r = 0; r < SCENE_RANKS; r++) {
        const rset_census one = rset_take_census(&ranks[r].evidence);

        rset_census_merge(&census, &one);
    }
    rset_stand(&census, false, &standing, &ignored);
    return standing;
}

static void
compare(const rank_sight *ranks, const char *what)
{
    const rset_standing standing = standing_of(ranks);
    rset_report         reports[SCENE_RANKS];

    for (int r = 0; r < SCENE_RANKS; r++)
        reports[r] = rset_classify(&ranks[r].evidence, &standing, &ranks[r].looked);
    for (int a = 0; a < SCENE_RANKS; a++)
        for (int b = 0; b < a; b++)
            if (!model_saw(&reports[a], &reports[b])) {
                sweep_violation("%s: the model knows no rank that is %s (%x) beside one that is %s "
                                "(%x)",
                                what, rset_state_name(reports[a].state), reports[a].facts,
                                rset_state_name(reports[b].state), reports[b].facts);
                return;
            }
}

/* All that the model comes to, once. Its memory goes back to the system: thousands of children are forked after this, and each
 * would be given a copy of its page tables. */
static void
explore_once(void)
{
    static bool  explored;
    model_result ignored;

    for (size_t i = 0; !explored && i < model_nscenarios; i++)
        model_explore(&model_scenarios[i], (model_limits){.crashes = 2, .losses = 2}, &ignored);
    if (!explored)
        (void)malloc_trim(0);
    explored = true;
}

void
sights_check(const scene *s, const char *what)
{
    rank_sight ranks[SCENE_RANKS];
    bool       all = true;

    if ((s->op->flags & SCENE_APART) != 0)
        return;
    explore_once();
    for (int r = 0; r < SCENE_RANKS; r++)
        all = look_at_rank(&s->job.ranks[r], r, &ranks[r]) && all;
    if (all)
        compare(ranks, what);
    for (int r = 0; r < SCENE_RANKS; r++)
        rset_evidence_free(&ranks[r].evidence);
}
