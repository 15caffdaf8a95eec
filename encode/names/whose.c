/* whose.c: whose files count beside a data file (N7). See names_internal.h.
 *
 * A directory may be everybody's (/dev/shm, /local/scratch): who may add names there must not be able to have them believed. What we
 * write belongs to the owner of the data file; where that is lost, to whoever opens it. Where a group may write the data file, and
 * nobody else can add names, what its members have written counts as well. */
#include "names_internal.h"

#include <limits.h>
#include <string.h>

/* The data file that is told by the prefix; of an older generation that has none itself, the one under the file's own name. */
static bool
find_data(rset_dir *dir, const char *prefix, const char *data, struct stat *out)
{
    char   name[NAME_MAX + 1];
    size_t n = strlen(prefix);
    bool   there = false;

    if (data != NULL && rset_dir_find_file(dir, data, out, &there, NULL) == RSET_OK && there)
        return true;
    if (n == 0 || n > sizeof name)
        return false;
    memcpy(name, prefix, n - 1);
    name[n - 1] = '\0';
    (void)rset_dir_find_file(dir, name, out, &there, NULL);
    if (there || rset_name_recorded(name) == n - 1)
        return there;
    name[rset_name_recorded(name)] = '\0';
    (void)rset_dir_find_file(dir, name, out, &there, NULL);
    return there;
}

rset_whose
rset_whose_of(rset_dir *dir, const char *prefix, const char *data)
{
    rset_whose w = {.mine = true};

    w.there = find_data(dir, prefix, data, &w.data);
    w.mine = !w.there || w.data.st_uid == rset_user();
    w.trust = (rset_trust){.uid = rset_user(), .gid = RSET_NO_GID, .word = RSET_NAMES_WORD};
    if (w.there && (w.data.st_mode & S_IWGRP) != 0 && !rset_dir_is_everybodys(dir)) {
        w.trust.uid = w.data.st_uid;
        w.trust.gid = w.data.st_gid;
    }
    rset_dir_trust(dir, &w.trust);
    return w;
}

const char *
rset_whose_not(const rset_whose *w, rset_name_kind kind, const struct stat *sb)
{
    if (!S_ISREG(sb->st_mode))
        return "is no regular file";
    if (!rset_trusts(&w->trust, sb))
        return "who does not own that file";
    if (rset_name_is_data(kind)) /* what is believed says what it has to be */
        return NULL;
    if ((sb->st_mode & S_IWOTH) != 0)
        return "can be written by everybody";
    if ((sb->st_mode & S_IWGRP) != 0 && w->there && (w->data.st_mode & S_IWGRP) == 0)
        return "can be written by a group that may not write the data file";
    return NULL;
}
