/* change.c: a file before it changes. See change.h. */
#include "change.h"

#include "commit.h"
#include "names/claim.h"
#include "names/names.h"
#include "remove.h"

#include <assert.h>
#include <stdlib.h>

/* The void mark alone will do; but no journal may promise that the file can be rolled back. */
static rset_status
do_without(const rset_local *local, const rset_evidence *ev, const rset_err *own, rset_err *err)
{
    rset_status st;

    if (own->status != RSET_IO)
        return rset_fail_as(err, own);
    st = rset_undo_remove(local->dir, local->prefix, &ev->undo, err);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

/* A commit that was not finished comes first, and what failed commits have left goes, before the file has a journal. */
static rset_status
clear_way(const rset_local *local, rset_evidence *ev, bool leads_back, rset_err *err)
{
    rset_status st =
        rset_claim_check_commit(local->dir, local->prefix, rset_local_name(local), err);

    if (st != RSET_OK)
        return st;
    if (rset_evidence_has_shadow(ev, rset_evidence_generation(ev)))
        return rset_fail(err, RSET_IO,
                         "%s: a commit of this file was not finished, and would replace what is "
                         "written now; open it with all ranks first",
                         rset_local_name(local));
    if (rset_undo_is_next(&ev->undo)) /* decided on while its program went on: so does this one */
        st = rset_commit_settle(local, rset_evidence_generation(ev), RSET_COMMIT_PATIENCE, ev, err);
    return st == RSET_OK ? rset_remove_before_change(local, ev, leads_back, err) : st;
}

/* `mark_will_do`: where there can be no journal, the void mark alone says that the file changes. */
static rset_status
begin(const rset_local *local, rset_evidence *ev, unsigned how, bool mark_will_do,
      rset_journal **out, rset_err *err)
{
    rset_journal *j = NULL;
    rset_err      own = RSET_ERR_NONE;
    rset_status   st = clear_way(local, ev, how != 0, err);

    *out = NULL;
    if (st != RSET_OK)
        return st;
    if (rset_journal_open(local, ev, how, &j, &own) != RSET_OK)
        st = mark_will_do ? do_without(local, ev, &own, err) : rset_fail_as(err, &own);
    if (st == RSET_OK)
        st = rset_set_void(local->dir, ev, true, err);
    if (st != RSET_OK)
        rset_journal_leave(j);
    else
        *out = j;
    assert(st != RSET_OK || !ev->has_header || ev->is_void || ev->over_name != NULL); /* CO1 */
    return st;
}

rset_status
rset_change_begin(const rset_local *local, rset_evidence *ev, rset_keep keep, rset_journal **out,
                  rset_err *err)
{
    rset_status st = RSET_OK;

    *out = NULL;
    /* There is protection, but it could not be read. It can perhaps now, and has to be marked void: else the changed
     * file is taken for damaged. */
    if (rset_evidence_asks(ev) && !ev->has_header && local->nfiles > 0)
        st = rset_survey_local(local, ev, err);
    if (st != RSET_OK || !rset_evidence_asks(ev) || local->nfiles != 1)
        return st == RSET_OK ? rset_set_void(local->dir, ev, true, err) : st;
    return begin(local, ev, keep == RSET_KEEP_OLD ? RSET_UNDO_KEPT : 0, keep == RSET_KEEP_NOTHING,
                 out, err);
}

/* Another process may have rebuilt, since this one looked, what had been protected here: that is void, too (P3). It has made a names file
 * then, without which the directory need not be looked at again, and sees the journal from now on. */
static rset_status
void_what_has_come(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    rset_evidence now = {0};
    bool          there = false;
    char         *names = rset_join_names(local->prefix, RSET_NAME_NAMES);
    rset_status   st = names != NULL ? RSET_OK
                                     : rset_fail(err, RSET_NOMEM, "%s: no memory for a name",
                                                 rset_local_name(local));

    if (st == RSET_OK)
        st = rset_dir_find_file(local->dir, names, NULL, &there, err);
    if (st == RSET_OK && there)
        st = rset_survey_local(local, &now, err);
    free(names);
    if (st != RSET_OK || !now.has_header) {
        rset_evidence_free(&now);
        return st;
    }
    rset_evidence_free(ev);
    *ev = now;
    return rset_set_void(local->dir, ev, true, err);
}

rset_status
rset_change_begin_first(const rset_local *local, rset_evidence *ev, rset_journal **out,
                        rset_err *err)
{
    rset_status st = begin(local, ev, RSET_UNDO_KEPT, false, out, err);

    if (st == RSET_OK)
        st = void_what_has_come(local, ev, err);
    if (st == RSET_OK) {
        ev->unfinished = true;
        return RSET_OK;
    }
    rset_journal_leave(*out);
    *out = NULL;
    if (!ev->undo.there) /* one begun without success would be taken for a crashed run's */
        (void)rset_undo_remove(local->dir, local->prefix, &(rset_undo){.rotten = true}, NULL);
    return st;
}

rset_status
rset_change_begin_aside(const rset_local *local, rset_evidence *ev, rset_journal **out,
                        rset_err *err)
{
    return begin(local, ev, RSET_UNDO_ASIDE, false, out, err);
}
