/* serial_descriptors.c: how many descriptors open files take, for test_descriptors.sh.
 *
 *     serial_descriptors count DIR FILES    of FILES files in DIR that are open at once, in each state: one line each, "STATE: N", with
 *                                           how many more descriptors are open than before
 *     serial_descriptors most DIR FILES     creates FILES files, has all of them open at once, and closes them; then the same again
 *     serial_descriptors low DIR FILES      has FILES files open in each state, after it has closed 0 to 2: none of what is open is one of these
 *
 * Exit status 0, or 1 where HDF5 refuses something, or what is said is not so. */
#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1000 };

static const char *dir;
static int         nfiles, refused;
static hid_t       files[FILES_MAX];

static int
descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int  n = 0;

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static void
write_into(hid_t file, const char *name)
{
    hsize_t size = 100;
    int     values[100] = {1};
    hid_t   space = H5Screate_simple(1, &size, NULL);
    hid_t   set =
        H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    refused += H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
    H5Dclose(set);
    H5Sclose(space);
}

/* What opens one of them. */
static hid_t
create(const char *name)
{
    return H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

static hid_t
open_to_read(const char *name)
{
    return H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
}

static hid_t
open_to_change(const char *name)
{
    return H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
}

static void
open_all(hid_t (*how)(const char *name))
{
    for (int i = 0; i < nfiles; i++) {
        char name[4096];

        snprintf(name, sizeof name, "%s/f_%d.h5", dir, i);
        files[i] = how(name);
        refused += files[i] < 0;
    }
}

static void
write_all(const char *name)
{
    for (int i = 0; i < nfiles; i++) {
        write_into(files[i], name);
        refused += H5Fflush(files[i], H5F_SCOPE_GLOBAL) < 0;
    }
}

static void
close_all(void)
{
    for (int i = 0; i < nfiles; i++)
        refused += files[i] < 0 || H5Fclose(files[i]) < 0;
}

static void
count(void)
{
    const int before = descriptors();

    open_all(create);
    write_all("a");
    printf("created: %d\n", descriptors() - before);
    close_all();
    open_all(create);
    write_all("a");
    printf("created over: %d\n", descriptors() - before);
    close_all();
    open_all(open_to_read);
    printf("read: %d\n", descriptors() - before);
    close_all();
    open_all(open_to_change);
    printf("update: %d\n", descriptors() - before);
    write_all("b");
    printf("changed: %d\n", descriptors() - before);
    close_all();
    printf("closed: %d\n", descriptors() - before);
}

static void
most(void)
{
    for (int times = 0; times < 2; times++) {
        open_all(create);
        close_all();
    }
}

/* A program may print to them all the same, as to a terminal that it has let go of. */
static void
check_low(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        refused += fcntl(fd, F_GETFD) != -1;
}

static void
low(void)
{
    static hid_t (*const states[])(const char *name) = {create, create, open_to_read,
                                                        open_to_change};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)close(fd);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        open_all(states[i]);
        check_low();
        if (states[i] != open_to_read)
            write_all(states[i] == create ? "a" : "b");
        check_low();
        close_all();
        check_low();
    }
}

int
main(int argc, char **argv)
{
    if (argc != 4 || (nfiles = atoi(argv[3])) < 1 || nfiles > FILES_MAX)
        return 2;
    dir = argv[2];
    if (strcmp(argv[1], "count") == 0)
        count();
    else if (strcmp(argv[1], "low") == 0)
        low();
    else
        most();
    return refused != 0;
}
