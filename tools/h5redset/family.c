/* family.c: see family.h. */
#include "family.h"

#include "groups.h"

#include <stdlib.h>
#include <string.h>

/* ---- families ---- */

void
family_choose(family *f, bool no_forward)
{
    f->policy.searched = true; /* what is said here was all looked at */
    rset_stand(&f->census, no_forward, &f->standing, &f->policy);
}

/* Newest first; of two with as many commits that which more ranks have. */
static int
by_age(const void *a, const void *b)
{
    const family         *x = a, *y = b;
    const rset_candidate *p = rset_census_published(&x->census),
                         *q = rset_census_published(&y->census);
    const uint64_t n = p != NULL ? p->published : 0, m = q != NULL ? q->published : 0;
    const uint64_t g = rset_generation_commits(x->standing.counts),
                   h = rset_generation_commits(y->standing.counts);

    if (g != h)
        return g < h ? 1 : -1;
    return n != m ? (n < m ? 1 : -1) : (int)(x->first > y->first) - (int)(x->first < y->first);
}

void
families_find(catalog *c)
{
    const sightings *list = c->sightings;
    size_t           n = 0;

    c->group_of = groups_find(list);
    c->taken = must_alloc((list->n + 1) * sizeof *c->taken);
    c->families = must_alloc((list->n + 1) * sizeof *c->families);
    for (size_t i = 0; i < list->n; i++) {
        const rset_census one = rset_take_census(&list->at[i].said);
        family           *f = NULL;

        if (list->at[i].ahead)
            continue;
        for (size_t k = 0; k < n && f == NULL; k++)
            f = c->families[k].first == c->group_of[i] ? &c->families[k] : NULL;
        if (f == NULL) {
            f = &c->families[n++];
            f->first = c->group_of[i];
            f->owner = list->at[i].owner;
        }
        rset_census_merge(&f->census, &one);
    }
    for (size_t i = 0; i < n; i++) {
        family_choose(&c->families[i], false);
        if (c->families[i].standing.counts != 0 || c->families[i].standing.prepared != 0)
            c->families[c->nfamilies++] = c->families[i];
    }
    qsort(c->families, c->nfamilies, sizeof *c->families, by_age);
}

/* ---- sets ---- */

static cat_set *
add_set(family *f, const rset_desc *d)
{
    cat_set *s;

    f->sets = must_have_room(f->sets, (size_t)f->nsets, &f->room, sizeof *f->sets);
    s = &f->sets[f->nsets++];
    *s = (cat_set){.desc = *d};
    s->members = must_alloc((size_t)d->members * sizeof *s->members);
    for (int i = 0; i < d->members; i++)
        s->members[i] = (member){.rank = -1, .set = f->nsets - 1};
    return s;
}

static cat_set *
set_of(family *f, const rset_desc *d)
{
    for (int i = 0; i < f->nsets; i++)
        if (f->sets[i].desc.set == d->set)
            return f->sets[i].desc.members == d->members ? &f->sets[i] : NULL;
    if (f->nsets == 0 || rset_desc_is_left_over(&f->desc))
        f->desc = *d;
    return add_set(f, d);
}

void
family_of_stray(const catalog *c, size_t at, family *out)
{
    const sighting *s = &c->sightings->at[at];
    member         *m;

    *out = (family){.generation = s->older,
                    .owner = s->owner,
                    .first = c->group_of[at],
                    .asked = true,
                    .policy = {.searched = true, .undelete = c->undelete}};
    m = add_set(out, &(rset_desc){.members = 1})->members;
    m->seen = s;
    m->asked = true;
}

static uint64_t
badness(const sighting *s)
{
    uint64_t bad = s->there ? 0 : UINT64_MAX / 2;

    for (size_t i = 0; i < s->data.n; i++)
        bad += (s->data.at[i].to - s->data.at[i].from) / 2;
    return bad;
}

/* Of two copies of one rank's files that counts which was asked for, and else which has less bad of it. */
static bool
counts_more(const sighting *s, const sighting *than)
{
    return s->asked != than->asked ? s->asked : badness(s) < badness(than);
}

