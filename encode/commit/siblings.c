/* siblings.c: see siblings.h; and the survey of a file with its siblings (member.h). */
#include "siblings.h"

#include "member/delta.h"

#include <stdlib.h>
#include <string.h>

/* What the directory says of one sibling. */
static rset_status
look_at(rset_dir *dir, const char *name, rset_evidence *out, rset_err *err)
{
    char       *prefix = rset_join_names(name, ".");
    rset_status st = prefix != NULL
                         ? rset_survey_one(dir, prefix, name, out, err)
                         : rset_fail(err, RSET_NOMEM, "%s: no memory to look at it", name);

    free(prefix);
    return st;
}

/* ---- looking ---- */

static rset_status
how_far(rset_dir *dir, const char *together, uint64_t generation, rset_siblings *out, rset_err *err)
{
    char        name[256];
    rset_status st = RSET_OK;

    *out = RSET_SIBLINGS_READY;
    for (const char *at = together; st == RSET_OK && rset_together_next(&at, name);) {
        rset_evidence ev = {0};

        st = look_at(dir, name, &ev, err);
        if (st == RSET_OK && rset_evidence_generation(&ev) == generation)
            *out = RSET_SIBLINGS_DECIDED;
        else if (st == RSET_OK && ev.next != generation && *out != RSET_SIBLINGS_DECIDED)
            *out = RSET_SIBLINGS_MISSING;
        rset_evidence_free(&ev);
    }
    return st;
}

rset_status
rset_survey(rset_dir *dir, const char *prefix, const char *data_name, rset_evidence *out,
            rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_one(dir, prefix, data_name, &ev, err);

    if (st == RSET_OK)
        st = how_far(dir, ev.next_together, ev.next, &ev.next_siblings, err);
    if (st != RSET_OK)
        rset_evidence_free(&ev);
    else
        *out = ev;
    return st;
}

rset_status
rset_survey_again(rset_dir *dir, const char *prefix, const char *data_name, rset_evidence *ev,
                  rset_err *err)
{
    const rset_evidence known = {.any = ev->any, .unfinished = ev->unfinished};
    rset_status         st;

    rset_evidence_free(ev);
    st = rset_survey(dir, prefix, data_name, ev, err);
    if (st != RSET_OK)
        *ev = known;
    return st;
}

rset_status
rset_survey_local(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    return rset_survey_again(local->dir, local->prefix, local->nfiles > 0 ? local->names[0] : "",
                             ev, err);
}

bool
rset_evidence_has_moved(const rset_local *local, const rset_evidence *ev)
{
    rset_evidence now = {0};
    rset_err      ignored = RSET_ERR_NONE;
    bool          has, same;

    if (local->dir == NULL || rset_survey_local(local, &now, &ignored) != RSET_OK)
        return false;
    same = rset_identity_same(&now.data, &ev->data) || (now.data.inode == 0 && ev->data.inode == 0);
    has = now.under_way || rset_evidence_generation(&now) != rset_evidence_generation(ev) ||
          now.is_void != ev->is_void || now.next != ev->next || now.nshadows != ev->nshadows ||
          (now.over_name == NULL) != (ev->over_name == NULL) || now.undo.there != ev->undo.there ||
          now.undo.head.sequence != ev->undo.head.sequence || !same;
    rset_evidence_free(&now);
    return has;
}

/* ---- what is decided of one is decided of all ---- */

static rset_status
discard(rset_dir *dir, const rset_evidence *ev, rset_err *err)
{
    return rset_dir_unlink(dir, ev->next_name, err);
}

/* Does `what` to each sibling that has the generation prepared. *done_out: to any. */
static rset_status
do_to_prepared(rset_dir *dir, const char *together, uint64_t generation,
               rset_status (*what)(rset_dir *, const rset_evidence *, rset_err *), bool *done_out,
               rset_err *err)
{
    char        name[256];
    rset_status st = RSET_OK;

    *done_out = false;
    for (const char *at = together; st == RSET_OK && rset_together_next(&at, name);) {
        rset_evidence ev = {0};

        st = look_at(dir, name, &ev, err);
        if (st == RSET_OK && ev.next_name != NULL && ev.next == generation &&
            rset_evidence_generation(&ev) != generation) {
            *done_out = true;
            st = what(dir, &ev, err);
        }
        rset_evidence_free(&ev);
    }
    return st;
}

rset_status
rset_siblings_publish(rset_dir *dir, const char *together, uint64_t generation, rset_err *err)
{
    bool        any;
    rset_status st = do_to_prepared(dir, together, generation, rset_evidence_publish, &any, err);

    return st == RSET_OK && any ? rset_dir_sync(dir, err) : st;
}

rset_status
rset_siblings_discard(rset_dir *dir, const char *together, uint64_t generation, rset_err *err)
{
    bool any;

    return do_to_prepared(dir, together, generation, discard, &any, err);
}

rset_status
rset_siblings_settle(rset_dir *dir, const char *prefix, const char *data_name, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey(dir, prefix, data_name, &ev, err);

    if (st == RSET_OK && ev.next_siblings == RSET_SIBLINGS_DECIDED &&
        rset_evidence_generation(&ev) != ev.next) {
        st = rset_evidence_publish(dir, &ev, err);
        if (st == RSET_OK)
            st = rset_dir_sync(dir, err);
    }
    rset_evidence_free(&ev);
    return st;
}
