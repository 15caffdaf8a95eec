/* life_create.c: where a file is created: as a shadow file beside an old one that is worth something, or in place; and what
 * is taken back when it is not created after all. See life.h. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>

/* Is there anything that the new file would take away: its own protection, or what belongs to that of others? */
static bool
has_something_to_lose(const rset_life *life)
{
    const rset_evidence *ev = &life->evidence;

    if (life->dir == NULL || !life->config.atomic || life->swmr)
        return false;
    if (ev->has_header && ev->is_void && !ev->undo.there)
        return false; /* it changed in place, and there is no way back from that */
    return ev->any || ev->next_name != NULL;
}

/* One with several names would leave the others behind. */
static bool
has_one_name(const rset_life *life)
{
    struct stat sb;

    return life->found == RSET_MISSING ||
           (rset_dir_stat(life->dir, life->base, &sb, NULL) == RSET_OK && sb.st_nlink == 1);
}

/* Nothing of it is protected as far as this rank knows; it may have lost what it had, while the others create theirs
 * beside an old one. Then it says until it is protected that it is partially written. */
static rset_status
create_first(rset_life *life, rset_err *err)
{
    const bool say = life->config.atomic && !life->swmr && life->dir != NULL &&
                     !life->evidence.any &&
                     (life->found == RSET_MISSING || rset_evidence_asks(&life->evidence));
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (say)
        st = rset_journal_begin_first(&life->local, &life->evidence, &life->journal, &why);
    if (st != RSET_OK && life->config.required)
        return rset_fail(err, st, "%s; atomic=no does without that file", why.text);
    life->config.atomic = false;
    return rset_life_change(life, 0, UINT64_MAX, err);
}

static rset_status
create_in_place(rset_life *life, rset_err *err)
{
    free(life->shadow);
    free(life->shadow_path);
    life->shadow = life->shadow_path = NULL;
    life->changed = false;
    life->config.atomic = false;
    return rset_life_change(life, 0, UINT64_MAX, err);
}

/* The old content cannot be kept. What lies beside stays: it may be what a commit comes to. */
static rset_status
create_without(rset_life *life, const rset_err *why, rset_err *err)
{
    if (life->config.required)
        return rset_fail(err, why->status, "%s; atomic=no creates files in place", why->text);
    rset_life_no_way_back(life, why);
    rset_placeholder_remove(&life->local);
    return create_in_place(life, err);
}

/* HDF5 compares the file that a symbolic link leads to with the one that is open: so the new file has to have the name
 * from the start, and the old one goes aside instead. */
static rset_status
create_aside(rset_life *life, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_aside_begin(&life->local, &life->evidence, &life->journal, &why);

    if (st != RSET_OK)
        return create_without(life, &why, err);
    life->changed = true;
    return RSET_OK;
}

static rset_status
create_shadow(rset_life *life, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_shadow_begin(&life->local, &life->evidence, &life->shadow, &why);

    if (st == RSET_OK && asprintf(&life->shadow_path, "%s/%s", life->dir_path, life->shadow) < 0) {
        life->shadow_path = NULL;
        st = rset_fail(&why, RSET_NOMEM, "%s: no memory to create it", life->path);
    }
    if (st == RSET_OK && life->found == RSET_MISSING)
        st = rset_placeholder_make(&life->local, &why);
    if (st != RSET_OK)
        return create_without(life, &why, err);
    life->changed = true;
    return RSET_OK;
}

rset_status
rset_life_begin_creation(rset_life *life, bool link, rset_err *err)
{
    life->resolved = true;
    if (!has_something_to_lose(life) || !has_one_name(life))
        return create_first(life, err);
    return link ? create_aside(life, err) : create_shadow(life, err);
}

rset_status
rset_life_create_in_place(rset_life *life, rset_err *err)
{
    rset_local shadow = life->local;

    shadow.shadow = life->shadow;
    rset_shadow_drop(&shadow);
    return create_in_place(life, err);
}

/* ---- and then ---- */

rset_status
rset_life_created(rset_life *life, rset_err *err)
{
    if (life->shadow == NULL)
        return RSET_OK;
    return rset_shadow_guard(&life->local, life->shadow, &life->guard, err);
}

/* Others shall see the file under its name from now on. It goes on changing: it is not closed. */
rset_status
rset_life_show(rset_life *life, rset_err *err)
{
    rset_status st;

    if (life->shadow == NULL)
        return RSET_OK;
    life->local.shadow = life->shadow;
    st = rset_shadow_settle(&life->local, &life->evidence, NULL, err);
    rset_file_close(life->guard, NULL);
    life->guard = NULL;
    life->local.shadow = NULL;
    free(life->shadow);
    free(life->shadow_path);
    life->shadow = life->shadow_path = NULL;
    rset_evidence_free(&life->evidence); /* of no use any more, whatever became of it */
    if (st == RSET_OK)
        st = rset_life_survey(life, err);
    if (st == RSET_OK)
        st = rset_journal_begin(&life->local, &life->evidence, true, &life->journal, err);
    return st;
}

/* ---- not created after all ---- */

/* Takes back what was begun to create the file; what lies under its own name stays as the lower driver has left it. */
static void
undo_creation(rset_life *life)
{
    rset_local shadow = life->local;

    shadow.shadow = life->shadow;
    rset_journal_leave(life->journal);
    life->journal = NULL;
    if (life->shadow != NULL)
        rset_shadow_drop(&shadow);
    else if (life->dir != NULL && life->evidence.has_header)
        rset_aside_undo(&life->local);
    else if (life->dir != NULL && !rset_dir_has_file(life->dir, life->base))
        (void)rset_undo_remove(life->dir, life->prefix, &(rset_undo){.rotten = true}, NULL);
}

void
rset_life_abandon(rset_life *life)
{
    if (life != NULL && life->mode == RSET_OPEN_CREATE) {
        undo_creation(life);
        if (life->team != NULL && !life->behind)
            rset_rendezvous_announce_failure(life->team->rendezvous, &life->kind);
    }
    rset_life_free(life);
}

void
rset_life_not_created(const rset_config *config, const char *path)
{
    rset_team *team = NULL;
    rset_err   ignored = RSET_ERR_NONE;
    rset_kind  kind;

    if (!rset_config_covers(config, path) || rset_team_find(config, &team, &ignored) != RSET_OK ||
        team == NULL)
        return;
    rset_kind_of(path, &kind);
    rset_rendezvous_announce_failure(team->rendezvous, &kind);
}
