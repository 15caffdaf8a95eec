/* report_internal.h: the figures of all ranks, which report.c brings together and report_text.c shows. Nobody else includes
 * this. */
#ifndef RSET_REPORT_INTERNAL_H
#define RSET_REPORT_INTERNAL_H

#include "report.h"

#include <stdio.h>

/* What has a line of its own: the phases, then these. */
enum {
    RSET_LINE_BACKGROUND = RSET_PHASES,
    RSET_LINE_OWN, /* neither in a rendezvous nor waiting: what this rank itself needs */
    RSET_LINE_TOTAL,
    RSET_LINES
};

enum { RSET_REPORT_HOST = 36 }; /* bytes of a host name in a report, with the NUL */

/* A rank, and its seconds. */
typedef struct rset_extreme {
    double  seconds;
    int32_t rank; /* in MPI_COMM_WORLD */
    char    host[RSET_REPORT_HOST];
} rset_extreme;

/* One kind of file, of one rank or of many. */
typedef struct rset_account {
    char         kind[RSET_KIND_MAX]; /* "": of none */
    uint64_t     ranks;               /* that have such files */
    uint64_t     files[RSET_COUNTS], bytes[RSET_COUNTS];
    double       sum[RSET_LINES]; /* seconds of all these ranks */
    rset_extreme most[RSET_LINES];
    rset_extreme latest; /* who has waited least in the rendezvous: the others have waited for it */
} rset_account;
_Static_assert(sizeof(rset_account) <= sizeof(rset_err), "fits into one message of a reduction");

/* Whose figures they are. */
typedef struct rset_report_head {
    int         size; /* ranks of the communicator; 1: a process alone */
    const char *why;  /* only this rank's figures are there, because of this; NULL: those of all */
    int64_t     time; /* seconds since 1970 */
} rset_report_head;

/* One account as a table for people, or as a line of JSON. Local. */
void rset_report_table(FILE *to, const rset_report_head *head, const rset_account *account);
void rset_report_json(FILE *to, const rset_report_head *head, const rset_account *account);

#endif
