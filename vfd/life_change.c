/* life_change.c: a file before it changes in place: may it, and what is kept of it. See life.h. */
#include "life.h"

#include <stdio.h>

bool
rset_life_clean(const rset_life *life)
{
    return !life->changed;
}

void
rset_life_no_way_back(rset_life *life, const rset_err *why)
{
    snprintf(life->note, sizeof life->note,
             "%s: its old content could not be kept until the new one is protected: %.800s",
             life->path, why->text);
}

/* Keeping the old content may fail for want of space or permission. The program's own work goes on all
 * the same, unless the user wants to know (required=yes): in place, without a way back. */
static rset_status
go_on_without(rset_life *life, const rset_err *why, rset_err *err)
{
    rset_status st;

    if (life->config.required)
        return rset_fail(err, why->status, "%s; atomic=no changes files in place", why->text);
    st = life->journal != NULL
             ? rset_journal_give_up(life->journal, err)
             : rset_journal_begin(&life->local, &life->evidence, false, &life->journal, err);
    rset_life_no_way_back(life, why);
    return st;
}

/* Opened without the others, it is not this process's to change while they may have decided to protect what it is (P11). */
static rset_status
may_change(const rset_life *life, rset_err *err)
{
    if (life->changed || life->mode != RSET_OPEN_UPDATE || !rset_evidence_in_doubt(&life->evidence))
        return RSET_OK;
    return rset_fail(err, RSET_LOST,
                     "%s: its last commit was not finished, and only all ranks together "
                     "can tell which content counts; open the files with all of them before any "
                     "of them is changed",
                     life->path);
}

rset_status
rset_life_change(rset_life *life, unsigned long long off, unsigned long long len, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = may_change(life, err);
    bool        keep = life->config.atomic && !life->swmr;

    if (st != RSET_OK)
        return st;
    life->changed_bytes +=
        len < UINT64_MAX - life->changed_bytes ? len : UINT64_MAX - life->changed_bytes;
    if (!life->changed && life->dir != NULL && life->journal == NULL) /* else it failed, later */
        st = rset_journal_begin(&life->local, &life->evidence, keep, &life->journal, &why);
    if (st == RSET_OK)
        st = rset_journal_save(life->journal, off, len, &why);
    if (st != RSET_OK)
        st = go_on_without(life, &why, err);
    life->changed = life->changed || st == RSET_OK;
    return st;
}
