/* first_use.c: what is below the handle of an open file, and how it comes to be what the application shall see. See
 * handle.h. */
#include "background.h"
#include "h5err.h"
#include "handle.h"

#include <string.h>
#include <sys/stat.h>

/* ---- the lower driver ---- */

unsigned
rset_handle_plain(unsigned flags)
{
    return flags & ~(unsigned)(H5F_ACC_CREAT | H5F_ACC_TRUNC | H5F_ACC_EXCL);
}

H5FD_t *
rset_handle_open_lower(const rset_handle *handle, const char *name, unsigned flags)
{
    rset_low low;
    H5FD_t  *lower;

    rset_low_take(&low);
    lower = H5FDopen(name, flags, handle->lower_fapl, handle->maxaddr);
    rset_low_leave(&low);
    return lower;
}

/* HDF5 asks in this way, with a property of its own: without that the core driver gives away its memory instead. */
int
rset_handle_descriptor(H5FD_t *lower)
{
    static const char property[] = "want_posix_fd";
    const bool        want = true;
    unsigned long     flags = 0;
    void             *fd = NULL;
    hid_t             fapl;
    size_t            size = 0;

    if (lower == NULL || H5FDquery(lower, &flags) < 0 ||
        (flags & H5FD_FEAT_POSIX_COMPAT_HANDLE) == 0 || (fapl = H5Pcreate(H5P_FILE_ACCESS)) < 0)
        return -1;
    if (H5Pexist(fapl, property) <= 0 || H5Pget_size(fapl, property, &size) < 0 ||
        size != sizeof want || H5Pset(fapl, property, &want) < 0 ||
        H5FDget_vfd_handle(lower, fapl, &fd) < 0)
        fd = NULL;
    (void)H5Pclose(fapl);
    return fd != NULL ? *(const int *)fd : -1;
}

/* Which file is open there? Zeros where that cannot be told: the name may lead to another one by now. A driver that has no descriptor
 * is asked by the name, right after it has opened that. */
static rset_identity
identity_of(H5FD_t *lower, const char *name)
{
    const int   fd = rset_handle_descriptor(lower);
    struct stat sb;

    if (lower == NULL || (fd >= 0 ? fstat(fd, &sb) : stat(name, &sb)) != 0)
        return (rset_identity){0};
    return rset_identity_of(&sb);
}

void
rset_handle_use_lower(rset_handle *handle, const char *name, unsigned flags)
{
    hid_t records;

    handle->lower = rset_handle_open_lower(handle, name, flags);
    records = rset_h5err_take();
    handle->is = identity_of(handle->lower, name);
    rset_h5err_put(records);
}

bool
rset_handle_is_shadow(const rset_handle *handle)
{
    return handle->session != NULL && strcmp(rset_session_at(handle->session), handle->path) != 0;
}

void
rset_handle_close_guard(rset_handle *handle)
{
    if (handle->guard != NULL)
        (void)H5FDclose(handle->guard);
    handle->guard = NULL;
}

/* ---- first use ---- */

/* Opens what has the path now in the place of what was open, with what HDF5 had set. */
static herr_t
reopen(rset_handle *handle)
{
    const char *path = handle->path;

    /* A close lets go of a lock only when nobody else looks at the descriptor, and here it is taken again at once. */
    if (handle->lower != NULL && handle->locked != RSET_UNLOCKED)
        (void)H5FDunlock(handle->lower);
    if (handle->lower != NULL)
        (void)H5FDclose(handle->lower);
    if (handle->session != NULL && rset_session_older(handle->session) != NULL)
        path = rset_session_older(handle->session);
    rset_handle_use_lower(handle, path, rset_handle_plain(handle->flags));
    if (handle->lower == NULL)
        return -1;
    if (handle->eoa != 0 && H5FDset_eoa(handle->lower, H5FD_MEM_DEFAULT, handle->eoa) < 0)
        return -1;
    if (handle->locked != RSET_UNLOCKED &&
        H5FDlock(handle->lower, handle->locked == RSET_LOCKED_WRITE) < 0)
        return -1;
    return 0;
}

