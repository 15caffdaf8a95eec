/* kept.c: an older generation is kept. See kept.h; kept_remove.c removes it. */
#include "kept.h"

#include "kept_internal.h"
#include "member/delta.h"
#include "names/names.h"
#include "store/buffer.h"

#include <stdlib.h>
#include <string.h>

/* ---- adding one ---- */

/* One that is being kept. */
typedef struct keeping {
    const rset_local    *local;
    const rset_evidence *ev;     /* of it */
    const rset_undo     *undo;   /* and what leads back to it */
    const rset_overlay  *update; /* of its redundancy file; NULL: another one takes its place */
    bool                 noted;  /* the names file lists it already */
    rset_kept_names      to;
    char                *redundancy, *redo, *desc; /* that will protect it */
    rset_err            *err;
} keeping;

static rset_status
name_all(keeping *k, uint64_t generation)
{
    const rset_desc *d = &k->ev->header.infos[0].desc;
    rset_status      st = rset_kept_names_of(k->local, generation, &k->to, k->err);

    if (st != RSET_OK)
        return st;
    k->redundancy = rset_format_redundancy_name(k->to.prefix, d);
    k->desc = rset_format_desc_name(k->to.prefix, d->rank);
    if (k->redundancy != NULL)
        k->redo = rset_join_names(k->redundancy, RSET_SUFFIX_REDO);
    return k->redo != NULL && k->desc != NULL ? RSET_OK : rset_kept_no_memory(k->local, k->err);
}

/* Before any of them is made (N1). */
static rset_status
note_names(const keeping *k)
{
    const char *beside[] = {k->redundancy, k->desc};
    rset_status st = RSET_OK;

    if (!k->noted)
        st = rset_names_note_kept(k->local->dir, k->local->prefix, NULL, 0,
                                  rset_evidence_generation(k->ev), k->err);
    return st == RSET_OK ? rset_names_note(k->local->dir, k->to.prefix, beside, 2, k->err) : st;
}

/* The old data file was put aside already when a new one took its name without protection. */
static bool
is_aside(const keeping *k)
{
    return k->ev->is_void && k->undo->aside;
}

/* Removes what a commit that did not come to be has left under these names. The names file has listed it since then (N1). What the file
 * would be rolled back with is none of that. */
static rset_status
clear(const keeping *k)
{
    const char *const names[] = {k->redundancy, k->redo, is_aside(k) ? NULL : k->to.data,
                                 k->ev->is_void ? NULL : k->to.undo};
    rset_status       st = RSET_OK;
    bool              listed = false;

    for (size_t i = 0; i < k->ev->nkept && !listed; i++)
        listed = k->ev->kept[i] == rset_evidence_generation(k->ev);
    for (size_t i = 0; listed && st == RSET_OK && i < sizeof names / sizeof *names; i++)
        if (names[i] != NULL)
            st = rset_dir_unlink(k->local->dir, names[i], k->err);
    return st;
}

/* The file that has the content, or which it was laid over, under the name `origin`; `recorded`: what is known of the copied
 * file; NULL: nothing. What cannot be read of it is damaged in the copy: that comes out when it is opened. */
static rset_status
copy_to(const keeping *k, const rset_kept_source *s, const char *origin, const char *name,
        const rset_attrs *recorded)
{
    rset_access     access = RSET_ACCESS_OWNER;
    rset_file      *to = NULL;
    rset_file_attrs attrs;
    rset_err        own = RSET_ERR_NONE;
    rset_status     st;

    if (!rset_file_access(k->local->dir, origin, &access) && recorded != NULL)
        access = rset_recorded_access(recorded);
    st = rset_file_create(k->local->dir, name, &access, &to, k->err);

    if (st == RSET_OK)
        st = rset_kept_copy(s, to, &own);
    if (own.status == RSET_DAMAGED)
        st = RSET_OK;
    else if (own.status != RSET_OK && k->err->status == RSET_OK)
        *k->err = own; /* with what the system said */
    if (st == RSET_OK && recorded != NULL) {
        attrs = rset_recorded_attrs(recorded);
        st = rset_file_set_attrs(to, &attrs, k->err);
        rset_file_set_mark(to, rset_evidence_generation(k->ev));
    }
    if (st == RSET_OK)
        st = rset_file_sync(to, k->err);
    if (rset_file_close(to, k->err) != RSET_OK && st == RSET_OK)
        st = k->err->status;
    return st;
}

