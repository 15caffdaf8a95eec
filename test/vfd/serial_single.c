/* serial_single.c: an HDF5 program without MPI, for test_single.sh.
 *
 *     serial_single create FILE SEED           creates the file, also over an old one
 *     serial_single change FILE SEED           opens it and writes other values
 *     serial_single read   FILE SEED           reads it
 *     serial_single holds  FILE SEED           changes it, and ends without H5Fclose, by SIGKILL
 *     serial_single read|change FILE SEED COMMAND
 *                                              the same, and a shell runs COMMAND once the file is open
 *     serial_single after  FILE SEED COMMAND   creates it, a shell runs COMMAND once it is closed, and then it is read
 *     serial_single late   FILE SEED COMMAND   changes it, and a shell runs COMMAND before it is closed
 *     serial_single child  FILE SEED           a child that was forked opens and closes what the parent has changed and
 *                                              not closed yet; then the parent closes it
 *
 * Exit status 0: done, and what was read is what was written with this seed; 1: HDF5 has refused it, and what the driver
 * says is on standard output; 3: other values were read. */
#include "said.h"

#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 100000, REFUSED = 1, WRONG = 3 };

static int         values[VALUES], found[VALUES];
static const char *command; /* what another process does meanwhile; NULL: nothing */

static void
done(hid_t result)
{
    if (result >= 0)
        return;
    printf("%s\n", said);
    fflush(stdout);
    _exit(REFUSED);
}

/* Another process. */
static void
meanwhile(void)
{
    if (command != NULL && system(command) != 0)
        _exit(2);
}

static hid_t
create(const char *name)
{
    hsize_t n = VALUES;
    hid_t   file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space, set;

    done(file);
    space = H5Screate_simple(1, &n, NULL);
    set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    done(set);
    done(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    done(H5Dclose(set));
    (void)H5Sclose(space);
    return file;
}

static hid_t
change(const char *name)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT), set;

    done(file);
    meanwhile();
    set = H5Dopen2(file, "d", H5P_DEFAULT);
    done(set);
    done(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    done(H5Dclose(set));
    done(H5Fflush(file, H5F_SCOPE_GLOBAL));
    return file;
}

static int
read_back(const char *name)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), set;

    done(file);
    meanwhile();
    set = H5Dopen2(file, "d", H5P_DEFAULT);
    done(set);
    done(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found));
    done(H5Dclose(set));
    done(H5Fclose(file));
    return memcmp(found, values, sizeof values) != 0 ? WRONG : 0;
}

static void
change_and_close_late(const char *name, const char *then)
{
    hid_t file = change(name);

    command = then;
    meanwhile();
    done(H5Fclose(file));
}

static int
create_and_read_then(const char *name, const char *then)
{
    done(H5Fclose(create(name)));
    command = then;
    meanwhile();
    command = NULL;
    return read_back(name);
}

static int
with_child(const char *name)
{
    hid_t file = change(name);
    int   status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(H5Fclose(file) < 0);
    if (waitpid(child, &status, 0) != child || status != 0)
        return WRONG;
    done(H5Fclose(file));
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc < 4 || H5Eset_auto2(H5E_DEFAULT, on_error, NULL) < 0)
        return 2;
    for (int i = 0; i < VALUES; i++)
        values[i] = i * atoi(argv[3]);
    if (strcmp(argv[1], "late") == 0)
        change_and_close_late(argv[2], argv[4]);
    if (strcmp(argv[1], "after") == 0)
        return create_and_read_then(argv[2], argv[4]);
    command = argv[4];
    if (strcmp(argv[1], "create") == 0)
        done(H5Fclose(create(argv[2])));
    else if (strcmp(argv[1], "change") == 0)
        done(H5Fclose(change(argv[2])));
    else if (strcmp(argv[1], "holds") == 0 && change(argv[2]) >= 0)
        (void)raise(SIGKILL);
    else if (strcmp(argv[1], "child") == 0)
        return with_child(argv[2]);
    else if (strcmp(argv[1], "read") == 0)
        return read_back(argv[2]);
    return 0;
}
