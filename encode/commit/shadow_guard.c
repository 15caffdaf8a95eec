/* shadow_guard.c: who writes a shadow file, or begins an undo journal, and who removes one that a crashed run left: only one of them has its
 * guard. See shadow.h. */
#include "shadow.h"

#include <errno.h>

rset_status
rset_shadow_guard(const rset_local *local, const char *name, rset_file **guard_out, rset_err *err)
{
    rset_file  *file = NULL;
    bool        has_name = false;
    rset_status st = rset_file_open_update(local->dir, name, &file, err);

    if (st == RSET_OK && !rset_file_guard(file))
        st = rset_fail(err, RSET_BUSY, "%s: is being written by another process",
                       rset_file_path(file));
    if (st == RSET_OK)
        st = rset_file_has_name(local->dir, name, file, &has_name, err);
    if (st == RSET_OK && !has_name) /* while who removed it had the guard */
        st = rset_fail(err, RSET_BUSY,
                       "%s: another process has removed it before it was written, as left by one "
                       "that died; create the file again",
                       rset_file_path(file));
    if (st != RSET_OK) {
        (void)rset_file_close(file, NULL);
        file = NULL;
    }
    *guard_out = file;
    return st;
}

/* May a program have the file that could not be opened, as *own says? Not one that this process may not open: another user left it. */
static bool
may_be_used(const rset_err *own)
{
    return (own->status == RSET_IO && own->sys_errno != EACCES && own->sys_errno != EPERM) ||
           own->status == RSET_NOMEM;
}

rset_status
rset_guarded_look(rset_dir *dir, const char *name, rset_guard guard, rset_file **file_out,
                  bool *used_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    bool        has_name = true;
    rset_status st = rset_file_open_update(dir, name, file_out, &own);

    *used_out = false;
    if (st != RSET_OK)
        return may_be_used(&own) ? rset_fail_as(err, &own) : RSET_OK;
    *used_out = !rset_file_guard_as(*file_out, guard, true);
    if (!*used_out)
        st = rset_file_has_name(dir, name, *file_out, &has_name, err);
    if (st == RSET_OK && !has_name) /* removed by who had it; a program may have created another */
        st = rset_dir_find_file(dir, name, NULL, used_out, err);
    return st;
}

rset_status
rset_guarded_remove(rset_dir *dir, const char *name, rset_guard guard, bool *used_out,
                    rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_guarded_look(dir, name, guard, &file, used_out, err);

    if (st == RSET_OK && !*used_out)
        st = rset_dir_unlink(dir, name, err);
    rset_file_close(file, NULL);
    return st;
}
