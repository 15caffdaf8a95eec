/* pending.c: see pending.h. */
#include "pending.h"

#include "moment.h"
#include "ours.h"
#include "replicas/replicas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that this process has written. Kept when it was copied: nobody else's file of that name is taken then. */
struct rset_pending {
    struct rset_pending *next;
    uint64_t             generation;
    int                  copies, keep;
    bool                 waits; /* for being copied */
    bool                 told;  /* that it could not be */
    char                 path[];
};

static struct rset_pending *
find(const rset_team *team, const char *path)
{
    struct rset_pending *p = team->written;

    while (p != NULL && strcmp(p->path, path) != 0)
        p = p->next;
    return p;
}

static void
set_waits(rset_team *team, struct rset_pending *p, bool waits)
{
    team->pending += (int)waits - (int)p->waits;
    p->waits = waits;
}

void
rset_pending_note(rset_team *team, const rset_config *config, const char *path, uint64_t generation)
{
    struct rset_pending *p = find(team, path);

    if (team->ranks < 2 || !rset_team_may_meet(team) || strlen(path) > RSET_PATH_MAX)
        return;
    if (p == NULL) {
        p = calloc(1, sizeof *p + strlen(path) + 1);
        if (p == NULL)
            return;
        strcpy(p->path, path);
        p->next = team->written;
        team->written = p;
    }
    p->generation = generation;
    p->copies = config->replicas;
    p->keep = config->keep;
    set_waits(team, p, true);
}

static void
forget(rset_team *team)
{
    for (struct rset_pending *next; team->written != NULL; team->written = next) {
        next = team->written->next;
        free(team->written);
    }
    team->pending = 0;
}

/* ---- copying ---- */

typedef struct place {
    const rset_team   *team;
    const rset_config *config;
} place;

/* A path that another rank has sent. */
static rset_status
may_lie_here(void *arg, const char *path, rset_err *err)
{
    const place *here = arg;

    if (path[0] != '/' || strstr(path, "/../") != NULL || strstr(path, "/./") != NULL ||
        !rset_config_is_root(here->config, path))
        return rset_fail(err, RSET_USAGE, "%s: root= does not name it on all ranks", path);
    if (find(here->team, path) != NULL)
        return rset_fail(err, RSET_USAGE,
                         "%s: more than one rank has written a file of this name, and root= says "
                         "that it is one rank's",
                         path);
    return RSET_OK;
}

static void
tell(struct rset_pending *p, const rset_err *why, char note_out[RSET_ERR_TEXT])
{
    if (p->told)
        return;
    p->told = true;
    if (why->rank >= 0)
        snprintf(note_out, RSET_ERR_TEXT, "no replica of %s: rank %d (%s): %.800s", p->path,
                 why->rank, why->host, why->text);
    else
        snprintf(note_out, RSET_ERR_TEXT, "no replica of %s: %.800s", p->path, why->text);
}

/* It may have been protected again. */
static void
follow(struct rset_pending *p, uint64_t generation)
{
    if (p->generation == generation)
        return;
    p->generation = generation;
    rset_ours_note(generation);
    rset_moment_heard_generation(generation);
}

/* What waits, at most as many as are sent at a time. */
static size_t
take_waiting(rset_team *team, rset_replica *out, struct rset_pending **from)
{
    size_t n = 0;

    for (struct rset_pending *p = team->written; p != NULL && n < RSET_REPLICAS_AT_ONCE;
         p = p->next) {
        if (!p->waits)
            continue;
        out[n] = (rset_replica){.generation = p->generation,
                                .copies = p->copies,
                                .keep = p->keep,
                                .why = RSET_ERR_NONE};
        snprintf(out[n].path, sizeof out[n].path, "%s", p->path);
        from[n++] = p;
    }
    return n;
}

/* Sets in which copies survive what is lost together, whatever scheme is wanted for other files. */
static rset_config
for_copies(const rset_config *config)
{
    rset_config c = *config;

    c.scheme = &rset_scheme_partner;
    c.replicas = 1;
    c.set_size = c.set_size < 2 ? 2 : c.set_size;
    return c;
}

