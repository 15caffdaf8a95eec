/* job.c: see job.h. */
#include "job.h"

#include "catalog.h"
#include "comm/mpi/comm_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What launchers set for each process they start: its rank. Not SLURM_PROCID: a batch script has that too. */
static const char *
launched_as(void)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i]) != NULL)
            return getenv(signs[i]);
    return NULL;
}

bool
job_speaks(void)
{
    return launched_as() == NULL || strcmp(launched_as(), "0") == 0;
}

/* Each process hears where all are. */
static rset_status
find_hosts(job *j, rset_err *err)
{
    rset_status st = RSET_OK;

    j->hosts = must_alloc((size_t)j->size * sizeof *j->hosts);
    memcpy(j->hosts[0], j->host, sizeof j->host);
    if (j->comm != NULL)
        st = rset_gather_fixed(j->comm, RSET_OK, j->host,
                               &(rset_share){.bytes = j->host, .len = sizeof j->host}, j->hosts,
                               err);
    for (int r = 0; r < j->size; r++)
        j->hosts[r][RSET_HOST_NAME - 1] = '\0';
    return st;
}

rset_status
job_begin(job *j, double timeout, rset_err *err)
{
    int         level;
    rset_status st = RSET_OK;

    *j = (job){.size = 1};
    if (gethostname(j->host, sizeof j->host) != 0)
        snprintf(j->host, sizeof j->host, "localhost");
    j->host[sizeof j->host - 1] = '\0';
    if (launched_as() != NULL) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
            return rset_fail(err, RSET_PEER, "MPI_Init failed");
        MPI_Comm_size(MPI_COMM_WORLD, &j->size);
        MPI_Comm_rank(MPI_COMM_WORLD, &j->rank);
        st = rset_mpi_private(NULL, timeout, NULL, &j->comm, err);
        if (st == RSET_OK)
            j->comm->timeout = timeout;
    }
    return st == RSET_OK ? find_hosts(j, err) : st;
}

void
job_end(job *j)
{
    int running = 0;

    MPI_Initialized(&running);
    if (running)
        MPI_Finalize();
    j->comm = NULL;
    free(j->hosts);
}

rset_status
job_share(job *j, sightings *list, rset_err *err)
{
    rset_gathered all = {0};
    uint8_t      *mine = NULL;
    size_t        len = 0;
    rset_status   st;

    if (j->comm == NULL)
        return RSET_OK;
    st = sightings_pack(list, &mine, &len, err);
    st =
        rset_gather_all(j->comm, st, j->host, &(rset_share){mine, len, (size_t)1 << 32}, &all, err);
    if (st == RSET_OK)
        sightings_free(list);
    for (int r = 0; st == RSET_OK && r < j->size; r++)
        st = sightings_unpack(all.bytes + all.offs[r], all.offs[r + 1] - all.offs[r], r, list, err);
    free(mine);
    rset_gathered_free(&all);
    catalog_drop_doubles(list);
    return st;
}

void
job_tell(const job *j, const char *host, const char *path, const char *what)
{
    print_line(stdout, "%s%s%s: %s", j->size > 1 ? host : "", j->size > 1 ? ":" : "", path, what);
}

static void
merge_most(void *into, const void *other)
{
    int *most = into;

    if (*(const int *)other > *most)
        *most = *(const int *)other;
}

bool
job_reaches(const job *j, const char *host)
{
    for (int i = 0; host != NULL && i < j->size; i++)
        if (strcmp(j->hosts[i], host) == 0)
            return true;
    return false;
}

int
job_most(job *j, int value)
{
    const rset_reduction most = {&value, sizeof value, merge_most};
    rset_err             ignored = RSET_ERR_NONE;

    return j->comm == NULL || rset_reduce(j->comm, RSET_OK, j->host, &most, &ignored) == RSET_OK
               ? value
               : -1;
}
