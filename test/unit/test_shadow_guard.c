/* Who removes shadow files and journals that crashed runs left, and who begins to write one: neither takes it from under the other. */
#include "commit/change.h"
#include "commit/forget.h"
#include "commit/shadow.h"
#include "failing.h"
#include "image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BEGUN "f.h5.redset.0000000000000000.fix"

enum { GENERATION = 77 };

static struct {
    char       *base, *name;
    const char *data;
    rset_local  local;
    rset_status guarded;  /* what came of the guard while it was removed; RSET_BUG: nobody tried */
    int         vanishes; /* so many times before it is guarded */
    bool        replaced; /* once it is guarded, it gets a successor */
    int         renames;  /* of what is begun, until it does not vanish before */
} now;

/* ---- calls in which the other one comes ---- */

static bool
is_shadow(const char *name)
{
    return strcmp(name, now.name) == 0;
}

/* The program has created it under its name just now, and takes the guard. */
static int
unlink_while_it_is_guarded(int dir, const char *name, int flags)
{
    rset_file *guard = NULL;
    rset_err   err = RSET_ERR_NONE;

    if (is_shadow(name)) {
        now.guarded = rset_shadow_guard(&now.local, now.name, &guard, &err);
        rset_file_close(guard, NULL);
    }
    return rset_sys_posix.unlinkat(dir, name, flags);
}

/* Another process has it before this one, and removes it. */
static int
guard_what_vanishes(int fd, rset_guard which, short type)
{
    const char *path = path_of("%s/%s", now.base, now.name);
    int         st;

    if (now.vanishes > 0)
        assert_int_equal(unlink(path), 0);
    now.vanishes -= now.vanishes > 0;
    st = rset_sys_posix.guard(fd, which, type);
    if (now.replaced) {
        assert_int_equal(unlink(path), 0);
        write_file(path, "new", 3);
    }
    now.replaced = false;
    return st;
}

