/* power.h: what is left of some nodes' directories when the power goes. The calls of an operation are
 * recorded; a state is made of those before some moment, less some of those that no fsync had covered by
 * then: content of a file is sure after an fsync of the file, names after one of the directory.
 *
 * Pessimistic: names and content of any file may be lost or kept independently of each other and of the
 * order in which they were made, as far as POSIX allows that. */
#ifndef POWER_H
#define POWER_H

#include "scene.h"
#include "tap.h"

typedef enum {
    POWER_OPEN, /* no change, but says whose descriptor it is */
    POWER_CREATE,
    POWER_CLOSE,
    POWER_WRITE,
    POWER_RESIZE,
    POWER_MARK,
    POWER_SYNC, /* a file, or the directory */
    POWER_RENAME,
    POWER_LINK, /* one more name */
    POWER_UNLINK,
    POWER_TOLD /* this rank was told that the files are protected */
} power_kind;

enum { POWER_NAME = 128, POWER_OPS = 4096 };

typedef struct power_op {
    power_kind kind;
    int        rank, fd;
    char       name[POWER_NAME], to[POWER_NAME]; /* POWER_OPEN: "" means the directory */
    uint64_t   off;
    size_t     len, data; /* of what is written: where in the log's bytes */
    int        file;      /* found by power_begin: number of the file, -1: the directory */
} power_op;

/* In memory shared with the child that records. */
typedef struct power_log {
    int      n;
    bool     full; /* something was left out: the log is useless */
    power_op ops[POWER_OPS];
    size_t   used;
    uint8_t  bytes[64 << 20];
} power_log;

/* Hook for tap.h, and for the end of each rank: append to `log`. */
void power_record_to(power_log *log);
void power_record(const tap_event *event, long result);
void power_told(int rank);

/* Adds, in front, what the application has written and never synced: the data files of the scene, over
 * the old ones where there are such. After this, `log` is what it was recorded for. */
void power_begin(power_log *log, const scene *s);

/* What becomes of the nth call, which no fsync has covered. */
typedef enum { POWER_LOST, POWER_KEPT, POWER_PAGES } power_fate;

/* The directories when the power goes after `n` calls. fate(op) decides what is not sure; of a write,
 * POWER_PAGES keeps some pages. */
image power_state(const power_log *log, const scene *s, int n,
                  power_fate (*fate)(const power_op *op));
/* Was any rank told by then? */
bool power_was_told(const power_log *log, int n);

#endif