static rset_status
copy_file(const keeping *k, const char *from, const char *to, const rset_attrs *recorded)
{
    rset_layered file = {0};
    uint64_t     size = 0;
    rset_status  st = rset_layered_open(k->local->dir, from, NULL, NULL, &file, k->err);

    if (st != RSET_OK)
        return st;
    st = rset_layered_size(&file, &size, k->err);
    if (st == RSET_OK)
        st = copy_to(k, &(rset_kept_source){.file = &file, .size = size, .may_fail = true}, from,
                     to, recorded);
    rset_layered_close(&file);
    return st;
}

/* The file `from`, which nobody changes any more, has the name `to` as well. */
static rset_status
also_call(const keeping *k, const char *from, const char *to, const rset_attrs *recorded)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_link(k->local->dir, from, k->local->dir, to, &own);

    if (st == RSET_USAGE) /* no links on this file system */
        return copy_file(k, from, to, recorded);
    if (st != RSET_OK && k->err->status == RSET_OK)
        *k->err = own;
    return st;
}

/* ---- its data ---- */

/* A journal without entries: the file is what it was. */
static rset_status
write_empty_journal(const keeping *k)
{
    const rset_undo_head head = {.sequence = 1,
                                 .state = RSET_UNDO_OPEN,
                                 .flags = RSET_UNDO_KEPT,
                                 .generation = rset_evidence_generation(k->ev),
                                 .key = rset_evidence_generation(k->ev),
                                 .size = k->ev->header.infos[0].files[0].attrs.size};
    const rset_access    access = rset_local_access(k->local);
    rset_file           *file = NULL;
    rset_status          st = rset_file_create(k->local->dir, k->to.undo, &access, &file, k->err);

    if (st == RSET_OK)
        st = rset_undo_write_head(file, &head, k->err);
    if (st == RSET_OK)
        st = rset_file_sync(file, k->err);
    if (rset_file_close(file, k->err) != RSET_OK && st == RSET_OK)
        st = k->err->status;
    return st;
}

/* Entries are not synced one by one while the file changes; but what is kept does not go with the power. */
static rset_status
sync_journal(const keeping *k)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_open(k->local->dir, k->to.undo, &file, k->err);

    if (st == RSET_OK)
        st = rset_file_sync(file, k->err);
    rset_file_close(file, NULL);
    return st;
}

/* Does what has the name now become the next newer generation, which the journal leads back from? Else it leads back from the file that is
 * about to lose the name, or was put aside when it did. */
static bool
changes_in_place(const keeping *k)
{
    return k->local->shadow == NULL && !is_aside(k);
}

static rset_status
keep_data(const keeping *k)
{
    rset_status st = RSET_OK;

    if (!changes_in_place(k) && !is_aside(k))
        st = also_call(k, k->local->names[0], k->to.data, &k->ev->header.infos[0].files[0].attrs);
    if (st == RSET_OK && k->ev->is_void)
        st = sync_journal(k);
    else if (st == RSET_OK && changes_in_place(k))
        st = write_empty_journal(k);
    return st;
}

/* ---- its redundancy ---- */

/* Appends what the redundancy file has at `run`. */
static rset_status
append_old(const rset_run *run, rset_file *from, rset_file *to, rset_overlay *over, uint8_t *buf,
           rset_err *err)
{
    rset_status st = RSET_OK;

    for (uint64_t done = 0; st == RSET_OK && done < run->len;) {
        const uint64_t left = run->len - done;
        const size_t   len = left < RSET_FILE_AT_ONCE ? (size_t)left : RSET_FILE_AT_ONCE;
        size_t         got = 0;

        st = rset_file_read(from, run->off + done, buf + RSET_OVERLAY_ENTRY, len, &got, err);
        if (st == RSET_OK && got < len)
            st = rset_fail(err, RSET_IO, "%s: is shorter than it was", rset_file_path(from));
        if (st == RSET_OK)
            st = rset_overlay_append(to, over, run->off + done, buf, len, err);
        done += len;
    }
    return st;
}

