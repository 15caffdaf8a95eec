/* options.h: the command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "protect/protect.h"
#include "recover/recover.h"
#include "text.h"

#include <stdbool.h>

typedef enum {
    COMMAND_STATUS,
    COMMAND_MAP,
    COMMAND_REBUILD,
    COMMAND_SCAVENGE,
    COMMAND_PROTECT,
    COMMAND_UNPROTECT,
    COMMAND_RM,
    COMMAND_GC,
    COMMAND_MV,
    COMMAND_LIST,
    COMMAND_DROP,
    COMMAND_RESTORE,
    COMMAND_NONE /* --help and --version: nothing is left to do */
} command;

typedef enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;

typedef struct options {
    command     command;
    strings     paths, search; /* absolute */
    bool        verify, json, dry_run, force;
    bool        problems; /* only those */
    bool        deleted;  /* --deleted: what was deleted comes back, too */
    colour      colour;
    char       *svg;                  /* file to write; NULL: none */
    char       *to;                   /* directory to bring files to, absolute; NULL: not given */
    const char *owner;                /* --owner, as it was given; NULL: not given */
    uint64_t    owner_uid, owner_gid; /* the same; UINT32_MAX: no group */
    char       *from, *into; /* of mv, absolute: names of files, where %r is a number; else NULL */
    int         rank;        /* --rank; -1: not given */
    const char *generation;  /* --generation, as it was given; NULL: not given */
    rset_which  which;       /* the same */
    bool        changed; /* --changed: what drop removes are changed files that were put aside */
    const rset_scheme *scheme; /* of protect */
    int                parity, set_size;
    double             timeout;
    double wait; /* --wait: seconds; INFINITY: as long as it takes; negative: not given */
} options;

/* False: wrong usage, and it has been said on stderr if `tell`. */
bool options_parse(int argc, char **argv, bool tell, options *out);
void options_free(options *o);

#endif
