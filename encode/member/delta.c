/* delta.c: see delta.h. */
#include "delta.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

static const char magic[] = {'R', 'S', 'E', 'T', 'D', 'L', 'T', '1'};

/* ---- reading through it ---- */

rset_status
rset_layered_open(rset_dir *dir, const char *name, const char *over_name, const rset_overlay *over,
                  rset_layered *out, rset_err *err)
{
    rset_layered l = {.over = over};
    rset_err     ignored = RSET_ERR_NONE;
    rset_status  st = rset_file_open(dir, name, &l.base, over != NULL ? &ignored : err);

    if (over != NULL)
        st = rset_file_open(dir, over_name, &l.top, err);
    if (st != RSET_OK)
        rset_layered_close(&l);
    else
        *out = l;
    return st;
}

void
rset_layered_close(rset_layered *l)
{
    rset_file_close(l->base, NULL);
    rset_file_close(l->top, NULL);
    *l = (rset_layered){0};
}

rset_status
rset_layered_size(const rset_layered *l, uint64_t *out, rset_err *err)
{
    struct stat sb = {0};
    rset_status st = l->base != NULL ? rset_file_stat(l->base, &sb, err) : RSET_OK;

    *out = st == RSET_OK ? (uint64_t)sb.st_size : 0;
    return st;
}

rset_status
rset_layered_exactly(const rset_layered *l, uint64_t off, void *buf, size_t len, const char *name,
                     rset_err *err)
{
    size_t      got = 0;
    rset_status st = rset_layered_read(l, off, buf, len, &got, err);

    if (st == RSET_OK && got < len)
        st = rset_fail(err, RSET_IO, "%s: became shorter while it was being read", name);
    return st;
}

rset_status
rset_layered_evidence(rset_dir *dir, const rset_evidence *ev, rset_layered *out, rset_err *err)
{
    return rset_layered_open(dir, ev->name, ev->over_name, ev->over_name != NULL ? &ev->over : NULL,
                             out, err);
}

/* ---- the file itself ---- */

bool
rset_delta_is(rset_dir *dir, const char *name)
{
    uint8_t    head[sizeof magic];
    rset_file *file = NULL;
    size_t     got = 0;
    const bool is = rset_file_open(dir, name, &file, NULL) == RSET_OK &&
                    rset_file_read(file, 0, head, sizeof head, &got, NULL) == RSET_OK &&
                    got == sizeof head && memcmp(head, magic, sizeof magic) == 0;

    rset_file_close(file, NULL);
    return is;
}

rset_status
rset_delta_begin(rset_file *file, rset_overlay *over, rset_err *err)
{
    uint8_t head[RSET_DELTA_HEAD];

    memcpy(head, magic, sizeof magic);
    rset_put64(head + 8, over->generation);
    rset_put64(head + 16, over->size);
    rset_put64(head + 24, rset_crc64(0, head, 24));
    over->end = sizeof head;
    return rset_file_write(file, 0, head, sizeof head, err);
}

static rset_status
load(rset_file *file, rset_overlay *out, rset_err *err)
{
    uint8_t     head[RSET_DELTA_HEAD];
    size_t      got = 0;
    rset_status st = rset_file_read(file, 0, head, sizeof head, &got, err);

    if (st != RSET_OK)
        return st;
    if (got < sizeof head || memcmp(head, magic, sizeof magic) != 0 ||
        rset_get64(head + 24) != rset_crc64(0, head, 24))
        return RSET_OK;
    out->generation = rset_get64(head + 8);
    out->size = rset_get64(head + 16);
    return rset_overlay_scan(file, sizeof head, out, err);
}

rset_status
rset_delta_load(rset_dir *dir, const char *over_name, rset_overlay *out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    rset_status st = rset_file_open(dir, over_name, &file, &own);

    *out = (rset_overlay){0};
    if (st == RSET_OK)
        st = load(file, out, &own);
    rset_file_close(file, NULL);
    if (!out->complete)
        rset_overlay_free(out);
    return st == RSET_NOMEM || st == RSET_IO ? rset_fail_as(err, &own) : RSET_OK;
}

