/* driver SCENARIO: what a program sees of HDF5, printed so that two runs in two empty directories,
 * one with sec2 and one with redset, can be compared line by line and file by file
 * (test_driver.sh). The program knows no driver. `driver list` names the scenarios, which are in
 * driver_open.c and driver_content.c; `driver ACTION FILE` does one thing with one file (test_protected.sh).
 *
 * Every line is a call with its outcome; of a failed one the outermost and the innermost error record,
 * and how often HDF5 printed (a driver that calls HDF5 must not add to that). */
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- one thing with one file: by another run of this program, or by a script ---- */

static hid_t
open_file(const char *what, const char *name, hid_t fapl)
{
    if (strcmp(what, "open-write") == 0 || strcmp(what, "open-hold") == 0)
        return H5Fopen(name, H5F_ACC_RDWR, fapl);
    if (strcmp(what, "open-create") == 0)
        return H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (strcmp(what, "open-exclusive") == 0)
        return H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl);
    if (strcmp(what, "open-swmr") == 0)
        return H5Fopen(name, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, fapl);
    if (strcmp(what, "open-unlocked") == 0)
        (void)H5Pset_file_locking(fapl, false, false);
    if (strcmp(what, "open-create-nobody") == 0) {
        if (geteuid() == 0 && seteuid(65534) != 0)
            return H5I_INVALID_HID;
        return H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    }
    return H5Fopen(name, H5F_ACC_RDONLY, fapl);
}

static int
one_thing(const char *what, const char *name)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, dset;

    if (strcmp(what, "delete") == 0)
        return say(what, H5Fdelete(name, fapl)) < 0;
    if (strcmp(what, "is-accessible") == 0)
        return say(what, H5Fis_accessible(name, fapl)) <= 0;
    if (strcmp(what, "change") == 0) {
        file = H5Fopen(name, H5F_ACC_RDWR, fapl);
        dset = dataset(file, "another", 100, 0);
        (void)say(what, fill(dset, 5));
        return H5Dclose(dset) < 0 || H5Fclose(file) < 0;
    }
    if (strcmp(what, "follow") == 0) {
        file = H5Fcreate("follow.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        (void)H5Lcreate_external(name, "/", file, "link", H5P_DEFAULT, H5P_DEFAULT);
        dset = say(what, H5Gopen2(file, "link", H5P_DEFAULT));
        return dset < 0 || H5Gclose(dset) < 0 || H5Fclose(file) < 0;
    }
    if (strcmp(what, "swmr-create") == 0) { /* a reader sees what is being written */
        (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        dset = dataset(file, "d", 100, 10);
        (void)say(what, H5Fstart_swmr_write(file));
        (void)fill(dset, 5);
        (void)H5Dflush(dset);
        elsewhere("open-swmr", name);
        return H5Dclose(dset) < 0 || H5Fclose(file) < 0;
    }
    file = open_file(what, name, fapl);
    if (say(what, file) >= 0)
        printf("sum %lld\n", sum(file, H5Lexists(file, "whole", H5P_DEFAULT) > 0 ? "whole" : "d"));
    if (strcmp(what, "open-hold") == 0)
        elsewhere("open-write", name);
    try_close(file);
    (void)H5Pclose(fapl);
    return 0;
}

static void
list(const driver_scenario *s)
{
    for (; s->name != NULL; s++)
        puts(s->name);
}

/* False: none of them has that name. */
static bool
run(const driver_scenario *s, const char *name)
{
    while (s->name != NULL && strcmp(name, s->name) != 0)
        s++;
    if (s->name != NULL)
        s->run();
    return s->name != NULL;
}

int
main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        list(driver_open);
        list(driver_content);
        return 0;
    }
    count_prints();
    if (argc == 3)
        return one_thing(argv[1], argv[2]);
    if (argc == 2 && (run(driver_open, argv[1]) || run(driver_content, argv[1])))
        return 0;
    fprintf(stderr, "usage: driver SCENARIO | list | ACTION FILE\n");
    return 2;
}
