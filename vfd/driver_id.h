/* driver_id.h: under which id HDF5 knows the driver. */
#ifndef RSET_DRIVER_ID_H
#define RSET_DRIVER_ID_H

#include "common/err.h"

#include <H5FDdevelop.h>

/* The id, whoever has registered the driver: HDF5, which has loaded it as a plugin, or this. Where nobody has, `class` is
 * registered now; NULL: it is not, and the answer is H5I_INVALID_HID, which no property list has. */
hid_t rset_driver_id(const H5FD_class_t *class);

/* Does HDF5 use this copy of the library, or none yet? Each has its own state: RSET_USAGE where a program is linked with one file, and
 * HDF5 has loaded another one, which the message names. Between rset_h5err_enter and _leave. Local. */
rset_status rset_driver_check(rset_err *err);

/* HDF5 has asked the class of this copy about no file in particular: only so it can be told from another copy's. */
void rset_driver_note_asked(void);

/* HDF5 has ended, and its ids with it. */
void rset_driver_forget(void);

#endif
