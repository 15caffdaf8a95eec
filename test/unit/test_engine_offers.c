/* test_engine_offers.c: what a member says before its set encodes (update.c) is checked before it is used, and what follows is compared
 * with it: a member that says something else makes all fail, and nothing is published (P4, P7). */
#include "comm/comm.h"
#include "format/tree.h"
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5, LIAR = 2 };

/* The numbers that an offer begins with. */
enum { GENERATION, CAN, LENGTH, INFO, FILES, NUMBERS };

static struct {
    bool     lies;
    int      which;
    uint64_t plus, says; /* what it says: the truth and so much more; or that, if it is not 0 */
} lie;

rset_status __real_rset_gather_all(rset_comm *comm, rset_status own, const char *host,
                                   const rset_share *mine, rset_gathered *all_out, rset_err *err);
rset_status __wrap_rset_gather_all(rset_comm *comm, rset_status own, const char *host,
                                   const rset_share *mine, rset_gathered *all_out, rset_err *err);

rset_status
__wrap_rset_gather_all(rset_comm *comm, rset_status own, const char *host, const rset_share *mine,
                       rset_gathered *all_out, rset_err *err)
{
    rset_share  said = *mine;
    uint8_t    *bytes = malloc(mine->len + 1);
    uint64_t    numbers[NUMBERS];
    rset_status st;

    memcpy(bytes, mine->bytes, mine->len);
    said.bytes = bytes;
    if (lie.lies && comm->rank == LIAR && mine->len >= sizeof numbers) {
        memcpy(numbers, bytes, sizeof numbers);
        numbers[lie.which] = lie.says != 0 ? lie.says : numbers[lie.which] + lie.plus;
        memcpy(bytes, numbers, sizeof numbers);
    }
    st = __real_rset_gather_all(comm, own, host, &said, all_out, err);
    free(bytes);
    return st;
}

/* A job of one set protects its files while one rank, which may have none, lies; then without that. */
static void
try(const rset_scheme *scheme, bool has_file, const char *text)
{
    static const size_t sizes[] = {3001, 0, 2999, 1500, 700};
    char               *base = scratch_make();
    job                 j;
    image               before;
    char                why[1024];
    bool                said = false;

    job_init(&j, base, N, scheme, 1, N);
    job_write_data(&j, sizes, N, 1);
    if (!has_file) {
        assert_int_equal(remove(job_data(&j, LIAR)), 0);
        free(j.ranks[LIAR].names[0]);
        j.ranks[LIAR].names[0] = NULL;
        j.ranks[LIAR].nfiles = 0;
    }
    before = image_take(base);
    lie.lies = true;
    assert_int_not_equal(job_protect(&j), RSET_OK);
    for (int r = 0; r < N; r++)
        said = said || strstr(j.ranks[r].err.text, text) != NULL;
    if (!said)
        fail_msg("%s: %s", scheme->name, job_text(&j));
    if (!image_same(&before, base, NULL, IMAGE_CONTENT, why))
        fail_msg("%s: %s", scheme->name, why);
    lie.lies = false;
    if (job_protect(&j) != RSET_OK)
        fail_msg("%s: %s", scheme->name, job_text(&j));
    image_free(&before);
    job_free(&j);
    remove_tree(base);
    free(base);
}

static void
an_impossible_size_of_an_info_is_refused(void **state)
{
    static const uint64_t sizes[] = {1, RSET_TREE_EMPTY - 1, RSET_TREE_MAX_BYTES + 1, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lie.which = INFO;
        lie.says = sizes[i];
        try(&rset_scheme_xor, true, "member 2 announces an info of");
    }
}

/* The payload would not begin where its header ends. */
static void
an_info_of_another_size_than_was_said_is_refused(void **state)
{
    (void)state;
    lie.which = INFO;
    lie.says = 0;
    lie.plus = 8192;
    try(&rset_scheme_xor, true, "were expected");
    try(&rset_scheme_partner, true, "were expected");
}

/* A replica of one file has that file's checksums, not one of several. */
static void
another_number_of_files_than_was_said_is_refused(void **state)
{
    (void)state;
    lie.which = FILES;
    lie.says = 1;
    try(&rset_scheme_partner, false, "its neighbour sent checksums of something else");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_impossible_size_of_an_info_is_refused),
        cmocka_unit_test(an_info_of_another_size_than_was_said_is_refused),
        cmocka_unit_test(another_number_of_files_than_was_said_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
