/* room.c: where all files have one name, another rank's may lie where this rank's belongs. It is put out of the way, under a
 * name that is found again (names.h); and a file that was put out of its rank's own way comes back. See move_internal.h.
 *
 * Of the names that lie beside a data file most do not say whose they are. The redundancy file does. So it is the last to
 * go, and the first to come back: whatever lies beside it is of its rank; and the data file is the first to go, and the last to
 * come back, so that no rank ever opens it as its own. */
#include "member/kept.h"
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is renamed together; the directory is synced before another order of files begins. */
typedef enum { DATA, BESIDE, REDUNDANCY, ORDERS } order;

/* One set of files changes its name. */
typedef struct removal {
    rset_move_room *room;
    rset_dir       *dir;
    const char     *from, *to; /* base names */
    int             rank;      /* that wrote the files */
    bool            replaces;  /* what has one of the new names is older */
    rset_names      names;     /* beside `from` */
    char           *prefix;    /* of these */
    rset_err       *err;
} removal;

static rset_status
no_memory(const removal *v)
{
    return rset_fail(v->err, RSET_NOMEM, "%s/%s: no memory for the names beside it",
                     rset_dir_path(v->dir), v->from);
}

/* Temporary names are never used again, and what says that it is another rank's stays. Older generations go along, with what
 * protects them. */
static bool
goes_along(const removal *v, const char *name, order *order_out)
{
    char                 older[NAME_MAX + 1];
    const bool           beside = rset_name_is_beside_older(name, v->prefix, older);
    rset_name            parsed;
    uint64_t             generation;
    const rset_name_kind kind =
        rset_name_classify(name, beside ? older : v->prefix, &parsed, &generation);

    *order_out = BESIDE;
    switch (kind) {
    case RSET_NAME_PLAIN:
    case RSET_NAME_VOID:
    case RSET_NAME_REDO: *order_out = beside ? BESIDE : REDUNDANCY; return parsed.rank == v->rank;
    case RSET_NAME_DESC:
    case RSET_NAME_NEW:
    case RSET_NAME_DELTA: return parsed.rank == v->rank;
    case RSET_NAME_SHADOW:
    case RSET_NAME_ASIDE:
    case RSET_NAME_KEPT:
    case RSET_NAME_BACK:
    case RSET_NAME_UNDO:
    case RSET_NAME_NEXT:
    case RSET_NAME_HALF: return true;
    default: return false;
    }
}

/* `name` is `from`, or lies beside it. */
static rset_status
plan_one(removal *v, const char *name, int number)
{
    rset_move_room    *room = v->room;
    rset_move_renamed *at = realloc(room->at, (room->n + 1) * sizeof *at), *one;
    int                n;

    if (at == NULL)
        return no_memory(v);
    room->at = at;
    one = &at[room->n];
    *one = (rset_move_renamed){.order = number};
    snprintf(one->from, sizeof one->from, "%s", name);
    n = snprintf(one->to, sizeof one->to, "%s%s", v->to, name + strlen(v->from));
    if (n < 0 || n >= (int)sizeof one->to)
        return rset_fail(v->err, RSET_IO,
                         "%s/%s: is another rank's, and its name is too long for it to be put out "
                         "of the way; start each rank on the node that it had",
                         rset_dir_path(v->dir), name);
    if (!v->replaces && rset_dir_has_file(v->dir, one->to))
        return rset_fail(v->err, RSET_IO,
                         "%s/%s: is of another rank, and cannot be put out of the way: %s is "
                         "there, from an earlier run; if each rank has its file, remove that",
                         rset_dir_path(v->dir), name, one->to);
    room->n++;
    return RSET_OK;
}

static rset_status
plan_order(removal *v, order wanted, int number)
{
    rset_status st = RSET_OK;
    order       is;

    if (wanted == DATA)
        return rset_dir_has_file(v->dir, v->from) ? plan_one(v, v->from, number) : RSET_OK;
    for (size_t i = 0; st == RSET_OK && i < v->names.n; i++)
        if (goes_along(v, v->names.at[i], &is) && is == wanted)
            st = plan_one(v, v->names.at[i], number);
    return st;
}

/* What is to be renamed, in that order. */
static rset_status
plan(removal *v, const order *orders)
{
    rset_status st;

    v->prefix = rset_join_names(v->from, ".");
    if (v->prefix == NULL)
        return no_memory(v);
    st = rset_names_list(v->dir, v->prefix, &v->names, v->err);
    if (st == RSET_OK)
        st = rset_kept_add_names(&(rset_local){.dir = v->dir, .prefix = v->prefix}, &v->names,
                                 v->err);
    for (int i = 0; st == RSET_OK && i < ORDERS; i++)
        st = plan_order(v, orders[i], i);
    rset_names_free(&v->names);
    return st;
}

