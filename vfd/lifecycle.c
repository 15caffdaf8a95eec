/* lifecycle.c: the whole story of a file on a few pages: open = survey, meet, bring back; close = meet,
 * protect. See lifecycle.h. Who is asked and what is said is decided here; how, in encode/. */
#include "lifecycle.h"

#include "../encode/comm_mpi.h"
#include "../encode/encode.h"
#include "life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- open ---- */

static void
life_free(rset_life *life)
{
    if (life == NULL)
        return;
    rset_evidence_free(&life->evidence);
    rset_dir_close(life->dir);
    free(life->verified);
    free(life->path);
    free(life->dir_path);
    free(life->base);
    free(life->prefix);
    free(life);
}

static rset_status
life_new(const rset_config *config, const char *path, rset_life **out, rset_err *err)
{
    rset_life  *life = calloc(1, sizeof *life);
    rset_status st;

    if (life == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    life->config = *config;
    life->path = strdup(path);
    st = rset_path_split(path, &life->dir_path, &life->base, err);
    if (st == RSET_OK && (life->path == NULL || asprintf(&life->prefix, "%s.", life->base) < 0))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    if (st != RSET_OK) {
        life_free(life);
        return st;
    }
    *out = life;
    return RSET_OK;
}

/* The directory may be missing with the file: then there is nothing to survey yet. */
static rset_status
survey(rset_life *life, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_open(life->dir_path, false, &life->dir, &own);

    life->names[0] = life->base;
    life->paths[0] = life->path;
    life->local = (rset_local){.dir = life->dir,
                               .prefix = life->prefix,
                               .nfiles = 1,
                               .names = life->names,
                               .paths = life->paths};
    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", own.text);
    return rset_survey(life->dir, life->prefix, life->base, &life->evidence, err);
}

/* A file that is none of ours: passed through, and never thought of again. */
static bool
none_of_ours(const rset_life *life)
{
    bool        mpi = rset_mpi_running(); /* this thread or not: who closes it may */
    struct stat sb;

    if (life->found == RSET_FOUND &&
        (life->dir == NULL || rset_dir_stat(life->dir, life->base, &sb, NULL) != RSET_OK ||
         !S_ISREG(sb.st_mode)))
        return true;
    if (life->mode == RSET_OPEN_CREATE)
        return !mpi && !life->evidence.any;
    if (life->found == RSET_FOUND)
        return !life->evidence.any && (life->mode == RSET_OPEN_READ || !mpi);
    return !mpi && !life->evidence.any && (life->dir == NULL || !rset_life_recorded_nearby(life));
}

rset_status
rset_life_open(const rset_config *config, const char *path, rset_open_mode mode, rset_found found,
               bool swmr, rset_life **life_out, rset_err *err)
{
    rset_life  *life = NULL;
    rset_status st;

    *life_out = NULL;
    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    life->mode = mode;
    life->found = found;
    life->swmr = swmr;
    st = survey(life, err);
    if (st == RSET_OK && none_of_ours(life)) {
        life_free(life);
        return RSET_OK;
    }
    if (st == RSET_OK && mode == RSET_OPEN_CREATE) {
        life->resolved = true;
        st = rset_life_change(life, UINT64_MAX, err); /* (P3) before anything is truncated */
    }
    if (st != RSET_OK)
        life_free(life);
    else
        *life_out = life;
    return st;
}

void
rset_life_abandon(rset_life *life)
{
    life_free(life);
}

/* ---- first use ---- */

/* SWMR readers open while the writer writes: nothing can be verified then (T19). A file that nobody
 * protects needs nothing. */
static bool
nothing_to_ask(const rset_life *life)
{
    return life->found == RSET_FOUND && (life->swmr || !life->evidence.any);
}

rset_status
rset_life_resolve(rset_life *life, bool *replaced_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        replaced = false;

    *replaced_out = false;
    if (life->resolved) {
        if (life->verdict.status != RSET_OK)
            *err = life->verdict;
        return life->verdict.status;
    }
    life->resolved = true;
    if (!nothing_to_ask(life))
        st = rset_mpi_usable() ? rset_life_resolve_together(life, &replaced, &life->verdict)
                               : rset_life_resolve_alone(life, &replaced, &life->verdict);
    if (st != RSET_OK) {
        life->verdict.status = st;
        *err = life->verdict;
        return st;
    }
    life->verdict = RSET_ERR_NONE;
    *replaced_out = replaced;
    return RSET_OK;
}

/* ---- change ---- */

bool
rset_life_clean(const rset_life *life)
{
    return !life->changed;
}

rset_status
rset_life_change(rset_life *life, unsigned long long bytes, rset_err *err)
{
    rset_status st = RSET_OK;

    life->changed_bytes +=
        bytes < UINT64_MAX - life->changed_bytes ? bytes : UINT64_MAX - life->changed_bytes;

    if (!life->changed && life->dir != NULL)
        st = rset_set_void(life->dir, &life->evidence, true, err);
    life->changed = life->changed || st == RSET_OK;
    return st;
}

/* ---- close ---- */

/* Only files opened for writing that were really used have anything to end together. One that was
 * merely probed was never resolved; an unprotected one that did not change concerns nobody. */
static bool
ends_together(const rset_life *life)
{
    if (!life->resolved || life->verdict.status != RSET_OK || life->mode == RSET_OPEN_READ)
        return false;
    return life->changed || life->met;
}

rset_status
rset_life_close(rset_life *life, bool lower_ok, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    rset_status st = RSET_OK;
    rset_err    own = RSET_ERR_NONE;

    snprintf(warning_out, RSET_ERR_TEXT, "%s", life->note);
    if (ends_together(life)) {
        if (!lower_ok)
            (void)rset_fail(&own, RSET_IO, "%s: could not be closed, so it is not protected",
                            life->path);
        st = rset_life_protect(life, &own);
    }
    if (st != RSET_OK && life->config.required)
        *err = own;
    else if (st != RSET_OK && !life->said_before)
        snprintf(warning_out, RSET_ERR_TEXT, "%s", own.text);
    else if (st == RSET_OK && life->note[0] != '\0')
        snprintf(warning_out, RSET_ERR_TEXT, "%s", life->note);
    st = life->config.required ? st : RSET_OK;
    life_free(life);
    return st;
}

rset_status
rset_life_delete(const rset_config *config, const char *path, rset_err *err)
{
    rset_life  *life = NULL;
    rset_status st;

    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    st = rset_dir_open(life->dir_path, false, &life->dir, err);
    if (st == RSET_OK)
        st = rset_forget(life->dir, life->prefix, NULL, NULL, err);
    life_free(life);
    return st;
}
