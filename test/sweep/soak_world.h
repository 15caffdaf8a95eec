/* soak_world.h: what the soak plays with: a job whose files live through one operation after the other, and all that is
 * known of them from outside the engine: what programs wanted in them, and what every encode wrote. */
#ifndef SOAK_WORLD_H
#define SOAK_WORLD_H

#include "image.h"
#include "job.h"

enum {
    SOAK_RANKS = 8,
    SOAK_VERSIONS = 128,
    SOAK_EDITS = 64,
    SOAK_CHANGES = 4,
    SOAK_PATIENCE = 240
};

typedef struct soak_bytes {
    uint8_t *at; /* owned; NULL: there is no such file */
    size_t   n;
} soak_bytes;

void soak_bytes_set(soak_bytes *b, const uint8_t *at, size_t n);
bool soak_bytes_equal(const soak_bytes *a, const soak_bytes *b);

/* What the application wanted in all files at one time. Redundancy is that which an encode of it had complete on
 * all ranks, be it published or not; descriptors, as far as they were. */
typedef struct soak_version {
    uint64_t   generation; /* that an encode of it was given last; 0: none was begun */
    bool       complete;   /* one was complete; then the next two are known */
    bool       gone;       /* all ranks have opened an older one since */
    soak_bytes data[SOAK_RANKS], redundancy[SOAK_RANKS], descriptor[SOAK_RANKS];
} soak_version;

/* What one process alone has made of one file. */
typedef struct soak_edit {
    int        rank;
    soak_bytes from, to;
} soak_edit;

typedef enum {
    SOAK_NOTHING,
    SOAK_UPDATE,  /* files change in place; each rank closes its file unprotected, or dies before */
    SOAK_RENEW,   /* the same, and all are protected at the close */
    SOAK_REPLACE, /* new files are written as shadows, and protected */
    SOAK_ABANDON, /* new files are written as shadows; the job dies before it closes them */
    SOAK_PUT,     /* new files are written as shadows, and get the name without protection */
    SOAK_PROTECT, /* what is there is protected */
    SOAK_COMMIT, /* files change in place, and are protected; they stay open, change once more, and the job dies */
    SOAK_OPERATIONS, /* how many */
    SOAK_RECOVER,    /* all open */
    SOAK_OTHERS,     /* other ranks than wrote them open them: w->others */
    SOAK_ALONE,      /* one process opens one rank's file */
    SOAK_READ,       /* the same, and may write nothing */
    SOAK_EDIT,       /* it changes it, in place, and closes it */
    SOAK_CROWD,      /* several processes open it at the same time */
    SOAK_RUNS
} soak_operation;

extern const char *const soak_operation_names[SOAK_RUNS];

/* What one rank does in an operation. */
typedef struct soak_part {
    bool       takes_part; /* in an update; other operations are for all */
    bool       keep;       /* an undo journal is kept */
    bool       closes;     /* an update that nobody protects: it is closed, else left */
    bool       late;       /* what it closes is of another step than what the others close */
    bool       shortens;   /* the size is changed before the content, else after */
    int        nchanges;
    uint64_t   off[SOAK_CHANGES], len[SOAK_CHANGES];
    soak_bytes target; /* what the application wants in its file */
} soak_part;

/* Where the job dies: when `rank` comes to its call number `at`, or, `naming`, to its call number `at` of those
 * that change names: there is where one state of the files becomes another. torn: half of a write is done. */
typedef struct soak_death {
    int  rank, at;
    bool naming, torn;
} soak_death;

/* What ranks came to, in memory shared with the child that ran them. */
typedef struct soak_outcome {
    bool         done;
    rset_status  st;
    rset_outcome out;
    char         text[RSET_ERR_TEXT];
} soak_outcome;

extern soak_outcome *soak_said;

typedef struct soak_world {
    char        *base;
    job          job;
    soak_version versions[SOAK_VERSIONS]; /* oldest first */
    int          nversions;
    soak_edit    edits[SOAK_EDITS];
    int          nedits;
    uint64_t     newest; /* generation that was given to an encode */
    uint64_t     step;   /* of closes */
    soak_part    part[SOAK_RANKS];
    int          alone;                  /* whose file one process opens */
    void (*crowd)(struct soak_world *w); /* what each run of SOAK_CROWD does */
    job others;                          /* ranks that open files of w->job's; nobody: n is 0 */
} soak_world;

/* n ranks in sets of at least min_size, nothing written yet. */
void soak_world_open(soak_world *w, const rset_scheme *scheme, int parity, int n, int min_size);
void soak_world_close(soak_world *w);

/* Paths relative to the base, for images; in path_of's buffers. */
const char *soak_data(const soak_world *w, int r);
const char *soak_redundancy(const soak_world *w, int r);
const char *soak_descriptor(const soak_world *w, int r);

/* The file of rank r as it is now. */
void soak_look(const soak_world *w, int r, soak_bytes *out);

/* The node of rank r is another one. */
void soak_lose(const soak_world *w, int r);

typedef enum { SOAK_DONE, SOAK_KILLED, SOAK_HUNG, SOAK_CRASHED } soak_end;

/* Runs the operation, by w->part, in a child; `death` NULL: it is not killed. */
soak_end soak_run(soak_world *w, soak_operation op, const soak_death *death);
/* Whether that operation encodes: w->newest is its generation then, and soak_keep_commit (soak_disk.h) shall follow. */
bool soak_encodes(soak_operation op);

/* Calls that each rank made in the last run. */
int soak_calls(int rank);

#endif
