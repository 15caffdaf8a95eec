/* inherited.c: see inherited.h. */
#include "inherited.h"

#include "h5err.h"

#include <stdio.h>

bool
rset_handle_is_inherited(const rset_handle *handle)
{
    return rset_session_is_inherited(handle->session);
}

bool
rset_inherited_write(const rset_handle *handle, H5FD_mem_t type)
{
    char text[RSET_ERR_TEXT];

    if (!rset_handle_is_inherited(handle))
        return false;
    snprintf(text, sizeof text,
             "%.800s: was open when this process was forked, and is its parent's: what the child "
             "writes to it is left out",
             handle->path);
    if (type != H5FD_MEM_SUPER)
        rset_h5err_warn(text);
    return true;
}

rset_status
rset_inherited_refuse(const rset_handle *handle, const char *call, rset_err *err)
{
    if (!rset_handle_is_inherited(handle))
        return RSET_OK;
    return rset_fail(err, RSET_USAGE,
                     "%s: %s: was open when this process was forked, and is its parent's", call,
                     handle->path);
}
