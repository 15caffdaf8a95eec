/* test_store.c: files and directories: confinement (P7), failing calls (F12), hostile attributes (F22).
 *
 * Each test has a directory of its own, /tmp/...; `faults` replaces the table of system calls. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char      top[64];
static rset_dir *dir;

static int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;

    (void)state;
    snprintf(top, sizeof top, "/tmp/test_store.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    return rset_dir_open(top, false, &dir, &err) == RSET_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    char command[128];

    (void)state;
    rset_sys_use(NULL);
    rset_dir_close(dir);
    dir = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

static const char *
in_top(const char *name)
{
    static char path[2][256];
    static int  turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", top, name);
    return path[turn];
}

static void
put(const char *name, const char *text)
{
    FILE *f = fopen(in_top(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void
assert_content(const char *name, const char *text)
{
    char   buf[256] = "";
    FILE  *f = fopen(in_top(name), "r");
    size_t n;

    assert_non_null(f);
    n = fread(buf, 1, sizeof buf - 1, f);
    buf[n] = '\0';
    fclose(f);
    assert_string_equal(buf, text);
}

static bool
exists(const char *name)
{
    struct stat sb;

    return lstat(in_top(name), &sb) == 0;
}

static int
open_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- faults: the table with one call that misbehaves ---- */

typedef enum {
    NONE,
    OPENAT,
    CLOSE,
    PREAD,
    PWRITE,
    FTRUNCATE,
    FSYNC,
    FSTAT,
    FSTATAT,
    RENAMEAT,
    UNLINKAT,
    MKDIR,
    FDOPENDIR,
    READDIR,
    FCHMOD,
    FCHOWN,
    FUTIMENS,
    FSETXATTR
} call;

static struct {
    call which;
    int  at;        /* the how many-th one, from 0 */
    int  times;     /* how many from there; -1: all */
    int  sys_errno; /* 0: a short transfer */
    int  seen, hits;
} fault;

static bool
hit(call which)
{
    if (fault.which != which)
        return false;
    if (fault.seen++ < fault.at || (fault.times >= 0 && fault.hits >= fault.times))
        return false;
    fault.hits++;
    errno = fault.sys_errno;
    return true;
}

static int
bad_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    return hit(OPENAT) ? -1 : rset_sys_posix.openat(dirfd, name, flags, mode);
}

static int
bad_close(int fd)
{
    int rc = rset_sys_posix.close(fd); /* as Linux: closed in any case */

    return hit(CLOSE) ? -1 : rc;
}

static ssize_t
bad_pread(int fd, void *buf, size_t len, off_t off)
{
    if (!hit(PREAD))
        return rset_sys_posix.pread(fd, buf, len, off);
    return fault.sys_errno != 0 ? -1 : rset_sys_posix.pread(fd, buf, len > 3 ? 3 : len, off);
}

static ssize_t
bad_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    if (!hit(PWRITE))
        return rset_sys_posix.pwrite(fd, buf, len, off);
    if (fault.sys_errno == ERANGE) /* stands for: nothing written, no reason */
        return 0;
    return fault.sys_errno != 0 ? -1 : rset_sys_posix.pwrite(fd, buf, len > 3 ? 3 : len, off);
}

static int
bad_ftruncate(int fd, off_t len)
{
    return hit(FTRUNCATE) ? -1 : rset_sys_posix.ftruncate(fd, len);
}

static int
bad_fsync(int fd)
{
    return hit(FSYNC) ? -1 : rset_sys_posix.fsync(fd);
}

static int
bad_fstat(int fd, struct stat *sb)
{
    return hit(FSTAT) ? -1 : rset_sys_posix.fstat(fd, sb);
}

static int
bad_fstatat(int dirfd, const char *name, struct stat *sb, int flags)
{
    return hit(FSTATAT) ? -1 : rset_sys_posix.fstatat(dirfd, name, sb, flags);
}

static int
bad_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return hit(RENAMEAT) ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
bad_unlinkat(int dirfd, const char *name, int flags)
{
    return hit(UNLINKAT) ? -1 : rset_sys_posix.unlinkat(dirfd, name, flags);
}

static int
bad_mkdir(const char *path, mode_t mode)
{
    return hit(MKDIR) ? -1 : rset_sys_posix.mkdir(path, mode);
}

static DIR *
bad_fdopendir(int fd)
{
    return hit(FDOPENDIR) ? NULL : rset_sys_posix.fdopendir(fd);
}

static struct dirent *
bad_readdir(DIR *stream)
{
    return hit(READDIR) ? NULL : rset_sys_posix.readdir(stream);
}

