/* placeholder.c: see placeholder.h. */
#include "placeholder.h"

#include <string.h>

static const char placeholder[] =
    "redset: a file of this name is being written beside this one, and takes its place when it is "
    "closed and protected.\n";

rset_status
rset_placeholder_make(const rset_local *local, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_create(local->dir, local->names[0], NULL, &file, err);

    if (st == RSET_OK)
        st = rset_file_write(file, 0, placeholder, sizeof placeholder - 1, err);
    if (rset_file_close(file, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    return st;
}

bool
rset_placeholder_is(rset_file *file)
{
    char        buf[sizeof placeholder];
    struct stat sb;
    rset_err    ignored = RSET_ERR_NONE;
    size_t      got = 0;

    return rset_file_stat(file, &sb, &ignored) == RSET_OK &&
           sb.st_size == (off_t)sizeof placeholder - 1 &&
           rset_file_read(file, 0, buf, sizeof buf, &got, &ignored) == RSET_OK &&
           got == sizeof placeholder - 1 && memcmp(buf, placeholder, got) == 0;
}

bool
rset_placeholder_has_name(rset_dir *dir, const char *name)
{
    rset_file *file = NULL;
    rset_err   ignored = RSET_ERR_NONE;
    const bool is =
        rset_file_open(dir, name, &file, &ignored) == RSET_OK && rset_placeholder_is(file);

    rset_file_close(file, NULL);
    return is;
}

void
rset_placeholder_remove(const rset_local *local)
{
    if (rset_placeholder_has_name(local->dir, local->names[0]))
        (void)rset_dir_unlink(local->dir, local->names[0], NULL);
}
