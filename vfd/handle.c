/* handle.c: see handle.h. */
#include "handle.h"

#include "async.h"
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "content.h"
#include "finalize.h"
#include "h5err.h"
#include "left.h"
#include "lock.h"
#include "open_files.h"
#include "path.h"
#include "together.h"
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- open and close ---- */

static bool
creates(unsigned flags)
{
    return rset_handle_plain(flags) != flags;
}

/* Does HDF5 look for the target of an external link, or the source of a virtual dataset? It asks, because it has other
 * places to look at; with a property list of its own, to which no program has a reference; and always for a file
 * that is closed late. H5Fcreate asks as well, with the property list of the program. */
static bool
is_followed(hid_t fapl)
{
    H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;

    return rset_h5err_paused() && H5Iget_ref(fapl) == 0 &&
           H5Pget_fclose_degree(fapl, &degree) >= 0 && degree == H5F_CLOSE_WEAK;
}

static void
release(rset_handle *handle)
{
    if (handle == NULL)
        return;
    rset_open_remove(handle);
    if (handle->lower_fapl > 0)
        (void)H5Idec_ref(handle->lower_fapl);
    rset_fapl_drop(&handle->given);
    free(handle->name);
    free(handle->path);
    free(handle);
}

/* Where the file is. One that cannot be looked at cannot be used (handle->refused), and other ranks that wait for this one are told; it goes
 * by its name as it was given. */
static void
find_path(rset_handle *handle)
{
    if (rset_path_absolute(handle->name, &handle->path, &handle->refused) == RSET_OK)
        (void)rset_path_is_link(handle->name, &handle->link, &handle->refused);
    else
        handle->path = rset_path_from_here(handle->name);
}

static rset_handle *
allocate(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr, rset_err *err)
{
    rset_handle *handle = calloc(1, sizeof *handle);

    if (handle == NULL) {
        (void)rset_fail(err, RSET_NOMEM, "%s: no memory to open it", name);
        return NULL;
    }
    handle->flags = flags;
    handle->maxaddr = maxaddr;
    handle->as_default = rset_fapl_is_default(fapl);
    handle->followed = rset_mpi_usable() && is_followed(fapl);
    handle->refused = RSET_ERR_NONE;
    handle->name = strdup(name);
    if (handle->name != NULL)
        find_path(handle);
    if (handle->path == NULL)
        (void)rset_fail(err, RSET_NOMEM, "%s: no memory to open it", name);
    else if (rset_fapl_read(fapl, &handle->given, &handle->config, err) == RSET_OK &&
             rset_fapl_lower(fapl, &handle->given, &handle->lower_fapl, err) == RSET_OK)
        return handle;
    release(handle);
    return NULL;
}

/* An older generation is a file of its own, which is opened instead. */
static rset_status
find_generation(rset_handle *handle, rset_err *err)
{
    char       *at = NULL;
    rset_status st;

    if (handle->config.generation[0] == '\0' || creates(handle->flags))
        return RSET_OK;
    if ((handle->flags & H5F_ACC_RDWR) != 0)
        return rset_fail(err, RSET_USAGE,
                         "%s: cannot be opened for change with generation=%s: older generations "
                         "are only read",
                         handle->path, handle->config.generation);
    st = rset_view_find(&handle->config, handle->path, &at, err);
    if (at == NULL)
        return st;
    free(handle->name);
    free(handle->path);
    handle->path = at;
    handle->older = true;
    handle->name = strdup(at);
    return handle->name != NULL ? RSET_OK
                                : rset_fail(err, RSET_NOMEM, "%s: no memory to open it", at);
}

static rset_status
begin_session(rset_handle *handle, rset_found found, rset_err *err)
{
    rset_opening how = {.mode = RSET_OPEN_READ,
                        .found = found,
                        .swmr = (handle->flags & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE)) != 0,
                        .link = handle->link,
                        .followed = handle->followed && found == RSET_MISSING};
    rset_err     told = RSET_ERR_NONE;
    rset_status  st;

    if (creates(handle->flags))
        how.mode = RSET_OPEN_CREATE;
    else if (handle->flags & H5F_ACC_RDWR)
        how.mode = RSET_OPEN_UPDATE;
    st = rset_session_open(&handle->config, handle->path, &how, &handle->session, err);
    if (handle->session != NULL && rset_session_has_foreign(handle->session, &told))
        rset_h5err_warn_here(&told);
    return st;
}

