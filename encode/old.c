/* old.c: reading the way back to what a changed file was (journal.h). */
#include "journal.h"

#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t
rset_journal_entry_crc(uint64_t off, uint64_t len, uint64_t generation)
{
    uint8_t bytes[24];

    rset_put64(bytes, off);
    rset_put64(bytes + 8, len);
    rset_put64(bytes + 16, generation);
    return rset_crc64(0, bytes, sizeof bytes);
}

void
rset_old_free(rset_old *old)
{
    free(old->runs);
    *old = (rset_old){0};
}

static rset_status
add_run(rset_old *old, rset_old_run run, rset_err *err)
{
    if ((old->n & (old->n + 1)) == 0) { /* grows when n is one less than a power of two */
        rset_old_run *grown = realloc(old->runs, 2 * (old->n + 1) * sizeof *grown);

        if (grown == NULL)
            return rset_fail(err, RSET_NOMEM, "no memory for a journal of %zu entries", old->n);
        old->runs = grown;
    }
    old->runs[old->n++] = run;
    return RSET_OK;
}

static int
by_offset(const void *a, const void *b)
{
    const rset_old_run *x = a, *y = b;

    return x->off < y->off ? -1 : x->off > y->off;
}

/* An honest journal keeps each byte once. */
static bool
disjoint(const rset_old *old)
{
    for (size_t i = 1; i < old->n; i++)
        if (old->runs[i - 1].off + old->runs[i - 1].len > old->runs[i].off)
            return false;
    return true;
}

/* Takes entries until the first that is not complete: a program that dies writes no further. */
static rset_status
load_entries(rset_file *file, uint64_t end, uint64_t generation, uint64_t size, rset_old *old,
             rset_err *err)
{
    rset_status st = RSET_OK;
    rset_err    ignored = RSET_ERR_NONE;

    for (old->end = RSET_JOURNAL_HEAD; st == RSET_OK && end - old->end >= RSET_JOURNAL_ENTRY;) {
        uint8_t      head[RSET_JOURNAL_ENTRY];
        size_t       got = 0;
        rset_old_run run;

        if (rset_file_read(file, old->end, head, sizeof head, &got, &ignored) != RSET_OK ||
            got < sizeof head)
            break;
        run = (rset_old_run){rset_get64(head), rset_get64(head + 8), old->end + sizeof head};
        if (rset_get64(head + 16) != rset_journal_entry_crc(run.off, run.len, generation))
            break;
        if (run.off == RSET_JOURNAL_END) {
            old->closed = true;
            break;
        }
        if (run.len == 0 || run.off >= size || run.len > size - run.off || run.len > end - run.at)
            break;
        st = add_run(old, run, err);
        old->end = run.at + run.len;
    }
    return st;
}

static bool
head_fits(rset_file *file, uint64_t generation, uint64_t size)
{
    uint8_t  head[RSET_JOURNAL_HEAD];
    size_t   got = 0;
    rset_err ignored = RSET_ERR_NONE;

    return rset_file_read(file, 0, head, sizeof head, &got, &ignored) == RSET_OK &&
           got == sizeof head && memcmp(head, RSET_JOURNAL_MAGIC, 8) == 0 &&
           rset_get64(head + 8) == generation && rset_get64(head + 16) == size &&
           rset_get64(head + 24) == rset_crc64(0, head, 24);
}

