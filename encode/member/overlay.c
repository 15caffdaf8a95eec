/* overlay.c: see overlay.h. */
#include "overlay.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "store/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Checksum of an entry's head. */
static uint64_t
entry_crc(uint64_t off, uint64_t len, uint64_t generation)
{
    uint8_t bytes[24];

    rset_put64(bytes, off);
    rset_put64(bytes + 8, len);
    rset_put64(bytes + 16, generation);
    return rset_crc64(0, bytes, sizeof bytes);
}

static void
put_entry(uint8_t *to, uint64_t off, uint64_t len, uint64_t generation)
{
    rset_put64(to, off);
    rset_put64(to + 8, len);
    rset_put64(to + 16, entry_crc(off, len, generation));
}

void
rset_overlay_free(rset_overlay *over)
{
    free(over->runs);
    *over = (rset_overlay){0};
}

/* ---- the list ---- */

bool
rset_overlay_note(rset_overlay *over, rset_run run)
{
    if ((over->n & (over->n + 1)) == 0) { /* grows when n is one less than a power of two */
        rset_run *grown = realloc(over->runs, 2 * (over->n + 1) * sizeof *grown);

        if (grown == NULL)
            return false;
        over->runs = grown;
    }
    over->runs[over->n++] = run;
    return true;
}

static int
by_offset(const void *a, const void *b)
{
    const rset_run *x = a, *y = b;

    return x->off < y->off ? -1 : x->off > y->off;
}

void
rset_overlay_sort(rset_overlay *over)
{
    if (over->n > 0)
        qsort(over->runs, over->n, sizeof *over->runs, by_offset);
}

static bool
disjoint(const rset_overlay *over)
{
    for (size_t i = 1; i < over->n; i++)
        if (over->runs[i - 1].off + over->runs[i - 1].len > over->runs[i].off)
            return false;
    return true;
}

/* ---- reading the file ---- */

/* Takes entries until the first that is not complete: a program that dies writes no further. Or it has rotted:
 * then what comes after it is missing as well, and there is not all of it. */
static rset_status
scan_entries(rset_file *file, uint64_t end, rset_overlay *over, rset_err *err)
{
    while (end - over->end >= RSET_OVERLAY_ENTRY) {
        uint8_t     head[RSET_OVERLAY_ENTRY];
        size_t      got = 0;
        rset_run    run;
        rset_status st = rset_file_read(file, over->end, head, sizeof head, &got, err);

        if (st != RSET_OK)
            return st;
        if (got < sizeof head)
            break;
        run = (rset_run){rset_get64(head), rset_get64(head + 8), over->end + sizeof head};
        if (rset_get64(head + 16) != entry_crc(run.off, run.len, over->generation))
            break;
        over->complete = run.off == RSET_OVERLAY_END;
        if (over->complete || run.len == 0 || run.off >= over->size ||
            run.len > over->size - run.off || run.len > end - run.at)
            break;
        if (!rset_overlay_note(over, run))
            return rset_fail(err, RSET_NOMEM, "no memory for %zu entries of %s", over->n,
                             rset_file_path(file));
        over->end = run.at + run.len;
    }
    over->torn = !over->complete && over->end != end;
    return RSET_OK;
}

rset_status
rset_overlay_scan(rset_file *file, uint64_t from, rset_overlay *over, rset_err *err)
{
    struct stat sb;
    rset_status st = rset_file_stat(file, &sb, err);

    over->end = from;
    if (st == RSET_OK && (uint64_t)sb.st_size > from)
        st = scan_entries(file, (uint64_t)sb.st_size, over, err);
    rset_overlay_sort(over);
    if (st == RSET_OK && !disjoint(over))
        st = rset_fail(err, RSET_DAMAGED, "%s: has some bytes twice", rset_file_path(file));
    if (st != RSET_OK)
        rset_overlay_free(over);
    return st;
}

/* ---- writing it ---- */

rset_status
rset_overlay_append(rset_file *file, rset_overlay *over, uint64_t off, uint8_t *buf, size_t len,
                    rset_err *err)
{
    rset_status st =
        rset_file_write(file, over->end + RSET_OVERLAY_ENTRY, buf + RSET_OVERLAY_ENTRY, len, err);

    assert(len > 0 && len <= over->size && off <= over->size - len); /* M3 */
    put_entry(buf, off, len, over->generation);
    if (st == RSET_OK)
        st = rset_file_write(file, over->end, buf, RSET_OVERLAY_ENTRY, err);
    if (st == RSET_OK)
        over->end += RSET_OVERLAY_ENTRY + len;
    return st;
}

rset_status
rset_overlay_complete(rset_file *file, rset_overlay *over, rset_err *err)
{
    uint8_t head[RSET_OVERLAY_ENTRY];

    put_entry(head, RSET_OVERLAY_END, 0, over->generation);
    over->complete = true;
    return rset_file_write(file, over->end, head, sizeof head, err);
}