/* Whoever gets a handle for a missing file fails for good when it turns out that nothing brings the
 * file back, where a failing open would have made HDF5 look elsewhere. A question must therefore have
 * an answer now, and with MPI only the other ranks know it. They are asked if a link is followed, because HDF5 reads
 * fill values in the place of an absent source (answer). */
static bool
may_come_back(const rset_handle *handle)
{
    return rset_config_covers(&handle->config, handle->path) &&
           (handle->followed || !(rset_mpi_usable() && rset_h5err_paused()));
}

/* The missing file that is followed: is it one that was lost? The other ranks are asked if its protection is still there, or
 * something records it, or if the file with the link may be protected, and have been lost with it. Other questions cost nothing: programs read
 * virtual datasets with gaps, each rank when it wants. */
static void
answer(rset_handle *handle)
{
    if ((rset_session_was_protected(handle->session) || rset_open_protected_near(handle->path) ||
         rset_session_recorded_nearby(handle->session)) &&
        !rset_handle_is_absent(handle))
        return;
    rset_session_abandon(handle->session);
    handle->session = NULL;
}

/* The file is there, or may be, and cannot be opened, as handle->refused says, or else what the lower driver has put into `records`. Other
 * ranks wait for this one where theirs can be opened, and are told. */
static void
begin_refused(rset_handle *handle, rset_found found, hid_t records)
{
    char     why[RSET_ERR_TEXT];
    rset_err ignored = RSET_ERR_NONE;

    if (!rset_mpi_usable() || rset_h5err_paused() ||
        !rset_config_covers(&handle->config, handle->path) ||
        begin_session(handle, found, &ignored) != RSET_OK || handle->session == NULL ||
        handle->refused.status != RSET_OK)
        return;
    rset_h5err_first(records, why, sizeof why);
    (void)rset_fail(&handle->refused, RSET_IO, "%s: could not be opened: %.800s", handle->path,
                    why);
}

/* Does something have the name that could not be opened? Where it cannot be looked at, handle->refused has the reason. */
static rset_found
look_for(rset_handle *handle)
{
    bool missing = false;

    if (handle->refused.status != RSET_OK ||
        rset_path_is_missing(handle->name, &missing, &handle->refused) != RSET_OK)
        return RSET_UNSEEN;
    return missing ? RSET_MISSING : RSET_UNOPENABLE;
}

static void
open_without_lower(rset_handle *handle, hid_t records, rset_err *err)
{
    const rset_found found = look_for(handle);

    if (found != RSET_MISSING)
        begin_refused(handle, found, records);
    else if (may_come_back(handle) && begin_session(handle, found, err) == RSET_OK &&
             handle->session != NULL && handle->followed)
        answer(handle);
    if (found == RSET_UNSEEN && handle->session == NULL)
        *err = handle->refused;
}

/* Open of a file that should exist. */
static void
open_existing(rset_handle *handle, rset_err *err)
{
    const bool         seen = handle->refused.status == RSET_OK;
    const rset_handle *same = seen ? rset_open_find_shadow(handle->path) : NULL;
    hid_t              records;

    if (same != NULL) {
        rset_handle_use_lower(handle, rset_session_at(same->session), handle->flags);
        return;
    }
    if (seen)
        rset_handle_use_lower(handle, handle->name, handle->flags);
    records = rset_h5err_take();
    if (handle->lower != NULL)
        (void)begin_session(handle, RSET_FOUND, err);
    else
        open_without_lower(handle, records, err);
    if (handle->lower == NULL && handle->session == NULL)
        rset_h5err_put(records);
    else if (records > 0)
        (void)H5Eclose_stack(records);
}

/* As a shadow file, if the session wants that, which has made it: so it is there, whatever the program asks for. Where that cannot be, the
 * old file is put aside, or it is an error: it is never overwritten. */
static void
create(rset_handle *handle, rset_err *err)
{
    const char *at = handle->session != NULL ? rset_session_at(handle->session) : handle->path;
    hid_t       records;

    if (strcmp(at, handle->path) != 0) {
        rset_handle_use_lower(handle, at, handle->flags & ~(unsigned)H5F_ACC_EXCL);
        if (handle->lower != NULL) {
            rset_session_created(handle->session, &handle->is);
            return;
        }
        records = rset_h5err_take();
        if (rset_session_create_aside(handle->session, err) != RSET_OK) {
            rset_h5err_put(records);
            return;
        }
        if (records > 0)
            (void)H5Eclose_stack(records);
    }
    if (!rset_lock_before_truncating(handle, err))
        return;
    rset_handle_use_lower(handle, handle->name, handle->flags);
    if (handle->lower != NULL && handle->session != NULL)
        rset_session_created(handle->session, &handle->is);
}

