/* call.c: see call.h. */
#include "call.h"

#include "driver_id.h"

rset_status
rset_call_begin(rset_h5err_scope *scope, rset_err *err)
{
    (void)H5Eclear2(H5E_DEFAULT);
    rset_h5err_enter(scope);
    return rset_driver_check(err);
}

/* HDF5 prints for its own functions only. */
static void
print_stack(void)
{
    H5E_auto2_t print = NULL;
    void       *arg = NULL;
    unsigned    is_v2 = 1;

#ifndef H5_NO_DEPRECATED_SYMBOLS
    (void)H5Eauto_is_v2(H5E_DEFAULT, &is_v2);
#endif
    if (is_v2 && H5Eget_auto2(H5E_DEFAULT, &print, &arg) >= 0 && print != NULL)
        (void)print(H5E_DEFAULT, arg);
}

herr_t
rset_call_end(rset_h5err_scope *scope, bool failed)
{
    rset_h5err_leave(scope, failed);
    if (failed)
        print_stack();
    return failed ? -1 : 0;
}
