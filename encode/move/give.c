/* give.c: what a giver says of the files that it gives, one after the other. See move_internal.h. */
#include "move_internal.h"

#include "commit/kept.h"
#include "commit/siblings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rset_located *
given(const rset_move_giver *g)
{
    return g->m->gives[g->now];
}

rset_name_kind
rset_move_kind(const char *name, const char *prefix)
{
    char      older[NAME_MAX + 1];
    rset_name parsed;
    uint64_t  generation;

    return rset_name_classify(name,
                              rset_name_beside_older(name, prefix, older) != 0 ? older : prefix,
                              &parsed, &generation);
}

/* The files beside, then the data files, the first of them as the last. Older generations go along, with all that they rest on: none
 * has to be made whole before. */
static void
list_names(rset_move_giver *g)
{
    const rset_located *l = given(g);
    const rset_local    local = {.dir = l->dir, .prefix = l->prefix};
    rset_status         st = rset_siblings_settle(l->dir, l->prefix, l->base, &g->err);

    g->listed = true;
    g->next = 0;
    if (st == RSET_OK)
        st = rset_names_find_all(l->dir, l->prefix, l->base, &g->names, &g->err);
    if (st == RSET_OK && l->evidence.nkept > 0)
        (void)rset_kept_add_names(&local, &g->names, &g->err);
}

/* The older generation that it is of, or that it protects; 0: it is of that which goes. */
static uint64_t
older_of(const rset_move_giver *g, const char *name)
{
    const rset_located *l = given(g);
    const uint64_t      newest = rset_evidence_generation(&l->evidence);
    char                older[NAME_MAX + 1];
    uint64_t            generation = rset_name_beside_older(name, l->prefix, older);

    if (generation != 0)
        return generation;
    return rset_name_is_before(name, l->prefix, &generation) &&
                   rset_names_has_older(&g->names, generation) &&
                   (newest == 0 || rset_generation_newer(newest, generation))
               ? generation
               : 0;
}

/* Where all files have one name, an older generation of another rank may lie beside this one's newest: what protects it says so. */
static bool
is_of_another(const rset_move_giver *g, const char *name)
{
    const rset_located *l = given(g);
    const uint64_t      generation = older_of(g, name);
    char               *older;
    rset_move_older     it;
    bool                is;

    if (generation == 0 || rset_evidence_names_differ(&l->evidence))
        return false;
    older = rset_move_older_prefix(l->prefix, generation);
    is = older != NULL &&
         rset_move_look_at_older(l->dir, older, l->evidence.header.infos[0].desc.rank, &it, NULL) ==
             RSET_OK &&
         !it.own && it.other >= 0;
    free(older);
    return is;
}

/* Files that a rebuild left half done stay, and those that were put aside: whoever wants these finds them where they lie. */
static bool
is_left(const rset_move_giver *g, const char *name)
{
    const rset_name_kind kind = rset_move_kind(name, given(g)->prefix);

    return kind == RSET_NAME_FIX || kind == RSET_NAME_BEGUN ||
           rset_name_role_of(kind) == RSET_ROLE_ASIDE || is_of_another(g, name);
}

/* NULL: that was all. */
static const char *
next_name(rset_move_giver *g)
{
    const rset_located *l = given(g);
    const size_t        n = g->names.n, data = l->there ? (size_t)l->n : 0;

    while (g->next < n && is_left(g, g->names.at[g->next]))
        g->next++;
    if (g->err.status != RSET_OK || g->next >= n + data)
        return NULL;
    g->next++;
    return g->next <= n ? g->names.at[g->next - 1] : l->names[n + data - g->next];
}

/* What its taker calls it: what was put out of the way begins with another name here. */
static rset_status
call_it(rset_move_giver *g, const char *name)
{
    const rset_located *l = given(g);
    char               *to = g->parcel->head.name;
    const size_t        room = sizeof g->parcel->head.name;
    int                 n;

    if (strncmp(name, l->base, strlen(l->base)) == 0)
        n = snprintf(to, room, "%s%s", l->name, name + strlen(l->base));
    else
        n = snprintf(to, room, "%s", name);
    return n < (int)room ? RSET_OK : rset_fail(&g->err, RSET_BUG, "%s: its name is too long", name);
}

static rset_status
describe(rset_move_giver *g, const char *name)
{
    struct stat sb;
    rset_status st = rset_file_open(given(g)->dir, name, &g->file, &g->err);

    if (st == RSET_OK)
        st = rset_file_stat(g->file, &sb, &g->err);
    if (st != RSET_OK)
        return st;
    g->parcel->head.size = (uint64_t)sb.st_size;
    g->parcel->head.mark = rset_file_get_mark(g->file);
    g->parcel->head.older = older_of(g, name);
    g->parcel->head.attrs = rset_file_attrs_of(&sb);
    return call_it(g, name);
}

void
rset_move_make_head(rset_move_giver *g)
{
    const char *name;

    rset_file_close(g->file, NULL);
    g->file = NULL;
    if (!g->listed)
        list_names(g);
    g->parcel->head = (rset_move_head){0};
    snprintf(g->parcel->head.host, sizeof g->parcel->head.host, "%s", g->m->host);
    name = next_name(g);
    g->off = 0;
    if (name == NULL || describe(g, name) != RSET_OK) {
        rset_file_close(g->file, NULL);
        g->file = NULL;
        g->parcel->head.name[0] = '\0';
        g->parcel->head.failed = g->err.status != RSET_OK;
        g->parcel->head.stays = g->m->stays != NULL && g->m->stays[g->now];
    }
}

bool
rset_move_has_piece(const rset_move_giver *g)
{
    return g->file != NULL && g->off < g->parcel->head.size;
}

/* Its length. What cannot be read is sent as zeros, and said at the end. */
size_t
rset_move_make_piece(rset_move_giver *g)
{
    const uint64_t left = g->parcel->head.size - g->off;
    const size_t   len = left < RSET_MOVE_PIECE ? (size_t)left : RSET_MOVE_PIECE;
    size_t         got = 0;

    if (g->err.status == RSET_OK)
        (void)rset_file_read(g->file, g->off, g->parcel->bytes, len, &got, &g->err);
    if (got < len) {
        (void)rset_fail(&g->err, RSET_IO, "%s: has become shorter", rset_file_path(g->file));
        memset(g->parcel->bytes + got, 0, len - got);
    }
    g->off += len;
    return len;
}

/* The end was said. */
void
rset_move_give_to_next(rset_move_giver *g)
{
    rset_names_free(&g->names);
    g->names = (rset_names){0};
    g->err = RSET_ERR_NONE;
    g->listed = false;
    g->now++;
}
