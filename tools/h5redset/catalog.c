/* catalog.c: see catalog.h. */
#include "catalog.h"

#include "exits.h"
#include "family.h"
#include "files.h"
#include "judge.h"
#include "look.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

const state_look state_looks[STATE_COUNT] = {
    [STATE_HEALTHY] = {"healthy", ' ', 28, "#4a8f5c"},
    [STATE_RENAMED] = {"renamed", 'N', 30, "#4f8a8b"},
    [STATE_BARE] = {"redundancy missing", 'R', 178, "#d9a441"},
    [STATE_CHANGED] = {"changed", 'C', 67, "#5b7fb5"},
    [STATE_COMMITTING] = {"committing", 'P', 37, "#3a8f8f"},
    [STATE_DAMAGED] = {"damaged", 'D', 166, "#cf6a2d"},
    [STATE_ALTERED] = {"changed by another program", 'A', 132, "#a8557a"},
    [STATE_OUTDATED] = {"outdated", 'O', 97, "#8560a8"},
    [STATE_LOST] = {"lost", 'L', 160, "#b5332c"},
    [STATE_ELSEWHERE] = {"elsewhere", '.', 245, "#9a9a9a"},
    [STATE_DELETED] = {"deleted", '-', 240, "#808080"},
};

const verdict_look verdict_looks[] = {[VERDICT_HEALTHY] = {"healthy", ""},
                                      [VERDICT_DELETED] = {"deleted", ""},
                                      [VERDICT_ELSEWHERE] = {"elsewhere", ""},
                                      [VERDICT_SUPERSEDED] = {"superseded", ""},
                                      [VERDICT_RENAMED] = {"renamed", "!"},
                                      [VERDICT_REPAIRABLE] = {"repairable", "!"},
                                      [VERDICT_DATA_ONLY] = {"data repairable", "!"},
                                      [VERDICT_UNPROTECTED] = {"unprotected", "!"},
                                      [VERDICT_UNRECOVERABLE] = {"unrecoverable", "X"}};

/* ---- doubles ---- */

static int
by_place(const void *a, const void *b)
{
    const sighting *x = a, *y = b;
    int             order = sighting_order(x, y);

    if (order == 0)
        order = (int)x->ahead - (int)y->ahead;
    if (order == 0)
        order = (x->by > y->by) - (x->by < y->by);
    return order != 0 ? order : strcmp(x->dir, y->dir);
}

void
catalog_drop_doubles(sightings *list)
{
    size_t kept = 0;

    if (list->n > 1)
        qsort(list->at, list->n, sizeof *list->at, by_place);
    for (size_t i = 0; i < list->n; i++) {
        sighting *s = &list->at[i], *last = kept > 0 ? &list->at[kept - 1] : NULL;

        if (last != NULL && sighting_order(s, last) == 0 && s->ahead == last->ahead) {
            last->asked = last->asked || s->asked;
            sighting_free(s);
        } else {
            list->at[kept++] = *s;
        }
    }
    list->n = kept;
}

static int
by_name(const void *a, const void *b)
{
    const family *x = a, *y = b;
    int           order = strcmp(family_name(x), family_name(y));

    return order != 0 ? order : (x->generation > y->generation) - (x->generation < y->generation);
}

/* ---- all of it ---- */

/* Is everything that was seen of these files an old copy of what a newer family records? */
static bool
is_outdated(const catalog *c, const family *f)
{
    for (size_t i = 0; i < c->sightings->n; i++)
        if (c->group_of[i] == f->first && sighting_records(&c->sightings->at[i])->ninfos > 0 &&
            c->taken[i] == 0 && (!c->sightings->at[i].ahead || f->standing.counts == 0))
            return false;
    return true;
}

static void
note_asked(family *f, const strings *asked)
{
    for (member *m = NULL; (m = family_next(f, m)) != NULL;) {
        char *path = path_of_file(member_path(m)); /* as in look_around */

        m->asked =
            m->seen != NULL ? m->seen->asked : m->known != NULL && path_is_within(asked, path);
        free(path);
        f->sets[m->set].asked = f->sets[m->set].asked || m->asked;
        f->asked = f->asked || m->asked;
    }
}

