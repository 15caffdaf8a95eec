/* store_access.c: who may read and write a file (store.h). Below store.c, which creates files; other attributes are in store_attrs.c.
 *
 * A file may hold content that its origin keeps from others, so it is created at most as open as that, and made as open
 * as that afterwards. Of the group bits only those count at first that everybody has: the new file's group may be another. */
#include "store_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static uint32_t
of_group(uint32_t mode)
{
    return mode >> 3 & 7;
}

static uint32_t
of_others(uint32_t mode)
{
    return mode & 7;
}

/* What anybody may do, whichever groups he is in. */
static uint32_t
of_anybody(uint32_t mode)
{
    return of_group(mode) & of_others(mode);
}

static uint32_t
with_owner(uint32_t owner, uint32_t group, uint32_t others)
{
    return (owner & 0700) | group << 3 | others;
}

rset_access
rset_access_both(rset_access a, rset_access b)
{
    const bool alike = a.gid == b.gid || b.gid == RSET_NO_GID || a.gid == RSET_NO_GID;

    if (a.gid == RSET_NO_GID)
        a.gid = b.gid;
    a.mode = with_owner(a.mode & b.mode,
                        of_group(a.mode) & (alike ? of_group(b.mode) : of_anybody(b.mode)),
                        of_others(a.mode) & (alike ? of_others(b.mode) : of_anybody(b.mode)));
    return a;
}

rset_access
rset_access_of(const struct stat *st)
{
    return (rset_access){.mode = st->st_mode & 0777, .gid = st->st_gid};
}

bool
rset_file_access(rset_dir *dir, const char *name, rset_access *out)
{
    struct stat sb;
    bool        there;

    (void)rset_dir_find_file(dir, name, &sb, &there, NULL);
    if (there)
        *out = rset_access_of(&sb);
    return there;
}

mode_t
rset_access_first_mode(const rset_access *access)
{
    const uint32_t any =
        of_anybody(access->mode) & 4; /* what everybody can write counts for nobody (N7) */

    return with_owner(0600, any, any);
}

/* Root follows what is recorded only where nobody else can have written the records: whoever can write a redundancy file
 * can have it record any group. */
static bool
may_give_group(const rset_file *file, uint32_t gid)
{
    if (rset_user() != 0)
        return true;
    return file->has_home && (file->home.st_gid == gid ||
                              (file->home.st_uid == 0 && (file->home.st_mode & 022) == 0));
}

/* Has the file the group now? */
bool
rset_access_give_group(const rset_file *file, uint32_t gid, uint32_t has)
{
    return gid == has ||
           (gid != RSET_NO_GID && rset_sys_now->fchown(file->fd, (uid_t)-1, gid) == 0);
}

/* The mode, of a file that has the group or has not, in the place of the one that it has now. */
int
rset_access_set_mode(const rset_file *file, rset_access access, bool has_group, mode_t now)
{
    const uint32_t any = of_anybody(access.mode);
    const uint32_t mode = has_group ? access.mode : with_owner(access.mode, any, any);
    int            rc = 0;

    while (mode != (now & 07777) && (rc = rset_sys_now->fchmod(file->fd, mode)) < 0 &&
           errno == EINTR)
        continue;
    return rc;
}

/* Group first, then the mode: at no moment is more permitted than in the end. */
int
rset_access_set(const rset_file *file, rset_access access, const struct stat *now)
{
    const bool may = now->st_gid == access.gid || may_give_group(file, access.gid);

    return rset_access_set_mode(
        file, access, may && rset_access_give_group(file, access.gid, now->st_gid), now->st_mode);
}

void
rset_file_follow(rset_file *file, rset_access origin)
{
    struct stat now;

    origin.mode = (origin.mode & 0064) | 0600;
    if (rset_sys_now->fstat(file->fd, &now) == 0)
        (void)rset_access_set(file, origin, &now);
}
