/* scavenge_pieces.c: copies of what lies of a rank's files on its node, below the target: for a rebuild there, and where
 * pieces of one set lie on several nodes, for the process that rebuilds. See scavenge.h. */
#include "scavenge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 4 << 20 };

/* ---- one rank's files ---- */

/* As it is. Of a file that cannot be read to its end what comes before: the rest counts as damaged. */
static rset_status
copy_plain(rset_dir *from, rset_dir *to, const char *name, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_file  *in = NULL, *out = NULL;
    uint8_t    *buf = must_alloc(AT_ONCE);
    size_t      got = rset_file_open(from, name, &in, &ignored) == RSET_OK ? 1 : 0;
    rset_status st = rset_file_create(to, name, &out, err), closed;

    for (uint64_t off = 0; st == RSET_OK && got > 0; off += got) {
        if (rset_file_read(in, off, buf, AT_ONCE, &got, &ignored) != RSET_OK)
            got = 0;
        if (got > 0)
            st = rset_file_write(out, off, buf, got, err);
    }
    rset_file_close(in, NULL);
    closed = rset_file_close(out, err);
    free(buf);
    return st == RSET_OK ? closed : st;
}

/* The data file; `same`, if not NULL, has its content, and is in the target already. */
static rset_status
lay_out_data(rset_dir *from, rset_dir *to, const char *name, const char *same, rset_err *err)
{
    char       *path = must_print("%s/%s", rset_dir_path(to), name);
    const bool  linked = same != NULL && link(same, path) == 0;
    rset_status st = RSET_OK;

    if (!linked && rset_dir_has_file(from, name))
        st = copy_plain(from, to, name, err);
    free(path);
    return st;
}

rset_status
scavenge_lay_out(const sighting *seen, const char *same, const char *path, rset_err *err)
{
    rset_err  ignored = RSET_ERR_NONE;
    rset_dir *from = NULL, *to = NULL;
    char     *prefix =
        seen->prefix[0] != '\0' ? must_copy(seen->prefix) : must_print("%s.", seen->name);
    rset_names  names = {0};
    rset_status st = rset_dir_open(path, true, &to, err);

    if (st == RSET_OK && rset_dir_open(seen->dir, false, &from, &ignored) == RSET_OK) {
        (void)rset_names_find(from, prefix, seen->name, &names, &ignored);
        for (size_t i = 0; st == RSET_OK && i < names.n; i++)
            if (rset_dir_has_file(from, names.at[i]))
                st = copy_plain(from, to, names.at[i], err);
        if (st == RSET_OK)
            st = lay_out_data(from, to, seen->name, same, err);
    }
    rset_names_free(&names);
    rset_dir_close(from);
    rset_dir_close(to);
    free(prefix);
    return st;
}

/* ---- for another process ---- */

char *
scavenge_piece(const scavenge *s, const sighting *seen)
{
    return must_print("%s/" SCAVENGE_STAGE "/new/pieces/%zu", s->o->to,
                      (size_t)(seen - s->c->sightings->at));
}

/* Does another process than the one that sees this piece rebuild something of this set? */
static bool
is_wanted(const scavenge *s, const cat_set *set, const sighting *seen)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].set == set && !s->items[i].done && s->items[i].by != seen->by)
            return true;
    return false;
}

/* Where the content of this piece is in the target, as it was found; NULL: nowhere. A new string. */
static char *
same_content(const scavenge *s, const sighting *seen)
{
    for (size_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];

        if (it->seen == seen && it->done && it->m != NULL && it->m->state == STATE_HEALTHY &&
            (it->out.how == HOW_COPIED || it->out.how == HOW_KEPT))
            return scavenge_path(s, it->name);
    }
    return NULL;
}

static rset_status
lay_out_set(const scavenge *s, const cat_set *set, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < set->desc.members; i++) {
        const sighting *seen = set->members[i].seen;

        if (seen != NULL && seen->by == s->j->rank && is_wanted(s, set, seen)) {
            char *path = scavenge_piece(s, seen), *same = same_content(s, seen);

            st = scavenge_lay_out(seen, same, path, err);
            free(path);
            free(same);
        }
    }
    return st;
}

rset_status
scavenge_gather_pieces(const scavenge *s, rset_err *err)
{
    rset_status st = RSET_OK;

    if (s->j->comm == NULL)
        return RSET_OK;
    for (size_t i = 0; st == RSET_OK && i < s->c->n; i++)
        st = lay_out_set(s, s->c->sets[i], err);
    return rset_agree(s->j->comm, st, s->j->host, err);
}

void
scavenge_add_pieces(const scavenge *s, const cat_set *set, strings *search)
{
    for (int i = 0; i < set->desc.members; i++) {
        const sighting *seen = set->members[i].seen;

        if (seen != NULL && seen->by != s->j->rank) {
            char *path = scavenge_piece(s, seen);

            strings_add_once(search, path);
            free(path);
        }
    }
}
