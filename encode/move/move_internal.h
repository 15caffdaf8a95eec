/* move_internal.h: what bringing files to the ranks that have moved consists of:
 *   older.c     whose an older generation is that is kept beside a file
 *   room_plan.c which files are renamed where another rank's file lies where one belongs
 *   room.c      that file goes out of the way, and back
 *   offers.c    ranks that want their files are told who has them
 *   choose.c    what this rank sees of them, and which of those for itself it takes
 *   give.c      what a giver says of its files
 *   copy.c      brings one rank's files, with all that lies beside them, from one rank to another
 *   publish.c   gives what came its names, and takes them from it again
 *   move.c      who takes which from whom; removing what was given
 *   old_copies.c  copies of files that ranks have created anew elsewhere
 * Nobody else includes this. */
#ifndef RSET_MOVE_INTERNAL_H
#define RSET_MOVE_INTERNAL_H

#include "move.h"

#include <limits.h>

/* ---- offers.c ---- */

/* Ranks that want files (`wants`) are told who has some of their names, and who records them: *told_out, an rset_saying each, to be
 * freed. Of those that ask in one directory one is told who has it. `own`: what this rank has. Collective, with this rank's failure so far. */
typedef struct rset_move_question {
    const rset_move_args *args;
    const rset_look      *look; /* what this rank gives; borrowed */
    rset_holding          own;
    bool                  wants;
    bool                 *news; /* as of a rset_keepers_question */
} rset_move_question;
rset_status rset_move_ask(const rset_move_question *q, rset_status before, rset_records *told_out,
                          rset_err *err);

/* Is data file number i still the one that was offered? Else another rank has given its copy that name: both look at one
 * directory of a network file system. Local. */
bool rset_move_is_same(const rset_located *located, int i);

/* ---- older.c ---- */

/* The parts of a kept generation that a directory has. */
typedef struct rset_move_older {
    bool content; /* its data file, or what leads back to it */
    bool own;     /* what protects it as that of the rank which is asked for */
    int  other;   /* a rank which it is protected as that of as well; -1: none */
} rset_move_older;

/* Looks which parts of the kept generation with that prefix the directory has, by names alone. `rank`: whose is asked for. Local.
 * RSET_IO, RSET_NOMEM. */
rset_status rset_move_look_at_older(rset_dir *dir, const char *prefix, int rank,
                                    rset_move_older *out, rset_err *err);

/* The prefix of that older generation of the data file whose prefix this is: a new string; NULL without memory. */
char *rset_move_older_prefix(const char *prefix, uint64_t generation);

/* The file of `local` is one of an older generation. All of that which lies in its directory, of whatever rank, may leave it: each is made
 * whole, and so is what rests on it; but that under the file's name where it `stays`. Nothing is done where the file is no older
 * generation. Local. RSET_IO: there is no room; RSET_BUSY, RSET_NOMEM. */
rset_status rset_move_free_older(const rset_local *local, bool stays, rset_err *err);

/* ---- room_plan.c ---- */

typedef struct rset_move_renamed {
    char from[NAME_MAX + 1], to[NAME_MAX + 1];
    char prefix[NAME_MAX + 1]; /* of the names file that lists `to`; "": none does */
    uint64_t
         older; /* the older generation that is listed there by its number instead; 0: none is */
    int  order; /* those of one order are synced together */
    bool noted; /* there was no such names file: there is one now */
} rset_move_renamed;

/* What became of the names file of `from`. */
typedef enum { RSET_MOVE_NAMES_STAY, RSET_MOVE_NAMES_TAKEN, RSET_MOVE_NAMES_MADE } rset_move_names;

/* Files that have other names now; all zero: none. */
typedef struct rset_move_room {
    char               from[NAME_MAX + 1], to[NAME_MAX + 1]; /* the data file's */
    rset_move_renamed *at;                                   /* owned */
    size_t             n, done; /* of them have the new name, the first ones */
    rset_move_names    names;
} rset_move_room;

/* Whose room is made, and by whom. */
typedef struct rset_move_guest {
    int rank;  /* that opens the file */
    int owner; /* that wrote what lies there; -1: nobody else */
    int ranks; /* of the job */
} rset_move_guest;

