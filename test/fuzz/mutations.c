/* mutations.c: see mutations.h. */
#include "mutations.h"

#include "craft.h"
#include "format/format.h"
#include "hostile_edits.h"
#include "knife.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_FILES = 255, NUMBER = 24 };

typedef struct work {
    const mutations_set *set;
    memfs_state         *s;
    const uint8_t       *at, *end;
    bool                 forged;
    memfs_file          *files[MEMFS_FILES];
    int                  nfiles;
} work;

/* ---- arguments ---- */

static bool
take(work *w, int bytes, size_t *out)
{
    *out = 0;
    if (w->end - w->at < bytes)
        return false;
    while (bytes-- > 0)
        *out = *out << 8 | *w->at++;
    return true;
}

static int
by_name(const void *a, const void *b)
{
    const memfs_file *x = *(memfs_file *const *)a, *y = *(memfs_file *const *)b;

    return x->dir != y->dir ? x->dir - y->dir : strcmp(x->name, y->name);
}

static void
list_files(work *w)
{
    w->nfiles = 0;
    for (int i = 0; i < MEMFS_FILES; i++)
        if (w->s->files[i].used && !w->s->files[i].unlinked)
            w->files[w->nfiles++] = &w->s->files[i];
    if (w->nfiles > 0)
        qsort(w->files, (size_t)w->nfiles, sizeof *w->files, by_name);
}

static memfs_file *
take_file(work *w)
{
    size_t number;

    return take(w, 1, &number) && w->nfiles > 0 ? w->files[number % (size_t)w->nfiles] : NULL;
}

/* ---- bytes ---- */

static void
patch(work *w, bool insert)
{
    memfs_file *f = take_file(w);
    size_t      off, len, room = (size_t)(w->end - w->at);

    if (f == NULL || !take(w, 2, &off) || !take(w, 1, &len))
        return;
    room = (size_t)(w->end - w->at);
    len = len < room ? len : room;
    off = off < f->size ? off : f->size;
    if (insert) {
        size_t old = f->size;

        memfs_resize(f, old + len);
        memmove(f->data + off + len, f->data + off, old - off);
    } else if (off + len > f->size) {
        len = f->size - off;
    }
    memcpy(f->data + off, w->at, len);
    w->at += len;
}

static void
cut_out(work *w)
{
    memfs_file *f = take_file(w);
    size_t      off, len;

    if (f == NULL || !take(w, 2, &off) || !take(w, 2, &len) || off >= f->size)
        return;
    len = len < f->size - off ? len : f->size - off;
    memmove(f->data + off, f->data + off + len, f->size - off - len);
    memfs_resize(f, f->size - len);
}

static void
resize(work *w)
{
    memfs_file *f = take_file(w);
    size_t      size;

    if (f != NULL && take(w, 3, &size))
        memfs_resize(f, size % MEMFS_MOST);
}

/* ---- files ---- */

static void
copy(work *w)
{
    memfs_file *to = take_file(w), *from = take_file(w);

    if (to == NULL || from == NULL || to == from)
        return;
    memfs_resize(to, from->size);
    memcpy(to->data, from->data, from->size);
}

static void
suffix(work *w)
{
    static const char *const suffixes[] = {".void", ".new", ".fix"};
    memfs_file              *f = take_file(w);
    size_t                   which, len;
    char                     name[MEMFS_NAME + 8];

    if (f == NULL || !take(w, 1, &which))
        return;
    which %= sizeof suffixes / sizeof *suffixes;
    len = strlen(f->name) - strlen(suffixes[which]);
    if (strlen(f->name) > strlen(suffixes[which]) && strcmp(f->name + len, suffixes[which]) == 0)
        snprintf(name, sizeof name, "%.*s", (int)len, f->name);
    else
        snprintf(name, sizeof name, "%s%s", f->name, suffixes[which]);
    if (strlen(name) < sizeof f->name && memfs_find(w->s, f->dir, name) == NULL)
        memcpy(f->name, name, strlen(name) + 1);
}

static void
make_object(work *w)
{
    memfs_file *f = take_file(w);
    size_t      kind;

    if (f == NULL || !take(w, 1, &kind))
        return;
    f->kind = (memfs_kind)(kind % (MEMFS_FIFO + 1));
    if (f->kind != MEMFS_FILE)
        memfs_resize(f, 0);
}

static void
bring_older(work *w, memfs_file *f)
{
    memfs_state      *older = (memfs_state *)(uintptr_t)&w->set->older; /* only looked at */
    const memfs_file *from = memfs_find(older, f->dir, f->name);

    if (from == NULL)
        return;
    memfs_resize(f, from->size);
    memcpy(f->data, from->data, from->size);
    memcpy(f->mark, from->mark, sizeof f->mark);
    f->has_mark = from->has_mark;
}

