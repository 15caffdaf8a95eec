/* test_vfd_no_team.c: the driver on a rank that has no memory to find out with whom its file is protected, so that it cannot ask them.
 * It changes nothing that the others have no part in; or what it has changed is rolled back when all ranks next open their files. */
#include "H5FDredset.h"
#include "team.h"
#include "vfd_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { REFUSED = 100, NOT_CLOSED, CLOSED }; /* what a program comes to: exit statuses */

rset_status __wrap_rset_team_find(const rset_config *config, rset_team **team_out, rset_err *err);

/* Somebody is there to be asked. */
rset_status
__wrap_rset_team_find(const rset_config *config, rset_team **team_out, rset_err *err)
{
    (void)config;
    *team_out = NULL;
    return rset_fail(err, RSET_NOMEM, "no memory for the ranks of a communicator");
}

static hid_t
list_of(bool required)
{
    const hid_t          fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_redset_config_t config;

    H5FD_redset_config_init(&config);
    config.required = required;
    assert_true(H5Pset_fapl_redset(fapl, &config) >= 0);
    return fapl;
}

static int
program(const char *path, bool required)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, list_of(required));

    if (file < 0)
        return REFUSED;
    return write_values(file, 7) && H5Fclose(file) >= 0 ? CLOSED : NOT_CLOSED;
}

/* In a child: a close that fails leaves an HDF5 behind that cannot be used again. */
static int
run(const char *path, bool required)
{
    int   status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(program(path, required));
    }
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int
begin(void **state)
{
    scene *s = calloc(1, sizeof *s);

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    s->base = scratch_make();
    scene_begin(s, H5P_DEFAULT, 1);
    *state = s;
    return 0;
}

static int
end(void **state)
{
    scene_end(*state);
    return 0;
}

static void
assert_data(const scene *s)
{
    char why[1024];

    for (int r = 0; r < RANKS; r++)
        if (!image_same(&s->image, s->base, s->paths[r] + strlen(s->base) + 1, IMAGE_CONTENT, why))
            fail_msg("%s", why);
}

static void
who_wants_protection_changes_nothing(void **state)
{
    const scene *s = *state;

    assert_int_equal(run(s->paths[0], true), REFUSED);
    assert_data(s);
}

/* Else there would be a new file of one rank among the old ones of the others. */
static void
what_it_has_changed_is_rolled_back(void **state)
{
    scene *s = *state;

    assert_int_equal(run(s->paths[0], false), CLOSED); /* with a warning */
    assert_int_equal(job_recover(&s->j), RSET_OK);
    assert_data(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_wants_protection_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(what_it_has_changed_is_rolled_back, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
