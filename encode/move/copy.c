/* copy.c: brings files from one rank to another as they are. See move_internal.h.
 *
 * For each file a head, and its content in pieces; a head without a name is the end. One message of each rank to or from
 * another is under way at a time. */
#include "move_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- giving ---- */

static rset_status
send_next(rset_move_giver *g, rset_err *err)
{
    rset_message out = {.peer = g->m->to[g->now],
                        .tag = RSET_TAG_MOVE,
                        .data = &g->parcel->head,
                        .len = sizeof g->parcel->head};

    if (rset_move_has_piece(g)) {
        out.data = g->parcel->bytes;
        out.len = rset_move_make_piece(g);
    } else {
        rset_move_make_head(g);
    }
    return rset_comm_isend(g->m->world, &out, &g->req, err);
}

static rset_status
give(rset_move_giver *g, bool *moved, rset_err *err)
{
    bool        done = false;
    rset_status st = rset_comm_test(g->m->world, &g->req, &done, err);

    if (st != RSET_OK || !done || g->now == g->m->ngives)
        return st;
    *moved = true;
    if (g->file != NULL || !g->listed)
        return send_next(g, err);
    rset_move_give_to_next(g);
    return RSET_OK;
}

/* ---- taking ---- */

typedef struct taker {
    rset_move_job    *m;
    bool              has_head;
    rset_file        *file;
    uint64_t          off;
    size_t            len; /* of the piece that is awaited */
    rset_req          req;
    rset_move_parcel *parcel;
    bool              over;
    bool              unfit; /* one of several data files is there, and is another one */
    rset_err          err;   /* what this rank could not write */
} taker;

static rset_status
await(taker *t, rset_err *err)
{
    const uint64_t left = t->parcel->head.size - t->off;
    rset_message   in = {.peer = t->m->from, .tag = RSET_TAG_MOVE};

    if (!t->has_head) {
        in.room = &t->parcel->head;
        in.len = sizeof t->parcel->head;
    } else {
        in.room = t->parcel->bytes;
        in.len = left < RSET_MOVE_PIECE ? (size_t)left : RSET_MOVE_PIECE;
    }
    t->len = in.len;
    return rset_comm_irecv(t->m->world, &in, &t->req, err);
}

bool
rset_move_is_data(const rset_local *local, const char *name)
{
    for (int i = 0; i < local->nfiles; i++)
        if (strcmp(name, local->names[i]) == 0)
            return true;
    return false;
}

/* Only what lies beside this rank's files, or is one of them. */
static bool
is_expected(const taker *t)
{
    const rset_local *local = t->m->local;

    switch (rset_move_kind(t->parcel->head.name, local->prefix)) {
    case RSET_NAME_OTHER: return rset_move_is_data(local, t->parcel->head.name);
    case RSET_NAME_LIST:
    case RSET_NAME_BEGUN:
    case RSET_NAME_FIX: return false;
    default: return true;
    }
}

/* Has this rank a file of that name? Where it cannot be told t->err is set, and nothing more is taken. */
static bool
has_one(taker *t, const char *name)
{
    bool there;

    return rset_dir_find_file(t->m->local->dir, name, NULL, &there, &t->err) == RSET_OK && there;
}

/* Is there a file of that name, with whatever mark? What was marked void stays so, whatever comes: the mark may be about data that is
 * here. */
static bool
has_some(taker *t, const char *name)
{
    char *bare = rset_bare_name(name);
    char *marked = bare != NULL ? rset_join_names(bare, RSET_SUFFIX_VOID) : NULL;
    bool  has = has_one(t, name) || (bare != NULL && has_one(t, bare)) ||
               (marked != NULL && has_one(t, marked));

    free(marked);
    free(bare);
    return has;
}

/* An older generation may have been brought, or rebuilt, before the newest was opened: it is as good. What nothing says the rank of
 * stays: the giver keeps what it has then. */
static bool
is_here_of_older(taker *t)
{
    const rset_local *local = t->m->local;
    const char       *name = t->parcel->head.name;
    char             *older;
    rset_move_older   here;
    rset_status       st;

    if (t->parcel->head.older == 0)
        return false;
    older = rset_move_older_prefix(local->prefix, t->parcel->head.older);
    st = older != NULL
             ? rset_move_look_at_older(local->dir, older, t->m->world->rank, &here, &t->err)
             : rset_fail(&t->err, RSET_NOMEM, "%s: no memory for the names beside it",
                         rset_local_name(local));
    free(older);
    if (st != RSET_OK)
        return true;
    t->m->partly = t->m->partly || (here.content && !here.own);
    return here.content || has_some(t, name);
}

