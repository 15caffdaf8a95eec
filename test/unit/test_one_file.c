/* test_one_file.c: several ranks open one file, all of them the same, whose data was lost together with what protects it beside it:
 * whoever and however many open it, it comes back as for one that does (recover/apart.c, recover/stand_in.c). */
#include "reader_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 10 };

/* All n open this file, on the nodes from `from` on in turn. */
static void
all_open(reader *who, int n, int from, int file)
{
    for (int i = 0; i < n; i++)
        who[i] = (reader){.node = (from + i) % NODES, .step = 0, .file = file};
}

static void
any_number_opens_a_lost_file(const rset_scheme *scheme, int parity)
{
    reader who[MOST];
    world  w;

    reader_world_open(&w, scheme, parity, 1);
    for (int file = 0; file < WRITERS; file += 5)
        for (int n = 4; n <= MOST; n++) {
            reader_world_lose(&w, 1u << file % NODES);
            all_open(who, n, n % NODES, file);
            (void)expect_read(&w, who, n);
        }
    reader_world_close(&w);
}

static void
a_lost_file_of_parity_comes_back(void **state)
{
    (void)state;
    any_number_opens_a_lost_file(&rset_scheme_xor, 1);
    any_number_opens_a_lost_file(&rset_scheme_rs, 2);
}

static void
a_lost_file_of_copies_comes_back(void **state)
{
    (void)state;
    any_number_opens_a_lost_file(&rset_scheme_partner, 1);
}

/* The data file is there, damaged, and only its neighbours record what it should be. */
static void
damage_that_only_others_record_is_repaired(void **state)
{
    reader who[MOST];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_rs, 2, 1);
    for (int n = 4; n <= MOST; n++) {
        reader_world_lose(&w, 0);
        flip_bit(path_of("%s/node0/%s", w.base, name_of(0, 0)), 77);
        assert_int_equal(unlink(job_redundancy(&w.job[0], 0)), 0);
        all_open(who, n, n % NODES, 0);
        (void)expect_read(&w, who, n);
    }
    reader_world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_file_of_parity_comes_back),
        cmocka_unit_test(a_lost_file_of_copies_comes_back),
        cmocka_unit_test(damage_that_only_others_record_is_repaired),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
