/* plain_calls.c: what applications call for files that HDF5 does not open. See include/H5FDredset.h. */
#include "H5FDredset.h"

#include "async.h"
#include "call.h"
#include "comm/comm.h"
#include "fapl.h"
#include "open_files.h"
#include "path.h"
#include "plain.h"
#include "together.h"

#include <stdio.h>
#include <stdlib.h>

static void
say_long_wait(const char *text)
{
    char line[RSET_ERR_TEXT];

    snprintf(line, sizeof line, "waiting %.900s", text);
    rset_h5err_warn(line);
}

/* What waits for the others of its group (together=) is protected first: it has to have been, and is no open file. */
static rset_status
end_waiting(const rset_plain_job *job, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && job->paths != NULL && i < job->n; i++) {
        char *path = NULL;

        if (job->paths[i] != NULL)
            st = rset_path_absolute(job->paths[i], &path, err);
        if (path != NULL)
            st = rset_together_end(path, err);
        free(path);
    }
    return st;
}

/* Collective. What failed is an error record, what is only good to know a warning. */
static herr_t
call(rset_plain_job *job, const H5FD_redset_config_t *config, hid_t minor)
{
    const char          *name = rset_plain_call_name(job->call);
    H5FD_redset_config_t own = {0};
    rset_config          settled;
    rset_plain_outcome   outcome = {0};
    rset_h5err_scope     scope;
    rset_err             err = RSET_ERR_NONE;
    rset_status          st;
    herr_t               ret;

    rset_comm_on_long_wait(say_long_wait);
    st = rset_call_begin(&scope, &err);
    job->config = &settled;
    if (st == RSET_OK)
        st = rset_fapl_settle(config, name, &own, &settled, &err);
    if (st == RSET_OK)
        st = end_waiting(job, &err);
    if (st == RSET_OK)
        st = rset_plain_do(job, &outcome, &err);
    rset_fapl_drop(&own);
    rset_h5err_push(__FILE__, name, __LINE__, H5E_VFL, minor, &err);
    ret = rset_call_end(&scope, st != RSET_OK);
    if (outcome.note[0] != '\0')
        rset_h5err_warn(outcome.note);
    rset_async_speak();
    return ret < 0 ? ret : outcome.never;
}

herr_t
H5FDredset_protect_files(const char *const *paths, int n, const H5FD_redset_config_t *config)
{
    rset_plain_job job = {.call = RSET_PLAIN_PROTECT, .paths = paths, .n = n};

    return call(&job, config, H5E_WRITEERROR);
}

herr_t
H5FDredset_recover_files(const char *const *paths, int n, const H5FD_redset_config_t *config)
{
    rset_plain_job job = {.call = RSET_PLAIN_RECOVER, .paths = paths, .n = n};

    return call(&job, config, H5E_CANTRESTORE);
}

herr_t
H5FDredset_unprotect_files(const char *const *paths, int n, const H5FD_redset_config_t *config)
{
    rset_plain_job job = {.call = RSET_PLAIN_UNPROTECT, .paths = paths, .n = n};

    return call(&job, config, H5E_CANTREMOVE);
}

herr_t
H5FDredset_rename(const char *old_path, const char *new_path)
{
    rset_plain_job job = {.call = RSET_PLAIN_RENAME,
                          .paths = &old_path,
                          .n = 1,
                          .to = new_path != NULL ? new_path : ""};

    return call(&job, NULL, H5E_CANTRENAME);
}

/* No where that cannot be told: the call looks at the path as well, and says so to all ranks. */
static bool
is_open(const char *path, unsigned long long generation)
{
    char      *file = NULL, *prefix = NULL, *at = NULL;
    const bool is = rset_path_absolute(path, &file, NULL) == RSET_OK &&
                    (prefix = rset_join_names(file, ".")) != NULL &&
                    (at = rset_name_of(RSET_NAME_DATA, prefix, generation)) != NULL &&
                    rset_open_session(at) != NULL;

    free(at);
    free(prefix);
    free(file);
    return is;
}

herr_t
H5FDredset_drop(const char *path, unsigned long long generation)
{
    rset_plain_job job = {.call = RSET_PLAIN_DROP,
                          .paths = &path,
                          .n = 1,
                          .generation = generation,
                          .open = path != NULL && is_open(path, generation)};

    return call(&job, NULL, H5E_CANTREMOVE);
}
