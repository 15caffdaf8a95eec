/* async.c: see async.h and, for the functions that applications call, include/H5FDredset.h. */
#include "async.h"

#include "H5FDredset.h"
#include "background.h"
#include "call.h"
#include "comm/mpi/comm_mpi.h"
#include "common/thread.h"
#include "external.h"
#include "fapl.h"
#include "lock.h"
#include "open_files.h"
#include "path.h"
#include "together.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* More would not fit on HDF5's error stack. */
enum { RECORDS_MAX = 16 };

/* ---- handing over ---- */

typedef struct ending {
    rset_session *session;
    int           guard; /* descriptor with the lock on the old file; -1: none */
} ending;

static rset_status
end_session(void *arg, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    /* Until H5Fclose has returned on this rank: when all have met, threads are busy on every core, and the last
     * rank would lose milliseconds there. */
    ending     *e = arg;
    rset_status st;

    rset_thread_nap(2);
    st = rset_session_close(e->session, true, warning_out, err);
    if (e->guard >= 0) /* until now nobody else could change the old file */
        (void)close(e->guard);
    free(e);
    return st;
}

bool
rset_async_possible(const rset_config *config)
{
    bool any_thread;

    if (!config->async || !rset_mpi_usable())
        return false;
    any_thread = rset_mpi_any_thread();
    if (any_thread && rset_mpi_waits_at_end(rset_background_wait_for_all))
        return true;
    if (rset_mpi_world_rank() == 0)
        rset_h5err_warn(
            any_thread
                ? "async=yes has no effect: MPICH may end a job in MPI_Finalize while another "
                  "thread uses it, and this program's call of that was not found; files are "
                  "protected in H5Fclose"
                : "async=yes needs an MPI that several threads may call at a time: "
                  "MPI_Init_thread with MPI_THREAD_MULTIPLE; without, files are protected "
                  "in H5Fclose");
    return false;
}

bool
rset_async_hand_over(rset_session *session, const rset_config *config, const char *path,
                     H5FD_t *guard)
{
    ending *e;

    if (!rset_session_needs_others(session) || !rset_session_gather(session))
        return false;
    e = malloc(sizeof *e);
    if (e == NULL)
        return false;
    e->session = session;
    if (rset_lock_keep(guard, &e->guard) &&
        rset_session_leave(session, rset_fapl_keep_comm(config->comm)) &&
        rset_background_add(path, end_session, e))
        return true;
    if (e->guard >= 0)
        (void)close(e->guard);
    free(e);
    return false;
}

/* ---- commits of files that stay open ---- */

typedef struct committing {
    rset_session  *part;
    rset_commit_by by;
} committing;

static rset_status
commit_part(void *arg, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    committing       *c = arg;
    const rset_status st = rset_session_commit_part(c->part, c->by, warning_out, err);

    free(c);
    return st;
}

bool
rset_async_commit(rset_session *session, rset_commit_by by, const rset_config *config,
                  const char *path)
{
    rset_session *part = rset_session_split(session);
    committing   *c = part != NULL ? malloc(sizeof *c) : NULL;

    if (c != NULL) {
        *c = (committing){.part = part, .by = by};
        if (rset_session_gather(part) &&
            rset_session_leave(part, rset_fapl_keep_comm(config->comm)) &&
            rset_background_add(path, commit_part, c))
            return true;
    }
    free(c);
    rset_session_join(session);
    return false;
}

/* ---- in this thread after all ---- */

rset_status
rset_async_tell_later(bool behind, const char *path, rset_status st, rset_err *err)
{
    err->status = st;
    if (st == RSET_OK || !behind || !rset_background_owe(path, err))
        return st;
    *err = RSET_ERR_NONE;
    return RSET_OK;
}

/* ---- speaking ---- */

void
rset_async_speak(void)
{
    char     text[RSET_ERR_TEXT];
    rset_err external;

    while (rset_background_warning(text))
        rset_h5err_warn(text);
    while (rset_external_take(&external))
        rset_h5err_warn_once(&external);
}

void
rset_async_speak_all(void)
{
    rset_err err = RSET_ERR_NONE;

    rset_async_speak();
    while (rset_background_take(NULL, &err) != RSET_OK)
        rset_h5err_warn(err.text);
}

/* ---- what applications call ---- */

/* All failures of the file, of all files for NULL, as error records. */
static herr_t
give_failures(const char *path)
{
    rset_err err = RSET_ERR_NONE;
    herr_t   ret = 0;

    for (int n = 0; n < RECORDS_MAX && rset_background_take(path, &err) != RSET_OK; n++) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTCLOSEFILE, &err);
        ret = -1;
    }
    return ret;
}

/* *done_out: NULL waits. */
static herr_t
ask(const char *path, int *done_out)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    char            *absolute = NULL;
    herr_t           ret = 0;
    bool             done = true;

    if (rset_call_begin(&scope, &err) != RSET_OK ||
        (path != NULL && rset_path_absolute(path, &absolute, &err) != RSET_OK)) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTGET, &err);
        ret = -1;
    } else {
        if (done_out == NULL && rset_together_end(absolute, &err) != RSET_OK) {
            RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTCLOSEFILE, &err);
            ret = -1;
        }
        if (done_out == NULL)
            rset_background_wait(absolute);
        else
            done = !rset_background_busy(absolute) && !rset_together_waits(absolute);
        if (done)
            rset_open_join(absolute);
        if (done && give_failures(absolute) < 0)
            ret = -1;
        if (done_out != NULL)
            *done_out = done;
    }
    ret = rset_call_end(&scope, ret < 0);
    rset_async_speak();
    free(absolute);
    return ret;
}

herr_t
H5FDredset_wait(const char *path)
{
    return ask(path, NULL);
}

herr_t
H5FDredset_test(const char *path, int *done_out)
{
    int ignored;

    return ask(path, done_out != NULL ? done_out : &ignored);
}
