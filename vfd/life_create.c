/* life_create.c: where a file is created: beside an old one that is worth something, or in place. See life.h. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>

/* A new file takes the place of an old one that is still worth something: of its own protection, or for
 * those that were protected together with it. One with several names would leave the others behind. */
static bool
shall_be_beside(const rset_life *life)
{
    const rset_evidence *ev = &life->evidence;
    struct stat          sb;

    if (!life->config.atomic || life->swmr || (!ev->any && ev->next_name == NULL) ||
        life->dir == NULL || (ev->has_header && ev->is_void && !ev->old.there))
        return false;
    return life->found == RSET_MISSING ||
           (rset_dir_stat(life->dir, life->base, &sb, NULL) == RSET_OK && sb.st_nlink == 1);
}

/* HDF5 wants to see the name after it was created; an empty file counts as lost (P2). */
static rset_status
make_placeholder(rset_life *life, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_create(life->dir, life->base, &file, err);

    return st == RSET_OK ? rset_file_close(file, err) : st;
}

/* Nothing of it is protected as far as this rank knows; it may have lost what it had, while the others create theirs
 * beside an old one. Then it says until it is protected that it is half written. */
static rset_status
create_first(rset_life *life, rset_err *err)
{
    const rset_evidence *ev = &life->evidence;
    const bool say = life->config.atomic && !life->swmr && life->dir != NULL && !ev->any &&
                     (life->found == RSET_MISSING || ev->unfinished);
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (say)
        st = rset_journal_begin_first(&life->local, &life->evidence, &life->journal, &why);
    if (st != RSET_OK && life->config.required)
        return rset_fail(err, st, "%s; atomic=no does without that file", why.text);
    life->config.atomic = false;
    return rset_life_change(life, 0, UINT64_MAX, err);
}

void
rset_life_drop_placeholder(rset_life *life)
{
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;

    if (life->beside != NULL && life->found == RSET_MISSING &&
        rset_dir_stat(life->dir, life->base, &sb, NULL) == RSET_OK && sb.st_size == 0)
        (void)rset_dir_unlink(life->dir, life->base, &ignored);
}

static rset_status
create_in_place(rset_life *life, rset_err *err)
{
    free(life->beside);
    free(life->beside_path);
    life->beside = life->beside_path = NULL;
    life->changed = false;
    life->config.atomic = false;
    return rset_life_change(life, 0, UINT64_MAX, err);
}

/* The same as go_on_without, for a file that was to be created beside the old one. What lies there stays: it may be
 * what a commit comes to. */
static rset_status
create_without(rset_life *life, const rset_err *why, rset_err *err)
{
    if (life->config.required)
        return rset_fail(err, why->status, "%s; atomic=no creates files in place", why->text);
    rset_life_no_way_back(life, why);
    rset_life_drop_placeholder(life);
    return create_in_place(life, err);
}

/* What is left of an earlier run under that name would be in the way of EXCL. */
rset_status
rset_life_begin_creation(rset_life *life, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    life->resolved = true;
    if (!shall_be_beside(life))
        return create_first(life, err);
    life->changed = true;
    life->beside = rset_beside_name(life->prefix, RSET_NAME_BESIDE);
    if (life->beside == NULL ||
        asprintf(&life->beside_path, "%s/%s", life->dir_path, life->beside) < 0)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to create it", life->path);
    st = rset_beside_make_way(&life->local, &life->evidence, &why);
    if (st == RSET_OK && (life->evidence.beside || life->evidence.waiting))
        st = rset_life_survey(life, &why);
    if (st == RSET_OK && life->found == RSET_MISSING)
        st = make_placeholder(life, &why);
    return st == RSET_OK ? RSET_OK : create_without(life, &why, err);
}

void
rset_life_drop_beside(rset_life *life)
{
    rset_err ignored = RSET_ERR_NONE;

    if (life->beside != NULL)
        (void)rset_dir_unlink(life->dir, life->beside, &ignored);
    rset_life_drop_placeholder(life);
}

rset_status
rset_life_create_in_place(rset_life *life, rset_err *err)
{
    rset_life_drop_beside(life);
    return create_in_place(life, err);
}

/* It was not even created. */
void
rset_life_drop_first(rset_life *life)
{
    rset_err ignored = RSET_ERR_NONE;

    if (life->journal != NULL && life->evidence.unfinished && life->found == RSET_MISSING &&
        !rset_dir_has_file(life->dir, life->base))
        (void)rset_old_forget(life->dir, life->prefix, &ignored);
}

rset_status
rset_life_show(rset_life *life, rset_err *err)
{
    rset_status st;

    if (life->beside == NULL)
        return RSET_OK;
    life->local.beside = life->beside;
    st = rset_put_in_place(&life->local, &life->evidence, RSET_JOURNAL_CLOSED, err);
    life->local.beside = NULL;
    free(life->beside);
    free(life->beside_path);
    life->beside = life->beside_path = NULL;
    rset_evidence_free(&life->evidence); /* of no use any more, whatever became of it */
    if (st == RSET_OK)
        st = rset_life_survey(life, err);
    if (st == RSET_OK) /* it goes on changing: not closed */
        st = rset_journal_begin(&life->local, &life->evidence, true, &life->journal, err);
    return st;
}
