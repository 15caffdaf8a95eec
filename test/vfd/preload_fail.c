/* preload_fail.c - for LD_PRELOAD: one allocation of the driver fails on one rank, or one file call on a file of
 * that rank's.
 *
 *   FAIL_RANK=N FAIL_AT=M FAIL_WHAT=memory|call   on rank N number M, from 1 on; FAIL_SAID=FILE: is made when
 *                                                 it happens
 *
 *   FAIL_WHAT=reopen                              the first open by HDF5 of a file that was put in place by a rename
 *   FAIL_WHAT=keep                                each second name for an older generation, from number M on: no space
 *   FAIL_WHAT=journal                             each write to an undo journal that has its name, from number M on
 *   FAIL_WHAT=open                                an open or creation of a file of that rank's
 *   FAIL_WHAT=inodes                              each creation of a file beside that rank's, from number M on
 *   FAIL_WHAT=name                                such a creation, a link or a rename, which take room in a directory
 *   FAIL_WHAT=readonly                            each of these, and each that removes a name, from number M on; and
 *                                                 the directory may not be changed
 *
 * FAIL_RANK=all: on each rank; others: on each but rank 0. FAIL_ERRNO=N: the error of such a call or open.
 * Memory: what the plugin itself asks for, by the address that it is asked from. Calls: reading, writing, syncing
 * and renaming files with "data_" in their names (ranks.c), whoever does it: HDF5's own driver as well. */
#include "launch.h"
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* glibc's own, which can be called while nothing can be looked up yet; no header declares them. */
void *__libc_malloc(size_t size);             // NOLINT(bugprone-reserved-identifier)
void *__libc_calloc(size_t n, size_t size);   // NOLINT(bugprone-reserved-identifier)
void *__libc_realloc(void *old, size_t size); // NOLINT(bugprone-reserved-identifier)

enum what { NOTHING, MEMORY, FILE_CALL, REOPEN, KEEP, JOURNAL, OPEN, INODES, NAME, READONLY };

static struct {
    enum what what;
    bool      renamed;  /* a file has got the name of a data file */
    int       left;     /* until it fails; 0: it has, or never shall */
    int       error;    /* its errno */
    uintptr_t from, to; /* where the plugin's code is */
} now;

static int
is_plugin(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "hdf5_vfd_redset") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            now.from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            now.to = now.from + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* A build for coverage writes its counts at exit, with memory that the plugin's code asks for. */
static void
disarm(void)
{
    now.what = NOTHING;
}

static bool
is_meant(const char *ranks, int rank)
{
    if (strcmp(ranks, "all") == 0)
        return true;
    return strcmp(ranks, "others") == 0 ? rank != 0 : rank == atoi(ranks);
}

static void
find_out(void)
{
    static const char *const names[] = {"",        "memory", "call",   "reopen", "keep",
                                        "journal", "open",   "inodes", "name",   "readonly"};
    const char              *mine = getenv("FAIL_RANK"), *error = getenv("FAIL_ERRNO");
    const char              *what = getenv("FAIL_WHAT"), *at = getenv("FAIL_AT");

    if (mine == NULL || what == NULL || at == NULL || !is_meant(mine, launch_rank()))
        return;
    for (int i = MEMORY; i <= READONLY; i++)
        if (strcmp(what, names[i]) == 0)
            now.what = (enum what)i;
    now.error = error != NULL ? atoi(error) : now.what == OPEN ? EMFILE : EIO;
    now.left = atoi(at);
    atexit(disarm);
}

static bool
fails(void)
{
    const char *said = getenv("FAIL_SAID");

    if (now.left == 0 || --now.left != 0)
        return false;
    if (said != NULL)
        close(open(said, O_CREAT | O_WRONLY, 0666));
    return true;
}

/* dlopen: from here on there may be a plugin. */
void *
dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int), *found = dlsym(RTLD_NEXT, "dlopen"), *handle;

    memcpy(&real, &found, sizeof real);
    handle = real(name, flags);
    if (name != NULL && strstr(name, "hdf5_vfd_redset") != NULL) {
        dl_iterate_phdr(is_plugin, NULL);
        find_out();
    }
    return handle;
}

static bool
no_memory(const void *caller)
{
    return now.what == MEMORY && (uintptr_t)caller >= now.from && (uintptr_t)caller < now.to &&
           fails();
}

