/* test_whose.c: a directory in which everybody may make files, as /dev/shm is: what another user puts beside a protected file counts for
 * nothing, is left where it is, and stops nobody from opening good data (encode/names/whose.c). Needs root, to be two users. */
#include "image.h"
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 4, VICTIM = 4001, ATTACKER = 4002 };

static const size_t size = 3000;

typedef struct world {
    char *base,
        *other; /* the victim's directories, and the attacker's own, where he makes what he plants */
    job   job, forged;
    image image;
} world;

static void
be(uid_t uid)
{
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(uid), 0);
    assert_int_equal(seteuid(uid), 0);
}

static void
everybodys(const char *base)
{
    be(0);
    assert_int_equal(chmod(base, 0755), 0);
    for (int r = 0; r < N; r++)
        assert_int_equal(chmod(path_of("%s/node%d", base, r), 01777), 0);
}

static void
open_world(world *w, const rset_scheme *scheme, int parity, bool protect)
{
    *w = (world){.base = scratch_make(), .other = scratch_make()};
    job_init(&w->job, w->base, N, scheme, parity, N);
    job_init(&w->forged, w->other, N, &rset_scheme_partner, 1, N);
    everybodys(w->base);
    everybodys(w->other);
    be(VICTIM);
    job_write_data(&w->job, &size, 1, 1);
    if (protect)
        assert_int_equal(job_protect(&w->job), RSET_OK);
    be(0);
    w->image = image_take(w->base);
}

static void
close_world(world *w)
{
    be(0);
    remove_tree(w->base);
    remove_tree(w->other);
    free(w->base);
    free(w->other);
    image_free(&w->image);
    job_free(&w->job);
    job_free(&w->forged);
}

/* Other content under the same names, protected `times` times, in the attacker's own directories. */
static void
forge(world *w, int times)
{
    be(ATTACKER);
    for (int i = 0; i < times; i++) {
        job_write_data(&w->forged, &size, 1, 7 + i);
        assert_int_equal(job_protect(&w->forged), RSET_OK);
    }
}

static void
copy_as(uid_t uid, const char *from, const char *to)
{
    size_t   n = 0;
    uint8_t *bytes;

    be(uid);
    bytes = read_file(from, &n);
    write_file(to, bytes, n);
    free(bytes);
}

/* What protects the forged files, beside the victim's. */
static void
plant_forged(world *w)
{
    for (int r = 0; r < N; r++) {
        const char *redundancy = job_redundancy(&w->forged, r);
        const char *descriptor = job_descriptor(&w->forged, r);

        const char *beside = path_of("%s/node%d/%s", w->base, r, strrchr(descriptor, '/') + 1);

        copy_as(ATTACKER, redundancy,
                path_of("%s/node%d/%s", w->base, r, strrchr(redundancy, '/') + 1));
        if (!exists(beside)) /* of the other scheme it has another name */
            copy_as(ATTACKER, descriptor, beside);
    }
}

/* Nothing says what may be there, as after a restart of the machine: the directories are listed. */
static void
forget_names(const world *w)
{
    be(0);
    for (int r = 0; r < N; r++)
        (void)unlink(path_of("%s.redset.names", job_data(&w->job, r)));
}

static void
assert_victims(const world *w, int r)
{
    char        why[1024];
    const char *at = path_of("node%d/ckpt_%d.h5", r, r);

    be(0);
    if (!image_same_file(&w->image, at, path_of("%s/%s", w->base, at), why))
        fail_msg("%s", why);
}

static void
assert_all_victims(const world *w)
{
    for (int r = 0; r < N; r++)
        assert_victims(w, r);
}

static void
what_another_user_protects_is_not_laid_over_unprotected_files(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, false);
    forge(&w, 1);
    plant_forged(&w);
    be(VICTIM);
    assert_int_equal(job_recover(&w.job), RSET_ABSENT);
    assert_false(w.job.ranks[0].any);

    assert_all_victims(&w);
    close_world(&w);
}

static void
nor_over_protected_ones_however_new_it_says_it_is(void **state)
{
    (void)state;
    for (int lost = -1; lost < N; lost++) {
        world w;

        open_world(&w, &rset_scheme_xor, 1, true);
        forge(&w, 3);
        plant_forged(&w);
        forget_names(&w);
        if (lost >= 0)
            assert_int_equal(unlink(job_data(&w.job, lost)), 0);
        be(VICTIM);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_true(w.job.ranks[0].any);
        assert_all_victims(&w);
        close_world(&w);
    }
}

/* Everything under the file's name is another user's; only the others of the set are there. */
static void
a_planted_data_file_is_not_taken_for_the_lost_one(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, true);
    forge(&w, 3);
    be(0);
    assert_int_equal(unlink(job_data(&w.job, 1)), 0);
    copy_as(ATTACKER, job_data(&w.forged, 1), job_data(&w.job, 1));
    plant_forged(&w);
    forget_names(&w);
    be(VICTIM);
    assert_int_not_equal(job_recover(&w.job), RSET_OK);
    assert_non_null(strstr(job_text(&w.job), "belongs to user 4002"));
    be(0);
    assert_int_equal(unlink(job_data(&w.job, 1)), 0);
    be(VICTIM);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_victims(&w, 1);
    close_world(&w);
}

/* An update that the attacker has decided on of files of the same names. */
static void
an_update_of_another_user_is_not_laid_over_the_redundancy(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, true);
    job_free(&w.forged);
    job_init(&w.forged, w.other, N, &rset_scheme_xor, 1, N);
    forge(&w, 1);
    w.forged.update = true;
    job_die_decided(&w.forged, 0xf);
    for (int r = 0; r < N; r++)
        copy_as(ATTACKER, path_of("%s.redo", job_redundancy(&w.forged, r)),
                path_of("%s.redo", job_redundancy(&w.job, r)));
    be(VICTIM);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_all_victims(&w);
    be(0);
    assert_int_equal(unlink(job_data(&w.job, 2)), 0);
    be(VICTIM);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_all_victims(&w);
    close_world(&w);
}

