/* journal_read.c: what a file was, read while its program writes on and the journal grows. See journal.h. */
#include "journal_internal.h"

uint64_t
rset_journal_size(const rset_journal *j)
{
    return j->head.size;
}

static rset_status
read_kept(rset_journal *j, uint64_t off, void *buf, size_t len, size_t *got_out, rset_err *err)
{
    const rset_layered was = {j->base, j->file, &j->kept};
    const uint64_t     left = off < j->head.size ? j->head.size - off : 0;

    if (j->base == NULL)
        return rset_fail(err, RSET_IO,
                         "%s: was changed again before it was protected, and what it was could "
                         "not be kept",
                         j->data);
    if (!j->sorted)
        rset_overlay_sort(&j->kept);
    j->sorted = true;
    return rset_layered_read(&was, off, buf, left < len ? (size_t)left : len, got_out, err);
}

rset_status
rset_journal_read(rset_journal *j, uint64_t off, void *buf, size_t len, size_t *got_out,
                  rset_err *err)
{
    rset_status st;

    *got_out = 0;
    (void)pthread_mutex_lock(&j->lock); /* a change waits until this is read */
    st = read_kept(j, off, buf, len, got_out, err);
    (void)pthread_mutex_unlock(&j->lock);
    return st;
}

static rset_status
is_being_changed(const rset_file *file, rset_err *err)
{
    return rset_fail(err, RSET_BUSY,
                     "%s: the file that this belongs to is being changed by another process; "
                     "wait until it has closed it",
                     rset_file_path(file));
}

rset_status
rset_journal_lock(rset_file *file, rset_err *err)
{
    return rset_file_guard_as(file, RSET_GUARD_CHANGED, true) ? RSET_OK
                                                              : is_being_changed(file, err);
}

rset_status
rset_journal_check_name(const rset_journal *j, rset_err *err)
{
    rset_file  *there = NULL;
    rset_status st = RSET_OK;

    if (rset_file_open(j->dir, j->name, &there, NULL) == RSET_OK &&
        rset_file_is_guarded(there, RSET_GUARD_CHANGED))
        st = is_being_changed(there, err);
    (void)rset_file_close(there, NULL);
    return st;
}
