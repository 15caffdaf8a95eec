/* memfs_attrs.c: attributes of files in memory. See memfs_calls.h. */
#include "memfs_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- attributes: always the same times, so that headers come out the same ---- */

/* f NULL: the directory. Each file and each directory has a number of its own, by which the engine tells them apart. */
static void
describe(const memfs_file *f, int dir, struct stat *st)
{
    static const mode_t types[] = {S_IFREG, S_IFLNK, S_IFDIR, S_IFIFO};

    memset(st, 0, sizeof *st);
    st->st_mode = f == NULL ? S_IFDIR | 0755 : types[f->kind] | f->mode;
    st->st_ino = f == NULL ? (ino_t)(MEMFS_FILES + dir) + 1
                           : (ino_t)(f - memfs_now.files) + 1; /* a rename keeps the place */
    st->st_nlink = 1;
    st->st_size = f == NULL ? 0 : (off_t)f->size;
    st->st_uid = memfs_uid;
    st->st_gid = memfs_gid;
    st->st_mtim.tv_sec = st->st_atim.tv_sec = st->st_ctim.tv_sec = 1700000000;
    st->st_mtim.tv_nsec = 123456789;
}

int
memfs_fstat(int fd, struct stat *st)
{
    memfs_fd *d;
    int       rc = 0;

    pthread_mutex_lock(&memfs_lock);
    d = memfs_of_fd(fd);
    if (d == NULL)
        rc = memfs_fail(EBADF);
    else
        describe(d->file, d->dir, st);
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

int
memfs_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    memfs_file *f;
    int         dir, rc = 0;

    (void)flags;
    pthread_mutex_lock(&memfs_lock);
    dir = dirfd == AT_FDCWD ? -1 : memfs_dir_of(dirfd, name);
    f = dir < 0 ? NULL : memfs_find(&memfs_now, dir, name);
    if (f == NULL)
        rc = memfs_fail(ENOENT);
    else
        describe(f, dir, st);
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

int
memfs_fchmod(int fd, mode_t mode)
{
    memfs_file *f;

    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f != NULL) {
        memfs_changes("fchmod", f->dir, f->name);
        f->mode = mode & 07777;
    }
    if ((mode & ~(mode_t)0777) != 0)
        memfs_escape("rank %d: mode %o", memfs_me.dir, mode);
    pthread_mutex_unlock(&memfs_lock);
    return f != NULL ? 0 : memfs_fail(EBADF);
}

/* All directories are ours: nobody else's owner may ever be set. Who is not in a group cannot give a file to it, and the kernel says
 * so. */
int
memfs_fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd;
    pthread_mutex_lock(&memfs_lock);
    if (uid != (uid_t)-1 && uid != memfs_uid)
        memfs_escape("rank %d: owner %u:%u", memfs_me.dir, uid, gid);
    pthread_mutex_unlock(&memfs_lock);
    return gid == (gid_t)-1 || gid == memfs_gid ? 0 : memfs_fail(EPERM);
}

int
memfs_futimens(int fd, const struct timespec times[2])
{
    (void)fd, (void)times;
    return 0;
}

static int
set_mark(int fd, const void *value, size_t size)
{
    memfs_file *f;

    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f != NULL && size <= sizeof f->mark) {
        memfs_changes("mark", f->dir, f->name);
        f->has_mark = value != NULL;
        memset(f->mark, 0, sizeof f->mark);
        if (value != NULL)
            memcpy(f->mark, value, size);
    }
    pthread_mutex_unlock(&memfs_lock);
    return f != NULL ? 0 : memfs_fail(EBADF);
}

int
memfs_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    (void)name, (void)flags;
    return set_mark(fd, value, size);
}

int
memfs_fremovexattr(int fd, const char *name)
{
    (void)name;
    return set_mark(fd, NULL, 0);
}

ssize_t
memfs_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    memfs_file *f;
    ssize_t     n = sizeof f->mark;

    (void)name;
    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f == NULL || !f->has_mark || size < sizeof f->mark)
        n = memfs_fail(ENODATA);
    else
        memcpy(value, f->mark, sizeof f->mark);
    pthread_mutex_unlock(&memfs_lock);
    return n;
}
