/* tree_pack.c: the container: header, packed tree, CRC (FORMAT.md 2 and 3), to bytes and from bytes.
 * The second half trusts nothing: see tree.h. */
#include "tree_internal.h"

#include "common/crc64.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_AT = 0,   /* 4 bytes */
    TYPE_AT = 4,    /* 2 bytes, 1 */
    VERSION_AT = 6, /* 2 bytes, 1 */
    TOTAL_AT = 8,   /* 8 bytes */
    FLAGS_AT = 16,  /* 4 bytes, 1 */
    CRC_BYTES = 4,
    ELEMENT_MIN = 5 /* smallest element: an empty key's NUL and the count of its subtree */
};

static const uint8_t magic[4] = {0x95, 0x1f, 0xc3, 0xf5};

/* Big-endian numbers of 2, 4 and 8 bytes. */
static uint64_t
get_be(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static uint8_t *
put_be(uint8_t *at, size_t bytes, uint64_t value)
{
    for (size_t i = bytes; i-- > 0; value >>= 8)
        at[i] = (uint8_t)value;
    return at + bytes;
}

/* Size of the packed tree; at most RSET_TREE_MAX_DEPTH frames, leaves are counted here. */
static size_t
tree_size(const rset_tree *tree)
{
    size_t size = 4;

    for (size_t i = 0; i < tree->count; i++) {
        const rset_tree *child = rset_node_child(tree, i);

        size += strlen(rset_node_key(child)) + 1 + (child->count == 0 ? 4 : tree_size(child));
    }
    return size;
}

size_t
rset_tree_packed_size(const rset_tree *tree)
{
    return RSET_TREE_HEAD + tree_size(tree) + CRC_BYTES;
}

static uint8_t *
put_tree(const rset_tree *tree, uint8_t *at)
{
    at = put_be(at, 4, tree->count);
    for (size_t i = 0; i < tree->count; i++) {
        const rset_tree *child = rset_node_child(tree, i);
        const char      *key = rset_node_key(child);
        size_t           len = strlen(key) + 1;

        memcpy(at, key, len);
        at = child->count == 0 ? put_be(at + len, 4, 0) : put_tree(child, at + len);
    }
    return at;
}

rset_status
rset_tree_pack(const rset_tree *tree, uint8_t **buf_out, size_t *len_out, rset_err *err)
{
    size_t   len;
    uint8_t *buf, *at;

    if (tree == NULL)
        return rset_fail(err, RSET_NOMEM, "out of memory for a redundancy file header");
    len = rset_tree_packed_size(tree);
    if (len > RSET_TREE_MAX_BYTES)
        return rset_fail(err, RSET_USAGE,
                         "a redundancy file header would take %zu bytes, at most "
                         "%d are allowed; protect fewer files or make smaller sets",
                         len, (int)RSET_TREE_MAX_BYTES);
    buf = malloc(len);
    if (buf == NULL)
        return rset_fail(err, RSET_NOMEM, "out of memory for a header of %zu bytes", len);
    memcpy(buf + MAGIC_AT, magic, sizeof magic);
    put_be(buf + TYPE_AT, 2, 1);
    put_be(buf + VERSION_AT, 2, 1);
    put_be(buf + TOTAL_AT, 8, len);
    put_be(buf + FLAGS_AT, 4, 1);
    at = put_tree(tree, buf + RSET_TREE_HEAD);
    assert(at + CRC_BYTES == buf + len); /* FM4 */
    put_be(at, CRC_BYTES, rset_crc32(0, buf, len - CRC_BYTES));
    *buf_out = buf;
    *len_out = len;
    return RSET_OK;
}

rset_status
rset_tree_total(const uint8_t head[RSET_TREE_HEAD], uint64_t available, const char *what,
                size_t *total_out, rset_err *err)
{
    uint64_t total;

    if (available < RSET_TREE_EMPTY)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: %" PRIu64 " bytes are too few for a header; it "
                         "counts as lost",
                         what, available);
    if (memcmp(head + MAGIC_AT, magic, sizeof magic) != 0)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: does not begin like a redundancy file; it counts "
                         "as lost",
                         what);
    if (get_be(head + TYPE_AT, 2) != 1 || get_be(head + VERSION_AT, 2) != 1 ||
        get_be(head + FLAGS_AT, 4) != 1)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: header has type %u, version %u, flags %u instead "
                         "of 1, 1, 1; it counts as lost",
                         what, (unsigned)get_be(head + TYPE_AT, 2),
                         (unsigned)get_be(head + VERSION_AT, 2),
                         (unsigned)get_be(head + FLAGS_AT, 4));
    total = get_be(head + TOTAL_AT, 8);
    if (total < RSET_TREE_EMPTY || total > RSET_TREE_MAX_BYTES)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: header says it has %" PRIu64 " bytes, at most %d "
                         "are possible; it counts as lost",
                         what, total, (int)RSET_TREE_MAX_BYTES);
    if (total > available)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: ends after %" PRIu64 " of %" PRIu64 " header "
                         "bytes; it counts as lost",
                         what, available, total);
    *total_out = (size_t)total;
    return RSET_OK;
}