/* Nobody can have one: that is said, and not tried again. */
static void
give_up(rset_team *team, const rset_err *why, char note_out[RSET_ERR_TEXT])
{
    for (struct rset_pending *p = team->written; p != NULL; p = p->next)
        if (p->waits) {
            tell(p, why, note_out);
            set_waits(team, p, false);
        }
}

void
rset_pending_copy(rset_team *team, const rset_config *config, char note_out[RSET_ERR_TEXT])
{
    const rset_config    wanted = for_copies(config);
    struct rset_pending *from[RSET_REPLICAS_AT_ONCE];
    rset_replica        *mine = calloc(RSET_REPLICAS_AT_ONCE, sizeof *mine);
    place                here = {team, config};
    rset_replicas args = {.host = team->host, .mine = mine, .may = may_lie_here, .arg = &here};
    rset_layout  *layout = NULL;
    rset_err      why = RSET_ERR_NONE;
    rset_status   st = rset_team_layout(team, &wanted, &layout, &why);

    if (st == RSET_OK && layout->set.size < 2)
        st = rset_fail(&why, RSET_USAGE,
                       "no set has room for this rank: its host (or group=) has too many");
    if (st != RSET_OK) {
        give_up(team, &why, note_out);
        free(mine);
        return;
    }
    (void)rset_layout_tell(layout); /* it is said of the files that all ranks have */
    if (mine != NULL)
        args.n = take_waiting(team, mine, from);
    args.set = &layout->set;
    st = rset_replicas_send(&args, &why);
    for (size_t i = 0; i < args.n; i++) {
        follow(from[i], mine[i].generation);
        if (st == RSET_OK && mine[i].done != 0)
            set_waits(team, from[i], false);
        else
            tell(from[i], st == RSET_OK ? &mine[i].why : &why, note_out);
    }
    free(mine);
}

/* ---- the end ---- */

static rset_status
meet_at_the_end(rset_team *team, bool *any_out, rset_err *err)
{
    rset_proposal all = {.op = RSET_RENDEZVOUS_CALL,
                         .bits = team->pending > 0 ? RSET_TEAM_PENDING : 0,
                         .least_base = UINT64_MAX};
    uint64_t      nonce;
    bool          known;
    rset_status   st;

    rset_config_keys(team->roots, all.keys);
    snprintf(all.kind.text, sizeof all.kind.text, "MPI_Finalize");
    if (team->comm->timeout > team->roots->timeout)
        team->comm->timeout = team->roots->timeout;
    st = rset_rendezvous_meet(team->rendezvous, &all, &nonce, &known, err);
    *any_out = st == RSET_OK && (all.bits & RSET_TEAM_PENDING) != 0;
    return st;
}

/* Ranks that have never met may know nothing of each other, and nobody waits for them here. */
static rset_status
meet_if_known(rset_team *team, bool *any_out, rset_err *err)
{
    *any_out = false;
    if (team->roots != NULL && team->comm != NULL)
        return meet_at_the_end(team, any_out, err);
    return rset_fail(err, RSET_USAGE,
                     "the ranks have opened or closed no files together in this job, so none takes "
                     "it in MPI_Finalize: have all of them open it, or close files of their own "
                     "after it was written");
}

static void
end_one(rset_team *team, void *arg)
{
    void (**say)(const char *text) = arg;
    char        note[RSET_ERR_TEXT] = "";
    rset_err    why = RSET_ERR_NONE;
    bool        any;
    rset_status st = team->ranks > 1 ? meet_if_known(team, &any, &why) : RSET_ABSENT;

    if (st == RSET_OK && any)
        rset_pending_copy(team, team->roots, note);
    else if (st != RSET_OK && st != RSET_ABSENT)
        give_up(team, &why, note);
    if (note[0] != '\0')
        (*say)(note);
    forget(team);
}

void
rset_pending_end(void (*say)(const char *text))
{
    rset_team_each(end_one, &say);
}
