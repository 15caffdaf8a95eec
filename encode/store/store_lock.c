/* store_lock.c: files that others may have open (store.h). */
#include "identity.h"
#include "store_sys.h"

bool
rset_file_guard(rset_file *file)
{
    return rset_file_guard_as(file, RSET_GUARD_WRITTEN, true);
}

rset_status
rset_file_has_name(rset_dir *dir, const char *name, rset_file *file, bool *has_out, rset_err *err)
{
    rset_identity is = {0}, has = {0};
    rset_status   st = rset_file_identity(file, &is, err);

    if (st == RSET_OK)
        st = rset_dir_identity(dir, name, &has, err);
    *has_out = rset_identity_same(&is, &has);
    return st;
}

/* NFS wants to write what is locked; elsewhere it is enough to read it, as of a file of mode 0444. */
static rset_status
open_to_lock(rset_dir *dir, const char *name, rset_file **file_out, rset_err *err)
{
    if (rset_file_open_update(dir, name, file_out, NULL) == RSET_OK)
        return RSET_OK;
    return rset_file_open(dir, name, file_out, err);
}

rset_status
rset_file_hold(rset_dir *dir, const char *name, bool exclusive, rset_file **file_out, rset_err *err)
{
    enum {
        TRIES = 100
    }; /* between the open and the lock somebody may give the name to another file */

    for (int i = 0; i < TRIES; i++) {
        rset_file  *file = NULL;
        bool        locked = false, has_name = false;
        rset_status st = open_to_lock(dir, name, &file, err);

        if (st == RSET_OK && (locked = rset_file_lock(file, exclusive)))
            st = rset_file_has_name(dir, name, file, &has_name, err);
        if (st == RSET_OK && has_name)
            *file_out = file;
        else
            (void)rset_file_close(file, NULL);
        if (st != RSET_OK || has_name)
            return st;
        if (!locked)
            break;
    }
    return rset_fail(err, RSET_BUSY, "%s/%s: a program has it open", dir->path, name);
}
