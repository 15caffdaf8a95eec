/* mixture.c - an MPI + HDF5 program whose ranks come late, fail, die, or do not come, so that their files may be of
 * different versions. It is not linked with redset and knows nothing of it; test_mixture.sh runs it under
 * HDF5_DRIVER=redset on 4 ranks, each with a directory of its own that stands for its node.
 *
 *   mixture CASE DIR PATIENCE ARGUMENT...
 *
 * Rank R keeps its files in DIR/nodeR, or those named TREE:NAME in DIR/TREE/nodeR. In a NAME, @ stands for the rank.
 * PATIENCE: seconds after which ranks that wait for another have given it up; who is late is later than that. The cases,
 * with their arguments, are at the end.
 *
 * What H5Fcreate, H5Fopen to write and H5Fclose returned is a line each in DIR/calls.R:
 *   create|open|close NAME VERSION ok|error SECONDS
 * What was found in files is a line each on standard output, one word per rank: the version, "-" where H5Fopen failed,
 * "?" where the content is not that of any version of this rank. Exit status 0: the program came to its end. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 20000 }; /* more than fits into what is compared at every open */
enum { ABSENT = -1, WRONG = -2 };
enum { LATE = 3, FAILING = 1, DYING = 2 }; /* which rank it is */

static int         rank, ranks;
static const char *dir;
static double      patience;
static char      **args; /* of the case, ended by NULL */

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
nap(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    nanosleep(&t, NULL);
}

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "mixture.c: rank %d: %s failed: the test cannot go on\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Where this rank keeps the file. */
static const char *
path_of(const char *name)
{
    static char path[4096];
    const char *colon = strchr(name, ':'), *at;
    size_t      used;

    if (colon != NULL)
        used = (size_t)snprintf(path, sizeof path, "%s/%.*s/node%d/", dir, (int)(colon - name),
                                name, rank);
    else
        used = (size_t)snprintf(path, sizeof path, "%s/node%d/", dir, rank);
    name = colon != NULL ? colon + 1 : name;
    at = strchr(name, '@');
    if (at == NULL)
        snprintf(path + used, sizeof path - used, "%s", name);
    else
        snprintf(path + used, sizeof path - used, "%.*s%d%s", (int)(at - name), name, rank, at + 1);
    return path;
}

/* What a call came to, for the script to read. */
static void
record(const char *call, const char *name, int version, bool ok, double since)
{
    char  path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/calls.%d", dir, rank);
    f = fopen(path, "a");
    must(f != NULL, path);
    fprintf(f, "%s %s %d %s %.3f\n", call, name, version, ok ? "ok" : "error", now() - since);
    fclose(f);
}

/* ---- one file ---- */

static int
element(int version, int i)
{
    return version << 20 ^ rank << 16 ^ (i & 0xffff);
}

/* Writes that much of the dataset. */
static void
fill(hid_t set, int version, hsize_t n)
{
    static int data[ELEMENTS];
    hsize_t    start = 0;
    hid_t      memory = H5Screate_simple(1, &n, NULL), space = H5Dget_space(set);

    for (int i = 0; i < ELEMENTS; i++)
        data[i] = element(version, i);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL);
    if (H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, data) < 0)
        fprintf(stderr, "rank %d: H5Dwrite failed\n", rank);
    H5Sclose(memory);
    H5Sclose(space);
}

/* H5Fcreate alone. */
static hid_t
create_empty(const char *name, int version)
{
    double start = now();
    hid_t  file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    record("create", name, version, file >= 0, start);
    return file;
}

/* The dataset in a new file, n of its elements written. */
static void
put(hid_t file, int version, hsize_t n)
{
    hsize_t all = ELEMENTS;
    hid_t   space = H5Screate_simple(1, &all, NULL);
    hid_t   set =
        H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    if (set >= 0)
        fill(set, version, n);
    H5Dclose(set);
    H5Sclose(space);
}

