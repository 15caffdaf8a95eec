/* overlay.h: bytes that are to be laid over a file, as entries in a file of their own (FORMAT-extensions.md 4 and 5).
 * Over a data file that changed lie the old bytes: its undo journal (undo.h). Over a redundancy file lie the new ones:
 * an update (delta.h).
 *
 * Whoever writes an entry writes its bytes before its head, so a writer that dies leaves whole entries only.
 * Hostile until checked: an entry lies within the size of the file below, no byte is laid twice. Local. */
#ifndef RSET_OVERLAY_H
#define RSET_OVERLAY_H

#include "store/store.h"

enum { RSET_OVERLAY_ENTRY = 24 }; /* bytes before those of an entry */

typedef struct rset_run {
    uint64_t off, len; /* of the file below */
    uint64_t at;       /* where the bytes are in the overlay's file */
} rset_run;

typedef struct rset_overlay {
    uint64_t  generation, size; /* given: what the entries belong to; size of the file below */
    bool      complete;         /* its writer came to the end (rset_overlay_complete) */
    bool      torn;             /* the file goes on where the good entries end */
    size_t    n;
    rset_run *runs; /* ascending, disjoint; owned */
    uint64_t  end;  /* of the good entries; of one that is written: where the next will be */
} rset_overlay;

/* Reads all good entries of `file` from `from` on; over->generation and size are given. RSET_DAMAGED: bytes are laid
 * twice. RSET_NOMEM; RSET_IO: it cannot be read, so nobody can tell. */
rset_status rset_overlay_scan(rset_file *file, uint64_t from, rset_overlay *over, rset_err *err);
void        rset_overlay_free(rset_overlay *over);

/* Appends an entry: `len` bytes at buf + RSET_OVERLAY_ENTRY, before which is room for its head. Not noted in
 * runs. */
rset_status rset_overlay_append(rset_file *file, rset_overlay *over, uint64_t off, uint8_t *buf,
                                size_t len, rset_err *err);
/* Notes a run in memory, in any order; rset_overlay_sort before reading. False without memory. */
bool rset_overlay_note(rset_overlay *over, rset_run run);
void rset_overlay_sort(rset_overlay *over);

/* Writes the entry that says that all is there: its offset is RSET_OVERLAY_END, it has no bytes. */
#define RSET_OVERLAY_END UINT64_MAX
rset_status rset_overlay_complete(rset_file *file, rset_overlay *over, rset_err *err);

/* A file as it is to be read: with what is to be laid over it, if anything is. */
typedef struct rset_layered {
    rset_file          *base, *top; /* base NULL: not there; top has the bytes of `over` */
    const rset_overlay *over;       /* NULL: nothing, and a base is there */
} rset_layered;

/* Reads up to `len` bytes at `off`: from the top what the overlay has, the rest from the base. *got_out < len where the
 * base ends or is missing. RSET_IO. */
rset_status rset_layered_read(const rset_layered *l, uint64_t off, void *buf, size_t len,
                              size_t *got_out, rset_err *err);

/* rset_file_next_data of a file with what is laid over it. */
uint64_t rset_layered_next_data(const rset_layered *l, uint64_t off, uint64_t *end_out);

/* Lays over `len` bytes of the file at `off`, which are in `buf`, what the overlay has of them. RSET_IO. */
rset_status rset_overlay_lay(const rset_overlay *over, rset_file *top, uint64_t off, void *buf,
                             size_t len, rset_err *err);

/* Writes the bytes of all runs, which are in `top`, into `base`; in a hole of `base` zeros need no space. */
rset_status rset_overlay_copy(const rset_overlay *over, rset_file *top, rset_file *base,
                              rset_err *err);

#endif
