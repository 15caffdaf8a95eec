/* test_renamed.c: which data files are recognised as ones that were protected under another name (member/renamed.h), which are
 * not, and that what protects one gets its name at once or not at all. */
#include "commit/renamed.h"
#include "image.h"
#include "job.h"
#include "names/names.h"
#include "store/recall.h"
#include "store/store_sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* Rank 0's file was protected as ckpt_0.h5, and is final.h5 now. */
typedef struct world {
    char      *base;
    job        job;
    rset_dir  *dir;
    rset_local local;
} world;

static const char *const final[] = {"final.h5"};

static const char *
in_dir(const world *w, const char *name)
{
    return path_of("%s/%s", w->job.ranks[0].dir, name);
}

static void
protected_as(world *w, const char *path)
{
    static const size_t sizes[] = {5000};

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, RANKS, &rset_scheme_xor, 1, RANKS);
    job_write_data(&w->job, sizes, 1, 1);
    w->job.ranks[0].path = path;
    assert_int_equal(job_protect(&w->job), RSET_OK);
    assert_int_equal(rset_dir_open(w->job.ranks[0].dir, false, &w->dir, NULL), RSET_OK);
    w->local = (rset_local){
        .dir = w->dir, .prefix = "final.h5.", .nfiles = 1, .names = final, .paths = final};
}

static void
renamed(world *w)
{
    assert_int_equal(rename(in_dir(w, "ckpt_0.h5"), in_dir(w, "final.h5")), 0);
    rset_recall_forget();
}

static int
setup(void **state)
{
    static world w;

    protected_as(&w, NULL);
    renamed(&w);
    *state = &w;
    return 0;
}

static int
teardown(void **state)
{
    world *w = *state;

    rset_dir_close(w->dir);
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
    return 0;
}

/* Under which name it was protected, "" if it is not recognised; in a buffer of its own. */
static const char *
found_as(const world *w)
{
    static char   text[256];
    rset_err      err = RSET_ERR_NONE;
    rset_evidence ev = {0}, found = {0};
    char         *prefix = NULL;

    rset_recall_forget();
    assert_int_equal(rset_survey_local(&w->local, &ev, &err), RSET_OK);
    assert_int_equal(rset_renamed_find(&w->local, &ev, &prefix, &found, &err), RSET_OK);
    if (prefix != NULL)
        assert_true(found.has_header && found.header.infos[0].desc.rank == 0);
    snprintf(text, sizeof text, "%s", prefix != NULL ? prefix : "");
    rset_evidence_free(&ev);
    rset_evidence_free(&found);
    free(prefix);
    return text;
}

/* The generation that the data file names; false: it names none, or nothing can be named on this file system. */
static bool
set_mark(const world *w, uint64_t generation)
{
    rset_file *file = NULL;
    bool       is;

    assert_int_equal(rset_file_open_update(w->dir, "final.h5", &file, NULL), RSET_OK);
    rset_file_set_mark(file, generation);
    is = rset_file_get_mark(file) == generation;
    rset_file_close(file, NULL);
    return is;
}

/* What lies under the old name gets this suffix, or loses it. */
static void
rename_redundancy(const world *w, const char *from, const char *to)
{
    const char *red = job_redundancy(&w->job, 0);

    assert_int_equal(rename(path_of("%s%s", red, from), path_of("%s%s", red, to)), 0);
}

/* ---- recognised ---- */

static void
content_and_generation(void **state)
{
    const world *w = *state;

    assert_string_equal(found_as(w), "ckpt_0.h5.");
}

static void
content_alone(void **state)
{
    const world *w = *state;

    (void)set_mark(w, 0);
    assert_string_equal(found_as(w), "ckpt_0.h5.");
}

/* Whatever lies under the old name that is no file. */
static void
directory_of_the_old_name(void **state)
{
    const world *w = *state;

    assert_int_equal(mkdir(in_dir(w, "ckpt_0.h5"), 0777), 0);
    assert_string_equal(found_as(w), "ckpt_0.h5.");
}

/* While ours is put aside, another job protects files of the same content, of which rank 0's has this name. */
static void
protect_another(const world *w, job *other, const char *name, int version)
{
    static const size_t sizes[] = {5000};

    assert_int_equal(rename(in_dir(w, "final.h5"), in_dir(w, "kept")), 0);
    job_init(other, w->base, RANKS, &rset_scheme_xor, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        free(other->ranks[r].names[0]);
        free(other->ranks[r].prefix);
        assert_true(asprintf(&other->ranks[r].names[0], "%s", name) > 0);
        assert_true(asprintf(&other->ranks[r].prefix, "%s.", name) > 0);
    }
    job_write_data(other, sizes, 1, version);
    assert_int_equal(job_protect(other), RSET_OK);
    assert_true(other->ranks[0].desc.generation != w->job.ranks[0].desc.generation);
    assert_int_equal(unlink(in_dir(w, name)), 0);
    assert_int_equal(rename(in_dir(w, "kept"), in_dir(w, "final.h5")), 0);
}

