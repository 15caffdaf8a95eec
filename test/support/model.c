/* model.c: see model.h. */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL                                                                                        \
    {                                                                                              \
        DO_CREATE, DO_CREATE, DO_CREATE                                                            \
    }
#define PLACE                                                                                      \
    {                                                                                              \
        DO_UPDATE, DO_UPDATE, DO_UPDATE                                                            \
    }

const model_scenario model_scenarios[] = {
    {"created anew", true, -1, ALL},
    {"changed in place", true, -1, PLACE},
    {"written for the first time", false, -1, ALL},
    {"created anew, a node lost before", true, 2, ALL},
    {"changed by one rank", true, -1, {DO_UPDATE, DO_NOTHING, DO_NOTHING}},
    {"created by some, changed by others", true, -1, {DO_CREATE, DO_UPDATE, DO_NOTHING}},
};
const size_t model_nscenarios = sizeof model_scenarios / sizeof *model_scenarios;

/* ---- the world ---- */

enum { PHASE_WRITE, PHASE_BETWEEN, PHASE_RECOVER };

typedef struct world {
    model_disk d[MODEL_RANKS];
    uint8_t    pc[MODEL_RANKS], action[MODEL_RANKS];
    uint8_t    phase, gave_up, failed, voted, told, target, crashes, losses, serial;
} world;

typedef struct explorer {
    const model_scenario *s;
    model_result         *out;
    int                   crashes, losses;
    world                *todo;
    size_t                ntodo, room;
    world                *seen; /* open addressing; crashes of an unused slot are 255 */
    size_t                nseen, slots;
} explorer;

