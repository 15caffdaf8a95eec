/* memfs_state.c: what directories in memory hold. See memfs.h. */
#include "memfs.h"

#include <stdlib.h>
#include <string.h>

void
memfs_clear(memfs_state *s)
{
    for (int i = 0; i < MEMFS_FILES; i++)
        free(s->files[i].data);
    memset(s, 0, sizeof *s);
}

void
memfs_copy(memfs_state *to, const memfs_state *from)
{
    memfs_clear(to);
    for (int i = 0; i < MEMFS_FILES; i++) {
        const memfs_file *f = &from->files[i];

        if (!f->used || f->unlinked)
            continue;
        to->files[i] = *f;
        to->files[i].opened = 0;
        to->files[i].data = malloc(f->size + 1);
        if (to->files[i].data == NULL)
            abort();
        if (f->size > 0)
            memcpy(to->files[i].data, f->data, f->size);
    }
}

memfs_file *
memfs_find(memfs_state *s, int dir, const char *name)
{
    for (int i = 0; i < MEMFS_FILES; i++) {
        memfs_file *f = &s->files[i];

        if (f->used && !f->unlinked && f->dir == dir && strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

void
memfs_resize(memfs_file *f, size_t size)
{
    uint8_t *grown = realloc(f->data, size + 1);

    if (grown == NULL)
        abort();
    if (size > f->size)
        memset(grown + f->size, 0, size - f->size);
    f->data = grown;
    f->size = size;
}

memfs_file *
memfs_new(memfs_state *s, int dir, const char *name)
{
    for (int i = 0; i < MEMFS_FILES; i++) {
        memfs_file *f = &s->files[i];

        if (f->used || strlen(name) >= sizeof f->name)
            continue;
        *f = (memfs_file){.used = true, .dir = dir, .mode = 0644};
        memcpy(f->name, name, strlen(name) + 1);
        return f;
    }
    return NULL;
}

void
memfs_remove(memfs_file *f)
{
    f->unlinked = true;
    if (f->opened > 0)
        return;
    free(f->data);
    memset(f, 0, sizeof *f);
}

memfs_file *
memfs_put(memfs_state *s, int dir, const char *name, const void *data, size_t size)
{
    memfs_file *f = memfs_find(s, dir, name);

    if (f != NULL)
        memfs_remove(f);
    f = memfs_new(s, dir, name);
    if (f == NULL)
        return NULL;
    memfs_resize(f, size);
    if (data != NULL && size > 0)
        memcpy(f->data, data, size);
    return f;
}

static bool
same_file(const memfs_file *a, const memfs_file *b)
{
    return a->kind == b->kind && a->mode == b->mode && a->size == b->size &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0) && a->has_mark == b->has_mark &&
           memcmp(a->mark, b->mark, sizeof a->mark) == 0;
}

/* Every file of a stands in b as well. */
static bool
within(const memfs_state *a, const memfs_state *b)
{
    for (int i = 0; i < MEMFS_FILES; i++) {
        const memfs_file *f = &a->files[i], *g;

        if (!f->used || f->unlinked)
            continue;
        g = memfs_find((memfs_state *)(uintptr_t)b, f->dir, f->name);
        if (g == NULL || !same_file(f, g))
            return false;
    }
    return true;
}

bool
memfs_same(const memfs_state *a, const memfs_state *b)
{
    return within(a, b) && within(b, a);
}
