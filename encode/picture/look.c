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
is_known(const rset_look *look, uint64_t number)
{
    for (int i = 0; i < look->ndirs; i++)
        if (look->dirs[i].number == number)
            return true;
    return false;
}

static bool
is_known_by_path(const rset_look *look, const char *path)
{
    for (int i = 0; i < look->ndirs; i++)
        if (strcmp(rset_dir_path(look->dirs[i].dir), path) == 0)
            return true;
    return false;
}

/* Takes over `dir`, unless it is lent. */
static rset_status
look_into(const looking *l, rset_dir *dir)
{
    rset_look     *look = l->look;
    const size_t   first = look->found.n;
    const uint64_t place = rset_look_number(dir, l->at->host);
    rset_look_dir *grown = realloc(look->dirs, ((size_t)look->ndirs + 1) * sizeof *grown);
    rset_status    st;

    if (grown == NULL) {
        if (dir != look->borrowed)
            rset_dir_close(dir);
        return rset_fail(l->err, RSET_NOMEM, "no memory for directories to look into");
    }
    look->dirs = grown;
    look->dirs[look->ndirs++] = (rset_look_dir){dir, rset_dir_number(dir)};
    st = rset_locate(dir, l->at, &look->found, l->err);
    for (size_t i = first; i < look->found.n; i++)
        look->found.at[i].place = place;
    if (l->at->alone)
        rset_dir_rest(dir);
    return st;
}

/* A directory that cannot be opened has nothing. */
static rset_status
look_by_path(const looking *l, const char *path)
{
    rset_dir *dir = NULL;

    if (is_known_by_path(l->look, path) || rset_dir_open(path, false, &dir, NULL) != RSET_OK)
        return RSET_OK;
    if (!is_known(l->look, rset_dir_number(dir)))
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

    look->borrowed = at->dir;
    st = at->dir != NULL    ? look_into(l, at->dir)
         : at->path != NULL ? look_by_path(l, at->path)
                            : RSET_OK;
    look->own = look->ndirs > 0 ? look->dirs[0].dir : NULL;
    return st;
}

/* The directory of a file that a header records. */
static rset_status
look_where(const looking *l, const char *path)
{
    char       *dir = NULL, *base = NULL;
    rset_err    own = RSET_ERR_NONE;
    const int   before = l->look->ndirs;
    rset_status st = rset_path_split(path, &dir, &base, &own);

    if (st == RSET_USAGE) /* of no file */
        st = RSET_OK;
    else if (st != RSET_OK)
        st = rset_fail_as(l->err, &own);
    else if ((dir[0] == '/' || l->at->alone) && l->look->recorded < RSET_LOOK_DIRS)
        st = look_by_path(l, dir);
    l->look->recorded += l->look->ndirs - before;
    free(dir);
    free(base);
    return st;
}

/* Recorded paths say where other members' files were; they are only read, so a hostile one does no harm. */
static rset_status
look_where_recorded(const looking *l, size_t i)
{
    const rset_located *found = &l->look->found.at[i];
    const rset_info    *infos = found->evidence.header.infos; /* stay there though more is found */
    const int           n = found->evidence.header.ninfos;
    rset_status         st = RSET_OK;

    if (l->at->follows != NULL && !l->at->follows(found, l->at->arg))
        return RSET_OK;
    for (int k = 0; k < n; k++)
        for (int f = 0; st == RSET_OK && f < infos[k].nfiles; f++)
            st = look_where(l, infos[k].files[f].path);
    return st;
}

rset_status
rset_look_further(const rset_look_at *at, rset_look *look, rset_err *err)
{
    const looking l = {at, look, err};
    rset_status   st = RSET_OK;
    int           before;

    do {
        before = look->ndirs;
        for (size_t i = 0; st == RSET_OK && i < look->found.n; i++)
            st = look_where_recorded(&l, i);
    } while (st == RSET_OK && at->follows != NULL && look->ndirs > before);
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
    return st == RSET_OK && at->recorded ? rset_look_further(at, out, err) : st;
}

void
rset_look_free(rset_look *look)
{
    rset_located_list_free(&look->found);
    for (int i = 0; i < look->ndirs; i++)
        if (look->dirs[i].dir != look->borrowed)
            rset_dir_close(look->dirs[i].dir);
    free(look->dirs);
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
