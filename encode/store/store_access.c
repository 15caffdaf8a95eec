/* store_access.c: who may read and write a file, and its other attributes (store.h).
 *
 * A file may hold content that its origin keeps from others, so it is created at most as open as that, and made as open
 * as that afterwards. Of the group bits only those count at first that everybody has: the new file's group may be another. */
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

/* ---- permissions ---- */

static uint32_t
of_group(uint32_t mode)
{
    return mode >> 3 & 7;
}

static uint32_t
of_others(uint32_t mode)
{
    return mode & 7;
}

/* What anybody may do, whichever groups he is in. */
static uint32_t
of_anybody(uint32_t mode)
{
    return of_group(mode) & of_others(mode);
}

static uint32_t
with_owner(uint32_t owner, uint32_t group, uint32_t others)
{
    return (owner & 0700) | group << 3 | others;
}

rset_access
rset_access_both(rset_access a, rset_access b)
{
    const bool alike = a.gid == b.gid || b.gid == RSET_NO_GID || a.gid == RSET_NO_GID;

    if (a.gid == RSET_NO_GID)
        a.gid = b.gid;
    a.mode = with_owner(a.mode & b.mode,
                        of_group(a.mode) & (alike ? of_group(b.mode) : of_anybody(b.mode)),
                        of_others(a.mode) & (alike ? of_others(b.mode) : of_anybody(b.mode)));
    return a;
}

rset_access
rset_access_of(const struct stat *st)
{
    return (rset_access){.mode = st->st_mode & 0777, .gid = st->st_gid};
}

bool
rset_file_access(rset_dir *dir, const char *name, rset_access *out)
{
    struct stat sb;
    bool        there;

    (void)rset_dir_find_file(dir, name, &sb, &there, NULL);
    if (there)
        *out = rset_access_of(&sb);
    return there;
}

mode_t
rset_access_first_mode(const rset_access *access)
{
    const uint32_t any = of_anybody(access->mode) & 6;

    return with_owner(0600, any, any);
}

/* Root follows what is recorded only where nobody else can have written the records: whoever can write a redundancy file
 * can have it record any group. */
static bool
may_give_group(const rset_file *file, uint32_t gid)
{
    if (geteuid() != 0)
        return true;
    return file->has_home && (file->home.st_gid == gid ||
                              (file->home.st_uid == 0 && (file->home.st_mode & 022) == 0));
}

/* Has the file the group now? */
static bool
give_group(const rset_file *file, uint32_t gid, uint32_t has)
{
    return gid == has ||
           (gid != RSET_NO_GID && rset_sys_now->fchown(file->fd, (uid_t)-1, gid) == 0);
}

/* The mode, of a file that has the group or has not, in the place of the one that it has now. */
static int
set_mode(const rset_file *file, rset_access access, bool has_group, mode_t now)
{
    const uint32_t any = of_anybody(access.mode);
    const uint32_t mode = has_group ? access.mode : with_owner(access.mode, any, any);
    int            rc = 0;

    while (mode != (now & 07777) && (rc = rset_sys_now->fchmod(file->fd, mode)) < 0 &&
           errno == EINTR)
        continue;
    return rc;
}

/* Group first, then the mode: at no moment is more permitted than in the end. */
static int
set_access(const rset_file *file, rset_access access, const struct stat *now)
{
    const bool may = now->st_gid == access.gid || may_give_group(file, access.gid);

    return set_mode(file, access, may && give_group(file, access.gid, now->st_gid), now->st_mode);
}

void
rset_file_follow(rset_file *file, rset_access origin)
{
    struct stat now;

    origin.mode = (origin.mode & 0066) | 0600;
    if (rset_sys_now->fstat(file->fd, &now) == 0)
        (void)set_access(file, origin, &now);
}

bool
rset_file_is_ours(rset_file *file)
{
    struct stat now;

    return geteuid() == 0 ||
           (rset_file_stat(file, &now, NULL) == RSET_OK && now.st_uid == geteuid());
}

/* ---- attributes ---- */

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
    if (set_access(file, access, &now) < 0 && !refused(errno))
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
    if (st == RSET_OK && geteuid() == 0 && have.st_uid != want.st_uid)
        (void)rset_sys_now->fchown(file->fd, want.st_uid, (gid_t)-1);
    if (st == RSET_OK &&
        set_mode(file, rset_access_of(&want), give_group(file, want.st_gid, have.st_gid),
                 have.st_mode) < 0 &&
        !refused(errno))
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot set its mode", file->path);
    rset_file_close(file, NULL);
    return st;
}
