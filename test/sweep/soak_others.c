/* soak_others.c: see soak_others.h. */
#include "soak_others.h"

#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- who opens what ---- */

static int files[SOAK_RANKS]; /* of which rank is the file that rank i of the others opens? */

static void
name_other(job_rank *k, const job_rank *where, const job_rank *whose)
{
    free(k->dir);
    free(k->prefix);
    free(k->names[0]);
    k->dir = strdup(where->dir);
    k->prefix = strdup(whose->prefix);
    k->names[0] = strdup(whose->names[0]);
    assert_true(k->dir != NULL && k->prefix != NULL && k->names[0] != NULL);
}

/* No two open one file, so there are no more than there are files. As many, in the same order, would be those that wrote them. */
static void
plan_others(soak_world *w)
{
    const int n = 1 + (int)soak_random((uint64_t)w->job.n);
    const int turn = n == w->job.n ? 1 + (int)soak_random((uint64_t)n - 1)
                                   : (int)soak_random((uint64_t)w->job.n);

    job_init(&w->others, w->base, n, &rset_scheme_single, 0, 1);
    w->others.timeout = w->job.timeout;
    for (int i = 0; i < n; i++) {
        files[i] = (i + turn) % w->job.n;
        name_other(&w->others.ranks[i], &w->job.ranks[i], &w->job.ranks[files[i]]);
    }
}

/* ---- all nodes are within reach ---- */

/* Which rank's is a file of that name? -1: nobody's. */
static int
owner(const soak_world *w, const char *name)
{
    for (int r = 0; r < w->job.n; r++)
        if (strncmp(name, w->job.ranks[r].names[0], strlen(w->job.ranks[r].names[0])) == 0)
            return r;
    return -1;
}

/* Moves the files of the ranks in `whose` (bits) from one directory to another. */
static void
carry(const soak_world *w, const char *from, const char *to, unsigned whose)
{
    DIR           *d = opendir(from);
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        const int r = owner(w, e->d_name);

        if (r >= 0 && (whose >> r & 1) != 0)
            assert_int_equal(
                rename(path_of("%s/%s", from, e->d_name), path_of("%s/%s", to, e->d_name)), 0);
    }
    closedir(d);
}

/* Ranks of which something lies there, as bits. */
static unsigned
ranks_with_files_in(const soak_world *w, const char *dir)
{
    image    img = image_take(dir);
    unsigned who = 0;

    for (size_t i = 0; i < img.n; i++)
        if (owner(w, img.at[i].path) >= 0)
            who |= 1U << owner(w, img.at[i].path);
    image_free(&img);
    return who;
}

/* Where nobody runs, what lies there lies with one of the others for as long as they do. False: it has two files of one name
 * then; `moved` is what came. */
static bool
gather(const soak_world *w, unsigned *moved)
{
    bool fits = true;

    for (int k = w->others.n; k < w->job.n; k++) {
        const char    *from = w->job.ranks[k].dir, *to = w->job.ranks[k % w->others.n].dir;
        const unsigned who = ranks_with_files_in(w, from);

        moved[k] = fits && (who & ranks_with_files_in(w, to)) == 0 ? who : 0;
        fits = fits && moved[k] == who;
        carry(w, from, to, moved[k]);
    }
    return fits;
}

/* Does a file lie where one of them opens it, and at home as well? Old copies are refused there, or read (docs/user-guide.md). */
static bool
in_the_way(const soak_world *w)
{
    for (int i = 0; i < w->others.n; i++)
        for (int k = 0; k < w->job.n; k++)
            if (strcmp(w->job.ranks[k].dir, w->others.ranks[i].dir) != 0 &&
                (ranks_with_files_in(w, w->job.ranks[k].dir) &
                 ranks_with_files_in(w, w->others.ranks[i].dir) & 1U << files[i]) != 0)
                return true;
    return false;
}

static void
scatter(const soak_world *w, const unsigned *moved)
{
    for (int k = w->others.n; k < w->job.n; k++)
        carry(w, w->job.ranks[k % w->others.n].dir, w->job.ranks[k].dir, moved[k]);
}

/* What readers got from other nodes goes with them, but for what came back and is nowhere else. */
static void
clean_up(const soak_world *w, const image *before)
{
    image now = image_take(w->base);

    for (size_t i = 0; i < now.n; i++) {
        const char *path = now.at[i].path;
        const int   r = owner(w, strchr(path, '/') + 1);

        if (r >= 0 && r != atoi(path + strlen("node")) && image_find(before, path) == NULL &&
            exists(job_data(&w->job, r)))
            unlink(path_of("%s/%s", w->base, path));
    }
    image_free(&now);
}

/* ---- what it comes to ---- */

