/* life.c: one life, whatever happens in it: made, asked, freed. See life.h. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
rset_life_free(rset_life *life)
{
    if (life == NULL)
        return;
    rset_journal_leave(life->journal);
    rset_file_close(life->guard, NULL);
    rset_evidence_free(&life->evidence);
    rset_dir_close(life->dir);
    free(life->shadow);
    free(life->shadow_path);
    free(life->verified);
    free(life->path);
    free(life->dir_path);
    free(life->base);
    free(life->prefix);
    free(life->comm);
    free(life);
}

rset_status
rset_life_new(const rset_config *config, const char *path, rset_life **out, rset_err *err)
{
    rset_life  *life = calloc(1, sizeof *life);
    rset_status st;

    if (life == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    life->config = *config;
    life->process = getpid();
    life->path = strdup(path);
    rset_kind_of(path, &life->kind);
    st = rset_path_split(path, &life->dir_path, &life->base, err);
    if (st == RSET_OK && (life->path == NULL || asprintf(&life->prefix, "%s.", life->base) < 0))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    if (st != RSET_OK) {
        rset_life_free(life);
        return st;
    }
    *out = life;
    return RSET_OK;
}

const char *
rset_life_at(const rset_life *life)
{
    return life->shadow_path != NULL ? life->shadow_path : life->path;
}

bool
rset_life_insists(const rset_life *life)
{
    return life->config.required || life->config.files[0] != '\0' || life->config.comm != NULL;
}

rset_status
rset_life_survey(rset_life *life, rset_err *err)
{
    return rset_survey_again(life->dir, life->prefix, life->base, &life->evidence, err);
}
