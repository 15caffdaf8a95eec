/* decide_merge.c: what ranks report is added up: which generations there are, and how all ranks stand to the one that counts. Nothing of it
 * depends on the order in which ranks are added (unit.decide_merge). See decide.h. */
#include "decide.h"

#include "member/member.h"

#include <string.h>

/* ---- the census ---- */

static bool
comes_before(const rset_candidate *a, const rset_candidate *b)
{
    return a->generation > b->generation;
}

static void
add_candidate(rset_census *census, const rset_candidate *more)
{
    size_t i = 0;

    if (more->generation == 0)
        return;
    while (i < RSET_CENSUS_MAX && comes_before(&census->at[i], more))
        i++;
    if (i == RSET_CENSUS_MAX)
        return;
    if (census->at[i].generation == more->generation) {
        census->at[i].published += more->published;
        census->at[i].prepared += more->prepared;
        census->at[i].ranks = more->ranks > census->at[i].ranks ? more->ranks : census->at[i].ranks;
        return;
    }
    memmove(&census->at[i + 1], &census->at[i], (RSET_CENSUS_MAX - 1 - i) * sizeof census->at[0]);
    census->at[i] = *more;
}

void
rset_census_note(rset_census *census, uint64_t generation, uint64_t ranks, bool published)
{
    const rset_candidate one = {generation, ranks, published, !published};

    add_candidate(census, &one);
}

void
rset_census_merge(rset_census *into, const rset_census *other)
{
    for (size_t i = 0; i < RSET_CENSUS_MAX; i++)
        add_candidate(into, &other->at[i]);
}

static bool
same_count(const rset_candidate *a, const rset_candidate *b)
{
    return rset_generation_commits(a->generation) == rset_generation_commits(b->generation);
}

const rset_candidate *
rset_census_published(const rset_census *census)
{
    const rset_candidate *best = NULL;

    for (size_t i = 0; i < RSET_CENSUS_MAX; i++) {
        const rset_candidate *c = &census->at[i];

        if (c->published == 0 || c->ranks == 0 || (best != NULL && !same_count(c, best)))
            continue;
        if (best == NULL || c->published + c->prepared > best->published + best->prepared)
            best = c;
    }
    return best;
}

const rset_candidate *
rset_census_prepared(const rset_census *census)
{
    const rset_candidate *counts = rset_census_published(census);

    for (size_t i = 0; i < RSET_CENSUS_MAX && census->at[i].generation != 0; i++) {
        const rset_candidate *c = &census->at[i];

        if (c == counts || (counts != NULL && !comes_before(c, counts)))
            return NULL;
        if (c->published == 0 && c->ranks != 0)
            return c;
    }
    return NULL;
}

/* ---- merging ---- */

static void
add_label(rset_summary *all, const rset_label *label, uint64_t count)
{
    int i = 0;

    while (i < RSET_LABELS_MAX && all->labels[i].count > 0 &&
           memcmp(&all->labels[i].label, label, sizeof *label) < 0)
        i++;
    if (i < RSET_LABELS_MAX && all->labels[i].count > 0 &&
        memcmp(&all->labels[i].label, label, sizeof *label) == 0) {
        all->labels[i].count += count;
        return;
    }
    if (all->labels[RSET_LABELS_MAX - 1].count > 0) {
        all->labels_lost = 1;
        return;
    }
    memmove(&all->labels[i + 1], &all->labels[i],
            (size_t)(RSET_LABELS_MAX - 1 - i) * sizeof all->labels[0]);
    all->labels[i].label = *label;
    all->labels[i].count = count;
}

rset_summary
rset_summarise(const rset_report *report)
{
    rset_summary s = {.ranks = 1, .facts = report->facts, .common = report->facts};

    s.count[report->state] = 1;
    s.least_mark = s.most_mark = report->mark;
    s.least_name = s.most_name = report->name;
    s.least_wrote = s.most_wrote = report->wrote;
    s.least_when = s.most_when = report->when;
    s.changed = (report->facts & RSET_FACT_CHANGED) != 0;
    s.longer = (report->facts & RSET_FACT_LONGER) != 0;
    s.ours = report->ours;
    s.first_state[report->state] = report->rank + 1;
    for (int i = 0; i < RSET_FACTS; i++)
        if ((report->facts >> i & 1) != 0)
            s.first_fact[i] = report->rank + 1;
    /* One process alone has finished when it has closed: that is always complete. */
    if (report->state == RSET_STATE_CLOSED && report->label.ranks != 1)
        add_label(&s, &report->label, 1);
    return s;
}

static void
widen(uint64_t *least, uint64_t *most, uint64_t other_least, uint64_t other_most)
{
    if (*least == 0 || (other_least != 0 && other_least < *least))
        *least = other_least;
    if (other_most > *most)
        *most = other_most;
}

static int64_t
lower(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void
rset_merge(rset_summary *into, const rset_summary *other)
{
    if (other->ranks == 0)
        return;
    into->common = into->ranks == 0 ? other->common : into->common & other->common;
    into->ranks += other->ranks;
    into->facts |= other->facts;
    into->labels_lost |= other->labels_lost;
    widen(&into->least_mark, &into->most_mark, other->least_mark, other->most_mark);
    widen(&into->least_name, &into->most_name, other->least_name, other->most_name);
    widen(&into->least_wrote, &into->most_wrote, other->least_wrote, other->most_wrote);
    widen(&into->least_when, &into->most_when, other->least_when, other->most_when);
    into->changed += other->changed;
    into->longer += other->longer;
    into->ours += other->ours;
    for (int i = 0; i < RSET_LABELS_MAX && other->labels[i].count > 0; i++)
        add_label(into, &other->labels[i].label, other->labels[i].count);
    for (int i = 0; i < RSET_STATES; i++) {
        into->count[i] += other->count[i];
        into->first_state[i] = lower(into->first_state[i], other->first_state[i]);
    }
    for (int i = 0; i < RSET_FACTS; i++)
        into->first_fact[i] = lower(into->first_fact[i], other->first_fact[i]);
}

int
rset_summary_first(const rset_summary *all, unsigned states, unsigned facts)
{
    int64_t first = 0;

    for (int i = 0; i < RSET_STATES; i++)
        if ((states >> i & 1) != 0)
            first = lower(first, all->first_state[i]);
    for (int i = 0; i < RSET_FACTS; i++)
        if ((facts >> i & 1) != 0)
            first = lower(first, all->first_fact[i]);
    return (int)first - 1;
}
