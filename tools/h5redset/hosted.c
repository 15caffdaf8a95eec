/* hosted.c: see hosted.h. */
#include "hosted.h"

#include "comm/comm_hosted.h"
#include "comm/comm_local.h"
#include "progress.h"
#include "wait.h"

#include <stdlib.h>
#include <string.h>

/* The ranks of p->f, all other members given. Nobody has them yet. */
static void
begin(hosting *p)
{
    p->n = p->f->desc.ranks;
    p->hosted = must_alloc((size_t)p->n * sizeof *p->hosted);
    for (int r = 0; r < p->n; r++)
        p->hosted[r].by = -1;
    for (const member *one = NULL; (one = family_next(p->f, one)) != NULL;)
        if (one->rank >= 0 && one->rank < p->n)
            p->hosted[one->rank].member = one;
}

/* ---- who does what ---- */

/* Another rank's file lies at this path on that node. */
static bool
is_occupied(const hosting *p, const char *host, const char *path)
{
    for (int r = 0; r < p->n; r++) {
        const member *m = p->hosted[r].member;
        const char   *there = m == NULL              ? NULL
                              : m->seen != NULL      ? m->seen->host
                              : p->hosted[r].by >= 0 ? p->j->hosts[p->hosted[r].by]
                                                     : NULL;

        if (there != NULL && strcmp(there, host) == 0 && strcmp(member_path(m), path) == 0)
            return true;
    }
    return false;
}

/* Ranks that process i has, and that all processes of its node have. */
static void
count_ranks(const hosting *p, int i, int *own_out, int *node_out)
{
    *own_out = *node_out = 0;
    for (int r = 0; r < p->n; r++) {
        const int by = p->hosted[r].by;

        *own_out += by == i;
        *node_out += by >= 0 && strcmp(p->j->hosts[by], p->j->hosts[i]) == 0;
    }
}

/* The process for a rank: on the node of its files; for lost ones on the node with the fewest others. Of those of one node,
 * the one with the fewest ranks. */
static int
choose_process(const hosting *p, const member *m)
{
    int best = -1, least = 0, fewest = 0;

    for (int i = 0; i < p->j->size; i++) {
        int own, node;

        if (m->seen != NULL ? strcmp(m->seen->host, p->j->hosts[i]) != 0
                            : is_occupied(p, p->j->hosts[i], member_path(m)))
            continue;
        count_ranks(p, i, &own, &node);
        if (m->seen != NULL)
            node = 0;
        if (best < 0 || node < least || (node == least && own < fewest)) {
            best = i;
            least = node;
            fewest = own;
        }
    }
    return best;
}

static rset_status
assign(hosting *p, rset_err *err)
{
    begin(p);
    for (int lost = 0; lost < 2; lost++) /* first those that are somewhere */
        for (int r = 0; r < p->n; r++) {
            const member *m = p->hosted[r].member;

            if (m == NULL || (m->known == NULL && m->seen == NULL))
                return rset_fail(err, RSET_LOST,
                                 "nothing that can be reached records rank %d of %d; run with a "
                                 "process on every node",
                                 r, p->n);
            if ((m->seen == NULL) != (lost == 1))
                continue;
            p->hosted[r].by = choose_process(p, m);
            if (p->hosted[r].by < 0)
                return rset_fail(err, RSET_USAGE,
                                 "no process for rank %d (%s%s%s): start one on each node that has "
                                 "files, and one on a new node for those that are lost",
                                 r, m->seen != NULL ? m->seen->host : "lost",
                                 m->seen != NULL ? ":" : ", ",
                                 m->seen != NULL ? m->seen->name : recorded_path(m->known));
        }
    return RSET_OK;
}

rset_status
hosted_may_make(const member *m, rset_err *err)
{
    char       *path = path_of_file(member_path(m));
    rset_status st = RSET_OK;

    if (m->seen == NULL && !m->asked)
        st = rset_fail(err, RSET_USAGE,
                       "%s: is lost, and not below a path that was named; name its directory too",
                       path);
    free(path);
    return st;
}

