/* scavenge_pieces.c: copies of what lies of a rank's files on its node, below the target: for a rebuild there, and where
 * pieces of one set lie on several nodes, for the process that rebuilds. See scavenge.h. */
#include "hosted.h"
#include "owner.h"
#include "scavenge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 4 << 20 };

/* ---- one rank's files ---- */

/* As it is. Of a file that cannot be read to its end what comes before: the rest counts as damaged. */
static rset_status
copy_plain(rset_dir *from, const char *name, rset_dir *to, const char *copy, rset_err *err)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_file  *in = NULL, *out = NULL;
    uint8_t    *buf = must_alloc(AT_ONCE);
    size_t      got = rset_file_open(from, name, &in, &ignored) == RSET_OK ? 1 : 0;
    rset_access access = RSET_ACCESS_OWNER;
    rset_status st, closed;

    (void)rset_file_access(from, name, &access);
    st = rset_file_create(to, copy, &access, &out, err);

    for (uint64_t off = 0, end; st == RSET_OK && got > 0; off += got) {
        off = rset_file_next_data(in, off, &end);
        if (rset_file_read(in, off, buf, end - off < AT_ONCE ? (size_t)(end - off) : AT_ONCE, &got,
                           &ignored) != RSET_OK)
            got = 0;
        st = got > 0 ? rset_file_write(out, off, buf, got, err)
                     : rset_file_resize(out, off, err); /* what is behind the last byte is a hole */
    }
    rset_file_close(in, NULL);
    closed = rset_file_close(out, err);
    free(buf);
    return st == RSET_OK ? closed : st;
}

/* The data file, under the name that its redundancy file records; `same`, if not NULL, has its content, and is in the target
 * already. */
static rset_status
lay_out_data(rset_dir *from, rset_dir *to, const sighting *seen, const char *same, rset_err *err)
{
    const char *name = sighting_old_name(seen);
    char       *path = must_print("%s/%s", rset_dir_path(to), name);
    const bool  linked = same != NULL && link(same, path) == 0;
    rset_status st = RSET_OK;

    if (!linked && rset_dir_has_file(from, seen->name))
        st = copy_plain(from, seen->name, to, name, err);
    free(path);
    return st;
}

/* A commit that was decided: what this rank has prepared is published, in its copy. */
static rset_status
publish_copy(rset_dir *dir, const char *prefix, const char *name, rset_err *err)
{
    rset_name            parsed;
    uint64_t             generation;
    const rset_name_kind kind = rset_name_classify(name, prefix, &parsed, &generation);
    char                *bare, *to;
    rset_status          st;

    if ((kind != RSET_NAME_NEW && kind != RSET_NAME_DELTA) || parsed.scheme == NULL)
        return RSET_OK;
    bare = rset_bare_name(name);
    if (bare == NULL)
        no_memory();
    to = must_print("%s%s", bare, kind == RSET_NAME_DELTA ? RSET_SUFFIX_REDO : "");
    st = rset_dir_rename(dir, name, to, err);
    free(bare);
    free(to);
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
    rset_status st = scavenge_make(path, seen->owner, err);

    if (st == RSET_OK)
        st = rset_dir_open(path, false, &to, err);

    if (st == RSET_OK && rset_dir_open(seen->dir, false, &from, &ignored) == RSET_OK) {
        (void)rset_names_list(from, prefix, &names, &ignored);
        for (size_t i = 0; st == RSET_OK && i < names.n; i++)
            if (rset_dir_has_file(from, names.at[i]))
                st = copy_plain(from, names.at[i], to, names.at[i], err);
        for (size_t i = 0; st == RSET_OK && seen->ahead && i < names.n; i++)
            st = publish_copy(to, prefix, names.at[i], err);
        if (st == RSET_OK)
            st = lay_out_data(from, to, seen, same, err);
    }
    rset_names_free(&names);
    rset_dir_close(from);
    rset_dir_close(to);
    free(prefix);
    return st;
}

/* ---- for a rebuild of others ---- */

char *
scavenge_piece(const scavenge *s, const sighting *seen)
{
    return must_print("pieces/%zu", (size_t)(seen - s->c->sightings->at));
}

/* Pieces of a commit that was decided count only when it is finished: that is done in the copy. */
static bool
is_half_committed(const member *m)
{
    return m->state == STATE_COMMITTING;
}

/* Is a copy of this piece what a rebuild by that process uses? The data of a renamed file is looked for under the name that is
 * recorded. */
static bool
is_copied_for(const member *m, int process)
{
    return m->seen != NULL && (m->seen->by != process || is_half_committed(m) || m->seen->renamed);
}

static bool
is_wanted(const scavenge *s, const cat_set *set, const member *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].set == set && !s->items[i].done && is_copied_for(m, s->items[i].by))
            return true;
    return false;
}

/* Where the content of this piece is in the target, as it was found; NULL: nowhere. A new string. */
static char *
same_content(const scavenge *s, const sighting *seen)
{
    for (size_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];

        if (it->seen == seen && it->done && (it->out.how == HOW_COPIED || it->out.how == HOW_KEPT))
            return scavenge_path(s, it->name);
    }
    return NULL;
}

static rset_status
lay_out_piece(const scavenge *s, const member *m, rset_err *err)
{
    char       *path = scavenge_piece(s, m->seen);
    char       *same = is_half_committed(m) ? NULL : same_content(s, m->seen);
    rset_status st = scavenge_lay_out(m->seen, same, path, err);

    free(path);
    free(same);
    return st;
}

/* The engine finishes what it finds published. What it cannot finish is no piece; whoever needs it says so. */
static rset_status
finish_piece(const scavenge *s, const member *m, rset_err *err)
{
    char             *path = scavenge_piece(s, m->seen);
    const files_place at = {
        .dir = path, .name = sighting_old_name(m->seen), .prefix = m->seen->prefix};
    const strings none = {0};
    rset_err      ignored = RSET_ERR_NONE;
    rset_outcome  out;
    files         f = {0};
    rset_status   st = lay_out_piece(s, m, err);

    if (st == RSET_OK && is_half_committed(m) && files_open(&at, &f, &ignored) == RSET_OK) {
        (void)alone_rebuild(&f, &(alone_wish){.rank = m->rank, .undelete = true}, &none, &out,
                            &ignored);
        files_close(&f);
    }
    free(path);
    return st;
}

rset_status
scavenge_gather_pieces(const scavenge *s, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; i < s->c->n; i++)
        for (int k = 0; st == RSET_OK && k < s->c->sets[i]->desc.members; k++) {
            const member *m = &s->c->sets[i]->members[k];

            if (m->seen == NULL || m->seen->by != s->j->rank || !is_wanted(s, s->c->sets[i], m))
                continue;
            st = owner_become(m->seen->owner, err);
            if (st == RSET_OK)
                st = finish_piece(s, m, err);
            owner_return();
        }
    return s->j->comm != NULL ? rset_agree(s->j->comm, st, s->j->host, err) : st;
}

void
scavenge_add_pieces(const scavenge *s, const cat_set *set, strings *search)
{
    for (int i = 0; i < set->desc.members; i++)
        if (is_copied_for(&set->members[i], s->j->rank)) {
            char *path = scavenge_piece(s, set->members[i].seen);

            strings_add_once(search, path);
            free(path);
        }
}
