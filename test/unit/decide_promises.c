/* decide_promises.c: see decide_promises.h. */
#include "decide_promises.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A label: job, step, ranks. */
const kind kinds[KINDS] = {
    {"nothing", RSET_STATE_NOTHING, FACT(MISSING) | FACT(GONE), {0}, V_NONE},
    {"unknown", RSET_STATE_UNKNOWN, 0, {0}, V_ANY},
    {"current", RSET_STATE_CURRENT, FACT(SIGN), {0}, V_PROTECTED},
    {"current, not read", RSET_STATE_CURRENT, FACT(SIGN) | FACT(UNREAD), {0}, V_PROTECTED},
    {"current, prepared", RSET_STATE_CURRENT, FACT(SIGN) | FACT(PREPARED), {0}, V_PROTECTED},
    {"current, bare", RSET_STATE_CURRENT, FACT(SIGN) | FACT(BARE), {0}, V_PROTECTED},
    {"damaged", RSET_STATE_CURRENT, FACT(SIGN) | FACT(DAMAGED), {0}, V_TORN},
    {"changed", RSET_STATE_CURRENT, FACT(SIGN) | FACT(CHANGED), {0}, V_TORN},
    {"missing", RSET_STATE_CURRENT, FACT(SIGN) | FACT(MISSING), {0}, V_NONE},
    {"gone, but for a sign",
     RSET_STATE_NOTHING,
     FACT(SIGN) | FACT(MISSING) | FACT(GONE),
     {0},
     V_NONE},
    {"gone", RSET_STATE_CURRENT, FACT(SIGN) | FACT(MISSING) | FACT(GONE), {0}, V_NONE},
    {"committing", RSET_STATE_COMMITTING, FACT(SIGN), {0}, V_TORN},
    {"committing, gone",
     RSET_STATE_COMMITTING,
     FACT(SIGN) | FACT(MISSING) | FACT(GONE),
     {0},
     V_NONE},
    {"open", RSET_STATE_OPEN, FACT(SIGN), {0}, V_TORN},
    {"open, in place", RSET_STATE_OPEN, FACT(SIGN) | FACT(IN_PLACE), {0}, V_TORN},
    {"closed a", RSET_STATE_CLOSED, FACT(SIGN), {5, 1, RANKS}, V_STEP_A},
    {"closed a, prepared", RSET_STATE_CLOSED, FACT(SIGN) | FACT(PREPARED), {5, 1, RANKS}, V_STEP_A},
    {"closed b", RSET_STATE_CLOSED, FACT(SIGN), {5, 2, RANKS}, V_STEP_B},
    {"closed a, truncated", RSET_STATE_CLOSED, FACT(SIGN) | FACT(DAMAGED), {5, 1, RANKS}, V_TORN},
    {"closed by one process", RSET_STATE_CLOSED, FACT(SIGN), {9, 1, 1}, V_OWN},
    {"first, open", RSET_STATE_OPEN, FACT(FIRST), {0}, V_TORN},
    {"first, closed a", RSET_STATE_CLOSED, FACT(FIRST), {5, 1, RANKS}, V_STEP_A},
    {"outdated", RSET_STATE_OUTDATED, FACT(SIGN), {0}, V_OLDER},
    {"behind", RSET_STATE_CURRENT, FACT(SIGN) | FACT(BEHIND), {0}, V_OLDER},
    {"replaced", RSET_STATE_CURRENT, FACT(SIGN) | FACT(REPLACED), {0}, V_PROTECTED},
    {"newer", RSET_STATE_OUTDATED, FACT(SIGN) | FACT(NEWER), {0}, V_OLDER},
};

static rset_report
report_of(const kind *k, int rank)
{
    return (rset_report){.state = k->state,
                         .facts = k->facts,
                         .label = k->label,
                         .name = 100 + (uint64_t)rank,
                         .rank = rank};
}

