/* odd.c - an MPI + HDF5 program that does what programs do apart from one checkpoint per rank: files of
 * one rank, files written in turn, inputs, external links, files closed in another order, probes, ends
 * of all kinds. It is not linked with redset and knows nothing of it; test_odd.sh runs it under
 * HDF5_DRIVER=redset on 4 ranks. Whatever it does must work as without (P5 P6 P10, T1 T6 T9 T11 T17).
 *
 *   odd CASE DIR LIMIT    LIMIT: seconds after which a call that should not wait has waited
 *
 * Exit status 0: all went as in a program without redset, and the application's communicators still
 * work. Whether files are protected is told by their redundancy files, seen in DIR. */
#include <dirent.h>
#include <hdf5.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int         rank, ranks;
static const char *dir;
static double      limit;
static int         failures;

/* What files of one rank may cost it in all: ranks that do not have them are waited for once, and some times more for a
 * short while, since they may only be late (rset_rendezvous_wait). */
#define TIMED_OUT (10 * limit)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);         \
        }                                                                                          \
    } while (0)

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* DIR/<formatted name>; a few of them live at the same time. */
__attribute__((format(printf, 1, 2))) static const char *
in_dir(const char *fmt, ...)
{
    static char paths[8][4096];
    static int  next;
    char       *path = paths[next++ % 8];
    size_t      n = (size_t)snprintf(path, sizeof paths[0], "%s/", dir);
    va_list     args;

    va_start(args, fmt);
    vsnprintf(path + n, sizeof paths[0] - n, fmt, args);
    va_end(args);
    return path;
}

/* How many redundancy files lie beside the file. */
static int
redundancy(const char *path)
{
    const char    *base = strrchr(path, '/') + 1;
    size_t         n = strlen(base);
    DIR           *d = opendir(dir);
    struct dirent *entry;
    int            found = 0;

    while (d != NULL && (entry = readdir(d)) != NULL)
        found += strncmp(entry->d_name, base, n) == 0 && entry->d_name[n] == '.' &&
                 strstr(entry->d_name + n, ".xor.") != NULL;
    if (d != NULL)
        closedir(d);
    return found;
}

static bool
is_protected(const char *path)
{
    return redundancy(path) > 0;
}

/* ---- one file ---- */

static hid_t
create(const char *path, unsigned flags)
{
    hsize_t n = 1000;
    int     data[1000];
    hid_t   file = H5Fcreate(path, flags, H5P_DEFAULT, H5P_DEFAULT), space, set;

    if (file < 0)
        return file;
    for (int i = 0; i < 1000; i++)
        data[i] = i * (rank + 1);
    space = H5Screate_simple(1, &n, NULL);
    set = H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    return file;
}

static void
write_file(const char *path)
{
    hid_t file = create(path, H5F_ACC_TRUNC);

    CHECK(file >= 0);
    CHECK(H5Fclose(file) >= 0);
}

static void
add_group(const char *path, const char *name)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group;

    CHECK(file >= 0);
    group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0);
    H5Gclose(group);
    CHECK(H5Fclose(file) >= 0);
}

static void
read_file(const char *path)
{
    int   data[1000] = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set;

    CHECK(file >= 0);
    set = H5Dopen2(file, "data", H5P_DEFAULT);
    CHECK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    CHECK(data[999] != 0 && data[999] % 999 == 0);
    H5Dclose(set);
    CHECK(H5Fclose(file) >= 0);
}

static const char *
mine(const char *name)
{
    return in_dir("%s_%d.h5", name, rank);
}

/* A checkpoint of all ranks, which must be protected whatever was before. */
static void
checkpoint(void)
{
    write_file(mine("ckpt"));
    CHECK(is_protected(mine("ckpt")));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message to rank 0 may wait there for its first coming (docs/limitations.md). */
static void
no_message_waits(void)
{
    MPI_Status message;
    int        found = 0;

    for (int look = 0; look < 100 && !found; look++) /* the first only fetches what has arrived */
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message);
    CHECK(rank == 0 || !found);
}

/* What the application does with its own communicators gives what it should: nothing collective of
 * ours has got in between, and no message is left where it would be received. */
static void
application_goes_on(void)
{
    MPI_Request request;
    MPI_Comm    half, copy;
    int         one = 1, sum = 0, size = 0;

    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == size && size == (ranks + 1 - rank % 2) / 2);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    no_message_waits();
}

