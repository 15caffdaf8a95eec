/* report.c: what each rank has, told to all others. See recover_internal.h. */
#include "openings_internal.h"

#include "common/crc64.h"
#include "rendezvous/rendezvous.h"

#include <string.h>

/* ---- own files ---- */

/* Data and redundancy against this rank's own header. */
static rset_status
verify_own(rset_recovery *r, rset_content content)
{
    const rset_recover_args *a = r->args;
    const rset_evidence     *ev = a->evidence;
    rset_status st = rset_classify_verify(a->local, ev, content, &r->mine, &r->verified, r->err);

    r->unread = content != RSET_CONTENT_ALL;
    if (content != RSET_CONTENT_NONE || r->content == RSET_CONTENT_NONE)
        r->mine.facts &= ~(unsigned)RSET_FACT_UNREAD;
    return st;
}

static bool
is_small(const rset_evidence *ev)
{
    return rset_info_length(&ev->header.infos[0]) <= RSET_VERIFY_NOW;
}

static rset_status
look_at_own(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    rset_looked              looked = {.rank = a->world->rank, .readonly = a->readonly};
    rset_status              st;

    r->coverage = RSET_COVERAGE_UNKNOWN;
    r->own_work = (rset_work){0};
    rset_verified_free(&r->verified);
    looked.renamed = r->renamed_from != NULL;
    st = rset_classify_look(a->local, a->evidence, &r->standing, &looked, &r->mine, r->err);

    if (a->local->nfiles > 0)
        r->mine.name = rset_name_hash(rset_path_base(a->local->names[0]));
    if (r->behind)
        r->mine.facts |= RSET_FACT_BEHIND;
    if (a->local->nfiles > 1 && r->nmoves > 0) /* what protects them came, and not all of them do */
        r->mine.facts &= ~(unsigned)RSET_FACT_GONE;
    if (r->unprotected && r->mine.state == RSET_STATE_UNKNOWN)
        r->mine.state = RSET_STATE_CURRENT; /* of what nobody protects nothing can be wrong */
    else if (st == RSET_OK && r->mine.state == RSET_STATE_CURRENT)
        st = verify_own(r, r->content != RSET_CONTENT_NONE && is_small(a->evidence)
                               ? RSET_CONTENT_ALL
                               : RSET_CONTENT_NONE);
    return st;
}

/* ---- all ---- */

typedef struct last_words {
    rset_summary  all;
    int64_t       coverage;
    rset_work     work;
    rset_division division;
} last_words;
_Static_assert(sizeof(last_words) <= sizeof(rset_err), "fits into one message of a reduction");

static void
merge_reports(void *into, const void *other)
{
    last_words       *a = into;
    const last_words *b = other;

    rset_merge(&a->all, &b->all);
    a->coverage = b->coverage > a->coverage ? b->coverage : a->coverage;
    a->work.bytes += b->work.bytes;
    a->work.ranks += b->work.ranks;
    if (a->work.first == 0 || (b->work.first != 0 && b->work.first < a->work.first))
        a->work.first = b->work.first;
    a->division.sets = b->division.sets > a->division.sets ? b->division.sets : a->division.sets;
    a->division.known += b->division.known;
    a->division.seen += b->division.seen;
}

/* Adds to this rank's report whether its files, if another program has changed them, are wanted as they are. With required=yes not
 * files of an older time than was recorded: storage that has lost what was written last looks so, too. */
static void
say_what_of_changes(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    const bool               changed = (r->mine.facts & RSET_FACT_CHANGED) != 0;

    if (a->keep_changed)
        r->mine.facts |= RSET_FACT_KEEPS;
    r->mine.ours = changed && a->own_run;
    if (r->mine.ours && r->mine.state == RSET_STATE_CURRENT && (r->mine.later || !a->required))
        r->mine.facts |= RSET_FACT_REWRITTEN;
}

