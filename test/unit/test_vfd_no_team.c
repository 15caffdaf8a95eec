/* test_vfd_no_team.c: the driver on a rank that has no memory to find out with whom its file is protected, so that it cannot ask them.
 * It changes nothing that the others have no part in; or what it has changed is rolled back when all ranks next open their files. */
#include "H5FDredset.h"
#include "image.h"
#include "job.h"
#include "team.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 3, VALUES = 3000 };
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

static bool
write_values(hid_t file, int from)
{
    const hsize_t n = VALUES;
    const hid_t   space = H5Screate_simple(1, &n, NULL);
    int           data[VALUES];
    hid_t         set;
    bool          ok;

    for (int i = 0; i < VALUES; i++)
        data[i] = from + i;
    set = H5Lexists(file, "d", H5P_DEFAULT) > 0
              ? H5Dopen2(file, "d", H5P_DEFAULT)
              : H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Sclose(space);
    return set >= 0 && H5Dclose(set) >= 0 && ok;
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

typedef struct world {
    char *base, *paths[RANKS];
    job   j;
    image image;
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    w->base = scratch_make();
    job_init(&w->j, w->base, RANKS, &rset_scheme_xor, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        hid_t file;

        w->paths[r] = strdup(path_of("%s/%s", w->j.ranks[r].dir, w->j.ranks[r].names[0]));
        w->j.ranks[r].path = w->paths[r];
        file = H5Fcreate(w->paths[r], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(file >= 0 && write_values(file, 1) && H5Fclose(file) >= 0);
    }
    assert_int_equal(job_protect(&w->j), RSET_OK);
    w->image = image_take(w->base);
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;

    for (int r = 0; r < RANKS; r++) {
        w->j.ranks[r].path = NULL;
        free(w->paths[r]);
    }
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->j);
    free(w);
    return 0;
}

static void
assert_data(const world *w)
{
    char why[1024];

    for (int r = 0; r < RANKS; r++)
        if (!image_same(&w->image, w->base, w->paths[r] + strlen(w->base) + 1, IMAGE_CONTENT, why))
            fail_msg("%s", why);
}

static void
who_wants_protection_changes_nothing(void **state)
{
    const world *w = *state;

    assert_int_equal(run(w->paths[0], true), REFUSED);
    assert_data(w);
}

/* Else there would be a new file of one rank among the old ones of the others. */
static void
what_it_has_changed_is_rolled_back(void **state)
{
    world *w = *state;

    assert_int_equal(run(w->paths[0], false), CLOSED); /* with a warning */
    assert_int_equal(job_recover(&w->j), RSET_OK);
    assert_data(w);
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