/* What redundancy files say of the sets and their members. */
static void
enter(family *f, const sighting *s)
{
    const rset_header *h = sighting_records(s);
    cat_set           *set = set_of(f, &h->infos[0].desc);

    if (set == NULL)
        return;
    if (s->when > set->when)
        set->when = s->when;
    set->chunk = h->chunk;
    for (int i = 0; h->group != NULL && i < h->infos[0].desc.members && i < set->desc.members; i++)
        set->members[i].rank = h->group[i];
    for (int i = 0; i < h->ninfos; i++) {
        const rset_info *r = &h->infos[i];
        member          *m;

        if (r->desc.generation == f->generation)
            set->stamp = &r->stamp;
        if (r->desc.generation != f->generation || r->desc.members != set->desc.members)
            continue;
        m = &set->members[r->desc.member];
        m->rank = r->desc.rank;
        if (m->known == NULL || i == 0)
            m->known = r;
        if (i == 0 && (m->seen == NULL || counts_more(s, m->seen))) {
            m->seen = s;
            m->own = true;
        }
    }
}

/* A rank that has published the generation says so itself; what it prepared is older then. */
static void
enter_all(const catalog *c, family *f)
{
    for (int ahead = 0; ahead < 2; ahead++)
        for (size_t i = 0; i < c->sightings->n; i++) {
            const sighting *s = &c->sightings->at[i];

            if (c->group_of[i] == f->first && s->ahead == (ahead == 1) &&
                sighting_records(s)->ninfos > 0 &&
                sighting_records(s)->infos[0].desc.generation == f->generation)
                enter(f, s);
        }
}

/* ---- ranks of which no redundancy file of the generation is left ---- */

static size_t
index_of(const catalog *c, const sighting *s)
{
    return (size_t)(s - c->sightings->at);
}

static void
take(catalog *c, const family *f, member *m, const sighting *s)
{
    m->seen = s;
    if (s != NULL)
        c->taken[index_of(c, s)] = (int)(f - c->families) + 1;
}

/* Where it is recorded, or belongs since others were renamed. */
static const char *
place_of_lost(const member *m)
{
    return m->belongs != NULL ? m->belongs : recorded_path(m->known);
}

/* A data file under that path with no redundancy file of its own. Where several nodes have one, or
 * several members are called so and are lost, it is not known whose it is. */
static const sighting *
find_bare(const catalog *c, const family *f, const cat_set *set, const member *lost)
{
    const sighting *found = NULL;
    int             same = 0;

    for (int m = 0; m < set->desc.members; m++)
        same += !set->members[m].own && set->members[m].known != NULL &&
                strcmp(place_of_lost(&set->members[m]), place_of_lost(lost)) == 0;
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];

        if (s->owner != f->owner || s->said.has_header || s->ahead || c->taken[i] != 0 ||
            (!s->there && !s->said.undo.there))
            continue;
        if (strcmp(s->path, place_of_lost(lost)) == 0) {
            same += found != NULL;
            found = s;
        }
    }
    return same == 1 ? found : NULL;
}

/* Is it a file of this rank, of another generation of these files? */
static bool
is_other_self(const catalog *c, const family *f, const member *m, size_t at)
{
    const sighting  *s = &c->sightings->at[at];
    const rset_info *own = s->said.header.infos;

    if (s->owner != f->owner || own == NULL || s->ahead || c->taken[at] != 0 ||
        own->desc.rank != m->rank || own->desc.generation == f->generation)
        return false;
    if (c->group_of[at] == f->first)
        return true;
    for (const family *before = c->families; before < f; before++)
        if (before->nsets > 0 && before->first == c->group_of[at])
            return false;
    if (m->known == NULL)
        return false;
    return strcmp(s->path, recorded_path(m->known)) == 0 ||
           strcmp(recorded_path(own), recorded_path(m->known)) == 0;
}

/* A file that says itself that it is of these, and whose it is. */
static bool
is_kin(const catalog *c, const family *f, const member *m, size_t at)
{
    const sighting *s = &c->sightings->at[at];

    return c->group_of[at] == f->first && !s->said.has_header && !s->ahead && c->taken[at] == 0 &&
           s->said.has_desc && s->said.desc.rank == m->rank;
}

static void
find_member(catalog *c, const family *f, const cat_set *set, member *m)
{
    if (m->known != NULL)
        take(c, f, m, find_bare(c, f, set, m));
    for (size_t i = 0; m->seen == NULL && i < c->sightings->n; i++)
        if (is_other_self(c, f, m, i) || is_kin(c, f, m, i))
            take(c, f, m, &c->sightings->at[i]);
}

/* A file that only its mark says something of. Of one whose rank has prepared a commit that says whose it is. */
static bool
is_unnamed(const catalog *c, const family *f, size_t at)
{
    const sighting *s = &c->sightings->at[at];

    return c->group_of[at] == f->first && s->there && !s->said.has_header && s->said.next == 0 &&
           s->trouble == NULL && !s->ahead && c->taken[at] == 0;
}

