/* scene.h: what sweeps try their faults on: an operation of the engine, on four ranks with a node each,
 * under one scheme and with files of one size. The operations are a table (scene_operations). */
#ifndef SCENE_H
#define SCENE_H

#include "image.h"
#include "job.h"

enum {
    SCENE_RANKS = 4,
    SCENE_OLDER = 2,
    SCENE_PATIENCE = 240
}; /* seconds that ranks wait when nothing fails */

/* What may be found in the data files. OLD: as at the last encode that was completed before the operation.
 * NEW: as the application last wrote them. Both, where it has not written since. */
enum { SCENE_OLD = 1, SCENE_NEW = 2, SCENE_REFUSED = 4 };

typedef struct scene_kind {
    const rset_scheme *scheme;
    int                parity;
} scene_kind;

typedef struct scene_size {
    const char *name;
    size_t      bytes[SCENE_RANKS];
} scene_size;

extern const scene_kind scene_kinds[];
extern const scene_size scene_sizes[];
enum { SCENE_KINDS = 4, SCENE_SIZES = 2 };

typedef struct contents { /* of all data files */
    uint8_t *data[SCENE_RANKS];
    size_t   size[SCENE_RANKS];
} contents;

typedef struct scene scene;

enum {
    SCENE_FIRM =
        1, /* it takes nothing away before something better is there: what the scheme can bring
                        back when it begins, it can at any time */
    SCENE_LOCAL = 2, /* each rank acts for itself: they need not come to the same */
    SCENE_TORN =
        4, /* a power failure may tear files while they are not protected: by design nothing is
                        synced for each change */
    SCENE_VAIN = 8, /* it is meant to fail */
    SCENE_OPEN =
        128, /* a commit of files that stay open: they change after it, and are never closed */
    SCENE_RENAMES = 32, /* to find out whether it is refused files have other names for a while */
    /* It begins where the model never is: written without the driver, created over a commit that no open has finished, or
     * written on while it is committed; redundancy files alone deleted, a file of one rank. */
    SCENE_APART = 16,
    /* A file of one rank: each rank settles what it has, and all may refuse it afterwards. What was closed, and by a failure
     * not protected, may be newer than all replicas: it is refused. */
    SCENE_ROOT = 64
};

typedef struct scene_operation {
    const char *name;
    /* Brings the directories and the job to where the operation begins, and fills in what follows
     * `start` in a scene. False: there is no such operation with this scheme. */
    bool (*prepare)(scene *s);
    void (*run)(job *j); /* all ranks, by job_run; in a child */
    /* What may be there when it was interrupted: reopened as it is; and with one more node lost. */
    unsigned plain, loss;
    unsigned flags;
} scene_operation;

extern const scene_operation scene_operations[];
extern const int             scene_noperations;

struct scene {
    const scene_operation *op;
    const scene_kind      *kind;
    const scene_size      *size;
    char                  *base;
    job                    job;
    image                  start; /* all directories as the operation finds them */
    contents               old, new;
    contents older[SCENE_OLDER]; /* with keep=: what was protected before that, the oldest first */
    int      nolder;
    /* Attributes to be recorded: without times, so that equal runs write equal bytes. */
    rset_attrs attrs[SCENE_RANKS];
    bool       unsynced; /* the new data files were written, but nobody has made them durable */
    unsigned   lost;     /* bit r: rank r's node counts as lost when it begins */
    job        with;     /* of s->job.with: scene_together.h */
    contents   with_old, with_new, with_older[SCENE_OLDER];
    rset_attrs with_attrs[SCENE_RANKS];
    /* All ranks open the files afterwards: scene_recover, unless `prepare` says otherwise. */
    void (*reopen)(job *j);
};

/* Opens each scene with the first `sizes` of the sizes, one after the other, and tries it: those that there are,
 * and whose name contains what SWEEP_ONLY in the environment asks for. */
void scene_each(int sizes, void (*try)(scene *s));
/* "XOR 1, small, encode again", in a buffer of its own. */
const char *scene_name(const scene *s);

/* All directories as in the image. */
void scene_put(const scene *s, const image *img);
/* The same with what the operation finds; nothing was said or done yet. */
void scene_begin(const scene *s);
/* The files of version `version` are written. */
void scene_write(scene *s, int version);
void scene_lose(const scene *s, int rank);
/* How many nodes the scheme can lose, whichever they are. */
int scene_tolerance(const scene *s);

/* SCENE_OLD or SCENE_NEW bits of what all data files are together; 0: a mixture, or something else. why
 * (256 bytes) tells the first file that is neither. */
unsigned scene_look(const scene *s, char *why);
bool     scene_files_there(const scene *s);
/* Is that what rank r has in `c`? */
bool scene_holds(const contents *c, int r, const uint8_t *data, size_t size);

/* ---- running ---- */

/* What ranks came to, in memory shared with the child that ran them. */
typedef struct scene_outcome {
    bool         done;
    bool         any, asks; /* as in job_rank */
    rset_status  st;
    rset_outcome out;
    char         text[RSET_ERR_TEXT];
} scene_outcome;

typedef struct scene_report {
    scene_outcome rank[SCENE_RANKS];
    bool          first_opened; /* of two files of each rank one was opened by all */
    bool by_other; /* of files with two names: scene_open has opened them by the other one */
} scene_report;

extern scene_report *scene_said;

/* Runs `run` on all ranks in this process with file calls tapped, and reports each rank. For children.
 * `attempt` goes into the generation: the same number, the same bytes. `done` is called in each rank's
 * thread when it is through, may be NULL. */
void scene_run(scene *s, void (*run)(job *j), int attempt, void (*done)(int rank));

/* Was any rank told that the files are protected? */
bool scene_reported(void);
/* Did any rank wait for another one until its patience came to an end? */
bool scene_timed_out(void);

void scene_recover(job *j);
/* The same; of files with two names all ranks open the other one, if this one cannot be opened by any. */
void scene_open(job *j);
/* Path of a rank's data file, by the name that it was opened by. */
const char *scene_data(const scene *s, int rank);
void        scene_protect(job *j);

#endif
