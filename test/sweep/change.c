/* change.c: see change.h. */
#include "change_internal.h"

#include "commit/shadow.h"
#include "common/crc64.h"
#include "image.h"
#include "member/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweep.h"

/* ---- contents ---- */

change               change_of[JOB_RANKS];
static bool          little;
static _Atomic bool *gave_up; /* per rank, shared */

void
change_from(int rank, size_t old_size, const uint8_t *data, size_t size)
{
    if (gave_up == NULL)
        gave_up = sweep_shared(JOB_RANKS * sizeof *gave_up);
    change_of[rank] = (change){.old_size = old_size, .size = size, .data = data, .little = little};
}

void
change_little(bool is_little)
{
    little = is_little;
}

void
change_reset(void)
{
    for (int r = 0; gave_up != NULL && r < JOB_RANKS; r++)
        gave_up[r] = false;
}

bool
change_gave_up(void)
{
    for (int r = 0; gave_up != NULL && r < JOB_RANKS; r++)
        if (gave_up[r])
            return true;
    return false;
}

static int
index_of(const job *j, int rank)
{
    return rank + (j->second ? CHANGE_SECOND : 0);
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
void
change_piece_of(int rank, size_t old_size, int n, bool is_little, size_t *off_out, size_t *len_out)
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
    const uint64_t was = rset_crc64(0, old, old_size); /* changed again it is another one */
    size_t         size = updated_size(rank, old_size, little), off, len;
    uint8_t       *data = calloc(1, size > old_size ? size : old_size);

    assert_non_null(data);
    memcpy(data, old, old_size);
    for (int n = 0; n < PIECES; n++) {
        change_piece_of(rank, old_size, n, little, &off, &len);
        fill_random(data + off, len, was + (uint64_t)(6000 + 10 * rank + n));
    }
    *size_out = size;
    return data;
}

/* ---- a new file ---- */

static void
begin_change(change *c)
{
    c->written = c->settled = false;
    c->tried = true;
}

/* The shadow file is made, and the program opens it; another file is made as the program would. */
static rset_status
make_as(change *c, const rset_local *local, const char *name, rset_file **out, rset_err *err)
{
    rset_access access = {.mode = image_mode_of(rset_dir_path(local->dir)), .gid = getegid()};
    rset_status st;

    if (name == local->shadow) {
        st = rset_shadow_make(local, name, &c->guard, err);
        return st == RSET_OK ? rset_file_open_update(local->dir, name, out, err) : st;
    }
    (void)rset_file_access(local->dir, local->names[0], &access);
    return rset_file_create(local->dir, name, &access, out, err);
}

static rset_status
write_as(change *c, const rset_local *local, const char *name, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = make_as(c, local, name, &file, err), closed;

    for (size_t n = 0; st == RSET_OK && n < PIECES; n++) {
        size_t from = c->size * n / PIECES, to = c->size * (n + 1) / PIECES;

        st = rset_file_write(file, from, c->data + from, to - from, err);
    }
    closed = rset_file_close(file, err);
    return st == RSET_OK ? closed : st;
}

/* Nothing of it is protected, as far as this rank knows: in place. */
static rset_status
write_first(change *c, const rset_local *local, job_rank *k)
{
    rset_status st = rset_change_begin_first(local, &k->evidence, &c->journal, &k->err);

    if (st == RSET_OK)
        st = write_as(c, local, local->names[0], &k->err);
    c->written = st == RSET_OK;
    return st;
}

/* The old content cannot be kept: in place, as the driver does. */
static rset_status
write_without_journal(change *c, int rank, const rset_local *local, job_rank *k)
{
    rset_status st = rset_change_begin(local, &k->evidence, false, &c->journal, &k->err);

    gave_up[rank] = true;
    if (st == RSET_OK)
        st = write_as(c, local, local->names[0], &k->err);
    c->written = st == RSET_OK;
    return st;
}

rset_status
change_rewrite(job *j, int rank, rset_local *local)
{
    change     *c = &change_of[index_of(j, rank)];
    job_rank   *k = &j->ranks[rank];
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st;

    begin_change(c);
    if (!k->evidence.any && k->evidence.next_name == NULL)
        return write_first(c, local, k);
    st = rset_shadow_begin(local, &k->evidence, &k->shadow, &ignored);
    if (st != RSET_OK)
        return write_without_journal(c, index_of(j, rank), local, k);
    local->shadow = k->shadow;
    st = write_as(c, local, local->shadow, &k->err);
    c->written = st == RSET_OK;
    if (c->written)
        (void)rset_file_set_like(local->dir, k->shadow, local->names[0], &ignored);
    return st;
}

/* ---- a change in place ---- */

rset_status
change_begin_update(change *c, int rank, const rset_local *local, rset_evidence *ev, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_change_begin(local, ev, true, &c->journal, &why);

    gave_up[rank] = gave_up[rank] || st != RSET_OK;
    return st == RSET_OK ? st : rset_change_begin(local, ev, false, &c->journal, err);
}

/* Keeps what is there, or gives up the undo journal; then the bytes change. */
rset_status
change_update_piece(change *c, int rank, rset_file *file, uint64_t off, const uint8_t *data,
                    size_t len, uint64_t touched, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_journal_save(c->journal, off, touched, &why);

    if (st != RSET_OK) {
        gave_up[rank] = true;
        st = rset_journal_give_up(c->journal, err);
    }
    if (st == RSET_OK && data != NULL)
        st = rset_file_write(file, off, data, len, err);
    else if (st == RSET_OK)
        st = rset_file_resize(file, off, err);
    return st;
}

