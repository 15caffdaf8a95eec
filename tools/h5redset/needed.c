/* needed.c: see needed.h. */
#include "needed.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>

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

static bool
tell_of_set(const cat_set *set, bool speaks)
{
    bool any = false;

    for (int i = 0; i < set->desc.members; i++) {
        const member *m = &set->members[i];
        const char   *why = needed_why(m);

        if (why == NULL || (m->asked && m->seen != NULL))
            continue;
        any = true;
        if (speaks)
            print_error("%s: %s; --force does it all the same", member_path(m), why);
    }
    return any;
}

bool
needed_tell(const catalog *c, bool speaks)
{
    bool any = false;

    for (size_t i = 0; i < c->n; i++)
        any = (loses(c->sets[i]) && tell_of_set(c->sets[i], speaks)) || any;
    return any;
}