rset_status
rset_old_load(rset_dir *dir, const char *prefix, uint64_t generation, uint64_t size, rset_old *out,
              rset_err *err)
{
    rset_old    old = {0};
    rset_file  *file = NULL;
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb = {0};
    char       *journal = rset_beside_name(prefix, RSET_NAME_JOURNAL);
    char       *aside = rset_beside_name(prefix, RSET_NAME_OLD);
    rset_status st = RSET_OK;

    if (journal == NULL || aside == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its journal", prefix);
    else if (rset_file_open(dir, journal, &file, &ignored) == RSET_OK &&
             rset_file_stat(file, &sb, &ignored) == RSET_OK && head_fits(file, generation, size)) {
        old.there = true;
        old.busy = !rset_file_lock(file, false);
        st = load_entries(file, (uint64_t)sb.st_size, generation, size, &old, err);
        if (old.n > 0)
            qsort(old.runs, old.n, sizeof *old.runs, by_offset);
        old.replaced = rset_dir_stat(dir, aside, &sb, &ignored) == RSET_OK && S_ISREG(sb.st_mode);
    }
    rset_file_close(file, NULL);
    free(journal);
    free(aside);
    if (st != RSET_OK || !disjoint(&old))
        rset_old_free(&old);
    *out = old;
    return st;
}

/* The first run that ends after `off`, or n. */
static size_t
find_run(const rset_old *old, uint64_t off)
{
    size_t low = 0, high = old->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (old->runs[mid].off + old->runs[mid].len > off)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

rset_status
rset_old_read(const rset_old *old, rset_file *journal, rset_file *base, uint64_t off, void *buf,
              size_t len, size_t *got_out, rset_err *err)
{
    uint8_t    *to = buf;
    rset_status st = RSET_OK;

    *got_out = 0;
    for (size_t i = find_run(old, off); st == RSET_OK && *got_out < len;) {
        const rset_old_run *run = i < old->n ? &old->runs[i] : NULL;
        uint64_t            at = off + *got_out;
        bool                kept = run != NULL && at >= run->off;
        uint64_t until = kept ? run->off + run->len : run != NULL ? run->off : UINT64_MAX;
        size_t want = until - at < len - *got_out ? (size_t)(until - at) : len - *got_out, got = 0;

        if (kept)
            st = rset_file_read(journal, run->at + (at - run->off), to, want, &got, err);
        else if (base != NULL)
            st = rset_file_read(base, at, to, want, &got, err);
        to += got;
        *got_out += got;
        if (got < want)
            break;
        i += kept && at + want == until;
    }
    return st;
}

rset_status
rset_old_forget(rset_dir *dir, const char *prefix, rset_err *err)
{
    static const char *const names[] = {RSET_NAME_JOURNAL, RSET_NAME_OLD};
    rset_status              first = RSET_OK;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char       *name = rset_beside_name(prefix, names[i]);
        rset_status st = name != NULL ? rset_dir_unlink(dir, name, err)
                                      : rset_fail(err, RSET_NOMEM, "%s: no memory", prefix);

        free(name);
        first = first == RSET_OK ? st : first;
    }
    return first;
}

/* ---- new files that lie beside ---- */

/* Does the content that `local` means have the recorded checksums? */
static rset_status
is_as_recorded(const rset_local *local, const rset_evidence *ev, bool *is_out, rset_err *err)
{
    rset_ranges bad = {0};
    bool        damaged = true;
    rset_status st = rset_verify_data(local, &ev->header.infos[0], true, &bad, &damaged, err);

    *is_out = st == RSET_OK && !damaged;
    rset_ranges_free(&bad);
    return st;
}

rset_status
rset_beside_fits(const rset_local *local, const rset_evidence *ev, bool *fits_out, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_local  beside = *local;
    bool        file = true, new = false;
    rset_status st = RSET_OK;

    *fits_out = false;
    beside.beside = name;
    if (name == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    else if (ev->beside && ev->has_header && !ev->is_void && local->nfiles == 1 &&
             ev->header.infos[0].nfiles == 1 && ev->header.infos[0].files[0].has_sums) {
        st = is_as_recorded(local, ev, &file, err);
        if (st == RSET_OK && !file)
            st = is_as_recorded(&beside, ev, &new, err);
    }
    *fits_out = !file && new;
    free(name);
    return st;
}

rset_status
rset_beside_publish(const rset_local *local, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_status st = name != NULL ? rset_dir_rename(local->dir, name, local->names[0], err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);

    free(name);
    return st == RSET_OK ? rset_dir_sync(local->dir, err) : st;
}

rset_status
rset_beside_forget(const rset_local *local, bool *gone_out, rset_err *err)
{
    char       *name = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    rset_file  *file = NULL;
    rset_status st = RSET_OK;
    rset_err    ignored = RSET_ERR_NONE;
    bool        in_use;

    *gone_out = false;
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory", local->prefix);
    in_use = rset_file_open(local->dir, name, &file, &ignored) == RSET_OK &&
             !rset_file_lock(file, true); /* as HDF5 locks what it writes */
    rset_file_close(file, NULL);
    if (!in_use)
        st = rset_dir_unlink(local->dir, name, err);
    *gone_out = !in_use && st == RSET_OK;
    free(name);
    return st;
}
