/* hostile_edits.h: what a writer with bad intent puts into a header, as a list of cuts:
 * names, attributes, numbers that do not fit anything, keys missing or twice, trees too deep or too
 * large. */
#ifndef HOSTILE_EDITS_H
#define HOSTILE_EDITS_H

#include "knife.h"

#include <stdbool.h>

typedef struct hostile_edit {
    enum {
        EDIT_VALUE,
        EDIT_RENAME,
        EDIT_REMOVE,
        EDIT_DOUBLE,
        EDIT_ADD,
        EDIT_SHAFT, /* `number` keys below each other */
        EDIT_COUNT, /* `number` announced as count */
        EDIT_TOTAL, /* `number` as length of the container */
        EDIT_GROW   /* the container made longer than a header may be */
    } how;
    const char *path; /* see knife.h */
    const char *with;
    uint64_t    number;
} hostile_edit;

/* The list. `outside`: absolute path of a file that must never be touched, kept. */
const hostile_edit *hostile_edits(const char *outside, int *n_out);

/* Makes the cut and seals: a whole file of header and `payload`, or NULL when this header has no such
 * place. Freed with free(). */
uint8_t *hostile_cut(const hostile_edit *edits, int n, const uint8_t *file, size_t size,
                     size_t payload_at, size_t *size_out);

/* For messages; a buffer that the next call uses again. */
const char *hostile_text(const hostile_edit *edit);

#endif
