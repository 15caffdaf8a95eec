/* odd_steps.c: what the cases do with one file, and what must hold after each. See odd.h. */
#include "odd.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int         rank, ranks;
const char *dir;
double      limit;
int         failures;

const char *
in_dir(const char *fmt, ...)
{
    static char paths[8][4096];
    static int  next;
    char       *path = paths[next++ % 8];
    size_t      n = (size_t)snprintf(path, sizeof paths[0], "%s/", dir);
    va_list     args;

    va_start(args, fmt);
    vsnprintf(path + n, sizeof paths[0] - n, fmt, args);
    va_end(args);
    return path;
}

/* How many redundancy files lie beside the file. */
static int
redundancy(const char *path)
{
    const char    *base = strrchr(path, '/') + 1;
    size_t         n = strlen(base);
    DIR           *d = opendir(dir);
    struct dirent *entry;
    int            found = 0;

    while (d != NULL && (entry = readdir(d)) != NULL)
        found += strncmp(entry->d_name, base, n) == 0 && entry->d_name[n] == '.' &&
                 strstr(entry->d_name + n, ".xor.") != NULL;
    if (d != NULL)
        closedir(d);
    return found;
}

bool
is_protected(const char *path)
{
    return redundancy(path) > 0;
}

/* ---- one file ---- */

hid_t
create(const char *path, unsigned flags)
{
    hsize_t n = 1000;
    int     data[1000];
    hid_t   file = H5Fcreate(path, flags, H5P_DEFAULT, H5P_DEFAULT), space, set;

    if (file < 0)
        return file;
    for (int i = 0; i < 1000; i++)
        data[i] = i * (rank + 1);
    space = H5Screate_simple(1, &n, NULL);
    set = H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    return file;
}

void
write_file(const char *path)
{
    hid_t file = create(path, H5F_ACC_TRUNC);

    CHECK(file >= 0);
    CHECK(H5Fclose(file) >= 0);
}

void
add_group(const char *path, const char *name)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group;

    CHECK(file >= 0);
    group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0);
    H5Gclose(group);
    CHECK(H5Fclose(file) >= 0);
}

void
read_file(const char *path)
{
    int   data[1000] = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set;

    CHECK(file >= 0);
    set = H5Dopen2(file, "data", H5P_DEFAULT);
    CHECK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    CHECK(data[999] != 0 && data[999] % 999 == 0);
    H5Dclose(set);
    CHECK(H5Fclose(file) >= 0);
}

const char *
mine(const char *name)
{
    return in_dir("%s_%d.h5", name, rank);
}

void
checkpoint(void)
{
    write_file(mine("ckpt"));
    CHECK(is_protected(mine("ckpt")));
    MPI_Barrier(MPI_COMM_WORLD);
}

void
no_message_waits(void)
{
    MPI_Status message;
    int        found = 0;

    for (int look = 0; look < 100 && !found; look++) /* the first only fetches what has arrived */
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message);
    CHECK(rank == 0 || !found);
}

void
application_goes_on(void)
{
    MPI_Request request;
    MPI_Comm    half, copy;
    int         one = 1, sum = 0, size = 0;

    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == size && size == (ranks + 1 - rank % 2) / 2);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    no_message_waits();
}

void
probe(const char *path)
{
    H5E_BEGIN_TRY
    {
        CHECK(H5Fis_accessible(path, H5P_DEFAULT) <= 0);
        CHECK(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
        CHECK(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT) < 0);
    }
    H5E_END_TRY
}
