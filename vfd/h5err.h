/* h5err.h: the one place where an rset_err becomes an HDF5 error record, and where the driver speaks.
 *
 * Every public H5 call that a slot makes clears the error stack of the thread and, when it fails,
 * prints that stack. So a slot that makes such calls puts them between rset_h5err_enter and
 * rset_h5err_leave: records that were there before stay, nothing is printed on the way, and what was
 * pushed in between (the lower driver's records too) stays only if the slot fails. Inside, release
 * first and push last, or keep records over a release with rset_h5err_take and rset_h5err_put. */
#ifndef RSET_H5ERR_H
#define RSET_H5ERR_H

#include "common/err.h"

#include <hdf5.h>
#include <stdbool.h>

typedef struct rset_h5err_scope {
    hid_t    earlier; /* records that were on the stack, H5I_INVALID_HID: none */
    unsigned is_v2;   /* which of the two kinds of printing function is set */
    union {
#ifndef H5_NO_DEPRECATED_SYMBOLS
        H5E_auto1_t v1;
#endif
        H5E_auto2_t v2;
    } print;
    void *print_arg;
} rset_h5err_scope;

void rset_h5err_enter(rset_h5err_scope *scope);
void rset_h5err_leave(rset_h5err_scope *scope, bool failed);

/* Takes all records off the stack / puts them back (below nothing: the stack is replaced). */
hid_t rset_h5err_take(void);
void  rset_h5err_put(hid_t records);

/* What the innermost of these records says, "" if there are none. */
void rset_h5err_first(hid_t records, char *buf, size_t size);

/* Does HDF5 only ask? It pauses error records around an open that may well fail: before H5Fcreate, and
 * when it looks for the target of an external link or a virtual dataset in one place after another.
 * Known since 1.14.5, false before. */
bool rset_h5err_paused(void);

/* Pushes `err` as a record of class "redset", with rank and host (this process's unless the message
 * says where it comes from). Its minor number is that of its status where H5FDredset.h has one (H5FD_redset_reason_t), else
 * `minor`. Does nothing for an empty err. */
void rset_h5err_push(const char *file, const char *func, unsigned line, hid_t major, hid_t minor,
                     const rset_err *err);
#define RSET_H5ERR_PUSH(major, minor, err)                                                         \
    rset_h5err_push(__FILE__, __func__, __LINE__, (major), (minor), (err))

/* Says something that did not fail the call: to stderr, "redset: " in front, each text once per
 * process. Called from close and from changes only, because HDF5 may call open for a mere question and tools and tests read
 * stderr (T12). Else only rset_h5err_leave prints: what was refused, once for each kind of file, where the program has muted HDF5's
 * own printing. */
void rset_h5err_warn(const char *text);

/* The same of what each rank may have to say, with rank and host as for rset_h5err_push. */
void rset_h5err_warn_here(const rset_err *err);

/* And once only for all that differ in numbers. */
void rset_h5err_warn_once(const rset_err *err);

/* The driver is about to be unregistered: ids of HDF5 are void. */
void rset_h5err_terminate(void);

#endif
