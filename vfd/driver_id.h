/* driver_id.h: under which id HDF5 knows the driver. */
#ifndef RSET_DRIVER_ID_H
#define RSET_DRIVER_ID_H

#include <H5FDdevelop.h>

/* The id, whoever has registered the driver: HDF5, which has loaded it as a plugin, or this. Where nobody has, `class` is
 * registered now; NULL: it is not, and the answer is H5I_INVALID_HID, which no property list has. */
hid_t rset_driver_id(const H5FD_class_t *class);

/* HDF5 has ended, and its ids with it. */
void rset_driver_forget(void);

#endif
