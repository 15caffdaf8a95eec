/* restore.c: what the sets can have of the generation that counts, and bringing it back. One set's part is
 * set/rebuild.h. See recover_internal.h. */
#include "commit/forget.h"
#include "commit/kept.h"
#include "commit/newer.h"
#include "commit/remove.h"
#include "commit/shadow.h"
#include "commit/siblings.h"
#include "names/claim.h"
#include "names/names.h"
#include "recover_internal.h"
#include "repaired.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOLD_MAX = 300, /* s that another process may take to repair a file */
    WORTH_ASKING =
        64 * 1024 /* bytes to rebuild: with less, no rank has use for one more processor */
};

/* ---- looking ---- */

/* What this rank has, or will have once it has finished its commit. */
static rset_status
look_ahead(rset_recovery *r)
{
    const rset_local *local = r->args->local;
    const uint64_t    generation = rset_generation_of_code(r->standing.counts);
    rset_status       st;

    rset_evidence_free(&r->ahead);
    free(r->ahead_shadow);
    r->ahead_shadow = NULL;
    r->local = *local;
    r->evidence = r->args->evidence;
    if (r->mine.state != RSET_STATE_COMMITTING)
        return RSET_OK;
    st = rset_survey_ahead(local->dir, local->prefix, local->nfiles > 0 ? local->names[0] : "",
                           generation, &r->ahead, r->err);
    if (st == RSET_OK)
        st = rset_evidence_shadow_name(&r->ahead, local->prefix, generation, &r->ahead_shadow,
                                       r->err);
    r->evidence = &r->ahead;
    r->local.shadow = r->ahead_shadow;
    return st;
}

/* Files are lost, and nothing else is out of order as far as sizes tell: what is there is verified while it is read for
 * the rebuild, instead of before. */
static bool
may_be_optimistic(const rset_recovery *r)
{
    const uint64_t *n = r->all.count;

    return (r->all.facts & (RSET_FACT_DAMAGED | RSET_FACT_CHANGED | RSET_FACT_BARE |
                            RSET_FACT_ORPHANS | RSET_FACT_READONLY)) == 0 &&
           n[RSET_STATE_CURRENT] + n[RSET_STATE_NOTHING] == r->all.ranks;
}

/* A rank of whose set nothing is known: its file can stay when it is there. */
static void
look_without_set(rset_recovery *r)
{
    const bool stays = r->mine.state == RSET_STATE_UNKNOWN;

    r->mine.facts |= RSET_FACT_BARE | (stays ? RSET_FACT_UNVERIFIED : RSET_FACT_DAMAGED);
    r->coverage = stays ? RSET_COVERAGE_UNVERIFIED : RSET_COVERAGE_NOT;
}

/* Why it is lost, once it is known whether there was a set. */
static void
explain_without_set(rset_recovery *r)
{
    const int unread = r->evidence->unread;

    if (r->mine.state != RSET_STATE_UNKNOWN && unread != 0)
        (void)rset_fail_errno(&r->rep.why, RSET_LOST, unread,
                              "what is recorded of the file of rank %d cannot be read",
                              r->args->world->rank);
    else if (r->mine.state != RSET_STATE_UNKNOWN)
        (void)rset_fail(&r->rep.why, RSET_LOST,
                        "the file of rank %d is lost together with all that was recorded of it%s",
                        r->args->world->rank, r->was_left_over ? RSET_WAS_LEFT_OVER : "");
}

static rset_status
look_with_set(rset_recovery *r)
{
    rset_status st = rset_repair_look(&r->rep, r->err);

    if (st == RSET_OK)
        st = rset_repair_plan(&r->rep, &r->coverage, r->err);
    if (st != RSET_OK)
        return st;
    rset_repaired_report(&r->rep, &r->mine);
    return RSET_OK;
}

/* This rank has so much of its own files to write. */
static rset_work
work_of(const rset_recovery *r)
{
    const uint64_t bytes = rset_repair_bytes(&r->rep);

    return bytes == 0 ? (rset_work){0}
                      : (rset_work){.bytes = bytes, .ranks = 1, .first = r->args->world->rank + 1};
}

static rset_status
look(rset_recovery *r)
{
    rset_status st = RSET_OK;

    rset_repair_end(&r->rep);
    r->rep = (rset_repair){
        .set = &r->set,
        .local = &r->local,
        .evidence = r->evidence,
        .verified = r->mine.state == RSET_STATE_CURRENT ? &r->verified : NULL,
        .generation = rset_generation_of_code(r->standing.counts),
        .changed = rset_state_has_changed(r->mine.state) || rset_undo_is_next(&r->evidence->undo),
        .writable = true,
        .content = r->content == RSET_CONTENT_ALL ? RSET_CONTENT_ALL : RSET_CONTENT_DATA,
        .by_path = !r->hosted, /* else stand_in.c has seen to that */
        .optimistic = r->optimistic,
        .cramped = r->cramped,
        .left = r->left,
        .host = r->args->host,
        .why = RSET_ERR_NONE};
    r->mine.facts &= ~(unsigned)RSET_FACT_UNREAD;
    r->own_work = (rset_work){0};
    if (r->has_set)
        st = look_with_set(r);
    else
        look_without_set(r);
    if (r->has_set && st == RSET_OK)
        r->own_work = work_of(r);
    st = rset_recovery_sum_up(r, st);
    if (st == RSET_OK && !r->has_set)
        explain_without_set(r);
    return st;
}

