/* test_engine_names.c: a redundancy file is only ever that of the member whose name it lies under:
 * one that was copied there from another rank, valid as it is, counts as lost. */
#include "commit/forget.h"
#include "image.h"
#include "job.h"
#include "names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RANKS = 8, SET = 4 };

typedef struct two_sets {
    char *base;
    job   job;
    image image;
} two_sets;

static void
two_sets_open(two_sets *w, const rset_scheme *scheme, int parity)
{
    static const size_t sizes[] = {5000, 4321, 70000};

    w->base = scratch_make();
    job_init(&w->job, w->base, RANKS, scheme, parity, SET);
    job_write_data(&w->job, sizes, 3, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    assert_int_equal(w->job.ranks[0].desc.sets, 2);
    w->image = image_take(w->base);
}

static void
two_sets_close(two_sets *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->job);
}

/* The rank that has the same place in the other set. */
static int
counterpart(const job *j, int r)
{
    for (int p = 0; p < RANKS; p++)
        if (p != r && j->ranks[p].desc.member == j->ranks[r].desc.member)
            return p;
    fail_msg("rank %d has no counterpart", r);
    return -1;
}

static void
copy_from_counterpart(const two_sets *w, int r)
{
    size_t   size;
    uint8_t *bytes = read_file(job_redundancy(&w->job, counterpart(&w->job, r)), &size);

    write_file(job_redundancy(&w->job, r), bytes, size);
    free(bytes);
}

static const struct {
    const rset_scheme *scheme;
    int                parity;
} kinds[] = {{&rset_scheme_partner, 1}, {&rset_scheme_xor, 1}, {&rset_scheme_rs, 2}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void
anothers_file_is_not_seen(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        two_sets w;

        two_sets_open(&w, kinds[k].scheme, kinds[k].parity);
        for (int r = 0; r < RANKS; r++) {
            const job_rank *rank = &w.job.ranks[r];
            rset_err        err = RSET_ERR_NONE;
            rset_evidence   ev;
            rset_dir       *dir;

            copy_from_counterpart(&w, r);
            assert_int_equal(rset_dir_open(rank->dir, false, &dir, &err), RSET_OK);
            assert_int_equal(rset_survey(dir, rank->prefix, rank->names[0], &ev, &err), RSET_OK);
            assert_false(ev.has_header);
            assert_true(ev.any && ev.has_desc);
            rset_evidence_free(&ev);
            rset_dir_close(dir);
            image_put(&w.image, w.base, path_of("node%d", r));
        }
        two_sets_close(&w);
    }
}

static void
anothers_file_heals(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        two_sets w;

        two_sets_open(&w, kinds[k].scheme, kinds[k].parity);
        for (int r = 0; r < RANKS; r++) {
            char why[1024];

            copy_from_counterpart(&w, r);
            if (job_recover(&w.job) != RSET_OK)
                fail_msg("%s, rank %d: %s", kinds[k].scheme->name, r, job_text(&w.job));
            if (!image_same(&w.image, w.base, NULL, IMAGE_CONTENT, why))
                fail_msg("%s, rank %d: %s", kinds[k].scheme->name, r, why);
        }
        two_sets_close(&w);
    }
}

/* ---- the same name in every directory ---- */

/* A small set of files that are all called ckpt.h5. */
static void
namesakes_open(two_sets *w, const rset_scheme *scheme, int parity)
{
    static const size_t sizes[] = {5000, 4321, 3000};

    w->base = scratch_make();
    job_init(&w->job, w->base, SET, scheme, parity, SET);
    for (int r = 0; r < SET; r++) {
        job_rank *k = &w->job.ranks[r];

        free(k->names[0]);
        free(k->prefix);
        k->names[0] = strdup("ckpt.h5");
        k->prefix = strdup("ckpt.h5.");
        k->path = strdup(path_of("%s/ckpt.h5", k->dir));
    }
    job_write_data(&w->job, sizes, 3, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->image = image_take(w->base);
}

static void
namesakes_close(two_sets *w)
{
    for (int r = 0; r < SET; r++) {
        free((char *)(uintptr_t)w->job.ranks[r].path);
        w->job.ranks[r].path = NULL;
    }
    two_sets_close(w);
}

/* P7: one rank alone, whose directory is lost, gets its own content and no namesake's. */
static void
serial_among_namesakes(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int r = 0; r < SET; r++) {
            two_sets w;
            bool     lost[JOB_RANKS];
            char     why[1024];

            namesakes_open(&w, kinds[k].scheme, kinds[k].parity);
            job_mask(&w.job, 1u << r, lost);
            job_lose(&w.job, lost);
            if (job_recover_serial(&w.job, r) != RSET_OK)
                fail_msg("%s, rank %d: %s", kinds[k].scheme->name, r, w.job.ranks[r].err.text);
            if (!image_same(&w.image, w.base, NULL, IMAGE_CONTENT, why))
                fail_msg("%s, rank %d: %s", kinds[k].scheme->name, r, why);
            namesakes_close(&w);
        }
}