/* The one block that becomes an unpacked tree. While it is filled, distances are from its start. */
typedef struct block {
    rset_tree *nodes;     /* nodes[0] is the root; NULL: only count what will be needed */
    size_t     nnodes;    /* taken so far */
    size_t     keys_size; /* bytes of keys so far */
    size_t     keys_at;   /* where they begin in the block */
} block;

typedef struct input {
    const uint8_t *at, *end;
} input;

static size_t
left(const input *in)
{
    return (size_t)(in->end - in->at);
}

/* A count that the bytes still there can hold, or what is wrong. */
static inline const char *
take_count(input *in, uint32_t *count_out)
{
    if (left(in) < 4)
        return "ends within a count";
    *count_out = (uint32_t)in->at[0] << 24 | (uint32_t)in->at[1] << 16 | (uint32_t)in->at[2] << 8 |
                 in->at[3];
    in->at += 4;
    if (*count_out != 0 && *count_out > left(in) / ELEMENT_MIN)
        return "announces more keys than fit";
    return NULL;
}

/* A key, with its NUL, and the count after it. */
static inline const char *
take_element(input *in, size_t *len_out, uint32_t *count_out)
{
    const uint8_t *key = in->at, *end = left(in) < 16 ? in->end : key + 16, *nul = key;

    while (nul < end && *nul != 0) /* most are too short for a call of memchr to pay */
        nul++;
    if (nul == end)
        nul = memchr(nul, 0, (size_t)(in->end - nul));
    if (nul == NULL)
        return "ends within a key";
    in->at = nul + 1;
    *len_out = (size_t)(nul + 1 - key);
    return take_count(in, count_out);
}

/* Makes node `i` out of a key of `len` bytes (with NUL) and reserves its children. */
static inline void
take_node(block *to, size_t i, const uint8_t *key, size_t len, uint32_t count)
{
    if (to->nodes != NULL) {
        rset_tree *node = &to->nodes[i];

        node->count = count;
        node->key = (uint32_t)(to->keys_at + to->keys_size);
        node->child = (uint32_t)(to->nnodes * sizeof *node);
        memcpy((char *)to->nodes + node->key, key, len);
    }
    to->nnodes += count;
    to->keys_size += len;
}

/* One walk over the packed tree, done twice: to check and count, then to fill the block. Without
 * recursion, and on copies of its arguments, which stay in registers: a tree that is refused must
 * not take long either. Returns NULL, or what is wrong. */