bool
rset_move_lacks_names(rset_dir *dir, const char *prefix)
{
    char      *name = rset_join_names(prefix, RSET_NAME_NAMES);
    const bool lacks = name != NULL && !rset_dir_has_file(dir, name);

    free(name);
    return lacks;
}

rset_status
rset_move_note_older(rset_dir *dir, const char *prefix, const char *name, bool *made_out,
                     rset_err *err)
{
    const char *const names[] = {name};

    *made_out = rset_move_lacks_names(dir, prefix);
    return rset_names_note(dir, prefix, names, 1, err);
}

/* The new names are noted before they are made (N1). */
static rset_status
note_all(const removal *v, const char *prefix, const char **names)
{
    rset_move_room *room = v->room;
    char            older[NAME_MAX + 1];
    size_t          n = 0;
    rset_status     st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < room->n; i++) {
        rset_move_renamed *one = &room->at[i];

        if (rset_name_is_beside_older(one->to, prefix, older))
            st = rset_move_note_older(v->dir, older, one->to, &one->noted, v->err);
        else if (strcmp(one->to, v->to) != 0)
            names[n++] = one->to;
    }
    return st == RSET_OK ? rset_names_note(v->dir, prefix, names, n, v->err) : st;
}

static rset_status
note(const removal *v)
{
    const char **names = calloc(v->room->n + 1, sizeof *names);
    char        *prefix = rset_join_names(v->to, ".");
    rset_status  st = RSET_NOMEM;

    if (names == NULL || prefix == NULL)
        st = no_memory(v);
    else
        st = note_all(v, prefix, names);
    free(prefix);
    free(names);
    return st;
}

/* From now on `to` has a names file: that of `from`, or a new one. */
static rset_status
take_names_file(const removal *v)
{
    rset_move_room *room = v->room;
    char           *from = NULL, *to = NULL;
    rset_status     st = RSET_OK;

    if (asprintf(&from, "%s." RSET_NAME_NAMES, v->from) < 0 ||
        asprintf(&to, "%s." RSET_NAME_NAMES, v->to) < 0)
        st = no_memory(v);
    if (st == RSET_OK && !rset_dir_has_file(v->dir, to)) {
        if (rset_dir_has_file(v->dir, from)) {
            st = rset_dir_rename(v->dir, from, to, v->err);
            room->names = st == RSET_OK ? RSET_MOVE_NAMES_TAKEN : RSET_MOVE_NAMES_STAY;
        } else {
            room->names = RSET_MOVE_NAMES_MADE;
        }
    }
    free(from);
    free(to);
    return st == RSET_OK ? note(v) : st;
}

static rset_status
rename_all(const removal *v)
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
go(removal *v, const order *orders)
{
    rset_move_room *room = v->room;
    rset_status     st;

    snprintf(room->from, sizeof room->from, "%s", v->from);
    snprintf(room->to, sizeof room->to, "%s", v->to);
    st = plan(v, orders);
    free(v->prefix);
    if (st != RSET_OK)
        room->n = 0;
    if (st == RSET_OK && room->n > 0)
        st = take_names_file(v);
    return st == RSET_OK && room->n > 0 ? rename_all(v) : st;
}

rset_status
rset_move_make_room(const rset_local *local, int rank, rset_move_room *room, rset_err *err)
{
    static const order orders[] = {DATA, BESIDE, REDUNDANCY};
    char              *to = rset_displaced_name(local->names[0], rank);
    removal            v = {.room = room,
                            .dir = local->dir,
                            .from = local->names[0],
                            .to = to,
                            .rank = rank,
                            .err = err};
    const rset_status  st = to != NULL ? go(&v, orders) : no_memory(&v);

    free(to);
    return st;
}

rset_status
rset_move_bring_home(const rset_local *local, int rank, rset_move_room *room, rset_err *err)
{
    static const order orders[] = {REDUNDANCY, BESIDE, DATA};
    char              *from = rset_displaced_name(local->names[0], rank);
    removal            v = {.room = room,
                            .dir = local->dir,
                            .from = from,
                            .to = local->names[0],
                            .rank = rank,
                            .replaces = true,
                            .err = err};
    const rset_status  st = from != NULL ? go(&v, orders)
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
forget_older(rset_dir *dir, const rset_move_room *room)
{
    char *prefix = rset_join_names(room->to, ".");
    char  older[NAME_MAX + 1];

    for (size_t i = 0; prefix != NULL && i < room->n; i++)
        if (room->at[i].noted && rset_name_is_beside_older(room->at[i].to, prefix, older))
            (void)rset_names_forget(dir, older, NULL);
    free(prefix);
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
        forget_older(dir, room);
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
