/* plain_files.c: the plain files of one rank. See plain.h. All of it is local. */
#include "path.h"
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- taking the paths apart ---- */

static rset_status
no_memory(int n, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "no memory for the names of %d files", n);
}

static rset_status
check_arguments(const char *const *paths, int n, rset_err *err)
{
    if (n < 1 || paths == NULL)
        return rset_fail(err, RSET_USAGE,
                         "%d files are given; each rank has to give one or more, since its share "
                         "of the redundancy lies beside them",
                         n);
    for (int i = 0; i < n; i++)
        if (paths[i] == NULL || paths[i][0] == '\0')
            return rset_fail(err, RSET_USAGE, "path number %d of %d is %s", i + 1, n,
                             paths[i] == NULL ? "NULL" : "empty");
    return RSET_OK;
}

/* File number i. The first one says which directory it is. */
static rset_status
take_path(rset_plain_files *f, const char *path, int i, rset_err *err)
{
    char       *dir = NULL;
    rset_status st;

    f->paths[i] = rset_path_absolute(path);
    if (f->paths[i] == NULL)
        return no_memory(f->n, err);
    st = rset_path_split(f->paths[i], &dir, &f->names[i], err);
    if (st == RSET_OK && i == 0) {
        f->dir_path = dir;
        return RSET_OK;
    }
    if (st == RSET_OK && strcmp(dir, f->dir_path) != 0)
        st = rset_fail(err, RSET_USAGE,
                       "%s: is in another directory than %s: all files that a rank protects "
                       "together have to be in one",
                       f->paths[i], f->paths[0]);
    free(dir);
    for (int j = 0; st == RSET_OK && j < i; j++)
        if (strcmp(f->names[i], f->names[j]) == 0)
            st = rset_fail(err, RSET_USAGE, "%s: is given twice", f->paths[i]);
    return st;
}

/* What has a name like that is removed with the redundancy. */
static rset_status
check_names(const rset_plain_files *f, rset_err *err)
{
    rset_name parsed;
    uint64_t  generation;

    for (int i = 0; i < f->n; i++)
        if (rset_name_classify(f->names[i], f->prefix, &parsed, &generation) != RSET_NAME_OTHER)
            return rset_fail(err, RSET_USAGE,
                             "%s: has a name that belongs to what protects %s: give it another",
                             f->paths[i], f->paths[0]);
    return RSET_OK;
}

static rset_status
take_paths(rset_plain_files *f, const char *const *paths, rset_err *err)
{
    rset_status st = RSET_OK;

    f->paths = calloc((size_t)f->n, sizeof *f->paths);
    f->names = calloc((size_t)f->n, sizeof *f->names);
    if (f->paths == NULL || f->names == NULL)
        return no_memory(f->n, err);
    for (int i = 0; st == RSET_OK && i < f->n; i++)
        st = take_path(f, paths[i], i, err);
    if (st == RSET_OK && asprintf(&f->prefix, "%s.", f->names[0]) < 0) {
        f->prefix = NULL;
        st = no_memory(f->n, err);
    }
    return st == RSET_OK ? check_names(f, err) : st;
}

/* ---- what their directory says ---- */

static rset_status
look(rset_plain_files *f, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_open(f->dir_path, false, &f->dir, &own);

    f->local = (rset_local){.dir = f->dir,
                            .prefix = f->prefix,
                            .nfiles = f->n,
                            .names = (const char *const *)f->names,
                            .paths = (const char *const *)f->paths};
    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", own.text);
    return rset_survey_local(&f->local, &f->evidence, err);
}

rset_status
rset_plain_files_take(const char *const *paths, int n, rset_plain_files *out, rset_err *err)
{
    rset_status st = check_arguments(paths, n, err);

    *out = (rset_plain_files){.local.prefix = "no file"};
    if (st != RSET_OK)
        return st;
    out->n = n;
    st = take_paths(out, paths, err);
    return st == RSET_OK ? look(out, err) : st;
}

void
rset_plain_files_free(rset_plain_files *f)
{
    for (int i = 0; i < f->n && f->paths != NULL && f->names != NULL; i++) {
        free(f->paths[i]);
        free(f->names[i]);
    }
    free(f->paths);
    free(f->names);
    free(f->dir_path);
    free(f->prefix);
    free(f->made);
    rset_evidence_free(&f->evidence);
    rset_dir_close(f->dir);
    *f = (rset_plain_files){0};
}

