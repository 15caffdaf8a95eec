/* shadow_guard.c: who writes a shadow file, or begins an undo journal, and who removes one that a crashed run left: only one of them has its
 * guard. See shadow.h. */
#include "shadow.h"

rset_status
rset_shadow_guard(const rset_local *local, const char *name, rset_file **guard_out, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_open_update(local->dir, name, &file, err);

    if (st == RSET_OK && !rset_file_guard(file))
        st = rset_fail(err, RSET_BUSY, "%s: is being written by another process",
                       rset_file_path(file));
    if (st == RSET_OK &&
        !rset_file_has_name(local->dir, name, file)) /* while who removed it had the guard */
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

/* Who had the guard before has removed the file, and a program has made a new one. */
static bool
is_another(rset_dir *dir, const char *name, rset_file *file)
{
    return !rset_file_has_name(dir, name, file) && rset_dir_has_file(dir, name);
}

rset_status
rset_guarded_remove(rset_dir *dir, const char *name, rset_guard guard, bool *used_out,
                    rset_err *err)
{
    rset_file  *file = NULL;
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    *used_out = rset_file_open_update(dir, name, &file, &ignored) == RSET_OK &&
                (!rset_file_guard_as(file, guard, true) || is_another(dir, name, file));
    if (!*used_out)
        st = rset_dir_unlink(dir, name, err);
    rset_file_close(file, NULL);
    return st;
}