rset_summary
sum_up(const kind *const *of, int n)
{
    rset_summary all = {0};

    for (int r = 0; r < n; r++) {
        const rset_report  one = report_of(of[r], r);
        const rset_summary s = rset_summarise(&one);

        rset_merge(&all, &s);
    }
    return all;
}

void
complain(const scene *s, const char *promise)
{
    fail_msg("%s: {%s | %s | %s | %s}, coverage %d, written by %d, prepared by %d%s%s: %s (%s)",
             promise, s->of[0]->name, s->of[1]->name, s->of[2]->name, s->of[3]->name,
             (int)s->coverage, (int)s->policy.published_ranks, (int)s->policy.prepared_ranks,
             s->policy.required ? ", required" : "", s->policy.serial ? ", serial" : "",
             rset_verdict_name(s->then.verdict), rset_reason_name(s->then.reason));
}

int
how_many(const scene *s, version v)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++)
        n += s->of[r]->has == v;
    return n;
}

/* ---- the promises ---- */

/* Files that are opened as they are belong together: all of the protected generation, or all of one step; what one process
 * changed and closed on its own is its user's will. Where coverage was looked at, what neighbours record was compared. */
static bool
belong_together(const scene *s)
{
    const bool compared = s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA;
    const int  closed = how_many(s, V_STEP_A) + how_many(s, V_STEP_B);
    const int  rest = RANKS - how_many(s, V_OWN) -
                     (compared ? how_many(s, V_ANY) + how_many(s, V_OLDER) : 0) -
                     (s->policy.stood_in ? closed : 0); /* decided on by those that closed them */

    return how_many(s, V_PROTECTED) == rest || how_many(s, V_STEP_A) == RANKS ||
           how_many(s, V_STEP_B) == RANKS;
}

bool
is_wanted_changed(const scene *s)
{
    return any_fact(s, FACT(CHANGED)) && (s->all.common & (FACT(REWRITTEN) | FACT(KEEPS))) != 0;
}

/* Files that another program has written are opened where they are wanted so, and nothing else is amiss. */
static void
changed_is_opened_if_wanted(const scene *s)
{
    const bool broken = any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(UNVERIFIED));

    if (s->then.verdict != RSET_VERDICT_KEEP || !any_fact(s, FACT(CHANGED)) ||
        s->then.reason == RSET_REASON_BUSY_AS_IS)
        return;
    PROMISE(s, "what was changed is opened as it is only where all ranks want it",
            is_wanted_changed(s));
    PROMISE(s, "what was changed is not opened beside what is lost", !broken);
    PROMISE(s, "what was changed is not opened beside what is not current",
            in_state(s, RSET_STATE_CURRENT) + in_state(s, RSET_STATE_NOTHING) +
                    in_state(s, RSET_STATE_UNKNOWN) ==
                (int)s->all.ranks);
}

static void
never_a_mixture(const scene *s)
{
    const bool written_in_place = any_fact(s, FACT(IN_PLACE)) && !s->policy.required;

    if (s->then.verdict != RSET_VERDICT_KEEP || s->policy.serial || written_in_place ||
        is_wanted_changed(s))
        return;
    if (s->policy.published_ranks != 0)
        PROMISE(s, "never a mixture", belong_together(s));
    else if (s->policy.required)
        PROMISE(s, "never a mixture of what no redundancy records",
                how_many(s, V_TORN) == 0 && how_many(s, V_NONE) == 0 &&
                    how_many(s, V_STEP_A) % RANKS == 0 && how_many(s, V_STEP_B) % RANKS == 0);
}

