/* forget.c: see forget.h. */
#include "forget.h"

#include "names/names.h"
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to remove what it had",
                     rset_local_name(local));
}

static bool
is_called(const char *name, const char *other)
{
    return other != NULL && strcmp(name, other) == 0;
}

/* The redundancy file that is kept is marked void as long as there is no other one of its name. */
static bool
is_void_of(const rset_local *local, const char *name, const char *keep)
{
    const size_t n = keep != NULL ? strlen(keep) : 0;

    return n > 0 && strncmp(name, keep, n) == 0 && strcmp(name + n, RSET_SUFFIX_VOID) == 0 &&
           !rset_dir_has_file(local->dir, keep);
}

/* Files of generations that are kept or were put aside have their own time to go (kept.h, newer.h); the next journal of the commit
 * is the journal from now on. */
static bool
is_needed(const rset_names *names, const char *name, const rset_commit *stays)
{
    rset_name            parsed;
    uint64_t             generation = 0;
    const rset_name_kind kind = rset_name_classify(name, names->prefix, &parsed, &generation);

    switch (rset_name_role_of(kind)) {
    case RSET_ROLE_BEFORE:
        return rset_names_has_older(names, generation) ||
               (kind == RSET_NAME_UNDO && stays->next && generation == stays->generation);
    case RSET_ROLE_ASIDE: return true;
    default: return false;
    }
}

/* *used_out: a program writes it now, so that it stays. */
static rset_status
forget_one(const rset_local *local, const char *name, bool *used_out, rset_err *err)
{
    rset_name parsed;
    uint64_t  generation = 0;

    *used_out = false;
    switch (rset_name_classify(name, local->prefix, &parsed, &generation)) {
    case RSET_NAME_SHADOW:
        return rset_guarded_remove(local->dir, name, RSET_GUARD_WRITTEN, used_out, err);
    case RSET_NAME_BEGUN:
        return rset_guarded_remove(local->dir, name, RSET_GUARD_CHANGED, used_out, err);
    default: return rset_dir_unlink(local->dir, name, err);
    }
}

/* A rebuild that was cut short may have left files beside the data files in other directories. They are not listed: the rank that the
 * redundancy in `names` is of tells how it has called them. */
static rset_status
forget_far(const rset_local *local, const rset_names *names, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t k = 0; local->dirs != NULL && k < names->n; k++) {
        rset_name  parsed = {.rank = -1};
        uint64_t   ignored;
        const bool told =
            rset_name_classify(names->at[k], local->prefix, &parsed, &ignored) != RSET_NAME_OTHER &&
            parsed.rank >= 0;

        for (int i = 1; told && st == RSET_OK && i < local->nfiles; i++) {
            char *temp = rset_logical_temp_name(local, parsed.rank, i);

            if (temp == NULL)
                st = no_memory(local, err);
            else if (local->dirs[i] != NULL)
                st = rset_dir_unlink(local->dirs[i], temp, err);
            free(temp);
        }
    }
    return st;
}

static bool
is_kept(const rset_local *local, const rset_names *names, const char *name,
        const rset_commit *stays)
{
    return is_called(name, stays->name) || is_called(name, stays->desc_name) ||
           is_called(name, local->shadow) || is_void_of(local, name, stays->name) ||
           is_needed(names, name, stays);
}

static bool
is_desc(const rset_local *local, const char *name)
{
    rset_name parsed;
    uint64_t  ignored;

    return rset_name_classify(name, local->prefix, &parsed, &ignored) == RSET_NAME_DESC;
}

/* Removes the descriptor files among them, or all that are none. *kept: the number of those that stay is added to it. */
static rset_status
forget_kind(const rset_local *local, const rset_names *names, const rset_commit *stays, bool descs,
            size_t *kept, rset_err *err)
{
    rset_status first = RSET_OK;

    for (size_t i = 0; i < names->n; i++) {
        bool        stays_there = is_kept(local, names, names->at[i], stays);
        rset_status st = RSET_OK;

        if (!stays_there && is_desc(local, names->at[i]) == descs)
            st = forget_one(local, names->at[i], &stays_there, err);
        *kept += stays_there;
        first = first == RSET_OK ? st : first;
    }
    return first;
}

rset_status
rset_forget_others(const rset_local *local, const rset_commit *stays, rset_err *err)
{
    static const rset_commit nothing = {0};
    rset_names               names;
    rset_status              st;
    size_t                   kept;

    if (stays != NULL)
        st = rset_names_find(local->dir, local->prefix, NULL, &names, err);
    else
        st = rset_names_find_all(local->dir, local->prefix, NULL, &names, err);
    if (st == RSET_OK)
        st = forget_far(local, &names, err);
    kept = names.nolder;
    if (stays == NULL)
        stays = &nothing;
    if (st == RSET_OK)
        st = forget_kind(local, &names, stays, false, &kept, err);
    if (st == RSET_OK && kept == 0)
        st = rset_names_forget(local->dir, local->prefix, err);
    if (st == RSET_OK)
        st = forget_kind(local, &names, stays, true, &kept, err);
    rset_names_free(&names);
    return st;
}

rset_status
rset_forget_all_but(const rset_local *local, const char *name, int rank, rset_err *err)
{
    char       *desc = rset_format_desc_name(local->prefix, rank);
    rset_status st =
        desc != NULL
            ? rset_forget_others(local, &(rset_commit){.name = name, .desc_name = desc}, err)
            : no_memory(local, err);

    free(desc);
    return st;
}

rset_status
rset_forget_data(const rset_local *local, const char *data, rset_err *err)
{
    char       *prefix = rset_join_names(data, ".");
    rset_status st = prefix != NULL ? RSET_OK : no_memory(local, err);

    if (st == RSET_OK)
        st = rset_forget_others(&(rset_local){.dir = local->dir, .prefix = prefix}, NULL, err);
    if (st == RSET_OK)
        st = rset_dir_unlink(local->dir, data, err);
    free(prefix);
    return st;
}
