/* alone.c: see alone.h. */
#include "alone.h"

#include <stdlib.h>

strings
alone_search(const options *o, const catalog *c, uint64_t owner)
{
    strings dirs = {0};

    for (size_t i = 0; i < o->search.n; i++)
        strings_add_once(&dirs, o->search.at[i]);
    for (size_t i = 0; i < c->sightings->n; i++)
        if (c->sightings->at[i].owner == owner)
            strings_add_once(&dirs, c->sightings->at[i].dir);
    return dirs;
}

rset_status
alone_rebuild(files *f, const alone_wish *wish, const strings *search, rset_outcome *out,
              rset_err *err)
{
    const char **dirs = must_alloc((search->n + 1) * sizeof *dirs);
    rset_status  st;

    for (size_t i = 0; i < search->n; i++)
        dirs[i] = search->at[i];
    st = rset_recover_serial(&(rset_serial_args){.local = &f->local,
                                                 .evidence = &f->evidence,
                                                 .search = dirs,
                                                 .rank = wish->rank,
                                                 .outdated = wish->outdated,
                                                 .dry_run = wish->dry_run,
                                                 .undelete = wish->undelete,
                                                 .content = RSET_CONTENT_ALL},
                             out, err);
    free(dirs);
    return st;
}
