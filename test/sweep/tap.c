/* tap.c: see tap.h. */
#include "tap.h"

#include "comm/comm_local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

tap_record *tap_seen;

static const tap_hooks          *hooks;
static _Thread_local int         here = -1; /* rank of this thread */
static _Thread_local tap_threads threads;

const char *
tap_name(tap_call call)
{
    static const char *const names[TAP_CALLS] = {
        "open",     "create",   "close",       "pread", "pwrite", "ftruncate", "fsync",
        "fstat",    "fstatat",  "rename",      "link",  "unlink", "mkdir",     "fdopendir",
        "readdir",  "closedir", "flock",       "guard", "fchmod", "fchown",    "futimens",
        "setxattr", "getxattr", "removexattr", "send"};

    return call < TAP_CALLS ? names[call] : "nothing";
}

static tap_order
before(tap_event *e)
{
    const int saved = errno; /* readdir tells its end from a failure by an errno of before */
    int       err = 0;
    tap_order order = TAP_GO;

    if (here < 0 || hooks == NULL)
        return TAP_GO;
    e->rank = here;
    e->nth = e->call == TAP_SEND ? ++tap_seen->sends[here] : ++tap_seen->calls[here];
    if (e->call != TAP_SEND && e->nth <= TAP_LOG)
        tap_seen->kinds[here][e->nth - 1] = (uint8_t)e->call;
    if (hooks->before != NULL)
        order = hooks->before(e, &err);
    errno = order == TAP_FAIL ? err : saved;
    return order;
}

static long
after(const tap_event *e, long result)
{
    const int saved = errno;

    if (here >= 0 && hooks->after != NULL)
        hooks->after(e, result);
    errno = saved;
    return result;
}

/* ---- the calls ---- */

static int
tap_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    tap_event e = {
        .call = (flags & O_CREAT) != 0 ? TAP_CREATE : TAP_OPEN, .fd = dirfd, .name = name};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.openat(dirfd, name, flags, mode));
}

static int
tap_close(int fd)
{
    tap_event e = {.call = TAP_CLOSE, .fd = fd};
    int       err = 0;
    tap_order order = before(&e);

    err = errno;
    if (order == TAP_FAIL) { /* Linux releases the descriptor whatever it answers */
        rset_sys_posix.close(fd);
        errno = err;
        return -1;
    }
    return (int)after(&e, rset_sys_posix.close(fd));
}

static ssize_t
tap_pread(int fd, void *buf, size_t len, off_t off)
{
    tap_event e = {.call = TAP_PREAD, .fd = fd, .len = len, .off = off};
    tap_order order = before(&e);

    if (order == TAP_FAIL || order == TAP_NOTHING)
        return order == TAP_FAIL ? -1 : 0;
    return after(&e, rset_sys_posix.pread(fd, buf, order == TAP_HALF ? (len + 1) / 2 : len, off));
}

static ssize_t
tap_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    tap_event e = {.call = TAP_PWRITE, .fd = fd, .data = buf, .len = len, .off = off};
    tap_order order = before(&e);

    if (order == TAP_FAIL || order == TAP_NOTHING)
        return order == TAP_FAIL ? -1 : 0;
    return after(&e, rset_sys_posix.pwrite(fd, buf, order == TAP_HALF ? (len + 1) / 2 : len, off));
}

static int
tap_ftruncate(int fd, off_t len)
{
    tap_event e = {.call = TAP_FTRUNCATE, .fd = fd, .off = len};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.ftruncate(fd, len));
}

static int
tap_fsync(int fd)
{
    tap_event e = {.call = TAP_FSYNC, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.fsync(fd));
}

static int
tap_fstat(int fd, struct stat *st)
{
    tap_event e = {.call = TAP_FSTAT, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.fstat(fd, st));
}

static int
tap_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    tap_event e = {.call = TAP_FSTATAT, .fd = dirfd, .name = name};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.fstatat(dirfd, name, st, flags));
}

static int
tap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    tap_event e = {.call = TAP_RENAME, .fd = from_dir, .name = from, .to = to};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.renameat(from_dir, from, to_dir, to));
}