/* Nothing passes for protected but what is, and was found to be. */
static void
protected_only_if_it_is(const scene *s)
{
    if (s->then.protection == RSET_PROTECTION_NONE)
        return;
    PROMISE(s, "unverified content is never sealed",
            !any_fact(s, FACT(UNVERIFIED)) && s->coverage != RSET_COVERAGE_UNVERIFIED);
    if (s->then.verdict == RSET_VERDICT_KEEP && s->then.protection == RSET_PROTECTION_REENCODE)
        PROMISE(s, "what is kept and encoded again was changed, and may be written",
                is_wanted_changed(s) && !any_fact(s, FACT(READONLY)));
    else if (s->then.verdict == RSET_VERDICT_KEEP)
        PROMISE(s, "what is kept as protected is whole",
                in_state(s, RSET_STATE_CURRENT) == (int)s->all.ranks &&
                    !any_fact(s, FACT(DAMAGED) | FACT(CHANGED) | FACT(MISSING) | FACT(BARE) |
                                     FACT(UNREAD)));
    else
        PROMISE(s, "what is restored as protected is covered",
                s->then.verdict == RSET_VERDICT_RESTORE &&
                    (s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA));
    if (s->then.protection == RSET_PROTECTION_VALID && s->then.verdict == RSET_VERDICT_RESTORE)
        PROMISE(s, "redundancy counts only where all of it is there",
                s->coverage == RSET_COVERAGE_WHOLE);
}

/* Nobody is rolled back, or finished, beside a rank that may not follow. */
static void
nobody_is_left_behind(const scene *s)
{
    const bool moves = in_state(s, RSET_STATE_OPEN) + in_state(s, RSET_STATE_CLOSED) +
                           in_state(s, RSET_STATE_COMMITTING) >
                       0;

    if (s->then.verdict != RSET_VERDICT_RESTORE)
        return;
    PROMISE(s, "what cannot be had is not begun", s->coverage != RSET_COVERAGE_NOT);
    PROMISE(s, "nobody moves beside one of whom nothing is known",
            !moves || (s->coverage != RSET_COVERAGE_UNVERIFIED && !any_fact(s, FACT(UNVERIFIED))));
    PROMISE(s, "nothing is restored where no generation is published",
            s->policy.published_ranks != 0);
    PROMISE(s, "nothing is written where nothing may be", !any_fact(s, FACT(READONLY)));
}

/* What is covered is opened. */
static void
covered_is_not_refused(const scene *s)
{
    if (s->policy.serial || s->policy.stood_in || s->policy.restart ||
        s->policy.published_ranks != RANKS ||
        any_fact(s, FACT(UNVERIFIED) | FACT(NEWER) | FACT(BUSY) | FACT(UNDER_WAY) | FACT(READONLY) |
                        FACT(RENUMBERED) | FACT(RENAMED)) ||
        (s->coverage != RSET_COVERAGE_WHOLE && s->coverage != RSET_COVERAGE_DATA))
        return;
    PROMISE(s, "what is covered is opened", s->then.verdict != RSET_VERDICT_REFUSE);
}

static void
forward_only_with_all(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_FORWARD)
        return;
    if (s->policy.serial)
        PROMISE(s, "one process finishes only what was decided, where it may write",
                in_state(s, RSET_STATE_COMMITTING) > 0 && !any_fact(s, FACT(READONLY)));
    else
        PROMISE(s, "forward only where all are prepared",
                s->policy.prepared_ranks == RANKS && (s->all.common & FACT(PREPARED)) != 0);
}

static void
never_is_never(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_NEVER || s->then.reason == RSET_REASON_DELETED)
        return;
    PROMISE(s, "files without protection show no sign of any",
            s->policy.published_ranks == 0 && !any_fact(s, FACT(SIGN)) &&
                in_state(s, RSET_STATE_OPEN) + in_state(s, RSET_STATE_CLOSED) == 0);
}

/* One data file that is left, or is to come from a commit that was decided, makes it a loss; where none is, nothing brings them back
 * unasked. */
static void
deleted_stays_deleted(const scene *s)
{
    const bool gone = (s->all.common & FACT(GONE)) != 0;

    if (s->then.reason == RSET_REASON_DELETED)
        PROMISE(s, "deleted is what nobody has any more", gone && !s->policy.undelete);
    if (gone && !s->policy.undelete)
        PROMISE(s, "what was deleted stays deleted", s->then.verdict != RSET_VERDICT_RESTORE);
}

