/* link_async CASE DIR: async=yes on several ranks, each with files of its own (DIR/NAME_<rank>.h5). Links the
 * driver for H5FDredset_wait. Run by test_async.sh, which looks at the disk and the messages.
 *
 *   wait       close, wait; lost files come back
 *   test       H5FDredset_test before and after
 *   finalize   close, MPI_Finalize
 *   in_mpi     the same, where the thread in the background is in MPI calls meanwhile (preload_busy.c)
 *   serialized MPI_THREAD_SERIALIZED: protected at close
 *   order      several files closed in a row, some again
 *   turns      files closed with and without async, and opened, in turn
 *   reopen     opened, created, asked for and changed right after the close
 *   delete     deleted right after the close
 *   raw        a communicator that the driver did not duplicate is freed right after the close
 *   mixed      rank 1 without async
 *   changed    changed by another program before it is protected
 *   same_call  a rank cannot leave its close to the background: all ranks hear of it in the same call
 *   baton      one file, written by all ranks in turn
 *   fails      redundancy cannot be written on rank 2: told by open, create, close, wait and MPI_Finalize
 *   lenient    the same with required=no: a warning
 *   leave      exit without MPI_Finalize
 *   refused    a file cannot be created while something goes on
 *   fork       a child uses the driver and exits while something goes on
 *   new, any   a new job: rank 1 loses everything, then all have NEW; or all OLD or all NEW
 *
 * Exit status 0 when all is right; each check that is not prints a line. */
#include "link_async.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- cases ---- */

static void
case_wait(hid_t fapl)
{
    CHECK(H5FDredset_wait(NULL) >= 0 && H5FDredset_wait(path("nothing")) >= 0);
    CHECK(make("a", fapl, OLD) && H5FDredset_wait(path("a")) >= 0 && is_protected("a"));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int content = OLD; content <= NEW; content++) {
        CHECK(make("a", fapl, content) && H5FDredset_wait(path("a")) >= 0 && is_protected("a"));
        MPI_Barrier(MPI_COMM_WORLD);
        lose("a");
        CHECK(content_of("a", fapl) == content);
    }
}

