/* comm_mpi_first.c: see comm_mpi_first.h: what there is of it, and the door. */
#include "comm_mpi_first_internal.h"

#include "comm_mpi_dup.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm_mpi_calls.h"

static rset_status
set_up(rset_first *f, rset_err *err)
{
    const int *most = NULL;
    int        found = 0, rc = MPI_Comm_rank(f->parent, &f->rank);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(f->parent, &f->size);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    if (rc != MPI_SUCCESS || !found)
        return rset_first_failed(f, rc, err);
    f->tag = *most - 2; /* where applications have none */
    f->guests = calloc((size_t)f->size + 1, sizeof *f->guests);
    f->blanks = calloc(f->rank == 0 ? (size_t)f->size : 1, sizeof *f->blanks);
    if (f->guests == NULL || f->blanks == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    return rset_first_listen(f, err);
}

rset_status
rset_first_new(MPI_Comm parent, rset_first **out, rset_err *err)
{
    rset_first *f = calloc(1, sizeof *f);
    rset_hush   hush;
    rset_status st;

    if (f == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
    f->parent = parent;
    f->posted = MPI_REQUEST_NULL;
    hush = rset_mpi_hush(parent);
    st = set_up(f, err);
    rset_mpi_unhush(&hush);
    if (st != RSET_OK) {
        free(f->guests);
        free(f->blanks);
        free(f);
        return st;
    }
    *out = f;
    return RSET_OK;
}

/* Words that nobody has listened to, such as of a rank that was more patient than rank 0. MPICH ends a job in MPI_Finalize
 * where messages were not received. */
static void
take_the_rest(rset_first *f)
{
    for (int quiet = 0; quiet < RSET_FIRST_QUIET && f->posted != MPI_REQUEST_NULL;) {
        rset_word ignored;
        int       from;
        bool      found;

        if (rset_first_hear(f, &ignored, &from, &found, NULL) != RSET_OK)
            return;
        quiet = found ? 0 : quiet + 1;
    }
}

void
rset_first_free(rset_first *first)
{
    const double until = rset_clock() + 0.01;
    rset_hush    hush;
    int          done = 0;

    if (first == NULL)
        return;
    hush = rset_mpi_hush(first->parent);
    take_the_rest(first);
    rset_first_reap(first); /* what is still under way keeps its memory */
    if (first->posted != MPI_REQUEST_NULL && MPI_Cancel(&first->posted) == MPI_SUCCESS)
        while (!done && rset_clock() < until)
            if (MPI_Test(&first->posted, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                break;
    rset_mpi_unhush(&hush);
    free(first->guests);
    if (first->sent == NULL)
        free(first->blanks);
    if (done || first->posted == MPI_REQUEST_NULL)
        free(first);
}

/* ---- the door ---- */

bool
rset_first_told(const rset_first *first)
{
    return first->told;
}

bool
rset_first_teams(const rset_first *first)
{
    return first->teams;
}

rset_apart
rset_first_apart(const rset_first *first)
{
    return first->apart;
}

void
rset_first_fail(rset_first *first, uint64_t what)
{
    rset_hush hush = rset_mpi_hush(first->parent);

    rset_first_reap(first);
    if (first->rank != 0)
        (void)rset_first_say(first, 0, (rset_word){.type = RSET_WORD_FAILED, .what = what}, NULL);
    rset_mpi_unhush(&hush);
}

rset_mpi_others
rset_first_others(const rset_first *first)
{
    return first->others;
}

rset_status
rset_first_come(rset_first *first, double timeout, const rset_purpose *purpose, rset_err *err)
{
    rset_hush   hush = rset_mpi_hush(first->parent);
    rset_status st;

    rset_first_reap(first);
    first->purpose = *purpose;
    first->others = (rset_mpi_others){.needy = -1};
    st = first->rank == 0 ? rset_first_gather(first, timeout, err)
                          : rset_first_report(first, timeout, err);
    rset_mpi_unhush(&hush);
    return st;
}

rset_status
rset_first_confer(rset_first *first, double timeout, bool needs, rset_err *err)
{
    rset_hush   hush = rset_mpi_hush(first->parent);
    rset_status st;

    rset_first_reap(first);
    st = first->rank == 0 ? rset_first_confer_root(first, timeout, needs, err)
                          : rset_first_confer_rank(first, timeout, needs, err);
    first->others.came = 0;
    rset_mpi_unhush(&hush);
    return st == RSET_OK ? rset_first_missing(first, &first->missing, first->waited, err) : st;
}
