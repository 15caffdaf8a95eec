/* classify.c: see classify.h. */
#include "classify.h"

uint64_t
rset_generation_code(const rset_evidence *ev)
{
    if (!ev->has_header)
        return 0;
    return rset_evidence_generation(ev) != 0 ? rset_evidence_generation(ev)
                                             : RSET_GENERATION_FOREIGN;
}

uint64_t
rset_generation_of_code(uint64_t code)
{
    return code == RSET_GENERATION_FOREIGN ? 0 : code;
}

/* What the data file or the descriptor file names has been published: both are written after that. */
static uint64_t
named(const rset_evidence *ev)
{
    const uint64_t desc = ev->has_desc ? ev->desc.generation : 0;

    return rset_generation_newer(ev->mark, desc) ? ev->mark : desc;
}

rset_census
rset_take_census(const rset_evidence *ev)
{
    rset_census census = {0};

    if (rset_generation_newer(named(ev), rset_evidence_generation(ev)))
        rset_census_note(&census, named(ev), 0, true);
    if (ev->has_header)
        rset_census_note(&census, rset_generation_code(ev),
                         (uint64_t)ev->header.infos[0].desc.ranks, true);
    if (ev->next != 0 && ev->next != rset_evidence_generation(ev))
        rset_census_note(&census, ev->next, (uint64_t)ev->next_ranks, false);
    if (ev->next != 0 && ev->next_siblings == RSET_SIBLINGS_DECIDED)
        rset_census_note(&census, ev->next, 0, true);
    return census;
}

void
rset_stand(const rset_census *census, bool no_forward, rset_standing *standing_out,
           rset_policy *policy)
{
    const rset_candidate *c = rset_census_published(census);
    const rset_candidate *p = no_forward ? NULL : rset_census_prepared(census);

    *standing_out = (rset_standing){.counts = c != NULL ? c->generation : 0,
                                    .prepared = p != NULL ? p->generation : 0};
    policy->published_ranks = c != NULL ? c->ranks : 0;
    policy->prepared_ranks = p != NULL ? p->ranks : 0;
}

void
rset_stand_forward(rset_standing *standing, rset_policy *policy)
{
    *standing = (rset_standing){.counts = standing->prepared};
    policy->published_ranks = policy->prepared_ranks;
    policy->prepared_ranks = 0;
}

/* ---- states ---- */

static bool
is_first(const rset_undo *undo)
{
    return undo->there && (undo->head.flags & RSET_UNDO_FIRST) != 0;
}

static rset_state
changed_state(const rset_undo *undo)
{
    return undo->there && undo->head.state == RSET_UNDO_CLOSED ? RSET_STATE_CLOSED
                                                               : RSET_STATE_OPEN;
}

/* It has a redundancy file of the generation that counts. */
static rset_state
recorded_state(const rset_evidence *ev, uint64_t generation)
{
    if (rset_evidence_committing(ev))
        return RSET_STATE_COMMITTING;
    if (rset_undo_is_of(&ev->undo, generation))
        return changed_state(&ev->undo);
    return ev->is_void ? RSET_STATE_OPEN : RSET_STATE_CURRENT;
}

static rset_state
state_of(const rset_evidence *ev, uint64_t counts, bool there)
{
    const uint64_t generation = rset_generation_of_code(counts);

    if (counts != 0 && rset_generation_code(ev) == counts)
        return recorded_state(ev, generation);
    if (counts != 0 && ev->next == counts)
        return RSET_STATE_COMMITTING;
    if (ev->has_header)
        return RSET_STATE_OUTDATED;
    if (is_first(&ev->undo) || ev->undo.rotten ||
        (ev->undo.there && (counts == 0 || rset_undo_is_of(&ev->undo, generation))))
        return changed_state(&ev->undo);
    if (ev->undo.there)
        return RSET_STATE_OUTDATED;
    if (there && generation != 0 && ev->mark != 0 && ev->mark != generation)
        return RSET_STATE_OUTDATED; /* it says so itself, and nothing else does */
    return there ? RSET_STATE_UNKNOWN : RSET_STATE_NOTHING;
}

/* ---- facts ---- */

/* Without a redundancy file: does anything else say that the file belongs to a generation newer than this? */
static bool
is_newer(const rset_evidence *ev, uint64_t counts)
{
    if (ev->has_header || counts <= RSET_GENERATION_FOREIGN)
        return false;
    return rset_generation_newer(ev->mark, counts) ||
           (ev->has_desc && rset_generation_newer(ev->desc.generation, counts)) ||
           (ev->undo.there && rset_generation_newer(ev->undo.head.generation, counts));
}

/* A commit that was decided has its data file, and still has to give it the name. */
static bool
is_to_come(const rset_evidence *ev, const rset_standing *standing, rset_state state)
{
    return state == RSET_STATE_COMMITTING &&
           rset_evidence_has_shadow(ev, rset_generation_of_code(standing->counts));
}

