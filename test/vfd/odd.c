/* odd.c - an MPI + HDF5 program that does what programs do apart from one checkpoint per rank: files of
 * one rank, files written in turn, inputs, external links, files closed in another order, probes, ends
 * of all kinds. It is not linked with redset and knows nothing of it; test_odd.sh runs it under
 * HDF5_DRIVER=redset on 4 ranks. Whatever it does must work as without (P5 P6 P10, T1 T6 T9 T11 T17).
 *
 *   odd CASE DIR LIMIT    LIMIT: seconds after which a call that should not wait has waited
 *
 * Exit status 0: all went as in a program without redset, and the application's communicators still
 * work. Whether files are protected is told by their redundancy files, seen in DIR. */
#include "odd.h"

#include "seconds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- MPI's own things ---- */

static void *
thread_body(void *arg)
{
    write_file(arg);
    return NULL;
}

/* From a thread that may not call MPI: a warning, no more; the main thread goes on as before. */
static void
case_thread(void)
{
    pthread_t thread;
    char      path[4096];

    checkpoint();
    snprintf(path, sizeof path, "%s", mine("thread"));
    pthread_create(&thread, NULL, thread_body, path);
    pthread_join(thread, NULL);
    checkpoint();
    application_goes_on();
}

static void
case_plain(void)
{
    checkpoint();
    for (int i = 0; i < 3; i++) {
        write_file(mine("more"));
        read_file(mine("more"));
        CHECK(is_protected(mine("more")));
    }
    application_goes_on();
}

/* With files=ckpt_*: all of the above at once, and nobody waits. */
static void
case_pattern(void)
{
    double start = now();

    if (rank == 0)
        write_file(in_dir("log.h5"));
    if (rank == 3)
        probe(in_dir("none.h5"));
    for (int r = 0; r < ranks; r++) {
        if (r == rank && r > 0)
            add_group(in_dir("log.h5"), mine("g") + strlen(dir) + 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    write_file(rank % 2 ? mine("a") : mine("b"));
    CHECK(!is_protected(mine("a")) && !is_protected(mine("b")) && !is_protected(in_dir("log.h5")));
    CHECK(now() - start < limit);
    application_goes_on();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"first", case_first},         {"last", case_last},
    {"later", case_later},         {"baton", case_baton},
    {"input", case_input},         {"own", case_own},
    {"foreign", case_foreign},     {"append", case_append},
    {"link", case_link},           {"order", case_order},
    {"odd_one", case_odd_one},     {"subset", case_subset},
    {"exclusive", case_exclusive}, {"fresh", case_fresh},
    {"fresh_one", case_fresh_one}, {"fresh_other", case_fresh_other},
    {"early", case_early},         {"early_unmet", case_early_unmet},
    {"after", case_after},         {"never", case_never_closed},
    {"stopped", case_stopped},     {"thread", case_thread},
    {"single", case_plain},        {"funneled", case_plain},
    {"serialized", case_plain},    {"multiple", case_plain},
    {"pattern", case_pattern},     {"not_created", case_not_created},
};

static int
level_of(const char *name)
{
    return strcmp(name, "funneled") == 0 || strcmp(name, "thread") == 0 ? MPI_THREAD_FUNNELED
           : strcmp(name, "serialized") == 0                            ? MPI_THREAD_SERIALIZED
           : strcmp(name, "multiple") == 0                              ? MPI_THREAD_MULTIPLE
                                                                        : MPI_THREAD_SINGLE;
}

/* Linked with MPI, never started: reads and writes as a program without it. */
static int
without_mpi(void)
{
    double start = now();

    ranks = 1;
    probe(in_dir("none.h5"));
    write_file(in_dir("alone.h5"));
    add_group(in_dir("alone.h5"), "more");
    read_file(in_dir("alone.h5"));
    CHECK(now() - start < limit);
    return failures > 0;
}

static void
run_case(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(name, cases[i].name) == 0) {
            cases[i].run();
            return;
        }
    fprintf(stderr, "odd: no case %s\n", name);
    failures++;
}

int
main(int argc, char **argv)
{
    MPI_Errhandler before, after;
    int            level;

    if (argc != 4) {
        fprintf(stderr, "usage: odd CASE DIR LIMIT\n");
        return 2;
    }
    dir = argv[2];
    limit = atof(argv[3]);
    if (strcmp(argv[1], "without_mpi") == 0)
        return without_mpi();
    MPI_Init_thread(&argc, &argv, level_of(argv[1]), &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    run_case(argv[1]);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
    CHECK(before == after && after == MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
    if (left_open > 0)
        CHECK(H5Fclose(left_open) >= 0);
    return failures > 0;
}
