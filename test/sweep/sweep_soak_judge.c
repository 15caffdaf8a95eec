/* sweep_soak_judge.c: the judge of the soak (soak_judge.h) by what happens at random there once in many thousand cycles, always:
 * nodes are lost one after the other until nothing but an old copy is left; and it can fail: outcomes that are wrong are noticed,
 * and told with all that came before them. */
#include "soak_disk.h"
#include "soak_judge.h"
#include "soak_plan.h"
#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, PARITY = 3, MOVED = 1, KEEPER = 3, HEADER = 374, NAMINGS = 40 };

static char *said; /* path of what a child prints */

/* ---- a life of two versions ---- */

/* All ranks protect new files. */
static void
protect_new(soak_trial *l)
{
    for (int r = 0; r < RANKS; r++)
        soak_plan_new(&l->w.part[r]);
    soak_history_begin(&l->w, 0);
    assert_int_equal(soak_run(&l->w, SOAK_REPLACE, NULL), SOAK_DONE);
    assert_true(soak_keep_commit(&l->w));
    soak_told(l);
}

/* A job died after it had moved that rank's files, and before it had removed them where they were. */
static void
leave_old_copy(const soak_trial *l)
{
    const char *home = path_of("node%d", MOVED), *away = path_of("%s/away", l->w.base);
    image       now = image_take(l->w.base);

    image_put(&now, away, home);
    for (size_t i = 0; i < now.n; i++) {
        const char *path = now.at[i].path;

        if (strncmp(path, home, strlen(home)) == 0)
            assert_int_equal(rename(path_of("%s/%s", away, path),
                                    path_of("%s/node%d%s", l->w.base, KEEPER, path + strlen(home))),
                             0);
    }
    remove_tree(away);
    image_free(&now);
}

/* Two versions are protected; of the first one there is an old copy of one rank's files on another node. */
static void
begin(soak_trial *l)
{
    soak_random_begin(1, 0);
    *l = (soak_trial){.least = -1};
    soak_story_begin();
    soak_world_open(&l->w, &rset_scheme_rs, PARITY, RANKS, RANKS);
    for (int r = 0; r < RANKS; r++) {
        soak_plan_new(&l->w.part[r]);
        write_file(job_data(&l->w.job, r), l->w.part[r].target.at, l->w.part[r].target.n);
    }
    snprintf(l->what, sizeof l->what, "a life of two versions");
    protect_new(l);
    leave_old_copy(l);
    protect_new(l);
}

static void
lose(soak_trial *l, int r)
{
    soak_lose(&l->w, r);
    l->damage.touched[r] = true;
    soak_story_note("  damage: lost %d", r);
    soak_harmed(l);
}

/* The keeper's redundancy says nothing any more: others' files are not recorded there. */
static void
spoil_keeper(soak_trial *l)
{
    flip_bit(job_redundancy(&l->w.job, KEEPER), HEADER);
    l->damage.touched[KEEPER] = true;
    soak_story_note("  damage: flip in the header of rank %d", KEEPER);
    soak_harmed(l);
}

/* An open dies when the old copy has been brought to the node that its rank has now. */
static void
die_over_old_copy(const soak_trial *l, soak_world *w)
{
    image before = image_take(l->w.base);
    bool  brought = false;

    for (int at = 1; !brought && at < NAMINGS; at++) {
        const soak_death death = {.rank = MOVED, .at = at, .naming = true};

        for (int r = 0; r < RANKS; r++)
            soak_lose(w, r);
        image_put(&before, w->base, NULL);
        if (soak_run(w, SOAK_RECOVER, &death) != SOAK_KILLED)
            break;
        brought = exists(job_data(&w->job, MOVED)) && exists(job_redundancy(&w->job, MOVED));
    }
    assert_true(brought);
    image_free(&before);
}