/* A verdict that asks for more is not given once more when that is there. */
static void
comes_to_an_end(const scene *s)
{
    if (!s->policy.serial && !s->policy.searched && any_fact(s, FACT(REPLACED) | FACT(MISSING)))
        PROMISE(s, "what may lie elsewhere, or have been written anew, is looked for first",
                s->then.verdict == RSET_VERDICT_SEARCH || s->then.verdict == RSET_VERDICT_REFUSE);
    if (s->then.verdict == RSET_VERDICT_SEARCH)
        PROMISE(s, "searched once",
                !s->policy.searched &&
                    any_fact(s, FACT(MISSING) | FACT(RENUMBERED) | FACT(REPLACED)));
    if (s->then.verdict == RSET_VERDICT_ASK)
        PROMISE(s, "asked once, of ranks that read",
                s->policy.reads && !s->policy.asked && !s->policy.serial);
    if (s->then.verdict == RSET_VERDICT_STAND_IN)
        PROMISE(s, "others stand in once", !s->policy.stood_in && !s->policy.serial);
    if (s->then.verdict == RSET_VERDICT_VERIFY)
        PROMISE(s, "verified once", any_fact(s, FACT(UNREAD)));
    if (s->then.verdict == RSET_VERDICT_LOOK)
        PROMISE(s, "looked once", s->coverage == RSET_COVERAGE_UNKNOWN);
}

/* What protects a renamed file gets its name only where that makes the files of all ranks one generation. */
static void
renamed_together_or_not(const scene *s)
{
    const bool known = s->coverage != RSET_COVERAGE_UNKNOWN && s->coverage != RSET_COVERAGE_NOT;
    const int  settled = in_state(s, RSET_STATE_CURRENT) + in_state(s, RSET_STATE_NOTHING) +
                        in_state(s, RSET_STATE_UNKNOWN);

    if (s->then.verdict == RSET_VERDICT_ADOPT)
        PROMISE(s,
                "names are taken over only where the content of all can be had, and is of one "
                "generation",
                any_fact(s, FACT(RENAMED)) && !any_fact(s, FACT(READONLY)) && known &&
                    settled == RANKS);
    if (any_fact(s, FACT(RENAMED)) && s->then.protection != RSET_PROTECTION_NONE)
        PROMISE(s, "nothing is protected under another name, but where nothing may be written",
                any_fact(s, FACT(READONLY)) && s->then.verdict == RSET_VERDICT_KEEP);
}

/* One process never settles what only all can tell. */
static void
serial_settles_no_commit(const scene *s)
{
    if (!s->policy.serial || !any_fact(s, FACT(PREPARED)) ||
        in_state(s, RSET_STATE_COMMITTING) > 0 || any_fact(s, FACT(BUSY)))
        return;
    PROMISE(s, "one process opens what is in doubt only as it is, and only whole",
            s->then.protection == RSET_PROTECTION_NONE &&
                s->then.verdict ==
                    (any_fact(s, FACT(PRISTINE)) ? RSET_VERDICT_KEEP : RSET_VERDICT_REFUSE));
}

/* What is opened as it is was read before, where that was asked for. */
static void
kept_is_read(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_KEEP || s->coverage != RSET_COVERAGE_UNKNOWN ||
        s->policy.published_ranks == 0)
        return;
    PROMISE(s, "what is opened was read", !any_fact(s, FACT(UNREAD)));
}

/* A file that another process changes is its own: ranks that open it together are refused, and one process reads what is there. */
static void
busy_is_left_alone(const scene *s)
{
    const bool as_is = s->policy.serial && !any_fact(s, FACT(MISSING));

    if (!any_fact(s, FACT(BUSY)))
        return;
    PROMISE(s, "a file in use is refused, or read by one process as it is",
            s->then.verdict == (as_is ? RSET_VERDICT_KEEP : RSET_VERDICT_REFUSE) &&
                s->then.reason == (as_is ? RSET_REASON_BUSY_AS_IS : RSET_REASON_BUSY) &&
                s->then.protection == RSET_PROTECTION_NONE);
}