static int
bad_fchmod(int fd, mode_t mode)
{
    return hit(FCHMOD) ? -1 : rset_sys_posix.fchmod(fd, mode);
}

static int
bad_fchown(int fd, uid_t uid, gid_t gid)
{
    return hit(FCHOWN) ? -1 : rset_sys_posix.fchown(fd, uid, gid);
}

static int
bad_futimens(int fd, const struct timespec times[2])
{
    return hit(FUTIMENS) ? -1 : rset_sys_posix.futimens(fd, times);
}

static int
bad_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    return hit(FSETXATTR) ? -1 : rset_sys_posix.fsetxattr(fd, name, value, size, flags);
}

static void
break_call(call which, int at, int times, int sys_errno)
{
    static rset_sys bad;

    bad = rset_sys_posix;
    bad.openat = bad_openat;
    bad.close = bad_close;
    bad.pread = bad_pread;
    bad.pwrite = bad_pwrite;
    bad.ftruncate = bad_ftruncate;
    bad.fsync = bad_fsync;
    bad.fstat = bad_fstat;
    bad.fstatat = bad_fstatat;
    bad.renameat = bad_renameat;
    bad.unlinkat = bad_unlinkat;
    bad.mkdir = bad_mkdir;
    bad.fdopendir = bad_fdopendir;
    bad.readdir = bad_readdir;
    bad.fchmod = bad_fchmod;
    bad.fchown = bad_fchown;
    bad.futimens = bad_futimens;
    bad.fsetxattr = bad_fsetxattr;
    memset(&fault, 0, sizeof fault);
    fault.which = which;
    fault.at = at;
    fault.times = times;
    fault.sys_errno = sys_errno;
    rset_sys_use(&bad);
}

/* ---- names ---- */

static void
P7_names_outside_the_directory_are_refused(void **state)
{
    static const char *const names[] = {"",     ".",           "..", "/",  "a/b",
                                        "../x", "/etc/passwd", "x/", "./x"};
    struct stat              sb;

    (void)state;
    put("good", "good");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        rset_file *file = NULL;
        rset_err   err = RSET_ERR_NONE;
        uint8_t   *buf = NULL;
        size_t     len;

        assert_int_equal(rset_file_open(dir, names[i], &file, &err), RSET_USAGE);
        assert_non_null(strstr(err.text, top));
        assert_int_equal(rset_file_create(dir, names[i], &file, NULL), RSET_USAGE);
        assert_int_equal(rset_dir_stat(dir, names[i], &sb, NULL), RSET_USAGE);
        assert_int_equal(rset_dir_unlink(dir, names[i], NULL), RSET_USAGE);
        assert_int_equal(rset_dir_rename(dir, "good", names[i], NULL), RSET_USAGE);
        assert_int_equal(rset_dir_rename(dir, names[i], "other", NULL), RSET_USAGE);
        assert_int_equal(rset_file_slurp(dir, names[i], 9, &buf, &len, NULL), RSET_USAGE);
        assert_null(file);
    }
    assert_true(exists("good"));
}