rset_status
rset_delta_base(rset_dir *dir, const char *name, char **base_out, rset_err *err)
{
    char       *bare = rset_bare_name(name);
    char       *marked = bare != NULL ? rset_join_names(bare, RSET_SUFFIX_VOID) : NULL;
    struct stat sb;
    bool        is_void = false;
    rset_status st = marked != NULL ? rset_dir_find_file(dir, marked, &sb, &is_void, err)
                                    : rset_fail(err, RSET_NOMEM, "%s: no memory", name);

    *base_out = st != RSET_OK ? NULL : is_void ? marked : bare;
    if (*base_out != bare)
        free(bare);
    if (*base_out != marked)
        free(marked);
    return st;
}

/* ---- the commit ---- */

rset_status
rset_delta_decide(rset_dir *dir, const char *name, rset_err *err)
{
    char       *from = rset_join_names(name, RSET_SUFFIX_NEW);
    char       *to = rset_join_names(name, RSET_SUFFIX_REDO);
    rset_status st = RSET_OK;

    if (from == NULL || to == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to update %s", name);
    if (st == RSET_OK)
        st = rset_dir_rename(dir, from, to, err);
    if (st == RSET_OK)
        st = rset_dir_sync(dir, err);
    free(from);
    free(to);
    return st;
}

/* Is it the whole file? Its runs are ascending and disjoint. */
static bool
is_whole(const rset_overlay *over)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < over->n; i++)
        sum += over->runs[i].len;
    return sum == over->size;
}

/* Can the update be put into its file, which is there, or is not? */
static bool
can_apply(const rset_overlay *over, bool there)
{
    return there || is_whole(over);
}

rset_status
rset_delta_has_base(rset_dir *dir, const char *base, const rset_overlay *over, bool *there_out,
                    bool *has_out, rset_err *err)
{
    const rset_status st = rset_dir_find_file(dir, base, NULL, there_out, err);

    *has_out = can_apply(over, *there_out);
    return st;
}

/* Opens the file that the update is to be put into, or makes it. */
static rset_status
open_base(rset_dir *dir, const char *name, bool there, const char *redo, rset_file **out,
          rset_err *err)
{
    rset_access access = RSET_ACCESS_OWNER;
    const bool  known = rset_file_access(dir, redo, &access);
    rset_status st = there ? rset_file_open_update(dir, name, out, err)
                           : rset_file_create(dir, name, &access, out, err);

    if (st == RSET_OK && known)
        rset_file_follow(*out, access);
    return st;
}

/* *applied_out: false where there is nothing that it could be put into. */
static rset_status
apply(rset_dir *dir, const char *base_name, const char *redo, const rset_overlay *over,
      bool *applied_out, rset_err *err)
{
    rset_file  *top = NULL, *base = NULL;
    struct stat sb;
    bool        there = false;
    rset_status st = rset_dir_find_file(dir, base_name, &sb, &there, err);

    *applied_out = st == RSET_OK && can_apply(over, there);
    if (!*applied_out)
        return st;
    st = rset_file_open(dir, redo, &top, err);
    if (st == RSET_OK)
        st = open_base(dir, base_name, there, redo, &base, err);
    if (st == RSET_OK && !(there && (uint64_t)sb.st_size == over->size))
        st = rset_file_resize(base, over->size, err);
    if (st == RSET_OK)
        st = rset_overlay_copy(over, top, base, err);
    if (st == RSET_OK)
        st = rset_file_sync(base, err);
    if (rset_file_close(base, err) != RSET_OK && st == RSET_OK)
        st = RSET_IO;
    rset_file_close(top, NULL);
    return st;
}

rset_status
rset_delta_finish(rset_dir *dir, const char *name, const rset_overlay *over, bool is_void,
                  bool *done_out, rset_err *err)
{
    char       *base = NULL, *redo = rset_join_names(name, RSET_SUFFIX_REDO);
    char       *to = rset_join_names(name, is_void ? RSET_SUFFIX_VOID : "");
    bool        applied = false;
    rset_status st = rset_delta_base(dir, name, &base, err);

    if (st == RSET_OK && (redo == NULL || to == NULL))
        st = rset_fail(err, RSET_NOMEM, "no memory to update %s", name);
    if (st == RSET_OK)
        st = apply(dir, base, redo, over, &applied, err);
    if (st == RSET_OK && applied && strcmp(base, to) != 0)
        st = rset_dir_rename(dir, base, to, err);
    if (st == RSET_OK && applied)
        st = rset_dir_sync(dir, err); /* before what can do it again is gone */
    if (st == RSET_OK && applied)
        st = rset_dir_unlink(dir, redo, err);
    *done_out = st == RSET_OK && applied;
    free(base);
    free(to);
    free(redo);
    return st;
}
