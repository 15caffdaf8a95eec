/* Files that HDF5 does not open (vfd/plain.h): a directory that is missing is one that a rebuild makes; one that cannot be looked at is an
 * error, whatever is missing beside it. */
#include "failing.h"
#include "plain.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rset_status
take(void *arg)
{
    const char *const *paths = arg;
    rset_plain_files   files;
    rset_err           err = RSET_ERR_NONE;
    const rset_status  st = rset_plain_files_take(paths, 2, &files, &err);

    rset_plain_files_free(&files);
    return st;
}

static void
a_directory_that_cannot_be_opened_is_said(void **state)
{
    char       *top = scratch_make();
    const char *paths[] = {path_of("%s/missing/a", top), path_of("%s/b", top)};
    bool        hit = true;

    (void)state;
    assert_int_equal(take(paths), RSET_OK);
    for (int directory = 1; directory <= 2; directory++) {
        assert_int_equal(failing_here(take, paths, FAILING_OPEN, directory, &hit), RSET_IO);
        assert_true(hit);
    }
    remove_tree(top);
    free(top);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_directory_that_cannot_be_opened_is_said)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
