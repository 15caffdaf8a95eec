/* room_plan.c: which files are put out of the way, or come home, and what they are called then. See move_internal.h, and room.c for
 * why in that order. */
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of one generation. */
typedef struct unit {
    char *from, *to; /* what its data file is called; owned */
    int   rank;      /* that they are of */
    bool  content;   /* all goes; else only what protects it as that rank's */
} unit;

typedef struct planning {
    const rset_move_removal *v;
    char                    *prefix; /* of all that is kept, and lies beside the newest; owned */
    rset_names               names;  /* that begin so */
    unit                    *units;  /* owned */
    size_t                   n;
} planning;

rset_status
rset_move_no_memory(const rset_move_removal *v)
{
    return rset_fail(v->err, RSET_NOMEM, "%s/%s: no memory for the names beside it",
                     rset_dir_path(v->dir), v->from);
}

static void
planning_free(planning *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->units[i].from);
        free(p->units[i].to);
    }
    free(p->units);
    free(p->prefix);
    rset_names_free(&p->names);
}

/* ---- whose is what ---- */

static bool
add_name(const char *name, void *arg)
{
    planning   *p = arg;
    rset_names *names = &p->names;

    if (strncmp(name, p->prefix, strlen(p->prefix)) != 0)
        return true;
    if (names->n == names->room) {
        const size_t room = 2 * names->room + 16;
        char       **grown = realloc(names->at, room * sizeof *grown);

        if (grown == NULL)
            return rset_move_no_memory(p->v) == RSET_OK;
        names->at = grown;
        names->room = room;
    }
    names->at[names->n] = strdup(name);
    return names->at[names->n] != NULL ? ++names->n > 0 : rset_move_no_memory(p->v) == RSET_OK;
}

/* Takes both strings. */
static rset_status
add_unit(planning *p, char *from, char *to, int rank, bool content)
{
    unit *grown = from != NULL && to != NULL ? realloc(p->units, (p->n + 1) * sizeof *grown) : NULL;

    if (grown == NULL) {
        free(from);
        free(to);
        return rset_move_no_memory(p->v);
    }
    p->units = grown;
    grown[p->n++] = (unit){.from = from, .to = to, .rank = rank, .content = content};
    return RSET_OK;
}

static bool
has_unit(const planning *p, const char *prefix)
{
    for (size_t i = 0; i < p->n; i++)
        if (strlen(p->units[i].from) + 1 == strlen(prefix) &&
            strncmp(p->units[i].from, prefix, strlen(prefix) - 1) == 0)
            return true;
    return false;
}

/* Names that tell the files of ranks apart are those of one file each, whatever number its rank had then. */
static bool
is_one_name(const planning *p, const char *prefix, const char *data)
{
    rset_evidence ev = {0};
    bool          is = p->v->guest.owner >= 0;

    if (!is && rset_survey_one(p->v->dir, prefix, data, &ev, NULL) == RSET_OK)
        is = ev.has_header && !rset_evidence_names_differ(&ev) &&
             ev.header.infos[0].desc.ranks == p->v->guest.ranks;
    rset_evidence_free(&ev);
    return is;
}

/* An older generation lies where that of the rank belongs. It goes where it is another rank's. */
static rset_status
add_strange(planning *p, const char *prefix)
{
    char           *data = strndup(prefix, strlen(prefix) - 1);
    rset_move_older is;
    rset_status st = rset_move_look_at_older(p->v->dir, prefix, p->v->guest.rank, &is, p->v->err);
    const int   rank = is.other >= 0 || is.own ? is.other : p->v->guest.owner;

    if (st == RSET_OK && data != NULL && (rank < 0 || !is_one_name(p, prefix, data))) {
        free(data);
        return RSET_OK;
    }
    if (st == RSET_OK)
        return add_unit(p, data, data != NULL ? rset_displaced_name(data, rank) : NULL, rank,
                        !is.own);
    free(data);
    return st;
}

/* One of the rank's own comes home, but where it is there already, or what nobody knows is. */
static rset_status
add_own(planning *p, const char *prefix)
{
    const size_t    recorded = strlen(p->prefix) - 1;
    char           *there = NULL;
    rset_move_older is;
    rset_status     st;

    if (asprintf(&there, "%.*s%s", (int)rset_name_recorded(p->v->to), p->v->to, prefix + recorded) <
        0)
        return rset_move_no_memory(p->v);
    st = rset_move_look_at_older(p->v->dir, there, p->v->guest.rank, &is, p->v->err);
    there[strlen(there) - 1] = '\0'; /* the dot */
    if (st == RSET_OK && !is.content)
        return add_unit(p, strndup(prefix, strlen(prefix) - 1), there, p->v->guest.rank, true);
    free(there);
    return st;
}

/* The newest, if it goes, and older generations; or the one that is opened. */
static rset_status
find_units(planning *p)
{
    const bool  is_older = rset_name_kept(p->v->from) != 0;
    char        prefix[NAME_MAX + 1];
    rset_status st = RSET_OK;

    if (asprintf(&p->prefix, "%.*s.", (int)rset_name_recorded(p->v->from), p->v->from) < 0) {
        p->prefix = NULL;
        return rset_move_no_memory(p->v);
    }
    if (p->v->guest.owner >= 0)
        st = add_unit(p, strdup(p->v->from), strdup(p->v->to), p->v->guest.owner, true);
    if (st == RSET_OK && rset_dir_list(p->v->dir, add_name, p, p->v->err) != RSET_OK)
        st = p->v->err->status;
    for (size_t i = 0; st == RSET_OK && !is_older && i < p->names.n; i++)
        if (rset_name_beside_older(p->names.at[i], p->prefix, prefix) != 0 && !has_unit(p, prefix))
            st = p->v->home ? add_own(p, prefix) : add_strange(p, prefix);
    return st == RSET_OK ? p->v->err->status : st;
}

