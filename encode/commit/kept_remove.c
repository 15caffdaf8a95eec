/* kept_remove.c: older generations are removed: those that are too many, what a commit left that did not come to be, and what is about to
 * change under their second name. See kept.h. */
#include "forget.h"
#include "kept_internal.h"
#include "names/names.h"
#include "store/identity.h"

#include <stdlib.h>

/* Removes the file of that name, unless it is another user's (N7). */
static rset_status
unlink_own(const rset_local *local, const char *name, rset_err *err)
{
    return rset_dir_has_foreign(local->dir, name) ? RSET_OK
                                                  : rset_dir_unlink(local->dir, name, err);
}

/* Removes what protects that generation as an older one. */
static rset_status
remove_protection(const rset_local *local, const rset_kept_names *k, rset_err *err)
{
    return rset_forget_others(&(rset_local){.dir = local->dir, .prefix = k->prefix}, NULL, err);
}

static rset_status
remove_all(const rset_local *local, const rset_kept_names *k, rset_err *err)
{
    rset_status st = remove_protection(local, k, err);

    if (st == RSET_OK)
        st = unlink_own(local, k->data, err);
    return st == RSET_OK ? unlink_own(local, k->undo, err) : st;
}

/* Removes the copies of a generation that counts still: what the file would be rolled back with stays, and is listed as that again. */
static rset_status
remove_copy(const rset_local *local, const rset_kept_names *k, uint64_t generation, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_local(local, &ev, err);
    const bool    is_void = ev.is_void || ev.over_name != NULL || !ev.has_header;
    const bool    aside = ev.undo.there && ev.undo.of == generation && ev.undo.aside;

    rset_evidence_free(&ev);
    if (st == RSET_OK)
        st = remove_protection(local, k, err);
    if (st == RSET_OK && !aside)
        st = unlink_own(local, k->data, err);
    if (st == RSET_OK && !is_void)
        return unlink_own(local, k->undo, err);
    return st == RSET_OK
               ? rset_names_note(local->dir, local->prefix, (const char *const[]){k->undo}, 1, err)
               : st;
}

static rset_status
take_back(const rset_local *local, uint64_t generation, bool counts, rset_err *err)
{
    rset_kept_names k = {0};
    rset_status     st = rset_kept_names_of(local, generation, &k, err);

    if (st == RSET_OK)
        st = counts ? remove_copy(local, &k, generation, err) : remove_all(local, &k, err);
    if (st == RSET_OK)
        rset_names_forget_older(local->dir, local->prefix, generation);
    rset_kept_names_free(&k);
    return st;
}

rset_status
rset_kept_take_back(const rset_local *local, uint64_t generation, rset_err *err)
{
    return take_back(local, generation, true, err);
}

rset_status
rset_kept_remove(const rset_local *local, uint64_t generation, rset_err *err)
{
    return take_back(local, generation, false, err);
}

rset_status
rset_kept_detach(const rset_local *local, uint64_t generation, rset_err *err)
{
    rset_older *list = NULL;
    size_t      n = 0, i = 0;
    rset_status st = rset_names_older(local->dir, local->prefix, &list, &n, err);

    while (i < n && (!rset_generation_newer(generation, list[i].generation) ||
                     !rset_kept_is_there(local, list[i].generation)))
        i++;
    if (st == RSET_OK && i < n)
        st = rset_kept_expand(local, list[i].generation, err);
    free(list);
    return st;
}

rset_status
rset_kept_drop(const rset_local *local, uint64_t generation, rset_err *err)
{
    rset_status st = rset_kept_detach(local, generation, err);

    return st == RSET_OK ? rset_kept_remove(local, generation, err) : st;
}

/* Finds the data file, *out, where it has a second name; else zeros. Only then can a generation that is kept be the same file. */
static rset_status
find_linked(const rset_local *local, rset_identity *out, rset_err *err)
{
    struct stat sb;
    bool        there = false;
    rset_status st = RSET_OK;

    if (local->nfiles > 0)
        st = rset_dir_find_file(local->dir, local->names[0], &sb, &there, err);
    *out = there && sb.st_nlink > 1 ? rset_identity_of(&sb) : (rset_identity){0};
    return st;
}