/* What its own name has records another generation: of the file that it has replaced. */
static void
over_a_protected_one(void **state)
{
    const world *w = *state;
    job          other;

    protect_another(w, &other, "final.h5", 2);
    if (set_mark(w, w->job.ranks[0].desc.generation))
        assert_string_equal(found_as(w), "ckpt_0.h5.");
    (void)set_mark(w, 0); /* then it looks as one that is damaged */
    assert_string_equal(found_as(w), "");
    job_free(&other);
}

/* ---- not recognised ---- */

static void
size_differs(void **state)
{
    const world *w = *state;

    append_file(in_dir(w, "final.h5"), "x", 1);
    assert_string_equal(found_as(w), "");
    assert_int_equal(truncate(in_dir(w, "final.h5"), 4999), 0);
    assert_string_equal(found_as(w), "");
    assert_int_equal(truncate(in_dir(w, "final.h5"), 0), 0);
    assert_string_equal(found_as(w), "");
}

static void
content_differs(void **state)
{
    const world *w = *state;

    flip_bit(in_dir(w, "final.h5"), 4999);
    assert_string_equal(found_as(w), "");
    flip_bit(in_dir(w, "final.h5"), 4999);
    assert_string_equal(found_as(w), "ckpt_0.h5.");
}

static void
other_generation(void **state)
{
    const world *w = *state;

    if (!set_mark(w, w->job.ranks[0].desc.generation + 1))
        skip();
    assert_string_equal(found_as(w), "");
}

/* A copy, or one more name, of a file that is there. */
static void
old_name_is_there(void **state)
{
    const world *w = *state;

    assert_int_equal(link(in_dir(w, "final.h5"), in_dir(w, "ckpt_0.h5")), 0);
    assert_string_equal(found_as(w), "");
    assert_int_equal(unlink(in_dir(w, "ckpt_0.h5")), 0);
    write_file(in_dir(w, "ckpt_0.h5"), "another", 7);
    assert_string_equal(found_as(w), "");
}

static void
changed_since(void **state)
{
    const world *w = *state;
    char        *name;

    rename_redundancy(w, "", RSET_SUFFIX_VOID);
    assert_string_equal(found_as(w), "");
    rename_redundancy(w, RSET_SUFFIX_VOID, RSET_SUFFIX_NEW);
    assert_string_equal(found_as(w), "");
    rename_redundancy(w, RSET_SUFFIX_NEW, "");
    name = rset_name_of(RSET_NAME_UNDO, "ckpt_0.h5.", w->job.ranks[0].desc.generation);
    write_file(in_dir(w, name), "torn", 4);
    assert_string_equal(found_as(w), "");
    unlink(in_dir(w, name));
    assert_string_equal(found_as(w), "ckpt_0.h5.");
    free(name);
}

/* A journal, and a commit that was begun, say themselves what the file is. */
static void
something_of_its_own(void **state)
{
    const world *w = *state;

    write_file(in_dir(w, "final.h5.redset.0000000000000000.undo"), "torn", 4);
    assert_string_equal(found_as(w), "");
}

static void
not_there(void **state)
{
    const world *w = *state;

    assert_int_equal(unlink(in_dir(w, "final.h5")), 0);
    assert_string_equal(found_as(w), "");
    assert_int_equal(mkdir(in_dir(w, "final.h5"), 0777), 0);
    assert_string_equal(found_as(w), "");
}

/* ---- two of them ---- */

static void
two_candidates(void **state)
{
    const world *w = *state;
    job          other;

    protect_another(w, &other, "a.h5", 1);
    if (set_mark(w, w->job.ranks[0].desc.generation))
        assert_string_equal(found_as(w), "ckpt_0.h5.");
    if (set_mark(w, other.ranks[0].desc.generation))
        assert_string_equal(found_as(w), "a.h5.");
    (void)set_mark(w, 0);
    assert_string_not_equal(found_as(w), ""); /* both record it: any of them does */
    job_free(&other);
}

/* Who looks at many files gets each record once. */
static void
taken_once(void **state)
{
    const world     *w = *state;
    rset_left_behind left;
    rset_evidence    none = {0}, found = {0};
    char            *prefix = NULL;

    assert_int_equal(rset_left_behind_list(w->dir, &left, NULL), RSET_OK);
    assert_int_equal(left.n, 1);
    assert_true(rset_left_behind_fits(&left, 5000) && !rset_left_behind_fits(&left, 4999));
    assert_int_equal(rset_left_behind_take(&left, &w->local, &none, &prefix, &found, NULL),
                     RSET_OK);
    assert_string_equal(prefix, "ckpt_0.h5.");
    rset_evidence_free(&found);
    free(prefix);
    assert_false(rset_left_behind_fits(&left, 5000));
    assert_int_equal(rset_left_behind_take(&left, &w->local, &none, &prefix, &found, NULL),
                     RSET_OK);
    assert_null(prefix);
    rset_left_behind_free(&left);
}

/* ---- hostile headers ---- */