static const char *
walk(input in, block *block_inout)
{
    struct {
        uint32_t left;
        size_t   next; /* node */
    } level[RSET_TREE_MAX_DEPTH];
    block       to = {.nodes = block_inout->nodes, .keys_at = block_inout->keys_at, .nnodes = 1};
    int         depth = 0;
    const char *wrong = take_count(&in, &level[0].left);

    if (wrong != NULL)
        return wrong;
    level[0].next = 1;
    take_node(&to, 0, (const uint8_t *)"", 1, level[0].left);
    while (depth >= 0) {
        uint32_t n = level[depth].left, count = 0;
        size_t   i = level[depth].next, first = to.nnodes, len;

        for (; n > 0 && count == 0; n--, i++) { /* leaves, up to a key with a subtree */
            const uint8_t *key = in.at;

            wrong = take_element(&in, &len, &count);
            if (wrong != NULL)
                return wrong;
            take_node(&to, i, key, len, count);
        }
        level[depth].left = n;
        level[depth].next = i;
        if (count == 0)
            depth--;
        else if (++depth == RSET_TREE_MAX_DEPTH)
            return "is nested too deep";
        else {
            level[depth].left = count;
            level[depth].next = first;
        }
    }
    *block_inout = to;
    return left(&in) == 0 ? NULL : "has bytes left over after the tree";
}

static int
compare(const void *a, const void *b, void *nodes)
{
    const char *start = nodes;

    return strcmp(start + ((const rset_tree *)a)->key, start + ((const rset_tree *)b)->key);
}

static bool
ascending(rset_tree *nodes, const rset_tree *child, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare(&child[i - 1], &child[i], nodes) >= 0)
            return false;
    return true;
}

/* Sorts every level and makes distances count from the node itself. Parents stand before their
 * children, so a node has its final place when its turn comes. False: a key stands twice.
 * qsort_r may take another 12 bytes per key of one level: 1 MiB, or else keys are so many that they
 * are at least 3 bytes long, and tree and copy together are still below 4 times the input. */
static bool
settle(block *b)
{
    for (size_t i = 0; i < b->nnodes; i++) {
        rset_tree *node = &b->nodes[i];
        uint32_t   here = (uint32_t)(i * sizeof *node);
        rset_tree *child = b->nodes + node->child / sizeof *node;

        if (!ascending(b->nodes, child, node->count)) {
            qsort_r(child, node->count, sizeof *child, compare, b->nodes);
            if (!ascending(b->nodes, child, node->count))
                return false;
        }
        node->key -= here;
        node->child -= here;
    }
    return true;
}

static rset_status
unpack_body(input in, const char *what, rset_tree **tree_out, rset_err *err)
{
    block       b = {.nodes = NULL};
    const char *wrong = walk(in, &b);

    if (wrong != NULL)
        return rset_fail(err, RSET_DAMAGED, "%s: header %s; it counts as lost", what, wrong);
    b.keys_at = b.nnodes * sizeof *b.nodes;
    b.nodes = malloc(b.keys_at + b.keys_size);
    if (b.nodes == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: out of memory for %zu header keys", what, b.nnodes);
    wrong = walk(in, &b);
    assert(wrong == NULL && b.keys_at == b.nnodes * sizeof *b.nodes); /* FM6 */
    if (wrong == NULL && !settle(&b))
        wrong = "has the same key twice";
    if (wrong != NULL) {
        free(b.nodes);
        return rset_fail(err, RSET_DAMAGED, "%s: header %s; it counts as lost", what, wrong);
    }
    *tree_out = b.nodes;
    return RSET_OK;
}

rset_status
rset_tree_unpack(const uint8_t *buf, size_t len, const char *what, rset_tree **tree_out,
                 rset_err *err)
{
    size_t      total;
    rset_status st = rset_tree_total(buf, len, what, &total, err);

    if (st != RSET_OK)
        return st;
    if (total != len)
        return rset_fail(err, RSET_DAMAGED,
                         "%s: %zu bytes stand after the header's %zu; it counts "
                         "as lost",
                         what, len - total, total);
    if (rset_crc32(0, buf, len - CRC_BYTES) != get_be(buf + len - CRC_BYTES, CRC_BYTES))
        return rset_fail(err, RSET_DAMAGED,
                         "%s: checksum of the header does not match; it counts "
                         "as lost",
                         what);
    return unpack_body((input){buf + RSET_TREE_HEAD, buf + len - CRC_BYTES}, what, tree_out, err);
}
