/* removable.c: see removable.h. */
#include "removable.h"

#include <string.h>

/* ---- what belongs to them ---- */

static bool
is_kin(const removable *r, const sighting *s)
{
    return r->c->group_of[s - r->c->sightings->at] == r->f->first;
}

static bool
is_member(const family *f, const sighting *s)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (m->seen == s)
            return true;
    return false;
}

/* Storage that several nodes share is seen by each of them: one of these is enough. */
static bool
is_seen_before(const removable *r, const sighting *s)
{
    for (const sighting *t = r->c->sightings->at; t < r->c->sightings->at + r->c->sightings->n; t++)
        if (t != s && !t->ahead && sighting_is_shared(t, s) && (t < s || is_member(r->f, t)))
            return true;
    return false;
}

bool
removable_has(const removable *r, const sighting *s)
{
    if (s->ahead)
        return false;
    if (is_member(r->f, s))
        return true;
    return family_is_recorded(r->f) && is_kin(r, s) && r->c->taken[s - r->c->sightings->at] == 0 &&
           (s->said.has_header || s->gone) && !is_seen_before(r, s);
}

/* ---- may they go? ---- */

/* Ranks of which nothing was seen, and whose files may lie on a node that nobody has looked at. `lone`: also of sets of one rank, whose
 * redundancy brings nothing back. */
static int
count_out_of_sight(const removable *r, bool lone)
{
    int n = 0;

    for (const member *m = NULL; (m = family_next(r->f, m)) != NULL;) {
        const bool is_lone = r->f->sets[m->set].desc.scheme == &rset_scheme_single;

        n += m->seen == NULL && (lone || !is_lone) &&
             !job_reaches(r->j, m->known != NULL ? m->known->host : NULL);
    }
    return n;
}

static rset_status
say_out_of_sight(const removable *r, int n, const char *then, rset_err *err)
{
    return rset_fail(
        err, RSET_USAGE,
        "%s: the files of %d rank%s may be on nodes that are out of sight, and nothing "
        "is removed: run under mpiexec with a process on each node%s",
        family_name(r->f), n, n == 1 ? "" : "s", then);
}

rset_status
removable_whole(const removable *r, rset_err *err)
{
    const int hidden = count_out_of_sight(r, true);
    int       left = 0, all = 0;

    for (const member *m = NULL; (m = family_next(r->f, m)) != NULL; all++) {
        const sighting *s = m->seen;

        left += s != NULL && !s->asked && !s->gone;
    }
    if (left > 0)
        return rset_fail(err, RSET_USAGE,
                         "%s: of %d files that were protected together %d %s not named, and what "
                         "is removed of them would be lost, and come back: name all of them, or "
                         "their directories; --force removes what is named",
                         family_name(r->f), all, left, left == 1 ? "is" : "are");
    return hidden > 0 ? say_out_of_sight(r, hidden, "; --force removes what is in sight", err)
                      : RSET_OK;
}

rset_status
removable_deleted(const removable *r, rset_err *err)
{
    const sighting *all = r->c->sightings->at;
    const int       hidden = count_out_of_sight(r, false);

    for (size_t i = 0; i < r->c->sightings->n; i++)
        if (is_kin(r, &all[i]) && !all[i].ahead && !all[i].gone)
            return rset_fail(err, RSET_USAGE,
                             "%s/%s: is there, and files that were protected with it were deleted: "
                             "nothing is removed of what protects them",
                             all[i].dir, all[i].name);
    return hidden > 0
               ? say_out_of_sight(r, hidden, "; h5redset rm --force removes what is in sight", err)
               : RSET_OK;
}

/* ---- who needs what would go ---- */

const char *
needed_why(const member *m)
{
    switch (m->state) {
    case STATE_LOST:
        return m->seen != NULL
                   ? "is lost, and can only come back with what would be removed"
                   : "is lost or on a node that is out of sight, and can only come back with what "
                     "would be removed";
    case STATE_ELSEWHERE:
        return "is on a node that is out of sight, and may only come back with what would be "
               "removed";
    case STATE_DELETED: return "was deleted, and can only come back with what would be removed";
    case STATE_DAMAGED: return "is damaged, and can only be mended with what would be removed";
    case STATE_ALTERED:
        return "was changed by another program, and what was protected can only come back with "
               "what would be removed";
    case STATE_OUTDATED:
        return "is an old copy, and can only be replaced with what would be removed";
    case STATE_COMMITTING: return "has a commit that was not finished; rebuild it first";
    case STATE_CHANGED:
        return sighting_keeps_old(m->seen)
                   ? "was changed and not protected since; what it was before would "
                     "be given up"
                   : NULL;
    default: return NULL;
    }
}

/* Does the set lose redundancy that a member of it has? */
static bool
loses(const cat_set *set)
{
    for (int i = 0; i < set->desc.members; i++)
        if (set->members[i].asked && set->members[i].seen != NULL)
            return set->desc.members > 1;
    return false;
}

/* Nobody knows what the file is called of a rank of which nothing is recorded: its number is told instead. */
static void
tell_why(const family *f, const member *m, const char *why)
{
    if (member_name(m) != NULL)
        print_error("%s: %s; --force does it all the same", member_path(m), why);
    else
        print_error("%s: the file of rank %d %s; --force does it all the same", family_name(f),
                    m->rank, why);
}

static bool
tell_of_set(const family *f, const cat_set *set, bool speaks)
{
    bool any = false;

    for (int i = 0; i < set->desc.members; i++) {
        const member *m = &set->members[i];
        const char   *why = needed_why(m);

        if (why == NULL || (m->asked && m->seen != NULL))
            continue;
        any = true;
        if (speaks)
            tell_why(f, m, why);
    }
    return any;
}

bool
needed_tell(const catalog *c, bool speaks)
{
    bool any = false;

    for (size_t i = 0; i < c->n; i++)
        any = (loses(c->sets[i]) &&
               tell_of_set(&c->families[c->sets[i]->family], c->sets[i], speaks)) ||
              any;
    return any;
}
