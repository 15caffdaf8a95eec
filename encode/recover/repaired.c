/* repaired.c: see repaired.h. */
#include "repaired.h"

#include "classify.h"

void
rset_repaired_report(const rset_repair *rep, rset_report *mine)
{
    if (rep->damaged && (mine->facts & RSET_FACT_IN_PLACE) == 0)
        rset_classify_altered(&rep->altered, mine);
    mine->facts |= (rep->bare ? RSET_FACT_BARE : 0) | (rep->unverified ? RSET_FACT_UNVERIFIED : 0);
}

rset_status
rset_repaired_begin_undo(const rset_repair *rep, const rset_report *mine, rset_err *err)
{
    return mine->state != RSET_STATE_CLOSED
               ? RSET_OK
               : rset_undo_begin(rep->local->dir, rep->local->prefix, &rep->evidence->undo, err);
}

void
rset_repaired_tell(const rset_rebuild_watch *watch, const rset_repair *rep, const rset_report *mine,
                   rset_rebuilding what)
{
    what.name = rset_local_name(rep->local);
    what.lost = (mine->facts & RSET_FACT_MISSING) != 0;
    what.damaged = rep->data_out;
    if (watch != NULL)
        watch->begins(watch->arg, &what);
}

void
rset_repaired_note(const rset_repair *rep, const rset_decision *decided, const rset_report *mine,
                   bool own_run, rset_outcome *out)
{
    rset_outcome_note(out, decided, mine);
    out->altered = rep->altered;
    out->altered.own = own_run;
    out->aside = rep->aside;
}