static uint64_t
hash(const world *w)
{
    const uint8_t *at = (const uint8_t *)w;
    uint64_t       h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof *w; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static bool
insert(world *slots, size_t n, const world *w)
{
    size_t i = hash(w) & (n - 1);

    for (; slots[i].crashes != 255; i = (i + 1) & (n - 1))
        if (memcmp(&slots[i], w, sizeof *w) == 0)
            return false;
    slots[i] = *w;
    return true;
}

static void *
must(void *at)
{
    if (at == NULL)
        abort();
    return at;
}

static void
grow_seen(explorer *e)
{
    world *old = e->seen;
    size_t n = e->slots;

    e->slots = n == 0 ? 1 << 12 : 2 * n;
    e->seen = must(malloc(e->slots * sizeof *e->seen));
    memset(e->seen, 255, e->slots * sizeof *e->seen);
    for (size_t i = 0; i < n; i++)
        if (old[i].crashes != 255)
            insert(e->seen, e->slots, &old[i]);
    free(old);
}

static void
reach(explorer *e, const world *w)
{
    if (2 * e->nseen >= e->slots)
        grow_seen(e);
    if (!insert(e->seen, e->slots, w))
        return;
    e->nseen++;
    if (e->ntodo == e->room) {
        e->room = e->room == 0 ? 1024 : 2 * e->room;
        e->todo = must(realloc(e->todo, e->room * sizeof *e->todo));
    }
    e->todo[e->ntodo++] = *w;
}

static const char *
show(const world *w, char *buf, size_t size)
{
    size_t used = 0;

    for (int r = 0; r < MODEL_RANKS; r++) {
        const model_disk *d = &w->d[r];

        used += (size_t)snprintf(buf + used, size - used,
                                 " {data %d red %d void %d next %d shadow %d%s aside %d journal "
                                 "%d%s%s label %d}",
                                 d->data, d->red, d->red_void, d->next, d->shadow,
                                 d->shadow_named ? "n" : "", d->aside, d->journal,
                                 d->first ? "f" : "", d->replaced ? "r" : "", d->label);
    }
    return buf;
}

static void wrong(explorer *e, const world *w, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
wrong(explorer *e, const world *w, const char *fmt, ...)
{
    char    text[256], disks[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (e->out->wrong++ == 0)
        snprintf(e->out->first_wrong, sizeof e->out->first_wrong,
                 "%s: %s; crashes %d, losses %d, told %d:%s", e->s->name, text, w->crashes,
                 w->losses, w->told, show(w, disks, sizeof disks));
}

/* ---- what a disk holds ---- */

static int
header_of(const model_disk *d)
{
    return d->red > d->red_void ? d->red : d->red_void;
}

static int
base_of(const model_disk *d)
{
    return d->journal != J_NONE && !d->first;
}

static uint8_t
version(const explorer *e, int r, int generation)
{
    return e->s->deed[r] == DO_NOTHING ? C_BOTH : generation == 1 ? C_OLD : C_NEW;
}

static rset_state
state_of(const model_disk *d, int counts)
{
    const rset_state changed = d->journal == J_CLOSED ? RSET_STATE_CLOSED : RSET_STATE_OPEN;
    const int        h = header_of(d);

    if (counts != 0 && (d->next == counts || (h == counts && counts == 2 && d->shadow_named)))
        return RSET_STATE_COMMITTING;
    if (counts != 0 && h == counts) {
        if (base_of(d) == counts)
            return changed;
        return d->red_void == h && d->red != h ? RSET_STATE_OPEN : RSET_STATE_CURRENT;
    }
    if (h != 0)
        return RSET_STATE_OUTDATED;
    if (d->journal != J_NONE && (d->first || base_of(d) == counts))
        return changed;
    if (d->journal != J_NONE)
        return RSET_STATE_OUTDATED;
    return d->data == C_NONE ? RSET_STATE_NOTHING : RSET_STATE_UNKNOWN;
}

static bool
is_version(uint8_t content, int generation)
{
    return content == C_BOTH || content == (generation == 1 ? C_OLD : C_NEW);
}

static bool
can_undo(const model_disk *d)
{
    return base_of(d) == 1 && (!d->replaced || is_version(d->aside, 1) || is_version(d->data, 1));
}

static bool
has_data(const model_disk *d, int generation)
{
    if (is_version(d->data, generation) && d->data != C_NONE)
        return true;
    return generation == 1 ? can_undo(d)
                           : d->shadow_named && is_version(d->shadow, 2) && d->shadow != C_NONE;
}

static bool
has_redundancy(const model_disk *d, int generation)
{
    return d->red == generation || d->red_void == generation || d->next == generation;
}

rset_report
model_classify(const model_disk *d, int rank, int counts, int prepared)
{
    rset_report r = {.state = state_of(d, counts), .rank = rank};

    if (header_of(d) != 0 || base_of(d) != 0)
        r.facts |= RSET_FACT_SIGN;
    if (d->journal != J_NONE && d->first)
        r.facts |= RSET_FACT_FIRST;
    if (d->data == C_NONE)
        r.facts |= RSET_FACT_MISSING;
    if (r.state == RSET_STATE_CURRENT && d->data != C_NONE && !is_version(d->data, counts))
        r.facts |= RSET_FACT_DAMAGED;
    if (prepared != 0 && d->next == prepared)
        r.facts |= RSET_FACT_PREPARED;
    if (is_version(d->data, header_of(d)) || (prepared != 0 && is_version(d->data, prepared)))
        r.facts |= RSET_FACT_PRISTINE;
    if (r.state == RSET_STATE_CLOSED)
        r.label = (rset_label){d->label != 0, d->label, d->label_ranks};
    return r;
}

/* ---- deciding ---- */

static rset_coverage
cover(const world *w, int generation)
{
    int  lost = 0;
    bool data = true, known = true;

    for (int r = 0; r < MODEL_RANKS; r++) {
        const model_disk *d = &w->d[r], *right = &w->d[(r + 1) % MODEL_RANKS];
        const bool        has = has_data(d, generation);

        lost += !has || !has_redundancy(d, generation);
        data = data && has;
        known = known && (has_redundancy(d, generation) || has_redundancy(right, generation));
    }
    if (!known)
        return data ? RSET_COVERAGE_UNVERIFIED : RSET_COVERAGE_NOT;
    return lost <= 1 ? RSET_COVERAGE_WHOLE : data ? RSET_COVERAGE_DATA : RSET_COVERAGE_NOT;
}

/* ---- what was seen ---- */

enum { SIGHTS = 4 * RSET_STATES };
static bool pairs[SIGHTS][SIGHTS];

static int
sight_of(const rset_report *r)
{
    return 4 * (int)r->state + ((r->facts & RSET_FACT_PREPARED) != 0 ? 2 : 0) +
           ((r->facts & RSET_FACT_FIRST) != 0 ? 1 : 0);
}

static void
note_pairs(const rset_report *reports)
{
    for (int a = 0; a < MODEL_RANKS; a++)
        for (int b = 0; b < MODEL_RANKS; b++)
            if (a != b)
                pairs[sight_of(&reports[a])][sight_of(&reports[b])] = true;
}

bool
model_saw(const rset_report *a, const rset_report *b)
{
    return pairs[sight_of(a)][sight_of(b)];
}

static rset_decision
decide_for(const world *w, int counts, int prepared, uint8_t *action)
{
    const rset_policy policy = {.published_ranks = counts != 0 ? MODEL_RANKS : 0,
                                .prepared_ranks = prepared != 0 ? MODEL_RANKS : 0};
    rset_summary      all = {0};
    rset_report       reports[MODEL_RANKS];
    rset_decision     then;

    for (int r = 0; r < MODEL_RANKS; r++) {
        rset_summary one;

        reports[r] = model_classify(&w->d[r], r, counts, prepared);
        one = rset_summarise(&reports[r]);
        rset_merge(&all, &one);
    }
    note_pairs(reports);
    then = rset_decide(&all, RSET_COVERAGE_UNKNOWN, &policy);
    if (then.verdict == RSET_VERDICT_LOOK)
        then = rset_decide(&all, cover(w, counts), &policy);
    for (int r = 0; r < MODEL_RANKS; r++)
        action[r] = (uint8_t)rset_act(&then, &reports[r]);
    return then;
}

/* A generation as the engine numbers them: so many commits, and random bits (FORMAT-extensions.md 2). */
static uint64_t
commits(int generation)
{
    return (uint64_t)generation << 40;
}

static rset_decision
decide(const world *w, uint8_t *target, uint8_t *action)
{
    rset_census           census = {0};
    const rset_candidate *c, *p;
    rset_decision         then;

    for (int r = 0; r < MODEL_RANKS; r++) {
        rset_census_note(&census, commits(header_of(&w->d[r])), MODEL_RANKS, true);
        rset_census_note(&census, commits(w->d[r].next), MODEL_RANKS, false);
    }
    c = rset_census_published(&census);
    p = rset_census_prepared(&census);
    *target = c != NULL ? (uint8_t)(c->generation / commits(1)) : 0;
    then = decide_for(w, *target, p != NULL ? (int)(p->generation / commits(1)) : 0, action);
    if (then.verdict == RSET_VERDICT_FORWARD) {
        *target = (uint8_t)(p->generation / commits(1));
        then = decide_for(w, *target, 0, action);
    }
    return then;
}

/* ---- the application's job ---- */

enum {
    W_BEGIN = 0,
    W_ARRIVED = 10,
    W_PREPARE,
    W_READY,
    W_VOTED,
    W_UNABLE,
    W_PUBLISH,
    W_PUBLISH_DATA,
    W_CLEAN,
    W_DISCARD,
    W_DONE,
    W_SETTLE = 30,
    W_SETTLE_VOID,
    W_SETTLE_ASIDE,
    W_SETTLE_PLACE,
    W_SETTLE_CLOSE,
    W_SETTLE_LABEL,
    W_ENDED
};

static void
make_void(model_disk *d)
{
    if (d->red != 0) {
        d->red_void = d->red;
        d->red = 0;
    }
}

static void
clear_change(model_disk *d)
{
    d->journal = J_NONE;
    d->first = d->replaced = d->label = d->label_ranks = d->aside = 0;
}

static bool
creates_in_place(const world *w, int r)
{
    const model_disk *d = &w->d[r];

    return header_of(d) == 0 && d->next == 0 && base_of(d) == 0;
}

static void
write_step(const explorer *e, world *w, int r)
{
    model_disk   *d = &w->d[r];
    const uint8_t at = w->pc[r]++;

    if (e->s->deed[r] == DO_NOTHING) {
        w->pc[r] = W_ARRIVED;
    } else if (e->s->deed[r] == DO_CREATE && (at > 4 || !creates_in_place(w, r))) {
        d->shadow = at == W_BEGIN ? C_TORN : C_NEW;
        w->pc[r] = at == W_BEGIN ? 5 : W_ARRIVED;
    } else if (e->s->deed[r] == DO_CREATE) {
        if (at == W_BEGIN) {
            d->journal = J_OPEN;
            d->first = 1;
        } else {
            d->data = at == 1 ? C_TORN : C_NEW;
        }
        if (at == 2)
            w->pc[r] = W_ARRIVED;
    } else if (at == W_BEGIN) {
        d->journal = J_OPEN;
    } else if (at == 1) {
        make_void(d);
    } else {
        d->data = at == 2 ? C_TORN : C_NEW;
        if (at == 3)
            w->pc[r] = W_ARRIVED;
    }
}

static void
settle_step(world *w, int r)
{
    model_disk *d = &w->d[r];
    const bool  beside = d->shadow != C_NONE;

    switch (w->pc[r]++) {
    case W_SETTLE:
        if (!beside && d->journal == J_NONE) {
            d->journal = J_OPEN;
        } else if (beside) {
            d->journal = J_OPEN;
            d->first = header_of(d) == 0;
            d->replaced = 1;
        }
        break;
    case W_SETTLE_VOID: make_void(d); break;
    case W_SETTLE_ASIDE:
        if (beside && d->aside == C_NONE && d->data != C_NONE) {
            d->aside = d->data;
            d->data = C_NONE;
        }
        break;
    case W_SETTLE_PLACE:
        if (beside) {
            d->data = d->shadow;
            d->shadow = C_NONE;
            d->shadow_named = 0;
        }
        break;
    case W_SETTLE_CLOSE:
        d->journal = J_CLOSED;
        d->label = 1;
        d->label_ranks = MODEL_RANKS;
        break;
    default: w->pc[r] = W_ENDED; break;
    }
}

static void
publish_step(world *w, int r)
{
    model_disk *d = &w->d[r];

    switch (w->pc[r]++) {
    case W_PREPARE: d->shadow_named = d->shadow != C_NONE; break;
    case W_READY: d->next = 2; break;
    case W_PUBLISH:
        d->red = 2;
        d->next = 0;
        break;
    case W_PUBLISH_DATA:
        if (d->shadow_named) {
            d->data = d->shadow;
            d->shadow = C_NONE;
            d->shadow_named = 0;
        }
        break;
    default: /* W_CLEAN */
        d->red_void = 0;
        clear_change(d);
        w->pc[r] = W_DONE;
    }
}

static void
emit(explorer *e, const world *w, int r, uint8_t pc)
{
    world next = *w;

    next.pc[r] = pc;
    reach(e, &next);
}

/* All that one rank may do next. */
static void
job_steps(explorer *e, const world *w, int r)
{
    world next = *w;
    int   arrived = 0, voting = 0, able = 0;

    for (int i = 0; i < MODEL_RANKS; i++) {
        arrived += w->pc[i] == W_ARRIVED;
        voting += w->pc[i] == W_VOTED || w->pc[i] == W_UNABLE;
        able += w->pc[i] == W_VOTED;
    }
    if (w->pc[r] < W_ARRIVED) {
        write_step(e, &next, r);
        reach(e, &next);
    } else if (w->pc[r] == W_ARRIVED) {
        if (arrived == MODEL_RANKS && r == 0) {
            for (int i = 0; i < MODEL_RANKS; i++)
                next.pc[i] = W_PREPARE;
            reach(e, &next);
        }
        next = *w;
        next.gave_up = 1;
        next.pc[r] = W_SETTLE;
        reach(e, &next);
    } else if (w->pc[r] == W_VOTED || w->pc[r] == W_UNABLE) {
        if (w->voted == 0 && voting == MODEL_RANKS) { /* 1: all go on, 2: nobody does */
            next.voted = able == MODEL_RANKS ? 1 : 2;
            reach(e, &next);
        }
        if (w->voted != 0 && w->pc[r] == W_VOTED)
            emit(e, w, r, w->voted == 1 ? W_PUBLISH : W_DISCARD);
        if (w->pc[r] == W_VOTED)
            emit(e, w, r, W_SETTLE); /* in doubt: keeps what it has prepared */
        else
            emit(e, w, r, W_DISCARD);
    } else if (w->pc[r] == W_DISCARD) {
        next.d[r].next = 0;
        next.pc[r] = W_SETTLE;
        reach(e, &next);
    } else if (w->pc[r] >= W_SETTLE && w->pc[r] < W_ENDED) {
        settle_step(&next, r);
        reach(e, &next);
    } else if (w->pc[r] < W_DONE) {
        if (w->pc[r] == W_READY)
            emit(e, w, r, W_UNABLE);
        publish_step(&next, r);
        reach(e, &next);
    }
}

/* ---- recovery ---- */

enum { R_BEGIN, R_CLEAR, R_DATA, R_UNDONE, R_REDUNDANCY, R_JOURNAL, R_DONE };

static void
finish_step(const explorer *e, world *w, int r)
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
        if (!is_version(d->data, w->target))
            d->data = version(e, r, w->target);
        break;
    case R_REDUNDANCY: d->red_void = 0; break;
    case R_JOURNAL: clear_change(d); break;
    default: break;
    }
}

static void
restore_step(const explorer *e, world *w, int r)
{
    model_disk *d = &w->d[r];
    const bool  undo = w->action[r] == RSET_ACTION_UNDO && can_undo(d);

    switch (w->pc[r]++) {
    case R_BEGIN:
        if (w->action[r] == RSET_ACTION_UNDO && d->journal == J_CLOSED) {
            d->journal = J_OPEN;
            d->label = d->label_ranks = 0;
        }
        break;
    case R_CLEAR: d->next = d->shadow = d->shadow_named = 0; break;
    case R_DATA:
        if (is_version(d->data, w->target))
            break;
        if (undo && d->replaced) {
            d->data = d->aside;
            d->aside = C_NONE;
        } else if (undo) {
            d->data = C_TORN;
        } else {
            d->data = version(e, r, w->target);
        }
        break;
    case R_UNDONE: d->data = version(e, r, w->target); break;
    case R_REDUNDANCY:
        d->red = w->target;
        d->red_void = 0;
        break;
    case R_JOURNAL: clear_change(d); break;
    default: break;
    }
}

static void
judge(explorer *e, const world *w, bool flagged)
{
    bool old = true, new = true;

    e->out->recoveries++;
    for (int r = 0; r < MODEL_RANKS; r++) {
        old = old && w->d[r].data != C_NONE && is_version(w->d[r].data, 1);
        new = new && w->d[r].data != C_NONE &&is_version(w->d[r].data, 2);
    }
    if (new)
        e->out->new ++;
    else if (old && w->told < 2)
        e->out->old++;
    else if (old)
        wrong(e, w, "went back over what all were told is protected");
    else if (!flagged)
        wrong(e, w, "a mixture");
}

static void
begin_recovery(explorer *e, const world *w)
{
    world               next = *w;
    const rset_decision then = decide(w, &next.target, next.action);

    switch (then.verdict) {
    case RSET_VERDICT_RESTORE:
        next.phase = PHASE_RECOVER;
        memset(next.pc, 0, sizeof next.pc);
        reach(e, &next);
        break;
    case RSET_VERDICT_REFUSE:
        e->out->recoveries++;
        e->out->refused++;
        if (w->losses <= 1 && (e->s->protected_ || w->told == 2))
            wrong(e, w, "refused (%s) though not more was lost than is covered",
                  rset_reason_name(then.reason));
        break;
    case RSET_VERDICT_NEVER:
    case RSET_VERDICT_KEEP: judge(e, w, !e->s->protected_ && w->told < 2); break;
    default: wrong(e, w, "no verdict (%s)", rset_reason_name(then.reason));
    }
}

static void
recovery_steps(explorer *e, const world *w)
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
        world next = *w;

        if (w->pc[r] >= R_DONE || (w->pc[r] == R_CLEAR && slowest == R_BEGIN))
            continue; /* nobody loses anything before all say that they go back */
        if (w->action[r] == RSET_ACTION_NOTHING)
            next.pc[r] = R_DONE;
        else if (w->action[r] == RSET_ACTION_FINISH)
            finish_step(e, &next, r);
        else
            restore_step(e, &next, r);
        reach(e, &next);
    }
}

