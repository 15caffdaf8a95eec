/* change.c: see change.h. */
#include "change.h"

#include "image.h"
#include "member/beside.h"
#include "member/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sweep.h"

/* ---- contents ---- */

enum { PIECES = 3, MORE = 700, LESS = 300 };

/* One rank's change: what it shall be, and while it is under way. */
typedef struct change {
    size_t         old_size, size;
    const uint8_t *data;
    rset_journal  *journal;
    char          *beside;
    bool           little;
    bool           written; /* completely, as far as the application knows */
} change;

static change        changes[JOB_RANKS];
static bool          little;
static _Atomic bool *traces, *gave_up; /* per rank, shared */

void
change_from(int rank, size_t old_size, const uint8_t *data, size_t size)
{
    if (traces == NULL) {
        traces = sweep_shared(JOB_RANKS * sizeof *traces);
        gave_up = sweep_shared(JOB_RANKS * sizeof *gave_up);
    }
    changes[rank] = (change){.old_size = old_size, .size = size, .data = data, .little = little};
}

void
change_little(bool is_little)
{
    little = is_little;
}

unsigned
change_traces(void)
{
    unsigned mask = 0;

    for (int r = 0; traces != NULL && r < JOB_RANKS; r++)
        mask |= (unsigned)traces[r] << r;
    return mask;
}

void
change_reset(void)
{
    for (int r = 0; traces != NULL && r < JOB_RANKS; r++)
        traces[r] = gave_up[r] = false;
}

bool
change_gave_up(void)
{
    for (int r = 0; gave_up != NULL && r < JOB_RANKS; r++)
        if (gave_up[r])
            return true;
    return false;
}

uint8_t *
change_rewritten(int rank, size_t old_size, size_t *size_out)
{
    size_t   size = old_size + (rank == 1 ? 0 : MORE);
    uint8_t *data = malloc(size);

    assert_non_null(data);
    fill_random(data, size, (uint64_t)(5000 + rank));
    *size_out = size;
    return data;
}

/* Some ranks' files grow, that of rank 1 gets shorter. */
static size_t
updated_size(int rank, size_t size, bool is_little)
{
    if (is_little)
        return size;
    return rank == 1 && size > LESS ? size - LESS : rank % 2 == 0 ? size + MORE : size;
}

/* The nth piece that is written: from *off_out, *len_out bytes, which may be none. */
static void
piece_of(int rank, size_t old_size, int n, bool is_little, size_t *off_out, size_t *len_out)
{
    const size_t size = updated_size(rank, old_size, is_little);
    const size_t offs[PIECES] = {0, old_size / 2, old_size - old_size / 8};
    const size_t lens[PIECES] = {50, is_little ? 0 : old_size / 4, is_little ? 9 : size};

    *off_out = offs[n] < size ? offs[n] : size;
    *len_out = lens[n] < size - *off_out ? lens[n] : size - *off_out;
}

uint8_t *
change_updated(int rank, const uint8_t *old, size_t old_size, size_t *size_out)
{
    size_t   size = updated_size(rank, old_size, little), off, len;
    uint8_t *data = calloc(1, size > old_size ? size : old_size);

    assert_non_null(data);
    memcpy(data, old, old_size);
    for (int n = 0; n < PIECES; n++) {
        piece_of(rank, old_size, n, little, &off, &len);
        fill_random(data + off, len, (uint64_t)(6000 + 10 * rank + n));
    }
    *size_out = size;
    return data;
}

/* ---- a new file beside ---- */

static rset_status
write_as(change *c, int rank, const rset_local *local, const char *name, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_create(local->dir, name, &file, err), closed;

    traces[rank] = traces[rank] || st == RSET_OK;
    for (size_t n = 0; st == RSET_OK && n < PIECES; n++) {
        size_t from = c->size * n / PIECES, to = c->size * (n + 1) / PIECES;

        st = rset_file_write(file, from, c->data + from, to - from, err);
    }
    closed = rset_file_close(file, err);
    return st == RSET_OK ? closed : st;
}

/* Nothing of it is protected, as far as this rank knows: in place. */
static rset_status
write_first(change *c, int rank, const rset_local *local, job_rank *k)
{
    rset_status st = rset_journal_begin_first(local, &k->evidence, &c->journal, &k->err);

    if (st == RSET_OK)
        st = write_as(c, rank, local, local->names[0], &k->err);
    c->written = st == RSET_OK;
    return st;
}

/* The old content cannot be kept: in place, as the driver does. */
static rset_status
write_without_way_back(change *c, int rank, const rset_local *local, job_rank *k)
{
    rset_status st = rset_journal_begin(local, &k->evidence, false, &c->journal, &k->err);

    gave_up[rank] = true;
    if (st == RSET_OK)
        st = write_as(c, rank, local, local->names[0], &k->err);
    c->written = st == RSET_OK;
    return st;
}

rset_status
change_rewrite(job *j, int rank, rset_local *local)
{
    change     *c = &changes[rank];
    job_rank   *k = &j->ranks[rank];
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st;

    if (!k->evidence.any && k->evidence.next_name == NULL)
        return write_first(c, rank, local, k);
    st = rset_beside_make_way(local, &k->evidence, &ignored);
    if (st != RSET_OK)
        return write_without_way_back(c, rank, local, k);
    c->beside = rset_beside_name(local->prefix, RSET_NAME_BESIDE);
    if (c->beside == NULL)
        return rset_fail(&k->err, RSET_NOMEM, "no memory for a name");
    local->beside = c->beside;
    st = write_as(c, rank, local, local->beside, &k->err);
    c->written = st == RSET_OK;
    if (c->written)
        (void)rset_file_set_like(local->dir, c->beside, local->names[0], &ignored);
    return st;
}

