/* main.c: h5redset: looks after protected files, without HDF5. Start here: what a run does, in order. What is
 * seen of the files is in look.c, what follows from it in catalog.c. */
#include "commands.h"
#include "look.h"
#include "report.h"
#include "returned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WRONG_USAGE = 64 };

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
        fprintf(stderr, "h5redset: %s: cannot be written: %s\n", name, strerror(errno));
        return 1;
    }
    return 0;
}

/* What was seen. Older generations are looked at only where they are told of, and never with the newest. */
typedef struct picture {
    sightings seen, seen_older;
    catalog   newest, older;
    lists     all;
} picture;

static bool
tells_older(command c)
{
    return c == COMMAND_STATUS || c == COMMAND_LIST || c == COMMAND_DROP || c == COMMAND_RESTORE;
}

static int
list(const job *j, const options *o, const lists *all)
{
    if (j->rank == 0 && o->json)
        report_list_json(all, o->verify, stdout);
    else if (j->rank == 0)
        report_list(all, stdout);
    if (j->rank == 0 && all->n == 0 && !o->json)
        fprintf(stderr, "h5redset: nothing protected was found\n");
    fflush(stdout);
    return lists_exit_status(all);
}

/* By the first process only. */
static int
report(const job *j, const options *o, const catalog *c, const lists *all)
{
    int64_t now = (int64_t)time(NULL);
    int     status = 0;

    if (o->json)
        report_json(c, all, o->verify, now, stdout);
    else if (o->command == COMMAND_MAP)
        report_map(c, o->problems, in_colour(o->colour, j), stdout);
    else
        report_text(c, all, o->problems, now, stdout);
    if (!o->json)
        report_summary(c, stdout);
    if (o->svg != NULL)
        status = draw(c, o->svg);
    fflush(stdout);
    if (catalog_exit_status(c) == 2 && !o->json)
        for (size_t i = 0; c->n + c->nstrays == 0 && i < o->paths.n; i++)
            fprintf(stderr,
                    "h5redset: %s: nothing protected was found; if it was on this node, run under "
                    "mpiexec with a process on each node, or name other places with --search\n",
                    o->paths.at[i]);
    return status;
}

static int
act(job *j, const options *o, const picture *p)
{
    const catalog *c = &p->newest;
    int            status;

    switch (o->command) {
    case COMMAND_REBUILD: return command_rebuild(j, o, c);
    case COMMAND_SCAVENGE: return command_scavenge(j, o, c);
    case COMMAND_MV: return command_mv(j, o, c);
    case COMMAND_UNPROTECT: return command_unprotect(j, o, c);
    case COMMAND_RM: return command_rm(j, o, c);
    case COMMAND_GC: return command_gc(j, o, c);
    case COMMAND_LIST: return list(j, o, &p->all);
    case COMMAND_RESTORE: return command_restore(j, o, &p->all);
    case COMMAND_DROP: return command_drop(j, o, &p->older, &p->all);
    default:
        status = j->rank == 0 ? report(j, o, c, &p->all) : 0;
        return status > catalog_exit_status(c) ? status : catalog_exit_status(c);
    }
}

/* False: not all directories that were named could be read. */
static bool
look(const job *j, const options *o, picture *p)
{
    places where = {
        .paths = o->paths, .search = o->search, .host = j->host, .older = tells_older(o->command)};
    const bool all = look_around(&where, &p->seen);

    catalog_drop_doubles(&p->seen); /* verified once only */
    sightings_part(&p->seen, &p->seen_older);
    if (o->verify || o->command == COMMAND_REBUILD)
        look_closely(&p->seen, j->rank == 0);
    if (o->verify && o->command == COMMAND_LIST)
        look_closely(&p->seen_older, j->rank == 0);
    return all;
}

static int
look_and_act(job *j, const options *o)
{
    picture     p = {0};
    rset_err    err = RSET_ERR_NONE;
    const bool  all = look(j, o, &p);
    rset_status st = job_share(j, &p.seen, &err);
    int         status = 1;

    if (st == RSET_OK && tells_older(o->command))
        st = job_share(j, &p.seen_older, &err);
    if (st == RSET_OK && o->command == COMMAND_RESTORE)
        returned_find(&p.seen, &p.seen_older);
    if (st == RSET_OK) {
        catalog_make(&p.seen, &o->paths, o->deleted, &p.newest);
        catalog_make(&p.seen_older, &o->paths, false, &p.older);
        lists_make(&p.newest, &p.older, &p.all);
        status = act(j, o, &p);
        lists_free(&p.all);
        catalog_free(&p.newest);
        catalog_free(&p.older);
    } else if (j->rank == 0) {
        print_error(err.text);
    }
    sightings_free(&p.seen);
    sightings_free(&p.seen_older);
    return all || status != 0 ? status
                              : 1; /* nobody knows what is in a directory that cannot be read */
}

static int
run(const options *o)
{
    job         j;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = job_begin(&j, o->timeout, &err);
    int         status = 1;

    if (st != RSET_OK)
        print_error(err.text);
    else if (o->command == COMMAND_PROTECT)
        status = command_protect(&j, o);
    else
        status = look_and_act(&j, o);
    job_end(&j);
    return status;
}

int
main(int argc, char **argv)
{
    options o;
    int     status = EXIT_WRONG_USAGE;

    if (options_parse(argc, argv, job_speaks(), &o))
        status = o.command == COMMAND_NONE ? EXIT_SUCCESS : run(&o);
    options_free(&o);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        fprintf(stderr, "h5redset: standard output: %s\n", strerror(errno));
        status = status > 0 ? status : 1;
    }
    return status;
}
