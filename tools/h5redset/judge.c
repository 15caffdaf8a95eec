/* judge.c: see judge.h. What coverage there is goes as in the engine (set/rebuild_look.c), from what was seen. */
#include "judge.h"

#include "family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reports ---- */

/* Against what its own redundancy file records. Nothing is healthy that could not be looked at. */
static void
add_compared(const sighting *s, rset_report *report)
{
    if (s->trouble != NULL)
        report->facts |= RSET_FACT_DAMAGED;
    else if (s->damaged || s->data.n > 0)
        rset_classify_altered(&s->altered, report);
    if (s->payload.n > 0 || sighting_is_undescribed(s) || s->trouble != NULL)
        report->facts |= RSET_FACT_BARE;
}

static rset_report
report_of(const member *m, const rset_standing *standing)
{
    const sighting            *s = m->seen;
    rset_looked                looked = {.rank = m->rank, .gone = true};
    static const rset_evidence nothing = {0};
    rset_report                report;

    if (s != NULL) {
        looked.there = s->there && !s->said.placeholder;
        looked.gone = s->gone;
        looked.size = s->size;
        looked.renamed = s->renamed;
    }
    report = rset_classify(s != NULL ? &s->said : &nothing, standing, &looked);
    report.facts &= ~(unsigned)RSET_FACT_UNREAD;
    if (report.state == RSET_STATE_CURRENT && s != NULL)
        add_compared(s, &report);
    return report;
}

static void
decide(family *f)
{
    f->all = (rset_summary){0};
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;) {
        const rset_summary one = rset_summarise(&m->report);

        rset_merge(&f->all, &one);
    }
    f->decision = rset_decide(&f->all, f->worst, &f->policy);
}

/* ---- coverage ---- */

static void
copy_ranges(const rset_ranges *from, rset_ranges *to)
{
    for (size_t i = 0; i < from->n; i++)
        if (!rset_ranges_add(to, from->at[i].from, from->at[i].to))
            no_memory();
}

/* What is known of the content: its own redundancy file, or a neighbour's, was compared with it. */
static bool
is_compared(const member *m)
{
    return m->seen != NULL && m->seen->trouble == NULL && m->known != NULL &&
           (m->own || (m->seen->against != 0 && m->seen->against == m->known->desc.generation));
}

/* What its redundancy file has to record is known of its left neighbours and itself. */
static bool
is_recorded(const cat_set *s, int i)
{
    const int left = s->desc.scheme->left(s->desc.parity), n = s->desc.members;

    for (int d = 0; d <= left; d++)
        if (s->members[(i - d + n) % n].known == NULL)
            return false;
    return true;
}

/* What was seen of a member; without a record of its content a file is taken for what a neighbour records where it has that size. */
static void
look_at_member(const cat_set *s, int i, rset_health *h, unsigned *flags)
{
    static const rset_altered by_nobody = {0};
    member                   *m = &s->members[i];
    const bool                unknown = m->report.state == RSET_STATE_UNKNOWN;
    const rset_pieces_found   found = {.known = m->known != NULL,
                                       .compared = is_compared(m),
                                       .there = unknown,
                                       .alike = unknown && m->known != NULL &&
                                                m->seen->size == rset_info_length(m->known),
                                       .has = m->own && m->seen->trouble == NULL,
                                       .records = is_recorded(s, i)};
    rset_pieces_are           are;
    rset_err                  ignored = RSET_ERR_NONE;

    if (found.compared)
        copy_ranges(&m->seen->data, &h->data);
    if (found.has)
        copy_ranges(&m->seen->payload, &h->payload);
    h->want_data = found.known;
    h->want_payload = true;
    if (rset_judge_pieces(&found, h, &are, &ignored) != RSET_OK)
        no_memory();
    *flags |= are.lacks;
    m->report.facts |= are.unverified ? RSET_FACT_UNVERIFIED : 0;
    m->report.facts |= h->payload.n > 0 || sighting_is_undescribed(m->seen) ? RSET_FACT_BARE : 0;
    if (found.compared)
        are.damaged = m->seen->damaged || m->seen->data.n > 0;
    /* What was changed without an undo journal, as the user wanted it, is no damage of the disk's. */
    if (are.damaged && (m->report.facts & RSET_FACT_IN_PLACE) == 0)
        rset_classify_altered(found.compared ? &m->seen->altered : &by_nobody, &m->report);
}