static void
P7_special_files_are_refused(void **state)
{
    static const char *const names[] = {"fifo",      "link",   "dangling",
                                        "directory", "socket", "device"};
    struct sockaddr_un       address = {.sun_family = AF_UNIX};
    const int                before = open_descriptors();
    int                      fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    put("target", "secret");
    assert_int_equal(mkfifo(in_top("fifo"), 0666), 0);
    assert_int_equal(symlink("target", in_top("link")), 0);
    assert_int_equal(symlink("nowhere", in_top("dangling")), 0);
    assert_int_equal(mkdir(in_top("directory"), 0777), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_top("socket"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        rset_file *file = NULL;
        rset_err   err = RSET_ERR_NONE;

        if (strcmp(names[i], "device") == 0 && mknod(in_top("device"), S_IFCHR | 0666, 0x103) != 0)
            continue; /* not root */
        assert_int_equal(rset_file_open(dir, names[i], &file, &err), RSET_DAMAGED);
        assert_non_null(strstr(err.text, in_top(names[i])));
        assert_null(file);
    }
    assert_int_equal(open_descriptors(), before);
}

/* What a dead run, or somebody else, has left under the name is replaced, never written through. */
static void
P7_create_does_not_follow_or_reuse(void **state)
{
    static const char *const names[] = {"link", "hard", "dangling", "fifo", "old"};

    (void)state;
    put("target", "secret");
    put("old", "old");
    assert_int_equal(symlink("target", in_top("link")), 0);
    assert_int_equal(symlink("/tmp/test_store.never", in_top("dangling")), 0);
    assert_int_equal(link(in_top("target"), in_top("hard")), 0);
    assert_int_equal(mkfifo(in_top("fifo"), 0666), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        rset_file *file = NULL;
        rset_err   err = RSET_ERR_NONE;

        assert_int_equal(rset_file_create(dir, names[i], &file, &err), RSET_OK);
        assert_int_equal(rset_file_write(file, 0, "new", 3, &err), RSET_OK);
        assert_int_equal(rset_file_close(file, &err), RSET_OK);
        assert_content(names[i], "new");
    }
    assert_content("target", "secret");
    assert_int_equal(access("/tmp/test_store.never", F_OK), -1);
}

static void
P7_create_over_a_directory_fails(void **state)
{
    rset_file *file = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(mkdir(in_top("d"), 0777), 0);
    assert_int_equal(rset_file_create(dir, "d", &file, &err), RSET_IO);
    assert_non_null(strstr(err.text, in_top("d")));
    assert_true(exists("d"));
}

static void
absent_is_not_an_error_of_the_system(void **state)
{
    rset_file  *file = NULL;
    struct stat sb;
    rset_err    err = RSET_ERR_NONE;
    rset_dir   *other = NULL;

    (void)state;
    put("f", "");
    assert_int_equal(rset_file_open(dir, "none", &file, &err), RSET_ABSENT);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.text, "errno = 2"));
    assert_non_null(strstr(err.text, in_top("none")));
    assert_int_equal(rset_dir_stat(dir, "none", &sb, NULL), RSET_ABSENT);
    assert_int_equal(rset_dir_rename(dir, "none", "x", NULL), RSET_ABSENT);
    assert_int_equal(rset_dir_unlink(dir, "none", NULL), RSET_OK);
    assert_int_equal(rset_dir_open(in_top("none"), false, &other, NULL), RSET_ABSENT);
    assert_int_equal(rset_dir_open(in_top("f"), false, &other, NULL), RSET_ABSENT);
    assert_int_equal(rset_dir_open(in_top("f/x"), false, &other, NULL), RSET_ABSENT);
    assert_int_equal(rset_dir_open("", true, &other, NULL), RSET_ABSENT);
    rset_dir_close(NULL);
    assert_int_equal(rset_file_close(NULL, NULL), RSET_OK);
}

/* ---- directories ---- */

static void
open_makes_missing_parents(void **state)
{
    static const char *const paths[] = {"a", "b/c/d", "e//f///g//", "h/", "./i/../i/j"};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char      path[256];
        rset_dir *made = NULL;
        rset_err  err = RSET_ERR_NONE;

        snprintf(path, sizeof path, "%s", in_top(paths[i]));
        assert_int_equal(rset_dir_open(path, false, &made, NULL), RSET_ABSENT);
        assert_int_equal(rset_dir_open(path, true, &made, &err), RSET_OK);
        assert_string_equal(rset_dir_path(made), path);
        rset_dir_close(made);
        assert_true(exists(paths[i]));
        assert_int_equal(rset_dir_open(path, true, &made, &err), RSET_OK);
        rset_dir_close(made);
    }
    put("plain", "");
    assert_int_equal(rset_dir_open(in_top("plain/x"), true, &dir, NULL), RSET_ABSENT);
}

static void
relative_directories(void **state)
{
    rset_dir *made = NULL;
    rset_err  err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(chdir(top), 0);
    assert_int_equal(rset_dir_open("x/y", true, &made, &err), RSET_OK);
    rset_dir_close(made);
    assert_int_equal(rset_dir_open("z", true, &made, &err), RSET_OK);
    rset_dir_close(made);
    assert_int_equal(rset_dir_open(".", true, &made, &err), RSET_OK);
    rset_dir_close(made);
    assert_int_equal(chdir("/"), 0);
    assert_true(exists("x/y") && exists("z"));
}

static void
making_directories_fails(void **state)
{
    static const struct {
        call which;
        int  at;
    } faults[] = {{MKDIR, 0}, {MKDIR, 2}, {FSYNC, 0}, {OPENAT, 1}};
    const int before = open_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        rset_dir *made = NULL;
        rset_err  err = RSET_ERR_NONE;

        break_call(faults[i].which, faults[i].at, 1, ENOSPC);
        /* mkdir of top's parents says EEXIST and counts too: /tmp, top, then m */
        if (faults[i].which == MKDIR)
            fault.at = 2 + faults[i].at / 2;
        assert_int_equal(rset_dir_open(in_top("m/n"), true, &made, &err), RSET_IO);
        assert_int_equal(err.sys_errno, ENOSPC);
        assert_int_equal(fault.hits, 1);
        rset_sys_use(NULL);
        assert_int_equal(open_descriptors(), before);
        (void)rmdir(in_top("m/n"));
        (void)rmdir(in_top("m"));
    }
}

