/* room.c: where all files have one name, another rank's may lie where this rank's belongs. It is put out of the way, under a
 * name that is found again (names.h); and a file that was put out of its rank's own way comes back. Which files: room_plan.c. See
 * move_internal.h.
 *
 * Of the names that lie beside a data file most do not say whose they are. The redundancy file does. So it is the last to
 * go, and the first to come back: whatever lies beside it is of its rank; and the data file is the first to go, and the last to
 * come back, so that no rank ever opens it as its own. The same holds for each older generation that is kept: what protects it says
 * whose it is, which may be another rank than that of the newest (older.c). */
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>

static const rset_move_order out_of_the_way[] = {RSET_MOVE_DATA, RSET_MOVE_BESIDE,
                                                 RSET_MOVE_REDUNDANCY};
static const rset_move_order home[] = {RSET_MOVE_REDUNDANCY, RSET_MOVE_BESIDE, RSET_MOVE_DATA};

/* ---- names files ---- */

bool
rset_move_lacks_names(rset_dir *dir, const char *prefix)
{
    char      *name = rset_join_names(prefix, RSET_NAME_NAMES);
    const bool lacks = name != NULL && rset_dir_lacks_file(dir, name);

    free(name);
    return lacks;
}

rset_status
rset_move_note(rset_dir *dir, const char *prefix, const char *name, bool *made_out, rset_err *err)
{
    const char *const names[] = {name};

    *made_out = rset_move_lacks_names(dir, prefix);
    return rset_names_note(dir, prefix, names, 1, err);
}

static rset_status
note_one(const rset_move_removal *v, rset_move_renamed *one)
{
    if (one->older == 0)
        return rset_move_note(v->dir, one->prefix, one->to, &one->noted, v->err);
    one->noted = rset_move_lacks_names(v->dir, one->prefix);
    return rset_names_note_kept(v->dir, one->prefix, NULL, 0, one->older, v->err);
}

/* The new names are noted before they are made (N1). */
static rset_status
note(const rset_move_removal *v)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < v->room->n; i++) {
        rset_move_renamed *one = &v->room->at[i];

        if (one->prefix[0] != '\0')
            st = note_one(v, one);
    }
    return st;
}

/* From now on `to` has a names file: that of `from`, or a new one. */
static rset_status
take_names_file(const rset_move_removal *v)
{
    rset_move_room *room = v->room;
    char           *from = NULL, *to = NULL;
    bool            has = false, had = false;
    rset_status     st = RSET_OK;

    if (asprintf(&from, "%s." RSET_NAME_NAMES, v->from) < 0 ||
        asprintf(&to, "%s." RSET_NAME_NAMES, v->to) < 0)
        st = rset_move_no_memory(v);
    if (st == RSET_OK)
        st = rset_dir_find_file(v->dir, to, NULL, &has, v->err);
    if (st == RSET_OK && !has)
        st = rset_dir_find_file(v->dir, from, NULL, &had, v->err);
    if (st == RSET_OK && had)
        st = rset_dir_rename(v->dir, from, to, v->err);
    if (st == RSET_OK && !has)
        room->names = had ? RSET_MOVE_NAMES_TAKEN : RSET_MOVE_NAMES_MADE;
    free(from);
    free(to);
    return st;
}

/* ---- the whole ---- */

static rset_status
rename_all(const rset_move_removal *v)
{
    rset_move_room *room = v->room;
    rset_status     st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < room->n; i++) {
        const rset_move_renamed *one = &room->at[i];

        if (i > 0 && one->order != room->at[i - 1].order)
            st = rset_dir_sync(v->dir, v->err);
        if (st == RSET_OK)
            st = rset_dir_rename(v->dir, one->from, one->to, v->err);
        room->done += st == RSET_OK;
    }
    return st == RSET_OK ? rset_dir_sync(v->dir, v->err) : st;
}

