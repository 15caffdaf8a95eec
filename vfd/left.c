/* left.c: see left.h. */
#include "left.h"

#include "lock.h"

#include <sys/stat.h>
#include <unistd.h>

int
rset_left_begin(const rset_handle *handle)
{
    int fd = -1;

    if (handle->session != NULL)
        (void)rset_lock_keep(handle->lower, &fd);
    return fd;
}

void
rset_left_end(rset_handle *handle, int fd)
{
    struct stat sb;

    if (fd < 0)
        return;
    if (fstat(fd, &sb) == 0)
        rset_session_left(handle->session, &sb);
    (void)close(fd);
}

void
rset_left_note(rset_handle *handle)
{
    rset_left_end(handle, rset_left_begin(handle));
}