rset_status
rset_recovery_look(rset_recovery *r)
{
    rset_status st = look_ahead(r);

    r->optimistic = !r->closely && may_be_optimistic(r);
    st = r->hosts_known ? rset_agree(r->args->world, st, r->args->host, r->err)
                        : rset_recovery_find_hosts(r, st);
    if (st != RSET_OK)
        return st;
    r->coverage = RSET_COVERAGE_UNKNOWN;
    return look(r);
}

rset_status
rset_recovery_why_not(rset_recovery *r)
{
    rset_err    why = r->rep.why;
    rset_status st =
        r->coverage == RSET_COVERAGE_NOT && why.status != RSET_OK ? why.status : RSET_OK;

    st = rset_agree(r->args->world, st, r->args->host, &why);
    r->rep.why = why;
    return st == RSET_PEER ? rset_fail_as(r->err, &why) : RSET_OK;
}

/* ---- bringing it back ---- */

/* How long a rank waits for another process that repairs its files: the others wait for this rank. */
static int
patience(const rset_recovery *r)
{
    const double wait = r->args->world->timeout / 2;

    return wait < 1 ? 1 : wait < HOLD_MAX ? (int)wait : HOLD_MAX;
}

/* Whoever finishes it, the name leads to the shadow file afterwards. */
static rset_status
finish_own(rset_recovery *r, uint64_t generation)
{
    const rset_local *local = r->args->local;
    rset_evidence    *ev = r->args->evidence;

    r->out->replaced = r->out->replaced || rset_evidence_has_shadow(ev, generation);
    return rset_commit_settle(local, generation, patience(r), ev, r->err);
}

rset_status
rset_recovery_finish(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    const uint64_t           generation = rset_generation_of_code(r->standing.counts);
    rset_status              st = RSET_OK;

    r->acts = true;
    if (r->mine.state == RSET_STATE_COMMITTING) {
        rset_outcome_note(r->out, &r->decision, &r->mine);
        st = finish_own(r, generation);
    }
    return rset_agree(a->world, st, a->host, r->err);
}

/* Whoever was CLOSED is being rolled back now, and says so before anything changes: else a recovery that follows a crash
 * here could take those that are not rolled back yet for files of one step. */
static rset_status
begin_undo(rset_recovery *r)
{
    if (r->all.count[RSET_STATE_CLOSED] == 0)
        return RSET_OK;
    return rset_agree(r->args->world, rset_repaired_begin_undo(&r->rep, &r->mine, r->err),
                      r->args->host, r->err);
}

/* Whoever reads that a file was rebuilt wants to know which node it was lost with. */
static void
note_where_it_was(rset_recovery *r)
{
    const rset_info *info = r->rep.header.infos;

    if (r->rep.data_out && info->host != NULL && strcmp(info->host, r->args->host) != 0)
        snprintf(r->out->was_on, sizeof r->out->was_on, "%s", info->host);
}

/* Waits until no other process repairs this rank's files, and keeps others from it as long as r->rep is there. What was looked at
 * before may be another file now: RSET_BUSY. A rank that writes nothing holds nothing. */
static rset_status
hold(rset_recovery *r)
{
    const rset_local *local = r->args->local;
    rset_err          own = RSET_ERR_NONE;
    bool              current = false;
    rset_status       st;

    if (!r->has_set || !rset_repair_writes(&r->rep))
        return RSET_OK;
    st = rset_claim_to_repair(local->dir, local->prefix, rset_local_name(local), patience(r),
                              &r->rep.held, &own);
    if (st == RSET_BUSY || st == RSET_NOMEM)
        return rset_fail_as(r->err, &own);
    st = rset_evidence_is_current(local, r->args->evidence, &current, r->err);
    if (st != RSET_OK || current)
        return st;
    return rset_fail(r->err, RSET_BUSY, "%s: another process has replaced it; open it again",
                     rset_local_name(local));
}

/* What can be done is done: the rest is for the user. */
static rset_status
say_no_room(rset_recovery *r, rset_status st)
{
    const rset_err why = *r->err;

    if (!rset_err_lacks_room(&why))
        return st;
    snprintf(r->err->text, sizeof r->err->text,
             "%.700s; it cannot be rebuilt in the room that there is: remove something else from "
             "this file system (older generations and what was put aside are listed by h5redset "
             "list), and open again",
             why.text);
    return st;
}