/* This rank's report, and what it has to write, for a reduction. */
static last_words
own_words(rset_recovery *r)
{
    say_what_of_changes(r);
    return (last_words){.all = rset_summarise(&r->mine),
                        .coverage = (int64_t)r->coverage,
                        .work = r->own_work,
                        .division = r->division};
}

/* A set has two members or more, or it is that of a rank that no set had room for: so where as many ranks as sets are without a
 * record, each of them was left over. */
static bool
was_left_over(const rset_recovery *r, const rset_division *d)
{
    const uint64_t ranks = r->policy.published_ranks;

    return r->hosts_known && !r->has_set && d->sets < ranks &&
           ranks - d->seen == d->sets - d->known;
}

static void
take_words(rset_recovery *r, const last_words *words)
{
    r->all = words->all;
    r->coverage = (rset_coverage)words->coverage;
    r->work = words->work;
    r->was_left_over = was_left_over(r, &words->division);
}

rset_status
rset_recovery_sum_up(rset_recovery *r, rset_status own)
{
    last_words           words = own_words(r);
    const rset_reduction what = {&words, sizeof words, merge_reports};
    rset_status          st = rset_reduce(r->args->world, own, r->args->host, &what, r->err);

    if (st == RSET_OK)
        take_words(r, &words);
    return st;
}

/* ---- where they look, and what counts ---- */

/* May other ranks get their files from this one? */
static bool
gives(const rset_recovery *r)
{
    return !r->args->stays && r->renamed_from == NULL;
}

/* Two ranks have the same number if they look for files of one kind in one directory of one host, and both or neither may give its
 * files to others. 0: this rank looks in none. */
static uint64_t
number_of_dir(const rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    const uint64_t where[] = {a->local->dir != NULL ? rset_dir_number(a->local->dir) : 0, gives(r)};
    rset_kind      kind;
    uint64_t       number;

    if (a->local->nfiles == 0 || where[0] == 0)
        return 0;
    rset_kind_of(a->local->names[0], &kind);
    number = rset_crc64(rset_name_kept(a->local->names[0]), kind.text, strlen(kind.text));
    number = rset_crc64(number, a->host, strlen(a->host));
    return rset_crc64(number, where, sizeof where);
}

bool
rset_recovery_is_of_others(const rset_recovery *r)
{
    return r->policy.apart || r->policy.stood_in ||
           r->policy.published_ranks != (uint64_t)r->args->world->size;
}

void
rset_recovery_choose(rset_recovery *r)
{
    rset_stand(&r->census, r->no_forward, &r->standing, &r->policy);
    if (!r->policy.stood_in && !r->policy.apart)
        return;

    if (r->evidence->has_header)
        r->standing.counts =
            rset_generation_code(r->evidence); /* what was asked for by this rank */
    if (r->policy.apart && !r->policy.stood_in)
        r->standing.prepared = rset_evidence_in_doubt(r->evidence) ? r->evidence->next : 0;
}

/* ---- the census, and with it mostly the report ----
 *
 * Mostly all files are of one generation, and each rank's disk says of which. So a rank reports at once how its files stand to the
 * generation that would count if all said what it does. Where all have thought of the same one, and it is the one that counts, their
 * reports count as well, and nobody has to report again. */

typedef struct first_words {
    rset_census census;
    uint64_t    least_dir, most_dir; /* numbers of the directories in which they look; 0: in none */
    uint64_t    least_content, most_content; /* of rset_content: what ranks want verified */
    rset_standing     least, most;           /* what their reports are about */
    uint64_t          unsure;                /* some rank has nothing to report yet */
    rset_name_changes names; /* how files are called now, and were when they were protected */
    last_words        reports;
} first_words;

_Static_assert(sizeof(first_words) <= sizeof(rset_err), "fits into one message of a reduction");

static void
stretch(uint64_t *least, uint64_t *most, uint64_t other_least, uint64_t other_most)
{
    *least = other_least < *least ? other_least : *least;
    *most = other_most > *most ? other_most : *most;
}