/* The new file gets the name unprotected; one that could not be written goes, and the old one stays and
 * says so, if the disk allows it. */
static void
settle_beside(change *c, int rank, rset_local *local, rset_evidence *ev)
{
    rset_err ignored = RSET_ERR_NONE;

    if (c->written) {
        (void)rset_put_in_place(local, ev, RSET_JOURNAL_CLOSED, &ignored);
        return;
    }
    (void)rset_dir_unlink(local->dir, c->beside, &ignored);
    local->beside = NULL;
    if (rset_journal_begin(local, ev, true, &c->journal, &ignored) != RSET_OK)
        traces[rank] = false;
}

/* ---- a change in place ---- */

static rset_status
begin_update(change *c, int rank, const rset_local *local, rset_evidence *ev, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_journal_begin(local, ev, true, &c->journal, &why);

    gave_up[rank] = gave_up[rank] || st != RSET_OK;
    return st == RSET_OK ? st : rset_journal_begin(local, ev, false, &c->journal, err);
}

/* Keeps what is there, or gives up the way back; then the bytes change. */
static rset_status
update_piece(change *c, int rank, const rset_local *local, rset_evidence *ev, rset_file *file,
             uint64_t off, const uint8_t *data, size_t len, uint64_t touched, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_journal_save(c->journal, off, touched, &why);

    if (st != RSET_OK) {
        gave_up[rank] = true;
        st = rset_journal_end(c->journal, RSET_JOURNAL_DROP, err);
        c->journal = NULL;
        if (st == RSET_OK)
            st = rset_journal_begin(local, ev, false, &c->journal, err);
    }
    if (st == RSET_OK && data != NULL)
        st = rset_file_write(file, off, data, len, err);
    else if (st == RSET_OK)
        st = rset_file_resize(file, off, err);
    return st;
}

static rset_status
update_all(change *c, int rank, const rset_local *local, rset_file *file, rset_evidence *ev,
           rset_err *err)
{
    rset_status st = RSET_OK;

    for (int n = 0; st == RSET_OK && n < PIECES; n++) {
        size_t off, len;

        piece_of(rank, c->old_size, n, c->little, &off, &len);
        if (len > 0)
            st = update_piece(c, rank, local, ev, file, off, c->data + off, len, len, err);
        traces[rank] = traces[rank] || (len > 0 && st == RSET_OK);
    }
    if (st == RSET_OK && c->size < c->old_size)
        st = update_piece(c, rank, local, ev, file, c->size, NULL, 0, UINT64_MAX, err);
    return st;
}

rset_status
change_update(job *j, int rank, rset_local *local)
{
    change     *c = &changes[rank];
    job_rank   *k = &j->ranks[rank];
    rset_file  *file = NULL;
    rset_status st, closed;

    st = begin_update(c, rank, local, &k->evidence, &k->err);
    traces[rank] = traces[rank] || c->journal != NULL;
    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, local->names[0], &file, &k->err);
    if (st == RSET_OK)
        st = update_all(c, rank, local, file, &k->evidence, &k->err);
    closed = rset_file_close(file, &k->err);
    c->written = st == RSET_OK && closed == RSET_OK;
    return st == RSET_OK ? closed : st;
}

/* ---- and then ---- */

/* The rank, or with -1 each, does not go on. */
static rset_status
in_vain(job *j, int rank, int unwilling, rset_status st)
{
    return st == RSET_OK && (rank == unwilling || unwilling < 0)
               ? rset_fail(&j->ranks[rank].err, RSET_USAGE, "this rank does not want to")
               : st;
}

rset_status
change_rewrite_in_vain(job *j, int rank, rset_local *local)
{
    return in_vain(j, rank, 2, change_rewrite(j, rank, local));
}

rset_status
change_update_in_vain(job *j, int rank, rset_local *local)
{
    return in_vain(j, rank, 2, change_update(j, rank, local));
}

rset_status
change_update_of_some(job *j, int rank, rset_local *local)
{
    return in_vain(j, rank, -1, rank % 2 != 0 ? change_update(j, rank, local) : RSET_OK);
}

static void
end_change(change *c, rset_journal_fate fate)
{
    rset_err ignored = RSET_ERR_NONE;

    (void)rset_journal_end(c->journal, fate, &ignored);
    free(c->beside);
    c->journal = NULL;
    c->beside = NULL;
    c->written = false;
}

void
change_die(job *j, int rank, rset_local *local, rset_status st)
{
    (void)j, (void)local, (void)st;
    end_change(&changes[rank], RSET_JOURNAL_LEAVE);
}

void
change_settle(job *j, int rank, rset_local *local, rset_status st)
{
    change *c = &changes[rank];

    if (st != RSET_OK && c->beside != NULL)
        settle_beside(c, rank, local, &j->ranks[rank].evidence);
    end_change(c, st != RSET_OK && c->written ? RSET_JOURNAL_CLOSED : RSET_JOURNAL_LEAVE);
}
