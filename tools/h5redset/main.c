/* main.c: h5redset: looks after protected files, without HDF5. Start here: what a run does, in order. What is
 * seen of the files is in look.c, what follows from it in catalog.c. */
#include "commands.h"
#include "exits.h"
#include "look.h"
#include "looked.h"
#include "owner.h"
#include "picture.h"
#include "replaced.h"
#include "report.h"
#include "sighting.h"
#include "wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* mpiexec gives its processes terminals, whatever becomes of what they print. */
static bool
in_colour(colour wanted, const job *j)
{
    const char *no = getenv("NO_COLOR");

    if (wanted != COLOUR_AUTO)
        return wanted == COLOUR_ALWAYS;
    return j->comm == NULL && isatty(STDOUT_FILENO) == 1 && (no == NULL || no[0] == '\0');
}

static int
draw(const catalog *c, const char *name)
{
    FILE *to = fopen(name, "w");

    if (to != NULL)
        report_svg(c, to);
    if (to == NULL || ferror(to) != 0 || fclose(to) != 0) {
        print_error("%s: cannot be written: %s", name, strerror(errno));
        return EXITS_ERROR;
    }
    return EXITS_WELL;
}

static int
list(job *j, const options *o, const picture *p)
{
    const lists *all = &p->all;

    if (j->rank == 0 && o->json)
        report_list_json(p, o->verify, stdout);
    else if (j->rank == 0)
        report_list(all, o->verify, stdout);
    if (j->rank == 0 && !o->json)
        report_replaced(&p->replaced, &p->newest, stdout);
    fflush(stdout);
    return lists_exit_status(all);
}

static int
report(job *j, const options *o, const picture *p)
{
    const catalog *c = &p->newest;
    const int64_t  now = (int64_t)time(NULL);
    int            status = catalog_exit_status(c);

    if (j->rank != 0)
        return status;
    if (o->json)
        report_json(p, o->verify, now, stdout);
    else if (o->command == COMMAND_MAP)
        report_map(c, o->problems, in_colour(o->colour, j), stdout);
    else
        report_text(c, &p->all, o->problems, now, stdout);
    if (!o->json && o->command == COMMAND_STATUS)
        report_replaced(&p->replaced, c, stdout);
    if (!o->json)
        report_summary(c, o->verify, stdout);
    fflush(stdout);
    if (status == EXITS_NOTHING && !o->json)
        for (size_t i = 0; i < o->paths.n; i++)
            print_error(
                "%s: %s; if it was on another node, run under mpiexec with a process on each "
                "node, or name other places with --search",
                o->paths.at[i], p->there ? "nothing protected was found" : "no such path");
    return o->svg != NULL ? exits_worse(status, draw(c, o->svg)) : status;
}

static const char none[] = "nothing protected was found";

/* What each command takes. */
static const struct {
    bool changes; /* it does something to files where they are */
    bool older;   /* it tells of older generations, or does something to them */
    bool
                at_once; /* what is left out of it since it is in use, is not told apart from the rest: nothing of it counts then */
    const char *nothing; /* is told where it ends with EXITS_NOTHING; NULL: it has told that */
    int (*run)(job *j, const options *o, const picture *p);
} commands[] = {
    [COMMAND_STATUS] = {.older = true, .run = report},
    [COMMAND_MAP] = {.run = report},
    [COMMAND_LIST] = {.older = true, .nothing = none, .run = list},
    [COMMAND_REBUILD] = {.changes = true, .run = command_rebuild},
    [COMMAND_SCAVENGE] = {.run = command_scavenge},
    [COMMAND_PROTECT] = {.changes = true, .at_once = true, .run = command_protect},
    [COMMAND_UNPROTECT] = {.changes = true,
                           .at_once = true,
                           .nothing = none,
                           .run = command_unprotect},
    [COMMAND_RM] = {.changes = true, .at_once = true, .nothing = none, .run = command_rm},
    [COMMAND_GC] = {.changes = true, .at_once = true, .run = command_gc},
    [COMMAND_MV] = {.changes = true,
                    .at_once = true,
                    .nothing = "nothing protected of such a name was found",
                    .run = command_mv},
    [COMMAND_DROP] = {.changes = true, .older = true, .nothing = none, .run = command_drop},
    [COMMAND_RESTORE] = {.changes = true, .older = true, .nothing = none, .run = command_restore},
};

