/* link_ulfm.c - a rank dies under an MPI with fault tolerance (ULFM), and the program goes on.
 * Five ranks: 0 to 3 keep a file each under redset, 4 is a spare. Run by test_ulfm.sh, on nodes of a test
 * cluster.
 *
 *   link_ulfm DIR TIMEOUT OPERATION STEP N HOW RANK
 *     OPERATION  set      H5Pset_fapl_redset, which RANK does not come to
 *                first    create a file and close it: the ranks meet for the first time
 *                update   a protected file (OLD) gets other content (NEW) and is closed
 *                open     protected files are opened, all is well
 *                rebuild  the same, and the file of rank 2 is lost
 *                leave    protected, and now the others go to MPI_Finalize
 *                world    all five create and close a file, over MPI_COMM_WORLD, whose errors are fatal:
 *                         an error of redset, the end of nobody; that is all
 *                revoke   nobody dies, but the program revokes its communicator: files that are open with a
 *                         duplicate are closed as ever, none can be made any more; that is all
 *     STEP, N    before; idle: before, and the others do something else for a while; or send, sync, rename:
 *                the Nth such step (hang_strike.c)
 *     HOW        kill; stop: it never goes on, and MPI's own detector has to find out
 *
 * The others must come back from the call with an error that says who died, long before the timeout, close
 * what they have, and hear the same of the next call. Then the program makes a communicator of those that
 * are left and the spare, gives it to redset, and all opens again, the dead rank's file on the node of the
 * spare.
 *
 * Each rank that comes to its end prints "rank R: N failures"; the exit status of mpirun says little. It
 * ends without the rest of MPI_Finalize, which waits for the dead rank for ever (Open MPI 5.0.7, also in a
 * program of ten lines; its issues 9434 and 11404). What redset does in MPI_Finalize comes first: an
 * attribute of MPI_COMM_SELF that was set before redset's is deleted after it.
 * `link_ulfm can`: exit status 77 when this MPI has no ULFM. */
#include "mpi_job.h"

#include <H5FDredset.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifndef OMPI_HAVE_MPI_EXT_FTMPI

int
main(void)
{
    puts("SKIP: this MPI has no ULFM");
    return 77;
}

#else

enum { CREW = 4 };

typedef struct plan {
    const char *operation, *step, *n, *how;
    int         who;
} plan;

static double called;  /* when the call was made that a rank dies in, or has died before */
static double slowest; /* seconds from that, or from the death, to the error */
static double leaving; /* when MPI_Finalize was called */

static bool
is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static hid_t
driver(MPI_Comm comm)
{
    H5FD_redset_config_t config;
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5FD_redset_config_init(&config);
    config.comm = comm;
    config.timeout = limit;
    config.scheme = H5FD_REDSET_RS;
    config.checksums = 2;
    if (job_took(H5Pset_fapl_redset(fapl, &config)) >= 0)
        return fapl;
    H5Pclose(fapl);
    return H5I_INVALID_HID;
}

/* In MPI_Finalize, after redset. */
static int
end(MPI_Comm self, int keyval, void *value, void *extra)
{
    (void)self;
    (void)keyval;
    (void)value;
    (void)extra;
    CHECK(now() - leaving < limit / 2);
    printf("rank %d: %d failures, error after %.3f s, out of MPI_Finalize after %.3f s\n", rank,
           failures, slowest, now() - leaving);
    fflush(stdout);
    _exit(failures > 0);
}

/* ---- the call ---- */

static void
report(const char *what, bool ok, const plan *p)
{
    double since = job_struck() > called ? job_struck() : called;
    char   words[64];

    since = now() - since;
    printf("rank %d: %s %s after %.3f s%s%s\n", rank, what, ok ? "worked" : "failed", since,
           ok ? "" : ": ", ok ? "" : said);
    fflush(stdout);
    if (ok)
        return;
    slowest = since > slowest ? since : slowest;
    CHECK(since < limit / 2);
    snprintf(words, sizeof words, "rank %d has died", p->who);
    /* or another rank was faster, and the program has revoked it already; who has lost all that is known
     * of its file is told by HDF5 that there is none */
    CHECK(strstr(said, words) != NULL ||
          (is(p->operation, "set") && strstr(said, "has revoked") != NULL) ||
          (is(p->operation, "rebuild") && rank == 2 && said[0] == '\0'));
}

/* What comes before the call that is struck; the open file, for a close. */
static hid_t
prepare(const plan *p, hid_t fapl, MPI_Comm crew)
{
    const char *path = job_mine();
    hid_t       file = job_create(path, fapl, is(p->operation, "first") ? NEW : OLD);

    if (is(p->operation, "first"))
        return file;
    CHECK(file >= 0 && job_took(H5Fclose(file)) >= 0);
    file = H5I_INVALID_HID;
    if (is(p->operation, "update")) {
        file = job_took(H5Fopen(path, H5F_ACC_RDWR, fapl));
        CHECK(file >= 0 && job_rewrite(file, NEW));
    }
    if (is(p->operation, "rebuild") && rank == 2)
        job_lose(path);
    job_meet(crew);
    return file;
}

static bool
operate(const plan *p, hid_t fapl, hid_t file)
{
    if (is(p->operation, "first") || is(p->operation, "update"))
        return job_took(H5Fclose(file)) >= 0;
    file = job_took(H5Fopen(job_mine(), H5F_ACC_RDONLY, fapl));
    if (file < 0)
        return false;
    CHECK(job_content(file) == OLD);
    CHECK(H5Fclose(file) >= 0);
    return true;
}

