/* decide.c: what becomes of files, by a table. See decide.h; what it asks is added up in decide_merge.c. */
#include "decide.h"

#include "member/member.h"

#include <assert.h>

bool
rset_state_has_changed(rset_state state)
{
    return state == RSET_STATE_OPEN || state == RSET_STATE_CLOSED;
}

/* ---- the situation ---- */

/* What rows of the table ask for. */
enum {
    BUSY = 1 << 0,
    MISPLACED = 1 << 1, /* a rank has another's file, and names do not tell them apart */
    SIGN = 1 << 2,      /* of any earlier protection */
    RECORD = 1 << 3,    /* a generation is published */
    NEWER = 1 << 4,
    OTHER_RANKS = 1 << 5, /* those that came are not those that wrote one generation */
    OPEN = 1 << 6,
    CLOSED = 1 << 7,
    STEP = 1 << 8,  /* whatever is closed was closed by all ranks of its job, in one step */
    STRAY = 1 << 9, /* some file is neither closed nor current */
    COMMITTING = 1 << 10,
    MISSING = 1 << 11,
    LOSS = 1 << 12, /* a data file is missing, damaged or changed */
    BARE = 1 << 13,
    UNVERIFIED = 1 << 14,
    REWRITTEN = 1 << 15, /* on all ranks */
    IN_PLACE = 1 << 16,
    PREPARED = 1 << 17, /* by all ranks that were to */
    DOUBT = 1 << 18,    /* by any */
    PRISTINE = 1 << 19, /* on all ranks */
    READONLY = 1 << 20,
    REQUIRED = 1 << 21,
    SERIAL = 1 << 22,
    MARKS = 1 << 23,      /* data files name different generations */
    NOT_LOOKED = 1 << 24, /* coverage */
    COVERED = 1 << 25,    /* ... whole, or data */
    WHOLE = 1 << 26,
    NOT_COVERED = 1 << 27,
    UNREAD = 1 << 28,
    SEARCHED = 1 << 30,
    STOOD_IN = 1u << 31,
    OUTDATED = 1 << 29,     /* some file is of another generation than the one that counts */
    RENAMED = 1ull << 32,   /* some file has another name than what protects it */
    READS = 1ull << 33,     /* all ranks do nothing else */
    UNASKED = 1ull << 34,   /* it matters which files they open, and that is not known yet */
    BEHIND = 1ull << 35,    /* another rank knows of a newer generation of a file */
    MIXED = 1ull << 36,     /* files of one step, by their names, are of different generations */
    RESTART = 1ull << 37,   /* and the ranks open all of these, each one of its own */
    CHECKED = 1ull << 38,   /* content that nobody can verify is none to be opened */
    GONE = 1ull << 39,      /* all data files in sight are, and nobody wants them back */
    UNDER_WAY = 1ull << 40, /* a process that lives is committing some of them */
    CHANGED = 1ull << 41,   /* another program has changed some of them */
    BROKEN = 1ull << 42,    /* a data file is missing or damaged: nobody wanted that */
    KEEPS = 1ull << 43,     /* what was changed is wanted as it is, on all ranks */
    REPLACED = 1ull << 44,  /* new files were to take the place of some, maybe elsewhere */
};

static uint64_t
of_facts(const rset_summary *all)
{
    static const struct {
        uint64_t fact, means;
    } any[] = {{RSET_FACT_BUSY, BUSY},
               {RSET_FACT_SIGN, SIGN},
               {RSET_FACT_NEWER, NEWER},
               {RSET_FACT_MISSING, MISSING | LOSS | BROKEN},
               {RSET_FACT_DAMAGED, LOSS | BROKEN},
               {RSET_FACT_CHANGED, LOSS | CHANGED},
               {RSET_FACT_BARE, BARE},
               {RSET_FACT_UNVERIFIED, UNVERIFIED},
               {RSET_FACT_IN_PLACE, IN_PLACE},
               {RSET_FACT_PREPARED, DOUBT},
               {RSET_FACT_READONLY, READONLY},
               {RSET_FACT_UNREAD, UNREAD},
               {RSET_FACT_RENAMED, RENAMED},
               {RSET_FACT_BEHIND, BEHIND},
               {RSET_FACT_UNDER_WAY, UNDER_WAY},
               {RSET_FACT_REPLACED, REPLACED}};
    uint64_t is = 0;

    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if ((all->facts & any[i].fact) != 0)
            is |= any[i].means;
    if ((all->common & RSET_FACT_REWRITTEN) != 0)
        is |= REWRITTEN;
    if ((all->common & RSET_FACT_KEEPS) != 0)
        is |= KEEPS;
    if ((all->common & RSET_FACT_PRISTINE) != 0)
        is |= PRISTINE;
    if ((all->facts & RSET_FACT_RENUMBERED) != 0 && all->ranks > 1 &&
        all->least_name == all->most_name)
        is |= MISPLACED;
    return is | (all->least_mark != all->most_mark ? MARKS : 0);
}