/* Is it here already, from a move that was cut short? Then it was complete when it got its name (MV2). */
static bool
is_here(const taker *t)
{
    const rset_file_attrs *a = &t->parcel->head.attrs;
    struct stat            sb;

    return rset_dir_stat(t->m->local->dir, t->parcel->head.name, &sb, NULL) == RSET_OK &&
           (uint64_t)sb.st_size == t->parcel->head.size &&
           (uint64_t)sb.st_mtim.tv_sec == a->mtime_secs &&
           (uint64_t)sb.st_mtim.tv_nsec == a->mtime_nsecs;
}

/* Of several data files one that is there is not replaced by what may have to be removed again. The rank does without what
 * comes then. */
static bool
is_in_the_way(taker *t)
{
    const rset_local *local = t->m->local;

    return local->nfiles > 1 && rset_move_is_data(local, t->parcel->head.name) &&
           has_one(t, t->parcel->head.name);
}

char *
rset_move_temp_name(rset_move_job *m)
{
    const rset_local *local = m->local;
    char             *name = rset_logical_temp_name(local, m->world->rank, m->ntemps++);

    while (name != NULL && rset_dir_has_file(local->dir, name)) {
        free(name);
        name = rset_logical_temp_name(local, m->world->rank, m->ntemps++);
    }
    return name;
}

/* Makes the file that comes next, under a temporary name. */
static rset_status
make_file(taker *t, const char *temp)
{
    const rset_local *local = t->m->local;
    rset_move_file   *files = realloc(t->m->files, (t->m->nfiles + 1) * sizeof *files);
    const rset_access access = rset_file_attrs_access(&t->parcel->head.attrs);
    rset_status       st;

    if (files != NULL)
        t->m->files = files;
    if (files == NULL || temp == NULL)
        return rset_fail(&t->err, RSET_NOMEM, "%s: no memory for the files beside it",
                         rset_local_name(local));
    st = rset_names_note_temporary(local->dir, local->prefix, temp, &t->err);
    if (st == RSET_OK)
        st = rset_file_create(local->dir, temp, &access, &t->file, &t->err);
    if (st == RSET_OK) {
        rset_move_file *one = &files[t->m->nfiles++];

        *one = (rset_move_file){.older = t->parcel->head.older};
        snprintf(one->name, sizeof one->name, "%s", t->parcel->head.name);
        snprintf(one->temp, sizeof one->temp, "%s", temp);
    }
    return st;
}

static void
begin_file(taker *t)
{
    char *temp;

    if (t->err.status != RSET_OK)
        return;
    if (!is_expected(t)) {
        (void)rset_fail(&t->err, RSET_PEER, "%s: rank %d sent a file of another name",
                        rset_local_name(t->m->local), t->m->from);
        return;
    }
    if (is_here(t) || is_here_of_older(t))
        return;
    t->unfit = t->unfit || is_in_the_way(t);
    if (t->unfit || t->err.status != RSET_OK)
        return;
    temp = rset_move_temp_name(t->m);
    (void)make_file(t, temp);
    free(temp);
}

static void
end_file(taker *t)
{
    if (t->file == NULL)
        return;
    if (t->err.status == RSET_OK &&
        rset_file_set_attrs(t->file, &t->parcel->head.attrs, &t->err) == RSET_OK) {
        if (t->parcel->head.mark != 0)
            rset_file_set_mark(t->file, t->parcel->head.mark);
        (void)rset_file_sync(t->file, &t->err);
    }
    (void)rset_file_close(t->file, &t->err);
    t->file = NULL;
}

/* Acts on what has come. */
static void
accept(taker *t)
{
    if (!t->has_head) {
        t->parcel->head.name[sizeof t->parcel->head.name - 1] =
            t->parcel->head.host[sizeof t->parcel->head.host - 1] = '\0';
        t->has_head = true;
        t->off = 0;
        t->over = t->parcel->head.name[0] == '\0';
        if (t->over) {
            t->m->copied = t->parcel->head.stays != 0;
            t->m->complete = t->parcel->head.failed == 0 && !t->unfit && t->err.status == RSET_OK;
            snprintf(t->m->from_host, sizeof t->m->from_host, "%s", t->parcel->head.host);
            return;
        }
        begin_file(t);
    } else {
        if (t->err.status == RSET_OK && t->file != NULL)
            (void)rset_file_write(t->file, t->off, t->parcel->bytes, t->len, &t->err);
        t->off += t->len;
    }
    if (t->off == t->parcel->head.size) {
        end_file(t);
        t->has_head = false;
    }
}