/* ---- each kind of object under each kind of name ---- */

enum { FIFO, LINK, DIRECTORY, EMPTY, GARBAGE, COPY, OBJECTS };

#define G "redset.0000010000000001"

static const char *const names[] = {
    "redset.names",
    G ".new",
    G ".data",
    G ".undo",
    G ".fix",
    G ".newer",
    G ".lost",
    "redset.0000000000000000.undo",
    "redset.0000000000000000.fix",
    "R.void",
    "R.new",
    "R.fix",
    "R.redo",
    "D.new",
    "0.redset.0.fix",
};

enum { NAMES = sizeof names / sizeof *names };

/* R: the redundancy file of rank 0, D: its descriptor file; the rest lies beside its data file. */
static char *
name_of(const world *w, const char *name)
{
    char *path;

    if (name[0] == 'R' || name[0] == 'D')
        assert_true(
            asprintf(&path, "%s%s",
                     name[0] == 'R' ? job_redundancy(&w->job, 0) : job_descriptor(&w->job, 0),
                     name + 1) > 0);
    else
        assert_true(asprintf(&path, "%s.%s", job_data(&w->job, 0), name) > 0);
    return path;
}

static void
plant(const world *w, int what, const char *path)
{
    static const uint8_t garbage[4096] = {1, 2, 3};

    be(0);
    (void)unlink(path);
    be(ATTACKER);
    if (what == FIFO)
        assert_int_equal(mkfifo(path, 0666), 0);
    else if (what == LINK)
        assert_int_equal(symlink(job_data(&w->job, 3), path), 0);
    else if (what == DIRECTORY)
        assert_int_equal(mkdir(path, 0777), 0);
    else if (what == COPY)
        copy_as(ATTACKER, job_redundancy(&w->job, 0), path);
    else
        write_file(path, garbage, what == EMPTY ? 0 : sizeof garbage);
}

static bool
is_still_there(const char *path, const struct stat *was)
{
    struct stat now;

    return lstat(path, &now) == 0 && now.st_ino == was->st_ino && now.st_uid == was->st_uid &&
           now.st_size == was->st_size;
}

/* Good data is opened; a commit succeeds, or says whose file is in its way; and what was opened before or written since is what is found. */
static void
try_with(const char *name, int what, bool listed)
{
    world       w;
    char       *path, why[1024];
    struct stat was;
    image       after;
    rset_status st;

    open_world(&w, &rset_scheme_xor, 1, true);
    path = name_of(&w, name);
    if (!listed)
        forget_names(&w);
    plant(&w, what, path);
    assert_int_equal(lstat(path, &was), 0);
    be(VICTIM);
    if (job_recover(&w.job) != RSET_OK)
        fail_msg("%s, object %d: refused: %s", name, what, job_text(&w.job));
    assert_all_victims(&w);
    be(VICTIM);
    job_run(&w.job, job_body_void);
    job_write_data(&w.job, &size, 1, 2);
    st = job_protect(&w.job);
    if (st != RSET_OK && strstr(job_text(&w.job), "belongs to user 4002") == NULL)
        fail_msg("%s, object %d: %s", name, what, job_text(&w.job));
    be(0);
    after = image_take(w.base);
    if (st == RSET_OK) {
        assert_int_equal(unlink(job_data(&w.job, 1)), 0);
        be(VICTIM);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        be(0);
        if (!image_same_file(&after, "node1/ckpt_1.h5", job_data(&w.job, 1), why))
            fail_msg("%s, object %d: %s", name, what, why);
    }
    if (!is_still_there(path, &was))
        fail_msg("%s, object %d: is gone, or was changed", name, what);
    image_free(&after);
    free(path);
    close_world(&w);
}

static void
nothing_planted_stops_the_opening_of_good_data(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++)
        for (int what = 0; what < OBJECTS; what++)
            for (int listed = 0; listed < 2; listed++)
                try_with(names[i], what, listed != 0);
}

static int
no_room(int from_dir, const char *from, int to_dir, const char *to)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to;
    errno = ENOSPC;
    return -1;
}

/* Looking whether a file of somebody else is in the way does not hide why a rename failed. */
static void
a_rename_that_fails_says_why(void **state)
{
    const rset_trust trust = {.uid = 0, .gid = RSET_NO_GID, .word = ".redset"};
    rset_sys         full = rset_sys_posix;
    char            *base;
    rset_dir        *dir;
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    be(0);
    base = scratch_make();
    assert_int_equal(rset_dir_open(base, false, &dir, &err), RSET_OK);
    rset_dir_trust(dir, &trust);
    full.renameat = no_room;
    rset_sys_use(&full);
    assert_int_equal(rset_dir_rename(dir, "a.redset.new", "a.redset", &err), RSET_IO);
    rset_sys_use(NULL);
    assert_true(rset_err_lacks_room(&err));
    rset_dir_close(dir);
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_user_protects_is_not_laid_over_unprotected_files),
        cmocka_unit_test(nor_over_protected_ones_however_new_it_says_it_is),
        cmocka_unit_test(a_planted_data_file_is_not_taken_for_the_lost_one),
        cmocka_unit_test(an_update_of_another_user_is_not_laid_over_the_redundancy),
        cmocka_unit_test(a_rename_that_fails_says_why),
        cmocka_unit_test(nothing_planted_stops_the_opening_of_good_data),
    };

    if (geteuid() != 0) {
        printf("SKIP: only root can be two users\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
