/* names_place.h: a directory of a protected file, for the tests of its names file (test_names*.c), whose calls are counted. */
#ifndef NAMES_PLACE_H
#define NAMES_PLACE_H

#include "names/names.h"

#define R      "f.h5.3.xor.grp_1_of_1.mem_4_of_4.redset"
#define D      "f.h5.3.redset"
#define SHADOW "f.h5.redset.00000100000000ab.new"
#define NAMES  "f.h5.redset.names"

typedef struct names_place {
    char     *base;
    rset_dir *dir;
} names_place;

/* Calls so far, since the last names_protect or names_begin; the start of the machine that the system tells of; no sync succeeds. */
extern _Atomic int names_lists, names_syncs, names_writes;
extern uint64_t    names_boot;
extern bool        names_sync_fails;

/* Counts from now on, with all as the system has it. */
void names_count(void);

/* Set-up and end of a test: *state is a names_place. */
int names_begin(void **state);
int names_end(void **state);

/* Path of a file in it, until the next ones are asked for. */
const char *names_at(const names_place *p, const char *name);
/* Makes it. */
void names_make(const names_place *p, const char *name);
/* Notes that name. */
rset_status names_note(const names_place *p, const char *name);

/* How many are found; is `name` one of them? */
size_t names_find(const names_place *p, const char *name, bool *is_out);
/* `n` names are found, and `name` is one of them. */
void assert_names_found(const names_place *p, const char *name, size_t n);

/* A file that is protected, with its names noted. */
void names_protect(const names_place *p);

/* A names file with a right checksum, of so many older generations, and of `count` and `length` as they are said to be. */
void names_write_all(const names_place *p, const char *stems, size_t len, uint64_t count,
                     uint64_t length, uint64_t older);

#endif
