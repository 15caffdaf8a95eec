/* serial_members.c: the members of a set as threads of one process, by what it has found of them. See serial_internal.h. */
#include "comm/comm_local.h"
#include "repaired.h"
#include "serial_internal.h"

/* A commit that was published while its program wrote on has a journal that leads back to it, whether or not it was finished. */
static bool
has_changed(const rset_evidence *ev, const rset_standing *standing, bool there)
{
    const rset_looked looked = {.there = there};
    const rset_report r = rset_classify(ev, standing, &looked);

    return rset_state_has_changed(r.state) || rset_undo_is_next(&ev->undo);
}

/* What was found decides whether anything is written: v->decision, by which all members then do the same. */
static void
ask_the_table(rset_serial *v, const rset_repair *rep, rset_coverage covered)
{
    v->coverage = covered;
    v->why = rep->why;
    v->altered = rep->altered;
    v->altered.own = v->s.args->own_run;
    rset_repaired_report(rep, &v->mine);
    rset_serial_decide(v);
}

static rset_status
restore_own(rset_serial *v, rset_repair *rep, rset_err *err)
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
restores(const rset_serial *v)
{
    return v->decision.verdict == RSET_VERDICT_RESTORE && !v->s.args->dry_run;
}

static void
tell_watch(const rset_serial *v, const rset_repair *rep)
{
    const uint64_t bytes = rset_repair_bytes(rep);

    if (bytes > 0)
        rset_repaired_tell(v->s.args->watch, rep, &v->mine,
                           (rset_rebuilding){.rank = v->s.desc.rank, .ranks = 1, .bytes = bytes});
}

static void
run_member(rset_comm *set, void *arg)
{
    rset_serial       *v = arg;
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
rset_status
rset_serial_run_members(rset_serial *v)
{
    const int   n = v->s.desc.members;
    rset_phases together = {0};
    rset_status st = rset_local_run(n, RSET_SERIAL_TIMEOUT, run_member, v, v->s.err);

    for (int m = 0; m < n; m++)
        rset_phases_add(&together, &v->s.pieces[m].spent);
    if (st == RSET_OK) /* rank 0 was in this thread */
        rset_phases_spread(&together, rset_phases_total(&v->s.pieces[0].spent));
    return st;
}
