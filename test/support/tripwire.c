/* tripwire.c: see tripwire.h. */
#include "tripwire.h"

#include "store/store.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct guarded {
    tripwire_place names;
    char           dir[PATH_MAX]; /* links resolved */
    struct stat    st;
} guarded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static guarded         places[TRIPWIRE_PLACES];
static int             nplaces;
static unsigned long   changes, escapes;
static uint64_t        bytes_read;
static char            first_escape[TRIPWIRE_TEXT];

static _Thread_local int only = -1;

/* ---- the verdict on one call ---- */

static void escape(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
escape(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    pthread_mutex_lock(&lock);
    if (escapes++ == 0)
        vsnprintf(first_escape, sizeof first_escape, fmt, args);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

bool
tripwire_allows(const char *data, const char *prefix, const char *name)
{
    size_t n = strlen(prefix);

    return strcmp(name, data) == 0 ||
           (strncmp(name, prefix, n) == 0 &&
            ((isdigit((unsigned char)name[n]) && strstr(name + n, "redset") != NULL) ||
             strncmp(name + n, "redset.", 7) == 0));
}

/* The place whose file `path` is, or -1. */
static int
place_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    for (int i = 0; slash != NULL && i < nplaces; i++)
        if ((only < 0 || only == i) && strlen(places[i].dir) == (size_t)(slash - path) &&
            strncmp(places[i].dir, path, (size_t)(slash - path)) == 0 &&
            tripwire_allows(places[i].names.data, places[i].names.prefix, slash + 1))
            return i;
    return -1;
}

/* A call that succeeded changed `path`. */
static void
changed(const char *call, const char *path)
{
    __atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
    if (place_of(path) < 0)
        escape("%s reaches %.900s", call, path);
}

/* ---- where a call lands ---- */

static void
path_of_fd(int fd, char *path)
{
    static const char deleted[] = " (deleted)";
    char              link[64];
    ssize_t           n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = fd == AT_FDCWD ? -1 : readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    if (fd == AT_FDCWD && getcwd(path, PATH_MAX) == NULL)
        path[0] = '\0';
    if (strlen(path) > strlen(deleted) &&
        strcmp(path + strlen(path) - strlen(deleted), deleted) == 0)
        path[strlen(path) - strlen(deleted)] = '\0';
}

/* The entry `name` of a directory, which need not be there: links in its parents are resolved. */
static void
path_of_entry(int dirfd, const char *name, char *path)
{
    char        full[2 * PATH_MAX], dir[PATH_MAX], *slash;
    const char *base = name;

    path_of_fd(dirfd, dir);
    snprintf(full, sizeof full, "%s%s%s", name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/",
             name);
    slash = strrchr(full, '/');
    *slash = '\0';
    base = slash + 1;
    if (realpath(slash == full ? "/" : full, dir) == NULL)
        snprintf(dir, sizeof dir, "%.*s", PATH_MAX - 1, full);
    snprintf(path, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2, strcmp(dir, "/") == 0 ? "" : dir, NAME_MAX,
             base);
}

static void
changed_fd(const char *call, int fd)
{
    char path[PATH_MAX];

    path_of_fd(fd, path);
    changed(call, path);
}

static void
changed_entry(const char *call, int dirfd, const char *name)
{
    char path[PATH_MAX];

    path_of_entry(dirfd, name, path);
    changed(call, path);
}

/* What changes neither content nor names, but may be done to own files only: an open for writing, which a lock needs, and the mark
 * of a file that was refused (R5). */
static void
touched_fd(const char *call, int fd)
{
    char path[PATH_MAX];

    path_of_fd(fd, path);
    if (place_of(path) < 0)
        escape("%s reaches %.900s", call, path);
}

/* ---- the table ---- */

static int
watch_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd = rset_sys_posix.openat(dirfd, name, flags, mode);

    if (fd >= 0 && (flags & (O_CREAT | O_TRUNC)) != 0)
        changed_fd("openat", fd);
    else if (fd >= 0 && (flags & (O_WRONLY | O_RDWR)) != 0)
        touched_fd("openat", fd);
    return fd;
}

static ssize_t
watch_pread(int fd, void *buf, size_t len, off_t off)
{
    ssize_t got = rset_sys_posix.pread(fd, buf, len, off);

    if (got > 0)
        __atomic_add_fetch(&bytes_read, (uint64_t)got, __ATOMIC_RELAXED);
    return got;
}

static ssize_t
watch_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    changed_fd("pwrite", fd);
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
watch_ftruncate(int fd, off_t len)
{
    changed_fd("ftruncate", fd);
    return rset_sys_posix.ftruncate(fd, len);
}

