/* commands_rebuild.c: h5redset rebuild: files that were protected together as their ranks would (parallel.h), and some of
 * them, or what was copied elsewhere, each for itself, from the pieces that can be reached. */
#include "catalog.h"
#include "commands.h"
#include "exits.h"
#include "files.h"
#include "hosted.h"
#include "judge.h"
#include "looked.h"
#include "owner.h"
#include "parallel.h"
#include "progress.h"
#include "report.h"
#include "text.h"
#include "wait.h"

#include <stdlib.h>
#include <string.h>

/* Brings back the files of one rank. A directory that was made goes again when nothing comes into it. */
static rset_status
rebuild_into(files_place at, const rset_serial_args *wish, const strings *search, const job *j,
             rset_outcome *out, rset_err *err)
{
    const bool  dry = wish->dry_run;
    files       f = {0};
    char       *made = NULL;
    rset_status st = files_may_be(&at, err);

    at.may_lack = dry && at.known != NULL;
    at.make = !dry && at.known != NULL;
    if (st == RSET_OK && !dry)
        st = rset_dir_make(at.dir, &made, err);
    if (st == RSET_OK)
        st = files_open(&at, &f, err);
    if (st == RSET_OK && !dry)
        st = files_hold(&f, hold_to_rebuild(&f), j, err);
    if (st == RSET_OK)
        st = alone_rebuild(&f, wish, search, out, err);
    files_close(&f);
    progress_wipe();
    if (st != RSET_OK && made != NULL)
        rset_dir_unmake(at.dir, made);
    free(made);
    return st;
}

/* `word`: what was to be done; NULL: nothing. */
static int
tell(const job *j, const char *path, rset_status st, const char *word, const rset_outcome *out,
     const rset_err *err)
{
    if (wait_tries_again(j, st, err->text))
        return EXITS_ERROR;
    if (st != RSET_OK)
        print_error("%s", err->text);
    else if (word != NULL)
        print_line(stdout, "%s: %s", path, word);
    else if (out->note[0] != '\0')
        print_line(stdout, "%s", out->note);
    else
        print_line(stdout, "%s: is as it should be", path);
    return st == RSET_ABSENT ? EXITS_NOTHING : exits_of(st);
}

/* A file that could not be looked at is left out: who looked has told it. */
static void
tell_stray(const family *one)
{
    const member *m = one->sets->members;
    char         *text = reason_text(&one->decision, &one->all);

    if (one->decision.verdict == RSET_VERDICT_REFUSE)
        print_error("%s: %s", member_path(m), text);
    else if (!sighting_is_unknown(m->seen))
        print_line(stdout, "%s: %s", member_path(m), text[0] != '\0' ? text : "is as it should be");
    free(text);
}

/* Of what the engine has done, or would do. */
static int
exit_status_after(const rset_decision *d)
{
    return d->verdict == RSET_VERDICT_FORWARD ||
                   (d->verdict == RSET_VERDICT_RESTORE && d->protection != RSET_PROTECTION_NONE)
               ? EXITS_WELL
               : exit_status_of(d);
}

/* Nothing is said of files that all ranks together take for whole, and are. */
static int
conclude(const job *j, const member *m, bool dry, rset_status st, const rset_outcome *out,
         const rset_err *err)
{
    const member now = member_after(m, out);
    const char  *path = member_path(m);
    char        *what = action_text(&out->decided, &now, dry);
    const bool   quiet = st == RSET_OK && what == NULL && m->state == STATE_HEALTHY;
    int status = quiet ? EXITS_WELL : tell(j, path, st, out->aside == 0 ? what : NULL, out, err);

    if (st == RSET_OK && !quiet)
        status = exit_status_after(&out->decided);
    free(what);
    return status;
}

/* What is whole by its size is verified first: a dry run keeps nobody from it. */
static int
rebuild_member(const job *j, const member *m, const options *o, const strings *search)
{
    rset_err          err = RSET_ERR_NONE;
    rset_outcome      out = {0};
    const char       *path = member_path(m);
    char             *dir = dir_of(path);
    const files_place at = {.dir = dir,
                            .prefix = m->own ? m->seen->prefix : NULL,
                            .name = rset_path_base(path),
                            .path = recorded_path(m->known),
                            .known = m->known,
                            .within = &o->paths};
    rset_serial_args  wish = {.rank = m->rank,
                              .outdated = m->state == STATE_OUTDATED,
                              .dry_run = o->dry_run || m->state == STATE_HEALTHY,
                              .undelete = true}; /* it has been decided that it comes */
    rset_status       st = rebuild_into(at, &wish, search, j, &out, &err);
    int               status;

    if (wish.dry_run && !o->dry_run && out.decided.verdict == RSET_VERDICT_RESTORE) {
        wish.dry_run = false;
        st = rebuild_into(at, &wish, search, j, &out, &err);
    }
    status = conclude(j, m, wish.dry_run, st, &out, &err);
    free(dir);
    return status;
}

