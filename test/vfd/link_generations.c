/* link_generations CASE DIR [ARG...]: the generations of DIR/node<r>/data.<r>.h5 of each rank r, as a program lists, opens, names and
 * drops them. Links the driver; the settings are those of HDF5_DRIVER_CONFIG. Run by test_generation_list.sh, which loses files
 * between the cases.
 *
 *   write DIR SEED LABEL      the files are created, and what is closed gets this label; "": none
 *   change DIR SEED           they are changed in place
 *   read DIR SEED WHICH       generation WHICH has this content; "": the newest
 *   refused DIR WHICH         cannot be opened
 *   opened DIR WHICH DID:NUMBER:LABEL   opens it (WHICH "": the newest, or another by fallback=), and
 *                             H5FDredset_status tells this (DID ?: whatever)
 *   list DIR                  each rank prints what H5FDredset_generations tells, a line for each
 *   drop DIR BACK             the one that is so many older than the newest goes; `nodrop`: not
 *   full DIR BACK             nor where rank 2 can write no large file
 *   differ DIR                ranks ask for different ones to go
 *   busy DIR                  rank 2 has the one before the newest open, and all ask for it to go
 *   protect DIR               the files are protected as they are, as files that HDF5 does not open
 *   calls DIR                 without MPI: wrong calls, short lists, and structs of other versions
 *
 * Exit status 0 when all is right; each check that is not prints a line. What rank r says is in DIR.said.<r>, so that lines
 * of one rank stay in one piece. */
#include "H5FDredset.h"
#include "link_values.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LIST = 8 };

typedef H5FD_redset_generation_t generation;

/* `which` NULL or "": the newest. */
static hid_t
open_generation(const char *which, unsigned flags)
{
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS), file;
    H5FD_redset_config_t config = {.size = sizeof config};

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0 && H5Pget_fapl_redset(fapl, &config) >= 0);
    if (which != NULL) {
        snprintf(config.generation, sizeof config.generation, "%s", which);
        CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    }
    file = flags == H5F_ACC_TRUNC ? H5Fcreate(path_of("data"), flags, H5P_DEFAULT, fapl)
                                  : H5Fopen(path_of("data"), flags, fapl);
    H5Pclose(fapl);
    return file;
}

static size_t
list_all(generation list[LIST])
{
    size_t n = LIST;

    list[0].size = sizeof list[0];
    CHECK(H5FDredset_generations(path_of("data"), list, &n) >= 0 && n <= LIST);
    return n;
}

/* ---- cases ---- */

static void
case_write(const char *seed, const char *label)
{
    hid_t file = open_generation(NULL, H5F_ACC_TRUNC);

    write_values(file, atoi(seed));
    if (label[0] != '\0')
        CHECK(H5FDredset_label(file, label) >= 0);
    CHECK(H5Fclose(file) >= 0);
}

/* A part of them; the length stays that of another seed. */
static void
case_change(const char *seed, const char *unused)
{
    const hsize_t start = 0, n = 1000;
    hid_t file = open_generation(NULL, H5F_ACC_RDWR), set = H5Dopen2(file, "d", H5P_DEFAULT);
    hid_t part = H5Screate_simple(1, &n, NULL), all = H5Dget_space(set);

    (void)unused;
    for (hsize_t i = 0; i < n; i++)
        values[i] = atoi(seed);
    CHECK(H5Sselect_hyperslab(all, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0);
    CHECK(H5Dwrite(set, H5T_NATIVE_INT, part, all, H5P_DEFAULT, values) >= 0);
    CHECK(H5Sclose(part) >= 0 && H5Sclose(all) >= 0 && H5Dclose(set) >= 0);
    CHECK(H5Fclose(file) >= 0);
}

static void
case_read(const char *seed, const char *which)
{
    compare_values(open_generation(which, H5F_ACC_RDONLY), atoi(seed));
}

static void
case_refused(const char *which, const char *unused)
{
    (void)unused;
    CHECK(open_generation(which, H5F_ACC_RDONLY) < 0);
}

static void
case_opened(const char *which, const char *expected)
{
    H5FD_redset_status_t s = {.size = sizeof s};
    hid_t                file = open_generation(which, H5F_ACC_RDONLY);
    char                 text[2 * H5FD_REDSET_LABEL_SIZE];

    CHECK(file >= 0 && H5Fclose(file) >= 0);
    CHECK(H5FDredset_status(path_of("data"), &s) >= 0 && s.size == sizeof s);
    snprintf(text, sizeof text, "%d:%llu:%s", s.did, s.opened_commits, s.opened_label);
    if (expected[0] == '?') /* not the same on all ranks */
        text[0] = '?';
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "opened %s\n", text);
    CHECK(strcmp(text, expected) == 0);
    CHECK(s.opened >> 40 == s.opened_commits && s.opened_time > 1700000000);
    CHECK(s.did != H5FD_REDSET_DID_FALL_BACK || s.ranks_concerned == 4);
}

