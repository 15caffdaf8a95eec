/* scavenge.h: h5redset scavenge: a job's files are brought to a directory that is safe. What its steps share:
 *   commands_scavenge.c  the order of steps      scavenge_plan.c     which files, and their names there
 *   scavenge_target.c    the directory           scavenge_copy.c     what it has already, and files that are whole
 *   scavenge_rebuild.c   files that are lost     scavenge_index.c    what is there, and what is not
 * Nothing is written but below the target (HR6). */
#ifndef SCAVENGE_H
#define SCAVENGE_H

#include "catalog.h"
#include "job.h"
#include "options.h"

/* In the target: the index, and a directory for what is not complete. */
#define SCAVENGE_INDEX "redset-index.json"
#define SCAVENGE_STAGE "redset-scavenge.tmp"

/* How a file came to the target. */
typedef enum {
    HOW_NOT, /* it did not: outcome.why */
    HOW_COPIED,
    HOW_ROLLED_BACK, /* changed since, and given as it was protected last */
    HOW_FINISHED,    /* its commit was decided: given as it will be when that is finished */
    HOW_REBUILT,
    HOW_AS_IS, /* nobody records what it should be, or programs would open it as it is */
    HOW_KEPT,  /* it was there already */
    HOW_COUNT
} scavenge_how;
extern const char *const scavenge_words[HOW_COUNT];

enum { WHY_MAX = 512 };

/* What became of one file. */
typedef struct outcome {
    scavenge_how how;
    int          status;   /* exit status (exits.h) */
    bool         verified; /* by recorded checksums */
    bool         broken;   /* the target could not be written */
    uint64_t     size, crc;
    int64_t      from;         /* which of the catalog's sightings it is a copy of; -1: of none */
    char         why[WHY_MAX]; /* "": nothing to say */
} outcome;

/* One file that was asked for: that of a member, which is read as f->owner, and his then. */
typedef struct item {
    const family  *f;
    const cat_set *set;   /* of it */
    const member  *m;     /* of that */
    const char    *base;  /* its name as recorded, borrowed; NULL: nothing records it */
    char          *name;  /* below the target; owned; NULL: as above */
    bool           as_is; /* the table says: it is opened as it is, whatever is recorded */
    int            by;    /* the process that brings it */
    bool           done;  /* `out` holds */
    outcome        out;
} item;

typedef struct scavenge {
    job           *j;
    const options *o;
    const catalog *c;
    size_t         n, room;
    item          *items;  /* the same list on all processes */
    rset_dir      *target; /* NULL: it was not begun */
    char *stage;     /* of this process, for what is not complete: below SCAVENGE_STAGE; owned */
    int   stage_dir; /* SCAVENGE_STAGE; -1: none */
    int   was;       /* where this process worked before; -1: nowhere else */
    int   lock;      /* -1: none */
    char *made;      /* what had to be made of the target's path: its topmost directory; owned */
    bool  broken;    /* here the target could not be written: nothing more is tried */
} scavenge;

/* ---- scavenge_plan.c: pure ---- */

/* Lists what was asked for. Names are the recorded ones where no other file has that name, else below rank_<rank>, else
 * below generation_<id>/rank_<rank>; they are the same whatever is lost. What the table refuses is done, with the reason. */
void scavenge_plan(scavenge *s);
void scavenge_free(scavenge *s);

/* What it should be; NULL: nothing records that, or it is given as it is. Borrowed. */
const rset_info *scavenge_recorded(const item *it);

/* May this be the item's file, which was found nowhere? Without a redundancy file of its own nothing but its content tells. The next such
 * file after `found` (NULL: the first); NULL: no more. */
bool            scavenge_may_be(const item *it, const sighting *found);
const sighting *scavenge_next(const scavenge *s, const item *it, const sighting *found);

/* Says why a file is not there: it->done. */
void item_fail(item *it, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Says of a file that is there that nobody can verify it. */
void outcome_as_is(outcome *out);

/* ---- scavenge_target.c ---- */

/* Makes the target and a place for what is not complete, which other runs keep out of. Collective, with the same
 * outcome on all. */
rset_status scavenge_begin(scavenge *s, rset_err *err);

/* Removes that place. Collective. */
void scavenge_end(scavenge *s);

/* Gives what is complete and synced, `staged` in `from`, its name in the target. `over`: in the place of a file that is there. Local. RSET_BUSY:
 * one is there and may not go, or a program has it open to change it; RSET_IO. */
rset_status scavenge_publish(const scavenge *s, rset_dir *from, const char *staged,
                             const char *name, bool over, rset_err *err);

/* Makes a directory below the place of all processes, that is the owner's and nobody else's. Local. RSET_IO. */
rset_status scavenge_make(const char *path, uint64_t owner, rset_err *err);

/* Removes one, with all below it. Local. */
void scavenge_remove(const char *path);

/* Opens the directory, in the target, of what has this name there; `create`: makes it. scavenge_leave closes it. Local. RSET_ABSENT: it is not
 * there; RSET_IO: something else has its name, or the name of one above it. */
rset_status scavenge_enter(const scavenge *s, const char *name, bool create, rset_dir **out,
                           rset_err *err);
void        scavenge_leave(const scavenge *s, rset_dir *dir);

/* A path in the target. A new string. */
char *scavenge_path(const scavenge *s, const char *name);

/* ---- scavenge_copy.c ---- */

/* Copies the file if it is whole: it->done then, as where it need not be copied, or cannot be written. Local. */
void scavenge_copy(scavenge *s, item *it);

/* Opens one file, as it is. Local. RSET_ABSENT, RSET_IO; RSET_DAMAGED: it is no file. */
rset_status scavenge_open(rset_dir *dir, const char *name, rset_logical *out, rset_err *err);

/* Copies all that can be read of what has one file, holes as holes, and sums it up; `to` NULL: only that. *whole_out: it could be read to
 * its end. *sums_out is freed by the caller. Local. RSET_IO: `to` cannot be written. */
rset_status scavenge_pour(const rset_logical *from, rset_file *to, rset_sums *sums_out,
                          bool *whole_out, rset_err *err);

/* ---- scavenge_rebuild.c ---- */

/* Of sets that something is missing of: copies of the pieces that the process which rebuilds it does not see itself, or that
 * belong to a commit which is not finished, or to a renamed file; in the copy it is, and that has the name that is recorded. Collective, with the same outcome on all. */
rset_status scavenge_gather_pieces(const scavenge *s, rset_err *err);

/* Adds where copies of a set's pieces are that this process uses. Local. */
void scavenge_add_pieces(const scavenge *s, const cat_set *set, strings *search);

/* Rebuilds the file at the target, from the pieces in `search` and copies of others'. it->done afterwards. Local. */
void scavenge_rebuild(scavenge *s, item *it, const strings *search);

/* ---- scavenge_index.c ---- */

/* Writes the index, unless it says the same already. By one process. RSET_IO. */
rset_status scavenge_write_index(const scavenge *s, rset_err *err);

#endif
