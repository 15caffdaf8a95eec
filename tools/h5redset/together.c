/* together.c: see together.h. */
#include "together.h"

#include "look.h"
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

rset_status
protect_together(rset_comm *world, const rset_wish *wish, const files *f, const char *host,
                 rset_status before, char *note, rset_err *err)
{
    rset_layout layout = {0};
    uint64_t    generation = 0;
    rset_status st = next_generation(world, f, before, &generation, err);

    note[0] = '\0';
    if (st == RSET_OK)
        st = rset_layout_form(world, wish, host, &layout, err);
    if (st == RSET_OK) {
        rset_protect_args args = {.world = world,
                                  .set = &layout.set,
                                  .ranks = layout.ranks,
                                  .local = &f->local,
                                  .desc = layout.desc,
                                  .extra = true,
                                  .host = host};

        args.desc.generation = generation;
        memcpy(note, layout.note, RSET_ERR_TEXT);
        st = rset_protect(&args, err);
        rset_layout_free(&layout);
    }
    return st;
}

/* ---- who does what at a rebuild ---- */

/* One parent rank of the encode. */
typedef struct seat {
    const member *member;
    int           by; /* process; -1: none yet */
} seat;

typedef struct plan {
    job *j;
    const char (*hosts)[RSET_HOST_NAME];
    const cat_set *first; /* a set of the checkpoint */
    int            n;     /* ranks */
    seat          *seats;
    bool          *taken; /* per process */
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

static int
files_on(const plan *p, const char *host)
{
    int n = 0;

    for (int r = 0; r < p->n; r++)
        n += p->seats[r].by >= 0 && strcmp(p->hosts[p->seats[r].by], host) == 0;
    return n;
}

/* The process for a rank: on the node of its files; for lost ones on the node with the fewest others. */
static int
choose_process(const plan *p, const member *m)
{
    int best = -1, least = 0;

    for (int i = 0; i < p->j->size; i++) {
        const char *host = p->hosts[i];
        int         n;

        if (p->taken[i])
            continue;
        if (m->seen != NULL) {
            if (strcmp(m->seen->host, host) == 0)
                return i;
            continue;
        }
        n = files_on(p, host);
        if (!is_occupied(p, host, m->known->path) && (best < 0 || n < least)) {
            best = i;
            least = n;
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

            if (m == NULL || m->known == NULL)
                return rset_fail(err, RSET_LOST,
                                 "nothing that can be reached records rank %d of %d; run with a "
                                 "process on every node",
                                 r, p->n);
            if ((m->seen == NULL) != (lost == 1))
                continue;
            p->seats[r].by = choose_process(p, m);
            if (p->seats[r].by < 0)
                return rset_fail(err, RSET_USAGE,
                                 "no process for rank %d (%s%s%s): start one for each of the %d "
                                 "files, on the nodes where they are, and on a new node for those "
                                 "that are lost (mpiexec -n %d)",
                                 r, m->seen != NULL ? m->seen->host : "lost",
                                 m->seen != NULL ? ":" : ", ",
                                 m->seen != NULL ? m->seen->name : m->known->path, p->n, p->n);
            p->taken[p->seats[r].by] = true;
        }
    return RSET_OK;
}

/* ---- doing it ---- */

/* What this process has to do with rank r's files. */
static rset_status
open_seat(const plan *p, int r, files *f, rset_err *err)
{
    const member *m = p->seats[r].member;
    char         *path = member_path(m);
    char         *dir = dir_of(path);
    rset_status   st;

    if (m->seen == NULL && !m->asked)
        st = rset_fail(err, RSET_USAGE,
                       "%s: is lost, and not below a path that was named; name its directory too",
                       path);
    else
        st = files_open(dir, m->own ? m->seen->prefix : NULL, rset_path_base(path), m->known->path,
                        m->seen == NULL, f, err);
    free(path);
    free(dir);
    return st;
}

static rset_status
protect_again(const plan *p, rset_comm *world, files *f, rset_err *err)
{
    char      note[RSET_ERR_TEXT];
    rset_wish wish = {.scheme = p->first->desc.scheme,
                      .parity = p->first->desc.parity,
                      .set_size = p->first->desc.members,
                      .group = p->j->host,
                      .order = world->rank};

    return protect_together(world, &wish, f, p->j->host, RSET_OK, note, err);
}

static rset_status
recover_seat(const plan *p, rset_comm *world, int r, rset_outcome *out, rset_err *err)
{
    files       f = {0};
    rset_status st = open_seat(p, r, &f, err);

    rset_recover_args args = {.world = world,
                              .local = &f.local,
                              .evidence = &f.evidence,
                              .content = true,
                              .tidy = true,
                              .host = p->j->host,
                              .before = st};

    st = rset_recover(&args, out, err);
    if (st == RSET_OK && out->reprotect)
        st = protect_again(p, world, &f, err);
    files_close(&f);
    return st;
}

static void
tell_seat(const plan *p, int r, rset_status st, const rset_outcome *out, const rset_err *err)
{
    const member *m = p->seats[r].member;
    char         *path = member_path(m), *safe = shown(path);
    char         *text = shown(st == RSET_OK ? out->note : err->text);

    if (st != RSET_OK && r == 0)
        fprintf(stderr, "h5redset: %s\n", text);
    else if (st == RSET_OK && out->replaced)
        printf("%s:%s: brought back\n", p->j->host, safe);
    else if (st == RSET_OK && (m->state == STATE_BARE || out->reprotect))
        printf("%s:%s: redundancy made anew\n", p->j->host, safe);
    else if (st == RSET_OK && r == 0 && text[0] != '\0')
        printf("%s\n", text);
    free(path);
    free(safe);
    free(text);
}

static void
tell_plan(const plan *p)
{
    for (int r = 0; r < p->n; r++) {
        const member *m = p->seats[r].member;
        char         *path = member_path(m), *safe = shown(path);

        if (m->state != STATE_HEALTHY)
            printf("%s:%s: would be brought back (%s)\n", p->hosts[p->seats[r].by], safe,
                   state_looks[m->state].word);
        free(path);
        free(safe);
    }
}

static rset_status
carry_out(const plan *p, rset_err *err)
{
    int         *ranks = must_alloc((size_t)p->n * sizeof *ranks), mine = -1;
    rset_comm    world = {0};
    rset_outcome out = {0};
    rset_status  st = RSET_OK;

    for (int r = 0; r < p->n; r++) {
        ranks[r] = p->seats[r].by;
        if (ranks[r] == p->j->rank)
            mine = r;
    }
    if (mine >= 0)
        st = rset_comm_subset(p->j->comm, ranks, p->n, &world, err);
    if (mine >= 0 && st == RSET_OK) {
        st = recover_seat(p, &world, mine, &out, err);
        tell_seat(p, mine, st, &out, err);
        rset_comm_free(&world);
    }
    free(ranks);
    return st;
}

static int
rebuild_checkpoint(job *j, const options *o, const catalog *c, size_t from, size_t to,
                   const char (*hosts)[RSET_HOST_NAME])
{
    plan     p = {.j = j, .hosts = hosts, .first = &c->sets[from], .n = c->sets[from].desc.ranks};
    rset_err err = RSET_ERR_NONE;
    rset_status st;

    p.seats = must_alloc((size_t)p.n * sizeof *p.seats);
    p.taken = must_alloc((size_t)j->size * sizeof *p.taken);
    for (int r = 0; r < p.n; r++)
        p.seats[r].by = -1;
    for (size_t i = from; i < to; i++)
        for (int m = 0; m < c->sets[i].desc.members; m++) {
            const member *one = &c->sets[i].members[m];

            if (one->known != NULL && one->known->desc.rank < p.n)
                p.seats[one->known->desc.rank].member = one;
        }
    st = seat_all(&p, &err);
    if (st != RSET_OK && j->rank == 0)
        fprintf(stderr, "h5redset: %s\n", err.text);
    if (st == RSET_OK && o->dry_run && j->rank == 0)
        tell_plan(&p);
    else if (st == RSET_OK && !o->dry_run)
        st = carry_out(&p, &err);
    free(p.seats);
    free(p.taken);
    return st == RSET_OK ? 0 : st == RSET_LOST ? 2 : 1;
}

int
rebuild_together(job *j, const options *o, const catalog *c)
{
    char(*hosts)[RSET_HOST_NAME] = NULL;
    rset_err err = RSET_ERR_NONE;
    int      worst = 0;

    if (job_hosts(j, &hosts, &err) != RSET_OK) {
        free(hosts);
        return 1;
    }
    for (size_t from = 0, to; from < c->n; from = to) {
        bool ill = false, hopeless = false;
        int  status = 0;

        for (to = from; to < c->n && same_checkpoint(&c->sets[from], &c->sets[to]); to++) {
            ill = ill || (c->sets[to].asked && c->sets[to].verdict != VERDICT_HEALTHY);
            hopeless = hopeless || c->sets[to].verdict == VERDICT_BEYOND;
            if (j->rank == 0)
                report_hopeless(&c->sets[to]);
        }
        if (hopeless)
            status = 2; /* all of them come back, or none */
        else if (ill)
            status = rebuild_checkpoint(j, o, c, from, to, (const char(*)[RSET_HOST_NAME])hosts);
        worst = status > worst ? status : worst;
    }
    free(hosts);
    if (c->n + c->nstrays == 0 && j->rank == 0)
        fprintf(stderr, "h5redset: nothing protected was found\n");
    return job_most(j, c->n == 0 ? 2 : worst);
}
