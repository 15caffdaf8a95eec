/* files.c: see files.h. */
#include "files.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The names that its own header records, else those that are asked for; of one that was renamed together with its redundancy that which
 * it has now. */
static void
take_names(files *f, const files_place *at)
{
    const rset_header *h = &f->evidence.header;
    const bool         own = f->evidence.has_header && h->infos[0].nfiles > 0;
    const rset_info   *info = own ? &h->infos[0] : at->known;

    f->n = info != NULL && info->nfiles > 1 ? info->nfiles : 1;
    f->names = must_alloc((size_t)f->n * sizeof *f->names);
    f->paths = must_alloc((size_t)f->n * sizeof *f->paths);
    for (int i = 0; i < f->n; i++) {
        const char *recorded = i > 0 || own ? info->files[i].path : at->path;

        f->names[i] = must_copy(i > 0 || (own && f->n > 1) ? rset_path_base(recorded) : at->name);
        f->paths[i] = recorded != NULL ? must_copy(recorded)
                                       : must_print("%s/%s", rset_dir_path(f->dir), at->name);
    }
    f->local = (rset_local){.dir = f->dir,
                            .prefix = f->prefix,
                            .nfiles = f->n,
                            .names = (const char *const *)f->names,
                            .paths = (const char *const *)f->paths};
}

files_place
place_of(const sighting *s)
{
    return (files_place){.dir = s->dir, .name = s->name, .prefix = s->prefix};
}

/* The user has named the file itself. */
static bool
is_named(const files_place *at)
{
    char      *path = must_print("%s/%s", strcmp(at->dir, "/") == 0 ? "" : at->dir, at->name);
    const bool is = strings_find(at->within, path) >= 0;

    free(path);
    return is;
}

static rset_status
say_outside(const files_place *at, rset_err *err)
{
    return rset_fail(err, RSET_USAGE,
                     "%s/%s: is not below a path that was named, or only by a link: nothing is "
                     "changed there; name its directory too",
                     at->dir, at->name);
}

rset_status
files_may_be(const files_place *at, rset_err *err)
{
    bool        is = at->within == NULL || is_named(at);
    rset_status st = is ? RSET_OK : far_is_within(at->within, at->dir, &is, err);

    return st != RSET_OK || is ? st : say_outside(at, err);
}

/* What counts is where it is once it is open: what its path leads to may have changed since it was asked. */
static rset_status
open_dir(const files_place *at, files *out, rset_err *err)
{
    bool        is = at->within == NULL || is_named(at);
    rset_status st = at->create ? files_may_be(at, err) : RSET_OK;

    if (st == RSET_OK)
        st = rset_dir_open(at->dir, at->create, &out->dir, err);
    if (st == RSET_OK && !is)
        st = far_is_below(at->within, out->dir, true, &is, err);
    if (st == RSET_OK && !is)
        st = say_outside(at, err);
    if (st != RSET_OK) {
        rset_dir_close(out->dir);
        out->dir = NULL;
    }
    return st;
}

rset_status
files_open(const files_place *at, files *out, rset_err *err)
{
    const bool  given = at->prefix != NULL && at->prefix[0] != '\0';
    rset_status st = open_dir(at, out, err);

    if (st == RSET_ABSENT && at->may_lack)
        *err = RSET_ERR_NONE;
    else if (st != RSET_OK)
        return st;
    out->prefix = given ? must_copy(at->prefix) : must_print("%s.", at->name);
    st = out->dir != NULL ? rset_survey(out->dir, out->prefix, at->name, &out->evidence, err)
                          : RSET_OK;
    if (st == RSET_OK) {
        take_names(out, at);
        st = far_open(at, out, err);
        out->local.dirs = out->dirs;
    }
    if (st != RSET_OK)
        files_close(out);
    return st;
}

rset_status
files_open_path(const char *path, files_place at, files *out, rset_err *err)
{
    char       *dir = dir_of(path);
    rset_status st;

    at.dir = dir;
    at.name = rset_path_base(path);
    st = files_open(&at, out, err);
    free(dir);
    return st;
}

rset_status
files_open_seen(const sighting *s, files *out, rset_err *err)
{
    const files_place at = place_of(s);

    return files_open(&at, out, err);
}

rset_status
files_open_newest(const sighting *older, const strings *within, files *out, rset_err *err)
{
    char             *name = path_of_file(older->name);
    const files_place at = {.dir = older->dir, .name = name, .within = within};
    const rset_status st = files_open(&at, out, err);

    free(name);
    return st;
}

void
files_close(files *f)
{
    hold_end(f);
    far_close(f);
    for (int i = 0; i < f->n && f->names != NULL; i++) {
        free(f->names[i]);
        free(f->paths[i]);
    }
    free(f->names);
    free(f->paths);
    free(f->prefix);
    rset_evidence_free(&f->evidence);
    rset_dir_close(f->dir);
    *f = (files){0};
}

rset_status
files_unprotect_begin(const files *f, rset_err *err)
{
    rset_status st = rset_unmark(&f->local, err);

    if (st == RSET_OK)
        st = rset_lost_forget(&f->local, err);
    if (st == RSET_OK)
        st =
            rset_unprotect_begin(&f->local, f->evidence.has_desc ? f->evidence.desc.rank : -1, err);
    return st == RSET_OK ? rset_dir_sync(f->dir, err) : st;
}

rset_status
files_unprotect_end(const files *f, rset_err *err)
{
    const rset_status st = rset_unprotect(&f->local, err);

    return st == RSET_OK ? rset_dir_sync(f->dir, err) : st;
}