/* The exit status, the same on all processes. */
static int
run_command(job *j, const options *o, const picture *p)
{
    const int   status = job_most(j, commands[o->command].run(j, o, p));
    const char *nothing = commands[o->command].nothing;

    if (commands[o->command].at_once && wait_has_refused(j))
        return EXITS_WELL;
    if (status == EXITS_NOTHING && nothing != NULL && j->rank == 0 && !o->json)
        print_error("%s", nothing);
    return status;
}

/* ---- as the owner of the files ---- */

/* On all processes, or on none. The exit status. */
static int
act_as(job *j, const options *o, uint64_t owner, const picture *his)
{
    rset_err  err = RSET_ERR_NONE;
    const int failed = owner_become(owner, &err) != RSET_OK;
    int       status = EXITS_ERROR;

    if (failed)
        print_error("%s", err.text);
    if (job_most(j, failed) == 0)
        status = run_command(j, o, his);
    owner_return();
    return status;
}

/* The exit status; -1: nothing was asked for of his. */
static int
act_for(job *j, const options *o, const picture *everyone, uint64_t owner)
{
    picture his = picture_of(everyone, owner);
    int     status = picture_make(&his, o, &everyone->seen, j->rank == 0) > 0 ? EXITS_ERROR : -1;

    his.newest.of_many = true;
    if (picture_has_any(&his) || (o->changed && replaced_asked(&his.replaced) > 0)) {
        status = exits_worse(status, act_as(j, o, owner, &his));
    }
    picture_forget(&his);
    return status;
}

/* What is done to files is done once for each owner, as him: here, for all commands. */
static int
act_for_all(job *j, const options *o, const picture *p)
{
    const uint64_t first = picture_owner(p, 0);
    uint64_t       last = first != OWNER_NONE ? first : owner_self();
    int            worst = -1;

    if (first != OWNER_NONE && picture_owner(p, first + 1) != OWNER_NONE)
        for (uint64_t one = first; one != OWNER_NONE; one = picture_owner(p, one + 1)) {
            worst = exits_worse(worst, act_for(j, o, p, one));
            last = one;
        }
    if (worst >= 0 && o->command == COMMAND_REBUILD)
        worst = exits_worse(worst, rebuild_unknown(j, o, &p->newest));
    return worst >= 0 ? worst : act_as(j, o, last, p);
}

/* ---- all of it ---- */

/* Does the command give up what protects files? Then all content is read, since another file may need that. */
static bool
gives_up(const options *o)
{
    return (o->command == COMMAND_PROTECT || o->command == COMMAND_UNPROTECT) && !o->force;
}

/* False: not all directories that were named could be read. */
static bool
look(const job *j, const options *o, picture *p)
{
    places     where = {.paths = o->paths,
                        .search = o->search,
                        .host = j->host,
                        .older = commands[o->command].older,
                        .changes = commands[o->command].changes};
    const bool all = look_around(&where, &p->seen);

    catalog_drop_doubles(&p->seen); /* verified once only */
    if (o->verify || gives_up(o))
        look_closely(&p->seen, o->command == COMMAND_LIST, j->rank == 0);
    return all;
}

/* May there be anything that has a name of those that were given, on any node? Collective. */
static bool
is_there(job *j, const strings *paths)
{
    bool there = false;

    for (size_t i = 0; !there && i < paths->n; i++) {
        rset_err    ignored = RSET_ERR_NONE;
        struct stat sb;

        if (looked_path(paths->at[i], false, &sb, &there, &ignored) != RSET_OK)
            there = true;
    }
    return job_most(j, there) != 0;
}

/* What all processes have seen, on each of them. Collective. */
static rset_status
share_seen(job *j, const options *o, picture *p, rset_err *err)
{
    const rset_status st = job_share(j, &p->seen, err);

    sightings_part(&p->seen, &p->seen_older, &p->replaced);
    p->there = is_there(j, &o->paths);
    p->alone_on = j->size == 1 ? j->host : NULL;
    if (st == RSET_OK && o->command == COMMAND_RESTORE) {
        returned_find(&p->seen, &p->seen_older);
        catalog_drop_doubles(&p->seen_older); /* in order again */
    }
    return st;
}

