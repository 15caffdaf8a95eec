/* H5FDredset.c: the driver as HDF5 sees it. Start here: the class table, then its slots in that order.
 *
 * The driver stands on another one (sec2 unless configured) and keeps out of the way: what a slot does
 * beyond passing the call on is decided by the session of the file (session.h), asked in handle.c. A
 * file is plain HDF5, nothing of ours is in it, and with the flags, the free-list map and the close
 * degree of sec2 HDF5 treats it the same. Vector and selection slots stay empty on purpose: defining
 * one turns selection I/O on (T14). */
#include "handle.h"

#include "async.h"
#include "call.h"
#include "comm/comm.h"
#include "commit.h"
#include "content.h"
#include "driver_id.h"
#include "file_id.h"
#include "h5err.h"
#include "inherited.h"

#include <H5PLextern.h>
#include <sys/types.h>

#define MAXADDR (((haddr_t)1 << (8 * sizeof(off_t) - 1)) - 1)

/* What sec2 says of itself, for questions about no file in particular. */
#define SEC2_FLAGS                                                                                 \
    (H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |         \
     H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |  \
     H5FD_FEAT_DEFAULT_VFD_COMPATIBLE)

static herr_t  H5FD__redset_terminate(void);
static void   *H5FD__redset_fapl_get(H5FD_t *file);
static H5FD_t *H5FD__redset_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr);
static herr_t  H5FD__redset_close(H5FD_t *file);
static int     H5FD__redset_cmp(const H5FD_t *a, const H5FD_t *b);
static herr_t  H5FD__redset_query(const H5FD_t *file, unsigned long *flags);
static haddr_t H5FD__redset_get_eoa(const H5FD_t *file, H5FD_mem_t type);
static herr_t  H5FD__redset_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr);
static haddr_t H5FD__redset_get_eof(const H5FD_t *file, H5FD_mem_t type);
static herr_t  H5FD__redset_get_handle(H5FD_t *file, hid_t fapl, void **file_handle);
static herr_t  H5FD__redset_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                                 size_t size, void *buf);
static herr_t  H5FD__redset_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                                  size_t size, const void *buf);
static herr_t  H5FD__redset_flush(H5FD_t *file, hid_t dxpl, bool closing);
static herr_t  H5FD__redset_truncate(H5FD_t *file, hid_t dxpl, bool closing);
static herr_t  H5FD__redset_lock(H5FD_t *file, bool rw);
static herr_t  H5FD__redset_unlock(H5FD_t *file);
static herr_t  H5FD__redset_delete(const char *name, hid_t fapl);
static herr_t  H5FD__redset_ctl(H5FD_t *file, uint64_t op, uint64_t flags, const void *input,
                                void **output);

static const H5FD_class_t redset_class = {
    .version = H5FD_CLASS_VERSION,
    .value = H5FD_REDSET_VALUE,
    .name = H5FD_REDSET_NAME,
    .maxaddr = MAXADDR,
    .fc_degree = H5F_CLOSE_WEAK, /* HDF5's own programs need it (T2) */
    .terminate = H5FD__redset_terminate,
    .fapl_size = sizeof(H5FD_redset_config_t),
    .fapl_get = H5FD__redset_fapl_get,
    .fapl_copy = rset_fapl_copy,
    .fapl_free = rset_fapl_free,
    .open = H5FD__redset_open,
    .close = H5FD__redset_close,
    .cmp = H5FD__redset_cmp,
    .query = H5FD__redset_query,
    .get_eoa = H5FD__redset_get_eoa,
    .set_eoa = H5FD__redset_set_eoa,
    .get_eof = H5FD__redset_get_eof,
    .get_handle = H5FD__redset_get_handle,
    .read = H5FD__redset_read,
    .write = H5FD__redset_write,
    .flush = H5FD__redset_flush,
    .truncate = H5FD__redset_truncate,
    .lock = H5FD__redset_lock,
    .unlock = H5FD__redset_unlock,
    .del = H5FD__redset_delete,
    .ctl = H5FD__redset_ctl,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* ---- registration ---- */

/* What HDF5 looks for when it loads a file as a plugin; declared in H5PLextern.h. */
H5FD_REDSET_EXPORT H5PL_type_t
H5PLget_plugin_type(void)
{
    return H5PL_TYPE_VFD;
}

H5FD_REDSET_EXPORT const void *
H5PLget_plugin_info(void)
{
    return &redset_class;
}

hid_t
H5FD_redset_init(void)
{
    return rset_driver_id(&redset_class);
}

static herr_t
H5FD__redset_terminate(void)
{
    rset_driver_forget();
    rset_h5err_terminate();
    rset_async_speak_all(); /* the process may be about to exit */
    return 0;
}

/* ---- property list ---- */

/* The settings a file was opened with, for those opened through it (T15). Where they are the usual ones
 * nothing has to be told, and the list of H5Fget_access_plist equals the one given to H5Fopen, as with
 * sec2. */
static void *
H5FD__redset_fapl_get(H5FD_t *file)
{
    const rset_handle *handle = (const rset_handle *)file;

    return handle->as_default ? NULL : rset_fapl_copy(&handle->given);
}

herr_t
H5Pset_fapl_redset(hid_t fapl_id, const H5FD_redset_config_t *config)
{
    H5FD_redset_config_t own = {0};
    rset_h5err_scope     scope;
    rset_err             err = RSET_ERR_NONE;
    rset_status          st;
    hid_t                records;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK && H5Pisa_class(fapl_id, H5P_FILE_ACCESS) <= 0)
        st = rset_fail(&err, RSET_USAGE, "not a file access property list");
    if (st == RSET_OK)
        st = rset_fapl_prepare(config, "H5Pset_fapl_redset", &own, &err);
    if (st == RSET_OK && H5Pset_driver(fapl_id, H5FD_REDSET, &own) < 0)
        st = rset_fail(&err, RSET_USAGE, "the property list does not take the driver");
    records = rset_h5err_take();
    rset_fapl_drop(&own);
    if (st != RSET_OK) {
        rset_h5err_put(records);
        RSET_H5ERR_PUSH(H5E_PLIST, H5E_BADVALUE, &err);
    } else if (records > 0)
        (void)H5Eclose_stack(records);
    return rset_call_end(&scope, st != RSET_OK);
}

