/* serial.c: one process looks after one rank's files, without MPI (P10). The same table decides as in parallel (decide.h),
 * from what is within reach (search.c); the set's part is set/rebuild.h, with its members as threads over the local
 * transport. The serial side of the door (recover.h). */
#include "comm/comm_local.h"
#include "member/commit.h"
#include "member/renamed.h"
#include "names/claim.h"
#include "repaired.h"
#include "serial_internal.h"
#include "set/rebuild.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCAL_TIMEOUT =
        300,     /* s; as long does it wait for another process that repairs the same file */
    BUSY_MAX = 4 /* looks, where other processes have repaired the file at the same time */
};

typedef struct serial {
    rset_search      s;
    rset_outcome    *out;
    rset_standing    standing;
    rset_policy      policy;
    rset_report      mine;
    rset_verified    verified; /* the own files, for that report */
    rset_summary     all;      /* of this rank alone */
    rset_coverage    coverage;
    rset_decision    decision;
    rset_err         why;              /* it is not covered */
    rset_altered     altered;          /* as of a rset_repair */
    rset_file       *held;             /* the repair lock; NULL: nobody holds it */
    bool             no_room, cramped; /* as of a rset_repair: found, and what follows */
    rset_serial_args ahead; /* in a dry run, what is looked at once its commit would be finished: */
    rset_local       ahead_local;
    char            *ahead_shadow;
    char *renamed_from; /* prefix of another name that it had, under which it is recorded; owned */
    bool  asked_name;   /* whether there is one */
} serial;

/* ---- this rank's report ---- */

/* Is the content that of the generation of its redundancy file, or of the one that it has prepared? Asked only where a
 * commit is in doubt. */
static rset_status
is_either(const rset_serial_args *a, bool *is_out, rset_err *err)
{
    rset_evidence ahead = {0};
    rset_status   st = RSET_OK;

    *is_out = false;
    if (a->evidence->has_header)
        st = rset_is_as_recorded(a->local, &a->evidence->header.infos[0], is_out, err);
    if (st == RSET_OK && !*is_out)
        st = rset_survey_ahead(a->local->dir, a->local->prefix, a->local->names[0],
                               a->evidence->next, &ahead, err);
    if (st == RSET_OK && !*is_out && rset_evidence_generation(&ahead) == a->evidence->next)
        st = rset_is_as_recorded(a->local, &ahead.header.infos[0], is_out, err);
    rset_evidence_free(&ahead);
    return st;
}

/* Redundancy matters only to whoever wants all verified: a reader needs the data. */
static rset_status
verify_own(serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_status             st =
        rset_classify_verify(a->local, a->evidence, a->content, &v->mine, &v->verified, v->s.err);

    v->mine.facts &= ~(unsigned)RSET_FACT_UNREAD;
    if (a->content != RSET_CONTENT_ALL)
        v->mine.facts &= ~(unsigned)RSET_FACT_BARE;
    return st;
}

/* Nothing records it under its name: perhaps under another one that it had, with just this content. */
static bool
was_renamed(serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_evidence           found = {0};
    rset_err                ignored = RSET_ERR_NONE;

    if (!v->asked_name)
        (void)rset_renamed_find(a->local, a->evidence, &v->renamed_from, &found, &ignored);
    v->asked_name = true;
    rset_evidence_free(&found);
    return v->renamed_from != NULL;
}

/* In a dry run, once its commit would be finished: its content is in a shadow file still, which has the name then. */
static void
look_past_commit(serial *v)
{
    if (v->s.args != &v->ahead || v->mine.state != RSET_STATE_COMMITTING)
        return;
    v->mine.state = RSET_STATE_CURRENT;
    if (v->ahead_shadow != NULL)
        v->mine.facts &= ~(unsigned)(RSET_FACT_MISSING | RSET_FACT_GONE);
}

