/* kept_ready.c: an older generation is about to be opened, and perhaps to be rebuilt. See kept.h. */
#include "kept.h"
#include "names/names.h"

#include <inttypes.h>
#include <stdlib.h>

/* Where it is lost, what comes back is found by this name when it is retired (N1). */
static rset_status
note_name(const rset_local *local, uint64_t generation, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_DATA, local->prefix, generation);
    rset_status st = RSET_OK;

    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for the name of an older generation",
                         rset_local_name(local));
    if (!rset_dir_has_file(local->dir, name))
        st = rset_names_note_kept(local->dir, local->prefix, NULL, 0, generation, err);
    free(name);
    return st;
}

rset_status
rset_kept_make_ready(const rset_local *local, uint64_t generation, bool readonly, rset_err *err)
{
    rset_err       why = RSET_ERR_NONE;
    rset_kept_form form;
    rset_status    st;

    if (local->dir == NULL)
        return RSET_OK;
    st = rset_kept_find(local, generation, &form, err);
    if (st != RSET_OK)
        return st;
    if (readonly)
        st = rset_fail(&why, RSET_IO, "readonly_rebuild=no");
    else
        st = rset_dir_may_change(local->dir, &why);
    if (form != RSET_KEPT_BACK)
        return st == RSET_OK ? note_name(local, generation, err) : RSET_OK;
    if (st == RSET_OK) {
        st = rset_kept_expand(local, generation, &why);
        return st == RSET_OK || st == RSET_DAMAGED ? RSET_OK : rset_fail_as(err, &why);
    }
    return rset_fail(
        err, st,
        "%s: what is kept of generation %" PRIu64
        " is only what has changed since, so it has to be made whole beside the file "
        "before it is read, which may not be written (%.300s): open it once where that "
        "may be",
        rset_local_name(local), rset_generation_commits(generation), why.text);
}

rset_status
rset_kept_make_named_ready(rset_dir *dir, const char *name, bool readonly, rset_err *err)
{
    char       *main = NULL, *prefix = NULL;
    rset_status st = RSET_OK;

    if (rset_name_kept(name) == 0 || rset_name_is_put_aside(name))
        return RSET_OK;
    st = rset_name_main(name, &main, &prefix, err);
    if (st == RSET_OK) {
        const char *names[] = {main};
        rset_local of = {.dir = dir, .prefix = prefix, .nfiles = 1, .names = names, .paths = names};

        st = rset_kept_make_ready(&of, rset_name_kept(name), readonly, err);
    }
    free(main);
    free(prefix);
    return st;
}

void
rset_kept_forget_named(rset_dir *dir, const char *name)
{
    char *main = NULL, *prefix = NULL;

    if (rset_name_kept(name) != 0 && !rset_name_is_put_aside(name) &&
        rset_name_main(name, &main, &prefix, NULL) == RSET_OK)
        rset_names_forget_older(dir, prefix, rset_name_kept(name));
    free(main);
    free(prefix);
}
