/* strike.c: see mpi_job.h. The program puts itself in front of what redset calls: MPI_Isend, fsync,
 * renameat and renameat2 of the libraries below are found here first (hence their visibility). */
#include "mpi_job.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_FRONT __attribute__((visibility("default")))

static const char *armed; /* where; NULL: not */
static const char *how_armed;
static int         count, strike_at;

static void
tell_when(void)
{
    const char *path = getenv("HANG_STRUCK");
    FILE       *f = path != NULL ? fopen(path, "w") : NULL;

    if (f == NULL)
        return;
    fprintf(f, "%.6f", now());
    fclose(f);
}

double
job_struck(void)
{
    const char *path = getenv("HANG_STRUCK");
    FILE       *f = path != NULL ? fopen(path, "r") : NULL;
    double      when = 0;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%lf", &when) != 1)
        when = 0;
    fclose(f);
    return when;
}

void
strike_now(const char *how)
{
    tell_when();
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    else if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(how, "exit") == 0)
        _exit(3);
}

void
strike_arm(const char *where, int n, const char *how)
{
    armed = where;
    how_armed = how;
    strike_at = n;
    count = 0;
}

int
strike_disarm(void)
{
    armed = NULL;
    return count;
}

/* Before the step, so that the others wait for it. */
static void
step(const char *where)
{
    if (armed == NULL || strcmp(armed, where) != 0)
        return;
    if (++count == strike_at)
        strike_now(how_armed);
}

IN_FRONT int
MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
          MPI_Request *request)
{
    step("send");
    return PMPI_Isend(buf, n, type, to, tag, comm, request);
}

IN_FRONT int
fsync(int fd)
{
    static int (*real)(int);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    step("sync");
    return real(fd);
}

IN_FRONT int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    static int (*real)(int, const char *, int, const char *);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "renameat");
    step("rename");
    return real(from_dir, from, to_dir, to);
}

IN_FRONT int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    static int (*real)(int, const char *, int, const char *, unsigned);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "renameat2");
    step("rename");
    return real(from_dir, from, to_dir, to, flags);
}
