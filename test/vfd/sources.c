/* sources.c - an MPI + HDF5 program that reads files through others: through virtual datasets and external links. It is
 * not linked with redset and knows nothing of it; test_sources.sh runs it under HDF5_DRIVER=redset on 4 ranks, each with
 * a directory of its own, DIR/nodeR, that stands for its node.
 *
 *   sources write DIR SOURCE       each rank writes its source, then vds_R.h5 beside it, with a virtual dataset "v" on that
 *                                  source and an external link "l" to it. In SOURCE, @ stands for the rank: what HDF5
 *                                  looks for. It is written in DIR/nodeR; not at all where SOURCE begins with "never"
 *   sources read DIR WHAT WHO r|w  all ranks open vds_R.h5, to read or to write; WHO, a rank or "all", reads WHAT (v or l)
 *                                  twice
 *   sources create DIR NAME WHO    all ranks open vds_R.h5 to write; then WHO creates that file with the close degree weak
 *
 * Rank 0 prints what came of it, one word per rank: the content is "right", "zeros" or "wrong", HDF5 said "error", or
 * "-" for a rank that had nothing to do. With two readings that differ it is "first/second". */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 5000, WORD = 16 };

static int         rank, ranks;
static const char *dir;

static void
must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "sources.c: rank %d: %s failed: the test cannot go on\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* In this rank's directory, @ replaced by its number. */
static const char *
path_of(const char *name, int with_directory)
{
    static char path[4096];
    const char *at = strchr(name, '@');
    int         before = at != NULL ? (int)(at - name) : (int)strlen(name);
    size_t      used = 0;

    if (with_directory)
        used = (size_t)snprintf(path, sizeof path, "%s/node%d/", dir, rank);
    used += (size_t)snprintf(path + used, sizeof path - used, "%.*s", before, name);
    if (at != NULL)
        (void)snprintf(path + used, sizeof path - used, "%d%s", rank, at + 1);
    return path;
}

static int
mine(const char *who)
{
    return strcmp(who, "all") == 0 || atoi(who) == rank;
}

/* One word per rank. */
static void
report(const char *word)
{
    char own[2 * WORD] = "", all[2 * WORD * 64] = "";

    (void)snprintf(own, sizeof own, "%s", word);
    MPI_Gather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < ranks; r++)
        printf("%s%s", all + (size_t)r * sizeof own, r + 1 < ranks ? " " : "\n");
}

/* ---- writing ---- */

static void
write_source(const char *name, hid_t space)
{
    static int data[ELEMENTS];
    hid_t      file = H5Fcreate(path_of(name, 1), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < ELEMENTS; i++)
        data[i] = 1 + (rank << 16) + i;
    must(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "H5Dwrite");
    (void)H5Dclose(set);
    must(H5Fclose(file) >= 0, "H5Fclose of the source");
}

static void
write_all(const char *name)
{
    hsize_t n = ELEMENTS;
    hid_t   space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), file, set;

    if (strncmp(name, "never", 5) != 0)
        write_source(name, space);
    file = H5Fcreate(path_of("vds_@.h5", 1), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must(H5Pset_virtual(dcpl, space, path_of(name, 0), "d", space) >= 0, "H5Pset_virtual");
    set = H5Dcreate2(file, "v", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    must(set >= 0, "H5Dcreate2 of the virtual dataset");
    must(H5Lcreate_external(path_of(name, 0), "d", file, "l", H5P_DEFAULT, H5P_DEFAULT) >= 0,
         "H5Lcreate_external");
    (void)H5Dclose(set);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    must(H5Fclose(file) >= 0, "H5Fclose");
}

/* ---- reading ---- */

static const char *
judge(const int *data)
{
    int zeros = 0, right = 0;

    for (int i = 0; i < ELEMENTS; i++) {
        zeros += data[i] == 0;
        right += data[i] == 1 + (rank << 16) + i;
    }
    if (right == ELEMENTS)
        return "right";
    return zeros == ELEMENTS ? "zeros" : "wrong";
}

static const char *
read_once(hid_t file, const char *what)
{
    static int data[ELEMENTS];
    hid_t      set = H5Dopen2(file, what, H5P_DEFAULT);
    int        ok;

    memset(data, 0x55, sizeof data);
    if (set < 0)
        return "error";
    ok = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    (void)H5Dclose(set);
    return ok ? judge(data) : "error";
}

static hid_t
open_virtual(const char *how)
{
    unsigned flags = how[0] == 'w' ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
    hid_t    file = H5Fopen(path_of("vds_@.h5", 1), flags, H5P_DEFAULT);

    must(file >= 0, "H5Fopen");
    return file;
}

static void
read_all(const char *what, const char *who, const char *how)
{
    hid_t file = open_virtual(how);
    char  word[2 * WORD] = "-";

    if (mine(who)) {
        const char *first = read_once(file, what), *second = read_once(file, what);

        (void)snprintf(word, sizeof word, "%s", first);
        if (strcmp(first, second) != 0)
            (void)snprintf(word, sizeof word, "%s/%s", first, second);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must(H5Fclose(file) >= 0, "H5Fclose");
    report(word);
}

/* ---- creating ---- */

static void
create(const char *name, const char *who)
{
    hid_t       file = open_virtual("w"), fapl = H5Pcreate(H5P_FILE_ACCESS), made;
    const char *word = "-";

    (void)H5Pset_fclose_degree(fapl, H5F_CLOSE_WEAK);
    if (mine(who)) {
        made = H5Fcreate(path_of(name, 1), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        word = made >= 0 && H5Fclose(made) >= 0 ? "right" : "error";
    }
    (void)H5Pclose(fapl);
    MPI_Barrier(MPI_COMM_WORLD);
    must(H5Fclose(file) >= 0, "H5Fclose");
    report(word);
}

int
main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(argc >= 4 && ranks <= 64, "reading the arguments");
#if !H5_VERSION_GE(1, 14, 5)
    if (rank == 0)
        puts("SKIP: this HDF5 does not say when it only asks for a file");
    MPI_Finalize();
    return 77;
#endif
    dir = argv[2];
    if (strcmp(argv[1], "write") == 0)
        write_all(argv[3]);
    else if (strcmp(argv[1], "read") == 0 && argc == 6)
        read_all(argv[3], argv[4], argv[5]);
    else if (strcmp(argv[1], "create") == 0 && argc == 5)
        create(argv[3], argv[4]);
    else
        must(0, "reading the arguments");
    MPI_Finalize();
    return 0;
}
