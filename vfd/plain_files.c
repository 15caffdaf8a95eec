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

/* Number of the place with that path, which becomes a new one where there is none. */
static int
place_at(rset_plain_files *f, char *path)
{
    for (int i = 0; i < f->nplaces; i++)
        if (strcmp(f->places[i].path, path) == 0) {
            free(path);
            return i;
        }
    f->places[f->nplaces].path = path;
    return f->nplaces++;
}

/* File number i. */
static rset_status
take_path(rset_plain_files *f, const char *path, int i, rset_err *err)
{
    char       *dir = NULL;
    rset_status st;

    st = rset_path_absolute(path, &f->paths[i], err);
    if (st != RSET_OK)
        return st;
    st = rset_path_split(f->paths[i], &dir, &f->names[i], err);
    if (st == RSET_OK)
        f->at[i] = place_at(f, dir);
    for (int j = 0; st == RSET_OK && j < i; j++)
        if (strcmp(f->paths[i], f->paths[j]) == 0)
            st = rset_fail(err, RSET_USAGE, "%s: is given twice", f->paths[i]);
    return st;
}

/* What has a name like that is removed with the redundancy, and a rebuild makes such names in each directory. */
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
    f->places = calloc((size_t)f->n, sizeof *f->places);
    f->at = calloc((size_t)f->n, sizeof *f->at);
    f->dirs = calloc((size_t)f->n, sizeof(rset_dir *));
    if (f->paths == NULL || f->names == NULL || f->places == NULL || f->at == NULL ||
        f->dirs == NULL)
        return no_memory(f->n, err);
    for (int i = 0; st == RSET_OK && i < f->n; i++)
        st = take_path(f, paths[i], i, err);
    if (st == RSET_OK && asprintf(&f->prefix, "%s.", f->names[0]) < 0) {
        f->prefix = NULL;
        st = no_memory(f->n, err);
    }
    return st == RSET_OK ? check_names(f, err) : st;
}

/* ---- what their directories say ---- */

/* One that is missing stays NULL. */
static rset_status
open_places(rset_plain_files *f, rset_err *err)
{
    for (int i = 0; i < f->nplaces; i++) {
        rset_err          own = RSET_ERR_NONE;
        const rset_status st = rset_dir_open(f->places[i].path, false, &f->places[i].dir, &own);

        if (st != RSET_OK && st != RSET_ABSENT)
            return rset_fail_as(err, &own);
    }
    return RSET_OK;
}

/* The places are open, or not any more. */
static void
point_to_places(rset_plain_files *f)
{
    for (int i = 0; i < f->n; i++)
        f->dirs[i] = f->places[f->at[i]].dir;
    f->local.dir = f->dirs[0];
}

static rset_status
look(rset_plain_files *f, rset_err *err)
{
    const rset_status st = open_places(f, err);

    f->local = (rset_local){.dirs = f->nplaces > 1 ? f->dirs : NULL,
                            .prefix = f->prefix,
                            .nfiles = f->n,
                            .names = (const char *const *)f->names,
                            .paths = (const char *const *)f->paths};
    point_to_places(f);
    return st == RSET_OK && f->local.dir != NULL ? rset_survey_local(&f->local, &f->evidence, err)
                                                 : st;
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
    for (int i = 0; i < f->nplaces; i++) {
        rset_dir_close(f->places[i].dir);
        free(f->places[i].path);
        free(f->places[i].made);
    }
    free(f->paths);
    free(f->names);
    free(f->places);
    free(f->at);
    free(f->dirs);
    free(f->prefix);
    rset_evidence_free(&f->evidence);
    *f = (rset_plain_files){0};
}

/* ---- may they? ---- */

rset_status
rset_plain_files_may_protect(const rset_plain_files *f, int ranks, int members, rset_err *err)
{
    const rset_evidence *ev = &f->evidence;
    struct stat          sb;
    bool                 there = true;
    rset_status          st = RSET_OK;

    for (int i = 0; i < f->nplaces; i++)
        if (f->places[i].dir == NULL)
            return rset_fail(err, RSET_IO, "%s: no such directory", f->places[i].path);
    for (int i = 0; st == RSET_OK && there && i < f->n; i++) {
        st = rset_dir_find_file(f->dirs[i], f->names[i], &sb, &there, err);
        if (st == RSET_OK && !there)
            st = rset_fail(err, RSET_IO, "%s: is no file that is there%s", f->paths[i],
                           ev->any ? "; it was protected: H5FDredset_recover_files may restore it"
                                   : "");
    }
    if (st != RSET_OK)
        return st;
    if (ev->undo.busy || ev->nshadows > 0)
        return rset_fail(err, RSET_BUSY,
                         "%s: is being changed through the HDF5 driver, or a change was not "
                         "finished: close it, or open it with all its ranks, first",
                         f->paths[0]);
    if (!rset_name_has_room(f->names[0], ranks, members, false))
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
        f->paths[0], info->nfiles, f->n, f->places[0].path);
}

/* ---- on disk ---- */

rset_status
rset_plain_files_make_dirs(rset_plain_files *f, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < f->nplaces; i++) {
        rset_plain_place *p = &f->places[i];

        if (p->dir != NULL)
            continue;
        st = rset_dir_make(p->path, &p->made, err);
        if (st == RSET_OK)
            st = rset_dir_open(p->path, false, &p->dir, err);
    }
    point_to_places(f);
    if (st == RSET_ABSENT) /* that word is for files that were never protected */
        return err->status = RSET_IO;
    return st;
}

/* The last first: it may be in one that was made before. */
void
rset_plain_files_unmake_dirs(rset_plain_files *f)
{
    for (int i = f->nplaces - 1; i >= 0; i--) {
        rset_plain_place *p = &f->places[i];

        if (p->made == NULL)
            continue;
        rset_dir_close(p->dir);
        p->dir = NULL;
        rset_dir_unmake(p->path, p->made);
    }
    if (f->nplaces > 0)
        point_to_places(f);
}

rset_status
rset_plain_files_let_go(const rset_plain_files *f, rset_err *err)
{
    rset_status st;

    if (f->local.dir == NULL)
        return RSET_OK;
    st = rset_unmark(&f->local, err);
    return st == RSET_OK ? rset_unprotect(&f->local, err) : st;
}

uint64_t
rset_plain_files_bytes(const rset_plain_files *f)
{
    struct stat sb;
    uint64_t    sum = 0;

    for (int i = 0; i < f->n; i++)
        if (f->dirs[i] != NULL && rset_dir_stat(f->dirs[i], f->names[i], &sb, NULL) == RSET_OK)
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
