/* room.c: where all files have one name, another rank's may lie where this rank's belongs. It is put out of the way, under a
 * name that is found again (names.h); and a file that was put out of its rank's own way comes back. See move_internal.h.
 *
 * Of the names that lie beside a data file most do not say whose they are. The redundancy file does. So it is the last to
 * go, and the first to come back: whatever lies beside it is of its rank; and the data file is the first to go, and the last to
 * come back, so that no rank ever opens it as its own. The same holds for each older generation that is kept: what protects it says
 * whose it is, which may be another rank than that of the newest (older.c). */
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is renamed together; the directory is synced before another order of files begins. */
typedef enum { DATA, BESIDE, REDUNDANCY, ORDERS, STAYS = ORDERS } order;

/* The files of one generation. */
typedef struct unit {
    char *from, *to; /* what its data file is called; owned */
    int   rank;      /* that they are of */
    bool  content;   /* all goes; else only what protects it as that rank's */
} unit;

/* Files change their names. */
typedef struct removal {
    rset_move_room *room;
    rset_dir       *dir;
    const char     *from, *to; /* of the data file that is opened */
    rset_move_guest guest;     /* its owner has the newest of what goes; -1: that stays */
    bool            home;      /* it comes home */
    char           *prefix;    /* of all that is kept, and lies beside the newest; owned */
    rset_names      names;     /* that begin so */
    unit           *units;     /* owned */
    size_t          n;
    rset_err       *err;
} removal;

static rset_status
no_memory(const removal *v)
{
    return rset_fail(v->err, RSET_NOMEM, "%s/%s: no memory for the names beside it",
                     rset_dir_path(v->dir), v->from);
}

static void
removal_free(removal *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->units[i].from);
        free(v->units[i].to);
    }
    free(v->units);
    free(v->prefix);
    rset_names_free(&v->names);
}

/* ---- whose is what ---- */

static bool
add_name(const char *name, void *arg)
{
    removal    *v = arg;
    rset_names *names = &v->names;

    if (strncmp(name, v->prefix, strlen(v->prefix)) != 0)
        return true;
    if (names->n == names->room) {
        const size_t room = 2 * names->room + 16;
        char       **grown = realloc(names->at, room * sizeof *grown);

        if (grown == NULL)
            return no_memory(v) == RSET_OK;
        names->at = grown;
        names->room = room;
    }
    names->at[names->n] = strdup(name);
    return names->at[names->n] != NULL ? ++names->n > 0 : no_memory(v) == RSET_OK;
}

/* Takes both strings. */
static rset_status
add_unit(removal *v, char *from, char *to, int rank, bool content)
{
    unit *grown = from != NULL && to != NULL ? realloc(v->units, (v->n + 1) * sizeof *grown) : NULL;

    if (grown == NULL) {
        free(from);
        free(to);
        return no_memory(v);
    }
    v->units = grown;
    grown[v->n++] = (unit){.from = from, .to = to, .rank = rank, .content = content};
    return RSET_OK;
}

static bool
has_unit(const removal *v, const char *prefix)
{
    for (size_t i = 0; i < v->n; i++)
        if (strlen(v->units[i].from) + 1 == strlen(prefix) &&
            strncmp(v->units[i].from, prefix, strlen(prefix) - 1) == 0)
            return true;
    return false;
}

/* Names that tell the files of ranks apart are those of one file each, whatever number its rank had then. */
static bool
is_one_name(const removal *v, const char *prefix, const char *data)
{
    rset_evidence ev = {0};
    bool          is = v->guest.owner >= 0;

    if (!is && rset_survey_one(v->dir, prefix, data, &ev, NULL) == RSET_OK)
        is = ev.has_header && !rset_evidence_names_differ(&ev) &&
             ev.header.infos[0].desc.ranks == v->guest.ranks;
    rset_evidence_free(&ev);
    return is;
}

/* An older generation lies where that of the rank belongs. It goes where it is another rank's. */
static rset_status
add_strange(removal *v, const char *prefix)
{
    char           *data = strndup(prefix, strlen(prefix) - 1);
    rset_move_older is;
    rset_status     st = rset_move_look_at_older(v->dir, prefix, v->guest.rank, &is, v->err);
    const int       rank = is.other >= 0 || is.own ? is.other : v->guest.owner;

    if (st == RSET_OK && data != NULL && (rank < 0 || !is_one_name(v, prefix, data))) {
        free(data);
        return RSET_OK;
    }
    if (st == RSET_OK)
        return add_unit(v, data, data != NULL ? rset_displaced_name(data, rank) : NULL, rank,
                        !is.own);
    free(data);
    return st;
}