/* What a process that lives commits is its own: nothing is done about it, nor about what is amiss meanwhile. */
static void
under_way_is_left_alone(const scene *s)
{
    const rset_verdict verdict = s->then.verdict;

    if (!any_fact(s, FACT(UNDER_WAY)))
        return;
    PROMISE(s, "a commit that is under way is left alone",
            verdict != RSET_VERDICT_FORWARD && verdict != RSET_VERDICT_RESTORE &&
                verdict != RSET_VERDICT_LOOK);
    if (!s->policy.serial && in_state(s, RSET_STATE_COMMITTING) > 0)
        PROMISE(s, "ranks are refused beside what is being published, and bring nothing there",
                verdict == RSET_VERDICT_REFUSE);
    if (!s->policy.serial || any_fact(s, FACT(BUSY) | FACT(MISSING)))
        return;
    if (in_state(s, RSET_STATE_COMMITTING) > 0)
        PROMISE(s, "one process reads beside it", verdict == RSET_VERDICT_KEEP);
    else if (any_fact(s, FACT(PREPARED)))
        PROMISE(s, "and is not told that it was cut short",
                s->then.reason ==
                    (any_fact(s, FACT(PRISTINE)) ? RSET_REASON_BUSY_AS_IS : RSET_REASON_BUSY));
}

/* What is in doubt the ranks that wrote it settle. */
static void
others_open_nothing_in_doubt(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_KEEP || s->policy.serial || s->policy.stood_in ||
        s->policy.published_ranks == 0 || s->policy.published_ranks == RANKS)
        return;
    PROMISE(s, "other ranks open what is in no doubt", !any_fact(s, FACT(PREPARED)));
}

/* What was closed, by all ranks in one step or by one process for itself, is not rolled back, as long as nothing is lost. */
static void
closed_is_kept(const scene *s)
{
    const bool lost = how_many(s, V_TORN) + how_many(s, V_NONE) > 0 ||
                      any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(UNVERIFIED) | FACT(BUSY) |
                                      FACT(UNDER_WAY) | FACT(UNREAD) | FACT(NEWER) |
                                      FACT(RENUMBERED) | FACT(RENAMED) | FACT(BEHIND));
    const bool looked = s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA;
    const bool forward = s->policy.prepared_ranks == RANKS && (s->all.common & FACT(PREPARED)) != 0;

    if (s->policy.published_ranks != RANKS || s->policy.stood_in || s->policy.apart ||
        s->then.verdict == RSET_VERDICT_ASK || s->then.verdict == RSET_VERDICT_SEARCH ||
        in_state(s, RSET_STATE_CLOSED) == 0 || lost || forward || !belong_together(s) ||
        (!looked && in_state(s, RSET_STATE_CLOSED) + in_state(s, RSET_STATE_CURRENT) < RANKS))
        return;
    PROMISE(s, "what was closed together is kept", s->then.verdict == RSET_VERDICT_KEEP);
}

/* Files that say themselves that they are of different generations are not opened beside each other. */
static void
marks_agree(const scene *s)
{
    if (s->policy.published_ranks == 0 && any_fact(s, FACT(SIGN)) &&
        s->all.least_mark != s->all.most_mark)
        PROMISE(s, "files of different generations are refused",
                s->then.verdict != RSET_VERDICT_KEEP);
}

/* Ranks that open what they like, or that are more or fewer, are not taken for those that wrote it. */
static void
apart_is_left_alone(const scene *s)
{
    if ((!s->policy.apart && s->policy.published_ranks == RANKS) || s->policy.published_ranks == 0)
        return;
    PROMISE(s, "nothing is made of other ranks' files",
            s->then.verdict != RSET_VERDICT_RESTORE && s->then.verdict != RSET_VERDICT_LOOK &&
                (s->then.verdict != RSET_VERDICT_FORWARD || !s->policy.stood_in));
}