/* Each byte of the header another one: it is recognised as what it is, or not at all. */
static void
damaged_header(void **state)
{
    const world *w = *state;

    for (size_t at = 0; at < 1500; at += 7) {
        const char *red = job_redundancy(&w->job, 0);
        const char *as;

        flip_bit(red, at);
        as = found_as(w);
        assert_true(as[0] == '\0' || strcmp(as, "ckpt_0.h5.") == 0);
        flip_bit(red, at);
    }
    assert_int_equal(truncate(job_redundancy(&w->job, 0), 100), 0);
    assert_string_equal(found_as(w), "");
    write_file(job_redundancy(&w->job, 0), "", 0);
    assert_string_equal(found_as(w), "");
}

static void
adopt(const world *w, rset_status expected)
{
    rset_err      err = RSET_ERR_NONE;
    rset_evidence ev = {0}, found = {0};
    char         *prefix = NULL;

    rset_recall_forget();
    assert_int_equal(rset_survey_local(&w->local, &ev, &err), RSET_OK);
    assert_int_equal(rset_renamed_find(&w->local, &ev, &prefix, &found, &err), RSET_OK);
    assert_non_null(prefix);
    assert_int_equal(rset_renamed_adopt(&w->local, prefix, &found, &err), expected);
    rset_evidence_free(&ev);
    rset_evidence_free(&found);
    free(prefix);
}

/* Whatever path a header records, only names in the directory change. */
static void
hostile_path(void **state)
{
    world       hostile;
    const char *outside;

    (void)state;
    protected_as(&hostile, "/../../outside/../ckpt_0.h5");
    renamed(&hostile);
    outside = path_of("%s/ckpt_0.h5", hostile.base);
    write_file(outside, "mine", 4);
    adopt(&hostile, RSET_OK);
    assert_true(exists(outside) && !exists(job_redundancy(&hostile.job, 0)));
    assert_string_equal(found_as(&hostile), ""); /* its own name records it */
    teardown(&(void *){&hostile});
}

/* ---- adopted ---- */

static const char *
new_redundancy(const world *w)
{
    const char *name = strrchr(job_redundancy(&w->job, 0), '/') + 1;

    return in_dir(w, path_of("final.h5.%s", name + strlen("ckpt_0.h5.")));
}

static void
gets_its_name(void **state)
{
    const world  *w = *state;
    rset_evidence ev = {0};

    adopt(w, RSET_OK);
    assert_int_equal(rset_survey_local(&w->local, &ev, NULL), RSET_OK);
    assert_true(ev.has_header && ev.has_desc && !ev.is_void);
    rset_evidence_free(&ev);
    assert_false(exists(job_redundancy(&w->job, 0)));
    assert_false(exists(job_descriptor(&w->job, 0)));
    assert_false(exists(in_dir(w, "ckpt_0.h5." RSET_NAME_NAMES)));
}

/* It stays what it was under the old name, and is recognised again. */
static void
directory_in_the_way(void **state)
{
    const world *w = *state;

    assert_int_equal(mkdir(new_redundancy(w), 0777), 0);
    write_file(path_of("%s/file", new_redundancy(w)), "x", 1);
    adopt(w, RSET_IO);
    assert_true(exists(job_redundancy(&w->job, 0)));
    assert_string_equal(found_as(w), "ckpt_0.h5.");
    remove_tree(new_redundancy(w));
    adopt(w, RSET_OK);
    assert_true(exists(new_redundancy(w)));
}

/* ---- listed once ---- */

static int listings;

static DIR *
counting_fdopendir(int fd)
{
    listings++;
    return rset_sys_posix.fdopendir(fd);
}

/* Where this process has listed the directory well after the file got its name. */
static void
not_listed_again(void **state)
{
    const struct timespec moment = {.tv_sec = 3}; /* clocks of file systems are coarse: recall.c */
    const world          *w = *state;
    rset_evidence         none = {0}, found = {0};
    rset_sys              sys = rset_sys_posix;
    char                 *prefix = NULL;

    flip_bit(in_dir(w, "final.h5"), 1);
    nanosleep(&moment, NULL);
    sys.fdopendir = counting_fdopendir;
    rset_sys_use(&sys);
    listings = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rset_renamed_find(&w->local, &none, &prefix, &found, NULL), RSET_OK);
    assert_int_equal(listings, 1);
    flip_bit(in_dir(w, "final.h5"), 1); /* it is new again, and what was protected */
    assert_int_equal(rset_renamed_find(&w->local, &none, &prefix, &found, NULL), RSET_OK);
    assert_int_equal(listings, 2);
    assert_string_equal(prefix, "ckpt_0.h5.");
    rset_sys_use(NULL);
    rset_evidence_free(&found);
    free(prefix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(content_and_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(content_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(directory_of_the_old_name, setup, teardown),
        cmocka_unit_test_setup_teardown(over_a_protected_one, setup, teardown),
        cmocka_unit_test_setup_teardown(size_differs, setup, teardown),
        cmocka_unit_test_setup_teardown(content_differs, setup, teardown),
        cmocka_unit_test_setup_teardown(other_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(old_name_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(changed_since, setup, teardown),
        cmocka_unit_test_setup_teardown(something_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(two_candidates, setup, teardown),
        cmocka_unit_test_setup_teardown(taken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_header, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_path, setup, teardown),
        cmocka_unit_test_setup_teardown(gets_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(directory_in_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(not_listed_again, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
