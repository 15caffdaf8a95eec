/* work.c: see work.h. */
#include "work.h"

static uint64_t
bytes_of(const sighting *seen)
{
    return seen != NULL ? seen->size + seen->redundancy_size : 0;
}

/* All that is left of the set is read twice: it is verified first. */
uint64_t
work_for_member(const cat_set *s, const member *m)
{
    uint64_t total = m->known->length;

    for (int i = 0; i < s->desc.members; i++)
        total += 2 * bytes_of(s->members[i].seen);
    return total;
}

/* Where files are lost and all others are as they should be, these are verified while they are read for the rebuild. Else all ranks
 * verify theirs, and each set does once more before it plans; then sets with a loss are read for the rebuild, and of others only
 * what is damaged is copied. */
uint64_t
work_for_family(const family *f, int by)
{
    uint64_t all = 0, of_lost = 0, damaged = 0;

    for (int k = 0; k < f->nsets; k++) {
        const cat_set *s = &f->sets[k];
        uint64_t       of_set = 0;
        bool           lost = false;

        for (int i = 0; i < s->desc.members; i++) {
            const member  *m = &s->members[i];
            const uint64_t bytes = m->seen != NULL && m->seen->by == by ? bytes_of(m->seen) : 0;

            of_set += bytes;
            lost = lost || m->state == STATE_LOST;
            damaged += m->state != STATE_HEALTHY && m->state != STATE_LOST ? bytes : 0;
        }
        all += of_set;
        of_lost += lost ? of_set : 0;
    }
    return damaged > 0 ? 2 * all + (of_lost > damaged ? of_lost : damaged) : all;
}
