/* names_internal.h: what a names file says, and how it is written. Nobody else includes this.
 *
 * A stem is a name without the prefix and without a suffix of ours: "3.xor.grp_0_of_1.mem_3_of_4.redset", "3.redset",
 * "3.redset.1" (the second data file of a rebuild; the first belongs to "3.redset"), "redset.<generation>" (a shadow file, or
 * one put aside). What may be there is each stem with each suffix that its kind can have.
 *
 * Older generations that are kept are listed by their numbers, so that no number of them makes a names file long, or what looks
 * for other names slow. */
#ifndef RSET_NAMES_INTERNAL_H
#define RSET_NAMES_INTERNAL_H

#include "names.h"

/* What all names of ours contain: what is kept of a directory's listing (store/recall.h). */
#define RSET_NAMES_WORD ".redset"

enum { RSET_GENERATION_DIGITS = 16 };

/* A name is a prefix, one of these, and a suffix. */
enum {
    RSET_AFTER_REDUNDANCY = 1, /* name of a redundancy file */
    RSET_AFTER_DESC = 2,       /* name of a descriptor file */
    RSET_AFTER_REBUILT = 4,    /* "<r>.redset.<i>": a rebuild is writing data file i of rank r */
    RSET_AFTER_GENERATION = 8, /* "redset.<g>" */
    RSET_AFTER_NOTHING = 16    /* the suffix is all of it */
};

/* One kind of name. */
typedef struct rset_name_row {
    rset_name_kind kind;
    unsigned       after; /* of RSET_AFTER_... */
    const char    *suffix;
    rset_name_role role;
    bool
        data; /* it can be content of a data file, which is held against what is recorded of it; else it is believed as it is */
} rset_name_row;

/* The last row is of RSET_NAME_OTHER. A file out of the way has no row: whose it is does not depend on a prefix
 * (rset_displaced_parse). */
extern const rset_name_row rset_name_rows[];

/* The kind of "redset.<g>..."; RSET_NAME_OTHER: it is no such name. Pure. */
rset_name_kind rset_name_of_generation(const char *rest, uint64_t *generation_out);

enum {
    RSET_STEMS_MAX = 64,
    RSET_STEMS_BYTES = 8192, /* of the head of a names file and its stems */
    RSET_OLDER_MAX = 65536,
    RSET_OLDER_BYTES = 16, /* of one older generation */
    RSET_NAMES_BYTES = RSET_STEMS_BYTES + RSET_OLDER_MAX * RSET_OLDER_BYTES
};

typedef struct rset_stems {
    char       *at[RSET_STEMS_MAX];
    size_t      n;
    rset_older *older; /* newest first, each once; owned */
    size_t      nolder;
    bool        many; /* there was no room for all */
} rset_stems;

typedef enum {
    RSET_NOTED_NONE, /* there is no names file */
    RSET_NOTED_GOOD, /* it lists all that is there */
    RSET_NOTED_OLD, /* ... or did before the machine was started: what was not durable may be missing */
    RSET_NOTED_BAD /* it cannot be read, or does not check out */
} rset_noted;

/* Without memory: false. What is there already is not added again. */
bool rset_stems_add(rset_stems *stems, const char *stem);
bool rset_stems_has(const rset_stems *stems, const char *stem);
void rset_stems_remove(rset_stems *stems, const char *stem);
void rset_stems_free(rset_stems *stems);

/* That of a name of ours, a new string; *fixed_out: it needs none, since it is always looked for. NULL: no memory, or it is
 * no name of ours, or such a one. */
char *rset_stem_of(const char *name, const char *prefix, bool *fixed_out);
/* Is it of a redundancy or descriptor file, and not of one that only a crashed run leaves? */
bool rset_stem_is_lasting(const char *stem, const char *prefix);

/* Calls visit for each name that the stem stands for, until it returns false, which is then the result. */
bool rset_stem_names(const char *stem, const char *prefix, bool (*visit)(const char *, void *),
                     void *arg);

/* ---- older.c: in the list ---- */

/* Is that generation in it? *out: where; NULL: nowhere. */
bool rset_older_is(const rset_stems *stems, uint64_t generation, rset_older **out);
/* Without memory: false. What is there already stays as it is. */
bool rset_older_add(rset_stems *stems, rset_older one);
/* `one`: of the list. */
void rset_older_remove(rset_stems *stems, const rset_older *one);
bool rset_older_are_sorted(const rset_stems *stems);
/* RSET_OLDER_BYTES for each. */
void rset_older_pack(const rset_stems *stems, uint8_t *to);
/* Into an empty list. Without memory: false. */
bool rset_older_unpack(rset_stems *stems, const uint8_t *from, size_t n);

/* ---- stems.c ---- */

/* Calls visit for the names of a generation that is kept, until it returns false, which is then the result; in the order in which one
 * is made whole, so that none is missed meanwhile. */
bool rset_older_names(uint64_t generation, const char *prefix, bool (*visit)(const char *, void *),
                      void *arg);

/* Bytes of a names file; NULL: no memory. */
uint8_t *rset_stems_pack(const rset_stems *stems, size_t *len_out);
/* What the names file of this prefix says; of a bad one *out is empty. RSET_NOMEM. */
rset_status rset_stems_load(rset_dir *dir, const char *prefix, rset_stems *out, rset_noted *noted,
                            rset_err *err);
rset_status rset_stems_unpack(const uint8_t *buf, size_t len, const char *prefix, rset_stems *out,
                              rset_noted *noted, rset_err *err);

/* All names that this process knows to be there, without the names file: those that were there when the directory was
 * listed last (`now`: it is listed). Freed as those of rset_names_find. */
rset_status rset_names_known(rset_dir *dir, const char *prefix, bool now, rset_names *out,
                             rset_err *err);

/* Sorts them, frees those that are there twice, and gives how many are left. */
size_t rset_leave_out_doubles(char **at, size_t n);
/* ---- whose.c ---- */

/* Whose files count beside a data file. */
typedef struct rset_whose {
    rset_trust  trust;
    bool        mine;  /* the data file belongs to this process's user, or is not there */
    bool        there; /* it is, as `data` says */
    struct stat data;
} rset_whose;

/* As far as the data file tells (`data`: its name, or NULL: the one that the prefix has); of
 * another user's it is this process's user who counts, until something tells otherwise. The directory trusts accordingly. Local. */
rset_whose rset_whose_of(rset_dir *dir, const char *prefix, const char *data);

/* Why a file of this kind does not count, as the end of a sentence that begins with its name; NULL: it does. Pure. */
const char *rset_whose_not(const rset_whose *w, rset_name_kind kind, const struct stat *sb);

#endif
