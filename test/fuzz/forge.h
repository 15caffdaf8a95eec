/* forge.h: what lies beside a data file and has checksums of its own, but is no container: undo journals, updates and names files
 * (FORMAT-extensions.md 4 to 6). Written with checksums that are right, whatever they say; or these are mended. For mutations.c. */
#ifndef FORGE_H
#define FORGE_H

#include "member/undo.h"
#include "memfs.h"
#include "names/names_internal.h"

/* Bytes to be laid over a file at `off`. */
typedef struct forge_entry {
    uint64_t       off, len;
    const uint8_t *bytes; /* `len` of them */
} forge_entry;

/* The content of *f becomes an undo journal with that head and those entries, right or wrong. */
void forge_journal(memfs_file *f, const rset_undo_head *head, const forge_entry *entries, size_t n);

/* ... an update to that generation of a redundancy file of `size` bytes. */
void forge_update(memfs_file *f, uint64_t generation, uint64_t size, const forge_entry *entries,
                  size_t n, bool complete);

/* Stems, each with a zero byte at its end. */
typedef struct forge_stems {
    char   text[RSET_STEMS_BYTES];
    size_t used, n;
} forge_stems;

/* ... a names file that was written after the machine's boot of that number, with those older generations. */
void forge_list(memfs_file *f, uint64_t boot, const forge_stems *stems, const uint64_t *older,
                size_t nolder);

/* Makes the checksums of such a file fit what it says, as far as it goes. False: it is too short, or does not begin like one. */
bool forge_mend_journal(memfs_file *f);
bool forge_mend_update(memfs_file *f);
bool forge_mend_list(memfs_file *f);

#endif
