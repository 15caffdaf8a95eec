/* kept.c: see kept.h. */
#include "kept.h"

#include "commit.h"
#include "names/names.h"
#include "store/buffer.h"

#include <stdlib.h>
#include <string.h>

static rset_status
no_memory(const rset_local *local, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to keep a generation", rset_local_name(local));
}

/* ---- the names of one ---- */

typedef struct kept_names {
    char *data;              /* its data file */
    char *prefix;            /* of what protects that */
    char *redundancy, *desc; /* which is this; NULL: there is none */
} kept_names;

static void
kept_names_free(kept_names *k)
{
    free(k->data);
    free(k->prefix);
    free(k->redundancy);
    free(k->desc);
}

static rset_status
kept_names_of(const rset_local *local, uint64_t generation, kept_names *out, rset_err *err)
{
    kept_names k = {.data = rset_kept_name(local->prefix, generation)};

    if (k.data != NULL)
        k.prefix = rset_join_names(k.data, ".");
    *out = k;
    return k.prefix != NULL ? RSET_OK : no_memory(local, err);
}

/* Of the redundancy that `ev` has found. */
static rset_status
name_redundancy(const rset_local *local, const rset_evidence *ev, kept_names *k, rset_err *err)
{
    const rset_desc *d = &ev->header.infos[0].desc;

    k->redundancy = rset_format_redundancy_name(k->prefix, d);
    k->desc = rset_format_desc_name(k->prefix, d->rank);
    return k->redundancy != NULL && k->desc != NULL ? RSET_OK : no_memory(local, err);
}

/* ---- adding one ---- */

/* One that is being kept. */
typedef struct keeping {
    const rset_local *local;
    rset_evidence     ev;
    kept_names        to;
    rset_err         *err;
} keeping;

/* Before any of them is made (N1). */
static rset_status
note_names(const keeping *k)
{
    const char *data[] = {k->to.data}, *beside[] = {k->to.redundancy, k->to.desc};
    rset_status st = rset_names_note(k->local->dir, k->local->prefix, data, 1, k->err);

    return st == RSET_OK ? rset_names_note(k->local->dir, k->to.prefix, beside, 2, k->err) : st;
}

/* The descriptor file may be missing: it is written anew where the file is rebuilt. */
static rset_status
link_desc(const keeping *k)
{
    char       *name = rset_format_desc_name(k->local->prefix, k->ev.header.infos[0].desc.rank);
    rset_status st = RSET_OK;

    if (name == NULL)
        return no_memory(k->local, k->err);
    if (rset_dir_has_file(k->local->dir, name))
        st = rset_dir_link(k->local->dir, name, k->local->dir, k->to.desc, k->err);
    free(name);
    return st;
}

static rset_status
link_all(const keeping *k)
{
    rset_dir   *dir = k->local->dir;
    rset_status st = rset_dir_link(dir, k->local->names[0], dir, k->to.data, k->err);

    if (st == RSET_OK)
        st = rset_dir_link(dir, k->ev.name, dir, k->to.redundancy, k->err);
    return st == RSET_OK ? link_desc(k) : st;
}

/* A place that bytes are copied from. */
typedef struct source {
    const rset_logical *data; /* the data file's content; NULL: */
    rset_file          *file;
    uint64_t            size;
} source;

static rset_status
read_source(const source *s, uint64_t off, void *buf, size_t len, rset_err *err)
{
    size_t      got = 0;
    rset_status st = s->data != NULL ? rset_logical_read(s->data, off, buf, len, NULL, err)
                                     : rset_file_read(s->file, off, buf, len, &got, err);

    if (st == RSET_OK && s->data == NULL && got < len)
        st = rset_fail(err, RSET_IO, "%s: is shorter than it was", rset_file_path(s->file));
    return st;
}

