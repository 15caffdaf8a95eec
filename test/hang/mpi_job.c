/* mpi_job.c: see mpi_job.h. */
#include "mpi_job.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ITEMS = 50000 };

int         rank, ranks, failures;
const char *dir;
double      limit;
char        said[SAID_MAX];
static int *pids;

/* ---- the job ---- */

bool
job_async(void)
{
    return getenv("HANG_ASYNC") != NULL;
}

void
job_begin(int *argc, char ***argv, const char *directory, const char *timeout)
{
    int pid = (int)getpid(), level;

    dir = directory;
    limit = atof(timeout);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(100);
    if (job_async())
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pids = calloc((size_t)ranks, sizeof *pids);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

int
job_end(void)
{
    double start = now();

    free(pids);
    MPI_Finalize();
    CHECK(now() - start < PATIENCE * limit);
    return failures > 0;
}

void
job_meet(MPI_Comm comm)
{
    MPI_Request request;
    int         done = 0;

    MPI_Ibarrier(comm, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        usleep(1000);
}

void
job_goes_on(void)
{
    MPI_Comm half;
    int      one = 1, sum = 0, size = 0;

    job_meet(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == size && size == (ranks + 1 - rank % 2) / 2);
    MPI_Comm_free(&half);
}

void
job_signal(int to, int signal)
{
    CHECK(kill(pids[to], signal) == 0);
}

/* ---- what is said ---- */

void
job_ask(void)
{
    said[0] = '\0';
}

/* Of a copy of the stack: most calls of HDF5 clear the stack itself. */
static herr_t
collect(unsigned n, const H5E_error2_t *record, void *arg)
{
    char   name[16] = "";
    size_t used = strlen(said);

    (void)n;
    (void)arg;
    if (H5Eget_class_name(record->cls_id, name, sizeof name) > 0 && strcmp(name, "redset") == 0)
        snprintf(said + used, SAID_MAX - used, "%s%s", used > 0 ? " | " : "", record->desc);
    return 0;
}

hid_t
job_took(hid_t result)
{
    hid_t stack = result < 0 ? H5Eget_current_stack() : H5I_INVALID_HID;

    if (stack >= 0) {
        H5Ewalk2(stack, H5E_WALK_DOWNWARD, collect, NULL);
        H5Eclose_stack(stack);
    }
    return result;
}

void
job_say(void)
{
    printf("rank %d: redset said: %s\n", rank, said);
    fflush(stdout);
}

bool
job_anyone_said(MPI_Comm comm, const char *words)
{
    int found = strstr(said, words) != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MAX, comm);
    return found != 0;
}

void
job_report(const char *what, bool ok, double seconds)
{
    printf("rank %d: %s %s after %.2f s%s%s\n", rank, what, ok ? "worked" : "failed", seconds,
           ok ? "" : ": ", ok ? "" : said);
    fflush(stdout);
}

/* ---- files ---- */

hid_t
job_driver(const char *settings)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    char  text[512];

    snprintf(text, sizeof text, "scheme=XOR required=yes timeout=%g async=%s %s", limit,
             job_async() ? "yes" : "no", settings);
    CHECK(H5Pset_driver_by_name(fapl, "redset", text) >= 0);
    return fapl;
}

const char *
job_path(const char *fmt, ...)
{
    static char paths[8][4096];
    static int  next;
    char       *path = paths[next++ % 8];
    size_t      n = (size_t)snprintf(path, sizeof paths[0], "%s/", dir);
    va_list     args;

    va_start(args, fmt);
    vsnprintf(path + n, sizeof paths[0] - n, fmt, args);
    va_end(args);
    return path;
}

const char *
job_mine(void)
{
    return job_path("ckpt_%d.h5", rank);
}

static void
fill(int *data, int content)
{
    for (int i = 0; i < ITEMS; i++)
        data[i] = content * 1000003 + i;
}

bool
job_rewrite(hid_t file, int content)
{
    hid_t set = H5Dopen2(file, "data", H5P_DEFAULT);
    int  *data = malloc(ITEMS * sizeof *data);
    bool  ok;

    fill(data, content);
    ok = set >= 0 &&
         job_took(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data)) >= 0;
    H5Dclose(set);
    free(data);
    return ok;
}

hid_t
job_create(const char *path, hid_t fapl, int content)
{
    hsize_t n = ITEMS;
    hid_t   file = job_took(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)), space;

    if (file < 0)
        return file;
    space = H5Screate_simple(1, &n, NULL);
    H5Dclose(H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    CHECK(job_rewrite(file, content));
    return file;
}

int
job_content(hid_t file)
{
    int  *data = calloc(ITEMS, sizeof *data), *want = malloc(ITEMS * sizeof *want), found = -1;
    hid_t set = job_took(H5Dopen2(file, "data", H5P_DEFAULT));

    if (set < 0 || job_took(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data)) < 0)
        found = 0;
    H5Dclose(set);
    for (int content = OLD; content <= NEW && found < 0; content++) {
        fill(want, content);
        if (memcmp(data, want, ITEMS * sizeof *data) == 0)
            found = content;
    }
    free(data);
    free(want);
    return found;
}

int
job_content_of(const char *path)
{
    hid_t plain = H5Pcreate(H5P_FILE_ACCESS), file;
    int   content;

    H5Pset_fapl_sec2(plain);
    file = H5Fopen(path, H5F_ACC_RDONLY, plain);
    content = file < 0 ? 0 : job_content(file);
    H5Fclose(file);
    H5Pclose(plain);
    return content;
}

void
job_protect(const char *path, hid_t fapl, int content)
{
    hid_t file = job_create(path, fapl, content);

    CHECK(file >= 0 && job_took(H5Fclose(file)) >= 0);
    if (said[0] != '\0')
        fprintf(stderr, "rank %d: %s\n", rank, said);
    job_meet(MPI_COMM_WORLD);
}

bool
job_closes(hid_t file)
{
    double start = now(), seconds;
    bool   ok = job_took(H5Fclose(file)) >= 0;

    seconds = now() - start;
    job_report("close", ok, seconds);
    CHECK(seconds < PATIENCE * limit);
    return ok;
}

bool
job_opens(const char *path, unsigned flags, hid_t fapl)
{
    double start = now(), seconds;
    hid_t  file = job_took(H5Fopen(path, flags, fapl));

    seconds = now() - start;
    job_report("open", file >= 0, seconds);
    CHECK(seconds < PATIENCE * limit);
    if (file < 0)
        return false;
    CHECK(job_content(file) == OLD);
    return job_closes(file);
}

void
job_flip(const char *path)
{
    const int fd = open(path, O_RDWR);
    char      last;

    CHECK(fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1);
    last ^= 1;
    CHECK(lseek(fd, -1, SEEK_END) >= 0 && write(fd, &last, 1) == 1);
    close(fd);
}

void
job_lose(const char *path)
{
    const char    *base = strrchr(path, '/') + 1;
    size_t         n = strlen(base);
    DIR           *d = opendir(dir);
    struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (strncmp(entry->d_name, base, n) == 0)
            unlinkat(dirfd(d), entry->d_name, 0); /* job_path keeps only the latest few */
    if (d != NULL)
        closedir(d);
}
