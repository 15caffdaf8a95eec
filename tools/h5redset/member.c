/* member.c: the files of one rank, and of all ranks: what they are called, and where they are. See catalog.h. */
#include "catalog.h"

#include <stdlib.h>
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
        if (m->known != NULL)
            return member_name(m);
    return "?";
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
