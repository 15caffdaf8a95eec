/* driver_open.c: how opening, creating, closing and deleting a file goes, and what comes of it when the file is not there,
 * may not be had, or is open already. */
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
create(void)
{
    hid_t file = say("TRUNC, new", H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t dset = dataset(file, "d", 100000, 0);

    (void)say("write", fill(dset, 1));
    (void)H5Dclose(dset);
    try_close(file);
    printf("size %lld\n", file_size("a.h5"));
    try_close(say("EXCL, exists", H5Fcreate("a.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    printf("size %lld\n", file_size("a.h5"));
    try_close(say("EXCL, new", H5Fcreate("b.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("TRUNC, exists", H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    printf("size %lld\n", file_size("a.h5"));
    try_close(say("TRUNC, no directory",
                  H5Fcreate("no/such/a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    (void)mkdir("dir", 0755);
    try_close(say("TRUNC, directory", H5Fcreate("dir", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    put_text("plain", "no HDF5 in here\n");
    try_close(
        say("TRUNC, plain file", H5Fcreate("plain", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("TRUNC, below a file",
                  H5Fcreate("a.h5/b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("empty name", H5Fcreate("", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
}

static void
links(void)
{
    (void)symlink("nothing", "dangling");
    (void)symlink("loop", "loop");
    (void)symlink("real.h5", "link.h5");
    try_close(say("open dangling", H5Fopen("dangling", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("open loop", H5Fopen("loop", H5F_ACC_RDONLY, H5P_DEFAULT)));
    try_close(say("EXCL, dangling", H5Fcreate("dangling", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(
        say("TRUNC, dangling", H5Fcreate("dangling", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    make("link.h5", 3);
    try_close(say("open link", H5Fopen("link.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    printf("sizes %lld %lld\n", file_size("nothing"), file_size("real.h5"));
}

static void
missing(void)
{
    try_close(say("RDONLY", H5Fopen("no.h5", H5F_ACC_RDONLY, H5P_DEFAULT)));
    try_close(say("RDWR", H5Fopen("no.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("no directory", H5Fopen("no/such/a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("SWMR read", H5Fopen("no.h5", H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT)));
    (void)say("H5Fis_accessible", H5Fis_accessible("no.h5", H5P_DEFAULT));
    (void)say("H5Fdelete", H5Fdelete("no.h5", H5P_DEFAULT));
    printf("size %lld\n", file_size("no.h5"));
}

static void
denied(void)
{
    make("a.h5", 1);
    (void)chmod("a.h5", 0400);
    (void)mkdir("dir", 0755);
    make("dir/b.h5", 1);
    (void)chmod("dir/b.h5", 0444);
    (void)chmod(".", 0755);
    fflush(stdout);
    if (geteuid() == 0 && seteuid(65534) != 0)
        return;
    try_close(say("RDONLY", H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT)));
    try_close(say("RDWR", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("TRUNC", H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("EXCL", H5Fcreate("a.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("new", H5Fcreate("new.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("RDWR of read-only", H5Fopen("dir/b.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("RDONLY of read-only", H5Fopen("dir/b.h5", H5F_ACC_RDONLY, H5P_DEFAULT)));
    (void)say("H5Fdelete", H5Fdelete("dir/b.h5", H5P_DEFAULT));
    if (getuid() == 0)
        (void)seteuid(0);
    (void)chmod("a.h5", 0644);
}

static void
not_hdf5(void)
{
    put_text("text", "no HDF5 in here\n");
    put_text("empty", "");
    make("a.h5", 1);
    (void)truncate("a.h5", 3000);
    for (int rw = 0; rw < 2; rw++) {
        unsigned flags = rw ? H5F_ACC_RDWR : H5F_ACC_RDONLY;

        try_close(say("text", H5Fopen("text", flags, H5P_DEFAULT)));
        try_close(say("empty", H5Fopen("empty", flags, H5P_DEFAULT)));
        try_close(say("cut short", H5Fopen("a.h5", flags, H5P_DEFAULT)));
        try_close(say("directory", H5Fopen(".", flags, H5P_DEFAULT)));
    }
    printf("%d %d %d\n", (int)H5Fis_accessible("text", H5P_DEFAULT),
           (int)H5Fis_accessible("empty", H5P_DEFAULT), (int)H5Fis_accessible("a.h5", H5P_DEFAULT));
    (void)say("H5Fdelete of text", H5Fdelete("text", H5P_DEFAULT));
    printf("size %lld\n", file_size("text"));
}

static void
reading(void)
{
    hid_t    file, dset;
    unsigned intent = 99;
    hsize_t  size = 0;

    make("a.h5", 1);
    file = say("RDONLY", H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    (void)H5Fget_intent(file, &intent);
    (void)H5Fget_filesize(file, &size);
    printf("intent %u, size %llu, sum %lld\n", intent, (unsigned long long)size, sum(file, "d"));
    (void)say("group", H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    (void)say("no such", H5Dopen2(file, "nope", H5P_DEFAULT));
    try_close(file);
    file = say("RDWR", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    dset = H5Dopen2(file, "d", H5P_DEFAULT);
    (void)say("rewrite", fill(dset, 2));
    (void)say("flush", H5Fflush(file, H5F_SCOPE_GLOBAL));
    printf("sum %lld\n", sum(file, "d"));
    (void)H5Dclose(dset);
    try_close(file);
    try_close(say("RDWR, nothing done", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    printf("accessible %d\n", (int)H5Fis_accessible("a.h5", H5P_DEFAULT));
}

static void
deleting(void)
{
    hid_t file;

    make("a.h5", 1);
    (void)say("H5Fdelete", H5Fdelete("a.h5", H5P_DEFAULT));
    printf("size %lld\n", file_size("a.h5"));
    make("a.h5", 2);
    file = H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    (void)say("while open", H5Fdelete("a.h5", H5P_DEFAULT));
    printf("size %lld\n", file_size("a.h5"));
    try_close(file);
    /* an open file whose name is gone, and another of that name */
    make("b.h5", 3);
    file = H5Fopen("b.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    (void)unlink("b.h5");
    try_close(say("open, gone", H5Fopen("b.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    make("b.h5", 4);
    printf("old %lld\n", sum(file, "d"));
    try_close(file);
    file = H5Fopen("b.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    printf("new %lld\n", sum(file, "d"));
    try_close(file);
}

static void
twice(void)
{
    hid_t         a, b, dset;
    unsigned long na = 0, nb = 1;
    char          cwd[512], path[600];

    make("a.h5", 1);
    (void)link("a.h5", "hard.h5");
    (void)symlink("a.h5", "soft.h5");
    a = say("first", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"a.h5", "hard.h5", "soft.h5", NULL};
        const char              *name = names[i];

        if (name == NULL) {
            snprintf(path, sizeof path, "%s/./a.h5", getcwd(cwd, sizeof cwd) ? cwd : "");
            name = path;
        }
        b = say("second", H5Fopen(name, i & 1 ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT));
        (void)H5Fget_fileno(a, &na);
        (void)H5Fget_fileno(b, &nb);
        printf("the same file: %d\n", na == nb);
        dset = H5Dopen2(a, "d", H5P_DEFAULT);
        (void)fill(dset, 10 + i);
        (void)H5Dclose(dset);
        printf("sum %lld\n", sum(b, "d"));
        try_close(b);
    }
    try_close(say("TRUNC", H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(say("EXCL", H5Fcreate("hard.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    printf("accessible %d\n", (int)H5Fis_accessible("soft.h5", H5P_DEFAULT));
    try_close(say("other file", H5Fcreate("b.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)));
    try_close(a);
    a = say("first", H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    try_close(say("RDWR after RDONLY", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    b = say("reopen", H5Freopen(a));
    try_close(a);
    printf("sum %lld\n", sum(b, "d"));
    try_close(b);
}

static void
weak_close(void)
{
    hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dset = dataset(file, "d", 1000, 0);

    try_close(file);
    (void)say("write after H5Fclose", fill(dset, 7));
    try_close(say("open again", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    (void)say("H5Dclose", H5Dclose(dset));
    file = say("open", H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    printf("sum %lld\n", sum(file, "d"));
    try_close(file);
}

static void
left_open(void)
{
    hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dset = dataset(file, "d", 1000, 0);

    (void)say("write", fill(dset, 7));
    (void)H5Fcreate("b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    make("c.h5", 5);
    (void)H5Fopen("c.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    (void)H5Pcreate(H5P_FILE_ACCESS);
} /* and the program ends */

static void
locking(void)
{
    hid_t file, fapl = H5Pcreate(H5P_FILE_ACCESS);

    make("a.h5", 1);
    file = say("RDWR", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT));
    elsewhere("open-read", "a.h5");
    elsewhere("open-write", "a.h5");
    elsewhere("open-unlocked",
              "a.h5"); /* created there: sec2 truncates it, the driver does not (vfd.two_jobs) */
    try_close(file);
    elsewhere("open-write", "a.h5");
    file = say("RDONLY", H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    elsewhere("open-read", "a.h5");
    elsewhere("open-write", "a.h5");
    try_close(file);
    (void)H5Pset_file_locking(fapl, false, false);
    file = say("RDWR without lock", H5Fopen("a.h5", H5F_ACC_RDWR, fapl));
    elsewhere("open-write", "a.h5");
    try_close(file);
    (void)H5Pclose(fapl);
}

static void
after_h5close(void)
{
    make("a.h5", 1);
    (void)say("H5close", H5close());
    count_prints();
    make("b.h5", 2);
    try_close(say("open", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("missing", H5Fopen("no.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
}

const driver_scenario driver_open[] = {
    {"create", create},
    {"links", links},
    {"missing", missing},
    {"denied", denied},
    {"not_hdf5", not_hdf5},
    {"reading", reading},
    {"deleting", deleting},
    {"twice", twice},
    {"weak_close", weak_close},
    {"left_open", left_open},
    {"locking", locking},
    {"after_h5close", after_h5close},
    {NULL, NULL},
};
