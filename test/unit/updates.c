/* updates.c: see updates.h. */
#include "updates.h"

#include "common/bytes.h"
#include "member/journal.h"
#include "names/names.h"
#include "sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const update_kind update_kinds[KINDS] = {{&rset_scheme_single, 0},  {&rset_scheme_partner, 1},
                                         {&rset_scheme_partner, 2}, {&rset_scheme_xor, 1},
                                         {&rset_scheme_rs, 2},      {&rset_scheme_rs, 3}};

const size_t update_sizes[N] = {12 * BLOCK, 9 * BLOCK + 77, 5 * BLOCK, 0, 3};

typedef struct write_of {
    uint64_t off;
    size_t   len;
} write_of;

/* What ranks write: within a block, across blocks, the end, the same twice, nothing. */
static const struct {
    write_of at[3];
} writes[N] = {{{{10, 5}, {3 * BLOCK - 100, 300}, {11, 2}}},
               {{{9 * BLOCK + 70, 7}, {0, 1}, {9 * BLOCK, 10}}},
               {{{2 * BLOCK, 5000}}},
               {{{0, 0}}},
               {{{1, 1}}}};

void
update_open(world *w, int k)
{
    *w = (world){.base = scratch_make()};
    snprintf(w->what, sizeof w->what, "%s %d", update_kinds[k].scheme->name,
             update_kinds[k].parity);
    job_init(&w->job, w->base, N, update_kinds[k].scheme, update_kinds[k].parity, N);
    job_write_data(&w->job, update_sizes, N, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->job.update = true;
}

void
update_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    job_free(&w->job);
}

/* ---- what ranks do before they close ---- */

unsigned changing; /* bit r: rank r writes */
int      version;  /* what it writes */
size_t   growing;  /* and so many bytes beyond its end */

int  rotten = -1; /* number of the entry of rank 0's journal that rots before it is used */
bool has_rotten;

/* False: it has no entry of that number. */
static bool
rot_entry(const char *journal, int number)
{
    size_t   size, at = RSET_UNDO_ENTRIES;
    uint8_t *bytes = read_file(journal, &size);

    for (; number > 0 && at + RSET_OVERLAY_ENTRY < size; number--)
        at += RSET_OVERLAY_ENTRY + (size_t)rset_get64(bytes + at + 8);
    free(bytes);
    if (at + RSET_OVERLAY_ENTRY >= size)
        return false;
    flip_bit(journal, at);
    return true;
}

rset_status
change(job *j, int r, rset_local *local)
{
    job_rank     *k = &j->ranks[r];
    rset_journal *journal = NULL;
    rset_file    *file = NULL;
    uint8_t       bytes[8192];
    rset_status   st;

    if ((changing >> r & 1) == 0)
        return RSET_OK;
    st = rset_change_begin(local, &k->evidence, true, &journal, &k->err);
    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, k->names[0], &file, &k->err);
    for (int i = 0; st == RSET_OK && i < 4; i++) {
        write_of at = i < 3 ? writes[r].at[i] : (write_of){update_sizes[r], growing};

        fill_random(bytes, at.len, (uint64_t)(version * 100 + i));
        st = rset_journal_save(journal, at.off, at.len, &k->err);
        if (st == RSET_OK && at.len > 0)
            st = rset_file_write(file, at.off, bytes, at.len, &k->err);
    }
    rset_file_close(file, NULL);
    rset_journal_leave(journal);
    if (r == 0 && rotten >= 0)
        has_rotten = rot_entry(journal_in(k->dir, k->prefix), rotten);
    return st;
}

static ino_t
inode(const world *w, int r)
{
    struct stat sb;

    assert_int_equal(stat(job_redundancy(&w->job, r), &sb), 0);
    return sb.st_ino;
}

bool
write_and_protect(world *w, unsigned ranks, int v)
{
    ino_t before[N];
    bool  updated = true;

    for (int r = 0; r < N; r++)
        before[r] = inode(w, r);
    changing = ranks;
    version = v;
    w->job.change = change;
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    w->job.change = NULL;
    for (int r = 0; r < N; r++) {
        if (inode(w, r) != before[r])
            updated = false;
    }
    return updated;
}

/* ---- what must hold then ---- */

void
evidence_of(const world *w, int r, rset_evidence *ev)
{
    const job_rank *k = &w->job.ranks[r];
    rset_err        err = RSET_ERR_NONE;
    rset_dir       *dir;

    assert_int_equal(rset_dir_open(k->dir, false, &dir, &err), RSET_OK);
    assert_int_equal(rset_survey(dir, k->prefix, k->names[0], ev, &err), RSET_OK);
    rset_dir_close(dir);
}

void
assert_like_an_encode(world *w)
{
    image         updated = image_take(w->base);
    rset_evidence was[N];

    assert_int_equal(image_count(&updated), 3 * N);
    w->job.update = false;
    for (int r = 0; r < N; r++)
        evidence_of(w, r, &was[r]);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    for (int r = 0; r < N; r++) {
        rset_evidence     is;
        size_t            size;
        uint8_t          *bytes = read_file(job_redundancy(&w->job, r), &size);
        const image_file *f =
            image_find(&updated, job_redundancy(&w->job, r) + strlen(w->base) + 1);

        evidence_of(w, r, &is);
        assert_true(was[r].has_header && !was[r].is_void && rset_evidence_described(&was[r]));
        for (int d = 0; d < is.header.ninfos; d++)
            assert_same_sums(&was[r].header.infos[d].files[0].sums,
                             &is.header.infos[d].files[0].sums);
        assert_same_sums(&was[r].header.payload, &is.header.payload);
        assert_int_equal(f->size - was[r].payload_at, size - is.payload_at);
        assert_memory_equal(f->data + was[r].payload_at, bytes + is.payload_at,
                            size - is.payload_at);
        free(bytes);
        rset_evidence_free(&is);
        rset_evidence_free(&was[r]);
    }
    image_put(&updated, w->base, NULL);
    image_free(&updated);
    w->job.update = true;
}
