/* reread.c: see reread.h. */
#include "reread.h"

#include "store/buffer.h"

#include <stdlib.h>
#include <string.h>

static rset_status
begin_part(rset_reread_part *part, const rset_sums *want, uint64_t base, rset_err *err)
{
    part->base = base;
    if (want == NULL)
        return RSET_OK;
    if (rset_sums_init(&part->have, want->size, want->block) != 0)
        return rset_fail(err, RSET_NOMEM, "no memory for the checksums of what is read");
    part->want = want;
    return RSET_OK;
}

rset_status
rset_reread_begin(const rset_info *info, const rset_sums *payload, rset_reread *out, rset_err *err)
{
    rset_reread w = {.n = info->nfiles};
    uint64_t    base = 0;
    rset_status st = RSET_OK;

    w.parts = calloc((size_t)info->nfiles + 1, sizeof *w.parts);
    if (w.parts == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for the checksums of what is read");
    for (int i = 0; st == RSET_OK && i < info->nfiles; i++) {
        const rset_file_info *f = &info->files[i];

        st = begin_part(&w.parts[i], f->has_sums ? &f->sums : NULL, base, err);
        base += f->attrs.size;
    }
    if (st == RSET_OK)
        st = begin_part(&w.parts[w.n], payload, 0, err);
    if (st != RSET_OK)
        rset_reread_free(&w);
    else
        *out = w;
    return st;
}

void
rset_reread_free(rset_reread *w)
{
    for (int i = 0; w->parts != NULL && i <= w->n; i++) {
        rset_ranges_free(&w->parts[i].reads);
        rset_sums_free(&w->parts[i].have);
    }
    free(w->parts);
    *w = (rset_reread){0};
}

/* ---- noting ---- */

/* The list is in the order of reading, which jumps from chunk to chunk; it is sorted in the end. */
static bool
append(rset_ranges *list, uint64_t from, uint64_t to)
{
    if (list->n > 0 && list->at[list->n - 1].to == from) {
        list->at[list->n - 1].to = to;
        return true;
    }
    if (list->n == list->room) {
        size_t      room = list->room > 0 ? 2 * list->room : 16;
        rset_range *grown = realloc(list->at, room * sizeof *grown);

        if (grown == NULL)
            return false;
        list->at = grown;
        list->room = room;
    }
    list->at[list->n++] = (rset_range){from, to};
    return true;
}

/* `off` is within the logical file, or the payload. */
static void
note(rset_reread_part *part, uint64_t off, const uint8_t *buf, size_t len)
{
    uint64_t end, from;

    if (part->want == NULL)
        return;
    end = part->base + part->want->size;
    from = off > part->base ? off : part->base;
    if (off + len < end)
        end = off + len;
    if (from >= end)
        return;
    rset_sums_add(&part->have, from - part->base, buf + (from - off), (size_t)(end - from));
    if (!append(&part->reads, from - part->base, end - part->base))
        part->nomem = true;
}

void
rset_reread_data(rset_reread *w, uint64_t off, const void *buf, size_t len)
{
    for (int i = 0; w->parts != NULL && i < w->n; i++)
        note(&w->parts[i], off, buf, len);
}

void
rset_reread_payload(rset_reread *w, uint64_t off, const void *buf, size_t len)
{
    if (w->parts != NULL)
        note(&w->parts[w->n], off, buf, len);
}

/* ---- comparing ---- */

typedef struct reader {
    rset_reread_read read;
    void            *arg;
    bool             payload;
    uint8_t         *buf;
    size_t           room;
    const char      *name;
    rset_err        *err;
} reader;

static int
by_place(const void *a, const void *b)
{
    const rset_range *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Adds what was not read of [from, to). */
static rset_status
read_rest(const reader *rd, rset_reread_part *part, const rset_ranges *reads, uint64_t from,
          uint64_t to)
{
    rset_status st = RSET_OK;

    for (uint64_t off = from, until; st == RSET_OK && off < to; off = until) {
        bool seen = rset_ranges_cover(reads, off, &until);

        if (until > to)
            until = to;
        if (seen)
            continue;
        if (until - off > rd->room)
            until = off + rd->room;
        st = rd->read(rd->arg, rd->payload, part->base + off, rd->buf, (size_t)(until - off),
                      rd->err);
        if (st == RSET_OK)
            rset_sums_add(&part->have, off, rd->buf, (size_t)(until - off));
    }
    return st;
}

/* Reads the rest of each block that was read in part; *seen_out[b]: was anything of block b read? */
static rset_status
complete(const reader *rd, rset_reread_part *part, const rset_ranges *reads, bool *seen_out)
{
    const rset_sums *want = part->want;
    rset_status      st = RSET_OK;

    for (size_t b = 0; st == RSET_OK && b < want->nblocks; b++) {
        uint64_t from = b * want->block, until;
        uint64_t to = want->size - from < want->block ? want->size : from + want->block;

        seen_out[b] =
            rset_ranges_cover(reads, from, &until) || until < to || part->how == RSET_REREAD_ALL;
        if (seen_out[b])
            st = read_rest(rd, part, reads, from, to);
    }
    return st;
}

static rset_status
bad_block(const reader *rd, rset_reread_how how, size_t b)
{
    const char *what = rd->payload ? "redundancy" : "data";

    if (how != RSET_REREAD_AGAIN)
        return rset_fail(rd->err, RSET_DAMAGED, "%s: %s block %zu is damaged", rd->name, what, b);
    return rset_fail(rd->err, RSET_IO,
                     "%s: %s block %zu was read differently than when it was verified; what was "
                     "computed from it was thrown away. Check the storage, and open again",
                     rd->name, what, b);
}

static bool
is_compared(const rset_reread_part *part)
{
    return part->want != NULL && (part->reads.n > 0 || part->how == RSET_REREAD_ALL);
}

static rset_status
check_part(const reader *rd, rset_reread_part *part)
{
    rset_ranges reads = {0};
    bool       *seen;
    bool        room = !part->nomem;
    rset_status st;

    if (!is_compared(part))
        return RSET_OK;
    seen = calloc(part->want->nblocks + 1, sizeof *seen);
    if (part->reads.n > 0)
        qsort(part->reads.at, part->reads.n, sizeof *part->reads.at, by_place);
    for (size_t i = 0; room && i < part->reads.n; i++)
        room = rset_ranges_add(&reads, part->reads.at[i].from, part->reads.at[i].to);
    st = seen != NULL && room
             ? complete(rd, part, &reads, seen)
             : rset_fail(rd->err, RSET_NOMEM, "%s: no memory to verify what was read", rd->name);
    rset_sums_finish_blocks(&part->have);
    for (size_t b = 0; st == RSET_OK && b < part->want->nblocks; b++)
        if (seen[b] && part->have.crc[b] != part->want->crc[b])
            st = bad_block(rd, part->how, b);
    rset_ranges_free(&reads);
    free(seen);
    return st;
}

void
rset_reread_expect(rset_reread *w, rset_reread_how data, rset_reread_how payload)
{
    for (int i = 0; i <= w->n; i++)
        w->parts[i].how = i == w->n ? payload : data;
}

void
rset_reread_leave_out(rset_reread *w, bool data, bool payload)
{
    for (int i = 0; i <= w->n; i++)
        if (i == w->n ? payload : data)
            w->parts[i].want = NULL;
}

/* A buffer for the largest file that is to be read, within reason. */
static size_t
room_for(const rset_reread *w)
{
    uint64_t most = 0;

    for (int i = 0; w->parts != NULL && i <= w->n; i++)
        if (is_compared(&w->parts[i]) && w->parts[i].want->size > most)
            most = w->parts[i].want->size;
    return most < RSET_FILE_AT_ONCE ? (size_t)most : RSET_FILE_AT_ONCE;
}

rset_status
rset_reread_check(rset_reread *w, rset_reread_read read, void *arg, const char *name, rset_err *err)
{
    reader      rd = {.read = read, .arg = arg, .name = name, .err = err};
    rset_status st = RSET_OK;

    rd.room = room_for(w);
    if (rd.room == 0) /* nothing was read */
        return RSET_OK;
    rd.buf = malloc(rd.room);
    if (rd.buf == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to verify what was read", name);
    for (int i = 0; st == RSET_OK && i <= w->n; i++) {
        rd.payload = i == w->n;
        st = check_part(&rd, &w->parts[i]);
    }
    free(rd.buf);
    return st;
}