/* Files change their names. */
typedef struct rset_move_removal {
    rset_move_room *room;
    rset_dir       *dir;
    const char     *from, *to; /* of the data file that is opened */
    rset_move_guest guest;     /* its owner has the newest of what goes; -1: that stays */
    bool            home;      /* it comes home */
    rset_err       *err;
} rset_move_removal;

/* Files of one order are renamed together; the directory is synced before the next order begins. */
typedef enum {
    RSET_MOVE_DATA,
    RSET_MOVE_BESIDE,
    RSET_MOVE_REDUNDANCY,
    RSET_MOVE_ORDERS,
    RSET_MOVE_STAYS = RSET_MOVE_ORDERS
} rset_move_order;

/* Lists in v->room what is to be renamed: RSET_MOVE_ORDERS orders of files, in the order that is given. Local. RSET_IO: a name is taken,
 * or too long, or a directory cannot be read; RSET_NOMEM. */
rset_status rset_move_plan(const rset_move_removal *v, const rset_move_order *orders);

/* RSET_NOMEM, and *v->err says so of that file. */
rset_status rset_move_no_memory(const rset_move_removal *v);

/* ---- room.c ---- */

/* `name`, which a names file with that prefix lists, is about to be made (N1). *made_out: there was no names file of it.
 * Local. RSET_IO, RSET_NOMEM. */
rset_status rset_move_note(rset_dir *dir, const char *prefix, const char *name, bool *made_out,
                           rset_err *err);

/* Is there no names file yet? Local. */
bool rset_move_lacks_names(rset_dir *dir, const char *prefix);

/* Puts another rank's file that lies where that of `local` belongs out of the way, durably, with all that lies beside it: the
 * newest, where it is guest->owner's, and each older generation that is another rank's. What says nothing of its rank goes with the newest.
 * *room is to be freed, or given back, in any case. Local. RSET_IO: some name is taken, or a rename fails; RSET_NOMEM. */
rset_status rset_move_make_room(const rset_local *local, const rset_move_guest *guest,
                                rset_move_room *room, rset_err *err);

/* The file of `local`, which is of rank `rank` and was out of the way, gets its own name again, and so do its older generations, but
 * those that lie there already. As above. Nothing of it that is newer has its name. */
rset_status rset_move_bring_home(const rset_local *local, int rank, rset_move_room *room,
                                 rset_err *err);

/* Is the file of `local`, which is of rank `rank`, out of the way, and `ev` shows that its redundancy file is not: a run was cut
 * short in between? Local. */
bool rset_move_is_half_out(const rset_local *local, int rank, const rset_evidence *ev);

/* All have their old names again. Frees. Local. */
void rset_move_give_back(rset_dir *dir, rset_move_room *room);
void rset_move_room_free(rset_move_room *room);

/* ---- copy.c ---- */

/* One file that has come, under a temporary name. */
typedef struct rset_move_file {
    char     name[NAME_MAX + 1];
    char     temp[NAME_MAX + 1]; /* "": it has its name */
    char     was[NAME_MAX + 1];  /* what had that name before is called so; "": nothing had */
    uint64_t older;              /* as in rset_move_head */
    bool     noted;              /* as in rset_move_renamed */
} rset_move_file;

/* What a rank gives, and what it takes. */
typedef struct rset_move_job {
    rset_comm        *world;
    const rset_local *local; /* the taker's */
    const char       *host;
    /* giving: to[i], which may be this rank itself, gets gives[i], with what lies beside it, which stays here if
     * stays[i]; all freed by the caller. `stays` NULL: nothing does */
    const rset_located **gives;
    int                 *to;
    bool                *stays;
    size_t               ngives;
    /* taking */
    int  from;     /* -1: nothing */
    int  ntemps;   /* temporary names that were tried */
    bool complete; /* all has come, synced and closed */
    bool partly;   /* but for an older generation: something else has its name */
    bool copied;   /* and stays where it came from */
    char from_host[RSET_HOST_NAME];
    rset_move_file
          *files; /* that have come, the first data file as the last; freed by the caller */
    size_t nfiles;
} rset_move_job;

/* Is that the name of one of the data files of `local`? Local. */
bool rset_move_is_data(const rset_local *local, const char *name);

