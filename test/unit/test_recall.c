/* test_recall.c: what a directory held when it was listed last (recall.h) is believed as long as nobody can have put anything there since,
 * whatever becomes of the wall clock. Files have their times from the machine's own clock here, which is right. */
#include "image.h"
#include "store/recall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOUR = 3600 };

static time_t wrong; /* so many seconds ahead is the clock of this process */

time_t
time(time_t *out)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec + wrong;
    return now.tv_sec + wrong;
}

static bool
count(const char *name, void *arg)
{
    (void)name;
    ++*(int *)arg;
    return true;
}

/* How many names it has, as far as is known of it; `since`: of a file that has this time, NULL: of any. */
static int
known(const char *base, const struct timespec *since)
{
    const rset_recall what = {.word = "redset", .prefix = "f.", .since = since};
    rset_dir         *dir = NULL;
    rset_err          err = RSET_ERR_NONE;
    int               n = 0;

    assert_int_equal(rset_dir_open(base, false, &dir, &err), RSET_OK);
    assert_int_equal(rset_dir_recall(dir, &what, count, &n, &err), RSET_OK);
    rset_dir_close(dir);
    return n;
}

static struct timespec
make(const char *base, const char *name)
{
    struct stat sb;

    write_file(path_of("%s/%s", base, name), "x", 1);
    assert_int_equal(stat(path_of("%s/%s", base, name), &sb), 0);
    return sb.st_ctim;
}

/* Listed while the clock was ahead or behind; then it is set right, and somebody puts a file there. */
static void
the_clock_is_set(void **state)
{
    static const time_t errors[] = {HOUR, 365 * 24 * HOUR, -HOUR, -365 * 24 * HOUR};

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char           *base = scratch_make();
        struct timespec since;

        rset_recall_forget();
        wrong = errors[i];
        (void)make(base, "f.1.redset");
        assert_int_equal(known(base, NULL), 1);
        wrong = 0;
        since = make(base, "f.2.redset");
        assert_int_equal(known(base, NULL), 1); /* as it was listed */
        assert_int_equal(known(base, &since), 2);
        remove_tree(base);
        free(base);
    }
}

/* Listed while it was right; it goes wrong, and a file comes from where it is wrong as well. */
static void
the_clock_goes_wrong(void **state)
{
    char           *base = scratch_make();
    struct timespec since;

    (void)state;
    rset_recall_forget();
    (void)make(base, "f.1.redset");
    assert_int_equal(known(base, NULL), 1);
    since = make(base, "f.2.redset");
    since.tv_sec -= HOUR;
    wrong = -HOUR;
    assert_int_equal(known(base, &since), 2);
    wrong = 0;
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_set),
        cmocka_unit_test(the_clock_goes_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
