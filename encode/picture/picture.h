/* picture.h: who has what of the files that ranks open.
 *
 *   a process looks into directories once  -> rset_look: the files of ranks that lie there (located.h)
 *   what it finds of one rank's file       -> rset_holding: one struct, sent as it is
 *   who asks for a file, and who has any   -> rset_keepers_ask: each name or member is kept by one rank, found by its hash or number,
 *   of it, meet at a keeper                   and nobody holds more than its share
 *
 * So move/ asks for files that have to be brought to their ranks; and recover/ for the files that readers open (apart.c), and for the hosts of
 * members (hosts.c), also where others stand in for the ranks that wrote them (stand_in.c). What a keeper answers is theirs to say. */
#ifndef RSET_PICTURE_H
#define RSET_PICTURE_H

#include "comm/comm.h"
#include "located.h"
#include "member/where.h"

/* ---- a holding ---- */

enum {
    RSET_HOLDING_HERE =
        1, /* what protects it lies there; else that of another rank only records it */
    RSET_HOLDING_DATA = 2,  /* and so do all of its data files */
    RSET_HOLDING_NAMED = 4, /* it, and the files that it was protected with, have different names */
    RSET_HOLDING_SEVERAL = 8 /* its rank opens more than one file, or none */
};

/* A holding is what one directory holds, or records, of one rank's file, and its rank's place as a member of its set. It is sent as it is,
 * and compared by its bytes: there is no padding. `by` is the last field, so that what several see is side by side at a keeper. */
typedef struct rset_holding {
    uint64_t name; /* hash of the base name by which its rank opens it */
    uint64_t
        base; /* of that under which it lies: another one where it makes room for another rank's */
    uint64_t   path;       /* of the whole path under which it was protected; 0: none is recorded */
    uint64_t   step;       /* the same where names differ in the numbers of ranks only */
    uint64_t   dir;        /* tells the directories of a job apart (rset_look_number) */
    uint64_t   generation; /* published; 0: none is */
    uint64_t   newest;     /* or prepared beside it */
    uint64_t   next;       /* prepared there, of as many ranks; 0: none */
    rset_where where;      /* in what directories it may be asked for */
    int32_t    rank, ranks;          /* that wrote it, of so many */
    int32_t    set, member, members; /* that rank's place: number `member` of so many in that set */
    int32_t    left;  /* infos of left neighbours that a header of that set has; -1: unknown */
    uint32_t   facts; /* of RSET_HOLDING_... */
    int32_t    by;    /* who sees it, or hosts that rank; -1: nobody does */
} rset_holding;
_Static_assert(sizeof(rset_holding) == 8 * 8 + sizeof(rset_where) + 8 * 4, "no padding");

/* The holding that a redundancy file records of file number k (its own is 0). `base`: name of the data file that it lies beside; `dir`: the path of
 * their directory, NULL: it is not known. Says nothing of RSET_HOLDING_DATA, `dir` and `by`. Pure. */
rset_holding rset_holding_recorded(const rset_evidence *ev, const char *base, const char *dir,
                                   int k);

/* May it be the file that is asked for by this path, in this directory? Names are not compared. Pure. */
bool rset_holding_fits(const rset_holding *holding, const rset_local *local);

/* ---- a look ---- */

enum { RSET_LOOK_DIRS = 256 }; /* that one process looks into since headers record them */

typedef struct rset_look_dir {
    rset_dir *dir; /* owned, but for the own directory that the caller has lent */
    uint64_t  number;
} rset_look_dir;

/* Zeroed: nothing was found. */
typedef struct rset_look {
    rset_look_dir    *dirs; /* that were looked into, each once; owned */
    int               ndirs;
    int               recorded; /* so many of them since headers record them */
    const rset_dir   *borrowed; /* the first, where it is the caller's */
    const rset_dir   *own;      /* that of the rank itself; NULL: it could not be opened */
    rset_located_list found;    /* what lies in all of them; owned */
} rset_look;

