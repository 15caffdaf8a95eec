/* readers.c - a small MPI + HDF5 program whose ranks open files that others wrote, for tests on real ranks. It is not linked with
 * redset and knows nothing of it.
 *
 *   readers write DIR SIZE SEED STEPS   each rank creates DIR/step_<step>.<rank>.h5 for each step, one step after the other
 *   readers turn  DIR SIZE SEED FILES   what FILES ranks wrote with SEED (`ranks write`) is read by these: each takes the
 *                                       next that nobody has, until all are read
 *   readers steps DIR SIZE SEED FILES   rank r reads all files of step r, the first one last
 *   readers same  DIR SIZE SEED RANK    all open the file that RANK wrote with SEED (`ranks write`) at once, as their first
 *   readers through DIR SIZE SEED FILES
 *                                       all read these through DIR/all.h5, a virtual dataset, which `readers master` has made
 *   readers diagonal|reverse|random|uneven DIR SIZE SEED STEPS
 *                                       all files of all steps are read by each rank, without waiting for the others: along
 *                                       diagonals, backwards from its own, in an order by chance; or by rank r all but the
 *                                       last 2 * r of those
 *
 * SIZE and SEED as in ranks.c; a step has the SEED plus its number. Exit status as of ranks.c: 0 all is right, 3 refused on
 * every rank, 4 ranks disagree, 5 content is wrong.
 */
#include "seeds.h"

static int         me;
static const char *size_text;

/* The file that rank `whose` wrote; its content is that of this rank from now on. */
static void
name_data(int whose)
{
    rank = whose;
    name_file(dir, size_text);
}

static void
name_step(int step, int whose, uint64_t first)
{
    name_data(whose);
    snprintf(base, sizeof base, "step_%d.%d.h5", step, whose);
    snprintf(path, sizeof path, "%s/%s", dir, base);
    seed[0] = seed[1] = first + (uint64_t)step;
}