/* Those are files of ranks that nothing is recorded of. */
static void
find_unnamed(catalog *c, family *f)
{
    size_t at = 0;

    for (member *m = NULL; (m = family_next(f, m)) != NULL;) {
        if (m->known != NULL || m->seen != NULL)
            continue;
        while (at < c->sightings->n && !is_unnamed(c, f, at))
            at++;
        if (at < c->sightings->n)
            take(c, f, m, &c->sightings->at[at]);
    }
}

bool
family_may_have(const catalog *c, const family *f, const member *m)
{
    for (size_t i = 0; i < c->sightings->n; i++) {
        const sighting *s = &c->sightings->at[i];

        if (s->owner == f->owner && sighting_records(s)->ninfos == 0 && !s->gone &&
            c->taken[i] == 0 &&
            (m->known != NULL ? strcmp(s->name, rset_path_base(recorded_path(m->known))) == 0
                              : c->group_of[i] == f->first))
            return true;
    }
    return false;
}

/* ---- sets of which nothing is left ---- */

static bool *
ranks_of(const family *f)
{
    bool *has = must_alloc(((size_t)f->desc.ranks + 1) * sizeof *has);

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (m->rank >= 0 && m->rank < f->desc.ranks)
            has[m->rank] = true;
    return has;
}

/* Ranks that no member is known to be are those of members that nothing is recorded of. */
static void
name_members(family *f, bool *has)
{
    int rank = 0;

    for (member *m = NULL; (m = family_next(f, m)) != NULL;) {
        while (rank < f->desc.ranks && has[rank])
            rank++;
        if (m->rank < 0 && rank < f->desc.ranks) {
            m->rank = rank;
            has[rank] = true;
        }
    }
}

static void
add_lost_set(family *f, int set, int members, bool *has, int *rank)
{
    rset_desc d = f->desc;
    cat_set  *s;

    d.set = set;
    d.members = members;
    if (members == 1 && d.sets < d.ranks) { /* a rank that no set had room for */
        d.scheme = &rset_scheme_single;
        d.parity = 0;
    }
    s = add_set(f, &d);
    s->lost = true;
    for (int i = 0; i < members; i++) {
        while (has[*rank])
            ++*rank;
        s->members[i].rank = (*rank)++;
    }
}

/* Which of several lost sets had which ranks nobody knows, so the last one stands for all of them, unless each had one:
 * those are in order. A set with one rank has SINGLE. */
static void
add_lost_sets(family *f)
{
    bool *has = ranks_of(f), *found = must_alloc((size_t)f->desc.sets + 1);
    int   left = f->desc.ranks, lost = f->desc.sets - f->nsets, rank = 0;
    bool  one_each;

    for (int k = 0; k < f->nsets; k++)
        found[f->sets[k].desc.set] = true;
    name_members(f, has);
    for (int r = 0; r < f->desc.ranks; r++)
        left -= has[r];
    one_each = left == lost;
    for (int set = 0; set < f->desc.sets; set++)
        if (!found[set])
            add_lost_set(f, set, one_each ? 1 : --lost == 0 ? left : 0, has, &rank);
    free(found);
    free(has);
}

static int
by_set(const void *a, const void *b)
{
    const cat_set *x = a, *y = b;

    return (x->desc.set > y->desc.set) - (x->desc.set < y->desc.set);
}

/* ---- all of it ---- */

void
family_forget_sets(family *f)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        free(m->belongs);
    for (int k = 0; k < f->nsets; k++)
        free(f->sets[k].members);
    free(f->sets);
    f->sets = NULL;
    f->nsets = 0;
    f->room = 0;
}

static void
forget_sets(catalog *c, family *f)
{
    for (size_t i = 0; i < c->sightings->n; i++)
        if (c->taken[i] == (int)(f - c->families) + 1)
            c->taken[i] = 0;
    family_forget_sets(f);
}

void
family_gather(catalog *c, family *f)
{
    const uint64_t code = f->standing.counts != 0 ? f->standing.counts : f->standing.prepared;

    forget_sets(c, f);
    f->generation = rset_generation_of_code(code);
    enter_all(c, f);
    family_note_renames(f);
    family_note_copies(f);
    if (f->nsets > 0)
        add_lost_sets(f);
    for (member *m = NULL; (m = family_next(f, m)) != NULL;) {
        if (m->own)
            take(c, f, m, m->seen);
        else
            find_member(c, f, &f->sets[m->set], m);
    }
    find_unnamed(c, f);
    qsort(f->sets, (size_t)f->nsets, sizeof *f->sets, by_set);
    for (int k = 0; k < f->nsets; k++)
        for (int i = 0; i < f->sets[k].desc.members; i++)
            f->sets[k].members[i].set = k;
}
