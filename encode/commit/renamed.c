/* renamed.c: see renamed.h. */
#include "renamed.h"

#include "forget.h"

#include <stdlib.h>
#include <string.h>

/* ---- what was left behind ---- */

/* Has the file of this prefix no place any more? Else what is there under it is its own. What protects a generation that is
 * kept says nothing of other files. */
static bool
is_left_behind(rset_dir *dir, const char *prefix)
{
    char      *base = strndup(prefix, strlen(prefix) - 1);
    const bool gone = base != NULL && rset_name_kept(base) == 0 && rset_dir_lacks_file(dir, base);

    free(base);
    return gone;
}

/* Nothing is to be finished or rolled back. */
static bool
is_settled(const rset_evidence *found)
{
    return found->has_header && !found->is_void && found->over_name == NULL &&
           found->next_name == NULL && found->nshadows == 0 && !found->undo.there &&
           !found->undo.rotten && found->header.infos[0].nfiles == 1 &&
           found->header.infos[0].files[0].has_sums;
}

/* What lies under this prefix, taken over, if it is a record that can be believed. */
static rset_status
look_under(rset_dir *dir, char **prefix, rset_left_behind *to, rset_err *err)
{
    rset_evidence found = {0};
    rset_status   st = rset_survey(dir, *prefix, "", &found, err);

    if (st != RSET_OK || !is_settled(&found)) {
        rset_evidence_free(&found);
        return st;
    }
    to->at[to->n++] = (rset_left){.prefix = *prefix, .evidence = found};
    *prefix = NULL;
    return RSET_OK;
}

static rset_status
look_under_all(rset_dir *dir, rset_prefixes *prefixes, const char *own, rset_left_behind *out,
               rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < prefixes->n; i++) {
        if ((own != NULL && strcmp(prefixes->at[i], own) == 0) ||
            !is_left_behind(dir, prefixes->at[i]))
            continue;
        if (out->at == NULL)
            out->at = malloc(prefixes->n * sizeof *out->at);
        st = out->at != NULL ? look_under(dir, &prefixes->at[i], out, err)
                             : rset_fail(err, RSET_NOMEM, "%s: no memory to look for renamed files",
                                         rset_dir_path(dir));
    }
    return st;
}

/* But for what lies under `own`. */
static rset_status
list_left(rset_dir *dir, const char *data, const char *own, rset_left_behind *out, rset_err *err)
{
    rset_prefixes prefixes;
    rset_status   st = rset_names_prefixes(dir, data, &prefixes, err);

    *out = (rset_left_behind){0};
    if (st == RSET_OK)
        st = look_under_all(dir, &prefixes, own, out, err);
    rset_prefixes_free(&prefixes);
    return st;
}

rset_status
rset_left_behind_list(rset_dir *dir, rset_left_behind *out, rset_err *err)
{
    return list_left(dir, NULL, NULL, out, err);
}

bool
rset_left_behind_fits(const rset_left_behind *list, uint64_t size)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].prefix != NULL &&
            list->at[i].evidence.header.infos[0].files[0].attrs.size == size)
            return true;
    return false;
}

void
rset_left_behind_free(rset_left_behind *list)
{
    for (size_t i = 0; i < list->n; i++) {
        rset_evidence_free(&list->at[i].evidence);
        free(list->at[i].prefix);
    }
    free(list->at);
    *list = (rset_left_behind){0};
}

/* ---- finding ---- */

/* May something else record the data file than what has its name? */
static bool
may_be_renamed(const rset_local *local, const rset_evidence *ev)
{
    if (local->dir == NULL || local->nfiles != 1 || local->shadow != NULL || ev->placeholder ||
        ev->undo.there || ev->undo.rotten || ev->nshadows > 0 || ev->next_name != NULL)
        return false;
    if (ev->has_header && (ev->mark == 0 || ev->mark == rset_evidence_generation(ev)))
        return false;
    return rset_dir_has_file(local->dir, local->names[0]);
}

static rset_status
records(const rset_local *local, const rset_evidence *ev, const rset_evidence *found,
        bool *does_out, rset_err *err)
{
    const rset_info *info = found->header.infos;

    *does_out = false;
    if (ev->mark != 0 && ev->mark != info->desc.generation)
        return RSET_OK;
    return rset_is_as_recorded(local, info, does_out, err);
}

/* The first that records it: where the file names no generation, and several record this content, any of them does. */
rset_status
rset_left_behind_take(rset_left_behind *list, const rset_local *local, const rset_evidence *ev,
                      char **prefix_out, rset_evidence *ev_out, rset_err *err)
{
    const bool  may = may_be_renamed(local, ev);
    rset_status st = RSET_OK;
    bool        does = false;

    *prefix_out = NULL;
    for (size_t i = 0; may && st == RSET_OK && !does && i < list->n; i++) {
        rset_left *left = &list->at[i];

        if (left->prefix == NULL || strcmp(left->prefix, local->prefix) == 0)
            continue;
        st = records(local, ev, &left->evidence, &does, err);
        if (st != RSET_OK || !does)
            continue;
        *prefix_out = left->prefix;
        *ev_out = left->evidence;
        ev_out->mark = ev->mark;
        ev_out->data = ev->data;
        *left = (rset_left){0};
    }
    return st;
}

rset_status
rset_renamed_find(const rset_local *local, const rset_evidence *ev, char **prefix_out,
                  rset_evidence *ev_out, rset_err *err)
{
    rset_left_behind left;
    rset_status      st;

    *prefix_out = NULL;
    if (!may_be_renamed(local, ev))
        return RSET_OK;
    st = list_left(local->dir, local->names[0], local->prefix, &left, err);
    if (st == RSET_OK)
        st = rset_left_behind_take(&left, local, ev, prefix_out, ev_out, err);
    rset_left_behind_free(&left);
    return st;
}

/* ---- adopting ---- */

/* The redundancy file last: without it under the new name, it is found under the old one. */
static rset_status
take_over(const rset_local *local, const char *old_name, const char *name, const char *old_desc,
          const char *desc, rset_err *err)
{
    const char *const names[] = {name, desc};
    bool              described = false;
    rset_status       st = rset_forget_others(local, NULL, err);

    if (st == RSET_OK)
        st = rset_names_note(local->dir, local->prefix, names, 2, err);
    if (st == RSET_OK)
        st = rset_dir_find_file(local->dir, old_desc, NULL, &described, err);
    if (st == RSET_OK && described)
        st = rset_dir_rename(local->dir, old_desc, desc, err);
    if (st == RSET_OK)
        st = rset_dir_rename(local->dir, old_name, name, err);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

rset_status
rset_renamed_adopt(const rset_local *local, const char *prefix, const rset_evidence *ev,
                   rset_err *err)
{
    const rset_desc *d = &ev->header.infos[0].desc;
    const rset_local old = {.dir = local->dir, .prefix = prefix};
    char            *name = rset_format_redundancy_name(local->prefix, d);
    char            *desc = rset_format_desc_name(local->prefix, d->rank);
    char            *old_desc = rset_format_desc_name(prefix, d->rank);
    rset_status      st;

    if (name == NULL || desc == NULL || old_desc == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its new name", rset_local_name(local));
    else
        st = take_over(local, ev->name, name, old_desc, desc, err);
    if (st == RSET_OK)
        st = rset_forget_others(&old, NULL, err);
    free(name);
    free(desc);
    free(old_desc);
    return st;
}
