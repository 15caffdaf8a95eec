/* fapl.h: what a property list says, and the references that its copies share.
 *
 * The property list stores an H5FD_redset_config_t as it is. H5Pset_fapl_redset duplicates the
 * communicator and copies the lower property list once; copies of the property list hold the same
 * handles and are counted (T15), so nothing collective happens in fapl_copy. */
#ifndef RSET_FAPL_H
#define RSET_FAPL_H

#include "H5FDredset.h"
#include "config.h"

/* The settings `fapl_id` gives: its struct, else its string, else HDF5_DRIVER_CONFIG, on top of the
 * defaults. *given_out holds references (rset_fapl_drop), *config_out points into *given_out: keep
 * them together. To be called between rset_h5err_enter and _leave. */
rset_status rset_fapl_read(hid_t fapl_id, H5FD_redset_config_t *given_out, rset_config *config_out,
                           rset_err *err);
void        rset_fapl_drop(H5FD_redset_config_t *given);

/* Gives a program as much of the settings as its struct has room for, by out->size. RSET_USAGE: that is less than the first version
 * had. Holds no references. Local. */
rset_status rset_fapl_give(const H5FD_redset_config_t *own, H5FD_redset_config_t *out,
                           rset_err *err);

/* What H5Pset_fapl_redset puts into a property list for what it was given (NULL: the usual settings): with references of its
 * own (rset_fapl_drop, also after a failure). Collective where a communicator is given: messages about ranks that do not
 * come name `call`, the function that the program has called. As above. */
rset_status rset_fapl_prepare(const H5FD_redset_config_t *given, const char *call,
                              H5FD_redset_config_t *out, rset_err *err);

/* The same for a call that has no property list: *own_out holds the references, and *config_out, the settings, points into
 * it: keep them together. */
rset_status rset_fapl_settle(const H5FD_redset_config_t *given, const char *call,
                             H5FD_redset_config_t *own_out, rset_config *config_out, rset_err *err);

/* Does `fapl_id` give the settings of any new property list with this driver, and no others? As above. */
bool rset_fapl_is_default(hid_t fapl_id);

/* A property list for the lower driver, to be closed with H5Pclose: the one in `given`, else a copy
 * of `fapl_id` with sec2 in it, so that file locking and the like stay as they were set. RSET_USAGE
 * when the lower driver is redset again. As above. */
rset_status rset_fapl_lower(hid_t fapl_id, const H5FD_redset_config_t *given, hid_t *lower_out,
                            rset_err *err);

/* The H5FD_redset_scheme_t of a scheme. Pure. */
int rset_fapl_scheme_number(const rset_scheme *scheme);

/* A copy of what rset_config.comm points to, to be freed; NULL for NULL, or without memory. */
void *rset_fapl_keep_comm(const void *comm);

/* The slots fapl_copy and fapl_free. Local. */
void  *rset_fapl_copy(const void *fapl);
herr_t rset_fapl_free(void *fapl);

#endif