static void
merge_words(void *into, const void *other)
{
    first_words       *a = into;
    const first_words *b = other;

    rset_census_merge(&a->census, &b->census);
    stretch(&a->least_dir, &a->most_dir, b->least_dir, b->most_dir);
    stretch(&a->least_content, &a->most_content, b->least_content, b->most_content);
    stretch(&a->least.counts, &a->most.counts, b->least.counts, b->most.counts);
    stretch(&a->least.prepared, &a->most.prepared, b->least.prepared, b->most.prepared);
    a->unsure |= b->unsure;
    rset_recovery_merge_changes(&a->names, &b->names);
    merge_reports(&a->reports, &b->reports);
}

/* Is nothing left on this rank's disk that says anything of its file? So it stands to any generation as to any other. */
static bool
says_nothing(const rset_evidence *ev)
{
    return !ev->any && !ev->has_header && !ev->has_desc && ev->next == 0 && ev->mark == 0 &&
           !ev->undo.there && !ev->undo.rotten;
}

/* How this rank's files stand to what would count if all said what it does. What fails here is tried again when it is known what
 * counts. */
static void
report_at_once(rset_recovery *r, first_words *words)
{
    const rset_policy policy = r->policy;
    rset_err         *err = r->err, ignored = RSET_ERR_NONE;

    r->census = words->census;
    r->content = (rset_content)words->most_content;
    rset_recovery_choose(r);
    r->err = &ignored;
    words->unsure = look_at_own(r) != RSET_OK;
    r->err = err;
    words->least = words->most = r->standing;
    if (says_nothing(r->args->evidence)) {
        words->least = (rset_standing){UINT64_MAX, UINT64_MAX};
        words->most = (rset_standing){0};
    }
    words->reports = own_words(r);
    r->policy = policy;
}

/* Have all reported on the generation that counts, and verified as much as any wants? The same on all: not where each stands to its
 * own generation. */
static bool
are_reports_good(const rset_recovery *r, const first_words *words)
{
    return !r->policy.apart && !r->policy.stood_in && words->unsure == 0 &&
           words->least_content == words->most_content &&
           words->least.counts == words->most.counts &&
           words->least.prepared == words->most.prepared &&
           r->standing.counts == words->most.counts && r->standing.prepared == words->most.prepared;
}

rset_status
rset_recovery_take_census(rset_recovery *r, rset_status own)
{
    const rset_recover_args *a = r->args;
    first_words              words = {0};
    const rset_reduction     what = {&words, sizeof words, merge_words};
    bool                     distrusted;
    rset_status              st;

    if (own == RSET_OK)
        own = rset_recovery_recognise(r);
    distrusted = a->content == RSET_CONTENT_DATA && a->evidence->distrusted;
    words.census = rset_take_census(a->evidence);
    words.least_content = words.most_content = distrusted ? RSET_CONTENT_ALL : a->content;
    words.least_dir = words.most_dir = number_of_dir(r);
    words.names = rset_recovery_own_change(a->local, a->evidence);
    if (r->heard.ranks > 0)
        rset_census_note(&words.census, r->heard.generation, (uint64_t)r->heard.ranks, true);
    if (own == RSET_OK)
        report_at_once(r, &words);
    st = rset_reduce(a->world, own, a->host, &what, r->err);
    if (st != RSET_OK)
        return st;
    r->census = words.census;
    r->content = (rset_content)words.most_content;
    r->one_dir = words.least_dir != 0 && words.least_dir == words.most_dir;
    rset_recovery_take_changes(r, &words.names);
    rset_recovery_choose(r);
    r->reported = are_reports_good(r, &words);
    if (r->reported)
        take_words(r, &words.reports);
    return RSET_OK;
}

rset_status
rset_recovery_take_alike(rset_recovery *r, rset_status own)
{
    const rset_recover_args *a = r->args;
    rset_status              st = own;

    r->census = rset_take_census(a->evidence);
    r->content = a->content;
    rset_recovery_choose(r);
    if (st == RSET_OK)
        st = look_at_own(r);
    if (st == RSET_OK && (r->mine.facts & RSET_FACT_UNREAD) != 0)
        st = verify_own(r, r->content);
    st = rset_recovery_sum_up(r, st);
    r->reported = st == RSET_OK;
    return st;
}

