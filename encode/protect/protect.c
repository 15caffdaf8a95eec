/* protect.c: from data files to published redundancy files. See README.md for the invariants, docs/recovery.md
 * for the order of steps, FORMAT.md 5 to 8 for what is written. */
#include "commit/commit.h"
#include "commit/newer.h"
#include "protect_internal.h"
#include "set/stream.h"
#include "store/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- together with the set ---- */

/* The rest of the header but for its neighbours' infos, with checksums still zero, and how long it will be. */
static rset_status
lay_out(protect *p)
{
    uint64_t    size = rset_shape_payload(&p->shape, p->header.member);
    size_t      most = rset_format_max_blocks(p->header.ninfos, 1);
    rset_status st;

    if (rset_protect_group(p) != RSET_OK)
        return RSET_NOMEM;
    p->header.has_payload_sums = p->args->extra;
    if (rset_sums_init(&p->header.payload, size, rset_sums_block_size(size, most)) != 0)
        return rset_fail(p->err, RSET_NOMEM, "no memory for checksums");
    st = rset_format_header_size(&p->header, p->args->extra, p->neighbours, &p->payload_at, p->err);
    if (st == RSET_OK)
        st = rset_file_create(p->local.dir, p->new_name, &p->access, &p->out, p->err);
    if (st == RSET_OK)
        st = rset_plan_encode(&p->shape, &p->plan, p->err);
    return st;
}

static rset_status
read_piece(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len, rset_err *err)
{
    protect *p = arg;

    if (kind != RSET_PIECE_DATA)
        return rset_fail(err, RSET_BUG, "an encode reads redundancy");
    return rset_logical_read(&p->data, off, buf, len, p->args->extra ? p->sums : NULL, err);
}

static rset_status
write_piece(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
            rset_err *err)
{
    protect *p = arg;

    if (kind != RSET_PIECE_PARITY)
        return rset_fail(err, RSET_BUG, "an encode writes data");
    if (!p->mirror)
        rset_sums_add(&p->header.payload, off, buf, len);
    return rset_file_write(p->out, p->payload_at + off, buf, len, err);
}

