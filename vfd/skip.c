/* skip.c: H5FDredset_skip: this rank has no such files. See include/H5FDredset.h. */
#include "H5FDredset.h"

#include "async.h"
#include "background.h"
#include "call.h"
#include "comm/mpi/comm_mpi.h"
#include "fapl.h"
#include "team.h"

#include <stdio.h>

/* Only before all ranks have come together once. */
static void
say_long_wait(const char *text)
{
    char line[RSET_ERR_TEXT];

    snprintf(line, sizeof line,
             "H5FDredset_skip: waiting %.800s; let all ranks call it at the start, with NULL where "
             "nothing is skipped",
             text);
    rset_h5err_warn(line);
}

/* In a process without MPI nobody waits for it. */
static rset_status
skip(const rset_config *config, const char *pattern, rset_err *err)
{
    if (!rset_mpi_running())
        return RSET_OK;
    rset_background_wait(NULL);
    if (!rset_mpi_usable() || rset_background_stuck())
        return rset_fail(err, RSET_USAGE,
                         "H5FDredset_skip: needs MPI, which this thread may not call (see "
                         "MPI_Init_thread), or which is in use by a close in the background that "
                         "does not end");
    return rset_team_skip(config, pattern, err);
}

herr_t
H5FDredset_skip(const char *pattern)
{
    H5FD_redset_config_t own = {0};
    rset_config          settled;
    rset_h5err_scope     scope;
    rset_err             err = RSET_ERR_NONE;
    rset_status          st;
    herr_t               ret;

    rset_comm_on_long_wait(say_long_wait);
    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = rset_fapl_settle(NULL, "H5FDredset_skip", &own, &settled, &err);
    if (st == RSET_OK)
        st = skip(&settled, pattern != NULL ? pattern : "", &err);
    rset_fapl_drop(&own);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTSET, &err);
    ret = rset_call_end(&scope, st != RSET_OK);
    rset_async_speak();
    return ret;
}