static void
strike_before(const plan *p)
{
    if (rank == p->who && (is(p->step, "before") || is(p->step, "idle")))
        strike_now(p->how);
    if (is(p->step, "idle"))
        usleep(500000);
    if (rank == p->who)
        strike_arm(p->step, atoi(p->n), p->how);
    called = now();
}

/* The call in which a rank dies, and the next one. */
static void
strike(const plan *p, MPI_Comm crew)
{
    hid_t fapl, file, next;
    bool  ok;

    if (is(p->operation, "set")) {
        strike_before(p);
        fapl = driver(crew);
        report("H5Pset_fapl_redset", fapl >= 0, p);
        CHECK(fapl < 0);
        return;
    }
    fapl = driver(crew);
    file = prepare(p, fapl, crew);
    next = job_create(job_path("next_%d.h5", rank), fapl, NEW);
    job_meet(crew);
    job_ask();
    strike_before(p);
    if (is(p->operation, "leave"))
        return;
    ok = operate(p, fapl, file);
    CHECK(rank != p->who); /* it has struck */
    report(is(p->operation, "update") || is(p->operation, "first") ? "close" : "open", ok, p);
    job_ask();
    report("next close", job_took(H5Fclose(next)) >= 0, p);
    CHECK(said[0] != '\0');
    CHECK(job_content_of(job_path("next_%d.h5", rank)) == NEW);
    H5Pclose(fapl);
}

static void
in_world(const plan *p)
{
    MPI_Errhandler handler;
    hid_t          fapl = driver(MPI_COMM_NULL);
    hid_t          file = job_create(job_mine(), fapl, NEW);

    job_meet(MPI_COMM_WORLD);
    strike_before(p);
    report("close", job_took(H5Fclose(file)) >= 0, p);
    CHECK(said[0] != '\0');
    H5Pclose(fapl);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    usleep(1000000); /* who ends now is dead to the others */
}

static void
revoked(MPI_Comm crew)
{
    hid_t fapl = driver(crew), file = job_create(job_mine(), fapl, NEW);

    job_meet(crew);
    MPIX_Comm_revoke(crew);
    CHECK(job_took(H5Fclose(file)) >= 0 && said[0] == '\0');
    CHECK(driver(crew) < 0 && strstr(said, "has revoked the communicator") != NULL);
    H5Pclose(fapl);
    MPI_Comm_free(&crew);
}

/* ---- and on ---- */

/* Those that are left, with the spare in the place of the dead. */
static MPI_Comm
repair(const plan *p, MPI_Comm crew, int *role_out)
{
    MPI_Comm left, again;

    if (rank < CREW) {
        MPIX_Comm_revoke(crew);
        MPI_Comm_free(&crew);
    }
    *role_out = rank < CREW ? rank : p->who;
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(left, 0, *role_out, &again) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(again, MPI_ERRORS_RETURN);
    MPI_Comm_free(&left);
    return again;
}

static int
content_now(hid_t fapl, int role)
{
    hid_t file = job_took(H5Fopen(job_path("ckpt_%d.h5", role), H5F_ACC_RDONLY, fapl));
    int   content = file < 0 ? 0 : job_content(file);

    H5Fclose(file);
    return content;
}

/* The same on all ranks, or -1. */
static int
common(int content, MPI_Comm comm)
{
    int least, most;

    MPI_Allreduce(&content, &least, 1, MPI_INT, MPI_MIN, comm);
    MPI_Allreduce(&content, &most, 1, MPI_INT, MPI_MAX, comm);
    return least == most ? least : -1;
}

static void
go_on(const plan *p, MPI_Comm comm, int role)
{
    static const char *const names[] = {"refused", "OLD", "NEW"};
    hid_t                    fapl, file;
    int                      content;

    job_ask();
    fapl = driver(comm);
    CHECK(fapl >= 0);
    if (is(p->operation, "set") || is(p->operation, "first")) { /* nothing was protected before */
        content = NEW;
    } else {
        content = common(content_now(fapl, role), comm);
        CHECK(content >= 0);
        CHECK(is(p->operation, "update") || content == OLD);
    }
    if (role == 0 && content >= 0)
        printf("with the spare: %s %s\n", names[content], said);
    job_ask();
    file = job_create(job_path("ckpt_%d.h5", role), fapl, NEW);
    CHECK(file >= 0 && job_took(H5Fclose(file)) >= 0);
    if (said[0] != '\0')
        fprintf(stderr, "rank %d: %s\n", rank, said);
    if (role == 1)
        job_lose(job_path("ckpt_%d.h5", role));
    job_meet(comm);
    CHECK(content_now(fapl, role) == NEW);
    job_meet(comm);
    H5Pclose(fapl);
}

static void
run(const plan *p)
{
    MPI_Comm crew, again;
    int      role;

    if (is(p->operation, "world")) {
        in_world(p);
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, rank < CREW, rank, &crew);
    MPI_Comm_set_errhandler(crew, MPI_ERRORS_RETURN);
    if (is(p->operation, "revoke") && rank < CREW)
        revoked(crew);
    else if (rank < CREW)
        strike(p, crew);
    if (is(p->operation, "leave") || is(p->operation, "revoke"))
        return;
    again = repair(p, crew, &role);
    go_on(p, again, role);
    MPI_Comm_free(&again);
    if (is(p->how, "stop") && rank == CREW)
        job_signal(p->who, SIGKILL);
}

int
main(int argc, char **argv)
{
    int keyval;

    if (argc == 2 && is(argv[1], "can"))
        return 0;
    if (argc != 8)
        return 2;
    job_begin(&argc, &argv, argv[1], argv[2]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    CHECK(ranks == CREW + 1);
    run(&(plan){argv[3], argv[4], argv[5], argv[6], atoi(argv[7])});
    leaving = now();
    return job_end();
}

#endif
