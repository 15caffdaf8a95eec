/* picture.c: see picture.h. */
#include "picture.h"

#include "options.h"
#include "owner.h"

#include <stdlib.h>
#include <string.h>

picture
picture_of(const picture *from, uint64_t owner)
{
    return (picture){.there = from->there,
                     .alone_on = from->alone_on,
                     .seen = sightings_of(&from->seen, owner),
                     .seen_older = sightings_of(&from->seen_older, owner),
                     .replaced = sightings_of(&from->replaced, owner)};
}

uint64_t
picture_owner(const picture *p, uint64_t from)
{
    const sightings *const all[] = {&p->seen, &p->seen_older, &p->replaced};
    uint64_t               lowest = OWNER_NONE;

    for (size_t l = 0; l < sizeof all / sizeof *all; l++)
        for (size_t i = 0; i < all[l]->n; i++) {
            const uint64_t owner = all[l]->at[i].owner;

            lowest = owner >= from && owner < lowest ? owner : lowest;
        }
    return lowest;
}

static bool
has_any(const catalog *c)
{
    for (size_t i = 0; i < c->nfamilies; i++)
        if (c->families[i].asked)
            return true;
    return c->nstrays > 0;
}

bool
picture_has_any(const picture *p)
{
    return has_any(&p->newest) || has_any(&p->older);
}

/* ---- files of several owners ---- */

/* A file of somebody else's that lies where this member's is recorded, or belongs; NULL: none. */
static const sighting *
find_strange(const family *f, const member *m, const sightings *everyone)
{
    for (size_t i = 0; m->seen == NULL && m->known != NULL && i < everyone->n; i++) {
        const sighting *s = &everyone->at[i];

        if (s->owner != f->owner && s->there && strcmp(s->path, member_path(m)) == 0)
            return s;
    }
    return NULL;
}

static const sighting *
find_strange_of(const family *f, const sightings *everyone)
{
    const sighting *found = NULL;

    for (const member *m = NULL; found == NULL && (m = family_next(f, m)) != NULL;)
        found = find_strange(f, m, everyone);
    return found;
}

static void
tell_mixed(const family *f, const sighting *strange)
{
    char *first = owner_name(f->owner), *second = owner_name(strange->owner);

    print_error("%s: files of several owners (%s; %s has %s): what is protected together is of one "
                "owner, and nothing is done to it",
                family_name(f), first, second, strange->path);
    free(first);
    free(second);
}

static void
ask_no_more(family *f)
{
    f->asked = false;
    for (int k = 0; k < f->nsets; k++) {
        f->sets[k].asked = false;
        for (int i = 0; i < f->sets[k].desc.members; i++)
            f->sets[k].members[i].asked = false;
    }
}

static size_t
refuse_mixed(catalog *c, const sightings *everyone, bool tell)
{
    size_t n = 0;

    for (size_t i = 0; i < c->nfamilies; i++) {
        family         *f = &c->families[i];
        const sighting *strange = f->asked ? find_strange_of(f, everyone) : NULL;

        if (strange == NULL)
            continue;
        n++;
        if (tell)
            tell_mixed(f, strange);
        ask_no_more(f);
    }
    return n;
}

size_t
picture_make(picture *p, const options *o, const sightings *everyone, bool tell)
{
    size_t n;

    catalog_make(&p->seen, &o->paths, o->deleted, p->alone_on, &p->newest);
    catalog_make(&p->seen_older, &o->paths, false, p->alone_on, &p->older);
    n = refuse_mixed(&p->newest, everyone, tell);
    lists_make(&p->newest, &p->older, &p->all);
    return n;
}

void
picture_forget(picture *p)
{
    lists_free(&p->all);
    catalog_free(&p->newest);
    catalog_free(&p->older);
}
