/* update.c: encoding only what has changed. See protect_internal.h.
 *
 * Parity is linear: parity ^= coefficient x (old ^ new), byte by byte. The old bytes of everything that has
 * changed are in the journal (journal.h), so the loop over data (stream.h) runs over the changed ranges, with
 * old ^ new in the place of data, and its sums are laid over the old payload.
 *
 * What is built on must be what was recorded (P2): the old bytes of data and of payload are read again, block by
 * block. Where they are not, the caller encodes the whole. */
#include "codec/gf256.h"
#include "format/tree.h"
#include "names/names.h"
#include "protect_internal.h"
#include "set/reread.h"
#include "set/stream.h"
#include "store/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFERS_MOST ((size_t)1 << 30) /* bytes, of all members together */

enum {
    PAYS = 2, /* at most one block in so many has to be looked at, */
    SMALL = 4 /* unless there are no more than so many: one way for all of these */
};

typedef struct update {
    protect             *p;
    const rset_evidence *was;
    protect_changes      mine;
    rset_ranges         *changed; /* per member, in its logical file */
    rset_gathered        offers;  /* of all members, with their ranges */
    rset_layered         below;   /* the redundancy file as it is */
    rset_reread          seen;
    uint8_t             *buf; /* room for an entry's head, and a piece */
} update;

/* ---- whether ---- */

static bool
same_place(const rset_desc *a, const rset_desc *b)
{
    return a->scheme == b->scheme && a->parity == b->parity && a->set == b->set &&
           a->sets == b->sets && a->member == b->member && a->members == b->members &&
           a->rank == b->rank && a->ranks == b->ranks;
}

/* Is there redundancy of that content, with all checksums, under the same name, and was all of it verified? */
static bool
fits_what_was(const protect *p)
{
    const rset_evidence *was = p->args->evidence;
    const size_t         n = strlen(p->name);

    return p->args->verified && rset_protect_has_record(p) && was->header.has_payload_sums &&
           same_place(&was->header.infos[0].desc, &p->args->desc) &&
           strncmp(was->name, p->name, n) == 0 &&
           (was->name[n] == '\0' || strcmp(was->name + n, RSET_SUFFIX_VOID) == 0);
}

/* How many blocks of `sums` have a byte in `ranges`. */
static size_t
touched(const rset_sums *sums, const rset_ranges *ranges)
{
    size_t n = 0;

    for (size_t b = 0; b < sums->nblocks; b++) {
        uint64_t from = b * sums->block, until;
        uint64_t to = sums->size - from < sums->block ? sums->size : from + sums->block;

        n += rset_ranges_cover(ranges, from, &until) || until < to;
    }
    return n;
}

/* Why not is of no interest: the whole can be encoded. */
static bool
can(update *u)
{
    const protect   *p = u->p;
    const rset_sums *sums;
    rset_err         ignored = RSET_ERR_NONE;
    uint64_t         size = 0;

    if (!fits_what_was(p) || rset_protect_changes(p, &u->mine, &ignored) != RSET_OK ||
        !u->mine.known)
        return false;
    sums = &u->was->header.infos[0].files[0].sums;
    if (sums->nblocks > SMALL && touched(sums, &u->mine.at) * PAYS > sums->nblocks)
        return false;
    return rset_layered_evidence(p->local.dir, u->was, &u->below, &ignored) == RSET_OK &&
           rset_file_is_ours(u->below.base) &&
           rset_layered_size(&u->below, &size, &ignored) == RSET_OK &&
           size == u->was->payload_at + u->was->header.payload.size;
}

/* ---- with all members ---- */

/* What each member says first; its ranges follow. Sent as it is: all members run the same program. */
typedef struct offer {
    uint64_t    generation;
    uint64_t    can;
    uint64_t    length; /* of its logical file */
    uint64_t    info;   /* bytes of its info, packed */
    uint64_t    files;  /* that are in there */
    rset_access access; /* who may use its data files */
} offer;

/* That of a member that can, with its ranges: *len_out bytes, freed by the caller. NULL: there is no memory for it. */
static uint8_t *
pack_offer(const update *u, offer what, size_t *len_out)
{
    const size_t n = u->mine.at.n * sizeof *u->mine.at.at;
    uint8_t     *buf = malloc(sizeof what + n);

    what.generation = u->was->header.infos[0].desc.generation;
    what.can = true;
    *len_out = sizeof what + n;
    if (buf == NULL)
        return NULL;
    memcpy(buf, &what, sizeof what);
    if (n > 0)
        memcpy(buf + sizeof what, u->mine.at.at, n);
    return buf;
}

