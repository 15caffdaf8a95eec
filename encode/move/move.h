/* move.h: files that lie where their ranks do not run any more are brought to them.
 *
 * A rank that misses its file is told by the others who has it, and gets the newest there is, as it is, with all that lies
 * beside it: redundancy, an undo journal, a commit that was prepared. What then becomes of the files is decided as if they had
 * always been there. */
#ifndef RSET_MOVE_H
#define RSET_MOVE_H

#include "comm/comm.h"
#include "member/member.h"
#include "picture/picture.h"

typedef struct rset_move_args {
    rset_status          before; /* this rank's failure so far */
    rset_comm           *world;
    const rset_local    *local;
    const rset_evidence *evidence; /* what is there already */
    const char          *host;     /* name of this process's */
    bool
        wants; /* this rank's data file is missing, or may have been written anew elsewhere; and it may be written */
    bool
         strange; /* what lies where its file belongs is another rank's, which has the same name, and makes room */
    bool gives; /* the others' files in its directory may go to them */
    const char *const *
        search; /* more directories whose files may go to them, and stay; ends with NULL; or NULL */
    bool
        one_dir; /* `local->dir` is the directory of all ranks, who see the same; the same on all */
    bool     copies; /* what was given stays where it was, too */
    uint64_t known;  /* generation that all have heard of: a record of it is no news; 0: none */
    rset_keepers_aside *aside; /* asked in the same messages; NULL: nothing is. The same on all */
} rset_move_args;

/* What is recorded of a file. */
typedef struct rset_move_record {
    uint64_t generation;
    int      ranks; /* that wrote it; 0: nothing is known */
} rset_move_record;

typedef struct rset_moved {
    bool
                     any; /* some rank has got files, or has heard of a generation that is news: the same on all, who look again at what is there */
    bool             here;    /* this one has got its own */
    bool             changed; /* what lies under this one's name is not what did before */
    bool             copied;  /* and they stay where they were, too */
    rset_move_record record;  /* the newest of its own that any rank has, or knows of */
    char             host[RSET_HOST_NAME]; /* where they were */
} rset_moved;

/* What lies where another rank's file belongs is put out of the way first, and a file that was put out of its own rank's way
 * before, and is as new as any other, comes back from there.
 *
 * Looks for the files of ranks that want theirs, in the directories of all ranks, and copies them over: by their names. A copy gets its names when all of it is durable, the first data
 * file as the last, so that until then it is missing and is looked for again (MV2). A file that cannot be read is left where it
 * is, without an error. *move_out is to be ended, by all or by none; NULL where nothing was changed on any rank, and on failure. Collective.
 * RSET_IO: a directory could not be read, or a file not written; RSET_NOMEM, RSET_PEER. */
typedef struct rset_move rset_move;
rset_status rset_move_missing(const rset_move_args *args, rset_move **move_out, rset_moved *out,
                              rset_err *err);

/* Ends it: all files can be had, and stay where they are now: what they were copied from is removed (MV3), where
 * the rank that took it wrote it, of as many ranks. `generation`: all ranks have their files in this one, protected; 0: this is not
 * so. Then what is out of the way, and no newer, is nobody's any more, and is removed as well. Collective. */
rset_status rset_move_keep(rset_move *move, uint64_t generation, rset_err *err);
/* Or they cannot be had: what came is removed again, and all is as before. NULL: nothing to do. Local. */
void rset_move_undo(rset_move *move);

#endif
