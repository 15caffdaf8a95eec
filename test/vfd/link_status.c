/* link_status CASE DIR: what H5FDredset_status tells, and by which minor number a program knows why a call has failed. Each rank
 * has a file of its own, DIR/stat_<rank>.h5. Links the driver; the settings are those of HDF5_DRIVER_CONFIG. Run by
 * test_status.sh.
 *
 *   life       files are created, opened, and created over
 *   rebuild    the files are opened; the script has removed that of rank 1
 *   torn       files are changed, and all ranks end without closing them
 *   back       the same files are opened
 *   refused    they are opened; the script has removed more than can be rebuilt
 *   late       rank 3 does not come to the close (required=yes)
 *   async      closed in the background
 *   busy       files that are open are to be unprotected
 *   label      commits get labels
 *   again      the same files are opened; the script has given them other names
 *   alone      without MPI, with SINGLE: the life of the file of rank 0; wrong calls
 *   stranger   without MPI: a process that never opens the file
 *
 * Exit status 0 when all is right; each check that is not prints a line. */
#include "H5FDredset.h"
#include "link_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int                ranks = 1;
static const char        *dir, *stem = "stat";
static unsigned long long began; /* seconds: when rank 0 did */

static const char *
path(void)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/%s_%d.h5", dir, stem, rank);
    return text;
}

static H5FD_redset_status_t
status(void)
{
    H5FD_redset_status_t s = {.size = sizeof s};

    CHECK(H5FDredset_status(path(), &s) >= 0 && s.size == sizeof s);
    CHECK(s.is_protected == (s.why[0] == '\0'));
    return s;
}

/* Says what it is when it is not as expected. */
static bool
is(const H5FD_redset_status_t *s, int is_protected, unsigned long long commits, int did,
   const char *why)
{
    const bool right = s->is_protected == is_protected && s->commits == commits && s->did == did &&
                       strstr(s->why, why) != NULL;

    if (!right)
        fprintf(stderr, "rank %d: protected %d, commits %llu, did %d: %s\n", rank, s->is_protected,
                s->commits, s->did, s->why);
    return right;
}

/* ---- why a call failed ---- */

typedef struct wanted {
    hid_t minor;
    bool  found;
} wanted;

static herr_t
look_for(unsigned n, const H5E_error2_t *record, void *arg)
{
    wanted *w = arg;

    (void)n;
    w->found = w->found || record->min_num == w->minor;
    return 0;
}

/* Does a record of the call that failed just now have this minor number? */
static bool
because(hid_t minor)
{
    wanted w = {.minor = minor};

    return minor > 0 && H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for, &w) >= 0 && w.found;
}

/* ---- files ---- */

static hid_t
driver(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    return fapl;
}

static void
put(hid_t file, const char *name)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t set =
        H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &rank) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static hid_t