/* What a member offers that is `d` places to the left: the header will have its info where it is a neighbour. */
static void
take_neighbour(protect *p, int d, const offer *what)
{
    if (d < 1 || d >= p->header.ninfos)
        return;
    p->neighbours += (size_t)what->info;
    p->mirror = p->args->extra && !p->args->desc.scheme->striped && p->header.ninfos == 2 &&
                what->files == 1;
}

/* Of all members, who see the same. *all_out: each of them can, from the same generation. */
static rset_status
take_offers(update *u, bool *all_out)
{
    protect  *p = u->p;
    const int n = p->args->set->size;
    offer     first = {0}, what;

    *all_out = true;
    for (int m = 0; m < n; m++) {
        const size_t at = u->offers.offs[m];

        if (u->offers.offs[m + 1] - at < sizeof what)
            return rset_fail(p->err, RSET_PEER, "member %d sent no length of its file", m);
        memcpy(&what, u->offers.bytes + at, sizeof what);
        if (what.info < RSET_TREE_EMPTY || what.info > RSET_TREE_MAX_BYTES)
            return rset_fail(p->err, RSET_PEER, "member %d announces an info of %llu bytes", m,
                             (unsigned long long)what.info);
        take_neighbour(p, (p->header.member - m + n) % n, &what);
        if (m == 0)
            first = what;
        p->length[m] = what.length;
        p->access = rset_access_both(p->access, what.access);
        *all_out = *all_out && what.can != 0 && what.generation == first.generation;
    }
    return RSET_OK;
}

/* What any member says. The size of its info does not depend on checksums that it does not know yet. */
static rset_status
offer_least(const protect *p, offer *out)
{
    const rset_info *info = &p->header.infos[0];
    uint8_t         *packed = NULL;
    size_t           len = 0;
    rset_status      st = rset_format_pack_info(info, p->args->extra, &packed, &len, p->err);

    free(packed);
    *out = (offer){.length = rset_info_length(info),
                   .info = len,
                   .files = (uint64_t)info->nfiles,
                   .access = p->access};
    return st;
}

static rset_status
share_offers(update *u, bool mine, bool *all_out)
{
    protect         *p = u->p;
    offer            least;
    rset_status      st = offer_least(p, &least);
    size_t           len = 0;
    uint8_t         *buf = mine ? pack_offer(u, least, &len) : NULL;
    const rset_share own = {.bytes = buf != NULL ? (const void *)buf : &least,
                            .len = buf != NULL ? len : sizeof least,
                            .max = OFFERS_MOST};

    st = rset_gather_all(p->args->set, st, p->args->host, &own, &u->offers, p->err);
    free(buf);
    if (st == RSET_OK)
        st = take_offers(u, all_out);
    if (st == RSET_OK)
        rset_protect_shape(p);
    return st;
}

static void
update_free(update *u)
{
    for (int m = 0; u->changed != NULL && m < u->p->args->set->size; m++)
        rset_ranges_free(&u->changed[m]);
    free(u->changed);
    rset_protect_changes_free(&u->mine);
    rset_gathered_free(&u->offers);
    rset_layered_close(&u->below);
    rset_reread_free(&u->seen);
    free(u->buf);
}

/* ---- what ---- */

static rset_status
unpack_ranges(const uint8_t *at, size_t len, rset_ranges *out, rset_err *err)
{
    rset_range r;

    for (; len >= sizeof r; at += sizeof r, len -= sizeof r) {
        memcpy(&r, at, sizeof r);
        if (r.from >= r.to || (out->n > 0 && r.from < out->at[out->n - 1].to))
            return rset_fail(err, RSET_PEER, "a member sent a list of changes that is not valid");
        if (!rset_ranges_add(out, r.from, r.to))
            return rset_fail(err, RSET_NOMEM, "no memory for a list of changes");
    }
    return RSET_OK;
}

