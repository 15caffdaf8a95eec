/* lock.c: see lock.h. */
#include "lock.h"

#include <fcntl.h>
#include <hdf5.h>

bool
rset_lock_keep(H5FD_t *guard, int *fd_out)
{
    unsigned long flags = 0;
    void         *fd = NULL;

    *fd_out = -1;
    if (guard == NULL)
        return true;
    if (H5FDquery(guard, &flags) < 0 || !(flags & H5FD_FEAT_POSIX_COMPAT_HANDLE) ||
        H5FDget_vfd_handle(guard, H5P_DEFAULT, &fd) < 0 || fd == NULL)
        return false;
    *fd_out = fcntl(*(const int *)fd, F_DUPFD_CLOEXEC, 0);
    return *fd_out >= 0;
}
