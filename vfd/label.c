/* label.c: H5FDredset_label, see include/H5FDredset.h. */
#include "H5FDredset.h"
#include "file_id.h"
#include "h5err.h"

herr_t
H5FDredset_label(hid_t file_id, const char *text)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_handle     *handle;

    rset_h5err_enter(&scope);
    handle = rset_file_id_find(file_id, "H5FDredset_label", "gets no label", &err);
    if (handle != NULL)
        (void)rset_session_label(handle->session, text, &err);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
    rset_h5err_leave(&scope, err.status != RSET_OK);
    if (err.status != RSET_OK)
        rset_h5err_report();
    return err.status == RSET_OK ? 0 : -1;
}