herr_t
H5Pget_fapl_redset(hid_t fapl_id, H5FD_redset_config_t *config_out)
{
    H5FD_redset_config_t given;
    rset_config          config;
    rset_h5err_scope     scope;
    rset_err             err = RSET_ERR_NONE;
    rset_status          st;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK && (config_out == NULL || H5Pisa_class(fapl_id, H5P_FILE_ACCESS) <= 0 ||
                          H5Pget_driver(fapl_id) != H5FD_REDSET))
        st = rset_fail(&err, RSET_USAGE, "not a file access property list with the redset driver");
    if (st == RSET_OK)
        st = rset_fapl_read(fapl_id, &given, &config, &err);
    if (st == RSET_OK) {
        st = rset_fapl_give(&given, config_out, &err);
        rset_fapl_drop(&given); /* the property list has references of its own */
    }
    if (st != RSET_OK)
        RSET_H5ERR_PUSH(H5E_PLIST, H5E_BADVALUE, &err);
    return rset_call_end(&scope, st != RSET_OK);
}

/* ---- open and close ---- */

static void
say_long_wait(const char *text)
{
    char line[RSET_ERR_TEXT];

    snprintf(line, sizeof line,
             "waiting %.800s; if it is not one file per rank, name those that are with files=GLOB "
             "in HDF5_DRIVER_CONFIG",
             text);
    rset_h5err_warn(line);
}

static H5FD_t *
H5FD__redset_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    rset_h5err_scope scope;
    rset_handle     *handle;

    rset_comm_on_long_wait(say_long_wait);
    rset_h5err_enter(&scope);
    handle = rset_handle_open(name, flags, fapl, maxaddr);
    rset_h5err_leave(&scope, handle == NULL);
    return (H5FD_t *)handle;
}

static herr_t
H5FD__redset_close(H5FD_t *file)
{
    rset_h5err_scope scope;
    char             warning[RSET_ERR_TEXT];
    herr_t           ret;

    rset_h5err_enter(&scope);
    ret = rset_handle_close((rset_handle *)file, warning);
    rset_h5err_leave(&scope, ret < 0);
    if (warning[0] != '\0')
        rset_h5err_warn(warning);
    rset_async_speak();
    return ret;
}

/* ---- questions about the file ---- */

static int
H5FD__redset_cmp(const H5FD_t *a, const H5FD_t *b)
{
    rset_h5err_scope scope;
    int              ret;

    rset_h5err_enter(&scope);
    ret = rset_handle_compare((const rset_handle *)a, (const rset_handle *)b);
    rset_h5err_leave(&scope, false);
    return ret;
}

static herr_t
H5FD__redset_query(const H5FD_t *file, unsigned long *flags)
{
    const rset_handle *handle = (const rset_handle *)file;
    rset_h5err_scope   scope;
    unsigned long      lower = SEC2_FLAGS;
    herr_t             ret = 0;

    if (handle == NULL)
        rset_driver_note_asked();
    else {
        rset_h5err_enter(&scope);
        if (handle->lower != NULL)
            ret = H5FDquery(handle->lower, &lower);
        else
            ret = H5FDdriver_query(H5Pget_driver(handle->lower_fapl), &lower);
        rset_h5err_leave(&scope, ret < 0);
        /* With it HDF5 wants to find what is open under the name that the program gave, if that is a link. */
        if (handle->older || handle->config.fallback || rset_handle_is_shadow(handle))
            lower &= ~(unsigned long)H5FD_FEAT_POSIX_COMPAT_HANDLE;
    }
    if (flags != NULL) /* with HAS_MPI HDF5 would take the file for one shared by all ranks */
        *flags = lower & ~(unsigned long)H5FD_FEAT_HAS_MPI;
    return ret;
}

static haddr_t
H5FD__redset_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const rset_handle *)file)->eoa;
}

