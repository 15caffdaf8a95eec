/* restored.c: an older generation becomes the newest. See protect.h.
 *
 * It gets the name of the file that it is kept of, as by rename.c; what has that name until then gets more names before anything
 * else is done, which stay when the commit takes the old ones away. */
#include "commit/newer.h"
#include "protect_internal.h"

/* The commit did not come to be: the names say nothing new, where all that they are names of is there under the old ones. That
 * is so but for an older commit that was prepared, and may have been replaced. */
static void
take_back(const rset_protect_args *args, uint64_t newest, bool doubt)
{
    rset_evidence ev = {0};
    rset_err      ignored = RSET_ERR_NONE;
    rset_status   st = rset_survey_local(args->local, &ev, &ignored);

    if (st == RSET_OK && !doubt && ev.next != args->desc.generation &&
        rset_evidence_generation(&ev) != args->desc.generation)
        (void)rset_newer_drop(args->local, newest, &ignored);
    rset_evidence_free(&ev);
}

/* An older generation that is kept as what leads back from this one, or from what has the name, stands for itself from now on. */
static rset_status
free_older(const rset_protect_args *args, const rset_local *kept, rset_err *err)
{
    const uint64_t generation = rset_name_kept(kept->names[0]);
    rset_evidence  ev = {0};
    rset_status    st = rset_survey_local(args->local, &ev, err);
    const uint64_t older = st == RSET_OK ? rset_kept_before(args->local, &ev, generation) : 0;

    rset_evidence_free(&ev);
    if (older != 0)
        st = rset_kept_expand(args->local, older, err);
    if (st == RSET_OK && args->keep == 0)
        rset_kept_release(args->local);
    return st;
}

static rset_status
put_aside(const rset_protect_args *args, uint64_t newest, bool *doubt_out, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_local(args->local, &ev, err);

    *doubt_out = ev.next_name != NULL;
    rset_evidence_free(&ev);
    return st == RSET_OK ? rset_newer_put(args->local, newest, err) : st;
}

rset_status
rset_protect_restored(const rset_protect_args *args, const rset_local *kept, uint64_t newest,
                      rset_err *err)
{
    rset_protect_args commit = *args;
    bool              doubt = true;
    rset_status       st;

    if (newest != 0 && commit.before == RSET_OK)
        commit.before = put_aside(args, newest, &doubt, err);
    if (commit.before == RSET_OK)
        commit.before = free_older(args, kept, err);
    st = rset_protect_linked(&commit, kept, err);
    if (st != RSET_OK && newest != 0)
        take_back(args, newest, doubt);
    return st;
}
