/* test_store_dir.c: directories are made, listed, changed and made durable, and what comes of calls that fail
 * there; and paths are split. */
#include "image.h"
#include "store_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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
        assert_true(exists(in_top(paths[i])));
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
    assert_true(exists(in_top("x/y")) && exists(in_top("z")));
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
    assert_false(exists(in_top("b")));
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

/* Who has a directory open for long has one descriptor of it with the others; a sync that fails, which the kernel says once, has
 * failed for all of them, and not for who opens it afterwards (S6). */
static void
one_descriptor_for_all(void **state)
{
    rset_dir *have[3] = {NULL}, *later = NULL;
    int       before = open_descriptors();

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rset_dir_open(rset_dir_path(dir), false, &have[i], NULL), RSET_OK);
        rset_dir_share(have[i]);
        rset_dir_share(have[i]); /* changes nothing */
        assert_int_equal(open_descriptors(), before + 1);
    }
    rset_dir_close(have[2]);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(rset_dir_sync(have[0], NULL), RSET_OK);
    break_call(FSYNC, 0, 1, EIO);
    assert_int_equal(rset_dir_sync(have[0], NULL), RSET_IO);
    rset_sys_use(NULL);
    assert_int_equal(rset_dir_sync(have[1], NULL), RSET_IO);
    assert_int_equal(rset_dir_open(rset_dir_path(dir), false, &later, NULL), RSET_OK);
    rset_dir_share(later);
    assert_int_equal(rset_dir_sync(later, NULL), RSET_OK);
    assert_int_equal(open_descriptors(), before + 2);
    rset_dir_close(have[0]);
    rset_dir_close(have[1]);
    rset_dir_close(later);
    assert_int_equal(open_descriptors(), before);
}

/* Nobody joins a descriptor that is of something else by now, of another mount, or of a parent process; and a child that is made
 * while others sync can use its own. */
static void
a_descriptor_of_something_else_is_not_joined(void **state)
{
    rset_dir *first = NULL, *second = NULL;
    int       status = -1, before = open_descriptors(), taken;
    pid_t     child;

    (void)state;
    assert_int_equal(rset_dir_open(rset_dir_path(dir), false, &first, NULL), RSET_OK);
    rset_dir_share(first);
    assert_int_equal(rset_dir_open(rset_dir_path(dir), false, &second, NULL), RSET_OK);
    child = fork();
    if (child == 0) {
        rset_dir_share(second);
        _exit(open_descriptors() == before + 2 && rset_dir_sync(first, NULL) == RSET_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    taken = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(taken, rset_dir_fd(first)), rset_dir_fd(first));
    rset_dir_share(second);
    assert_int_equal(open_descriptors(), before + 3);
    assert_int_equal(rset_dir_sync(second, NULL), RSET_OK);
    close(taken);
    rset_dir_close(first);
    rset_dir_close(second);
    assert_int_equal(open_descriptors(), before);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(open_makes_missing_parents),
        IN_DIRECTORY(relative_directories),
        IN_DIRECTORY(making_directories_fails),
        IN_DIRECTORY(list_tells_every_name),
        IN_DIRECTORY(list_fails),
        IN_DIRECTORY(rename_and_unlink),
        IN_DIRECTORY(directory_calls_fail),
        IN_DIRECTORY(directory_sync_failures),
        IN_DIRECTORY(one_descriptor_for_all),
        IN_DIRECTORY(a_descriptor_of_something_else_is_not_joined),
        cmocka_unit_test(paths_are_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