void *
malloc(size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

char *
strdup(const char *s)
{
    size_t len = strlen(s) + 1;
    char  *copy = no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(len);

    return copy != NULL ? memcpy(copy, s, len) : NULL;
}

/* ---- calls ---- */

static bool
fails_on(const char *name)
{
    if (now.what != FILE_CALL || now.left == 0 || name == NULL || strstr(name, "data_") == NULL ||
        !fails())
        return false;
    errno = now.error;
    return true;
}

static bool
fails_at(int fd)
{
    char name[4096];

    if (now.what != FILE_CALL || now.left == 0)
        return false;
    find_name(fd, name, sizeof name);
    return fails_on(name);
}

/* A disk that has begun to fail goes on to do so. */
static bool
fails_to_write(int fd)
{
    static const char end[] = ".undo";
    static bool       failing;
    char              name[4096];
    size_t            n;

    if (now.what != JOURNAL)
        return fails_at(fd);
    find_name(fd, name, sizeof name);
    n = strlen(name);
    if (n < sizeof end || strcmp(name + n - (sizeof end - 1), end) != 0)
        return false;
    failing = failing || fails();
    if (failing)
        errno = EIO;
    return failing;
}

/* open() is HDF5's: the plugin opens with openat2, or openat. */
static bool
fails_to_reopen(const char *name)
{
    return now.what == REOPEN && now.renamed && strstr(name, "data_") != NULL && fails();
}

/* A call that takes an inode, room in a directory, or the permission to change it. */
static bool
fails_to_name(const char *name)
{
    static bool failing;
    const bool  counts =
        now.what == READONLY || (now.what >= INODES && strstr(name, "data_") != NULL);

    failing = counts && ((failing && now.what != NAME) || fails());
    if (failing)
        errno = now.error;
    return failing;
}

static bool
fails_to_create(int dir, const char *name, long flags)
{
    return (flags & O_CREAT) != 0 && syscall(SYS_faccessat, dir, name, F_OK) != 0 &&
           fails_to_name(name);
}

static bool
fails_to_open(const char *name)
{
    const bool is = fails_to_reopen(name) ||
                    (now.what == OPEN && now.left != 0 && strstr(name, "data_") != NULL && fails());

    if (is)
        errno = now.what == REOPEN ? EMFILE : now.error;
    return is;
}

typedef ssize_t (*read_type)(int, void *, size_t, off64_t);
typedef int (*link_type)(int, const char *, int, const char *, int);
typedef int (*unlink_type)(int, const char *, int);
typedef int (*access_type)(int, const char *, int, int);
typedef int (*sync_type)(int);
typedef int (*open_type)(const char *, int, mode_t);

int
open(const char *name, int flags, ...)
{
    va_list args;
    mode_t  mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (fails_to_open(name) || fails_to_create(AT_FDCWD, name, flags))
        return -1;
    CALL(open_type, "open", name, flags, mode);
}

/* One function where files may be large anyway. */
int open64(const char *name, int flags, ...) __attribute__((alias("open")));

int
openat(int dir, const char *name, int flags, ...)
{
    va_list args;
    mode_t  mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    if ((now.what == OPEN && fails_to_open(name)) || fails_to_create(dir, name, flags))
        return -1;
    CALL(openat_type, "openat", dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...) __attribute__((alias("openat")));

static bool
fails_by_number(long number, const long a[])
{
    const char     *name = (const char *)a[1];
    const uint64_t *how = (const uint64_t *)a[2]; /* its flags come first */

    return number == SYS_openat2 && ((now.what == OPEN && fails_to_open(name)) ||
                                     fails_to_create((int)a[0], name, (long)how[0]));
}

/* openat2 has no function of its own. */
long
syscall(long number, ...)
{
    va_list args;
    long    a[6];

    va_start(args, number);
    take_arguments(args, a);
    va_end(args);
    if (fails_by_number(number, a))
        return -1;
    CALL(syscall_type, "syscall", number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
    if (fails_to_write(fd))
        return -1;
    CALL(write_type, "pwrite", fd, buf, n, off);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    if (fails_to_write(fd))
        return -1;
    CALL(write_type, "pwrite64", fd, buf, n, off);
}

ssize_t
pread(int fd, void *buf, size_t n, off_t off)
{
    if (fails_at(fd))
        return -1;
    CALL(read_type, "pread", fd, buf, n, off);
}

ssize_t
pread64(int fd, void *buf, size_t n, off64_t off)
{
    if (fails_at(fd))
        return -1;
    CALL(read_type, "pread64", fd, buf, n, off);
}

/* A disk that is full stays so. */
static bool
fails_to_keep(const char *name)
{
    static bool failing;

    if (now.what != KEEP || strstr(name, "data_") == NULL || strstr(name, ".data") == NULL)
        return false;
    failing = failing || fails();
    if (failing)
        errno = ENOSPC;
    return failing;
}

int
linkat(int from_dir, const char *from, int to_dir, const char *to, int how)
{
    if (fails_to_keep(to) || (now.what >= NAME && fails_to_name(to)))
        return -1;
    CALL(link_type, "linkat", from_dir, from, to_dir, to, how);
}

static bool
fails_to_rename(const char *from, const char *to)
{
    if (fails_on(from) || (now.what >= NAME && fails_to_name(to)))
        return true;
    now.renamed =
        now.renamed || (strncmp(to, "data_", 5) == 0 && strcmp(to + strlen(to) - 3, ".h5") == 0);
    return false;
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    if (fails_to_rename(from, to))
        return -1;
    CALL(rename_type, "renameat", from_dir, from, to_dir, to);
}

int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (fails_to_rename(from, to))
        return -1;
    CALL(rename2_type, "renameat2", from_dir, from, to_dir, to, flags);
}

int
unlinkat(int dir, const char *name, int flags)
{
    if (now.what == READONLY && fails_to_name(name))
        return -1;
    CALL(unlink_type, "unlinkat", dir, name, flags);
}

/* Asked for a directory: it may not be changed. */
int
faccessat(int dir, const char *name, int mode, int flags)
{
    if (now.what == READONLY && (mode & W_OK) != 0 && fails_to_name(name))
        return -1;
    CALL(access_type, "faccessat", dir, name, mode, flags);
}

int
fsync(int fd)
{
    if (fails_at(fd))
        return -1;
    CALL(sync_type, "fsync", fd);
}
