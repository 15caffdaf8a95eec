/* mutations_internal.h: what the kinds of mutations share: a list of them that is being done. Nobody else includes this. */
#ifndef MUTATIONS_INTERNAL_H
#define MUTATIONS_INTERNAL_H

#include "mutations.h"

enum { MUTATIONS_NODES = 4 };

typedef struct mutations_work {
    const mutations_set *set;
    memfs_state         *s;
    const uint8_t       *at, *end; /* of the list's bytes: what is left */
    mutations_trust      trust;
    memfs_file          *files[MEMFS_FILES]; /* in order of directory and name */
    int                  nfiles;
} mutations_work;

/* The next argument of so many bytes; false, and 0: the list has ended. */
bool mutations_take(mutations_work *w, int bytes, size_t *out);
/* The file that the next argument says; NULL: none. */
memfs_file *mutations_take_file(mutations_work *w);
/* From now on the files are to be trusted no more than that. */
void mutations_distrust(mutations_work *w, mutations_trust trust);

/* ---- mutations_seal.c: checksums are made to fit ---- */

void mutations_seal(mutations_work *w);
void mutations_edit(mutations_work *w);
void mutations_fit_sums(mutations_work *w);

/* ---- mutations_tell.c: files that lie beside data files are made, with right checksums ---- */

void mutations_journal(mutations_work *w);
void mutations_update(mutations_work *w);
void mutations_list(mutations_work *w);

#endif