static int
renamed(int rc, int from_dir, const char *from, int to_dir, const char *to)
{
    if (rc == 0) {
        changed_entry("rename of", from_dir, from);
        changed_entry("rename to", to_dir, to);
    }
    return rc;
}

static int
watch_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return renamed(rset_sys_posix.renameat(from_dir, from, to_dir, to), from_dir, from, to_dir, to);
}

static int
watch_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    return renamed(rset_sys_posix.rename_new(from_dir, from, to_dir, to), from_dir, from, to_dir,
                   to);
}

static int
watch_unlinkat(int dirfd, const char *name, int flags)
{
    int rc = rset_sys_posix.unlinkat(dirfd, name, flags);

    if (rc == 0)
        changed_entry("unlink", dirfd, name);
    return rc;
}

/* Directories are made only on the way to one that was given. */
static int
watch_mkdir(const char *path, mode_t mode)
{
    int  rc = rset_sys_posix.mkdir(path, mode);
    char full[PATH_MAX];
    bool given = false;

    if (rc != 0)
        return rc;
    __atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
    path_of_entry(AT_FDCWD, path, full);
    for (int i = 0; i < nplaces; i++)
        given =
            given || ((only < 0 || only == i) && strncmp(places[i].dir, full, strlen(full)) == 0);
    if (!given)
        escape("mkdir makes %.900s", full);
    return rc;
}

static int
watch_fchmod(int fd, mode_t mode)
{
    changed_fd("fchmod", fd);
    if ((mode & ~(mode_t)0777) != 0)
        escape("fchmod sets mode %o", mode);
    return rset_sys_posix.fchmod(fd, mode);
}

/* May whoever wrote the redundancy in this directory have named the group? The kernel lets others than root give a file only to groups
 * that they are in; and where nobody but root writes, the records are root's own. */
static bool
may_give_group(const struct stat *dir, gid_t gid)
{
    return gid == (gid_t)-1 || geteuid() != 0 || gid == getegid() || gid == dir->st_gid ||
           (dir->st_uid == 0 && (dir->st_mode & 022) == 0);
}

/* Own, or of the directory's owner: anything else would hand the file to somebody. */
static int
watch_fchown(int fd, uid_t uid, gid_t gid)
{
    char path[PATH_MAX];
    int  p;

    path_of_fd(fd, path);
    changed("fchown", path);
    p = place_of(path);
    if (p >= 0 && ((uid != (uid_t)-1 && uid != geteuid() && uid != places[p].st.st_uid) ||
                   !may_give_group(&places[p].st, gid)))
        escape("fchown gives %.900s to %u:%u", path, uid, gid);
    return rset_sys_posix.fchown(fd, uid, gid);
}

static int
watch_futimens(int fd, const struct timespec times[2])
{
    changed_fd("futimens", fd);
    return rset_sys_posix.futimens(fd, times);
}

static int
watch_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    touched_fd("fsetxattr", fd);
    return rset_sys_posix.fsetxattr(fd, name, value, size, flags);
}

static int
watch_fremovexattr(int fd, const char *name)
{
    touched_fd("fremovexattr", fd);
    return rset_sys_posix.fremovexattr(fd, name);
}

void
tripwire_arm(const tripwire_place *given, int n)
{
    static rset_sys table;

    nplaces = n;
    for (int i = 0; i < n; i++) {
        places[i].names = given[i];
        if (realpath(given[i].dir, places[i].dir) == NULL)
            snprintf(places[i].dir, sizeof places[i].dir, "%s", given[i].dir);
        if (stat(places[i].dir, &places[i].st) != 0)
            places[i].st = (struct stat){.st_uid = geteuid(), .st_gid = getegid()};
    }
    changes = escapes = 0;
    bytes_read = 0;
    first_escape[0] = '\0';
    table = rset_sys_posix;
    table.openat = watch_openat;
    table.pread = watch_pread;
    table.pwrite = watch_pwrite;
    table.ftruncate = watch_ftruncate;
    table.renameat = watch_renameat;
    table.rename_new = watch_rename_new;
    table.unlinkat = watch_unlinkat;
    table.mkdir = watch_mkdir;
    table.fchmod = watch_fchmod;
    table.fchown = watch_fchown;
    table.futimens = watch_futimens;
    table.fsetxattr = watch_fsetxattr;
    table.fremovexattr = watch_fremovexattr;
    rset_sys_use(&table);
}

void
tripwire_disarm(void)
{
    rset_sys_use(NULL);
}

void
tripwire_only(int place)
{
    only = place;
}

unsigned long
tripwire_changes(void)
{
    return changes;
}

uint64_t
tripwire_bytes_read(void)
{
    return bytes_read;
}

unsigned long
tripwire_escapes(char *why)
{
    if (why != NULL)
        snprintf(why, TRIPWIRE_TEXT, "%s", first_escape);
    return escapes;
}
