/* shadow.c: see shadow.h. */
#include "shadow.h"

#include "change.h"
#include "commit.h"
#include "common/thread.h"
#include "names/claim.h"
#include "names/names.h"

#include <stdlib.h>
#include <sys/random.h>

/* ---- writing one ---- */

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory for a name", rset_local_name(local));
}

/* A name that is about to be made. Takes over `name`, which is NULL without memory. */
static rset_status
note_name(const rset_local *local, char *name, char **name_out, rset_err *err)
{
    rset_status st = name != NULL ? rset_names_note(local->dir, local->prefix,
                                                    (const char *const[]){name}, 1, err)
                                  : no_memory(local, err);

    if (st == RSET_OK)
        *name_out = name;
    else
        free(name);
    return st;
}

rset_status
rset_shadow_begin(const rset_local *local, rset_evidence *ev, char **name_out, rset_err *err)
{
    uint64_t    nonce = 0;
    rset_status st =
        rset_claim_check_commit(local->dir, local->prefix, rset_local_name(local), err);

    if (st == RSET_OK && rset_evidence_committing(ev))
        st = rset_commit_settle(local, rset_evidence_generation(ev), RSET_COMMIT_PATIENCE, ev, err);
    if (st == RSET_OK && ev->nshadows > 0)
        st = rset_shadow_forget(local, ev, ev->next, NULL, err);
    if (st != RSET_OK)
        return st;
    if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        return rset_fail(err, RSET_IO, "%s: the system has no random number for its new file",
                         rset_local_name(local));
    return note_name(local,
                     rset_name_of(RSET_NAME_SHADOW, local->prefix,
                                  rset_generation_next(rset_evidence_newest(ev), nonce)),
                     name_out, err);
}

/* An empty file with this name, as open as the one that had it. */
static rset_status
make_like(const rset_local *local, const char *name, const rset_access *access, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_create(local->dir, name, access, &file, err);

    return rset_file_close(file, err) != RSET_OK && st == RSET_OK ? err->status : st;
}

/* One that lies under the name already is its remover's to remove: it would unlink what is made in its place. */
static rset_status
make_one(const rset_local *local, const char *name, rset_file **guard_out, rset_err *err)
{
    rset_access access;
    rset_status st = RSET_OK;

    if (!rset_dir_has_file(local->dir, name))
        st = rset_file_access(local->dir, local->names[0], &access)
                 ? make_like(local, name, &access, err)
                 : make_like(local, name, NULL, err);
    return st == RSET_OK ? rset_shadow_guard(local, name, guard_out, err) : st;
}

rset_status
rset_shadow_make(const rset_local *local, const char *name, rset_file **guard_out, rset_err *err)
{
    enum { TRIES = 1000 };
    rset_err    own = RSET_ERR_NONE;
    rset_status st = make_one(local, name, guard_out, &own);

    for (int i = 0; i < TRIES && (st == RSET_BUSY || st == RSET_ABSENT); i++) {
        rset_thread_nap(1);
        own = RSET_ERR_NONE;
        st = make_one(local, name, guard_out, &own);
    }
    return st == RSET_OK ? st : rset_fail_as(err, &own);
}

rset_status
rset_shadow_rename(const rset_local *local, uint64_t generation, char **name_out, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_SHADOW, local->prefix, generation);
    rset_status st = name != NULL ? rset_dir_rename(local->dir, local->shadow, name, err)
                                  : no_memory(local, err);

    if (st != RSET_OK)
        free(name);
    else
        *name_out = name;
    return st;
}

/* ---- removing ---- */

static rset_status
forget_one(const rset_local *local, uint64_t generation, bool *gone, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_SHADOW, local->prefix, generation);
    bool        used = false;
    rset_status st = name != NULL
                         ? rset_guarded_remove(local->dir, name, RSET_GUARD_WRITTEN, &used, err)
                         : no_memory(local, err);

    *gone = *gone && st == RSET_OK && !used;
    free(name);
    return st;
}

rset_status
rset_shadow_forget(const rset_local *local, const rset_evidence *ev, uint64_t keep, bool *gone_out,
                   rset_err *err)
{
    rset_status st = RSET_OK;
    bool        gone = true;

    for (size_t i = 0; st == RSET_OK && i < ev->nshadows; i++)
        if (ev->shadows[i] != keep || keep == 0)
            st = forget_one(local, ev->shadows[i], &gone, err);
    if (gone_out != NULL)
        *gone_out = gone;
    return st;
}

void
rset_shadow_drop(const rset_local *local)
{
    if (local->shadow != NULL)
        (void)rset_dir_unlink(local->dir, local->shadow, NULL);
    rset_placeholder_remove(local);
}

/* ---- in place, without protection ---- */

