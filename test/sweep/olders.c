/* olders.c: see olders.h. */
#include "olders.h"

#include "names/names.h"
#include "older.h"
#include "scene_root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"
#include "tap.h"

/* What the child came to. */
typedef struct finding {
    uint64_t generation[SCENE_RANKS]; /* that is meant; 0: there is none such */
    bool     ready[SCENE_RANKS];      /* it could be made whole */
    char     text[RSET_ERR_TEXT];
} finding;

static finding *found;
static unsigned back;   /* so many before the newest */
static bool     second; /* of two files of each rank the second one */
static bool     of_one_rank;

static void
find_rank(rset_comm *world, void *arg)
{
    job      *j = arg;
    job_rank *k = &j->ranks[world->rank];

    k->err = RSET_ERR_NONE;
    found->ready[world->rank] =
        older_find(world, k, back, &found->generation[world->rank]) == RSET_OK;
    if (!found->ready[world->rank])
        memcpy(found->text, k->err.text, sizeof found->text);
}

static bool
all_are_ready(void)
{
    for (int r = 0; r < SCENE_RANKS; r++)
        if (!found->ready[r] || found->generation[r] == 0)
            return false;
    return true;
}

static void
open_older(job *j)
{
    job_run(j, find_rank);
    if (!all_are_ready())
        return;
    for (int r = 0; r < SCENE_RANKS; r++)
        older_call(&j->ranks[r], found->generation[r]);
    (of_one_rank ? scene_root_open : scene_recover)(j);
}

static void
open_in_child(void *arg)
{
    scene *s = arg;

    of_one_rank = (s->op->flags & SCENE_ROOT) != 0;
    if (second)
        s->job = s->with; /* of this child */
    s->job.timeout = SCENE_PATIENCE;
    tap_use(NULL);
    scene_run(s, open_older, 0, NULL);
}

/* Which of the generations, bit i for the ith, is that what rank r has? */
static unsigned
look_at(const scene *s, int r, const uint8_t *data, size_t size)
{
    const contents *older = second ? s->with_older : s->older;
    unsigned        is = 0;

    for (int i = 0; i < s->nolder; i++)
        is |= (unsigned)scene_holds(&older[i], r, data, size) << i;
    is |= (unsigned)scene_holds(second ? &s->with_old : &s->old, r, data, size) << s->nolder;
    return is | (unsigned)scene_holds(second ? &s->with_new : &s->new, r, data, size)
                    << (s->nolder + 1);
}

/* The same of all files of that one. Those in `older` come first; then `old`, then `new`. */
static unsigned
look(const scene *s)
{
    const job *j = second ? &s->with : &s->job;
    unsigned   all = ~0U;

    for (int r = 0; r < SCENE_RANKS; r++) {
        const job_rank *k = &j->ranks[r];
        char           *name = rset_name_of(RSET_NAME_DATA, k->prefix, found->generation[r]);
        const char     *path = path_of("%s/%s", k->dir, name);
        size_t          size = 0;
        uint8_t        *data = exists(path) ? read_file(path, &size) : NULL;

        all &= data != NULL ? look_at(s, r, data, size) : 0;
        free(data);
        free(name);
    }
    return all;
}

/* The generations that it may be, and is; 0: refused, or there is none. */
static unsigned
judge_one(const judge_case *c, unsigned may, const char *when)
{
    const scene_outcome *first = &scene_said->rank[0];
    unsigned             is;

    for (int r = 0; r < SCENE_RANKS; r++)
        if (found->generation[r] != found->generation[0] || scene_said->rank[r].st != first->st) {
            sweep_violation("%s: %s: %u before the newest: ranks do not agree: %s, %s", c->what,
                            when, back, first->text, scene_said->rank[r].text);
            return 0;
        }
    if (!all_are_ready() || first->st != RSET_OK) {
        if (found->generation[0] != 0 && first->text[0] == '\0' && found->text[0] == '\0')
            sweep_violation("%s: %s: %u before the newest is refused without a word", c->what, when,
                            back);
        sweep_tally("older generations refused");
        return 0;
    }
    is = look(c->scene);
    sweep_tally("older generations opened");
    if ((is & may) == 0)
        sweep_violation("%s: %s: %u before the newest is opened, but is %s", c->what, when, back,
                        is == 0 ? "no older generation" : "the newest, or newer");
    return is & may;
}

/* Each that there is of one of the files. */
static void
judge_each(const judge_case *c, unsigned may, unsigned must, const char *when)
{
    image    before = image_take(c->scene->base);
    unsigned had = 0;

    for (back = 1; back <= (unsigned)c->scene->nolder + 1; back++) {
        memset(found, 0, sizeof *found);
        memset(scene_said, 0, sizeof *scene_said);
        if (sweep_child(open_in_child, c->scene) == CHILD_DONE)
            had |= judge_one(c, may, when);
        else
            sweep_violation("%s: %s: opening %u before the newest hung or crashed", c->what, when,
                            back);
        scene_put(c->scene, &before);
    }
    if ((had & must) != must)
        sweep_violation("%s: %s: of the generations %x before the newest only %x can be had",
                        c->what, when, must, had);
    image_free(&before);
}

void
olders_judge(const judge_case *c, unsigned newest, bool must, const char *when)
{
    const scene   *s = c->scene;
    const unsigned last = 1U << (s->nolder > 0 ? s->nolder - 1 : 0);
    const unsigned may = newest == SCENE_OLD ? 2 * last - 1
                         : c->twice          ? 8 * last - 1
                                             : 4 * last - 1;
    const unsigned have = !must ? 0 : c->died && newest == SCENE_NEW ? 3 * last : last;

    if (s->nolder == 0)
        return;
    if (found == NULL)
        found = sweep_shared(sizeof *found);
    second = false;
    judge_each(c, may, have, when);
    second = s->job.with != NULL;
    if (second)
        judge_each(c, may, have, when);
}
