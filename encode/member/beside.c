/* beside.c: see beside.h. */
#include "beside.h"

#include <stdlib.h>
#include <string.h>

/* In this order: a program may write the same once more, and what it writes now is not to be taken for what waits. */
static const char *const places[] = {RSET_NAME_WAITING, RSET_NAME_BESIDE};
enum { WAITING, BESIDE, PLACES };

static rset_status
name_at(const rset_local *local, int place, char **name_out, rset_err *err)
{
    *name_out = rset_beside_name(local->prefix, places[place]);
    return *name_out != NULL ? RSET_OK : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
}

static rset_status
fits_at(const rset_local *local, const rset_evidence *ev, int place, bool *fits_out, rset_err *err)
{
    rset_local  beside = *local;
    char       *name = NULL;
    rset_status st = name_at(local, place, &name, err);

    *fits_out = false;
    beside.beside = name;
    if (st == RSET_OK && rset_dir_has_file(local->dir, name))
        st = rset_is_as_recorded(&beside, &ev->header.infos[0], fits_out, err);
    free(name);
    return st;
}

rset_status
rset_beside_find(const rset_local *local, const rset_evidence *ev, const char **at_out,
                 rset_err *err)
{
    const rset_info *info = &ev->header.infos[0];
    bool             fits = false;
    rset_status      st;

    *at_out = NULL;
    if (!(ev->beside || ev->waiting) || !ev->has_header || (ev->is_void && ev->old.there) ||
        local->nfiles != 1 || info->nfiles != 1 || !info->files[0].has_sums)
        return RSET_OK;
    st = rset_is_as_recorded(local, info, &fits, err);
    if (st != RSET_OK || fits)
        return st;
    for (int i = 0; st == RSET_OK && !fits && i < PLACES; i++) {
        st = fits_at(local, ev, i, &fits, err);
        if (st == RSET_OK && fits)
            *at_out = places[i];
    }
    return st;
}

static rset_status
rename_durably(const rset_local *local, const char *at, const char *to, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, at);
    rset_status st = name != NULL ? rset_dir_rename(local->dir, name, to, err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);

    free(name);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

rset_status
rset_beside_publish(const rset_local *local, const char *at, rset_err *err)
{
    return rename_durably(local, at, local->names[0], err);
}

/* Removes what lies there, unless a program is writing it. */
static rset_status
forget_at(const rset_local *local, int place, bool *gone, rset_err *err)
{
    char       *name = NULL;
    rset_file  *file = NULL;
    rset_status st = name_at(local, place, &name, err);
    rset_err    ignored = RSET_ERR_NONE;
    bool in_use = st == RSET_OK && rset_file_open(local->dir, name, &file, &ignored) == RSET_OK &&
                  !rset_file_lock(file, true); /* as HDF5 locks what it writes */

    rset_file_close(file, NULL);
    if (st == RSET_OK && !in_use)
        st = rset_dir_unlink(local->dir, name, err);
    *gone = *gone && st == RSET_OK && !in_use;
    free(name);
    return st;
}

rset_status
rset_beside_forget(const rset_local *local, bool *gone_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        gone = true;

    for (int i = 0; st == RSET_OK && i < PLACES; i++)
        st = forget_at(local, i, &gone, err);
    if (gone_out != NULL)
        *gone_out = gone;
    return st;
}

/* Is what lies beside the content of the unpublished redundancy file? */
static rset_status
find_waiting(const rset_local *local, const rset_evidence *ev, const char **at_out, rset_err *err)
{
    rset_evidence ahead = {0};
    rset_status   st =
        rset_survey_ahead(local->dir, local->prefix, local->names[0], ev->next, &ahead, err);

    if (st == RSET_OK)
        st = rset_beside_find(local, &ahead, at_out, err);
    rset_evidence_free(&ahead);
    return st;
}

rset_status
rset_beside_make_way(const rset_local *local, const rset_evidence *ev, rset_err *err)
{
    const char *at = NULL;
    char       *waiting = NULL;
    bool        gone = true;
    rset_status st = rset_beside_find(local, ev, &at, err);

    if (st == RSET_OK && at != NULL)
        st = rset_beside_publish(local, at, err);
    at = NULL;
    if (st == RSET_OK && (ev->beside || ev->waiting) && ev->next_name != NULL)
        st = find_waiting(local, ev, &at, err);
    if (st != RSET_OK || at == NULL)
        return st == RSET_OK ? rset_beside_forget(local, NULL, err) : st;
    if (strcmp(at, RSET_NAME_WAITING) == 0)
        return forget_at(local, BESIDE, &gone, err);
    waiting = rset_beside_name(local->prefix, RSET_NAME_WAITING);
    st = waiting != NULL ? rename_durably(local, at, waiting, err)
                         : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    free(waiting);
    return st;
}