static rset_status
report_own(serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_looked             looked = {.rank = a->rank, .readonly = a->readonly};
    bool                    pristine = false;
    rset_status             st;

    rset_verified_free(&v->verified);
    st = rset_classify_look(a->local, a->evidence, &v->standing, &looked, &v->mine, v->s.err);

    look_past_commit(v);
    if (st == RSET_OK && v->mine.state == RSET_STATE_CURRENT)
        st = verify_own(v);
    if (st == RSET_OK && (v->mine.facts & RSET_FACT_PREPARED) != 0 && looked.there)
        st = is_either(a, &pristine, v->s.err);
    if (st == RSET_OK && v->mine.state == RSET_STATE_UNKNOWN && looked.there &&
        (v->mine.facts & RSET_FACT_SIGN) != 0)
        pristine = was_renamed(v);
    v->mine.facts |= pristine ? RSET_FACT_PRISTINE : 0;
    return st;
}

static void
decide(serial *v)
{
    if (v->s.args->keep_changed)
        v->mine.facts |= RSET_FACT_KEEPS;
    v->mine.ours = v->s.args->own_run && (v->mine.facts & RSET_FACT_CHANGED) != 0;
    v->all = rset_summarise(&v->mine);
    v->decision = rset_decide(&v->all, v->coverage, &v->policy);
}

/* Whether anything is different from now on. */
static bool
stand_to(serial *v, uint64_t counts, int ranks)
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

/* ---- the members as threads ---- */

/* A commit that was published while its program wrote on has a journal that leads back to it, whether or not it was finished. */
static bool
has_changed(const rset_evidence *ev, const rset_standing *standing, bool there)
{
    const rset_looked looked = {.there = there};
    const rset_report r = rset_classify(ev, standing, &looked);

    return rset_state_has_changed(r.state) || ev->undo.next != 0;
}

/* What was found decides whether anything is written: v->decision, by which all members then do the same. */
static void
ask_the_table(serial *v, const rset_repair *rep, rset_coverage covered)
{
    v->coverage = covered;
    v->why = rep->why;
    v->altered = rep->altered;
    v->altered.own = v->s.args->own_run;
    rset_repaired_report(rep, &v->mine);
    decide(v);
}

static rset_status
restore_own(serial *v, rset_repair *rep, rset_err *err)
{
    rset_status st = rset_repaired_begin_undo(rep, &v->mine, err);

    v->out->acted = true;
    if (st == RSET_OK)
        st = rset_repair_publish(rep, &v->out->replaced, err);
    rset_repaired_note(rep, &v->decision, &v->mine, v->s.args->own_run, v->out);
    return st;
}

/* Is the own file restored, as the table says? */
static bool
restores(const serial *v)
{
    return v->decision.verdict == RSET_VERDICT_RESTORE && !v->s.args->dry_run;
}

static void
tell_watch(const serial *v, const rset_repair *rep)
{
    const uint64_t bytes = rset_repair_bytes(rep);

    if (bytes > 0)
        rset_repaired_tell(v->s.args->watch, rep, &v->mine,
                           (rset_rebuilding){.rank = v->s.desc.rank, .ranks = 1, .bytes = bytes});
}

static void
run_member(rset_comm *set, void *arg)
{
    serial            *v = arg;
    rset_found_member *p = &v->s.pieces[set->rank];
    const bool         me = set->rank == v->s.desc.member;
    rset_coverage      covered = RSET_COVERAGE_UNKNOWN;
    rset_repair        rep = {.set = set,
                              .local = me ? v->s.args->local : &p->local,
                              .evidence = me ? v->s.args->evidence : &p->evidence,
                              .verified = me && v->mine.state == RSET_STATE_CURRENT ? &v->verified : NULL,
                              .generation = v->s.desc.generation,
                              .writable = me,
                              .content = RSET_CONTENT_ALL,
                              .cramped = me && v->cramped,
                              .outdated = me && v->s.args->outdated,
                              .host = "",
                              .why = RSET_ERR_NONE};
    rset_phase_scope   scope;
    rset_status        st;

    rset_phases_begin(&scope);
    p->err = RSET_ERR_NONE;
    rep.changed = has_changed(rep.evidence, &v->standing, rep.local->dir != NULL);
    st = rset_agree(set, rset_repair_look(&rep, &p->err), "", &p->err);
    if (st == RSET_OK)
        st = rset_agree(set, rset_repair_plan(&rep, &covered, &p->err), "", &p->err);
    if (st == RSET_OK && me)
        ask_the_table(v, &rep, covered);
    if (st == RSET_OK)
        st = rset_agree(set, RSET_OK, "", &p->err);
    if (st == RSET_OK && v->cramped) /* nothing is laid over a file that counts as closed */
        st = rset_agree(set, me ? rset_repaired_begin_undo(&rep, &v->mine, &p->err) : RSET_OK, "",
                        &p->err);
    if (st == RSET_OK && me && restores(v))
        tell_watch(v, &rep);
    if (st == RSET_OK && restores(v))
        st = rset_agree(set, rset_repair_write(&rep, RSET_OK, &p->err), "", &p->err);
    if (me)
        v->no_room = rep.no_room;
    if (st == RSET_OK && me && restores(v))
        st = restore_own(v, &rep, &p->err);
    p->st = st;
    rset_repair_end(&rep);
    rset_phases_end(&scope);
    p->spent = scope.spent;
}