static hid_t
create(const char *name, int version)
{
    hid_t file = create_empty(name, version);

    if (file >= 0)
        put(file, version, ELEMENTS);
    return file;
}

/* Opens the file and writes other content into it, in place. */
static hid_t
change(const char *name, int version)
{
    double start = now();
    hid_t  file = H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT), set;

    record("open", name, version, file >= 0, start);
    if (file < 0)
        return file;
    set = H5Dopen2(file, "data", H5P_DEFAULT);
    fill(set, version, ELEMENTS);
    H5Dclose(set);
    return file;
}

static void
close_file(hid_t file, const char *name, int version)
{
    double start = now();

    if (file >= 0)
        record("close", name, version, H5Fclose(file) >= 0, start);
}

static void
write_file(const char *name, int version)
{
    close_file(create(name, version), name, version);
}

/* Which version is it? */
static int
version_in(hid_t file)
{
    static int data[ELEMENTS];
    hid_t      set = H5Dopen2(file, "data", H5P_DEFAULT);
    int        version = WRONG;

    if (set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0)
        version = data[0] >> 20;
    for (int i = 0; i < ELEMENTS && version != WRONG; i++)
        if (data[i] != element(version, i))
            version = WRONG;
    H5Dclose(set);
    return version;
}

static int
look(const char *name, unsigned flags)
{
    hid_t file = H5Fopen(path_of(name), flags, H5P_DEFAULT);
    int   version = ABSENT;

    if (file >= 0) {
        version = version_in(file);
        H5Fclose(file);
    }
    return version;
}

/* Says what all ranks have found. */
static void
say_found(int version)
{
    int found[64] = {0};

    MPI_Gather(&version, 1, MPI_INT, found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && rank == 0; r++) {
        if (found[r] > 0)
            printf("%d", found[r]);
        else
            printf("%s", found[r] == ABSENT ? "-" : "?");
        printf("%c", r < ranks - 1 ? ' ' : '\n');
    }
    fflush(stdout);
}

/* ---- what ranks do besides ---- */

/* The job is killed when all have come here. */
static void
killed(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
}

/* The ranks have closed a file together before: they know each other. */
static void
get_to_know(void)
{
    write_file("other.h5", 1);
}

/* ---- cases ---- */

/* All write the file, the number of the version given. */
static void
case_write(void)
{
    write_file(args[0], atoi(args[1]));
}

/* All open it and change it. */
static void
case_change(void)
{
    close_file(change(args[0], atoi(args[1])), args[0], atoi(args[1]));
}

/* All open these files to read. */
static void
case_read(void)
{
    for (int i = 0; args[i] != NULL; i++)
        say_found(look(args[i], H5F_ACC_RDONLY));
}

/* All open these files to write, and change nothing. */
static void
case_take_up(void)
{
    for (int i = 0; args[i] != NULL; i++)
        say_found(look(args[i], H5F_ACC_RDWR));
}

