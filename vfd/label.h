/* label.h: H5FDredset_label, which has a file's id and wants its handle: HDF5 hands a property list through to the slot
 * get_handle, whatever drivers lie between. */
#ifndef RSET_LABEL_ASKS_H
#define RSET_LABEL_ASKS_H

#include "handle.h"

/* Does H5FDredset_label ask, by this property list? Then it knows `handle` now. Local. */
bool rset_label_asks(hid_t fapl, rset_handle *handle);

#endif
