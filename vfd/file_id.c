/* file_id.c: see file_id.h. */
#include "file_id.h"

#include "h5err.h"

/* A property of this name points to where the handle is wanted. */
static const char property[] = "redset_handle";

bool
rset_file_id_asks(hid_t fapl, rset_handle *handle)
{
    rset_handle **wanted = NULL;

    if (fapl <= 0 || fapl == H5P_DEFAULT || H5Pexist(fapl, property) <= 0 ||
        H5Pget(fapl, property, &wanted) < 0 || wanted == NULL)
        return false;
    *wanted = handle;
    return true;
}

static rset_handle *
ask(hid_t file_id)
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

rset_handle *
rset_file_id_find(hid_t file_id, const char *call, const char *so, rset_err *err)
{
    rset_handle *handle = ask(file_id);
    const hid_t  records = rset_h5err_take(); /* of looking for it */

    if (records > 0)
        (void)H5Eclose_stack(records);
    if (handle == NULL)
        (void)rset_fail(err, RSET_USAGE, "%s: this is no file that the driver redset has open",
                        call);
    else if (handle->session == NULL)
        (void)rset_fail(err, RSET_USAGE, "%s: is not protected, so it %s", handle->path, so);
    return handle != NULL && handle->session != NULL ? handle : NULL;
}
