/* sweep_soak.c: random trials of files. Each is a chain of cycles: an operation, which the job dies in more often than
 * not, damage between two jobs, perhaps one process that opens or only reads one file alone, or other ranks than wrote them
 * that open some, and all open again, which the job may die in as well. What opening comes to is judged by what every user is
 * promised (soak_judge.h).
 *
 *   REDSET_SOAK_SEED=N    another seed (printed)    REDSET_SOAK_LIFE=N    that trial alone
 *   REDSET_SOAK_CYCLES=N  how many cycles           REDSET_SOAK_KEEP=DIR  the directories as the first open
 *                                                   that came out wrong had found them
 *
 * A trial is the same each time, alone as well, but for what other ranks have done when the job dies: threads run as they
 * like. So what explains a wrong outcome is printed with it. */
#include "soak_crowd.h"
#include "soak_disk.h"
#include "soak_older.h"
#include "soak_others.h"
#include "soak_plan.h"
#include "soak_random.h"
#include "soak_story.h"
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGE_CYCLES = 400, ALL_CYCLES = 100000, LIFE = 40, KILLS = 70, OLDER = 50 };

/* ---- what the application will do ---- */

static void
plan(soak_trial *l)
{
    const bool all_close = soak_chance(75);
    const int  late = soak_chance(25) ? (int)soak_random((uint64_t)l->w.job.n) : -1;

    for (int r = 0; r < l->w.job.n; r++) {
        soak_part *p = &l->w.part[r];

        soak_look(&l->w, r, &l->before[r]);
        if ((l->op == SOAK_UPDATE || l->op == SOAK_RENEW || l->op == SOAK_COMMIT) &&
            soak_chance(75))
            soak_plan_update(p, &l->before[r], all_close);
        else if (l->op == SOAK_REPLACE || l->op == SOAK_ABANDON || l->op == SOAK_PUT)
            soak_plan_new(p);
        else
            soak_plan_nothing(p, &l->before[r], all_close);
        p->late = r == late && p->takes_part && (l->op == SOAK_UPDATE || l->op == SOAK_PUT);
        l->lasting[r] = p->takes_part && !(p->keep && l->sound[r]);
    }
}

/* ---- running it ---- */

/* Calls that each rank made in each operation of this trial when nobody interrupted it, at most and lately. */
static int usual[SOAK_RUNS][SOAK_RANKS];

/* About as many as it makes, for as long as none was left to itself: no trial begins with what another one has counted. */
static void
begin_counting(void)
{
    static const int calls[SOAK_RUNS] = {
        [SOAK_NOTHING] = 50, [SOAK_UPDATE] = 80, [SOAK_RENEW] = 360,   [SOAK_REPLACE] = 310,
        [SOAK_ABANDON] = 90, [SOAK_PUT] = 170,   [SOAK_PROTECT] = 170, [SOAK_COMMIT] = 320,
        [SOAK_RECOVER] = 90, [SOAK_OTHERS] = 90, [SOAK_ALONE] = 60,    [SOAK_READ] = 60,
        [SOAK_EDIT] = 80,    [SOAK_CROWD] = 60};

    for (int op = 0; op < SOAK_RUNS; op++)
        for (int r = 0; r < SOAK_RANKS; r++)
            usual[op][r] = calls[op];
}

static soak_death
some_death(int rank, const int *calls)
{
    soak_death d = {.rank = rank, .naming = soak_chance(50), .torn = soak_chance(30)};

    d.at = 1 + (int)soak_random(d.naming ? 6 : calls[rank] > 8 ? (uint64_t)calls[rank] : 8);
    return d;
}

static soak_end
run(soak_trial *l, soak_operation op, bool dies)
{
    int       *calls = usual[op];
    soak_death d = some_death((int)soak_random((uint64_t)l->w.job.n), calls);
    soak_end   end = soak_run(&l->w, op, dies ? &d : NULL);

    if (end == SOAK_HUNG || end == SOAK_CRASHED)
        soak_wrong(l, NULL, "it %s", end == SOAK_HUNG ? "hangs" : "crashes");
    for (int r = 0; end == SOAK_DONE && r < l->w.job.n; r++) {
        calls[r] -= calls[r] / 16;
        calls[r] = soak_calls(r) > calls[r] ? soak_calls(r) : calls[r];
    }
    return end;
}

