/* driver SCENARIO: what a program sees of HDF5, printed so that two runs in two empty directories,
 * one with sec2 and one with redset, can be compared line by line and file by file
 * (test_driver.sh). The program knows no driver. `driver list` names the scenarios; `driver ACTION
 * FILE` does one thing with one file (test_protected.sh).
 *
 * Every line is a call with its outcome; of a failed one the outermost and the innermost error record,
 * and how often HDF5 printed (a driver that calls HDF5 must not add to that). */
#include <fcntl.h>
#include <hdf5.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reporting ---- */

static const char *self; /* this program, to be started again */
static int         printed;

static herr_t
count_print(hid_t stack, void *arg)
{
    (void)stack;
    (void)arg;
    printed++;
    return 0;
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

/* Returns `ret`; negative is failure, as everywhere in HDF5. */
static hid_t
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

static long long
file_size(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

static void
elsewhere(const char *what, const char *name)
{
    char command[1200];

    fflush(stdout);
    snprintf(command, sizeof command, "'%s' %s '%s'", self, what, name);
    printf("other process: status %d\n", system(command) >> 8);
}

/* ---- building blocks ---- */

/* Times of objects would make files differ: of the root group too, in newer formats. */
static hid_t
timeless(void)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);

    (void)H5Pset_obj_track_times(fcpl, false);
    return fcpl;
}

static hid_t
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

static herr_t
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

static long long
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

static void
make(const char *name, int seed)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dset = dataset(file, "d", 1000, 0);

    (void)fill(dset, seed);
    (void)H5Dclose(dset);
    (void)say(name, H5Fclose(file));
}

static void
put_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    fputs(text, f);
    fclose(f);
}

static void
try_close(hid_t file)
{
    if (file >= 0)
        (void)say("H5Fclose", H5Fclose(file));
}

/* ---- scenarios ---- */

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
    elsewhere("open-create", "a.h5");
    elsewhere("open-unlocked", "a.h5");
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

static void
after_h5close(void)
{
    make("a.h5", 1);
    (void)say("H5close", H5close());
    (void)H5Eset_auto2(H5E_DEFAULT, count_print, NULL);
    make("b.h5", 2);
    try_close(say("open", H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
    try_close(say("missing", H5Fopen("no.h5", H5F_ACC_RDWR, H5P_DEFAULT)));
}

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

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
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
    {"after_h5close", after_h5close},
};

int
main(int argc, char **argv)
{
    size_t n = sizeof scenarios / sizeof scenarios[0];

    self = argv[0];
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < n; i++)
            puts(scenarios[i].name);
        return 0;
    }
    (void)H5Eset_auto2(H5E_DEFAULT, count_print, NULL);
    if (argc == 3)
        return one_thing(argv[1], argv[2]);
    for (size_t i = 0; i < n && argc == 2; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    fprintf(stderr, "usage: driver SCENARIO | list | ACTION FILE\n");
    return 2;
}