/* SINGLE reads nothing to encode, but its checksums are recorded all the same. */
static rset_status
read_for_sums(protect *p)
{
    uint64_t    length = rset_info_length(&p->header.infos[0]);
    uint8_t    *buf = malloc(rset_buffer_size(RSET_FILE_AT_ONCE));
    rset_status st = RSET_OK;

    if (buf == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory for a buffer");
    for (uint64_t off = 0; st == RSET_OK && off < length; off += RSET_FILE_AT_ONCE) {
        uint64_t len = length - off < RSET_FILE_AT_ONCE ? length - off : RSET_FILE_AT_ONCE;

        st = rset_logical_read(&p->data, off, rset_buffer_for_read(buf, off), (size_t)len, p->sums,
                               p->err);
    }
    free(buf);
    return st;
}

/* `own`: this member's failure so far. */
static rset_status
encode(protect *p, rset_status own)
{
    rset_stream_io io = {
        .read = read_piece, .write = write_piece, .arg = p, .payload_at = p->payload_at};
    rset_status st;

    for (int i = 0; i < p->data.n; i++)
        rset_file_begin_sync(p->data.files[i]); /* what the program has just written */
    st = rset_stream_run(p->args->set, own,
                         &(rset_stream_work){&p->shape, &p->plan, &io, p->args->host}, p->err);
    if (st == RSET_OK && p->plan.n == 0 && p->args->extra)
        st = read_for_sums(p);
    return st;
}

/* The checksums are known now. */
static void
finish_sums(protect *p)
{
    rset_info *info = p->header.infos;

    for (int i = 0; p->args->extra && i < info->nfiles; i++) {
        rset_sums_finish(&p->sums[i]);
        rset_sums_free(&info->files[i].sums);
        info->files[i].sums = p->sums[i];
        p->sums[i] = (rset_sums){0};
    }
    if (!p->mirror)
        rset_sums_finish(&p->header.payload);
}

/* What the neighbour has summed while it read its file says what the replica should be, wherever it is damaged on its way. */
static rset_status
take_sums(protect *p)
{
    const rset_info      *info = &p->header.infos[1];
    const rset_file_info *file = info->files;
    rset_sums            *sums = &p->header.payload;

    if (info->nfiles != 1 || !file->has_sums || file->sums.size != sums->size ||
        file->sums.block != sums->block)
        return rset_fail(p->err, RSET_PEER, "%s: its neighbour sent checksums of something else",
                         p->name);
    rset_sums_free(sums);
    return rset_sums_copy(&file->sums, sums) == 0
               ? RSET_OK
               : rset_fail(p->err, RSET_NOMEM, "no memory for checksums");
}

/* ---- on disk ---- */

/* The header goes in last: a redundancy file without one is nothing (P11), and one that has it says that this rank is ready. */
static rset_status
complete(protect *p)
{
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st = rset_format_pack_header(&p->header, p->args->extra, &buf, &len, p->err);

    if (st == RSET_OK && len != p->payload_at)
        st = rset_fail(p->err, RSET_BUG, "%s: the header has %zu bytes, %zu were expected", p->name,
                       len, p->payload_at);
    if (st == RSET_OK)
        st = rset_protect_settle(p);
    if (st == RSET_OK)
        st = rset_file_write(p->out, 0, buf, len, p->err);
    free(buf);
    return st == RSET_OK ? rset_file_sync(p->out, p->err) : st;
}

static rset_status
close_out(protect *p)
{
    rset_file  *file = p->out;
    rset_status st = file != NULL ? rset_file_stat(file, &p->made, p->err) : RSET_OK;

    p->out = NULL;
    return rset_file_close(file, p->err) != RSET_OK ? p->err->status : st;
}

/* An older generation that could not be kept here counts, as on the other ranks. */
static void
retire(protect *p)
{
    const rset_protect_args *args = p->args;
    const bool               none = args->keep == 1 && p->update && args->evidence->nkept == 0;
    const int                missing = p->unkept.status != RSET_OK;

    rset_remove_after_commit(
        &p->local, &(rset_retired){.current = args->desc.generation,
                                   .keep = args->keep > 0 && !none ? args->keep - missing : 0,
                                   .lost = args->aside_before && !args->aside,
                                   .changed_before = args->changed_before});
}

/* Of a file that is published. */
static rset_status
finish(protect *p, const rset_commit *commit)
{
    rset_status st = rset_commit_finish(&p->local, commit, p->err);

    if (st == RSET_OK && p->args->extra && p->data.n > 0)
        rset_file_set_mark(p->data.files[0], p->args->desc.generation);
    if (st == RSET_OK)
        retire(p);
    return st;
}

/* The first rename that succeeds on any rank decides: from then on the others follow, even if the job dies. Of several files
 * none is finished before all are published here, durably: what is finished may change again, and would hide that the others
 * were decided on (siblings.h). */
static rset_status
publish(protect *p, int n)
{
    rset_commit commits[RSET_TOGETHER_MAX];
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++) {
        assert(p[i].out == NULL); /* PR3 */
        commits[i] = (rset_commit){.generation = p[i].args->desc.generation,
                                   .name = p[i].name,
                                   .desc_name = p[i].desc_name,
                                   .update = p[i].update ? &p[i].over : NULL,
                                   .shadow = p[i].local.shadow != NULL,
                                   .next = p[i].local.next != NULL};
        st = rset_protect_is_ours(&p[i], p[i].new_name);
        if (st == RSET_OK)
            st = rset_commit_publish(&p[i].local, &commits[i], p[i].err);
    }
    if (st == RSET_OK && n > 1)
        st = rset_dir_sync(p->local.dir, p->err);
    for (int i = 0; st == RSET_OK && i < n; i++)
        st = finish(&p[i], &commits[i]);
    return st;
}

static void
discard(protect *p)
{
    rset_dir *dir = p->local.dir;
    rset_err  ignored = RSET_ERR_NONE;

    if (p->new_name != NULL)
        rset_dir_unlink(dir, p->new_name, NULL);
    if (p->new_desc_name != NULL)
        rset_dir_unlink(dir, p->new_desc_name, NULL);
    if (p->local.next != NULL && rset_journal_joined(p->local.next))
        rset_journal_discard(p->local.next);
    if (p->kept != 0)
        (void)rset_kept_take_back(&p->local, p->kept, &ignored);
}

/* The commit did not come to be: the names say nothing new. */
static void
take_back_aside(protect *p)
{
    rset_err ignored = RSET_ERR_NONE;

    if (p->aside != 0)
        (void)rset_lost_drop(&p->local, p->aside, &ignored);
    p->aside = 0;
}

/* The shadow file belongs to this commit from now on. */
static rset_status
name_shadow(protect *p)
{
    char       *name = NULL;
    rset_status st;

    if (p->local.shadow == NULL)
        return RSET_OK;
    st = rset_shadow_rename(&p->local, p->args->desc.generation, &name, p->err);
    if (st != RSET_OK)
        return st;
    free(*p->args->shadow);
    *p->args->shadow = name;
    p->local.shadow = name;
    return RSET_OK;
}

/* `own`: this member's failure so far. */
static rset_status
encode_all(protect *p, rset_status own)
{
    rset_status st = encode(p, own == RSET_OK ? lay_out(p) : own);

    if (st == RSET_OK) {
        finish_sums(p);
        st = rset_protect_rest_is_recorded(p);
    }
    if (st == RSET_CHANGED && p->args->changed_out != NULL)
        *p->args->changed_out = true;
    st = rset_protect_swap(p, st);
    if (st == RSET_OK && p->mirror)
        st = take_sums(p);
    if (st == RSET_OK)
        st = name_shadow(p);
    return st == RSET_OK ? complete(p) : st;
}