/* ---- reading through it ---- */

/* The first run that ends after `off`, or n. */
static size_t
find_run(const rset_overlay *over, uint64_t off)
{
    size_t low = 0, high = over->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (over->runs[mid].off + over->runs[mid].len > off)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

rset_status
rset_layered_read(const rset_layered *l, uint64_t off, void *buf, size_t len, size_t *got_out,
                  rset_err *err)
{
    const rset_overlay *over = l->over;
    uint8_t            *to = buf;
    rset_status         st = RSET_OK;

    if (over == NULL)
        return rset_file_read(l->base, off, buf, len, got_out, err);
    *got_out = 0;
    for (size_t i = find_run(over, off); st == RSET_OK && *got_out < len;) {
        const rset_run *run = i < over->n ? &over->runs[i] : NULL;
        uint64_t        at = off + *got_out;
        bool            laid = run != NULL && at >= run->off;
        uint64_t        until = laid ? run->off + run->len : run != NULL ? run->off : UINT64_MAX;
        size_t want = until - at < len - *got_out ? (size_t)(until - at) : len - *got_out, got = 0;

        if (laid)
            st = rset_file_read(l->top, run->at + (at - run->off), to, want, &got, err);
        else if (l->base != NULL)
            st = rset_file_read(l->base, at, to, want, &got, err);
        to += got;
        *got_out += got;
        if (got < want)
            break;
        i += laid && at + want == until;
    }
    return st;
}

uint64_t
rset_layered_next_data(const rset_layered *l, uint64_t off, uint64_t *end_out)
{
    const rset_overlay *over = l->over;
    const size_t        i = over != NULL ? find_run(over, off) : 0;
    const rset_run     *run = over != NULL && i < over->n ? &over->runs[i] : NULL;
    uint64_t            at = off;

    *end_out = UINT64_MAX;
    if (l->base != NULL)
        at = rset_file_next_data(l->base, off, end_out);
    if (run != NULL && at >= run->off) { /* laid over a hole, or over what would be next */
        at = off > run->off ? off : run->off;
        *end_out = run->off + run->len;
    } else if (run != NULL && *end_out > run->off) {
        *end_out = run->off;
    }
    return at;
}

rset_status
rset_overlay_lay(const rset_overlay *over, rset_file *top, uint64_t off, void *buf, size_t len,
                 rset_err *err)
{
    const uint64_t end = off + len;
    rset_status    st = RSET_OK;

    for (size_t i = find_run(over, off); st == RSET_OK && i < over->n && over->runs[i].off < end;
         i++) {
        const rset_run *run = &over->runs[i];
        const uint64_t  from = run->off > off ? run->off : off;
        const uint64_t  to = run->off + run->len < end ? run->off + run->len : end;
        size_t          got = 0;

        st = rset_file_read(top, run->at + (from - run->off), (uint8_t *)buf + (from - off),
                            (size_t)(to - from), &got, err);
        if (st == RSET_OK && got < to - from)
            st = rset_fail(err, RSET_IO, "%s: became shorter while it was being read",
                           rset_file_path(top));
    }
    return st;
}

/* Are these zeros, which the file has there already? In a hole they would take space, and there may be none left. */
static bool
has_zeros(rset_file *base, uint64_t off, const uint8_t *buf, size_t len, uint8_t *there)
{
    size_t got = 0;

    return rset_is_zeros(buf, len) &&
           rset_file_read(base, off, there, len, &got, NULL) == RSET_OK && got == len &&
           rset_is_zeros(there, len);
}

/* `buf`: twice RSET_FILE_AT_ONCE. */
static rset_status
copy_run(rset_file *top, rset_file *base, const rset_run *run, uint8_t *buf, rset_err *err)
{
    rset_status st = RSET_OK;

    for (uint64_t done = 0; st == RSET_OK && done < run->len;) {
        const size_t len =
            run->len - done < RSET_FILE_AT_ONCE ? (size_t)(run->len - done) : RSET_FILE_AT_ONCE;
        size_t got = 0;

        st = rset_file_read(top, run->at + done, buf, len, &got, err);
        if (st == RSET_OK && got < len)
            st = rset_fail(err, RSET_IO, "%s: became shorter while it was being read",
                           rset_file_path(top));
        if (st == RSET_OK && !has_zeros(base, run->off + done, buf, len, buf + RSET_FILE_AT_ONCE))
            st = rset_file_write(base, run->off + done, buf, len, err);
        done += len;
    }
    return st;
}

rset_status
rset_overlay_copy(const rset_overlay *over, rset_file *top, rset_file *base, rset_err *err)
{
    uint8_t    *buf = malloc(2 * RSET_FILE_AT_ONCE);
    rset_status st = RSET_OK;

    if (buf == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for a buffer", rset_file_path(base));
    for (size_t i = 0; st == RSET_OK && i < over->n; i++)
        st = copy_run(top, base, &over->runs[i], buf, err);
    free(buf);
    return st;
}