static rset_status
go(const rset_move_removal *v, const rset_move_order *orders)
{
    rset_move_room *room = v->room;
    rset_status     st;

    snprintf(room->from, sizeof room->from, "%s", v->from);
    snprintf(room->to, sizeof room->to, "%s", v->to);
    st = rset_move_plan(v, orders);
    if (st != RSET_OK)
        room->n = 0;
    if (st == RSET_OK && room->n > 0 && v->guest.owner >= 0)
        st = take_names_file(v);
    if (st == RSET_OK && room->n > 0)
        st = note(v);
    if (st == RSET_OK && room->n > 0)
        st = rename_all(v);
    return st;
}

rset_status
rset_move_make_room(const rset_local *local, const rset_move_guest *guest, rset_move_room *room,
                    rset_err *err)
{
    char             *to = rset_displaced_name(local->names[0], guest->owner);
    rset_move_removal v = {.room = room,
                           .dir = local->dir,
                           .from = local->names[0],
                           .to = to,
                           .guest = *guest,
                           .err = err};
    const rset_status st = to != NULL ? go(&v, out_of_the_way) : rset_move_no_memory(&v);

    free(to);
    return st;
}

rset_status
rset_move_bring_home(const rset_local *local, int rank, rset_move_room *room, rset_err *err)
{
    char             *from = rset_displaced_name(local->names[0], rank);
    rset_move_removal v = {.room = room,
                           .dir = local->dir,
                           .from = from,
                           .to = local->names[0],
                           .guest = {.rank = rank, .owner = rank},
                           .home = true,
                           .err = err};
    const rset_status st = from != NULL ? go(&v, home)
                                        : rset_fail(err, RSET_NOMEM, "%s: no memory for a name",
                                                    rset_local_name(local));

    free(from);
    return st;
}

bool
rset_move_is_half_out(const rset_local *local, int rank, const rset_evidence *ev)
{
    char         *base = rset_displaced_name(local->names[0], rank);
    char         *prefix = base != NULL ? rset_join_names(base, ".") : NULL;
    rset_evidence out = {0};
    rset_err      ignored = RSET_ERR_NONE;
    bool          half = false;

    if (prefix != NULL && ev->has_header && ev->header.infos[0].desc.rank == rank &&
        rset_dir_has_file(local->dir, base))
        half = rset_survey(local->dir, prefix, base, &out, &ignored) == RSET_OK && !out.has_header;
    rset_evidence_free(&out);
    free(prefix);
    free(base);
    return half;
}

/* ---- and back ---- */

/* A names file that has been made lists nothing that is still there. */
static void
forget_made(rset_dir *dir, const rset_move_room *room)
{
    for (size_t i = 0; i < room->n; i++)
        if (room->at[i].noted)
            (void)rset_names_forget(dir, room->at[i].prefix, NULL);
}

/* As it was. */
static void
give_names_file_back(rset_dir *dir, const rset_move_room *room)
{
    char *from = NULL, *to = NULL;

    if (asprintf(&from, "%s." RSET_NAME_NAMES, room->from) < 0 ||
        asprintf(&to, "%s." RSET_NAME_NAMES, room->to) < 0) {
        free(from);
        return;
    }
    if (room->names == RSET_MOVE_NAMES_TAKEN)
        (void)rset_dir_rename(dir, to, from, NULL);
    else if (room->names == RSET_MOVE_NAMES_MADE)
        (void)rset_dir_unlink(dir, to, NULL);
    free(from);
    free(to);
}

void
rset_move_give_back(rset_dir *dir, rset_move_room *room)
{
    bool well = true;

    for (size_t i = room->done; well && i > 0; i--) {
        const rset_move_renamed *one = &room->at[i - 1];

        if (i < room->done && one->order != room->at[i].order)
            well = rset_dir_sync(dir, NULL) == RSET_OK;
        well = well && rset_dir_rename(dir, one->to, one->from, NULL) == RSET_OK;
    }
    if (well) {
        give_names_file_back(dir, room);
        forget_made(dir, room);
    }
    if (room->done > 0)
        (void)rset_dir_sync(dir, NULL);
    rset_move_room_free(room);
}

void
rset_move_room_free(rset_move_room *room)
{
    free(room->at);
    *room = (rset_move_room){0};
}
