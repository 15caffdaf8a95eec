/* files.c: see files.h. */
#include "files.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The names that its own header records, or the one that is asked for. */
static void
take_names(files *f, const files_place *at)
{
    const char          *name = at->name;
    const rset_evidence *ev = &f->evidence;
    const rset_info     *info = ev->has_header ? &ev->header.infos[0] : NULL;

    f->n = info != NULL && info->nfiles > 0 ? info->nfiles : 1;
    f->names = must_alloc((size_t)f->n * sizeof *f->names);
    f->paths = must_alloc((size_t)f->n * sizeof *f->paths);
    for (int i = 0; i < f->n; i++) {
        bool listed = info != NULL && info->nfiles > 0;

        f->names[i] = must_copy(listed ? rset_path_base(info->files[i].path) : name);
        f->paths[i] = listed             ? must_copy(info->files[i].path)
                      : at->path != NULL ? must_copy(at->path)
                                         : must_print("%s/%s", rset_dir_path(f->dir), name);
    }
    if (f->n == 1 &&
        strcmp(f->names[0], name) != 0) { /* it was renamed together with its redundancy */
        free(f->names[0]);
        f->names[0] = must_copy(name);
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

rset_status
files_open(const files_place *at, files *out, rset_err *err)
{
    const bool  given = at->prefix != NULL && at->prefix[0] != '\0';
    rset_status st = rset_dir_open(at->dir, at->create, &out->dir, err);

    if (st != RSET_OK)
        return st;
    out->prefix = given ? must_copy(at->prefix) : must_print("%s.", at->name);
    st = rset_survey(out->dir, out->prefix, at->name, &out->evidence, err);
    if (st == RSET_OK)
        take_names(out, at);
    else
        files_close(out);
    return st;
}

void
files_close(files *f)
{
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