static bool
operate(soak_trial *l, bool dies)
{
    soak_end end;
    bool     kept;

    l->quiet = l->quiet && l->op == SOAK_NOTHING;
    l->still = l->still && l->op == SOAK_NOTHING;
    for (int r = 0; r < l->w.job.n; r++)
        l->torn = l->torn || l->lasting[r];
    soak_history_begin(&l->w, 0);
    end = run(l, l->op, dies);
    kept = soak_encodes(l->op) && soak_keep_commit(&l->w);
    sweep_tally(soak_operation_names[l->op]);
    for (int r = 0; end == SOAK_DONE && r < l->w.job.n; r++)
        if (!soak_said[r].done || soak_said[r].st != RSET_OK)
            soak_wrong(l, NULL, "rank %d fails: %s", r, soak_said[r].text);
    if (end == SOAK_DONE && soak_encodes(l->op) && !kept)
        soak_wrong(l, NULL, "protected, but not complete on disk");
    if (end == SOAK_DONE && kept)
        soak_told(l);
    if (end == SOAK_DONE && l->op == SOAK_COMMIT)
        l->quiet = l->still = false;
    if (end == SOAK_KILLED)
        sweep_tally("... and the job died in it");
    return end == SOAK_KILLED;
}

static void
harm(soak_trial *l, const image *past)
{
    l->damage.quiet = l->quiet;
    soak_damage_some(&l->w, past, &l->damage);
    soak_harmed(l);
}

/* True: the job died in it, and the files are to be opened again. */
static bool
open_and_die(soak_trial *l)
{
    const bool dead = run(l, SOAK_RECOVER, true) == SOAK_KILLED;

    if (dead)
        sweep_tally("jobs died while they opened files");
    return dead;
}

/* One process opens a file, as h5ls does; and perhaps changes it, as h5edit does. */
static void
use_serial(soak_trial *l)
{
    const int  r = (int)soak_random((uint64_t)l->w.job.n);
    soak_bytes from = {0};
    soak_death d = some_death(r, usual[SOAK_ALONE]);

    l->w.alone = r;
    if (soak_chance(40))
        (void)soak_judge_serial(l, SOAK_READ, NULL);
    if (!soak_judge_serial(l, SOAK_ALONE, soak_chance(30) ? &d : NULL) || soak_chance(50))
        return;
    soak_look(&l->w, r, &from);
    soak_plan_update(&l->w.part[r], &from, true);
    soak_history_edit(&l->w, r, &from);
    d = some_death(r, usual[SOAK_EDIT]);
    (void)soak_run(&l->w, SOAK_EDIT, soak_chance(30) ? &d : NULL);
    l->lasting[r] = l->lasting[r] || !(l->w.part[r].keep && l->sound[r]);
    l->torn = l->torn || l->lasting[r];
    l->quiet = l->still = false;
    free(from.at);
    sweep_tally("changed by one process alone");
}

/* Other ranks open files, perhaps only to read them. */
static void
use_others(soak_trial *l)
{
    const soak_death d = some_death(0, usual[SOAK_RECOVER]);

    soak_judge_others(l, soak_chance(25) ? &d : NULL);
    l->quiet = false;
}

/* ---- a cycle ---- */

static soak_operation
some_operation(void)
{
    static const int weights[SOAK_OPERATIONS] = {8, 25, 20, 20, 5, 10, 12, 14};

    return (soak_operation)soak_pick(weights, SOAK_OPERATIONS);
}

static void
note_state(soak_trial *l, soak_verdict is)
{
    l->quiet = l->still = is == SOAK_PROTECTED;
    l->torn = l->torn && is != SOAK_PROTECTED;
    for (int r = 0; r < l->w.job.n; r++) {
        l->sound[r] = is == SOAK_PROTECTED ||
                      (is == SOAK_OPENED && l->sound[r] && !l->lasting[r] && !l->damage.touched[r]);
        l->excused[r] = l->excused[r] && is != SOAK_PROTECTED;
    }
}

static bool
all_there(soak_trial *l)
{
    for (int r = 0; r < l->w.job.n; r++)
        if (!exists(job_data(&l->w.job, r)))
            return false;
    return true;
}

/* Refused: the lost directories come back, and what was `promised` of them counts again. Not when an open has begun to roll files back meanwhile: to those that come
 * back that looks as if the other ranks had never changed theirs (docs/limitations.md). False: the trial is over. */