/* Missing, and never protected: as if nobody had asked us. */
static herr_t
absent(rset_handle *handle, rset_err *err)
{
    if (handle->lower != NULL) { /* but it is there */
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTOPENFILE, err);
        return -1;
    }
    handle->lower = rset_handle_open_lower(handle, handle->name, handle->flags);
    if (handle->lower == NULL)
        return -1; /* with the lower driver's own records */
    (void)H5FDclose(handle->lower);
    handle->lower = NULL;
    memset(err, 0, sizeof *err);
    err->rank = -1;
    (void)rset_fail(err, RSET_IO, "%s: appeared while it was being opened; open it again",
                    handle->path);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTOPENFILE, err);
    return -1;
}

/* V6. */
static rset_status
open_verified(void *arg, const rset_identity *is, rset_err *err)
{
    rset_handle *handle = arg;
    const bool   any = is->inode == 0;

    if (handle->lower != NULL && (any || rset_identity_unchanged(&handle->is, is)))
        return RSET_OK;
    if (reopen(handle) < 0)
        return rset_fail(err, RSET_IO, "%s: is there, but could not be opened", handle->path);
    if (any || rset_identity_same(&handle->is, is))
        return RSET_OK;
    return rset_fail(err, RSET_BUSY,
                     "%s: another process replaced it while it was opened; open it again",
                     handle->path);
}

/* HDF5 has said up to where it uses the file, which may be less than what has checksums. */
static rset_status
read_as_hdf5(void *arg, uint64_t off, void *buf, size_t len, rset_err *err)
{
    rset_handle  *handle = arg;
    const haddr_t eoa = H5FDget_eoa(handle->lower, H5FD_MEM_DEFAULT);
    const bool    beyond = eoa == HADDR_UNDEF || eoa < off + len;
    hid_t         records;
    herr_t        ret = 0;

    if (beyond)
        ret = H5FDset_eoa(handle->lower, H5FD_MEM_DEFAULT, off + len);
    if (ret >= 0)
        ret = H5FDread(handle->lower, H5FD_MEM_DRAW, H5P_DEFAULT, off, len, buf);
    if (beyond && H5FDset_eoa(handle->lower, H5FD_MEM_DEFAULT, handle->eoa) < 0)
        ret = -1;
    if (ret >= 0)
        return RSET_OK;
    if ((records = rset_h5err_take()) > 0)
        (void)H5Eclose_stack(records);
    return rset_fail(err, RSET_IO, "%s: cannot be read", handle->path);
}

rset_lower
rset_handle_as_lower(rset_handle *handle)
{
    return (rset_lower){.open = open_verified, .read = read_as_hdf5, .handle = handle};
}

bool
rset_handle_is_absent(rset_handle *handle)
{
    const rset_lower lower = rset_handle_as_lower(handle);
    rset_err         err = RSET_ERR_NONE;

    return rset_session_resolve(handle->session, RSET_OK, &lower, &err) == RSET_ABSENT;
}

herr_t
rset_handle_ready(rset_handle *handle)
{
    const rset_lower lower = rset_handle_as_lower(handle);
    rset_err         err = RSET_ERR_NONE;
    rset_status      st = RSET_OK;

    if (handle->owes) {
        handle->owes = false;
        st = rset_background_take(handle->path, &err);
    }
    if (handle->session == NULL || rset_session_is_in_use(handle->session)) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTOPENFILE, &err);
        return st == RSET_OK ? 0 : -1;
    }
    if (st == RSET_OK && handle->refused.status != RSET_OK)
        st = rset_fail_as(&err, &handle->refused);
    st = rset_session_resolve(handle->session, st, &lower, &err);
    if (st == RSET_ABSENT)
        return absent(handle, &err);
    if (st != RSET_OK) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTOPENFILE, &err);
        return -1;
    }
    return 0;
}
