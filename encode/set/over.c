/* over.c: a damaged file for which there is no room beside itself gets its bad blocks in its place. See rebuild_internal.h.
 *
 * Only blocks that are bad are written, so nothing that is good gets lost, and a run that dies leaves what the next one goes on
 * with: a damaged file, which the void mark says has to be looked at. */
#include "rebuild_internal.h"

#include <stdlib.h>

/* By other names it may be what somebody else means: an older generation, or one that was put aside. */
static bool
has_one_name(const rset_repair *rep, int i)
{
    rset_dir   *dir = rset_local_dir(rep->local, i);
    struct stat sb;

    return dir != NULL && rset_dir_stat(dir, rep->local->names[i], &sb, NULL) == RSET_OK &&
           S_ISREG(sb.st_mode) && sb.st_nlink == 1;
}

bool
rset_over_can(const rset_repair *rep)
{
    const rset_info *info = rep->header.infos;
    bool             can = rep->cramped && !rep->evidence->placeholder && !rep->altered.any;

    for (int i = 0; can && i < info->nfiles; i++)
        can = info->files[i].has_sums && has_one_name(rep, i);
    return can;
}

static rset_status
say_so(rset_repair *rep, rset_err *err)
{
    if (rset_evidence_generation(rep->evidence) != rep->generation)
        return RSET_OK; /* it says of itself that it is not in order */
    return rset_set_void(rep->local->dir, rep->evidence, true, err);
}

static rset_status
open_one(rset_repair *rep, int i, rset_err *err)
{
    const uint64_t size = rep->header.infos[0].files[i].attrs.size;
    rset_file    **file = &rep->new_data.files[i];
    struct stat    sb;
    rset_status    st =
        rset_file_open_update(rset_local_dir(rep->local, i), rep->local->names[i], file, err);

    if (st == RSET_OK)
        st = rset_file_stat(*file, &sb, err);
    if (st == RSET_OK && (uint64_t)sb.st_size != size)
        st = rset_file_resize(*file, size, err);
    rep->new_data.start[i + 1] = rep->new_data.start[i] + size;
    return st;
}

rset_status
rset_over_begin(rset_repair *rep, rset_err *err)
{
    const int   n = rep->header.infos[0].nfiles;
    rset_status st = say_so(rep, err);

    rep->over = true;
    if (st == RSET_OK && rep->source.undo != NULL)
        st = rset_undo_apply(rep->local->dir, rep->local->prefix, rep->local->names[0],
                             rep->source.undo, err);
    if (st != RSET_OK)
        return st;
    rep->new_data = (rset_logical){.n = n,
                                   .files = calloc((size_t)n + 1, sizeof *rep->new_data.files),
                                   .start = calloc((size_t)n + 1, sizeof *rep->new_data.start)};
    if (rep->new_data.files == NULL || rep->new_data.start == NULL) {
        rset_logical_close(&rep->new_data, NULL);
        return rset_fail(err, RSET_NOMEM, "no memory to rebuild %s", rset_local_name(rep->local));
    }
    for (int i = 0; st == RSET_OK && i < n; i++)
        st = open_one(rep, i, err);
    return st;
}

rset_status
rset_over_check(const rset_repair *rep, rset_err *err)
{
    bool        is = false;
    rset_status st = rset_is_as_recorded(rep->local, &rep->header.infos[0], &is, err);

    if (st != RSET_OK || is)
        return st;
    return rset_fail(err, RSET_IO,
                     "%s: its damaged blocks were written again, and then it did not have the "
                     "recorded checksums: check the storage, and open again",
                     rset_local_name(rep->local));
}
