/* rebuild.c: computing and verifying what a set lost. See rebuild.h; what is published, rebuild_publish.c. */
#include "rebuild.h"

#include "names/claim.h"
#include "names/names.h"
#include "rebuild_internal.h"
#include "store/buffer.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- preparing the new files ---- */

static rset_status
check_asked(const rset_repair *rep, rset_err *err)
{
    const rset_info  *info = rep->header.infos;
    const rset_local *local = rep->local;
    int               at;

    if (info->nfiles != local->nfiles)
        return rset_fail(err, RSET_LOST, "%s: %d files were protected together, %d are asked for",
                         local->prefix, info->nfiles, local->nfiles);
    at = rset_local_misplaced(local, info);
    if (at < 0)
        return RSET_OK;
    return rset_fail(err, RSET_LOST,
                     "%s: file %d of %d was %s when they were protected, and %s is asked "
                     "for: ask for the same files in the same order",
                     local->prefix, at + 1, info->nfiles, rset_path_base(info->files[at].path),
                     local->names[at]);
}

static rset_status
start_data(rset_repair *rep, rset_err *err)
{
    const rset_info *info = rep->header.infos;
    rset_status      st = check_asked(rep, err);

    if (st != RSET_OK)
        return st;
    rep->new_sums = calloc((size_t)info->nfiles + 1, sizeof *rep->new_sums);
    if (rep->new_sums == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to rebuild %s", rep->local->prefix);
    for (int i = 0; i < info->nfiles; i++) {
        uint64_t block = info->files[i].has_sums ? info->files[i].sums.block : RSET_BLOCK_MIN;

        if (rset_sums_init(&rep->new_sums[i], info->files[i].attrs.size, block) != 0)
            return rset_fail(err, RSET_NOMEM, "no memory to rebuild %s", rep->local->prefix);
    }
    rep->new_data_ids = calloc((size_t)info->nfiles + 1, sizeof *rep->new_data_ids);
    if (rep->new_data_ids == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to rebuild %s", rep->local->prefix);
    st = rset_over_can(rep)
             ? rset_over_begin(rep, err)
             : rset_logical_create(rep->local, info, &RSET_ACCESS_ALL, &rep->new_data, err);
    for (int i = 0; st == RSET_OK && i < info->nfiles; i++)
        st = rset_file_identity(rep->new_data.files[i], &rep->new_data_ids[i], err);
    return st;
}

/* The clean form of FORMAT.md 10: own and left infos, own RANK, the whole GROUP. */
static rset_status
start_redundancy(rset_repair *rep, rset_err *err)
{
    const rset_desc *d = &rep->header.infos[0].desc;
    uint64_t         size = rset_shape_payload(&rep->shape, rep->header.member);
    size_t           most = rset_format_max_blocks(rep->header.ninfos, 1);
    uint8_t         *buf = NULL;
    rset_status      st;

    rep->name = rset_format_redundancy_name(rep->local->prefix, d);
    if (rep->name == NULL || asprintf(&rep->temp_name, "%s" RSET_SUFFIX_FIX, rep->name) < 0 ||
        rset_sums_init(&rep->header.payload, size, rset_sums_block_size(size, most)) != 0)
        return rset_fail(err, RSET_NOMEM, "no memory to rebuild %s", rep->local->prefix);
    rep->header.has_payload_sums = d->generation != 0;
    st = rset_names_note_temporary(rep->local->dir, rep->local->prefix, rep->temp_name, err);
    if (st == RSET_OK)
        st = rset_format_pack_header(&rep->header, d->generation != 0, &buf, &rep->payload_at, err);
    free(buf);
    if (st == RSET_OK)
        st =
            rset_file_create(rep->local->dir, rep->temp_name, &rep->access, &rep->new_payload, err);
    if (st == RSET_OK)
        st = rset_file_identity(rep->new_payload, &rep->new_payload_id, err);
    return st;
}

/* What is read from now on was verified before, and has to be the same still. */
static rset_status
start_rereads(rset_repair *rep, rset_err *err)
{
    const rset_header *old = &rep->evidence->header;
    const rset_sums   *payload = rep->evidence->has_header && old->has_payload_sums &&
                                       old->infos[0].desc.generation == rep->generation
                                     ? &old->payload
                                     : NULL;
    rset_status        st = rset_reread_begin(&rep->header.infos[0], payload, &rep->copied, err);

    if (st == RSET_OK)
        st = rset_reread_begin(&rep->header.infos[0], payload, &rep->sources, err);
    return st;
}

static rset_status
open_sources(rset_repair *rep, rset_err *err)
{
    rset_status st = rset_logical_open(&rep->source, &rep->header.infos[0], &rep->data, err);

    if (st == RSET_OK && rep->evidence->has_header)
        st = rset_layered_evidence(rep->local->dir, rep->evidence, &rep->payload, err);
    return st == RSET_OK ? start_rereads(rep, err) : st;
}

static rset_status
start(rset_repair *rep, rset_err *err)
{
    rset_status st = RSET_OK;

    if (rep->local->dir == NULL)
        return RSET_OK;
    if (rep->writable && rep->cramped)
        st = rset_repair_discard(rep, err);
    if (st == RSET_OK)
        st = open_sources(rep, err);
    if (st == RSET_OK && rep->writable && rep->data_out)
        st = start_data(rep, err);
    if (st == RSET_OK && rep->writable && rep->redundancy_out)
        st = start_redundancy(rep, err);
    return st;
}

/* ---- moving the bytes ---- */

static rset_status
read_bytes(void *arg, bool payload, uint64_t off, void *buf, size_t len, rset_err *err)
{
    rset_repair         *rep = arg;
    const rset_evidence *ev = rep->evidence;

    if (payload)
        return rset_layered_exactly(&rep->payload, ev->payload_at + off, buf, len, ev->name, err);
    return rset_logical_read(&rep->data, off, buf, len, NULL, err);
}

static rset_status
read_piece(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len, rset_err *err)
{
    rset_repair *rep = arg;
    bool         payload = kind == RSET_PIECE_PARITY;
    rset_status  st;

    if (!payload &&
        off >= rep->length[rep->set->rank]) { /* padding; the file may be out of reach */
        memset(buf, 0, len);
        return RSET_OK;
    }
    st = read_bytes(rep, payload, off, buf, len, err);
    if (st == RSET_OK && payload)
        rset_reread_payload(rep->noting, off, buf, len);
    else if (st == RSET_OK)
        rset_reread_data(rep->noting, off, buf, len);
    return st;
}

static rset_status
note_room(rset_repair *rep, rset_status st, const rset_err *err)
{
    rep->no_room = rep->no_room || (st != RSET_OK && rset_err_lacks_room(err));
    return st;
}

static rset_status
write_piece(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
            rset_err *err)
{
    rset_repair *rep = arg;
    rset_status  st;

    if (kind == RSET_PIECE_DATA) {
        st = rset_logical_write(&rep->new_data, off, buf, len, rep->over ? NULL : rep->new_sums,
                                err);
    } else {
        rset_sums_add(&rep->header.payload, off, buf, len);
        st = rset_file_write(rep->new_payload, rep->payload_at + off, buf, len, err);
    }
    return note_room(rep, st, err);
}

/* Copies what is good of the old file beside what will be computed. */
static rset_status
copy_good(rset_repair *rep, rset_piece_kind kind, const rset_ranges *bad, uint64_t length,
          rset_err *err)
{
    uint64_t    most = length < RSET_FILE_AT_ONCE ? length : RSET_FILE_AT_ONCE;
    uint64_t    payload_at = kind == RSET_PIECE_PARITY ? rep->evidence->payload_at : 0;
    uint8_t    *room = malloc(rset_buffer_size((size_t)most));
    rset_status st = RSET_OK;

    if (room == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a buffer");
    for (uint64_t off = 0, until; st == RSET_OK && off < length; off = until) {
        uint8_t *buf = rset_buffer_for_read(room, off + payload_at);
        bool     skip = rset_ranges_cover(bad, off, &until);

        if (until > length)
            until = length;
        if (skip)
            continue;
        if (until - off > most)
            until = off + most;
        st = read_piece(rep, kind, off, buf, (size_t)(until - off), err);
        if (st == RSET_OK)
            st = write_piece(rep, kind, off, buf, (size_t)(until - off), err);
    }
    free(room);
    return st;
}

static rset_status
copy_all_good(rset_repair *rep, rset_err *err)
{
    const rset_health *h = &rep->health[rep->set->rank];
    rset_status        st = RSET_OK;

    rep->noting = &rep->copied;
    if (rep->new_data.files != NULL && !rep->over)
        st = copy_good(rep, RSET_PIECE_DATA, &h->data, rep->length[rep->set->rank], err);
    if (st == RSET_OK && rep->new_payload != NULL)
        st = copy_good(rep, RSET_PIECE_PARITY, &h->payload,
                       rset_shape_payload(&rep->shape, rep->set->rank), err);
    return st;
}

/* ---- verifying and completing ---- */

/* A member that cannot read its piece sends zeros, and says so when all agree: then that is the cause. */
static rset_status
say_other_content(const char *path, rset_err *err)
{
    const rset_status st =
        rset_fail(err, RSET_LOST,
                  "%s: the rebuilt content does not have the recorded checksum, so it "
                  "was thrown away (P2); report this with the redundancy files",
                  path);

    if (err != NULL)
        err->follows = 1;
    return st;
}

static rset_status
finish_data(rset_repair *rep, rset_err *err)
{
    const rset_info *info = rep->header.infos;
    rset_status      st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < info->nfiles; i++) {
        const rset_file_info *f = &info->files[i];
        const rset_file_attrs attrs = rset_local_attrs(rep->local, i, &f->attrs);

        rset_sums_finish(&rep->new_sums[i]);
        if (!rep->over && f->has_sums &&
            (rset_sums_differ(&rep->new_sums[i], &f->sums, 0) < f->sums.nblocks ||
             rep->new_sums[i].whole != f->sums.whole))
            return say_other_content(f->path, err);
        if (i == 0 && info->desc.generation != 0)
            rset_file_set_mark(rep->new_data.files[i], rep->generation);
        st = rset_file_set_attrs(rep->new_data.files[i], &attrs, err);
        if (st == RSET_OK)
            st = rset_file_sync(rep->new_data.files[i], err);
    }
    return st == RSET_OK && rep->over ? rset_over_check(rep, err) : st;
}

static rset_status
finish_redundancy(rset_repair *rep, rset_err *err)
{
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st;

    rset_sums_finish(&rep->header.payload);
    st = rset_format_pack_header(&rep->header, rep->header.has_payload_sums, &buf, &len, err);
    if (st == RSET_OK && len != rep->payload_at)
        st = rset_fail(err, RSET_BUG, "%s: the header has %zu bytes, %zu were expected", rep->name,
                       len, rep->payload_at);
    if (st == RSET_OK)
        st = rset_file_write(rep->new_payload, 0, buf, len, err);
    free(buf);
    if (st == RSET_OK)
        st = rset_file_sync(rep->new_payload, err);
    return st;
}

static rset_status
close_new(rset_repair *rep, rset_err *err)
{
    rset_file  *payload = rep->new_payload;
    rset_status st = RSET_OK;

    if (rep->new_data.files != NULL)
        st = rset_logical_close(&rep->new_data, err);
    rep->new_payload = NULL;
    if (rset_file_close(payload, err) != RSET_OK && st == RSET_OK)
        st = RSET_IO;
    return st;
}

static rset_status
check_rereads(rset_repair *rep, rset_err *err)
{
    const char *name = rset_local_name(rep->local);
    rset_status st = RSET_OK;

    if (rep->local->dir == NULL)
        return RSET_OK;
    if (rep->optimistic) {
        rset_reread_expect(&rep->sources, RSET_REREAD_ALL,
                           rep->content == RSET_CONTENT_ALL ? RSET_REREAD_ALL : RSET_REREAD_FIRST);
        rset_reread_leave_out(&rep->sources, rep->data_out, rep->redundancy_out);
    } else {
        st = rset_reread_check(&rep->copied, read_bytes, rep, name, err);
    }
    return st == RSET_OK ? rset_reread_check(&rep->sources, read_bytes, rep, name, err) : st;
}

rset_status
rset_repair_write(rset_repair *rep, rset_status before, rset_err *err)
{
    rset_stream_io io = {.read = read_piece, .write = write_piece, .arg = rep};
    rset_status    st = before, more;
    bool           data, redundancy;

    if (st == RSET_OK)
        st = note_room(rep, start(rep, err), err);
    data = rep->new_data.files != NULL;
    redundancy = rep->new_payload != NULL;
    io.payload_at = redundancy ? rep->payload_at : rep->evidence->payload_at;
    if (st == RSET_OK)
        st = copy_all_good(rep, err);
    rep->noting = &rep->sources;
    st = rset_stream_run(rep->set, st, &(rset_stream_work){&rep->shape, &rep->plan, &io, rep->host},
                         err);
    if (st == RSET_OK)
        st = check_rereads(rep, err);
    if (st == RSET_OK && data)
        st = note_room(rep, finish_data(rep, err), err);
    if (st == RSET_OK && redundancy)
        st = note_room(rep, finish_redundancy(rep, err), err);
    more = close_new(rep, err);
    return st != RSET_OK ? st : more;
}

/* ---- the end ---- */

static void
remove_temporaries(rset_repair *rep)
{
    if (rep->temp_name != NULL)
        rset_dir_unlink(rep->local->dir, rep->temp_name, NULL);
    for (int i = 0; rep->new_sums != NULL && rep->data_out && i < rep->header.infos[0].nfiles;
         i++) {
        char *temp = rset_logical_temp_name(rep->local, rep->header.infos[0].desc.rank, i);

        if (temp != NULL)
            rset_dir_unlink(rset_local_dir(rep->local, i), temp, NULL);
        free(temp);
    }
}

void
rset_repair_end(rset_repair *rep)
{
    close_new(rep, NULL);
    rset_logical_close(&rep->data, NULL);
    rset_layered_close(&rep->payload);
    remove_temporaries(rep);
    for (int i = 0; rep->new_sums != NULL && i < rep->header.infos[0].nfiles; i++)
        rset_sums_free(&rep->new_sums[i]);
    free(rep->new_sums);
    free(rep->new_data_ids);
    for (int m = 0; rep->health != NULL && m < rep->set->size; m++)
        rset_health_free(&rep->health[m]);
    free(rep->health);
    free(rep->was);
    free(rep->length);
    rset_header_free(&rep->header);
    rset_plan_free(&rep->plan);
    free(rep->name);
    free(rep->temp_name);
    rset_claim_end(rep->held); /* after what this repair has left is gone */
    rset_reread_free(&rep->copied);
    rset_reread_free(&rep->sources);
    *rep = (rset_repair){0};
}