static rset_status
update_all(change *c, int rank, rset_file *file, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int n = 0; st == RSET_OK && n < PIECES; n++) {
        size_t off, len;

        change_piece_of(rank, c->old_size, n, c->little, &off, &len);
        if (len > 0)
            st = change_update_piece(c, rank, file, off, c->data + off, len, len, err);
    }
    if (st == RSET_OK && c->size < c->old_size)
        st = change_update_piece(c, rank, file, c->size, NULL, 0, UINT64_MAX, err);
    return st;
}

rset_status
change_update(job *j, int rank, rset_local *local)
{
    const int   index = index_of(j, rank);
    change     *c = &change_of[index];
    job_rank   *k = &j->ranks[rank];
    rset_file  *file = NULL;
    rset_status st, closed;

    begin_change(c);
    st = change_begin_update(c, index, local, &k->evidence, &k->err);
    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, local->names[0], &file, &k->err);
    if (st == RSET_OK)
        st = update_all(c, index, file, &k->err);
    closed = rset_file_close(file, &k->err);
    c->written = st == RSET_OK && closed == RSET_OK;
    return st == RSET_OK ? closed : st;
}

/* ---- and then ---- */

void
change_end(change *c)
{
    rset_journal_leave(c->journal);
    rset_file_close(c->guard, NULL);
    c->journal = NULL;
    c->guard = NULL;
}

/* The rank, or with -1 each, does not go on. */
static rset_status
unmet(job *j, int rank, int unwilling, rset_status st)
{
    return st == RSET_OK && (rank == unwilling || unwilling < 0)
               ? rset_fail(&j->ranks[rank].err, RSET_USAGE, "this rank does not want to")
               : st;
}

rset_status
change_rewrite_unmet(job *j, int rank, rset_local *local)
{
    return unmet(j, rank, 2, change_rewrite(j, rank, local));
}

rset_status
change_update_unmet(job *j, int rank, rset_local *local)
{
    return unmet(j, rank, 2, change_update(j, rank, local));
}

rset_status
change_update_of_some(job *j, int rank, rset_local *local)
{
    return unmet(j, rank, -1, rank % 2 != 0 ? change_update(j, rank, local) : RSET_OK);
}

void
change_die(job *j, int rank, rset_local *local, rset_status st)
{
    (void)local, (void)st;
    change_end(&change_of[index_of(j, rank)]);
    free(j->ranks[rank].shadow);
    j->ranks[rank].shadow = NULL;
}

/* Has some rank not opened its file, or not written all it wanted? They have all tried when any of them is here. */
static bool
is_incomplete(const job *j)
{
    for (int r = 0; r < j->n; r++)
        if (!j->ranks[r].opened)
            return true;
    for (int i = 0; i < JOB_RANKS; i++)
        if (change_of[i].tried && !change_of[i].written)
            return true;
    return false;
}

/* All ranks have closed their files in one step; one that changed nothing too. Up to the label. */
static rset_status
close_in_step(change *c, const rset_local *local, rset_evidence *ev)
{
    rset_err    ignored = RSET_ERR_NONE;
    rset_local  plain = *local;
    rset_status st = RSET_OK;

    if (local->shadow != NULL) {
        rset_journal_leave(c->journal);
        return rset_shadow_settle(local, ev, true, &c->journal, &ignored);
    }
    plain.shadow = NULL;
    if (c->journal == NULL && !c->tried)
        st = rset_survey_again(local->dir, local->prefix, local->names[0], ev, &ignored);
    if (c->journal == NULL && !c->tried && st == RSET_OK)
        st = rset_change_begin(&plain, ev, true, &c->journal, &ignored);
    return st;
}

/* The files of this rank, one or two, which are protected together. */
static void
label_all(const job *j, int rank)
{
    const rset_label label = {.job = 1, .step = 1, .ranks = (uint64_t)j->n};
    const rset_label labels[] = {label, label};
    change          *first = &change_of[rank], *last = &change_of[index_of(j, rank)];
    rset_journal    *journals[] = {first->journal, last != first ? last->journal : NULL};
    rset_err         ignored = RSET_ERR_NONE;

    if (!first->settled || !last->settled)
        return;
    (void)rset_journal_close_all(journals, labels, 2, &ignored);
    first->journal = last->journal = NULL;
}

/* As the driver does when a close could not be protected (vfd/session.c). */
void
change_settle(job *j, int rank, rset_local *local, rset_status st)
{
    change   *c = &change_of[index_of(j, rank)];
    job_rank *k = &j->ranks[rank];

    if (st != RSET_OK && is_incomplete(j) && local->shadow != NULL)
        rset_shadow_drop(local);
    else if (st != RSET_OK && !is_incomplete(j))
        c->settled = close_in_step(c, local, &k->evidence) == RSET_OK;
    if (j->with == NULL)
        label_all(j, rank);
    if (j->with == NULL) {
        change_end(&change_of[rank]);
        change_end(c);
    }
    free(k->shadow);
    k->shadow = NULL;
}
