/* report_text.c: the status of every protected file in words. See report.h. */
#include "files.h"
#include "judge.h"
#include "owner.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_RANGES = 4, SHOWN_SETS = 8 };

/* Ranks that no set had room for, each of which counts as a set in what is stored. */
static int
count_left_over(const family *f)
{
    int n = 0;

    for (int k = 0; k < f->nsets; k++)
        n += rset_desc_is_left_over(&f->sets[k].desc);
    return n;
}

char *
describe_family(const family *f)
{
    const rset_desc *d = &f->desc;
    const int        alone = count_left_over(f), sets = d->sets - alone;
    const rset_stamp stamp = family_stamp(f);
    char             parity[32] = "", generation[32] = "written by another program", more[48] = "";
    const char      *label = stamp.label != NULL ? stamp.label : "";

    if (d->scheme->count_key != NULL)
        snprintf(parity, sizeof parity, ":%d", d->parity);
    if (d->generation != 0)
        snprintf(generation, sizeof generation, "generation %u", generation_number(d->generation));
    if (alone > 0)
        snprintf(more, sizeof more, " and %d not protected", alone);
    return must_print("%s: %s%s, %d rank%s in %d set%s%s, %s%s%s%s", family_name(f),
                      d->scheme->name, parity, d->ranks - alone, d->ranks == 1 ? "" : "s", sets,
                      sets == 1 ? "" : "s", more, generation, label[0] != '\0' ? " \"" : "", label,
                      label[0] != '\0' ? "\"" : "");
}

static char *
describe_ranges(const char *what, const rset_ranges *bad)
{
    char  *text = NULL;
    size_t len = 0;
    FILE  *to = open_memstream(&text, &len);

    if (to == NULL)
        no_memory();
    fprintf(to, "%s at", what);
    for (size_t i = 0; i < bad->n && i < SHOWN_RANGES; i++) {
        const rset_range *r = &bad->at[i];
        char              size[32];

        fprintf(to, "%s %" PRIu64 " (%s)", i > 0 ? "," : "", r->from,
                r->to == UINT64_MAX ? "to the end" : rset_amount_say(r->to - r->from, size));
    }
    if (bad->n > SHOWN_RANGES)
        fprintf(to, " and %zu more", bad->n - SHOWN_RANGES);
    if (fclose(to) != 0)
        no_memory();
    return text;
}

static char *
describe_changed(const member *m)
{
    const sighting *s = m->seen;
    const char     *back = sighting_keeps_old(s) ? "; can be rolled back" : "";

    if ((m->report.facts & RSET_FACT_BUSY) != 0)
        return must_copy("being changed by a program");
    return must_print("changed since it was protected%s%s",
                      m->report.state == RSET_STATE_CLOSED ? ", and closed" : "", back);
}

static char *
describe_bare(const member *m)
{
    const sighting *s = m->seen;

    if ((m->report.facts & RSET_FACT_UNVERIFIED) != 0)
        return must_copy("there; nothing records what it should be");
    return s->payload.n > 0 ? describe_ranges("healthy; redundancy damaged", &s->payload)
           : m->own         ? must_copy("healthy; descriptor file missing")
                            : must_copy("redundancy missing");
}

static char *
describe_renamed(const sighting *s)
{
    return must_print("renamed: was protected as %s%s", sighting_old_name(s),
                      s->verified ? "; verified" : "");
}

static char *
describe_altered(const sighting *s)
{
    char how[128], differs[160];

    rset_changed_say(&s->altered, how, sizeof how);
    snprintf(differs, sizeof differs, "%s; it differs", how);
    return s->data.n > 0 ? describe_ranges(differs, &s->data) : must_copy(how);
}

/* It has the size that was recorded; whether its content is another only --verify says. */
static char *
describe_written(const sighting *s)
{
    char when[40];

    rset_time_say(s->altered.when, when, sizeof when);
    return must_print("healthy by its size; written%s, after it was protected (--verify compares "
                      "its content)",
                      when);
}

static char *
describe_outdated(const sighting *s)
{
    return s->said.has_header
               ? must_print("outdated: an old copy, of generation %u",
                            generation_number(s->said.header.infos[0].desc.generation))
               : must_copy("outdated: belongs to another generation");
}

static char *
describe_lost(const member *m)
{
    if (m->seen == NULL && member_host(m) != NULL)
        return must_print("lost; was on %s", member_host(m));
    return must_copy(m->seen != NULL && m->own ? "lost; its redundancy file is there" : "lost");
}

