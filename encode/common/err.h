/* err.h: what went wrong, said once, by the one who found it.
 *
 * Every function that can fail returns an rset_status and fills an rset_err. Callers pass both on
 * unchanged; rank and host are added once, at the boundary (vfd/h5err.c, rset_agree). Nothing here
 * prints, allocates or ends the process (P6). */
#ifndef RSET_ERR_H
#define RSET_ERR_H

#include <stdbool.h>

/* What the reader of the message has to do, from harmless to unrecoverable: when ranks agree on an
 * outcome the highest value wins. */
typedef enum {
    RSET_OK = 0,
    RSET_ABSENT,  /* the thing asked for is not there, and nothing says that it ever was */
    RSET_USAGE,   /* fix the call or the configuration */
    RSET_IO,      /* fix the file system */
    RSET_BUSY,    /* another process has it: wait, and try again */
    RSET_DAMAGED, /* content is not what was recorded, but may be rebuilt */
    RSET_PEER,    /* another rank did not come, left, or says something else */
    RSET_LOST,    /* more is missing than the redundancy covers */
    RSET_NOMEM,   /* memory ran out */
    RSET_CHANGED, /* content is neither what was recorded nor what its program has written: it goes back to what was recorded */
    RSET_BUG      /* a promise of our own code was broken */
} rset_status;

enum { RSET_ERR_TEXT = 1024, RSET_HOST_NAME = 64 };
enum { RSET_ERRNO_MAX = 4095 }; /* the kernel has none above */

/* A plain struct without pointers, so that it can be sent to another rank as it is. */
typedef struct rset_err {
    rset_status status;    /* RSET_OK while empty */
    int         sys_errno; /* errno of the system call that failed, 0 if none did */
    int follows; /* not 0: it may follow from what another rank has failed with, which is told then */
    int  rank;   /* rank that detected it, -1 until rset_agree has set it */
    char host[RSET_HOST_NAME]; /* its host, "" until then */
    char text[RSET_ERR_TEXT];  /* one sentence: file, what was found, what to do next */
} rset_err;

#define RSET_ERR_NONE ((rset_err){.rank = -1})

/* Records a failure and returns `status`. The first message wins: when `err` already holds one, it
 * stays and its status is returned. `err` may be NULL. */
rset_status rset_fail(rset_err *err, rset_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As rset_fail, for a system call that failed: keeps `sys_errno` and appends ": <strerror>, errno =
 * <n>", the form that h5py and users of sec2 look for. ENOMEM becomes RSET_NOMEM. */
rset_status rset_fail_errno(rset_err *err, rset_status status, int sys_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Records what another call has failed with, as it was recorded there. */
rset_status rset_fail_as(rset_err *err, const rset_err *own);

/* Notes in *unread what a look or a read failed with, 0: it did not, unless it has an errno already: the first counts. */
void rset_note_unread(int *unread, int sys_errno);

/* Did it fail because the file system, or the user's share of it, has no block or no inode left, or because a file would be larger
 * than this process may make one? */
bool rset_err_lacks_room(const rset_err *err);

/* The name of a status as used in messages, e.g. "damaged". Never NULL. */
const char *rset_status_name(rset_status status);

#endif
