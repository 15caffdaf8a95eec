/* files.c: see files.h. */
#include "files.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The names that its own header records, or the one that is asked for. */
static void
take_names(files *f, const char *name, const char *path)
{
    const rset_evidence *ev = &f->evidence;
    const rset_info     *info = ev->has_header ? &ev->header.infos[0] : NULL;

    f->n = info != NULL && info->nfiles > 0 ? info->nfiles : 1;
    f->names = must_alloc((size_t)f->n * sizeof *f->names);
    f->paths = must_alloc((size_t)f->n * sizeof *f->paths);
    for (int i = 0; i < f->n; i++) {
        bool recorded = info != NULL && info->nfiles > 0;

        f->names[i] = must_copy(recorded ? rset_path_base(info->files[i].path) : name);
        f->paths[i] = recorded       ? must_copy(info->files[i].path)
                      : path != NULL ? must_copy(path)
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

rset_status
files_open(const char *dir, const char *prefix, const char *name, const char *path, bool create,
           files *out, rset_err *err)
{
    rset_status st = rset_dir_open(dir, create, &out->dir, err);

    if (st != RSET_OK)
        return st;
    out->prefix = prefix != NULL && prefix[0] != '\0' ? must_copy(prefix) : must_print("%s.", name);
    st = rset_survey(out->dir, out->prefix, name, &out->evidence, err);
    if (st == RSET_OK)
        take_names(out, name, path);
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
