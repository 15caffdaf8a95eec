/* parallel.c: see parallel.h. */
#include "parallel.h"

#include "comm/comm_hosted.h"
#include "comm/comm_local.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- protecting ---- */

/* The newest generation that any rank knows of, and a number that is new. The same on all. */
static rset_status
next_generation(rset_comm *world, const files *f, rset_status before, uint64_t *out, rset_err *err)
{
    uint64_t    mine[2] = {rset_evidence_newest(&f->evidence), 0};
    uint64_t   *all = must_alloc((size_t)world->size * sizeof mine);
    rset_status st;

    if (getrandom(&mine[1], sizeof mine[1], 0) != (ssize_t)sizeof mine[1] && before == RSET_OK)
        before = rset_fail(err, RSET_IO, "no random numbers");
    st = rset_gather_fixed(world, mine, sizeof mine, all, err);
    for (int r = 1; r < world->size; r++)
        if (rset_generation_newer(all[2 * r], all[0]))
            all[0] = all[2 * r];
    *out = rset_generation_next(all[0], all[1]);
    free(all);
    return rset_agree(world, before == RSET_OK ? st : before, "", err);
}

/* What was divided is protected, unless all shall be and are not. */
static rset_status
protect_divided(rset_comm *world, rset_layout *layout, const files *f, const protect_wish *wish,
                uint64_t generation, rset_err *err)
{
    rset_protect_args args = {.world = world,
                              .set = &layout->set,
                              .ranks = layout->ranks,
                              .local = &f->local,
                              .desc = layout->desc,
                              .extra = true,
                              .host = wish->sets.group};

    args.desc.generation = generation;
    if (wish->all)
        args.before = rset_layout_for_all(layout, err);
    return rset_protect(&args, err);
}

rset_status
protect_parallel(rset_comm *world, const protect_wish *wish, const files *f, rset_status before,
                 char *note, rset_err *err)
{
    rset_layout layout = {0};
    uint64_t    generation = 0;
    rset_status st = next_generation(world, f, before, &generation, err);

    note[0] = '\0';
    if (st == RSET_OK)
        st = rset_layout_form(world, &wish->sets, wish->sets.group, &layout, err);
    if (st == RSET_OK) {
        memcpy(note, layout.note, RSET_ERR_TEXT);
        st = protect_divided(world, &layout, f, wish, generation, err);
        rset_layout_free(&layout);
    }
    return st;
}

/* ---- who does what at a rebuild ---- */

/* One parent rank of the encode. */
typedef struct seat {
    const member *member;
    int           by; /* process; -1: none yet */
    rset_status   st; /* what it came to, where this process has it */
    rset_outcome  out;
    rset_err      err;
} seat;

typedef struct plan {
    job           *j;
    const options *o;
    const char (*hosts)[RSET_HOST_NAME];
    const family *f;
    int           n; /* ranks */
    seat         *seats;
} plan;

/* Another rank's file lies at this path on that node. */
static bool
is_occupied(const plan *p, const char *host, const char *path)
{
    for (int r = 0; r < p->n; r++) {
        const member *m = p->seats[r].member;
        const char   *there = m == NULL             ? NULL
                              : m->seen != NULL     ? m->seen->host
                              : p->seats[r].by >= 0 ? p->hosts[p->seats[r].by]
                                                    : NULL;
        char         *at = m != NULL ? member_path(m) : NULL;
        bool          same = there != NULL && strcmp(there, host) == 0 && strcmp(at, path) == 0;

        free(at);
        if (same)
            return true;
    }
    return false;
}

/* Ranks that process i has, and that all processes of its node have. */
static void
count_ranks(const plan *p, int i, int *own_out, int *node_out)
{
    *own_out = *node_out = 0;
    for (int r = 0; r < p->n; r++) {
        const int by = p->seats[r].by;

        *own_out += by == i;
        *node_out += by >= 0 && strcmp(p->hosts[by], p->hosts[i]) == 0;
    }
}

/* The process for a rank: on the node of its files; for lost ones on the node with the fewest others. Of those of one node,
 * the one with the fewest ranks. */