static rset_coverage
plan_set(cat_set *s, rset_health *health, uint64_t *length, unsigned flags)
{
    const rset_shape shape = {.scheme = s->desc.scheme,
                              .members = s->desc.members,
                              .parity = s->desc.parity,
                              .length = length,
                              .chunk = s->chunk};
    rset_err         why = RSET_ERR_NONE;
    rset_coverage    coverage;

    if (rset_cover(&shape, health, flags, NULL, &coverage, &why) != RSET_OK)
        no_memory();
    snprintf(s->why, sizeof s->why, "%.250s", why.text);
    return coverage;
}

static void
cover(cat_set *s)
{
    size_t       n = (size_t)s->desc.members;
    rset_health *health = must_alloc(n * sizeof *health);
    uint64_t    *length = must_alloc(n * sizeof *length);
    unsigned     flags = 0;

    for (int i = 0; i < s->desc.members; i++) {
        member *m = &s->members[i];

        length[i] = m->known != NULL ? rset_info_length(m->known) : UINT64_MAX;
        look_at_member(s, i, &health[i], &flags);
    }
    s->coverage = plan_set(s, health, length, flags);
    for (size_t i = 0; i < n; i++)
        rset_health_free(&health[i]);
    free(health);
    free(length);
}

/* Ranks of whose set nothing is known: a file can stay where it is there. */
static void
cover_lost(cat_set *s)
{
    s->coverage = RSET_COVERAGE_UNVERIFIED;
    for (int i = 0; i < s->desc.members; i++) {
        rset_report *r = &s->members[i].report;
        const bool   stays = r->state == RSET_STATE_UNKNOWN;

        r->facts |= RSET_FACT_BARE | (stays ? RSET_FACT_UNVERIFIED : RSET_FACT_DAMAGED);
        s->coverage = stays ? s->coverage : RSET_COVERAGE_NOT;
    }
}

/* Those that are lost, for the message. */
static void
name_lost(cat_set *s, int others)
{
    size_t used = (size_t)snprintf(s->why, sizeof s->why, "%srank%s", others > 0 ? "some of " : "",
                                   s->desc.members == 1 ? "" : "s");

    for (int i = 0; i < s->desc.members && used + 16 < sizeof s->why; i++)
        used += (size_t)snprintf(s->why + used, sizeof s->why - used, "%s %d", i > 0 ? "," : "",
                                 s->members[i].rank);
}

static void
look_at_sets(family *f)
{
    int empty = 0;

    f->worst = RSET_COVERAGE_UNKNOWN;
    for (int k = 0; k < f->nsets; k++) {
        cat_set *s = &f->sets[k];

        s->why[0] = '\0';
        if (s->lost)
            cover_lost(s);
        else
            cover(s);
        empty += s->lost && s->desc.members == 0;
        if (s->lost)
            name_lost(s, empty);
        f->worst = s->coverage > f->worst ? s->coverage : f->worst;
    }
}

/* ---- decisions ---- */

static void
reach_verdict(catalog *c, family *f)
{
    family_gather(c, f);
    for (member *m = NULL; (m = family_next(f, m)) != NULL;) {
        m->report = report_of(m, &f->standing);
        if (f->renamed)
            m->report.facts &= ~(unsigned)RSET_FACT_RENAMED;
        if (m->seen == NULL && family_may_have(c, f, m))
            m->report.facts &= ~(unsigned)RSET_FACT_GONE;
    }
    f->worst = RSET_COVERAGE_UNKNOWN;
    decide(f);
    if (f->decision.verdict == RSET_VERDICT_LOOK) {
        look_at_sets(f);
        decide(f);
    }
}

void
judge_family(catalog *c, family *f)
{
    bool again = true, forward = false;

    f->policy.undelete = c->undelete;
    while (again) {
        reach_verdict(c, f);
        again = rset_changes_generation(&f->decision, forward);
        if (again) {
            forward = !forward;
            family_choose(f, !forward);
            if (forward)
                rset_stand_forward(&f->standing, &f->policy);
        }
        if (f->decision.verdict == RSET_VERDICT_ADOPT) /* and then all look again */
            again = f->renamed = true;
    }
}

void
judge_stray(family *f)
{
    member *m = f->sets->members;

    m->rank = 0; /* the engine says what it is by itself */
    m->report = report_of(m, &f->standing);
    m->rank = -1;
    decide(f);
    m->state = state_of(m, &f->decision);
}

