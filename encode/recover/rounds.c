/* rounds.c: all ranks look at what they have (report.c), the table decides (decide.c), and what it says is done (restore.c,
 * with which rank hosts which member from hosts.c), until nothing is left to do. See recover_internal.h. */
#include "recover_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS_MAX = 8, /* each ends a commit, or looks closer: none is needed twice */
    BUSY_MAX = 3,   /* of other processes that repair the same files, one after the other */
    STEPS_MAX =
        8 /* searching, asking, verifying, looking: content at most twice, the others once */
};

void
rset_recovery_decide(rset_recovery *r)
{
    r->decision = rset_decide(&r->all, r->coverage, &r->policy);
}

/* ---- what follows ---- */

static void
say(rset_recovery *r, const rset_summary *before)
{
    rset_reason_say(r->decision.reason, before, rset_local_name(r->args->local), NULL, r->out->note,
                    sizeof r->out->note);
}

rset_status
rset_recovery_refuse(rset_recovery *r)
{
    char        text[RSET_ERR_TEXT];
    const char *detail = NULL;
    rset_status st = RSET_OK;

    if (r->coverage == RSET_COVERAGE_NOT) {
        st = rset_recovery_why_not(r);
        detail = r->rep.why.text;
    }
    if (st != RSET_OK)
        return st;
    rset_reason_say(r->decision.reason, &r->all, rset_local_name(r->args->local), detail, text,
                    sizeof text);
    return rset_fail(r->err, r->decision.reason == RSET_REASON_BUSY ? RSET_BUSY : RSET_LOST, "%s",
                     text);
}

static rset_status
keep(rset_recovery *r)
{
    const bool orphans = (r->all.facts & RSET_FACT_ORPHANS) != 0;

    r->out->acted = r->out->acted || orphans || r->decision.protection != RSET_PROTECTION_VALID;
    r->out->partly = (r->all.facts & RSET_FACT_MISSING) != 0;
    r->out->protected_ = r->decision.protection == RSET_PROTECTION_VALID;
    r->out->reprotect = r->decision.protection == RSET_PROTECTION_REENCODE;
    r->out->unread = r->out->protected_ && r->unread;
    r->out->torn = r->mine.state == RSET_STATE_OPEN;
    say(r, &r->all);
    rset_recovery_remove_orphans(r);
    return RSET_OK;
}

static rset_status
never(rset_recovery *r)
{
    r->out->never = true;
    rset_recovery_remove_orphans(r);
    return rset_fail(r->err, RSET_ABSENT, "%s: %s", rset_local_name(r->args->local),
                     r->decision.reason == RSET_REASON_DELETED ? "deleted" : "not protected");
}

static rset_status
restored(rset_recovery *r, const rset_summary *before)
{
    r->out->protected_ = r->decision.protection == RSET_PROTECTION_VALID;
    r->out->unread = r->out->protected_ && r->content != RSET_CONTENT_ALL;
    r->out->reprotect = r->decision.protection == RSET_PROTECTION_REENCODE;
    rset_recovery_remove_orphans(r);
    say(r, before);
    return RSET_OK;
}

/* Would those that stand in for the ranks refuse what they are to keep? Then nothing is done. It is not what was protected, nor
 * closed by all in one step: only the ranks that wrote it can tell that it belongs together. */
static bool
is_for_writers(const rset_recovery *r)
{
    const rset_decision *d = &r->decision;

    return r->hosted && (d->verdict == RSET_VERDICT_KEEP || d->verdict == RSET_VERDICT_RESTORE) &&
           (d->protection == RSET_PROTECTION_NONE || d->reason == RSET_REASON_CHANGED_KEPT) &&
           d->reason != RSET_REASON_READONLY_BARE && d->reason != RSET_REASON_CLOSED;
}

/* Nobody stands in for ranks that others stand in for. */
static rset_status
leave_to_door(rset_recovery *r)
{
    if (!r->hosted)
        return RSET_OK;
    r->decision.reason = RSET_REASON_OTHER_RANKS;
    return rset_recovery_refuse(r);
}

/* ---- the rounds ---- */

static rset_status
no_end(rset_recovery *r)
{
    return rset_fail(r->err, RSET_BUG, "%s: recovery came to no end: %s",
                     rset_local_name(r->args->local), rset_reason_name(r->decision.reason));
}

