/* changes.c: what of a file has changed since it was protected, and whether the rest is what was recorded. See protect_internal.h. */
#include "common/crc64.h"
#include "member/journal.h"
#include "protect_internal.h"
#include "store/buffer.h"

#include <stdlib.h>

enum { GAP = 32 * 1024 /* changes that are closer count as one */ };

bool
rset_protect_has_record(const protect *p)
{
    const rset_evidence *was = p->args->evidence;
    const rset_info     *info;

    if (was == NULL || !was->has_header || was->over_name != NULL || p->local.shadow != NULL ||
        !p->args->extra || p->header.infos[0].nfiles != 1)
        return false;
    info = was->header.infos;
    return info->nfiles == 1 && info->files[0].has_sums &&
           info->files[0].attrs.size == p->header.infos[0].files[0].attrs.size;
}

/* Are the old bytes of all that has changed since in the journal? */
static bool
knows_all(const rset_evidence *was, const protect_changes *c)
{
    const rset_info *info = was->header.infos;

    return !was->is_void ||
           (rset_undo_leads_to(c->since, info->desc.generation, info->files[0].attrs.size) &&
            (c->since->head.flags & RSET_UNDO_ASIDE) == 0 && !c->since->kept.torn);
}

rset_status
rset_protect_changes(const protect *p, protect_changes *c, rset_err *err)
{
    const rset_evidence *was = p->args->evidence;
    rset_status          st = RSET_OK;

    c->since = p->local.next != NULL ? &was->undo : &c->undo;
    if (was->is_void && p->local.next == NULL)
        st = rset_undo_load(p->local.dir, p->local.prefix, rset_evidence_generation(was), &c->undo,
                            err);
    for (size_t i = 0; st == RSET_OK && i < c->since->kept.n; i++) {
        const rset_run *run = &c->since->kept.runs[i];
        uint64_t        from = run->off;

        if (c->at.n > 0 && from - c->at.at[c->at.n - 1].to < GAP)
            from = c->at.at[c->at.n - 1].to;
        if (!rset_ranges_add(&c->at, from, run->off + run->len))
            st = rset_fail(err, RSET_NOMEM, "no memory for a list of changes");
    }
    c->known = st == RSET_OK && knows_all(was, c);
    return st;
}

rset_status
rset_protect_before(const protect *p, protect_changes *c)
{
    const rset_evidence *was = p->args->evidence;
    rset_local           before = p->local;

    before.undo = was->is_void ? c->since : NULL;
    return rset_logical_open(&before, &was->header.infos[0], &c->before, p->err);
}

void
rset_protect_changes_free(protect_changes *c)
{
    rset_undo_free(&c->undo);
    rset_logical_close(&c->before, NULL);
    rset_ranges_free(&c->at);
}

/* ---- the rest ---- */

/* The checksum of what was in the block before it changed. */
static rset_status
sum_before(const protect *p, protect_changes *c, rset_range block, uint64_t *crc_out)
{
    uint8_t    *old = malloc(RSET_FILE_AT_ONCE);
    rset_status st =
        old != NULL ? RSET_OK : rset_fail(p->err, RSET_NOMEM, "no memory for a buffer");

    *crc_out = 0;
    for (uint64_t at = block.from; st == RSET_OK && at < block.to; at += RSET_FILE_AT_ONCE) {
        const size_t len =
            block.to - at < RSET_FILE_AT_ONCE ? (size_t)(block.to - at) : RSET_FILE_AT_ONCE;

        st = rset_logical_read(&c->before, at, old, len, NULL, p->err);
        if (st == RSET_OK)
            *crc_out = rset_crc64(*crc_out, old, len);
    }
    free(old);
    return st;
}

/* What was recorded of a block is still in it, but for what its program has written; or all of it was written. */
static rset_status
compare(const protect *p, protect_changes *c, const rset_sums *recorded)
{
    const rset_sums *now = &p->header.infos[0].files[0].sums;
    rset_status      st = RSET_OK;

    for (size_t b = 0; st == RSET_OK && b < recorded->nblocks; b++) {
        const uint64_t   from = b * now->block, rest = now->size - from;
        const rset_range block = {from, from + (rest < now->block ? rest : now->block)};
        uint64_t         before;

        if (now->crc[b] == recorded->crc[b] ||
            rset_journal_has_written(p->args->journal, block.from, block.to))
            continue;
        st = sum_before(p, c, block, &before);
        if (st == RSET_OK && before != recorded->crc[b])
            st = rset_fail(p->err, RSET_CHANGED,
                           "%s: bytes %llu to %llu are neither what was protected nor what this "
                           "program has written: the disk has damaged them, or another program "
                           "has written there",
                           p->local.paths[0], (unsigned long long)block.from,
                           (unsigned long long)block.to - 1);
    }
    return st;
}

rset_status
rset_protect_rest_is_recorded(protect *p)
{
    const rset_evidence *was = p->args->evidence;
    const rset_sums     *now = &p->header.infos[0].files[0].sums;
    protect_changes      c = {0};
    rset_status          st = RSET_OK;

    if (!rset_protect_has_record(p) || was->header.infos[0].files[0].sums.block != now->block)
        return RSET_OK;
    st = rset_protect_changes(p, &c, p->err);
    if (st == RSET_OK && c.known)
        st = rset_protect_before(p, &c);
    if (st == RSET_OK && c.known)
        st = compare(p, &c, &was->header.infos[0].files[0].sums);
    rset_protect_changes_free(&c);
    return st;
}
