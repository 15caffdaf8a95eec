/* catalog.c: see catalog.h. */
#include "catalog.h"

#include "codec/plan.h"
#include "files.h"
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const state_look state_looks[STATE_COUNT] = {
    [STATE_HEALTHY] = {"healthy", ' ', 28, "#4a8f5c"},
    [STATE_BARE] = {"redundancy missing", 'R', 178, "#d9a441"},
    [STATE_CHANGED] = {"changed", 'C', 67, "#5b7fb5"},
    [STATE_DAMAGED] = {"damaged", 'D', 166, "#cf6a2d"},
    [STATE_STALE] = {"stale", 'S', 97, "#8560a8"},
    [STATE_LOST] = {"lost", 'L', 160, "#b5332c"},
};

const char *const verdict_words[] = {[VERDICT_HEALTHY] = "healthy",
                                     [VERDICT_REPAIRABLE] = "repairable",
                                     [VERDICT_DATA_ONLY] = "data repairable",
                                     [VERDICT_BEYOND] = "beyond repair"};

bool
same_checkpoint(const cat_set *a, const cat_set *b)
{
    return a->desc.scheme == b->desc.scheme && a->desc.parity == b->desc.parity &&
           a->desc.sets == b->desc.sets && a->desc.ranks == b->desc.ranks &&
           a->desc.generation == b->desc.generation;
}

unsigned
generation_number(uint64_t generation)
{
    return (unsigned)(generation >> 40);
}

char *
member_path(const member *m)
{
    if (m->seen != NULL)
        return sighting_path(m->seen);
    return must_copy(m->known != NULL ? m->known->path : "?");
}

/* ---- doubles ---- */

static int
by_place(const void *a, const void *b)
{
    const sighting *x = a, *y = b;
    int             order = strcmp(x->host, y->host);

    if (order == 0)
        order = (x->device > y->device) - (x->device < y->device);
    if (order == 0)
        order = (x->inode > y->inode) - (x->inode < y->inode);
    if (order == 0)
        order = strcmp(x->prefix, y->prefix);
    if (order == 0)
        order = strcmp(x->name, y->name);
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

        if (last != NULL && strcmp(s->host, last->host) == 0 && s->device == last->device &&
            s->inode == last->inode && strcmp(s->prefix, last->prefix) == 0 &&
            strcmp(s->name, last->name) == 0) {
            last->asked = last->asked || s->asked;
            sighting_free(s);
        } else {
            list->at[kept++] = *s;
        }
    }
    list->n = kept;
}

/* ---- sets ---- */

static cat_set *
set_of(catalog *c, const rset_desc *d)
{
    cat_set *s;

    for (size_t i = 0; i < c->n; i++)
        if (c->sets[i].desc.set == d->set && c->sets[i].desc.members == d->members &&
            same_checkpoint(&c->sets[i], &(cat_set){.desc = *d}))
            return &c->sets[i];
    c->sets = must_have_room(c->sets, c->n, &c->room, sizeof *c->sets);
    s = &c->sets[c->n++];
    *s = (cat_set){.desc = *d};
    s->members = must_alloc((size_t)d->members * sizeof *s->members);
    return s;
}

/* Of two copies of one rank's files that counts which has less bad of it. */
static uint64_t
badness(const sighting *s)
{
    uint64_t bad = s->there ? 0 : UINT64_MAX / 2;

    for (size_t i = 0; i < s->data.n; i++)
        bad += (s->data.at[i].to - s->data.at[i].from) / 2;
    return bad;
}

/* What redundancy files say of the sets and their members. */
static void
enter(catalog *c, const sighting *s)
{
    cat_set *set = set_of(c, &s->recorded[0].desc);

    if (s->when > set->when)
        set->when = s->when;
    set->chunk = s->chunk;
    for (int i = 0; i < s->nrecorded; i++) {
        const recorded *r = &s->recorded[i];
        member         *m;

        if (r->desc.generation != set->desc.generation || r->desc.members != set->desc.members)
            continue;
        m = &set->members[r->desc.member];
        if (m->known == NULL || i == 0)
            m->known = r;
        if (i == 0 && (m->seen == NULL || badness(s) < badness(m->seen))) {
            m->seen = s;
            m->own = true;
        }
    }
}

/* ---- files without redundancy of their own ---- */

/* The files at that place, of an earlier generation: an old copy. */
static const sighting *
find_stale(const catalog *c, const recorded *known)
{
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];

        if (s->nrecorded > 0 &&
            rset_generation_newer(known->desc.generation, s->recorded[0].desc.generation) &&
            s->recorded[0].desc.rank == known->desc.rank &&
            strcmp(s->recorded[0].path, known->path) == 0)
            return s;
    }
    return NULL;
}

/* A data file under the recorded path with no redundancy file of its own. Where several nodes have one, or
 * several members are called so and are lost, it is not known whose it is. */