/* Where it is known before anything is written that a new file will not be protected, that is an error with required=yes,
 * and a warning otherwise. */
static rset_status
check_protectable(const rset_handle *handle, rset_err *err)
{
    rset_err why = RSET_ERR_NONE;
    bool     quiet = false;

    if (!rset_session_cannot_protect(&handle->config, handle->path, &why, &quiet))
        return RSET_OK;
    if (handle->config.required) {
        *err = why;
        return why.status;
    }
    if (!quiet)
        rset_h5err_warn(why.text);
    return RSET_OK;
}

/* Open with CREAT, TRUNC or EXCL. What is there loses its protection, or its name, only when the lower
 * driver will really do it: not when EXCL or permissions are in the way (P3). */
static void
open_new(rset_handle *handle, rset_err *err)
{
    bool covered = rset_config_covers(&handle->config, handle->path), missing = false;

    if (handle->refused.status != RSET_OK)
        *err = handle->refused;
    if (err->status != RSET_OK || rset_path_is_missing(handle->name, &missing, err) != RSET_OK)
        return;
    if (covered && !missing && !(handle->flags & H5F_ACC_EXCL)) {
        if ((handle->guard = rset_handle_open_lower(handle, handle->name,
                                                    rset_handle_plain(handle->flags))) == NULL)
            return;
    } else if (!missing)
        covered = false;
    if (covered && check_protectable(handle, err) != RSET_OK)
        return;
    if (covered && begin_session(handle, missing ? RSET_MISSING : RSET_FOUND, err) != RSET_OK)
        return;
    create(handle, err);
    if (!rset_handle_is_shadow(handle))
        rset_handle_close_guard(handle);
}

/* What still goes on for the file comes first. Its failure fails the open, but not that of a probe, whose
 * errors nobody sees: there it waits for the first use. */
static void
open_after_last(rset_handle *handle, rset_err *err)
{
    if (rset_together_end(handle->path, err) != RSET_OK)
        return;
    rset_background_wait(handle->path);
    if (creates(handle->flags) && rset_background_take(handle->path, err) != RSET_OK)
        return;
    handle->owes = rset_background_owes(handle->path);
    if (creates(handle->flags))
        open_new(handle, err);
    else
        open_existing(handle, err);
}

static void
forget_lower_fapl(rset_handle *handle)
{
    (void)H5Idec_ref(handle->lower_fapl);
    handle->lower_fapl = H5I_INVALID_HID;
}

rset_handle *
rset_handle_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    rset_err     err = RSET_ERR_NONE;
    rset_handle *handle = allocate(name ? name : "", flags, fapl, maxaddr, &err);
    hid_t        records;

    if (handle == NULL) {
        RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
        return NULL;
    }
    if (find_generation(handle, &err) == RSET_OK)
        open_after_last(handle, &err);
    if (err.status == RSET_OK &&
        (handle->lower != NULL || (handle->session != NULL && !creates(flags)))) {
        if (handle->session == NULL || creates(flags))
            forget_lower_fapl(handle);
        if (handle->session != NULL) {
            rset_open_add(handle);
            handle->behind = rset_finalize_watch() && rset_async_possible(&handle->config);
        }
        return handle;
    }
    records = rset_h5err_take();
    if (handle->lower != NULL)
        (void)H5FDclose(handle->lower);
    rset_handle_close_guard(handle);
    if (handle->session == NULL && creates(flags) && !(flags & H5F_ACC_EXCL))
        rset_session_not_created(&handle->config, handle->path);
    rset_session_abandon(handle->session);
    release(handle);
    rset_h5err_put(records);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTOPENFILE, &err);
    return NULL;
}

