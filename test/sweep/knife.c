/* knife.c: see knife.h. A reader of its own, for trees that are known to be valid. */
#include "knife.h"

#include "craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

struct knife {
    char    *key;
    size_t   n;
    knife  **child;
    uint8_t *bytes; /* instead of children */
    size_t   nbytes;
};

static knife *
new_node(const char *key)
{
    knife *node = calloc(1, sizeof *node);

    assert_non_null(node);
    node->key = strdup(key);
    assert_non_null(node->key);
    return node;
}

static void
adopt(knife *parent, knife *child)
{
    parent->child = realloc(parent->child, (parent->n + 1) * sizeof(knife *));
    assert_non_null(parent->child);
    parent->child[parent->n++] = child;
}

static void
drop_children(knife *node)
{
    for (size_t i = 0; i < node->n; i++)
        knife_free(node->child[i]);
    free(node->child);
    free(node->bytes);
    node->child = NULL;
    node->bytes = NULL;
    node->n = node->nbytes = 0;
}

void
knife_free(knife *tree)
{
    if (tree == NULL)
        return;
    drop_children(tree);
    free(tree->key);
    free(tree);
}

static uint32_t
take_count(const uint8_t **at)
{
    uint32_t n =
        (uint32_t)(*at)[0] << 24 | (uint32_t)(*at)[1] << 16 | (uint32_t)(*at)[2] << 8 | (*at)[3];

    *at += 4;
    return n;
}

static void
take_children(knife *node, const uint8_t **at)
{
    for (uint32_t n = take_count(at); n > 0; n--) {
        knife *child = new_node((const char *)*at);

        *at += strlen((const char *)*at) + 1;
        take_children(child, at);
        adopt(node, child);
    }
}

knife *
knife_open(const uint8_t *buf, size_t len)
{
    knife         *root = new_node("");
    const uint8_t *at = buf + RSET_TREE_HEAD;

    take_children(root, &at);
    assert_true(at + 4 <= buf + len);
    return root;
}

static void
put_children(craft *c, const knife *node)
{
    if (node->bytes != NULL) {
        craft_bytes(c, node->bytes, node->nbytes);
        return;
    }
    craft_count(c, (uint32_t)node->n);
    for (size_t i = 0; i < node->n; i++) {
        craft_key(c, node->child[i]->key);
        put_children(c, node->child[i]);
    }
}

uint8_t *
knife_seal(const knife *tree, size_t *len_out)
{
    craft c = {.buf = NULL};

    craft_begin(&c);
    put_children(&c, tree);
    craft_end(&c);
    *len_out = c.len;
    return c.buf;
}

/* ---- cuts ---- */

typedef struct cut {
    enum { VALUE, RENAME, REMOVE, DOUBLE, ADD, BYTES } how;
    const void *with;
    size_t      len;
} cut;

static knife *
copy_node(const knife *from)
{
    knife *copy = new_node(from->key);

    for (size_t i = 0; i < from->n; i++)
        adopt(copy, copy_node(from->child[i]));
    return copy;
}

static void
cut_node(knife *parent, size_t i, const cut *c)
{
    knife *node = parent->child[i];

    switch (c->how) {
    case VALUE:
        drop_children(node);
        adopt(node, new_node(c->with));
        break;
    case RENAME:
        free(node->key);
        node->key = strdup(c->with);
        break;
    case REMOVE:
        knife_free(node);
        memmove(parent->child + i, parent->child + i + 1, (--parent->n - i) * sizeof(knife *));
        break;
    case DOUBLE: adopt(parent, copy_node(node)); break;
    case ADD: adopt(node, new_node(c->with)); break;
    case BYTES:
        drop_children(node);
        node->bytes = malloc(c->len + 1);
        assert_non_null(node->bytes);
        memcpy(node->bytes, c->with, c->len);
        node->nbytes = c->len;
        break;
    }
}

static int
cut_at(knife *tree, const char *path, const cut *c)
{
    size_t      len = strcspn(path, "|");
    const char *rest = path[len] == '|' ? path + len + 1 : NULL;
    int         places = 0;

    for (size_t i = tree->n; i-- > 0;) { /* backwards: a cut may remove, or append */
        const char *key = tree->child[i]->key;

        if ((len != 1 || path[0] != '*') && (strlen(key) != len || memcmp(key, path, len) != 0))
            continue;
        if (rest != NULL) {
            places += cut_at(tree->child[i], rest, c);
        } else {
            cut_node(tree, i, c);
            places++;
        }
    }
    return places;
}

int
knife_value(knife *tree, const char *path, const char *value)
{
    return cut_at(tree, path, &(cut){.how = VALUE, .with = value});
}

int
knife_rename(knife *tree, const char *path, const char *key)
{
    return cut_at(tree, path, &(cut){.how = RENAME, .with = key});
}

int
knife_remove(knife *tree, const char *path)
{
    return cut_at(tree, path, &(cut){.how = REMOVE});
}

int
knife_double(knife *tree, const char *path)
{
    return cut_at(tree, path, &(cut){.how = DOUBLE});
}

int
knife_add(knife *tree, const char *path, const char *key)
{
    return cut_at(tree, path, &(cut){.how = ADD, .with = key});
}

int
knife_bytes(knife *tree, const char *path, const void *bytes, size_t len)
{
    return cut_at(tree, path, &(cut){.how = BYTES, .with = bytes, .len = len});
}

uint8_t *
knife_shaft(size_t depth, size_t *len_out)
{
    static const uint8_t step[] = {0, 0, 0, 1, 'k', 0};
    uint8_t             *bytes = calloc(depth + 1, sizeof step);

    assert_non_null(bytes);
    for (size_t i = 0; i < depth; i++)
        memcpy(bytes + i * sizeof step, step, sizeof step);
    *len_out = depth * sizeof step + 4; /* ends with a count of 0 */
    return bytes;
}
