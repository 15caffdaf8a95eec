/* recover.c: the parallel side of the door (recover.h): files of the ranks that have come, or of others that they stand in
 * for. */
#include "recover_internal.h"

/* The ranks that wrote the files are not those that have come. */
static rset_status
stand_in(rset_recovery *r)
{
    rset_status st = rset_recovery_stand_in(r);

    r->policy.stood_in = true;
    r->policy.asked = r->behind = false;
    r->forwarded = r->no_forward = r->closely = false;
    if (st == RSET_OK)
        st = rset_recovery_search(r);
    rset_recovery_forget_hosts(r);
    return st == RSET_OK ? rset_recovery_go(r, RSET_OK) : st;
}

/* Tried again where what the ranks see does not fit together: as long as they have done nothing, another process may be at work there. */
static rset_status
go(rset_recovery *r, rset_status before)
{
    const rset_policy policy = r->policy;
    rset_status       st = rset_recovery_go(r, before);
    bool              again = st == RSET_OK && r->decision.verdict == RSET_VERDICT_STAND_IN;

    while (again) {
        r->acts = false;
        st = rset_recovery_doubt(r, stand_in(r), &again);
        if (!again)
            break;
        r->policy = policy;
        if (st == RSET_OK)
            st = rset_recovery_go(r, RSET_OK);
        again = st == RSET_OK && r->decision.verdict == RSET_VERDICT_STAND_IN;
    }
    return st;
}

/* All files can be had where they are now, or what came goes again, the last that came first. */
static rset_status
end_moves(rset_recovery *r, rset_status st)
{
    const uint64_t all_in = r->out->protected_ ? rset_generation_of_code(r->standing.counts) : 0;

    if (st != RSET_OK) {
        while (r->nmoves > 0)
            rset_move_undo(r->moves[--r->nmoves]);
        return st;
    }
    for (int i = 0; i < r->nmoves; i++)
        if (st == RSET_OK)
            st = rset_move_keep(r->moves[i], all_in, r->err);
        else
            rset_move_undo(r->moves[i]);
    return st;
}

rset_status
rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err)
{
    rset_recovery r;
    rset_status   st;

    rset_recovery_begin(&r, args, out, err);
    st = go(&r, args->before);
    return rset_recovery_end(&r, end_moves(&r, st));
}

/* ---- before the next commit ---- */

rset_status
rset_finish_commit(const rset_recover_args *args, rset_err *err)
{
    rset_outcome  ignored = {0};
    rset_recovery r = {.args = args, .err = err, .out = &ignored, .policy = {.searched = true}};
    rset_status   st = rset_recovery_take_census(&r, args->before);

    if (st == RSET_OK)
        st = rset_recovery_report(&r);
    if (st == RSET_OK) {
        rset_recovery_decide(&r);
        if (r.decision.verdict == RSET_VERDICT_FORWARD) {
            rset_recovery_change_generation(&r, true);
            st = rset_recovery_report(&r);
        } else if (r.decision.reason == RSET_REASON_BUSY &&
                   (r.all.facts & RSET_FACT_UNDER_WAY) != 0) {
            st = rset_recovery_refuse(&r);
        }
    }
    if (st == RSET_OK && r.all.count[RSET_STATE_COMMITTING] > 0)
        st = rset_recovery_finish(&r);
    return rset_recovery_end(&r, st);
}
