/* tree.c: trees in memory: building them, looking things up, numbers as text. See tree.h; from bytes
 * and to bytes: tree_pack.c. */
#include "tree_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT = 21 }; /* digits of 2^64-1 and NUL */

static rset_built *
built_new(const char *key, int depth)
{
    size_t      len = strlen(key) + 1;
    rset_built *built;

    if (len > RSET_TREE_MAX_BYTES)
        return NULL;
    built = calloc(1, sizeof *built + len);
    if (built == NULL)
        return NULL;
    built->depth = depth;
    memcpy(built->key, key, len);
    return built;
}

/* At most RSET_TREE_MAX_DEPTH frames: rset_tree_add makes nothing deeper, leaves need none. */
static void
built_clear(rset_built *built)
{
    for (uint32_t i = 0; i < built->node.count; i++) {
        if (built->child[i]->room > 0)
            built_clear(built->child[i]);
        free(built->child[i]);
    }
    free(built->child);
    built->child = NULL;
    built->node.count = 0;
    built->room = 0;
}

rset_tree *
rset_tree_new(void)
{
    rset_built *built = built_new("", 0);

    return built == NULL ? NULL : &built->node;
}

void
rset_tree_free(rset_tree *tree)
{
    if (tree == NULL)
        return;
    if (tree->key == 0)
        built_clear((rset_built *)tree);
    free(tree);
}

/* Where `key` stands among the children, or would have to stand. */
static size_t
locate(const rset_tree *tree, const char *key, bool *found_out)
{
    size_t low = 0, high = tree->count;

    *found_out = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int    order = strcmp(rset_node_key(rset_node_child(tree, mid)), key);

        if (order == 0) {
            *found_out = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool
make_room(rset_built *built)
{
    uint32_t     room = built->room == 0 ? 2 : built->room * 2;
    rset_built **child;

    if (built->node.count < built->room)
        return true;
    if (room > RSET_TREE_MAX_BYTES) /* more children than any container can hold */
        return false;
    child = realloc(built->child, room * sizeof *child);
    if (child == NULL)
        return false;
    built->child = child;
    built->room = room;
    return true;
}

rset_tree *
rset_tree_add(rset_tree *tree, const char *key)
{
    rset_built *built = (rset_built *)tree, *child;
    bool        found;
    size_t      at;

    if (tree == NULL || tree->key != 0 || built->depth >= RSET_TREE_MAX_DEPTH)
        return NULL;
    at = locate(tree, key, &found);
    if (found)
        return &built->child[at]->node;
    if (!make_room(built))
        return NULL;
    child = built_new(key, built->depth + 1);
    if (child == NULL)
        return NULL;
    memmove(built->child + at + 1, built->child + at,
            (built->node.count - at) * sizeof *built->child);
    built->child[at] = child;
    built->node.count++;
    return &child->node;
}

rset_tree *
rset_tree_add_u64(rset_tree *tree, uint64_t key)
{
    char text[NUMBER_TEXT];

    snprintf(text, sizeof text, "%" PRIu64, key);
    return rset_tree_add(tree, text);
}

rset_tree *
rset_tree_set(rset_tree *tree, const char *name, const char *value)
{
    rset_tree *sub = rset_tree_add(tree, name);

    if (sub == NULL)
        return NULL;
    built_clear((rset_built *)sub);
    return rset_tree_add(sub, value) == NULL ? NULL : sub;
}

rset_tree *
rset_tree_set_u64(rset_tree *tree, const char *name, uint64_t value)
{
    char text[NUMBER_TEXT];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return rset_tree_set(tree, name, text);
}

size_t
rset_tree_count(const rset_tree *tree)
{
    return tree == NULL ? 0 : tree->count;
}

const char *
rset_tree_key(const rset_tree *tree, size_t i)
{
    return i < rset_tree_count(tree) ? rset_node_key(rset_node_child(tree, i)) : NULL;
}

const rset_tree *
rset_tree_child(const rset_tree *tree, size_t i)
{
    return i < rset_tree_count(tree) ? rset_node_child(tree, i) : NULL;
}

const rset_tree *
rset_tree_find(const rset_tree *tree, const char *key)
{
    bool   found = false;
    size_t at = tree == NULL ? 0 : locate(tree, key, &found);

    return found ? rset_node_child(tree, at) : NULL;
}

const rset_tree *
rset_tree_find_u64(const rset_tree *tree, uint64_t key)
{
    char text[NUMBER_TEXT];

    snprintf(text, sizeof text, "%" PRIu64, key);
    return rset_tree_find(tree, text);
}

const char *
rset_tree_value(const rset_tree *tree, const char *name)
{
    const rset_tree *sub = rset_tree_find(tree, name);

    if (sub == NULL || sub->count != 1 || rset_node_child(sub, 0)->count != 0)
        return NULL;
    return rset_node_key(rset_node_child(sub, 0));
}

bool
rset_tree_value_u64(const rset_tree *tree, const char *name, uint64_t max, uint64_t *out)
{
    const char *text = rset_tree_value(tree, name);

    return text != NULL && rset_text_u64(text, max, out);
}

bool
rset_text_u64(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
        return false;
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';

        if (digit > 9 || digit > max || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}