/* Of other ranks than wrote the files two may have opened the same: then counting tells nothing, but where as many have come as
 * have closed. */
static bool
steps_complete(const rset_summary *all, bool others)
{
    if (all->labels_lost != 0)
        return false;
    for (int i = 0; i < RSET_LABELS_MAX && all->labels[i].count > 0; i++) {
        const rset_label *label = &all->labels[i].label;

        if (label->job == 0 || all->labels[i].count != label->ranks ||
            (others && label->ranks != all->ranks))
            return false;
    }
    return true;
}

/* No rank writes, and names tell files apart, or nobody who has come has a record that says whether they do: so each may open
 * what it likes, and that matters where not all is in order. Of renamed files the names tell nothing. */
bool
rset_has_to_ask(const rset_summary *all, const rset_policy *policy)
{
    const bool named = all->least_name != all->most_name || (all->facts & RSET_FACT_NAMED) != 0 ||
                       all->most_wrote == 0;
    const bool known = policy->published_ranks != 0 || (all->facts & RSET_FACT_SIGN) != 0;
    const bool well = all->count[RSET_STATE_CURRENT] == all->ranks &&
                      policy->published_ranks == all->ranks && !policy->stood_in &&
                      (all->facts & (RSET_FACTS_LOSS | RSET_FACT_BARE | RSET_FACT_PREPARED)) == 0;

    return policy->reads && !policy->asked && named && known && !well &&
           (all->facts & RSET_FACT_RENAMED) == 0;
}

static uint64_t
of_states(const rset_summary *all, const rset_policy *policy)
{
    const uint64_t *n = all->count;
    const bool      others = policy->stood_in || policy->apart;
    uint64_t        is = 0;

    if (n[RSET_STATE_OPEN] > 0)
        is |= OPEN;
    if (n[RSET_STATE_CLOSED] > 0)
        is |= CLOSED;
    if (n[RSET_STATE_COMMITTING] > 0)
        is |= COMMITTING;
    if (n[RSET_STATE_OUTDATED] > 0)
        is |= OUTDATED;
    if (n[RSET_STATE_CLOSED] + n[RSET_STATE_CURRENT] < all->ranks)
        is |= STRAY;
    if (policy->published_ranks != 0)
        is |= RECORD;
    if (policy->published_ranks != 0 && (policy->published_ranks != all->ranks || others))
        is |= OTHER_RANKS;
    if (policy->prepared_ranks != 0 && policy->prepared_ranks == all->ranks && !others &&
        (all->common & RSET_FACT_PREPARED) != 0 && (all->facts & RSET_FACT_PARTED) == 0)
        is |= PREPARED;
    if (steps_complete(all, (is & OTHER_RANKS) != 0))
        is |= STEP;
    return is;
}

static uint64_t
of_policy(const rset_summary *all, const rset_policy *policy)
{
    uint64_t is = rset_has_to_ask(all, policy) ? UNASKED : 0;

    is |= (all->common & RSET_FACT_GONE) != 0 && !policy->undelete ? GONE : 0;
    is |= policy->required ? REQUIRED : 0;
    is |= policy->serial ? SERIAL : 0;
    is |= policy->searched ? SEARCHED : 0;
    is |= policy->stood_in ? STOOD_IN : 0;
    is |= policy->reads ? READS : 0;
    is |= policy->mixed ? MIXED : 0;
    is |= policy->mixed && policy->restart ? RESTART : 0;
    is |= policy->required || policy->fallback ? CHECKED : 0;
    return is;
}

static uint64_t
of_coverage(rset_coverage worst)
{
    switch (worst) {
    case RSET_COVERAGE_UNKNOWN: return NOT_LOOKED;
    case RSET_COVERAGE_WHOLE: return COVERED | WHOLE;
    case RSET_COVERAGE_DATA: return COVERED;
    case RSET_COVERAGE_UNVERIFIED: return UNVERIFIED;
    default: return NOT_COVERED;
    }
}

/* ---- the table ---- */

#define KEEP    RSET_VERDICT_KEEP
#define RESTORE RSET_VERDICT_RESTORE
#define REFUSE  RSET_VERDICT_REFUSE
#define NONE    RSET_PROTECTION_NONE
#define VALID   RSET_PROTECTION_VALID

