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
#include "said.h"
#include "scrub.h"
#include "session.h"
#include "together.h"

#include <stdlib.h>

/* A file in memory that nobody else knows of. */
static hid_t
create_own(void)
{
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    hid_t       file = H5I_INVALID_HID;

    if (H5Pset_fapl_core(fapl, 4096, false) >= 0)
        file = H5Fcreate("redset.own", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return file;
}

/* HDF5 keeps the id of a file that it could not close, though there is no file any more, and most calls crash with it. One does
 * not: asked for the ids of that file it counts those of all files, ours too. */
static bool
leads_to_file(hid_t id)
{
    const ssize_t of_all = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE);
    const ssize_t n = H5Fget_obj_count(id, H5F_OBJ_FILE);

    return n > 0 && n < of_all;
}

/* Flushes the files that ids of these types lead to. */
static void
flush_by(unsigned types, hid_t own)
{
    ssize_t n = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, types);
    hid_t  *ids = n > 0 ? calloc((size_t)n, sizeof *ids) : NULL;

    if (ids != NULL)
        n = H5Fget_obj_ids((hid_t)H5F_OBJ_ALL, types, (size_t)n, ids);
    for (ssize_t i = 0; ids != NULL && i < n; i++)
        if (ids[i] != own && (types != H5F_OBJ_FILE || leads_to_file(ids[i])))
            (void)H5Fflush(ids[i], H5F_SCOPE_GLOBAL); /* a read-only one has nothing to flush */
    free(ids);
}

/* A file whose id is closed may be open by one of its objects. */
static void
flush_everything(void)
{
    const hid_t own = create_own();

    if (own < 0)
        return;
    flush_by(H5F_OBJ_FILE, own);
    if (rset_open_any_to_flush())
        flush_by(H5F_OBJ_ALL & ~H5F_OBJ_FILE, own);
    (void)H5Fclose(own);
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
    rset_err late = RSET_ERR_NONE, all = RSET_ERR_NONE;
    char     sum[RSET_ERR_TEXT];

    (void)arg;
    rset_background_end();
    if (rset_together_end(NULL, &late) != RSET_OK)
        rset_h5err_warn(late.text);
    protect_open_files();
    rset_pending_end(rset_h5err_warn);
    rset_scrub_end();
    rset_async_speak_all();
    if (rset_session_sum_up(sum)) {
        (void)rset_fail(&all, RSET_PEER, "%s", sum);
        rset_h5err_warn_here(&all);
    }
    rset_said_sum_up();
}

bool
rset_finalize_watch(void)
{
    static bool watching;
    rset_err    ignored = RSET_ERR_NONE;

    if (!watching && rset_mpi_usable()) {
        rset_mpi_before_free(rset_background_wait_for_all);
        watching = rset_mpi_before_finalize(end_everything, NULL, &ignored) == RSET_OK;
    }
    return watching;
}
