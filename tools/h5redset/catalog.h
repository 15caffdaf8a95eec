/* catalog.h: the whole picture: which files were protected together, how each of them is, and what becomes of them.
 * Made from what all processes have seen; no file is touched here. What becomes of files is decided by the engine's
 * table (recover/decide.h), as when a program opens them with all ranks. */
#ifndef CATALOG_H
#define CATALOG_H

#include "sighting.h"
#include "text.h"

#include <stdbool.h>

/* How the files of one rank are, as far as pictures tell them apart. */
typedef enum {
    STATE_HEALTHY,
    STATE_RENAMED,    /* the data has another name than what protects it */
    STATE_BARE,       /* data is there; its redundancy or descriptor file is lost or damaged */
    STATE_CHANGED,    /* opened for change after it was protected, and not protected since */
    STATE_COMMITTING, /* its commit is decided, and this rank has not finished it */
    STATE_DAMAGED,    /* data not as recorded */
    STATE_ALTERED,    /* so it is, and another program wrote it since */
    STATE_OUTDATED,   /* of another generation than the one that counts */
    STATE_LOST,
    STATE_ELSEWHERE, /* on another node, as far as a process alone can tell */
    STATE_DELETED,   /* and so are all others that were protected with it */
    STATE_COUNT
} file_state;

/* One word, and one letter and a colour for pictures. */
typedef struct state_look {
    const char *word;
    char        letter; /* ' ' for healthy */
    int         ansi;   /* background colour, 256-colour palette */
    const char *rgb;
} state_look;
extern const state_look state_looks[STATE_COUNT];

/* What comes of a set, in a word. */
typedef enum {
    VERDICT_HEALTHY,
    VERDICT_DELETED,   /* all data files were; what protects them is there */
    VERDICT_ELSEWHERE, /* all that belongs here is whole, and the rest is on other nodes */
    VERDICT_SUPERSEDED, /* it cannot be had, and files of it were protected anew since, with others */
    VERDICT_RENAMED,    /* nothing is lost, and what protects it has to get the names of now */
    VERDICT_REPAIRABLE, /* all of it */
    VERDICT_DATA_ONLY,  /* the data; redundancy has to be encoded again */
    VERDICT_UNPROTECTED, /* opened as it is, until it is next written and closed; or no set had room for its rank */
    VERDICT_UNRECOVERABLE /* more is lost than the redundancy covers, or refused for another reason */
} cat_verdict;

typedef struct verdict_look {
    const char *word, *mark; /* in a map */
} verdict_look;
extern const verdict_look verdict_looks[];

/* The files of one rank. */
typedef struct member {
    int              rank;  /* -1: nobody knows */
    int              set;   /* whose member it is: f->sets[set] of its family */
    const rset_info *known; /* what is recorded of it; NULL: nothing that can be reached */
    const sighting  *seen;  /* its files, where they were found; NULL: nowhere */
    char *
        belongs; /* its path since the others were renamed, or copied; NULL: where it is recorded; owned */
    bool        own;   /* `seen` has its redundancy file, of the generation that counts */
    bool        asked; /* the user named it, or a directory above it */
    rset_report report;
    file_state  state;
} member;

typedef struct cat_set {
    rset_desc     desc; /* of the set; rank and member mean nothing here */
    uint64_t      chunk, when;
    member       *members; /* desc.members */
    bool          lost;    /* nothing of it was found; it has the ranks that no other set has */
    bool          asked;   /* one of them was asked for, or it stands in the way of one that was */
    int           family;  /* whose it is: an index */
    rset_coverage coverage;
    cat_verdict   verdict;
    const rset_stamp *stamp;    /* of its generation; NULL: nothing of it was found */
    char              why[256]; /* when not all of it can be had */
} cat_set;

