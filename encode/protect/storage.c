/* storage.c: what is written on several hosts may lie on one storage. See protect_internal.h.
 *
 * No path and no number of a file system tells that from storage of each node with equal names. But a redundancy file says its generation,
 * which is random: where one host sees what another one has just published, both have the same storage. */
#include "protect_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a neighbour's first data file was written, taken apart; owned. */
typedef struct place {
    char *dir, *base, *prefix;
} place;

static void
place_free(place *at)
{
    free(at->dir);
    free(at->base);
    free(at->prefix);
}

/* False: no memory, or it has no file. */
static bool
place_of(const rset_info *info, place *out)
{
    *out = (place){0};
    if (info->nfiles == 0 ||
        rset_path_split(info->files[0].path, &out->dir, &out->base, NULL) != RSET_OK)
        return false;
    out->prefix = rset_join_names(out->base, ".");
    return out->prefix != NULL;
}

/* Are they one directory, or two side by side, by their paths? Elsewhere nothing is opened: the path is another host's, and looking at
 * it here could have something mounted that does not come. */
static bool
is_near(const char *own, const char *other)
{
    const size_t n = (size_t)(rset_path_base(own) - own),
                 m = (size_t)(rset_path_base(other) - other);

    return strcmp(own, other) == 0 || (n > 1 && n == m && strncmp(own, other, n) == 0);
}

/* Has it published this generation where this process sees it? */
static bool
is_seen(const protect *p, const rset_info *neighbour)
{
    rset_evidence ev = {0};
    rset_dir     *dir = NULL;
    place         at;
    const bool    seen = place_of(neighbour, &at) && is_near(rset_dir_path(p->local.dir), at.dir) &&
                      rset_dir_open(at.dir, false, &dir, NULL) == RSET_OK &&
                      rset_survey_one(dir, at.prefix, at.base, &ev, NULL) == RSET_OK &&
                      ev.has_header && ev.header.infos[0].desc.rank == neighbour->desc.rank &&
                      rset_evidence_generation(&ev) == p->args->desc.generation;

    rset_evidence_free(&ev);
    rset_dir_close(dir);
    place_free(&at);
    return seen;
}

void
rset_protect_look_at_storage(const protect *p)
{
    const rset_info *own = &p->header.infos[0];

    for (int d = 1; d < p->header.ninfos; d++) {
        const rset_info *it = &p->header.infos[d];

        if (own->host == NULL || it->host == NULL || strcmp(own->host, it->host) == 0 ||
            !is_seen(p, it))
            continue;
        snprintf(p->args->storage, RSET_ERR_TEXT,
                 "%s: %s sees what rank %d wrote on %s, so these nodes share the storage: lost or "
                 "damaged files can be rebuilt, the loss of that storage cannot; to survive that "
                 "too, write to storage of each node",
                 rset_local_name(&p->local), own->host, it->desc.rank, it->host);
        return;
    }
}
