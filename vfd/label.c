/* label.c: see label.h and, for what applications call, include/H5FDredset.h. */
#include "label.h"

#include "H5FDredset.h"
#include "h5err.h"

#include <stdio.h>

/* A property of this name points to where the handle is wanted. */
static const char property[] = "redset_label";

bool
rset_label_asks(hid_t fapl, rset_handle *handle)
{
    rset_handle **wanted = NULL;

    if (fapl <= 0 || fapl == H5P_DEFAULT || H5Pexist(fapl, property) <= 0 ||
        H5Pget(fapl, property, &wanted) < 0 || wanted == NULL)
        return false;
    *wanted = handle;
    return true;
}

/* The handle of an open file; NULL: it is not one of this driver's. */
static rset_handle *
find(hid_t file_id)
{
    rset_handle *handle = NULL, **wanted = &handle;
    void        *ignored = NULL;
    const hid_t  fapl = H5Pcreate(H5P_FILE_ACCESS);

    if (fapl > 0 &&
        H5Pinsert2(fapl, property, sizeof wanted, &wanted, NULL, NULL, NULL, NULL, NULL, NULL) >= 0)
        (void)H5Fget_vfd_handle(file_id, fapl, &ignored);
    if (fapl > 0)
        (void)H5Pclose(fapl);
    return handle;
}

static rset_status
label(hid_t file_id, const char *text, rset_err *err)
{
    rset_handle *handle = find(file_id);

    if (handle == NULL)
        return rset_fail(err, RSET_USAGE,
                         "H5FDredset_label: this is no file that the driver redset has open");
    if (handle->session == NULL)
        return rset_fail(err, RSET_USAGE, "%s: is not protected, so it gets no label",
                         handle->path);
    return rset_session_label(handle->session, text, err);
}

herr_t
H5FDredset_label(hid_t file_id, const char *text)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_status      st;
    hid_t            records;

    rset_h5err_enter(&scope);
    st = label(file_id, text, &err);
    records = rset_h5err_take(); /* of looking for it */
    if (records > 0)
        (void)H5Eclose_stack(records);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
    rset_h5err_leave(&scope, st != RSET_OK);
    if (st != RSET_OK)
        rset_h5err_report();
    return st == RSET_OK ? 0 : -1;
}
