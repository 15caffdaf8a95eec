/* model_recovery.c: recovery by all ranks, and by one process alone, and how it is judged. See model_steps.h. */
#include "model_steps.h"

#include <string.h>

enum { R_BEGIN, R_CLEAR, R_DATA, R_UNDONE, R_REDUNDANCY, R_JOURNAL, R_DONE };

/* The file is about to be replaced: if another program has changed it, that version is put aside first. */
static void
put_aside(model_disk *d)
{
    d->changed += model_is_user(d);
}

static void
finish_step(const model_explorer *e, model_world *w, int r)
{
    model_disk *d = &w->d[r];

    switch (w->pc[r]++) {
    case R_BEGIN:
        if (d->next == w->target) {
            d->red = d->next;
            d->next = 0;
        }
        break;
    case R_CLEAR:
        if (d->shadow_named) {
            d->data = d->shadow;
            d->shadow = C_NONE;
            d->shadow_named = 0;
        }
        break;
    case R_DATA:
        if (model_is_version(d->data, w->target))
            break;
        put_aside(d);
        d->data = model_version(e, r, w->target);
        break;
    case R_REDUNDANCY: d->red_void = 0; break;
    case R_JOURNAL: model_clear_change(d); break;
    default: break;
    }
}

static void
restore_step(const model_explorer *e, model_world *w, int r)
{
    model_disk *d = &w->d[r];
    const bool  undo = w->action[r] == RSET_ACTION_UNDO && model_can_undo(d);

    switch (w->pc[r]++) {
    case R_BEGIN:
        if (w->action[r] == RSET_ACTION_UNDO && d->journal == J_CLOSED) {
            d->journal = J_OPEN;
            d->label = d->label_ranks = 0;
        }
        break;
    case R_CLEAR: d->next = d->shadow = d->shadow_named = 0; break;
    case R_DATA:
        if (model_is_version(d->data, w->target))
            break;
        if (undo && d->replaced) {
            d->data = d->aside;
            d->aside = C_NONE;
        } else if (undo) {
            d->data = C_TORN;
        } else {
            put_aside(d);
            d->data = model_version(e, r, w->target);
        }
        break;
    case R_UNDONE: d->data = model_version(e, r, w->target); break;
    case R_REDUNDANCY:
        d->red = w->target;
        d->red_void = 0;
        break;
    case R_JOURNAL: model_clear_change(d); break;
    default: break;
    }
}

/* Each version that another program wrote is on some node: under the file's name, or put aside. */
static void
judge_user(model_explorer *e, const model_world *w)
{
    int has = 0;

    for (int r = 0; r < MODEL_RANKS; r++)
        has += model_users(&w->d[r]);
    if (has != w->user)
        model_wrong(e, w, "what another program wrote is nowhere");
}

static void
judge(model_explorer *e, const model_world *w, bool flagged)
{
    bool old = true, new = true;

    e->out->recoveries++;
    judge_user(e, w);
    for (int r = 0; r < MODEL_RANKS; r++) {
        old = old && w->d[r].data != C_NONE && model_is_version(w->d[r].data, 1);
        new = new && w->d[r].data != C_NONE &&model_is_version(w->d[r].data, 2);
    }
    if (new)
        e->out->new ++;
    else if (old && w->told < 2)
        e->out->old++;
    else if (old)
        model_wrong(e, w, "went back over what all were told is protected");
    else if (!flagged)
        model_wrong(e, w, "a mixture");
}

/* Each file is as generation `g` has it, or as another program left it. */
static bool
is_kept_by(const model_world *w, int g)
{
    bool is = true;

    for (int r = 0; r < MODEL_RANKS; r++)
        is = is && w->d[r].data != C_NONE &&
             (model_is_user(&w->d[r]) || model_is_version(w->d[r].data, g));
    return is;
}

/* Nothing but what another program has changed is other than generation `g`. */
static bool
only_changed(const model_world *w, int g)
{
    bool is = is_kept_by(w, g), changed = false;

    for (int r = 0; r < MODEL_RANKS; r++) {
        const model_disk *d = &w->d[r];

        is = is && d->red == g && d->red_void == 0 && d->journal == J_NONE && d->next == 0 &&
             d->shadow == C_NONE;
        changed = changed || model_is_user(d);
    }
    return is && changed;
}