/* That family has the file of this member, of which nothing else is in sight, in a generation of its own. */
static bool
has_file_of(const family *f, const member *lost)
{
    bool has = false;

    for (const member *m = NULL; !has && (m = family_next(f, m)) != NULL;)
        has = m->own && !m->seen->renamed &&
              strcmp(m->seen->path, recorded_path(lost->known)) == 0 && lost->known->host != NULL &&
              strcmp(m->seen->host, lost->known->host) == 0;
    return has;
}

/* Some of its ranks went on without the others: the newest generation that has files of it, 0: none. */
static uint64_t
superseded_by(const catalog *c, const family *f)
{
    uint64_t by = 0;

    if (f->decision.reason != RSET_REASON_UNRECOVERABLE)
        return 0;
    for (size_t i = 0; i < c->nfamilies; i++) {
        const family *g = &c->families[i];
        const bool    newer = g->owner == f->owner &&
                           generation_number(g->generation) > generation_number(f->generation) &&
                           (by == 0 || rset_generation_newer(g->generation, by));
        bool has = false;

        for (const member *lost = NULL; newer && !has && (lost = family_next(f, lost)) != NULL;)
            has = lost->seen == NULL && lost->known != NULL && has_file_of(g, lost);
        by = has ? g->generation : by;
    }
    return by;
}

static bool
is_of_another_host(const member *m, const char *host)
{
    return m->seen == NULL && m->known != NULL && m->known->host != NULL &&
           strcmp(m->known->host, host) != 0;
}

/* A process alone on a node of the job, where its files were protected: all that belongs here is whole, and what is missing was on other
 * nodes, or nothing here records it. */
static bool
is_elsewhere(const catalog *c, const family *f)
{
    bool others = false;

    if (c->alone_on == NULL || f->decision.reason != RSET_REASON_UNRECOVERABLE)
        return false;
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;) {
        const bool here = m->seen != NULL && m->own && m->known != NULL && m->known->host != NULL &&
                          strcmp(m->seen->host, c->alone_on) == 0 &&
                          strcmp(m->known->host, c->alone_on) == 0;

        others = others || is_of_another_host(m, c->alone_on);
        if (m->seen != NULL ? !here || state_of(m, &f->decision) != STATE_HEALTHY
                            : m->known != NULL && !is_of_another_host(m, c->alone_on))
            return false;
    }
    return others;
}

/* What shows: words, and which sets; one that keeps others from coming back does as well. */
static void
conclude(catalog *c, const strings *asked)
{
    size_t n = 0;

    for (size_t i = 0; i < c->nfamilies; i++) {
        family *f = &c->families[i];

        note_asked(f, asked);
        f->superseded = superseded_by(c, f);
        f->elsewhere = f->superseded == 0 && is_elsewhere(c, f);
        n += (size_t)f->nsets;
        for (int k = 0; k < f->nsets; k++) {
            cat_set *s = &f->sets[k];

            s->family = (int)i;
            for (int m = 0; m < s->desc.members; m++)
                s->members[m].state = f->elsewhere && s->members[m].seen == NULL
                                          ? STATE_ELSEWHERE
                                          : state_of(&s->members[m], &f->decision);
            judge_set(s, f);
            s->asked = s->asked || (f->asked && stands_in_the_way(s));
        }
    }
    c->sets = must_alloc((n + 1) * sizeof *c->sets);
    for (size_t i = 0; i < c->nfamilies; i++)
        for (int k = 0; k < c->families[i].nsets; k++)
            c->sets[c->n++] = &c->families[i].sets[k];
}

