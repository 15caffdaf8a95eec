/* names.h: what the files are called that lie next to a data file (FORMAT-extensions.md 3), and which of them are there. The
 * prefix is the data file's name and a dot. Local.
 *
 * Names are looked up, not listed. Most of them are fixed but for what the names file says, <prefix>redset.names: it
 * lists whatever else may be there, and is written before any such name is made (N1). It may list more than there is. What
 * does not check out counts as no names file, and the directory is listed (N2). */
#ifndef RSET_NAMES_H
#define RSET_NAMES_H

#include "format/format.h"
#include "store/store.h"

#include <limits.h>

/* Suffixes of our own temporary and marked files, after a redundancy file's name. */
#define RSET_SUFFIX_VOID ".void" /* protection is void: the data file was opened for change (P3) */
#define RSET_SUFFIX_NEW                                                                            \
    ".new" /* written by an encode, prepared, not yet published: the whole, or an update (delta.h) */
#define RSET_SUFFIX_FIX  ".fix"  /* written by a rebuild, not yet published */
#define RSET_SUFFIX_REDO ".redo" /* an update of the redundancy file, published */

/* Beside a data file, after the prefix. */
#define RSET_NAME_NAMES "redset.names"

typedef enum {
    RSET_NAME_DESC,
    RSET_NAME_PLAIN,
    RSET_NAME_VOID,
    RSET_NAME_NEW,
    RSET_NAME_FIX,
    RSET_NAME_BEGUN, /* an undo journal until its head is written */
    RSET_NAME_REDO,
    RSET_NAME_SHADOW,
    RSET_NAME_UNDO,  /* an undo journal, which leads back to a generation */
    RSET_NAME_DATA,  /* the data file of a generation, where a newer one has its name */
    RSET_NAME_NEWER, /* that of one that was put aside when an older one was restored */
    RSET_NAME_LOST, /* that of one that was put aside, since it could not be had, when new files were created */
    RSET_NAME_CHANGED, /* what another program had made of it, put aside when it was restored */
    RSET_NAME_LIST,    /* the names file */
    RSET_NAME_OTHER
} rset_name_kind;

/* A name is of one of these generations of the data file. */
typedef enum {
    RSET_ROLE_OWN,    /* of that which counts, or is being written */
    RSET_ROLE_BEFORE, /* of one that can be gone back to: which it is its number tells. It is kept if it is among the older ones
                         of the directory (rset_names.older); else it goes with the next commit */
    RSET_ROLE_ASIDE   /* of what was put aside */
} rset_name_role;

/* Pure. */
rset_name_role rset_name_role_of(rset_name_kind kind);
/* Can a file of this kind be content of a data file, which is held against what is recorded of it? Pure. */
bool rset_name_is_data(rset_name_kind kind);

/* What kind of file of ours is `name`, given our prefix? `parsed` is filled where it is a redundancy or descriptor file,
 * whatever its suffix (parsed->scheme NULL: a descriptor); *generation_out is that of what has its name of a generation. */
rset_name_kind rset_name_classify(const char *name, const char *prefix, rset_name *parsed,
                                  uint64_t *generation_out);

/* Has a release from before the extensions had a number (FORMAT-extensions.md 10) called so what was under way, or kept, beside the data
 * file whose prefix this is? Only that release can tell what is in it. Pure. */
bool rset_name_is_former(const char *name, const char *prefix);

/* New strings; NULL without memory. */
char *rset_join_names(const char *first, const char *second);
/* Makes the name that a file of this kind and generation has. Kinds whose names say no generation are not asked for. */
char *rset_name_of(rset_name_kind kind, const char *prefix, uint64_t generation);
/* The name of a redundancy or descriptor file without a suffix of ours. */
char *rset_bare_name(const char *name);

/* Where all ranks' files have one name, another rank's may lie where a rank's own belongs. It is put out of the way under this
 * name, and what lies beside it has that name and a dot as its prefix. An older generation has there the name that one of that file
 * has: whichever of them is opened, they lie under one name. A new string; NULL without memory. */