static void
case_test(hid_t fapl)
{
    int   done = 7;
    hid_t file;

    CHECK(H5FDredset_test(path("a"), &done) >= 0 && done == 1);
    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0); /* the ranks have met */
    file = create("a", fapl, NEW);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) { /* nothing can be complete while rank 0 has not closed */
        CHECK(H5Fclose(file) >= 0);
        CHECK(H5FDredset_test(path("a"), &done) >= 0 && done == 0 && !is_protected("a"));
        CHECK(H5FDredset_test(NULL, &done) >= 0 && done == 0);
        CHECK(H5FDredset_test(path("b"), &done) >= 0 && done == 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(H5Fclose(file) >= 0);
    for (done = 0; !done; usleep(1000))
        CHECK(H5FDredset_test(path("a"), &done) >= 0);
    CHECK(is_protected("a") && H5FDredset_test(NULL, NULL) >= 0);
}

static void
case_serialized(hid_t fapl)
{
    for (int content = OLD; content <= NEW; content++)
        CHECK(make("a", fapl, content) && is_protected("a"));
}

/* What the others leave to the background from now on is not done before rank 0 comes. */
static void
rank_0_is_late(void)
{
    CHECK(H5FDredset_wait(NULL) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        usleep(300000);
}

static void
case_order(hid_t fapl)
{
    static const char *const names[] = {"a", "b", "c", "a", "c"};

    CHECK(make("a", fapl, OLD) && make("b", fapl, OLD) && make("c", fapl, OLD));
    rank_0_is_late();
    for (int i = 0; i < 5; i++) {
        CHECK(make(names[i], fapl, NEW));
        CHECK(rank != 0 || H5FDredset_wait(NULL) >= 0); /* has one order, the others have a queue */
    }
    CHECK(H5FDredset_wait(path("b")) >= 0 && is_protected("b"));
    CHECK(H5FDredset_wait(NULL) >= 0 && is_protected("a") && is_protected("c"));
    MPI_Barrier(MPI_COMM_WORLD);
    lose("c");
    CHECK(content_of("a", fapl) == NEW && content_of("b", fapl) == NEW);
    CHECK(content_of("c", fapl) == NEW);
}

/* What the program's thread does with the others comes after what is in the background. */
static void
case_turns(hid_t fapl)
{
    hid_t at_close = driver(0, 1);

    for (int i = 0; i < 3; i++) {
        CHECK(make("a", fapl, OLD) && make("b", fapl, OLD));
        rank_0_is_late();
        CHECK(make("a", fapl, NEW) && make("b", at_close, NEW));
        CHECK(is_protected("a") && is_protected("b"));
        rank_0_is_late();
        CHECK(make("a", fapl, OLD) && content_of("b", fapl) == NEW && is_protected("a"));
    }
    H5Pclose(at_close);
}

static void
case_reopen(hid_t fapl)
{
    hid_t file, lax = driver(1, 0);

    CHECK(make("a", fapl, OLD) && content_of("a", fapl) == OLD);
    CHECK(make("a", fapl, NEW) && content_of("a", fapl) == NEW && is_protected("a"));
    CHECK(make("a", fapl, OLD) && H5Fis_accessible(path("a"), fapl) > 0 && is_protected("a"));
    for (int content = NEW; content >= OLD; content--) { /* in place */
        file = H5Fopen(path("a"), H5F_ACC_RDWR, fapl);
        CHECK(file >= 0 && fill(file, content) && H5Fclose(file) >= 0);
        CHECK(content_of("a", fapl) == content && is_protected("a"));
    }
    CHECK(make("a", fapl, OLD) && make("a", fapl, NEW) && make("a", fapl, OLD));
    CHECK(make("a", fapl, NEW));
    CHECK(H5FDredset_wait(NULL) >= 0 && link(path("a"), path("other")) == 0);
    CHECK(make("a", fapl, OLD)); /* the other name has no redundancy to verify it by */
    CHECK(content_of("other", lax) == OLD && is_protected("a"));
    H5Pclose(lax);
    CHECK(unlink(path("other")) == 0 && make("a", fapl, NEW) && H5FDredset_wait(NULL) >= 0);
    lose("a");
    CHECK(content_of("a", fapl) == NEW);
}

static void
case_delete(hid_t fapl)
{
    CHECK(make("a", fapl, OLD));
    rank_0_is_late();
    CHECK(make("a", fapl, NEW));
    CHECK(H5Fdelete(path("a"), fapl) >= 0 && !is_there("a", "") && !is_protected("a"));
    CHECK(H5FDredset_wait(NULL) >= 0 && !is_there("a", "") && !is_protected("a"));
    CHECK(make("a", fapl, NEW) && content_of("a", fapl) == NEW && is_protected("a"));
}

static void
case_raw(hid_t fapl)
{
    H5FD_redset_config_t config = {.size = sizeof config};

    CHECK(H5Pget_fapl_redset(fapl, &config) >= 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &config.comm);
    CHECK(H5Pset_driver(fapl, H5FD_REDSET, &config) >= 0);
    CHECK(make("a", fapl, OLD) && make("a", fapl, NEW));
    MPI_Comm_free(&config.comm);
    CHECK(is_protected("a") && H5FDredset_wait(NULL) >= 0);
}

/* Somebody else changes a file before it is protected: that is not what its rank has written, so all go back to what was. */
static void
case_changed(hid_t fapl)
{
    hid_t plain = H5Pcreate(H5P_FILE_ACCESS), file;

    H5Pset_fapl_sec2(plain);
    CHECK(make("a", fapl, OLD));
    file = H5Fopen(path("a"), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && fill(file, NEW));
    if (rank == 0) /* nothing is committed before it closes */
        MPI_Recv(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(H5Fclose(file) >= 0);
    if (rank == 1) {
        file = H5Fopen(path("a"), H5F_ACC_RDWR, plain);
        CHECK(file >= 0 && fill(file, OLD) && H5Fclose(file) >= 0);
        MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
    }
    CHECK(H5FDredset_wait(path("a")) < 0 && strstr(message, "was changed") != NULL);
    CHECK(!is_protected("a") && content_of("a", fapl) == OLD);
    H5Pclose(plain);
}

/* The file of rank 2 is gone when it closes it, so that this close is not left to the background: the others hear of it in their next call,
 * and so does rank 2. */
static void
case_same_call(hid_t fapl)
{
    hid_t file;

    CHECK(make("a", fapl, OLD));
    rank_0_is_late();
    file = H5Fopen(path("a"), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && fill(file, NEW));
    if (rank == 2)
        CHECK(rename(path("a"), path("gone")) == 0);
    CHECK(H5Fclose(file) >= 0);
    CHECK(H5FDredset_wait(path("a")) < 0 && strstr(message, "not protected") != NULL);
    CHECK(H5FDredset_wait(path("a")) >= 0);
}

/* Ranks write one file in turn: none has to wait, and none is disturbed by what the one before left. */
static void
case_baton(hid_t fapl)
{
    char  shared[4096], name[32];
    hid_t file;
    int   baton = 0;

    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0); /* the ranks have met */
    snprintf(shared, sizeof shared, "%s/shared.h5", dir);
    for (int turn = 0; turn < 2 * ranks; turn++) {
        if (turn % ranks == rank && turn > 0)
            MPI_Recv(&baton, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (turn % ranks != rank)
            continue;
        file = turn == 0 ? H5Fcreate(shared, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
                         : H5Fopen(shared, H5F_ACC_RDWR, fapl);
        for (int i = 0; i <= turn; i++) {
            snprintf(name, sizeof name, "of_%d", i);
            CHECK(i == turn || H5Lexists(file, name, H5P_DEFAULT) > 0);
        }
        CHECK(H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
        CHECK(H5Fclose(file) >= 0);
        if (turn + 1 < 2 * ranks)
            MPI_Send(&turn, 1, MPI_INT, (rank + 1) % ranks, 5, MPI_COMM_WORLD);
    }
    CHECK(H5FDredset_wait(NULL) >= 0);
}

/* A directory in the place of the redundancy file. */
static void
hinder(const char *name, bool hindered)
{
    char full[8192];

    snprintf(full, sizeof full, "%s.%d.redset.new", path(name), rank);
    if (rank == 2)
        CHECK(hindered ? mkdir(full, 0700) == 0 : rmdir(full) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void
fail_once(hid_t fapl)
{
    hinder("a", true);
    CHECK(make("a", fapl, NEW));
    message[0] = '\0';
}

static void
case_fails(hid_t fapl)
{
    static const char *const others[] = {"b", "c"};
    hid_t                    file;

    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0 && is_protected("a"));
    fail_once(fapl);
    CHECK(H5FDredset_wait(path("b")) >= 0);
    CHECK(H5FDredset_wait(path("a")) < 0 && strstr(message, "redset") != NULL);
    CHECK(H5FDredset_wait(path("a")) >= 0);
    hinder("a", false);
    CHECK(content_of("a", fapl) == NEW && !is_protected("a"));
    MPI_Barrier(MPI_COMM_WORLD);
    fail_once(fapl);
    CHECK(content_of("a", fapl) == 0 && message[0] != '\0');
    hinder("a", false);
    CHECK(content_of("a", fapl) == NEW);
    MPI_Barrier(MPI_COMM_WORLD);
    fail_once(fapl);
    CHECK(H5Fcreate(path("a"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl) < 0 && message[0] != '\0');
    hinder("a", false);
    CHECK(make("a", fapl, NEW) && H5FDredset_wait(NULL) >= 0 && is_protected("a"));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) { /* other files go on in the meantime; said in MPI_Finalize */
        fail_once(fapl);
        file = create(others[i], fapl, NEW);
        CHECK(file >= 0 && H5Fclose(file) >= 0 && content_of(others[i], fapl) == NEW);
        hinder("a", false);
        if (i == 0)
            CHECK(H5FDredset_wait(NULL) < 0 && make("a", fapl, NEW) && H5FDredset_wait(NULL) >= 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void
case_lenient(hid_t fapl)
{
    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0);
    fail_once(fapl);
    CHECK(H5FDredset_wait(path("a")) >= 0 && !is_protected("a"));
    hinder("a", false);
    CHECK(content_of("a", fapl) == NEW);
}

/* A rank whose H5Fcreate fails tells the others. They are in the middle of a close: that comes first. */
static void
case_refused(hid_t fapl)
{
    int done = 7;

    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep(300000);
    CHECK(make("a", fapl, NEW));
    if (rank == 0) {
        CHECK(H5Fcreate(path("none/x"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl) < 0);
        CHECK(H5FDredset_test(path("a"), &done) >= 0 && done == 1);
    }
    CHECK(H5FDredset_wait(NULL) >= 0 && is_protected("a"));
}

static void
case_fork(hid_t fapl)
{
    pid_t child;
    int   status = 0;

    CHECK(make("a", fapl, OLD) && make("b", fapl, OLD) && H5FDredset_wait(NULL) >= 0);
    CHECK(make("b", fapl, NEW) && make("a", fapl, NEW));
    child = fork();
    if (child == 0) {
        alarm(20);
        snprintf(message, sizeof message, "%s/child_%d.h5", dir, rank);
        if (H5FDredset_wait(NULL) < 0) /* required=yes: nobody would protect what it creates */
            exit(1);
        exit(H5Fcreate(message, H5F_ACC_TRUNC, H5P_DEFAULT, fapl) >= 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(H5FDredset_wait(NULL) >= 0 && is_protected("a") && is_protected("b"));
}

static void
case_new(hid_t fapl)
{
    lose("a");
    CHECK(content_of("a", fapl) == NEW);
}

static void
case_any(hid_t fapl)
{
    int mine, least, most;

    lose("a");
    mine = content_of("a", fapl);
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most && least >= OLD);
}

static void
case_finalize(hid_t fapl)
{
    CHECK(make("a", fapl, OLD) && make("b", fapl, NEW) && make("a", fapl, NEW));
}

/* So much that it is being encoded when MPI_Finalize is called. */
static bool
add_bulk(hid_t file)
{
    const hsize_t size = 32 << 20;
    char         *bytes = calloc(1, size);
    hid_t         space = H5Screate_simple(1, &size, NULL);
    hid_t         set =
        H5Dcreate2(file, "bulk", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok =
        bytes != NULL && H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0;

    free(bytes);
    return H5Sclose(space) >= 0 && H5Dclose(set) >= 0 && ok;
}

static void
case_in_mpi(hid_t fapl)
{
    hid_t file;

    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0);
    file = create("a", fapl, NEW);
    CHECK(add_bulk(file) && H5Fclose(file) >= 0);
    usleep(10000);
}

static void
case_leave(hid_t fapl)
{
    CHECK(make("a", fapl, OLD) && H5FDredset_wait(NULL) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(make("a", fapl, NEW));
}

/* ---- which ---- */

static const struct {
    const char *name;
    void (*run)(hid_t);
    int required, level;
} cases[] = {
    {"wait", case_wait, 1, MPI_THREAD_MULTIPLE},
    {"test", case_test, 1, MPI_THREAD_MULTIPLE},
    {"serialized", case_serialized, 1, MPI_THREAD_SERIALIZED},
    {"order", case_order, 1, MPI_THREAD_MULTIPLE},
    {"turns", case_turns, 1, MPI_THREAD_MULTIPLE},
    {"mixed", case_order, 1, MPI_THREAD_MULTIPLE},
    {"reopen", case_reopen, 1, MPI_THREAD_MULTIPLE},
    {"delete", case_delete, 1, MPI_THREAD_MULTIPLE},
    {"raw", case_raw, 1, MPI_THREAD_MULTIPLE},
    {"changed", case_changed, 1, MPI_THREAD_MULTIPLE},
    {"same_call", case_same_call, 1, MPI_THREAD_MULTIPLE},
    {"baton", case_baton, 0, MPI_THREAD_MULTIPLE},
    {"fails", case_fails, 1, MPI_THREAD_MULTIPLE},
    {"lenient", case_lenient, 0, MPI_THREAD_MULTIPLE},
    {"refused", case_refused, 1, MPI_THREAD_MULTIPLE},
    {"fork", case_fork, 1, MPI_THREAD_MULTIPLE},
    {"new", case_new, 1, MPI_THREAD_MULTIPLE},
    {"any", case_any, 1, MPI_THREAD_MULTIPLE},
    {"finalize", case_finalize, 1, MPI_THREAD_MULTIPLE},
    {"in_mpi", case_in_mpi, 1, MPI_THREAD_MULTIPLE},
    {"leave", case_leave, 1, MPI_THREAD_MULTIPLE},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int
main(int argc, char **argv)
{
    int   i = 0, level;
    hid_t fapl;

    while (argc == 3 && i < CASES && strcmp(cases[i].name, argv[1]) != 0)
        i++;
    if (argc != 3 || i == CASES)
        return 2;
    alarm(100);
    dir = argv[2];
    MPI_Init_thread(&argc, &argv, cases[i].level, &level);
    if (level < cases[i].level) {
        printf("SKIP: this MPI has not that thread level\n");
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    (void)H5Eset_auto2(H5E_DEFAULT, print, NULL);
    fapl = driver(strcmp(argv[1], "mixed") != 0 || rank != 1, cases[i].required);
    cases[i].run(fapl);
    H5Pclose(fapl);
    if (strcmp(argv[1], "leave") == 0)
        exit(wrong != 0);
    MPI_Finalize();
    if (cases[i].run == case_finalize)
        CHECK(is_protected("a") && is_protected("b"));
    return wrong != 0;
}
