/* forked.c - an MPI + HDF5 program whose ranks fork. It is not linked with redset and knows nothing of it. For test_forked.sh.
 *
 *   forked early DIR       before MPI_Init; the child waits until the parent has called it
 *   forked first DIR       after MPI_Init, before anything of HDF5 is called: the child loads the driver
 *   forked loaded DIR      after MPI_Init and H5open
 *   forked child DIR       the same as "first" of a child of a child, whose parent lives
 *   forked orphan DIR      the same, whose parent has ended
 *   forked program DIR     the child executes this program again, which creates files without MPI
 *   forked rank DIR        before MPI_Init, which is called by the child only: it is the rank
 *   forked open DIR        while a changed file is open: the child, and a child of it, read, write and exit with HDF5's exit handlers
 *   forked stays DIR       while a changed file is open: the child lives until all is done
 *
 * Each child creates a file, closes and reads it, in a directory of the test; meanwhile the ranks talk to each other, and create a
 * file each. Exit status 0: done, and each rank has found in its file what it has written. */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 20000, OLD = 1, NEW = 2, WATCHDOG = 25, ROUNDS = 50 };

static int         rank, size, values[N];
static char        path[4096], childs[4096];
static const char *dir;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what);                      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* ---- files ---- */

static void
fill(int content)
{
    for (int i = 0; i < N; i++)
        values[i] = content * 1000000 + i + rank;
}

static void
write_values(hid_t file, int content)
{
    const hsize_t n = N;
    const hid_t   space = H5Screate_simple(1, &n, NULL);
    hid_t         set =
        H5Lexists(file, "d", H5P_DEFAULT) > 0
                    ? H5Dopen2(file, "d", H5P_DEFAULT)
                    : H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    fill(content);
    CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0);
}

static int
holds(hid_t file, int content)
{
    static int found[N];
    hid_t      set = H5Dopen2(file, "d", H5P_DEFAULT);
    int        ok = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0;

    fill(content);
    return ok && H5Dclose(set) >= 0 && memcmp(found, values, sizeof found) == 0;
}

static void
create(const char *name, int content, hid_t fapl)
{
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    CHECK(file >= 0);
    write_values(file, content);
    CHECK(H5Fclose(file) >= 0);
}

static void
read_back(const char *name, int content, hid_t fapl)
{
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, fapl);

    CHECK(file >= 0 && holds(file, content) && H5Fclose(file) >= 0);
}

/* ---- children ---- */

/* What a worker does; nobody protects what it creates, which is no error for it. */
static void
work(void)
{
    hid_t fapl;

    alarm(WATCHDOG);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_driver_by_name(fapl, "redset", "timeout=20") >= 0);
    create(childs, OLD, fapl);
    create(childs, NEW, fapl);
    read_back(childs, NEW, fapl);
    CHECK(H5Pclose(fapl) >= 0);
}

static void
await(pid_t child)
{
    int how = -1;

    CHECK(child > 0 && waitpid(child, &how, 0) == child);
    if (how != 0)
        fprintf(stderr, "rank %d: its child ended with %#x\n", rank, (unsigned)how);
    CHECK(how == 0);
}

/* What ranks have to do with each other while their children work. */
static void
talk(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int one = 1, sum = 0;

        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size);
        usleep(500);
    }
}

static void
live_as_a_rank(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/data_%d.h5", dir, rank);
    snprintf(childs, sizeof childs, "%s/child_%d.h5", dir, rank);
}

static void
write_as_a_rank(void)
{
    create(path, OLD, H5P_DEFAULT);
    create(path, NEW, H5P_DEFAULT);
    read_back(path, NEW, H5P_DEFAULT);
}

static void
case_first(void)
{
    const pid_t child = fork();

    if (child == 0) {
        work();
        exit(0);
    }
    talk();
    write_as_a_rank();
    await(child);
    talk();
}

static void
case_loaded(void)
{
    CHECK(H5open() >= 0);
    case_first();
}

