/* member.c: the files of one rank, and of all ranks: what they are called, where they are, and how much of them is read. See catalog.h. */
#include "catalog.h"

#include <string.h>

unsigned
generation_number(uint64_t generation)
{
    return (unsigned)rset_generation_commits(generation);
}

const char *
member_path(const member *m)
{
    return m->seen != NULL      ? m->seen->path
           : m->belongs != NULL ? m->belongs
           : m->known != NULL   ? recorded_path(m->known)
                                : "?";
}

const char *
member_name(const member *m)
{
    if (m->seen != NULL && m->seen->renamed)
        return m->seen->name;
    if (m->belongs != NULL)
        return rset_path_base(m->belongs);
    if (m->known != NULL)
        return rset_path_base(recorded_path(m->known));
    return m->seen != NULL ? m->seen->name : NULL;
}

const char *
member_host(const member *m)
{
    if (m->seen != NULL)
        return m->seen->host;
    return m->known != NULL ? m->known->host : NULL;
}

member *
family_next(const family *f, const member *m)
{
    int set = m != NULL ? m->set : 0;

    if (m != NULL && m + 1 < f->sets[set].members + f->sets[set].desc.members)
        return (member *)m + 1;
    for (set += m != NULL; set < f->nsets; set++)
        if (f->sets[set].desc.members > 0)
            return f->sets[set].members;
    return NULL;
}

const char *
family_name(const family *f)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (m->known != NULL || !family_is_recorded(f))
            return member_name(m);
    return "?";
}

bool
family_is_recorded(const family *f)
{
    return f->desc.scheme != NULL;
}

static const member *
lowest_member(const family *f)
{
    const member *first = NULL;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if ((m->known != NULL || m->seen != NULL) && (first == NULL || m->rank < first->rank))
            first = m;
    return first;
}

char *
family_key(const family *f)
{
    const member *first = lowest_member(f);
    const char   *path = first != NULL ? member_path(first) : "?";

    return must_print("%llu:%.*s", (unsigned long long)f->owner, (int)rset_name_recorded(path),
                      path);
}

int
family_unseen(const family *f)
{
    int n = 0;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        n += m->seen == NULL;
    return n;
}

rset_stamp
family_stamp(const family *f)
{
    for (int k = 0; k < f->nsets; k++)
        if (f->sets[k].stamp != NULL)
            return *f->sets[k].stamp;
    return (rset_stamp){0};
}

/* ---- how much is read ---- */

uint64_t
work_bytes_of(const sighting *seen)
{
    return seen != NULL ? seen->size + seen->redundancy_size : 0;
}

/* What is read of other members for the lost files of one: of each stripe, all but as many blocks as there are of parity; or a replica.
 * With the files of one that is damaged, its bad blocks only. */
static uint64_t
bytes_instead(const cat_set *s, const member *m)
{
    const bool     lost = m->seen == NULL || m->seen->size == 0;
    const uint64_t parity = s->desc.parity > 0 ? (uint64_t)s->desc.parity : 0;
    const uint64_t stripes = m->seen == NULL || m->seen->redundancy_size == 0 ? parity : 0;

    if (!lost || s->desc.members < 2)
        return 0;
    if (!s->desc.scheme->striped)
        return rset_info_length(m->known);
    return rset_info_length(m->known) * ((uint64_t)s->desc.members - parity + stripes);
}

/* All that is left of the set is verified. */
uint64_t
work_for_member(const cat_set *s, const member *m)
{
    uint64_t total = bytes_instead(s, m);

    for (int i = 0; i < s->desc.members; i++)
        total += work_bytes_of(s->members[i].seen);
    return total;
}

/* Where files are lost and all others are as they should be, these are verified while they are read for the rebuild. Else all ranks
 * verify theirs; then sets with a loss are read for the rebuild, and of others only what is damaged is copied. */
uint64_t
work_for_family(const family *f, int by, uint64_t found)
{
    uint64_t all = 0, of_lost = 0, damaged = found;

    for (int k = 0; k < f->nsets; k++) {
        const cat_set *s = &f->sets[k];
        uint64_t       of_set = 0;
        bool           lost = false;

        for (int i = 0; i < s->desc.members; i++) {
            const member  *m = &s->members[i];
            const uint64_t bytes =
                m->seen != NULL && m->seen->by == by ? work_bytes_of(m->seen) : 0;

            of_set += bytes;
            lost = lost || m->state == STATE_LOST;
            damaged += m->state != STATE_HEALTHY && m->state != STATE_LOST ? bytes : 0;
        }
        all += of_set;
        of_lost += lost ? of_set : 0;
    }
    return damaged > 0 ? all + (of_lost > damaged ? of_lost : damaged) : all;
}
