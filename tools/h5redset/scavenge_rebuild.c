/* scavenge_rebuild.c: files that are lost or damaged are rebuilt at the target, from the pieces where these lie. The engine
 * rebuilds a rank's files in the directory where it finds them; here that is an empty one below the target, with a copy of
 * what is left of them; and where pieces of one set lie on several nodes, copies of these. See scavenge.h. */
#include "exits.h"
#include "hosted.h"
#include "owner.h"
#include "scavenge.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- one rank's files ---- */

/* As it is. Of a file that cannot be read to its end what comes before: the rest counts as damaged. */
static rset_status
copy_plain(rset_dir *from, const char *name, rset_dir *to, const char *copy, rset_err *err)
{
    rset_logical in = {0};
    rset_file   *out = NULL;
    rset_access  access = RSET_ACCESS_OWNER;
    rset_sums    sums = {0};
    bool         whole;
    rset_status  st, closed;

    (void)rset_file_access(from, name, &access);
    st = rset_file_create(to, copy, &access, &out, err);
    if (st == RSET_OK && scavenge_open(from, name, &in, NULL) == RSET_OK)
        st = scavenge_pour(&in, out, &sums, &whole, err);
    rset_sums_free(&sums);
    rset_logical_close(&in, NULL);
    closed = rset_file_close(out, err);
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
    rset_evidence ev = {0};
    rset_status   st = rset_survey_one(dir, prefix, name, &ev, err);

    if (st == RSET_OK && ev.next_name != NULL)
        st = rset_evidence_publish(dir, &ev, err);
    rset_evidence_free(&ev);
    return st;
}

/* Copies all that lies of a rank's files where they were seen into the directory `path`, which is made; of a commit that
 * was decided the new content is published there. `same` (NULL: none): a file in the target with the content of the data
 * file. What cannot be read is left out. RSET_IO: the target cannot be written. */
static rset_status
lay_out(const sighting *seen, const char *same, const char *path, rset_err *err)
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
        if (st == RSET_OK && seen->ahead)
            st = publish_copy(to, prefix, seen->name, err);
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

/* Where the copy of a piece is, or would be. A new string. */
static char *
path_of_piece(const scavenge *s, const sighting *seen)
{
    return must_print("pieces/%zu", (size_t)(seen - s->c->sightings->at));
}

/* Is a copy of this piece what a rebuild by that process uses? Pieces of a commit that was decided count only when it is finished: that is
 * done in the copy. The data of a renamed file is looked for under the name that is recorded. */
static bool
is_copied_for(const member *m, int process)
{
    return m->seen != NULL &&
           (m->seen->by != process || m->state == STATE_COMMITTING || m->seen->renamed);
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

        if (it->m->seen == seen && it->done &&
            (it->out.how == HOW_COPIED || it->out.how == HOW_KEPT))
            return scavenge_path(s, it->name);
    }
    return NULL;
}

/* The copy of a piece. The engine finishes what it finds published in it; what it cannot finish is no piece, and whoever needs it says so. */
static rset_status
copy_piece(const scavenge *s, const member *m, rset_err *err)
{
    const bool        half = m->state == STATE_COMMITTING;
    char             *path = path_of_piece(s, m->seen);
    char             *same = half ? NULL : same_content(s, m->seen);
    const files_place at = {
        .dir = path, .name = sighting_old_name(m->seen), .prefix = m->seen->prefix};
    const strings none = {0};
    rset_err      ignored = RSET_ERR_NONE;
    rset_outcome  out;
    files         f = {0};
    rset_status   st = lay_out(m->seen, same, path, err);

    if (st == RSET_OK && half && files_open(&at, &f, &ignored) == RSET_OK) {
        (void)alone_rebuild(&f, &(rset_serial_args){.rank = m->rank, .undelete = true}, &none, &out,
                            &ignored);
        files_close(&f);
    }
    free(path);
    free(same);
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
                st = copy_piece(s, m, err);
            owner_return();
        }
    return s->j->comm != NULL ? rset_agree(s->j->comm, st, s->j->host, err) : st;
}

