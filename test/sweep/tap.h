/* tap.h: every file call of the engine, seen by a sweep before and after it is made, and every message
 * before it is sent. Both are numbered per rank, each for itself, so that "call 17 of rank 2" means the
 * same in every run of the same operation. */
#ifndef TAP_H
#define TAP_H

#include "comm/comm.h"
#include "store/store.h"

enum {
    TAP_RANKS = 8,
    TAP_HOSTS =
        4, /* from here on: ranks that only host others, whose calls are not those of a rank */
    TAP_LOG = 512
};

typedef enum {
    TAP_OPEN,
    TAP_CREATE, /* openat with O_CREAT */
    TAP_CLOSE,
    TAP_PREAD,
    TAP_PWRITE,
    TAP_FTRUNCATE,
    TAP_FSYNC,
    TAP_FSTAT,
    TAP_FSTATAT,
    TAP_RENAME,
    TAP_LINK,
    TAP_UNLINK,
    TAP_MKDIR,
    TAP_FDOPENDIR,
    TAP_READDIR,
    TAP_CLOSEDIR,
    TAP_FLOCK,
    TAP_GUARD,
    TAP_FCHMOD,
    TAP_FCHOWN,
    TAP_FUTIMENS,
    TAP_FSETXATTR,
    TAP_FGETXATTR,
    TAP_FREMOVEXATTR,
    TAP_SEND, /* no file call: a message is sent */
    TAP_CALLS
} tap_call;

const char *tap_name(tap_call call);

typedef struct tap_event {
    tap_call    call;
    int         rank, nth; /* nth call, or nth message, of this rank, from 1 */
    int         fd;        /* file, or directory that the names are relative to */
    const char *name, *to;
    const void *data; /* what is to be written; len, off also for reading */
    size_t      len;
    off_t       off;
} tap_event;

/* What becomes of a call. */
typedef enum {
    TAP_GO,
    TAP_FAIL,   /* it fails with errno `err`, and nothing is done; a close closes all the same */
    TAP_HALF,   /* a transfer moves half of its bytes */
    TAP_NOTHING /* a transfer moves none */
} tap_order;

typedef struct tap_hooks {
    /* Called in the rank's thread; may end the process, or never return. */
    tap_order (*before)(const tap_event *event, int *err_out);
    void (*after)(const tap_event *event, long result); /* result: of the call, -1: failed */
} tap_hooks;

/* What was seen, in memory shared with forked children: the parent reads it when they are gone. */
typedef struct tap_record {
    _Atomic int calls[TAP_RANKS]; /* a sweep may look at those of other ranks */
    int         sends[TAP_RANKS];
    uint8_t     kinds[TAP_RANKS][TAP_LOG]; /* tap_call of each; those beyond are not recorded */
} tap_record;

extern tap_record *tap_seen;

/* Puts the tap between the engine and the system, for threads that have called tap_enter; NULL takes it
 * out. A hook that is NULL lets all pass. Counts begin at zero. */
void tap_use(const tap_hooks *hooks);
/* The calls that the engine makes now: those that see it, or the system's. */
const rset_sys *tap_calls(void);
extern const rset_sys
     tap_table; /* the calls that see it, for what does not go through the engine */
void tap_transport(rset_comm *world); /* also sees what this thread sends over it */
void tap_enter(int rank);
void tap_leave(void);

/* Whose calls are those of the threads that this thread makes from now on, until it leaves? */
typedef enum {
    TAP_NOBODYS, /* they are not seen */
    TAP_MINE,    /* and so are those of threads that they make */
    TAP_HOSTED   /* each is a rank that this one hosts */
} tap_threads;
void tap_see_threads(tap_threads whose);
int  tap_rank(void); /* of this thread, -1: none */

#endif
