/* lock.c: see lock.h; and the locks of a handle (handle.h). */
#include "lock.h"

#include "content.h"
#include "h5err.h"
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

bool
rset_lock_keep(H5FD_t *guard, int *fd_out)
{
    const int fd = rset_handle_descriptor(guard);

    *fd_out = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, RSET_PRINTED) : -1;
    return guard == NULL || *fd_out >= 0;
}

/* ---- those of a handle ---- */

/* As HDF5 decides it: the environment, then the property list. */
static bool
locks_files(hid_t fapl)
{
    const char *says = getenv("HDF5_USE_FILE_LOCKING");
    hbool_t     use = true, ignore = false;

    if (says != NULL && (strcmp(says, "FALSE") == 0 || strcmp(says, "0") == 0))
        return false;
    if (says != NULL &&
        (strcmp(says, "TRUE") == 0 || strcmp(says, "1") == 0 || strcmp(says, "BEST_EFFORT") == 0))
        return true;
    return H5Pget_file_locking(fapl, &use, &ignore) < 0 || use;
}

/* Why HDF5 could not lock the file `path`; `why`: errno. Another program has locked it only where that is what the system says. */
static void
say_not_locked(const char *path, int why, rset_err *err)
{
    if (why == EWOULDBLOCK || why == EAGAIN || why == EACCES)
        (void)rset_fail(err, RSET_BUSY, "%s: is locked: another program has it open", path);
    else
        (void)rset_fail_errno(err, RSET_IO, why,
                              "%s: cannot be locked; where its file system has no locks, set "
                              "HDF5_USE_FILE_LOCKING=BEST_EFFORT on all ranks",
                              path);
}

bool
rset_lock_before_truncating(const rset_handle *handle, rset_err *err)
{
    errno = 0;
    if (handle->guard == NULL || !locks_files(handle->lower_fapl) ||
        H5FDlock(handle->guard, true) >= 0)
        return true;
    say_not_locked(handle->path, errno, err);
    return false;
}

/* The lock comes first: what another process holds is neither verified nor rebuilt (T19). The other ranks
 * are told, they would wait for this one. A missing file can only be locked once it is back. */
herr_t
rset_handle_lock(rset_handle *handle, bool rw)
{
    hid_t records = H5I_INVALID_HID;

    if (handle->guard != NULL && H5FDlock(handle->guard, rw) < 0)
        return -1;
    errno = 0;
    if (handle->lower != NULL && H5FDlock(handle->lower, rw) < 0) {
        const int why = errno;

        if (handle->session == NULL || rset_session_is_in_use(handle->session))
            return -1;
        records = rset_h5err_take();
        say_not_locked(handle->path, why, &handle->refused);
        (void)rset_handle_ready(handle);
        rset_h5err_put(records);
        return -1;
    }
    handle->locked = rw ? RSET_LOCKED_WRITE : RSET_LOCKED_READ;
    return rset_handle_ready(handle); /* locks what it opens */
}

herr_t
rset_handle_unlock(rset_handle *handle)
{
    handle->locked = RSET_UNLOCKED;
    if (handle->lower == NULL)
        return 0;
    if (rset_handle_release_held(handle) < 0) /* others look at the file now */
        return -1;
    if (handle->guard != NULL && H5FDunlock(handle->guard) < 0)
        return -1;
    return H5FDunlock(handle->lower);
}