static rset_status
encode_whole(protect *p, rset_status own)
{
    rset_status st = encode_all(p, own);

    if (close_out(p) != RSET_OK && st == RSET_OK)
        st = p->err->status;
    return st;
}

/* The set encodes what has changed (*tried_out, the same on all its members), or the whole. *again_out: this member could not encode what
 * has changed. */
static rset_status
encode_set(protect *p, bool *tried_out, bool *again_out)
{
    bool        done = false;
    rset_status st;

    *tried_out = false;
    st = rset_update_set(p, tried_out, &done);
    *again_out = *tried_out && !done;
    if (st != RSET_OK)
        return st;
    if (!*tried_out)
        return encode_whole(p, RSET_OK);
    return done && close_out(p) != RSET_OK ? p->err->status : RSET_OK;
}

static void
protect_free(protect *p)
{
    rset_file_close(p->out, NULL);
    rset_claim_end(p->claim);
    free(p->seen);
    rset_logical_close(&p->data, NULL);
    for (int i = 0; p->sums != NULL && i < p->local.nfiles; i++)
        rset_sums_free(&p->sums[i]);
    free(p->sums);
    rset_header_free(&p->header);
    rset_plan_free(&p->plan);
    rset_overlay_free(&p->over);
    rset_exchange_free(p->swap);
    free(p->length);
    free(p->name);
    free(p->new_name);
    free(p->desc_name);
    free(p->new_desc_name);
}

/* A rank that was ready and then did not learn what all came to is in doubt: others may have published.
 * It keeps what it has, so that a recover can go forward; the next encode removes it. */
static bool
in_doubt(const protect *p, rset_status own)
{
    return own == RSET_OK && rset_comm_usable(p->args->world, NULL) != RSET_OK;
}

/* The base names of the other files, as the header has them. */
static void
name_others(protect *p, const rset_protect_args *args, int n)
{
    size_t used = 0;

    for (int k = 0; k < n; k++)
        if (&args[k] != p->args && used < sizeof p->together)
            used += (size_t)snprintf(p->together + used, sizeof p->together - used, "%s%s",
                                     used > 0 ? "/" : "", args[k].local->names[0]);
}

/* Each is agreed on before the next is begun. */
static rset_status
prepare_each(protect *p, int n)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++)
        st = rset_protect_agree(&p[i], rset_protect_prepare(&p[i]));
    return st;
}

/* All ranks encode, and vote. Where a member could not build on what was recorded, all who have encode the whole, and all vote once
 * more: what is ready is discarded first, and a member is ready with one of the two only when its whole set has come to it. *own_out:
 * what this rank has voted. */
static rset_status
encode_and_vote(protect *p, rset_status *own_out)
{
    rset_comm  *world = p->args->world;
    bool        tried, again, ready;
    rset_status st;

    *own_out = encode_set(p, &tried, &again);
    ready = !again;
    st = rset_any(world, *own_out, p->args->host, &again, p->err);
    if (st != RSET_OK && !ready)
        *own_out = st;
    if (st != RSET_OK || !again)
        return st;
    if (tried)
        *own_out = encode_whole(p, rset_update_undo(p));
    return rset_agree(world, *own_out, p->args->host, p->err);
}

/* One after the other, so that no set waits for a member that has failed with the file before. The last vote is for all files. */
static rset_status
encode_each(protect *p, int n, rset_status *own_out)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++)
        st = encode_and_vote(&p[i], own_out);
    return st;
}

rset_status
rset_protect_together(const rset_protect_args *args, int n, rset_err *err)
{
    protect     p[RSET_TOGETHER_MAX] = {0};
    rset_status st, own = RSET_OK;

    for (int i = 0; i < n; i++) {
        p[i] = (protect){
            .args = &args[i], .local = *args[i].local, .err = err, .unkept = RSET_ERR_NONE};
        name_others(&p[i], args, n);
    }
    st = prepare_each(p, n);
    if (st != RSET_OK) {
        for (int i = 0; i < n; i++)
            take_back_aside(&p[i]);
    } else {
        st = encode_each(p, n, &own);
        if (st == RSET_OK)
            st = rset_agree(args->world, publish(p, n), args->host, err);
        else
            for (int i = 0; i < n && !in_doubt(p, own); i++) {
                discard(&p[i]);
                take_back_aside(&p[i]);
            }
    }
    for (int i = 0; i < n; i++) {
        if (st == RSET_OK && args[i].unkept != NULL)
            *args[i].unkept = p[i].unkept;
        if (st == RSET_OK && args[i].storage != NULL)
            rset_protect_look_at_storage(&p[i]);
        protect_free(&p[i]);
    }
    return st;
}

rset_status
rset_protect(const rset_protect_args *args, rset_err *err)
{
    return rset_protect_together(args, 1, err);
}
