/* ranks.c - a small MPI + HDF5 program for tests on real ranks. It is not linked with redset and
 * knows nothing of it: what it sees is what any application sees under HDF5_DRIVER=redset.
 *
 *   ranks write     DIR SIZE SEED   create DIR/data_<rank>.h5, of SIZE bytes and some more
 *   ranks read      DIR SIZE SEED...
 *                                   open it for reading, check every byte; with several SEEDs each rank's may
 *                                   be of another one
 *   ranks readwrite DIR SIZE SEED   the same, opened for writing; nothing is changed
 *   ranks update    DIR SIZE SEED   open it for writing, rewrite a part of it
 *   ranks sweep     DIR SIZE SEED SCHEME COUNT [all]
 *                                   lose subsets of the ranks, one after the other, see sweep()
 *
 * SEED is a number, or A:B. The content comes from A but for one part that comes from B:
 * `write .. 1`, `update .. 1:2`, `read .. 1:2`.
 *
 * Exit status, the same on all ranks:
 *   0 all is right        3 refused on every rank (one rank prints HDF5's error stack)
 *   1 wrong usage         4 ranks disagree: some succeeded, some failed       5 content is wrong
 *   2 opened and closed on every rank, but a read or write in between, each rank's own, failed on some
 */
#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RIGHT = 0, USAGE = 1, IN_BETWEEN = 2, REFUSED = 3, DISAGREE = 4, WRONG = 5 };

static int         rank, ranks;
static const char *dir;
static char        path[4096]; /* of this rank's file, and the last component of it */
static char        base[64];
static size_t      size;    /* bytes of dataset "whole"; "part" has a quarter of that */
static uint64_t    seed[2]; /* of "whole" and of "part" */
static hid_t       why = H5I_INVALID_HID; /* the error stack of the first call that failed */

static void
complain(const char *text, ...)
{
    char    line[4096];
    va_list args;

    va_start(args, text);
    vsnprintf(line, sizeof line, text, args);
    va_end(args);
    fprintf(stderr, "rank %d: %s\n", rank, line); /* one write: lines of ranks do not mix */
}

static int
all(int value, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
    return value;
}

/* Our own memory and storage are no subject of the tests: without them no result counts. */
static void *
must(const void *p, const char *what)
{
    if (!p) {
        complain("%s failed: the test cannot go on", what);
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    }
    return (void *)p;
}

/* ---- the file of a rank ---------------------------------------------------------------------- */

/* splitmix64: each byte depends on seed, rank, dataset and position, without a period */
static void
fill(uint8_t *to, size_t n, int dataset)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = seed[dataset] * 0x9e3779b97f4a7c15u + (uint64_t)rank * 0xd1b54a32d192ed03u +
                     (uint64_t)dataset * 0x8cb92ba72f3d8dd7u + i;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        to[i] = (uint8_t)(x ^ (x >> 31));
    }
}

static const char *const dataset_name[2] = {"whole", "part"};

static size_t
dataset_size(int dataset)
{
    return dataset == 0 ? size : size / 4 + 1;
}

/* The value of an HDF5 call; when it failed its error stack is kept, for report(). */
static hid_t
tried(hid_t result)
{
    if (result < 0 && why < 0)
        why = H5Eget_current_stack();
    return result;
}

static int
write_dataset(hid_t file, int dataset, int create)
{
    size_t   n = dataset_size(dataset);
    hsize_t  length = n;
    uint8_t *data = must(malloc(n), "malloc");
    hid_t    space = H5I_INVALID_HID, set;
    int      ok;

    if (create) {
        space = tried(H5Screate_simple(1, &length, NULL));
        set = tried(H5Dcreate2(file, dataset_name[dataset], H5T_STD_U8LE, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(space);
    } else {
        set = tried(H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT));
    }
    fill(data, n, dataset);
    ok = set >= 0 &&
         tried(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data)) >= 0;
    ok = set >= 0 && tried(H5Dclose(set)) >= 0 && ok;
    free(data);
    return ok ? RIGHT : IN_BETWEEN;
}

