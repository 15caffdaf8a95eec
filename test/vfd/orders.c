/* orders.c: each rank has a file of three kinds, which names tell apart, and opens, changes and closes them in an order of its own,
 * as threads of a program do. All HDF5 calls of a rank are serialised, as by HDF5's own lock, so a rank that waits in one of
 * them comes to no other. Usage: orders DIR ACTION OLD NEW, where every file holds OLD before and NEW after:
 *
 *   create    all create and close theirs in one order
 *   read      each opens them in its own order, one while the others are open, and closes them in another one
 *   update    opened, in orders of their own, to be changed; closed in one order
 *   cross     created, or where OLD is not 0 opened to be changed, and closed in orders of their own
 *   threads   one thread for each kind, that opens its file, reads it and closes it, several times
 *
 * Exit status 0: everything succeeded, and all values were right. */
#include <hdf5.h>
#include <mpi.h>
#include <pthread.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KINDS = 3, NUMBERS = 4096 };

static const char *const kinds[KINDS] = {"mesh", "flow", "rays"};

static const char *dir;
static int         rank, nranks;

static pthread_mutex_t hdf5 = PTHREAD_MUTEX_INITIALIZER;

static void
must(int so, const char *what, int kind)
{
    if (so)
        return;
    fprintf(stderr, "not so: rank %d: %s %s\n", rank, what, kinds[kind]);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
name(int kind, char *path, size_t size)
{
    snprintf(path, size, "%s/%s_%d.h5", dir, kinds[kind], rank);
}

static void
value(int *values, int kind, int of)
{
    for (int i = 0; i < NUMBERS; i++)
        values[i] = (of * KINDS + kind) * 1000 + rank + i;
}

static void
set(hid_t file, int kind, int of)
{
    int   values[NUMBERS];
    hid_t d = H5Dopen2(file, "d", H5P_DEFAULT);

    value(values, kind, of);
    must(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "written", kind);
    H5Dclose(d);
}

static void
check(hid_t file, int kind, int of)
{
    int   want[NUMBERS], got[NUMBERS] = {0};
    hid_t d = H5Dopen2(file, "d", H5P_DEFAULT);

    value(want, kind, of);
    must(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0, "read", kind);
    must(memcmp(want, got, sizeof want) == 0, "right values in", kind);
    H5Dclose(d);
}

static hid_t
create(int kind, int of)
{
    const hsize_t n = NUMBERS;
    char          path[4096];
    hid_t         file, space = H5Screate_simple(1, &n, NULL);

    name(kind, path, sizeof path);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must(file >= 0, "created", kind);
    H5Dclose(H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    set(file, kind, of);
    return file;
}

static hid_t
open_it(int kind, unsigned flags)
{
    char  path[4096];
    hid_t file;

    name(kind, path, sizeof path);
    file = H5Fopen(path, flags, H5P_DEFAULT);
    must(file >= 0, "opened", kind);
    return file;
}

static void
close_it(hid_t file, int kind)
{
    must(H5Fclose(file) >= 0, "closed", kind);
}

/* ---- one after the other ---- */

/* The kind that this rank comes to as its i-th; `own`: in an order of its own. */
static int
nth(int i, int own)
{
    return own ? (i + rank) % KINDS : i;
}

static void
one_after_the_other(const char *action, int old, int new)
{
    const int creates = strcmp(action, "create") == 0 || old == 0;
    const int reads = strcmp(action, "read") == 0;
    const int cross = strcmp(action, "cross") == 0 || reads;
    hid_t     files[KINDS];

    for (int i = 0; i < KINDS; i++) {
        const int k = nth(i, strcmp(action, "create") != 0);

        files[k] = creates ? create(k, new) : open_it(k, reads ? H5F_ACC_RDONLY : H5F_ACC_RDWR);
        if (!creates)
            check(files[k], k, old);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < KINDS && !reads && !creates; k++)
        set(files[k], k, new);
    for (int i = 0; i < KINDS; i++)
        close_it(files[nth(i, cross)], nth(i, cross));
}

/* ---- threads ---- */

typedef struct task {
    int kind, old;
} task;

static void *
live(void *arg)
{
    const task *t = arg;

    for (int times = 0; times < 4; times++) {
        hid_t file;

        pthread_mutex_lock(&hdf5);
        file = open_it(t->kind, H5F_ACC_RDONLY);
        pthread_mutex_unlock(&hdf5);
        usleep((useconds_t)(t->kind * 700 + rank * 1100) % 3000); /* others get their turn */
        pthread_mutex_lock(&hdf5);
        check(file, t->kind, t->old);
        close_it(file, t->kind);
        pthread_mutex_unlock(&hdf5);
    }
    return NULL;
}

static void
threads(int old)
{
    pthread_t thread[KINDS];
    task      tasks[KINDS];

    for (int i = 0; i < KINDS; i++) {
        const int k = nth(i, 1);

        tasks[k] = (task){k, old};
        must(pthread_create(&thread[k], NULL, live, &tasks[k]) == 0, "thread for", k);
    }
    for (int k = 0; k < KINDS; k++)
        pthread_join(thread[k], NULL);
}

int
main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (level < MPI_THREAD_MULTIPLE || argc != 5) {
        MPI_Finalize();
        return argc != 5 ? 2 : 77;
    }
    dir = argv[1];
    if (strcmp(argv[2], "threads") == 0)
        threads(atoi(argv[3]));
    else
        one_after_the_other(argv[2], atoi(argv[3]), atoi(argv[4]));
    MPI_Finalize();
    return 0;
}
