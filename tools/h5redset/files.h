/* files.h: one rank's files in one directory, opened for the engine. */
#ifndef FILES_H
#define FILES_H

#include "protect/protect.h"
#include "recover/recover.h"
#include "sighting.h"

typedef struct files {
    rset_dir     *dir;
    char         *prefix;
    int           n;
    char        **names, **paths; /* as the engine wants them: in the directory; as recorded */
    rset_local    local;
    rset_evidence evidence;
} files;

/* Where a rank's files are, or are to come: data file `name` in directory `dir`. `prefix`: with it its redundancy files'
 * names begin (NULL or "": name and a dot). Where its redundancy file does not say: `path`, under which it is recorded (NULL: that
 * is dir/name), and `others`, the names of the rank's other data files (NULL: none; as recorded.others). `create`: the directory is made if it is missing. */
typedef struct files_place {
    const char *dir, *name, *prefix, *path, *others;
    bool        create;
} files_place;

files_place place_of(const sighting *s); /* borrows its strings */

/* How many names `others` has. */
int count_others(const char *others);

/* Opens the directory and surveys what it has of the data file. *out holds nothing before, nor after a failure, and
 * nothing of `at`. Local. */
rset_status files_open(const files_place *at, files *out, rset_err *err);
void        files_close(files *f);

#endif