static void
older_copies_are_not_opened(const scene *s)
{
    if (any_fact(s, FACT(BEHIND)) && !any_fact(s, FACT(BUSY)))
        PROMISE(s, "what others have newer is not opened", s->then.verdict != RSET_VERDICT_KEEP);
}

/* Nothing is done for readers, and nothing opened that is not in order, before it is known what they open. */
static void
readers_are_asked(const scene *s)
{
    const bool well =
        in_state(s, RSET_STATE_CURRENT) == RANKS &&
        !any_fact(s, FACT(DAMAGED) | FACT(CHANGED) | FACT(MISSING) | FACT(BARE) | FACT(PREPARED));

    if (!s->policy.reads || s->policy.asked || s->policy.published_ranks == 0 || well ||
        any_fact(s, FACT(RENAMED)) || s->all.least_name == s->all.most_name)
        return;
    PROMISE(s, "readers are asked what they open",
            s->then.verdict == RSET_VERDICT_ASK || s->then.verdict == RSET_VERDICT_SEARCH ||
                s->then.verdict == RSET_VERDICT_REFUSE);
}

/* A restart has files of one generation; other readers are told that theirs are not. */
static void
several_generations_are_told(const scene *s)
{
    char text[1024];

    if (!s->policy.mixed || s->policy.serial)
        return;
    if (s->policy.restart && s->policy.required)
        PROMISE(s, "a restart of several generations is refused with required=yes",
                s->then.verdict != RSET_VERDICT_KEEP && s->then.verdict != RSET_VERDICT_RESTORE);
    if (s->policy.published_ranks == 0 || s->then.verdict != RSET_VERDICT_KEEP)
        return;
    rset_reason_say(s->then.reason, &s->all, "f.h5", NULL, text, sizeof text);
    PROMISE(s, "what is opened of several generations is told", text[0] != '\0');
}

/* What nobody can verify any more is not opened with required=yes, nor where an older generation is wanted instead. */
static void
unverified_is_refused(const scene *s)
{
    const bool opens =
        s->then.verdict == RSET_VERDICT_KEEP || s->then.verdict == RSET_VERDICT_RESTORE;
    const bool others =
        s->policy.apart || s->policy.stood_in || s->policy.published_ranks != s->all.ranks;

    if ((!s->policy.required && !s->policy.fallback) || any_fact(s, FACT(BUSY) | FACT(PRISTINE)))
        return;
    if (s->policy.published_ranks != 0 && !others && s->coverage == RSET_COVERAGE_UNVERIFIED)
        PROMISE(s, "what neighbours do not record either is not opened",
                s->then.verdict != RSET_VERDICT_RESTORE);
    if (s->policy.published_ranks == 0 && any_fact(s, FACT(SIGN)) &&
        in_state(s, RSET_STATE_UNKNOWN) > 0)
        PROMISE(s, "what no redundancy records is not opened", !opens);
}

void
keep_promises(const scene *s)
{
    changed_is_opened_if_wanted(s);
    several_generations_are_told(s);
    unverified_is_refused(s);
    apart_is_left_alone(s);
    older_copies_are_not_opened(s);
    readers_are_asked(s);
    kept_is_read(s);
    closed_is_kept(s);
    others_open_nothing_in_doubt(s);
    under_way_is_left_alone(s);
    marks_agree(s);
    never_a_mixture(s);
    protected_only_if_it_is(s);
    nobody_is_left_behind(s);
    covered_is_not_refused(s);
    forward_only_with_all(s);
    never_is_never(s);
    deleted_stays_deleted(s);
    comes_to_an_end(s);
    renamed_together_or_not(s);
    serial_settles_no_commit(s);
    busy_is_left_alone(s);
}

void
keep_serial_promises(const scene *s)
{
    changed_is_opened_if_wanted(s);
    unverified_is_refused(s);
    protected_only_if_it_is(s);
    nobody_is_left_behind(s);
    forward_only_with_all(s);
    deleted_stays_deleted(s);
    comes_to_an_end(s);
    serial_settles_no_commit(s);
    busy_is_left_alone(s);
    under_way_is_left_alone(s);
}