/* A path under which nothing is recorded: pieces were copied elsewhere, and it is known by its name. */
static int
rebuild_named(const job *j, const char *path, const options *o, const strings *search)
{
    rset_err          err = RSET_ERR_NONE;
    rset_outcome      out = {0};
    char             *dir = dir_of(path);
    const files_place at = {
        .dir = dir, .name = rset_path_base(path), .path = path, .within = &o->paths};
    const rset_serial_args wish = {.rank = o->rank, .undelete = o->deleted};
    rset_status            st;
    int                    status;

    if (o->dry_run) {
        print_line(stdout, "%s: not recorded under this path; would be looked for by its name",
                   path);
        free(dir);
        return 0;
    }
    st = rebuild_into(at, &wish, search, j, &out, &err);
    if (out.reason == RSET_REASON_DELETED) {
        print_line(stdout, "%s: deleted, and left alone; --deleted brings it back", path);
        status = 0;
    } else {
        const bool plain = st == RSET_OK && out.replaced && out.aside == 0;

        status = tell(j, path, st, plain ? "rebuilt" : NULL, &out, &err);
    }
    free(dir);
    return status;
}

/* Does the catalog have anything at or below this path? */
static bool
is_in_catalog(const catalog *c, const char *path)
{
    strings one = {.n = 1, .at = (char *[]){(char *)path}};

    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; m < c->sets[i]->desc.members; m++)
            if (path_is_within(&one, member_path(&c->sets[i]->members[m])))
                return true;
    return false;
}

/* Is it the path of a file of which nothing is recorded there? A directory with nothing in it is no failure. */
static bool
is_unknown_file(const catalog *c, const char *path)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     is_directory = false;

    (void)looked_is_directory(path, &is_directory, &ignored);
    return !is_directory && !is_in_catalog(c, path);
}

/* Everything that there is of these files, or was, has been asked for. */
static bool
is_asked_whole(const family *f)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (!m->asked && (m->known != NULL || m->seen != NULL))
            return false;
    return true;
}

/* Is this member's file looked after where it is asked for without all others? Not where it only belongs to what is, and is elsewhere. */
static bool
comes_alone(const family *f, const member *m)
{
    return m->asked && m->known != NULL && !(m->state == STATE_ELSEWHERE && is_asked_whole(f));
}

/* The family is rebuilt as its ranks would, and not file by file. */
static bool
comes_whole(const job *j, const family *f)
{
    return j->size > 1 || (is_asked_whole(f) && !f->elsewhere);
}

/* Not again what an earlier attempt has done. */
static bool
comes(const job *j, const family *f)
{
    char *key = family_key(f);
    bool  is = f->asked && !is_deleted(&f->decision) && !wait_is_done(j, key);

    free(key);
    return is;
}

/* Files that were protected together and are asked for. */
typedef struct task {
    const family *f;
    bool          whole; /* their content was verified, and nothing is to be done */
    uint64_t      found; /* bytes of this process's that are damaged, as no size tells */
} task;

/* How much this process has to read to bring back what is lost or damaged of these. */
static uint64_t
work_for_task(const job *j, const task *t)
{
    const family *f = t->f;
    uint64_t      total = 0;

    if (t->whole)
        return 0;
    if (comes_whole(j, f))
        return rebuild_has_work(f) || rebuild_is_whole_by_size(f)
                   ? work_for_family(f, j->rank, t->found)
                   : 0;
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (comes_alone(f, m))
            total += m->state == STATE_HEALTHY ? work_bytes_of(m->seen)
                                               : work_for_member(&f->sets[m->set], m);
    return total;
}

/* What is whole by its size is verified before anything is done, and nobody is kept from it for that. */
static bool
is_to_be_verified(const job *j, const options *o, const family *f)
{
    return !o->dry_run && comes_whole(j, f) && rebuild_is_whole_by_size(f);
}

static void
verify_tasks(job *j, const options *o, task *tasks, size_t n)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        if (is_to_be_verified(j, o, tasks[i].f))
            total += work_for_family(tasks[i].f, j->rank, 0);
    progress_begin(j->rank == 0, "verifying", total);
    for (size_t i = 0; i < n; i++)
        if (is_to_be_verified(j, o, tasks[i].f))
            tasks[i].whole = rebuild_verify(j, o, tasks[i].f, &tasks[i].found);
    progress_end();
}

