/* kept_files.c: see kept_internal.h. */
#include "kept_internal.h"
#include "member/delta.h"
#include "names/names.h"
#include "store/buffer.h"

#include <stdlib.h>
#include <string.h>

rset_status
rset_kept_no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to keep a generation", rset_local_name(local));
}

/* ---- names ---- */

void
rset_kept_names_free(rset_kept_names *k)
{
    free(k->data);
    free(k->undo);
    free(k->prefix);
    *k = (rset_kept_names){0};
}

rset_status
rset_kept_names_of(const rset_local *local, uint64_t generation, rset_kept_names *out,
                   rset_err *err)
{
    rset_kept_names k = {.data = rset_name_of(RSET_NAME_DATA, local->prefix, generation),
                         .undo = rset_name_of(RSET_NAME_UNDO, local->prefix, generation)};

    if (k.data != NULL)
        k.prefix = rset_join_names(k.data, ".");
    *out = k;
    return k.prefix != NULL && k.undo != NULL ? RSET_OK : rset_kept_no_memory(local, err);
}

/* The strings become those of *names. */
static rset_status
take_names(const rset_local *local, rset_names *more, rset_names *names, rset_err *err)
{
    const size_t room = names->n + more->n;
    char       **grown = room > names->room ? realloc(names->at, room * sizeof *grown) : names->at;

    if (more->n == 0)
        return RSET_OK;
    if (grown == NULL)
        return rset_kept_no_memory(local, err);
    names->at = grown;
    names->room = room > names->room ? room : names->room;
    memcpy(&names->at[names->n], more->at, more->n * sizeof *more->at);
    names->n = room;
    more->n = 0;
    return RSET_OK;
}

rset_status
rset_kept_add_names(const rset_local *local, rset_names *names, rset_err *err)
{
    rset_older *list = NULL;
    size_t      n = 0;
    rset_status st = rset_names_older(local->dir, local->prefix, &list, &n, err);

    for (size_t i = 0; st == RSET_OK && i < n; i++) {
        rset_kept_names k = {0};
        rset_names      more = {0};

        st = rset_kept_names_of(local, list[i].generation, &k, err);
        if (st == RSET_OK)
            st = rset_names_find(local->dir, k.prefix, k.data, &more, err);
        if (st == RSET_OK)
            st = take_names(local, &more, names, err);
        rset_names_free(&more);
        rset_kept_names_free(&k);
    }
    free(list);
    return st;
}

static rset_status
find(const rset_local *local, rset_name_kind kind, uint64_t generation, bool *there_out,
     rset_err *err)
{
    char       *name = rset_name_of(kind, local->prefix, generation);
    rset_status st = name != NULL ? rset_dir_find_file(local->dir, name, NULL, there_out, err)
                                  : rset_kept_no_memory(local, err);

    free(name);
    return st;
}

rset_status
rset_kept_find(const rset_local *local, uint64_t generation, rset_kept_form *form_out,
               rset_err *err)
{
    bool        data = false, back = false;
    rset_status st = find(local, RSET_NAME_UNDO, generation, &back, err);

    if (st == RSET_OK && !back)
        st = find(local, RSET_NAME_DATA, generation, &data, err);
    *form_out = back ? RSET_KEPT_BACK : data ? RSET_KEPT_WHOLE : RSET_KEPT_NOT;
    return st;
}

bool
rset_kept_is_there(const rset_local *local, uint64_t generation)
{
    rset_kept_form form;

    return rset_kept_find(local, generation, &form, NULL) != RSET_OK || form != RSET_KEPT_NOT;
}

void
rset_kept_look(const rset_local *local, rset_evidence *ev)
{
    size_t n = 0;

    for (size_t i = 0; i < ev->nkept; i++)
        if (rset_kept_is_there(local, ev->kept[i]))
            ev->kept[n++] = ev->kept[i];
    ev->nkept = n;
}

uint64_t
rset_kept_before(const rset_local *local, const rset_evidence *ev, uint64_t than)
{
    for (size_t i = 0; i < ev->nkept; i++)
        if (rset_generation_newer(than, ev->kept[i]) && rset_kept_is_there(local, ev->kept[i]))
            return ev->kept[i];
    return 0;
}

/* ---- copying ---- */

/* *got_out < len: that was all. */
static rset_status
read_source(const rset_kept_source *s, uint64_t off, void *buf, size_t len, size_t *got_out,
            rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    *got_out = len;
    st = rset_layered_read(s->file, off, buf, len, got_out, &own);
    if (st != RSET_OK) {
        own.status = s->may_fail ? RSET_DAMAGED : st;
        return rset_fail_as(err, &own);
    }
    if (*got_out < len && !s->may_end)
        st = rset_fail(err, RSET_IO, "%s: is shorter than it was", rset_file_path(s->file->base));
    return st;
}

static rset_status
copy_source(const rset_kept_source *s, rset_file *to, rset_err *err)
{
    uint8_t    *buf = malloc(rset_buffer_size(RSET_FILE_AT_ONCE));
    size_t      got = RSET_FILE_AT_ONCE;
    rset_status st = RSET_OK;

    if (buf == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for a buffer", rset_file_path(to));
    for (uint64_t off = 0; st == RSET_OK && off < s->size && got == RSET_FILE_AT_ONCE; off += got) {
        const uint64_t left = s->size - off;
        const size_t   n = left < RSET_FILE_AT_ONCE ? (size_t)left : RSET_FILE_AT_ONCE;
        uint8_t       *at = rset_buffer_for_read(buf, off);

        st = read_source(s, off, at, n, &got, err);
        if (st == RSET_OK)
            st = rset_file_write(to, off, at, got, err);
    }
    free(buf);
    return st;
}

/* Where the file system can, nothing is copied. */
static rset_status
clone_source(const rset_kept_source *s, rset_file *to, bool *done_out, rset_err *err)
{
    uint64_t    is = s->size;
    rset_status st = s->may_end ? rset_layered_size(s->file, &is, err) : RSET_OK;

    *done_out = false;
    is = is < s->size ? is : s->size;
    return st == RSET_OK && s->file->over == NULL && is > 0
               ? rset_file_clone(to, s->file->base, is, done_out, err)
               : st;
}

rset_status
rset_kept_copy(const rset_kept_source *s, rset_file *to, rset_err *err)
{
    bool        cloned = false;
    rset_status st = clone_source(s, to, &cloned, err);

    return st != RSET_OK || cloned ? st : copy_source(s, to, err);
}
