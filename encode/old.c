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

/* Is it the way back to that generation of a file of that size? */
static rset_status
load_kept(rset_file *file, uint64_t generation, uint64_t size, rset_old *old, rset_err *err)
{
    rset_status st = rset_overlay_load(file, RSET_JOURNAL_MAGIC, &old->kept, err);

    if (st == RSET_DAMAGED)
        return RSET_OK;
    old->there = st == RSET_OK && old->kept.generation == generation && old->kept.size == size;
    return st;
}

rset_status
rset_old_load(rset_dir *dir, const char *prefix, uint64_t generation, uint64_t size, rset_old *out,
              rset_err *err)
{
    rset_old    old = {0};
    rset_file  *file = NULL;
    rset_err    ignored = RSET_ERR_NONE, own = RSET_ERR_NONE;
    struct stat sb = {0};
    char       *journal = rset_beside_name(prefix, RSET_NAME_JOURNAL);
    char       *aside = rset_beside_name(prefix, RSET_NAME_OLD);
    rset_status st = RSET_OK;

    if (journal == NULL || aside == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its journal", prefix);
    else
        st = rset_file_open(dir, journal, &file, &own);
    if (st == RSET_OK)
        st = load_kept(file, generation, size, &old, &own);
    if (st == RSET_IO) /* whoever went on without it could leave a file half changed */
        (void)rset_fail(err, st,
                        "%s; without this journal nobody can tell what the file was before it was "
                        "changed: check the storage, and open again",
                        own.text);
    else if (st == RSET_NOMEM && own.status == RSET_NOMEM)
        (void)rset_fail(err, st, "%s", own.text);
    else if (st != RSET_NOMEM)
        st = RSET_OK; /* there is none */
    if (st == RSET_OK && old.there) {
        old.busy = !rset_file_lock(file, false);
        old.replaced = rset_dir_stat(dir, aside, &sb, &ignored) == RSET_OK && S_ISREG(sb.st_mode);
    }
    rset_file_close(file, NULL);
    free(journal);
    free(aside);
    if (st != RSET_OK || !old.there)
        rset_old_free(&old);
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
