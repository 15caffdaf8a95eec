/* scavenge_plan.c: which files are brought to the target, and what they are called there. See scavenge.h. */
#include "exits.h"
#include "judge.h"
#include "report.h"
#include "scavenge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const scavenge_words[HOW_COUNT] = {
    [HOW_NOT] = "missing",       [HOW_COPIED] = "copied",   [HOW_ROLLED_BACK] = "rolled back",
    [HOW_FINISHED] = "finished", [HOW_REBUILT] = "rebuilt", [HOW_AS_IS] = "copied as it is",
    [HOW_KEPT] = "was there",
};

void
item_fail(item *it, int status, const char *fmt, ...)
{
    va_list args;

    it->done = true;
    it->out = (outcome){.status = status, .from = -1};
    va_start(args, fmt);
    vsnprintf(it->out.why, sizeof it->out.why, fmt, args);
    va_end(args);
}

void
outcome_as_is(outcome *out)
{
    out->status = EXITS_REPAIR;
    snprintf(out->why, sizeof out->why,
             "its content is not verified: it is what programs would open");
}

/* ---- which ---- */

const rset_info *
scavenge_recorded(const item *it)
{
    return it->as_is ? NULL : it->m->known;
}

bool
scavenge_may_be(const item *it, const sighting *found)
{
    return it->f->owner == found->owner && it->m->seen == NULL && it->m->known != NULL &&
           sighting_records(found)->ninfos == 0 && !found->ahead && found->there &&
           found->size == rset_info_length(it->m->known) && strcmp(found->name, it->base) == 0;
}

const sighting *
scavenge_next(const scavenge *s, const item *it, const sighting *found)
{
    const sightings *all = s->c->sightings;

    for (found = found != NULL ? found + 1 : all->at; found < all->at + all->n; found++)
        if (scavenge_may_be(it, found))
            return found;
    return NULL;
}

/* Who has the file, or may have it; where it is lost who has another of its set. */
static int
process_for(const scavenge *s, const item *it)
{
    const sighting *found = it->m->seen;

    if (found == NULL && it->base != NULL)
        found = scavenge_next(s, it, NULL);
    if (found != NULL)
        return found->by;
    for (int i = 0; i < it->set->desc.members; i++)
        if (it->set->members[i].seen != NULL)
            return it->set->members[i].seen->by;
    return 0;
}

/* Recorded names come from disk. */
static bool
is_plain(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strchr(name, '/') == NULL;
}

/* What the table says: nothing of what it refuses is given, but for files that are whole where others cannot be had. */
static void
apply_decision(item *it)
{
    const rset_decision *decision = &it->f->decision;

    if (decision->verdict == RSET_VERDICT_REFUSE &&
        (decision->reason != RSET_REASON_UNRECOVERABLE || !family_is_recorded(it->f))) {
        char *why = reason_text(decision, &it->f->all);

        item_fail(it, exit_status_of(decision), "%s", why);
        free(why);
    } else if (it->base == NULL) {
        item_fail(it, EXITS_UNRECOVERABLE, "nothing that can be reached records its file");
    } else if (!is_plain(it->base)) {
        item_fail(it, EXITS_ERROR, "the name that is recorded of it is none that a file can have");
        it->base = NULL;
    }
    it->as_is =
        decision->verdict == RSET_VERDICT_KEEP && decision->protection != RSET_PROTECTION_VALID;
}

static void
add_member(scavenge *s, const family *f, const member *m)
{
    item it = {.f = f, .set = &f->sets[m->set], .m = m, .base = member_name(m), .out.from = -1};

    it.by = process_for(s, &it);
    apply_decision(&it);
    if (m->state == STATE_ELSEWHERE)
        item_fail(&it, EXITS_WELL, "it is on another node: bring it from there");
    s->items = must_have_room(s->items, s->n, &s->room, sizeof *s->items);
    s->items[s->n++] = it;
}

/* Has a directory been named that has some of these files? Then those that were found nowhere are meant as well: they may
 * be recorded under a path of their node, which is another one here. */
static bool
is_directory_asked(const scavenge *s, const family *f)
{
    bool is = false;

    for (const member *m = NULL; !is && (m = family_next(f, m)) != NULL;)
        is = m->seen != NULL && m->asked && strings_find(&s->o->paths, m->seen->path) < 0;
    return is;
}

/* Other programs protect ranks that have no file, too. */
static bool
has_no_file(const member *m)
{
    return m->known != NULL && recorded_path(m->known)[0] == '\0';
}

static void
add_family(scavenge *s, const family *f)
{
    const bool all = is_directory_asked(s, f);

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (!has_no_file(m) && (m->asked || (all && m->seen == NULL)))
            add_member(s, f, m);
}

/* What may be a file that was found nowhere is looked at as that. */
static bool
is_looked_for(const scavenge *s, const sighting *found)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].base != NULL && scavenge_may_be(&s->items[i], found))
            return true;
    return false;
}

/* ---- what they are called ---- */

static int
by_name(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    const int          order = strcmp((*x)->name, (*y)->name);

    return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Names that belong to the command. */
static bool
is_reserved(const char *name)
{
    return strcmp(name, SCAVENGE_INDEX) == 0 || strcmp(name, SCAVENGE_STAGE) == 0;
}

static char *
spell(const item *it, int level)
{
    char *below = it->m->rank >= 0 ? must_print("rank_%d/%s", it->m->rank, it->base)
                                   : must_print("rank_unknown/%s", it->base);
    char *name = must_print("generation_%016" PRIx64 "/%s", it->f->generation, below);

    if (level > 1) {
        free(below);
        return name;
    }
    free(name);
    return below;
}

/* Files that are still called the same get longer names. */
static void
tell_apart(item **list, size_t n, int level)
{
    if (n > 1)
        qsort(list, n, sizeof(item *), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        bool same;

        for (end = i + 1; end < n && strcmp(list[i]->name, list[end]->name) == 0;)
            end++;
        same = end > i + 1 || is_reserved(list[i]->name);
        for (size_t k = i; same && k < end; k++) {
            char *longer = spell(list[k], level);

            free(list[k]->name);
            list[k]->name = longer;
        }
    }
}

static void
name_all(scavenge *s)
{
    item **list = must_alloc((s->n + 1) * sizeof(item *));
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].base != NULL) {
            s->items[i].name = must_copy(s->items[i].base);
            list[n++] = &s->items[i];
        }
    for (int level = 1; level <= 2; level++)
        tell_apart(list, n, level);
    if (n > 1)
        qsort(list, n, sizeof(item *), by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(list[i - 1]->name, list[i]->name) == 0 && !list[i]->done)
            item_fail(list[i], EXITS_ERROR,
                      "another file has this name in the target; bring it to another directory");

    free(list);
}

void
scavenge_plan(scavenge *s)
{
    for (size_t i = 0; i < s->c->nfamilies; i++)
        if (s->c->families[i].asked && !is_deleted(&s->c->families[i].decision))
            add_family(s, &s->c->families[i]);
    for (size_t i = 0; i < s->c->nstrays; i++) {
        const family *f = &s->c->strays[i];
        const member *m = f->sets->members;

        if (m->seen->trouble == NULL && /* else nothing says that it is not recorded */
            !is_deleted(&f->decision) && !is_looked_for(s, m->seen))
            add_member(s, f, m);
    }
    name_all(s);
}

void
scavenge_free(scavenge *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i].name);
    free(s->items);
    free(s->stage);
    free(s->made);
}