void
scavenge_add_pieces(const scavenge *s, const cat_set *set, strings *search)
{
    for (int i = 0; i < set->desc.members; i++)
        if (is_copied_for(&set->members[i], s->j->rank)) {
            char *path = path_of_piece(s, set->members[i].seen);

            strings_add_once(search, path);
            free(path);
        }
}

/* ---- one attempt ---- */

/* The data file of `f` gets its name in the target. The mark that says that it is protected goes: here it is not. */
static rset_status
give_name(const scavenge *s, item *it, const files *f, const rset_info *info, rset_err *err)
{
    rset_file  *file = NULL;
    bool        same = false;
    rset_status st = rset_is_as_recorded(&f->local, info, &same, err);

    if (st == RSET_OK && !same)
        st = rset_fail(err, RSET_LOST, "%s: what was rebuilt is not what is recorded of it",
                       f->paths[0]);
    if (st == RSET_OK)
        st = rset_file_open_update(f->dir, f->names[0], &file, err);
    if (st == RSET_OK) {
        rset_file_set_mark(file, 0);
        st = rset_file_sync(file, err);
    }
    rset_file_close(file, NULL);
    if (st == RSET_OK)
        st = scavenge_publish(s, f->dir, f->names[0], it->name, s->o->force, err);
    return st;
}

static rset_status
rebuild_in(scavenge *s, item *it, const files_place *at, const strings *search, rset_err *err)
{
    const rset_info *info = scavenge_recorded(it);
    files            f = {0};
    rset_outcome     out = {0};
    rset_status      st = files_open(at, &f, err);

    if (st == RSET_OK)
        st = alone_rebuild(&f, &(rset_serial_args){.rank = it->m->rank, .undelete = true}, search,
                           &out, err);
    if (st == RSET_OK)
        st = give_name(s, it, &f, info, err);
    if (st == RSET_OK)
        it->out = (outcome){.how = HOW_REBUILT,
                            .from = -1,
                            .verified = info->files[0].has_sums,
                            .size = info->files[0].attrs.size,
                            .crc = info->files[0].sums.whole};
    files_close(&f);
    return st;
}

/* With what is left of its own files, or without: what a change has left can be in the way. */
static rset_status
attempt(scavenge *s, item *it, bool own, const strings *search, rset_err *err)
{
    char *dir =
        must_print("%s/%s_%d.%d", s->stage, own ? "own" : "new", it->m->rank, (int)(it - s->items));
    files_place at = {.dir = dir,
                      .name = rset_path_base(recorded_path(it->m->known)),
                      .path = recorded_path(it->m->known),
                      .create = true};
    rset_status st = RSET_OK;

    st = scavenge_make(dir, it->f->owner, err);
    if (own && st == RSET_OK) {
        at.name = sighting_old_name(it->m->seen);
        at.prefix = it->m->seen->prefix;
        st = lay_out(it->m->seen, NULL, dir, err);
    }
    if (st == RSET_OK)
        st = rebuild_in(s, it, &at, search, err);
    scavenge_remove(dir);
    free(dir);
    return st;
}

void
scavenge_rebuild(scavenge *s, item *it, const strings *search)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = RSET_LOST;
    const bool  own =
        it->m->seen != NULL && it->m->seen->by == s->j->rank && it->m->state != STATE_OUTDATED;

    it->done = true;
    if (scavenge_recorded(it) == NULL) {
        item_fail(it, EXITS_UNRECOVERABLE, "cannot be read, and nothing records what it should be");
        return;
    }
    if (own)
        st = attempt(s, it, true, search, &err);
    if (st != RSET_OK) {
        err = RSET_ERR_NONE;
        st = attempt(s, it, false, search, &err);
    }
    if (st != RSET_OK)
        item_fail(it, exits_of(st == RSET_ABSENT ? RSET_LOST : st), "%s", err.text);
}
