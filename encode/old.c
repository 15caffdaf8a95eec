/* old.c: reading the way back to what a changed file was (journal.h). */
#include "journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rset_old_free(rset_old *old)
{
    rset_overlay_free(&old->kept);
    *old = (rset_old){0};
}

/* The journal; *file_out NULL: there is none. */
static rset_status
load_kept(rset_dir *dir, const char *name, rset_file **file_out, rset_overlay *kept, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_overlay_load(dir, name, RSET_JOURNAL_MAGIC, file_out, kept, &own);

    if (st == RSET_IO) /* whoever went on without it could leave a file half changed */
        return rset_fail(err, st,
                         "%s; without this journal nobody can tell what the file was before it was "
                         "changed: check the storage, and open again",
                         own.text);
    return st == RSET_OK ? RSET_OK : rset_fail(err, st, "%s", own.text);
}

rset_status
rset_old_load(rset_dir *dir, const char *prefix, uint64_t generation, uint64_t size, rset_old *out,
              rset_err *err)
{
    rset_old    old = {0};
    rset_file  *file = NULL;
    char       *journal = rset_beside_name(prefix, RSET_NAME_JOURNAL);
    char       *aside = rset_beside_name(prefix, RSET_NAME_OLD);
    rset_status st = journal == NULL || aside == NULL
                         ? rset_fail(err, RSET_NOMEM, "%s: no memory for its journal", prefix)
                         : load_kept(dir, journal, &file, &old.kept, err);

    old.there = file != NULL && old.kept.generation == generation && old.kept.size == size;
    if (old.there) {
        old.busy = !rset_file_lock(file, false);
        old.replaced = rset_dir_has_file(dir, aside);
    } else {
        rset_old_free(&old);
    }
    rset_file_close(file, NULL);
    free(journal);
    free(aside);
    *out = old;
    return st;
}

rset_status
rset_old_forget(rset_dir *dir, const char *prefix, rset_err *err)
{
    static const char *const names[] = {RSET_NAME_JOURNAL, RSET_NAME_OLD};
    rset_status              first = RSET_OK;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char       *name = rset_beside_name(prefix, names[i]);
        rset_status st = name != NULL ? rset_dir_unlink(dir, name, err)
                                      : rset_fail(err, RSET_NOMEM, "%s: no memory", prefix);

        free(name);
        first = first == RSET_OK ? st : first;
    }
    return first;
}

/* ---- new files that lie beside ---- */

/* Does the content that `local` means have the recorded checksums? */
static rset_status
is_as_recorded(const rset_local *local, const rset_evidence *ev, bool *is_out, rset_err *err)
{
    rset_ranges bad = {0};
    bool        damaged = true;
    rset_status st = rset_verify_data(local, &ev->header.infos[0], true, &bad, &damaged, err);

    *is_out = st == RSET_OK && !damaged;
    rset_ranges_free(&bad);
    return st;
}

rset_status
rset_beside_fits(const rset_local *local, const rset_evidence *ev, bool *fits_out, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_local  beside = *local;
    bool        file = true, new = false;
    rset_status st = RSET_OK;

    *fits_out = false;
    beside.beside = name;
    if (name == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    else if (ev->beside && ev->has_header && !ev->is_void && local->nfiles == 1 &&
             ev->header.infos[0].nfiles == 1 && ev->header.infos[0].files[0].has_sums) {
        st = is_as_recorded(local, ev, &file, err);
        if (st == RSET_OK && !file)
            st = is_as_recorded(&beside, ev, &new, err);
    }
    *fits_out = !file && new;
    free(name);
    return st;
}

rset_status
rset_beside_publish(const rset_local *local, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_status st = name != NULL ? rset_dir_rename(local->dir, name, local->names[0], err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);

    free(name);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

rset_status
rset_beside_forget(const rset_local *local, bool *gone_out, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_file  *file = NULL;
    rset_status st = RSET_OK;
    rset_err    ignored = RSET_ERR_NONE;
    bool        in_use;

    if (gone_out != NULL)
        *gone_out = false;
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    in_use = rset_file_open(local->dir, name, &file, &ignored) == RSET_OK &&
             !rset_file_lock(file, true); /* as HDF5 locks what it writes */
    rset_file_close(file, NULL);
    if (!in_use)
        st = rset_dir_unlink(local->dir, name, err);
    if (gone_out != NULL)
        *gone_out = !in_use && st == RSET_OK;
    free(name);
    return st;
}
