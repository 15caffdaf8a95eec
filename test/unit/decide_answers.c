/* decide_answers.c: what has to be opened, what may not be, and what is said of it: see decide_promises.h. */
#include "decide_promises.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- what is looked at ---- */

/* The ranks that have come are not those that wrote the files, or each opens what it likes. */
static bool
are_others(const scene *s)
{
    return !s->policy.serial && s->policy.published_ranks != 0 &&
           (s->policy.published_ranks != RANKS || s->policy.stood_in || s->policy.apart);
}

/* Something is found out first, and it is decided again. */
static bool
is_not_yet(const scene *s)
{
    const rset_verdict v = s->then.verdict;

    return v == RSET_VERDICT_SEARCH || v == RSET_VERDICT_ASK || v == RSET_VERDICT_STAND_IN ||
           v == RSET_VERDICT_VERIFY || v == RSET_VERDICT_LOOK;
}

/* Something is found out first that does not depend on the content of files. */
static bool
is_asking(const scene *s)
{
    return s->then.verdict == RSET_VERDICT_SEARCH || s->then.verdict == RSET_VERDICT_ASK;
}

/* Another promise says what becomes of these, whatever else is there: in use, not the right file, of another name, or of several
 * generations. */
static bool
is_disturbed(const scene *s)
{
    return any_fact(s, FACT(BUSY) | FACT(UNDER_WAY) | FACT(NEWER) | FACT(BEHIND) |
                           FACT(RENUMBERED) | FACT(RENAMED)) ||
           (s->policy.restart && s->policy.required && !s->policy.serial);
}

static bool
all_in(const scene *s, rset_state state)
{
    return s->all.count[state] == s->all.ranks;
}

/* Files of the generation that counts, and no rank has begun anything. */
static bool
are_settled(const scene *s)
{
    return s->all.count[RSET_STATE_CURRENT] + s->all.count[RSET_STATE_NOTHING] +
               s->all.count[RSET_STATE_UNKNOWN] ==
           s->all.ranks;
}

static bool
is_covered(const scene *s)
{
    return s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA;
}

static bool
is_told_something(const scene *s)
{
    char text[1024];

    rset_reason_say(s->then.reason, &s->all, "f.h5", NULL, text, sizeof text);
    return text[0] != '\0';
}

/* ---- commits ---- */

/* All were ready, so it was decided: what was protected before is not opened any more. */
static void
decided_is_not_undone(const scene *s)
{
    if (s->policy.serial || s->policy.stood_in || s->policy.apart ||
        s->policy.prepared_ranks != RANKS || (s->all.common & FACT(PREPARED)) == 0)
        return;
    PROMISE(s, "a commit that was decided is finished, or all are refused",
            s->then.verdict == RSET_VERDICT_FORWARD || s->then.verdict == RSET_VERDICT_REFUSE ||
                is_asking(s));
    PROMISE(s, "nothing is finished where a rank may not write",
            s->then.verdict != RSET_VERDICT_FORWARD || !any_fact(s, FACT(READONLY)));
    if (s->then.verdict == RSET_VERDICT_REFUSE && !is_disturbed(s))
        PROMISE(s, "and who may not write is told why",
                s->then.reason == RSET_REASON_READONLY_PREPARED);
}

/* One process finishes its share of what was published. */
static void
one_process_finishes_its_share(const scene *s)
{
    if (!s->policy.serial || !all_in(s, RSET_STATE_COMMITTING) || is_disturbed(s) ||
        any_fact(s, FACT(READONLY) | FACT(GONE)))
        return;
    PROMISE(s, "one process finishes its share", s->then.verdict == RSET_VERDICT_FORWARD);
}

/* ---- what was deleted, or never there ---- */

static void
deleted_is_not_refused(const scene *s)
{
    if ((s->all.common & FACT(GONE)) == 0 || s->policy.undelete || is_disturbed(s) ||
        any_fact(s, FACT(PREPARED)) || (s->policy.serial && all_in(s, RSET_STATE_COMMITTING)))
        return; /* one process finishes its share first */
    PROMISE(s, "what was deleted is like what never was",
            s->then.verdict == RSET_VERDICT_NEVER || is_not_yet(s));
}

