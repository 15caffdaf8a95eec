/* exits.h: what h5redset ends with: one number for each thing that a script may want to do next (h5redset(1), EXIT STATUS). */
#ifndef H5REDSET_EXITS_H
#define H5REDSET_EXITS_H

#include "common/err.h"

#include <stdbool.h>

/* The higher one counts where several are true. */
typedef enum {
    EXITS_WELL = 0,
    EXITS_REPAIR = 1,        /* something can be restored or protected, and is not */
    EXITS_UNRECOVERABLE = 2, /* something cannot be had from what can be reached */
    EXITS_NOTHING = 3,       /* nothing protected was found where it was looked */
    EXITS_NO_PATH = 4,       /* and nothing has the names that were given */
    EXITS_ERROR = 5,         /* what was asked for was not done, or could not be found out */
    EXITS_USAGE = 64         /* sysexits.h, EX_USAGE */
} exits;

static inline int
exits_worse(int a, int b)
{
    return a > b ? a : b;
}

/* Nothing was found: is there anything of the names that were given? */
static inline int
exits_where(int status, bool there)
{
    return status == EXITS_NOTHING && !there ? EXITS_NO_PATH : status;
}

/* What a failure to do something ends with. */
static inline int
exits_of(rset_status st)
{
    return st == RSET_OK ? EXITS_WELL : st == RSET_LOST ? EXITS_UNRECOVERABLE : EXITS_ERROR;
}

#endif