/* One of the rank's own comes home, but where it is there already, or what nobody knows is. */
static rset_status
add_own(removal *v, const char *prefix)
{
    const size_t    recorded = strlen(v->prefix) - 1;
    char           *there = NULL;
    rset_move_older is;
    rset_status     st;

    if (asprintf(&there, "%.*s%s", (int)rset_name_recorded(v->to), v->to, prefix + recorded) < 0)
        return no_memory(v);
    st = rset_move_look_at_older(v->dir, there, v->guest.rank, &is, v->err);
    there[strlen(there) - 1] = '\0'; /* the dot */
    if (st == RSET_OK && !is.content)
        return add_unit(v, strndup(prefix, strlen(prefix) - 1), there, v->guest.rank, true);
    free(there);
    return st;
}

/* The newest, if it goes, and older generations; or the one that is opened. */
static rset_status
find_units(removal *v)
{
    const bool  is_older = rset_name_kept(v->from) != 0;
    char        prefix[NAME_MAX + 1];
    rset_status st = RSET_OK;

    if (asprintf(&v->prefix, "%.*s.", (int)rset_name_recorded(v->from), v->from) < 0) {
        v->prefix = NULL;
        return no_memory(v);
    }
    if (v->guest.owner >= 0)
        st = add_unit(v, strdup(v->from), strdup(v->to), v->guest.owner, true);
    if (st == RSET_OK && rset_dir_list(v->dir, add_name, v, v->err) != RSET_OK)
        st = v->err->status;
    for (size_t i = 0; st == RSET_OK && !is_older && i < v->names.n; i++)
        if (rset_name_beside_older(v->names.at[i], v->prefix, prefix) != 0 && !has_unit(v, prefix))
            st = v->home ? add_own(v, prefix) : add_strange(v, prefix);
    return st == RSET_OK ? v->err->status : st;
}

/* ---- what is renamed ---- */

/* Is that generation one that is kept, whosever it is? */
static bool
is_kept(const removal *v, uint64_t generation)
{
    char *older = rset_move_older_prefix(v->prefix, generation);
    bool  is = false;

    for (size_t i = 0; older != NULL && !is && i < v->names.n; i++)
        is = strncmp(v->names.at[i], older, strlen(older)) == 0;
    free(older);
    return is;
}

/* Temporary names are never used again, and what says that it is another rank's stays; so does what was put aside, and what is of an
 * older generation. */
static order
order_of(const removal *v, const unit *u, const char *name, const char *prefix)
{
    rset_name parsed;
    uint64_t  generation = 0;

    switch (rset_name_classify(name, prefix, &parsed, &generation)) {
    case RSET_NAME_PLAIN:
    case RSET_NAME_VOID:
    case RSET_NAME_REDO: return parsed.rank == u->rank ? REDUNDANCY : STAYS;
    case RSET_NAME_DESC:
    case RSET_NAME_NEW: return parsed.rank == u->rank ? BESIDE : STAYS;
    case RSET_NAME_SHADOW:
    case RSET_NAME_BEGUN: return u->content ? BESIDE : STAYS;
    case RSET_NAME_UNDO:
    case RSET_NAME_DATA: return u->content && !is_kept(v, generation) ? BESIDE : STAYS;
    default: return STAYS;
    }
}

/* Is `name` what leads back to the generation of that unit? */
static bool
leads_back_to(const removal *v, const unit *u, const char *name)
{
    rset_name parsed;
    uint64_t  generation = 0;

    return rset_name_classify(name, v->prefix, &parsed, &generation) == RSET_NAME_UNDO &&
           generation == rset_name_kept(u->from);
}

