/* sent.c: what the disk says of one rank's files, for another process: sent as it is, but for what it owns. See member.h. */
#include "common/parts.h"
#include "member.h"

#include <stdlib.h>
#include <string.h>

/* The parts of a block. An info is packed as for a neighbour. */
enum { PLAIN, OVER, SCHEME, SHADOWS, GROUP, INFOS };

static const size_t bools[] = {
    offsetof(rset_evidence, any),          offsetof(rset_evidence, unfinished),
    offsetof(rset_evidence, has_header),   offsetof(rset_evidence, is_void),
    offsetof(rset_evidence, over_gone),    offsetof(rset_evidence, has_desc),
    offsetof(rset_evidence, under_way),    offsetof(rset_evidence, replaced),
    offsetof(rset_evidence, next_updates), offsetof(rset_evidence, placeholder),
    offsetof(rset_evidence, orphans),      offsetof(rset_evidence, distrusted),
    offsetof(rset_evidence, refused),      offsetof(rset_evidence, undo.there),
    offsetof(rset_evidence, undo.rotten),  offsetof(rset_evidence, undo.busy),
    offsetof(rset_evidence, undo.aside)};

/* Without what it owns or points to. */
static rset_evidence
plain_of(const rset_evidence *ev)
{
    rset_evidence plain = *ev;

    plain.header = (rset_header){
        .member = ev->header.member, .chunk = ev->header.chunk, .ninfos = ev->header.ninfos};
    plain.over = plain.undo.kept = (rset_overlay){0};
    plain.name = plain.over_name = plain.next_name = plain.next_together = NULL;
    plain.desc.scheme = NULL;
    plain.shadows = plain.kept = plain.newer = plain.lost = plain.changed = NULL;
    plain.nshadows = plain.nkept = plain.nnewer = plain.nlost = plain.nchanged = 0;
    plain.foreign.why = NULL;
    return plain;
}

/* Each info in a buffer of its own. */
static rset_status
pack_infos(const rset_header *h, uint8_t **bufs, rset_part *parts, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int d = 0; st == RSET_OK && d < h->ninfos; d++) {
        st = rset_format_pack_info(&h->infos[d], true, &bufs[d], &parts[d].len, err);
        parts[d].at = bufs[d];
    }
    return st;
}

rset_status
rset_evidence_pack(const rset_evidence *ev, uint8_t **block_out, size_t *len_out, rset_err *err)
{
    const rset_header  *h = &ev->header;
    const rset_evidence plain = plain_of(ev);
    const size_t        n = INFOS + (size_t)h->ninfos;
    rset_part          *parts = calloc(n, sizeof *parts);
    uint8_t           **bufs = calloc((size_t)h->ninfos + 1, sizeof *bufs);
    rset_status         st = parts != NULL && bufs != NULL ? RSET_OK : RSET_NOMEM;

    *block_out = NULL;
    if (st == RSET_OK) {
        parts[PLAIN] = (rset_part){&plain, sizeof plain};
        parts[OVER] = rset_part_of_text(ev->over_name);
        parts[SCHEME] = rset_part_of_text(ev->has_desc ? ev->desc.scheme->name : NULL);
        parts[SHADOWS] = (rset_part){ev->shadows, ev->nshadows * sizeof *ev->shadows};
        if (h->group != NULL)
            parts[GROUP] =
                (rset_part){h->group, (size_t)h->infos[0].desc.members * sizeof *h->group};
        st = pack_infos(h, bufs, parts + INFOS, err);
    }
    if (st == RSET_OK)
        *block_out = rset_parts_pack(parts, n, len_out);
    for (int d = 0; bufs != NULL && d < h->ninfos; d++)
        free(bufs[d]);
    free(bufs);
    free(parts);
    return st != RSET_OK || *block_out != NULL ? st
                                               : rset_fail(err, RSET_NOMEM,
                                                           "no memory to tell another process "
                                                           "of a file");
}

/* A list of values as it was sent. *n_out is left alone where there is none. */
static bool
take_list(const rset_part *part, size_t size, void **out, size_t *n_out)
{
    if (part->len == 0)
        return true;
    *out = part->len % size == 0 ? malloc(part->len) : NULL;
    if (*out == NULL)
        return false;
    memcpy(*out, part->at, part->len);
    *n_out = part->len / size;
    return true;
}

static bool
take_header(const void *block, int ninfos, rset_header *h)
{
    const rset_part group = rset_parts_at(block, GROUP);
    size_t          n = 0;

    if (ninfos > 0)
        h->infos = calloc((size_t)ninfos, sizeof *h->infos);
    for (; h->infos != NULL && h->ninfos < ninfos; h->ninfos++) {
        const rset_part info = rset_parts_at(block, INFOS + (size_t)h->ninfos);

        if (rset_format_unpack_info(info.at, info.len, "info", &h->infos[h->ninfos], NULL) !=
            RSET_OK)
            return false;
    }
    return h->ninfos == ninfos && take_list(&group, sizeof *h->group, (void **)&h->group, &n) &&
           (n == 0 || (ninfos > 0 && n == (size_t)h->infos[0].desc.members));
}

static bool
take_owned(const void *block, size_t n, rset_evidence *ev)
{
    const rset_part over = rset_parts_at(block, OVER), scheme = rset_parts_at(block, SCHEME),
                    shadows = rset_parts_at(block, SHADOWS);
    const int   ninfos = ev->header.ninfos;
    const char *name = rset_part_text(&scheme);

    ev->header.ninfos = 0;
    if (ninfos < 0 || (size_t)ninfos != n - INFOS || ev->has_header != (ninfos > 0))
        return false;
    if (over.len > 0)
        ev->over_name = rset_part_text(&over) != NULL ? strdup(rset_part_text(&over)) : NULL;
    ev->desc.scheme = name != NULL ? rset_scheme_by_name(name) : NULL;
    return (over.len == 0 || ev->over_name != NULL) && (!ev->has_desc || ev->desc.scheme != NULL) &&
           take_list(&shadows, sizeof *ev->shadows, (void **)&ev->shadows, &ev->nshadows) &&
           take_header(block, ninfos, &ev->header);
}

bool
rset_evidence_unpack(const void *block, size_t len, rset_evidence *out)
{
    rset_part     plain;
    rset_evidence ev;
    size_t        n;

    *out = (rset_evidence){0};
    if (!rset_parts_count(block, len, &n) || n < INFOS)
        return false;
    plain = rset_parts_at(block, PLAIN);
    if (!rset_part_copy(&plain, &ev, sizeof ev) ||
        !rset_are_bools(&ev, bools, sizeof bools / sizeof *bools) ||
        (unsigned)ev.next_siblings > RSET_SIBLINGS_DECIDED ||
        (unsigned)ev.undo.head.state > RSET_UNDO_CLOSED)
        return false;
    *out = plain_of(&ev);
    if (take_owned(block, n, out))
        return true;
    rset_evidence_free(out);
    return false;
}
