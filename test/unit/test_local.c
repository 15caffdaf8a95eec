/* test_local.c: the files of one rank that are in several directories (member.h): names in all of them become durable, and a
 * file is told from another of its name. */
#include "image.h"
#include "member/member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { FILES = 4, DIRS = 3 };

typedef struct scene {
    char      *base;
    rset_dir  *dir[DIRS], *dirs[FILES];
    rset_local local;
} scene;

static ino_t synced[2 * FILES];
static int   nsynced;

static int
note_fsync(int fd)
{
    struct stat sb;

    assert_int_equal(rset_sys_posix.fstat(fd, &sb), 0);
    assert_true(nsynced < 2 * FILES);
    synced[nsynced++] = sb.st_ino;
    return rset_sys_posix.fsync(fd);
}

static int
times_synced(const rset_dir *dir)
{
    struct stat sb;
    int         n = 0;

    assert_int_equal(stat(rset_dir_path(dir), &sb), 0);
    for (int i = 0; i < nsynced; i++)
        n += synced[i] == sb.st_ino;
    return n;
}

/* The first beside the redundancy, two in one other directory, one in a third. */
static int
set_up(void **state)
{
    static const char *const names[FILES] = {"a", "b", "a", "b"};
    static const char *const paths[FILES] = {"/n1/red/a", "/n1/x/b", "/n1/x/a", "/n1/y/b"};
    static const int         at[FILES] = {0, 1, 1, 2};
    rset_err                 err = RSET_ERR_NONE;
    scene                   *s = calloc(1, sizeof *s);

    s->base = scratch_make();
    for (int i = 0; i < DIRS; i++)
        assert_int_equal(rset_dir_open(path_of("%s/%d", s->base, i), true, &s->dir[i], &err),
                         RSET_OK);
    for (int i = 0; i < FILES; i++)
        s->dirs[i] = s->dir[at[i]];
    s->local = (rset_local){.dir = s->dir[0],
                            .dirs = s->dirs,
                            .prefix = "a.",
                            .nfiles = FILES,
                            .names = names,
                            .paths = paths};
    *state = s;
    return 0;
}

static int
tear_down(void **state)
{
    scene *s = *state;

    rset_sys_use(NULL);
    for (int i = 0; i < DIRS; i++)
        rset_dir_close(s->dir[i]);
    remove_tree(s->base);
    free(s->base);
    free(s);
    return 0;
}

/* P11 */
static void
names_in_each_directory_become_durable_once(void **state)
{
    scene   *s = *state;
    rset_err err = RSET_ERR_NONE;
    rset_sys table = rset_sys_posix;

    table.fsync = note_fsync;
    nsynced = 0;
    rset_sys_use(&table);
    assert_int_equal(rset_local_sync(&s->local, &err), RSET_OK);
    assert_int_equal(nsynced, DIRS);
    for (int i = 0; i < DIRS; i++)
        assert_int_equal(times_synced(s->dir[i]), 1);
    s->local.dirs = NULL;
    assert_int_equal(rset_local_sync(&s->local, &err), RSET_OK);
    assert_int_equal(nsynced, DIRS + 1);
    assert_int_equal(times_synced(s->dir[0]), 2);
}

static void
a_directory_that_is_missing_has_no_files(void **state)
{
    scene   *s = *state;
    rset_err err = RSET_ERR_NONE;
    bool     there = false;

    for (int i = 0; i < FILES; i++)
        write_file(path_of("%s/%s", rset_dir_path(s->dirs[i]), s->local.names[i]), "", 0);
    assert_int_equal(rset_local_there(&s->local, &there, &err), RSET_OK);
    assert_true(there);
    s->dirs[3] = NULL;
    assert_int_equal(rset_local_there(&s->local, &there, &err), RSET_OK);
    assert_false(there);
    assert_int_equal(rset_local_sync(&s->local, &err), RSET_OK);
}

static int
misplaced(const scene *s, const char *a, const char *b, const char *c, const char *d)
{
    rset_file_info files[FILES] = {
        {.path = (char *)a}, {.path = (char *)b}, {.path = (char *)c}, {.path = (char *)d}};

    return rset_local_misplaced(&s->local, &(rset_info){.nfiles = FILES, .files = files});
}

static void
a_file_is_told_from_another_of_its_name(void **state)
{
    scene *s = *state;

    assert_int_equal(misplaced(s, "/n1/red/a", "/n1/x/b", "/n1/x/a", "/n1/y/b"), -1);
    assert_int_equal(misplaced(s, "/n2/red/a", "/n2/x/b", "/n2/x/a", "/n2/y/b"), -1); /* moved */
    assert_int_equal(misplaced(s, "/all/a", "/all/b", "/other/a", "/other/b"), -1);
    assert_int_equal(misplaced(s, "/n1/red/a", "/n1/y/b", "/n1/x/a", "/n1/x/b"), 1);
    assert_int_equal(misplaced(s, "/n2/x/a", "/n2/x/b", "/n2/red/a", "/n2/y/b"), 0);
    assert_int_equal(misplaced(s, "/n1/red/a", "/n1/x/b", "/n1/x/c", "/n1/y/b"), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_in_each_directory_become_durable_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_directory_that_is_missing_has_no_files, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_told_from_another_of_its_name, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