static bool
go_on(soak_trial *l, soak_verdict is, const image *unharmed, int promised, bool opened)
{
    if (all_there(l) && (is == SOAK_OPENED || is == SOAK_PROTECTED))
        return true;
    if (opened || soak_chance(30))
        return false;
    for (int r = 0; r < l->w.job.n; r++)
        if (l->damage.touched[r]) {
            soak_lose(&l->w, r);
            image_put(unharmed, l->w.base, path_of("node%d", r));
        }
    strcat(l->what, ", directories rebuilt");
    soak_story_note("  refused; the damaged directories come back as the job had left them");
    l->damage = (soak_damage){0};
    l->least = promised;
    sweep_tally("refused, and then the directories came back");
    note_state(l, soak_judge(l));
    return all_there(l);
}

static bool
cycle(soak_trial *l, image *past)
{
    bool         dies = soak_chance(KILLS), dies_open = false, opened = false, more;
    int          promised;
    image        unharmed;
    soak_verdict is;

    plan(l);
    if (dies)
        dies_open = l->op == SOAK_NOTHING || soak_chance(40);
    if (!operate(l, dies && (!dies_open || soak_chance(20))) && dies)
        dies_open = true;
    unharmed = image_take(l->w.base);
    promised = l->least;
    for (int harms = (int)soak_random(5) - 2; harms > 0; harms--)
        harm(l, past);
    if (soak_chance(15)) {
        use_serial(l);
        opened = true;
    }
    if (soak_chance(15)) {
        soak_judge_crowd(l);
        opened = true;
    }
    if (soak_chance(15)) {
        use_others(l);
        opened = true;
    }
    while (dies_open && open_and_die(l)) {
        opened = true;
        if (!soak_chance(40))
            break;
        if (soak_chance(40))
            harm(l, past);
    }
    is = soak_judge(l);
    note_state(l, is);
    if (l->w.job.keep > 0 && soak_chance(OLDER))
        soak_judge_older(l);
    more = go_on(l, is, &unharmed, promised, opened);
    image_free(&unharmed);
    return more;
}

/* ---- a trial ---- */

static void
begin_trial(soak_trial *l)
{
    *l = (soak_trial){.least = -1};
    soak_story_begin();
    begin_counting();
    soak_plan_world(&l->w);
    soak_history_begin(&l->w, 0);
}

static void
end_trial(soak_trial *l)
{
    for (int r = 0; r < SOAK_RANKS; r++)
        free(l->before[r].at);
    soak_world_close(&l->w);
}

static void
begin_cycle(soak_trial *l, uint64_t number, int at)
{
    const rset_desc *d = &l->w.job.ranks[0].desc;

    l->op = at == 0 ? SOAK_PROTECT : some_operation();
    l->damage = (soak_damage){0};
    snprintf(l->what, sizeof l->what, "trial %llu, cycle %d, %s %d of %d ranks: %s",
             (unsigned long long)number, at, d->scheme->name, d->parity, l->w.job.n,
             soak_operation_names[l->op]);
    soak_story_note("cycle %d, %s", at, soak_operation_names[l->op]);
}

/* Returns how many cycles there were, at most `most`. */
static int
live(uint64_t seed, uint64_t number, int most)
{
    soak_trial l;
    image      past = {0};
    long       wrong = sweep_violations();
    int        at = 0;
    bool       more = true;

    soak_random_begin(seed, number);
    begin_trial(&l);
    for (; more && at < most && at < LIFE; at++) {
        begin_cycle(&l, number, at);
        sweep_point();
        more =
            cycle(&l, &past) && sweep_violations() == wrong; /* what follows would be wrong too */
        if (l.quiet && soak_chance(20)) {
            image_free(&past);
            past = image_take(l.w.base);
            l.past = l.least;
        }
    }
    image_free(&past);
    end_trial(&l);
    return at;
}

int
main(int argc, char **argv)
{
    const uint64_t seed = soak_setting("REDSET_SOAK_SEED", 1);
    const uint64_t only = soak_setting("REDSET_SOAK_LIFE", UINT64_MAX);
    uint64_t       cycles, trial = only != UINT64_MAX ? only : 0;

    sweep_begin("soak", argc, argv);
    cycles = soak_setting("REDSET_SOAK_CYCLES", sweep_all() ? ALL_CYCLES : CHANGE_CYCLES);
    printf("REDSET_SOAK_SEED=%llu\n", (unsigned long long)seed);
    for (uint64_t done = 0; done < cycles; trial++) {
        done += (uint64_t)live(seed, trial, (int)(cycles - done));
        if (trial % 100 == 99)
            sweep_progress("trials go on");
        if (only != UINT64_MAX)
            break;
    }
    return sweep_end();
}