/* All that the others had is lost, but for what the keeper still knows. */
static void
lose_all_others(soak_trial *l)
{
    spoil_keeper(l);
    lose(l, 2);
    lose(l, 0);
    lose(l, MOVED);
    die_over_old_copy(l, &l->w);
}

/* ---- what is tried ---- */

static void
expect(bool so, const char *what)
{
    sweep_point();
    if (!so)
        sweep_violation("%s", what);
}

/* Nothing that is left tells of the newest version: the old copy of one rank is all there is. */
static void
old_copy_is_all(soak_trial *l)
{
    lose_all_others(l);
    lose(l, KEEPER);
    expect(soak_judge(l) == SOAK_PROTECTED && l->least == 0, "an old copy is all that is left, "
                                                             "and is not opened as such");
}

/* The keeper's file says that there was a newer version: the old one is not opened. */
static void
somebody_tells_of_newer(soak_trial *l)
{
    lose_all_others(l);
    expect(soak_judge(l) == SOAK_REFUSED && l->least == 1,
           "an old copy, and a node tells of a newer version: it is not refused");
}

/* Files of the first version lie where those of the second should, and nothing has happened to them. */
static void
put_first_version(soak_trial *l)
{
    for (int r = 0; r < RANKS; r++)
        soak_lose(&l->w, r);
    for (int r = 0; r < RANKS; r++) {
        const soak_version *v = &l->w.versions[0];

        write_file(job_data(&l->w.job, r), v->data[r].at, v->data[r].n);
        write_file(job_redundancy(&l->w.job, r), v->redundancy[r].at, v->redundancy[r].n);
        write_file(job_descriptor(&l->w.job, r), v->descriptor[r].at, v->descriptor[r].n);
    }
}

static bool
is_told(const char *what)
{
    size_t   n;
    uint8_t *all = read_file(said, &n);
    bool     is = memmem(all, n, what, strlen(what)) != NULL;

    free(all);
    return is;
}

static void
wrong_outcome(void *arg)
{
    soak_trial      *l = arg;
    const soak_death death = {.rank = 2, .at = 5};
    const int        fd = open(said, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        abort();
    (void)soak_run(&l->w, SOAK_RECOVER, &death);
    put_first_version(l);
    if (soak_judge(l) == SOAK_WRONG && sweep_violations() == 1)
        sweep_leave();
    abort();
}

/* It can fail, and tells what explains it: what was done, where the job died, what lies where and of which version. */
static void
older_is_wrong(soak_trial *l)
{
    static const char *const parts[] = {"not as any encode had it that counts",
                                        "promised is v1",
                                        "  new file, protect: done",
                                        "  open all: dies: rank 2 at its call 5, ",
                                        "calls of each rank: ",
                                        " 2: 5 (",
                                        "v0: generation 0000010000003039",
                                        "node3/ckpt_3.h5, ",
                                        ", header whole, tells of v0",
                                        ", content of v0",
                                        "as they are now:",
                                        "  rank 3 comes to ok: "};
    const child_end          end = sweep_child(wrong_outcome, l);

    expect(end == CHILD_DONE,
           "an older version is opened, and the judge does not say that it is wrong");
    for (size_t i = 0; end == CHILD_DONE && i < sizeof parts / sizeof *parts; i++) {
        sweep_point();
        if (!is_told(parts[i]))
            sweep_violation("a wrong outcome is not told with \"%s\"", parts[i]);
    }
}

int
main(int argc, char **argv)
{
    static void (*const tried[])(soak_trial *) = {old_copy_is_all, somebody_tells_of_newer,
                                                  older_is_wrong};
    char *dir = scratch_make();

    sweep_begin("soak_judge", argc, argv);
    said = strdup(path_of("%s/said", dir));
    assert_non_null(said);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        soak_trial l;

        begin(&l);
        tried[i](&l);
        soak_world_close(&l.w);
    }
    remove_tree(dir);
    free(dir);
    free(said);
    return sweep_end();
}
