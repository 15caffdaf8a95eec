/* identity.c: see identity.h. */
#include "identity.h"

rset_identity
rset_identity_of(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return (rset_identity){0};
    return (rset_identity){.device = (uint64_t)st->st_dev,
                           .inode = (uint64_t)st->st_ino,
                           .modified =
                               (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
}

bool
rset_identity_same(const rset_identity *a, const rset_identity *b)
{
    return a->inode != 0 && a->inode == b->inode && a->device == b->device;
}

bool
rset_identity_unchanged(const rset_identity *a, const rset_identity *b)
{
    return rset_identity_same(a, b) && a->modified == b->modified;
}

rset_status
rset_dir_identity(rset_dir *dir, const char *name, rset_identity *out, rset_err *err)
{
    struct stat       sb;
    bool              there = false;
    const rset_status st = rset_dir_find_file(dir, name, &sb, &there, err);

    *out = there ? rset_identity_of(&sb) : (rset_identity){0};
    return st;
}

rset_status
rset_file_identity(rset_file *file, rset_identity *out, rset_err *err)
{
    struct stat       sb;
    const rset_status st = rset_file_stat(file, &sb, err);

    *out = st == RSET_OK ? rset_identity_of(&sb) : (rset_identity){0};
    return st;
}

/* Gives the name in place of the file `was`, of what is no file, or of nothing. */
static rset_status
rename_over(rset_dir *dir, const char *from, const char *to, const rset_identity *was,
            rset_err *err)
{
    struct stat   sb = {0};
    rset_identity now;
    rset_status   st = was != NULL ? rset_dir_stat(dir, to, &sb, err) : RSET_OK;

    if (st == RSET_ABSENT)
        return rset_dir_move(dir, from, dir, to, false, err);
    now = rset_identity_of(&sb);
    if (st == RSET_OK && now.inode != 0 && !rset_identity_unchanged(&now, was))
        return RSET_BUSY;
    return st == RSET_OK ? rset_dir_rename(dir, from, to, err) : st;
}

rset_status
rset_dir_publish(rset_dir *dir, const char *from, const char *to, const rset_published *file,
                 rset_err *err)
{
    rset_identity now;
    rset_err      own = RSET_ERR_NONE;
    rset_status   st = rset_dir_identity(dir, from, &now, &own);

    if (st == RSET_OK)
        st = rset_identity_same(&now, &file->is) ? rename_over(dir, from, to, file->was, &own)
                                                 : RSET_ABSENT;
    if (st == RSET_OK)
        return RSET_OK;
    if (st == RSET_BUSY)
        return rset_fail(err, RSET_BUSY,
                         "%s/%s: another process replaced it while it was rebuilt; open it again",
                         rset_dir_path(dir), to);
    if (st != RSET_ABSENT)
        return rset_fail_as(err, &own);
    return rset_fail(err, RSET_BUSY,
                     "%s/%s: another process rebuilds this file at the same time; open it again",
                     rset_dir_path(dir), to);
}