/* One rank closes version 3 when the others, who have given it up, are closing version 4. */
static void
late_once(const char *name)
{
    hid_t file;
    int   nothing = 0;

    write_file(name, 1);
    write_file(name, 2);
    file = create(name, 3);
    if (rank == LATE) {
        MPI_Recv(&nothing, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        nap(0.1); /* the others wait for a quarter of their patience now */
        close_file(file, name, 3);
        return;
    }
    close_file(file, name, 3);
    file = create(name, 4);
    if (rank == 0)
        MPI_Send(&nothing, 0, MPI_INT, LATE, 3, MPI_COMM_WORLD);
    close_file(file, name, 4);
}

/* It goes on like the others. */
static void
case_late(void)
{
    late_once(args[0]);
    if (rank == LATE)
        write_file(args[0], 4);
    write_file(args[0], 5);
}

/* The job is killed when the others have closed version 4, and the late rank version 3. */
static void
case_late_killed_before(void)
{
    late_once(args[0]);
    killed();
}

/* The same when the late one has closed version 4, too. */
static void
case_late_killed_after(void)
{
    late_once(args[0]);
    if (rank == LATE)
        write_file(args[0], 4);
    killed();
}

/* One rank opens the file for version 3 when the others, who have given it up, open theirs for version 4. */
static void
case_late_to_open(void)
{
    int nothing = 0;

    for (int version = 2; version <= 5; version++) {
        if (version == 3 && rank == LATE) {
            MPI_Recv(&nothing, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nap(0.1);
        }
        close_file(change(args[0], version), args[0], version);
        if (version == 3 && rank == 0)
            MPI_Send(&nothing, 0, MPI_INT, LATE, 3, MPI_COMM_WORLD);
    }
}

/* Rank 0 writes a file of its own between the third and the fourth checkpoint. */
static void
case_log(void)
{
    char name[64];

    for (int n = 1; n <= 6; n++) {
        snprintf(name, sizeof name, "ckpt_%d.@.h5", n);
        if (n == 4 && rank == 0)
            write_file("log.h5", 1);
        write_file(name, n);
    }
}

/* All create version 2; those ranks whose digits are in the second argument close it, the others never come to that. */
static void
case_vain(void)
{
    hid_t file = create(args[0], 2);

    if (strchr(args[1], '0' + rank) != NULL)
        close_file(file, args[0], 2);
    killed();
}

/* The job is killed when all have written half of version 2. */
static void
case_torn(void)
{
    hid_t file = create_empty(args[0], 2);

    must(file >= 0, "H5Fcreate");
    put(file, 2, ELEMENTS / 2);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    killed();
}

/* All open the file, but one alone: the others are late. */
static void
case_read_apart(void)
{
    if (rank != LATE)
        nap(patience + 0.5);
    say_found(look(args[0], H5F_ACC_RDONLY));
}

/* One rank has lost its node and creates its file, the others open theirs. */
static void
case_create_or_open(void)
{
    int version = ABSENT;

    if (rank == LATE)
        write_file(args[0], 2);
    else
        version = look(args[0], H5F_ACC_RDWR);
    say_found(version);
}

/* Something takes the place of a directory, which is named from DIR on. */
static void
break_directory(const char *which)
{
    char  path[4096], away[4096 + 8];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, which);
    snprintf(away, sizeof away, "%s.away", path);
    must(rename(path, away) == 0, "rename");
    f = fopen(path, "w");
    must(f != NULL && fclose(f) == 0, "fopen");
}

/* H5Fcreate while this process may not have that much: of file size, that is no space; of descriptors. */
static void
create_within(const char *name, int resource, rlim_t most)
{
    struct rlimit before, limit;
    double        start = now();
    hid_t         file;

    must(getrlimit(resource, &before) == 0, "getrlimit");
    limit = (struct rlimit){.rlim_cur = most, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    must(setrlimit(resource, &limit) == 0, "setrlimit");
    file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must(setrlimit(resource, &before) == 0, "setrlimit");
    record("create", name, 2, file >= 0, start);
    if (file >= 0)
        close_file(file, name, 2);
}

/* H5Fcreate while another process, which is this one, has locked the file. */
static void
create_locked(const char *name)
{
    int lock = open(path_of(name), O_RDWR);

    must(lock >= 0 && flock(lock, LOCK_EX) == 0, "flock");
    write_file(name, 2);
    close(lock);
}

static void
create_in_vain(const char *name, const char *why)
{
    int next = dup(0);

    close(next);
    if (strcmp(why, "space") == 0)
        create_within(name, RLIMIT_FSIZE, 0);
    else if (strcmp(why, "descriptors") == 0)
        create_within(name, RLIMIT_NOFILE, (rlim_t)next);
    else if (strcmp(why, "lock") == 0)
        create_locked(name);
    else {
        break_directory(why);
        write_file(name, 2);
    }
}

/* All create version 2, which one rank cannot: for want of space or descriptors, because of a lock, or because the
 * directory that is given breaks. Of the others the last one closes when the first have done so. */
static void
create_and_fail(void)
{
    hid_t file;

    if (rank == FAILING)
        create_in_vain(args[0], args[1]);
    else {
        file = create(args[0], 2);
        if (rank == LATE)
            nap(0.5);
        close_file(file, args[0], 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Before the ranks have met. */
static void
case_fail_first(void)
{
    create_and_fail();
}

static void
case_fail(void)
{
    get_to_know();
    MPI_Barrier(MPI_COMM_WORLD);
    create_and_fail();
}

/* One rank dies while all write version 2, by itself or by LD_PRELOAD; the others close it and end. With a dead rank
 * there is no barrier of all. */
static void
die_as_one(bool create_it, bool at_once)
{
    MPI_Comm others;
    hid_t    file;

    MPI_Comm_split(MPI_COMM_WORLD, rank == DYING, rank, &others);
    if (create_it && at_once && rank == DYING) {
        must(create_empty(args[0], 2) >= 0, "H5Fcreate");
        raise(SIGKILL);
    }
    file = create_it ? create(args[0], 2) : change(args[0], 2);
    close_file(file, args[0], 2);
    MPI_Barrier(others);
    raise(SIGKILL);
}

static void
case_die_created(void)
{
    die_as_one(true, true);
}

static void
case_die_creating(void)
{
    die_as_one(true, false);
}

static void
case_die_changing(void)
{
    die_as_one(false, false);
}

/* All close version 2 in one step, but one so late that nothing of it is protected. */
static void
case_unprotected(void)
{
    hid_t file;

    get_to_know();
    file = create(args[0], 2);
    if (rank == LATE)
        nap(patience + 0.5);
    close_file(file, args[0], 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank is late at the first close of the job; four steps, with or without waiting for each other after each. */
static void
late_at_first(bool in_step)
{
    for (int version = 1; version <= 4; version++) {
        hid_t file = create(args[0], version);

        if (rank == LATE && version == 1)
            nap(patience + 0.5);
        close_file(file, args[0], version);
        if (in_step)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void
case_late_first(void)
{
    late_at_first(true);
}

static void
case_late_first_free(void)
{
    late_at_first(false);
}

static const struct {
    const char *name;
    int         arguments; /* at least */
    void (*run)(void);
} cases[] = {
    {"write", 2, case_write},   /* NAME VERSION */
    {"change", 2, case_change}, /* NAME VERSION */
    {"read", 1, case_read},     /* NAME... */
    {"take_up", 1, case_take_up},
    {"late", 1, case_late}, /* NAME; as for those that follow without a comment */
    {"late_killed_before", 1, case_late_killed_before},
    {"late_killed_after", 1, case_late_killed_after},
    {"late_to_open", 1, case_late_to_open},
    {"log", 0, case_log},
    {"vain", 2, case_vain}, /* NAME RANKS */
    {"torn", 1, case_torn},
    {"read_apart", 1, case_read_apart},
    {"create_or_open", 1, case_create_or_open},
    {"fail_first", 2, case_fail_first}, /* NAME space|descriptors|lock|DIRECTORY */
    {"fail", 2, case_fail},
    {"die_created", 1, case_die_created},
    {"die_creating", 1, case_die_creating},
    {"die_changing", 1, case_die_changing},
    {"unprotected", 1, case_unprotected},
    {"late_first", 1, case_late_first},
    {"late_first_free", 1, case_late_first_free},
};

static int
run_case(const char *name, int arguments)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(name, cases[i].name) == 0 && arguments >= cases[i].arguments) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "mixture.c: no case %s with %d arguments\n", name, arguments);
    return 2;
}

int
main(int argc, char **argv)
{
    int status;

    if (argc < 4) {
        fprintf(stderr, "usage: mixture CASE DIR PATIENCE ARGUMENT...\n");
        return 2;
    }
    dir = argv[2];
    patience = atof(argv[3]);
    args = argv + 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(H5open() >= 0, "H5open");
    status = run_case(argv[1], argc - 4);
    MPI_Finalize();
    return status;
}