/* A temporary name that no crashed run has left a file under: where nothing comes of it, nothing was changed. A new string; NULL: no
 * memory. Local. */
char *rset_move_temp_name(rset_move_job *m);

/* Brings the files over, under temporary names. Collective over the world; the outcome is this rank's own. A file that its giver
 * cannot read, or one of several that is there already and another one, leaves the taker without (`complete` false), and is no error: it is lost, and may be rebuilt. RSET_IO, RSET_NOMEM:
 * it cannot be written; RSET_PEER: a name that is none of this rank's files, or the communicator is revoked. */
rset_status rset_move_copy(rset_move_job *m, rset_err *err);

/* ---- give.c ---- */

enum { RSET_MOVE_PIECE = 256 * 1024 };

/* Sent as it is. */
typedef struct rset_move_head {
    char            name[NAME_MAX + 1]; /* "": there are no more */
    char            host[RSET_HOST_NAME];
    uint64_t        failed; /* the end: not all could be read */
    uint64_t        stays;  /* the end: they stay with the giver, too */
    uint64_t        size, mark;
    uint64_t        older; /* the older generation that it is of, or that it protects; 0: none */
    rset_file_attrs attrs;
} rset_move_head;

/* What a message is sent from, or comes into. Allocated: the transport may have it for longer than the caller. */
typedef struct rset_move_parcel {
    rset_move_head head;
    uint8_t        bytes[RSET_MOVE_PIECE];
} rset_move_parcel;

typedef struct rset_move_giver {
    const rset_move_job *m;
    size_t               now; /* which taker */
    rset_names           names;
    size_t               next; /* of them */
    rset_file           *file; /* that is being sent; NULL: a head is next */
    uint64_t             off;
    bool                 listed;
    rset_req             req;
    rset_move_parcel    *parcel;
    rset_err             err; /* why the taker has to do without */
} rset_move_giver;

/* What kind of file lies beside a data file of that prefix, or beside one of its older generations, under this name? Pure. */
rset_name_kind rset_move_kind(const char *name, const char *prefix);

/* A head for the next file of those that the taker of now gets, or for the end, into the parcel. Local. */
void rset_move_make_head(rset_move_giver *g);
/* Is there more of the file that the head is of? Then the next piece of it, into the parcel; its length. Local. */
bool   rset_move_has_piece(const rset_move_giver *g);
size_t rset_move_make_piece(rset_move_giver *g);
/* The taker of now has all. Local. */
void rset_move_give_to_next(rset_move_giver *g);

/* ---- move.c, choose.c, publish.c ---- */

struct rset_move {
    rset_move_args   args;
    rset_err        *err;        /* of the call that is under way */
    rset_look        look;       /* files of ranks that this one may give */
    rset_evidence    after;      /* what is there once there is room; owned */
    rset_move_room   out;        /* what lay where this rank's file belongs */
    rset_move_room   home;       /* this rank's file, which was out of the way */
    bool             wants;      /* this rank wants its file */
    rset_holding     own;        /* what this rank has of it */
    rset_holding     best;       /* of those for this rank */
    bool             comes_home; /* that is its own, out of the way in its directory */
    rset_move_job    job;
    bool             noted;  /* there was no names file, and this move has made one */
    bool             here;   /* this rank has got its own */
    rset_move_record record; /* of a file that nobody has */
};

/* A rank's own holding: what it has of its file, where that belongs. Local. */
rset_holding rset_move_own_holding(const rset_move_args *args);

/* This rank looks for files of other ranks, says what it has, is told who has its own, and chooses: m->best, from m->job.from or
 * out of the way here. *any: this rank has changed something; afterwards: any rank has, or may find something to choose. Where none
 * does, nobody is told anything. Collective, with this rank's failure so far. RSET_IO: a directory could not be read. */
rset_status rset_move_learn_offers(rset_move *m, rset_status before, bool *any);

/* Gives all files of m->job their names, durably: what had one of these is called otherwise for as long. Local. RSET_IO: some have
 * their names then; RSET_NOMEM. */
rset_status rset_move_publish(rset_move *m);

/* Removes what came, whether it has its names or not, and the names files that it had to have. What had one of the names has it
 * again. Local. */
void rset_move_take_back(const rset_move *m);

#endif