/* The first row of which everything in `is` holds, and nothing in `unless`, decides. docs/recovery.md shows the same. */
static const struct row {
    uint64_t      is, unless;
    rset_decision then;
} table[] = {
    /* nobody may touch it now, or it is not the right file */
    {BUSY | SERIAL, MISSING, {KEEP, NONE, RSET_REASON_BUSY_AS_IS}},
    {BUSY, 0, {REFUSE, NONE, RSET_REASON_BUSY}},
    {UNDER_WAY | COMMITTING | SERIAL, MISSING, {KEEP, NONE, RSET_REASON_BUSY_AS_IS}},
    {UNDER_WAY | COMMITTING, 0, {REFUSE, NONE, RSET_REASON_BUSY}},
    {UNDER_WAY | DOUBT | SERIAL | PRISTINE, 0, {KEEP, NONE, RSET_REASON_BUSY_AS_IS}},
    {UNDER_WAY | DOUBT | SERIAL, 0, {REFUSE, NONE, RSET_REASON_BUSY}},
    {UNDER_WAY | PREPARED, 0, {REFUSE, NONE, RSET_REASON_BUSY}},
    {MISPLACED,
     SERIAL | SEARCHED | READONLY | OTHER_RANKS,
     {RSET_VERDICT_SEARCH, NONE, RSET_REASON_MAKE_ROOM}},
    {MISPLACED, SERIAL, {REFUSE, NONE, RSET_REASON_MISPLACED}},
    /* it may only lie elsewhere */
    {MISSING, SEARCHED | SERIAL, {RSET_VERDICT_SEARCH, NONE, RSET_REASON_SEARCH}},
    {REPLACED, SEARCHED | SERIAL, {RSET_VERDICT_SEARCH, NONE, RSET_REASON_SEARCH}},
    /* or be anybody's */
    {UNASKED, SERIAL, {RSET_VERDICT_ASK, NONE, RSET_REASON_ASK}},
    {RESTART | REQUIRED, SERIAL, {REFUSE, NONE, RSET_REASON_MIXED}},
    {BEHIND, SERIAL | STOOD_IN, {RSET_VERDICT_STAND_IN, NONE, RSET_REASON_STAND_IN}},
    {BEHIND, SERIAL, {REFUSE, NONE, RSET_REASON_BEHIND}},
    /* one process: what only all ranks can tell */
    {SERIAL | DOUBT | PRISTINE, COMMITTING, {KEEP, NONE, RSET_REASON_IN_DOUBT}},
    {SERIAL | DOUBT, COMMITTING, {REFUSE, NONE, RSET_REASON_IN_DOUBT_NEITHER}},
    {SERIAL | CLOSED, LOSS | SIGN | RECORD, {KEEP, NONE, RSET_REASON_SERIAL_FIRST}},
    {SERIAL | CLOSED, LOSS, {KEEP, NONE, RSET_REASON_SERIAL_CLOSED}},
    /* a commit for which all ranks were ready */
    {PREPARED, SERIAL | READONLY, {RSET_VERDICT_FORWARD, NONE, RSET_REASON_PREPARED_BY_ALL}},
    {PREPARED, SERIAL, {REFUSE, NONE, RSET_REASON_READONLY_PREPARED}},
    /* no generation is published anywhere */
    {0, RECORD | SIGN | OPEN | CLOSED, {RSET_VERDICT_NEVER, NONE, RSET_REASON_NEVER}},
    {GONE, RECORD, {RSET_VERDICT_NEVER, NONE, RSET_REASON_DELETED}},
    {SERIAL | SIGN | OPEN, RECORD, {REFUSE, NONE, RSET_REASON_SERIAL_TORN}},
    {SERIAL | SIGN | LOSS, RECORD, {REFUSE, NONE, RSET_REASON_SERIAL_NO_RECORD}},
    {SIGN | LOSS, RECORD, {REFUSE, NONE, RSET_REASON_NO_RECORD}},
    {SIGN | OPEN, RECORD, {REFUSE, NONE, RSET_REASON_NO_RECORD}},
    {SIGN | MARKS, RECORD, {REFUSE, NONE, RSET_REASON_NO_RECORD}},
    {SIGN | CLOSED, RECORD | STEP, {REFUSE, NONE, RSET_REASON_NO_RECORD}},
    {SIGN | STRAY | CHECKED, RECORD | PRISTINE, {REFUSE, NONE, RSET_REASON_UNVERIFIABLE}},
    {SERIAL | SIGN, RECORD, {KEEP, NONE, RSET_REASON_SERIAL_UNRECORDED}},
    {SIGN, RECORD, {KEEP, NONE, RSET_REASON_NO_RECORD_AS_IS}},
    {CLOSED | STEP, RECORD | LOSS | STRAY, {KEEP, NONE, RSET_REASON_FIRST_CLOSED}},
    {REQUIRED | OPEN, RECORD, {REFUSE, NONE, RSET_REASON_FIRST_TORN}},
    {REQUIRED | LOSS, RECORD, {REFUSE, NONE, RSET_REASON_FIRST_LOST}},
    {REQUIRED, RECORD, {REFUSE, NONE, RSET_REASON_FIRST_MIXED}},
    {0, RECORD, {KEEP, NONE, RSET_REASON_FIRST_AS_IS}},
    /* one is, and nothing has to be done, or nothing can be */
    {NEWER, 0, {REFUSE, NONE, RSET_REASON_NEWER}},
    {OTHER_RANKS | DOUBT, SERIAL | STOOD_IN, {RSET_VERDICT_STAND_IN, NONE, RSET_REASON_STAND_IN}},
    {OTHER_RANKS | CLOSED, SERIAL | STOOD_IN, {RSET_VERDICT_STAND_IN, NONE, RSET_REASON_STAND_IN}},
    {OTHER_RANKS | STOOD_IN | GONE, 0, {RSET_VERDICT_NEVER, NONE, RSET_REASON_DELETED}},
    {OTHER_RANKS | UNREAD, SERIAL | LOSS | STRAY, {RSET_VERDICT_VERIFY, NONE, RSET_REASON_VERIFY}},
    {OTHER_RANKS | MIXED, SERIAL | LOSS | STRAY, {KEEP, NONE, RSET_REASON_MIXED_AS_IS}},
    {OTHER_RANKS | READS, SERIAL | CLOSED | LOSS | STRAY, {KEEP, NONE, RSET_REASON_READ_AS_IS}},
    {OTHER_RANKS, SERIAL | LOSS | STRAY, {KEEP, NONE, RSET_REASON_OTHER_RANKS_AS_IS}},
    {OTHER_RANKS, SERIAL | STOOD_IN, {RSET_VERDICT_STAND_IN, NONE, RSET_REASON_STAND_IN}},
    {OTHER_RANKS, SERIAL, {REFUSE, NONE, RSET_REASON_OTHER_RANKS}},
    {CLOSED | STEP | UNREAD, LOSS | STRAY, {RSET_VERDICT_VERIFY, NONE, RSET_REASON_VERIFY}},
    {CLOSED | STEP, LOSS | STRAY, {KEEP, NONE, RSET_REASON_CLOSED}},
    {UNREAD, CLOSED | LOSS | STRAY | BARE, {RSET_VERDICT_VERIFY, NONE, RSET_REASON_VERIFY}},
    {RENAMED | OUTDATED, 0, {REFUSE, NONE, RSET_REASON_RENAMED_PARTLY}},
    {RENAMED | READONLY,
     CLOSED | LOSS | STRAY | BARE | UNVERIFIED,
     {KEEP, VALID, RSET_REASON_RENAMED_AS_IS}},
    {RENAMED | NOT_LOOKED, READONLY, {RSET_VERDICT_LOOK, NONE, RSET_REASON_LOOK}},
    {RENAMED,
     READONLY | NOT_COVERED | OPEN | CLOSED | COMMITTING,
     {RSET_VERDICT_ADOPT, NONE, RSET_REASON_RENAMED}},
    {RENAMED | NOT_COVERED, READONLY, {REFUSE, NONE, RSET_REASON_UNRECOVERABLE}},
    {RENAMED, READONLY, {REFUSE, NONE, RSET_REASON_RENAMED_PARTLY}},
    {0, CLOSED | LOSS | STRAY | BARE | UNVERIFIED, {KEEP, VALID, RSET_REASON_HEALTHY}},
    {SERIAL | COMMITTING | READONLY, 0, {REFUSE, NONE, RSET_REASON_READONLY_PREPARED}},
    {SERIAL | COMMITTING, 0, {RSET_VERDICT_FORWARD, NONE, RSET_REASON_SERIAL_COMMIT}},
    {UNDER_WAY, 0, {REFUSE, NONE, RSET_REASON_BUSY}},
    /* what was written into them is wanted as it is */
    {CHANGED | REWRITTEN,
     BROKEN | READONLY | UNVERIFIED,
     {KEEP, RSET_PROTECTION_REENCODE, RSET_REASON_REWRITTEN}},
    {NOT_LOOKED, 0, {RSET_VERDICT_LOOK, NONE, RSET_REASON_LOOK}},
    /* a lost node takes what protects them, too */
    {GONE, 0, {RSET_VERDICT_NEVER, NONE, RSET_REASON_DELETED}},
    {SERIAL | CHANGED | KEEPS,
     BROKEN | OPEN | CLOSED | COMMITTING | OUTDATED | UNVERIFIED,
     {KEEP, NONE, RSET_REASON_CHANGED_AS_IS}},
    {READONLY | CHANGED | KEEPS,
     BROKEN | OPEN | CLOSED | COMMITTING | OUTDATED | UNVERIFIED,
     {KEEP, NONE, RSET_REASON_CHANGED_AS_IS}},
    {CHANGED | KEEPS,
     BROKEN | OPEN | CLOSED | COMMITTING | OUTDATED | UNVERIFIED,
     {KEEP, RSET_PROTECTION_REENCODE, RSET_REASON_CHANGED_KEPT}},
    /* something has to be done */
    {CLOSED | STEP | COVERED,
     OPEN | COMMITTING | LOSS | UNVERIFIED,
     {KEEP, NONE, RSET_REASON_CLOSED}},
    {READONLY | COVERED,
     OPEN | CLOSED | COMMITTING | LOSS | UNVERIFIED,
     {KEEP, NONE, RSET_REASON_READONLY_BARE}},
    {READONLY, 0, {REFUSE, NONE, RSET_REASON_READONLY}},
    {WHOLE, UNVERIFIED, {RESTORE, VALID, RSET_REASON_RESTORED}},
    {SERIAL | COVERED,
     OPEN | CLOSED | LOSS | STRAY | UNVERIFIED,
     {KEEP, NONE, RSET_REASON_SERIAL_BARE}},
    {COVERED, UNVERIFIED, {RESTORE, RSET_PROTECTION_REENCODE, RSET_REASON_REENCODE}},
    {NOT_COVERED | CHANGED,
     BROKEN | OPEN | CLOSED | COMMITTING | OUTDATED | UNVERIFIED,
     {REFUSE, NONE, RSET_REASON_CHANGED}},
    {NOT_COVERED | CHANGED, OUTDATED, {REFUSE, NONE, RSET_REASON_CHANGED_TOO}},
    {NOT_COVERED | IN_PLACE,
     LOSS | UNVERIFIED | REQUIRED,
     {KEEP, NONE, RSET_REASON_IN_PLACE_AS_IS}},
    {NOT_COVERED | OUTDATED, 0, {REFUSE, NONE, RSET_REASON_AHEAD}},
    {NOT_COVERED, 0, {REFUSE, NONE, RSET_REASON_UNRECOVERABLE}},
    {OPEN, 0, {REFUSE, NONE, RSET_REASON_MIXTURE}},
    {CLOSED, 0, {REFUSE, NONE, RSET_REASON_MIXTURE}},
    {COMMITTING, 0, {REFUSE, NONE, RSET_REASON_MIXTURE}},
    {CHECKED, 0, {REFUSE, NONE, RSET_REASON_UNVERIFIABLE}},
    {0, 0, {RESTORE, NONE, RSET_REASON_UNVERIFIED}},
};

