/* local.c: which files are those of a rank, and where they are. See member.h. */
#include "member.h"
#include "placeholder.h"

#include <string.h>

const char *
rset_local_name(const rset_local *local)
{
    if (local->nfiles > 0 && local->paths != NULL)
        return local->paths[0];
    return local->nfiles > 0 ? local->names[0] : local->prefix;
}

rset_dir *
rset_local_dir(const rset_local *local, int i)
{
    return local->dir != NULL && local->dirs != NULL ? local->dirs[i] : local->dir;
}

rset_file_attrs
rset_recorded_attrs(const rset_attrs *recorded)
{
    return (rset_file_attrs){.mode = recorded->mode,
                             .uid = recorded->uid,
                             .gid = recorded->gid,
                             .atime_secs = recorded->atime_secs,
                             .atime_nsecs = recorded->atime_nsecs,
                             .mtime_secs = recorded->mtime_secs,
                             .mtime_nsecs = recorded->mtime_nsecs};
}

rset_access
rset_recorded_access(const rset_attrs *recorded)
{
    const rset_file_attrs attrs = rset_recorded_attrs(recorded);

    return rset_file_attrs_access(&attrs);
}

rset_file_attrs
rset_local_attrs(const rset_local *local, int i, const rset_attrs *recorded)
{
    rset_file_attrs attrs = rset_recorded_attrs(recorded);
    struct stat     sb;
    bool            there = false;

    if (i < local->nfiles && rset_local_dir(local, i) != NULL)
        (void)rset_dir_find_file(rset_local_dir(local, i), local->names[i], &sb, &there, NULL);
    if (there && !rset_placeholder_has_name(rset_local_dir(local, i), local->names[i])) {
        attrs.mode = sb.st_mode;
        attrs.uid = sb.st_uid;
        attrs.gid = sb.st_gid;
    }
    return attrs;
}

rset_access
rset_local_access_of(const rset_local *local, const rset_info *recorded)
{
    rset_access all = RSET_ACCESS_ALL;

    for (int i = 0; i < local->nfiles; i++) {
        const char *name = i == 0 && local->shadow != NULL ? local->shadow : local->names[i];
        rset_dir   *dir = rset_local_dir(local, i);
        rset_access one = RSET_ACCESS_ALL;

        if ((dir == NULL || !rset_file_access(dir, name, &one)) && recorded != NULL &&
            i < recorded->nfiles)
            one = rset_recorded_access(&recorded->files[i].attrs);
        all = rset_access_both(all, one);
    }
    return all;
}

rset_access
rset_local_access(const rset_local *local)
{
    return rset_local_access_of(local, NULL);
}

static bool
is_among_first(const rset_local *local, int n, const rset_dir *dir)
{
    for (int i = 0; i < n; i++)
        if (local->dirs[i] == dir)
            return true;
    return dir == local->dir;
}

rset_status
rset_local_sync(const rset_local *local, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && local->dirs != NULL && i < local->nfiles; i++)
        if (local->dirs[i] != NULL && !is_among_first(local, i, local->dirs[i]))
            st = rset_dir_sync(local->dirs[i], err);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

/* How many names at the end of the paths are the same. */
static int
names_alike(const char *a, const char *b)
{
    size_t i = strlen(a), k = strlen(b);
    int    alike = 0;

    while (i > 0 && k > 0 && a[i - 1] == b[k - 1]) {
        alike += a[i - 1] == '/';
        i--;
        k--;
    }
    return alike + (i == 0 && k == 0);
}

static bool
is_in_place(const rset_local *local, const rset_info *info, int i)
{
    const int alike = names_alike(local->paths[i], info->files[i].path);

    for (int k = 0; k < local->nfiles; k++)
        if (names_alike(local->paths[i], info->files[k].path) > alike)
            return false;
    return strcmp(rset_path_base(info->files[i].path), local->names[i]) == 0;
}

int
rset_local_misplaced(const rset_local *local, const rset_info *info)
{
    for (int i = 0; local->nfiles > 1 && i < local->nfiles; i++)
        if (!is_in_place(local, info, i))
            return i;
    return -1;
}

bool
rset_local_gone(const rset_local *local)
{
    struct stat sb;

    for (int i = 0; i < local->nfiles; i++)
        if (rset_local_dir(local, i) != NULL &&
            rset_dir_stat(rset_local_dir(local, i), local->names[i], &sb, NULL) != RSET_ABSENT)
            return false;
    return true;
}

bool
rset_evidence_gone(const rset_local *local, const rset_evidence *ev)
{
    return !ev->placeholder && !ev->undo.aside && rset_local_gone(local);
}

rset_status
rset_local_there(const rset_local *local, bool *there_out, rset_err *err)
{
    struct stat sb;
    rset_status st = RSET_OK;

    *there_out = true;
    for (int i = 0; st == RSET_OK && *there_out && i < local->nfiles; i++)
        if (rset_local_dir(local, i) == NULL)
            *there_out = false;
        else
            st = rset_dir_find_file(rset_local_dir(local, i), local->names[i], &sb, there_out, err);
    return st;
}
