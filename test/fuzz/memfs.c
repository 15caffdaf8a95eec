/* memfs.c: see memfs.h. */
#include "memfs.h"

#include "store/store.h"
#include "tripwire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FDS = 256, FIRST_FD = 5000, WHY = 512 };

typedef struct descriptor {
    bool        used;
    int         dir;  /* of a directory: its number, else -1 */
    memfs_file *file; /* of a file */
} descriptor;

/* What stands for a DIR: the names at the time of opening. */
typedef struct listing {
    int           fd, n, next;
    char          names[MEMFS_FILES][MEMFS_NAME];
    struct dirent entry;
} listing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static memfs_state     now;
static descriptor      fds[FDS];
static int             ndirs;
static uid_t           our_uid;
static gid_t           our_gid;
static unsigned        escapes;
static char            first_escape[WHY];

static _Thread_local memfs_rank self = {.dir = -1};

/* ---- the tripwire ---- */

static void escape(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
escape(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (escapes++ == 0)
        vsnprintf(first_escape, sizeof first_escape, fmt, args);
    va_end(args);
}

static void
changes(const char *call, int dir, const char *name)
{
    const bool own =
        self.dir < 0 || (dir == self.dir && tripwire_allows(self.data, self.prefix, name));

    if (!own)
        escape("rank %d: %s of %s in directory %d", self.dir, call, name, dir);
}

void
memfs_be(int r, const char *data, const char *prefix)
{
    self = (memfs_rank){r, data, prefix};
}

memfs_rank
memfs_self(void)
{
    return self;
}

void
memfs_set_self(memfs_rank rank)
{
    self = rank;
}

unsigned
memfs_escapes(char *why)
{
    snprintf(why, WHY, "%s", first_escape);
    return escapes;
}

/* ---- what there is ---- */

void
memfs_get(memfs_state *to)
{
    memfs_copy(to, &now);
}

void
memfs_set(const memfs_state *from)
{
    memfs_copy(&now, from);
    memset(fds, 0, sizeof fds);
    escapes = 0;
    first_escape[0] = '\0';
}

/* ---- descriptors ---- */

static int
fail(int why)
{
    errno = why;
    return -1;
}

static int
new_fd(int dir, memfs_file *file)
{
    for (int i = 0; i < FDS; i++)
        if (!fds[i].used) {
            fds[i] = (descriptor){true, dir, file};
            if (file != NULL)
                file->opened++;
            return FIRST_FD + i;
        }
    return fail(EMFILE);
}

static descriptor *
of_fd(int fd)
{
    return fd >= FIRST_FD && fd < FIRST_FD + FDS && fds[fd - FIRST_FD].used ? &fds[fd - FIRST_FD]
                                                                            : NULL;
}

static memfs_file *
file_of(int fd)
{
    descriptor *d = of_fd(fd);

    return d != NULL ? d->file : NULL;
}

/* The directory that a descriptor stands for, or -1. Names with '/' are a step outside. */
static int
dir_of(int dirfd, const char *name)
{
    descriptor *d = of_fd(dirfd);

    if (strchr(name, '/') != NULL || strcmp(name, "..") == 0) {
        escape("rank %d: name %.200s in an open directory", self.dir, name);
        return -1;
    }
    return d != NULL ? d->dir : -1;
}

static int
open_directory(const char *path)
{
    for (int r = 0; r < ndirs; r++) {
        char dir[32];

        snprintf(dir, sizeof dir, MEMFS_BASE "/node%d", r);
        if (strcmp(path, dir) == 0)
            return new_fd(r, NULL);
    }
    return fail(ENOENT);
}

static int
open_file(int dir, const char *name, int flags)
{
    memfs_file *f = memfs_find(&now, dir, name);
    bool        writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;

    if (writes)
        changes("open", dir, name);
    if (f == NULL && (flags & O_CREAT) == 0)
        return fail(ENOENT);
    if (f != NULL && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0)
        return fail(EEXIST);
    if (f != NULL && f->kind == MEMFS_LINK) {
        if ((flags & O_NOFOLLOW) == 0)
            escape("rank %d: link %s would be followed", self.dir, name);
        return fail(ELOOP);
    }
    if (f != NULL && f->kind == MEMFS_DIR && writes)
        return fail(EISDIR);
    if (f == NULL)
        f = memfs_new(&now, dir, name);
    return f != NULL ? new_fd(-1, f) : fail(ENOSPC);
}

static int
mem_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd, dir;

    (void)mode;
    pthread_mutex_lock(&lock);
    if (dirfd == AT_FDCWD) {
        if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0)
            escape("rank %d: %.200s would be opened for writing", self.dir, name);
        fd = open_directory(name);
    } else {
        dir = dir_of(dirfd, name);
        fd = dir < 0                  ? fail(EBADF)
             : strcmp(name, ".") == 0 ? new_fd(dir, NULL)
                                      : open_file(dir, name, flags);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

static int
mem_close(int fd)
{
    descriptor *d;
    int         rc = 0;

    pthread_mutex_lock(&lock);
    d = of_fd(fd);
    if (d == NULL) {
        rc = fail(EBADF);
    } else {
        memfs_file *f = d->file;

        d->used = false;
        if (f != NULL && --f->opened == 0 && f->unlinked)
            memfs_remove(f);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- content ---- */

static ssize_t
mem_pread(int fd, void *buf, size_t len, off_t off)
{
    memfs_file *f;
    ssize_t     n;

    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f == NULL || f->kind != MEMFS_FILE) {
        n = fail(f == NULL ? EBADF : EISDIR);
    } else {
        size_t at = (uint64_t)off < f->size ? (size_t)off : f->size;

        n = (ssize_t)(len < f->size - at ? len : f->size - at);
        if (n > 0)
            memcpy(buf, f->data + at, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
    return n;
}

static ssize_t
mem_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    memfs_file *f;
    ssize_t     n = (ssize_t)len;

    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f == NULL || off < 0) {
        n = fail(EBADF);
    } else if ((uint64_t)off + len > MEMFS_MOST) {
        n = fail(ENOSPC);
    } else {
        changes("pwrite", f->dir, f->name);
        if ((size_t)off + len > f->size)
            memfs_resize(f, (size_t)off + len);
        if (len > 0)
            memcpy(f->data + off, buf, len);
    }
    pthread_mutex_unlock(&lock);
    return n;
}

static int
mem_ftruncate(int fd, off_t len)
{
    memfs_file *f;
    int         rc = 0;

    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f == NULL || len < 0 || len > MEMFS_MOST) {
        rc = fail(f == NULL ? EBADF : EFBIG);
    } else {
        changes("ftruncate", f->dir, f->name);
        memfs_resize(f, (size_t)len);
    }
    pthread_mutex_unlock(&lock);
    return rc;
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

/* ---- attributes: always the same times, so that headers come out the same ---- */

static void
describe(const memfs_file *f, struct stat *st)
{
    static const mode_t types[] = {S_IFREG, S_IFLNK, S_IFDIR, S_IFIFO};

    memset(st, 0, sizeof *st);
    st->st_mode = f == NULL ? S_IFDIR | 0755 : types[f->kind] | f->mode;
    st->st_size = f == NULL ? 0 : (off_t)f->size;
    st->st_uid = our_uid;
    st->st_gid = our_gid;
    st->st_mtim.tv_sec = st->st_atim.tv_sec = st->st_ctim.tv_sec = 1700000000;
    st->st_mtim.tv_nsec = 123456789;
}

static int
mem_fstat(int fd, struct stat *st)
{
    descriptor *d;
    int         rc = 0;

    pthread_mutex_lock(&lock);
    d = of_fd(fd);
    if (d == NULL)
        rc = fail(EBADF);
    else
        describe(d->file, st);
    pthread_mutex_unlock(&lock);
    return rc;
}

static int
mem_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    memfs_file *f;
    int         dir, rc = 0;

    (void)flags;
    pthread_mutex_lock(&lock);
    dir = dirfd == AT_FDCWD ? -1 : dir_of(dirfd, name);
    f = dir < 0 ? NULL : memfs_find(&now, dir, name);
    if (f == NULL)
        rc = fail(ENOENT);
    else
        describe(f, st);
    pthread_mutex_unlock(&lock);
    return rc;
}

static int
mem_fchmod(int fd, mode_t mode)
{
    memfs_file *f;

    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f != NULL) {
        changes("fchmod", f->dir, f->name);
        f->mode = mode & 07777;
    }
    if ((mode & ~(mode_t)0777) != 0)
        escape("rank %d: mode %o", self.dir, mode);
    pthread_mutex_unlock(&lock);
    return f != NULL ? 0 : fail(EBADF);
}

