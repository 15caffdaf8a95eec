/* report_text.c: the status of every protected file in words. See report.h. */
#include "files.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_RANGES = 4 };

char *
describe_checkpoint(const cat_set *s)
{
    const rset_desc *d = &s->desc;
    char             parity[32] = "", generation[32] = "written by another program";
    char            *name = shown(checkpoint_name(s)), *text;

    if (d->scheme->count_key != NULL)
        snprintf(parity, sizeof parity, ":%d", d->parity);
    if (d->generation != 0)
        snprintf(generation, sizeof generation, "generation %u", generation_number(d->generation));
    text =
        must_print("%s: %s%s, %d rank%s in %d set%s, %s", name, d->scheme->name, parity, d->ranks,
                   d->ranks == 1 ? "" : "s", d->sets, d->sets == 1 ? "" : "s", generation);
    free(name);
    return text;
}

static char *
describe_ranges(const char *what, const rset_ranges *bad)
{
    char *text = must_print("%s at", what);

    for (size_t i = 0; i < bad->n && i < SHOWN_RANGES; i++) {
        const rset_range *r = &bad->at[i];
        char              size[32];
        char             *more =
            must_print("%s%s %" PRIu64 " (%s)", text, i > 0 ? "," : "", r->from,
                       r->to == UINT64_MAX ? "to the end" : show_bytes(r->to - r->from, size));

        free(text);
        text = more;
    }
    if (bad->n > SHOWN_RANGES) {
        char *more = must_print("%s and %zu more", text, bad->n - SHOWN_RANGES);

        free(text);
        text = more;
    }
    return text;
}

char *
describe_state(const member *m)
{
    const sighting *s = m->seen;

    if (s != NULL && s->trouble != NULL)
        return must_print("%s; cannot be read: %s", state_looks[m->state].word, s->trouble);
    switch (m->state) {
    case STATE_LOST: return must_copy(s != NULL ? "lost; its redundancy file is there" : "lost");
    case STATE_DAMAGED: return describe_ranges("damaged", &s->data);
    case STATE_STALE:
        return s->nrecorded > 0 ? must_print("stale: an old copy, of generation %u",
                                             generation_number(s->recorded[0].desc.generation))
                                : must_copy("stale: belongs to another generation");
    case STATE_CHANGED:
        return must_copy(s->busy       ? "being changed by a program"
                         : s->way_back ? "changed since it was protected; can be taken back"
                                       : "changed since it was protected");
    case STATE_BARE:
        return s->payload.n > 0 ? describe_ranges("healthy; redundancy damaged", &s->payload)
               : m->own         ? must_copy("healthy; descriptor file missing")
                                : must_copy("redundancy missing");
    default:
        return must_copy(s->verified  ? "healthy, verified"
                         : s->no_sums ? "healthy by its size; no checksums are recorded"
                                      : "healthy");
    }
}

const char *
advice(const cat_set *s)
{
    bool changed = false, other = false;

    for (int i = 0; i < s->desc.members; i++) {
        changed = changed || s->members[i].state == STATE_CHANGED;
        other =
            other || (s->members[i].state != STATE_CHANGED && s->members[i].state != STATE_HEALTHY);
    }
    switch (s->verdict) {
    case VERDICT_REPAIRABLE:
        return !changed || other
                   ? "can be brought back: open the files with all ranks, or 'h5redset rebuild'"
                   : "not protected since: open the files with all ranks and close them again";
    case VERDICT_DATA_ONLY:
        return "the data can be brought back, not the redundancy: open the files with all ranks, "
               "write and close them, to have it made anew";
    case VERDICT_BEYOND:
        return "beyond repair with what can be reached from here: look on the other nodes "
               "(mpiexec, --search), bring a lost node's directory back, or go on from an earlier "
               "file";
    default: return NULL;
    }
}

void
report_hopeless(const cat_set *s)
{
    if (s->verdict == VERDICT_BEYOND)
        fprintf(stderr, "h5redset: set %d: %s; %s\n", s->desc.set, s->why, advice(s));
}

static void
print_member(const member *m, int index, bool many_hosts, FILE *to)
{
    char *path = member_path(m), *safe = shown(path), *words = describe_state(m), size[32] = "?";
    char *state = shown(words);

    if (m->known != NULL)
        show_bytes(m->known->length, size);
    fprintf(to, "    %5d %7d  %-10s %s%s%s%s  %s\n", m->known != NULL ? m->known->desc.rank : -1,
            index, size, many_hosts && m->seen != NULL ? m->seen->host : "",
            many_hosts && m->seen != NULL ? ":" : "", safe, m->seen == NULL ? " (recorded)" : "",
            state);
    free(path);
    free(safe);
    free(words);
    free(state);
}

static void
print_set(const cat_set *s, bool many_hosts, FILE *to)
{
    fprintf(to, "  set %d: %s%s%s\n     rank  member  size       file  state\n", s->desc.set,
            verdict_words[s->verdict], s->why[0] != '\0' ? ": " : "", s->why);
    for (int i = 0; i < s->desc.members; i++)
        print_member(&s->members[i], i, many_hosts, to);
    if (advice(s) != NULL)
        fprintf(to, "    -> %s\n", advice(s));
}

static void
print_heading(const cat_set *s, int64_t now, FILE *to)
{
    char      *what = describe_checkpoint(s), age[32], date[64] = "?";
    time_t     when = (time_t)s->when;
    struct tm *local = localtime(&when);

    if (local != NULL)
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", local);
    fprintf(to, "%s, protected %s (%s ago)\n", what, date, show_age(now - (int64_t)s->when, age));
    free(what);
}

void
report_text(const catalog *c, int64_t now, FILE *to)
{
    const cat_set *last = NULL;
    const bool     many_hosts = catalog_many_hosts(c);

    for (size_t i = 0; i < c->n; i++) {
        if (!c->sets[i].asked)
            continue;
        if (last == NULL || !same_checkpoint(last, &c->sets[i]))
            print_heading(&c->sets[i], now, to);
        print_set(&c->sets[i], many_hosts, to);
        last = &c->sets[i];
    }
    for (size_t i = 0; i < c->nstrays; i++) {
        const sighting *s = c->strays[i];
        char           *path = sighting_path(s), *safe = shown(path);

        fprintf(to,
                "%s: %s\n    -> open the files of its job with all ranks; they are protected "
                "again when they are next written and closed\n",
                safe,
                s->trouble != NULL ? s->trouble
                                   : "was protected; nothing that can be reached records how");
        free(path);
        free(safe);
    }
}
