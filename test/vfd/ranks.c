/* ranks.c - a small MPI + HDF5 program for tests on real ranks. It is not linked with redset and
 * knows nothing of it: what it sees is what any application sees under HDF5_DRIVER=redset.
 *
 *   ranks write     DIR SIZE SEED   create DIR/data_<rank>.h5, of SIZE bytes and some more
 *   ranks read      DIR SIZE SEED...
 *                                   open it for reading, check every byte; with several SEEDs each rank's may
 *                                   be of another one
 *   ranks readwrite DIR SIZE SEED   the same, opened for writing; nothing is changed
 *   ranks update    DIR SIZE SEED   open it for writing, rewrite a part of it
 *   ranks find      DIR SIZE SEED...
 *                                   open it for reading: which of these is it, the same on all ranks? Printed as
 *                                   "found SEED"
 *   ranks take_up   DIR SIZE SEED...
 *                                   the same, opened for writing; nothing is changed
 *   ranks sweep     DIR SIZE SEED SCHEME COUNT [all]
 *                                   lose subsets of the ranks, one after the other, see sweep()
 *
 * SEED is a number, or A:B, as said in seeds.h: `write .. 1`, `update .. 1:2`, `read .. 1:2`.
 *
 * Exit status, the same on all ranks:
 *   0 all is right        3 refused on every rank (one rank prints HDF5's error stack)
 *   1 wrong usage         4 ranks disagree: some succeeded, some failed       5 content is wrong
 *   2 opened and closed on every rank, but a read or write in between, each rank's own, failed on some
 */
#include "ranks_promises.h"
#include "seeds.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int
all(int value, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
    return value;
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

/* It says only what else may be there, and may list more than there is. */
static int
is_names_file(const char *name)
{
    return strstr(name, ".redset.names") != NULL;
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
        if (!is_names_file(now.file[i].name) && !find(ref, now.file[i].name)) {
            complain("%s: file %s was not there before", when, now.file[i].name);
            same = 0;
        }
    for (int i = 0; i < ref->n; i++) {
        const struct image *was = &ref->file[i], *is = find(&now, was->name);
        const char         *what = NULL;

        if (is_names_file(was->name))
            continue;
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
    const protection by = {.scheme = scheme, .count = count, .ranks = ranks};
    struct images    ref = load_all();
    int              recovered = 0, refused = 0, failed = 0, worst = RIGHT;

    if (all(ref.n > 8 || !find(&ref, base), MPI_MAX) || ranks > 16) {
        complain("%s must hold this rank's files only, freshly written, of at most 16 ranks", dir);
        return USAGE;
    }
    for (unsigned lost = 0; lost < 1u << ranks; lost++) {
        int can = promised(&by, lost);
        if (!can && !everything && !one_too_many(&by, lost))
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

/* Which of the contents has this rank's file? One bit each. */
static unsigned
which(hid_t file, char **contents)
{
    unsigned found = 0;

    silent = 1; /* it is not all of them */
    for (int i = 0; contents[i] != NULL; i++) {
        take_seed(contents[i]);
        if (worse(check_dataset(file, 0), check_dataset(file, 1)) == RIGHT)
            found |= 1u << i;
    }
    silent = 0;
    return found;
}

static const char *
lowest(unsigned found, char **contents)
{
    for (; found != 0 && (found & 1) == 0; found >>= 1)
        contents++;
    return found != 0 ? *contents : "none of these";
}

/* One content on all ranks; else each says what it has. */
static int
find_content(unsigned flags, char **contents)
{
    hid_t    file = tried(H5Fopen(path, flags, H5P_DEFAULT));
    unsigned mine = file >= 0 ? which(file, contents) : ~0u, common;

    common = (unsigned)all((int)mine, MPI_BAND);
    if (file < 0 || tried(H5Fclose(file)) < 0)
        return REFUSED;
    if (common == 0)
        complain("%s: found %s", path, lowest(mine, contents));
    else if (rank == 0)
        printf("found %s\n", lowest(common, contents));
    return common != 0 ? RIGHT : WRONG;
}

static int
run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (argc < 5)
        return USAGE;
    name_file(argv[2], argv[3]);
    take_seed(argv[4]);

    if (strcmp(what, "write") == 0)
        return report(create_file());
    if (strcmp(what, "read") == 0)
        return report(check_each(argv + 4));
    if (strcmp(what, "readwrite") == 0)
        return report(check_file(H5F_ACC_RDWR));
    if (strcmp(what, "find") == 0)
        return report(find_content(H5F_ACC_RDONLY, argv + 4));
    if (strcmp(what, "take_up") == 0)
        return report(find_content(H5F_ACC_RDWR, argv + 4));
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
        fprintf(stderr, "usage: ranks write|read|readwrite|find|take_up|update DIR SIZE SEED\n"
                        "       ranks sweep DIR SIZE SEED SINGLE|PARTNER|XOR|RS COUNT [all]\n");
    MPI_Finalize();
    return status;
}