/* All pieces at once; what the threads have done in this time, shared out. */
static rset_status
run_members(serial *v)
{
    const int   n = v->s.desc.members;
    rset_phases together = {0};
    rset_status st = rset_local_run(n, LOCAL_TIMEOUT, run_member, v, v->s.err);

    for (int m = 0; m < n; m++)
        rset_phases_add(&together, &v->s.pieces[m].spent);
    if (st == RSET_OK) /* rank 0 was in this thread */
        rset_phases_spread(&together, rset_phases_total(&v->s.pieces[0].spent));
    return st;
}

/* ---- what follows ---- */

static rset_status
refuse(serial *v)
{
    const char *name = rset_local_name(v->s.args->local);
    const bool  changed = v->decision.reason == RSET_REASON_CHANGED;
    char        text[RSET_ERR_TEXT], missing[256] = "", how[128] = "lost or damaged";

    if ((changed || v->decision.reason == RSET_REASON_UNRECOVERABLE) && v->s.pieces != NULL)
        rset_search_list_missing(&v->s, missing, sizeof missing);
    if (changed)
        rset_changed_say(&v->altered, how, sizeof how);
    if (missing[0] != '\0')
        return rset_fail(v->s.err, RSET_LOST,
                         "%s: %s, and pieces of members %s of its set are out of reach of this "
                         "process; open it under mpiexec with one rank on each of the nodes, or "
                         "name their directories with search=%s (%s)",
                         name, how, missing, changed ? "; changed=keep opens it as it is" : "",
                         v->why.text);
    rset_reason_say(v->decision.reason, &v->all, name, v->why.text[0] != '\0' ? v->why.text : NULL,
                    text, sizeof text);
    return rset_fail(v->s.err, v->decision.reason == RSET_REASON_BUSY ? RSET_BUSY : RSET_LOST, "%s",
                     text);
}

static void
say_renamed(serial *v)
{
    if (was_renamed(v))
        snprintf(v->out->note, sizeof v->out->note,
                 "%s: was protected under the name %.*s, and what protects it has that name still; "
                 "opened as it is, which is what was protected; open it with all ranks to have it "
                 "protected under its new name",
                 rset_local_name(v->s.args->local), (int)strlen(v->renamed_from) - 1,
                 v->renamed_from);
}

/* Notes for the caller how the own file was restored. */
static void
say_restored(serial *v)
{
    const rset_outcome *out = v->out;
    const char         *name = rset_local_name(v->s.args->local);
    char                how[576] = "rebuilt from the pieces within reach";

    if (rset_state_has_changed(v->mine.state))
        snprintf(how, sizeof how, "rolled back to what was protected last");
    else if (out->aside != 0)
        rset_put_aside_say(&out->altered, rset_path_base(name), out->aside, how, sizeof how);
    snprintf(v->out->note, sizeof v->out->note, "%s: %s", name, how);
}

/* Says what was decided; *v->s.err when it was refused. */
static rset_status
conclude(serial *v)
{
    const char *name = rset_local_name(v->s.args->local);

    v->out->reason = v->decision.reason;
    v->out->protected_ = v->decision.protection == RSET_PROTECTION_VALID;
    rset_outcome_note(v->out, &v->decision, &v->mine);
    if (v->decision.verdict == RSET_VERDICT_NEVER) {
        v->out->never = true;
        return rset_fail(v->s.err, RSET_ABSENT, "%s: nothing within reach records this file", name);
    }
    if (v->decision.verdict != RSET_VERDICT_KEEP && v->decision.verdict != RSET_VERDICT_RESTORE)
        return refuse(v);
    if (v->decision.verdict == RSET_VERDICT_RESTORE && v->out->replaced)
        say_restored(v);
    else
        rset_reason_say(v->decision.reason, &v->all, name, NULL, v->out->note, sizeof v->out->note);
    if (v->decision.reason == RSET_REASON_NO_RECORD_AS_IS)
        say_renamed(v);
    return RSET_OK;
}