static int
check_dataset(hid_t file, int dataset)
{
    size_t   n = dataset_size(dataset), i = 0;
    uint8_t *want = must(malloc(n), "malloc"), *got = must(calloc(n, 1), "malloc");
    int      result = IN_BETWEEN;
    hid_t    set = tried(H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT));

    if (set >= 0) {
        hid_t space = H5Dget_space(set);
        if (H5Sget_simple_extent_npoints(space) != (hssize_t)n) {
            complain("%s: dataset %s has the wrong size", path, dataset_name[dataset]);
            result = WRONG;
        } else if (tried(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, got)) >= 0) {
            fill(want, n, dataset);
            while (i < n && want[i] == got[i])
                i++;
            if (i < n)
                complain("%s: wrong content, dataset %s from element %zu of %zu on", path,
                         dataset_name[dataset], i, n);
            result = i < n ? WRONG : RIGHT;
        }
        H5Sclose(space);
        H5Dclose(set);
    }
    free(want);
    free(got);
    return result;
}

static int
worse(int a, int b)
{
    return a > b ? a : b;
}

static int
create_file(void)
{
    hid_t file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    if (file < 0)
        return REFUSED;
    int result = worse(write_dataset(file, 0, 1), write_dataset(file, 1, 1));
    return tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

static int
check_file(unsigned flags)
{
    hid_t file = tried(H5Fopen(path, flags, H5P_DEFAULT));
    if (file < 0)
        return REFUSED;
    int result = worse(check_dataset(file, 0), check_dataset(file, 1));
    return tried(H5Fclose(file)) < 0 ? worse(REFUSED, result) : result;
}

static int
update_file(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    if (file < 0)
        return REFUSED;
    int result = write_dataset(file, 1, 0);
    return tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

/* ---- agreeing on the result ------------------------------------------------------------------ */

static herr_t
collect(unsigned n, const H5E_error2_t *record, void *to)
{
    (void)n;
    strncat(to, record->desc ? record->desc : "", 4095 - strlen(to));
    return 0;
}

/* Does what HDF5 said name the file it is about? Who has many needs to know which (P6). Any rank's
 * will do: ranks that refuse together agree on one text. */
static int
names_a_file(void)
{
    char text[4096] = "";
    return why >= 0 && H5Ewalk2(why, H5E_WALK_DOWNWARD, collect, text) >= 0 &&
           strstr(text, "data_");
}

static void
forget_error(void)
{
    if (why >= 0)
        H5Eclose_stack(why);
    why = H5I_INVALID_HID;
}

/* One result for all, from what each rank has seen. */
static int
agreed(int mine)
{
    int highest = all(mine, MPI_MAX);
    if (highest == WRONG || highest == USAGE || highest == IN_BETWEEN)
        return highest;
    return all(mine, MPI_MIN) == highest ? highest : DISAGREE;
}

/* The same, and say what it was: once, not once per rank. */
static int
report(int mine)
{
    int result = agreed(mine);
    int speaker = all(why >= 0 ? rank : ranks, MPI_MIN);

    if (result == DISAGREE)
        complain("%s: %s, but not so on all ranks", path,
                 mine == RIGHT ? "succeeded" : "was refused");
    if (speaker == rank)
        H5Eprint2(why, stderr);
    forget_error();
    return result;
}

/* ---- images of a directory ------------------------------------------------------------------- */

struct image {
    char        name[256];
    struct stat st;
    uint8_t    *data;
};

struct images {
    struct image *file;
    int           n;
};

static struct image *
find(const struct images *in, const char *name)
{
    for (int i = 0; i < in->n; i++)
        if (strcmp(in->file[i].name, name) == 0)
            return &in->file[i];
    return NULL;
}

static char *
in_dir(const char *name)
{
    static char full[sizeof path + 256];
    snprintf(full, sizeof full, "%s/%s", dir, name);
    return full;
}

static void
load_image(const char *name, struct image *im)
{
    int fd = open(in_dir(name), O_RDONLY);

    memset(im, 0, sizeof *im);
    snprintf(im->name, sizeof im->name, "%s", name);
    must(fd >= 0 && fstat(fd, &im->st) == 0 ? im : NULL, in_dir(name));
    im->data = must(malloc((size_t)im->st.st_size + 1), "malloc");
    must(read(fd, im->data, (size_t)im->st.st_size) == (ssize_t)im->st.st_size ? im : NULL,
         in_dir(name));
    close(fd);
}

static struct images
load_all(void)
{
    struct images  r = {NULL, 0};
    DIR           *d = must(opendir(dir), dir);
    struct dirent *e;

    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            r.file = must(realloc(r.file, (size_t)(r.n + 1) * sizeof *r.file), "realloc");
            load_image(e->d_name, &r.file[r.n++]);
        }
    closedir(d);
    return r;
}

static void
free_all(struct images *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->file[i].data);
    free(r->file);
    *r = (struct images){NULL, 0};
}