static void
case_list(const char *unused, const char *unused_too)
{
    generation   list[LIST];
    const size_t n = list_all(list);

    (void)unused;
    (void)unused_too;
    for (size_t i = 0; i < n; i++) {
        CHECK(list[i].commits == list[i].generation >> 40 && list[i].time > 1700000000);
        CHECK(list[i].is_here == (list[i].why[0] == '\0'));
        fprintf(stderr, "number %llu \"%s\" scheme %d:%d ranks %d size %llu%s%s bytes %llu\n",
                list[i].commits, list[i].label, list[i].scheme, list[i].parity, list[i].ranks,
                list[i].file_size, list[i].is_newest ? " newest" : "",
                list[i].is_here ? " here" : " lost", list[i].bytes);
    }
}

/* A rank that has lost all asks for the same as the others. */
static unsigned long long
number_of(int back)
{
    generation         list[LIST];
    const size_t       n = list_all(list);
    unsigned long long mine = (size_t)back < n ? list[back].generation : 0, most = 0;

    MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void
case_drop(const char *back, const char *unused)
{
    (void)unused;
    CHECK(H5FDredset_drop(path_of("data"), number_of(atoi(back))) == 0);
}

static void
case_nodrop(const char *back, const char *unused)
{
    (void)unused;
    CHECK(H5FDredset_drop(path_of("data"), number_of(atoi(back))) < 0);
}

static void
case_full(const char *back, const char *unused)
{
    const struct rlimit little = {4096, RLIM_INFINITY};

    CHECK(rank != 2 || setrlimit(RLIMIT_FSIZE, &little) == 0);
    case_nodrop(back, unused);
}

static void
case_differ(const char *unused, const char *unused_too)
{
    const unsigned long long a = number_of(1), b = number_of(2);

    (void)unused;
    (void)unused_too;
    CHECK(H5FDredset_drop(path_of("data"), rank == 2 ? a : b) < 0);
}

static void
case_busy(const char *unused, const char *unused_too)
{
    const unsigned long long which = number_of(1);
    hid_t                    file = open_generation("-1", H5F_ACC_RDONLY);

    (void)unused;
    (void)unused_too;
    CHECK(file >= 0);
    if (rank != 2)
        CHECK(H5Fclose(file) >= 0);
    CHECK(H5FDredset_drop(path_of("data"), which) < 0);
    if (rank == 2)
        CHECK(H5Fclose(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(H5FDredset_drop(path_of("data"), which) == 0);
}

static void
case_protect(const char *unused, const char *unused_too)
{
    const char *const paths[] = {path_of("data")};

    (void)unused;
    (void)unused_too;
    CHECK(H5FDredset_protect_files(paths, 1, NULL) >= 0);
}

static void
case_calls(const char *unused, const char *unused_too)
{
    struct {
        generation g;
        char       later[16]; /* of a later version */
    } longer[2];
    generation list[LIST], one = {.size = sizeof one};
    size_t     n = 1, room = 2;

    (void)unused;
    (void)unused_too;
    CHECK(list_all(list) == 3);
    CHECK(H5FDredset_generations(path_of("data"), &one, &n) >= 0 && n == 3);
    CHECK(memcmp(&one, &list[0], sizeof one) == 0);
    n = 0;
    CHECK(H5FDredset_generations(path_of("data"), NULL, &n) >= 0 && n == 3);
    memset(longer, 7, sizeof longer);
    longer[0].g.size = sizeof longer[0];
    CHECK(H5FDredset_generations(path_of("data"), &longer[0].g, &room) >= 0 && room == 3);
    CHECK(longer[1].g.generation == list[1].generation && longer[1].g.size == sizeof list[1]);
    CHECK(longer[1].later[0] == 7);
    one.size = 8;
    n = 1;
    CHECK(H5FDredset_generations(path_of("data"), &one, &n) < 0 && n == 1);
    CHECK(H5FDredset_generations(path_of("data"), NULL, &n) < 0 && n == 1);
    CHECK(H5FDredset_generations(path_of("data"), list, NULL) < 0);
    CHECK(H5FDredset_generations("", list, &n) < 0);
    CHECK(H5FDredset_generations("no_such_dir/file.h5", list, &n) >= 0 && n == 0);
}

static const struct {
    const char *name;
    void (*run)(const char *, const char *);
} cases[] = {
    {"write", case_write},     {"change", case_change}, {"read", case_read},
    {"refused", case_refused}, {"opened", case_opened}, {"list", case_list},
    {"drop", case_drop},       {"nodrop", case_nodrop}, {"full", case_full},
    {"differ", case_differ},   {"busy", case_busy},     {"protect", case_protect},
    {"calls", case_calls},
};

int
main(int argc, char **argv)
{
    char       said[4096];
    const bool alone = argc > 1 && strcmp(argv[1], "calls") == 0;
    bool       known = false;

    if (argc < 3)
        return 1;
    dir = argv[2];
    if (!alone) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    snprintf(said, sizeof said, "%s.said.%d", dir, rank);
    if (freopen(said, "w", stderr) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
            known = true;
        }
    if (!alone)
        MPI_Finalize();
    return wrong != 0 || !known;
}