/* ---- what is renamed ---- */

/* Is that generation one that is kept, whosever it is? */
static bool
is_kept(const planning *p, uint64_t generation)
{
    char *older = rset_move_older_prefix(p->prefix, generation);
    bool  is = false;

    for (size_t i = 0; older != NULL && !is && i < p->names.n; i++)
        is = strncmp(p->names.at[i], older, strlen(older)) == 0;
    free(older);
    return is;
}

/* Temporary names are never used again, and what says that it is another rank's stays; so does what was put aside, and what is of an
 * older generation. */
static rset_move_order
order_of(const planning *p, const unit *u, const char *name, const char *prefix)
{
    rset_name parsed;
    uint64_t  generation = 0;

    switch (rset_name_classify(name, prefix, &parsed, &generation)) {
    case RSET_NAME_PLAIN:
    case RSET_NAME_VOID:
    case RSET_NAME_REDO: return parsed.rank == u->rank ? RSET_MOVE_REDUNDANCY : RSET_MOVE_STAYS;
    case RSET_NAME_DESC:
    case RSET_NAME_NEW: return parsed.rank == u->rank ? RSET_MOVE_BESIDE : RSET_MOVE_STAYS;
    case RSET_NAME_SHADOW:
    case RSET_NAME_BEGUN: return u->content ? RSET_MOVE_BESIDE : RSET_MOVE_STAYS;
    case RSET_NAME_UNDO:
    case RSET_NAME_DATA:
        return u->content && !is_kept(p, generation) ? RSET_MOVE_BESIDE : RSET_MOVE_STAYS;
    default: return RSET_MOVE_STAYS;
    }
}

/* Is `name` what leads back to the generation of that unit? */
static bool
leads_back_to(const planning *p, const unit *u, const char *name)
{
    rset_name parsed;
    uint64_t  generation = 0;

    return rset_name_classify(name, p->prefix, &parsed, &generation) == RSET_NAME_UNDO &&
           generation == rset_name_kept(u->from);
}

static rset_status
plan_one(planning *p, const unit *u, const char *name, rset_move_order number)
{
    const size_t       from = rset_name_recorded(u->from), to = rset_name_recorded(u->to);
    const bool         older = rset_name_kept(u->from) != 0;
    rset_move_room    *room = p->v->room;
    rset_move_renamed *at = realloc(room->at, (room->n + 1) * sizeof *at), *one;
    rset_status        st = RSET_OK;
    bool               taken = false;
    int                n, m = 0;

    if (at == NULL)
        return rset_move_no_memory(p->v);
    room->at = at;
    one = &at[room->n];
    *one = (rset_move_renamed){.order = number};
    snprintf(one->from, sizeof one->from, "%s", name);
    n = snprintf(one->to, sizeof one->to, "%.*s%s", (int)to, u->to, name + from);
    if (number != RSET_MOVE_DATA)
        m = snprintf(one->prefix, sizeof one->prefix, "%s.", u->to);
    else if (older)
        m = snprintf(one->prefix, sizeof one->prefix, "%.*s.", (int)to, u->to);
    if (number == RSET_MOVE_DATA)
        one->older = rset_name_kept(u->from);
    if (n < 0 || n >= (int)sizeof one->to || m < 0 || m >= (int)sizeof one->prefix)
        return rset_fail(p->v->err, RSET_IO,
                         "%s/%s: is another rank's, and its name is too long for it to be put out "
                         "of the way; start each rank on the node that it had",
                         rset_dir_path(p->v->dir), name);
    /* An older one is of that rank and generation: what has the name is the same. */
    if (!p->v->home && !older)
        st = rset_dir_find_file(p->v->dir, one->to, NULL, &taken, p->v->err);
    if (st == RSET_OK && taken)
        return rset_fail(p->v->err, RSET_IO,
                         "%s/%s: is of another rank, and cannot be put out of the way: %s is "
                         "there, from an earlier run; if each rank has its file, remove that",
                         rset_dir_path(p->v->dir), name, one->to);
    room->n += st == RSET_OK;
    return st;
}

static rset_status
plan_unit(planning *p, const unit *u, rset_move_order wanted)
{
    char       *prefix = rset_join_names(u->from, ".");
    bool        there = false;
    rset_status st = prefix != NULL ? RSET_OK : rset_move_no_memory(p->v);

    if (st == RSET_OK && wanted == RSET_MOVE_DATA && u->content)
        st = rset_dir_find_file(p->v->dir, u->from, NULL, &there, p->v->err);
    if (st == RSET_OK && there)
        st = plan_one(p, u, u->from, RSET_MOVE_DATA);
    for (size_t i = 0; st == RSET_OK && i < p->names.n; i++) {
        const char           *name = p->names.at[i];
        const rset_move_order is =
            u->content && leads_back_to(p, u, name) ? RSET_MOVE_DATA : order_of(p, u, name, prefix);

        if (is == wanted)
            st = plan_one(p, u, name, wanted);
    }
    free(prefix);
    return st;
}

/* In that order. */
static rset_status
plan_all(planning *p, const rset_move_order *orders)
{
    rset_status st = find_units(p);

    for (int i = 0; st == RSET_OK && i < RSET_MOVE_ORDERS; i++)
        for (size_t k = 0; st == RSET_OK && k < p->n; k++)
            st = plan_unit(p, &p->units[k], orders[i]);
    return st;
}

rset_status
rset_move_plan(const rset_move_removal *v, const rset_move_order *orders)
{
    planning          p = {.v = v};
    const rset_status st = plan_all(&p, orders);

    planning_free(&p);
    return st;
}