/* What has to be found out before the verdict can be acted on. *done_out: nothing. */
static rset_status
find_out(rset_recovery *r, bool *done_out)
{
    rset_status st = RSET_OK;

    switch (r->decision.verdict) {
    case RSET_VERDICT_SEARCH: st = rset_recovery_search(r); break;
    case RSET_VERDICT_ASK: st = rset_recovery_ask(r); break;
    case RSET_VERDICT_VERIFY: return rset_recovery_verify(r);
    case RSET_VERDICT_LOOK: return rset_recovery_look(r);
    default: *done_out = true; return RSET_OK;
    }
    return st == RSET_OK ? rset_recovery_report(r) : st;
}

/* From reports to a verdict that can be acted on. What content is read twice, where damage is a reason to ask. */
static rset_status
reach_verdict(rset_recovery *r)
{
    rset_status st = rset_recovery_report(r);
    bool        done = false;

    for (int steps = 0; st == RSET_OK && !done && steps < STEPS_MAX; steps++) {
        rset_recovery_decide(r);
        st = find_out(r, &done);
    }
    return st == RSET_OK && !done ? no_end(r) : st;
}

/* All have prepared a generation: it counts from now on; or it was tried, and cannot be had. Nothing was changed. */
void
rset_recovery_change_generation(rset_recovery *r, bool forward)
{
    r->forwarded = forward;
    r->no_forward = !forward;
    rset_recovery_choose(r);
    if (forward)
        rset_stand_forward(&r->standing, &r->policy);
    rset_recovery_forget_hosts(r);
}

/* Whoever has not finished the commit does; then all look again. */
static rset_status
finish_commit(rset_recovery *r)
{
    rset_status st = rset_recovery_finish(r);

    r->out->forward = r->out->acted = true;
    r->forwarded = false;
    rset_recovery_forget_hosts(r);
    return st == RSET_OK ? rset_recovery_take_census(r, RSET_OK) : st;
}

/* What protects renamed files gets their names; then all look again. */
static rset_status
adopt(rset_recovery *r)
{
    rset_status st = rset_agree(r->args->world, rset_recovery_adopt(r), r->args->host, r->err);

    r->out->acted = true;
    rset_recovery_forget_hosts(r);
    return st == RSET_OK ? rset_recovery_take_census(r, RSET_OK) : st;
}

/* What has to be done before all look again. */
static rset_status
go_back(rset_recovery *r, bool *again_out)
{
    const rset_verdict verdict = r->decision.verdict;

    *again_out = true;
    if (rset_changes_generation(&r->decision, r->forwarded))
        rset_recovery_change_generation(r, !r->forwarded);
    else if (r->args->dry_run)
        *again_out = false;
    else if (verdict == RSET_VERDICT_RESTORE && r->all.count[RSET_STATE_COMMITTING] > 0)
        return finish_commit(r);
    else if (verdict == RSET_VERDICT_ADOPT)
        return adopt(r);
    else
        *again_out = false;
    return RSET_OK;
}

/* Some rank has no room beside what it has to replace. What was published until then, as far as anything was, is looked at anew. */
static rset_status
press(rset_recovery *r)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    *r->err = RSET_ERR_NONE;
    r->pressed = r->closely = true;
    r->forwarded = false;
    rset_recovery_forget_hosts(r);
    st = rset_survey_local(r->args->local, r->args->evidence, &own);
    if (st != RSET_OK)
        (void)rset_fail_as(r->err, &own);
    return rset_recovery_take_census(r, st);
}

/* Brings the files back. *again_out: files were taken for good that are not (r->optimistic), or some rank has no room, and all
 * have to look again. */
static rset_status
restore(rset_recovery *r, bool *again_out)
{
    const rset_status st = rset_recovery_restore(r);

    *again_out = (st == RSET_DAMAGED || st == RSET_LOST) && r->optimistic;
    if (!*again_out && (st == RSET_OK || r->pressed || !rset_err_lacks_room(r->err)))
        return st;
    if (!*again_out) {
        *again_out = true;
        return press(r);
    }
    *r->err = RSET_ERR_NONE;
    r->closely = true;
    return RSET_OK;
}

/* One round; *again_out: another one has to follow. */
static rset_status
go_round(rset_recovery *r, bool *again_out)
{
    rset_summary before;
    rset_status  st = reach_verdict(r);

    *again_out = r->acts = false;
    if (st != RSET_OK)
        return st;
    st = go_back(r, again_out);
    if (*again_out)
        return st;
    if (is_for_writers(r))
        return leave_to_door(r);
    before = r->all;
    if (r->decision.verdict == RSET_VERDICT_RESTORE && !r->args->dry_run) {
        st = restore(r, again_out);
        if (*again_out)
            return st;
    }
    if (st == RSET_OK)
        rset_outcome_note(r->out, &r->decision, &r->mine);
    switch (r->decision.verdict) {
    case RSET_VERDICT_STAND_IN: return leave_to_door(r);
    case RSET_VERDICT_NEVER: return never(r);
    case RSET_VERDICT_KEEP: return keep(r);
    case RSET_VERDICT_ADOPT:
    case RSET_VERDICT_RESTORE: return st == RSET_OK ? restored(r, &before) : st;
    default: return rset_recovery_refuse(r);
    }
}

