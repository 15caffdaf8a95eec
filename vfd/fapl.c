/* fapl.c: see fapl.h and include/H5FDredset.h. */
#include "fapl.h"

#include "comm/mpi/comm_mpi.h"
#include "driver_id.h"
#include "given.h"
#include "h5err.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process without MPI loads us as well: no symbol of MPI may be needed. Behind rset_mpi_usable(). */
#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_null
#endif

/* MPI_COMM_NULL is no constant everywhere: without MPI it may read as zero. */
static bool
is_given(MPI_Comm comm)
{
    MPI_Comm zero;

    memset(&zero, 0, sizeof zero);
    return comm != zero && comm != MPI_COMM_NULL;
}

/* Ours for the communicator given to `call`: the program may free its own. */
static rset_status
comm_for(MPI_Comm given, double timeout, const char *call, MPI_Comm *out, rset_err *err)
{
    char called[128];

    if (!rset_mpi_usable())
        return rset_fail(err, RSET_USAGE,
                         "a communicator is given, but MPI cannot be used now: call %s between "
                         "MPI_Init and MPI_Finalize",
                         call);
    snprintf(called, sizeof called, "called %s, which is collective over it", call);
    return rset_mpi_shared(&given, timeout, called, out, err);
}

/* ---- structs of programs, which may have been compiled with another header ---- */

/* Bytes of the first version. */
enum { FIRST = offsetof(H5FD_redset_config_t, parity) };

