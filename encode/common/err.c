/* err.c: see err.h. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
record(rset_err *err, rset_status status, int sys_errno, const char *fmt, va_list args)
{
    int n;

    err->status = status;
    err->sys_errno = sys_errno;
    err->follows = 0;
    err->rank = -1;
    err->host[0] = '\0';
    n = vsnprintf(err->text, sizeof err->text, fmt, args);
    if (sys_errno != 0 && n >= 0 && (size_t)n < sizeof err->text) {
        char  why[128];
        char *s = strerror_r(sys_errno, why, sizeof why);

        snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s, errno = %d", s, sys_errno);
    }
}

rset_status
rset_fail(rset_err *err, rset_status status, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return status;
    if (err->status != RSET_OK)
        return err->status;
    va_start(args, fmt);
    record(err, status, 0, fmt, args);
    va_end(args);
    return status;
}

rset_status
rset_fail_errno(rset_err *err, rset_status status, int sys_errno, const char *fmt, ...)
{
    va_list args;

    if (sys_errno == ENOMEM)
        status = RSET_NOMEM;
    if (err == NULL)
        return status;
    if (err->status != RSET_OK)
        return err->status;
    va_start(args, fmt);
    record(err, status, sys_errno, fmt, args);
    va_end(args);
    return status;
}

rset_status
rset_fail_as(rset_err *err, const rset_err *own)
{
    if (err != NULL && err->status == RSET_OK)
        *err = *own;
    return err != NULL ? err->status : own->status;
}

void
rset_note_unread(int *unread, int sys_errno)
{
    if (*unread == 0)
        *unread = sys_errno;
}

bool
rset_err_lacks_room(const rset_err *err)
{
    return err->status == RSET_IO &&
           (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT || err->sys_errno == EFBIG);
}

const char *
rset_status_name(rset_status status)
{
    switch (status) {
    case RSET_OK: return "ok";
    case RSET_ABSENT: return "absent";
    case RSET_USAGE: return "usage";
    case RSET_IO: return "input/output";
    case RSET_BUSY: return "busy";
    case RSET_DAMAGED: return "damaged";
    case RSET_PEER: return "peer";
    case RSET_LOST: return "lost";
    case RSET_NOMEM: return "out of memory";
    case RSET_CHANGED: return "changed";
    case RSET_BUG: return "internal";
    }
    return "unknown";
}
