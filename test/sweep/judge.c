/* judge.c: see judge.h. */
#include "judge.h"

#include "common/crc64.h"
#include "names/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "olders.h"
#include "scene_rename.h"
#include "sights.h"
#include "sweep.h"
#include "tap.h"

/* By the name that files had before they were renamed, whatever the new one leads to. */
static bool opens_other;

static void
open_other(job *j)
{
    scene_said->by_other = true;
    scene_swap_names(j);
    scene_recover(j);
}

static void
recover_in_child(void *arg)
{
    scene *s = arg;

    s->job.timeout = SCENE_PATIENCE;
    tap_use(NULL);
    scene_run(s, opens_other ? open_other : s->reopen, 0, NULL);
}

/* Did all ranks come to the same? */
static bool
ranks_agree(const judge_case *c, const char *when)
{
    const scene_report *all = scene_said;

    for (int r = 0; r < SCENE_RANKS; r++) {
        if (!all->rank[r].done || all->rank[r].st != all->rank[0].st ||
            (all->rank[0].st == RSET_OK &&
             (all->rank[r].out.protected_ != all->rank[0].out.protected_ ||
              all->rank[r].out.reprotect != all->rank[0].out.reprotect))) {
            sweep_violation("%s: %s: ranks do not agree: rank 0 %s (%s), rank %d %s (%s)", c->what,
                            when, rset_status_name(all->rank[0].st), all->rank[0].text, r,
                            rset_status_name(all->rank[r].st), all->rank[r].text);
            return false;
        }
    }
    return true;
}

/* Would a rank whose file is protected have waited for one to which nothing says that it has to come? */
static bool
waits(const judge_case *c, const char *when)
{
    int who = -1, for_whom = -1;

    for (int r = 0; r < SCENE_RANKS; r++) {
        who = scene_said->rank[r].any ? r : who;
        for_whom = scene_said->rank[r].asks ? for_whom : r;
    }
    if (who < 0 || for_whom < 0)
        return false;
    sweep_violation("%s: %s: rank %d would have timed out waiting for rank %d", c->what, when, who,
                    for_whom);
    return true;
}

/* Of a file of one rank: what a crashed run left beside it may be gone, where each rank has settled what is its own. */
static void
forget_orphans(const scene *s, image *img)
{
    size_t n = 0;

    for (size_t i = 0; i < img->n; i++) {
        const char *path = img->at[i].path, *end = strrchr(path, '.');

        if (strcmp(end, ".new") == 0 && !exists(path_of("%s/%s", s->base, path))) {
            free(img->at[i].path);
            free(img->at[i].data);
        } else {
            img->at[n++] = img->at[i];
        }
    }
    img->n = n;
}

static unsigned
refused(const judge_case *c, image *before, const char *when)
{
    const bool renames = (c->scene->op->flags & SCENE_RENAMES) != 0;
    char       why[1024];

    if (c->weak && scene_said->first_opened)
        return SCENE_REFUSED; /* what the power took of one file says nothing of the other */
    if ((c->scene->op->flags & SCENE_ROOT) != 0)
        forget_orphans(c->scene, before);
    /* a names file may list more than there is: only the others say something */
    if (image_kept(before, c->scene->base, "." RSET_NAME_NAMES,
                   renames ? IMAGE_BACK : IMAGE_UNTOUCHED, why))
        return SCENE_REFUSED;
    sweep_violation("%s: %s: refused, but %s (%s)", c->what, when, why, scene_said->rank[0].text);
    return 0;
}

/* Who has opened the file before would go on with another one, if it is not told that it was replaced. */
static void
check_replaced(const judge_case *c, const image *before, const char *when)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        const char       *path = scene_data(c->scene, r);
        const image_file *was = image_find(before, path + strlen(c->scene->base) + 1);
        struct stat       sb;

        if (was != NULL && stat(path, &sb) == 0 && sb.st_ino != was->st.st_ino &&
            !scene_said->rank[r].out.replaced)
            sweep_violation("%s: %s: the file of rank %d is another one, and nobody says so",
                            c->what, when, r);
    }
}