/* Looks into each of these directories once. *out is to be freed in any case. Local. RSET_IO: one could not be listed; RSET_NOMEM. */
rset_status rset_look_around(const rset_look_at *at, rset_look *out, rset_err *err);
/* The same look goes on into directories that headers record, until at->follows takes no file that records more of them. */
rset_status rset_look_further(const rset_look_at *at, rset_look *look, rset_err *err);
void        rset_look_free(rset_look *look);

/* Tells a directory on this host from all others of a job. Local. */
uint64_t rset_look_number(const rset_dir *dir, const char *host);

/* Holding number k that a file which was found records; its own is 0. `by`: this rank. Pure. */
rset_holding rset_look_holding(const rset_located *found, int k, int by);

/* Who tells whom of what it has found. */
typedef struct rset_look_telling {
    const rset_comm *world;
    const char      *name; /* that this rank opens */
    bool
        one_dir; /* all ranks look into one directory, and see the same: each tells of some of the ranks that wrote it, and of its own */
} rset_look_telling;

/* Is this what this process tells others, of the file that was found? Pure. */
bool rset_look_tells(const rset_look *look, const rset_look_telling *how, const rset_located *found,
                     int k);

/* ---- keepers ---- */

/* A saying goes from a rank to the keeper of a name, or of a member: there is this holding, or the rank asks for one. It is sent as it
 * is. */
typedef struct rset_saying {
    uint64_t     key;
    int32_t      aside;   /* not 0: it belongs to the question that is asked aside */
    int32_t      asks;    /* 0: there is this holding; in an answer 2: several ranks ask */
    rset_holding holding; /* or, of who asks, what it has of its own */
} rset_saying;

/* The key of what the rank of that number wrote: the rank of the same number keeps it, where as many have come. */
uint64_t rset_key_of_rank(int rank);

/* Adds it to what this rank says next. Local. */
void rset_keepers_say(rset_records *said, const rset_comm *world, const rset_saying *saying);

/* How many of these sayings ask: they are the first of their key. Pure. */
size_t rset_keepers_askers(const rset_saying *of_key, size_t n);

/* A keeper puts its answers here. */
typedef struct rset_answers {
    void        *arg;  /* as of the question */
    rset_records out;  /* rset_saying, each to whom it concerns (rset_records_add) */
    bool         news; /* any of it is, to whom it goes */
    rset_err    *err;
} rset_answers;

/* A keeper answers what was said of one key: sayings of those that ask come first, in the order of their ranks; then holdings, equal ones
 * side by side. `by` of each is who has said it, whatever was said; or -1, if that was said of a holding. A keeper's failure is that of
 * the question. Local. */
typedef rset_status (*rset_keeper)(rset_answers *to, const rset_saying *of_key, size_t n);

/* A question that is asked aside travels with the sayings of another one, and its answer is one bit, the same on all ranks. */
typedef struct rset_keepers_aside {
    rset_records said; /* sayings of this rank; they go over to who asks the other question */
    bool (*differ)(const rset_saying *of_key, size_t n); /* the answer of a keeper */
    bool is; /* afterwards: any keeper has said so; false after a failure */
} rset_keepers_aside;

typedef struct rset_keepers_question {
    rset_comm  *world;
    const char *host;
    rset_keeper answer;
    void       *arg; /* for `answer` */
    bool                 *
        news; /* this rank wants to hear the answers, news or not; afterwards: they were heard, the same on all. NULL: all want to */
    rset_keepers_aside *aside; /* NULL: nothing is; else with `news` */
} rset_keepers_question;

/* Ranks say what they have and ask for; the keepers answer; and the answers come back in the place of what was said: rset_saying each. `said`
 * is of that size. Where no rank wants the answers, and none is news, they stay where they are. Collective, with this rank's failure so
 * far. RSET_NOMEM, RSET_PEER, and what `answer` returns. */
rset_status rset_keepers_ask(const rset_keepers_question *q, rset_status own, rset_records *said,
                             rset_err *err);

/* The first half of that: `answer` hears what was said, and keeps to itself what it makes of it. Collective; a failure of `answer` is this
 * rank's own. RSET_NOMEM, RSET_PEER. */
rset_status rset_keepers_hear(const rset_keepers_question *q, rset_status own, rset_records *said,
                              rset_err *err);

#endif