static void
find_strays(catalog *c)
{
    c->strays = must_alloc((c->sightings->n + 1) * sizeof *c->strays);
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];
        const bool      sign = s->said.any || s->said.undo.there || s->said.undo.rotten;

        if (s->asked && (sign || s->trouble != NULL) && sighting_records(s)->ninfos == 0 &&
            !s->ahead && c->taken[i] == 0)
            family_of_stray(c, i, &c->strays[c->nstrays++]);
    }
    for (size_t i = 0; i < c->nstrays; i++)
        judge_stray(&c->strays[i]);
}

void
catalog_make(sightings *list, const strings *asked, bool undelete, const char *alone_on,
             catalog *out)
{
    *out = (catalog){.sightings = list, .undelete = undelete, .alone_on = alone_on};
    families_find(out);
    for (size_t i = 0; i < out->nfamilies; i++)
        if (!is_outdated(out, &out->families[i]))
            judge_family(out, &out->families[i]);
    find_strays(out);
    qsort(out->families, out->nfamilies, sizeof *out->families, by_name);
    conclude(out, asked);
}

void
catalog_free(catalog *c)
{
    for (size_t i = 0; i < c->nfamilies; i++)
        family_forget_sets(&c->families[i]);
    for (size_t i = 0; i < c->nstrays; i++)
        family_forget_sets(&c->strays[i]);
    free((size_t *)c->group_of);
    free(c->taken);
    free(c->families);
    free(c->sets);
    free(c->strays);
    *c = (catalog){0};
}

bool
catalog_many_hosts(const catalog *c)
{
    const char *first = c->sightings->n > 0 ? c->sightings->at[0].host : NULL;

    for (size_t i = 1; i < c->sightings->n; i++)
        if (strcmp(c->sightings->at[i].host, first) != 0)
            return true;
    for (size_t i = 0; first != NULL && i < c->n; i++)
        for (int m = 0; c->sets[i]->asked && m < c->sets[i]->desc.members; m++) {
            const char *host = member_host(&c->sets[i]->members[m]);

            if (host != NULL && strcmp(host, first) != 0)
                return true;
        }
    return false;
}

int
exit_status_of(const rset_decision *decision)
{
    switch (decision->verdict) {
    case RSET_VERDICT_NEVER: return EXITS_WELL;
    case RSET_VERDICT_REFUSE:
        return decision->reason == RSET_REASON_BUSY ? EXITS_REPAIR : EXITS_UNRECOVERABLE;
    case RSET_VERDICT_KEEP:
        return decision->protection == RSET_PROTECTION_VALID ? EXITS_WELL : EXITS_REPAIR;
    default: return EXITS_REPAIR;
    }
}

int
exit_status_undone(const rset_decision *decision)
{
    return decision->reason == RSET_REASON_BUSY ? EXITS_ERROR : exit_status_of(decision);
}

int
family_exit_status(const family *f)
{
    return f->superseded != 0 || f->elsewhere ? EXITS_WELL : exit_status_of(&f->decision);
}

size_t
catalog_deleted(const catalog *c, const family **first_out)
{
    size_t n = 0;

    for (size_t i = c->nfamilies; i-- > 0;)
        if (c->families[i].asked && is_deleted(&c->families[i].decision)) {
            *first_out = &c->families[i];
            n++;
        }
    return n;
}

int
catalog_exit_status(const catalog *c)
{
    size_t found = c->nstrays;
    int    worst = EXITS_WELL;

    for (size_t i = 0; i < c->nstrays; i++)
        worst = exits_worse(worst, exit_status_of(&c->strays[i].decision));
    for (size_t i = 0; i < c->nfamilies; i++) {
        if (!c->families[i].asked)
            continue;
        found++;
        worst = exits_worse(worst, family_exit_status(&c->families[i]));
    }
    for (size_t i = 0; worst == 0 && i < c->n; i++)
        worst = c->sets[i]->asked && (c->sets[i]->verdict == VERDICT_UNPROTECTED ||
                                      c->sets[i]->verdict == VERDICT_RENAMED);
    return found > 0 ? worst : EXITS_NOTHING;
}
