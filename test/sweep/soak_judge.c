/* soak_judge.c: see soak_judge.h. */
#include "soak_judge.h"

#include "names/names.h"

#include "soak_disk.h"
#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum {
    AGAIN = 8, /* percent of files that are opened once more */
    TOLD = 3   /* alarms are told with all that came before them */
};

static const char *const verdict_names[] = {"opened, not protected", "opened, protected", "refused",
                                            "never protected", "wrong"};

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

static void
tell_versions(const soak_trial *l)
{
    const soak_world *w = &l->w;

    printf("  versions; promised is v%d (v-1: none):\n", l->least);
    for (int i = 0; i < w->nversions; i++)
        if (w->versions[i].generation != 0)
            printf("    v%d: generation %016llx%s%s\n", i,
                   (unsigned long long)w->versions[i].generation,
                   w->versions[i].complete ? "" : ", not complete on all ranks",
                   w->versions[i].gone ? ", gone" : "");
}

/* All that explains it, as far as it is known from outside the engine. */
static void
tell(const soak_trial *l, const image *found, const image *now)
{
    soak_story_tell();
    tell_versions(l);
    if (found != NULL) {
        printf("  files as the open had found them:\n");
        soak_disk_list(&l->w, found);
    }
    printf("  files as they are now:\n");
    soak_disk_list(&l->w, now);
    for (int r = 0; r < SOAK_RANKS; r++)
        if (soak_said[r].done)
            printf("  rank %d comes to %s: %s%s\n", r, rset_status_name(soak_said[r].st),
                   soak_said[r].text, soak_said[r].out.note);
    fflush(stdout);
}

soak_verdict
soak_wrong(const soak_trial *l, const image *found, const char *fmt, ...)
{
    char    text[1024];
    image   now = image_take(l->w.base);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sweep_violation("%s;%s: %s; rank 0 says: %s %s", l->what, l->damage.what, text,
                    soak_said[0].text, soak_said[0].out.note);
    if (sweep_violations() <= TOLD)
        tell(l, found, &now);
    keep_evidence(found != NULL ? found : &now);
    image_free(&now);
    return SOAK_WRONG;
}

/* ---- what is promised ---- */

bool
soak_must_open(const soak_trial *l)
{
    for (int r = 0; r < l->w.job.n; r++)
        if (!l->sound[r] || l->lasting[r])
            return false;
    return l->least >= 0 && job_survives(&l->w.job, l->damage.touched);
}

bool
soak_somebody_knows(const soak_trial *l)
{
    for (int r = 0; r < l->w.job.n; r++)
        if (l->least >= 0 && l->sound[r] && !l->damage.touched[r])
            return true;
    return false;
}

void
soak_told(soak_trial *l)
{
    l->least = l->w.nversions - 1;
    l->quiet = l->still = true;
    l->torn = false;
    for (int r = 0; r < l->w.job.n; r++) {
        l->sound[r] = true;
        l->excused[r] = false;
    }
}

/* What is left is no newer than this version: it may be opened again, if it was newer than what all ranks have opened since. */
static void
promise_less(soak_trial *l, int version)
{
    if (version < 0 || version >= l->least)
        return;
    soak_story_note("  nothing that is left tells of v%d: v%d is promised", l->least, version);
    l->least = version;
    soak_history_revive(&l->w);
}

void
soak_harmed(soak_trial *l)
{
    image now;

    for (int r = 0; r < l->w.job.n; r++)
        l->excused[r] = l->excused[r] || l->damage.touched[r];
    l->quiet = false;
    if (soak_somebody_knows(l))
        return;
    if (l->damage.old_copy)
        promise_less(l, l->past);
    now = image_take(l->w.base);
    promise_less(l, soak_disk_newest(&l->w, &now));
    image_free(&now);
}

/* Redundancy and descriptor files of all ranks are what the encode wrote, to the bit. */
static bool
is_whole(const soak_trial *l, const soak_version *v, const char **path_out)
{
    for (int r = 0; r < l->w.job.n; r++) {
        const char       *paths[] = {job_redundancy(&l->w.job, r), job_descriptor(&l->w.job, r)};
        const soak_bytes *want[] = {&v->redundancy[r], &v->descriptor[r]};

        for (int i = 0; i < 2; i++) {
            soak_bytes now = {0};
            bool       same;

            if (exists(paths[i]))
                now.at = read_file(paths[i], &now.n);
            same = soak_bytes_equal(&now, want[i]) || (want[i]->at == NULL && now.at != NULL);
            free(now.at);
            *path_out = paths[i];
            if (!same)
                return false;
        }
    }
    return true;
}

