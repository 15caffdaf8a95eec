/* test_engine_hosts.c: redundancy files record on which host each member ran when its files were protected, so that whoever
 * has lost one is told where it was: by the rank that has it rebuilt, and where an open is refused. */
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4 };

static const char *const hosts[RANKS] = {"alpha", "beta", "gamma", "delta"};
static const size_t      sizes[] = {70000, 1, 200000, 4097};

typedef struct world {
    char *base;
    job   job;
} world;

/* Four ranks on four hosts, protected; then each runs on a host called "new". */
static void
world_open(world *w, const rset_scheme *scheme, int parity, bool extra)
{
    w->base = scratch_make();
    job_init(&w->job, w->base, RANKS, scheme, parity, RANKS);
    w->job.extra = extra;
    job_write_data(&w->job, sizes, RANKS, 1);
    for (int r = 0; r < RANKS; r++)
        w->job.ranks[r].host = hosts[r];
    assert_int_equal(job_protect(&w->job), RSET_OK);
    for (int r = 0; r < RANKS; r++)
        w->job.ranks[r].host = "new";
}

static void
world_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
}

static void
lose(const world *w, unsigned mask)
{
    bool lost[JOB_RANKS] = {false};

    job_mask(&w->job, mask, lost);
    job_lose(&w->job, lost);
}

/* The rank whose file was rebuilt knows where it was; a rebuilt redundancy file says it as the lost one did. */
static void
a_rebuilt_file_says_where_it_was(void **state)
{
    static const rset_scheme *const schemes[] = {&rset_scheme_partner, &rset_scheme_xor,
                                                 &rset_scheme_rs};

    (void)state;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        world w;

        world_open(&w, schemes[k], 1, true);
        for (int r = 0; r < RANKS; r++) {
            lose(&w, 1u << r);
            assert_int_equal(job_recover(&w.job), RSET_OK);
            for (int q = 0; q < RANKS; q++) {
                const job_rank *one = &w.job.ranks[q];

                assert_string_equal(one->out.was_on, q == r ? hosts[r] : "");
                assert_string_equal(one->evidence.header.infos[0].host, hosts[q]);
                assert_string_equal(one->evidence.header.infos[1].host,
                                    hosts[(q + RANKS - 1) % RANKS]);
            }
        }
        world_close(&w);
    }
}

/* Lost and rebuilt where it was: nothing to tell. */
static void
on_the_same_host_nothing_is_said(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, true);
    w.job.ranks[2].host = hosts[2];
    lose(&w, 1 << 2);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_true(w.job.ranks[2].out.replaced);
    assert_string_equal(w.job.ranks[2].out.was_on, "");
    world_close(&w);
}

/* XOR: a lost member's record is with its right neighbour, who is there for ranks 0 and 2, and lost as well for 1. */
static void
a_refusal_names_hosts(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, true);
    lose(&w, 1 << 0 | 1 << 2);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    assert_non_null(strstr(job_text(&w.job), "rank 0 on alpha (data and redundancy), "
                                             "rank 2 on gamma (data and redundancy)"));
    lose(&w, 1 << 1);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    assert_non_null(strstr(job_text(&w.job), "rank 1 (data"));
    assert_non_null(strstr(job_text(&w.job), "rank 2 on gamma (data"));
    world_close(&w);
}

/* One process alone names the hosts of those whose pieces it needs, and does not reach. */
static void
a_process_alone_names_hosts(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, true);
    lose(&w, 1 << 0 | 1 << 2);
    assert_int_equal(job_recover_serial(&w.job, 0), RSET_LOST);
    assert_non_null(strstr(w.job.ranks[0].err.text, "pieces of members 2 (on gamma) of its set"));
    world_close(&w);
}

/* Files of earlier versions, and of other programs: all is as without hosts. */
static void
without_hosts_nothing_is_said(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, false);
    lose(&w, 1 << 3);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_string_equal(w.job.ranks[3].out.was_on, "");
    lose(&w, 1 << 0 | 1 << 2);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    assert_non_null(strstr(job_text(&w.job), "rank 0 (data and redundancy), rank 2 (data and"));
    world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rebuilt_file_says_where_it_was),
        cmocka_unit_test(on_the_same_host_nothing_is_said),
        cmocka_unit_test(a_refusal_names_hosts),
        cmocka_unit_test(a_process_alone_names_hosts),
        cmocka_unit_test(without_hosts_nothing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
