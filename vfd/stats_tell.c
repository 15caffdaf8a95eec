/* stats_tell.c: the figures of stats.h as applications ask for them. See include/H5FDredset.h. */
#include "H5FDredset.h"
#include "call.h"
#include "path.h"
#include "stats.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static double
seconds(uint64_t ns)
{
    return 1e-9 * (double)ns;
}

static void
tell(const rset_stats *sum, H5FD_redset_stats_t *out)
{
    const uint64_t *ns = sum->spent.ns;

    *out = (H5FD_redset_stats_t){.files_protected = sum->files[RSET_COUNT_PROTECTED],
                                 .bytes_protected = sum->bytes[RSET_COUNT_PROTECTED],
                                 .files_verified = sum->files[RSET_COUNT_VERIFIED],
                                 .bytes_verified = sum->bytes[RSET_COUNT_VERIFIED],
                                 .files_rebuilt = sum->files[RSET_COUNT_REBUILT],
                                 .bytes_rebuilt = sum->bytes[RSET_COUNT_REBUILT],
                                 .files_unprotected = sum->files[RSET_COUNT_UNPROTECTED],
                                 .total = seconds(rset_phases_total(&sum->spent)),
                                 .background = seconds(sum->background),
                                 .rendezvous = seconds(ns[RSET_PHASE_MEET]),
                                 .reading = seconds(ns[RSET_PHASE_READ]),
                                 .arithmetic = seconds(ns[RSET_PHASE_SUM]),
                                 .sending = seconds(ns[RSET_PHASE_SEND]),
                                 .writing = seconds(ns[RSET_PHASE_WRITE]),
                                 .syncing = seconds(ns[RSET_PHASE_SYNC]),
                                 .waiting = seconds(ns[RSET_PHASE_WAIT]),
                                 .other = seconds(ns[RSET_PHASE_OTHER])};
}

/* The members that the first version of the struct has; what comes later is left out where there is no room. */
enum { STATS_FIRST = offsetof(H5FD_redset_stats_t, other) + sizeof(double) };

static rset_status
fill_stats(const char *path, H5FD_redset_stats_t *out, rset_err *err)
{
    char               *absolute = NULL;
    rset_status         st = RSET_OK;
    rset_kind           kind;
    rset_stats          sum;
    H5FD_redset_stats_t all;

    if (out == NULL || out->size < STATS_FIRST)
        return rset_fail(
            err, RSET_USAGE,
            "H5FDredset_stats: the size of the struct is %zu, at least %d is expected; "
            "set it to sizeof(H5FD_redset_stats_t) first",
            out != NULL ? out->size : 0, (int)STATS_FIRST);
    if (path != NULL)
        st = rset_path_absolute(path, &absolute, err);
    if (st != RSET_OK)
        return st;
    if (path != NULL)
        rset_kind_of(absolute, &kind);
    free(absolute);
    sum = rset_stats_of(path != NULL ? kind.text : NULL);
    tell(&sum, &all);
    all.size = out->size < sizeof all ? out->size : sizeof all;
    memcpy(out, &all, all.size);
    return RSET_OK;
}

herr_t
H5FDredset_stats(const char *path, H5FD_redset_stats_t *stats_out)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_status      st;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = fill_stats(path, stats_out, &err);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
    return rset_call_end(&scope, st != RSET_OK);
}