/* ---- in a word ---- */

bool
is_deleted(const rset_decision *decision)
{
    return decision->reason == RSET_REASON_DELETED;
}

file_state
state_of(const member *m, const rset_decision *decision)
{
    const unsigned facts = m->report.facts;

    if (is_deleted(decision))
        return STATE_DELETED;
    switch (m->report.state) {
    case RSET_STATE_COMMITTING: return STATE_COMMITTING;
    case RSET_STATE_NOTHING: return STATE_LOST;
    case RSET_STATE_OUTDATED: return STATE_OUTDATED;
    default: break;
    }
    if ((facts & RSET_FACT_MISSING) != 0)
        return STATE_LOST;
    if (rset_state_has_changed(m->report.state))
        return STATE_CHANGED;
    if ((facts & RSET_FACT_DAMAGED) != 0)
        return STATE_DAMAGED;
    if ((facts & RSET_FACT_CHANGED) != 0)
        return STATE_ALTERED;
    if (m->report.state == RSET_STATE_UNKNOWN || (facts & RSET_FACT_BARE) != 0)
        return STATE_BARE;
    return m->seen != NULL && m->seen->renamed ? STATE_RENAMED : STATE_HEALTHY;
}

member
member_after(const member *m, const rset_outcome *out)
{
    member now = *m;

    now.report = out->found;
    now.state = state_of(&now, &out->decided);
    return now;
}

/* Of a set of which nothing is lost. A rank that no set had room for is not protected for that. */
static cat_verdict
verdict_of_sound(const cat_set *s)
{
    if (rset_desc_is_left_over(&s->desc))
        return VERDICT_UNPROTECTED;
    for (int i = 0; i < s->desc.members; i++)
        if (s->members[i].state == STATE_RENAMED)
            return VERDICT_RENAMED;
    return VERDICT_HEALTHY;
}

static bool
is_healthy(const cat_set *s)
{
    for (int i = 0; i < s->desc.members; i++)
        if (s->members[i].state != STATE_HEALTHY && s->members[i].state != STATE_RENAMED)
            return false;
    return !s->lost;
}

static cat_verdict
verdict_of(const cat_set *s, const rset_decision *decision)
{
    if (is_deleted(decision))
        return VERDICT_DELETED;
    if (decision->verdict == RSET_VERDICT_KEEP)
        return decision->protection == RSET_PROTECTION_VALID ? verdict_of_sound(s)
                                                             : VERDICT_UNPROTECTED;
    if (decision->verdict == RSET_VERDICT_RESTORE && decision->protection == RSET_PROTECTION_NONE)
        return VERDICT_UNPROTECTED;
    if (is_healthy(s))
        return verdict_of_sound(s);
    if (decision->verdict == RSET_VERDICT_REFUSE && decision->reason == RSET_REASON_BUSY)
        return VERDICT_UNPROTECTED;
    switch (s->coverage) {
    case RSET_COVERAGE_WHOLE: return VERDICT_REPAIRABLE;
    case RSET_COVERAGE_DATA: return VERDICT_DATA_ONLY;
    default: return VERDICT_UNRECOVERABLE;
    }
}

/* Why there is no redundancy for a rank that no set had room for, after what has become of its file. */
static void
say_left_over(cat_set *s)
{
    const size_t used = strlen(s->why);
    const char  *before = s->lost ? " (not protected: " : "; not protected: ";

    snprintf(s->why + used, sizeof s->why - used,
             "%sits host (or group=) had more ranks than sets had room for%s",
             used > 0 ? before : "", s->lost ? ")" : "");
}

void
judge_set(cat_set *s, const family *f)
{
    s->verdict = f->superseded != 0 ? VERDICT_SUPERSEDED
                 : f->elsewhere     ? VERDICT_ELSEWHERE
                                    : verdict_of(s, &f->decision);
    if (s->verdict >= VERDICT_DELETED && s->verdict <= VERDICT_SUPERSEDED)
        s->why[0] = '\0'; /* nothing of it is missed */
    if (rset_desc_is_left_over(&s->desc))
        say_left_over(s);
}

bool
stands_in_the_way(const cat_set *s)
{
    return s->verdict > VERDICT_SUPERSEDED && !(rset_desc_is_left_over(&s->desc) && is_healthy(s));
}
