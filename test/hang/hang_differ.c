/* hang_differ.c - ranks that do not do the same, or were set up otherwise (B11, B12). Every rank
 * must come to an end in time, each that could not do what it wanted has an error that says why, and
 * data stays as it is. Run by test_hang.sh.
 *
 *   hang_differ differ DIR TIMEOUT CASE
 *     one of those in the table at the end; on 4 ranks
 *
 *   hang_differ write DIR TIMEOUT
 *     a protected file of each rank: DIR/ckpt_<rank>.h5
 *   hang_differ reopen DIR TIMEOUT SHIFT
 *     on any number of ranks, after that: rank r opens file (r + SHIFT) % 4, ranks beyond the fourth a file
 *     that never was. All can open theirs, and find what was written, or none can. Prints "opened" or
 *     "refused". */
#include "mpi_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who fails, one digit per rank; and words that all of these say, or that anybody says. */
typedef struct verdict {
    const char *fail, *words;
} verdict;

/* Creates and closes this rank's file. */
static bool
create_and_close(hid_t fapl)
{
    hid_t file = job_create(job_mine(), fapl, OLD);

    job_meet(MPI_COMM_WORLD);
    return job_closes(file);
}

/* ---- settings ---- */

static bool
settings_differ(const char *most, int odd, const char *other)
{
    hid_t fapl = job_driver(rank == odd ? other : most);
    bool  ok = create_and_close(fapl);

    H5Pclose(fapl);
    return ok;
}

static bool
case_scheme(void)
{
    return settings_differ("", 1, "scheme=PARTNER");
}

static bool
case_parity(void)
{
    return settings_differ("scheme=RS checksums=1", 2, "scheme=RS checksums=2");
}

static bool
case_replicas(void)
{
    return settings_differ("scheme=PARTNER replicas=1", 0, "scheme=PARTNER replicas=2");
}

static bool
case_set_size(void)
{
    return settings_differ("", 3, "set_size=2");
}

static bool
case_scheme_lenient(void)
{
    return settings_differ("required=no", 1, "required=no scheme=PARTNER");
}

static bool
case_not_covered(void)
{
    return settings_differ("", 2, "files=other_*");
}

/* One rank is sooner out of patience than another one comes. */
static bool
case_timeout(void)
{
    char  hasty[64];
    hid_t fapl, file;
    bool  ok;

    snprintf(hasty, sizeof hasty, "timeout=%g", limit / 8);
    fapl = job_driver(rank == 1 ? hasty : "");
    file = job_create(job_mine(), fapl, OLD);
    job_meet(MPI_COMM_WORLD);
    if (rank == 3)
        usleep((useconds_t)(limit / 2 * 1e6));
    ok = job_closes(file);
    H5Pclose(fapl);
    return ok;
}

/* ---- names and order ---- */

static bool
case_name(void)
{
    hid_t fapl = job_driver("");
    hid_t file = job_create(rank == 3 ? job_path("other_3.h5") : job_mine(), fapl, OLD);
    bool  ok = job_closes(file);

    if (rank == 3)
        rename(job_path("other_3.h5"), job_mine());
    H5Pclose(fapl);
    return ok;
}

static bool
case_order(void)
{
    hid_t fapl = job_driver(""), a = job_create(job_mine(), fapl, OLD);
    hid_t b = job_create(job_path("other_%d.h5", rank), fapl, OLD);
    bool  ok = job_closes(rank % 2 ? b : a);

    ok = job_closes(rank % 2 ? a : b) && ok;
    H5Pclose(fapl);
    return ok;
}

/* ---- flags ---- */

/* Some read, some may write: that is no difference. */
static bool
case_read_only(void)
{
    hid_t fapl = job_driver("");
    bool  ok;

    job_protect(job_mine(), fapl, OLD);
    ok = job_opens(job_mine(), rank == 3 ? H5F_ACC_RDONLY : H5F_ACC_RDWR, fapl);
    H5Pclose(fapl);
    return ok;
}

/* One looks at the file that the others make anew. */
static bool
case_create(void)
{
    hid_t fapl = job_driver(""), file;
    bool  ok;

    job_protect(job_mine(), fapl, OLD);
    if (rank == 3) {
        ok = job_opens(job_mine(), H5F_ACC_RDWR, fapl);
    } else {
        file = job_create(job_mine(), fapl, OLD);
        ok = job_closes(file);
    }
    H5Pclose(fapl);
    return ok;
}

/* ---- ranks without redset ---- */

static hid_t
driver_but_for(int without)
{
    hid_t plain = H5Pcreate(H5P_FILE_ACCESS), fapl;

    H5Pset_fapl_sec2(plain);
    if (rank == without)
        return plain;
    fapl = job_driver("");
    H5Pclose(plain);
    return fapl;
}

static bool
case_no_driver(void)
{
    hid_t fapl = driver_but_for(1);
    bool  ok = create_and_close(fapl);

    H5Pclose(fapl);
    return ok;
}