static bool
collect(const char *name, void *arg)
{
    char *all = arg;

    strcat(strcat(all, name), " ");
    return strcmp(name, "stop") != 0;
}

static void
list_tells_every_name(void **state)
{
    char     all[256] = "";
    rset_err err = RSET_ERR_NONE;

    (void)state;
    put("one", "");
    put(".two", "");
    for (int round = 0; round < 2; round++) {
        all[0] = '\0';
        assert_int_equal(rset_dir_list(dir, collect, all, &err), RSET_OK);
        assert_int_equal(strlen(all), strlen("one .two "));
        assert_non_null(strstr(all, "one "));
        assert_non_null(strstr(all, ".two "));
    }
    assert_int_equal(unlink(in_top("one")) | unlink(in_top(".two")), 0);
    put("stop", "");
    all[0] = '\0';
    assert_int_equal(rset_dir_list(dir, collect, all, &err), RSET_OK);
    assert_string_equal(all, "stop ");
}

static void
list_fails(void **state)
{
    static const call faults[] = {OPENAT, FDOPENDIR, READDIR};
    const int         before = open_descriptors();

    (void)state;
    put("f", "");
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char     all[256] = "";
        rset_err err = RSET_ERR_NONE;

        break_call(faults[i], 0, -1, EIO);
        assert_int_equal(rset_dir_list(dir, collect, all, &err), RSET_IO);
        assert_int_equal(err.sys_errno, EIO);
        assert_int_equal(open_descriptors(), before);
    }
}

static void
rename_and_unlink(void **state)
{
    struct stat sb;
    rset_err    err = RSET_ERR_NONE;

    (void)state;
    put("a", "aa");
    put("b", "b");
    assert_int_equal(symlink("a", in_top("s")), 0);
    assert_int_equal(rset_dir_rename(dir, "a", "b", &err), RSET_OK);
    assert_content("b", "aa");
    assert_int_equal(rset_dir_stat(dir, "b", &sb, &err), RSET_OK);
    assert_int_equal(sb.st_size, 2);
    assert_int_equal(rset_dir_stat(dir, "s", &sb, &err), RSET_OK);
    assert_true(S_ISLNK(sb.st_mode));
    assert_int_equal(rset_dir_unlink(dir, "b", &err), RSET_OK);
    assert_false(exists("b"));
    assert_int_equal(rset_dir_sync(dir, &err), RSET_OK);
}

static void
directory_calls_fail(void **state)
{
    struct stat sb;

    (void)state;
    for (int again = 0; again < 2; again++) { /* EINTR is tried again, anything else is told */
        const int         sys_errno = again ? EINTR : EIO, times = again ? 2 : -1;
        const rset_status want = again ? RSET_OK : RSET_IO;
        rset_err          err = RSET_ERR_NONE;

        put("a", "a");
        break_call(RENAMEAT, 0, times, sys_errno);
        assert_int_equal(rset_dir_rename(dir, "a", "b", &err), want);
        break_call(FSTATAT, 0, times, sys_errno);
        assert_int_equal(rset_dir_stat(dir, again ? "b" : "a", &sb, &err), want);
        break_call(UNLINKAT, 0, times, sys_errno);
        assert_int_equal(rset_dir_unlink(dir, again ? "b" : "a", &err), want);
        break_call(OPENAT, 0, times, sys_errno);
        rset_dir *other = NULL;
        assert_int_equal(rset_dir_open(top, false, &other, &err), want);
        rset_dir_close(other);
        assert_int_equal(err.sys_errno, again ? 0 : EIO);
    }
}

static void
directory_sync_failures(void **state)
{
    static const int no_support[] = {EINVAL, EROFS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        break_call(FSYNC, 0, -1, no_support[i]);
        assert_int_equal(rset_dir_sync(dir, NULL), RSET_OK);
    }
    break_call(FSYNC, 0, 1, EINTR);
    assert_int_equal(rset_dir_sync(dir, NULL), RSET_OK);
    break_call(FSYNC, 0, 1, EIO);
    assert_int_equal(rset_dir_sync(dir, NULL), RSET_IO);
    assert_int_equal(rset_dir_sync(dir, NULL), RSET_IO); /* though the call would succeed now */
    assert_int_equal(fault.seen, 1);
}

/* ---- content ---- */

