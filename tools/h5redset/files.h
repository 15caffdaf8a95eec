/* files.h: one rank's files, with the redundancy beside the first of them, opened for the engine. */
#ifndef FILES_H
#define FILES_H

#include "job.h"
#include "protect/protect.h"
#include "recover/recover.h"
#include "sighting.h"
#include "text.h"

typedef struct files {
    rset_dir  *dir;
    char      *prefix;
    int        n;
    char     **names, **paths; /* as the engine wants them: in their directories; as recorded */
    rset_dir **dirs; /* of each, NULL: missing; others than `dir` are owned. NULL: all in `dir` */
    rset_local local;
    rset_evidence evidence;
    rset_file   **held; /* see hold.c; n_held of them */
    int           n_held;
    bool          claimed; /* one of them is a claim */
} files;

/* Where a rank's files are, or are to come: data file `name` in directory `dir`. `prefix`: with it its redundancy files'
 * names begin (NULL or "": name and a dot). Where its redundancy file does not say: `path`, under which it is recorded (NULL: that
 * is dir/name), and `known`, what another one records of the rank's data files after the first (NULL: there are none). `create`: the directory is made if it is missing. `within`:
 * the directory has to be in or below one of these, or the file to be one of them, and the directories of the other files, which a
 * header names, in or below one, whatever links lead there; with `make` they are made. NULL: nothing is going to be written. `may_lack`:
 * a directory that is missing has nothing, which is no failure. */
typedef struct files_place {
    const char      *dir, *name, *prefix, *path;
    const rset_info *known;
    bool             create, make, may_lack;
    const strings   *within;
} files_place;

files_place place_of(const sighting *s); /* borrows its strings */

/* ---- far.c ---- */

/* Is an open directory one of these paths, or below one, or, with `of_files`, the one of a file that they name, when links are followed?
 * RSET_IO: none was found, and one of them cannot be looked at. Local. */
rset_status far_is_below(const strings *paths, const rset_dir *dir, bool of_files, bool *is_out,
                         rset_err *err);

/* Is one of that path, or which is to be made there, as far as there is something above it? As above. */
rset_status far_is_within(const strings *paths, const char *dir, bool *is_out, rset_err *err);

/* Opens the directories of files that are not beside the first: f->dirs, where there are such. RSET_USAGE: at->within does
 * not have one. Local. */
rset_status far_open(const files_place *at, files *f, rset_err *err);
void        far_close(files *f);

/* ---- hold.c ---- */

/* How a command needs the files: what is replaced, renamed, read or loses what protects it has to have no program that may change
 * it; what changes where it is, none that reads it either. */
typedef enum { HOLD_FROM_WRITERS, HOLD_FROM_ALL } hold_from;

/* Locks those of the data files that are there, and what a program is writing in the place of one, until files_close. May be
 * called once more, when files have been replaced. RSET_BUSY: a program on this host has one open, which wait_note knows then; nothing may
 * be done to any of them. Local. */
rset_status files_hold(files *f, hold_from from, const job *j, rset_err *err);

/* How a rebuild needs them: it rolls back where they are, and replaces what is lost or damaged. Pure. */
hold_from hold_to_rebuild(const files *f);

void hold_end(files *f);

/* ---- files.c ---- */

/* Opens the directory and surveys what it has of the data file. *out holds nothing before, nor after a failure, and
 * nothing of `at`. Local. */
rset_status files_open(const files_place *at, files *out, rset_err *err);

/* The same of the data file with this path; `at`: all else. */
rset_status files_open_path(const char *path, files_place at, files *out, rset_err *err);
void        files_close(files *f);

/* Where they were seen; or where an older generation was, or what was put aside, the files themselves. `within`: as of a files_place. */
rset_status files_open_seen(const sighting *s, files *out, rset_err *err);
rset_status files_open_newest(const sighting *older, const strings *within, files *out,
                              rset_err *err);

/* May its directory be made? RSET_USAGE: at->within does not have it. RSET_IO: that cannot be seen. Local. */
rset_status files_may_be(const files_place *at, rset_err *err);

/* Removes all that protects them, and what was put aside: that first, since names that are noted outlast what has them. In two steps, each
 * done with the files of all ranks before the next one: all but the descriptor file, which says whose these are; and that. Local. */
rset_status files_unprotect_begin(const files *f, rset_err *err);
rset_status files_unprotect_end(const files *f, rset_err *err);

#endif