/* ---- may they? ---- */

rset_status
rset_plain_files_may_protect(const rset_plain_files *f, int ranks, int members, rset_err *err)
{
    const rset_evidence *ev = &f->evidence;

    struct stat sb;
    bool        there = true;
    rset_status st = RSET_OK;

    if (f->dir == NULL)
        return rset_fail(err, RSET_IO, "%s: no such directory", f->dir_path);
    for (int i = 0; st == RSET_OK && there && i < f->n; i++) {
        st = rset_dir_find_file(f->dir, f->names[i], &sb, &there, err);
        if (st == RSET_OK && !there)
            st = rset_fail(err, RSET_IO, "%s: is no file that is there%s", f->paths[i],
                           ev->any ? "; it was protected: H5FDredset_recover_files may restore it"
                                   : "");
    }
    if (st != RSET_OK)
        return st;
    if (ev->undo.busy || ev->nshadows > 0)
        return rset_fail(err, RSET_IO,
                         "%s: is being changed through the HDF5 driver, or a change was not "
                         "finished: close it, or open it with all its ranks, first",
                         f->paths[0]);
    if (!rset_name_has_room(f->names[0], ranks, members))
        return rset_fail(err, RSET_USAGE,
                         "%s: the name is too long: there is no room in it for what is added to "
                         "name its redundancy",
                         f->paths[0]);
    return RSET_OK;
}

rset_status
rset_plain_files_check_record(const rset_plain_files *f, rset_err *err)
{
    const rset_info *info = f->evidence.has_header ? &f->evidence.header.infos[0] : NULL;

    if (info == NULL || (info->nfiles == f->n && rset_local_misplaced(&f->local, info) < 0))
        return RSET_OK;
    return rset_fail(
        err, RSET_USAGE,
        "%s: %d files were protected together, and they are not the %d that are given: "
        "give the same paths, in the same order, as when they were protected (h5redset "
        "status %s)",
        f->paths[0], info->nfiles, f->n, f->dir_path);
}

/* ---- on disk ---- */

rset_status
rset_plain_files_make_dir(rset_plain_files *f, rset_err *err)
{
    rset_status st;

    if (f->dir != NULL)
        return RSET_OK;
    st = rset_dir_make(f->dir_path, &f->made, err);
    if (st == RSET_OK)
        st = rset_dir_open(f->dir_path, false, &f->dir, err);
    f->local.dir = f->dir;
    if (st == RSET_ABSENT) /* that word is for files that were never protected */
        return err->status = RSET_IO;
    return st;
}

void
rset_plain_files_unmake_dir(rset_plain_files *f)
{
    if (f->made == NULL)
        return;
    rset_dir_close(f->dir);
    f->dir = f->local.dir = NULL;
    rset_dir_unmake(f->dir_path, f->made);
}

rset_status
rset_plain_files_let_go(const rset_plain_files *f, rset_err *err)
{
    rset_status st;

    if (f->dir == NULL)
        return RSET_OK;
    st = rset_unprotect(&f->local, err);
    for (int i = 0; st == RSET_OK && i < f->n; i++) {
        rset_file *file = NULL;

        if (rset_file_open(f->dir, f->names[i], &file, NULL) == RSET_OK)
            rset_file_set_mark(file, 0);
        (void)rset_file_close(file, NULL);
    }
    return st;
}

uint64_t
rset_plain_files_bytes(const rset_plain_files *f)
{
    struct stat sb;
    uint64_t    sum = 0;

    for (int i = 0; f->dir != NULL && i < f->n; i++)
        if (rset_dir_stat(f->dir, f->names[i], &sb, NULL) == RSET_OK)
            sum += (uint64_t)sb.st_size;
    return sum;
}

void
rset_plain_files_say(const rset_plain_files *f, char *buf, size_t size)
{
    if (f->n > 1)
        snprintf(buf, size, "%.700s and %d more", f->paths[0], f->n - 1);
    else
        snprintf(buf, size, "%.700s", rset_local_name(&f->local));
}
