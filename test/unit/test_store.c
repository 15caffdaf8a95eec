/* test_store.c: files: names that stay in the directory (P7), content, attributes, hostile ones too.
 * Directories and paths are in test_store_dir.c, file calls that fail in test_store_faults.c. */
#include "image.h"
#include "store_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

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
        assert_int_equal(rset_file_create(dir, names[i], NULL, &file, NULL), RSET_USAGE);
        assert_int_equal(rset_dir_stat(dir, names[i], &sb, NULL), RSET_USAGE);
        assert_int_equal(rset_dir_unlink(dir, names[i], NULL), RSET_USAGE);
        assert_int_equal(rset_dir_rename(dir, "good", names[i], NULL), RSET_USAGE);
        assert_int_equal(rset_dir_rename(dir, names[i], "other", NULL), RSET_USAGE);
        assert_int_equal(rset_file_slurp(dir, names[i], 9, &buf, &len, NULL), RSET_USAGE);
        assert_null(file);
    }
    assert_true(exists(in_top("good")));
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

        assert_int_equal(rset_file_create(dir, names[i], NULL, &file, &err), RSET_OK);
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
    assert_int_equal(rset_file_create(dir, "d", NULL, &file, &err), RSET_IO);
    assert_non_null(strstr(err.text, in_top("d")));
    assert_true(exists(in_top("d")));
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

/* rename(2) leaves the old name where both are one file. */
static void
what_was_renamed_has_its_old_name_no_more(void **state)
{
    (void)state;
    put("f", "x");
    assert_int_equal(rset_dir_link(dir, "f", dir, "g", NULL), RSET_OK);
    assert_int_equal(rset_dir_rename(dir, "f", "g", NULL), RSET_OK);
    assert_true(exists(in_top("g")) && !exists(in_top("f")));
    assert_int_equal(rset_dir_rename(dir, "g", "g", NULL), RSET_OK);
    assert_int_equal(rset_dir_rename(dir, "g", "f", NULL), RSET_OK);
    assert_true(exists(in_top("f")) && !exists(in_top("g")));
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
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, &err), RSET_OK);
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
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, INT64_MAX, "xy", 2, &err), RSET_IO);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_int_equal(rset_file_write(file, UINT64_MAX, "xy", 2, NULL), RSET_IO);
    assert_int_equal(rset_file_resize(file, UINT64_MAX, NULL), RSET_IO);
    assert_int_equal(rset_file_resize(file, 5, NULL), RSET_OK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

static volatile sig_atomic_t raised;

static void
note_raised(int signal)
{
    (void)signal;
    raised++;
}

static bool
waits(int signal)
{
    sigset_t waiting;

    return sigpending(&waiting) == 0 && sigismember(&waiting, signal) == 1;
}

/* Past the limit of this process, by writing and by making longer; both say which limit. */
static void
grow_in_vain(void)
{
    rset_file *file = NULL;
    rset_err   err = RSET_ERR_NONE;
    char       text[64] = "";

    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, text, 40, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, 40, text, 40, &err), RSET_IO);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_non_null(strstr(err.text, in_top("f")));
    assert_non_null(strstr(err.text, "no file larger than 64 bytes: raise that limit (ulimit -f)"));
    assert_true(rset_err_lacks_room(&err));
    err = RSET_ERR_NONE;
    assert_int_equal(rset_file_resize(file, 65, &err), RSET_IO);
    assert_non_null(strstr(err.text, "no file larger than 64 bytes: raise that limit (ulimit -f)"));
    assert_int_equal(rset_file_resize(file, 64, NULL), RSET_OK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

/* A signal that the program has blocked, and that waits, is still there afterwards; none is that was not. */
static void
no_write_raises_a_signal(void **state)
{
    const struct sigaction note = {.sa_handler = note_raised};
    struct sigaction       before, now;
    struct rlimit          all, little;
    sigset_t               one, was;

    (void)state;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    assert_int_equal(sigaction(SIGXFSZ, &note, &before), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little = (struct rlimit){64, all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    grow_in_vain();
    assert_false(waits(SIGXFSZ));
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &was), 0);
    grow_in_vain();
    assert_false(waits(SIGXFSZ));
    assert_int_equal(raise(SIGXFSZ), 0);
    grow_in_vain();
    assert_true(waits(SIGXFSZ) && raised == 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &was, NULL), 0);
    assert_int_equal(raised, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(sigaction(SIGXFSZ, &before, &now), 0);
    assert_true(now.sa_handler == note_raised);
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
    uint8_t    *bytes = memset(malloc(MIB), 1, MIB);
    rset_file  *file = NULL;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_file_create(dir, "large", NULL, &file, &err);

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

/* ---- attributes ---- */

static struct stat
after_attrs(const rset_file_attrs *attrs)
{
    rset_file  *file = NULL;
    rset_err    err = RSET_ERR_NONE;
    struct stat sb;

    assert_int_equal(rset_file_create(dir, "f", NULL, &file, &err), RSET_OK);
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
    assert_int_equal(sb.st_mode, S_IFREG | (geteuid() == 0 ? 0640 : 0600));
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

/* ---- descriptors ---- */

/* A thread that is starved when the process is killed must not hold the process's locks that long. */
static void *
apart(void *arg)
{
    const int *fd = arg;
    char       path[64];

    if (!rset_sys_unshare_files())
        return (void *)"cannot";
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", *fd);
    return fcntl(*fd, F_GETFD) < 0 && errno == EBADF && access(path, F_OK) != 0 ? (void *)"apart"
                                                                                : NULL;
}

static void
a_thread_can_do_without_the_files_of_others(void **state)
{
    int       fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    void     *said = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, apart, &fd), 0);
    assert_int_equal(pthread_join(thread, &said), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC); /* here it is as it was */
    close(fd);
    if (said != NULL && strcmp(said, "cannot") == 0) {
        print_message("SKIP: this kernel has no close_range\n");
        skip();
    }
    assert_non_null(said);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(P7_names_outside_the_directory_are_refused),
        IN_DIRECTORY(P7_special_files_are_refused),
        IN_DIRECTORY(P7_create_does_not_follow_or_reuse),
        IN_DIRECTORY(P7_create_over_a_directory_fails),
        IN_DIRECTORY(absent_is_not_an_error_of_the_system),
        IN_DIRECTORY(what_was_renamed_has_its_old_name_no_more),
        IN_DIRECTORY(write_and_read_back),
        IN_DIRECTORY(F22_sizes_that_no_file_has),
        IN_DIRECTORY(no_write_raises_a_signal),
        IN_DIRECTORY(slurp_is_bounded),
        IN_DIRECTORY(attributes_come_back),
        IN_DIRECTORY(P7_F22_hostile_attributes_are_left_out),
        IN_DIRECTORY(mark_is_kept_where_it_can_be),
        IN_DIRECTORY(a_large_file_is_begun_with),
        cmocka_unit_test(a_thread_can_do_without_the_files_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