static void
empty_dir(void)
{
    struct images now = load_all();
    for (int i = 0; i < now.n; i++)
        must(unlink(in_dir(now.file[i].name)) == 0 ? dir : NULL, "unlink");
    free_all(&now);
}

/* Put everything back as it was: bytes, mode, times. */
static void
restore(const struct images *ref)
{
    empty_dir();
    for (int i = 0; i < ref->n; i++) {
        const struct image *im = &ref->file[i];
        struct timespec     when[2] = {im->st.st_atim, im->st.st_mtim};
        int                 fd = open(in_dir(im->name), O_WRONLY | O_CREAT | O_EXCL, 0600);
        int                 ok =
            fd >= 0 && write(fd, im->data, (size_t)im->st.st_size) == (ssize_t)im->st.st_size &&
            fchmod(fd, im->st.st_mode & 07777) == 0 && futimens(fd, when) == 0 && close(fd) == 0;
        must(ok ? dir : NULL, "putting a file back");
    }
}

/* 1 when DIR holds exactly the files of ref (none when ref is NULL): names, bytes, permissions;
 * and the time of change of the data file, which redundancy files record. Says what differs. */
static int
same_as(const struct images *ref, const char *when)
{
    static const struct images nothing = {NULL, 0};
    struct images              now = load_all();
    int                        same = 1;

    if (!ref)
        ref = &nothing;
    for (int i = 0; i < now.n; i++)
        if (!find(ref, now.file[i].name)) {
            complain("%s: file %s was not there before", when, now.file[i].name);
            same = 0;
        }
    for (int i = 0; i < ref->n; i++) {
        const struct image *was = &ref->file[i], *is = find(&now, was->name);
        const char         *what = NULL;

        if (!is)
            what = "is missing";
        else if (is->st.st_size != was->st.st_size)
            what = "has another size";
        else if (memcmp(is->data, was->data, (size_t)was->st.st_size) != 0)
            what = "has other bytes";
        else if (is->st.st_mode != was->st.st_mode)
            what = "has other permissions";
        else if (strcmp(was->name, base) == 0 &&
                 (is->st.st_mtim.tv_sec != was->st.st_mtim.tv_sec ||
                  is->st.st_mtim.tv_nsec != was->st.st_mtim.tv_nsec))
            what = "has another modification time";
        if (what) {
            complain("%s: %s %s", when, was->name, what);
            same = 0;
        }
    }
    free_all(&now);
    return same;
}

/* ---- every loss ------------------------------------------------------------------------------ */

/* What each scheme promises, in its own words: can the ranks in `lost` be rebuilt? */
static int
promised(const char *scheme, int count, unsigned lost)
{
    int n_lost = 0;
    int orphans = 0; /* an orphan: none of the next `count` ranks, which hold copies, is left */

    for (int r = 0; r < ranks; r++) {
        int copies = 0;
        if (!(lost >> r & 1))
            continue;
        n_lost++;
        for (int d = 1; d <= count; d++)
            copies += !(lost >> ((r + d) % ranks) & 1);
        orphans += copies == 0;
    }
    if (strcmp(scheme, "PARTNER") == 0)
        return orphans == 0;
    if (strcmp(scheme, "XOR") == 0)
        return n_lost <= 1;
    if (strcmp(scheme, "RS") == 0)
        return n_lost <= count;
    return n_lost == 0; /* SINGLE */
}

/* Just one rank too many: with one of them back, the rest could be rebuilt as well. */
static int
one_too_many(const char *scheme, int count, unsigned lost)
{
    for (int r = 0; r < ranks; r++)
        if (lost >> r & 1 && promised(scheme, count, lost & ~(1u << r)))
            return 1;
    return 0;
}

static const char *
lost_text(unsigned lost)
{
    static char text[128];
    int         at = snprintf(text, sizeof text, lost ? "ranks" : "no rank");
    for (int r = 0; r < ranks; r++)
        if (lost >> r & 1)
            at += snprintf(text + at, sizeof text - (size_t)at, " %d", r);
    snprintf(text + at, sizeof text - (size_t)at, " lost");
    return text;
}

