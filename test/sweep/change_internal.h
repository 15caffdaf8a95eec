/* change_internal.h: what change.c and change_on.c share. */
#ifndef CHANGE_INTERNAL_H
#define CHANGE_INTERNAL_H

#include "change.h"
#include "member/journal.h"

enum { PIECES = 3, MORE = 700, LESS = 300 };

/* One rank's change: what it shall be, and while it is under way. */
typedef struct change {
    size_t         old_size, size;
    const uint8_t *data;
    rset_journal  *journal, *next;
    rset_file     *guard; /* of the shadow file, as long as it is written and committed */
    bool           little;
    bool           written; /* completely, as far as the application knows */
    bool           tried;
    bool           settled; /* it could not be protected, and all is said but the label */
} change;

extern change change_of[JOB_RANKS]; /* of job->with from CHANGE_SECOND on */

/* The nth piece that is written: from *off_out, *len_out bytes, which may be none. */
void change_piece_of(int rank, size_t old_size, int n, bool is_little, size_t *off_out,
                     size_t *len_out);

/* The file is about to change in place: with an undo journal, or without where there can be none. */
rset_status change_begin_update(change *c, int rank, const rset_local *local, rset_evidence *ev,
                                rset_err *err);
/* Keeps what is there, or gives up the undo journal; then the bytes change, or without `data` the size. */
rset_status change_update_piece(change *c, int rank, rset_file *file, uint64_t off,
                                const uint8_t *data, size_t len, uint64_t touched, rset_err *err);
/* Ends its undo journal as it is. */
void change_end(change *c);

#endif
