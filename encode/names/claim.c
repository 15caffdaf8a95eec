/* claim.c: see claim.h. */
#include "claim.h"

#include "common/thread.h"
#include "names.h"

#include <stdlib.h>

static const struct kind {
    rset_guard  which;
    bool        exclusive;
    const char *in_the_way; /* what the other one does */
} kinds[] = {
    [RSET_CLAIM_USE] = {RSET_GUARD_USED, false,
                        "h5redset, on this host, is replacing, renaming or protecting it"},
    [RSET_CLAIM_ALONE] = {RSET_GUARD_USED, true, "a program on this host has it open to change it"},
    [RSET_CLAIM_COMMIT] =
        {RSET_GUARD_COMMITTED, true,
         "another process on this host is protecting a file of this name; two jobs "
         "must not write the same files at once"},
    [RSET_CLAIM_REPAIR] = {RSET_GUARD_REPAIRED, true,
                           "another process on this host has been repairing it for a long time; is "
                           "it stopped? End it, or let it go on, and open the file again"},
};

/* One that may not be written has nobody who changes it. */
static rset_status
open_names(rset_dir *dir, const char *name, bool exclusive, rset_file **out)
{
    rset_err          ignored = RSET_ERR_NONE;
    const rset_status st = exclusive ? rset_file_open_update(dir, name, out, &ignored)
                                     : rset_file_open(dir, name, out, &ignored);

    return st == RSET_NOMEM ? st : RSET_OK;
}

rset_status
rset_claim(rset_dir *dir, const char *prefix, const char *path, rset_claim_kind kind,
           rset_file **claim_out, rset_err *err)
{
    enum { TRIES = 100 }; /* it may be replaced between the open and the lock */
    const struct kind *k = &kinds[kind];
    char              *name = rset_join_names(prefix, RSET_NAME_NAMES);
    bool               free_to = true, has_name = false;
    rset_status        st = name != NULL ? RSET_OK : RSET_NOMEM;

    *claim_out = NULL;
    for (int i = 0; st == RSET_OK && free_to && *claim_out == NULL && i < TRIES; i++) {
        rset_file *file = NULL;

        st = open_names(dir, name, k->exclusive, &file);
        if (file == NULL)
            break;
        free_to = rset_file_guard_as(file, k->which, k->exclusive);
        if (free_to)
            st = rset_file_has_name(dir, name, file, &has_name, err);
        if (st == RSET_OK && free_to && has_name)
            *claim_out = file;
        else
            (void)rset_file_close(file, NULL);
    }
    free(name);
    if (st == RSET_NOMEM)
        return rset_fail(err, st, "%s: no memory to open its names file", path);
    if (st != RSET_OK)
        return st;
    return free_to ? RSET_OK : rset_fail(err, RSET_BUSY, "%s: %s", path, k->in_the_way);
}

bool
rset_claim_is_held(rset_dir *dir, const char *prefix, rset_claim_kind kind)
{
    char      *name = rset_join_names(prefix, RSET_NAME_NAMES);
    rset_file *file = NULL;
    const bool is = name != NULL && rset_file_open(dir, name, &file, NULL) == RSET_OK &&
                    rset_file_is_guarded(file, kinds[kind].which);

    (void)rset_file_close(file, NULL);
    free(name);
    return is;
}

rset_status
rset_claim_check_commit(rset_dir *dir, const char *prefix, const char *path, rset_err *err)
{
    return rset_claim_is_held(dir, prefix, RSET_CLAIM_COMMIT)
               ? rset_fail(err, RSET_BUSY, "%s: %s", path, kinds[RSET_CLAIM_COMMIT].in_the_way)
               : RSET_OK;
}

rset_status
rset_claim_to_repair(rset_dir *dir, const char *prefix, const char *path, int seconds,
                     rset_file **claim_out, rset_err *err)
{
    enum { MOMENT = 5, PER_SECOND = 1000 / MOMENT }; /* ms between two tries */
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_BUSY;

    for (int i = 0; st == RSET_BUSY && i < seconds * PER_SECOND; i++) {
        if (i > 0)
            rset_thread_nap(MOMENT);
        own = RSET_ERR_NONE;
        st = rset_claim(dir, prefix, path, RSET_CLAIM_REPAIR, claim_out, &own);
    }
    return st == RSET_OK ? st : rset_fail_as(err, &own);
}

void
rset_claim_end(rset_file *claim)
{
    if (claim == NULL)
        return;
    rset_file_unguard(claim);
    (void)rset_file_close(claim, NULL);
}
