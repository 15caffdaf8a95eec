/* hang_strike.c - one rank stops, is killed or ends at some step of an open or a close (P5, B12).
 * Run by test_hang.sh, which says how each run has to end.
 *
 *   hang_strike strike DIR TIMEOUT OPERATION STEP N HOW RANK
 *     OPERATION  first    create a file and close it: the ranks meet for the first time
 *                update   a protected file (OLD) gets other content (NEW) and is closed
 *                open     protected files are opened, all is well
 *                rebuild  the same, and the file of rank 2 is lost
 *     STEP       before, after (the call, N does not matter); send, sync, rename: the Nth such step, or
 *                the one at N% of those that the same operation on another file took
 *     HOW        stop, kill, exit
 *
 *     With $HANG_ASYNC the file is opened again right after the close: what has come of that is told there.
 *
 *     Who is left must come back from the call in time, with an error that names RANK if it failed, and
 *     from the next call as well; a rank that was stopped goes on after that. Then the program's own
 *     communicators work, no data file is touched, and MPI_Finalize ends.
 *
 *   hang_strike check DIR TIMEOUT
 *     A new job, after that one. Files have OLD or NEW content, or are refused on all ranks; then rank 3
 *     loses its file, and all have the same content, or are refused. */
#include "mpi_job.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct plan {
    const char *operation, *step, *n, *how;
    int         who;
} plan;

static bool
is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool
closes(const plan *p)
{
    return is(p->operation, "first") || is(p->operation, "update");
}

/* ---- an operation ---- */

/* What comes before the call that is struck; the open file, for a close. */
static hid_t
prepare(const plan *p, const char *path, hid_t fapl)
{
    hid_t file = H5I_INVALID_HID;

    if (is(p->operation, "first"))
        return job_create(path, fapl, NEW);
    job_protect(path, fapl, OLD);
    if (is(p->operation, "update")) {
        file = job_took(H5Fopen(path, H5F_ACC_RDWR, fapl));
        CHECK(file >= 0 && job_rewrite(file, NEW));
    }
    if (is(p->operation, "rebuild") && rank == 2)
        job_lose(path);
    job_meet(MPI_COMM_WORLD);
    return file;
}

/* The call itself. */
static bool
operate(const plan *p, const char *path, hid_t fapl, hid_t file)
{
    job_ask();
    if (closes(p) && (job_took(H5Fclose(file)) < 0 || !job_async()))
        return said[0] == '\0';
    file = job_took(H5Fopen(path, H5F_ACC_RDONLY, fapl));
    if (file < 0)
        return false;
    CHECK(job_content(file) == (closes(p) ? NEW : OLD));
    CHECK(H5Fclose(file) >= 0);
    return true;
}

/* N, or N% of the steps that the same takes on another file. */
static int
step_number(const plan *p, hid_t fapl)
{
    const char *path = job_path("dry_%d.h5", rank);
    hid_t       file;
    int         steps, n = atoi(p->n);

    if (strchr(p->n, '%') == NULL)
        return n;
    file = prepare(p, path, fapl);
    strike_arm(p->step, 0, "count");
    CHECK(operate(p, path, fapl, file));
    steps = strike_disarm();
    if (rank == p->who)
        printf("rank %d: %d steps of kind %s\n", rank, steps, p->step);
    job_meet(MPI_COMM_WORLD);
    return 1 + (steps - 1) * n / 100;
}

/* ---- the strike ---- */

static bool
timed(const char *what, const plan *p, const char *path, hid_t fapl, hid_t file)
{
    double start = now(), seconds;
    bool   ok = operate(p, path, fapl, file);

    seconds = now() - start;
    job_report(what, ok, seconds);
    CHECK(ok || (said[0] != '\0' && strstr(said, "for rank;") == NULL));
    CHECK(rank == p->who || seconds < PATIENCE * limit);
    return ok;
}

/* Among those that are left: did all see the same, and was the missing one named? */
static void
compare(const plan *p, MPI_Comm left, bool ok)
{
    char name[32];
    int  worked = ok, all = 0;
    bool named;

    snprintf(name, sizeof name, "rank %d", p->who);
    MPI_Allreduce(&worked, &all, 1, MPI_INT, MPI_MIN, left);
    named = job_anyone_said(left, name);
    CHECK(all || named);
}