/* `waits`: the middle one lives as long as its child. */
static void
with_grandchild(int waits)
{
    int   done[2];
    char  byte = 0;
    pid_t child, grandchild;

    CHECK(pipe(done) == 0);
    child = fork();
    if (child == 0) {
        const pid_t middle = getpid();

        grandchild = fork();
        if (grandchild == 0) {
            for (int i = 0; !waits && getppid() == middle && i < 10000; i++)
                usleep(1000);
            work();
            CHECK(write(done[1], "d", 1) == 1);
            _exit(0);
        }
        if (waits)
            await(grandchild);
        _exit(0);
    }
    (void)close(done[1]);
    if (!waits)
        await(child);
    talk();
    write_as_a_rank();
    CHECK(read(done[0], &byte, 1) == 1 && byte == 'd');
    if (waits)
        await(child);
    talk();
}

static void
case_child(void)
{
    with_grandchild(1);
}

static void
case_orphan(void)
{
    with_grandchild(0);
}

static void
case_program(void)
{
    const pid_t child = fork();

    if (child == 0) {
        (void)execl("/proc/self/exe", "forked", "worker", childs, (char *)NULL);
        _exit(1);
    }
    talk();
    write_as_a_rank();
    await(child);
}

/* The lock that HDF5 has on its file is the parent's to let go of. */
static void
check_locked(void)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    (void)close(fd);
}

static void
exit_in_child(hid_t file, int more)
{
    const pid_t child = fork();

    if (child != 0) {
        await(child);
        return;
    }
    alarm(WATCHDOG);
    CHECK(holds(file, OLD));
    if (more)
        exit_in_child(file, 0);
    write_values(file, NEW + 1 + more);
    exit(0); /* HDF5 closes all that is open */
}

static hid_t
open_and_change(void)
{
    hid_t file, space;

    create(path, OLD, H5P_DEFAULT);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    space = H5Screate(H5S_SCALAR);
    CHECK(file >= 0 && space >= 0);
    CHECK(H5Aclose(H5Acreate2(file, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    (void)H5Sclose(space);
    return file;
}

static void
close_changed(hid_t file)
{
    CHECK(holds(file, OLD));
    write_values(file, NEW);
    CHECK(H5Fclose(file) >= 0);
    talk();
    read_back(path, NEW, H5P_DEFAULT);
}

static void
case_open(void)
{
    const hid_t file = open_and_change();

    exit_in_child(file, 1);
    check_locked();
    close_changed(file);
}

/* It holds what was open when it was forked, and no other process is in the way of the parent by that. */
static void
case_stays(void)
{
    const hid_t file = open_and_change();
    const pid_t child = fork();

    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    close_changed(file);
    create(path, NEW, H5P_DEFAULT);
    close_changed(open_and_change());
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* ---- before MPI_Init ---- */

static int
early(void)
{
    int   up[2];
    char  byte = 0;
    pid_t child;

    if (pipe(up) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        CHECK(read(up[0], &byte, 1) == 1);
        snprintf(childs, sizeof childs, "%s/child_%d.h5", dir, (int)getpid());
        work();
        exit(0);
    }
    MPI_Init(NULL, NULL);
    live_as_a_rank();
    CHECK(write(up[1], "u", 1) == 1);
    talk();
    write_as_a_rank();
    await(child);
    return 0;
}

static void
rank_in_child(void)
{
    const pid_t child = fork();

    if (child != 0) {
        await(child);
        _exit(0);
    }
    CHECK(H5open() >= 0); /* the driver sees this process before MPI_Init, or has seen its parent */
    MPI_Init(NULL, NULL);
    live_as_a_rank();
    write_as_a_rank();
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"first", case_first},
                 {"loaded", case_loaded},
                 {"child", case_child},
                 {"orphan", case_orphan},
                 {"program", case_program},
                 {"open", case_open},
                 {"stays", case_stays},
                 {"rank", NULL},
                 {"early", NULL}};
    size_t at = 0;

    if (argc != 3)
        return 2;
    dir = argv[2];
    if (strcmp(argv[1], "worker") == 0) {
        snprintf(childs, sizeof childs, "%s", argv[2]);
        work();
        return 0;
    }
    while (at < sizeof cases / sizeof *cases && strcmp(cases[at].name, argv[1]) != 0)
        at++;
    if (at == sizeof cases / sizeof *cases)
        return 2;
    if (strcmp(argv[1], "early") == 0) {
        if (early() != 0)
            return 1;
    } else if (cases[at].run == NULL) {
        rank_in_child();
    } else {
        MPI_Init(NULL, NULL);
        live_as_a_rank();
        cases[at].run();
    }
    MPI_Finalize();
    return 0;
}
