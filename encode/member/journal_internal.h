/* journal_internal.h: an undo journal that is being written; journal.c and journal_next.c write it, journal_read.c reads it
 * meanwhile. Nobody else includes this. */
#ifndef RSET_JOURNAL_INTERNAL_H
#define RSET_JOURNAL_INTERNAL_H

#include "grains.h"
#include "journal.h"

#include <pthread.h>

struct rset_journal {
    rset_dir       *dir;
    rset_file      *file; /* written; locked */
    rset_file      *base; /* the data file, read; NULL: nothing has to be kept */
    char           *name;
    char           *data; /* name of the data file */
    rset_undo_head  head;
    rset_label      had;    /* label of a close that this goes on from */
    rset_overlay    kept;   /* its runs are noted in a next journal only, */
    bool            noted;  /* which this is, */
    bool            sorted; /* and in order for reading */
    pthread_mutex_t lock;   /* between who writes the data file and who reads what it was */
    rset_grains     grains; /* of the old content; not made where nothing has to be kept */
    uint8_t        *buf;
};

/* A journal with this head: not on disk yet, but for its name in the names file (N1). Local. RSET_NOMEM, RSET_IO. */
rset_status rset_journal_new(const rset_local *local, const rset_undo_head *head,
                             rset_journal **out, rset_err *err);
/* Frees it, and its lock; NULL is accepted. */
void rset_journal_free(rset_journal *j);

/* Makes it on disk, locked: it has its name when it has its head. */
rset_status rset_journal_create(rset_journal *j, const char *prefix, rset_err *err);

/* Opens the data file to keep what changes of it; `kept`: what is kept already. */
rset_status rset_journal_read_base(rset_journal *j, const rset_overlay *kept, rset_err *err);

/* Its head once more, durably. */
rset_status rset_journal_write_head(rset_journal *j, rset_err *err);

/* RSET_BUSY: another process has it, which changes the file that it belongs to. Local. */
rset_status rset_journal_lock(rset_file *file, rset_err *err);
/* One of that name that another process has begun since the directory was looked at is not replaced: RSET_BUSY. Local. */
rset_status rset_journal_check_name(const rset_journal *j, rset_err *err);

#endif
