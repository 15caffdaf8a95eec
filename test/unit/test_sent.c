/* test_sent.c: what the disk says of one rank's files, sent to another process (rset_evidence_pack): all that its state is told from
 * arrives, and bytes that are no such block are refused. */
#include "common/parts.h"
#include "image.h"
#include "job.h"
#include "recover/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* What the disk says of rank 1 of files that are protected with XOR, and what it may say besides. */
static rset_evidence
find_evidence(void)
{
    static const size_t sizes[] = {4000, 3000, 2000, 1000};
    char               *base = scratch_make();
    rset_err            err = RSET_ERR_NONE;
    rset_evidence       ev = {0};
    rset_dir           *dir = NULL;
    job                 j;

    job_init(&j, base, RANKS, &rset_scheme_xor, 1, RANKS);
    j.extra = true;
    job_write_data(&j, sizes, RANKS, 1);
    assert_int_equal(job_protect(&j), RSET_OK);
    assert_int_equal(rset_dir_open(j.ranks[1].dir, false, &dir, &err), RSET_OK);
    assert_int_equal(rset_survey(dir, j.ranks[1].prefix, j.ranks[1].names[0], &ev, &err), RSET_OK);
    assert_true(ev.has_header && ev.has_desc && ev.header.group != NULL);
    rset_dir_close(dir);
    job_free(&j);
    remove_tree(base);
    free(base);
    return ev;
}

static rset_report
classify(const rset_evidence *ev)
{
    const rset_standing standing = {.counts = rset_evidence_generation(ev), .prepared = ev->next};

    return rset_classify(ev, &standing, &(rset_looked){.rank = 1, .there = true});
}

static rset_evidence
send_evidence(const rset_evidence *ev)
{
    rset_err      err = RSET_ERR_NONE;
    rset_evidence got;
    uint8_t      *block = NULL;
    size_t        len = 0;

    assert_int_equal(rset_evidence_pack(ev, &block, &len, &err), RSET_OK);
    assert_true(rset_evidence_unpack(block, len, &got));
    free(block);
    return got;
}

/* The same report, whatever it is told from; and the same is recorded. */
static void
check_same(const rset_evidence *ev)
{
    const rset_report  a = classify(ev);
    const rset_census  c = rset_take_census(ev);
    rset_evidence      got = send_evidence(ev);
    const rset_report  b = classify(&got);
    const rset_census  d = rset_take_census(&got);
    const rset_summary x = rset_summarise(&a), y = rset_summarise(&b);

    assert_memory_equal(&x, &y, sizeof x);
    assert_memory_equal(&c, &d, sizeof c);
    assert_int_equal(rset_evidence_described(ev), rset_evidence_described(&got));
    assert_int_equal(ev->header.ninfos, got.header.ninfos);
    for (int i = 0; i < ev->header.ninfos; i++)
        assert_string_equal(ev->header.infos[i].files[0].path, got.header.infos[i].files[0].path);
    assert_memory_equal(ev->header.group, got.header.group,
                        (size_t)ev->header.infos[0].desc.members * sizeof(int));
    rset_evidence_free(&got);
}

/* Each of these changes what is reported, and arrives. */
static void
all_that_counts_arrives(void **state)
{
    rset_evidence ev = find_evidence();

    (void)state;
    check_same(&ev);
    ev.under_way = ev.replaced = ev.orphans = ev.refused = true;
    check_same(&ev);
    assert_true((classify(&ev).facts & RSET_FACT_REPLACED) != 0);
    ev.next = rset_generation_next(rset_evidence_generation(&ev), 7);
    ev.next_siblings = RSET_SIBLINGS_MISSING;
    ev.next_ranks = RANKS;
    check_same(&ev);
    assert_true((classify(&ev).facts & RSET_FACT_PARTED) != 0);
    ev.next_siblings = RSET_SIBLINGS_DECIDED;
    check_same(&ev);
    ev.undo.there = true;
    ev.undo.head = (rset_undo_head){.state = RSET_UNDO_CLOSED,
                                    .generation = rset_evidence_generation(&ev),
                                    .closed = 99,
                                    .label = {.job = 1, .step = 2, .ranks = RANKS}};
    check_same(&ev);
    assert_int_equal(classify(&ev).state, RSET_STATE_CLOSED);
    ev.undo.head.flags = RSET_UNDO_NEXT;
    check_same(&ev);
    assert_int_equal(classify(&ev).state, RSET_STATE_COMMITTING);
    ev.undo.head.flags = 0;
    ev.nshadows = 1;
    ev.shadows = malloc(sizeof *ev.shadows);
    assert_non_null(ev.shadows);
    ev.shadows[0] = rset_evidence_generation(&ev);
    check_same(&ev);
    ev.shadows[0]++;
    ev.over_name = strdup("over");
    check_same(&ev);
    assert_int_equal(classify(&ev).state, RSET_STATE_COMMITTING);
    rset_evidence_free(&ev);
}

/* Of a file that nothing protects as well. */
static void
nothing_arrives_as_nothing(void **state)
{
    const rset_evidence none = {0};
    rset_evidence       got = send_evidence(&none);

    (void)state;
    assert_false(got.any || got.has_header || got.has_desc);
    rset_evidence_free(&got);
}

/* No block that was cut short is taken; nor, where a byte is another one, anything that it does not have. */
static void
what_is_no_block_is_refused(void **state)
{
    rset_evidence ev = find_evidence(), got;
    rset_err      err = RSET_ERR_NONE;
    uint8_t      *block = NULL;
    size_t        len = 0;

    (void)state;
    assert_int_equal(rset_evidence_pack(&ev, &block, &len, &err), RSET_OK);
    for (size_t n = 0; n < len; n++)
        assert_false(rset_evidence_unpack(block, n, &got));
    for (size_t i = 0; i < len; i++) {
        block[i] ^= 0xa5;
        if (rset_evidence_unpack(block, len, &got)) {
            (void)classify(&got);
            (void)rset_evidence_described(&got);
            rset_evidence_free(&got);
        }
        block[i] ^= 0xa5;
    }
    free(block);
    rset_evidence_free(&ev);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_that_counts_arrives),
                                       cmocka_unit_test(nothing_arrives_as_nothing),
                                       cmocka_unit_test(what_is_no_block_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