create(hid_t fapl)
{
    hid_t file = H5Fcreate(path(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    CHECK(file >= 0);
    put(file, "data");
    return file;
}

static void
together(void)
{
    if (ranks > 1)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- cases ---- */

static void
check_scheme(const H5FD_redset_status_t *s)
{
    unsigned long long most = s->generation, least = s->generation;

    if (ranks > 1) {
        MPI_Allreduce(&s->generation, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(&s->generation, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    }
    CHECK(most == least && most >> 40 == s->commits);
    CHECK(s->scheme == (ranks > 1 ? H5FD_REDSET_XOR : H5FD_REDSET_SINGLE));
    CHECK(s->parity == (ranks > 1) && s->ranks == ranks);
}

static void
case_life(void)
{
    hid_t                fapl = driver(), file;
    H5FD_redset_status_t s = status();

    CHECK(is(&s, 0, 0, H5FD_REDSET_DID_NOT_ASK, "neither"));
    CHECK(s.scheme == -1 && s.ranks == 0 && s.generation == 0 && s.label[0] == '\0');
    file = create(fapl);
    s = status();
    CHECK(is(&s, 0, 0, H5FD_REDSET_DID_NOT_ASK, "is open"));
    CHECK(strcmp(s.state, "created") == 0);
    CHECK(H5Fclose(file) >= 0);
    s = status();
    CHECK(is(&s, 1, 1, H5FD_REDSET_DID_NOT_ASK, ""));
    CHECK(s.state[0] == '\0');
    check_scheme(&s);
    file = H5Fopen(path(), H5F_ACC_RDWR, fapl);
    s = status();
    CHECK(is(&s, 1, 1, H5FD_REDSET_DID_NOTHING, ""));
    CHECK(s.ranks_concerned == 0 && s.ranks_rebuilt == 0);
    CHECK(strcmp(s.state, "clean") == 0);
    put(file, "more");
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    s = status();
    CHECK(is(&s, 0, 1, H5FD_REDSET_DID_NOTHING, "is open"));
    CHECK(strcmp(s.state, "changed") == 0);
    CHECK(H5Fclose(file) >= 0);
    s = status();
    CHECK(is(&s, 1, 2, H5FD_REDSET_DID_NOTHING, ""));
    together();
    file = create(fapl);
    s = status();
    CHECK(is(&s, 0, 2, H5FD_REDSET_DID_NOT_ASK, "is open"));
    CHECK(strcmp(s.state, "shadow") == 0);
    CHECK(H5Fclose(file) >= 0);
    s = status();
    CHECK(is(&s, 1, 3, H5FD_REDSET_DID_NOT_ASK, ""));
    H5Pclose(fapl);
}

static void
case_rebuild(void)
{
    const bool           lost = access(path(), F_OK) != 0;
    hid_t                fapl = driver(), file;
    H5FD_redset_status_t s = status();

    CHECK(is(&s, !lost, 3, H5FD_REDSET_DID_NOT_ASK, lost ? "is missing" : ""));
    MPI_Barrier(MPI_COMM_WORLD);
    file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    s = status();
    CHECK(is(&s, 1, 3, lost ? H5FD_REDSET_DID_REBUILD : H5FD_REDSET_DID_NOTHING, ""));
    CHECK(s.ranks_concerned == 1 && s.ranks_rebuilt == 1);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    H5Pclose(fapl);
}

static void
case_torn(void)
{
    hid_t file = H5Fopen(path(), H5F_ACC_RDWR, driver());

    put(file, "torn");
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}

static void
case_back(void)
{
    hid_t                fapl = driver(), file;
    H5FD_redset_status_t s = status();

    CHECK(is(&s, 0, 3, H5FD_REDSET_DID_NOT_ASK, "was not finished"));
    MPI_Barrier(MPI_COMM_WORLD);
    file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    s = status();
    CHECK(is(&s, 1, 3, H5FD_REDSET_DID_BACK, ""));
    CHECK(s.ranks_concerned == (unsigned)ranks && s.ranks_rebuilt == 0);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    H5Pclose(fapl);
}

static void
case_refused(void)
{
    hid_t                fapl = driver();
    H5FD_redset_status_t s;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    CHECK(H5Fopen(path(), H5F_ACC_RDONLY, fapl) < 0);
    CHECK(because(H5FD_REDSET_E_UNRECOVERABLE) && !because(H5FD_REDSET_E_PEER_MISSING));
    s = status();
    CHECK(s.did == H5FD_REDSET_DID_REFUSE && s.ranks_concerned == 0);
    CHECK(s.is_protected || strstr(s.why, "unrecoverable") != NULL);
    H5Pclose(fapl);
}

static void
case_late(void)
{
    hid_t                fapl = driver(), file = create(fapl);
    H5FD_redset_status_t s;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (rank == 3)
        MPI_Barrier(MPI_COMM_WORLD);
    CHECK(H5Fclose(file) < 0);
    CHECK(because(H5FD_REDSET_E_PEER_MISSING) && !because(H5FD_REDSET_E_UNRECOVERABLE));
    s = status();
    CHECK(is(&s, 0, 0, H5FD_REDSET_DID_NOT_ASK, "not protected: "));
    CHECK(rank == 3 || strstr(s.why, "rank 3") != NULL);
    if (rank != 3)
        MPI_Barrier(MPI_COMM_WORLD);
    H5Pclose(fapl);
}

static void
case_async(void)
{
    hid_t                fapl = driver();
    H5FD_redset_status_t s;

    CHECK(H5Fclose(create(fapl)) >= 0);
    s = status();
    CHECK(s.is_protected || strstr(s.why, "in the background") != NULL);
    CHECK(H5FDredset_wait(path()) >= 0);
    s = status();
    CHECK(is(&s, 1, s.commits, H5FD_REDSET_DID_NOT_ASK, ""));
    H5Pclose(fapl);
}

/* A commit in which the ranks of `mask` give the label "of rank R": the file is created, or changed. */
static void
commit_labelled(hid_t fapl, unsigned mask, const char *change)
{
    hid_t file = change == NULL ? create(fapl) : H5Fopen(path(), H5F_ACC_RDWR, fapl);
    char  text[32];

    snprintf(text, sizeof text, "of rank %d", rank);
    if ((mask >> rank & 1) != 0)
        CHECK(H5FDredset_label(file, "an earlier one") >= 0 && H5FDredset_label(file, text) >= 0);
    if (change != NULL)
        put(file, change);
    CHECK(H5Fclose(file) >= 0);
}

static void
check_label(const char *label)
{
    const H5FD_redset_status_t s = status();
    unsigned long long         most = s.time, least = s.time;

    if (strcmp(s.label, label) != 0)
        fprintf(stderr, "rank %d: label %s\n", rank, s.label);
    CHECK(s.is_protected && strcmp(s.label, label) == 0);
    MPI_Allreduce(&s.time, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&s.time, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    CHECK(most == least && most >= began && most <= (unsigned long long)time(NULL));
}

static void
check_no_label(hid_t file, const char *text)
{
    H5E_auto2_t print;
    void       *arg;

    H5Eget_auto2(H5E_DEFAULT, &print, &arg);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    CHECK(H5FDredset_label(file, text) < 0 && because(H5FD_REDSET_E_USAGE));
    H5Eset_auto2(H5E_DEFAULT, print, arg);
}

static void
check_no_labels(hid_t fapl)
{
    char  longest[257], other[4096];
    hid_t file = H5Fopen(path(), H5F_ACC_RDWR, fapl);

    memset(longest, 'l', sizeof longest);
    longest[256] = '\0';
    check_no_label(file, NULL);
    check_no_label(file, "");
    check_no_label(file, longest);
    check_no_label(file, "two\nlines");
    check_no_label(file, "\xff");
    check_no_label(H5I_INVALID_HID, "text");
    check_no_label(fapl, "text");
    CHECK(H5Fclose(file) >= 0);
    file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    check_no_label(file, "text");
    CHECK(H5Fclose(file) >= 0);
    snprintf(other, sizeof other, "%s/other_driver_%d", dir, rank);
    file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    check_no_label(file, "text");
    CHECK(H5Fclose(file) >= 0);
}

static void
case_label(void)
{
    hid_t fapl = driver();

    began = (unsigned long long)time(NULL);
    MPI_Bcast(&began, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    commit_labelled(fapl, 1 << 2, NULL);
    check_label("of rank 2");
    commit_labelled(fapl, 0, "plain");
    check_label("");
    commit_labelled(fapl, 1 << 1 | 1 << 3, "labelled");
    check_label("of rank 1");
    check_no_labels(fapl);
    check_label("of rank 1");
    commit_labelled(fapl, 15, "more");
    check_label("of rank 0");
    H5Pclose(fapl);
}

/* Files that are protected again as they are keep their label. */
static void
case_again(void)
{
    hid_t                fapl = driver(), file;
    H5FD_redset_status_t s;

    stem = "other";
    file = H5Fopen(path(), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    check_label("of rank 0");
    s = status();
    CHECK(s.commits == 5);
    H5Pclose(fapl);
}

static void
check_wrong_calls(void)
{
    H5FD_redset_status_t s = {.size = 8, .ranks = 77};

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    CHECK(H5FDredset_status(path(), &s) < 0 && s.ranks == 77 && because(H5FD_REDSET_E_USAGE));
    CHECK(H5FDredset_status(path(), NULL) < 0);
    s.size = sizeof s;
    CHECK(H5FDredset_status(NULL, &s) < 0 && H5FDredset_status("", &s) < 0 && s.ranks == 77);
}

/* A file that is being changed is not to be unprotected. */
static void
case_busy(void)
{
    const char *one = path();
    hid_t       fapl = driver(), file = H5Fopen(one, H5F_ACC_RDWR, fapl);

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    put(file, "busy");
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    CHECK(H5FDredset_unprotect_files(&one, 1, NULL) < 0 && because(H5FD_REDSET_E_BUSY));
    CHECK(H5Fclose(file) >= 0);
    H5Pclose(fapl);
}

static void
case_alone(void)
{
    H5FD_redset_status_t s;

    case_life();
    check_wrong_calls();
    CHECK(truncate(path(), 100) == 0);
    s = status();
    CHECK(is(&s, 0, 3, H5FD_REDSET_DID_NOT_ASK, "size"));
}

static void
case_stranger(void)
{
    H5FD_redset_status_t s = status();

    CHECK(is(&s, 1, 3, H5FD_REDSET_DID_NOT_ASK, ""));
    CHECK(s.ranks == 4 && s.scheme == H5FD_REDSET_XOR);
    dir = "/nowhere/at/all";
    s = status();
    CHECK(is(&s, 0, 0, H5FD_REDSET_DID_NOT_ASK, "neither"));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"life", case_life},   {"rebuild", case_rebuild}, {"torn", case_torn},
             {"back", case_back},   {"refused", case_refused}, {"late", case_late},
             {"async", case_async}, {"busy", case_busy},       {"label", case_label},
             {"again", case_again}, {"alone", case_alone},     {"stranger", case_stranger}};

int
main(int argc, char **argv)
{
    const bool mpi = argc == 3 && strcmp(argv[1], "alone") != 0 && strcmp(argv[1], "stranger") != 0;
    int        level;

    if (argc != 3)
        return 1;
    dir = argv[2];
    if (mpi) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    if (mpi)
        MPI_Finalize();
    return wrong != 0;
}