static int
choose_process(const plan *p, const member *m)
{
    int best = -1, least = 0, fewest = 0;

    for (int i = 0; i < p->j->size; i++) {
        int own, node;

        if (m->seen != NULL ? strcmp(m->seen->host, p->hosts[i]) != 0
                            : is_occupied(p, p->hosts[i], m->known->path))
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
seat_all(plan *p, rset_err *err)
{
    for (int lost = 0; lost < 2; lost++) /* first those that are somewhere */
        for (int r = 0; r < p->n; r++) {
            const member *m = p->seats[r].member;

            if (m == NULL || (m->known == NULL && m->seen == NULL))
                return rset_fail(err, RSET_LOST,
                                 "nothing that can be reached records rank %d of %d; run with a "
                                 "process on every node",
                                 r, p->n);
            if ((m->seen == NULL) != (lost == 1))
                continue;
            p->seats[r].by = choose_process(p, m);
            if (p->seats[r].by < 0)
                return rset_fail(err, RSET_USAGE,
                                 "no process for rank %d (%s%s%s): start one on each node that has "
                                 "files, and one on a new node for those that are lost",
                                 r, m->seen != NULL ? m->seen->host : "lost",
                                 m->seen != NULL ? ":" : ", ",
                                 m->seen != NULL ? m->seen->name : m->known->path);
        }
    return RSET_OK;
}

/* ---- doing it ---- */

/* Opens what this process has of rank r's files. */
static rset_status
open_seat(const plan *p, int r, files *f, rset_err *err)
{
    const member     *m = p->seats[r].member;
    char             *path = member_path(m);
    char             *dir = dir_of(path);
    const files_place at = {.dir = dir,
                            .name = rset_path_base(path),
                            .prefix = m->own ? m->seen->prefix : NULL,
                            .path = m->known != NULL ? m->known->path : NULL,
                            .others = m->known != NULL ? m->known->others : NULL,
                            .create = m->seen == NULL};
    rset_status       st;

    if (m->seen == NULL && !m->asked)
        st = rset_fail(err, RSET_USAGE,
                       "%s: is lost, and not below a path that was named; name its directory too",
                       path);
    else
        st = files_open(&at, f, err);
    free(path);
    free(dir);
    return st;
}

static rset_status
protect_again(const plan *p, rset_comm *world, files *f, rset_err *err)
{
    char         note[RSET_ERR_TEXT];
    protect_wish wish = {.sets = {.scheme = p->f->desc.scheme,
                                  .parity = p->f->desc.parity,
                                  .set_size = p->f->desc.members,
                                  .group = p->j->host,
                                  .order = world->rank}};

    return protect_parallel(world, &wish, f, RSET_OK, note, err);
}

/* One rank of all of them, in a thread of its own. */
static void
recover_seat(rset_comm *world, void *arg)
{
    const plan       *p = arg;
    seat             *at = &p->seats[world->rank];
    files             f = {0};
    rset_recover_args args = {.world = world,
                              .local = &f.local,
                              .evidence = &f.evidence,
                              .content = RSET_CONTENT_ALL,
                              .tidy = true,
                              .host = p->j->host};

    at->err = RSET_ERR_NONE;
    args.before = open_seat(p, world->rank, &f, &at->err);
    at->st = rset_recover(&args, &at->out, &at->err);
    if (at->st == RSET_OK && at->out.reprotect)
        at->st = protect_again(p, world, &f, &at->err);
    files_close(&f);
}

/* "HOST:PATH: what", where there is more than one host. */
static void
tell_text(const plan *p, const char *host, const member *m, const char *what)
{
    char *path = member_path(m), *safe = shown(path);

    if (p->j->size > 1)
        printf("%s:", host);
    printf("%s: %s\n", safe, what);
    free(path);
    free(safe);
}

static void
tell_seat(const plan *p, int r)
{
    const seat *at = &p->seats[r];
    char       *what = action_text(&p->f->decision, at->member, false);
    char       *text = shown(at->st == RSET_OK ? at->out.note : at->err.text);

    if (at->st != RSET_OK && r == 0)
        fprintf(stderr, "h5redset: %s\n", text);
    else if (at->st == RSET_OK && what != NULL)
        tell_text(p, p->j->host, at->member, what);
    else if (at->st == RSET_OK && r == 0 && text[0] != '\0')
        printf("%s\n", text);
    free(what);
    free(text);
}

static void
tell_plan(const plan *p)
{
    for (int r = 0; r < p->n; r++) {
        const member *m = p->seats[r].member;
        char         *what = action_text(&p->f->decision, m, true);

        if (what != NULL)
            tell_text(p, p->hosts[p->seats[r].by], m, what);
        free(what);
    }
}

/* Each process for the ranks that it has. */
static rset_status
carry_out(plan *p, rset_err *err)
{
    int         *host_of = must_alloc((size_t)p->n * sizeof *host_of);
    rset_hosting how = {.outer = p->j->comm, .ranks = p->n, .host_of = host_of, .host = p->j->host};
    rset_status  st;

    for (int r = 0; r < p->n; r++)
        host_of[r] = p->seats[r].by;
    st = p->j->size > 1 ? rset_hosted_run(&how, recover_seat, p, err)
                        : rset_local_run(p->n, p->o->timeout, recover_seat, p, err);
    if (st != RSET_OK)
        fprintf(stderr, "h5redset: %s\n", err->text);
    for (int r = 0; st == RSET_OK && r < p->n; r++)
        if (p->seats[r].by == p->j->rank)
            tell_seat(p, r);
    for (int r = 0; r < p->n; r++)
        if (st == RSET_OK && p->seats[r].by == p->j->rank)
            st = p->seats[r].st;
    free(host_of);
    return st;
}

static int
rebuild_seats(plan *p)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = seat_all(p, &err);

    if (st != RSET_OK && p->j->rank == 0)
        fprintf(stderr, "h5redset: %s\n", err.text);
    if (st == RSET_OK && p->o->dry_run && p->j->rank == 0)
        tell_plan(p);
    else if (st == RSET_OK && !p->o->dry_run)
        st = carry_out(p, &err);
    if (st == RSET_OK)
        return p->f->decision.protection == RSET_PROTECTION_NONE ? 1 : 0;
    return st == RSET_LOST ? 2 : 1;
}

/* What is decided of these files, done. */
static int
rebuild_family(job *j, const options *o, const family *f, const char (*hosts)[RSET_HOST_NAME])
{
    plan  p = {.j = j, .o = o, .hosts = hosts, .f = f, .n = f->desc.ranks};
    char *text = advice(f), *name = shown(family_name(f));
    int   status = exit_status_of(&f->decision);

    if (f->decision.verdict == RSET_VERDICT_REFUSE && j->rank == 0)
        report_refusal(f);
    else if (f->decision.verdict == RSET_VERDICT_KEEP && j->rank == 0 && text[0] != '\0')
        printf("%s: %s\n", name, text);
    free(text);
    free(name);
    if (f->decision.verdict != RSET_VERDICT_RESTORE)
        return status;
    p.seats = must_alloc((size_t)p.n * sizeof *p.seats);
    for (int r = 0; r < p.n; r++)
        p.seats[r].by = -1;
    for (int k = 0; k < f->nsets; k++)
        for (int m = 0; m < f->sets[k].desc.members; m++) {
            const member *one = &f->sets[k].members[m];

            if (one->rank >= 0 && one->rank < p.n)
                p.seats[one->rank].member = one;
        }
    status = rebuild_seats(&p);
    free(p.seats);
    return status;
}

int
rebuild_parallel(job *j, const options *o, const family *f)
{
    char(*hosts)[RSET_HOST_NAME] = NULL;
    rset_err err = RSET_ERR_NONE;
    int      status = 1;

    if (job_hosts(j, &hosts, &err) == RSET_OK)
        status = rebuild_family(j, o, f, (const char(*)[RSET_HOST_NAME])hosts);
    free(hosts);
    return status;
}
