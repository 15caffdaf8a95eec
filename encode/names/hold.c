/* hold.c: one process at a time repairs what a rank has. See names.h. */
#include "names_internal.h"
#include "store/identity.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOMENT = 5 /* ms between two tries */, PER_SECOND = 1000 / MOMENT };

/* Takes the lock, if no other process has it. RSET_BUSY: one has, or what was locked has lost its name meanwhile. */
static rset_status
try(rset_dir *dir, const char *name, rset_file **held_out, rset_err *err)
{
    rset_file    *file = NULL;
    rset_identity locked, named;
    rset_status   st = rset_file_open_update(dir, name, &file, err);

    if (st == RSET_OK && !rset_file_guard(file))
        st = RSET_BUSY;
    if (st == RSET_OK) {
        locked = rset_file_identity(file);
        named = rset_dir_identity(dir, name);
        st = rset_identity_same(&locked, &named) ? RSET_OK : RSET_BUSY;
    }
    if (st == RSET_OK)
        *held_out = file;
    else
        rset_file_close(file, NULL);
    return st;
}

rset_status
rset_names_hold(rset_dir *dir, const char *prefix, int seconds, rset_file **held_out, rset_err *err)
{
    const struct timespec moment = {.tv_nsec = MOMENT * 1000000};
    char                 *name = rset_join_names(prefix, RSET_NAME_NAMES);
    rset_err              own = RSET_ERR_NONE;
    rset_status           st = RSET_BUSY;

    *held_out = NULL;
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s" RSET_NAME_NAMES ": no memory to lock it", prefix);
    for (int i = 0; st == RSET_BUSY && i < seconds * PER_SECOND; i++) {
        if (i > 0)
            nanosleep(&moment, NULL);
        st = try(dir, name, held_out, &own);
    }
    free(name);
    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st != RSET_BUSY)
        return st == RSET_OK ? st : rset_fail(err, st, "%s", own.text);
    return rset_fail(err, st,
                     "%s/%.*s: another process has been repairing this file for %d seconds; is it "
                     "stopped? End it, or let it go on, and open the file again",
                     rset_dir_path(dir), (int)strlen(prefix) - 1, prefix, seconds);
}