/* With changed=keep they are opened as they are where all others are right, and always where nothing else is amiss. */
static void
judge_keep(model_explorer *e, const model_world *w)
{
    uint8_t             target, action[MODEL_RANKS];
    const rset_decision then = model_decide(w, true, &target, action);
    const bool          kept = then.reason == RSET_REASON_CHANGED_KEPT;

    e->out->kept += kept;
    if (kept && !is_kept_by(w, target))
        model_wrong(e, w, "changed files are kept beside others that are not right");
    if (!kept && (only_changed(w, 1) || only_changed(w, 2)))
        model_wrong(e, w, "changed files are not kept (%s)", rset_reason_name(then.reason));
}

void
model_begin_recovery(model_explorer *e, const model_world *w)
{
    model_world         next = *w;
    const rset_decision then = model_decide(w, false, &next.target, next.action);

    judge_keep(e, w);
    switch (then.verdict) {
    case RSET_VERDICT_RESTORE:
        next.phase = PHASE_RECOVER;
        memset(next.pc, 0, sizeof next.pc);
        model_reach(e, &next);
        break;
    case RSET_VERDICT_REFUSE:
        e->out->recoveries++;
        e->out->refused++;
        judge_user(e, w);
        if (w->losses + w->changes <= 1 && (e->s->protected_ || w->told == 2))
            model_wrong(e, w, "refused (%s) though not more was lost than is covered",
                        rset_reason_name(then.reason));
        break;
    case RSET_VERDICT_NEVER:
    case RSET_VERDICT_KEEP: judge(e, w, !e->s->protected_ && w->told < 2); break;
    default: model_wrong(e, w, "no verdict (%s)", rset_reason_name(then.reason));
    }
}

void
model_recovery_steps(model_explorer *e, const model_world *w)
{
    int slowest = R_DONE, done = 0;

    for (int r = 0; r < MODEL_RANKS; r++) {
        slowest = w->pc[r] < slowest ? w->pc[r] : slowest;
        done += w->pc[r] >= R_DONE;
    }
    if (done == MODEL_RANKS) {
        judge(e, w, false);
        return;
    }
    for (int r = 0; r < MODEL_RANKS; r++) {
        model_world next = *w;

        if (w->pc[r] >= R_DONE || (w->pc[r] == R_CLEAR && slowest == R_BEGIN))
            continue; /* nobody loses anything before all say that they go back */
        if (w->action[r] == RSET_ACTION_NOTHING)
            next.pc[r] = R_DONE;
        else if (w->action[r] == RSET_ACTION_FINISH)
            finish_step(e, &next, r);
        else
            restore_step(e, &next, r);
        model_reach(e, &next);
    }
}

void
model_serial_open(model_explorer *e, const model_world *w, int r, bool sees_all)
{
    model_world   next = *w;
    const int     own = model_header_of(&w->d[r]);
    int           counts = own;
    rset_policy   policy = {.serial = true};
    rset_coverage covered;
    rset_report   report;
    rset_summary  one;
    rset_decision then;

    for (int i = 0; sees_all && i < MODEL_RANKS; i++)
        if (model_header_of(&w->d[i]) > counts)
            counts = model_header_of(&w->d[i]);
    if (w->d[r].next > counts)
        policy.prepared_ranks = MODEL_RANKS;
    policy.published_ranks = counts != 0 ? MODEL_RANKS : 0;
    report = model_classify(&w->d[r], r, counts, policy.prepared_ranks != 0 ? 2 : 0);
    one = rset_summarise(&report);
    covered = sees_all                                                   ? model_cover(w, counts)
              : model_has_data(&w->d[r], counts) && own == counts && own ? RSET_COVERAGE_DATA
                                                                         : RSET_COVERAGE_NOT;
    then = rset_decide(&one, RSET_COVERAGE_UNKNOWN, &policy);
    if (then.verdict == RSET_VERDICT_LOOK)
        then = rset_decide(&one, covered, &policy);
    if (then.reason == RSET_REASON_HEALTHY && !model_is_version(w->d[r].data, own))
        model_wrong(e, w, "one process takes a wrong file for a healthy one");
    if (then.verdict != RSET_VERDICT_RESTORE)
        return;
    next.target = (uint8_t)counts;
    next.action[r] = (uint8_t)rset_act(&then, &report);
    for (next.pc[r] = 0; next.pc[r] < R_DONE;)
        if (next.action[r] == RSET_ACTION_FINISH)
            finish_step(e, &next, r);
        else if (next.action[r] == RSET_ACTION_NOTHING)
            next.pc[r] = R_DONE;
        else
            restore_step(e, &next, r);
    next.target = 0;
    memset(next.pc, 0, sizeof next.pc);
    memset(next.action, 0, sizeof next.action);
    next.serial++;
    model_reach(e, &next);
}
