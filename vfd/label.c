/* label.c: H5FDredset_label, see include/H5FDredset.h. */
#include "H5FDredset.h"
#include "call.h"
#include "file_id.h"

herr_t
H5FDredset_label(hid_t file_id, const char *text)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_handle     *handle;

    handle = rset_call_begin(&scope, &err) == RSET_OK
                 ? rset_file_id_find(file_id, "H5FDredset_label", "gets no label", &err)
                 : NULL;
    if (handle != NULL)
        (void)rset_session_label(handle->session, text, &err);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
    return rset_call_end(&scope, err.status != RSET_OK);
}