/* One process alone opens the file of rank r, with the others' pieces in reach or not. */
static void
serial_open(explorer *e, const world *w, int r, bool sees_all)
{
    world         next = *w;
    const int     own = header_of(&w->d[r]);
    int           counts = own;
    rset_policy   policy = {.serial = true};
    rset_coverage covered;
    rset_report   report;
    rset_summary  one;
    rset_decision then;

    for (int i = 0; sees_all && i < MODEL_RANKS; i++)
        if (header_of(&w->d[i]) > counts)
            counts = header_of(&w->d[i]);
    if (w->d[r].next > counts)
        policy.prepared_ranks = MODEL_RANKS;
    policy.published_ranks = counts != 0 ? MODEL_RANKS : 0;
    report = model_classify(&w->d[r], r, counts, policy.prepared_ranks != 0 ? 2 : 0);
    one = rset_summarise(&report);
    covered = sees_all                                             ? cover(w, counts)
              : has_data(&w->d[r], counts) && own == counts && own ? RSET_COVERAGE_DATA
                                                                   : RSET_COVERAGE_NOT;
    then = rset_decide(&one, RSET_COVERAGE_UNKNOWN, &policy);
    if (then.verdict == RSET_VERDICT_LOOK)
        then = rset_decide(&one, covered, &policy);
    if (then.reason == RSET_REASON_HEALTHY && !is_version(w->d[r].data, own))
        wrong(e, w, "one process takes a wrong file for a healthy one");
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
    reach(e, &next);
}