static int
create_file(void)
{
    hid_t file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    int   result = file < 0 ? REFUSED : write_dataset(file, 0, 1);

    if (result == RIGHT)
        result = write_dataset(file, 1, 1);
    return file >= 0 && tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

static int
check_file(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    int   result = file < 0 ? REFUSED : check_dataset(file, 0);

    if (result == RIGHT)
        result = check_dataset(file, 1);
    return file >= 0 && tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

/* ---- through a virtual dataset ---- */

/* All of "whole", one after the other. */
static size_t
total(int files)
{
    size_t n = 0;

    for (int file = 0; file < files; file++) {
        name_data(file);
        n += size;
    }
    return n;
}

static int
create_master(int files)
{
    hsize_t n = total(files), at = 0;
    hid_t   space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    char    name[4096];
    hid_t   file, set;
    int     ok;

    for (int whose = 0; whose < files; whose++) {
        name_data(whose);
        const hsize_t length = size;
        const hid_t   source = H5Screate_simple(1, &length, NULL);

        H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &length, NULL);
        tried(H5Pset_virtual(dcpl, space, base, dataset_name[0], source));
        H5Sclose(source);
        at += length;
    }
    H5Sselect_all(space);
    snprintf(name, sizeof name, "%s/all.h5", dir);
    file = tried(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    set = tried(H5Dcreate2(file, "v", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Pclose(dcpl);
    H5Sclose(space);
    ok = set >= 0 && H5Dclose(set) >= 0;
    return file >= 0 && tried(H5Fclose(file)) >= 0 && ok ? RIGHT : REFUSED;
}

static int
read_through(int files)
{
    const size_t n = total(files);
    uint8_t     *want = must(calloc(n, 1), "malloc"), *got = must(calloc(n, 1), "malloc");
    size_t       at = 0;
    char         name[4096];
    hid_t        file, set;
    int          result;

    snprintf(name, sizeof name, "%s/all.h5", dir);
    file = tried(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    set = file >= 0 ? tried(H5Dopen2(file, "v", H5P_DEFAULT)) : H5I_INVALID_HID;
    result =
        set >= 0 && tried(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, got)) >= 0
            ? RIGHT
            : REFUSED;
    for (int whose = 0; whose < files; whose++) {
        name_data(whose);
        fill(want + at, size, 0);
        at += size;
    }
    if (result == RIGHT && memcmp(want, got, n) != 0)
        result = WRONG;
    if (set >= 0)
        H5Dclose(set);
    if (file >= 0 && tried(H5Fclose(file)) < 0)
        result = REFUSED;
    free(want);
    free(got);
    return result;
}

/* One result for all ranks; the first that has something to say says it. */
static int
agreed(int mine)
{
    int least = mine, most = mine, speaker = why >= 0 ? me : ranks;

    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (speaker == me)
        H5Eprint2(why, stderr);
    return least == most || most == WRONG ? most : DISAGREE;
}

/* ---- in orders of their own ---- */

static const char *const orders[] = {"diagonal", "reverse", "random", "uneven", NULL};

/* Of `n` files, in the order of this rank. */
static void
shuffle(int *order, int n)
{
    uint64_t chance = (uint64_t)me * 7919 + 12345;

    for (int i = n - 1; i > 0; i--) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        const int k = (int)((chance >> 33) % (uint64_t)(i + 1)), was = order[i];

        order[i] = order[k];
        order[k] = was;
    }
}

/* File i is that of rank i % ranks of step i / ranks. */
static int
read_in_order(int how, int steps, uint64_t first)
{
    const int n = steps * ranks;
    int      *order = calloc((size_t)n, sizeof *order);
    int       result = order != NULL ? RIGHT : USAGE;

    for (int i = 0; result == RIGHT && i < n; i++)
        order[i] = how == 0 ? i / ranks * ranks + (me + i) % ranks : (n - 1 - i + me) % n;
    if (result == RIGHT && how >= 2)
        shuffle(order, n);
    for (int i = 0; result == RIGHT && i < n - (how == 3 ? 2 * me : 0); i++) {
        name_step(order[i] / ranks, order[i] % ranks, first);
        result = check_file();
        if (result != RIGHT)
            complain("%s: rank %d: %s", path, me, result == WRONG ? "wrong" : "refused");
    }
    free(order);
    return agreed(result);
}

static int
run(const char *what, int count)
{
    const uint64_t first = seed[0];
    int            result = RIGHT;

    for (int how = 0; orders[how] != NULL; how++)
        if (strcmp(what, orders[how]) == 0)
            return read_in_order(how, count, first);
    if (strcmp(what, "write") == 0)
        for (int step = 0; result == RIGHT && step < count; step++) {
            name_step(step, me, first);
            result = agreed(create_file());
        }
    else if (strcmp(what, "turn") == 0)
        for (int file = 0; result == RIGHT && file < count; file += ranks) {
            name_data((file + me) % count);
            result = agreed(check_file());
        }
    else if (strcmp(what, "same") == 0) {
        name_data(count);
        result = agreed(check_file());
    } else if (strcmp(what, "steps") == 0)
        for (int file = 1; result == RIGHT && file <= count; file++) {
            name_step(me, file % count, first);
            result = agreed(check_file());
        }
    else if (strcmp(what, "master") == 0)
        result = create_master(count);
    else if (strcmp(what, "through") == 0)
        result = agreed(read_through(count));
    else
        result = USAGE;
    return result;
}

int
main(int argc, char **argv)
{
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    status = H5open() < 0 ? REFUSED : RIGHT;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (argc != 6)
        status = USAGE;
    if (status == RIGHT) {
        dir = argv[2];
        size_text = argv[3];
        take_seed(argv[4]);
        status = run(argv[1], atoi(argv[5]));
    }
    if (status == USAGE && me == 0)
        fprintf(stderr,
                "usage: readers "
                "write|turn|steps|same|master|through|diagonal|reverse|random|uneven DIR SIZE SEED "
                "COUNT\n");
    MPI_Finalize();
    return status;
}