/* The plugin is not on that rank's node; its program goes on without. */
static bool
case_no_plugin(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    char  settings[64];
    bool  ok;

    if (rank == 2) {
        H5PLremove(0);
        H5PLprepend("/nonexistent");
    }
    snprintf(settings, sizeof settings, "required=yes timeout=%g", limit);
    CHECK((H5Pset_driver_by_name(fapl, "redset", settings) < 0) == (rank == 2));
    if (rank == 2)
        H5Pset_fapl_sec2(fapl);
    ok = create_and_close(fapl);
    H5Pclose(fapl);
    return ok;
}

static bool
open_without(int without, int lost)
{
    hid_t all = job_driver(""), fapl = driver_but_for(without);
    bool  ok;

    job_protect(job_mine(), all, OLD);
    if (rank == lost)
        job_lose(job_mine());
    job_meet(MPI_COMM_WORLD);
    ok = job_opens(job_mine(), H5F_ACC_RDONLY, fapl);
    H5Pclose(all);
    H5Pclose(fapl);
    return ok;
}

static bool
case_no_driver_open(void)
{
    return open_without(1, -1);
}

static bool
case_no_driver_lost(void)
{
    return open_without(1, 2);
}

/* ---- ranks that do not come ---- */

static bool
absent_close(int absent, bool met)
{
    hid_t fapl = job_driver(""), file;
    bool  ok = true;

    if (met)
        job_protect(job_path("met_%d.h5", rank), fapl, OLD);
    file = job_create(job_mine(), fapl, OLD);
    job_meet(MPI_COMM_WORLD);
    if (rank != absent)
        ok = job_closes(file);
    job_meet(MPI_COMM_WORLD); /* so long it was elsewhere */
    if (rank == absent)
        ok = job_closes(file);
    H5Pclose(fapl);
    return ok;
}

/* Rank 2 cannot open its file, which is there: no rank waits for it, and all are told why. */
static bool
case_unopenable(void)
{
    hid_t  fapl = job_driver("");
    char   kept[4096];
    double start;
    bool   ok;

    job_protect(job_mine(), fapl, OLD);
    snprintf(kept, sizeof kept, "%s", job_path("kept"));
    if (rank == 2)
        CHECK(rename(job_mine(), kept) == 0 && symlink(job_mine(), job_mine()) == 0);
    job_meet(MPI_COMM_WORLD);
    start = now();
    ok = job_opens(job_mine(), H5F_ACC_RDWR, fapl) || job_opens(job_mine(), H5F_ACC_RDONLY, fapl);
    CHECK(now() - start < limit);
    job_meet(MPI_COMM_WORLD);
    if (rank == 2)
        CHECK(rename(kept, job_mine()) == 0);
    job_meet(MPI_COMM_WORLD);
    CHECK(job_opens(job_mine(), H5F_ACC_RDWR, fapl));
    H5Pclose(fapl);
    return ok;
}

/* Those that were there are not blamed. */
static bool
case_absent_first(void)
{
    bool ok = absent_close(2, false);

    CHECK(rank == 2 || strstr(said, "waiting for rank 2;") != NULL);
    return ok;
}

static bool
case_absent_root_first(void)
{
    return absent_close(0, false);
}

static bool
case_absent(void)
{
    return absent_close(2, true);
}

static bool
case_absent_root(void)
{
    return absent_close(0, true);
}

/* Nobody but rank 0 comes, so that nobody else tells it. */
static bool
case_absent_others(void)
{
    hid_t fapl = job_driver(""), file;
    bool  ok = true;

    job_protect(job_path("met_%d.h5", rank), fapl, OLD);
    file = job_create(job_mine(), fapl, OLD);
    job_meet(MPI_COMM_WORLD);
    if (rank == 0)
        ok = job_closes(file);
    job_meet(MPI_COMM_WORLD);
    if (rank != 0)
        ok = job_closes(file);
    H5Pclose(fapl);
    return ok;
}

static bool
case_absent_open(void)
{
    hid_t fapl = job_driver("");
    bool  ok = true;

    job_protect(job_mine(), fapl, OLD);
    if (rank != 3)
        ok = job_opens(job_mine(), H5F_ACC_RDWR, fapl);
    H5Pclose(fapl);
    return ok;
}

/* It has lost its file, is not there when the others look, and gets it back when all do. */
static bool
case_absent_lost(void)
{
    hid_t fapl = job_driver("");
    bool  ok = true;

    job_protect(job_mine(), fapl, OLD);
    if (rank == 3)
        job_lose(job_mine());
    job_meet(MPI_COMM_WORLD);
    if (rank != 3)
        CHECK(!job_opens(job_mine(), H5F_ACC_RDONLY, fapl));
    job_meet(MPI_COMM_WORLD);
    ok = job_opens(job_mine(), H5F_ACC_RDONLY, fapl);
    H5Pclose(fapl);
    return ok;
}