/* Names one that was protected with what was named, and is not as it should be, as what was named is. The exit status. */
static int
tell_others(const family *f)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (!m->asked && m->known != NULL && m->state != STATE_HEALTHY) {
            print_error("%s: is %s, and not below a path that was named; name its directory too",
                        member_path(m), state_looks[m->state].word);
            break;
        }
    return family_exit_status(f);
}

static int
rebuild_some(const job *j, const family *f, const options *o, const strings *search)
{
    bool sound = true;
    int  worst = 0;

    if (f->renamed) {
        print_error("%s: was renamed, or others were that were protected with it: name all of "
                    "these files, or their directories",
                    family_name(f));
        return EXITS_ERROR;
    }
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (comes_alone(f, m)) {
            sound = sound && m->state == STATE_HEALTHY;
            worst = exits_worse(worst, rebuild_member(j, m, o, search));
        }
    return sound && rebuild_has_work(f) ? exits_worse(worst, tell_others(f)) : worst;
}

static int
rebuild_one(job *j, const options *o, const family *f, const strings *search)
{
    const int before = wait_refused(j);
    char     *key = family_key(f);
    int       status = EXITS_WELL;

    if (!comes_whole(j, f))
        status = rebuild_some(j, f, o, search);
    if (is_asked_whole(f) || j->size > 1) /* of what is elsewhere that is said */
        status = exits_worse(status, rebuild_parallel(j, o, f));
    status = wait_settles(j, key, before) ? status : EXITS_WELL;
    free(key);
    return status;
}

static int
rebuild_tasks(job *j, const options *o, const task *tasks, size_t n, const strings *search)
{
    uint64_t total = 0;
    int      worst = 0;

    for (size_t i = 0; i < n; i++)
        total += work_for_task(j, &tasks[i]);
    progress_begin(j->rank == 0 && !o->dry_run, "rebuilding", total);
    for (size_t i = 0; i < n; i++) {
        if (!tasks[i].whole)
            worst = exits_worse(worst, rebuild_one(j, o, tasks[i].f, search));
    }
    progress_end();
    return worst;
}

static int
rebuild_families(job *j, const options *o, const catalog *c, const strings *search)
{
    task  *tasks = must_alloc((c->nfamilies + 1) * sizeof *tasks);
    size_t n = 0;
    int    worst;

    for (size_t i = 0; i < c->nfamilies; i++)
        if (comes(j, &c->families[i]))
            tasks[n++] = (task){.f = &c->families[i]};
    verify_tasks(j, o, tasks, n);
    worst = rebuild_tasks(j, o, tasks, n, search);
    free(tasks);
    return worst;
}

/* Files of which nobody knows how they were protected. */
static int
tell_strays(const job *j, const catalog *c)
{
    int worst = 0;

    for (size_t i = 0; i < c->nstrays; i++) {
        if (j->rank == 0)
            tell_stray(&c->strays[i]);
        worst = exits_worse(worst, exit_status_undone(&c->strays[i].decision));
    }
    return worst;
}

int
rebuild_unknown(const job *j, const options *o, const catalog *c)
{
    int status = 0;

    for (size_t i = 0; j->size == 1 && i < o->paths.n; i++)
        if (is_unknown_file(c, o->paths.at[i])) {
            print_error("%s: nothing records it under this path, and files of several owners are "
                        "in sight: run h5redset as its owner",
                        o->paths.at[i]);
            status = EXITS_ERROR;
        }
    return status;
}

int
command_rebuild(job *j, const options *o, const picture *p)
{
    const catalog *c = &p->newest;
    const uint64_t owner = c->sightings->n > 0 ? c->sightings->at[0].owner : owner_self();
    strings        search = alone_search(o, c, owner);
    bool           found = c->n + c->nstrays > 0;
    int            worst = rebuild_families(j, o, c, &search), status = tell_strays(j, c);

    if (j->rank == 0)
        report_deleted(c, "left alone; --deleted brings back what its redundancy covers");
    worst = exits_worse(worst, status);
    for (size_t i = 0; j->size == 1 && !c->of_many && i < o->paths.n; i++)
        if (is_unknown_file(c, o->paths.at[i]) && !wait_is_done(j, o->paths.at[i])) {
            const int before = wait_refused(j);

            found = true; /* or it is told that nothing is */
            status = rebuild_named(j, o->paths.at[i], o, &search);
            if (wait_settles(j, o->paths.at[i], before))
                worst = exits_worse(worst, status);
        }
    strings_free(&search);
    if (!found && j->rank == 0)
        print_error("nothing protected was found");
    return found ? worst : exits_worse(worst, EXITS_NOTHING);
}
