/* rename.c: protected files get other names. See protect.h.
 *
 * It is a commit under the new name, in which the shadow file is the old data file under one more name:
 *   prepare   link the data file to a shadow file of the new name; encode; vote
 *   publish   redundancy under the new name counts; the shadow file gets the new name
 *   remove    what protected the old name, on all ranks; then, on all ranks, the old name of the data. What another program had made of the
 *             data (member/newer.h) gets a new name first
 * So the old name is complete until the new one is, on all ranks; and it is never rebuilt from what is left of it, since no
 * data file loses it before all redundancy of it is gone. */
#include "commit/forget.h"
#include "commit/newer.h"
#include "protect_internal.h"

#include <stdlib.h>

/* One rank's share of it. */
typedef struct renaming {
    const rset_protect_args *args;
    const rset_local        *from;
    rset_local               to;     /* args->local with its shadow file */
    char                    *shadow; /* owned */
    rset_file               *guard;  /* held while the shadow file is one */
    rset_err                *err;
} renaming;

/* The data file's second name, beside what has the new one. */
static rset_status
name_shadow(renaming *n)
{
    rset_evidence ev = {0};
    rset_status   st = rset_survey_local(&n->to, &ev, n->err);

    if (st == RSET_OK && ev.undo.busy)
        st = rset_fail(n->err, RSET_IO, "%s: is being changed by another process: close it first",
                       rset_local_name(&n->to));
    if (st == RSET_OK)
        st = rset_shadow_begin(&n->to, &ev, &n->shadow, n->err);
    rset_evidence_free(&ev);
    return st;
}

static rset_status
begin(renaming *n)
{
    rset_status st = n->args->before;

    if (st == RSET_OK)
        st = name_shadow(n);
    if (st == RSET_OK)
        st = rset_dir_link(n->from->dir, n->from->names[0], n->to.dir, n->shadow, n->err);
    if (st != RSET_OK)
        return st;
    n->to.shadow = n->shadow;
    return rset_shadow_guard(&n->to, n->shadow, &n->guard, n->err);
}

/* The commit failed, and the old name is whole. What may be decided stays, for whoever opens the new name next. */
static void
take_back(renaming *n)
{
    const uint64_t generation = n->args->desc.generation;
    rset_evidence  ev = {0};
    rset_err       ignored = RSET_ERR_NONE;
    rset_status    st = rset_survey_local(&n->to, &ev, &ignored);
    const bool     decided =
        st != RSET_OK || ev.next == generation || rset_evidence_generation(&ev) == generation;

    n->to.shadow = n->shadow;
    if (n->shadow != NULL && !decided)
        rset_shadow_drop(&n->to);
    n->to.shadow = NULL;
    if (!decided && !ev.any && ev.next_name == NULL)
        (void)rset_forget_others(&n->to, NULL, &ignored);
    rset_evidence_free(&ev);
}

/* Durably, before the data file loses its name. What is a user's, and was put aside beside it, goes along. */
static rset_status
remove_protection(renaming *n)
{
    rset_status st = rset_changed_follow(n->from, n->args->local, n->err);

    if (st == RSET_OK)
        st = rset_unprotect(n->from, n->err);
    return st == RSET_OK ? rset_dir_sync(n->from->dir, n->err) : st;
}

static rset_status
remove_name(renaming *n)
{
    rset_status st = rset_dir_unlink(n->from->dir, n->from->names[0], n->err);

    if (st == RSET_OK)
        rset_kept_forget_named(n->from->dir, n->from->names[0]);
    return st == RSET_OK ? rset_dir_sync(n->from->dir, n->err) : st;
}

static rset_status
remove_old(renaming *n)
{
    rset_comm  *world = n->args->world;
    rset_status st = rset_agree(world, remove_protection(n), n->args->host, n->err);

    return st == RSET_OK ? rset_agree(world, remove_name(n), n->args->host, n->err) : st;
}

rset_status
rset_protect_linked(const rset_protect_args *args, const rset_local *from, rset_err *err)
{
    renaming          n = {.args = args, .from = from, .to = *args->local, .err = err};
    rset_protect_args commit = *args;
    rset_status       st;

    commit.before = begin(&n);
    commit.local = &n.to;
    commit.shadow = &n.shadow;
    commit.evidence = NULL;
    st = rset_protect(&commit, err);
    rset_file_close(n.guard, NULL);
    if (st == RSET_OK)
        st = remove_old(&n);
    else
        take_back(&n);
    free(n.shadow);
    return st;
}

rset_status
rset_protect_renamed(const rset_protect_args *args, const rset_local *from, rset_err *err)
{
    rset_protect_args commit = *args;

    commit.keep = 1; /* what had the new name goes, and so do its older generations */
    return rset_protect_linked(&commit, from, err);
}
