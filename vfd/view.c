/* view.c: see view.h. */
#include "view.h"

#include "background.h"
#include "recover/recover.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>

/* One that is looked for. */
typedef struct view {
    const rset_config *config;
    const char        *path;
    char              *dir_path, *base, *prefix; /* owned */
    rset_generations   all;
} view;

static rset_status
begin(view *v, rset_err *err)
{
    rset_status st = rset_path_split(v->path, &v->dir_path, &v->base, err);

    if (st == RSET_OK && (v->prefix = rset_join_names(v->base, ".")) == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", v->path);
    return st;
}

/* What lies here. */
static rset_status
look(view *v, rset_err *err)
{
    rset_evidence ev = {0};
    rset_dir     *dir = NULL;
    rset_status   st = rset_dir_open(v->dir_path, false, &dir, err);

    if (st == RSET_ABSENT) {
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st == RSET_OK)
        st = rset_survey(dir, v->prefix, v->base, &ev, err);
    if (st == RSET_OK)
        rset_generations_of(&ev, &v->all);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    return st;
}

/* Ranks that open the same generation of files of one kind, before they know which that is. */
static void
name_kind(const view *v, rset_kind *out)
{
    rset_kind kind;

    rset_kind_of(v->path, &kind);
    *out = kind;
    snprintf(out->text, sizeof out->text, "generation %.20s of %.90s", v->config->generation,
             kind.text);
}

/* And what the other ranks have. They meet for this alone: nobody opens a file of that kind. */
static rset_status
ask(view *v, rset_status before, rset_err *err)
{
    rset_proposal p = {.op = RSET_RENDEZVOUS_OPEN,
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
                         v->path, why.text);
    st = rset_agree(team->comm, before, team->host, err);
    return st == RSET_OK ? rset_generations_of_all(team->comm, team->host, &v->all, err) : st;
}

static rset_status
choose(const view *v, char **at_out, rset_err *err)
{
    rset_which  which;
    uint64_t    generation;
    char       *name;
    rset_status st = rset_which_parse(v->config->generation, &which, err);

    if (st != RSET_OK || v->all.n == 0)
        return st;
    generation = rset_generations_find(&v->all, &which);
    if (generation == 0)
        return rset_generations_none(&v->all, v->config->generation, v->path, err);
    if (generation == v->all.at[0])
        return RSET_OK;
    name = rset_kept_name(v->prefix, generation);
    if (name == NULL || asprintf(at_out, "%s/%s", v->dir_path, name) < 0)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", v->path);
    free(name);
    return st;
}

rset_status
rset_view_find(const rset_config *config, const char *path, char **at_out, rset_err *err)
{
    view        v = {.config = config, .path = path};
    rset_status st;

    *at_out = NULL;
    if (config->generation[0] == '\0' || !rset_config_covers(config, path))
        return RSET_OK;
    st = begin(&v, err);
    if (st == RSET_OK)
        st = ask(&v, look(&v, err), err);
    if (st == RSET_OK)
        st = choose(&v, at_out, err);
    free(v.dir_path);
    free(v.base);
    free(v.prefix);
    return st;
}