/* By what others record. */
static rset_status
look_around(serial *v)
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
            st = report_own(v); /* reads all that is left of it */
    }
    decide(v);
    return st;
}

/* With the others' pieces. */
static rset_status
repair(serial *v)
{
    rset_status              st = rset_search_pieces(&v->s);
    const rset_found_member *own;

    if (st == RSET_OK && (v->mine.facts & RSET_FACT_GONE) != 0 && rset_search_has_one_left(&v->s))
        v->mine.facts &= ~(unsigned)RSET_FACT_GONE;
    if (st == RSET_OK)
        st = run_members(v);
    if (st == RSET_OK && v->no_room) {
        v->cramped = true;
        st = run_members(v);
    }
    if (st != RSET_OK)
        return st;
    own = &v->s.pieces[v->s.desc.member];
    return own->st == RSET_OK ? RSET_OK : rset_fail(v->s.err, own->st, "%s", own->err.text);
}

/* What others have may matter: the own redundancy file does not say what the file should be, or a commit is in doubt. */
static bool
has_to_look_around(const serial *v)
{
    return v->decision.verdict == RSET_VERDICT_LOOK ||
           v->decision.verdict == RSET_VERDICT_FORWARD ||
           (v->standing.counts == 0 && v->decision.verdict != RSET_VERDICT_KEEP) ||
           (v->standing.counts == 0 && v->mine.state == RSET_STATE_UNKNOWN) ||
           (v->mine.facts & RSET_FACT_PREPARED) != 0;
}

/* What the table says, after a look at what others have where that may matter. */
static rset_status
look_and_decide(serial *v)
{
    rset_status st = report_own(v);

    decide(v);
    return st == RSET_OK && has_to_look_around(v) ? look_around(v) : st;
}

/* What was found beside other files was looked for by what this rank's directory said then. */
static void
forget_search(serial *v)
{
    const rset_serial_args *a = v->s.args;

    rset_search_free(&v->s);
    v->s = (rset_search){.args = a, .err = v->s.err};
    v->coverage = RSET_COVERAGE_UNKNOWN;
}

/* In a dry run the files count as they will be once this rank's share of a commit that was decided is finished. */
static rset_status
foresee_commit(serial *v)
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
finish_commit(serial *v)
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
stand_and_decide(serial *v)
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
hold(serial *v)
{
    const rset_serial_args *a = v->s.args;
    rset_err                own = RSET_ERR_NONE;
    rset_status             st = RSET_OK;

    if (!a->readonly && !a->dry_run && v->held == NULL)
        st = rset_claim_to_repair(a->local->dir, a->local->prefix, rset_local_name(a->local),
                                  LOCAL_TIMEOUT, &v->held, &own);
    return st == RSET_BUSY || st == RSET_NOMEM ? rset_fail(v->s.err, st, "%s", own.text) : RSET_OK;
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
look_again(serial *v)
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
has_to_act(const serial *v)
{
    return v->decision.verdict == RSET_VERDICT_FORWARD || v->decision.verdict == RSET_VERDICT_LOOK;
}

/* Does what the verdict asks for. */
static rset_status
act(serial *v)
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
open_serially(serial *v)
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
    return st == RSET_OK ? conclude(v) : st;
}

/* Has another process changed the files since they were looked at, so that what was found amiss may be its work, and no finding? */
static bool
has_moved(const serial *v, rset_status st)
{
    const rset_serial_args *a = v->s.args;

    return !a->outdated && !a->dry_run &&
           (st == RSET_LOST || st == RSET_DAMAGED || st == RSET_IO ||
            (st == RSET_ABSENT && !v->out->never)) &&
           rset_evidence_has_moved(a->local, a->evidence);
}

static rset_status
open_what_is_there(serial *v)
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
    serial      v = {.s = {.args = args, .err = err},
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