char *rset_displaced_name(const char *base, int rank);
/* Is that such a name? `opened`, room for NAME_MAX + 1 bytes: the name that its rank opens it by. Pure. */
bool rset_displaced_parse(const char *name, char *opened, int *rank_out);

/* A name in a directory, where no file of its prefix is known: is it that of one of ours? *prefix_out, a new string: the
 * prefix, where a file of this name says by itself that a data file is, or was, protected; else NULL. RSET_NOMEM. */
rset_status rset_name_seen(const char *name, bool *ours_out, char **prefix_out, rset_err *err);

/* The generation that a data file of this name is kept, or was put aside, as; 0: it is no such name. Pure. */
uint64_t rset_name_kept(const char *name);

/* The older generation that the name lies beside, of the data file whose prefix this is; 0: beside none. `older`, room for NAME_MAX + 1
 * bytes: the prefix of that generation. Pure. */
uint64_t rset_name_beside_older(const char *name, const char *prefix, char *older);

/* Is it the name of a generation that can be gone back to (RSET_ROLE_BEFORE), of the data file whose prefix this is? *generation_out:
 * which. Pure. */
bool rset_name_is_before(const char *name, const char *prefix, uint64_t *generation_out);

/* As what: RSET_NAME_DATA, RSET_NAME_NEWER or RSET_NAME_LOST; RSET_NAME_OTHER: it is no such name. Pure. */
rset_name_kind rset_name_kept_as(const char *name);

/* Is it that of one that was put aside? Pure. */
bool rset_name_is_put_aside(const char *name);

/* Is that the name of a changed data file that was put aside (member/newer.h)? Length of the data file's own name, and the number that the
 * name has; 0: it is not. Pure. */
size_t rset_name_changed(const char *name, uint64_t *number_out);

/* Length of what is recorded of a data file's name or path, without what says which generation has that name of its own. Pure. */
size_t rset_name_recorded(const char *name);

/* The name that is recorded of a data file of this name, and the prefix of what lies beside that: new strings. RSET_NOMEM; both are
 * to be freed in any case. */
rset_status rset_name_main(const char *name, char **main_out, char **prefix_out, rset_err *err);

/* Is a data file of this name recorded as `recorded`? One of a generation is, as the file that it is one of. Pure. */
bool rset_name_is_recorded_as(const char *name, const char *recorded);

/* Hash of a name or path as it is recorded, never 0; to compare names of one job. Pure. */
uint64_t rset_name_hash(const char *name);

/* Is there room in a name for all that is added to `base`, in a job of so many ranks and sets of at most so many members? A
 * file whose redundancy file would have a longer name than file systems take cannot be protected. `kept`: nor one of whose older
 * generations that is so. */
bool rset_name_has_room(const char *base, int ranks, int members, bool kept);

/* ---- which are there ---- */

/* Files under our names that do not count: whoever may add names to the directory can have made them (N7). */
typedef struct rset_foreign {
    size_t      n;
    char        name[NAME_MAX + 1]; /* of the first */
    const char *why;                /* it does not count: the end of a sentence; a constant */
    uint32_t    uid;                /* whose it is */
} rset_foreign;

/* An older generation that is kept, as the names file lists it. */
typedef struct rset_older {
    uint64_t generation;
    bool     refused; /* all ranks together could not have it (rset_names_note_refused) */
} rset_older;

/* Names of one prefix, but for the names file; in ascending order, each once. */
typedef struct rset_names {
    const char *prefix;
    char      **at;
    size_t      n, room;
    rset_older    *
        older; /* generations that are kept, newest first, and perhaps one that a commit left which did not come to be */
    size_t nolder;
    bool   noted; /* found by the names file alone; else by all that is known of the directory */
    rset_foreign foreign;
} rset_names;

