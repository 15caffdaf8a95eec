/* file_id.h: functions of the public header have a file's id and want its handle: HDF5 hands a property list through to the
 * slot get_handle, whatever drivers lie between. */
#ifndef RSET_FILE_ID_H
#define RSET_FILE_ID_H

#include "handle.h"

/* Does rset_file_id_find ask, by this property list? Then it knows `handle` now. Local. */
bool rset_file_id_asks(hid_t fapl, rset_handle *handle);

/* The handle of an open file; NULL, and *err says so: it is not one of this driver's, or one that nobody protects, "so it
 * `so`". `call` is the function that was called. Between rset_h5err_enter and _leave; leaves no records. Local. */
rset_handle *rset_file_id_find(hid_t file_id, const char *call, const char *so, rset_err *err);

#endif
