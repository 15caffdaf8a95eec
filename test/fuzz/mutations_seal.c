/* mutations_seal.c: checksums are made to fit what was changed. See mutations.h. */
#include "craft.h"
#include "forge.h"
#include "hostile_edits.h"
#include "knife.h"
#include "mutations_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_FILES = 255, NUMBER = 24 };

/* Is the content one that the engine wrote? Then sealing it forges nothing. */
static bool
genuine(const mutations_work *w, const memfs_file *f)
{
    const memfs_state *states[] = {&w->set->older, &w->set->newer};

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < MEMFS_FILES; k++) {
            const memfs_file *g = &states[i]->files[k];

            if (g->used && g->size == f->size && memcmp(g->data, f->data, f->size) == 0)
                return true;
        }
    return false;
}

/* The container that a file begins with, for a file whose payload is still as long as it was. */
static size_t
container_length(const mutations_work *w, const memfs_file *f)
{
    memfs_state      *newer = (memfs_state *)(uintptr_t)&w->set->newer;
    char             *bare = rset_bare_name(f->name);
    const memfs_file *was = bare != NULL ? memfs_find(newer, f->dir, bare) : NULL;
    size_t            payload = 0, total = 0;

    free(bare);
    for (int i = 8; was != NULL && was->size > 16 && i < 16; i++)
        total = total << 8 | was->data[i];
    if (was != NULL && total > 0 && total <= was->size)
        payload = was->size - total;
    return f->size > payload + RSET_TREE_HEAD + 8 ? f->size - payload : f->size;
}

static void
seal_container(mutations_work *w, memfs_file *f)
{
    size_t total = container_length(w, f);

    if (f->size < RSET_TREE_HEAD + 8 || genuine(w, f))
        return;
    mutations_distrust(w, MUTATIONS_FORGED);
    craft_number_at(f->data + 8, 8, total);
    craft_seal(f->data, total);
}

/* By the table of names: what has checksums of its own. */
static void
seal(mutations_work *w, memfs_file *f)
{
    rset_name parsed;
    bool      mended = false;

    switch (mutations_kind(f, &parsed)) {
    case RSET_NAME_DESC:
    case RSET_NAME_PLAIN:
    case RSET_NAME_VOID:
    case RSET_NAME_NEW:
    case RSET_NAME_FIX:
        if (!(mended = forge_mend_update(f)))
            seal_container(w, f);
        break;
    case RSET_NAME_REDO: mended = forge_mend_update(f); break;
    case RSET_NAME_BEGUN:
    case RSET_NAME_UNDO: mended = forge_mend_journal(f); break;
    case RSET_NAME_LIST: mended = forge_mend_list(f); break;
    case RSET_NAME_SHADOW:
    case RSET_NAME_DATA:
    case RSET_NAME_NEWER:
    case RSET_NAME_LOST:
    case RSET_NAME_CHANGED:
    case RSET_NAME_OTHER: break; /* data: what it should be is recorded elsewhere */
    }
    if (mended)
        mutations_distrust(w, MUTATIONS_TOLD);
}

void
mutations_seal(mutations_work *w)
{
    size_t number;

    if (!mutations_take(w, 1, &number) || w->nfiles == 0)
        return;
    for (int i = 0; i < w->nfiles; i++)
        if (number == ALL_FILES || (int)(number % (size_t)w->nfiles) == i)
            seal(w, w->files[i]);
}

/* ---- headers that say something else ---- */

/* Is it a redundancy file that can be cut open? *head_out: its container's length. */
static bool
is_open_to_cuts(const memfs_file *f, rset_name *name, size_t *head_out)
{
    rset_tree *tree = NULL;
    bool       ok = rset_format_parse_name(f->name, name) && name->scheme != NULL &&
              f->size > RSET_TREE_HEAD &&
              rset_tree_total(f->data, f->size, "", head_out, NULL) == RSET_OK &&
              rset_tree_unpack(f->data, *head_out, "", &tree, NULL) == RSET_OK;

    rset_tree_free(tree);
    return ok;
}

