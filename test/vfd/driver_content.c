/* driver_content.c: what a program writes into a file by HDF5's many ways, or through its handle, and finds there again. */
#include "driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void
handle(void)
{
    hid_t       file;
    void       *h = NULL;
    struct stat a = {0}, b = {0};
    char        magic[8] = "";
    hid_t       fapl = H5Pcreate(H5P_FILE_ACCESS);

    make("a.h5", 1);
    file = H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    if (say("H5Fget_vfd_handle", H5Fget_vfd_handle(file, fapl, &h)) >= 0) {
        (void)fstat(*(int *)h, &a);
        (void)stat("a.h5", &b);
        (void)!pread(*(int *)h, magic, sizeof magic, 0);
        printf("same inode %d, signature %.3s\n", a.st_ino == b.st_ino, magic + 1);
    }
    (void)say("without a place", H5Fget_vfd_handle(file, fapl, NULL));
    try_close(file);
    (void)H5Pclose(fapl);
}

static void
swmr(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = timeless(), file, dset;

    (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file = say("create", H5Fcreate("a.h5", H5F_ACC_TRUNC, fcpl, fapl));
    (void)H5Pclose(fcpl);
    dset = dataset(file, "d", 100, 10);
    (void)fill(dset, 1);
    (void)say("H5Fstart_swmr_write", H5Fstart_swmr_write(file));
    elsewhere("open-swmr", "a.h5");
    elsewhere("open-read", "a.h5");
    (void)fill(dset, 2);
    (void)say("H5Dflush", H5Dflush(dset));
    elsewhere("open-swmr", "a.h5");
    (void)H5Dclose(dset);
    try_close(file);
    file = say("SWMR_WRITE", H5Fopen("a.h5", H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, fapl));
    elsewhere("open-swmr", "a.h5");
    try_close(file);
    (void)H5Pclose(fapl);
}

static void
shrinking(void)
{
    hid_t   file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset;
    hsize_t n = 1234567;

    dset = dataset(file, "big", 200000, 0);
    (void)fill(dset, 1);
    (void)H5Dclose(dset);
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
    file = H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    (void)say("unlink", H5Ldelete(file, "big", H5P_DEFAULT));
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
    (void)truncate("a.h5", 1 << 20); /* longer than HDF5 knows */
    file = say("longer", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    (void)H5Fget_filesize(file, &n);
    printf("filesize %llu\n", (unsigned long long)n);
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
    file = H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    (void)say("H5Fincrement_filesize", H5Fincrement_filesize(file, 5000));
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
}

static void
chunks(void)
{
    hid_t   file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset;
    hsize_t n;

    dset = dataset(file, "d", 1000, 64);
    (void)fill(dset, 1);
    for (n = 1000; n < 200000; n += 12345)
        (void)H5Dset_extent(dset, &n);
    (void)say("write", fill(dset, 2));
    n = 10;
    (void)say("shrink", H5Dset_extent(dset, &n));
    (void)H5Dclose(dset);
    for (int i = 0; i < 300; i++) {
        char name[16];

        snprintf(name, sizeof name, "g%d", i);
        (void)H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    try_close(file);
    file = H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    printf("sum %lld\n", sum(file, "d"));
    try_close(file);
}

static void
user_block(void)
{
    hid_t fcpl = timeless(), file, dset;
    int   fd;

    (void)H5Pset_userblock(fcpl, 4096);
    file = say("create", H5Fcreate("a.h5", H5F_ACC_TRUNC, fcpl, H5P_DEFAULT));
    dset = dataset(file, "d", 1000, 0);
    (void)fill(dset, 1);
    (void)H5Dclose(dset);
    try_close(file);
    put_text("head", "in front\n");
    fd = (int)H5Fis_accessible("a.h5", H5P_DEFAULT);
    file = say("open", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    printf("accessible %d, size %lld, sum %lld\n", fd, file_size("a.h5"), sum(file, "d"));
    try_close(file);
    (void)H5Pclose(fcpl);
}

static void
pages(void)
{
    static const char page[4096];
    int               fd;
    hid_t             fcpl = timeless(), fapl = H5Pcreate(H5P_FILE_ACCESS), file, dset;

    (void)H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, true, 1);
    (void)H5Pset_file_space_page_size(fcpl, 4096);
    (void)H5Pset_page_buffer_size(fapl, 16 * 4096, 0, 0);
    file = say("create", H5Fcreate("a.h5", H5F_ACC_TRUNC, fcpl, fapl));
    dset = dataset(file, "d", 100000, 1000);
    (void)say("write", fill(dset, 1));
    (void)H5Dclose(dset);
    try_close(file);
    file = say("open", H5Fopen("a.h5", H5F_ACC_RDWR, fapl));
    printf("size %lld, sum %lld\n", file_size("a.h5"), sum(file, "d"));
    try_close(file);
    (void)H5Pclose(fcpl);
    (void)H5Pclose(fapl);
    fd = open("a.h5", O_WRONLY); /* the superblock's extension keeps times, whatever one asks for */
    (void)!pwrite(fd, page, sizeof page, 0);
    (void)close(fd);
}

static void
latest(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = timeless(), file, dset;

    (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    (void)H5Pset_alignment(fapl, 1000, 4096);
    (void)H5Pset_meta_block_size(fapl, 65536);
    file = say("create", H5Fcreate("a.h5", H5F_ACC_TRUNC, fcpl, fapl));
    (void)H5Pclose(fcpl);
    dset = dataset(file, "d", 5000, 0);
    (void)fill(dset, 1);
    (void)H5Dclose(dset);
    try_close(file);
    file = say("open", H5Fopen("a.h5", H5F_ACC_RDWR, fapl));
    printf("size %lld, sum %lld\n", file_size("a.h5"), sum(file, "d"));
    try_close(file);
    (void)H5Pclose(fapl);
}

static void
external_links(void)
{
    hid_t a, l;
    char  cwd[512], path[600];

    (void)mkdir("sub", 0755);
    make("sub/target.h5", 5);
    snprintf(path, sizeof path, "%s/sub/target.h5", getcwd(cwd, sizeof cwd) ? cwd : "");
    a = H5Fcreate("sub/a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_external("target.h5", "/d", a, "relative", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_external("gone.h5", "/d", a, "gone", H5P_DEFAULT, H5P_DEFAULT);
    printf("relative %lld\n", sum(a, "relative"));
    (void)say("gone", H5Dopen2(a, "gone", H5P_DEFAULT));
    l = H5Dopen2(a, "relative", H5P_DEFAULT);
    (void)say("write through", fill(l, 9));
    (void)H5Dclose(l);
    try_close(a);
    a = H5Fopen("sub/a.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    printf("relative %lld\n", sum(a, "relative"));
    try_close(a);
    a = H5Fopen("sub/target.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    printf("direct %lld\n", sum(a, "d"));
    try_close(a);
}

static void
virtual_dataset(void)
{
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), file, dset, space;
    hsize_t n = 1000;

    make("s.h5", 3);
    space = H5Screate_simple(1, &n, NULL);
    (void)H5Pset_obj_track_times(dcpl, false);
    (void)H5Pset_virtual(dcpl, space, "s.h5", "/d", space);
    file = H5Fcreate("v.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    dset = H5Dcreate2(file, "v", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    (void)say("H5Dcreate2", dset);
    printf("sum %lld\n", sum(file, "v"));
    (void)H5Dclose(dset);
    try_close(file);
    (void)unlink("s.h5");
    file = H5Fopen("v.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    printf("source gone, sum %lld\n", sum(file, "v"));
    try_close(file);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

static void
mounted(void)
{
    hid_t a, b;

    make("child.h5", 2);
    a = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Gclose(H5Gcreate2(a, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    b = H5Fopen("child.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    (void)say("H5Fmount", H5Fmount(a, "g", b, H5P_DEFAULT));
    printf("sum %lld\n", sum(a, "g/d"));
    try_close(b);
    try_close(a);
}

static void
other_directory(void)
{
    hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset;

    (void)mkdir("sub", 0755);
    if (chdir("sub") != 0)
        return;
    dset = dataset(file, "d", 1000, 0);
    (void)say("write", fill(dset, 4));
    (void)H5Dclose(dset);
    try_close(file);
    file = say("open", H5Fopen("../a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    printf("sum %lld\n", sum(file, "d"));
    try_close(file);
}

static void
far_away(void)
{
    hid_t   file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset, space, mem;
    hsize_t n = (hsize_t)3 << 29, at = n - 5, five = 5; /* 6 GiB with a hole */
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE);
    int     v[5] = {1, 2, 3, 4, 5}, w[5] = {0};

    (void)H5Pset_obj_track_times(dcpl, false);
    (void)H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
    space = H5Screate_simple(1, &n, NULL);
    mem = H5Screate_simple(1, &five, NULL);
    dset = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    (void)H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &five, NULL);
    (void)say("write", H5Dwrite(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v));
    (void)say("read", H5Dread(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, w));
    printf("%d %d\n", w[0], w[4]);
    (void)H5Dclose(dset);
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
    (void)H5Sclose(space);
    (void)H5Sclose(mem);
    (void)H5Pclose(dcpl);
    (void)truncate("a.h5", 4096); /* nobody wants to compare that */
}

const driver_scenario driver_content[] = {
    {"handle", handle},
    {"swmr", swmr},
    {"shrinking", shrinking},
    {"chunks", chunks},
    {"user_block", user_block},
    {"pages", pages},
    {"latest", latest},
    {"external_links", external_links},
    {"virtual_dataset", virtual_dataset},
    {"mounted", mounted},
    {"other_directory", other_directory},
    {"far_away", far_away},
    {NULL, NULL},
};