static const sighting *
find_bare(const catalog *c, const cat_set *set, const recorded *known)
{
    const sighting *found = NULL;
    int             same = 0;

    for (int m = 0; m < set->desc.members; m++)
        same += !set->members[m].own && set->members[m].known != NULL &&
                strcmp(set->members[m].known->path, known->path) == 0;
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];
        char           *path;

        if (s->nrecorded > 0 || !s->there)
            continue;
        path = sighting_path(s);
        if (strcmp(path, known->path) == 0) {
            same += found != NULL;
            found = s;
        }
        free(path);
    }
    return same == 1 ? found : NULL;
}

static void
find_the_rest(const catalog *c, cat_set *set)
{
    for (int i = 0; i < set->desc.members; i++) {
        member *m = &set->members[i];

        if (m->own || m->known == NULL)
            continue;
        m->seen = find_bare(c, set, m->known);
        if (m->seen == NULL)
            m->seen = find_stale(c, m->known);
    }
}

static file_state
state_of(const cat_set *set, const member *m)
{
    const sighting *s = m->seen;

    if (s == NULL)
        return STATE_LOST;
    if (s->trouble != NULL) /* nothing is healthy that could not be looked at */
        return STATE_DAMAGED;
    if (s->nrecorded > 0 && !m->own)
        return STATE_STALE;
    if (!m->own) /* data only */
        return s->size != m->known->length                       ? STATE_DAMAGED
               : s->mark != 0 && s->mark != set->desc.generation ? STATE_STALE
                                                                 : STATE_BARE;
    if (!s->there)
        return STATE_LOST;
    if (s->is_void)
        return STATE_CHANGED;
    if (s->damaged || s->data.n > 0)
        return STATE_DAMAGED;
    return s->payload.n > 0 || s->undescribed ? STATE_BARE : STATE_HEALTHY;
}

/* ---- what can be done ---- */

static void
all_bad(rset_ranges *ranges)
{
    rset_ranges_free(ranges);
    if (!rset_ranges_add(ranges, 0, UINT64_MAX))
        no_memory();
}

static void
copy_ranges(const rset_ranges *from, rset_ranges *to)
{
    for (size_t i = 0; i < from->n; i++)
        if (!rset_ranges_add(to, from->at[i].from, from->at[i].to))
            no_memory();
}

/* What each member can give, as the engine would find it. */
static void
take_health(const cat_set *set, rset_health *health, uint64_t *length)
{
    for (int i = 0; i < set->desc.members; i++) {
        const member *m = &set->members[i];

        length[i] = m->known != NULL ? m->known->length : UINT64_MAX;
        health[i].want_data = health[i].want_payload = true;
        if (m->own && m->seen->trouble == NULL) {
            copy_ranges(&m->seen->data, &health[i].data);
            copy_ranges(&m->seen->payload, &health[i].payload);
        } else {
            all_bad(&health[i].payload);
        }
        if ((!m->own && m->state != STATE_BARE) || (m->own && m->seen->trouble != NULL))
            all_bad(&health[i].data);
    }
}

/* Files of which nothing is recorded: lost with it. */
static bool
all_known(cat_set *set)
{
    for (int i = 0; i < set->desc.members; i++)
        if (set->members[i].known == NULL) {
            snprintf(set->why, sizeof set->why,
                     "what was recorded of member %d is lost or out of reach together with its "
                     "neighbours' redundancy files",
                     i);
            return false;
        }
    return true;
}

static cat_verdict
plan(cat_set *set)
{
    size_t       n = (size_t)set->desc.members;
    rset_health *health = must_alloc(n * sizeof *health);
    uint64_t    *length = must_alloc(n * sizeof *length);
    rset_shape   shape = {.scheme = set->desc.scheme,
                          .members = set->desc.members,
                          .parity = set->desc.parity,
                          .length = length,
                          .chunk = set->chunk};
    rset_err     err = RSET_ERR_NONE;
    rset_plan    plan = {0};
    rset_status  st;
    cat_verdict  verdict = VERDICT_REPAIRABLE;

    take_health(set, health, length);
    st = rset_plan_make(&shape, health, &plan, &err);
    rset_plan_free(&plan);
    if (st != RSET_OK) {
        snprintf(set->why, sizeof set->why, "%.250s", err.text);
        for (size_t i = 0; i < n; i++)
            health[i].want_payload = false;
        plan = (rset_plan){0};
        st = rset_plan_make(&shape, health, &plan, NULL);
        rset_plan_free(&plan);
        verdict = st == RSET_OK ? VERDICT_DATA_ONLY : VERDICT_BEYOND;
    }
    for (size_t i = 0; i < n; i++)
        rset_health_free(&health[i]);
    free(health);
    free(length);
    return verdict;
}

