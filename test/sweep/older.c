/* older.c: see older.h. */
#include "older.h"

#include "commit/kept.h"
#include "recover/generations.h"

#include <stdio.h>
#include <stdlib.h>

rset_status
older_find(rset_comm *world, job_rank *k, unsigned back, uint64_t *generation_out)
{
    const rset_which which = {.back = back};
    rset_generations all = {0};
    rset_dir        *dir = NULL;
    rset_local       local = {.prefix = k->prefix,
                              .nfiles = 1,
                              .names = (const char *const *)k->names,
                              .paths = (const char *const *)k->names};
    rset_status      st = rset_dir_open(k->dir, true, &dir, &k->err);

    local.dir = dir;
    rset_evidence_free(&k->evidence);
    if (st == RSET_OK)
        st = rset_survey_local(&local, &k->evidence, &k->err);
    rset_generations_of(&k->evidence, &all);
    st = rset_agree(world, st, "host", &k->err);
    if (st == RSET_OK)
        st = rset_generations_of_all(world, "host", &all, &k->err);
    rset_generations_add_lost(&all);
    *generation_out = st == RSET_OK ? rset_generations_find(&all, &which) : 0;
    if (*generation_out != 0)
        st = rset_kept_make_ready(&local, *generation_out, false, &k->err);
    rset_dir_close(dir);
    return st;
}

void
older_call(job_rank *k, uint64_t generation)
{
    k->names[0] = rset_name_of(RSET_NAME_DATA, k->prefix, generation);
    if (k->names[0] == NULL || asprintf(&k->prefix, "%s.", k->names[0]) < 0)
        abort();
}
