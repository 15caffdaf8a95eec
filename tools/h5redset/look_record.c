/* look_record.c: files without a redundancy file of their own, against what a neighbour's records. See look_internal.h. */
#include "files.h"
#include "look_internal.h"

#include <stdlib.h>
#include <string.h>

/* Whose redundancy file records what this file should be; the newest, of those that this process can read itself. */
static const sighting *
find_record(const sightings *list, const sighting *s, int *which)
{
    const sighting *best = NULL;

    for (size_t i = 0; i < list->n; i++)
        for (int k = 1; k < list->at[i].said.header.ninfos && !list->at[i].ahead; k++) {
            const rset_info *r = &list->at[i].said.header.infos[k];

            if (list->at[i].owner == s->owner && strcmp(recorded_path(r), s->path) == 0 &&
                (best == NULL ||
                 rset_generation_newer(r->desc.generation,
                                       best->said.header.infos[*which].desc.generation))) {
                best = &list->at[i];
                *which = k;
            }
        }
    return best;
}

/* Two files of that name, each in its own place: nobody knows whose record it is. */
static bool
is_one(const sightings *list, const sighting *s)
{
    for (size_t i = 0; i < list->n; i++)
        if (&list->at[i] != s && list->at[i].owner == s->owner && !list->at[i].ahead &&
            strcmp(list->at[i].dir, s->dir) == 0 && strcmp(list->at[i].name, s->name) == 0)
            return false;
    return true;
}

/* Against what a neighbour records. What cannot be read is taken by its size, as where no neighbour is within reach. */
static void
compare_with_record(sighting *s, const sighting *by, int which)
{
    const files_place at = place_of(s), there = place_of(by);
    rset_err          ignored = RSET_ERR_NONE;
    files             f = {0}, other = {0};
    rset_ranges       bad = {0};
    bool              damaged = false;

    if (files_open(&there, &other, &ignored) == RSET_OK && other.evidence.has_header &&
        which < other.evidence.header.ninfos && other.evidence.header.infos[which].nfiles == 1 &&
        files_open(&at, &f, &ignored) == RSET_OK && f.n == 1 &&
        rset_verify_data(&f.local, &other.evidence.header.infos[which], true, &bad, &damaged,
                         &ignored) == RSET_OK) {
        s->against = by->said.header.infos[which].desc.generation;
        s->data = bad;
        s->damaged = damaged;
        if (damaged)
            (void)rset_is_altered(&f.local, &f.evidence, &other.evidence.header.infos[which],
                                  &s->altered);
        bad = (rset_ranges){0};
    }
    rset_ranges_free(&bad);
    files_close(&f);
    files_close(&other);
}

void
look_at_unrecorded(sightings *list)
{
    for (size_t i = 0; i < list->n; i++) {
        sighting       *s = &list->at[i];
        const sighting *by;
        int             which = 0;

        if (s->said.has_header || s->ahead || !s->there)
            continue;
        by = find_record(list, s, &which);
        if (by != NULL && is_one(list, s))
            compare_with_record(s, by, which);
    }
}