/* One pattern; 0 or the exit status it asks for. `ref` is what was there, before and after. */
static int
sweep_one(unsigned lost, int can, const struct images *ref)
{
    const char *when = lost_text(lost);
    int         mine = lost >> rank & 1, bad = 0;

    if (mine)
        empty_dir();
    MPI_Barrier(MPI_COMM_WORLD);
    int result = agreed(check_file(H5F_ACC_RDONLY));
    MPI_Barrier(MPI_COMM_WORLD); /* all have closed before anybody looks */

    if (can) {
        bad = result;
        if (result != RIGHT && rank == 0)
            complain("%s: not opened on all ranks with the right content (%d)", when, result);
        if (all(why >= 0 ? rank : ranks, MPI_MIN) == rank)
            H5Eprint2(why, stderr);
        if (result == RIGHT && !same_as(ref, when))
            bad = WRONG;
    } else {
        if (result != REFUSED) {
            bad = result == RIGHT ? WRONG : result;
            if (rank == 0)
                complain("%s: should be refused on all ranks, was not (%d)", when, result);
        } else if (!names_a_file()) {
            complain("%s: the error names no file", when);
            H5Eprint2(why, stderr);
            bad = WRONG;
        }
        if (!same_as(mine ? NULL : ref, when))
            bad = WRONG;
    }
    forget_error();
    bad = all(bad, MPI_MAX);
    if (bad || !can)
        restore(ref);
    MPI_Barrier(MPI_COMM_WORLD);
    return bad;
}

/* Lose every subset of the ranks in turn, the empty one and all included: each rank that is in the
 * subset empties DIR, all open their files. Where SCHEME with COUNT copies or checksums promises
 * recovery, every value must read right and every file in DIR, data and redundancy, must be as it
 * was, byte for byte (P1, P2). Everywhere else the open must fail on all ranks (P4), for a reason
 * that names a file (P6), and change nothing (P7); these are tried where just one rank too many is
 * lost, and all of them when `everything`. DIR must be private to each rank: it stands for the
 * storage of a node. */
static int
sweep(const char *scheme, int count, int everything)
{
    struct images ref = load_all();
    int           recovered = 0, refused = 0, failed = 0, worst = RIGHT;

    if (all(ref.n > 8 || !find(&ref, base), MPI_MAX) || ranks > 16) {
        complain("%s must hold this rank's files only, freshly written, of at most 16 ranks", dir);
        return USAGE;
    }
    for (unsigned lost = 0; lost < 1u << ranks; lost++) {
        int can = promised(scheme, count, lost);
        if (!can && !everything && !one_too_many(scheme, count, lost))
            continue;

        int bad = sweep_one(lost, can, &ref);

        worst = worse(worst, bad);
        if (bad)
            failed++;
        else if (can)
            recovered++;
        else
            refused++;
    }
    free_all(&ref);
    if (rank == 0)
        printf(
            "%s %d, %d ranks of %zu bytes: %d losses made good, %d refused, %d NOT AS PROMISED\n",
            scheme, count, ranks, size, recovered, refused, failed);
    return worst;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void
take_seed(const char *text)
{
    const char *colon = strchr(text, ':');

    seed[0] = strtoull(text, NULL, 10);
    seed[1] = colon != NULL ? strtoull(colon + 1, NULL, 10) : seed[0];
}

/* All ranks try all of them: opening is something they do together. */
static int
check_each(char **seeds)
{
    int best = WRONG;

    for (; *seeds != NULL; seeds++) {
        take_seed(*seeds);
        int result = check_file(H5F_ACC_RDONLY);
        best = result < best ? result : best;
    }
    return best;
}

static int
run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (argc < 5)
        return USAGE;
    dir = argv[2];
    size = strtoull(argv[3], NULL, 10) + (size_t)rank * 997; /* no two ranks alike */
    snprintf(base, sizeof base, "data_%d.h5", rank);
    snprintf(path, sizeof path, "%s/%s", dir, base);
    take_seed(argv[4]);

    if (strcmp(what, "write") == 0)
        return report(create_file());
    if (strcmp(what, "read") == 0)
        return report(check_each(argv + 4));
    if (strcmp(what, "readwrite") == 0)
        return report(check_file(H5F_ACC_RDWR));
    if (strcmp(what, "update") == 0)
        return report(update_file());
    if (strcmp(what, "sweep") == 0 && argc > 6)
        return sweep(argv[5], atoi(argv[6]), argc > 7);
    return USAGE;
}

int
main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* fails when HDF5_DRIVER cannot be loaded; what follows would go on with HDF5's own driver */
    int status = all(H5open(), MPI_MIN) < 0 ? REFUSED : RIGHT;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* one rank reports, not all; see report() */
    if (status == RIGHT)
        status = run(argc, argv);
    if (status == USAGE && rank == 0)
        fprintf(stderr, "usage: ranks write|read|readwrite|update DIR SIZE SEED\n"
                        "       ranks sweep DIR SIZE SEED SINGLE|PARTNER|XOR|RS COUNT [all]\n");
    MPI_Finalize();
    return status;
}
