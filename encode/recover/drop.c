/* drop.c: an older generation is removed on all ranks. See generations.h. */
#include "commit/kept.h"
#include "generations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool
rset_generation_is_open(const rset_local *local, uint64_t generation)
{
    char      *name = rset_name_of(RSET_NAME_DATA, local->prefix, generation);
    rset_file *file = NULL;
    const bool is =
        name != NULL && rset_file_hold(local->dir, name, true, &file, NULL) == RSET_BUSY;

    (void)rset_file_close(file, NULL);
    free(name);
    return is;
}

/* What ranks ask for, and what they have. */
typedef struct asked {
    uint64_t least, most; /* the generation that is to go */
    uint64_t newest;      /* that any rank has published */
    uint64_t there;       /* not 0: a rank has it among those that it keeps */
} asked;

static void
merge(void *into, const void *other)
{
    asked       *a = into;
    const asked *b = other;

    a->least = b->least < a->least ? b->least : a->least;
    a->most = b->most > a->most ? b->most : a->most;
    a->newest = rset_generation_newer(b->newest, a->newest) ? b->newest : a->newest;
    a->there |= b->there;
}

static uint64_t
has(const rset_drop_args *args, uint64_t generation)
{
    const rset_evidence *ev = args->evidence;

    for (size_t i = 0; i < ev->nkept; i++)
        if (ev->kept[i] == generation)
            return rset_kept_is_there(args->local, generation);
    return 0;
}

/* The same on all ranks. */
static rset_status
refuse(const rset_drop_args *args, const asked *all, rset_err *err)
{
    const char      *name = rset_local_name(args->local);
    rset_generations there;
    char             which[24];
    rset_status      st;

    if (all->least != all->most)
        return rset_fail(err, RSET_USAGE,
                         "%s: ranks mean different generations (%" PRIu64 " and %" PRIu64
                         "); nothing was removed",
                         name, all->least, all->most);
    if (all->most == all->newest && all->newest != 0)
        return rset_fail(
            err, RSET_USAGE,
            "%s: generation %" PRIu64
            " is the newest, and not removed: h5redset unprotect removes what protects "
            "the file, H5Fdelete the file as well",
            name, rset_generation_commits(all->newest));
    if (all->there != 0)
        return RSET_OK;
    rset_generations_of(args->evidence, &there);
    st = rset_generations_of_all(args->world, args->host, &there, err);
    if (st == RSET_OK && there.n == 0)
        return rset_fail(
            err, RSET_USAGE,
            "%s: no rank's file of this name is protected, so there is no generation to remove",
            name);
    snprintf(which, sizeof which, "%" PRIu64, args->generation);
    return st == RSET_OK ? rset_generations_none(&there, which, name, err) : st;
}

/* What needs space comes first, on all ranks: where one has none, nobody removes anything. */
static rset_status
detach_own(const rset_drop_args *args, rset_err *err)
{
    return args->local->dir != NULL ? rset_kept_detach(args->local, args->generation, err)
                                    : RSET_OK;
}

static rset_status
remove_own(const rset_drop_args *args, rset_err *err)
{
    rset_status st;

    if (args->local->dir == NULL)
        return RSET_OK;
    st = rset_kept_drop(args->local, args->generation, err);
    return st == RSET_OK ? rset_dir_sync(args->local->dir, err) : st;
}

rset_status
rset_generation_drop(const rset_drop_args *args, rset_err *err)
{
    const uint64_t       g = args->generation;
    asked                all = {.least = g,
                                .most = g,
                                .newest = rset_evidence_generation(args->evidence),
                                .there = has(args, g)};
    const rset_reduction what = {&all, sizeof all, merge};
    rset_status          st = args->before;

    if (st == RSET_OK && args->local->dir != NULL && rset_generation_is_open(args->local, g))
        st = rset_fail(err, RSET_BUSY,
                       "%s: generation %" PRIu64 " is open, and not removed: close it first",
                       rset_local_name(args->local), rset_generation_commits(g));
    st = rset_reduce(args->world, st, args->host, &what, err);
    if (st == RSET_OK)
        st = refuse(args, &all, err);
    if (st == RSET_OK)
        st = rset_agree(args->world, detach_own(args, err), args->host, err);
    return st == RSET_OK ? rset_agree(args->world, remove_own(args, err), args->host, err) : st;
}
