/* The queue of background.h: order, waiting for one file, who hears of what, the end of it. Each test is a
 * process of its own, as the thread is one per process. */
#include "background.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MANY = 500 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held: work waits */
static char            order[4 * MANY];                  /* of the thread, until it is waited for */
static char            dir[] = "/tmp/test_background.XXXXXX";

/* In the place of the C library's: the wall clock may be a year ahead. */
static bool is_ahead;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    const int status = (int)syscall(SYS_clock_gettime, clock, now);

    if (is_ahead && clock == CLOCK_REALTIME)
        now->tv_sec += 31536000;
    return status;
}

/* `arg`: what it does, one letter: fails, warns, both, or blocks at the gate. */
static rset_status
work(void *arg, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    const char *what = arg;

    strncat(order, what, 1);
    if (*what == 'g') {
        pthread_mutex_lock(&gate);
        pthread_mutex_unlock(&gate);
    }
    if (*what == 'w' || *what == 'b')
        snprintf(warning_out, RSET_ERR_TEXT, "warning of %s", what);
    return *what == 'f' || *what == 'b' ? rset_fail(err, RSET_PEER, "failure of %s", what)
                                        : RSET_OK;
}

static void
add(const char *path, const char *what)
{
    assert_true(rset_background_add(path, work, (void *)(uintptr_t)what));
}

static void
expect_failure(const char *path, const char *text)
{
    rset_err err = RSET_ERR_NONE;

    assert_true(rset_background_owes(path));
    assert_int_equal(rset_background_take(path, &err), RSET_PEER);
    assert_int_equal(err.status, RSET_PEER);
    assert_string_equal(err.text, text);
}

static void
expect_nothing(const char *path)
{
    rset_err err = RSET_ERR_NONE;

    assert_false(rset_background_busy(path) || rset_background_owes(path));
    assert_int_equal(rset_background_take(path, &err), RSET_OK);
}

/* ---- tests ---- */

static void
never_used(void)
{
    char text[RSET_ERR_TEXT];

    expect_nothing(NULL);
    rset_background_wait(NULL);
    assert_false(rset_background_warning(text) || rset_background_stuck());
    rset_background_end();
    assert_false(rset_background_add("/a", work, (void *)(uintptr_t) "x"));
    assert_string_equal(order, "");
}

static void
in_order(void)
{
    static char what[MANY][2], want[MANY + 1];

    for (int i = 0; i < MANY; i++) {
        what[i][0] = want[i] = (char)('A' + i % 26);
        add(i % 2 ? "/a" : "/b", what[i]);
        if (i == MANY / 2)
            rset_background_wait("/a");
    }
    rset_background_wait(NULL);
    assert_string_equal(order, want);
    expect_nothing(NULL);
}

static void
waits_for_one(void)
{
    pthread_mutex_lock(&gate);
    add("/a", "x");
    add("/b", "g");
    add("/c", "y");
    rset_background_wait("/a");
    rset_background_wait("/d");
    assert_false(rset_background_busy("/a") || rset_background_busy("/d"));
    assert_true(rset_background_busy("/b") && rset_background_busy("/c"));
    assert_true(rset_background_busy(NULL));
    pthread_mutex_unlock(&gate);
    rset_background_wait("/c");
    assert_string_equal(order, "xgy");
    expect_nothing(NULL);
}

static void
tells_once(void)
{
    rset_err err = RSET_ERR_NONE;
    char     text[RSET_ERR_TEXT];

    add("/a", "f1");
    add("/b", "w2");
    add("/c", "b3");
    add("/a", "f4");
    rset_background_wait(NULL);
    assert_false(rset_background_owes("/b"));
    assert_int_equal(rset_background_take("/b", &err), RSET_OK);
    expect_failure("/c", "failure of b3");
    expect_nothing("/c");
    assert_true(rset_background_warning(text));
    assert_string_equal(text, "warning of w2");
    assert_true(rset_background_warning(text));
    assert_string_equal(text, "warning of b3");
    assert_false(rset_background_warning(text));
    expect_failure("/a", "failure of f1");
    expect_failure(NULL, "failure of f4");
    expect_nothing(NULL);
}

/* What the caller has done itself is told like what the thread has done, in the order in which it failed. */
static void
owes(void)
{
    rset_err own = RSET_ERR_NONE;

    add("/a", "f1");
    rset_background_wait(NULL);
    rset_fail(&own, RSET_PEER, "failure of 2");
    assert_true(rset_background_owe("/a", &own) && rset_background_owe("/b", &own));
    assert_false(rset_background_busy("/a"));
    expect_failure("/a", "failure of f1");
    expect_failure("/a", "failure of 2");
    expect_nothing("/a");
    expect_failure("/b", "failure of 2");
    for (int i = 0; i < MANY; i++)
        assert_true(rset_background_owe("/a", &own));
    for (int i = 0; rset_background_owes("/a"); i++) {
        assert_true(i < 100);
        expect_failure("/a", "failure of 2");
    }
    rset_background_end();
    assert_false(rset_background_owe("/a", &own));
    expect_nothing("/a");
}

