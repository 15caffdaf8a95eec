/* journal_next.c: the journal that leads back to what is being protected while its program writes on. See journal.h. */
#include "journal_internal.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static rset_status
no_memory(const char *file, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s: no memory to keep what it is", file);
}

/* ---- beginning ---- */

/* A generation of its own, and the file as it is. */
static rset_status
head_of(const rset_local *local, const rset_evidence *ev, rset_undo_head *out, rset_err *err)
{
    const char *name = local->shadow != NULL ? local->shadow : local->names[0];
    struct stat sb = {0};
    uint64_t    nonce = 0;
    rset_status st = rset_dir_stat(local->dir, name, &sb, err);

    if (st == RSET_OK && getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        st = rset_fail(err, RSET_IO, "%s: the system has no random number for its undo journal",
                       rset_local_name(local));
    *out = (rset_undo_head){.state = RSET_UNDO_OPEN,
                            .flags = RSET_UNDO_KEPT | RSET_UNDO_NEXT,
                            .size = (uint64_t)sb.st_size,
                            .generation = rset_generation_next(rset_evidence_newest(ev), nonce)};
    out->key = out->generation;
    return st;
}

static rset_status
begin(const rset_local *local, const rset_undo_head *head, rset_journal **out, rset_err *err)
{
    rset_journal *j = NULL;
    rset_status   st = rset_journal_new(local, head, &j, err);

    if (st == RSET_OK)
        st = rset_journal_create(j, local->prefix, err);
    if (st == RSET_OK)
        st = rset_journal_read_base(j, NULL, err);
    if (st != RSET_OK) {
        rset_journal_drop(j);
        return st;
    }
    j->noted = true;
    *out = j;
    return RSET_OK;
}

rset_status
rset_journal_begin_next(const rset_local *local, const rset_evidence *ev, rset_journal **out,
                        rset_err *err)
{
    rset_undo_head head;
    rset_status    st = head_of(local, ev, &head, err);

    *out = NULL;
    return st == RSET_OK ? begin(local, &head, out, err) : st;
}

/* ---- what becomes of it ---- */

rset_status
rset_journal_join(rset_journal *j, const char *prefix, uint64_t generation, rset_err *err)
{
    char       *name = rset_name_of(RSET_NAME_UNDO, prefix, generation);
    rset_status st = RSET_OK;

    if (name == NULL)
        return no_memory(j->data, err);
    (void)pthread_mutex_lock(&j->lock);
    j->head.generation = generation;
    st = rset_journal_write_head(j, err);
    if (st == RSET_OK)
        st = rset_dir_rename(j->dir, j->name, name, err);
    if (st == RSET_OK) {
        free(j->name);
        j->name = name;
        name = NULL;
    }
    (void)pthread_mutex_unlock(&j->lock);
    free(name);
    return st;
}

rset_status
rset_journal_succeed(rset_journal *j, const char *data, rset_err *err)
{
    char *of = strdup(data);

    if (of == NULL)
        return no_memory(data, err);
    (void)pthread_mutex_lock(&j->lock);
    free(j->data);
    free(j->kept.runs);
    j->data = of;
    j->noted = false;
    j->kept.runs = NULL;
    j->kept.n = 0;
    (void)pthread_mutex_unlock(&j->lock);
    return RSET_OK;
}

void
rset_journal_discard(rset_journal *j)
{
    (void)pthread_mutex_lock(&j->lock);
    (void)rset_dir_unlink(j->dir, j->name, NULL);
    j->head.generation = j->head.key;
    (void)pthread_mutex_unlock(&j->lock);
}

bool
rset_journal_joined(const rset_journal *j)
{
    return j->head.generation != j->head.key;
}

void
rset_journal_drop(rset_journal *j)
{
    if (j != NULL && j->file != NULL && !rset_journal_joined(j))
        rset_journal_discard(j);
    rset_journal_leave(j);
}
