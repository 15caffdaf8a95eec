/* store_trust.c: files of others under names that are ours (store.h). */
#include "store_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

bool
rset_trusts(const rset_trust *trust, const struct stat *sb)
{
    return sb->st_uid == trust->uid || (trust->gid != RSET_NO_GID && sb->st_gid == trust->gid);
}

void
rset_dir_trust(rset_dir *dir, const rset_trust *trust)
{
    dir->trusts = true;
    dir->trust = *trust;
}

bool
rset_dir_is_everybodys(const rset_dir *dir)
{
    struct stat sb;

    return rset_sys_now->fstat(dir->fd, &sb) != 0 || (sb.st_mode & S_IWOTH) != 0;
}

rset_status
rset_dir_check_trusted(const rset_dir *dir, const char *path, const struct stat *sb, rset_err *err)
{
    if (!dir->trusts || strstr(strrchr(path, '/'), dir->trust.word) == NULL ||
        rset_trusts(&dir->trust, sb))
        return RSET_OK;
    return rset_fail(
        err, RSET_DAMAGED,
        "%s: belongs to user %u, who is not the owner of the file that it is for; it is "
        "not used",
        path, (unsigned)sb->st_uid);
}

/* *sb is that of the file, where it is one. */
static bool
is_foreign(rset_dir *dir, const char *name, struct stat *sb)
{
    int rc;

    if (!dir->trusts)
        return false;
    do
        rc = rset_sys_now->fstatat(dir->fd, name, sb, AT_SYMLINK_NOFOLLOW);
    while (rc < 0 && errno == EINTR);
    return rc == 0 && !rset_trusts(&dir->trust, sb);
}

bool
rset_dir_has_foreign(rset_dir *dir, const char *name)
{
    struct stat sb;

    return is_foreign(dir, name, &sb);
}

rset_status
rset_dir_check_free(rset_dir *dir, const char *name, rset_err *err)
{
    struct stat sb;

    if (!is_foreign(dir, name, &sb))
        return RSET_OK;
    return rset_fail(err, RSET_IO,
                     "%s/%s: belongs to user %u, and its name is needed here; have it removed, or "
                     "use a directory in which only you can make files",
                     dir->path, name, (unsigned)sb.st_uid);
}
