/* altered.c: whether somebody has written data files since they were recorded, by their times. See member.h. */
#include "member.h"

/* The modification time of a file system that keeps less of a second than the one where it was recorded. */
static bool
is_cut_off(uint64_t nsecs, uint64_t recorded)
{
    for (uint64_t unit = 10; unit <= 1000000000; unit *= 10)
        if (nsecs == recorded - recorded % unit)
            return true;
    return false;
}

static bool
is_as_recorded(const struct stat *sb, const rset_attrs *recorded)
{
    return (uint64_t)sb->st_mtim.tv_sec == recorded->mtime_secs &&
           ((uint64_t)sb->st_mtim.tv_nsec == recorded->mtime_nsecs ||
            is_cut_off((uint64_t)sb->st_mtim.tv_nsec, recorded->mtime_nsecs));
}

bool
rset_times_differ(const rset_local *local, const rset_info *info, uint64_t *when_out)
{
    struct stat sb;
    bool        differ = false;

    *when_out = 0;
    for (int i = 0; i < local->nfiles && i < info->nfiles; i++) {
        rset_dir *dir = rset_local_dir(local, i);

        if (dir == NULL || rset_dir_stat(dir, local->names[i], &sb, NULL) != RSET_OK ||
            !S_ISREG(sb.st_mode) || is_as_recorded(&sb, &info->files[i].attrs))
            continue;
        differ = true;
        if (sb.st_mtim.tv_sec > 0 && (uint64_t)sb.st_mtim.tv_sec > *when_out)
            *when_out = (uint64_t)sb.st_mtim.tv_sec;
    }
    return differ;
}

rset_status
rset_times_restore(const rset_local *local, const rset_info *info, rset_err *err)
{
    const rset_attrs *recorded = &info->files[0].attrs;
    rset_file        *file = NULL;
    struct stat       sb;
    rset_status       st = rset_file_open_update(local->dir, local->names[0], &file, err);

    if (st == RSET_OK)
        st = rset_file_stat(file, &sb, err);
    if (st == RSET_OK) {
        rset_file_attrs attrs = rset_file_attrs_of(&sb);

        attrs.mtime_secs = recorded->mtime_secs;
        attrs.mtime_nsecs = recorded->mtime_nsecs;
        st = rset_file_set_attrs(file, &attrs, err);
    }
    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    rset_file_close(file, NULL);
    return st;
}

/* Is `when` not before any recorded time? */
static bool
is_later(const rset_info *info, uint64_t when)
{
    for (int i = 0; i < info->nfiles; i++)
        if (info->files[i].attrs.mtime_secs > when)
            return false;
    return true;
}

bool
rset_is_altered(const rset_local *local, const rset_evidence *ev, const rset_info *info,
                rset_altered *out)
{
    *out = (rset_altered){0};
    if (ev->placeholder)
        return false;
    for (int i = 0; i < local->nfiles; i++)
        if (rset_local_dir(local, i) != NULL &&
            rset_dir_has_foreign(rset_local_dir(local, i), local->names[i]))
            return false;
    out->any = rset_times_differ(local, info, &out->when);
    out->longer = out->any && rset_is_only_longer(local, info);
    out->later = out->any && is_later(info, out->when);
    return out->any;
}