/* In another place than it was written in, nobody can tell which of them it is: refused, unless told. */
static void
serial_in_another_place(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        two_sets    w;
        bool        lost[JOB_RANKS];
        char        why[1024];
        image       before;
        const char *path;

        namesakes_open(&w, kinds[k].scheme, kinds[k].parity);
        job_mask(&w.job, 1, lost);
        job_lose(&w.job, lost);
        before = image_take(w.base);
        path = w.job.ranks[0].path;
        w.job.ranks[0].path = "/elsewhere/ckpt.h5";
        assert_int_equal(job_recover_serial(&w.job, 0), RSET_LOST);
        if (!image_same(&before, w.base, NULL, IMAGE_UNTOUCHED, why))
            fail_msg("%s: %s", kinds[k].scheme->name, why);
        w.job.tell_rank = true;
        assert_int_equal(job_recover_serial(&w.job, 0), RSET_OK);
        if (!image_same(&w.image, w.base, NULL, IMAGE_CONTENT, why))
            fail_msg("%s: %s", kinds[k].scheme->name, why);
        w.job.ranks[0].path = path;
        image_free(&before);
        namesakes_close(&w);
    }
}

/* P2: files of two steps, of one name in two directories, and one rank opens that of the other step: healthy as it
 * is, it is nobody's to overwrite. */
static void
another_steps_file_is_left_alone(void **state)
{
    static const size_t size = 5000;

    (void)state;
    for (int newer = 0; newer < 2; newer++) {
        char *base = scratch_make();
        job   step[2];
        image before;
        char  own[64], why[1024];

        for (int s = 0; s < 2; s++) {
            job *j = &step[s];

            assert_int_equal(mkdir(path_of("%s/%d", base, s), 0777), 0);
            job_init(j, path_of("%s/%d", base, s), 4, &rset_scheme_xor, 1, 4);
            for (int r = 0; r < 4; r++)
                j->ranks[r].path = strdup(path_of("%d/%s", s, j->ranks[r].names[0]));
            job_write_data(j, &size, 1, s + 1);
            for (int i = 0; i <= s; i++)
                assert_int_equal(job_protect(j), RSET_OK);
        }
        before = image_take(base);
        snprintf(own, sizeof own, "%s", step[newer].ranks[3].dir + strlen(base) + 1);
        free(step[1 - newer].ranks[3].dir);
        step[1 - newer].ranks[3].dir = strdup(path_of("%s/%s", base, own));
        assert_int_equal(job_recover(&step[1 - newer]), RSET_LOST);
        if (!image_same(&before, base, NULL, IMAGE_CONTENT, why))
            fail_msg("%s", why);
        for (int s = 0; s < 2; s++) {
            for (int r = 0; r < 4; r++)
                free((void *)(uintptr_t)step[s].ranks[r].path);
            job_free(&step[s]);
        }
        image_free(&before);
        remove_tree(base);
        free(base);
    }
}

/* P7: "state.3" is a data file too. What lies beside it is nothing of rank 3's "state". */
static void
beside_another_file_is_not_ours(void **state)
{
    static const char *const names[] = {
        "redset.00000100000000ab.new", "redset.00000100000000ab.data",
        "redset.00000100000000ab.undo", "redset.00000100000000ab.fix"};
    char      *base = scratch_make();
    rset_err   err = RSET_ERR_NONE;
    rset_dir  *dir;
    rset_local local = {.prefix = "state."};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_file(path_of("%s/state.3.%s", base, names[i]), "x", 1);
    assert_int_equal(rset_dir_open(base, false, &dir, &err), RSET_OK);
    local.dir = dir;
    assert_int_equal(rset_forget_others(&local, NULL, &err), RSET_OK);
    rset_dir_close(dir);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(exists(path_of("%s/state.3.%s", base, names[i])));
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_steps_file_is_left_alone),
        cmocka_unit_test(beside_another_file_is_not_ours),
        cmocka_unit_test(anothers_file_is_not_seen),
        cmocka_unit_test(anothers_file_heals),
        cmocka_unit_test(serial_among_namesakes),
        cmocka_unit_test(serial_in_another_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
