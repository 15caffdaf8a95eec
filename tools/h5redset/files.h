/* files.h: one rank's files in one directory, opened for the engine. */
#ifndef FILES_H
#define FILES_H

#include "protect/protect.h"
#include "recover/recover.h"

typedef struct files {
    rset_dir     *dir;
    char         *prefix;
    int           n;
    char        **names, **paths; /* as the engine wants them: in the directory; as recorded */
    rset_local    local;
    rset_evidence evidence;
} files;

/* Opens `dir` and surveys what it has of the data file `name`, whose redundancy files' names begin with
 * `prefix` (NULL or "": name and a dot). `path`: under which it is recorded where its redundancy file does not say
 * (NULL: that is dir/name). `create`: makes the directory if it is missing. */
rset_status files_open(const char *dir, const char *prefix, const char *name, const char *path,
                       bool create, files *out, rset_err *err);
void        files_close(files *f);

#endif
