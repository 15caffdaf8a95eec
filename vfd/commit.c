/* commit.c: see commit.h. */
#include "commit.h"

#include "H5FDredset.h"
#include "async.h"
#include "background.h"
#include "call.h"
#include "content.h"
#include "file_id.h"
#include "inherited.h"
#include "left.h"

static bool paused;

void
rset_commit_pause(bool on)
{
    paused = on;
}

/* In the background, if that may be. `ok`: all that was written is on disk. The old file, which others could not change until now, is
 * let go of. */
static rset_status
begin(rset_handle *handle, rset_commit_by by, bool ok, char warning[RSET_ERR_TEXT], rset_err *err)
{
    const bool  behind = ok && handle->behind;
    const bool  later = behind && rset_session_commits_behind(handle->session);
    rset_status st;

    if (behind && rset_async_commit(handle->session, by, &handle->config, handle->path))
        return RSET_OK;
    st = rset_session_commit(handle->session, by, ok, warning, err);
    if (!rset_handle_is_shadow(handle))
        rset_handle_close_guard(handle);
    return rset_async_tell_later(later, handle->path, st, err);
}

/* What is protected says that nobody has the file open; what HDF5 has written to say otherwise is held back until something
 * changes (content.c). This one is tried whatever became of the commit before, which is told here, on all ranks, where it
 * was left to the background. */
static rset_status
commit(rset_handle *handle, rset_commit_by by, bool ok, char warning[RSET_ERR_TEXT], rset_err *err)
{
    rset_err    before = RSET_ERR_NONE;
    rset_status st;

    rset_background_wait(NULL);
    rset_session_join(handle->session);
    (void)rset_background_take(handle->path, &before);
    ok =
        (!rset_session_is_changed(handle->session) || rset_handle_settle_superblock(handle) >= 0) &&
        ok;
    rset_left_note(handle);
    st = begin(handle, by, ok && !handle->failed, warning, err);
    if (st != RSET_OK || before.status == RSET_OK)
        return st;
    *err = before;
    return before.status;
}

/* ---- H5Fflush ---- */

void
rset_commit_note_truncated(rset_handle *handle, bool closing)
{
    handle->truncated = !closing;
}

herr_t
rset_commit_flushed(rset_handle *handle, bool ok, bool closing, char warning[RSET_ERR_TEXT])
{
    const bool whole = handle->truncated && !closing;
    rset_err   err = RSET_ERR_NONE;

    handle->truncated = false;
    handle->flushed = handle->flushed || (paused && ok);
    warning[0] = '\0';
    if (!whole || paused || handle->session == NULL || !handle->config.commit_flush ||
        commit(handle, RSET_COMMIT_BY_FLUSH, ok, warning, &err) == RSET_OK)
        return 0;
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTFLUSH, &err);
    return -1;
}

/* ---- what applications call ---- */

/* HDF5's own failure to flush is one that the others hear of. */
static rset_status
flush_and_commit(hid_t file_id, char warning[RSET_ERR_TEXT], rset_err *err)
{
    rset_handle *handle =
        rset_file_id_find(file_id, "H5FDredset_commit", "cannot be committed", err);
    bool ok;

    if (handle == NULL || rset_inherited_refuse(handle, "H5FDredset_commit", err) != RSET_OK)
        return err->status;
    paused = true;
    ok = H5Fflush(file_id, H5F_SCOPE_LOCAL) >= 0;
    paused = handle->flushed = false;
    return commit(handle, RSET_COMMIT_BY_CALL, ok, warning, err);
}

herr_t
H5FDredset_commit(hid_t file_id)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    char             warning[RSET_ERR_TEXT] = "";
    hid_t            records;
    rset_status      st;
    herr_t           ret;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = flush_and_commit(file_id, warning, &err);
    if (st == RSET_OK && (records = rset_h5err_take()) > 0)
        (void)H5Eclose_stack(records);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTFLUSH, &err);
    ret = rset_call_end(&scope, st != RSET_OK);
    if (warning[0] != '\0')
        rset_h5err_warn(warning);
    return ret;
}