static rset_status
copy(const source *s, rset_file *to, rset_err *err)
{
    uint8_t    *buf = malloc(rset_buffer_size(RSET_FILE_AT_ONCE));
    rset_status st = RSET_OK;

    if (buf == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for a buffer", rset_file_path(to));
    for (uint64_t off = 0; st == RSET_OK && off < s->size; off += RSET_FILE_AT_ONCE) {
        const uint64_t left = s->size - off;
        const size_t   n = left < RSET_FILE_AT_ONCE ? (size_t)left : RSET_FILE_AT_ONCE;
        uint8_t       *at = rset_buffer_for_read(buf, off);

        st = read_source(s, off, at, n, err);
        if (st == RSET_OK)
            st = rset_file_write(to, off, at, n, err);
    }
    free(buf);
    return st == RSET_OK ? rset_file_sync(to, err) : st;
}

/* `recorded`: what is known of the copied file; NULL: nothing. */
static rset_status
copy_to(const keeping *k, const source *s, const char *name, const rset_attrs *recorded)
{
    rset_file      *to = NULL;
    rset_file_attrs attrs;
    rset_status     st = rset_file_create(k->local->dir, name, &to, k->err);

    if (st == RSET_OK)
        st = copy(s, to, k->err);
    if (st == RSET_OK && recorded != NULL) {
        attrs = rset_recorded_attrs(recorded);
        st = rset_file_set_attrs(to, &attrs, k->err);
        rset_file_set_mark(to, rset_evidence_generation(&k->ev));
    }
    if (rset_file_close(to, k->err) != RSET_OK && st == RSET_OK)
        st = k->err->status;
    return st;
}

static rset_status
copy_data(const keeping *k)
{
    const rset_info *info = &k->ev.header.infos[0];
    rset_local       old = *k->local;
    rset_logical     data;
    rset_status      st;

    old.shadow = NULL;
    old.undo = k->ev.is_void ? &k->ev.undo : NULL;
    st = rset_logical_open(&old, info, &data, k->err);
    if (st != RSET_OK)
        return st;
    st = copy_to(k, &(source){.data = &data, .size = rset_info_length(info)}, k->to.data,
                 &info->files[0].attrs);
    rset_logical_close(&data, NULL);
    return st;
}

/* An update changes it in place. */
static rset_status
copy_redundancy(const keeping *k)
{
    rset_file  *from = NULL;
    struct stat sb = {0};
    rset_status st = rset_file_open(k->local->dir, k->ev.name, &from, k->err);

    if (st == RSET_OK)
        st = rset_file_stat(from, &sb, k->err);
    if (st == RSET_OK)
        st = copy_to(k, &(source){.file = from, .size = (uint64_t)sb.st_size}, k->to.redundancy,
                     NULL);
    rset_file_close(from, NULL);
    return st;
}

static rset_status
copy_all(const keeping *k)
{
    rset_status st = copy_data(k);

    if (st == RSET_OK)
        st = copy_redundancy(k);
    return st == RSET_OK ? link_desc(k) : st;
}

/* Has this rank all of what was protected last? What is damaged in it comes out when it is opened. */
static bool
can_be_kept(const keeping *k)
{
    const rset_evidence *ev = &k->ev;
    const uint64_t       generation = rset_evidence_generation(ev);

    if (generation == 0 || ev->header.infos[0].nfiles != 1 || ev->over_gone || ev->placeholder)
        return false;
    return ev->is_void
               ? rset_undo_leads_to(&ev->undo, generation, ev->header.infos[0].files[0].attrs.size)
               : rset_dir_has_file(k->local->dir, k->local->names[0]);
}

static rset_status
add(keeping *k, uint64_t generation)
{
    rset_status st = kept_names_of(k->local, generation, &k->to, k->err);

    if (st == RSET_OK)
        st = name_redundancy(k->local, &k->ev, &k->to, k->err);
    if (st == RSET_OK)
        st = note_names(k);
    if (st != RSET_OK)
        return st;
    return k->local->shadow != NULL && !k->ev.is_void ? link_all(k) : copy_all(k);
}

rset_status
rset_kept_add(const rset_local *local, uint64_t *generation_out, rset_err *err)
{
    keeping     k = {.local = local, .err = err};
    uint64_t    generation;
    rset_status st = rset_survey_local(local, &k.ev, err);

    *generation_out = 0;
    if (st == RSET_OK && k.ev.over_name != NULL && !k.ev.over_gone)
        st = rset_evidence_finish(local->dir, &k.ev, err);
    if (st == RSET_OK && can_be_kept(&k)) {
        generation = rset_evidence_generation(&k.ev);
        st = add(&k, generation);
        *generation_out = generation;
    }
    kept_names_free(&k.to);
    rset_evidence_free(&k.ev);
    return st;
}

/* ---- removing ---- */

/* What protects it first: it is never rebuilt from what is left of it. */
rset_status
rset_kept_drop(const rset_local *local, uint64_t generation, rset_err *err)
{
    kept_names  k = {0};
    rset_status st = kept_names_of(local, generation, &k, err);

    if (st == RSET_OK)
        st = rset_commit_forget(&(rset_local){.dir = local->dir, .prefix = k.prefix}, NULL, NULL,
                                err);
    if (st == RSET_OK)
        st = rset_dir_unlink(local->dir, k.data, err);
    kept_names_free(&k);
    return st;
}

static int
newest_first(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return rset_generation_newer(y, x) - rset_generation_newer(x, y);
}

/* Those that names say are there. */
static rset_status
list_kept(const rset_local *local, uint64_t **list_out, size_t *n_out, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    rset_status st = rset_names_find(local->dir, local->prefix, NULL, &names, err);
    uint64_t   *list = calloc(names.n + 1, sizeof *list);
    size_t      n = 0;

    for (size_t i = 0; list != NULL && i < names.n; i++)
        n += rset_name_classify(names.at[i], local->prefix, &parsed, &list[n]) == RSET_NAME_KEPT;
    rset_names_free(&names);
    if (list == NULL)
        return no_memory(local, err);
    qsort(list, n, sizeof *list, newest_first);
    *list_out = list;
    *n_out = n;
    return st;
}

rset_status
rset_kept_retire(const rset_local *local, uint64_t current, int keep, rset_err *err)
{
    uint64_t   *list = NULL;
    size_t      n = 0;
    int         kept = 1;
    rset_status st = list_kept(local, &list, &n, err);

    for (size_t i = 0; st == RSET_OK && i < n; i++) {
        const bool stays = rset_generation_newer(current, list[i]) && kept < keep;

        kept += stays;
        if (!stays)
            st = rset_kept_drop(local, list[i], err);
    }
    free(list);
    return st;
}

rset_status
rset_kept_part(const rset_local *local, rset_evidence *ev, rset_err *err)
{
    const uint64_t current = rset_evidence_generation(ev);
    rset_status    st = RSET_OK;
    size_t         n = 0;

    for (size_t i = 0; st == RSET_OK && i < ev->nkept; i++) {
        if (current == 0 || rset_generation_newer(current, ev->kept[i]))
            ev->kept[n++] = ev->kept[i];
        else
            st = rset_kept_drop(local, ev->kept[i], err);
    }
    if (st == RSET_OK)
        ev->nkept = n;
    return st;
}

uint64_t
rset_kept_before(const rset_evidence *ev, uint64_t than)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < ev->nkept; i++)
        if (rset_generation_newer(than, ev->kept[i]) && rset_generation_newer(ev->kept[i], newest))
            newest = ev->kept[i];
    return newest;
}