/* What has changed on each member, as they have said. */
static rset_status
take_changes(update *u)
{
    protect             *p = u->p;
    const size_t         n = (size_t)p->args->set->size;
    const rset_gathered *all = &u->offers;
    rset_status          st = RSET_OK;

    u->changed = calloc(n, sizeof *u->changed);
    if (u->changed == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory for a list of changes");
    for (size_t m = 0; st == RSET_OK && m < n; m++) {
        const size_t from = all->offs[m] + sizeof(offer);

        st = unpack_ranges(all->bytes + from, all->offs[m + 1] - from, &u->changed[m], p->err);
    }
    return st;
}

static rset_status
start_header(update *u)
{
    protect        *p = u->p;
    rset_file_info *file = &p->header.infos[0].files[0];
    rset_sums       was = {0};

    if (rset_sums_copy(&u->was->header.infos[0].files[0].sums, &was) != 0 ||
        rset_sums_copy(&u->was->header.payload, &p->header.payload) != 0) {
        rset_sums_free(&was);
        return rset_fail(p->err, RSET_NOMEM, "no memory for checksums");
    }
    rset_sums_free(&file->sums); /* those of the whole, should it come to that */
    file->sums = was;
    p->header.has_payload_sums = true;
    p->header.total = p->payload_at = u->was->payload_at;
    return rset_protect_group(p);
}

static rset_status
start_delta(update *u)
{
    protect    *p = u->p;
    rset_status st;

    p->over = (rset_overlay){.generation = p->args->desc.generation,
                             .size = u->was->payload_at + u->was->header.payload.size};
    st = rset_file_create(p->local.dir, p->new_name, &p->access, &p->out, p->err);
    return st == RSET_OK ? rset_delta_begin(p->out, &p->over, p->err) : st;
}

static rset_status
start(update *u)
{
    protect    *p = u->p;
    rset_status st = take_changes(u);

    if (st == RSET_OK)
        st = start_header(u);
    if (st == RSET_OK && p->shape.chunk != u->was->header.chunk)
        st = rset_fail(p->err, RSET_BUG, "%s: equal sizes make another chunk", p->name);
    if (st == RSET_OK)
        st = rset_protect_before(p, &u->mine);
    if (st == RSET_OK)
        st = rset_reread_begin(&u->was->header.infos[0], &u->was->header.payload, &u->seen, p->err);
    if (st == RSET_OK)
        st = rset_plan_update(&p->shape, u->changed, &p->plan, p->err);
    if (st == RSET_OK)
        st = start_delta(u);
    u->buf = malloc(RSET_OVERLAY_ENTRY + RSET_FILE_AT_ONCE);
    if (u->buf == NULL && st == RSET_OK)
        st = rset_fail(p->err, RSET_NOMEM, "no memory for a buffer");
    return st;
}

/* ---- the bytes ---- */

static rset_status
read_below(const update *u, uint64_t off, void *buf, size_t len, rset_err *err)
{
    return rset_layered_exactly(&u->below, u->was->payload_at + off, buf, len, u->was->name, err);
}

/* As it was; what the reread asks for. */
static rset_status
read_was(void *arg, bool payload, uint64_t off, void *buf, size_t len, rset_err *err)
{
    update *u = arg;

    return payload ? read_below(u, off, buf, len, err)
                   : rset_logical_read(&u->mine.before, off, buf, len, NULL, err);
}

static rset_status
read_change(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len, rset_err *err)
{
    update     *u = arg;
    uint8_t    *old = u->buf;
    rset_status st;

    if (kind != RSET_PIECE_DATA)
        return rset_fail(err, RSET_BUG, "an update reads redundancy");
    st = rset_logical_read(&u->p->data, off, buf, len, NULL, err);
    if (st == RSET_OK)
        st = rset_logical_read(&u->mine.before, off, old, len, NULL, err);
    if (st == RSET_OK) {
        rset_reread_data(&u->seen, off, old, len);
        rset_gf_mad(buf, old, len, 1);
        rset_sums_change(&u->p->header.infos[0].files[0].sums, off, buf, len);
    }
    return st;
}

/* A scheme without redundancy reads nothing for it, but the checksums follow all the same. */
static rset_status
read_changes(update *u)
{
    uint8_t    *buf = malloc(RSET_FILE_AT_ONCE);
    rset_status st =
        buf != NULL ? RSET_OK : rset_fail(u->p->err, RSET_NOMEM, "no memory for a buffer");

    for (size_t i = 0; st == RSET_OK && i < u->mine.at.n; i++)
        for (uint64_t at = u->mine.at.at[i].from, to = u->mine.at.at[i].to;
             st == RSET_OK && at < to; at += RSET_FILE_AT_ONCE) {
            const size_t len = to - at < RSET_FILE_AT_ONCE ? (size_t)(to - at) : RSET_FILE_AT_ONCE;

            st = read_change(u, RSET_PIECE_DATA, at, buf, len, u->p->err);
        }
    free(buf);
    return st;
}

static rset_status
write_change(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
             rset_err *err)
{
    update     *u = arg;
    protect    *p = u->p;
    uint8_t    *sum = u->buf + RSET_OVERLAY_ENTRY;
    rset_run    run = {p->payload_at + off, len, p->over.end + RSET_OVERLAY_ENTRY};
    rset_status st;

    if (kind != RSET_PIECE_PARITY)
        return rset_fail(err, RSET_BUG, "an update writes data");
    st = read_below(u, off, sum, len, err);
    if (st != RSET_OK)
        return st;
    rset_reread_payload(&u->seen, off, sum, len);
    rset_sums_change(&p->header.payload, off, buf, len);
    rset_gf_mad(sum, buf, len, 1);
    st = rset_overlay_append(p->out, &p->over, run.off, u->buf, len, err);
    if (st == RSET_OK && !rset_overlay_note(&p->over, run))
        st = rset_fail(err, RSET_NOMEM, "no memory for a list of changes");
    return st;
}

/* ---- the whole ---- */

/* The new header, and at last the mark that all is there: then this rank is ready. */
static rset_status
finish_delta(protect *p)
{
    uint8_t    *packed = NULL, *entry = NULL;
    size_t      len = 0;
    rset_run    run = {0, 0, p->over.end + RSET_OVERLAY_ENTRY};
    rset_status st = rset_format_pack_header(&p->header, true, &packed, &len, p->err);

    if (st == RSET_OK && (entry = malloc(RSET_OVERLAY_ENTRY + len)) == NULL)
        st = rset_fail(p->err, RSET_NOMEM, "no memory for a header");
    if (st == RSET_OK) {
        memcpy(entry + RSET_OVERLAY_ENTRY, packed, len);
        run.len = len;
        st = rset_overlay_append(p->out, &p->over, 0, entry, len, p->err);
    }
    if (st == RSET_OK && !rset_overlay_note(&p->over, run))
        st = rset_fail(p->err, RSET_NOMEM, "no memory for a header");
    rset_overlay_sort(&p->over);
    free(packed);
    free(entry);
    if (st == RSET_OK)
        st = rset_protect_settle(p);
    if (st == RSET_OK)
        st = rset_overlay_complete(p->out, &p->over, p->err);
    return st == RSET_OK ? rset_file_sync(p->out, p->err) : st;
}

static rset_status
compute(update *u)
{
    protect       *p = u->p;
    rset_stream_io io = {.read = read_change, .write = write_change, .arg = u};
    rset_status    st = start(u);

    p->update = true;
    p->since = u->mine.since;
    st = rset_stream_run(p->args->set, st,
                         &(rset_stream_work){&p->shape, &p->plan, &io, p->args->host}, p->err);
    if (st == RSET_OK && p->plan.n == 0)
        st = read_changes(u);
    if (st == RSET_OK)
        st = rset_reread_check(&u->seen, read_was, u, rset_local_name(&p->local), p->err);
    st = rset_protect_swap(p, st);
    return st == RSET_OK ? finish_delta(p) : st;
}

rset_status
rset_update_undo(protect *p)
{
    const bool  begun = p->over.end > 0;
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (p->kept != 0)
        (void)rset_kept_take_back(&p->local, p->kept, &ignored);
    p->kept = 0;
    p->unkept = RSET_ERR_NONE;
    rset_file_close(p->out, NULL);
    p->out = NULL;
    rset_dir_unlink(p->local.dir, p->new_name, NULL);
    if (begun) /* a complete one could come back, and count, once others are ready with the whole */
        st = rset_dir_sync(p->local.dir, p->err);
    rset_overlay_free(&p->over);
    rset_plan_free(&p->plan);
    rset_sums_free(&p->header.payload);
    free(p->header.group);
    p->header.group = NULL;
    p->header.total = 0;
    p->update = false;
    return st;
}

/* Whether it could be done is one outcome of it; RSET_PEER: the members cannot go on together. */
static rset_status
attempt(update *u, bool *done_out)
{
    protect    *p = u->p;
    rset_err   *err = p->err, why = RSET_ERR_NONE;
    rset_status st;

    p->err = &why;
    st = compute(u);
    p->err = err;
    *done_out = st == RSET_OK;
    return st == RSET_PEER ? rset_fail_as(err, &why) : RSET_OK;
}

rset_status
rset_update_set(protect *p, bool *tried_out, bool *done_out)
{
    update      u = {.p = p, .was = p->args->evidence};
    rset_status st = share_offers(&u, can(&u), tried_out);

    *done_out = false;
    if (st == RSET_OK && *tried_out)
        st = attempt(&u, done_out);
    update_free(&u);
    return st;
}
