/* located.h: the files of ranks in a directory that something protects: those that ranks of one job open, by names which differ from
 * one another in their numbers only, or all. */
#ifndef RSET_LOCATED_H
#define RSET_LOCATED_H

#include "member/member.h"

/* The files of one of them. */
typedef struct rset_located {
    rset_dir *dir;    /* where they lie; borrowed from who looked for them */
    uint64_t  place;  /* tells that directory from others, where who looked for them has said so */
    char     *prefix; /* owned, as `base`, which is the first data file's name */
    char     *base;
    char     *name; /* that its rank opens it by: `base`, unless it was put out of the way; owned */
    char *
        *names; /* all data files, the first as the first; "": it is in another directory; owned */
    uint64_t     *inodes; /* of each, 0: it is not there; owned */
    int           n;
    bool          there;    /* all data files are */
    rset_evidence evidence; /* has a header, but no checksums of content; owned */
} rset_located;

typedef struct rset_located_list {
    size_t        n, room;
    rset_located *at; /* owned */
} rset_located_list;

/* What to look for, and where (rset_look_around). */
typedef struct rset_look_at {
    rset_dir   *dir;  /* the rank's own, borrowed; NULL: it is opened by its path */
    const char *path; /* of that; NULL: as `dir` says */
    const char *like; /* the file that the rank opens there */
    const char *const *
        search; /* more directories; ends with NULL; or NULL. One that cannot be opened has nothing */
    const char *host;     /* name of this process's */
    bool        recorded; /* also the directories that headers record of what is found there: */
    bool (*follows)(const rset_located *found, void *arg); /* of which files; NULL: of all */
    void *arg;
    bool
        alone; /* one process looks for all that may concern its file: files of any name (rset_located_may_record), also those that
                    are open for change. What cannot be read is not there, and `dirs` are closed again */
    bool
        any_generation; /* with `alone`: not only of the generation that `like` is, but none that was put aside */
} rset_look_at;

/* Was it put out of another rank's way (rset_displaced_name)? Pure. */
bool rset_located_is_displaced(const rset_located *located);

/* Can the redundancy file with this prefix record the data file `name`, or be that of another generation of it? With SINGLE a redundancy
 * file records nothing but the file of its own name: a program that creates many files in one directory asks of each whether the others
 * record it. Pure. */
bool rset_located_may_record(const rset_scheme *scheme, const char *prefix, const char *name);

/* The files in `dir` that have a redundancy file, and are what `at` looks for: not open for change, and named as at->like is but for
 * their numbers, that one as well; or as at->alone says. Added to *out, in the order of their names. Lists the directory once, and
 * reads a header of each. Local. RSET_IO, RSET_NOMEM; *out is to be freed in any case. */
rset_status rset_locate(rset_dir *dir, const rset_look_at *at, rset_located_list *out,
                        rset_err *err);
void        rset_located_list_free(rset_located_list *all);

#endif
