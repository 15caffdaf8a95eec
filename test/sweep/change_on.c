/* change_on.c: files that stay open when they are protected, and go on changing. See change.h. */
#include "change_internal.h"
#include "image.h"

#include <stdlib.h>

/* ---- while they are protected ---- */

enum { MORE_ON = 100 };

/* Where the nth piece is written that is in no commit. */
static size_t
place_on(const change *c, int n)
{
    const size_t places[PIECES] = {20 < c->size ? 20 : c->size, c->size / 2, c->size};

    return places[n];
}

/* Kept for what is committed and for what was. */
static rset_status
write_past(change *c, int rank, rset_file *file, uint64_t off, rset_err *err)
{
    uint8_t     bytes[MORE_ON];
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_journal_save(c->next, off, sizeof bytes, &why);

    if (st != RSET_OK) /* then the commit cannot be */
        st = rset_journal_give_up(c->next, err);
    if (st != RSET_OK)
        return st;
    fill_random(bytes, sizeof bytes, (uint64_t)(7000 + rank) + off);
    return change_update_piece(c, rank, file, off, bytes, sizeof bytes, sizeof bytes, err);
}

static rset_status
write_on_all(change *c, int rank, rset_file *file, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int n = 0; st == RSET_OK && n < PIECES; n++)
        st = write_past(c, rank, file, place_on(c, n), err);
    return st;
}

/* An earlier run may have gone on, and nothing was committed: there is what is to be committed once more. */
static rset_status
write_again(change *c, int rank, rset_file *file, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int n = 0; st == RSET_OK && n < PIECES; n++) {
        const size_t off = place_on(c, n), left = c->size - off;
        const size_t len = left < MORE_ON ? left : MORE_ON;

        if (len > 0)
            st = change_update_piece(c, rank, file, off, c->data + off, len, len, err);
    }
    return st == RSET_OK ? change_update_piece(c, rank, file, c->size, NULL, 0, UINT64_MAX, err)
                         : st;
}

/* `st`: of writing what is to be protected. */
static rset_status
go_on(job *j, int rank, rset_local *local, rset_status st)
{
    change     *c = &change_of[rank];
    job_rank   *k = &j->ranks[rank];
    const char *name = local->shadow != NULL ? local->shadow : local->names[0];
    rset_file  *file = NULL;
    rset_status closed;

    if (st == RSET_OK)
        st = rset_file_open_update(local->dir, name, &file, &k->err);
    if (st == RSET_OK)
        st = write_again(c, rank, file, &k->err);
    if (st == RSET_OK)
        st = rset_survey_local(local, &k->evidence, &k->err);
    if (st == RSET_OK)
        st = rset_journal_begin_next(local, &k->evidence, &c->next, &k->err);
    if (st == RSET_OK)
        st = write_on_all(c, rank, file, &k->err);
    closed = rset_file_close(file, &k->err);
    local->next = c->next;
    return st == RSET_OK ? closed : st;
}

rset_status
change_rewrite_and_on(job *j, int rank, rset_local *local)
{
    return go_on(j, rank, local, change_rewrite(j, rank, local));
}

rset_status
change_update_and_on(job *j, int rank, rset_local *local)
{
    return go_on(j, rank, local, change_update(j, rank, local));
}

void
change_settle_on(job *j, int rank, rset_local *local, rset_status st)
{
    change  *c = &change_of[rank];
    rset_err ignored = RSET_ERR_NONE;

    if (c->next != NULL && st == RSET_OK)
        (void)rset_journal_succeed(c->next, local->names[0], &ignored);
    if (st == RSET_OK)
        rset_journal_leave(c->next);
    else
        rset_journal_drop(c->next);
    c->next = NULL;
    change_end(c);
    free(j->ranks[rank].shadow);
    j->ranks[rank].shadow = NULL;
}

/* ---- afterwards ---- */

/* Other bytes where the change has written: nobody will ever be promised them. */
static rset_status
write_on(change *c, int rank, const rset_local *local, rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = rset_file_open_update(local->dir, local->names[0], &file, err);

    for (int n = 0; st == RSET_OK && n < PIECES; n++) {
        uint8_t bytes[64];
        size_t  off, len;

        change_piece_of(rank, c->old_size, n, c->little, &off, &len);
        len = len < sizeof bytes ? len : sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)~c->data[off + i];
        if (len > 0)
            st = change_update_piece(c, rank, file, off, bytes, len, len, err);
    }
    rset_file_close(file, NULL);
    return st;
}

/* As the driver does after a commit of a file that stays open (vfd/session_commit.c): where it was published here, what changes
 * next begins another journal; where it may have been elsewhere, nothing changes. */
void
change_go_on(job *j, int rank, rset_local *local, rset_status st)
{
    change        *c = &change_of[rank];
    job_rank      *k = &j->ranks[rank];
    const uint64_t before = rset_evidence_generation(&k->evidence);
    rset_err       ignored = RSET_ERR_NONE;

    (void)st;
    if (rset_survey_again(local->dir, local->prefix, local->names[0], &k->evidence, &ignored) !=
            RSET_OK ||
        rset_evidence_in_doubt(&k->evidence)) {
        change_end(c);
        return;
    }
    if (rset_evidence_generation(&k->evidence) != before) {
        change_end(c);
        if (change_begin_update(c, rank, local, &k->evidence, &ignored) != RSET_OK)
            return;
    }
    if (c->tried)
        (void)write_on(c, rank, local, &ignored);
    change_end(c);
}