/* ---- files of one rank ---- */

static void
one_rank(int who)
{
    double start = now();

    if (rank == who) {
        for (int i = 0; i < 12; i++)
            write_file(in_dir("log.h5"));
        CHECK(now() - start < TIMED_OUT);
        start = now();
        write_file(in_dir("log.h5")); /* nobody is waited for any more */
        add_group(in_dir("log.h5"), "more");
        CHECK(now() - start < limit);
        CHECK(!is_protected(in_dir("log.h5")));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    if (rank == who) { /* meanwhile rank 0 comes, and answers all that it was told before */
        sleep(1);
        no_message_waits();
    }
    checkpoint();
    start = now();
    if (rank == (who + 1) % ranks)
        write_file(in_dir("log.h5"));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(now() - start < TIMED_OUT);
    checkpoint();
    application_goes_on();
}

static void
case_first(void)
{
    one_rank(0);
}

static void
case_last(void)
{
    one_rank(ranks - 1);
}

static void
case_later(void)
{
    checkpoint();
    one_rank(1);
}

/* One file, written by one rank after the other. */
static void
case_baton(void)
{
    const char *path = in_dir("shared.h5");
    char        name[16];
    double      start = 0;
    int         baton = 0;

    checkpoint();
    for (int round = 0; round < 2; round++) {
        if (rank > 0)
            MPI_Recv(&baton, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        start = now();
        snprintf(name, sizeof name, "of%d_%d", rank, round);
        if (rank == 0 && round == 0)
            write_file(path);
        else
            add_group(path, name);
        CHECK(now() - start < TIMED_OUT);
        if (rank < ranks - 1)
            MPI_Send(&baton, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    read_file(path);
    CHECK(!is_protected(path));
    checkpoint();
    application_goes_on();
}

/* ---- inputs ---- */

static void
case_input(void)
{
    double start = now();

    read_file(in_dir("input.h5")); /* all of them */
    if (rank == 2)
        read_file(in_dir("input.h5"));
    CHECK(now() - start < limit);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}

/* A file that is protected is read by one rank: its owner, or another. */
static void
protected_input(int reader, int owner)
{
    double start;

    checkpoint();
    if (rank == reader) {
        read_file(in_dir("ckpt_%d.h5", owner));
        start = now();
        read_file(in_dir("ckpt_%d.h5", owner));
        CHECK(now() - start < limit + 1.5); /* a protected file is worth a short wait each time */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    checkpoint();
}

static void
case_own(void)
{
    protected_input(1, 1);
}

static void
case_foreign(void)
{
    protected_input(0, 3);
}

/* One rank adds to its protected file, the others do not. */
static void
case_append(void)
{
    checkpoint();
    if (rank == 2)
        add_group(mine("ckpt"), "more");
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* An external link into a file that all may see, followed by one rank only. */
static void
case_link(void)
{
    hid_t file, set;

    file = create(mine("main"), H5F_ACC_TRUNC);
    CHECK(H5Lcreate_external("target.h5", "/data", file, "there", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Fclose(file) >= 0);
    CHECK(is_protected(mine("main")));
    file = H5Fopen(mine("main"), H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0);
    if (rank == 1) {
        set = H5Dopen2(file, "there", H5P_DEFAULT);
        CHECK(set >= 0);
        H5Dclose(set);
    }
    CHECK(H5Fclose(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}

/* ---- order ---- */

static void
case_order(void)
{
    for (int i = 0; i < 3; i++) {
        hid_t a = create(mine("a"), H5F_ACC_TRUNC), b = create(mine("b"), H5F_ACC_TRUNC);

        CHECK(H5Fclose(rank % 2 ? b : a) >= 0);
        CHECK(H5Fclose(rank % 2 ? a : b) >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(is_protected(mine("a")) || is_protected(mine("b")));
    checkpoint();
    application_goes_on();
}

/* The same on three ranks, another order on one. */
static void
case_odd_one(void)
{
    hid_t a = create(mine("a"), H5F_ACC_TRUNC), b = create(mine("b"), H5F_ACC_TRUNC);

    CHECK(H5Fclose(rank == 3 ? b : a) >= 0);
    CHECK(H5Fclose(rank == 3 ? a : b) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(is_protected(mine("a")) && !is_protected(mine("b")));
    application_goes_on();
}

/* ---- files that are there on some ranks ---- */

/* H5Fcreate over files that are there on ranks below `some`; `safe`: protected before. */
static void
case_subset(void)
{
    for (int safe = 0; safe < 2; safe++)
        for (int some = 1; some <= ranks; some++) {
            double start;

            if (safe)
                write_file(mine("part"));
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank >= some || !safe)
                unlink(mine("part"));
            if (!safe && rank < some) {
                FILE *f = fopen(mine("part"), "w"); /* no HDF5 file at all */
                CHECK(f != NULL && fclose(f) == 0);
            }
            MPI_Barrier(MPI_COMM_WORLD);
            start = now();
            write_file(mine("part"));
            CHECK(now() - start < limit); /* the same call everywhere: no waiting */
            CHECK(is_protected(mine("part")));
            read_file(mine("part"));
            MPI_Barrier(MPI_COMM_WORLD);
        }
    application_goes_on();
}

/* EXCL fails where the file is, and works where it is not; the others are not protected then. */
static void
case_exclusive(void)
{
    hid_t file;

    if (rank < 2)
        write_file(mine("excl"));
    MPI_Barrier(MPI_COMM_WORLD);
    H5E_BEGIN_TRY
    {
        file = create(mine("excl"), H5F_ACC_EXCL);
    }
    H5E_END_TRY
    CHECK((file < 0) == (rank < 2));
    if (file >= 0)
        CHECK(H5Fclose(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* ---- probes ---- */

static void
probe(const char *path)
{
    H5E_BEGIN_TRY
    {
        CHECK(H5Fis_accessible(path, H5P_DEFAULT) <= 0);
        CHECK(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
        CHECK(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT) < 0);
    }
    H5E_END_TRY
}

/* A program that looks for a checkpoint to begin with, and there is none. */
static void
case_fresh(void)
{
    double start = now();

    probe(mine("ckpt"));
    CHECK(now() - start < limit);
    checkpoint();
    application_goes_on();
}

static void
case_fresh_one(void)
{
    if (rank == 0)
        probe(in_dir("ckpt_0.h5"));
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    checkpoint();
}

static void
case_fresh_other(void)
{
    double start;

    checkpoint();
    if (rank == 3) {
        probe(in_dir("none.h5"));
        start = now();
        probe(in_dir("none.h5"));
        CHECK(now() - start < limit);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* ---- ends ---- */

/* Rank 3 goes to MPI_Finalize with a file open, while the others close theirs. */
static void
early(bool met)
{
    hid_t file;

    if (met)
        checkpoint();
    file = create(mine("last"), H5F_ACC_TRUNC);
    CHECK(file >= 0);
    if (rank != 3)
        CHECK(H5Fclose(file) >= 0);
}

static void
case_early(void)
{
    early(true);
}

static void
case_early_unmet(void)
{
    early(false);
}

static hid_t left_open;

/* All close after MPI_Finalize, see main(). */
static void
case_after(void)
{
    checkpoint();
    left_open = create(mine("after"), H5F_ACC_TRUNC);
    CHECK(left_open >= 0);
}

/* HDF5 closes it from its exit handler. */
static void
case_never_closed(void)
{
    CHECK(create(mine("never"), H5F_ACC_TRUNC) >= 0);
}

/* Rank 1 stops for good, is continued when the others are done with two files, and closes its own. */
static void
case_stopped(void)
{
    hid_t  file[2];
    double start;
    int    pid = (int)getpid(), stopped = 0;

    checkpoint();
    for (int i = 0; i < 2; i++)
        file[i] = create(in_dir("stop%d_%d.h5", i, rank), H5F_ACC_TRUNC);
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) { /* same host */
        usleep(300000);
        kill(pid, SIGSTOP);
        stopped = 1;
    }
    if (rank == 1)
        usleep(1000000); /* is stopped in here */
    else
        MPI_Bcast(&stopped, 1, MPI_INT, 0, MPI_COMM_SELF);
    for (int i = 0; i < 2 && rank != 1; i++) {
        start = now();
        CHECK(H5Fclose(file[i]) >= 0);
        CHECK(now() - start < limit + 1.5); /* with the second a quarter of it at most */
    }
    if (rank == 0) {
        kill(pid, SIGCONT);
    }
    for (int i = 0; i < 2 && rank == 1; i++)
        CHECK(H5Fclose(file[i]) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}

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
    {"pattern", case_pattern},
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