static char *
describe_seen(const member *m)
{
    const sighting *s = m->seen;

    switch (m->state) {
    case STATE_LOST: return describe_lost(m);
    case STATE_ELSEWHERE:
        return m->known != NULL ? must_print("elsewhere; was on %s", m->known->host)
                                : must_copy("elsewhere");
    case STATE_DELETED:
        return must_copy(m->own ? "deleted; its redundancy file is there" : "deleted");
    case STATE_DAMAGED:
        return s->data.n > 0 ? describe_ranges("damaged", &s->data) : must_copy("damaged");
    case STATE_ALTERED: return describe_altered(s);
    case STATE_OUTDATED: return describe_outdated(s);
    case STATE_CHANGED: return describe_changed(m);
    case STATE_COMMITTING: return must_copy("its commit is decided, and not finished");
    case STATE_BARE: return describe_bare(m);
    case STATE_RENAMED: return describe_renamed(s);
    default:
        if (s->altered.when != 0 && !s->verified && !s->no_sums)
            return describe_written(s);
        return must_copy(s->verified  ? "healthy, verified"
                         : s->no_sums ? "healthy by its size; no checksums are recorded"
                                      : "healthy");
    }
}

/* A file that cannot be read may be had when the storage answers again. */
char *
describe_state(const member *m)
{
    const sighting *s = m->seen;
    char           *seen, *all;

    if (s != NULL && s->trouble != NULL)
        return must_print("%s; cannot be read: %s", state_looks[m->state].word, s->trouble);
    seen = describe_seen(m);
    if (s == NULL || s->unread == 0 || m->state == STATE_HEALTHY)
        return seen;
    all = must_print("%s; cannot be read: %s", seen, strerror(s->unread));
    free(seen);
    return all;
}

/* ---- what comes of it ---- */

char *
action_text(const rset_decision *decision, const member *m, bool would)
{
    const rset_action action = rset_act(decision, &m->report);
    const bool        again = decision->verdict == RSET_VERDICT_RESTORE &&
                       decision->protection == RSET_PROTECTION_REENCODE;
    const char *what = "", *verb = "rebuilt";

    if (m->state == STATE_RENAMED && decision->protection != RSET_PROTECTION_NONE)
        return must_copy(would ? "would be protected under this name (renamed)"
                               : "protected under this name");
    if (action == RSET_ACTION_FINISH) {
        what = "commit ";
        verb = "finished";
    } else if (action == RSET_ACTION_UNDO) {
        verb = "rolled back";
    } else if (action == RSET_ACTION_REBUILD ? m->state == STATE_BARE : again) {
        what = "redundancy ";
        verb = "re-encoded";
    } else if (action == RSET_ACTION_NOTHING) {
        return NULL;
    }
    return would ? must_print("%swould be %s (%s)", what, verb, state_looks[m->state].word)
                 : must_print("%s%s", what, verb);
}

char *
reason_text(const rset_decision *decision, const rset_summary *all)
{
    char text[RSET_ERR_TEXT];

    rset_reason_say(decision->reason, all, "", NULL, text, sizeof text);
    return must_copy(text[0] == ':' ? text + 2 : text);
}

/* Where all becomes that of the generation that counts: what that comes to. */
static const char *
what_will_be(const family *f)
{
    const uint64_t *n = f->all.count;
    const bool      lost = (f->all.facts & RSET_FACTS_LOSS) != 0 || n[RSET_STATE_OUTDATED] > 0;

    if (f->renamed)
        return lost ? "files were renamed without what protects them, which will get their names, "
                      "and what is lost can be rebuilt"
                    : "files were renamed without what protects them, which will get their names";
    if (n[RSET_STATE_COMMITTING] > 0)
        return lost ? "the last commit was not finished; it will be finished, and "
                      "what is lost rebuilt"
                    : "the last commit was not finished; it will be finished";
    if (n[RSET_STATE_CLOSED] > 0)
        return lost ? "what is lost or damaged can be rebuilt; content that was closed without "
                      "protection will be discarded on all ranks: rolled back to what was "
                      "protected last"
                    : "not all files were closed in one step; content that was closed without "
                      "protection will be discarded on all ranks: rolled back to what was "
                      "protected last";
    if (n[RSET_STATE_OPEN] > 0)
        return "a change was not finished; will be rolled back to what was protected last";
    return f->decision.protection == RSET_PROTECTION_REENCODE
               ? "the data can be rebuilt, not the redundancy, which will be re-encoded"
               : "can be rebuilt";
}

