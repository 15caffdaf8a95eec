/* older.c: older generations that are kept of files which move. Each goes to the rank that it is of, whoever has the newest that it
 * lies beside. See move_internal.h. */
#include "commit/kept.h"
#include "move_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- whose it is ---- */

/* By what protects it: the names of that say the rank, also where it cannot be read. */
static void
take_rank(const char *name, const char *prefix, int rank, rset_move_older *out)
{
    rset_name            parsed = {.rank = -1};
    uint64_t             ignored;
    const rset_name_kind kind = rset_name_classify(name, prefix, &parsed, &ignored);

    if (kind != RSET_NAME_PLAIN && kind != RSET_NAME_VOID && kind != RSET_NAME_REDO)
        return;
    if (parsed.rank == rank)
        out->own = true;
    else
        out->other = parsed.rank;
}

/* Is its content there, or what leads back to it? */
static rset_status
find_content(rset_dir *dir, const char *prefix, bool *there_out, rset_err *err)
{
    char          *data = strndup(prefix, strlen(prefix) - 1), *name = NULL, *main = NULL;
    rset_kept_form form = RSET_KEPT_NOT;
    rset_status    st = data != NULL ? rset_name_main(data, &name, &main, err)
                                     : rset_fail(err, RSET_NOMEM, "%s: no memory for a name", prefix);

    if (st == RSET_OK)
        st = rset_kept_find(&(rset_local){.dir = dir, .prefix = main}, rset_name_kept(data), &form,
                            err);
    *there_out = st == RSET_OK && form != RSET_KEPT_NOT;
    free(main);
    free(name);
    free(data);
    return st;
}

rset_status
rset_move_look_at_older(rset_dir *dir, const char *prefix, int rank, rset_move_older *out,
                        rset_err *err)
{
    rset_names  names = {0};
    rset_status st;

    *out = (rset_move_older){.other = -1};
    st = find_content(dir, prefix, &out->content, err);
    if (st == RSET_OK)
        st = rset_names_list(dir, prefix, &names, err);
    for (size_t i = 0; st == RSET_OK && i < names.n; i++)
        take_rank(names.at[i], prefix, rank, out);
    rset_names_free(&names);
    return st;
}

char *
rset_move_older_prefix(const char *prefix, uint64_t generation)
{
    char *data = rset_name_of(RSET_NAME_DATA, prefix, generation);
    char *older = data != NULL ? rset_join_names(data, ".") : NULL;

    free(data);
    return older;
}

/* ---- one of them is opened ---- */

/* The next older generation, which rests on this one, stays where it is, and is made whole. */
static rset_status
part_from_older(rset_dir *dir, const char *base, rset_err *err)
{
    char       *name = NULL, *prefix = NULL;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_name_main(base, &name, &prefix, &own);

    if (st == RSET_OK) {
        const char *names[] = {name};
        rset_local of = {.dir = dir, .prefix = prefix, .nfiles = 1, .names = names, .paths = names};

        st = rset_kept_detach(&of, rset_name_kept(base), &own);
    }
    free(prefix);
    free(name);
    /* Content that cannot be read is lost to the older generation as well. */
    return st == RSET_OK || st == RSET_DAMAGED ? RSET_OK : rset_fail_as(err, &own);
}

rset_status
rset_move_free_older(const rset_local *local, bool stays, rset_err *err)
{
    const char       *name = local->names[0];
    rset_located_list found = {0};
    rset_err          ignored = RSET_ERR_NONE;
    rset_status       st;

    if (rset_name_kept(name) == 0 || rset_name_is_put_aside(name))
        return RSET_OK;
    st = rset_locate(local->dir, &(rset_look_at){.like = name}, &found, err);
    for (size_t i = 0; st == RSET_OK && i < found.n; i++) {
        const char *base = found.at[i].base;

        if (stays && strcmp(base, name) == 0)
            continue;
        (void)rset_kept_make_named_ready(local->dir, base, false, &ignored);
        st = part_from_older(local->dir, base, err);
    }
    rset_located_list_free(&found);
    return st;
}