/* Protects as the owner of the files, which have one whether they are protected already or not. */
static int
protect_as_owner(job *j, const options *o, const picture *p)
{
    rset_err err = RSET_ERR_NONE;
    uint64_t owner;

    if (protect_owner(j, &o->paths, &owner, &err) == RSET_OK)
        return act_as(j, o, owner, p);
    print_error("%s", err.text);
    return EXITS_ERROR;
}

/* Tells which files could not be read: they count as lost or damaged, and may be had when the storage answers again. status says so of each
 * file, and scavenge what it brings instead. */
static void
tell_unread(const options *o, const sightings *seen)
{
    if (o->command == COMMAND_STATUS || o->command == COMMAND_SCAVENGE)
        return;
    for (size_t i = 0; i < seen->n; i++) {
        const sighting *s = &seen->at[i];

        if (s->asked && (s->trouble != NULL || s->unread != 0))
            print_error("%s: cannot be read: %s", s->path,
                        s->trouble != NULL ? s->trouble : strerror(s->unread));
    }
}

/* What follows from what was seen, and what is done about it. */
static int
conclude_and_act(job *j, const options *o, picture *p)
{
    const bool changes = commands[o->command].changes;
    const bool mixed = picture_make(p, o, &p->seen, j->rank == 0 && !changes) > 0;
    int        status;

    if (j->rank == 0)
        tell_unread(o, &p->seen);
    if (o->command == COMMAND_PROTECT)
        status = protect_as_owner(j, o, p);
    else
        status = exits_worse(changes ? act_for_all(j, o, p) : run_command(j, o, p),
                             mixed ? EXITS_ERROR : EXITS_WELL);
    picture_forget(p);
    return status;
}

/* What is in a directory that cannot be read, nobody knows. */
static int
look_and_act(job *j, const options *o)
{
    picture           p = {0};
    rset_err          err = RSET_ERR_NONE;
    const bool        all = look(j, o, &p) || o->command == COMMAND_PROTECT;
    const rset_status st = share_seen(j, o, &p, &err);
    int               status = EXITS_ERROR;

    if (st == RSET_OK)
        status = conclude_and_act(j, o, &p);
    else if (j->rank == 0)
        print_error("%s", err.text);
    sightings_free(&p.seen);
    sightings_free(&p.seen_older);
    sightings_free(&p.replaced);
    status = exits_where(status, p.there);
    return all ? status : exits_worse(status, EXITS_ERROR);
}

/* What is to be protected is looked for as what is: something may protect it now. */
static int
attempt(job *j, const options *o)
{
    options own = *o;
    int     status;

    if (o->command != COMMAND_PROTECT)
        return look_and_act(j, o);
    status = protect_paths(j, o, &own.paths);
    if (own.paths.n > 0)
        status = look_and_act(j, &own);
    strings_free(&own.paths);
    return status;
}

static int
attempt_until_free(job *j, const options *o)
{
    waiting w;
    int     worst = EXITS_WELL;

    wait_begin(&w, o->wait);
    j->wait = &w;
    do
        worst = exits_worse(worst, attempt(j, o));
    while (wait_for_next(j));
    wait_end(&w);
    return worst;
}

static int
run(const options *o)
{
    job         j;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = job_begin(&j, o->timeout, &err);
    int         status = EXITS_ERROR;

    if (st != RSET_OK)
        print_error("%s", err.text);
    else if (o->wait >= 0)
        status = attempt_until_free(&j, o);
    else
        status = attempt(&j, o);
    job_end(&j);
    return status;
}

int
main(int argc, char **argv)
{
    options o;
    int     status = EXITS_USAGE;

    if (options_parse(argc, argv, job_speaks(), &o))
        status = o.command == COMMAND_NONE ? EXIT_SUCCESS : run(&o);
    options_free(&o);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        print_error("standard output: %s", strerror(errno));
        status = EXITS_ERROR;
    }
    return status;
}