static void
strike(const plan *p)
{
    const char *path = job_mine(), *next = job_path("next_%d.h5", rank);
    const plan  close_next = {.operation = "first", .who = p->who};
    hid_t       fapl = job_driver(""), file, second;
    MPI_Comm    left;
    bool        ok;
    int         n = is(p->step, "before") || is(p->step, "after") ? 0 : step_number(p, fapl);

    MPI_Comm_split(MPI_COMM_WORLD, rank == p->who, rank, &left);
    file = prepare(p, path, fapl);
    second = job_create(next, fapl, NEW);
    job_meet(MPI_COMM_WORLD);
    if (rank == p->who && is(p->step, "before"))
        strike_now(p->how);
    strike_arm(p->step, rank == p->who ? n : 0, p->how);
    ok = timed(closes(p) ? "close" : "open", p, path, fapl, file);
    n = strike_disarm() - n;
    CHECK(rank != p->who || n >= 0); /* it has struck */
    if (rank == p->who && is(p->step, "after"))
        strike_now(p->how);
    if (rank != p->who) {
        compare(p, left, ok);
        compare(p, left, timed("next close", &close_next, next, fapl, second));
        job_meet(left);
        if (rank == (p->who == 0 ? 1 : 0))
            job_signal(p->who, SIGCONT);
    } else {
        (void)timed("next close", &close_next, next, fapl, second);
    }
    H5Pclose(fapl);
    MPI_Comm_free(&left);
    job_goes_on();
    n = job_content_of(path);
    CHECK(n == (closes(p) ? NEW : OLD) || (n == 0 && is(p->operation, "rebuild") && rank == 2));
    CHECK(job_content_of(next) == NEW);
}

/* ---- a new job ---- */

static int
read_with(hid_t fapl)
{
    hid_t file = job_took(H5Fopen(job_mine(), H5F_ACC_RDONLY, fapl));
    int   content = file < 0 ? 0 : job_content(file);

    if (file < 0)
        job_say();
    H5Fclose(file);
    return content;
}

static void
range(int value, int *least, int *most)
{
    MPI_Allreduce(&value, least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static void
check(void)
{
    static const char *const names[] = {"refused", "OLD", "NEW"};
    hid_t                    fapl = job_driver(""), as_it_is = job_driver("required=no");
    int                      plain = job_content_of(job_mine()), content, least, most;
    bool                     is_protected = access(job_path("ckpt_3.h5.3.redset"), F_OK) == 0 ||
                        access(job_path("ckpt_3.h5.3.redset.void"), F_OK) == 0;

    job_meet(MPI_COMM_WORLD);
    content = read_with(fapl);
    range(content, &least, &most);
    /* As it lies there, or where a job died in the middle, on all ranks what was protected last. What never was, and may
     * not be of one step, is refused by all, until the user takes it as it is. */
    if (!is_protected && most == 0)
        content = read_with(as_it_is);
    CHECK(content >= 0 && (plain == 0 || content == plain || (content == OLD && least == most)));
    CHECK((least == 0) == (most == 0));
    if (rank == 0 && least >= 0)
        printf("reopened: %s\n", least == most ? names[least] : "OLD and NEW");
    if (rank == 3)
        job_lose(job_path("ckpt_3.h5"));
    job_meet(MPI_COMM_WORLD);
    job_ask();
    content = read_with(fapl);
    range(content, &least, &most);
    CHECK(least >= 0 && least == most);
    if (rank == 0 && least >= 0)
        printf("rank 3 lost: %s %s\n", least == most ? names[least] : "a mixture", said);
    H5Pclose(fapl);
    H5Pclose(as_it_is);
}

int
main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    job_begin(&argc, &argv, argv[2], argv[3]);
    if (is(argv[1], "check") && argc == 4)
        check();
    else if (is(argv[1], "strike") && argc == 9)
        strike(&(plan){argv[4], argv[5], argv[6], argv[7], atoi(argv[8])});
    else
        CHECK(!"known arguments");
    return job_end();
}