static int
rename_what_vanishes(int from_dir, const char *from, int to_dir, const char *to)
{
    if (strcmp(from, BEGUN) == 0 && now.renames-- > 0)
        assert_int_equal(unlink(path_of("%s/%s", now.base, from)), 0);
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* ---- tests ---- */

static int
begin(void **state)
{
    static rset_sys sys;

    (void)state;
    now.base = scratch_make();
    now.data = "f.h5";
    now.name = rset_name_of(RSET_NAME_SHADOW, "f.h5.", GENERATION);
    now.guarded = RSET_BUG;
    now.local = (rset_local){.prefix = "f.h5.", .nfiles = 1, .names = &now.data};
    assert_int_equal(rset_dir_open(now.base, false, &now.local.dir, NULL), RSET_OK);
    write_file(path_of("%s/%s", now.base, now.data), (const uint8_t *)"old", 3);
    write_file(path_of("%s/%s", now.base, now.name), (const uint8_t *)"", 0);
    sys = rset_sys_posix;
    sys.unlinkat = unlink_while_it_is_guarded;
    sys.guard = guard_what_vanishes;
    sys.renameat = rename_what_vanishes;
    now.renames = now.vanishes = 0;
    now.replaced = false;
    rset_sys_use(&sys);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    rset_sys_use(NULL);
    rset_dir_close(now.local.dir);
    remove_tree(now.base);
    free(now.base);
    free(now.name);
    return 0;
}

/* By the next program, and by the next commit. */
static void
forget(bool by_commit)
{
    uint64_t      shadows[] = {GENERATION};
    rset_evidence ev = {.shadows = shadows, .nshadows = 1};
    rset_commit   other = {.generation = GENERATION + 1, .name = "", .desc_name = ""};
    rset_err      err = RSET_ERR_NONE;

    assert_int_equal(by_commit ? rset_forget_others(&now.local, &other, &err)
                               : rset_shadow_forget(&now.local, &ev, 0, NULL, &err),
                     RSET_OK);
}

static void
nobody_begins_to_write_what_is_removed(void **state)
{
    (void)state;
    forget(false);
    assert_int_equal(now.guarded, RSET_BUSY);
    assert_false(rset_dir_has_file(now.local.dir, now.name));
}

static void
nor_what_a_commit_removes(void **state)
{
    (void)state;
    forget(true);
    assert_int_equal(now.guarded, RSET_BUSY);
    assert_false(rset_dir_has_file(now.local.dir, now.name));
}

static void
what_is_written_stays(void **state)
{
    rset_file *guard = NULL;

    (void)state;
    assert_int_equal(rset_shadow_guard(&now.local, now.name, &guard, NULL), RSET_OK);
    forget(false);
    forget(true);
    assert_int_equal(now.guarded, RSET_BUG);
    assert_true(rset_dir_has_file(now.local.dir, now.name));
    rset_file_close(guard, NULL);
}

/* What it would write would have no name, and be lost. */
static void
who_comes_too_late_is_told(void **state)
{
    rset_file *guard = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    now.vanishes = 1;
    assert_int_equal(rset_shadow_guard(&now.local, now.name, &guard, &err), RSET_BUSY);
    assert_non_null(strstr(err.text, "removed it before it was written"));
    rset_file_close(guard, NULL);
}

/* But one that makes it makes it again, and keeps it then. */
static void
what_vanishes_is_made_again(void **state)
{
    rset_file *guard = NULL;
    rset_err   err = RSET_ERR_NONE;
    bool       has_name = false;

    (void)state;
    assert_int_equal(unlink(path_of("%s/%s", now.base, now.name)), 0);
    now.vanishes = 3;
    if (rset_shadow_make(&now.local, now.name, &guard, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_int_equal(now.vanishes, 0);
    forget(false);
    assert_int_equal(rset_file_has_name(now.local.dir, now.name, guard, &has_name, NULL), RSET_OK);
    assert_true(has_name);
    rset_file_close(guard, NULL);
}

/* Two have found one that was left, and the first has removed it: the second does not remove what was made since. */
static void
what_took_its_name_stays(void **state)
{
    (void)state;
    now.replaced = true;
    forget(false);
    assert_true(rset_dir_has_file(now.local.dir, now.name));
}

static rset_status
remove_guarded(void *arg)
{
    bool used;

    return rset_guarded_remove(now.local.dir, now.name, RSET_GUARD_WRITTEN, &used, arg);
}

/* Who cannot look, for want of a descriptor or because the disk does not answer, does not know whether a program has the file. */
static void
what_cannot_be_looked_at_stays(void **state)
{
    bool more = true;

    (void)state;
    for (int at = 1; more; at++) {
        rset_err          err = RSET_ERR_NONE;
        const rset_status st = failing_here(remove_guarded, &err, FAILING_LOOKS, at, &more);

        assert_int_equal(st, more ? RSET_IO : RSET_OK);
        assert_int_equal(rset_dir_has_file(now.local.dir, now.name), more);
        assert_true(!more || err.sys_errno == EIO);
    }
}

/* A program that has begun a journal holds its lock. */
static void
a_journal_that_is_begun_stays(void **state)
{
    rset_file *file = NULL;

    (void)state;
    write_file(path_of("%s/" BEGUN, now.base), "", 0);
    assert_int_equal(rset_file_open_update(now.local.dir, BEGUN, &file, NULL), RSET_OK);
    assert_true(rset_file_guard_as(file, RSET_GUARD_CHANGED, true));
    forget(true);
    assert_true(rset_dir_has_file(now.local.dir, BEGUN));
    rset_file_close(file, NULL);
    forget(true);
    assert_false(rset_dir_has_file(now.local.dir, BEGUN));
}

/* Before it had that. */
static void
one_that_vanishes_is_begun_again(void **state)
{
    rset_evidence ev = {0};
    rset_journal *j = NULL;
    rset_err      err = RSET_ERR_NONE;

    (void)state;
    now.renames = 2;
    if (rset_change_begin_first(&now.local, &ev, &j, &err) != RSET_OK)
        fail_msg("%s", err.text);
    assert_true(now.renames < 0);
    assert_true(rset_dir_has_file(now.local.dir, "f.h5.redset.0000000000000000.undo"));
    rset_journal_leave(j);
    rset_evidence_free(&ev);
}

int
main(void)
{
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HERE(nobody_begins_to_write_what_is_removed),
        HERE(nor_what_a_commit_removes),
        HERE(what_is_written_stays),
        HERE(who_comes_too_late_is_told),
        HERE(what_vanishes_is_made_again),
        HERE(what_took_its_name_stays),
        HERE(what_cannot_be_looked_at_stays),
        HERE(a_journal_that_is_begun_stays),
        HERE(one_that_vanishes_is_begun_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
