/* view.c: see view.h. */
#include "view.h"

#include "background.h"
#include "beside.h"
#include "recover/recover.h"
#include "team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that is looked for. */
typedef struct view {
    const rset_config *config;
    rset_beside        at;
    rset_which         which;
    rset_generations   all;
    rset_team         *team; /* with whom it is known which there are; NULL: nobody else */
} view;

/* What lies here. */
static rset_status
look(view *v, const char *path, rset_err *err)
{
    rset_status st = rset_beside_look(path, &v->at, err);

    if (st == RSET_OK)
        rset_kept_look(&v->at.local, &v->at.evidence);
    rset_generations_of(&v->at.evidence, &v->all);
    return st == RSET_OK && v->at.local.dir != NULL
               ? rset_generations_note_own(&v->at.local, &v->at.evidence, &v->which, &v->all, err)
               : st;
}

enum { SHORT = 30 };

/* Ranks that open the same generation of files of one kind, before they know which that is. A long label goes by its hash. */
static void
name_kind(const view *v, rset_kind *out)
{
    const char *which = v->config->generation;
    char        hash[SHORT];
    rset_kind   kind;

    rset_kind_of(v->at.path, &kind);
    *out = kind;
    snprintf(hash, sizeof hash, "label #%08" PRIx32, (uint32_t)rset_name_hash(which));
    snprintf(out->text, sizeof out->text, "generation %.*s of %.80s", SHORT,
             strlen(which) < SHORT ? which : hash, kind.text);
}

/* What files say that are within reach. Whose file it is may be known by others. */
static rset_status
look_nearby(view *v, rset_err *err)
{
    rset_search_list search;
    rset_serial_args args = {
        .local = &v->at.local, .evidence = &v->at.evidence, .search = search.dirs, .rank = -1};

    rset_beside_search(v->config, &search);
    return v->at.local.dir != NULL ? rset_generations_nearby(&args, &v->which, &v->all, err)
                                   : RSET_OK;
}

/* The same on all ranks. Those that wrote the files and have not come may know more. */
static rset_status
learn(view *v, const rset_team *team, rset_err *err)
{
    rset_status st = rset_generations_of_all(team->comm, team->host, &v->all, err);

    if (st != RSET_OK || rset_generations_suffice(&v->all, &v->which) ||
        v->all.ranks <= (uint64_t)team->comm->size)
        return st;
    st = look_nearby(v, err);
    st = rset_agree(team->comm, st == RSET_LOST ? RSET_OK : st, team->host, err);
    return st == RSET_OK ? rset_generations_of_all(team->comm, team->host, &v->all, err) : st;
}

/* And what the other ranks have. They meet for this alone: nobody opens a file of that kind. */
static rset_status
ask(view *v, rset_status before, rset_err *err)
{
    rset_proposal p = {.op = RSET_RENDEZVOUS_OPEN,
                       .path = v->at.path,
                       .least_base = UINT64_MAX,
                       .evidence = v->all.n > 0,
                       .needs_all = v->all.n == 0,
                       .required = v->config->required};
    rset_team    *team = NULL;
    rset_err      why = RSET_ERR_NONE;
    uint64_t      nonce;
    bool          known = false;
    rset_status   st;

    if (rset_team_find(v->config, &team, err) != RSET_OK || !rset_team_has_others(team) ||
        !rset_team_may_meet(team))
        return before;
    name_kind(v, &p.kind);
    rset_background_wait(NULL);
    st = rset_team_meet(team, v->config, &p, &nonce, &known, &why);
    if (st == RSET_PEER && v->all.n > 0)
        return before;
    if (st != RSET_OK)
        return rset_fail(err, st, "%s: which generations of it there are is not known here: %s",
                         v->at.path, why.text);
    st = rset_team_of(team, p.among, &team, err);
    if (st == RSET_OK)
        st = rset_agree(team->comm, before, team->host, err);
    if (st == RSET_OK)
        st = learn(v, team, err);
    if (st == RSET_OK)
        v->team = team;
    return st;
}

/* Without others. A file of which nothing lies here was never protected, if it is there itself. */
static rset_status
ask_nobody(view *v, rset_err *err)
{
    const rset_evidence *ev = &v->at.evidence;

    if (rset_generations_suffice(&v->all, &v->which) ||
        (!ev->any && v->all.n == 0 && v->at.local.dir != NULL &&
         rset_dir_has_file(v->at.local.dir, v->at.base)))
        return RSET_OK;
    return look_nearby(v, err);
}

/* Each rank its own, before any of them opens it. */
static rset_status
make_ready(const view *v, uint64_t generation, rset_err *err)
{
    const rset_status st =
        rset_kept_make_ready(&v->at.local, generation, !v->config->readonly_rebuild, err);

    return v->team != NULL ? rset_agree(v->team->comm, st, v->team->host, err) : st;
}

static rset_status
choose(const view *v, char **at_out, rset_err *err)
{
    const uint64_t generation = rset_generations_find(&v->all, &v->which);
    char          *name;
    rset_status    st = RSET_OK;

    if (v->all.n == 0)
        return st;
    if (generation == 0)
        return rset_generations_none(&v->all, v->config->generation, v->at.path, err);
    if (generation == v->all.at[0])
        return RSET_OK;
    st = make_ready(v, generation, err);
    if (st != RSET_OK)
        return st;
    name = rset_name_of(RSET_NAME_DATA, v->at.prefix, generation);
    if (name == NULL || asprintf(at_out, "%s/%s", v->at.dir_path, name) < 0)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", v->at.path);
    free(name);
    return st;
}

rset_status
rset_view_find(const rset_config *config, const char *path, char **at_out, rset_err *err)
{
    view        v = {.config = config};
    rset_status st;

    *at_out = NULL;
    if (config->generation[0] == '\0' || !rset_config_covers(config, path))
        return RSET_OK;
    st = rset_which_parse(config->generation, &v.which, err);
    if (st != RSET_OK)
        return st;
    st = ask(&v, look(&v, path, err), err);
    if (st == RSET_OK && v.team == NULL)
        st = ask_nobody(&v, err);
    rset_generations_add_lost(&v.all);
    if (st == RSET_OK)
        st = choose(&v, at_out, err);
    rset_beside_free(&v.at);
    return st;
}
