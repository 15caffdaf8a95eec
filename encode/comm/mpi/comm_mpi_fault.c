/* comm_mpi_fault.c: see comm_mpi_fault.h. */
#include "comm_mpi_fault.h"

#include <stdio.h>

#include "comm_mpi_calls.h"

#ifdef OMPI_HAVE_MPIX_COMM_GET_FAILED

enum { NAMED = 8 };

/* "rank 3 has died", "ranks 1, 4 have died"; as far as known. */
static void
name_dead(MPI_Comm comm, MPI_Group dead, int n, char *buf, size_t size)
{
    MPI_Group all;
    size_t    used = (size_t)snprintf(buf, size, n == 1 ? "rank" : "ranks");

    if (MPI_Comm_group(comm, &all) != MPI_SUCCESS)
        return;
    for (int i = 0; i < n && i < NAMED; i++) {
        int rank = MPI_UNDEFINED;

        (void)MPI_Group_translate_ranks(dead, 1, &i, all, &rank);
        used += (size_t)snprintf(buf + used, size - used, "%s %d", i > 0 ? "," : "", rank);
    }
    snprintf(buf + used, size - used, "%s %s died", n > NAMED ? " and others" : "",
             n == 1 ? "has" : "have");
    (void)MPI_Group_free(&all);
}

rset_status
rset_mpi_whole(MPI_Comm comm, rset_err *err)
{
    MPI_Group   dead;
    rset_status st = RSET_OK;
    char        who[128];
    int         n = 0, revoked = 0;

    if (MPIX_Comm_get_failed == NULL || MPIX_Comm_is_revoked == NULL)
        return RSET_OK; /* an Open MPI built without */
    if (MPIX_Comm_get_failed(comm, &dead) == MPI_SUCCESS) {
        if (MPI_Group_size(dead, &n) == MPI_SUCCESS && n > 0) {
            name_dead(comm, dead, n, who, sizeof who);
            st = rset_fail(err, RSET_PEER,
                           "%s, MPI says; make a communicator of those that are left "
                           "(MPIX_Comm_shrink) and perhaps a spare rank, give it to "
                           "H5Pset_fapl_redset, and open the file again with that",
                           who);
        }
        (void)MPI_Group_free(&dead);
    }
    if (st == RSET_OK && MPIX_Comm_is_revoked(comm, &revoked) == MPI_SUCCESS && revoked)
        st =
            rset_fail(err, RSET_PEER,
                      "the program has revoked the communicator that the ranks of this file share; "
                      "give H5Pset_fapl_redset another one, and open the file again with that");
    return st;
}

#else

rset_status
rset_mpi_whole(MPI_Comm comm, rset_err *err)
{
    (void)comm;
    (void)err;
    return RSET_OK;
}

#endif

rset_status
rset_mpi_failed(MPI_Comm comm, int rc, const char *what, rset_err *err)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int  len = 0;

    if (rset_mpi_whole(comm, err) != RSET_OK)
        return RSET_PEER;
    if (MPI_Error_string(rc, text, &len) != MPI_SUCCESS || len == 0)
        snprintf(text, sizeof text, "MPI error %d", rc);
    return rset_fail(err, RSET_PEER, "%s failed: %s", what, text);
}
