/* The states of a session, and what leads from one to another (vfd/session_states.h). */
#include "session_internal.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* One letter for each state, in their order: a capital one if it is not in doubt. TENTATIVE, to which nothing leads, is a point. */
static const char letters[] = ".RGCMNScmns";

static char
letter_after(rset_session_state state, rset_event event)
{
    return letters[rset_session_after(state, event)];
}

/* Every event in every state. */
static void
the_whole_table(void **state)
{
    static const char *const rows[RSET_SESSION_STATES] = {
        /* create, shadow, name, use, refuse, change, revert, hand over, commit, fail, doubt */
        [RSET_SESSION_TENTATIVE] = "G..CR......",
        [RSET_SESSION_REFUSED] = "...........",
        [RSET_SESSION_CREATING] = ".SN..N.....",
        [RSET_SESSION_CLEAN] = ".....M.CCCc",
        [RSET_SESSION_CHANGED] = ".....MCCCMm",
        [RSET_SESSION_CREATED] = ".....N..CNn",
        [RSET_SESSION_SHADOW] = "..N..S..CSs",
        [RSET_SESSION_CLEAN_IN_DOUBT] = "........CCc",
        [RSET_SESSION_CHANGED_IN_DOUBT] = "......c.CMm",
        [RSET_SESSION_CREATED_IN_DOUBT] = "........CNn",
        [RSET_SESSION_SHADOW_IN_DOUBT] = "..n.....CSs",
    };

    (void)state;
    for (int s = 0; s < RSET_SESSION_STATES; s++) {
        char row[RSET_EVENTS + 1] = "";

        for (int e = 0; e < RSET_EVENTS; e++)
            row[e] = letter_after((rset_session_state)s, (rset_event)e);
        assert_string_equal(row, rows[s]);
    }
}

/* What is true of the file before and after each event, whatever the states are called. */
static void
what_events_mean(void **state)
{
    static const struct {
        rset_event event;
        unsigned   needs, never; /* of the state in which it happens */
        unsigned   sets, clears;
    } rules[] = {
        {RSET_EVENT_USE, 0, RSET_IS_NEW, RSET_IS_IN_USE, 0},
        {RSET_EVENT_NAME, RSET_IS_NEW, 0, RSET_IS_IN_USE | RSET_IS_CHANGED, 0},
        {RSET_EVENT_CHANGE, 0, RSET_IS_IN_DOUBT, RSET_IS_IN_USE | RSET_IS_CHANGED, 0},
        {RSET_EVENT_REVERT, RSET_IS_CHANGED, RSET_IS_NEW, 0, RSET_IS_CHANGED},
        {RSET_EVENT_HAND_OVER, RSET_IS_IN_USE, RSET_IS_NEW | RSET_IS_IN_DOUBT, 0, RSET_IS_CHANGED},
        {RSET_EVENT_COMMIT, RSET_IS_IN_USE, 0, 0, RSET_IS_CHANGED | RSET_IS_NEW | RSET_IS_IN_DOUBT},
        {RSET_EVENT_FAIL, RSET_IS_IN_USE, 0, 0, RSET_IS_IN_DOUBT},
        {RSET_EVENT_DOUBT, RSET_IS_IN_USE, 0, RSET_IS_IN_DOUBT, 0}};

    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        for (int s = 0; s < RSET_SESSION_STATES; s++) {
            const rset_session_state from = (rset_session_state)s;
            const rset_session_state to = rset_session_after(from, rules[r].event);

            if (to == RSET_SESSION_TENTATIVE)
                continue;
            for (unsigned bit = RSET_IS_IN_USE; bit <= RSET_IS_IN_DOUBT; bit *= 2) {
                const bool before = rset_session_state_is(from, bit);
                const bool after = rset_session_state_is(to, bit);

                assert_true(before || (rules[r].needs & bit) == 0);
                assert_false(before && (rules[r].never & bit) != 0);
                assert_int_equal(after, (rules[r].sets & bit) != 0 ||
                                            (before && (rules[r].clears & bit) == 0));
            }
        }
}

/* No state is there that no session comes to, nor one that could be mistaken for another. */
static void
all_states_are_reached(void **state)
{
    bool reached[RSET_SESSION_STATES] = {true}, more = true;

    (void)state;
    while (more) {
        more = false;
        for (int s = 0; s < RSET_SESSION_STATES; s++)
            for (int e = 0; reached[s] && e < RSET_EVENTS; e++) {
                const rset_session_state to =
                    rset_session_after((rset_session_state)s, (rset_event)e);

                more = more || !reached[to];
                reached[to] = true;
            }
    }
    for (int s = 0; s < RSET_SESSION_STATES; s++) {
        assert_true(reached[s]);
        for (int other = 0; other < s; other++)
            assert_string_not_equal(rset_session_state_name((rset_session_state)s),
                                    rset_session_state_name((rset_session_state)other));
    }
}

/* What the table does not have ends a build with asserts; any other keeps the state. */
static void
what_cannot_happen(void **state)
{
    int         status = 0;
    const pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        rset_session session = {.state = RSET_SESSION_CLEAN_IN_DOUBT};

        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        rset_session_step(&session, RSET_EVENT_CHANGE);
        _exit(session.state == RSET_SESSION_CLEAN_IN_DOUBT ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
#ifdef NDEBUG
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_table),
        cmocka_unit_test(what_events_mean),
        cmocka_unit_test(all_states_are_reached),
        cmocka_unit_test(what_cannot_happen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