/* All directories are ours: nobody else's owner may ever be set. */
static int
mem_fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd;
    pthread_mutex_lock(&lock);
    if ((uid != (uid_t)-1 && uid != our_uid) || (gid != (gid_t)-1 && gid != our_gid))
        escape("rank %d: owner %u:%u", self.dir, uid, gid);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int
mem_futimens(int fd, const struct timespec times[2])
{
    (void)fd, (void)times;
    return 0;
}

static int
set_mark(int fd, const void *value, size_t size)
{
    memfs_file *f;

    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f != NULL && size <= sizeof f->mark) {
        changes("mark", f->dir, f->name);
        f->has_mark = value != NULL;
        memset(f->mark, 0, sizeof f->mark);
        if (value != NULL)
            memcpy(f->mark, value, size);
    }
    pthread_mutex_unlock(&lock);
    return f != NULL ? 0 : fail(EBADF);
}

static int
mem_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    (void)name, (void)flags;
    return set_mark(fd, value, size);
}

static int
mem_fremovexattr(int fd, const char *name)
{
    (void)name;
    return set_mark(fd, NULL, 0);
}

static ssize_t
mem_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    memfs_file *f;
    ssize_t     n = sizeof f->mark;

    (void)name;
    pthread_mutex_lock(&lock);
    f = file_of(fd);
    if (f == NULL || !f->has_mark || size < sizeof f->mark)
        n = fail(ENODATA);
    else
        memcpy(value, f->mark, sizeof f->mark);
    pthread_mutex_unlock(&lock);
    return n;
}

