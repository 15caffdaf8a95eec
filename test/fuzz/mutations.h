/* mutations.h: fuzzer input as a list of things done to a protected set's files: what the bytes mean. A
 * byte for what, then its arguments; numbers big-endian, files by their number in order of directory and
 * name, modulo how many there are. Input that ends early ends the list. */
#ifndef MUTATIONS_H
#define MUTATIONS_H

#include "memfs.h"

enum {
    MUTATE_PATCH,    /* file, offset u16, length u8, bytes: overwrites */
    MUTATE_INSERT,   /* file, offset u16, length u8, bytes */
    MUTATE_DELETE,   /* file, offset u16, length u16 */
    MUTATE_RESIZE,   /* file, size u24 */
    MUTATE_REMOVE,   /* file */
    MUTATE_COPY,     /* file, file: the first gets the second's content */
    MUTATE_SUFFIX,   /* file, which: .void, .new, .fix; off again when it is there */
    MUTATE_OBJECT,   /* file, memfs_kind */
    MUTATE_OLD,      /* file: as it was a generation earlier */
    MUTATE_OLD_NODE, /* directory */
    MUTATE_LOSE,     /* directory */
    MUTATE_MARK,     /* file, 0: none, 1: the old, 2: the new generation's, else any */
    MUTATE_SEAL,     /* file, or 255 for all: length and checksum of the container made to fit */
    MUTATE_EDIT,     /* file, number u16 of a hostile_edit: done, and sealed */
    MUTATE_SUMS,     /* sizes and checksums of all data and payloads in all headers made to fit */
    MUTATIONS
};

/* The same set at two generations. */
typedef struct mutations_set {
    memfs_state older, newer;
} mutations_set;

/* Does what the bytes say to *s, which begins as set->newer. *forged_out: a checksum was made to fit what
 * was changed, so that nobody can tell any more. */
void mutations_do(const mutations_set *set, memfs_state *s, const uint8_t *bytes, size_t size,
                  bool *forged_out);

#endif