/* The lower driver has closed the file: now, or soon, it is protected. */
static rset_status
end_session(rset_handle *handle, bool lower_ok, char warning[RSET_ERR_TEXT], rset_err *err)
{
    rset_session *session = handle->session;
    rset_status   st = RSET_OK;
    bool          behind;

    if (session == NULL)
        return RSET_OK;
    handle->session = NULL;
    if (creates(handle->flags) && !handle->ended) { /* H5Fcreate has failed after all */
        rset_session_abandon(session);
        return RSET_OK;
    }
    if (rset_together_take(session,
                           &(rset_together_closed){.config = &handle->config,
                                                   .path = handle->path,
                                                   .guard = handle->guard,
                                                   .lower_ok = lower_ok},
                           &st, warning, err))
        return st;
    if (lower_ok && handle->behind &&
        rset_async_hand_over(session, &handle->config, handle->path, handle->guard))
        return RSET_OK;
    behind = lower_ok && handle->behind && rset_session_ends_behind(session);
    if (rset_session_needs_others(session))
        rset_background_wait(NULL);
    st = rset_session_close(session, lower_ok, warning, err);
    return rset_async_tell_later(behind, handle->path, st, err);
}

/* A child that was forked while the file was open would hold the lock for as long as it lives. */
static void
let_go(rset_handle *handle)
{
    if (handle->lower != NULL && handle->locked != RSET_UNLOCKED &&
        !rset_session_is_inherited(handle->session))
        (void)H5FDunlock(handle->lower);
}

herr_t
rset_handle_close(rset_handle *handle, char warning[RSET_ERR_TEXT])
{
    rset_err    err = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_status st = RSET_OK;
    bool        lower_ok = rset_handle_release_held(handle) >= 0;
    hid_t       records = rset_h5err_take();
    const int   left = rset_left_begin(handle);

    let_go(handle);
    if (handle->lower != NULL && H5FDclose(handle->lower) < 0) {
        lower_ok = false;
        if (records <= 0)
            records = rset_h5err_take();
    }
    rset_left_end(handle, left);
    warning[0] = '\0';
    rset_open_remove(handle);
    rset_background_wait(handle->path);
    if (handle->session != NULL)
        rset_session_join(handle->session);
    if (!handle->owes) /* what comes of this close is the next call's to tell, on all ranks */
        st = rset_background_take(handle->path, &err);
    if (end_session(handle, lower_ok && !handle->failed, warning, &own) != RSET_OK) {
        err = own;
        st = own.status;
    }
    rset_handle_close_guard(handle); /* until now nobody else could change the old file */
    release(handle);
    if (lower_ok && records > 0)
        (void)H5Eclose_stack(records);
    else
        rset_h5err_put(records);
    if (st != RSET_OK)
        RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTCLOSEFILE, &err);
    return lower_ok && st == RSET_OK ? 0 : -1;
}

/* Of a symbolic link only the link goes: what it points to stays, with its redundancy. */
herr_t
rset_handle_delete(const char *name, hid_t fapl)
{
    H5FD_redset_config_t given = {0};
    rset_config          config;
    rset_err             err = RSET_ERR_NONE, late = RSET_ERR_NONE;
    bool                 link = false;
    char                *path = NULL;
    hid_t                lower = H5I_INVALID_HID, records;
    herr_t               ret = -1;

    if (rset_path_absolute(name, &path, &err) == RSET_OK &&
        rset_path_is_link(name, &link, &err) == RSET_OK &&
        rset_fapl_read(fapl, &given, &config, &err) == RSET_OK &&
        rset_fapl_lower(fapl, &given, &lower, &err) == RSET_OK) {
        if (rset_together_end(path, &late) != RSET_OK)
            rset_h5err_warn(late.text);
        rset_background_wait(path);
        while (rset_background_take(path, &late) != RSET_OK)
            rset_h5err_warn(late.text); /* no reason to keep it */
        ret = H5FDdelete(name, lower);
    }
    records = rset_h5err_take();
    if (ret >= 0 && !link && rset_session_delete(&config, path, &err) != RSET_OK)
        ret = -1;
    if (lower > 0)
        (void)H5Idec_ref(lower);
    rset_fapl_drop(&given);
    free(path);
    rset_h5err_put(records);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_CANTDELETEFILE, &err);
    return ret;
}

/* ---- others ---- */

int
rset_handle_compare(const rset_handle *a, const rset_handle *b)
{
    if (a->lower != NULL && b->lower != NULL)
        return H5FDcmp(a->lower, b->lower);
    if (a->lower == NULL && b->lower == NULL)
        return strcmp(a->path, b->path);
    return a->lower == NULL ? -1 : 1; /* one path is missing, so it is not the open file */
}