/* Files that were protected together, which open together: one decision. */
typedef struct family {
    rset_desc desc; /* of one of its sets; no scheme: nothing is recorded */
    uint64_t  generation;
    uint64_t  owner; /* of all its files */
    cat_set  *sets;  /* nsets, by number */
    int       nsets;
    size_t    room;
    size_t    first; /* of its group of sightings: the lowest */
    bool      asked;
    bool      renamed;    /* what protects renamed files gets the names that they have now */
    bool      partly;     /* not all were renamed, or not in one way */
    bool      elsewhere;  /* seen from one node alone: what is missing belongs on others */
    uint64_t  superseded; /* it cannot be had, and that newer generation has files of it; 0: none */
    rset_census   census;
    rset_standing standing;
    rset_policy   policy;
    rset_summary  all;
    rset_coverage worst;
    rset_decision decision;
} family;

typedef struct catalog {
    sightings    *sightings; /* borrowed */
    bool          undelete;  /* what was deleted is wanted back: it is lost */
    bool          of_many;   /* these are the files of one owner, of several */
    const char   *alone_on;  /* the host of the one process that looks; NULL: there are several */
    const size_t *group_of;  /* of each sighting: which ones name a generation in common */
    int          *taken;     /* of each sighting: the family that has it, plus 1 */
    size_t        nfamilies, nstrays, n;
    family       *families; /* one of which only outdated copies were seen has no sets */
    family       *
        strays; /* files with signs of protection: nobody knows of what set, and each is a family of which nothing is recorded */
    cat_set **sets;   /* of all families, in the order to be shown */
} catalog;

/* `sightings` must stay as it is for as long as the catalog. `asked`: absolute paths that the user named. `undelete`, `alone_on`: as
 * there. */
void catalog_make(sightings *sightings, const strings *asked, bool undelete, const char *alone_on,
                  catalog *out);
void catalog_free(catalog *c);

/* A file that was seen in two ways, by two processes on one node or through two paths, counts once. Sorts them by owner. */
void catalog_drop_doubles(sightings *sightings);

/* The member after this one, set by set; the first after NULL, and NULL after the last. */
member *family_next(const family *f, const member *m);

/* Is anything recorded of how it was protected? Else it has one member, with a file that was seen. */
bool family_is_recorded(const family *f);

/* What is recorded of when, by whom and as what it was protected; all zero: nothing. */
rset_stamp family_stamp(const family *f);

/* Of how many ranks nothing was found. */
int family_unseen(const family *f);

/* What a family goes by: one of its files, those of other ranks are usually called much the same. */
const char *family_name(const family *f);

/* What tells the files of a family, in all its generations, from those of others: their owner, and the path of the lowest rank's. The same
 * in another look, where files were rebuilt or restored meanwhile. A new string. */
char *family_key(const family *f);

/* Are there files on more than one host, or were there? */
bool catalog_many_hosts(const catalog *c);

/* The host on which its files are, or where they are lost, were protected; NULL: that is not recorded. */
const char *member_host(const member *m);

/* Where its files are, were, or belong: a path. Borrowed. */
const char *member_path(const member *m);

/* What its file is called, or was, or will be; NULL: nothing says it. */
const char *member_name(const member *m);

/* How many families that were asked for were deleted; *first_out: one of them. */
size_t catalog_deleted(const catalog *c, const family **first_out);

/* What comes of all that was asked for (exits.h). */
int catalog_exit_status(const catalog *c);

/* The same of one decision, and of one family: what is superseded or elsewhere is no alarm. */
int exit_status_of(const rset_decision *decision);
int family_exit_status(const family *f);

/* The exit status of a rebuild that did nothing about such a decision: EXITS_ERROR where a program is changing the files, else as
 * exit_status_of. */
int exit_status_undone(const rset_decision *decision);

/* Of a generation: which commit of the files, counted from 1; 0: written by another program. */
unsigned generation_number(uint64_t generation);

/* How many bytes are read where files are rebuilt, about, for progress: */

/* By one process that rebuilds this member's file alone. */
uint64_t work_for_member(const cat_set *s, const member *m);

/* By process `by` of those that rebuild all that is lost or damaged of a family, where so many bytes of it are damaged as no size tells. */
uint64_t work_for_family(const family *f, int by, uint64_t found);

/* Of what a process has of one rank. */
uint64_t work_bytes_of(const sighting *seen);

#endif