static void
never_protected_is_left_alone(const scene *s)
{
    const bool begun = in_state(s, RSET_STATE_OPEN) + in_state(s, RSET_STATE_CLOSED) > 0;

    if (s->policy.published_ranks != 0 || any_fact(s, FACT(SIGN)) || begun || is_disturbed(s))
        return;
    PROMISE(s, "nothing is done about files that nobody has protected",
            s->then.verdict == RSET_VERDICT_NEVER || s->then.verdict == RSET_VERDICT_SEARCH);
}

/* ---- without any record ---- */

static void
torn_is_not_opened_without_record(const scene *s)
{
    if (s->policy.published_ranks != 0 || !any_fact(s, FACT(SIGN)) ||
        in_state(s, RSET_STATE_OPEN) == 0 || any_fact(s, FACT(BUSY) | FACT(PREPARED)))
        return;
    PROMISE(s, "what was protected once, and is partially written, is not opened",
            s->then.verdict != RSET_VERDICT_KEEP);
}

static void
one_process_says_nothing_of_others(const scene *s)
{
    if (s->policy.serial)
        PROMISE(s, "one process does not know what others record",
                s->then.reason != RSET_REASON_NO_RECORD &&
                    s->then.reason != RSET_REASON_NO_RECORD_AS_IS);
}

static void
first_written_is_opened_if_closed(const scene *s)
{
    if (s->policy.published_ranks != 0 || s->policy.serial || is_disturbed(s) ||
        s->all.least_mark != s->all.most_mark || any_fact(s, FACT(PREPARED) | FACT(MISSING)) ||
        any_fact(s, FACT(DAMAGED) | FACT(CHANGED)))
        return;
    if (how_many(s, V_STEP_A) == RANKS || how_many(s, V_STEP_B) == RANKS)
        PROMISE(s, "what all closed in one step is opened",
                s->then.verdict == RSET_VERDICT_KEEP || s->then.verdict == RSET_VERDICT_ASK);
}

/* With required=no: there is nothing older to roll back to. */
static void
never_protected_is_opened_unless_required(const scene *s)
{
    if (s->policy.published_ranks != 0 || any_fact(s, FACT(SIGN) | FACT(PREPARED)) ||
        s->policy.required || is_disturbed(s))
        return;
    PROMISE(s, "what was never protected is opened, if only with a warning",
            s->then.verdict == RSET_VERDICT_KEEP || s->then.verdict == RSET_VERDICT_NEVER ||
                is_asking(s));
}

/* How the three reasons follow each other that refuse a first write. */
static void
first_written_is_told_what_is_wrong(const scene *s)
{
    const bool torn = in_state(s, RSET_STATE_OPEN) > 0;
    const bool lost = any_fact(s, FACT(MISSING) | FACT(DAMAGED) | FACT(CHANGED));

    if (s->then.reason == RSET_REASON_FIRST_MIXED)
        PROMISE(s, "of different steps is what was closed, and is there", !torn && !lost);
    if (s->then.reason == RSET_REASON_FIRST_LOST)
        PROMISE(s, "lost is not said of what was not finished", !torn);
}

static void
without_record_is_told_so(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_KEEP || s->policy.published_ranks != 0 ||
        s->policy.serial || !any_fact(s, FACT(SIGN)) || any_fact(s, FACT(BUSY)))
        return;
    PROMISE(s, "what was protected once is not called a first write",
            s->then.reason == RSET_REASON_NO_RECORD_AS_IS);
}

/* ---- what is there, and right ---- */

/* All is as recorded, or only redundancy is not. */
static bool
is_right(const scene *s, bool bare)
{
    return s->policy.published_ranks != 0 && all_in(s, RSET_STATE_CURRENT) && !is_disturbed(s) &&
           any_fact(s, FACT(BARE)) == bare &&
           !any_fact(s, FACT(MISSING) | FACT(DAMAGED) | FACT(CHANGED) | FACT(UNREAD) |
                            FACT(UNVERIFIED) | FACT(PREPARED));
}