/* Failures nobody asks for do not pile up: they become warnings, none is lost. */
static void
many_failures(void)
{
    char text[RSET_ERR_TEXT];
    int  said = 0, taken = 0;

    for (int i = 0; i < MANY; i++)
        add(i % 2 ? "/a" : "/b", "f");
    rset_background_wait(NULL);
    while (rset_background_warning(text))
        said += strcmp(text, "failure of f") == 0;
    while (rset_background_owes(NULL)) {
        expect_failure(NULL, "failure of f");
        taken++;
    }
    assert_true(said + taken == MANY && taken > 10 && taken < 100);
    expect_nothing(NULL);
}

static void
other_names(void)
{
    char a[64], b[64];

    assert_non_null(mkdtemp(dir));
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    fclose(fopen(a, "w"));
    assert_int_equal(link(a, b), 0);
    pthread_mutex_lock(&gate);
    add(a, "g");
    assert_true(rset_background_busy(b) && !rset_background_busy("/"));
    pthread_mutex_unlock(&gate);
    add(a, "f");
    rset_background_wait(b);
    expect_failure(b, "failure of f");
    assert_true(unlink(a) == 0 && unlink(b) == 0 && rmdir(dir) == 0);
}

static void
ends(void)
{
    pthread_mutex_lock(&gate);
    add("/a", "g");
    add("/b", "f");
    pthread_mutex_unlock(&gate);
    rset_background_end();
    assert_string_equal(order, "gf");
    assert_false(rset_background_add("/a", work, (void *)(uintptr_t) "x"));
    rset_background_end();
    expect_failure("/b", "failure of f");
    expect_nothing(NULL);
}

/* The thread has all signals blocked: one that the program has blocked stays pending. */
static volatile sig_atomic_t came;

static void
take_signal(int sig)
{
    came = sig;
}

static void
signals(void)
{
    sigset_t usr1;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    signal(SIGUSR1, take_signal);
    add("/a", "x");
    rset_background_wait(NULL);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    kill(getpid(), SIGUSR1);
    usleep(20000);
    assert_int_equal(came, 0);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    assert_int_equal(came, SIGUSR1);
}

/* In a child that was forked nothing is there, whatever the thread is doing. */
static void
in_a_child(void)
{
    int status = 0;

    pthread_mutex_lock(&gate);
    add("/a", "g");
    add("/b", "f");
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();

        if (child == 0) { /* not exit(): a leak sanitizer's lock may have been the thread's */
            alarm(30);
            rset_background_wait(NULL);
            rset_background_end();
            _exit(rset_background_busy("/a") || rset_background_owes(NULL) ||
                  rset_background_add("/a", work, NULL));
        }
        assert_true(waitpid(child, &status, 0) == child && status == 0);
    }
    pthread_mutex_unlock(&gate);
    rset_background_wait(NULL);
    expect_failure("/b", "failure of f");
}

/* What is short is done in exit(); what is long is left. */
static void
exits(void)
{
    add("/a", "x");
    exit(0);
}

static void
exits_all_the_same(void)
{
    pthread_mutex_lock(&gate);
    add("/a", "g");
    exit(0);
}

/* While it waits, the wall clock is set back by a year. */
static void
exits_by_no_wall_clock(void)
{
    is_ahead = true;
    exits_all_the_same();
}

/* ---- a process for each ---- */

static void
run_apart(void (*test)(void))
{
    int   status = 0;
    pid_t child = fork();

    if (child == 0) {
        alarm(60);
        test();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define APART(name)                                                                                \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run_apart(name);                                                                           \
    }
APART(never_used)
APART(in_order)
APART(waits_for_one)
APART(tells_once)
APART(owes)
APART(many_failures)
APART(other_names)
APART(ends)
APART(signals)
APART(in_a_child)
APART(exits)
APART(exits_all_the_same)
APART(exits_by_no_wall_clock)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_used),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_waits_for_one),
        cmocka_unit_test(test_tells_once),
        cmocka_unit_test(test_owes),
        cmocka_unit_test(test_many_failures),
        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_in_a_child),
        cmocka_unit_test(test_exits),
        cmocka_unit_test(test_exits_all_the_same),
        cmocka_unit_test(test_exits_by_no_wall_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
