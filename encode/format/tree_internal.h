/* tree_internal.h: how a tree lies in memory; shared by tree.c and tree_pack.c only.
 *
 * Two kinds of node behind one type. A tree being built has nodes of their own with pointers. An
 * unpacked tree is one block - nodes, then keys - read only, with distances instead of pointers: 12
 * bytes per node, so that the densest input (5 bytes per element) takes 2.6 times its size. */
#ifndef RSET_TREE_INTERNAL_H
#define RSET_TREE_INTERNAL_H

#include "tree.h"

struct rset_tree {
    uint32_t count; /* children */
    uint32_t key;   /* bytes from this node to its key; 0: a built node */
    uint32_t child; /* bytes from this node to its first child; the others follow */
};

/* A node of a tree being built. */
typedef struct rset_built {
    rset_tree           node;  /* first, so that a pointer to one is a pointer to the other */
    int                 depth; /* 0: the root */
    uint32_t            room;  /* entries of child[] */
    struct rset_built **child; /* node.count nodes in ascending order of keys; owned */
    char                key[]; /* with its final NUL */
} rset_built;

static inline const char *
rset_node_key(const rset_tree *node)
{
    if (node->key == 0)
        return ((const rset_built *)node)->key;
    return (const char *)node + node->key;
}

static inline const rset_tree *
rset_node_child(const rset_tree *node, size_t i)
{
    if (node->key == 0)
        return &((const rset_built *)node)->child[i]->node;
    return (const rset_tree *)(const void *)((const char *)node + node->child) + i;
}

#endif
