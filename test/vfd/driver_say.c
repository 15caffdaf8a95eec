/* driver_say.c: see driver.h. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *self;

/* ---- reporting ---- */

static int printed;

static herr_t
count_print(hid_t stack, void *arg)
{
    (void)stack;
    (void)arg;
    printed++;
    return 0;
}

void
count_prints(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, count_print, NULL);
}

typedef struct ends {
    char inner[512], outer[512];
} ends;

/* Innermost first; what varies with the way a file was opened is cut off. */
static herr_t
keep_ends(unsigned n, const H5E_error2_t *record, void *arg)
{
    ends *e = arg;
    char *cut;

    snprintf(e->outer, sizeof e->outer, "%s", record->desc);
    if (n == 0) {
        snprintf(e->inner, sizeof e->inner, "%s", record->desc);
        if ((cut = strstr(e->inner, ", flags =")) != NULL ||
            (cut = strstr(e->inner, ", buf =")) != NULL)
            *cut = '\0';
        if (strncmp(e->inner, "file read failed: time = ", 25) == 0 &&
            (cut = strchr(e->inner, '\n')))
            memmove(e->inner + 18, cut, strlen(cut) + 1);
    }
    return 0;
}

hid_t
say(const char *what, hid_t ret)
{
    ends e = {"", ""};

    if (ret >= 0)
        printf("%s: ok, printed %d\n", what, printed);
    else {
        (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_ends, &e);
        printf("%s: FAILED, printed %d\n    %s\n    %s\n", what, printed, e.outer, e.inner);
    }
    printed = 0;
    return ret;
}

long long
file_size(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

void
elsewhere(const char *what, const char *name)
{
    char command[1200];

    fflush(stdout);
    snprintf(command, sizeof command, "'%s' %s '%s'", self, what, name);
    printf("other process: status %d\n", system(command) >> 8);
}

/* ---- building blocks ---- */

hid_t
timeless(void)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);

    (void)H5Pset_obj_track_times(fcpl, false);
    return fcpl;
}

hid_t
dataset(hid_t loc, const char *name, hsize_t n, hsize_t chunk)
{
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), space, dset;
    hsize_t max = H5S_UNLIMITED;

    (void)H5Pset_obj_track_times(dcpl, false);
    if (chunk > 0)
        (void)H5Pset_chunk(dcpl, 1, &chunk);
    space = H5Screate_simple(1, &n, chunk > 0 ? &max : NULL);
    dset = H5Dcreate2(loc, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
    return dset;
}

herr_t
fill(hid_t dset, int seed)
{
    hid_t   space = H5Dget_space(dset);
    hsize_t n = (hsize_t)H5Sget_simple_extent_npoints(space);
    int    *v = malloc(n * sizeof *v);
    herr_t  ret;

    for (hsize_t i = 0; i < n; i++)
        v[i] = seed + (int)i * 3;
    ret = H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    free(v);
    (void)H5Sclose(space);
    return ret;
}

long long
sum(hid_t loc, const char *name)
{
    hid_t     dset = H5Dopen2(loc, name, H5P_DEFAULT), space;
    long long total = -1;

    if (dset < 0)
        return total;
    space = H5Dget_space(dset);
    {
        hsize_t n = (hsize_t)H5Sget_simple_extent_npoints(space);
        int    *v = calloc(n, sizeof *v);

        if (H5Dread(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0)
            for (hsize_t i = (total = 0); i < n; i++)
                total += v[i];
        free(v);
    }
    (void)H5Sclose(space);
    (void)H5Dclose(dset);
    return total;
}

void
make(const char *name, int seed)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dset = dataset(file, "d", 1000, 0);

    (void)fill(dset, seed);
    (void)H5Dclose(dset);
    (void)say(name, H5Fclose(file));
}

void
put_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    fputs(text, f);
    fclose(f);
}

void
try_close(hid_t file)
{
    if (file >= 0)
        (void)say("H5Fclose", H5Fclose(file));
}
