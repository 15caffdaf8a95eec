/* finalize.c: see finalize.h. In MPI_Finalize, while MPI still works (an attribute of MPI_COMM_SELF), HDF5
 * writes out what it holds of all open files, and each is protected as H5Fclose would leave it: with the
 * flags in the superblock cleared. H5Fclose then writes the same bytes again, which is no modification. When
 * something else is written after MPI_Finalize, protection is marked void like any other (P3). */
#include "finalize.h"

#include "async.h"
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "commit.h"
#include "h5err.h"
#include "open_files.h"
#include "pending.h"
#include "scrub.h"
#include "together.h"

#include <stdlib.h>

/* All objects: a file whose id is closed may be open by one of them. */
static void
flush_everything(void)
{
    ssize_t n = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    hid_t  *ids = n > 0 ? calloc((size_t)n, sizeof *ids) : NULL;

    if (ids != NULL)
        n = H5Fget_obj_ids((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL, (size_t)n, ids);
    for (ssize_t i = 0; ids != NULL && i < n; i++)
        (void)H5Fflush(ids[i], H5F_SCOPE_GLOBAL); /* a read-only one has nothing to flush */
    free(ids);
}

static void
protect_open_files(void)
{
    rset_h5err_scope scope;

    if (!rset_open_any_to_end())
        return;
    rset_h5err_enter(&scope);
    rset_commit_pause(true);
    flush_everything();
    rset_commit_pause(false);
    rset_open_protect_all();
    rset_h5err_leave(&scope, false);
}

/* What the program has closed comes first, as it would if it were closed now. */
static void
end_everything(void *arg)
{
    rset_err late = RSET_ERR_NONE;

    (void)arg;
    rset_background_end();
    if (rset_together_end(NULL, &late) != RSET_OK)
        rset_h5err_warn(late.text);
    protect_open_files();
    rset_pending_end(rset_h5err_warn);
    rset_scrub_end();
    rset_async_speak_all();
}

static void
end_background(void)
{
    rset_background_wait(NULL);
}

bool
rset_finalize_watch(void)
{
    static bool watching;
    rset_err    ignored = RSET_ERR_NONE;

    if (!watching && rset_mpi_usable()) {
        rset_mpi_before_free(end_background);
        watching = rset_mpi_before_finalize(end_everything, NULL, &ignored) == RSET_OK;
    }
    return watching;
}
