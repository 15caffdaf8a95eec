/* What protecting has cost (vfd/stats.h), and how the ranks of a communicator tell it (vfd/report.h): sums, who is the
 * latest, kinds that not all ranks have, and P5 where a rank does not come. Ranks are threads here. */
#include "report_internal.h"

#include "comm/comm_local.h"

#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 5, SECOND = 1000000000, TIMEOUT = 2 };

static char    dir[] = "/tmp/test_report.XXXXXX";
static char    path[200];
static uint8_t places[96]; /* their addresses are what tells communicators apart */
static int     base;       /* the first one of this test */

static void
fresh(const char *name)
{
    static int used;

    base = used;
    used += RANKS;
    assert_true(used <= (int)sizeof places);
    snprintf(path, sizeof path, "%s/%s", dir, name);
}

static char *
written(void)
{
    static char text[1 << 18];
    FILE       *file = fopen(path, "r");
    size_t      n;

    if (file == NULL)
        return NULL;
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void
expect(const char *words)
{
    const char *text = written();

    if (text == NULL || strstr(text, words) == NULL)
        fail_msg("no \"%s\" in: %s", words, text != NULL ? text : "(no file)");
}

/* Rank r has protected r + 1 files of 1 MiB each, and waited in the rendezvous for `meet` seconds. */
static rset_stats
figures(int r, int meet)
{
    rset_stats s = {.files[RSET_COUNT_PROTECTED] = (uint64_t)r + 1,
                    .bytes[RSET_COUNT_PROTECTED] = ((uint64_t)r + 1) << 20};

    s.spent.ns[RSET_PHASE_MEET] = (uint64_t)meet * SECOND;
    s.spent.ns[RSET_PHASE_READ] = (uint64_t)(r == 1 ? 5 : 1) * SECOND;
    return s;
}

/* ---- figures ---- */

enum { THREADS = 4, TIMES = 400000 };

static pthread_barrier_t gate;

static void *
add_often(void *unused)
{
    const rset_stats one = figures(0, 1);

    pthread_barrier_wait(&gate);
    for (int i = 0; i < TIMES; i++)
        rset_stats_add(NULL, i % 2 == 0 ? "often_#.h5" : "seldom_#.h5", &one);
    return unused;
}

static void
threads_add_at_a_time(void **state)
{
    const uint64_t before = rset_stats_of(NULL).files[RSET_COUNT_PROTECTED];
    pthread_t      thread[THREADS];
    rset_stats     sum;

    (void)state;
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    sum = rset_stats_of("often_#.h5");
    assert_int_equal(sum.files[RSET_COUNT_PROTECTED], THREADS * TIMES / 2);
    assert_true(sum.spent.ns[RSET_PHASE_MEET] == (uint64_t)SECOND * THREADS * TIMES / 2);
    assert_int_equal(rset_stats_of(NULL).files[RSET_COUNT_PROTECTED], before + THREADS * TIMES);
    assert_int_equal(rset_stats_of("never_#.h5").files[RSET_COUNT_PROTECTED], 0);
}

/* A name that differs in more than numbers makes a kind of its own each time. */
static void
kinds_without_end(void **state)
{
    const uint64_t   before = rset_stats_of(NULL).files[RSET_COUNT_PROTECTED];
    const rset_stats one = figures(0, 1);
    char             kind[RSET_KIND_MAX];
    rset_stats       sum;
    int              kinds = 0;

    (void)state;
    fresh("-");
    for (int i = 0; i < 1000; i++) {
        snprintf(kind, sizeof kind, "%c%c%c.h5", 'a' + i / 100, 'a' + i / 10 % 10, 'a' + i % 10);
        rset_stats_add(&places[base], kind, &one);
    }
    kind[0] = '\0';
    while (rset_stats_next(&places[base], kind, kind, &sum))
        kinds++;
    assert_true(kinds >= 100 && kinds <= 256);
    assert_int_equal(rset_stats_of(NULL).files[RSET_COUNT_PROTECTED], before + 1000);
}

/* ---- reports ---- */

static int missing; /* the rank that does not come; -1: all do */

static void
tell(rset_comm *comm, void *unused)
{
    char host[32];

    (void)unused;
    if (comm->rank == missing)
        return;
    snprintf(host, sizeof host, "node%d", comm->rank);
    rset_report_end(&places[base + comm->rank], comm, host, 10 + comm->rank, rset_clock());
}

static void
report(void)
{
    rset_err err = RSET_ERR_NONE;

    rset_report_want(&places[base], path);
    assert_int_equal(rset_local_run(RANKS, TIMEOUT, tell, NULL, &err), RSET_OK);
}

static void
add_all(const char *kind)
{
    for (int r = 0; r < RANKS; r++) {
        const rset_stats s = figures(r, r == 3 ? 1 : 3);

        rset_stats_add(&places[base + r], kind, &s);
    }
}

static void
ranks_add_up(void **state)
{
    (void)state;
    missing = -1;
    fresh("table");
    add_all("sum_#.h5");
    report();
    expect("what protecting sum_#.h5 cost");
    expect("5 ranks, 5 of them with such files");
    expect(" 15 files     15.0 MiB\n");
    expect("rendezvous              2.600      3.000  rank 10 on node0\n");
    expect("reading                 1.800      5.000  rank 11 on node1\n");
    expect("latest:  rank 13 on node3; others waited up to 2.000 s until it came\n");
    expect("slowest: rank 11 on node1; 5.000 s of its own work, 1.800 s on the mean\n");
}

static void
lines_of_json(void **state)
{
    (void)state;
    missing = -1;
    fresh("lines.jsonl");
    add_all("json_\"#.h5");
    report();
    expect("\"kind\": \"json_\\\"#.h5\", \"of\": 5, \"ranks\": 5, \"missing\": null");
    expect("\"protected\": {\"files\": 15, \"bytes\": 15728640}");
    expect("\"rendezvous\": {\"mean\": 2.600000, \"worst\": 3.000000, \"rank\": 10, \"host\": "
           "\"node0\"}");
    expect("\"latest\": {\"waited\": 2.000000, \"rank\": 13, \"host\": \"node3\"}");
    assert_ptr_equal(strchr(written(), '\n'), written() + strlen(written()) - 1);
}

/* Each kind has its table, whoever has such files. */
static void
kinds_of_some_ranks(void **state)
{
    const rset_stats s = figures(0, 1);

    (void)state;
    missing = -1;
    fresh("kinds");
    rset_stats_add(&places[base + 4], "a.h5", &s);
    rset_stats_add(&places[base + 1], "b.h5", &s);
    rset_stats_add(&places[base], "c.h5", &s);
    rset_stats_add(&places[base + 4], "c.h5", &s);
    report();
    expect("protecting a.h5 cost");
    expect("protecting b.h5 cost");
    expect("protecting c.h5 cost");
    expect("5 ranks, 1 of them");
    expect("5 ranks, 2 of them");
}

/* P5: rank 0 then tells its own figures, and why they are not those of all. */
static void
a_rank_that_does_not_come(void **state)
{
    (void)state;
    fresh("missing");
    missing = 4;
    add_all("missing_#.h5");
    report();
    expect("only figures of this rank: gave up after ");
    expect("for rank 4");
    expect("rendezvous              3.000      3.000  rank 10 on node0\n");
    missing = -1;
}

/* A warning, and nothing else: the ranks come to an end all the same. */
static void
cannot_be_written(void **state)
{
    static const char *const names[] = {"none/of/these", "directory", "pipe"};

    (void)state;
    missing = -1;
    for (int i = 0; i < 3; i++) {
        fresh(names[i]);
        if (i == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        if (i == 2)
            assert_int_equal(mkfifo(path, 0600), 0); /* that nobody reads */
        add_all("refused_#.h5");
        report();
    }
    unlink(path);
    fresh("directory");
    assert_int_equal(rmdir(path), 0);
}

/* Into a file that may not grow so much, with a warning; that goes to a pipe that nobody reads. Both end a program by a signal
 * that has not said what shall be. */
static void
no_signal_is_raised(void **state)
{
    struct rlimit all, few;
    int           ends[2];
    const int     said = dup(STDERR_FILENO);

    (void)state;
    missing = -1;
    fresh("limited");
    add_all("limited_#.h5");
    assert_true(getrlimit(RLIMIT_FSIZE, &all) == 0 && pipe(ends) == 0 && said >= 0);
    few = (struct rlimit){100, all.rlim_max};
    assert_true(close(ends[0]) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    report();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_true(dup2(said, STDERR_FILENO) >= 0 && close(said) == 0 && close(ends[1]) == 0);
    assert_int_equal(strlen(written()), 100);
    assert_int_equal(unlink(path), 0);
}

/* What is there is kept: other communicators write there too. */
static void
a_second_one_is_appended(void **state)
{
    const char *first;

    (void)state;
    missing = -1;
    fresh("twice");
    add_all("first_#.h5");
    report();
    fresh("twice");
    add_all("second_#.h5");
    report();
    first = strstr(written(), "first_#.h5");
    assert_non_null(first);
    assert_non_null(strstr(first, "second_#.h5"));
}

/* ---- who wants one ---- */

enum { WANTED = 40 };

static uint8_t wanted[THREADS][WANTED]; /* places */

static void *
want_all(void *own)
{
    pthread_barrier_wait(&gate);
    for (int i = 0; i < WANTED; i++)
        rset_report_want((uint8_t *)own + i, path);
    return own;
}

/* A process that ends without MPI_Finalize tells what is wanted. */
static void
want_and_end(void)
{
    const rset_stats one = figures(0, 1);
    pthread_t        thread[THREADS];

    pthread_barrier_init(&gate, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < WANTED; i++)
            rset_stats_add(&wanted[t][i], "wanted_#.h5", &one);
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, want_all, wanted[t]) != 0)
            _exit(1);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    exit(0);
}

/* A thread of the program opens files, while another one protects some behind its back: none of what they want is lost. */
static void
threads_want_it_at_a_time(void **state)
{
    int   status, lines = 0;
    pid_t child;

    (void)state;
    fresh("wanted.jsonl");
    child = fork();
    if (child == 0)
        want_and_end();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect("\"kind\": \"wanted_#.h5\"");
    for (const char *at = written(); *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, THREADS * WANTED);
}

static int
setup(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

/* A locale of our own, since a machine may have none with a decimal comma. False: it cannot be made here. */
static bool
set_comma(void)
{
    static const char make[] =
        "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
        "grouping 3;3\nEND LC_NUMERIC\n' >source && "
        "localedef --no-archive -c -i source ./comma >/dev/null 2>&1; test -d comma";
    char command[512];

    snprintf(command, sizeof command, make, dir);
    return system(command) == 0 && setenv("LOCPATH", dir, 1) == 0 &&
           setlocale(LC_NUMERIC, "comma") != NULL;
}

/* A program that has set a locale with a decimal comma: what it prints is as it wants it, what is told for machines has points. */
static void
no_locale_in_numbers(void **state)
{
    const rset_report_head head = {.size = 1};
    const rset_account     account = {.kind = "a#.h5", .ranks = 1, .sum[0] = 1.5};
    char                   own[16], *text = NULL, command[300];
    size_t                 len;
    FILE                  *to = open_memstream(&text, &len);

    (void)state;
    if (!set_comma()) {
        print_message("SKIP: localedef makes no locale here\n");
        skip();
    }
    rset_report_json(to, &head, &account);
    rset_report_table(to, &head, &account);
    fclose(to);
    snprintf(own, sizeof own, "%.1f", 0.5);
    assert_string_equal(own, "0,5");
    assert_non_null(strstr(text, "\"mean\": 1.500000"));
    assert_null(strstr(text, "0,0"));
    free(text);
    assert_non_null(setlocale(LC_NUMERIC, "C"));
    snprintf(command, sizeof command, "rm -rf %s/comma %s/source", dir, dir);
    assert_int_equal(system(command), 0);
}

static int
teardown(void **state)
{
    static const char *const names[] = {"table",   "lines.jsonl", "kinds",
                                        "missing", "twice",       "wanted.jsonl"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_add_up),
        cmocka_unit_test(lines_of_json),
        cmocka_unit_test(no_locale_in_numbers),
        cmocka_unit_test(kinds_of_some_ranks),
        cmocka_unit_test(a_rank_that_does_not_come),
        cmocka_unit_test(cannot_be_written),
        cmocka_unit_test(no_signal_is_raised),
        cmocka_unit_test(a_second_one_is_appended),
        cmocka_unit_test(threads_want_it_at_a_time),
        cmocka_unit_test(threads_add_at_a_time),
        cmocka_unit_test(kinds_without_end),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
