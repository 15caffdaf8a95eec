/* test_store_beneath.c: an open directory is not left, whatever its entries are (P7): where the
 * kernel has openat2, and where a kernel or a sandbox does not know it. */
#include "image.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* top/secret, top/in (a link leads there: top/way), and in it: plain, up -> ../secret, out -> top */
static char *top;

static int
set_up(void **state)
{
    (void)state;
    top = scratch_make();
    chmod(top, 0755);
    write_file(path_of("%s/secret", top), "secret", 6);
    if (mkdir(path_of("%s/in", top), 0755) != 0 || symlink("in", path_of("%s/way", top)) != 0 ||
        symlink("../secret", path_of("%s/in/up", top)) != 0 ||
        symlink(top, path_of("%s/in/out", top)) != 0)
        return -1;
    write_file(path_of("%s/in/plain", top), "plain", 5);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    remove_tree(top);
    free(top);
    return 0;
}

/* errno of opening `name` in top/in through the table, 0 when it could be opened. */
static int
try_open(const char *name, int flags)
{
    int dirfd = open(path_of("%s/in", top), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = rset_sys_posix.openat(dirfd, name, flags | O_CLOEXEC, 0640);
    int why = fd < 0 ? errno : 0;

    close(fd);
    close(dirfd);
    return why;
}

static bool
kernel_has_openat2(void)
{
#ifdef SYS_openat2
    return syscall(SYS_openat2, AT_FDCWD, ".", NULL, (size_t)0) < 0 && errno == EINVAL;
#else
    return false;
#endif
}

static void
no_way_out(void **state)
{
    (void)state;
    if (!kernel_has_openat2()) {
        print_message("SKIP: no openat2 here\n");
        skip();
    }
    assert_int_equal(try_open("../secret", O_RDONLY), EXDEV);
    assert_int_equal(try_open(path_of("%s/secret", top), O_RDONLY), EXDEV);
    assert_int_equal(try_open("out/secret", O_RDONLY), ELOOP);
    assert_int_equal(try_open("up", O_RDONLY), ELOOP);
    assert_int_equal(try_open("up", O_RDONLY | O_NOFOLLOW), ELOOP);
    assert_int_equal(try_open("../new", O_RDWR | O_CREAT | O_EXCL), EXDEV);
    assert_false(exists(path_of("%s/new", top)));
}

static void
names_inside_work_as_ever(void **state)
{
    struct stat sb;
    mode_t      mask = umask(027);

    (void)state;
    assert_int_equal(try_open("plain", O_RDONLY), 0);
    assert_int_equal(try_open(".", O_RDONLY | O_DIRECTORY), 0);
    assert_int_equal(try_open("absent", O_RDONLY), ENOENT);
    assert_int_equal(try_open("new", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW), 0);
    assert_int_equal(try_open("new", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW), EEXIST);
    assert_int_equal(try_open("up", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW), EEXIST);
    assert_int_equal(stat(path_of("%s/in/new", top), &sb), 0);
    assert_int_equal(sb.st_mode & 07777, 0640);
    umask(mask);
}

static void
the_directory_is_opened_along_the_callers_links(void **state)
{
    rset_dir  *dir = NULL;
    rset_file *file = NULL;

    (void)state;
    assert_int_equal(rset_dir_open(path_of("%s/way", top), false, &dir, NULL), RSET_OK);
    assert_int_equal(rset_file_open(dir, "plain", &file, NULL), RSET_OK);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    rset_dir_close(dir);
}

/* ---- where openat2 is not to be had; each in a process of its own, as it is remembered ---- */

/* From now on openat2 fails with `why`. */
static bool
forbid_openat2(int why)
{
#ifdef SYS_openat2
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)why),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    (void)why;
    return true;
#endif
}

/* Plain names can be opened and made, links are not followed. */
static bool
opens_without(int why)
{
    if (!forbid_openat2(why))
        return true; /* no seccomp here: nothing to see */
    for (int again = 0; again < 2; again++)
        if (try_open("absent", O_RDONLY) != ENOENT || try_open("plain", O_RDONLY) != 0 ||
            try_open("up", O_RDONLY | O_NOFOLLOW) != ELOOP)
            return false;
    unlink(path_of("%s/in/new", top));
    return try_open("new", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW) == 0 &&
           try_open("up", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW) == EEXIST;
}

/* A file that says EPERM for a reason of its own is no reason to do without from then on. */
static bool
real_refusals_change_nothing(int unused)
{
    (void)unused;
    if (geteuid() != 0 || !kernel_has_openat2())
        return true;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return false;
    return try_open("plain", O_RDONLY | O_NOATIME) == EPERM && /* not the owner */
           try_open("../secret", O_RDONLY) == EXDEV;
}

static void
in_a_child(bool (*body)(int why), int why)
{
    int   status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(body(why) ? 0 : 1);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static void
without_openat2(void **state)
{
    (void)state;
    in_a_child(opens_without, ENOSYS);
    in_a_child(opens_without, EPERM);
}

static void
refused_files_are_no_sandbox(void **state)
{
    (void)state;
    in_a_child(real_refusals_change_nothing, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_way_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_inside_work_as_ever, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_directory_is_opened_along_the_callers_links, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_openat2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_files_are_no_sandbox, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