static void
write_and_read_back(void **state)
{
    rset_file  *file = NULL;
    char        buf[32] = "";
    size_t      got = 0;
    struct stat sb;
    rset_err    err = RSET_ERR_NONE;
    bool        foreign[256];

    (void)state;
    for (int fd = 0; fd < 256; fd++)
        foreign[fd] = fcntl(fd, F_GETFD) >= 0;
    assert_int_equal(rset_file_create(dir, "f", &file, &err), RSET_OK);
    assert_string_equal(rset_file_path(file), in_top("f"));
    for (int fd = 3; fd < 256; fd++) /* no program that is started meanwhile inherits it */
        assert_true(fcntl(fd, F_GETFD) < 0 || foreign[fd] ||
                    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(rset_file_write(file, 3, "defg", 4, &err), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, "abc", 3, &err), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, NULL, 0, &err), RSET_OK);
    assert_int_equal(rset_file_read(file, 0, buf, 7, &got, &err), RSET_OK); /* readable as well */
    assert_int_equal(rset_file_sync(file, &err), RSET_OK);
    assert_int_equal(rset_file_close(file, &err), RSET_OK);
    assert_string_equal(buf, "abcdefg");

    assert_int_equal(rset_file_open(dir, "f", &file, &err), RSET_OK);
    assert_int_equal(rset_file_stat(file, &sb, &err), RSET_OK);
    assert_int_equal(sb.st_size, 7);
    assert_int_equal(rset_file_read(file, 5, buf, 10, &got, &err), RSET_OK);
    assert_int_equal(got, 2);
    assert_int_equal(rset_file_read(file, 7, buf, 10, &got, &err), RSET_OK);
    assert_int_equal(got, 0);
    /* offsets from a header: past any file is past the end */
    assert_int_equal(rset_file_read(file, UINT64_MAX, buf, 10, &got, &err), RSET_OK);
    assert_int_equal(rset_file_read(file, (uint64_t)INT64_MAX + 1, buf, 10, &got, &err), RSET_OK);
    assert_int_equal(got, 0);
    assert_int_equal(rset_file_write(file, 0, "x", 1, NULL), RSET_IO); /* opened for reading */
    assert_int_equal(rset_file_close(file, &err), RSET_OK);
    assert_content("f", "abcdefg");
}

static void
F22_sizes_that_no_file_has(void **state)
{
    rset_file *file = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, INT64_MAX, "xy", 2, &err), RSET_IO);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_int_equal(rset_file_write(file, UINT64_MAX, "xy", 2, NULL), RSET_IO);
    assert_int_equal(rset_file_resize(file, UINT64_MAX, NULL), RSET_IO);
    assert_int_equal(rset_file_resize(file, 5, NULL), RSET_OK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static void
F12_interrupted_and_short_transfers_are_continued(void **state)
{
    static const int kinds[] = {EINTR, 0};
    const char       text[] = "0123456789abcdefghij";

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rset_file *file = NULL;
        char       buf[32] = "";
        size_t     got = 0;

        break_call(PWRITE, 0, 3, kinds[i]);
        assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
        assert_int_equal(rset_file_write(file, 0, text, sizeof text, NULL), RSET_OK);
        assert_int_equal(fault.hits, 3);
        break_call(PREAD, 0, 3, kinds[i]);
        assert_int_equal(rset_file_read(file, 0, buf, sizeof text, &got, NULL), RSET_OK);
        assert_int_equal(got, sizeof text);
        assert_string_equal(buf, text);
        assert_int_equal(fault.hits, 3);
        break_call(FTRUNCATE, 0, 2, EINTR);
        assert_int_equal(rset_file_resize(file, 4, NULL), RSET_OK);
        break_call(FSTAT, 0, 2, EINTR);
        struct stat sb;
        assert_int_equal(rset_file_stat(file, &sb, NULL), RSET_OK);
        assert_int_equal(sb.st_size, 4);
        break_call(FSYNC, 0, 2, EINTR);
        assert_int_equal(rset_file_sync(file, NULL), RSET_OK);
        break_call(CLOSE, 0, 1, EINTR); /* nothing unsynced: nothing lost */
        assert_int_equal(rset_file_close(file, NULL), RSET_OK);
        assert_int_equal(fault.seen, 1); /* and never closed twice */
        break_call(OPENAT, 0, 2, EINTR);
        assert_int_equal(rset_file_open(dir, "f", &file, NULL), RSET_OK);
        rset_sys_use(NULL);
        assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    }
}