static void
right_is_opened(const scene *s)
{
    if (!is_right(s, false) || is_asking(s) || s->coverage == RSET_COVERAGE_UNVERIFIED)
        return;
    PROMISE(s, "what is as recorded is opened", s->then.verdict == RSET_VERDICT_KEEP);
    if (!are_others(s))
        PROMISE(s, "and counts as protected", s->then.protection == RSET_PROTECTION_VALID);
    else if (s->policy.reads && !s->policy.mixed)
        PROMISE(s, "and who only reads it is told nothing", !is_told_something(s));
    else
        PROMISE(s, "and who is not protected is told so", is_told_something(s));
}

/* Data is right where redundancy is lost. */
static void
bare_is_opened(const scene *s)
{
    if (!is_right(s, true) || are_others(s) || is_asking(s) || !is_covered(s))
        return;
    if (any_fact(s, FACT(READONLY)))
        PROMISE(s, "where nothing may be written, lost redundancy keeps nobody from reading",
                s->then.verdict == RSET_VERDICT_KEEP);
    else if (s->policy.serial && s->coverage == RSET_COVERAGE_DATA)
        PROMISE(s, "one process opens its file without the redundancy that it cannot have",
                s->then.verdict == RSET_VERDICT_KEEP);
    else
        PROMISE(s, "lost redundancy is made again", s->then.verdict == RSET_VERDICT_RESTORE);
}

static void
whole_is_not_encoded_again(const scene *s)
{
    if (s->then.verdict == RSET_VERDICT_RESTORE && s->coverage == RSET_COVERAGE_WHOLE &&
        !any_fact(s, FACT(UNVERIFIED)))
        PROMISE(s, "redundancy that is there is not computed again",
                s->then.protection == RSET_PROTECTION_VALID);
}

/* ---- what was changed ---- */

/* With changed=keep, or by the run that protected them. */
static void
wanted_is_opened(const scene *s)
{
    const bool known =
        s->coverage != RSET_COVERAGE_UNVERIFIED &&
        (s->coverage != RSET_COVERAGE_UNKNOWN || (s->all.common & FACT(REWRITTEN)) != 0);
    const bool may = (s->all.common & FACT(KEEPS)) != 0 || !any_fact(s, FACT(READONLY));

    if (!is_wanted_changed(s) || !are_settled(s) || is_disturbed(s) || are_others(s) || !known ||
        !may || s->policy.published_ranks == 0 || is_asking(s) ||
        any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(UNVERIFIED) | FACT(PREPARED)))
        return;
    PROMISE(s, "what was changed, and is wanted so, is opened",
            s->then.verdict == RSET_VERDICT_KEEP);
    PROMISE(s, "and protected so, where all may write",
            s->then.protection == (s->policy.serial || any_fact(s, FACT(READONLY))
                                       ? RSET_PROTECTION_NONE
                                       : RSET_PROTECTION_REENCODE));
}

/* limitations.md, 2: old bytes were not kept, and required=no. */
static void
in_place_is_opened_if_none_is_missing(const scene *s)
{
    if (!any_fact(s, FACT(IN_PLACE)) || s->policy.required || s->policy.published_ranks == 0 ||
        s->coverage != RSET_COVERAGE_NOT || is_disturbed(s) || are_others(s) || is_asking(s) ||
        any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(CHANGED) | FACT(UNVERIFIED) |
                        FACT(READONLY) | FACT(PREPARED)))
        return;
    PROMISE(s, "what cannot be rolled back is opened if none is missing",
            s->then.verdict == RSET_VERDICT_KEEP);
}

/* ---- one process ---- */

static void
one_process_asks_no_others(const scene *s)
{
    if (s->policy.serial)
        PROMISE(s, "one process waits for no other rank",
                !is_asking(s) && s->then.verdict != RSET_VERDICT_STAND_IN);
}

static void
one_process_opens_nothing_damaged(const scene *s)
{
    if (!s->policy.serial || !any_fact(s, FACT(SIGN)) ||
        !any_fact(s, FACT(DAMAGED) | FACT(MISSING)) || any_fact(s, FACT(BUSY) | FACT(UNDER_WAY)))
        return;
    PROMISE(s, "one process does not open what it finds damaged as it is",
            s->then.verdict != RSET_VERDICT_KEEP || s->then.reason == RSET_REASON_IN_DOUBT);
}