static unsigned
facts_of(const rset_evidence *ev, const rset_standing *standing, const rset_looked *looked,
         rset_state state)
{
    const rset_undo *undo = &ev->undo;
    const bool       changed = rset_state_has_changed(state);
    unsigned         facts = 0;

    facts |= ev->any || undo->rotten ? RSET_FACT_SIGN : 0;
    facts |= changed && is_first(undo) ? RSET_FACT_FIRST : 0;
    facts |= looked->there ? 0 : RSET_FACT_MISSING;
    facts |= looked->gone && !is_to_come(ev, standing, state) ? RSET_FACT_GONE : 0;
    facts |= state == RSET_STATE_CLOSED && looked->there && looked->size != undo->head.closed
                 ? RSET_FACT_DAMAGED
                 : 0;
    facts |= changed && undo->there && (undo->head.flags & ~(unsigned)RSET_UNDO_NEXT) == 0
                 ? RSET_FACT_IN_PLACE
                 : 0;
    facts |= standing->prepared != 0 && ev->next == standing->prepared ? RSET_FACT_PREPARED : 0;
    facts |= standing->prepared != 0 && ev->next == standing->prepared &&
                     ev->next_siblings == RSET_SIBLINGS_MISSING
                 ? RSET_FACT_PARTED
                 : 0;
    facts |= is_newer(ev, standing->counts) ? RSET_FACT_NEWER : 0;
    facts |= ev->replaced ? RSET_FACT_REPLACED : 0;
    facts |= undo->busy ? RSET_FACT_BUSY : 0;
    facts |= ev->under_way ? RSET_FACT_UNDER_WAY : 0;
    facts |= looked->readonly ? RSET_FACT_READONLY : 0;
    facts |= looked->renamed ? RSET_FACT_RENAMED : 0;
    facts |= ev->orphans ? RSET_FACT_ORPHANS : 0;
    facts |= state == RSET_STATE_CURRENT ? RSET_FACT_UNREAD : 0;
    facts |= rset_evidence_names_differ(ev) ? RSET_FACT_NAMED : 0;
    facts |= ev->has_header && ev->header.infos[0].desc.rank != looked->rank &&
                     !rset_evidence_names_differ(ev)
                 ? RSET_FACT_RENUMBERED
                 : 0;
    return facts;
}

rset_report
rset_classify(const rset_evidence *ev, const rset_standing *standing, const rset_looked *looked)
{
    const rset_state state = state_of(ev, standing->counts, looked->there);
    rset_report      report = {.state = state,
                               .facts = facts_of(ev, standing, looked, state),
                               .mark = ev->mark,
                               .wrote = ev->has_header ? (uint64_t)ev->header.infos[0].desc.rank + 1 : 0,
                               .rank = looked->rank};

    if (state == RSET_STATE_CLOSED)
        report.label = ev->undo.head.label;
    return report;
}

rset_status
rset_classify_look(const rset_local *local, const rset_evidence *ev, const rset_standing *standing,
                   rset_looked *looked, rset_report *report_out, rset_err *err)
{
    struct stat sb = {0};
    rset_status st;

    looked->there = true;
    st = rset_local_there(local, &looked->there, err);
    if (st == RSET_OK && local->nfiles > 0 && looked->there)
        st = rset_dir_stat(local->dir, local->names[0], &sb, err);
    looked->size = (uint64_t)sb.st_size;
    looked->gone = st == RSET_OK && !looked->there && rset_evidence_gone(local, ev);
    looked->there = looked->there && !ev->placeholder;
    *report_out = rset_classify(ev, standing, looked);
    return st;
}

void
rset_classify_altered(const rset_altered *altered, rset_report *report)
{
    if (!altered->any) {
        report->facts |= RSET_FACT_DAMAGED;
        return;
    }
    report->facts |= RSET_FACT_CHANGED | (altered->longer ? RSET_FACT_LONGER : 0);
    report->when = altered->when;
    report->later = altered->later;
}

rset_status
rset_classify_verify(const rset_local *local, const rset_evidence *ev, rset_content content,
                     rset_report *report, rset_verified *found_out, rset_err *err)
{
    rset_verified v = {.data = content != RSET_CONTENT_NONE,
                       .payload = content == RSET_CONTENT_ALL};
    rset_altered  altered = {0};
    bool          current = false;
    rset_status   st = rset_verify_data(local, &ev->header.infos[0], v.data, &v.of_data, err);

    if (st == RSET_OK)
        st = rset_verify_payload(local, ev, v.payload, &v.of_payload, err);
    if (st == RSET_OK)
        st = rset_evidence_is_current(local, ev, &current, err);
    if (st == RSET_OK && !current)
        st = rset_fail(err, RSET_BUSY,
                       "%s: another process replaced it while it was verified; open it again",
                       rset_local_name(local));
    if (st == RSET_OK && v.of_data.any) {
        (void)rset_is_altered(local, ev, &ev->header.infos[0], &altered);
        rset_classify_altered(&altered, report);
    } else if (v.of_data.any)
        report->facts |= RSET_FACT_DAMAGED;
    if (v.of_payload.any || !rset_evidence_described(ev))
        report->facts |= RSET_FACT_BARE;
    rset_verified_free(found_out);
    if (st == RSET_OK)
        *found_out = v;
    else
        rset_verified_free(&v);
    return st;
}