/* ---- all ranks ---- */

static bool
ranks_agree(const soak_trial *l, const image *found)
{
    const soak_outcome *a = &soak_said[0];

    for (int r = 0; r < l->w.job.n; r++) {
        const soak_outcome *b = &soak_said[r];

        if (!b->done || b->st != a->st || b->out.protected_ != a->out.protected_ ||
            b->out.reprotect != a->out.reprotect) {
            soak_wrong(l, found, "rank %d comes to %s, rank 0 to %s", r, rset_status_name(b->st),
                       rset_status_name(a->st));
            return false;
        }
    }
    return true;
}

static soak_verdict
judge_protected(soak_trial *l, const image *found, const soak_bytes *now)
{
    const char *path = NULL;
    int         i = soak_history_encoded(&l->w, now, l->w.nversions - 1);

    if (i < l->least)
        return soak_wrong(l, found, "protected, but not as any encode had it that counts");
    while (i >= l->least && !is_whole(l, &l->w.versions[i], &path))
        i = soak_history_encoded(&l->w, now, i - 1); /* the same files were encoded again */
    if (i < l->least)
        return soak_wrong(l, found, "%s is not what the encode wrote", path);
    soak_history_settle(&l->w, i, now);
    l->least = i;
    return SOAK_PROTECTED;
}

static soak_verdict
judge_opened(soak_trial *l, const image *found, const soak_bytes *now)
{
    const int  i = soak_history_find(&l->w, now, l->least, l->excused);
    const bool anything = l->torn || l->least < 0; /* as a user may want it, or has to */

    if (soak_said[0].out.note[0] == '\0')
        return soak_wrong(l, found, "lost protection is not reported");
    if (i < 0 && !anything)
        return soak_wrong(l, found, "a mixture, or older than what was protected");
    if (i >= 0)
        soak_history_settle(&l->w, i, now);
    for (int r = 0; i < 0 && r < l->w.job.n; r++)
        l->excused[r] = true; /* until they are protected */
    return SOAK_OPENED;
}

static soak_verdict
judge_refused(const soak_trial *l, const image *found)
{
    char why[1024];

    if (!image_same(found, l->w.base, NULL, IMAGE_REFUSED, why))
        return soak_wrong(l, found, "refused, but %s", why);
    if (soak_must_open(l))
        return soak_wrong(l, found, "refused, though no more is lost than the scheme survives");
    return SOAK_REFUSED;
}

static soak_verdict
judge_outcome(soak_trial *l, const image *found)
{
    soak_bytes   now[SOAK_RANKS] = {{0}};
    soak_verdict is;

    for (int r = 0; r < l->w.job.n; r++)
        soak_look(&l->w, r, &now[r]);
    if (!ranks_agree(l, found))
        is = SOAK_WRONG;
    else if (soak_said[0].st == RSET_LOST)
        is = judge_refused(l, found);
    else if (soak_said[0].st == RSET_ABSENT)
        is = soak_somebody_knows(l) ? soak_wrong(l, found, "nobody knows of any protection")
                                    : SOAK_ABSENT;
    else if (soak_said[0].st != RSET_OK)
        is = soak_wrong(l, found, "it comes to %s", rset_status_name(soak_said[0].st));
    else if (soak_said[0].out.protected_)
        is = judge_protected(l, found, now);
    else
        is = judge_opened(l, found, now);
    for (int r = 0; r < l->w.job.n; r++)
        free(now[r].at);
    return is;
}

/* How many files of the ranks are where these look for them, but for older generations. Of what was moved an old copy may stay
 * where it was. */
static size_t
files_in_place(const soak_world *w, const image *img)
{
    size_t n = image_count(img);

    for (size_t i = 0; i < img->n; i++) {
        const char *name = strchr(img->at[i].path, '/') + 1;
        const int   node = atoi(img->at[i].path + strlen("node"));
        const bool  elsewhere =
            strncmp(name, w->job.ranks[node].prefix, strlen(w->job.ranks[node].names[0])) != 0;

        n -= (elsewhere || image_after_generation(name) != NULL) &&
             strstr(name, RSET_NAME_NAMES) == NULL;
    }
    return n;
}