/* Those who come are told the same, with required=no as well, also where two of them have damage that needs the rank that is not there. */
static bool
case_absent_damaged(void)
{
    hid_t      fapl = job_driver("required=no");
    const bool damaged = rank == 1 || rank == 2;
    bool       ok = true;

    job_protect(job_mine(), fapl, OLD);
    if (damaged)
        job_flip(job_mine());
    job_meet(MPI_COMM_WORLD);
    if (rank != 3)
        CHECK(!job_opens(job_mine(), H5F_ACC_RDONLY, fapl));
    if (damaged)
        job_flip(job_mine());
    job_meet(MPI_COMM_WORLD);
    ok = job_opens(job_mine(), H5F_ACC_RDONLY, fapl);
    H5Pclose(fapl);
    return ok;
}

/* A rank ends without a word to MPI while the others close: by exit(), so HDF5 closes its files. */
static bool
case_exits(void)
{
    hid_t fapl = job_driver(""), file = job_create(job_mine(), fapl, OLD);

    job_meet(MPI_COMM_WORLD);
    if (rank == 1)
        exit(0);
    return job_closes(file);
}

static const struct {
    const char *name;
    bool (*run)(void);
    verdict want;
} cases[] = {
    {"scheme", case_scheme, {"1111", "rank 1 (%s) has another scheme"}},
    {"parity", case_parity, {"1111", "rank 2 (%s) has another scheme"}},
    {"replicas", case_replicas, {"1111", "rank 1 (%s) has another scheme"}},
    {"set_size", case_set_size, {"1111", "rank 3 (%s) has another scheme"}},
    {"scheme_lenient", case_scheme_lenient, {"0000", ""}},
    {"not_covered", case_not_covered, {"1101", "rank 2"}},
    {"timeout", case_timeout, {"", ""}},
    {"name", case_name, {"1111", "name them alike but for the rank, as in state_0.h5, state_1.h5"}},
    {"order", case_order, {"1111", "rank 1 (%s) and 1 more are closing other_#.h5"}},
    {"read_only", case_read_only, {"0000", ""}},
    {"create", case_create, {"1111", "not all ranks do the same: rank 0 (%s) and 2 more"}},
    {"no_driver", case_no_driver, {"1011", "rank 1"}},
    {"no_plugin", case_no_plugin, {"1101", "rank 2"}},
    {"no_driver_open", case_no_driver_open, {"1011", "rank 1"}},
    {"no_driver_lost", case_no_driver_lost, {"1011", "rank 1"}},
    {"unopenable", case_unopenable, {"1111", "(rank 2 on %s)"}},
    {"absent_first", case_absent_first, {"1111", "rank 2"}},
    {"absent_root_first", case_absent_root_first, {"1111", "rank 0"}},
    {"absent", case_absent, {"1111", "rank 2"}},
    {"absent_root", case_absent_root, {"1111", "rank 0"}},
    {"absent_others", case_absent_others, {"1111", "rank 1, 2, 3"}},
    {"absent_open", case_absent_open, {"1110", "rank 3"}},
    {"absent_lost", case_absent_lost, {"0000", ""}},
    {"absent_damaged", case_absent_damaged, {"0000", "rank 1 (%s) cannot have its file by itself"}},
    {"exits", case_exits, {"", ""}},
};

static void
differ(const char *name)
{
    size_t i = 0, n = sizeof cases / sizeof cases[0];
    char   words[256], host[64] = "";
    bool   ok;

    while (i < n && strcmp(cases[i].name, name) != 0)
        i++;
    CHECK(i < n);
    if (i == n)
        return;
    ok = cases[i].run();
    if (cases[i].want.fail[0] != '\0')
        CHECK(ok == (cases[i].want.fail[rank] == '0'));
    gethostname(host, sizeof host - 1);
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(words, sizeof words, cases[i].want.words, host);
    CHECK(job_anyone_said(MPI_COMM_WORLD, words));
    job_goes_on();
    CHECK(job_content_of(job_mine()) == OLD);
}

/* ---- other ranks ---- */

static void
write_files(void)
{
    hid_t fapl = job_driver("");

    job_protect(job_mine(), fapl, OLD);
    H5Pclose(fapl);
}

static void
reopen(int shift)
{
    hid_t fapl = job_driver("");
    int   ok, all, file = rank < 4 ? (rank + shift) % 4 : rank;

    ok = job_opens(job_path("ckpt_%d.h5", file), H5F_ACC_RDONLY, fapl);
    CHECK(ok || said[0] != '\0');
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 0 || all == ranks);
    if (rank == 0)
        puts(all == ranks ? "opened" : "refused");
    H5Pclose(fapl);
    job_goes_on();
}

int
main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    job_begin(&argc, &argv, argv[2], argv[3]);
    if (strcmp(argv[1], "differ") == 0 && argc == 5)
        differ(argv[4]);
    else if (strcmp(argv[1], "write") == 0)
        write_files();
    else if (strcmp(argv[1], "reopen") == 0 && argc == 5)
        reopen(atoi(argv[4]));
    else
        CHECK(!"known arguments");
    return job_end();
}
