/* undo.h: an undo journal of a data file, as it lies on disk (FORMAT-extensions.md 4): what state the file is in,
 * and the old bytes of whatever changed in place. Written by journal.h.
 *
 * <prefix>redset.<generation>.undo leads back to that generation: what the entries have, over <prefix>redset.<generation>.data if
 * that is there, else over the next newer generation, which for the last one that was protected is the file itself. It is believed only
 * where it has the recorded checksums (P2), so entries are not synced one by one: what a power failure tears comes out as damage.
 *
 * The journal of the last generation also says what state the file is in, in words, and nothing is inferred from what is missing. It
 * begins with its head in two places, of which the newer good one counts: so its state can change without a moment in which there is
 * none. While a program changes the file it holds a lock on the journal; an OPEN one that nobody has locked belongs to a program that
 * died. Where nothing was ever protected the generation is 0. */
#ifndef RSET_UNDO_H
#define RSET_UNDO_H

#include "common/label.h"
#include "overlay.h"

typedef enum rset_undo_state {
    RSET_UNDO_OPEN = 1, /* a program changes the file; it is neither the old one nor the new one */
    RSET_UNDO_CLOSED    /* the program has closed the file, which is complete but not protected */
} rset_undo_state;

/* Flags of the head. */
enum {
    RSET_UNDO_KEPT = 1,  /* the old bytes of all that changed in place are in the entries */
    RSET_UNDO_ASIDE = 2, /* a new file took the name; the old one was put aside */
    RSET_UNDO_FIRST = 4, /* nothing was protected before, as far as the program could see */
    RSET_UNDO_NEXT =
        8 /* that generation is being protected: it counts once that is published (journal.h) */
};

enum { RSET_UNDO_ENTRIES = 1024 }; /* where entries begin */

typedef struct rset_undo_head {
    uint64_t        sequence; /* of two heads the one with the higher number counts */
    rset_undo_state state;
    unsigned        flags;
    uint64_t        generation; /* that the entries lead back to; 0 with RSET_UNDO_FIRST */
    uint64_t        size;       /* of the data file then */
    rset_label      label;      /* of a CLOSED one */
    uint64_t        closed;     /* size of the data file when it was closed */
    uint64_t        key;        /* that its entries have, and those of no other journal */
} rset_undo_head;

/* What is there of one undo journal. */
typedef struct rset_undo {
    bool there; /* there is a journal with a good head; the rest is valid then */
    bool
        rotten; /* there is a file of that name, and it has no good head, or one of another generation */
    bool           busy;  /* a program is changing the data file now */
    bool           aside; /* the old file lies where it was put aside */
    uint64_t       of;    /* the generation that its name says */
    rset_undo_head head;
    rset_overlay   kept;
} rset_undo;

/* Reads the journal that leads back to that generation of the data file with this prefix. RSET_OK also where there is none.
 * RSET_NOMEM; RSET_IO: it cannot be read, so nobody can tell what it says. */
rset_status rset_undo_load(rset_dir *dir, const char *prefix, uint64_t generation, rset_undo *out,
                           rset_err *err);
void        rset_undo_free(rset_undo *undo);

/* What an open journal says, whatever its name is: its head and entries; *out is zero before. !out->there: it has no good
 * head. RSET_DAMAGED: has bytes twice; RSET_NOMEM; RSET_IO. */
rset_status rset_undo_read(rset_file *file, rset_undo *out, rset_err *err);

/* What the journal is called. A new string; NULL without memory. */
char *rset_undo_name(const char *prefix, const rset_undo *undo);

/* Was its program writing on while its generation was published, which nobody has finished yet? Pure. */
bool rset_undo_is_next(const rset_undo *undo);

/* Does the journal say that the file has changed since this generation? Pure. */
bool rset_undo_is_of(const rset_undo *undo, uint64_t generation);

/* Is the file open or closed since this generation, which had `size` bytes, with the old content within reach? */
bool rset_undo_leads_to(const rset_undo *undo, uint64_t generation, uint64_t size);

/* Says in the journal that the file is being rolled back, durably: OPEN from now on, whatever it was. *undo is updated.
 * RSET_IO when a program is changing the file. */
rset_status rset_undo_begin(rset_dir *dir, const char *prefix, rset_undo *undo, rset_err *err);

/* Its generation is published and finished: it is the journal of the file from now on, durably. *undo is updated. A program that is
 * still writing the file says so itself (rset_journal_succeed). */
rset_status rset_undo_succeed(rset_dir *dir, const char *prefix, rset_undo *undo, rset_err *err);

/* Makes the data file `name` what the journal leads back to: in place, or by giving the name back to the file that was put
 * aside. Needs no space. May be done again after a crash at any point. */
rset_status rset_undo_apply(rset_dir *dir, const char *prefix, const char *name,
                            const rset_undo *undo, rset_err *err);

/* Removes the journal and what was put aside for it. */
rset_status rset_undo_remove(rset_dir *dir, const char *prefix, const rset_undo *undo,
                             rset_err *err);

/* The head as it is written, in one of the two places. */
rset_status rset_undo_write_head(rset_file *file, const rset_undo_head *head, rset_err *err);

#endif