/* Tells what is about to be rebuilt, on the rank that is to say it. */
static void
tell_watch(const rset_recovery *r)
{
    const rset_recover_args *a = r->args;

    if (r->work.first == a->world->rank + 1)
        rset_repaired_tell(a->watch, &r->rep, &r->mine,
                           (rset_rebuilding){.rank = a->world->rank,
                                             .ranks = r->work.ranks,
                                             .bytes = r->work.bytes});
}

/* For whoever asks what became of this rank's files. What came back before all had to look again has come back. */
static void
note_what_was_done(rset_recovery *r)
{
    r->out->acted = true;
    if (rset_act(&r->decision, &r->mine) != RSET_ACTION_NOTHING || !r->out->replaced)
        rset_repaired_note(&r->rep, &r->decision, &r->mine, r->args->own_run, r->out);
}

/* True if nothing is left to do once these files have come back: nothing that was moved may have to go again, nothing is encoded
 * again, and nothing beside them removed. The same on all. */
static bool
is_all(const rset_recovery *r)
{
    return r->nmoves == 0 && !r->adopted && (r->all.facts & RSET_FACT_ORPHANS) == 0 &&
           r->decision.protection == RSET_PROTECTION_VALID;
}

/* All files have their names, on all ranks; where that is all, each rank begins to use its own, and all hear of that in the same
 * step. */
static rset_status
end_together(rset_recovery *r, rset_status own)
{
    const rset_recover_args *a = r->args;
    const rset_recover_use  *use = a->use;
    rset_status              st = own;

    if (use == NULL || !is_all(r))
        return rset_agree(a->world, st, a->host, r->err);
    r->begun = true;
    if (st == RSET_OK)
        st = use->begin(use->arg, r->out, r->err);
    st = rset_reduce(a->world, st, a->host, &use->sum, r->err);
    r->out->in_use = st == RSET_OK;
    return st;
}

rset_status
rset_recovery_restore(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    rset_status              st = RSET_OK;

    assert(r->decision.verdict == RSET_VERDICT_RESTORE); /* R3 */
    if (r->work.bytes >= WORTH_ASKING)
        st = rset_comm_find_spare(a->world, RSET_OK, a->host, r->err);
    if (st != RSET_OK)
        return st;
    st = hold(r);
    r->acts = r->pressed;
    if (r->pressed) { /* nothing is laid over a file that counts as closed (R6) */
        st = rset_agree(a->world, st, a->host, r->err);
        if (st == RSET_OK)
            st = begin_undo(r);
        if (st != RSET_OK)
            return st;
    }
    if (st == RSET_OK && r->has_set)
        tell_watch(r);
    if (r->has_set)
        st = rset_repair_write(&r->rep, st, r->err);
    r->cramped = r->cramped || r->rep.no_room;
    st = rset_agree(a->world, st, a->host, r->err);
    r->acts = r->acts || st == RSET_OK;
    if (st == RSET_OK && !r->pressed)
        st = begin_undo(r);
    if (st != RSET_OK)
        return r->pressed ? say_no_room(r, st) : st;
    if (r->has_set)
        note_where_it_was(r);
    if (r->has_set)
        st = rset_repair_publish(&r->rep, &r->out->replaced, r->err);
    note_what_was_done(r);
    return end_together(r, st);
}

void
rset_recovery_remove_orphans(rset_recovery *r)
{
    const rset_local    *local = r->args->local;
    const rset_evidence *ev = r->args->evidence;
    rset_err             ignored = RSET_ERR_NONE;

    if (!r->args->tidy || r->args->dry_run || !ev->orphans || ev->under_way ||
        (r->all.facts & RSET_FACT_READONLY) != 0)
        return; /* where nothing may be written, a commit that all have prepared was not finished */
    if (ev->next_name != NULL && ev->next_ranks != r->args->world->size)
        return; /* a rank that is not there may have published it */
    if (r->decision.verdict == RSET_VERDICT_NEVER) {
        if ((r->all.facts & RSET_FACT_MISSING) != 0)
            return; /* with what that rank had, they may be a commit that all were ready for */
        (void)rset_forget_others(local, NULL, &ignored);
        return;
    }
    if (rset_evidence_in_doubt(ev)) /* not any more: all have decided without it */
        (void)rset_commit_discard(local, ev, &ignored);
    (void)rset_shadow_forget(local, ev, 0, NULL, &ignored);
    if (r->decision.protection != RSET_PROTECTION_VALID || !ev->has_header ||
        ev->over_name != NULL || rset_generation_code(ev) != r->standing.counts)
        return; /* what else is there may still be of use */
    if (rset_siblings_publish(local->dir, ev->header.infos[0].together,
                              rset_evidence_generation(ev), &ignored) != RSET_OK)
        return; /* what is left says that they have to follow */
    rset_remove_after_recovery(local, ev, r->args->evidence);
}
