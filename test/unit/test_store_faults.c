/* test_store_faults.c: calls on files that fail, are interrupted or do half of it. */
#include "store_scene.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- content ---- */

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
        assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
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

        FAILS(OPENAT, rset_file_create(dir, "f", NULL, &none, &err));
        put("f", "old");
        FAILS(UNLINKAT, rset_file_create(dir, "f", NULL, &none, &err));
        assert_null(strstr(err.text, "by hand"));
        FAILS(OPENAT, rset_file_open(dir, "f", &none, &err));
        FAILS(FSTAT, rset_file_open(dir, "f", &none, &err));
        FAILS(PREAD, rset_file_slurp(dir, "f", 10, &all, &got, &err));
        assert_null(none);
        assert_null(all);
        assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
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
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
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
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
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
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
    assert_int_equal(rset_file_write(file, 0, "abc", 3, NULL), RSET_OK);
    break_call(CLOSE, 0, 1, EINTR);
    assert_int_equal(rset_file_close(file, NULL), RSET_IO);
    /* a file that was only read has nothing to lose */
    rset_sys_use(NULL);
    assert_int_equal(rset_file_open(dir, "f", &file, NULL), RSET_OK);
    break_call(CLOSE, 0, 1, EIO);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

/* Nobody can remove a file by hand where the file system is read-only, and what is in the way is said. */
static void
what_cannot_be_removed_says_what_to_give(void **state)
{
    static const struct {
        int         sys_errno;
        const char *advice;
    } faults[] = {{EROFS, "; make the file system writable"},
                  {EACCES, "; give write permission for the directory"},
                  {EIO, "cannot be removed: "}};

    (void)state;
    put("f", "");
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        rset_err err = RSET_ERR_NONE;

        break_call(UNLINKAT, 0, -1, faults[i].sys_errno);
        assert_int_equal(rset_dir_unlink(dir, "f", &err), RSET_IO);
        assert_non_null(strstr(err.text, faults[i].advice));
    }
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

/* ---- attributes ---- */

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
        assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
        assert_int_equal(rset_file_set_attrs(file, &attrs, NULL), faults[i].want);
        assert_int_equal(rset_file_close(file, NULL), RSET_OK);
    }
    const rset_file_attrs attrs = {0600, geteuid(), getegid(), 1, 1, 1, 1};
    rset_file            *file = NULL;

    break_call(FCHMOD, 0, 2, EINTR);
    assert_int_equal(rset_file_create(dir, "f", NULL, &file, NULL), RSET_OK);
    assert_int_equal(rset_file_set_attrs(file, &attrs, NULL), RSET_OK);
    assert_int_equal(fault.hits, 2);
    assert_int_equal(rset_file_close(file, NULL), RSET_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(F12_interrupted_and_short_transfers_are_continued),
        IN_DIRECTORY(F12_every_call_fails),
        IN_DIRECTORY(F12_failed_sync_is_never_retried),
        IN_DIRECTORY(F12_write_of_nothing_ends),
        IN_DIRECTORY(F12_interrupted_close_of_unsynced_data),
        IN_DIRECTORY(what_cannot_be_removed_says_what_to_give),
        IN_DIRECTORY(F12_no_memory_is_told_as_such),
        IN_DIRECTORY(attribute_calls_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