/* What can be done about files that were deleted. */
static char *
advice_deleted(const family *f)
{
    const bool can = f->worst == RSET_COVERAGE_WHOLE || f->worst == RSET_COVERAGE_DATA;
    const int  unseen = family_unseen(f);
    char       nodes[96] = "";

    if (unseen > 0)
        snprintf(nodes, sizeof nodes,
                 ". Of %d rank%s nothing was found: look on the other nodes as well (mpiexec)",
                 unseen, unseen == 1 ? "" : "s");
    return must_print("deleted: %s%s",
                      can ? "'h5redset rebuild --deleted' brings them back, 'h5redset gc' removes "
                            "what protects them"
                          : "what is left cannot bring them back, and 'h5redset gc' removes it",
                      nodes);
}

static char *
advice_elsewhere(const family *f)
{
    int here = 0;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        here += m->seen != NULL;
    return must_print(
        "elsewhere: of %d files %d are here, and whole; the others are on other nodes: look "
        "there as well (mpiexec, --search)",
        f->desc.ranks, here);
}

char *
advice(const family *f)
{
    char *reason, *text;

    if (is_deleted(&f->decision))
        return advice_deleted(f);
    if (f->elsewhere)
        return advice_elsewhere(f);
    if (f->superseded != 0)
        return must_print("superseded: files of it were protected anew since, as generation %u, "
                          "and it cannot be had any more; "
                          "'h5redset unprotect --force' removes what is left of it",
                          generation_number(f->superseded));
    if (f->renamed && f->partly)
        return must_copy("some of these files were renamed without what protects them, and others "
                         "not, or in another way: rename the others as well");
    if ((f->decision.verdict == RSET_VERDICT_RESTORE || f->renamed) &&
        f->decision.protection != RSET_PROTECTION_NONE)
        return must_print("%s: open the files with all ranks, or 'h5redset rebuild'",
                          what_will_be(f));
    reason = reason_text(&f->decision, &f->all);
    if (f->decision.reason != RSET_REASON_UNRECOVERABLE)
        return reason;
    if ((f->all.common & RSET_FACT_GONE) != 0) {
        free(reason);
        return must_copy("deleted, and what is left cannot bring them back");
    }
    text = must_print("%s. With what can be reached from here: look on the other nodes as well "
                      "(mpiexec, --search)",
                      reason);
    free(reason);
    return text;
}

static void
report_set(const cat_set *s)
{
    if (s->lost)
        print_error("set %d: %s: %s unrecoverable", s->desc.set, SET_GONE, s->why);
    else if (s->why[0] != '\0')
        print_error("set %d: %s: %s", s->desc.set, verdict_looks[s->verdict].word, s->why);
}

void
report_refusal(const family *f)
{
    char *text = advice(f);
    int   gone = 0;

    for (int k = 0; k < f->nsets; k++) {
        gone += f->sets[k].lost;
        if (f->sets[k].verdict == VERDICT_UNRECOVERABLE && (!f->sets[k].lost || gone <= SHOWN_SETS))
            report_set(&f->sets[k]);
    }
    print_error("%s: %s", family_name(f), text);
    free(text);
}

/* ---- what was put aside ---- */

char *
aside_names(const listed *g)
{
    return must_print("*.redset.%016" PRIx64 ".%s*", g->generation,
                      listed_is_lost(g) ? "lost" : "newer");
}

void
report_aside(const file_list *l, FILE *to)
{
    for (size_t k = 0; l != NULL && k < l->naside; k++) {
        const listed *g = &l->aside[k];
        char          bytes[32], *names = aside_names(g);

        fprintf(
            to,
            "  put aside, since it could not be had: generation %u: %s, as %s\n"
            "    -> if what was lost of it comes back, with the directory that it was in, make it "
            "the newest again: h5redset restore --generation=%u; if you do not need it, "
            "remove it: h5redset drop --generation=%u\n",
            generation_number(g->generation), rset_amount_say(g->bytes, bytes), names,
            generation_number(g->generation), generation_number(g->generation));
        free(names);
    }
}

/* ---- tables ---- */

