/* memfs.c: see memfs.h. What stands behind a descriptor is in memfs_fds.c, attributes are in memfs_attrs.c. */
#include "memfs_calls.h"

#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ndirs;

/* What stands for a DIR: the names at the time of opening. */
typedef struct listing {
    int           fd, n, next;
    char          names[MEMFS_FILES][MEMFS_NAME];
    struct dirent entry;
} listing;

static int
open_directory(const char *path)
{
    for (int r = 0; r < ndirs; r++) {
        char dir[32];

        snprintf(dir, sizeof dir, MEMFS_BASE "/node%d", r);
        if (strcmp(path, dir) == 0)
            return memfs_new_fd(r, NULL);
    }
    return memfs_fail(ENOENT);
}

static int
open_file(int dir, const char *name, int flags)
{
    memfs_file *f = memfs_find(&memfs_now, dir, name);
    bool        writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;

    if (writes)
        memfs_changes("open", dir, name);
    if (f == NULL && (flags & O_CREAT) == 0)
        return memfs_fail(ENOENT);
    if (f != NULL && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0)
        return memfs_fail(EEXIST);
    if (f != NULL && f->kind == MEMFS_LINK) {
        if ((flags & O_NOFOLLOW) == 0)
            memfs_escape("rank %d: link %s would be followed", memfs_me.dir, name);
        return memfs_fail(ELOOP);
    }
    if (f != NULL && f->kind == MEMFS_DIR && writes)
        return memfs_fail(EISDIR);
    if (f == NULL)
        f = memfs_new(&memfs_now, dir, name);
    return f != NULL ? memfs_new_fd(-1, f) : memfs_fail(ENOSPC);
}

static int
mem_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd, dir;

    (void)mode;
    pthread_mutex_lock(&memfs_lock);
    if (dirfd == AT_FDCWD) {
        if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0)
            memfs_escape("rank %d: %.200s would be opened for writing", memfs_me.dir, name);
        fd = open_directory(name);
    } else {
        dir = memfs_dir_of(dirfd, name);
        fd = dir < 0                  ? memfs_fail(EBADF)
             : strcmp(name, ".") == 0 ? memfs_new_fd(dir, NULL)
                                      : open_file(dir, name, flags);
    }
    pthread_mutex_unlock(&memfs_lock);
    return fd;
}

static int
mem_close(int fd)
{
    memfs_fd *d;
    int       rc = 0;

    pthread_mutex_lock(&memfs_lock);
    d = memfs_of_fd(fd);
    if (d == NULL) {
        rc = memfs_fail(EBADF);
    } else {
        memfs_file *f = d->file;

        d->used = false;
        if (f != NULL && --f->opened == 0 && f->unlinked)
            memfs_remove(f);
    }
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

/* ---- content ---- */

static ssize_t
mem_pread(int fd, void *buf, size_t len, off_t off)
{
    memfs_file *f;
    ssize_t     n;

    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f == NULL || f->kind != MEMFS_FILE) {
        n = memfs_fail(f == NULL ? EBADF : EISDIR);
    } else {
        size_t at = (uint64_t)off < f->size ? (size_t)off : f->size;

        n = (ssize_t)(len < f->size - at ? len : f->size - at);
        if (n > 0)
            memcpy(buf, f->data + at, (size_t)n);
    }
    pthread_mutex_unlock(&memfs_lock);
    return n;
}

static ssize_t
mem_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    memfs_file *f;
    ssize_t     n = (ssize_t)len;

    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f == NULL || off < 0) {
        n = memfs_fail(EBADF);
    } else if ((uint64_t)off + len > MEMFS_MOST) {
        n = memfs_fail(ENOSPC);
    } else {
        memfs_changes("pwrite", f->dir, f->name);
        if ((size_t)off + len > f->size)
            memfs_resize(f, (size_t)off + len);
        if (len > 0)
            memcpy(f->data + off, buf, len);
    }
    pthread_mutex_unlock(&memfs_lock);
    return n;
}

static off_t
mem_lseek(int fd, off_t off, int whence) /* there are no holes */
{
    (void)fd, (void)off, (void)whence;
    return memfs_fail(EINVAL);
}

