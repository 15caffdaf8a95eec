/* failing.c: see failing.h. */
#include "failing.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static _Thread_local int countdown;  /* 0: no fault in this thread alone */
static atomic_int        everywhere; /* of all threads together; 0 or less: no fault */
static unsigned          faulty;
static int               faulty_rank, faulty_at;
static bool              hit, for_good; /* that call, and all after it */

/* Is this the call that fails? */
static bool
fails(unsigned which)
{
    const bool one = (which & faulty) != 0 && atomic_fetch_sub(&everywhere, 1) == 1;

    if (!one && (countdown == 0 || (which & faulty) == 0 || --countdown > 0))
        return false;
    hit = true;
    countdown = for_good;
    errno = which == FAILING_PWRITE ? ENOSPC : EIO;
    return true;
}

bool
failing_now(unsigned call)
{
    return fails(call);
}

static ssize_t
fault_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    return fails(FAILING_PWRITE) ? -1 : rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
fault_fsync(int fd)
{
    return fails(FAILING_FSYNC) ? -1 : rset_sys_posix.fsync(fd);
}

static int
fault_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(FAILING_RENAME) ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
fault_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(FAILING_RENAME) ? -1 : rset_sys_posix.rename_new(from_dir, from, to_dir, to);
}

static int
fault_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    return fails((flags & O_CREAT) != 0 ? FAILING_CREATE : FAILING_OPEN)
               ? -1
               : rset_sys_posix.openat(dirfd, name, flags, mode);
}

static ssize_t
fault_pread(int fd, void *buf, size_t len, off_t off)
{
    ssize_t got = fails(FAILING_PREAD) ? -1 : rset_sys_posix.pread(fd, buf, len, off);

    if (got > 0 && fails(FAILING_LIE))
        ((uint8_t *)buf)[got / 2] ^= 1;
    return got;
}

static int
fault_fstat(int fd, struct stat *st)
{
    return fails(FAILING_FSTAT) ? -1 : rset_sys_posix.fstat(fd, st);
}

static int
fault_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    return fails(FAILING_FSTATAT) ? -1 : rset_sys_posix.fstatat(dirfd, name, st, flags);
}

static int
fault_unlinkat(int dirfd, const char *name, int flags)
{
    return fails(FAILING_UNLINK) ? -1 : rset_sys_posix.unlinkat(dirfd, name, flags);
}

static DIR *
fault_fdopendir(int fd)
{
    return fails(FAILING_LIST) ? NULL : rset_sys_posix.fdopendir(fd);
}

static struct dirent *
fault_readdir(DIR *dir)
{
    return fails(FAILING_LIST) ? NULL : rset_sys_posix.readdir(dir);
}

static void
arm(int rank, void *arg)
{
    (void)arg;
    countdown = rank == faulty_rank || faulty_rank < 0 ? faulty_at : 0;
}

/* Calls are counted from now on, where a thread has a countdown. */
static void
begin(unsigned calls, int rank, int at)
{
    static rset_sys sys;

    sys = rset_sys_posix;
    sys.pwrite = fault_pwrite;
    sys.fsync = fault_fsync;
    sys.renameat = fault_renameat;
    sys.rename_new = fault_rename_new;
    sys.openat = fault_openat;
    sys.pread = fault_pread;
    sys.fstat = fault_fstat;
    sys.fstatat = fault_fstatat;
    sys.unlinkat = fault_unlinkat;
    sys.fdopendir = fault_fdopendir;
    sys.readdir = fault_readdir;
    faulty = calls;
    faulty_rank = rank;
    faulty_at = at;
    hit = false;
    rset_sys_use(&sys);
}

static bool
end(void)
{
    rset_sys_use(NULL);
    countdown = 0;
    atomic_store(&everywhere, 0);
    return hit;
}

/* Nothing was wrong but that: whoever refuses says so, and blames nothing else. A lie is not noticed by who is told it. */
static void
check_said(const job *j, unsigned calls)
{
    if ((calls & FAILING_LIE) == 0 && strstr(job_text(j), "errno = ") == NULL &&
        strstr(job_text(j), "cannot be read") == NULL)
        fail_msg("call %d of rank %d failed, and it is not said: %s", faulty_at, faulty_rank,
                 job_text(j));
}

rset_status
failing_run(job *j, rset_status (*action)(job *j), unsigned calls, int rank, int at, bool *hit_out)
{
    rset_status st;

    begin(calls, rank, at);
    j->before = arm;
    st = action(j);
    j->before = NULL;
    *hit_out = end();
    if (*hit_out && st != RSET_OK && !for_good)
        check_said(j, calls);
    return st;
}

rset_status
failing_here(rset_status (*body)(void *arg), void *arg, unsigned calls, int at, bool *hit_out)
{
    rset_status st;

    begin(calls, -1, at);
    atomic_store(&everywhere, at);
    st = body(arg);
    *hit_out = end();
    return st;
}

static rset_status
recover_somehow(job *j)
{
    char why[1024];

    return job_recover_watched(j, why); /* ranks may come to different ends */
}

bool
failing_killed(job *j, int rank, int at)
{
    bool came;

    for_good = true;
    (void)failing_run(j, recover_somehow, FAILING_RENAME | FAILING_UNLINK, rank, at, &came);
    for_good = false;
    return came;
}