rset_status
rset_recovery_report(rset_recovery *r)
{
    const bool reported = r->reported;

    r->reported = false;
    if (reported)
        return RSET_OK;
    return rset_recovery_sum_up(r, look_at_own(r));
}

rset_status
rset_recovery_verify(rset_recovery *r)
{
    rset_status st = RSET_OK;

    if ((r->mine.facts & RSET_FACT_UNREAD) != 0)
        st = verify_own(r, r->content);
    return rset_recovery_sum_up(r, st);
}

/* ---- files that have stayed where their ranks were ---- */

/* It was missing when this rank reported; somebody who stands in for a rank may have made it since. */
static bool
is_missing(const rset_recovery *r)
{
    bool there = false;

    return (r->mine.facts & RSET_FACT_MISSING) != 0 &&
           (rset_local_there(r->args->local, &there, NULL) != RSET_OK || !there ||
            r->args->evidence->placeholder);
}

/* Another rank's file lies where this one's belongs; they have one name. */
static bool
is_strange(const rset_recovery *r)
{
    return r->decision.reason == RSET_REASON_MAKE_ROOM && !r->args->stays &&
           (r->mine.facts & RSET_FACT_RENUMBERED) != 0;
}

/* True if the table would say ASK next, should no file be found: then that is asked in the messages of the search. */
static bool
asks_aside(const rset_recovery *r)
{
    return rset_has_to_ask(&r->all, &r->policy) && !r->differ && !rset_recovery_is_of_others(r);
}

/* Takes the answer to what was asked aside. Where files have come, all ask once more. */
static void
take_aside(rset_recovery *r, const rset_keepers_aside *aside, bool moved)
{
    r->differ = aside->is;
    r->policy.asked = !aside->is && !moved;
}

/* What lies under a name that was given to a file by other means is of what had it before: it is none to be looked for. */
rset_status
rset_recovery_search(rset_recovery *r)
{
    const rset_recover_args *a = r->args;
    const bool               missing = is_missing(r);
    const bool               strange = is_strange(r);
    const bool               wants = missing || (r->mine.facts & RSET_FACT_REPLACED) != 0;
    const bool               asks = asks_aside(r);
    rset_keepers_aside       aside;
    const rset_move_args     args = {.before = asks ? rset_openings_ask_aside(r, &aside) : RSET_OK,
                                     .aside = asks ? &aside : NULL,
                                     .world = a->world,
                                     .local = a->local,
                                     .evidence = a->evidence,
                                     .host = a->host,
                                     .wants = !a->stays && !a->dry_run && wants &&
                                              (r->mine.facts & RSET_FACT_READONLY) == 0,
                                     .strange = strange,
                                     .gives = gives(r),
                                     .one_dir = r->one_dir,
                                     .search = a->search,
                                     .copies = a->copies,
                                     .known = rset_generation_of_code(r->standing.counts)};
    rset_moved               moved;
    rset_status              st = rset_move_missing(&args, &r->moves[r->nmoves], &moved, r->err);

    r->policy.searched = true;
    if (st == RSET_OK && asks)
        take_aside(r, &aside, moved.any);
    r->reported = st == RSET_OK && !moved.any; /* nothing has changed since all reported */
    if (st != RSET_OK || !moved.any)
        return st;
    r->nmoves += r->moves[r->nmoves] != NULL;
    r->out->acted = true;
    r->heard = moved.record;
    r->out->replaced = r->out->replaced || moved.changed;
    if (moved.here) {
        memcpy(r->out->moved_from, moved.host, sizeof r->out->moved_from);
        r->out->copied = moved.copied;
    }
    if (wants || strange)
        st = rset_survey_local(a->local, a->evidence, r->err);
    return rset_recovery_take_census(r, st);
}