/* All names of ours that are there, of files that count: regular ones of the data file's owner, or where that is lost, or something of
 * ours is his, of this process's user, which nobody else may write. From then on `dir` opens those only. The directory is listed only where the names file does not say, or leads to no
 * redundancy file; and only once by this process, as long as nothing says that it has changed since: `data`, which is the
 * name of the data file, or NULL. Names of older generations that the names file lists are not looked for, and these may have gone since;
 * without a names file those are older whose protection is there. Names that others have put there since, without a names file, are missed where there is
 * no data file either (docs/behaviour.md). RSET_IO, RSET_NOMEM; RSET_USAGE, and an empty list: an earlier release has left something there
 * (rset_name_is_former). *out is to be freed in any case. */
rset_status rset_names_find(rset_dir *dir, const char *prefix, const char *data, rset_names *out,
                            rset_err *err);
/* rset_names_find that looks for the names of older generations, too. It takes time in proportion to their number. */
rset_status rset_names_find_all(rset_dir *dir, const char *prefix, const char *data,
                                rset_names *out, rset_err *err);
/* The same by listing the directory. */
rset_status rset_names_list(rset_dir *dir, const char *prefix, rset_names *out, rset_err *err);
void        rset_names_free(rset_names *list);

/* Is that generation among the older ones of the list? Pure. */
bool rset_names_has_older(const rset_names *list, uint64_t generation);

/* ---- of which data files ---- */

/* Prefixes in ascending order, each once; owned. */
typedef struct rset_prefixes {
    char **at;
    size_t n, room;
} rset_prefixes;

/* Those of all data files in the directory of which a name says that they are, or were, protected; they may have gone since. The
 * directory is listed, but where this process has listed it well after the data file `data` (NULL: none) has changed or got its name.
 * RSET_IO, RSET_NOMEM; *out is to be freed in any case. */
rset_status rset_names_prefixes(rset_dir *dir, const char *data, rset_prefixes *out, rset_err *err);
void        rset_prefixes_free(rset_prefixes *list);

/* ---- the names file ---- */

/* `n` names, with or without suffixes of ours, are about to be made: after this the names file lists them. Those of
 * redundancy and descriptor files, and of what is put aside, are durable when the directory has been synced; of shadow files the generation of a
 * redundancy file says as much (survey.c). Nothing is written where it lists them already. RSET_IO, RSET_NOMEM: it may not
 * list them, and they must not be made. */
rset_status rset_names_note(rset_dir *dir, const char *prefix, const char *const *names, size_t n,
                            rset_err *err);
/* The same of a generation that is about to be kept as well, with its names; 0: none. */
rset_status rset_names_note_kept(rset_dir *dir, const char *prefix, const char *const *names,
                                 size_t n, uint64_t generation, rset_err *err);

/* The same for what only a crashed run leaves: the next one finds it. Nothing is written where there is no names file that
 * would have the next one not list the directory. So what is only tried changes nothing. */
rset_status rset_names_note_temporary(rset_dir *dir, const char *prefix, const char *name,
                                      rset_err *err);

/* The older generations, newest first: an array to be freed. Those that the names file lists, which may have gone; where none counts,
 * those that are there. RSET_IO, RSET_NOMEM. */
rset_status rset_names_older(rset_dir *dir, const char *prefix, rset_older **list_out,
                             size_t *n_out, rset_err *err);

/* All files of that older generation are gone: the names file, where one counts, lists it no more. Best effort: it may list more than
 * there is. */
void rset_names_forget_older(rset_dir *dir, const char *prefix, uint64_t generation);

/* Notes that all ranks together could not have that older generation, or that they could. Best effort: only where it is listed. */
void rset_names_note_refused(rset_dir *dir, const char *prefix, uint64_t generation, bool refused);

/* Removes the names file, when nothing that it has to list is left beside the data file. */
rset_status rset_names_forget(rset_dir *dir, const char *prefix, rset_err *err);

#endif