rset_decision
rset_decide(const rset_summary *all, rset_coverage worst, const rset_policy *policy)
{
    const uint64_t is =
        of_facts(all) | of_states(all, policy) | of_coverage(worst) | of_policy(all, policy);
    size_t i = 0;

    while ((is & table[i].is) != table[i].is || (is & table[i].unless) != 0)
        i++;                                  /* the last row is for all that is left */
    assert(i < sizeof table / sizeof *table); /* R2 */
    return table[i].then;
}

bool
rset_changes_generation(const rset_decision *decision, bool forwarded)
{
    return decision->verdict == RSET_VERDICT_FORWARD ||
           (decision->verdict == RSET_VERDICT_REFUSE && forwarded);
}

rset_action
rset_act(const rset_decision *decision, const rset_report *report)
{
    if (decision->verdict == RSET_VERDICT_FORWARD && report->state == RSET_STATE_COMMITTING)
        return RSET_ACTION_FINISH;
    if (decision->verdict != RESTORE)
        return RSET_ACTION_NOTHING;
    switch (report->state) {
    case RSET_STATE_COMMITTING: return RSET_ACTION_FINISH;
    case RSET_STATE_OPEN:
    case RSET_STATE_CLOSED: return RSET_ACTION_UNDO;
    case RSET_STATE_CURRENT:
        return (report->facts & (RSET_FACTS_LOSS | RSET_FACT_BARE)) != 0 ? RSET_ACTION_REBUILD
                                                                         : RSET_ACTION_NOTHING;
    default: return RSET_ACTION_REBUILD;
    }
}
