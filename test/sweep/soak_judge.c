/* soak_judge.c: see soak_judge.h. */
#include "soak_judge.h"

#include "member/member.h"
#include "soak_random.h"
#include "sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { AGAIN = 8 }; /* percent of files that are opened once more */

static const char *const verdict_names[] = {"back to a commit", "as they are", "refused",
                                            "not protected"};

/* The first open that came out wrong leaves what it had found. */
static void
keep_evidence(const image *found)
{
    static bool kept;
    const char *dir = getenv("REDSET_SOAK_KEEP");

    if (dir != NULL && !kept) {
        kept = true;
        mkdir(dir, 0777);
        image_put(found, dir, NULL);
    }
}

static void wrong(const soak_life *l, const image *found, const soak_expectation *e,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
wrong(const soak_life *l, const image *found, const soak_expectation *e, const char *fmt, ...)
{
    char    text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sweep_violation("%s;%s: expected %s (%s), but %s; rank 0 says: %s %s", l->what, l->damage.what,
                    verdict_names[e->verdict], e->why, text, soak_said[0].text,
                    soak_said[0].out.note);
    keep_evidence(found);
}

/* ---- what is promised ---- */

static bool
is_commit(const soak_life *l, const soak_expectation *e, const soak_commit *c,
          const soak_bytes *now)
{
    for (int r = 0; r < l->w.job.n; r++)
        if (!e->unverified[r] && !soak_bytes_equal(&now[r], &c->data[r]))
            return false;
    return true;
}

/* What the application had, or what it wanted. Where each rank closes for itself, some ranks may have done
 * so; otherwise it is one or the other. */
static bool
is_as_left(const soak_life *l, const soak_expectation *e, const soak_bytes *now)
{
    bool old = true, new = true;

    for (int r = 0; r < l->w.job.n; r++) {
        const bool excused = l->lasting[r] || l->damage.touched[r] || e->unverified[r];
        const bool is_old = soak_bytes_equal(&now[r], &l->before[r]);
        const bool is_new = soak_bytes_equal(&now[r], &l->w.part[r].target);

        if (!is_old && !is_new && !excused)
            return false;
        old = old && (is_old || excused);
        new = new && (is_new || excused);
    }
    if (!old && !new)
        sweep_tally("files that some ranks had closed, and some not");
    return old || new || l->op == SOAK_UPDATE || l->op == SOAK_PUT;
}

/* The last commit that ranks were told of, or one since; what an open has begun is not gone back on. */
static bool
keeps_promise(const soak_life *l, const soak_expectation *e, const soak_bytes *now)
{
    for (int i = 0; i < l->w.ncommits; i++) {
        const soak_commit *c = &l->w.commits[i];

        if (l->begun_for != 0 && c->generation != l->begun_for)
            continue;
        if ((l->old_copies || !rset_generation_newer(l->least, c->generation)) &&
            is_commit(l, e, c, now))
            return true;
    }
    return !l->begun && is_as_left(l, e, now);
}

/* What was protected survives what the scheme promises to survive: as many nodes as were touched since, whatever
 * the job has died in. */
static bool
must_open(const soak_life *l)
{
    int touched = 0;

    for (int r = 0; r < l->w.job.n; r++) {
        touched += l->damage.touched[r];
        if (!l->sound[r] || l->lasting[r])
            return false;
    }
    return (!l->damage.old_copy || 2 * touched < l->w.job.n) &&
           job_survives(&l->w.job, l->damage.touched);
}

/* ---- what is there ---- */

static bool
ranks_agree(const soak_life *l, const image *found, const soak_expectation *e)
{
    const soak_outcome *a = &soak_said[0];

    for (int r = 0; r < l->w.job.n; r++) {
        const soak_outcome *b = &soak_said[r];

        if (!b->done || b->st != a->st || b->out.protected_ != a->out.protected_ ||
            b->out.reprotect != a->out.reprotect) {
            wrong(l, found, e, "rank %d comes to %s, rank 0 to %s", r, rset_status_name(b->st),
                  rset_status_name(a->st));
            return false;
        }
    }
    return true;
}

/* Data files as expected; a rank for which nothing is expected has none. */
static bool
contents_fit(const soak_life *l, const soak_expectation *e, const soak_bytes *now, int *rank_out)
{
    for (int r = 0; r < l->w.job.n; r++) {
        *rank_out = r;
        if (e->content[r].at == NULL ? now[r].at != NULL
                                     : !soak_bytes_equal(&now[r], &e->content[r]))
            return false;
    }
    return true;
}

/* Redundancy and descriptor files of all ranks are what the encode wrote, to the bit. */
static bool
is_whole(const soak_life *l, const soak_commit *c, const char **path_out)
{
    for (int r = 0; r < l->w.job.n; r++) {
        const char       *paths[] = {job_redundancy(&l->w.job, r), job_descriptor(&l->w.job, r)};
        const soak_bytes *want[] = {&c->redundancy[r], &c->descriptor[r]};

        for (int i = 0; i < 2; i++) {
            soak_bytes now = {0};
            bool       same;

            if (exists(paths[i]))
                now.at = read_file(paths[i], &now.n);
            same = soak_bytes_equal(&now, want[i]);
            free(now.at);
            *path_out = paths[i];
            if (!same)
                return false;
        }
    }
    return true;
}

/* ---- the verdict ---- */

static void
judge_opened(const soak_life *l, const image *found, const soak_expectation *e,
             const soak_bytes *now)
{
    const soak_outcome *said = &soak_said[0];
    const char         *path = NULL;
    int                 r;

    if (!contents_fit(l, e, now, &r))
        wrong(l, found, e, "the file of rank %d is another", r);
    else if (!keeps_promise(l, e, now))
        wrong(l, found, e, "that is neither what was protected nor what was written last");
    if (e->verdict == SOAK_UNKNOWN)
        return;
    if (said->out.protected_ != e->protected_)
        wrong(l, found, e, "it is %sprotected", said->out.protected_ ? "" : "not ");
    else if (said->out.protected_ && !is_whole(l, e->commit, &path))
        wrong(l, found, e, "%s is not what the encode wrote", path);
    if (!said->out.protected_ && said->out.note[0] == '\0')
        wrong(l, found, e, "lost protection is not reported");
    for (r = 0; e->verdict == SOAK_BACK && r < l->w.job.n; r++)
        if (exists(path_of("%s/%s", l->w.base, soak_beside(&l->w, r, RSET_NAME_BESIDE))))
            wrong(l, found, e, "the new file that rank %d never closed is still there", r);
}

static rset_status
status_of(const soak_expectation *e)
{
    return e->verdict == SOAK_REFUSED   ? RSET_LOST
           : e->verdict == SOAK_UNKNOWN ? RSET_ABSENT
                                        : RSET_OK;
}

/* What was never protected is opened as it is, but what a job began beside it is of no use. */
static bool
changes_nothing(const soak_expectation *e)
{
    return e->verdict == SOAK_REFUSED || (e->verdict == SOAK_AS_IS && !e->forward);
}

static void
judge_untouched(const soak_life *l, const image *found, const soak_expectation *e)
{
    char why[1024];

    if (changes_nothing(e) && !image_same(found, l->w.base, NULL, IMAGE_UNTOUCHED, why))
        wrong(l, found, e, "%s", why);
}

/* Once more: leftovers of dead jobs are gone then, and after that nothing is done at all. */
static void
judge_again(soak_life *l, const image *found, const soak_expectation *e)
{
    image       once;
    char        why[1024];
    soak_end    first = soak_run(&l->w, SOAK_RECOVER, NULL);
    const char *path = NULL;

    once = image_take(l->w.base);
    if (first != SOAK_DONE || once.n != 3 * (size_t)l->w.job.n || !is_whole(l, e->commit, &path))
        wrong(l, found, e, "opened again there are %zu files, %s", once.n,
              path != NULL ? path : "");
    soak_run(&l->w, SOAK_RECOVER, NULL);
    if (!image_same(&once, l->w.base, NULL, IMAGE_UNTOUCHED, why))
        wrong(l, found, e, "opened again %s", why);
    image_free(&once);
}

static void
judge_outcome(soak_life *l, const image *found, const soak_expectation *e)
{
    soak_bytes now[SOAK_RANKS] = {{0}};
    int        r;

    for (r = 0; r < l->w.job.n; r++)
        soak_look(&l->w, r, &now[r]);
    if (!ranks_agree(l, found, e))
        return;
    judge_untouched(l, found, e);
    if (soak_said[0].st != RSET_OK && must_open(l))
        wrong(l, found, e, "no more is lost than the scheme survives");
    if (soak_said[0].st != status_of(e))
        wrong(l, found, e, "it comes to %s", rset_status_name(soak_said[0].st));
    else if (e->verdict == SOAK_BACK || e->verdict == SOAK_AS_IS)
        judge_opened(l, found, e, now);
    else if (!contents_fit(l, e, now, &r))
        wrong(l, found, e, "the file of rank %d is another", r);
    for (r = 0; r < l->w.job.n; r++)
        free(now[r].at);
}

soak_expectation
soak_judge(soak_life *l)
{
    image            found = image_take(l->w.base);
    soak_expectation e = soak_expect(&l->w, &found);
    soak_end         end = soak_run(&l->w, SOAK_RECOVER, NULL);

    sweep_tally(verdict_names[e.verdict]);
    if (e.forward && e.verdict != SOAK_REFUSED)
        sweep_tally("commits finished by the next job");
    if (end == SOAK_DONE)
        judge_outcome(l, &found, &e);
    else
        wrong(l, &found, &e, "opening %s", end == SOAK_HUNG ? "hangs" : "crashes");
    if (e.protected_ && soak_chance(AGAIN))
        judge_again(l, &found, &e);
    image_free(&found);
    return e;
}

void
soak_judge_begun(soak_life *l, const image *before, const soak_expectation *e)
{
    char why[1024];

    /* A rebuild reads everything once, while it works: what will be refused may have a file begun. */
    if (changes_nothing(e) && !image_kept(before, l->w.base, RSET_SUFFIX_FIX, why))
        wrong(l, before, e, "%s", why);
    l->begun = e->verdict == SOAK_BACK;
    l->was_begun = l->was_begun || l->begun;
    l->begun_for = l->begun ? e->commit->generation : 0;
}