/* A generation that was restored is the newest now: what a run that was killed has left of it is the same file, `now`, and goes. */
static rset_status
drop_same(const rset_local *local, uint64_t generation, const rset_identity *now, bool *same_out,
          rset_err *err)
{
    char         *data;
    rset_identity kept;
    rset_status   st;

    *same_out = false;
    if (now->inode == 0)
        return RSET_OK;
    data = rset_name_of(RSET_NAME_DATA, local->prefix, generation);
    if (data == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a name");
    st = rset_dir_identity(local->dir, data, &kept, err);
    free(data);
    *same_out = rset_identity_same(&kept, now);
    return st == RSET_OK && *same_out ? rset_kept_drop(local, generation, err) : st;
}

/* Where those begin that are more than `keep` allows, one counted that has the name; what could not be had does not count. */
static size_t
first_too_many(const rset_older *list, size_t n, size_t newer, int keep)
{
    size_t i = newer;

    if (keep <= 0)
        return newer;
    for (int counted = 1; i < n && counted < keep; i++)
        counted += !list[i].refused;
    return i;
}

/* The oldest first: what others rest on is never gone before them. `list`: newest first. Of those that stay none is looked at, however
 * many they are. */
static rset_status
retire(const rset_local *local, const rset_older *list, size_t n, uint64_t current, int keep,
       rset_err *err)
{
    rset_identity now;
    bool          same;
    rset_status   st = find_linked(local, &now, err);
    size_t        newer = 0, too_many;

    while (newer < n && !rset_generation_newer(current, list[newer].generation))
        newer++;
    too_many = first_too_many(list, n, newer, keep);
    for (size_t i = n; st == RSET_OK && i > 0; i--)
        if (i <= newer || i > too_many)
            st = take_back(local, list[i - 1].generation, list[i - 1].generation == current, err);
        else
            st = drop_same(local, list[i - 1].generation, &now, &same, err);
    return st;
}

rset_status
rset_kept_retire(const rset_local *local, uint64_t current, int keep, rset_err *err)
{
    rset_older *list = NULL;
    size_t      n = 0;
    rset_status st = rset_names_older(local->dir, local->prefix, &list, &n, err);

    if (st == RSET_OK)
        st = retire(local, list, n, current, keep, err);
    free(list);
    return st;
}

void
rset_kept_release(const rset_local *local)
{
    rset_err      ignored = RSET_ERR_NONE;
    rset_evidence ev = {0};
    uint64_t      newest;

    if (rset_survey_local(local, &ev, &ignored) == RSET_OK) {
        newest = rset_kept_before(local, &ev,
                                  ev.has_header ? rset_evidence_generation(&ev) : UINT64_MAX);
        if (newest != 0)
            (void)rset_kept_expand(local, newest, &ignored);
    }
    rset_evidence_free(&ev);
}

/* A generation that is not older than what counts stays in the list, of which `n` stay so far, where it leads back; else it is removed.
 * It may not be there: a commit under way notes its name first. */
static rset_status
part_newer(const rset_local *local, rset_evidence *ev, size_t i, bool leads_back, size_t *n,
           rset_err *err)
{
    rset_kept_form form;
    rset_status    st = rset_kept_find(local, ev->kept[i], &form, err);

    if (st != RSET_OK || form == RSET_KEPT_NOT)
        return st;
    if (!leads_back || form != RSET_KEPT_BACK)
        return take_back(local, ev->kept[i], ev->kept[i] == rset_evidence_generation(ev), err);
    ev->kept[(*n)++] = ev->kept[i];
    return RSET_OK;
}

rset_status
rset_kept_part(const rset_local *local, rset_evidence *ev, bool leads_back, rset_err *err)
{
    const uint64_t current = rset_evidence_generation(ev);
    rset_identity  now;
    bool           same = false;
    rset_status    st = ev->nkept > 0 ? find_linked(local, &now, err) : RSET_OK;
    size_t         n = 0;

    for (size_t i = 0; st == RSET_OK && i < ev->nkept; i++) {
        if (current != 0 && !rset_generation_newer(current, ev->kept[i])) {
            st = part_newer(local, ev, i, leads_back, &n, err);
            continue;
        }
        st = drop_same(local, ev->kept[i], &now, &same, err);
        if (st == RSET_OK && !same)
            ev->kept[n++] = ev->kept[i];
    }
    if (st != RSET_OK)
        return st;
    ev->nkept = n;
    if (!leads_back && n > 0)
        rset_kept_release(local);
    return RSET_OK;
}

rset_status
rset_kept_do_without(const rset_local *local, uint64_t generation, rset_err *err)
{
    const rset_status st = rset_kept_take_back(local, generation, err);

    if (st == RSET_OK)
        rset_kept_release(local);
    return st;
}