/* Once more: leftovers of dead jobs are gone then, and after that nothing is done at all. */
static void
judge_again(soak_trial *l, const image *found)
{
    image       once;
    char        why[1024];
    soak_end    first = soak_run(&l->w, SOAK_RECOVER, NULL);
    const char *path = NULL;

    once = image_take(l->w.base);
    if (first != SOAK_DONE || files_in_place(&l->w, &once) != 3 * (size_t)l->w.job.n ||
        !is_whole(l, &l->w.versions[l->least], &path))
        soak_wrong(l, found, "opened again there are %zu files, %s", once.n,
                   path != NULL ? path : "");
    soak_run(&l->w, SOAK_RECOVER, NULL);
    if (!image_same(&once, l->w.base, NULL, IMAGE_UNTOUCHED, why))
        soak_wrong(l, found, "opened again %s", why);
    image_free(&once);
}

static bool
has_content(const image *img, uint64_t content)
{
    for (size_t i = 0; i < img->n; i++)
        if (soak_content(img->at[i].data, img->at[i].size) == content)
            return true;
    return false;
}

/* A version that another program wrote, and that was there before the open, is there after it: under the file's name, or put aside. */
static void
judge_written(const soak_trial *l, const image *found)
{
    image now = image_take(l->w.base);

    for (int r = 0; r < l->w.job.n; r++) {
        const uint64_t content = l->damage.wrote[r];

        if (content != 0 && has_content(found, content)) {
            sweep_tally("... and that is still there");
            if (!has_content(&now, content))
                soak_wrong(l, found, "what another program wrote into rank %d's file is lost", r);
        }
    }
    image_free(&now);
}

soak_verdict
soak_judge(soak_trial *l)
{
    image        found = image_take(l->w.base);
    soak_end     end = soak_run(&l->w, SOAK_RECOVER, NULL);
    soak_verdict is = SOAK_WRONG;

    if (end == SOAK_DONE)
        is = judge_outcome(l, &found);
    else
        soak_wrong(l, &found, "opening %s", end == SOAK_HUNG ? "hangs" : "crashes");
    judge_written(l, &found);
    soak_story_note("  it comes to: %s; %.300s", verdict_names[is], soak_said[0].out.note);
    sweep_tally(verdict_names[is]);
    if (is == SOAK_PROTECTED && soak_chance(AGAIN))
        judge_again(l, &found);
    image_free(&found);
    return is;
}

/* ---- one process ---- */

bool
soak_judge_serial(soak_trial *l, soak_operation op, const soak_death *death)
{
    const int           r = l->w.alone;
    const soak_outcome *said = &soak_said[r];
    image               found = image_take(l->w.base);
    const soak_end      end = soak_run(&l->w, op, death);
    soak_bytes          now = {0};
    char                why[1024];

    sweep_tally(op == SOAK_READ ? "read by one process alone" : "opened by one process alone");
    soak_look(&l->w, r, &now);
    for (int other = 0; other < l->w.job.n; other++)
        if (other != r &&
            !image_same(&found, l->w.base, path_of("node%d", other), IMAGE_UNTOUCHED, why))
            soak_wrong(l, &found, "one process alone has changed what is another rank's: %s", why);
    if (end == SOAK_HUNG || end == SOAK_CRASHED)
        soak_wrong(l, &found, "opening alone %s", end == SOAK_HUNG ? "hangs" : "crashes");
    else if (end == SOAK_DONE && said->st == RSET_OK && !l->excused[r] &&
             !soak_bytes_equal(&now, &l->w.part[r].target) && /* closed, however late */
             !soak_history_knows(&l->w, r, &now, l->least))
        soak_wrong(l, &found, "one process alone gets rank %d's file of no version: %s", r,
                   said->out.note);
    else if (end == SOAK_DONE && (said->st == RSET_LOST || op == SOAK_READ) &&
             !image_same(&found, l->w.base, NULL, IMAGE_UNTOUCHED, why))
        soak_wrong(l, &found, "%s one process alone, but %s",
                   op == SOAK_READ ? "read by" : "refused to", why);
    free(now.at);
    image_free(&found);
    return end == SOAK_DONE && said->st == RSET_OK;
}
