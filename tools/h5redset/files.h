/* files.h: one rank's files, with the redundancy beside the first of them, opened for the engine. */
#ifndef FILES_H
#define FILES_H

#include "protect/protect.h"
#include "recover/recover.h"
#include "sighting.h"
#include "text.h"

typedef struct files {
    rset_dir *dir;
    char     *prefix;
    int       n;
    char    **names, **paths; /* as the engine wants them: in their directories; as recorded */
    rset_dir **
        dirs; /* of each; those of others than `dir` are owned, NULL: missing. NULL: all in `dir` */
    rset_local    local;
    rset_evidence evidence;
} files;

/* Where a rank's files are, or are to come: data file `name` in directory `dir`. `prefix`: with it its redundancy files'
 * names begin (NULL or "": name and a dot). Where its redundancy file does not say: `path`, under which it is recorded (NULL: that
 * is dir/name), and `others`, the paths of the rank's other data files (NULL: none; as recorded.others). `create`: the directory is made if it is missing. `within`:
 * those of the other files, which a header names, have to be in or below one of these; with `make` they are made. NULL: nothing
 * is going to be written. */
typedef struct files_place {
    const char    *dir, *name, *prefix, *path, *others;
    bool           create, make;
    const strings *within;
} files_place;

files_place place_of(const sighting *s); /* borrows its strings */

/* Those of a header, as recorded.others: a new string; and how many there are in one. */
char *paths_of_others(const rset_info *info);
int   count_others(const char *others);

/* ---- far.c ---- */

/* Where a data file is that is recorded under `path`, where the first of them, recorded under `first`, is in the directory `dir`
 * now: they have not moved apart. A new string, absolute; NULL: nowhere that could be told. Pure. */
char *far_dir(const char *dir, const char *first, const char *path);

/* Opens the directories of files that are not beside the first: f->dirs, where there are such. RSET_USAGE: at->within does
 * not have one. Local. */
rset_status far_open(const files_place *at, files *f, rset_err *err);
void        far_close(files *f);

/* ---- files.c ---- */

/* Opens the directory and surveys what it has of the data file. *out holds nothing before, nor after a failure, and
 * nothing of `at`. Local. */
rset_status files_open(const files_place *at, files *out, rset_err *err);
void        files_close(files *f);

#endif
