/* mutations.h: fuzzer input as a list of things done to a protected set's files: what the bytes mean. A
 * byte for what, then its arguments; numbers big-endian, files by their number in order of directory and
 * name, modulo how many there are. Input that ends early ends the list. */
#ifndef MUTATIONS_H
#define MUTATIONS_H

#include "memfs.h"
#include "names/names.h"

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
    MUTATE_SEAL, /* file, or 255 for all: its checksums made to fit, and the length of a container */
    MUTATE_EDIT, /* file, number u16 of a hostile_edit: done, and sealed */
    MUTATE_SUMS, /* sizes and checksums of all data and payloads in all headers made to fit */
    MUTATIONS,
    /* These bytes say so themselves; of all others the remainder of MUTATIONS does. Each makes a file in directory u8, in the place of
     * what had its name, with right checksums. A generation: u8, 0 none, 1 the old, 2 the new, else another one. A version: u8, 0 the
     * old one, else the new one. */
    MUTATE_JOURNAL =
        0xf0, /* name u8: undo journal, half of one, next journal of the old and of the new generation, what leads back
                              to the old one; state u8; flags u8; generation; the file's size in a version; entries */
    MUTATE_UPDATE, /* name u8: .new, .redo; generation; version of the redundancy file; u8: bit 0 complete, 1 has all of the
                      header, 2 all of the payload; entries */
    MUTATE_LIST /* u8: bit 0 after another boot, 1 and 2 lists files of the old and of the new generation; files that are listed
                      u16, bits in order of names */
};
/* Entries: number u8, at most 7; of each offset u16, length u16 (65535: all), version of what they are the bytes of. */

/* How far the files can still be trusted after the mutations. */
typedef enum {
    MUTATIONS_DAMAGED, /* no checksum was made to fit what was changed */
    MUTATIONS_TOLD, /* only of journals, updates and names files, which tell how the files came to be as they are */
    MUTATIONS_FORGED /* also of what records the content: nobody can tell any more */
} mutations_trust;

/* The same set at two generations. */
typedef struct mutations_set {
    memfs_state older, newer;
} mutations_set;

/* The kind of a file, by its name beside the data file of its directory. */
rset_name_kind mutations_kind(const memfs_file *f, rset_name *parsed_out);

/* Does what the bytes say to *s, which begins as set->newer. */
mutations_trust mutations_do(const mutations_set *set, memfs_state *s, const uint8_t *bytes,
                             size_t size);

#endif