static rset_status
sync_shadow(const rset_local *local, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_open(local->dir, local->shadow, &file, err);

    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    rset_file_close(file, NULL);
    return st;
}

/* The old file is put aside, unless that was done: what is there now is then not the old one either. A first commit that
 * this rank has prepared in place, and may be decided on, keeps its data. */
static rset_status
put_aside(const rset_local *local, const rset_evidence *ev, rset_err *err)
{
    const bool prepared =
        !ev->has_header && ev->next != 0 && !rset_evidence_has_shadow(ev, ev->next);
    char       *aside = NULL;
    rset_status st;

    if (ev->placeholder || (ev->undo.there && ev->undo.aside))
        return RSET_OK;
    st = note_name(local,
                   prepared
                       ? rset_name_of(RSET_NAME_SHADOW, local->prefix, ev->next)
                       : rset_name_of(RSET_NAME_DATA, local->prefix, rset_evidence_generation(ev)),
                   &aside, err);
    if (st == RSET_OK)
        st = rset_dir_rename(local->dir, local->names[0], aside, err);
    free(aside);
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* Says in the journal what is about to happen, and puts the old file aside. Where that cannot be done, ranks that close in
 * one step keep what was protected last: without its label this file would belong to none. The file of one process
 * matters more than the undo journal. */
static rset_status
make_way(const rset_local *local, rset_evidence *ev, bool in_step, rset_journal **out,
         rset_err *err)
{
    rset_local  plain = *local;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_survey_local(local, ev, &own);

    plain.shadow = NULL;
    if (st == RSET_OK && rset_evidence_committing(ev))
        st = rset_commit_settle(&plain, rset_evidence_generation(ev), RSET_COMMIT_PATIENCE, ev,
                                &own);
    if (st == RSET_OK)
        st = rset_change_begin_aside(&plain, ev, out, &own);
    if (st == RSET_OK && (rset_journal_leads_back(*out) || !ev->has_header))
        st = put_aside(&plain, ev, &own);
    if (st == RSET_OK)
        return RSET_OK;
    rset_journal_leave(*out);
    *out = NULL;
    return in_step ? rset_fail_as(err, &own)
                   : rset_change_begin(&plain, ev, RSET_KEEP_NOTHING, out, err);
}

rset_status
rset_shadow_settle(const rset_local *local, rset_evidence *ev, bool in_step, rset_journal **out,
                   rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;
    rset_status st;

    *out = NULL;
    /* None: this rank had finished already when another failed. */
    if (rset_dir_stat(local->dir, local->shadow, &sb, &ignored) == RSET_ABSENT)
        return RSET_OK;
    st = sync_shadow(local, err);
    if (st == RSET_OK)
        st = make_way(local, ev, in_step, out, err);
    if (st == RSET_OK)
        st = rset_dir_rename(local->dir, local->shadow, local->names[0], err);
    if (st == RSET_OK)
        st = rset_dir_sync(local->dir, err);
    if (st == RSET_OK)
        return RSET_OK;
    rset_journal_leave(*out);
    *out = NULL;
    return st;
}

rset_status
rset_aside_begin(const rset_local *local, rset_evidence *ev, rset_journal **out, rset_err *err)
{
    rset_access access;
    const bool  old = rset_file_access(local->dir, local->names[0], &access);
    rset_status st = rset_change_begin_aside(local, ev, out, err);

    if (st == RSET_OK && ev->has_header && !rset_journal_leads_back(*out))
        st = rset_fail(err, RSET_IO, "%s: its old content could not be had again",
                       rset_local_name(local));
    if (st == RSET_OK)
        st = put_aside(local, ev, err);
    if (st == RSET_OK && old && !rset_dir_has_file(local->dir, local->names[0]) &&
        (st = make_like(local, local->names[0], &access, err)) != RSET_OK)
        rset_aside_undo(local);
    if (st == RSET_OK)
        return rset_dir_sync(local->dir, err);
    rset_journal_leave(*out);
    *out = NULL;
    return st;
}

void
rset_aside_undo(const rset_local *local)
{
    rset_evidence ev = {0};
    rset_err      ignored = RSET_ERR_NONE;
    rset_status   st = rset_survey(local->dir, local->prefix, local->names[0], &ev, &ignored);

    if (st == RSET_OK && ev.undo.there && ev.undo.aside)
        st = rset_undo_apply(local->dir, local->prefix, local->names[0], &ev.undo, &ignored);
    else
        st = RSET_ABSENT;
    if (st == RSET_OK)
        st = rset_set_void(local->dir, &ev, false, &ignored);
    if (st == RSET_OK)
        (void)rset_undo_remove(local->dir, local->prefix, &ev.undo, &ignored);
    rset_evidence_free(&ev);
}