static void
one_process_opens_what_it_finds_closed(const scene *s)
{
    if (!s->policy.serial || !all_in(s, RSET_STATE_CLOSED) ||
        any_fact(s, FACT(BUSY) | FACT(PREPARED) | FACT(MISSING) | FACT(DAMAGED) | FACT(CHANGED)))
        return;
    PROMISE(s, "one process opens what was closed as it is, and calls nothing protected",
            s->then.verdict == RSET_VERDICT_KEEP && s->then.protection == RSET_PROTECTION_NONE);
    PROMISE(s, "what was never protected is not said to be changed since",
            any_fact(s, FACT(SIGN)) || s->policy.published_ranks != 0 || !is_told_something(s));
}

/* ---- not the right file, or of another name ---- */

/* All ranks' files have one name, and some lies where another rank's should. */
static void
misplaced_is_moved_or_refused(const scene *s)
{
    const bool may = !s->policy.searched && !any_fact(s, FACT(READONLY)) && !are_others(s);

    if (s->policy.serial || !any_fact(s, FACT(RENUMBERED)) || any_fact(s, FACT(BUSY)) ||
        any_fact(s, FACT(UNDER_WAY)))
        return;
    PROMISE(s, "another rank's file is not opened: it is moved, or all are refused",
            s->then.verdict == (may ? RSET_VERDICT_SEARCH : RSET_VERDICT_REFUSE));
}

/* Only a redundancy file that is lost could tell what it is. */
static void
newer_is_refused(const scene *s)
{
    const bool closed = s->policy.serial && in_state(s, RSET_STATE_CLOSED) > 0;

    if (!any_fact(s, FACT(NEWER)) || s->policy.published_ranks == 0 || closed ||
        any_fact(s, FACT(BUSY) | FACT(UNDER_WAY) | FACT(BEHIND)))
        return;
    PROMISE(s, "beside a newer file of which nothing is left, none is opened",
            s->then.verdict == RSET_VERDICT_REFUSE || is_asking(s));
}

static void
renamed_is_told_what_is_wrong(const scene *s)
{
    if (!any_fact(s, FACT(RENAMED)))
        return;
    if (s->then.reason == RSET_REASON_RENAMED_PARTLY)
        PROMISE(s, "that others are of another generation is said only where some are",
                !are_settled(s));
    if (s->then.verdict == RSET_VERDICT_KEEP && s->then.protection != RSET_PROTECTION_NONE)
        PROMISE(s, "who may not write is told that names do not fit", is_told_something(s));
}

/* ---- why nothing can be had ---- */

static void
unrecoverable_is_told_what_is_wrong(const scene *s)
{
    const bool more =
        any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(UNVERIFIED)) || !are_settled(s);

    if (s->then.reason == RSET_REASON_UNRECOVERABLE && !any_fact(s, FACT(RENAMED)))
        PROMISE(s, "a lost node is not blamed for what a program changed, or a rank has newer",
                !any_fact(s, FACT(CHANGED)) && in_state(s, RSET_STATE_OUTDATED) == 0);
    if (s->then.reason == RSET_REASON_CHANGED)
        PROMISE(s, "a program is blamed alone only where nothing else is amiss",
                any_fact(s, FACT(CHANGED)) && !more);
    if (s->then.reason == RSET_REASON_CHANGED_TOO)
        PROMISE(s, "that more is amiss is said only where it is", more);
}

void
keep_answers(const scene *s)
{
    decided_is_not_undone(s);
    one_process_finishes_its_share(s);
    deleted_is_not_refused(s);
    never_protected_is_left_alone(s);
    torn_is_not_opened_without_record(s);
    one_process_says_nothing_of_others(s);
    first_written_is_opened_if_closed(s);
    never_protected_is_opened_unless_required(s);
    first_written_is_told_what_is_wrong(s);
    without_record_is_told_so(s);
    right_is_opened(s);
    bare_is_opened(s);
    whole_is_not_encoded_again(s);
    wanted_is_opened(s);
    in_place_is_opened_if_none_is_missing(s);
    one_process_asks_no_others(s);
    one_process_opens_nothing_damaged(s);
    one_process_opens_what_it_finds_closed(s);
    misplaced_is_moved_or_refused(s);
    newer_is_refused(s);
    renamed_is_told_what_is_wrong(s);
    unrecoverable_is_told_what_is_wrong(s);
}