static int
mem_ftruncate(int fd, off_t len)
{
    memfs_file *f;
    int         rc = 0;

    pthread_mutex_lock(&memfs_lock);
    f = memfs_file_of(fd);
    if (f == NULL || len < 0 || len > MEMFS_MOST) {
        rc = memfs_fail(f == NULL ? EBADF : EFBIG);
    } else {
        memfs_changes("ftruncate", f->dir, f->name);
        memfs_resize(f, (size_t)len);
    }
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

static int
mem_clone(int to, int from)
{
    (void)to, (void)from;
    return memfs_fail(EOPNOTSUPP);
}

static int
mem_sync_file_range(int fd, off_t off, off_t len, unsigned flags)
{
    (void)fd;
    (void)off;
    (void)len;
    (void)flags;
    return 0;
}

static int
mem_fsync(int fd)
{
    (void)fd;
    return 0;
}

static int
mem_flock(int fd, int operation) /* everyone is in this process, one after the other */
{
    (void)fd;
    (void)operation;
    return 0;
}

/* ---- entries ---- */

static int
mem_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    memfs_file *f, *g;
    int         a, b, rc = 0;

    pthread_mutex_lock(&memfs_lock);
    a = memfs_dir_of(from_dir, from);
    b = memfs_dir_of(to_dir, to);
    f = a < 0 ? NULL : memfs_find(&memfs_now, a, from);
    g = b < 0 ? NULL : memfs_find(&memfs_now, b, to);
    if (f == NULL || b < 0 || strlen(to) >= sizeof f->name) {
        rc = memfs_fail(f == NULL ? ENOENT : ENAMETOOLONG);
    } else if (g != NULL && g != f && (g->kind == MEMFS_DIR) != (f->kind == MEMFS_DIR)) {
        rc = memfs_fail(g->kind == MEMFS_DIR ? EISDIR : ENOTDIR);
    } else {
        memfs_changes("rename", a, from);
        memfs_changes("rename", b, to);
        if (g != NULL && g != f)
            memfs_remove(g);
        f->dir = b;
        memmove(f->name, to, strlen(to) + 1);
    }
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

static int
mem_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    int  dir;
    bool taken;

    pthread_mutex_lock(&memfs_lock);
    dir = memfs_dir_of(to_dir, to);
    taken = dir >= 0 && memfs_find(&memfs_now, dir, to) != NULL;
    pthread_mutex_unlock(&memfs_lock);
    return taken ? memfs_fail(EEXIST) : mem_renameat(from_dir, from, to_dir, to);
}

/* Only a rename makes links, which nothing that is fuzzed does. */
static int
mem_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    (void)from_dir;
    (void)from;
    (void)to_dir;
    (void)to;
    (void)flags;
    return memfs_fail(EPERM);
}

static int
mem_unlinkat(int dirfd, const char *name, int flags)
{
    memfs_file *f;
    int         dir, rc = 0;

    pthread_mutex_lock(&memfs_lock);
    dir = dirfd == AT_FDCWD ? -1 : memfs_dir_of(dirfd, name);
    f = dir < 0 ? NULL : memfs_find(&memfs_now, dir, name);
    if (f == NULL || (flags & AT_REMOVEDIR) != 0) {
        rc = memfs_fail(ENOENT);
    } else if (f->kind == MEMFS_DIR) {
        rc = memfs_fail(EISDIR);
    } else {
        memfs_changes("unlink", dir, name);
        memfs_remove(f);
    }
    pthread_mutex_unlock(&memfs_lock);
    return rc;
}

static int
mem_mkdir(const char *path, mode_t mode)
{
    (void)mode;
    pthread_mutex_lock(&memfs_lock);
    memfs_escape("rank %d: mkdir of %.200s", memfs_me.dir, path);
    pthread_mutex_unlock(&memfs_lock);
    return memfs_fail(EROFS);
}

static DIR *
mem_fdopendir(int fd)
{
    listing  *l = calloc(1, sizeof *l);
    memfs_fd *d;

    pthread_mutex_lock(&memfs_lock);
    d = memfs_of_fd(fd);
    for (int i = 0; l != NULL && d != NULL && i < MEMFS_FILES; i++) {
        const memfs_file *f = &memfs_now.files[i];

        if (f->used && !f->unlinked && f->dir == d->dir)
            memcpy(l->names[l->n++], f->name, sizeof f->name);
    }
    pthread_mutex_unlock(&memfs_lock);
    if (l != NULL)
        l->fd = fd;
    return (DIR *)(void *)l;
}

static struct dirent *
mem_readdir(DIR *dir)
{
    listing *l = (listing *)(void *)dir;

    if (l->next == l->n)
        return NULL;
    snprintf(l->entry.d_name, sizeof l->entry.d_name, "%s", l->names[l->next++]);
    return &l->entry;
}

static int
mem_closedir(DIR *dir)
{
    int fd = ((listing *)(void *)dir)->fd;

    free(dir);
    return mem_close(fd);
}

static int
mem_guard(int fd, rset_guard which, short type)
{
    (void)fd, (void)which, (void)type;
    return 0; /* there is one process */
}

static int
mem_guarded(int fd, rset_guard which)
{
    (void)fd, (void)which;
    return 0;
}

static uint64_t
mem_boot(void)
{
    return 1;
}

void
memfs_use(int n)
{
    static const rset_sys table = {
        .openat = mem_openat,
        .lseek = mem_lseek,
        .close = mem_close,
        .pread = mem_pread,
        .pwrite = mem_pwrite,
        .ftruncate = mem_ftruncate,
        .fsync = mem_fsync,
        .flock = mem_flock,
        .guard = mem_guard,
        .guarded = mem_guarded,
        .boot = mem_boot,
        .clone = mem_clone,
        .sync_file_range = mem_sync_file_range,
        .fstat = memfs_fstat,
        .fstatat = memfs_fstatat,
        .renameat = mem_renameat,
        .rename_new = mem_rename_new,
        .linkat = mem_linkat,
        .unlinkat = mem_unlinkat,
        .mkdir = mem_mkdir,
        .fdopendir = mem_fdopendir,
        .readdir = mem_readdir,
        .closedir = mem_closedir,
        .fchmod = memfs_fchmod,
        .fchown = memfs_fchown,
        .futimens = memfs_futimens,
        .fsetxattr = memfs_fsetxattr,
        .fgetxattr = memfs_fgetxattr,
        .fremovexattr = memfs_fremovexattr,
    };

    ndirs = n;
    memfs_uid = geteuid();
    memfs_gid = getegid();
    memfs_clear(&memfs_now);
    rset_sys_use(&table);
}