static void
F12_every_call_fails(void **state)
{
    static const int errnos[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ESTALE};
    const int        before = open_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++) {
        rset_file  *file = NULL, *none = NULL;
        char        buf[8];
        size_t      got = 99;
        struct stat sb;
        uint8_t    *all = NULL;
        rset_err    err = RSET_ERR_NONE;

#define FAILS(which, expression)                                                                   \
    do {                                                                                           \
        err = RSET_ERR_NONE;                                                                       \
        break_call(which, 0, -1, errnos[i]);                                                       \
        assert_int_equal(expression, RSET_IO);                                                     \
        rset_sys_use(NULL);                                                                        \
        assert_int_equal(err.sys_errno, errnos[i]);                                                \
        assert_non_null(strstr(err.text, in_top("f")));                                            \
        assert_int_equal(open_descriptors(), before + (file != NULL));                             \
    } while (0)

        FAILS(OPENAT, rset_file_create(dir, "f", &none, &err));
        put("f", "old");
        FAILS(UNLINKAT, rset_file_create(dir, "f", &none, &err));
        FAILS(OPENAT, rset_file_open(dir, "f", &none, &err));
        FAILS(FSTAT, rset_file_open(dir, "f", &none, &err));
        FAILS(PREAD, rset_file_slurp(dir, "f", 10, &all, &got, &err));
        assert_null(none);
        assert_null(all);
        assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
        FAILS(PWRITE, rset_file_write(file, 0, "abc", 3, &err));
        FAILS(PREAD, rset_file_read(file, 0, buf, 3, &got, &err));
        assert_int_equal(got, 0);
        FAILS(FTRUNCATE, rset_file_resize(file, 3, &err));
        FAILS(FSTAT, rset_file_stat(file, &sb, &err));
        /* the cause is gone: it works */
        assert_int_equal(rset_file_write(file, 0, "abc", 3, NULL), RSET_OK);
        FAILS(FSYNC, rset_file_sync(file, &err));
        /* except for a sync, which has lost what it lost */
        assert_int_equal(rset_file_sync(file, NULL), RSET_IO);
        break_call(CLOSE, 0, 1, errnos[i]);
        err = RSET_ERR_NONE;
        assert_int_equal(rset_file_close(file, &err), RSET_IO);
        assert_int_equal(err.sys_errno, errnos[i]);
        rset_sys_use(NULL);
        assert_int_equal(open_descriptors(), before);
        assert_int_equal(unlink(in_top("f")), 0);
    }
}

