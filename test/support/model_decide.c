/* model_decide.c: what a disk holds, what its rank reports, and what is decided. See model_steps.h. */
#include "model_steps.h"

/* ---- what a disk holds ---- */

int
model_header_of(const model_disk *d)
{
    return d->red > d->red_void ? d->red : d->red_void;
}

int
model_base_of(const model_disk *d)
{
    return d->journal != J_NONE && !d->first;
}

uint8_t
model_version(const model_explorer *e, int r, int generation)
{
    return e->s->deed[r] == DO_NOTHING ? C_BOTH : generation == 1 ? C_OLD : C_NEW;
}

static rset_state
state_of(const model_disk *d, int counts)
{
    const rset_state changed = d->journal == J_CLOSED ? RSET_STATE_CLOSED : RSET_STATE_OPEN;
    const int        h = model_header_of(d);

    if (counts != 0 && (d->next == counts || (h == counts && counts == 2 && d->shadow_named)))
        return RSET_STATE_COMMITTING;
    if (counts != 0 && h == counts) {
        if (model_base_of(d) == counts)
            return changed;
        return d->red_void == h && d->red != h ? RSET_STATE_OPEN : RSET_STATE_CURRENT;
    }
    if (h != 0)
        return RSET_STATE_OUTDATED;
    if (d->journal != J_NONE && (d->first || model_base_of(d) == counts))
        return changed;
    if (d->journal != J_NONE)
        return RSET_STATE_OUTDATED;
    return d->data == C_NONE ? RSET_STATE_NOTHING : RSET_STATE_UNKNOWN;
}

bool
model_is_version(uint8_t content, int generation)
{
    return content == C_BOTH || content == (generation == 1 ? C_OLD : C_NEW);
}

bool
model_can_undo(const model_disk *d)
{
    return model_base_of(d) == 1 &&
           (!d->replaced || model_is_version(d->aside, 1) || model_is_version(d->data, 1));
}

bool
model_has_data(const model_disk *d, int generation)
{
    if (model_is_version(d->data, generation) && d->data != C_NONE)
        return true;
    return generation == 1
               ? model_can_undo(d)
               : d->shadow_named && model_is_version(d->shadow, 2) && d->shadow != C_NONE;
}

bool
model_is_user(const model_disk *d)
{
    return d->data == C_USER;
}

uint8_t
model_users(const model_disk *d)
{
    return (uint8_t)(d->changed + model_is_user(d));
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

    if (model_header_of(d) != 0 || model_base_of(d) != 0)
        r.facts |= RSET_FACT_SIGN;
    if (d->journal != J_NONE && d->first)
        r.facts |= RSET_FACT_FIRST;
    if (d->data == C_NONE)
        r.facts |= RSET_FACT_MISSING | (d->aside == C_NONE ? RSET_FACT_GONE : 0);
    if (r.state == RSET_STATE_CURRENT && d->data != C_NONE && !model_is_version(d->data, counts))
        r.facts |= model_is_user(d) ? RSET_FACT_CHANGED : RSET_FACT_DAMAGED;
    if (prepared != 0 && d->next == prepared)
        r.facts |= RSET_FACT_PREPARED;
    if (model_is_version(d->data, model_header_of(d)) ||
        (prepared != 0 && model_is_version(d->data, prepared)))
        r.facts |= RSET_FACT_PRISTINE;
    if (r.state == RSET_STATE_CLOSED)
        r.label = (rset_label){d->label != 0, d->label, d->label_ranks};
    return r;
}

/* ---- deciding ---- */

rset_coverage
model_cover(const model_world *w, int generation)
{
    int  lost = 0;
    bool data = true, known = true;

    for (int r = 0; r < MODEL_RANKS; r++) {
        const model_disk *d = &w->d[r], *right = &w->d[(r + 1) % MODEL_RANKS];
        const bool        has = model_has_data(d, generation);

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
decide_for(const model_world *w, int counts, int prepared, bool keeps, uint8_t *action)
{
    const rset_policy policy = {.searched = true,
                                .published_ranks = counts != 0 ? MODEL_RANKS : 0,
                                .prepared_ranks = prepared != 0 ? MODEL_RANKS : 0};
    rset_summary      all = {0};
    rset_report       reports[MODEL_RANKS];
    rset_decision     then;

    for (int r = 0; r < MODEL_RANKS; r++) {
        rset_summary one;

        reports[r] = model_classify(&w->d[r], r, counts, prepared);
        reports[r].facts |= keeps ? RSET_FACT_KEEPS : 0;
        one = rset_summarise(&reports[r]);
        rset_merge(&all, &one);
    }
    note_pairs(reports);
    then = rset_decide(&all, RSET_COVERAGE_UNKNOWN, &policy);
    if (then.verdict == RSET_VERDICT_LOOK)
        then = rset_decide(&all, model_cover(w, counts), &policy);
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

rset_decision
model_decide(const model_world *w, bool keeps, uint8_t *target, uint8_t *action)
{
    rset_census           census = {0};
    const rset_candidate *c, *p;
    rset_decision         then;

    for (int r = 0; r < MODEL_RANKS; r++) {
        rset_census_note(&census, commits(model_header_of(&w->d[r])), MODEL_RANKS, true);
        rset_census_note(&census, commits(w->d[r].next), MODEL_RANKS, false);
    }
    c = rset_census_published(&census);
    p = rset_census_prepared(&census);
    *target = c != NULL ? (uint8_t)(c->generation / commits(1)) : 0;
    then = decide_for(w, *target, p != NULL ? (int)(p->generation / commits(1)) : 0, keeps, action);
    if (then.verdict == RSET_VERDICT_FORWARD) {
        *target = (uint8_t)(p->generation / commits(1));
        then = decide_for(w, *target, 0, keeps, action);
    }
    return then;
}

void
model_clear_change(model_disk *d)
{
    d->journal = J_NONE;
    d->first = d->replaced = d->label = d->label_ranks = d->aside = 0;
}