static herr_t
H5FD__redset_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    rset_handle     *handle = (rset_handle *)file;
    rset_h5err_scope scope;
    herr_t           ret = 0;

    if (handle->lower != NULL) {
        rset_h5err_enter(&scope);
        ret = H5FDset_eoa(handle->lower, type, addr);
        rset_h5err_leave(&scope, ret < 0);
    }
    if (ret >= 0)
        handle->eoa = addr;
    return ret;
}

static haddr_t
H5FD__redset_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    rset_handle *handle = (rset_handle *)(uintptr_t)file; /* the first question may be first use */
    rset_h5err_scope scope;
    haddr_t          ret = HADDR_UNDEF;

    rset_h5err_enter(&scope);
    if (rset_handle_ready(handle) >= 0)
        ret = H5FDget_eof(handle->lower, type);
    rset_h5err_leave(&scope, ret == HADDR_UNDEF);
    return ret;
}

static herr_t
H5FD__redset_get_handle(H5FD_t *file, hid_t fapl, void **file_handle)
{
    rset_handle     *handle = (rset_handle *)file;
    rset_h5err_scope scope;
    herr_t           ret = -1;

    rset_h5err_enter(&scope);
    if (rset_file_id_asks(fapl, handle)) {
        *file_handle = handle;
        ret = 0;
    } else if (rset_handle_ready(handle) >= 0)
        ret = H5FDget_vfd_handle(handle->lower, fapl, file_handle);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

/* ---- content ---- */

static herr_t
H5FD__redset_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, void *buf)
{
    rset_h5err_scope scope;
    herr_t           ret;

    rset_h5err_enter(&scope);
    ret = rset_handle_read((rset_handle *)file, type, dxpl, addr, size, buf);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

static herr_t
H5FD__redset_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                   const void *buf)
{
    rset_h5err_scope scope;
    herr_t           ret;

    rset_h5err_enter(&scope);
    ret = rset_inherited_write((rset_handle *)file, type)
              ? 0
              : rset_handle_write((rset_handle *)file, type, dxpl, addr, size, buf);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

static herr_t
H5FD__redset_flush(H5FD_t *file, hid_t dxpl, bool closing)
{
    rset_handle     *handle = (rset_handle *)file;
    rset_h5err_scope scope;
    char             warning[RSET_ERR_TEXT];
    hid_t            records;
    herr_t           ret;

    if (handle->lower == NULL || rset_handle_is_inherited(handle))
        return 0;
    handle->ended = handle->ended || closing;
    rset_h5err_enter(&scope);
    ret = H5FDflush(handle->lower, dxpl, closing);
    records = rset_h5err_take();
    if (rset_commit_flushed(handle, ret >= 0, closing, warning) >= 0)
        rset_h5err_put(records);
    else {
        ret = -1;
        if (records > 0)
            (void)H5Eclose_stack(records);
    }
    rset_h5err_leave(&scope, ret < 0);
    if (warning[0] != '\0')
        rset_h5err_warn(warning);
    return ret;
}

static herr_t
H5FD__redset_truncate(H5FD_t *file, hid_t dxpl, bool closing)
{
    rset_h5err_scope scope;
    herr_t           ret;

    if (rset_handle_is_inherited((rset_handle *)file))
        return 0;
    rset_h5err_enter(&scope);
    ret = rset_handle_truncate((rset_handle *)file, dxpl, closing);
    rset_commit_note_truncated((rset_handle *)file, closing);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

/* ---- locks ---- */

static herr_t
H5FD__redset_lock(H5FD_t *file, bool rw)
{
    rset_h5err_scope scope;
    herr_t           ret;

    rset_h5err_enter(&scope);
    ret = rset_handle_lock((rset_handle *)file, rw);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

static herr_t
H5FD__redset_unlock(H5FD_t *file)
{
    rset_h5err_scope scope;
    herr_t           ret;

    if (rset_handle_is_inherited(
            (rset_handle *)file)) /* a lock is of all that share the descriptor */
        return 0;
    rset_h5err_enter(&scope);
    ret = rset_handle_unlock((rset_handle *)file);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

/* ---- others ---- */

static herr_t
H5FD__redset_delete(const char *name, hid_t fapl)
{
    rset_h5err_scope scope;
    herr_t           ret;

    rset_h5err_enter(&scope);
    ret = rset_handle_delete(name, fapl);
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}

/* Nothing of our own yet; what is below may know it. */
static herr_t
H5FD__redset_ctl(H5FD_t *file, uint64_t op, uint64_t flags, const void *input, void **output)
{
    rset_handle     *handle = (rset_handle *)file;
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    herr_t           ret = 0;

    rset_h5err_enter(&scope);
    if (handle != NULL && handle->lower != NULL)
        ret = H5FDctl(handle->lower, op, flags, input, output);
    else if (flags & H5FD_CTL_FAIL_IF_UNKNOWN_FLAG) {
        (void)rset_fail(&err, RSET_USAGE, "driver control operation %llu is unknown",
                        (unsigned long long)op);
        RSET_H5ERR_PUSH(H5E_VFL, H5E_FCNTL, &err);
        ret = -1;
    }
    rset_h5err_leave(&scope, ret < 0);
    return ret;
}