static rset_status
write_redo(const keeping *k, rset_file *from, rset_file *to)
{
    rset_overlay over = {.generation = rset_evidence_generation(k->ev), .size = k->update->size};
    uint8_t     *buf = malloc(RSET_OVERLAY_ENTRY + RSET_FILE_AT_ONCE);
    rset_status  st =
        buf != NULL ? rset_delta_begin(to, &over, k->err) : rset_kept_no_memory(k->local, k->err);

    for (size_t i = 0; st == RSET_OK && i < k->update->n; i++)
        st = append_old(&k->update->runs[i], from, to, &over, buf, k->err);
    if (st == RSET_OK)
        st = rset_overlay_complete(to, &over, k->err);
    free(buf);
    return st == RSET_OK ? rset_file_sync(to, k->err) : st;
}

/* The commit changes it in place: what leads back is an update like any other. */
static rset_status
keep_what_is_updated(const keeping *k)
{
    rset_file  *from = NULL, *to = NULL;
    rset_access access = RSET_ACCESS_OWNER;
    rset_status st = rset_file_open(k->local->dir, k->ev->name, &from, k->err);

    (void)rset_file_access(k->local->dir, k->ev->name, &access);
    if (st == RSET_OK)
        st = rset_file_create(k->local->dir, k->redo, &access, &to, k->err);
    if (st == RSET_OK)
        st = write_redo(k, from, to);
    rset_file_close(from, NULL);
    if (rset_file_close(to, k->err) != RSET_OK && st == RSET_OK)
        st = k->err->status;
    return st;
}

/* The descriptor file may be missing: it is written anew where the file is rebuilt. */
static rset_status
keep_desc(const keeping *k)
{
    char       *name = rset_format_desc_name(k->local->prefix, k->ev->header.infos[0].desc.rank);
    bool        there;
    rset_status st;

    if (name == NULL)
        return rset_kept_no_memory(k->local, k->err);
    st = rset_dir_find_file(k->local->dir, name, NULL, &there, k->err);
    if (st == RSET_OK && there)
        st = also_call(k, name, k->desc, NULL);
    free(name);
    return st;
}

/* ---- the whole ---- */

/* Has this rank all of what was protected last? What is damaged in it comes out when it is opened. */
static bool
can_be_kept(const keeping *k)
{
    const rset_evidence *ev = k->ev;
    const uint64_t       generation = rset_evidence_generation(ev);

    if (generation == 0 || ev->header.infos[0].nfiles != 1 || ev->over_gone || ev->placeholder)
        return false;
    return ev->is_void
               ? rset_undo_leads_to(k->undo, generation, ev->header.infos[0].files[0].attrs.size)
               : rset_dir_has_file(k->local->dir, k->local->names[0]);
}

static rset_status
add(keeping *k, uint64_t generation)
{
    rset_status st = name_all(k, generation);

    if (st == RSET_OK)
        st = note_names(k);
    if (st == RSET_OK)
        st = clear(k);
    if (st == RSET_OK)
        st = keep_data(k);
    if (st == RSET_OK)
        st = k->update != NULL ? keep_what_is_updated(k)
                               : also_call(k, k->ev->name, k->redundancy, NULL);
    return st == RSET_OK ? keep_desc(k) : st;
}

static rset_status
add_if_can(keeping *k, uint64_t *generation_out)
{
    rset_status st = RSET_OK;

    if (can_be_kept(k)) {
        *generation_out = rset_evidence_generation(k->ev);
        st = add(k, *generation_out);
    }
    rset_kept_names_free(&k->to);
    free(k->redundancy);
    free(k->redo);
    free(k->desc);
    return st;
}

rset_status
rset_kept_add(const rset_local *local, uint64_t *generation_out, rset_err *err)
{
    rset_evidence ev = {0};
    keeping       k = {.local = local, .ev = &ev, .undo = &ev.undo, .err = err};
    rset_status   st = rset_survey_local(local, &ev, err);

    *generation_out = 0;
    if (st == RSET_OK && ev.over_name != NULL && !ev.over_gone)
        st = rset_evidence_finish(local->dir, &ev, err);
    if (st == RSET_OK)
        st = add_if_can(&k, generation_out);
    if (st == RSET_OK && *generation_out == 0)
        st = rset_kept_part(local, &ev, false, err);
    rset_evidence_free(&ev);
    return st;
}

rset_status
rset_kept_add_updated(const rset_local *local, const rset_evidence *was, const rset_undo *since,
                      const rset_overlay *update, bool noted, uint64_t *generation_out,
                      rset_err *err)
{
    keeping k = {
        .local = local, .ev = was, .undo = since, .update = update, .noted = noted, .err = err};

    *generation_out = 0;
    return add_if_can(&k, generation_out);
}
