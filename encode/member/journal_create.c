/* journal_create.c: the head of an undo journal, and the name that it gets when that is written. See journal_internal.h. */
#include "common/thread.h"
#include "journal_internal.h"
#include "names/names.h"

#include <stdlib.h>

enum { TRIES = 3 }; /* beyond the first */

rset_status
rset_journal_write_head(rset_journal *j, rset_err *err)
{
    rset_status st;

    j->head.sequence++;
    st = rset_undo_write_head(j->file, &j->head, err);
    return st == RSET_OK ? rset_file_sync(j->file, err) : st;
}

void
rset_journal_publish(rset_journal *j)
{
    rset_err ignored = RSET_ERR_NONE;

    (void)pthread_mutex_lock(&j->lock);
    j->head.flags &= ~(unsigned)RSET_UNDO_NEXT;
    (void)rset_journal_write_head(j, &ignored);
    (void)pthread_mutex_unlock(&j->lock);
}

static rset_status
create(rset_journal *j, const char *begun, rset_err *err)
{
    rset_access access = RSET_ACCESS_OWNER; /* where there is nothing to keep */
    rset_status st;

    (void)rset_file_access(j->dir, j->data, &access);
    st = rset_file_create(j->dir, begun, &access, &j->file, err);

    if (st == RSET_OK)
        st = rset_journal_lock(j->file, err);
    if (st == RSET_OK)
        st = rset_journal_write_head(j, err);
    if (st == RSET_OK)
        st = rset_journal_check_name(j, err);
    if (st == RSET_OK)
        st = rset_dir_rename(j->dir, begun, j->name, err);
    if (st == RSET_OK)
        return RSET_OK;
    if (j->file != NULL)
        (void)rset_dir_unlink(j->dir, begun, NULL);
    rset_file_close(j->file, NULL);
    j->file = NULL;
    return st;
}

/* Another process may take it for one that was left before this one has its lock: then it is gone, or about to be. */
static rset_status
create_again(rset_journal *j, const char *begun, rset_err *err)
{
    const rset_undo_head head = j->head;
    rset_status          st = create(j, begun, err);

    for (int i = 0; i < TRIES && (st == RSET_ABSENT || st == RSET_BUSY); i++) {
        rset_thread_nap(1);
        *err = RSET_ERR_NONE;
        j->head = head;
        st = create(j, begun, err);
    }
    return st;
}

/* Where there is no room for it, that of the names file will do: without one the directory is listed (N1). */
static rset_status
create_somehow(rset_journal *j, const char *prefix, const char *begun, rset_err *err)
{
    const rset_undo_head head = j->head;
    rset_err             own = RSET_ERR_NONE;
    rset_status          st = create_again(j, begun, &own);

    if (st == RSET_OK || !rset_err_lacks_room(&own))
        return st == RSET_OK ? st : rset_fail_as(err, &own);
    st = rset_names_forget(j->dir, prefix, err);
    j->head = head;
    return st == RSET_OK ? create(j, begun, err) : st;
}

rset_status
rset_journal_create(rset_journal *j, const char *prefix, rset_err *err)
{
    char       *begun = rset_name_of(RSET_NAME_BEGUN, prefix, j->head.generation);
    rset_status st = begun != NULL
                         ? create_somehow(j, prefix, begun, err)
                         : rset_fail(err, RSET_NOMEM, "no memory to keep what %s was", j->data);

    free(begun);
    return st;
}
