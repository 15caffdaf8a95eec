/* test_engine_stamps.c: redundancy files record when, in which job, by whom and as what they were protected: the same on all
 * ranks, also in those that were rebuilt. */
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5 };

static const size_t    sizes[] = {70000, 1, 200000, 4097, 0};
static rset_stamp_text texts[RANKS];

typedef struct world {
    char *base;
    job   job;
} world;

static void
world_open(world *w, const rset_scheme *scheme, int parity)
{
    w->base = scratch_make();
    job_init(&w->job, w->base, RANKS, scheme, parity, RANKS);
    job_write_data(&w->job, sizes, RANKS, 1);
    for (int r = 0; r < RANKS; r++) {
        texts[r] = (rset_stamp_text){.time = 1700000000 + (unsigned)r};
        snprintf(texts[r].job, sizeof texts[r].job, "job %d", r);
        snprintf(texts[r].user, sizeof texts[r].user, "user %d", r);
        w->job.ranks[r].stamp = &texts[r];
    }
}

static void
world_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
}

static void
assert_text(const char *is, const char *text)
{
    if (text == NULL)
        assert_null(is);
    else
        assert_string_equal(is, text);
}

/* All infos on all ranks say what rank 0 has said, and this label. */
static void
assert_stamped(const world *w, const char *label)
{
    for (int r = 0; r < RANKS; r++) {
        const rset_header *h = &w->job.ranks[r].evidence.header;

        for (int i = 0; i < h->ninfos; i++) {
            assert_int_equal(h->infos[i].stamp.time, 1700000000);
            assert_text(h->infos[i].stamp.job, "job 0");
            assert_text(h->infos[i].stamp.user, "user 0");
            assert_text(h->infos[i].stamp.label, label);
        }
    }
}

/* Rank 0 says when, which job and who; of several labels that of the lowest rank counts. */
static void
all_ranks_record_the_same(void **state)
{
    (void)state;
    for (unsigned with = 0; with < 1u << RANKS; with++) {
        world w;
        char  label[32] = "";

        world_open(&w, &rset_scheme_xor, 1);
        for (int r = RANKS - 1; r >= 0; r--)
            if ((with >> r & 1) != 0) {
                snprintf(label, sizeof label, "label of %d", r);
                strcpy(texts[r].label, label);
            }
        assert_int_equal(job_protect(&w.job), RSET_OK);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_stamped(&w, with != 0 ? label : NULL);
        world_close(&w);
    }
}

static void
rebuilt_files_say_the_same(void **state)
{
    static const rset_scheme *const schemes[] = {&rset_scheme_partner, &rset_scheme_xor,
                                                 &rset_scheme_rs};

    (void)state;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        for (int r = 0; r < RANKS; r++) {
            bool  lost[JOB_RANKS] = {false};
            world w;

            world_open(&w, schemes[k], 1);
            strcpy(texts[3].label, "before the storm");
            assert_int_equal(job_protect(&w.job), RSET_OK);
            job_mask(&w.job, 1u << r, lost);
            job_lose(&w.job, lost);
            assert_int_equal(job_recover(&w.job), RSET_OK);
            assert_stamped(&w, "before the storm");
            world_close(&w);
        }
}

/* Bytes of another rank are hostile: what may not be recorded is left out, and all are protected. */
static void
what_may_not_be_recorded_is_left_out(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1);
    memset(texts[0].label, 'l', sizeof texts[0].label); /* does not end */
    strcpy(texts[0].job, "\x1b[2J");
    texts[0].user[0] = '\0';
    texts[0].time = UINT64_MAX;
    assert_int_equal(job_protect(&w.job), RSET_OK);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        const rset_stamp *stamp = &w.job.ranks[r].evidence.header.infos[0].stamp;

        assert_int_equal(stamp->time, 0);
        assert_null(stamp->job);
        assert_null(stamp->user);
        assert_int_equal(stamp->label != NULL ? strlen(stamp->label) : 0, RSET_STAMP_TEXT);
    }
    world_close(&w);
}

static void
nothing_is_recorded_unless_it_is_said(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1);
    for (int r = 0; r < RANKS; r++)
        w.job.ranks[r].stamp = NULL;
    assert_int_equal(job_protect(&w.job), RSET_OK);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        const rset_stamp *stamp = &w.job.ranks[r].evidence.header.infos[0].stamp;

        assert_true(stamp->time == 0 && stamp->job == NULL && stamp->label == NULL);
    }
    world_close(&w);
}

/* The job is what is said, else what Slurm says; a user always has a name or a number. */
static void
what_one_rank_says(void **state)
{
    rset_stamp_text t;

    (void)state;
    unsetenv("SLURM_JOB_ID");
    setenv("USER", "ann", 1);
    rset_stamp_now("", NULL, &t);
    assert_string_equal(t.job, "");
    assert_string_equal(t.label, "");
    assert_string_equal(t.user, "ann");
    assert_true(t.time > 1600000000);
    setenv("SLURM_JOB_ID", "4711", 1);
    rset_stamp_now(NULL, "a label", &t);
    assert_string_equal(t.job, "4711");
    assert_string_equal(t.label, "a label");
    rset_stamp_now("mine", "no\nlabel", &t);
    assert_string_equal(t.job, "mine");
    assert_string_equal(t.label, "");
    setenv("USER", "\x1b", 1);
    unsetenv("LOGNAME");
    rset_stamp_now(NULL, NULL, &t);
    assert_true(t.user[0] >= '0' && t.user[0] <= '9');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_record_the_same),
        cmocka_unit_test(rebuilt_files_say_the_same),
        cmocka_unit_test(what_may_not_be_recorded_is_left_out),
        cmocka_unit_test(nothing_is_recorded_unless_it_is_said),
        cmocka_unit_test(what_one_rank_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