rset_status
hosted_open(const hosting *p, int r, files *f, rset_err *err)
{
    const member     *m = p->hosted[r].member;
    const files_place at = {
        .prefix = m->own && (p->dry || !m->seen->renamed) ? m->seen->prefix : NULL,
        .path = m->known != NULL && !p->f->renamed ? recorded_path(m->known) : NULL,
        .known = m->known,
        .create = m->seen == NULL && !p->dry,
        .make = p->o->command == COMMAND_REBUILD && !p->dry,
        .may_lack = p->dry,
        .within = &p->o->paths};
    const rset_status st = hosted_may_make(m, err);

    return st == RSET_OK ? files_open_path(member_path(m), at, f, err) : st;
}

static void
tell_failure(const hosting *p, const char *text)
{
    if (p->not_done != NULL)
        print_error("%s%s%s", p->not_done, p->not_done[0] != '\0' ? ": " : "", text);
}

/* A thread for each rank. */
static rset_status
run(const hosting *p, void (*body)(rset_comm *world, void *arg), void *arg)
{
    int         *host_of = must_alloc((size_t)p->n * sizeof *host_of);
    rset_hosting how = {.outer = p->j->comm, .ranks = p->n, .host_of = host_of, .host = p->j->host};
    rset_err     err = RSET_ERR_NONE;
    rset_status  st;

    for (int r = 0; r < p->n; r++)
        host_of[r] = p->hosted[r].by;
    st = p->j->size > 1 ? rset_hosted_run(&how, body, arg, &err)
                        : rset_local_run(p->n, p->o->timeout, body, arg, &err);
    progress_wipe();
    if (st != RSET_OK)
        tell_failure(p, err.text);
    free(host_of);
    return st;
}

rset_status
hosted_run(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = assign(p, &err);

    if (st != RSET_OK && p->j->rank == 0)
        tell_failure(p, err.text);
    return st == RSET_OK && body != NULL ? run(p, body, arg) : st;
}

rset_status
hosted_status(const hosting *p, rset_status st)
{
    for (int r = 0; r < p->n; r++)
        if (st == RSET_OK && p->hosted[r].by == p->j->rank)
            st = p->hosted[r].st;
    return st;
}

rset_status
hosted_do(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg,
          void (*tell)(const hosting *p, int r))
{
    const rset_status st = hosted_run(p, body, arg);

    for (int r = 0; st == RSET_OK && r < p->n; r++)
        if (p->hosted[r].by == p->j->rank && p->hosted[r].st == RSET_OK)
            tell(p, r);
        else if (p->hosted[r].by == p->j->rank &&
                 !wait_tries_again(p->j, p->hosted[r].st, p->hosted[r].err.text) && r == 0)
            tell_failure(p, p->hosted[r].err.text);
    return hosted_status(p, st);
}

/* ---- one process, and one rank ---- */

strings
alone_search(const options *o, const catalog *c, uint64_t owner)
{
    strings dirs = {0};

    for (size_t i = 0; i < o->search.n; i++)
        strings_add_once(&dirs, o->search.at[i]);
    for (size_t i = 0; i < c->sightings->n; i++)
        if (c->sightings->at[i].owner == owner)
            strings_add_once(&dirs, c->sightings->at[i].dir);
    return dirs;
}

rset_status
alone_rebuild(files *f, const rset_serial_args *wish, const strings *search, rset_outcome *out,
              rset_err *err)
{
    const char     **dirs = must_alloc((search->n + 1) * sizeof *dirs);
    rset_serial_args args = *wish;
    rset_status      st;

    for (size_t i = 0; i < search->n; i++)
        dirs[i] = search->at[i];
    args.local = &f->local;
    args.evidence = &f->evidence;
    args.search = dirs;
    args.content = RSET_CONTENT_ALL;
    st = rset_recover_serial(&args, out, err);
    free(dirs);
    return st;
}
