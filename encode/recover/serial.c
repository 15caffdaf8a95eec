/* serial.c: one process looks after one rank's files, without MPI (P10). The same table decides as in parallel (decide.h),
 * from what is within reach (search.c); the set's part is set/rebuild.h, with its members as threads over the local
 * transport. The serial side of the door (recover.h). */
#include "commit/commit.h"
#include "names/claim.h"
#include "serial_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_MAX = 4 }; /* looks, where other processes have repaired the file at the same time */

/* Whether anything is different from now on. */
static bool
stand_to(rset_serial *v, uint64_t counts, int ranks)
{
    const rset_evidence *ev = v->s.args->evidence;
    const rset_standing  before = v->standing;
    const bool           newer = ev->next != 0 && ev->next != counts &&
                       (counts == 0 || rset_generation_newer(ev->next, counts));

    v->standing = (rset_standing){.counts = counts, .prepared = newer ? ev->next : 0};
    v->policy.published_ranks = counts != 0 ? (uint64_t)ranks : 0;
    v->policy.prepared_ranks = newer ? (uint64_t)ev->next_ranks : 0;
    return v->standing.counts != before.counts || v->standing.prepared != before.prepared;
}

/* By what others record. */
static rset_status
look_around(rset_serial *v)
{
    rset_status st = RSET_OK;

    v->s.gone = (v->mine.facts & RSET_FACT_GONE) != 0;
    if (v->s.look.ndirs == 0)
        st = rset_search_begin(&v->s);
    if (st == RSET_OK && v->s.known) {
        const uint64_t g =
            v->s.desc.generation != 0 ? v->s.desc.generation : RSET_GENERATION_FOREIGN;

        if (!rset_generation_newer(v->standing.counts, g) && /* else siblings say more */
            stand_to(v, g, v->s.desc.ranks))
            st = rset_serial_report(v); /* reads all that is left of it */
    }
    rset_serial_decide(v);
    return st;
}

/* With the others' pieces. */
static rset_status
repair(rset_serial *v)
{
    rset_status        st = rset_search_pieces(&v->s);
    rset_found_member *own;

    if (st == RSET_OK && (v->mine.facts & RSET_FACT_GONE) != 0 && rset_search_has_one_left(&v->s))
        v->mine.facts &= ~(unsigned)RSET_FACT_GONE;
    if (st == RSET_OK)
        st = rset_serial_run_members(v);
    if (st == RSET_OK && v->no_room) {
        v->cramped = true;
        st = rset_serial_run_members(v);
    }
    if (st != RSET_OK)
        return st;
    own = &v->s.pieces[v->s.desc.member];
    if (own->st == RSET_OK)
        return RSET_OK;
    own->err.rank = -1; /* it is a thread's */
    return rset_fail_as(v->s.err, &own->err);
}

/* What others have may matter: the own redundancy file does not say what the file should be, or a commit is in doubt. */
static bool
has_to_look_around(const rset_serial *v)
{
    return v->decision.verdict == RSET_VERDICT_LOOK ||
           v->decision.verdict == RSET_VERDICT_FORWARD ||
           (v->standing.counts == 0 && v->decision.verdict != RSET_VERDICT_KEEP) ||
           (v->standing.counts == 0 && v->mine.state == RSET_STATE_UNKNOWN) ||
           (v->mine.facts & RSET_FACT_PREPARED) != 0;
}

/* What the table says, after a look at what others have where that may matter. */
static rset_status
look_and_decide(rset_serial *v)
{
    rset_status st = rset_serial_report(v);

    rset_serial_decide(v);
    return st == RSET_OK && has_to_look_around(v) ? look_around(v) : st;
}

/* What was found beside other files was looked for by what this rank's directory said then. */
static void
forget_search(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;

    rset_search_free(&v->s);
    v->s = (rset_search){.args = a, .err = v->s.err};
    v->coverage = RSET_COVERAGE_UNKNOWN;
}

/* In a dry run the files count as they will be once this rank's share of a commit that was decided is finished. */
static rset_status
foresee_commit(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    const uint64_t          generation = rset_generation_of_code(v->standing.counts);
    rset_evidence           ahead = {0};
    rset_status st = rset_survey_ahead(a->local->dir, a->local->prefix, a->local->names[0],
                                       generation, &ahead, v->s.err);

    if (st == RSET_OK)
        st = rset_evidence_shadow_name(&ahead, a->local->prefix, generation, &v->ahead_shadow,
                                       v->s.err);
    rset_evidence_free(a->evidence);
    *a->evidence = ahead;
    v->ahead_local = *a->local;
    v->ahead_local.shadow = v->ahead_shadow;
    v->ahead = *a;
    v->ahead.local = &v->ahead_local;
    v->s.args = &v->ahead;
    forget_search(v);
    return st;
}

/* This rank's share of a commit that was decided. */
static rset_status
finish_commit(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;

    v->out->forward = true;
    rset_outcome_note(v->out, &v->decision, &v->mine);
    if (a->dry_run)
        return foresee_commit(v);
    v->out->replaced = v->out->acted = true;
    forget_search(v);
    return rset_commit_complete(a->local, rset_generation_of_code(v->standing.counts), a->evidence,
                                v->s.err);
}

