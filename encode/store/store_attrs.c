/* store_attrs.c: attributes of a file that was rebuilt, copied, or put in the place of another (store.h). Who may use it in the end is
 * decided in store_access.c. */
#include "store_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* An attribute that this file system or user cannot have is no reason to refuse the content. */
static bool
refused(int sys_errno)
{
    return sys_errno == EPERM || sys_errno == EACCES || sys_errno == ENOSYS ||
           sys_errno == ENOTSUP || sys_errno == EINVAL;
}

bool
rset_file_is_ours(rset_file *file)
{
    struct stat now;

    return rset_user() == 0 ||
           (rset_file_stat(file, &now, NULL) == RSET_OK && now.st_uid == rset_user());
}

/* Seconds that no tool can print are left out: the year 10000 and later, and what was negative. */
static struct timespec
checked_time(uint64_t secs, uint64_t nsecs)
{
    if (secs >= 253402300800u || nsecs >= 1000000000u)
        return (struct timespec){.tv_nsec = UTIME_OMIT};
    return (struct timespec){.tv_sec = (time_t)secs, .tv_nsec = (long)nsecs};
}

rset_access
rset_file_attrs_access(const rset_file_attrs *attrs)
{
    return (rset_access){.mode = attrs->mode & 0777, /* no set-id bits: P7 */
                         .gid = attrs->gid < RSET_NO_GID ? (uint32_t)attrs->gid : RSET_NO_GID};
}

/* Only root can give a file away, and whoever can write a redundancy file can have it record any owner:
 * the file goes to the owner of its directory if that is who is recorded, else it stays ours. */
static void
set_owner(rset_file *file, const rset_file_attrs *attrs)
{
    if (file->has_home && attrs->uid == file->home.st_uid && attrs->uid != 0)
        (void)rset_sys_now->fchown(file->fd, file->home.st_uid, (gid_t)-1);
}

rset_status
rset_file_set_attrs(rset_file *file, const rset_file_attrs *attrs, rset_err *err)
{
    const struct timespec times[2] = {checked_time(attrs->atime_secs, attrs->atime_nsecs),
                                      checked_time(attrs->mtime_secs, attrs->mtime_nsecs)};
    rset_access           access = rset_file_attrs_access(attrs);
    struct stat           now;
    rset_status           st;
    int                   rc;

    if (file->has_origin)
        access.mode &= rset_access_both(access, file->origin).mode | 0700;
    set_owner(file, attrs); /* first, because it changes the mode */
    st = rset_file_stat(file, &now, err);
    if (st != RSET_OK)
        return st;
    if (rset_access_set(file, access, &now) < 0 && !refused(errno))
        return rset_fail_errno(err, RSET_IO, errno, "%s: cannot set its mode", file->path);
    do
        rc = rset_sys_now->futimens(file->fd, times);
    while (rc < 0 && errno == EINTR);
    if (rc < 0 && !refused(errno))
        return rset_fail_errno(err, RSET_IO, errno, "%s: cannot set its times", file->path);
    return RSET_OK;
}

rset_file_attrs
rset_file_attrs_of(const struct stat *st)
{
    return (rset_file_attrs){.mode = st->st_mode,
                             .uid = st->st_uid,
                             .gid = st->st_gid,
                             .atime_secs = (uint64_t)st->st_atim.tv_sec,
                             .atime_nsecs = (uint64_t)st->st_atim.tv_nsec,
                             .mtime_secs = (uint64_t)st->st_mtim.tv_sec,
                             .mtime_nsecs = (uint64_t)st->st_mtim.tv_nsec};
}

rset_status
rset_file_set_like(rset_dir *dir, const char *to, const char *from, rset_err *err)
{
    struct stat want, have;
    rset_file  *file = NULL;
    rset_status st = rset_dir_stat(dir, from, &want, NULL);

    if (st != RSET_OK || !S_ISREG(want.st_mode))
        return RSET_OK;
    st = rset_file_open(dir, to, &file, err);
    if (st == RSET_OK)
        st = rset_file_stat(file, &have, err);
    if (st == RSET_OK && rset_user() == 0 && have.st_uid != want.st_uid)
        (void)rset_sys_now->fchown(file->fd, want.st_uid, (gid_t)-1);
    if (st == RSET_OK &&
        rset_access_set_mode(file, rset_access_of(&want),
                             rset_access_give_group(file, want.st_gid, have.st_gid),
                             have.st_mode) < 0 &&
        !refused(errno))
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot set its mode", file->path);
    rset_file_close(file, NULL);
    return st;
}