static int
tap_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    tap_event e = {.call = TAP_RENAME, .fd = from_dir, .name = from, .to = to};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.rename_new(from_dir, from, to_dir, to));
}

static int
tap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    tap_event e = {.call = TAP_LINK, .fd = from_dir, .name = from, .to = to};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.linkat(from_dir, from, to_dir, to, flags));
}

static int
tap_unlinkat(int dirfd, const char *name, int flags)
{
    tap_event e = {.call = TAP_UNLINK, .fd = dirfd, .name = name};

    return before(&e) == TAP_FAIL ? -1
                                  : (int)after(&e, rset_sys_posix.unlinkat(dirfd, name, flags));
}

static int
tap_mkdir(const char *path, mode_t mode)
{
    tap_event e = {.call = TAP_MKDIR, .fd = AT_FDCWD, .name = path};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.mkdir(path, mode));
}

static DIR *
tap_fdopendir(int fd)
{
    tap_event e = {.call = TAP_FDOPENDIR, .fd = fd};
    DIR      *dir = before(&e) == TAP_FAIL ? NULL : rset_sys_posix.fdopendir(fd);

    (void)after(&e, dir != NULL ? 0 : -1);
    return dir;
}

static struct dirent *
tap_readdir(DIR *dir)
{
    tap_event      e = {.call = TAP_READDIR};
    struct dirent *entry = before(&e) == TAP_FAIL ? NULL : rset_sys_posix.readdir(dir);

    (void)after(&e, entry != NULL ? 1 : 0);
    return entry;
}

static int
tap_closedir(DIR *dir)
{
    tap_event e = {.call = TAP_CLOSEDIR};
    tap_order order = before(&e);
    const int err = errno;
    int       rc = rset_sys_posix.closedir(dir);

    errno = err;
    return order == TAP_FAIL ? -1 : (int)after(&e, rc);
}

static int
tap_fchmod(int fd, mode_t mode)
{
    tap_event e = {.call = TAP_FCHMOD, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.fchmod(fd, mode));
}

static int
tap_fchown(int fd, uid_t uid, gid_t gid)
{
    tap_event e = {.call = TAP_FCHOWN, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.fchown(fd, uid, gid));
}

static int
tap_futimens(int fd, const struct timespec times[2])
{
    tap_event e = {.call = TAP_FUTIMENS, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.futimens(fd, times));
}

static int
tap_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    tap_event e = {.call = TAP_FSETXATTR, .fd = fd, .name = name, .data = value, .len = size};

    if (before(&e) == TAP_FAIL)
        return -1;
    return (int)after(&e, rset_sys_posix.fsetxattr(fd, name, value, size, flags));
}

static ssize_t
tap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    tap_event e = {.call = TAP_FGETXATTR, .fd = fd, .name = name};

    if (before(&e) == TAP_FAIL)
        return -1;
    return after(&e, rset_sys_posix.fgetxattr(fd, name, value, size));
}

static int
tap_fremovexattr(int fd, const char *name)
{
    tap_event e = {.call = TAP_FREMOVEXATTR, .fd = fd, .name = name};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.fremovexattr(fd, name));
}

static int
tap_flock(int fd, int operation)
{
    tap_event e = {.call = TAP_FLOCK, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.flock(fd, operation));
}

static int
tap_guard(int fd, rset_guard which, short type)
{
    tap_event e = {.call = TAP_GUARD, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.guard(fd, which, type));
}

static int
tap_guarded(int fd, rset_guard which)
{
    tap_event e = {.call = TAP_GUARD, .fd = fd};

    return before(&e) == TAP_FAIL ? -1 : (int)after(&e, rset_sys_posix.guarded(fd, which));
}

static uint64_t
tap_boot(void)
{
    return rset_sys_posix.boot(); /* no file call */
}

/* Here files are copied: what they share is tried by unit.kept_clone. */
static int
tap_clone(int to, int from)
{
    (void)to, (void)from;
    errno = EOPNOTSUPP;
    return -1;
}

