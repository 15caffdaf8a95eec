/* Many names of ours in a directory, which anybody may have put there: what it costs to look at them grows with n log n. */
#include "image.h"
#include "member/member.h"
#include "names/names.h"
#include "store/recall.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PLANTED = 5000,
    EACH = 1000 /* comparisons of a planted name: some for what it is, and some log2(n) */
};

static _Atomic unsigned long comparisons;

int __real_strcmp(const char *a, const char *b); // NOLINT(bugprone-reserved-identifier)
int __wrap_strcmp(const char *a, const char *b); // NOLINT(bugprone-reserved-identifier)

int
__wrap_strcmp(const char *a, const char *b) // NOLINT(bugprone-reserved-identifier)
{
    comparisons++;
    return __real_strcmp(a, b);
}

/* A number between what is before and after it, with so many digits. */
static const struct form {
    const char *before;
    int         digits;
    const char *after;
} forms[] = {{"f.h5.", 1, ".redset"},
             {"f.h5.", 1, ".xor.grp_1_of_1.mem_1_of_4.redset"},
             {"f.h5.redset.", 16, ".data"},
             {"f.h5.redset.", 16, ".new"}};

static void
plant(const char *base, const struct form *form, int number)
{
    char name[200];
    int  fd;

    snprintf(name, sizeof name, "%s%0*d%s", form->before, form->digits, number, form->after);
    fd = open(path_of("%s/%s", base, name), O_CREAT | O_EXCL | O_WRONLY, 0666);
    assert_true(fd >= 0 && close(fd) == 0);
}

/* Each is found once, and in order. */
static void
assert_all_found(rset_dir *dir)
{
    rset_names names;

    assert_int_equal(rset_names_list(dir, "f.h5.", &names, NULL), RSET_OK);
    assert_int_equal(names.n, PLANTED);
    for (size_t i = 1; i < names.n; i++)
        assert_true(__real_strcmp(names.at[i - 1], names.at[i]) < 0);
    rset_names_free(&names);
}

static void
looking_costs_n_log_n(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char         *base = scratch_make();
        rset_dir     *dir = NULL;
        rset_evidence found;

        for (int n = 0; n < PLANTED; n++)
            plant(base, &forms[i], n);
        assert_int_equal(rset_dir_open(base, false, &dir, NULL), RSET_OK);
        comparisons = 0;
        assert_all_found(dir);
        assert_int_equal(rset_survey(dir, "f.h5.", "f.h5", &found, NULL), RSET_OK);
        if (comparisons > (unsigned long)PLANTED * EACH)
            fail_msg("%lu comparisons for %d names of the form N%s", comparisons, PLANTED,
                     forms[i].after);
        rset_evidence_free(&found);
        rset_dir_close(dir);
        remove_tree(base);
        free(base);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(looking_costs_n_log_n)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