static void
F12_failed_sync_is_never_retried(void **state)
{
    rset_file *file = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
    break_call(FSYNC, 0, 1, EIO);
    assert_int_equal(rset_file_sync(file, NULL), RSET_IO);
    assert_int_equal(rset_file_sync(file, &err), RSET_IO);
    assert_int_equal(fault.seen, 1);
    assert_non_null(strstr(err.text, "earlier"));
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static void
F12_write_of_nothing_ends(void **state)
{
    rset_file *file = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
    break_call(PWRITE, 0, -1, ERANGE);
    assert_int_equal(rset_file_write(file, 0, "abc", 3, &err), RSET_IO);
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static void
F12_interrupted_close_of_unsynced_data(void **state)
{
    rset_file *file = NULL;

    (void)state;
    assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, "abc", 3, NULL), RSET_OK);
    break_call(CLOSE, 0, 1, EINTR);
    assert_int_equal(rset_file_close(file, NULL), RSET_IO);
    /* a file that was only read has nothing to lose */
    rset_sys_use(NULL);
    assert_int_equal(rset_file_open(dir, "f", &file, NULL), RSET_OK);
    break_call(CLOSE, 0, 1, EIO);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static void
F12_no_memory_is_told_as_such(void **state)
{
    rset_file *file = NULL;

    (void)state;
    put("f", "");
    break_call(OPENAT, 0, -1, ENOMEM);
    assert_int_equal(rset_file_open(dir, "f", &file, NULL), RSET_NOMEM);
}

static void
slurp_is_bounded(void **state)
{
    uint8_t *buf = NULL;
    size_t   len = 0;
    rset_err err = RSET_ERR_NONE;

    (void)state;
    put("f", "12345");
    put("empty", "");
    assert_int_equal(rset_file_slurp(dir, "f", 5, &buf, &len, &err), RSET_OK);
    assert_int_equal(len, 5);
    assert_memory_equal(buf, "12345", 5);
    free(buf);
    buf = NULL;
    assert_int_equal(rset_file_slurp(dir, "f", 4, &buf, &len, &err), RSET_DAMAGED);
    assert_null(buf);
    assert_int_equal(rset_file_slurp(dir, "empty", 4, &buf, &len, NULL), RSET_OK);
    assert_int_equal(len, 0);
    free(buf);
    assert_int_equal(truncate(in_top("empty"), (off_t)1 << 40), 0);
    assert_int_equal(rset_file_slurp(dir, "empty", 1 << 20, &buf, &len, NULL), RSET_DAMAGED);
}

/* ---- attributes ---- */

static struct stat
after_attrs(const rset_file_attrs *attrs)
{
    rset_file  *file = NULL;
    rset_err    err = RSET_ERR_NONE;
    struct stat sb;

    assert_int_equal(rset_file_create(dir, "f", &file, &err), RSET_OK);
    assert_int_equal(rset_file_set_attrs(file, attrs, &err), RSET_OK);
    assert_int_equal(rset_file_stat(file, &sb, &err), RSET_OK);
    assert_int_equal(rset_file_close(file, &err), RSET_OK);
    return sb;
}

static void
attributes_come_back(void **state)
{
    const rset_file_attrs attrs = {0100640, 1234, 5678, 1000, 5, 2000, 999999999};
    struct stat           sb;

    (void)state;
    if (geteuid() == 0)
        assert_int_equal(chown(top, 1234, 5678), 0);
    sb = after_attrs(&attrs);
    assert_int_equal(sb.st_mode, S_IFREG | 0640);
    assert_int_equal(sb.st_uid, geteuid() == 0 ? 1234 : geteuid());
    assert_int_equal(sb.st_gid, geteuid() == 0 ? 5678 : getegid());
    assert_int_equal(sb.st_atim.tv_sec, 1000);
    assert_int_equal(sb.st_atim.tv_nsec, 5);
    assert_int_equal(sb.st_mtim.tv_sec, 2000);
    assert_int_equal(sb.st_mtim.tv_nsec, 999999999);
}

static void
P7_F22_hostile_attributes_are_left_out(void **state)
{
    rset_file_attrs attrs = {07777 | S_IFLNK, UINT64_MAX, 0, UINT64_MAX, 0, 1000000000000000, 5};
    const time_t    now = time(NULL);
    struct stat     sb = after_attrs(&attrs);

    (void)state;
    assert_int_equal(sb.st_mode, S_IFREG | 0777);
    assert_int_equal(sb.st_uid, geteuid());
    assert_true(labs((long)(sb.st_atim.tv_sec - now)) < 60 &&
                labs((long)(sb.st_mtim.tv_sec - now)) < 60);
    attrs = (rset_file_attrs){0600, UINT32_MAX, UINT32_MAX, 5, 1000000000, 5, UTIME_NOW};
    sb = after_attrs(&attrs);
    assert_int_equal(sb.st_uid, geteuid());
    assert_true(labs((long)(sb.st_atim.tv_sec - now)) < 60 &&
                labs((long)(sb.st_mtim.tv_sec - now)) < 60);
    /* each is looked at alone */
    attrs = (rset_file_attrs){0600, (1ull << 32) + 1234, getegid(), 5, 1000000000, 6, 7};
    sb = after_attrs(&attrs);
    assert_int_equal(sb.st_uid, geteuid());
    assert_int_equal(sb.st_mtim.tv_sec, 6);
    assert_int_equal(sb.st_mtim.tv_nsec, 7);
}

static void
attribute_calls_fail(void **state)
{
    static const struct {
        call        which;
        int         sys_errno;
        rset_status want;
    } faults[] = {{FCHOWN, EPERM, RSET_OK}, {FCHOWN, EIO, RSET_OK},      {FCHMOD, EPERM, RSET_OK},
                  {FCHMOD, EIO, RSET_IO},   {FUTIMENS, ENOSYS, RSET_OK}, {FUTIMENS, EIO, RSET_IO},
                  {FCHMOD, EROFS, RSET_IO}};

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const rset_file_attrs attrs = {0600, geteuid(), getegid(), 1, 1, 1, 1};
        rset_file            *file = NULL;

        break_call(faults[i].which, 0, -1, faults[i].sys_errno);
        assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
        assert_int_equal(rset_file_set_attrs(file, &attrs, NULL), faults[i].want);
        assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    }
    const rset_file_attrs attrs = {0600, geteuid(), getegid(), 1, 1, 1, 1};
    rset_file            *file = NULL;

    break_call(FCHMOD, 0, 2, EINTR);
    assert_int_equal(rset_file_create(dir, "f", &file, NULL), RSET_OK);
    assert_int_equal(rset_file_set_attrs(file, &attrs, NULL), RSET_OK);
    assert_int_equal(fault.hits, 2);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static void
mark_is_kept_where_it_can_be(void **state)
{
    rset_file *file = NULL;

    (void)state;
    put("f", "");
    assert_int_equal(rset_file_open(dir, "f", &file, NULL), RSET_OK);
    assert_true(rset_file_get_mark(file) == 0);
    break_call(FSETXATTR, 0, -1, ENOTSUP);
    rset_file_set_mark(file, 77);
    assert_true(rset_file_get_mark(file) == 0);
    rset_sys_use(NULL);
    rset_file_set_mark(file, 0xfedcba9876543210);
    if (rset_file_get_mark(file) != 0) { /* else this file system has none */
        assert_true(rset_file_get_mark(file) == 0xfedcba9876543210);
        rset_file_set_mark(file, 0);
        assert_true(rset_file_get_mark(file) == 0);
    }
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

/* ---- paths ---- */

static void
paths_are_split(void **state)
{
    static const struct {
        const char *path, *dir, *base;
    } cases[] = {{"f", ".", "f"},           {"./f", ".", "f"},  {"/f", "/", "f"},
                 {"a/b/f", "a/b", "f"},     {"a//f", "a", "f"}, {"//f", "/", "f"},
                 {"/a/../f", "/a/..", "f"}, {"..f", ".", "..f"}};
    static const char *const bad[] = {"", "a/", "/", ".", "..", "a/.", "a/..", NULL};
    char                    *dir_part, *base;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rset_err err = RSET_ERR_NONE;

        assert_int_equal(rset_path_split(cases[i].path, &dir_part, &base, &err), RSET_OK);
        assert_string_equal(dir_part, cases[i].dir);
        assert_string_equal(base, cases[i].base);
        free(dir_part);
        free(base);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(rset_path_split(bad[i], &dir_part, &base, NULL), RSET_USAGE);
}

/* The disk begins with a large file while it is written; that it cannot is no error, and promises nothing. */
static int begun;

static int
no_sync_file_range(int fd, off_t off, off_t len, unsigned flags)
{
    (void)fd;
    assert_int_equal(off, 0);
    assert_int_equal(len, 0);
    assert_int_equal(flags, SYNC_FILE_RANGE_WRITE);
    begun++;
    errno = EINVAL;
    return -1;
}

static void
a_large_file_is_begun_with(void **state)
{
    enum { MIB = 1 << 20 };
    rset_sys    sys = rset_sys_posix;
    uint8_t    *bytes = calloc(1, MIB);
    rset_file  *file = NULL;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_file_create(dir, "large", &file, &err);

    (void)state;
    begun = 0;
    sys.sync_file_range = no_sync_file_range;
    rset_sys_use(&sys);
    for (uint64_t i = 0; i < 20 && st == RSET_OK; i++)
        st = rset_file_write(file, i * MIB, bytes, MIB, &err);
    assert_int_equal(st, RSET_OK);
    assert_int_equal(begun, 2);
    assert_int_equal(rset_file_sync(file, &err), RSET_OK);
    assert_int_equal(rset_file_close(file, &err), RSET_OK);
    rset_sys_use(NULL);
    free(bytes);
}

#define IN_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(P7_names_outside_the_directory_are_refused),
        IN_DIRECTORY(P7_special_files_are_refused),
        IN_DIRECTORY(P7_create_does_not_follow_or_reuse),
        IN_DIRECTORY(P7_create_over_a_directory_fails),
        IN_DIRECTORY(absent_is_not_an_error_of_the_system),
        IN_DIRECTORY(open_makes_missing_parents),
        IN_DIRECTORY(relative_directories),
        IN_DIRECTORY(making_directories_fails),
        IN_DIRECTORY(list_tells_every_name),
        IN_DIRECTORY(list_fails),
        IN_DIRECTORY(rename_and_unlink),
        IN_DIRECTORY(directory_calls_fail),
        IN_DIRECTORY(directory_sync_failures),
        IN_DIRECTORY(write_and_read_back),
        IN_DIRECTORY(F22_sizes_that_no_file_has),
        IN_DIRECTORY(F12_interrupted_and_short_transfers_are_continued),
        IN_DIRECTORY(F12_every_call_fails),
        IN_DIRECTORY(F12_failed_sync_is_never_retried),
        IN_DIRECTORY(F12_write_of_nothing_ends),
        IN_DIRECTORY(F12_interrupted_close_of_unsynced_data),
        IN_DIRECTORY(F12_no_memory_is_told_as_such),
        IN_DIRECTORY(slurp_is_bounded),
        IN_DIRECTORY(attributes_come_back),
        IN_DIRECTORY(P7_F22_hostile_attributes_are_left_out),
        IN_DIRECTORY(attribute_calls_fail),
        IN_DIRECTORY(mark_is_kept_where_it_can_be),
        IN_DIRECTORY(a_large_file_is_begun_with),
        cmocka_unit_test(paths_are_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