const rset_sys tap_table = {
    .openat = tap_openat,
    .close = tap_close,
    .pread = tap_pread,
    .pwrite = tap_pwrite,
    .lseek = lseek, /* a hint as well */
    .ftruncate = tap_ftruncate,
    .clone = tap_clone,
    .fsync = tap_fsync,
    .sync_file_range = sync_file_range, /* a hint, that nothing depends on */
    .fstat = tap_fstat,
    .fstatat = tap_fstatat,
    .renameat = tap_renameat,
    .rename_new = tap_rename_new,
    .linkat = tap_linkat,
    .unlinkat = tap_unlinkat,
    .mkdir = tap_mkdir,
    .fdopendir = tap_fdopendir,
    .readdir = tap_readdir,
    .closedir = tap_closedir,
    .fchmod = tap_fchmod,
    .fchown = tap_fchown,
    .futimens = tap_futimens,
    .fsetxattr = tap_fsetxattr,
    .fgetxattr = tap_fgetxattr,
    .fremovexattr = tap_fremovexattr,
    .flock = tap_flock,
    .guard = tap_guard,
    .guarded = tap_guarded,
    .boot = tap_boot,
};

/* ---- messages ---- */

static _Thread_local rset_transport        tapped_transport;
static _Thread_local const rset_transport *real_transport;

static rset_status
tap_isend(void *self, const rset_message *message, rset_req *req, rset_err *err)
{
    tap_event e = {.call = TAP_SEND, .len = message->len};

    (void)before(&e);
    return real_transport->isend(self, message, req, err);
}

void
tap_transport(rset_comm *world)
{
    real_transport = world->transport;
    tapped_transport = *world->transport;
    tapped_transport.isend = tap_isend;
    world->transport = &tapped_transport;
}

/* ---- threads that ranks make ---- */

/* With --wrap: the calls of a rank that another one hosts are its own, where its host's count for itself. */
typedef struct seen_thread {
    void *(*start)(void *arg);
    void       *arg;
    int         rank;
    tap_threads threads;
} seen_thread;

static void *
begin_thread(void *arg)
{
    const seen_thread t = *(seen_thread *)arg;
    void             *result;

    free(arg);
    tap_enter(t.rank);
    threads = t.threads;
    result = t.start(t.arg);
    tap_leave();
    return result;
}

int __real_rset_thread_create(pthread_t *thread, const pthread_attr_t *attr,
                              void *(*start)(void *arg), void         *arg);
int __wrap_rset_thread_create(pthread_t *thread, const pthread_attr_t *attr,
                              void *(*start)(void *arg), void         *arg);

int
__wrap_rset_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg),
                          void *arg)
{
    seen_thread *t;
    int          failed;

    if (here < 0 || threads == TAP_NOBODYS)
        return __real_rset_thread_create(thread, attr, start, arg);
    t = malloc(sizeof *t);
    if (t == NULL)
        return ENOMEM;
    *t = (seen_thread){start, arg, here, threads};
    if (threads == TAP_HOSTED) {
        t->rank = ((const rset_local_member *)arg)->rank;
        t->threads = TAP_NOBODYS;
    }
    failed = __real_rset_thread_create(thread, attr, begin_thread, t);
    if (failed != 0)
        free(t);
    return failed;
}

/* ---- putting it in ---- */

void
tap_use(const tap_hooks *use)
{
    if (tap_seen == NULL)
        tap_seen =
            mmap(NULL, sizeof *tap_seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(tap_seen, 0, sizeof *tap_seen);
    hooks = use;
    rset_sys_use(use != NULL ? &tap_table : NULL);
}

const rset_sys *
tap_calls(void)
{
    return hooks != NULL ? &tap_table : &rset_sys_posix;
}

void
tap_enter(int rank)
{
    here = rank;
}

void
tap_leave(void)
{
    here = -1;
    threads = TAP_NOBODYS;
}

void
tap_see_threads(tap_threads whose)
{
    threads = whose;
}

int
tap_rank(void)
{
    return here;
}
