/* call.h: the beginning and the end of a function of H5FDredset.h, which the application calls directly. As a function of HDF5 it
 * begins with an empty error stack, and where it fails the stack is printed as HDF5's own would be. What HDF5 calls, the slots of the
 * driver, has neither. */
#ifndef RSET_CALL_H
#define RSET_CALL_H

#include "h5err.h"

/* As rset_h5err_enter, but no records are kept. RSET_USAGE: HDF5 uses another copy of the library (rset_driver_check), and nothing is to
 * be done but to end the call. Local. */
rset_status rset_call_begin(rset_h5err_scope *scope, rset_err *err);

/* As rset_h5err_leave. What the function returns: 0, or -1 if it `failed`. Local. */
herr_t rset_call_end(rset_h5err_scope *scope, bool failed);

#endif