/* What ranks were told, against what is in their files. */
static unsigned
opened(const judge_case *c, image *before, const char *when)
{
    const bool absent = scene_said->rank[0].st == RSET_ABSENT;
    const bool told = scene_said->rank[0].out.note[0] != '\0' || scene_said->rank[0].out.reprotect;
    const bool protected_ = scene_said->rank[0].out.protected_;
    char       why[256];
    unsigned   is;

    if (c->unsynced && (absent || (!protected_ && told)))
        return c->scene->op->plain;
    if (absent && !scene_files_there(c->scene))
        return refused(c, before, when);
    check_replaced(c, before, when);
    is = scene_look(c->scene, why);
    if (is == 0)
        sweep_violation("%s: %s: opened (%s), but %s", c->what, when,
                        protected_ ? "as protected" : "not protected", why);
    if (!absent && !protected_ && !told)
        sweep_violation("%s: %s: lost protection is not reported", c->what, when);
    return is;
}

unsigned
judge_recover(const judge_case *c, unsigned allowed, const char *when, bool *protected_out)
{
    image     before = image_take(c->scene->base);
    unsigned  is = 0;
    child_end end;

    memset(scene_said, 0, sizeof *scene_said);
    end = sweep_child(recover_in_child, c->scene);
    if (protected_out != NULL)
        *protected_out = scene_said->rank[0].st == RSET_OK && scene_said->rank[0].out.protected_;
    if (end != CHILD_DONE)
        sweep_violation("%s: %s: recover %s", c->what, when,
                        end == CHILD_HUNG ? "hung" : "crashed");
    else if (!ranks_agree(c, when) || waits(c, when))
        is = 0;
    else if (scene_said->rank[0].st == RSET_OK || scene_said->rank[0].st == RSET_ABSENT)
        is = opened(c, &before, when);
    else if (scene_said->rank[0].st == RSET_LOST)
        is = refused(c, &before, when);
    else
        sweep_violation("%s: %s: recover failed (%s)", c->what, when, scene_said->rank[0].text);
    image_free(&before);
    if (is != 0 && (is & allowed) == 0)
        sweep_violation("%s: %s: %s is not allowed here (%s%s)", c->what, when,
                        is == SCENE_REFUSED ? "refused"
                        : is == SCENE_OLD   ? "old"
                                            : "new",
                        scene_said->rank[0].text, scene_said->rank[0].out.note);
    return is;
}

/* Files that are said to be protected survive the loss of any node. */
static void
lose_each(const judge_case *c, unsigned content)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        char when[64];
        bool protected_ = false;

        if ((c->losses >> r & 1) == 0 || scene_tolerance(c->scene) == 0)
            continue;
        snprintf(when, sizeof when, "said to be protected, node %d lost", r);
        scene_lose(c->scene, r);
        if (judge_recover(c, content, when, &protected_) == 0)
            return;
        if (!protected_)
            sweep_violation("%s: %s: not protected after it was rebuilt", c->what, when);
    }
}

/* Can what there was before the fault survive the loss of node r as well? */
static bool
must_survive(const judge_case *c, int r)
{
    bool lost[JOB_RANKS];

    job_mask(&c->scene->job, (c->reported != 0 ? 0 : c->scene->lost) | 1U << r, lost);
    return (c->reported != 0 || ((c->scene->op->flags & SCENE_FIRM) != 0 && !c->weak)) &&
           job_survives(&c->scene->job, lost);
}

/* ---- states that were judged ---- */

static uint64_t
fingerprint(const judge_case *c, const image *img)
{
    const char *name = scene_name(c->scene);
    uint64_t    flags = (uint64_t)c->losses << 4 | c->reported << 2 | c->weak << 1 | c->unsynced |
                     (uint64_t)c->twice << 8 | (uint64_t)c->died << 9;

    return image_fingerprint(img, rset_crc64(flags, name, strlen(name)));
}

/* What may be found when it is reopened, but for what was reported. Where the undo journal was lost as well as what was
 * written, what is partially written is nobody's to open. */
