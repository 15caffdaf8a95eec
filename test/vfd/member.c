/* member DIR NAME ROUND...: one of several programs in one MPI_COMM_WORLD, or one member of an ensemble, for test_team.sh. It has a
 * communicator of its own, and talks to nobody else. It is not linked with redset.
 *
 *   write:STEP   create DIR/NAME_<rank>.h5 with the content of that step, rank as in MPI_COMM_WORLD
 *   read:STEP    open it for reading, and compare every value
 *   other:TEAM   create DIR/NAME_<rank>.h5 by a property list with that team=, which fails
 *   done:FILE    make that file in DIR, once all ranks of this member have come
 *   await:FILE   until that file is in DIR, outside of HDF5 and MPI
 *
 * Exit status 0: all is right; 1: a call failed; 5: the content is wrong. MPI_Finalize is called in any case. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUES = 5000, WRONG = 5 };

static int      rank;
static MPI_Comm own;

static int
value(int step, int i)
{
    return step * 1000003 + rank * 10007 + i;
}

static int
write_file(const char *path, int step, hid_t fapl)
{
    static int    data[VALUES];
    const hsize_t n = VALUES;
    const hid_t   file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    const hid_t   space = H5Screate_simple(1, &n, NULL);
    const hid_t   set =
        H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t wrote;

    for (int i = 0; i < VALUES; i++)
        data[i] = value(step, i);
    wrote = H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    return H5Dclose(set) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0 || wrote < 0;
}

static int
write_as_other(const char *path, const char *team)
{
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    char        settings[256];
    int         bad;

    snprintf(settings, sizeof settings, "timeout=600 required=yes team=%s", team);
    bad = H5Pset_driver_by_name(fapl, "redset", settings) < 0 || write_file(path, 1, fapl) == 0;
    (void)H5Pclose(fapl);
    return bad;
}

static int
read_file(const char *path, int step)
{
    static int  data[VALUES];
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = file < 0 ? H5I_INVALID_HID : H5Dopen2(file, "d", H5P_DEFAULT);
    int         bad = set < 0;

    if (!bad)
        bad = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
    for (int i = 0; !bad && i < VALUES; i++)
        bad = data[i] != value(step, i) ? WRONG : 0;
    if (set >= 0)
        (void)H5Dclose(set);
    return file >= 0 && H5Fclose(file) < 0 ? 1 : bad;
}

static int
make(const char *path)
{
    int fd;

    MPI_Barrier(own);
    fd = open(path, O_CREAT | O_WRONLY, 0644);
    return fd < 0 || close(fd) != 0;
}

static int
await(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(10000);
    return 0;
}

static int
do_round(const char *dir, const char *name, const char *what)
{
    const char *colon = strchr(what, ':');
    char        path[4096];

    if (colon == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/%s_%d.h5", dir, name, rank);
    if (what[0] == 'w')
        return write_file(path, atoi(colon + 1), H5P_DEFAULT);
    if (what[0] == 'r')
        return read_file(path, atoi(colon + 1));
    if (what[0] == 'o')
        return write_as_other(path, colon + 1);
    snprintf(path, sizeof path, "%s/%s", dir, colon + 1);
    return what[0] == 'd' ? make(path) : await(path);
}

int
main(int argc, char **argv)
{
    int bad = 0, color = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const char *c = argc > 2 ? argv[2] : ""; *c != '\0'; c++)
        color = color * 31 % 1000003 + *c;
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &own);
    for (int i = 3; i < argc; i++) {
        const int now = do_round(argv[1], argv[2], argv[i]);

        if (now != 0)
            fprintf(stderr, "member %s rank %d: %s failed\n", argv[2], rank, argv[i]);
        bad = now > bad ? now : bad;
    }
    MPI_Comm_free(&own);
    MPI_Finalize();
    return bad;
}