static void
whole_node(work *w, bool lose)
{
    size_t dir;

    if (!take(w, 1, &dir))
        return;
    for (int i = 0; i < w->nfiles; i++) {
        if (w->files[i]->dir != (int)(dir % 4))
            continue;
        if (lose)
            memfs_remove(w->files[i]);
        else
            bring_older(w, w->files[i]);
    }
}

static void
set_mark(work *w)
{
    memfs_file       *f = take_file(w);
    const memfs_file *from;
    memfs_state      *at;
    size_t            which;

    if (f == NULL || !take(w, 1, &which))
        return;
    f->has_mark = which != 0;
    memset(f->mark, (int)which, sizeof f->mark);
    at = (memfs_state *)(uintptr_t)(which == 1 ? &w->set->older : &w->set->newer);
    from = memfs_find(at, f->dir, f->name);
    if (which <= 2 && from != NULL && from->has_mark)
        memcpy(f->mark, from->mark, sizeof f->mark);
}

/* ---- checksums ---- */

/* Is the content one that the engine wrote? Then sealing it forges nothing. */
static bool
genuine(const work *w, const memfs_file *f)
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
container_length(const work *w, const memfs_file *f)
{
    memfs_state      *newer = (memfs_state *)(uintptr_t)&w->set->newer;
    const memfs_file *was = memfs_find(newer, f->dir, f->name);
    size_t            payload = 0, total = 0;

    for (int i = 8; was != NULL && was->size > 16 && i < 16; i++)
        total = total << 8 | was->data[i];
    if (was != NULL && total > 0 && total <= was->size)
        payload = was->size - total;
    return f->size > payload + RSET_TREE_HEAD + 8 ? f->size - payload : f->size;
}

static void
seal(work *w, memfs_file *f)
{
    size_t total = container_length(w, f);

    if (strstr(f->name, "redset") == NULL || f->size < RSET_TREE_HEAD + 8 || genuine(w, f))
        return;
    w->forged = true;
    craft_number_at(f->data + 8, 8, total);
    craft_seal(f->data, total);
}

static void
seal_some(work *w)
{
    size_t number;

    if (!take(w, 1, &number) || w->nfiles == 0)
        return;
    for (int i = 0; i < w->nfiles; i++)
        if (number == ALL_FILES || (int)(number % (size_t)w->nfiles) == i)
            seal(w, w->files[i]);
}

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

static void
edit(work *w)
{
    static const hostile_edit *edits;
    static int                 n;
    memfs_file                *f = take_file(w);
    rset_name                  name;
    size_t                     number, head, size = 0;
    uint8_t                   *cut;

    if (edits == NULL)
        edits = hostile_edits("/outside/victim", &n);
    if (f == NULL || !take(w, 2, &number) || !is_open_to_cuts(f, &name, &head))
        return;
    number %= (size_t)n;
    if (edits[number].how >= EDIT_SHAFT && edits[number].number > MEMFS_MOST / 16 &&
        edits[number].how != EDIT_COUNT && edits[number].how != EDIT_TOTAL)
        return; /* too long for these files */
    cut = hostile_cut(&edits[number], 1, f->data, f->size, head, &size);
    if (cut == NULL)
        return;
    w->forged = true;
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

static void
fit_sums(work *w)
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
    w->forged = true;
}

/* ---- the list ---- */

static void
one(work *w, int what)
{
    memfs_file *f;

    switch (what) {
    case MUTATE_PATCH: patch(w, false); break;
    case MUTATE_INSERT: patch(w, true); break;
    case MUTATE_DELETE: cut_out(w); break;
    case MUTATE_RESIZE: resize(w); break;
    case MUTATE_REMOVE:
        f = take_file(w);
        if (f != NULL)
            memfs_remove(f);
        break;
    case MUTATE_COPY: copy(w); break;
    case MUTATE_SUFFIX: suffix(w); break;
    case MUTATE_OBJECT: make_object(w); break;
    case MUTATE_OLD:
        f = take_file(w);
        if (f != NULL)
            bring_older(w, f);
        break;
    case MUTATE_OLD_NODE: whole_node(w, false); break;
    case MUTATE_LOSE: whole_node(w, true); break;
    case MUTATE_MARK: set_mark(w); break;
    case MUTATE_SEAL: seal_some(w); break;
    case MUTATE_EDIT: edit(w); break;
    case MUTATE_SUMS: fit_sums(w); break;
    default: break;
    }
}

void
mutations_do(const mutations_set *set, memfs_state *s, const uint8_t *bytes, size_t size,
             bool *forged_out)
{
    work   w = {.set = set, .s = s, .at = bytes, .end = bytes + size};
    size_t what;

    while (take(&w, 1, &what)) {
        list_files(&w);
        one(&w, (int)(what % MUTATIONS));
    }
    *forged_out = w.forged;
}
