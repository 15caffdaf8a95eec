/* status.c: what is known of one file, as applications ask for it: from what the disk says now, and from what this process did
 * with the file last (history.h). See include/H5FDredset.h. */
#include "H5FDredset.h"
#include "background.h"
#include "beside.h"
#include "call.h"
#include "fapl.h"
#include "history.h"
#include "open_files.h"
#include "path.h"
#include "recover/recover.h"
#include "together.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The members that the first version of the struct has; what comes later is left out where there is no room. */
enum { STATUS_FIRST = offsetof(H5FD_redset_status_t, label) + H5FD_REDSET_LABEL_SIZE };

/* ---- what the disk says ---- */

typedef struct looked {
    rset_beside at;
    const char *why_not; /* it is not protected; "": it is */
} looked;

/* `l` is to be let go of in any case. */
static rset_status
look(const char *path, looked *l, rset_err *err)
{
    rset_status st = rset_beside_look(path, &l->at, err);

    return st == RSET_OK ? rset_why_unprotected(&l->at.local, &l->at.evidence, &l->why_not, err)
                         : st;
}

/* ---- both put together ---- */

static const char *
why_changing(const char *path)
{
    if (rset_together_waits(path))
        return "it was closed, and waits for the others of its group to be closed (together=)";
    if (!rset_background_busy(path))
        return "it is open, and was created or changed; its close, or a commit, protects it";
    return rset_open_session(path) != NULL
               ? "it is open, and what was committed is being protected in the background"
               : "it was closed, and is being protected in the background";
}

/* What this process knows of the file comes first: it has asked all ranks. */
static void
say_why(const looked *l, const rset_history *history, H5FD_redset_status_t *out)
{
    const char *disk = l->why_not;

    if (history->changing)
        disk = why_changing(l->at.path);
    else if (disk[0] != '\0' && history->why[0] != '\0')
        disk = history->why;
    out->is_protected = disk[0] == '\0';
    if (history->changing && history->in_place[0] != '\0')
        snprintf(out->why, sizeof out->why, "%.200s; %.800s", disk, history->in_place);
    else
        snprintf(out->why, sizeof out->why, "%s", disk);
}

_Static_assert((int)H5FD_REDSET_DID_NOTHING == (int)RSET_DID_NOTHING &&
                   (int)H5FD_REDSET_DID_REBUILD == (int)RSET_DID_REBUILD &&
                   (int)H5FD_REDSET_DID_REFUSE == (int)RSET_DID_REFUSE &&
                   (int)H5FD_REDSET_DID_FALL_BACK == (int)RSET_DID_FALL_BACK,
               "the same numbers");

static void
tell(const looked *l, const rset_history *history, H5FD_redset_status_t *out)
{
    const rset_desc *desc = l->at.evidence.has_header ? &l->at.evidence.header.infos[0].desc : NULL;
    const rset_stamp *stamp =
        l->at.evidence.has_header ? &l->at.evidence.header.infos[0].stamp : NULL;

    *out = (H5FD_redset_status_t){.scheme = -1,
                                  .did = (int)history->opened.did,
                                  .ranks_concerned = history->opened.concerned,
                                  .ranks_rebuilt = history->opened.rebuilt,
                                  .opened = history->opened.generation,
                                  .opened_commits =
                                      rset_generation_commits(history->opened.generation),
                                  .opened_time = history->opened.time};
    if (desc != NULL) {
        out->generation = desc->generation;
        out->commits = rset_generation_commits(desc->generation);
        out->scheme = rset_fapl_scheme_number(desc->scheme);
        out->parity = desc->parity;
        out->ranks = desc->ranks;
        out->time = stamp->time;
        snprintf(out->label, sizeof out->label, "%s", stamp->label != NULL ? stamp->label : "");
    }
    snprintf(out->opened_label, sizeof out->opened_label, "%s", history->opened.label);
    snprintf(out->state, sizeof out->state, "%s",
             rset_session_state_text(rset_open_session(l->at.path)));
    say_why(l, history, out);
}

static rset_status
fill_status(const char *path, H5FD_redset_status_t *out, rset_err *err)
{
    char                *absolute;
    looked               l = {0};
    rset_history         history;
    H5FD_redset_status_t all;
    rset_status          st;

    if (out == NULL || out->size < STATUS_FIRST)
        return rset_fail(
            err, RSET_USAGE,
            "H5FDredset_status: the size of the struct is %zu, at least %d is expected; "
            "set it to sizeof(H5FD_redset_status_t) first",
            out != NULL ? out->size : 0, (int)STATUS_FIRST);
    if (path == NULL || path[0] == '\0')
        return rset_fail(err, RSET_USAGE, "H5FDredset_status: no file is named");
    st = rset_path_absolute(path, &absolute, err);
    if (st != RSET_OK)
        return st;
    rset_history_get(absolute, &history);
    st = look(absolute, &l, err);
    if (st == RSET_OK) {
        tell(&l, &history, &all);
        all.size = out->size < sizeof all ? out->size : sizeof all;
        memcpy(out, &all, all.size);
    }
    rset_beside_free(&l.at);
    free(absolute);
    return st;
}

herr_t
H5FDredset_status(const char *path, H5FD_redset_status_t *status_out)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_status      st;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = fill_status(path, status_out, &err);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_READERROR, &err);
    return rset_call_end(&scope, st != RSET_OK);
}