static void
print_member(const member *m, int index, bool many_hosts, FILE *to)
{
    const char *host = many_hosts ? member_host(m) : NULL;
    char       *words = describe_state(m), size[32] = "?", more[32] = "";

    if (m->known != NULL)
        rset_amount_say(rset_info_length(m->known), size);
    if (m->known != NULL && m->known->nfiles > 1)
        snprintf(more, sizeof more, " and %d more", m->known->nfiles - 1);
    print_line(to, "    %5d %7d  %-10s %s%s%s%s%s  %s", m->rank, index, size,
               host != NULL ? host : "", host != NULL ? ":" : "", member_path(m), more,
               m->seen == NULL && m->known != NULL ? " (recorded)" : "", words);
    free(words);
}

static void
print_set(const cat_set *s, bool many_hosts, FILE *to)
{
    if (s->lost && s->verdict == VERDICT_UNRECOVERABLE) {
        fprintf(to, "  set %d: %s: %s unrecoverable\n", s->desc.set, SET_GONE, s->why);
        return;
    }
    fprintf(to, "  set %d: %s%s%s\n     rank  member  size       file  state\n", s->desc.set,
            verdict_looks[s->verdict].word, s->why[0] != '\0' ? ": " : "", s->why);
    for (int i = 0; i < s->desc.members; i++)
        print_member(&s->members[i], i, many_hosts, to);
}

static void
print_heading(const family *f, int64_t now, FILE *to)
{
    char            *what = describe_family(f), age[32], date[64];
    const rset_stamp stamp = family_stamp(f);
    char            *user = owner_recorded(stamp.user);
    uint64_t         newest = 0;

    for (int k = 0; k < f->nsets; k++)
        newest = f->sets[k].when > newest ? f->sets[k].when : newest;
    show_date(newest, date, sizeof date);
    print_line(to, "%s, protected %s (%s ago)%s%s%s%s", what, date,
               show_age(now - (int64_t)newest, age), user != NULL ? " by " : "",
               user != NULL ? user : "", stamp.job != NULL ? " in job " : "",
               stamp.job != NULL ? stamp.job : "");
    free(user);
    free(what);
}

/* Of many that have gone the first will do. */
static void
print_sets(const family *f, bool problems, bool many_hosts, FILE *to)
{
    int gone = 0;

    for (int k = 0; k < f->nsets; k++) {
        const cat_set *s = &f->sets[k];

        if (problems && !is_problem(s))
            continue;
        gone += s->asked && s->lost;
        if (s->asked && (!s->lost || gone <= SHOWN_SETS))
            print_set(s, many_hosts, to);
    }
    if (gone > SHOWN_SETS)
        fprintf(to, "  and %d sets more: nothing of them is left\n", gone - SHOWN_SETS);
}

/* Where there are older generations, what each takes. */
static void
print_space(const file_list *l, FILE *to)
{
    char size[32];

    if (l == NULL || l->n < 2)
        return;
    fprintf(to, "  on disk: %s; older generations:", rset_amount_say(l->at[0].bytes, size));
    for (size_t k = 1; k < l->n; k++)
        fprintf(to, "%s %u: %s", k > 1 ? "," : "", generation_number(l->at[k].generation),
                rset_amount_say(l->at[k].bytes, size));
    fputc('\n', to);
}

static void
print_family(const family *f, const file_list *l, bool problems, bool many_hosts, int64_t now,
             FILE *to)
{
    char *text = advice(f);

    print_heading(f, now, to);
    print_sets(f, problems, many_hosts, to);
    print_space(l, to);
    report_aside(l, to);
    if (text[0] != '\0')
        print_line(to, "    -> %s", text);
    free(text);
}

static void
print_stray(const family *one, FILE *to)
{
    const sighting *s = one->sets->members->seen;
    char           *text = reason_text(&one->decision, &one->all);

    print_line(to, "%s: %s", s->path,
               s->trouble != NULL
                   ? "could not be looked at, so nothing is known of it"
                   : "was protected, or was to be; nothing that can be reached records how");
    print_line(to, "    -> %s", s->trouble != NULL ? s->trouble : text);
    free(text);
}

void
report_text(const catalog *c, const lists *all, bool problems, int64_t now, FILE *to)
{
    for (size_t i = 0; i < c->nfamilies; i++)
        if (c->families[i].asked && (!problems || has_problem(&c->families[i])))
            print_family(&c->families[i], lists_find(all, &c->families[i]), problems,
                         catalog_many_hosts(c), now, to);
    for (size_t i = 0; i < c->nstrays; i++)
        print_stray(&c->strays[i], to);
}