/* Is it such a struct, with nothing that this driver does not know? Members of a later version that are zero say nothing. */
static bool
is_readable(const H5FD_redset_config_t *given)
{
    const char *bytes = (const char *)given;

    if (given->magic != H5FD_REDSET_CONFIG_MAGIC || given->version != H5FD_REDSET_CONFIG_VERSION ||
        given->size < FIRST)
        return false;
    for (size_t i = sizeof *given; i < given->size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* The settings of a program, as this driver's header has them, and then its size is this one's. False: it cannot be read, and *out has
 * only what given_to_config refuses it for. */
static bool
take_given(const H5FD_redset_config_t *given, H5FD_redset_config_t *out)
{
    const bool readable = is_readable(given);

    memset(out, 0, sizeof *out);
    if (!readable)
        memcpy(out, given, offsetof(H5FD_redset_config_t, comm));
    else
        memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    out->size = readable ? sizeof *out : out->size;
    return readable;
}

rset_status
rset_fapl_give(const H5FD_redset_config_t *own, H5FD_redset_config_t *out, rset_err *err)
{
    const size_t size = out->size < sizeof *own ? out->size : sizeof *own;

    if (size < FIRST)
        return rset_fail(err, RSET_USAGE,
                         "H5FD_redset_config_t: its size is %zu, at least %d are expected; fill it "
                         "with H5FD_redset_config_init first",
                         out->size, (int)FIRST);
    memcpy(out, own, size);
    out->size = size;
    return RSET_OK;
}

/* ---- references ---- */

static void
hold(const H5FD_redset_config_t *given)
{
    if (given->fapl_id != H5P_DEFAULT)
        (void)H5Iinc_ref(given->fapl_id);
}

void
rset_fapl_drop(H5FD_redset_config_t *given)
{
    if (given->magic != H5FD_REDSET_CONFIG_MAGIC)
        return;
    if (given->fapl_id != H5P_DEFAULT)
        (void)H5Idec_ref(given->fapl_id);
    memset(given, 0, sizeof *given);
}

void *
rset_fapl_copy(const void *fapl)
{
    const H5FD_redset_config_t *given = fapl;
    H5FD_redset_config_t       *copy = malloc(sizeof *copy);
    rset_h5err_scope            scope;

    if (copy == NULL)
        return NULL;
    if (!take_given(given, copy))
        return copy; /* nonsense, refused when it is used */
    rset_h5err_enter(&scope);
    hold(copy);
    rset_h5err_leave(&scope, false);
    return copy;
}

herr_t
rset_fapl_free(void *fapl)
{
    rset_h5err_scope scope;

    rset_h5err_enter(&scope);
    rset_fapl_drop(fapl);
    rset_h5err_leave(&scope, false);
    free(fapl);
    return 0;
}

/* ---- struct <-> rset_config ---- */

static const rset_scheme *const schemes[] = {
    [H5FD_REDSET_SINGLE] = &rset_scheme_single,
    [H5FD_REDSET_PARTNER] = &rset_scheme_partner,
    [H5FD_REDSET_XOR] = &rset_scheme_xor,
    [H5FD_REDSET_RS] = &rset_scheme_rs,
};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

int
rset_fapl_scheme_number(const rset_scheme *scheme)
{
    int n = 0;

    while (schemes[n] != scheme && n < SCHEMES - 1)
        n++;
    return n;
}

static void
config_to_given(const rset_config *config, H5FD_redset_config_t *given)
{
    memset(given, 0, sizeof *given);
    given->magic = H5FD_REDSET_CONFIG_MAGIC;
    given->version = H5FD_REDSET_CONFIG_VERSION;
    given->size = sizeof *given;
    given->comm = MPI_COMM_NULL;
    given->fapl_id = H5P_DEFAULT;
    given->timeout = config->timeout;
    given->scheme = rset_fapl_scheme_number(config->scheme);
    given->set_size = config->set_size;
    given->replicas = config->replicas;
    given->checksums = config->checksums;
    given->verify = (int)config->verify;
    given->required = config->required;
    given->atomic = config->atomic;
    given->readonly_rebuild = config->readonly_rebuild;
    given->moved = (int)config->moved;
    given->keep = config->keep == RSET_KEEP_ALL ? H5FD_REDSET_KEEP_ALL : config->keep;
    given->fallback = config->fallback;
    given->changed = config->keep_changed ? H5FD_REDSET_CHANGED_KEEP : H5FD_REDSET_CHANGED_RESTORE;
    given->commit = config->commit_flush ? H5FD_REDSET_COMMIT_FLUSH : H5FD_REDSET_COMMIT_CLOSE;
    given->async = config->async;
    memcpy(given->failure_group, config->group, sizeof given->failure_group);
    memcpy(given->files, config->files, sizeof given->files);
    memcpy(given->root, config->root, sizeof given->root);
    memcpy(given->together, config->together, sizeof given->together);
    memcpy(given->search, config->search, sizeof given->search);
    memcpy(given->report, config->report, sizeof given->report);
    memcpy(given->generation, config->generation, sizeof given->generation);
    memcpy(given->job, config->job, sizeof given->job);
    memcpy(given->team, config->team, sizeof given->team);
}

static rset_status
bad(rset_err *err, const char *field, double value, const char *possible)
{
    return rset_fail(err, RSET_USAGE, "H5FD_redset_config_t: %s cannot be %g; possible: %s", field,
                     value, possible);
}

#define TEXT(field)                                                                                \
    offsetof(H5FD_redset_config_t, field), sizeof((H5FD_redset_config_t){0}.field), #field

static const struct {
    const char *key;
    size_t      at, size;
    const char *field;
} texts[] = {
    {"group", TEXT(failure_group)},   {"files", TEXT(files)},   {"root", TEXT(root)},
    {"together", TEXT(together)},     {"search", TEXT(search)}, {"report", TEXT(report)},
    {"generation", TEXT(generation)}, {"job", TEXT(job)},       {"team", TEXT(team)},
};

/* The texts may be what they may be in a string, and mean the same. */
static rset_status
take_texts(const H5FD_redset_config_t *given, rset_config *config, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = (const char *)given + texts[i].at;

        if (strnlen(text, texts[i].size) == texts[i].size)
            return rset_fail(err, RSET_USAGE,
                             "H5FD_redset_config_t: %s has no NUL within its %zu bytes",
                             texts[i].field, texts[i].size);
        st = rset_config_set(config, texts[i].key, text, err);
    }
    return st;
}

/* Everything but the communicator, which has to stay where the caller keeps it. */
static rset_status
given_to_config(const H5FD_redset_config_t *given, rset_config *config, rset_err *err)
{
    rset_config_defaults(config);
    if (given->magic != H5FD_REDSET_CONFIG_MAGIC || given->version != H5FD_REDSET_CONFIG_VERSION)
        return rset_fail(
            err, RSET_USAGE,
            "H5FD_redset_config_t: magic %#x and version %u, expected %#x and %u; fill "
            "it with H5FD_redset_config_init first",
            given->magic, given->version, H5FD_REDSET_CONFIG_MAGIC, H5FD_REDSET_CONFIG_VERSION);
    if (given->size < FIRST)
        return rset_fail(err, RSET_USAGE,
                         "H5FD_redset_config_t: its size is %zu, at least %d are expected; fill it "
                         "with H5FD_redset_config_init first",
                         given->size, (int)FIRST);
    if (given->size != sizeof *given)
        return rset_fail(
            err, RSET_USAGE,
            "H5FD_redset_config_t: the program uses settings that this driver does not "
            "know; give it the driver of the version that it was compiled with, or a "
            "later one");
    if (given->scheme < 0 || given->scheme >= SCHEMES)
        return bad(err, "scheme", given->scheme, "those of H5FD_redset_scheme_t, 0 to 3");
    if (given->set_size < 1)
        return bad(err, "set_size", given->set_size, "1 and more");
    if (given->replicas < 1)
        return bad(err, "replicas", given->replicas, "1 and more");
    if (given->checksums < 1)
        return bad(err, "checksums", given->checksums, "1 and more");
    if (!(given->timeout > 0 && given->timeout <= 1e8))
        return bad(err, "timeout", given->timeout, "seconds, more than 0, up to 1e8");
    if (given->verify < 0 || given->verify > H5FD_REDSET_VERIFY_ALL)
        return bad(err, "verify", given->verify, "those of H5FD_redset_verify_t, 0 to 3");
    if (given->changed < 0 || given->changed > H5FD_REDSET_CHANGED_KEEP)
        return bad(err, "changed", given->changed, "those of H5FD_redset_changed_t, 0 and 1");
    if (given->moved < 0 || given->moved > H5FD_REDSET_MOVED_NO)
        return bad(err, "moved", given->moved, "those of H5FD_redset_moved_t, 0 to 2");
    if (given->commit < 0 || given->commit > H5FD_REDSET_COMMIT_FLUSH)
        return bad(err, "commit", given->commit, "those of H5FD_redset_commit_t, 0 and 1");
    if (given->keep < H5FD_REDSET_KEEP_ALL)
        return bad(err, "keep", given->keep, "1 and more, H5FD_REDSET_KEEP_ALL");
    if (given->parity < 0)
        return bad(err, "parity", given->parity, "1 and more, 0: as replicas or checksums say");
    config->scheme = schemes[given->scheme];
    config->set_size = given->set_size;
    config->replicas = given->replicas;
    config->checksums = given->checksums;
    if (given->parity > 0 && !rset_config_take_parity(config, config->scheme, given->parity))
        return bad(err, "parity", given->parity, "1 with XOR, 1 and more with PARTNER and RS, 0");
    config->timeout = given->timeout;
    config->verify = (rset_verify)given->verify;
    config->required = given->required != 0;
    config->atomic = given->atomic != 0;
    config->readonly_rebuild = given->readonly_rebuild != 0;
    config->moved = (rset_moves)given->moved;
    config->keep = given->keep == H5FD_REDSET_KEEP_ALL ? RSET_KEEP_ALL : given->keep;
    config->fallback = given->fallback != 0;
    config->keep_changed = given->changed == H5FD_REDSET_CHANGED_KEEP;
    config->commit_flush = given->commit == H5FD_REDSET_COMMIT_FLUSH;
    config->async = given->async != 0;
    if (take_texts(given, config, err) != RSET_OK)
        return err->status;
    return rset_config_check(config, err);
}

/* HDF5 itself looks at HDF5_DRIVER_CONFIG only when HDF5_DRIVER is set; whoever names this driver in
 * the program or with --vfd-name and gives no settings gets them from there as well. */
static rset_status
apply_environment(rset_config *config, rset_err *err)
{
    const char *driver = getenv("HDF5_DRIVER");
    const char *text = rset_given_env("HDF5_DRIVER_CONFIG");

    if (text == NULL ||
        (driver != NULL && *driver != '\0' && strcmp(driver, H5FD_REDSET_NAME) != 0))
        return RSET_OK;
    return rset_config_parse(config, text, err);
}

/* NULL: there is none, or no memory for it. */
static char *
get_string(hid_t fapl_id, ssize_t *size_out)
{
    ssize_t n = H5Pget_driver_config_str(fapl_id, NULL, 0);
    char   *text = n > 0 ? calloc(1, (size_t)n + 1) : NULL;

    *size_out = n;
    if (text != NULL)
        (void)H5Pget_driver_config_str(fapl_id, text, (size_t)n + 1);
    return text;
}

static rset_status
apply_string(hid_t fapl_id, rset_config *config, rset_err *err)
{
    ssize_t     n;
    char       *text = get_string(fapl_id, &n);
    rset_status st;

    if (n <= 0)
        return apply_environment(config, err);
    if (text == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for the configuration string");
    st = rset_given_is_barred(text, "HDF5_DRIVER_CONFIG") ? RSET_OK
                                                          : rset_config_parse(config, text, err);
    free(text);
    return st;
}

bool
rset_fapl_is_default(hid_t fapl_id)
{
    ssize_t n, m;
    char   *text = get_string(fapl_id, &n), *usual = get_string(H5P_FILE_ACCESS_DEFAULT, &m);
    bool    same = H5Pget_driver_info(fapl_id) == NULL &&
                ((n <= 0 && m <= 0) || (text != NULL && usual != NULL && strcmp(text, usual) == 0));

    free(text);
    free(usual);
    return same;
}

rset_status
rset_fapl_read(hid_t fapl_id, H5FD_redset_config_t *given_out, rset_config *config_out,
               rset_err *err)
{
    const H5FD_redset_config_t *given = H5Pget_driver_info(fapl_id);
    rset_status                 st;

    memset(given_out, 0, sizeof *given_out);
    if (given != NULL) {
        if ((st = given_to_config(given, config_out, err)) != RSET_OK)
            return st;
        memcpy(given_out, given, sizeof *given_out);
        hold(given_out);
    } else {
        rset_config_defaults(config_out);
        if ((st = apply_string(fapl_id, config_out, err)) != RSET_OK)
            return st;
        config_to_given(config_out, given_out);
    }
    config_out->comm = is_given(given_out->comm) ? &given_out->comm : NULL;
    return RSET_OK;
}

void *
rset_fapl_keep_comm(const void *comm)
{
    MPI_Comm *copy = comm != NULL ? malloc(sizeof *copy) : NULL;

    if (copy != NULL)
        memcpy(copy, comm, sizeof *copy);
    return copy;
}

static rset_status
check_lower(hid_t lower, rset_err *err)
{
    hid_t driver = H5Pget_driver(lower);

    if (driver < 0)
        return rset_fail(err, RSET_USAGE, "fapl_id is not a file access property list");
    if (driver == rset_driver_id(NULL))
        return rset_fail(err, RSET_USAGE,
                         "fapl_id: the lower driver is redset again; set another one, such as sec2 "
                         "with H5Pset_fapl_sec2 (H5P_DEFAULT means sec2)");
    return RSET_OK;
}

rset_status
rset_fapl_lower(hid_t fapl_id, const H5FD_redset_config_t *given, hid_t *lower_out, rset_err *err)
{
    rset_status st;
    hid_t       lower;

    if (given->fapl_id != H5P_DEFAULT) {
        if ((st = check_lower(given->fapl_id, err)) != RSET_OK)
            return st;
        (void)H5Iinc_ref(given->fapl_id);
        *lower_out = given->fapl_id;
        return RSET_OK;
    }
    if ((lower = H5Pcopy(fapl_id)) < 0 || H5Pset_fapl_sec2(lower) < 0) {
        if (lower >= 0)
            (void)H5Pclose(lower);
        return rset_fail(err, RSET_NOMEM, "cannot copy the file access property list");
    }
    *lower_out = lower;
    return RSET_OK;
}

/* ---- what applications give ---- */

void
H5FD_redset_config_fill(H5FD_redset_config_t *config, size_t size)
{
    H5FD_redset_config_t own;
    rset_config          defaults;

    if (config == NULL || size < FIRST)
        return;
    rset_config_defaults(&defaults);
    defaults.required = true; /* who writes a program for it wants to know */
    config_to_given(&defaults, &own);
    memset(config, 0, size);
    memcpy(config, &own, size < sizeof own ? size : sizeof own);
    config->size = size;
}

rset_status
rset_fapl_prepare(const H5FD_redset_config_t *theirs, const char *call, H5FD_redset_config_t *out,
                  rset_err *err)
{
    H5FD_redset_config_t whole, *given = &whole;
    rset_config          config;
    rset_status          st;

    if (theirs == NULL) {
        rset_config_defaults(&config);
        config.required = true;
        if ((st = apply_environment(&config, err)) == RSET_OK)
            config_to_given(&config, out);
        return st;
    }
    (void)take_given(theirs, given);
    if ((st = given_to_config(given, &config, err)) != RSET_OK)
        return st;
    if (given->fapl_id != H5P_DEFAULT && (st = check_lower(given->fapl_id, err)) != RSET_OK)
        return st;
    config_to_given(&config, out); /* unused bytes are zero now */
    if (is_given(given->comm) &&
        (st = comm_for(given->comm, config.timeout, call, &out->comm, err)) != RSET_OK)
        return st;
    if (given->fapl_id != H5P_DEFAULT && (out->fapl_id = H5Pcopy(given->fapl_id)) < 0) {
        out->fapl_id = H5P_DEFAULT;
        return rset_fail(err, RSET_USAGE, "fapl_id cannot be copied");
    }
    return RSET_OK;
}

rset_status
rset_fapl_settle(const H5FD_redset_config_t *given, const char *call, H5FD_redset_config_t *own_out,
                 rset_config *config_out, rset_err *err)
{
    rset_status st;

    memset(own_out, 0, sizeof *own_out);
    st = rset_fapl_prepare(given, call, own_out, err);
    if (st == RSET_OK)
        st = given_to_config(own_out, config_out, err);
    if (st == RSET_OK)
        config_out->comm = is_given(own_out->comm) ? &own_out->comm : NULL;
    return st;
}
