/* look.c: a process looks into directories for files that ranks open. See picture.h. */
#include "picture.h"

#include "common/crc64.h"

#include <stdlib.h>
#include <string.h>

uint64_t
rset_look_number(const rset_dir *dir, const char *host)
{
    const uint64_t number = rset_dir_number(dir);

    return rset_crc64(rset_name_hash(host), &number, sizeof number);
}

/* ---- directories ---- */

typedef struct looking {
    const rset_look_at *at;
    rset_look          *look;
    rset_err           *err;
} looking;

static bool
is_known(const rset_look *look, const rset_dir *dir)
{
    for (int i = 0; i < look->ndirs; i++)
        if (rset_dir_number(look->dirs[i]) == rset_dir_number(dir))
            return true;
    return false;
}

static rset_status
look_into(const looking *l, rset_dir *dir)
{
    rset_look   *look = l->look;
    const size_t first = look->found.n;
    rset_status  st;

    look->dirs[look->ndirs++] = dir;
    st = rset_locate(dir, l->at->like, &look->found, l->err);
    for (size_t i = first; i < look->found.n; i++)
        look->found.at[i].place = rset_look_number(dir, l->at->host);
    return st;
}

/* A directory that cannot be opened has nothing. */
static rset_status
look_by_path(const looking *l, const char *path)
{
    rset_look *look = l->look;
    rset_dir  *dir = NULL;

    if (look->ndirs == RSET_LOOK_DIRS || rset_dir_open(path, false, &dir, NULL) != RSET_OK)
        return RSET_OK;
    if (!is_known(look, dir))
        return look_into(l, dir);
    rset_dir_close(dir);
    return RSET_OK;
}

static rset_status
look_at_own(const looking *l)
{
    const rset_look_at *at = l->at;
    rset_look          *look = l->look;
    rset_status         st;

    look->borrowed = at->dir != NULL;
    st = at->dir != NULL    ? look_into(l, at->dir)
         : at->path != NULL ? look_by_path(l, at->path)
                            : RSET_OK;
    look->own = look->ndirs > 0 ? look->dirs[0] : NULL;
    return st;
}

/* The directory of a file that a header records. */
static rset_status
look_where(const looking *l, const char *path)
{
    char       *dir = NULL, *base = NULL;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_path_split(path, &dir, &base, &own);

    if (st == RSET_USAGE) /* of no file */
        st = RSET_OK;
    else if (st != RSET_OK)
        st = rset_fail_as(l->err, &own);
    else if (dir[0] == '/')
        st = look_by_path(l, dir);
    free(dir);
    free(base);
    return st;
}

rset_status
rset_look_around(const rset_look_at *at, rset_look *out, rset_err *err)
{
    const looking l = {at, out, err};
    rset_status   st;

    *out = (rset_look){0};
    st = look_at_own(&l);
    for (int i = 0; st == RSET_OK && at->search != NULL && at->search[i] != NULL; i++)
        st = look_by_path(&l, at->search[i]);
    for (size_t i = 0; at->recorded && i < out->found.n; i++)
        for (int k = 0; st == RSET_OK && k < out->found.at[i].evidence.header.ninfos; k++) {
            const rset_info *info = &out->found.at[i].evidence.header.infos[k];

            if (info->nfiles == 1)
                st = look_where(&l, info->files[0].path);
        }
    return st;
}

void
rset_look_free(rset_look *look)
{
    rset_located_list_free(&look->found);
    for (int i = look->borrowed ? 1 : 0; i < look->ndirs; i++)
        rset_dir_close(look->dirs[i]);
    *look = (rset_look){0};
}

/* ---- what it tells others ---- */

bool
rset_look_tells(const rset_look *look, const rset_look_telling *how, const rset_located *found,
                int k)
{
    const rset_info *info = &found->evidence.header.infos[k];
    const char      *base = k == 0 ? found->name : rset_path_base(info->files[0].path);

    return !how->one_dir || found->dir != look->own ||
           info->desc.rank % how->world->size == how->world->rank || strcmp(base, how->name) == 0;
}