static rset_status
plan_one(removal *v, const unit *u, const char *name, order number)
{
    const size_t       from = rset_name_recorded(u->from), to = rset_name_recorded(u->to);
    const bool         older = rset_name_kept(u->from) != 0;
    rset_move_room    *room = v->room;
    rset_move_renamed *at = realloc(room->at, (room->n + 1) * sizeof *at), *one;
    int                n, m = 0;

    if (at == NULL)
        return no_memory(v);
    room->at = at;
    one = &at[room->n];
    *one = (rset_move_renamed){.order = number};
    snprintf(one->from, sizeof one->from, "%s", name);
    n = snprintf(one->to, sizeof one->to, "%.*s%s", (int)to, u->to, name + from);
    if (number != DATA)
        m = snprintf(one->prefix, sizeof one->prefix, "%s.", u->to);
    else if (older)
        m = snprintf(one->prefix, sizeof one->prefix, "%.*s.", (int)to, u->to);
    if (number == DATA)
        one->older = rset_name_kept(u->from);
    if (n < 0 || n >= (int)sizeof one->to || m < 0 || m >= (int)sizeof one->prefix)
        return rset_fail(v->err, RSET_IO,
                         "%s/%s: is another rank's, and its name is too long for it to be put out "
                         "of the way; start each rank on the node that it had",
                         rset_dir_path(v->dir), name);
    /* An older one is of that rank and generation: what has the name is the same. */
    if (!v->home && !older && rset_dir_has_file(v->dir, one->to))
        return rset_fail(v->err, RSET_IO,
                         "%s/%s: is of another rank, and cannot be put out of the way: %s is "
                         "there, from an earlier run; if each rank has its file, remove that",
                         rset_dir_path(v->dir), name, one->to);
    room->n++;
    return RSET_OK;
}

static rset_status
plan_unit(removal *v, const unit *u, order wanted)
{
    char       *prefix = rset_join_names(u->from, ".");
    rset_status st = prefix != NULL ? RSET_OK : no_memory(v);

    if (st == RSET_OK && wanted == DATA && u->content && rset_dir_has_file(v->dir, u->from))
        st = plan_one(v, u, u->from, DATA);
    for (size_t i = 0; st == RSET_OK && i < v->names.n; i++) {
        const char *name = v->names.at[i];
        const order is =
            u->content && leads_back_to(v, u, name) ? DATA : order_of(v, u, name, prefix);

        if (is == wanted)
            st = plan_one(v, u, name, wanted);
    }
    free(prefix);
    return st;
}

/* What is to be renamed, in that order. */
static rset_status
plan(removal *v, const order *orders)
{
    rset_status st = find_units(v);

    for (int i = 0; st == RSET_OK && i < ORDERS; i++)
        for (size_t k = 0; st == RSET_OK && k < v->n; k++)
            st = plan_unit(v, &v->units[k], orders[i]);
    return st;
}

/* ---- names files ---- */

bool
rset_move_lacks_names(rset_dir *dir, const char *prefix)
{
    char      *name = rset_join_names(prefix, RSET_NAME_NAMES);
    const bool lacks = name != NULL && !rset_dir_has_file(dir, name);

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
note_one(const removal *v, rset_move_renamed *one)
{
    if (one->older == 0)
        return rset_move_note(v->dir, one->prefix, one->to, &one->noted, v->err);
    one->noted = rset_move_lacks_names(v->dir, one->prefix);
    return rset_names_note_kept(v->dir, one->prefix, NULL, 0, one->older, v->err);
}

/* The new names are noted before they are made (N1). */
static rset_status
note(const removal *v)
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
    return st;
}

/* ---- the whole ---- */

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
    if (st != RSET_OK)
        room->n = 0;
    if (st == RSET_OK && room->n > 0 && v->guest.owner >= 0)
        st = take_names_file(v);
    if (st == RSET_OK && room->n > 0)
        st = note(v);
    if (st == RSET_OK && room->n > 0)
        st = rename_all(v);
    removal_free(v);
    return st;
}

rset_status
rset_move_make_room(const rset_local *local, const rset_move_guest *guest, rset_move_room *room,
                    rset_err *err)
{
    static const order orders[] = {DATA, BESIDE, REDUNDANCY};
    char              *to = rset_displaced_name(local->names[0], guest->owner);
    removal            v = {.room = room,
                            .dir = local->dir,
                            .from = local->names[0],
                            .to = to,
                            .guest = *guest,
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
                            .guest = {.rank = rank, .owner = rank},
                            .home = true,
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