static rset_status
take(taker *t, bool *moved, rset_err *err)
{
    bool        done = false;
    rset_status st;

    if (t->m->from < 0 || t->over || t->m->from == t->m->world->rank)
        return RSET_OK;
    st = rset_comm_test(t->m->world, &t->req, &done, err);
    if (st != RSET_OK || !done)
        return st;
    *moved = true;
    if (t->len > 0) {
        if (t->req.got != t->len)
            return rset_comm_revoke(t->m->world, err, "rank %d sent %zu bytes instead of %zu",
                                    rset_comm_world(t->m->world, t->m->from), t->req.got, t->len);
        accept(t);
    }
    return t->over ? RSET_OK : await(t, err);
}

/* ---- both ---- */

/* What lies in another directory that this rank can see comes without messages. */
static void
hand_over(rset_move_giver *g, taker *t)
{
    while (!t->over) {
        if (rset_move_has_piece(g)) {
            t->len = rset_move_make_piece(g);
            memcpy(t->parcel->bytes, g->parcel->bytes, t->len);
        } else {
            rset_move_make_head(g);
            t->len = sizeof t->parcel->head;
            t->parcel->head = g->parcel->head;
        }
        accept(t);
    }
    rset_move_give_to_next(g);
}

/* Is the next taker this rank itself? */
static bool
is_for_itself(const rset_move_giver *g)
{
    return !g->req.active && !g->listed && g->now < g->m->ngives &&
           g->m->to[g->now] == g->m->world->rank;
}

static rset_status
give_up(rset_move_giver *g, const taker *t, rset_err *err)
{
    rset_comm *world = g->m->world;

    if (t->m->from >= 0 && !t->over)
        return rset_comm_revoke(world, err,
                                "no data came from rank %d for %.3g s; it may have died or hang",
                                rset_comm_world(world, t->m->from), world->timeout);
    return rset_comm_revoke(world, err,
                            "rank %d has taken no data for %.3g s; it may have died or hang",
                            rset_comm_world(world, g->m->to[g->now]), world->timeout);
}

static rset_status
loop(rset_move_giver *g, taker *t, rset_err *err)
{
    rset_pause  pause = {0};
    rset_status st = RSET_OK;
    double      last = rset_clock();

    while (st == RSET_OK &&
           (g->now < g->m->ngives || g->req.active || (t->m->from >= 0 && !t->over))) {
        bool moved = is_for_itself(g);

        if (moved)
            hand_over(g, t);
        st = give(g, &moved, err);
        if (st == RSET_OK)
            st = take(t, &moved, err);
        if (moved) {
            last = rset_clock();
            pause.spins = 0;
        } else if (rset_clock() - last > t->m->world->timeout) {
            st = give_up(g, t, err);
        } else {
            rset_pause_once(&pause);
        }
    }
    return st;
}

rset_status
rset_move_copy(rset_move_job *m, rset_err *err)
{
    rset_move_giver g = {.m = m, .err = RSET_ERR_NONE};
    taker           t = {.m = m, .err = RSET_ERR_NONE};
    rset_status     st = RSET_OK;

    g.parcel = malloc(sizeof *g.parcel);
    t.parcel = malloc(sizeof *t.parcel);
    if (g.parcel == NULL || t.parcel == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to move files");
    st = rset_agree(m->world, st, m->host, err); /* nobody waits for a rank that has no buffers */
    if (st == RSET_OK)
        st = loop(&g, &t, err);
    if (st == RSET_OK && t.err.status != RSET_OK) {
        *err = t.err;
        st = err->status;
    }
    rset_file_close(g.file, NULL);
    rset_file_close(t.file, NULL);
    rset_names_free(&g.names);
    if (rset_comm_cancel(m->world, &g.req)) /* else leaked on purpose */
        free(g.parcel);
    if (rset_comm_cancel(m->world, &t.req))
        free(t.parcel);
    return st;
}
