/* tree.h: the packed tree container that every redundancy file begins with (FORMAT.md 2 and 3).
 *
 * Bytes in, tree out and back; what the keys mean is format.h's business. Bytes are hostile until
 * checked: every length, count and depth is bounded by the bytes present before it is used, memory
 * is at most a small multiple of the input. Pure: no files, no MPI, no printing. */
#ifndef RSET_TREE_H
#define RSET_TREE_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RSET_TREE_HEAD = 20, /* bytes before the tree */
    RSET_TREE_EMPTY =
        RSET_TREE_HEAD + 8,   /* of a container with nothing in its tree: none is shorter */
    RSET_TREE_MAX_DEPTH = 16, /* deeper is refused */
    RSET_TREE_MAX_BYTES = 16 * 1024 * 1024 /* a longer container is refused */
};

typedef struct rset_tree
    rset_tree; /* a set of (key, subtree); a value is a key with an empty one */

/* An empty tree to be built, or NULL when memory runs out. rset_tree_free(NULL) does nothing. */
rset_tree *rset_tree_new(void);
void       rset_tree_free(rset_tree *tree);

/* The subtree under `key`, made empty when it was not there. The result belongs to `tree`. NULL when
 * memory runs out; NULL is also accepted as `tree` and gives NULL, so that calls can be chained and
 * checked once. NULL as well below RSET_TREE_MAX_DEPTH keys and in an unpacked tree, which is read
 * only. Adding keys in ascending order costs O(log n) each, in any order O(n). */
rset_tree *rset_tree_add(rset_tree *tree, const char *key);
rset_tree *rset_tree_add_u64(rset_tree *tree, uint64_t key); /* key as decimal text */

/* NAME = value: key `name` whose only child is `value` (replaced if it had another). Returns the
 * subtree of `name`, or NULL as above. */
rset_tree *rset_tree_set(rset_tree *tree, const char *name, const char *value);
rset_tree *rset_tree_set_u64(rset_tree *tree, const char *name, uint64_t value);

/* Children in ascending byte order of their keys: number, i-th key, i-th subtree. `tree` may be NULL
 * (no children). */
size_t           rset_tree_count(const rset_tree *tree);
const char      *rset_tree_key(const rset_tree *tree, size_t i);
const rset_tree *rset_tree_child(const rset_tree *tree, size_t i);

/* The subtree under `key` (binary search), or NULL. `tree` may be NULL. */
const rset_tree *rset_tree_find(const rset_tree *tree, const char *key);
const rset_tree *rset_tree_find_u64(const rset_tree *tree, uint64_t key); /* key as decimal text */

/* The value under `name`: its only child's key. NULL when the key is absent, has not exactly one
 * child, or that child is not empty. */
const char *rset_tree_value(const rset_tree *tree, const char *name);

/* The same as an unsigned decimal number <= max: digits only, no sign, no leading zero. Returns false
 * and leaves *out alone when absent or anything else. */
bool rset_tree_value_u64(const rset_tree *tree, const char *name, uint64_t max, uint64_t *out);

/* `text` as such a number. Used for keys that are numbers. */
bool rset_text_u64(const char *text, uint64_t max, uint64_t *out);

/* Bytes that rset_tree_pack writes: 20 + tree + 4. */
size_t rset_tree_packed_size(const rset_tree *tree);

/* Packs into a new buffer of exactly that size, every level sorted. *buf_out is freed with free().
 * RSET_USAGE when longer than RSET_TREE_MAX_BYTES; RSET_NOMEM, also for a `tree` of NULL. */
rset_status rset_tree_pack(const rset_tree *tree, uint8_t **buf_out, size_t *len_out,
                           rset_err *err);

/* Length of the container that begins with these RSET_TREE_HEAD bytes, so that the rest can be read.
 * Checks magic, type, version, flags (a container without CRC is refused) and
 * 24 <= total <= min(available, RSET_TREE_MAX_BYTES), `available` being the bytes of the file.
 * `what` names the file in messages. RSET_DAMAGED otherwise. */
rset_status rset_tree_total(const uint8_t head[RSET_TREE_HEAD], uint64_t available,
                            const char *what, size_t *total_out, rset_err *err);

/* Unpacks a whole container of `len` bytes: CRC first, then the tree, in any key order. Refused as
 * RSET_DAMAGED: anything rset_tree_total refuses, a wrong CRC, counts or keys that run over the end,
 * bytes left over, depth > RSET_TREE_MAX_DEPTH, a key that stands twice in one level. The tree keeps
 * nothing of `buf`, is one block of at most 2.6 x len bytes, and is read only. */
rset_status rset_tree_unpack(const uint8_t *buf, size_t len, const char *what, rset_tree **tree_out,
                             rset_err *err);

#endif