static bool
others_agree(const soak_trial *l, const image *found)
{
    const soak_outcome *a = &soak_said[0];

    for (int i = 0; i < l->w.others.n; i++) {
        const soak_outcome *b = &soak_said[i];

        if (!b->done || b->st != a->st || b->out.protected_ != a->out.protected_) {
            soak_wrong(l, found, "rank %d of %d others comes to %s (%s), rank 0 to %s (%s)", i,
                       l->w.others.n, rset_status_name(b->st), b->text, rset_status_name(a->st),
                       a->text);
            return false;
        }
    }
    return true;
}

/* With SINGLE, which records nothing of other ranks, a rank is found by its number (docs/user-guide.md). */
static bool
can_be_found(const soak_trial *l, int i)
{
    return l->w.job.ranks[0].desc.scheme != &rset_scheme_single || files[i] == i;
}

/* Does one of them open a file that nobody has touched since it was protected? */
static bool
others_know(const soak_trial *l)
{
    for (int i = 0; i < l->w.others.n; i++)
        if (l->least >= 0 && l->sound[files[i]] && !l->damage.touched[files[i]] &&
            can_be_found(l, i))
            return true;
    return false;
}

/* What was changed since it was protected is for those that have changed it. */
static bool
others_must_open(const soak_trial *l)
{
    return l->still && soak_must_open(l) && can_be_found(l, 0);
}

/* What lies where they opened it; of files that nobody opened nothing is known. False: something is missing. */
static bool
take_opened(const soak_trial *l, soak_bytes *now, bool *unknown)
{
    for (int r = 0; r < l->w.job.n; r++)
        unknown[r] = true;
    for (int i = 0; i < l->w.others.n; i++) {
        const char *path = job_data(&l->w.others, i);

        if (!exists(path))
            return false;
        now[files[i]].at = read_file(path, &now[files[i]].n);
        unknown[files[i]] = false;
    }
    return true;
}

static void
judge_opened(soak_trial *l, const image *found)
{
    const bool anything = l->torn || l->least < 0; /* as when all open them */
    soak_bytes now[SOAK_RANKS] = {{0}};
    bool       unknown[SOAK_RANKS];
    const bool there = take_opened(l, now, unknown);

    for (int r = 0; r < l->w.job.n; r++)
        unknown[r] = unknown[r] || (l->excused[r] && !soak_said[0].out.protected_);
    if (!there && !anything)
        soak_wrong(l, found, "opened by %d others, but a file is missing", l->w.others.n);
    else if (there && soak_history_find(&l->w, now, l->least, unknown) < 0 && !anything)
        soak_wrong(l, found, "%d others get a mixture, or older than what was protected",
                   l->w.others.n);
    for (int r = 0; r < l->w.job.n; r++)
        free(now[r].at);
}

static void
judge_done(soak_trial *l, const image *found)
{
    const soak_outcome *a = &soak_said[0];
    char                why[1024];

    if (!others_agree(l, found))
        return;
    if (a->st == RSET_OK)
        judge_opened(l, found);
    else if (a->st == RSET_ABSENT && others_know(l))
        soak_wrong(l, found, "nobody of %d others knows of any protection", l->w.others.n);
    else if (a->st != RSET_LOST && a->st != RSET_ABSENT)
        soak_wrong(l, found, "it comes to %s", rset_status_name(a->st));
    else if (a->st == RSET_LOST && others_must_open(l))
        soak_wrong(l, found,
                   "refused to %d others, though no more is lost than the scheme survives",
                   l->w.others.n);
    else if (a->st == RSET_LOST && l->still && /* else a commit may have been finished before */
             !image_same(found, l->w.base, NULL, IMAGE_REFUSED, why))
        soak_wrong(l, found, "refused to %d others, but %s", l->w.others.n, why);
}

void
soak_judge_others(soak_trial *l, const soak_death *death)
{
    unsigned moved[SOAK_RANKS] = {0};
    image    before = image_take(l->w.base);

    plan_others(&l->w);
    if (gather(&l->w, moved) && !in_the_way(&l->w)) {
        image          found = image_take(l->w.base);
        const soak_end end = soak_run(&l->w, SOAK_OTHERS, death);

        soak_story_note("  %d others were those, the first opens the file of rank %d",
                        l->w.others.n, files[0]);
        sweep_tally("opened by other ranks");
        if (end == SOAK_HUNG || end == SOAK_CRASHED)
            soak_wrong(l, &found, "opening as %d others %s", l->w.others.n,
                       end == SOAK_HUNG ? "hangs" : "crashes");
        else if (end == SOAK_DONE)
            judge_done(l, &found);
        image_free(&found);
    }
    scatter(&l->w, moved);
    clean_up(&l->w, &before);
    image_free(&before);
    job_free(&l->w.others);
}