/* From what the directory says to a verdict. */
static rset_status
stand_and_decide(rset_serial *v)
{
    const rset_evidence *ev = v->s.args->evidence;

    if (rset_evidence_in_doubt(ev) && ev->next_siblings == RSET_SIBLINGS_DECIDED)
        (void)stand_to(v, ev->next, ev->next_ranks); /* there is no doubt */
    else
        (void)stand_to(v, rset_generation_code(ev),
                       ev->has_header ? ev->header.infos[0].desc.ranks : 0);
    return look_and_decide(v);
}

/* One process repairs; the others wait. Where nothing is written there is nothing to keep others from. */
static rset_status
hold(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_err                own = RSET_ERR_NONE;
    rset_status             st = RSET_OK;

    if (!a->readonly && !a->dry_run && v->held == NULL)
        st = rset_claim_to_repair(a->local->dir, a->local->prefix, rset_local_name(a->local),
                                  RSET_SERIAL_TIMEOUT, &v->held, &own);
    return st == RSET_BUSY || st == RSET_NOMEM ? rset_fail_as(v->s.err, &own) : RSET_OK;
}

/* The evidence beside an old copy does not count. Its identity does: the rebuilt file takes the place of this file and of no other. */
static void
forget_outdated(const rset_serial_args *a)
{
    const rset_identity data = a->evidence->data;

    if (!a->outdated)
        return;
    rset_evidence_free(a->evidence);
    a->evidence->data = data;
}

static rset_status
look_again(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_status             st;

    *v->s.err = RSET_ERR_NONE;
    forget_search(v);
    st = rset_survey_local(a->local, a->evidence, v->s.err);
    if (st == RSET_OK)
        forget_outdated(a);
    return st == RSET_OK ? stand_and_decide(v) : st;
}

static bool
has_to_act(const rset_serial *v)
{
    return v->decision.verdict == RSET_VERDICT_FORWARD || v->decision.verdict == RSET_VERDICT_LOOK;
}

/* Does what the verdict asks for. */
static rset_status
act(rset_serial *v)
{
    rset_status st = RSET_OK;

    if (v->decision.verdict == RSET_VERDICT_FORWARD) {
        st = finish_commit(v);
        if (st == RSET_OK)
            st = look_and_decide(v);
    }
    return st == RSET_OK && v->decision.verdict == RSET_VERDICT_LOOK ? repair(v) : st;
}

/* RSET_BUSY: another process has replaced the file at the same time, so this one looks again; as where the files were changed before it
 * had the lock. */
static rset_status
open_serially(rset_serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_status             st = stand_and_decide(v);
    bool                    again = st == RSET_BUSY || (st == RSET_OK && has_to_act(v));

    for (int i = 0; again && i < BUSY_MAX; i++) {
        const bool seen = i == 0 && st == RSET_OK;

        if ((st = hold(v)) != RSET_OK)
            return st;
        if (!seen || a->outdated || rset_evidence_has_moved(a->local, a->evidence))
            st = look_again(v);
        if (st == RSET_OK)
            st = act(v);
        again = st == RSET_BUSY;
    }
    return st == RSET_OK ? rset_serial_conclude(v) : st;
}

/* Has another process changed the files since they were looked at, so that what was found amiss may be its work, and no finding? */
static bool
has_moved(const rset_serial *v, rset_status st)
{
    const rset_serial_args *a = v->s.args;

    return !a->outdated && !a->dry_run &&
           (st == RSET_LOST || st == RSET_DAMAGED || st == RSET_IO ||
            (st == RSET_ABSENT && !v->out->never)) &&
           rset_evidence_has_moved(a->local, a->evidence);
}

static rset_status
open_what_is_there(rset_serial *v)
{
    rset_status st = open_serially(v);
    int         looks = 0;

    while (has_moved(v, st)) {
        *v->s.err = RSET_ERR_NONE;
        if (looks++ == BUSY_MAX)
            return rset_fail(v->s.err, RSET_BUSY,
                             "%s: another process is changing it; open it again when that has "
                             "ended",
                             rset_local_name(v->s.args->local));
        st = look_again(v);
        st = st == RSET_OK ? open_serially(v) : st;
    }
    return st;
}

rset_status
rset_recover_serial(const rset_serial_args *args, rset_outcome *out, rset_err *err)
{
    rset_serial v = {.s = {.args = args, .err = err},
                     .out = out,
                     .policy = {.required = args->required,
                                .fallback = args->fallback,
                                .undelete = args->undelete,
                                .serial = true},
                     .why = RSET_ERR_NONE};
    rset_status st;

    *out = (rset_outcome){0};
    forget_outdated(args);
    st = open_what_is_there(&v);
    rset_search_free(&v.s);
    rset_claim_end(v.held);
    rset_verified_free(&v.verified);
    free(v.renamed_from);
    free(v.ahead_shadow);
    return st;
}

bool
rset_recorded_nearby(const rset_serial_args *args)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_search s = {.args = args, .err = &ignored};

    (void)rset_search_begin(&s);
    rset_search_free(&s);
    return s.known;
}
