/* soak_crowd.c: see soak_crowd.h. */
#include "soak_crowd.h"

#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"
#include "tap.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CROWD = 4 };

/* What one process was told of one file, and found there; in memory that all share. */
typedef struct seen {
    bool done, opened, known;
    char text[RSET_ERR_TEXT];
} seen;

static struct {
    atomic_int come;
    seen       of[CROWD][SOAK_RANKS];
} * shared;

static const soak_trial *trial;    /* for the processes, which are forks */
static int               n;        /* how many */
static bool              rebuilds; /* the first one goes through all files */
static uint64_t          pauses;

/* Processes overtake each other where names change and bytes are written. */
static tap_order
pause_at(const tap_event *e, int *err_out)
{
    (void)err_out;
    pauses = pauses * 6364136223846793005u + 1442695040888963407u;
    if ((e->call == TAP_PWRITE || e->call == TAP_RENAME || e->call == TAP_UNLINK ||
         e->call == TAP_CREATE) &&
        pauses >> 62 == 0)
        usleep((useconds_t)(pauses >> 40 & 511));
    return TAP_GO;
}

static bool
may_be(const soak_trial *l, int r)
{
    soak_bytes now = {0};
    bool       known;

    soak_look(&l->w, r, &now);
    known = l->excused[r] || soak_bytes_equal(&now, &l->w.part[r].target) ||
            soak_history_knows(&l->w, r, &now, l->least);
    free(now.at);
    return known;
}

static void
open_file(soak_world *w, int process, int r)
{
    seen *s = &shared->of[process][r];

    s->opened = job_recover_serial(&w->job, r) == RSET_OK;
    s->known = may_be(trial, r);
    memcpy(s->text, w->job.ranks[r].err.text, sizeof s->text);
    s->done = true;
}

static void
be_one(soak_world *w, int process)
{
    static const tap_hooks hooks = {.before = pause_at};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the watchdog ends the others' parent */
    pauses += (uint64_t)process * 0x9e3779b97f4a7c15u;
    tap_use(&hooks);
    tap_enter(process);
    w->job.salt = (uint64_t)process + 1;
    shared->come++;
    while (shared->come < n)
        sched_yield();
    for (int r = 0; r < w->job.n; r++)
        if (r == w->alone || (rebuilds && process == 0))
            open_file(w, process, r);
}

/* In a child of the soak (soak_run). */
static void
run_all(soak_world *w)
{
    pid_t pid[CROWD];
    int   status;

    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] < 0)
            abort();
        if (pid[i] == 0) {
            be_one(w, i);
            _exit(0);
        }
    }
    for (int i = 0; i < n; i++)
        if (waitpid(pid[i], &status, 0) != pid[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            abort();
}

static void
judge_seen(soak_trial *l, const image *found)
{
    for (int i = 0; i < n; i++)
        for (int r = 0; r < l->w.job.n; r++)
            if (shared->of[i][r].opened && !shared->of[i][r].known)
                soak_wrong(l, found,
                           "process %d of %d that open one file gets rank %d's of no version", i, n,
                           r);
}

void
soak_judge_crowd(soak_trial *l)
{
    image    found = image_take(l->w.base);
    soak_end end;
    char     why[1024];

    if (shared == NULL)
        shared = sweep_shared(sizeof *shared);
    memset(shared, 0, sizeof *shared);
    trial = l;
    n = 2 + (int)soak_random(CROWD - 1);
    rebuilds = soak_chance(40);
    pauses = soak_random(UINT64_MAX);
    l->w.alone = (int)soak_random((uint64_t)l->w.job.n);
    l->w.crowd = run_all;
    end = soak_run(&l->w, SOAK_CROWD, NULL);
    sweep_tally("opened by several processes at once");
    soak_story_note("  %d processes at once, rank %d%s: %.300s", n, l->w.alone,
                    rebuilds ? ", one of them all ranks" : "", shared->of[1][l->w.alone].text);
    if (end != SOAK_DONE)
        soak_wrong(l, &found, "several processes at once: one %s",
                   end == SOAK_HUNG ? "hangs" : "crashes");
    else
        judge_seen(l, &found);
    for (int r = 0; r < l->w.job.n && !rebuilds; r++)
        if (r != l->w.alone &&
            !image_same(&found, l->w.base, path_of("node%d", r), IMAGE_UNTOUCHED, why))
            soak_wrong(l, &found, "several processes change what is another rank's: %s", why);
    image_free(&found);
}
