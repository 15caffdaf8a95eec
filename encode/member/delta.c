/* delta.c: see delta.h. */
#include "delta.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_PIECE = 256 * 1024 };

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

uint64_t
rset_layered_size(const rset_layered *l)
{
    struct stat sb;
    rset_err    ignored = RSET_ERR_NONE;

    if (l->base == NULL || rset_file_stat(l->base, &sb, &ignored) != RSET_OK)
        return 0;
    return (uint64_t)sb.st_size;
}

rset_status
rset_layered_read(const rset_layered *l, uint64_t off, void *buf, size_t len, size_t *got_out,
                  rset_err *err)
{
    if (l->over != NULL)
        return rset_overlay_read(l->over, l->top, l->base, off, buf, len, got_out, err);
    return rset_file_read(l->base, off, buf, len, got_out, err);
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

rset_status
rset_delta_load(rset_dir *dir, const char *over_name, rset_overlay *out, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_overlay_load(dir, over_name, RSET_DELTA_MAGIC, &file, out, err);

    rset_file_close(file, NULL);
    if (!out->complete)
        rset_overlay_free(out);
    return st;
}

char *
rset_delta_base(rset_dir *dir, const char *name)
{
    char *bare = rset_bare_name(name);
    char *marked = bare != NULL ? rset_beside_name(bare, RSET_SUFFIX_VOID) : NULL;

    if (marked == NULL || rset_dir_has_file(dir, marked)) {
        free(bare);
        return marked;
    }
    free(marked);
    return bare;
}

/* ---- the commit ---- */

rset_status
rset_delta_decide(rset_dir *dir, const char *name, rset_err *err)
{
    char       *from = rset_beside_name(name, RSET_SUFFIX_DELTA);
    char       *to = rset_beside_name(name, RSET_SUFFIX_REDO);
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

static rset_status
copy_run(rset_file *top, rset_file *base, const rset_run *run, uint8_t *buf, rset_err *err)
{
    const rset_layered from = {.base = top};
    rset_status        st = RSET_OK;

    for (uint64_t done = 0; st == RSET_OK && done < run->len;) {
        size_t len = run->len - done < COPY_PIECE ? (size_t)(run->len - done) : COPY_PIECE;

        st = rset_layered_exactly(&from, run->at + done, buf, len, rset_file_path(top), err);
        if (st == RSET_OK)
            st = rset_file_write(base, run->off + done, buf, len, err);
        done += len;
    }
    return st;
}

/* *applied_out: false where there is nothing that it could be put into. */
static rset_status
apply(rset_dir *dir, const char *base_name, const char *redo, const rset_overlay *over,
      bool *applied_out, rset_err *err)
{
    rset_file  *top = NULL, *base = NULL;
    uint8_t    *buf = malloc(COPY_PIECE);
    struct stat sb;
    bool        there = false;
    rset_status st = RSET_OK;

    if (buf == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to update %s", base_name);
    if (st == RSET_OK)
        st = rset_dir_find_file(dir, base_name, &sb, &there, err);
    *applied_out = there && (uint64_t)sb.st_size == over->size;
    if (st == RSET_OK && *applied_out)
        st = rset_file_open(dir, redo, &top, err);
    if (st == RSET_OK && *applied_out)
        st = rset_file_open_update(dir, base_name, &base, err);
    for (size_t i = 0; st == RSET_OK && *applied_out && i < over->n; i++)
        st = copy_run(top, base, &over->runs[i], buf, err);
    if (st == RSET_OK && *applied_out)
        st = rset_file_sync(base, err);
    if (rset_file_close(base, err) != RSET_OK && st == RSET_OK)
        st = RSET_IO;
    rset_file_close(top, NULL);
    free(buf);
    return st;
}

rset_status
rset_delta_finish(rset_dir *dir, const char *name, const rset_overlay *over, bool *done_out,
                  rset_err *err)
{
    char       *base = rset_delta_base(dir, name), *redo = rset_beside_name(name, RSET_SUFFIX_REDO);
    bool        applied = false;
    rset_status st = RSET_OK;

    if (base == NULL || redo == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to update %s", name);
    if (st == RSET_OK)
        st = apply(dir, base, redo, over, &applied, err);
    if (st == RSET_OK && applied && strcmp(base, name) != 0)
        st = rset_dir_rename(dir, base, name, err);
    if (st == RSET_OK && applied)
        st = rset_dir_sync(dir, err); /* before what can do it again is gone */
    if (st == RSET_OK && applied)
        st = rset_dir_unlink(dir, redo, err);
    *done_out = st == RSET_OK && applied;
    free(base);
    free(redo);
    return st;
}