/* Was something found amiss before anything was done about it? Another job may have been at work on just that: then it is no finding.
 * Nor is it where a file that was seen is gone when it is opened. */
static bool
is_a_finding(const rset_recovery *r, rset_status st)
{
    if (st == RSET_ABSENT)
        return !r->out->never;
    return !r->acts && (st == RSET_LOST || st == RSET_DAMAGED || st == RSET_IO);
}

/* RSET_BUSY instead of a finding where another process has repaired, replaced or committed a file of some rank while these looked at it.
 * The same on all ranks, which have agreed on `st`. Collective where something was found amiss. */
static rset_status
doubt_finding(rset_recovery *r, rset_status st)
{
    const rset_recover_args *a = r->args;
    rset_err                 own = RSET_ERR_NONE;
    rset_status              moved = RSET_OK;

    if (!is_a_finding(r, st))
        return st;
    if (r->renamed_from == NULL && rset_evidence_has_moved(a->local, a->evidence))
        moved = rset_fail(&own, RSET_BUSY,
                          "%s: another process is changing it; open it again when that has ended",
                          rset_local_name(a->local));
    moved = rset_agree(a->world, moved, a->host, &own);
    if (moved != RSET_BUSY)
        return st;
    *r->err = own;
    return moved;
}

/* All look once more at what is there now. What they have heard of each other's files was of before. */
static rset_status
look_again(rset_recovery *r)
{
    const rset_recover_args *a = r->args;

    *r->err = RSET_ERR_NONE;
    r->policy.asked = r->behind = r->unprotected = false;
    rset_recovery_forget_hosts(r);
    return rset_recovery_take_census(r, rset_survey_local(a->local, a->evidence, r->err));
}

rset_status
rset_recovery_doubt(rset_recovery *r, rset_status st, bool *again_out)
{
    const bool in_use = st == RSET_BUSY && (r->decision.verdict == RSET_VERDICT_REFUSE || r->begun);

    st = doubt_finding(r, st);
    *again_out = st == RSET_BUSY && !in_use && r->busy++ < BUSY_MAX;
    return *again_out ? look_again(r) : st;
}

rset_status
rset_recovery_go(rset_recovery *r, rset_status before)
{
    rset_status st =
        r->args->alike ? rset_recovery_take_alike(r, before) : rset_recovery_take_census(r, before);
    bool again = true;

    for (int round = 0; st == RSET_OK && again; round++) {
        bool once_more;

        st = round < ROUNDS_MAX ? go_round(r, &again) : no_end(r);
        st = rset_recovery_doubt(r, st, &once_more);
        again = again || once_more;
    }
    return st;
}

/* ---- one recovery ---- */

void
rset_recovery_begin(rset_recovery *r, const rset_recover_args *args, rset_outcome *out,
                    rset_err *err)
{
    *r = (rset_recovery){.args = args,
                         .err = err,
                         .out = out,
                         .policy.required = args->required,
                         .policy.fallback = args->fallback,
                         .policy.undelete = args->undelete,
                         .policy.reads = args->reads,
                         .closely = args->dry_run,
                         .evidence = args->evidence,
                         .local = *args->local};
    *out = (rset_outcome){0};
}

rset_status
rset_recovery_end(rset_recovery *r, rset_status st)
{
    rset_outcome *out = r->out;

    if (st == RSET_ABSENT && !out->never) /* that word is for files that were never protected */
        st = r->err->status = RSET_IO;
    out->acted = out->acted || st != RSET_OK;
    out->readonly = (r->all.facts & RSET_FACT_READONLY) != 0;
    out->reason = r->decision.reason;
    out->renamed = r->adopted;
    out->reprotect = out->reprotect || (r->adopted && out->protected_);
    free(r->renamed_from);
    out->apart = r->policy.apart || r->policy.stood_in ||
                 (r->policy.published_ranks != 0 &&
                  r->policy.published_ranks != (uint64_t)r->args->world->size);
    out->generation = rset_generation_of_code(r->standing.counts);
    rset_recovery_forget_hosts(r);
    rset_evidence_free(&r->ahead);
    rset_verified_free(&r->verified);
    free(r->ahead_shadow);
    return st;
}
