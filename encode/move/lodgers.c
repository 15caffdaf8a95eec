/* lodgers.c: see lodgers.h. */
#include "lodgers.h"

#include "rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
    rset_dir     *dir;
    rset_kind     kind;
    rset_lodgers *to;
    rset_err     *err;
    rset_status   st;
} search;

static bool
is_known(const rset_lodgers *all, const char *prefix)
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
    rset_lodgers *to = s->to;
    rset_lodger   one = {.prefix = prefix, .base = strndup(prefix, strlen(prefix) - 1)};

    if (to->n == to->room) {
        const size_t room = 2 * to->room + 4;
        rset_lodger *grown = realloc(to->at, room * sizeof *grown);

        if (grown != NULL) {
            to->at = grown;
            to->room = room;
        }
    }
    if (one.base == NULL || to->n == to->room) {
        free(one.base);
        free(prefix);
        return rset_fail(s->err, RSET_NOMEM, "%s: no memory for the names in it",
                         rset_dir_path(s->dir));
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
    if (strcmp(kind.text, s->kind.text) == 0 && !is_known(s->to, prefix))
        s->st = add(s, prefix);
    else
        free(prefix);
    return s->st == RSET_OK;
}

/* What there is of it. */
static rset_status
look_at(rset_dir *dir, rset_lodger *one, bool *use_out, rset_err *err)
{
    struct stat sb;
    bool        there = false;
    rset_status st = rset_survey(dir, one->prefix, one->base, &one->evidence, err);

    if (st == RSET_OK)
        st = rset_dir_find_file(dir, one->base, &sb, &there, err);
    one->there = there && !one->evidence.placeholder;
    one->inode = there ? (uint64_t)sb.st_ino : 0;
    *use_out = st == RSET_OK && one->evidence.has_header && !one->evidence.undo.busy;
    return st;
}

static void
drop(rset_lodger *one)
{
    free(one->prefix);
    free(one->base);
    rset_evidence_free(&one->evidence);
}

rset_status
rset_lodgers_find(rset_dir *dir, const char *like, rset_lodgers *out, rset_err *err)
{
    search s = {.dir = dir, .to = out, .err = err};
    size_t kept = 0;

    *out = (rset_lodgers){0};
    rset_kind_of(like, &s.kind);
    s.st = rset_dir_list(dir, see, &s, err) == RSET_OK ? s.st : RSET_IO;
    for (size_t i = 0; i < out->n; i++) {
        bool use = false;

        if (s.st == RSET_OK)
            s.st = look_at(dir, &out->at[i], &use, err);
        if (use)
            out->at[kept++] = out->at[i];
        else
            drop(&out->at[i]);
    }
    out->n = kept;
    return s.st;
}

void
rset_lodgers_free(rset_lodgers *all)
{
    for (size_t i = 0; i < all->n; i++)
        drop(&all->at[i]);
    free(all->at);
    *all = (rset_lodgers){0};
}