/* ---- entries ---- */

static int
mem_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    memfs_file *f, *g;
    int         a, b, rc = 0;

    pthread_mutex_lock(&lock);
    a = dir_of(from_dir, from);
    b = dir_of(to_dir, to);
    f = a < 0 ? NULL : memfs_find(&now, a, from);
    g = b < 0 ? NULL : memfs_find(&now, b, to);
    if (f == NULL || b < 0 || strlen(to) >= sizeof f->name) {
        rc = fail(f == NULL ? ENOENT : ENAMETOOLONG);
    } else if (g != NULL && g != f && (g->kind == MEMFS_DIR) != (f->kind == MEMFS_DIR)) {
        rc = fail(g->kind == MEMFS_DIR ? EISDIR : ENOTDIR);
    } else {
        changes("rename", a, from);
        changes("rename", b, to);
        if (g != NULL && g != f)
            memfs_remove(g);
        f->dir = b;
        memmove(f->name, to, strlen(to) + 1);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int
mem_unlinkat(int dirfd, const char *name, int flags)
{
    memfs_file *f;
    int         dir, rc = 0;

    pthread_mutex_lock(&lock);
    dir = dirfd == AT_FDCWD ? -1 : dir_of(dirfd, name);
    f = dir < 0 ? NULL : memfs_find(&now, dir, name);
    if (f == NULL || (flags & AT_REMOVEDIR) != 0) {
        rc = fail(ENOENT);
    } else if (f->kind == MEMFS_DIR) {
        rc = fail(EISDIR);
    } else {
        changes("unlink", dir, name);
        memfs_remove(f);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int
mem_mkdir(const char *path, mode_t mode)
{
    (void)mode;
    pthread_mutex_lock(&lock);
    escape("rank %d: mkdir of %.200s", self.dir, path);
    pthread_mutex_unlock(&lock);
    return fail(EROFS);
}

static DIR *
mem_fdopendir(int fd)
{
    listing    *l = calloc(1, sizeof *l);
    descriptor *d;

    pthread_mutex_lock(&lock);
    d = of_fd(fd);
    for (int i = 0; l != NULL && d != NULL && i < MEMFS_FILES; i++) {
        const memfs_file *f = &now.files[i];

        if (f->used && !f->unlinked && f->dir == d->dir)
            memcpy(l->names[l->n++], f->name, sizeof f->name);
    }
    pthread_mutex_unlock(&lock);
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
mem_guard(int fd)
{
    (void)fd;
    return 0; /* there is one process */
}

void
memfs_use(int n)
{
    static const rset_sys table = {
        .openat = mem_openat,
        .close = mem_close,
        .pread = mem_pread,
        .pwrite = mem_pwrite,
        .ftruncate = mem_ftruncate,
        .fsync = mem_fsync,
        .flock = mem_flock,
        .guard = mem_guard,
        .sync_file_range = mem_sync_file_range,
        .fstat = mem_fstat,
        .fstatat = mem_fstatat,
        .renameat = mem_renameat,
        .unlinkat = mem_unlinkat,
        .mkdir = mem_mkdir,
        .fdopendir = mem_fdopendir,
        .readdir = mem_readdir,
        .closedir = mem_closedir,
        .fchmod = mem_fchmod,
        .fchown = mem_fchown,
        .futimens = mem_futimens,
        .fsetxattr = mem_fsetxattr,
        .fgetxattr = mem_fgetxattr,
        .fremovexattr = mem_fremovexattr,
    };

    ndirs = n;
    our_uid = geteuid();
    our_gid = getegid();
    memfs_clear(&now);
    rset_sys_use(&table);
}
