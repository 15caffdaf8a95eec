/* lodgers.c: files of other ranks in this rank's directory. See move_internal.h. */
#include "common/crc64.h"
#include "move_internal.h"
#include "rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
    const rset_local  *local;
    rset_kind          kind;
    rset_move_lodgers *to;
    rset_err          *err;
    rset_status        st;
} search;

static bool
is_known(const rset_move_lodgers *all, const char *prefix)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].prefix, prefix) == 0)
            return true;
    return false;
}

/* Keeps the prefix, which is the caller's no more. */
static rset_status
add(search *s, char *prefix)
{
    rset_move_lodgers *to = s->to;
    rset_move_lodger   one = {.prefix = prefix, .base = strndup(prefix, strlen(prefix) - 1)};

    if (to->n == to->room) {
        const size_t      room = 2 * to->room + 4;
        rset_move_lodger *grown = realloc(to->at, room * sizeof *grown);

        if (grown != NULL) {
            to->at = grown;
            to->room = room;
        }
    }
    if (one.base == NULL || to->n == to->room) {
        free(one.base);
        free(prefix);
        return rset_fail(s->err, RSET_NOMEM, "%s: no memory for the names beside it",
                         rset_local_name(s->local));
    }
    to->at[to->n++] = one;
    return RSET_OK;
}

/* A name in the directory. */
static bool
see(const char *name, void *arg)
{
    search   *s = arg;
    char     *prefix = NULL;
    bool      ours;
    rset_kind kind;

    s->st = rset_name_seen(name, &ours, &prefix, s->err);
    if (s->st != RSET_OK || prefix == NULL)
        return s->st == RSET_OK;
    prefix[strlen(prefix) - 1] = '\0'; /* the data file's name */
    rset_kind_of(prefix, &kind);
    prefix[strlen(prefix)] = '.';
    if (strcmp(kind.text, s->kind.text) == 0 && strcmp(prefix, s->local->prefix) != 0 &&
        !is_known(s->to, prefix))
        s->st = add(s, prefix);
    else
        free(prefix);
    return s->st == RSET_OK;
}

/* What there is of it; of no use unless it was protected by as many ranks, and nobody has it open for change. */
static rset_status
look_at(const rset_local *local, int ranks, rset_move_lodger *one, bool *use_out, rset_err *err)
{
    struct stat   sb;
    bool          there = false;
    rset_evidence ev = {0};
    rset_status   st = rset_survey(local->dir, one->prefix, one->base, &ev, err);

    if (st == RSET_OK)
        st = rset_dir_find_file(local->dir, one->base, &sb, &there, err);
    *use_out =
        st == RSET_OK && ev.has_header && !ev.undo.busy && ev.header.infos[0].desc.ranks == ranks;
    if (*use_out) {
        one->offer.rank = ev.header.infos[0].desc.rank;
        one->offer.data = there && !ev.placeholder;
        one->inode = there ? (uint64_t)sb.st_ino : 0;
        one->offer.name = rset_name_hash(one->base);
        one->offer.generation = rset_evidence_newest(&ev);
    }
    rset_evidence_free(&ev);
    return st;
}

/* Opening asks the server, where there is one, and does not rely on what was seen before. */
bool
rset_move_lodger_is_same(const rset_local *local, const rset_move_lodger *lodger)
{
    rset_file  *file = NULL;
    struct stat sb;
    bool        same = rset_file_open(local->dir, lodger->base, &file, NULL) == RSET_OK &&
                rset_file_stat(file, &sb, NULL) == RSET_OK && (uint64_t)sb.st_ino == lodger->inode;

    (void)rset_file_close(file, NULL);
    return same;
}

uint64_t
rset_move_lodgers_dir(const rset_local *local, const char *host)
{
    const uint64_t number = rset_dir_number(local->dir);

    return rset_crc64(rset_name_hash(host), &number, sizeof number);
}

static void
drop(rset_move_lodger *one)
{
    free(one->prefix);
    free(one->base);
}

rset_status
rset_move_lodgers_find(const rset_local *local, int ranks, const char *host, rset_move_lodgers *out,
                       rset_err *err)
{
    search   s = {.local = local, .to = out, .err = err};
    size_t   kept = 0;
    uint64_t dir;

    *out = (rset_move_lodgers){0};
    if (local->dir == NULL || local->nfiles != 1)
        return RSET_OK;
    dir = rset_move_lodgers_dir(local, host);
    rset_kind_of(local->names[0], &s.kind);
    s.st = rset_dir_list(local->dir, see, &s, err) == RSET_OK ? s.st : RSET_IO;
    for (size_t i = 0; i < out->n; i++) {
        rset_move_lodger *one = &out->at[i];
        bool              use = false;

        if (s.st == RSET_OK)
            s.st = look_at(local, ranks, one, &use, err);
        one->offer.dir = dir;
        if (use)
            out->at[kept++] = *one;
        else
            drop(one);
    }
    out->n = kept;
    return s.st;
}

void
rset_move_lodgers_free(rset_move_lodgers *all)
{
    for (size_t i = 0; i < all->n; i++)
        drop(&all->at[i]);
    free(all->at);
    *all = (rset_move_lodgers){0};
}
