/* What a process knows of the files that it used last (vfd/history.h). */
#include "history.h"
#include "session_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static rset_history
of(const char *path)
{
    rset_history h;

    rset_history_get(path, &h);
    return h;
}

static void
one_file_from_open_to_close(void **state)
{
    const rset_opened opened = {.did = RSET_DID_REBUILD, .concerned = 3, .rebuilt = 2};
    rset_err          why = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(of("/a").opened.did, RSET_DID_NOT_ASK);
    (void)rset_fail(&why, RSET_PEER, "rank 3 did not come");
    rset_history_opened("/a", &opened, NULL);
    rset_history_changes("/a");
    assert_true(of("/a").changing && of("/a").why[0] == '\0');
    rset_history_closed("/a", &why);
    assert_false(of("/a").changing);
    assert_string_equal(of("/a").why, why.text);
    assert_int_equal(of("/a").opened.did, RSET_DID_REBUILD);
    assert_int_equal(of("/a").opened.concerned, 3);
    assert_int_equal(of("/a").opened.rebuilt, 2);
    assert_int_equal(of("/b").opened.did, RSET_DID_NOT_ASK);
    rset_history_closed("/a", NULL);
    assert_string_equal(of("/a").why, "");
}

/* Those that are being changed are never forgotten; of the others those that were used last are kept. */
static void
what_was_used_last_is_kept(void **state)
{
    const rset_opened opened = {.did = RSET_DID_MOVE};
    char              path[32];

    (void)state;
    rset_history_opened("/changing", &opened, NULL);
    rset_history_changes("/changing");
    for (int i = 0; i < 2 * RSET_HISTORY_FILES; i++) {
        snprintf(path, sizeof path, "/file_%d", i);
        rset_history_opened(path, &opened, NULL);
        if (i % 8 == 0)
            rset_history_opened("/often", &opened, NULL);
    }
    assert_int_equal(of("/file_0").opened.did, RSET_DID_NOT_ASK);
    assert_int_equal(of(path).opened.did, RSET_DID_MOVE);
    assert_int_equal(of("/often").opened.did, RSET_DID_MOVE);
    assert_true(of("/changing").changing);
}

#define REBUILT     .decided.verdict = RSET_VERDICT_RESTORE, .found.state = RSET_STATE_NOTHING
#define ROLLED_BACK .decided.verdict = RSET_VERDICT_RESTORE, .found.state = RSET_STATE_OPEN

/* Of several things that an open did, the one that says most about the content. */
static void
what_an_open_did(void **state)
{
    static const struct {
        rset_outcome outcome;
        rset_did     did;
    } cases[] = {{{0}, RSET_DID_NOTHING},
                 {{REBUILT}, RSET_DID_NOTHING}, /* redundancy only */
                 {{.moved_from = "n1"}, RSET_DID_MOVE},
                 {{.moved_from = "n1", .copied = true}, RSET_DID_COPY},
                 {{.replaced = true, REBUILT, .moved_from = "n1"}, RSET_DID_REBUILD},
                 {{.forward = true, .replaced = true, REBUILT}, RSET_DID_FORWARD},
                 {{.forward = true, .moved_from = "n1"}, RSET_DID_FORWARD},
                 {{.replaced = true, ROLLED_BACK, .moved_from = "n1"}, RSET_DID_BACK}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rset_session_did(&cases[i].outcome), cases[i].did);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_from_open_to_close),
        cmocka_unit_test(what_was_used_last_is_kept),
        cmocka_unit_test(what_an_open_did),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
