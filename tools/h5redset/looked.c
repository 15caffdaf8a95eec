/* looked.c: see looked.h. */
#include "looked.h"

#include <errno.h>
#include <sys/stat.h>

bool
looked(rset_status st, const rset_err *err, rset_err *first)
{
    if (st != RSET_OK && st != RSET_ABSENT && first->status == RSET_OK)
        *first = *err;
    return st == RSET_OK;
}

bool
looked_at(rset_dir *dir, const char *name, struct stat *out, rset_err *first)
{
    rset_err          err = RSET_ERR_NONE;
    const rset_status st = rset_dir_stat(dir, name, out, &err);

    return looked(st, &err, first);
}

rset_status
looked_path(const char *path, bool follow, struct stat *out, bool *there_out, rset_err *err)
{
    *there_out = (follow ? stat(path, out) : lstat(path, out)) == 0;
    if (*there_out || errno == ENOENT || errno == ENOTDIR)
        return RSET_OK;
    return rset_fail_errno(err, RSET_IO, errno, "%s: cannot be looked at", path);
}

rset_status
looked_is_directory(const char *path, bool *is_out, rset_err *err)
{
    struct stat sb;
    rset_status st = looked_path(path, true, &sb, is_out, err);

    *is_out = *is_out && S_ISDIR(sb.st_mode);
    return st;
}
