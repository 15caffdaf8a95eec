/* remove.c: see remove.h. */
#include "remove.h"

#include "forget.h"
#include "kept.h"
#include "newer.h"

rset_status
rset_remove_before_change(const rset_local *local, rset_evidence *ev, bool leads_back,
                          rset_err *err)
{
    const rset_status st = rset_kept_part(local, ev, leads_back, err);

    return st == RSET_OK ? rset_newer_part(local, rset_evidence_generation(ev), ev, err) : st;
}

void
rset_remove_after_commit(const rset_local *local, const rset_retired *what)
{
    rset_err ignored = RSET_ERR_NONE;

    if (what->keep > 0)
        (void)rset_kept_retire(local, what->current, what->keep, &ignored);
    if (what->lost)
        (void)rset_lost_forget(local, &ignored);
    if (what->changed_before != 0)
        (void)rset_changed_retire(local, what->changed_before, &ignored);
}

void
rset_remove_after_recovery(const rset_local *local, const rset_evidence *found, rset_evidence *ev)
{
    const rset_desc *own = &found->header.infos[0].desc;
    rset_err         ignored = RSET_ERR_NONE;

    (void)rset_forget_all_but(local, found->name, own->rank, &ignored);
    (void)rset_kept_retire(local, own->generation, RSET_KEEP_ALL, &ignored);
    (void)rset_newer_part(local, own->generation, ev, &ignored);
}

static rset_status
forget_generations(const rset_local *local, rset_err *err)
{
    const rset_status st = rset_kept_retire(local, 0, 0, err);

    return st == RSET_OK ? rset_newer_forget(local, err) : st;
}

rset_status
rset_unprotect(const rset_local *local, rset_err *err)
{
    const rset_status st = forget_generations(local, err);

    return st == RSET_OK ? rset_forget_others(local, NULL, err) : st;
}

rset_status
rset_unprotect_begin(const rset_local *local, int rank, rset_err *err)
{
    const rset_status st = forget_generations(local, err);

    return st == RSET_OK ? rset_forget_all_but(local, NULL, rank, err) : st;
}

static rset_status
unmark_one(rset_dir *dir, const char *name, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    rset_status st = rset_file_open(dir, name, &file, &own);

    if (st == RSET_OK)
        rset_file_set_mark(file, 0);
    rset_file_close(file, NULL);
    /* Only a regular file that is there has a mark. */
    return st == RSET_OK || st == RSET_ABSENT || st == RSET_DAMAGED
               ? RSET_OK
               : rset_fail(err, st, "%s; it stays protected", own.text);
}

rset_status
rset_unmark(const rset_local *local, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < local->nfiles; i++)
        if (rset_local_dir(local, i) != NULL)
            st = unmark_one(rset_local_dir(local, i), local->names[i], err);
    return st;
}