/* Version 1, protected. */
static model_disk
first_disk(const explorer *e, int r)
{
    return (model_disk){.data = version(e, r, 1), .red = 1};
}

static void
between_jobs(explorer *e, const world *w)
{
    begin_recovery(e, w);
    for (int r = 0; r < MODEL_RANKS; r++) {
        world next = *w;

        if (w->serial < 2) {
            serial_open(e, w, r, false);
            serial_open(e, w, r, true);
        }
        if (w->losses >= e->losses)
            continue;
        next.losses++;
        next.d[r] = (model_disk){0};
        reach(e, &next);
        if (!e->s->protected_)
            continue;
        next.d[r] = first_disk(e, r); /* it comes back with what it had before */
        reach(e, &next);
    }
}

/* The job ends, killed or not. */
static void
end_job(explorer *e, const world *w, bool killed)
{
    world next = *w;

    if (killed && w->crashes == e->crashes)
        return;
    next.crashes += killed;
    next.phase = PHASE_BETWEEN;
    next.gave_up = next.failed = next.voted = next.target = next.serial = 0;
    memset(next.pc, 0, sizeof next.pc);
    memset(next.action, 0, sizeof next.action);
    reach(e, &next);
}

static void
expand(explorer *e, const world *w)
{
    world next = *w;
    int   done = 0, ended = 0;

    if (w->phase == PHASE_BETWEEN) {
        between_jobs(e, w);
        return;
    }
    end_job(e, w, true);
    if (w->phase == PHASE_RECOVER) {
        recovery_steps(e, w);
        return;
    }
    for (int r = 0; r < MODEL_RANKS; r++) {
        done += w->pc[r] == W_DONE;
        ended += w->pc[r] == W_DONE || w->pc[r] == W_ENDED;
    }
    if (done == MODEL_RANKS && w->told != 2) {
        next.told = 2;
        reach(e, &next);
        return;
    }
    if (ended == MODEL_RANKS) {
        end_job(e, w, false);
        return;
    }
    for (int r = 0; r < MODEL_RANKS; r++)
        job_steps(e, w, r);
}

void
model_explore(const model_scenario *s, int crashes, int losses, model_result *out)
{
    explorer e = {.s = s, .out = out, .crashes = crashes, .losses = losses};
    world    w = {0};

    *out = (model_result){0};
    for (int r = 0; s->protected_ && r < MODEL_RANKS; r++)
        w.d[r] = first_disk(&e, r);
    w.told = s->protected_;
    if (s->lost >= 0) {
        w.d[s->lost] = (model_disk){0};
        w.losses = 1;
    }
    reach(&e, &w);
    while (e.ntodo > 0) {
        const world at = e.todo[--e.ntodo];

        expand(&e, &at);
    }
    out->states = e.nseen;
    free(e.todo);
    free(e.seen);
}