static void
judge(cat_set *set)
{
    file_state worst = STATE_HEALTHY;

    for (int i = 0; i < set->desc.members; i++) {
        member *m = &set->members[i];

        m->state = state_of(set, m);
        worst = m->state > worst ? m->state : worst;
    }
    if (worst == STATE_HEALTHY)
        set->verdict = VERDICT_HEALTHY;
    else
        set->verdict = all_known(set) ? plan(set) : VERDICT_BEYOND;
    if (worst == STATE_CHANGED && set->verdict == VERDICT_BEYOND) {
        set->verdict = VERDICT_DATA_ONLY; /* nothing is missing, only the way back */
        snprintf(set->why, sizeof set->why,
                 "changed after it was protected, and all files are there");
    }
}

/* ---- order ---- */

const char *
checkpoint_name(const cat_set *s)
{
    for (int i = 0; i < s->desc.members; i++)
        if (s->members[i].known != NULL)
            return rset_path_base(s->members[i].known->path);
    return "?";
}

static int
by_checkpoint(const void *a, const void *b)
{
    const cat_set *x = a, *y = b;
    int            order = 0;

    if (!same_checkpoint(x, y)) {
        order = strcmp(checkpoint_name(x), checkpoint_name(y));
        if (order == 0)
            order = (x->desc.generation > y->desc.generation) -
                    (x->desc.generation < y->desc.generation);
    }
    return order != 0 ? order : (x->desc.set > y->desc.set) - (x->desc.set < y->desc.set);
}

/* Is everything that was seen of this set an old copy of what a newer one records? */
static bool
is_outdated(const catalog *c, const cat_set *old)
{
    int seen = 0, outdated = 0;

    for (int i = 0; i < old->desc.members; i++) {
        const sighting *s = old->members[i].own ? old->members[i].seen : NULL;
        bool            newer = false;

        if (s == NULL)
            continue;
        for (size_t k = 0; k < c->n && !newer; k++)
            for (int m = 0; m < c->sets[k].desc.members && !newer; m++)
                newer = c->sets[k].members[m].seen == s && !c->sets[k].members[m].own &&
                        rset_generation_newer(c->sets[k].desc.generation, old->desc.generation);
        seen++;
        outdated += newer;
    }
    return seen == outdated;
}

static bool
has_place(const catalog *c, const sighting *s)
{
    for (size_t k = 0; k < c->n; k++)
        for (int m = 0; m < c->sets[k].desc.members; m++)
            if (c->sets[k].members[m].seen == s)
                return true;
    return false;
}

/* The set's older self is no set of its own where all that is left of it are old copies. */
static void
drop_outdated(catalog *c)
{
    bool  *outdated = must_alloc(c->n * sizeof *outdated);
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++)
        outdated[i] = is_outdated(c, &c->sets[i]);
    for (size_t i = 0; i < c->n; i++)
        if (outdated[i])
            free(c->sets[i].members);
        else
            c->sets[kept++] = c->sets[i];
    c->n = kept;
    free(outdated);
}

static void
note_asked(cat_set *set, const strings *asked)
{
    for (int i = 0; i < set->desc.members; i++) {
        member *m = &set->members[i];

        m->asked = (m->seen != NULL && m->seen->asked) ||
                   (m->known != NULL && m->seen == NULL && path_is_within(asked, m->known->path));
        set->asked = set->asked || m->asked;
    }
}

static void
find_strays(catalog *c)
{
    c->strays = must_alloc((c->sightings->n + 1) * sizeof *c->strays);
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];

        if (s->asked && (s->mark != 0 || s->trouble != NULL) && s->nrecorded == 0 &&
            !has_place(c, s))
            c->strays[c->nstrays++] = s;
    }
}

void
catalog_make(sightings *list, const strings *asked, catalog *out)
{
    *out = (catalog){.sightings = list};
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].nrecorded > 0)
            enter(out, &list->at[i]);
    for (size_t i = 0; i < out->n; i++)
        find_the_rest(out, &out->sets[i]);
    drop_outdated(out);
    for (size_t i = 0; i < out->n; i++) {
        judge(&out->sets[i]);
        note_asked(&out->sets[i], asked);
    }
    if (out->n > 1)
        qsort(out->sets, out->n, sizeof *out->sets, by_checkpoint);
    find_strays(out);
}

void
catalog_free(catalog *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->sets[i].members);
    free(c->sets);
    free(c->strays);
    *c = (catalog){0};
}

bool
catalog_many_hosts(const catalog *c)
{
    for (size_t i = 1; i < c->sightings->n; i++)
        if (strcmp(c->sightings->at[i].host, c->sightings->at[0].host) != 0)
            return true;
    return false;
}

int
catalog_exit_status(const catalog *c)
{
    int    worst = c->nstrays > 0 ? 1 : 0;
    size_t found = c->nstrays;

    for (size_t i = 0; i < c->n; i++) {
        const cat_set *s = &c->sets[i];

        if (!s->asked)
            continue;
        found++;
        if (s->verdict == VERDICT_BEYOND)
            worst = 2;
        else if (s->verdict != VERDICT_HEALTHY && worst < 1)
            worst = 1;
    }
    return found > 0 ? worst : 2;
}