static unsigned
allowed(const judge_case *c)
{
    return c->scene->op->plain | (c->unsynced ? SCENE_OLD : 0) |
           (c->weak && (c->unsynced || (c->scene->op->flags & SCENE_ROOT) != 0) ? SCENE_REFUSED
                                                                                : 0);
}

void
judge_told(judge_case *c)
{
    char why[256];

    c->reported = 0;
    if (!scene_reported() || scene_said->by_other) /* which says nothing of what has the new name */
        return;
    c->reported = scene_look(c->scene, why) & allowed(c);
    if (c->reported == 0) {
        sweep_violation("%s: reported as protected, but it is not what it may be", c->what);
        c->reported = SCENE_NEW;
    }
}

/* The new name still has what it had: so the old one has what was to be renamed. */
static void
open_unrenamed(const judge_case *c)
{
    opens_other = true;
    judge_recover(c, SCENE_NEW, "not renamed, and opened by the old name", NULL);
    opens_other = false;
}

/* The new files are protected: what they took the place of was put aside, on each rank, as it was; but a program without memory for a
 * shadow file has written over it. */
static void
aside_judge(const judge_case *c)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        const job_rank *k = &c->scene->job.ranks[r];
        rset_dir       *dir = NULL;
        rset_evidence   ev = {0};
        rset_err        err = RSET_ERR_NONE;
        char           *name;
        size_t          size = 0;
        uint8_t        *data = NULL;

        if (rset_dir_open(k->dir, false, &dir, &err) == RSET_OK)
            (void)rset_survey(dir, k->prefix, k->names[0], &ev, &err);
        name = ev.nlost == 1 ? rset_name_of(RSET_NAME_LOST, k->prefix, ev.lost[0]) : NULL;
        if (name != NULL)
            data = read_file(path_of("%s/%s", k->dir, name), &size);
        if (data == NULL || (!c->unsynced && !scene_holds(&c->scene->old, r, data, size)))
            sweep_violation("%s: rank %d has not put aside what it had (%zu generations are there)",
                            c->what, r, ev.nlost);
        free(data);
        free(name);
        rset_evidence_free(&ev);
        rset_dir_close(dir);
    }
}

/* A file alone that changes on after its commit, and cannot keep what it overwrites, has nothing left that leads back. */
static bool
gave_up_alone(const judge_case *c)
{
    return (c->scene->op->flags & SCENE_OPEN) != 0 && c->unsynced && c->scene->kind->parity == 0;
}

static void
judge_state(const judge_case *c, const image *left)
{
    const scene_operation *op = c->scene->op;
    const unsigned         plain = c->reported != 0 ? c->reported : allowed(c);
    bool                   protected_ = false;
    unsigned               is;

    sights_check(c->scene, c->what);
    is = judge_recover(c, plain, "reopened", &protected_);
    olders_judge(c, is, !c->weak && !c->unsynced && !c->twice, "reopened");
    if (c->scene->job.aside && is == SCENE_NEW && protected_ && !c->twice)
        aside_judge(c);
    if (is == SCENE_OLD && scene_has_two_names(&c->scene->job) && !scene_said->by_other)
        open_unrenamed(c);
    if (is != 0 && protected_)
        lose_each(c, is);
    else if (is != 0 && c->reported != 0 && !gave_up_alone(c))
        sweep_violation("%s: reported as protected, but is not", c->what);
    for (int r = 0; r < SCENE_RANKS; r++) {
        char     when[64];
        unsigned allowed = must_survive(c, r) ? op->loss & ~(unsigned)SCENE_REFUSED : op->loss;

        if ((c->losses >> r & 1) == 0)
            continue;
        scene_put(c->scene, left);
        scene_lose(c->scene, r);
        snprintf(when, sizeof when, "node %d lost in addition", r);
        is = judge_recover(c, c->reported != 0 ? allowed & (c->reported | SCENE_REFUSED) : allowed,
                           when, NULL);
        olders_judge(c, is, false, when);
    }
}

void
judge(const judge_case *c)
{
    static sweep_set judged;
    image            left = image_take(c->scene->base);

    if (sweep_seen(&judged, fingerprint(c, &left)))
        sweep_tally("states known already");
    else
        judge_state(c, &left);
    image_free(&left);
}