void
mutations_edit(mutations_work *w)
{
    static const hostile_edit *edits;
    static int                 n;
    memfs_file                *f = mutations_take_file(w);
    rset_name                  name;
    size_t                     number, head, size = 0;
    uint8_t                   *cut;

    if (edits == NULL)
        edits = hostile_edits("/outside/victim", &n);
    if (f == NULL || !mutations_take(w, 2, &number) || !is_open_to_cuts(f, &name, &head))
        return;
    number %= (size_t)n;
    if (edits[number].how >= EDIT_SHAFT && edits[number].number > MEMFS_MOST / 16 &&
        edits[number].how != EDIT_COUNT && edits[number].how != EDIT_TOTAL)
        return; /* too long for these files */
    cut = hostile_cut(&edits[number], 1, f->data, f->size, head, &size);
    if (cut == NULL)
        return;
    mutations_distrust(w, MUTATIONS_FORGED);
    memfs_resize(f, size);
    memcpy(f->data, cut, size);
    free(cut);
}

/* Writes size and sums of `bytes` below `at` in the tree. */
static void
put_sums(knife *tree, const char *at, const uint8_t *bytes, size_t size)
{
    uint64_t  block = rset_sums_block_size(size, 1024);
    rset_sums sums;
    char      path[128], text[NUMBER], *blocks;

    if (rset_sums_init(&sums, size, block) != 0)
        abort();
    rset_sums_add(&sums, 0, bytes, size);
    rset_sums_finish(&sums);
    blocks = calloc(sums.nblocks + 1, 16 + 1);
    if (blocks == NULL)
        abort();
    for (size_t b = 0; b < sums.nblocks; b++)
        snprintf(blocks + 16 * b, 17, "%016llx", (unsigned long long)sums.crc[b]);
    snprintf(text, sizeof text, "%zu", size);
    snprintf(path, sizeof path, "%s|SIZE", at);
    knife_value(tree, path, text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)block);
    snprintf(path, sizeof path, "%s|CRC64_BLOCK", at);
    knife_value(tree, path, text);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sums.whole);
    snprintf(path, sizeof path, "%s|CRC64", at);
    knife_value(tree, path, text);
    snprintf(path, sizeof path, "%s|CRC64_BLOCKS", at);
    knife_value(tree, path, blocks);
    free(blocks);
    rset_sums_free(&sums);
}

void
mutations_fit_sums(mutations_work *w)
{
    for (int i = 0; i < w->nfiles; i++) {
        memfs_file *f = w->files[i];
        rset_name   name;
        size_t      head, len;
        knife      *tree;
        uint8_t    *bytes;

        if (!is_open_to_cuts(f, &name, &head))
            continue;
        tree = knife_open(f->data, head);
        for (int r = 0; r < 4; r++) {
            char              data[32], path[64];
            const memfs_file *d;

            snprintf(data, sizeof data, "ckpt_%d.h5", r);
            snprintf(path, sizeof path, "DESC|%d|FILE|0|*", r);
            d = memfs_find(w->s, r, data);
            if (d != NULL && d->kind == MEMFS_FILE)
                put_sums(tree, path, d->data, d->size);
        }
        put_sums(tree, "PAYLOAD", f->data + head, f->size - head);
        bytes = knife_seal(tree, &len);
        knife_free(tree);
        if (len == head) {
            memcpy(f->data, bytes, len);
        } else { /* a number got longer or shorter: move the payload */
            size_t payload = f->size - head;

            bytes = realloc(bytes, len + payload + 1);
            if (bytes == NULL)
                abort();
            memcpy(bytes + len, f->data + head, payload);
            memfs_resize(f, len + payload);
            memcpy(f->data, bytes, len + payload);
        }
        free(bytes);
    }
    mutations_distrust(w, MUTATIONS_FORGED);
}
