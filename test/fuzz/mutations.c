/* mutations.c: see mutations.h. What makes checksums fit: mutations_seal.c; what makes files: mutations_tell.c. */
#include "mutations_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

bool
mutations_take(mutations_work *w, int bytes, size_t *out)
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
list_files(mutations_work *w)
{
    w->nfiles = 0;
    for (int i = 0; i < MEMFS_FILES; i++)
        if (w->s->files[i].used && !w->s->files[i].unlinked)
            w->files[w->nfiles++] = &w->s->files[i];
    if (w->nfiles > 0)
        qsort(w->files, (size_t)w->nfiles, sizeof *w->files, by_name);
}

memfs_file *
mutations_take_file(mutations_work *w)
{
    size_t number;

    return mutations_take(w, 1, &number) && w->nfiles > 0 ? w->files[number % (size_t)w->nfiles]
                                                          : NULL;
}

void
mutations_distrust(mutations_work *w, mutations_trust trust)
{
    w->trust = trust > w->trust ? trust : w->trust;
}

rset_name_kind
mutations_kind(const memfs_file *f, rset_name *parsed_out)
{
    char     prefix[32];
    uint64_t generation;

    snprintf(prefix, sizeof prefix, "ckpt_%d.h5.", f->dir);
    return rset_name_classify(f->name, prefix, parsed_out, &generation);
}

/* ---- bytes ---- */

static void
patch(mutations_work *w, bool insert)
{
    memfs_file *f = mutations_take_file(w);
    size_t      off, len, room = (size_t)(w->end - w->at);

    if (f == NULL || !mutations_take(w, 2, &off) || !mutations_take(w, 1, &len))
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
cut_out(mutations_work *w)
{
    memfs_file *f = mutations_take_file(w);
    size_t      off, len;

    if (f == NULL || !mutations_take(w, 2, &off) || !mutations_take(w, 2, &len) || off >= f->size)
        return;
    len = len < f->size - off ? len : f->size - off;
    memmove(f->data + off, f->data + off + len, f->size - off - len);
    memfs_resize(f, f->size - len);
}

static void
resize(mutations_work *w)
{
    memfs_file *f = mutations_take_file(w);
    size_t      size;

    if (f != NULL && mutations_take(w, 3, &size))
        memfs_resize(f, size % MEMFS_MOST);
}

/* ---- files ---- */

static void
copy(mutations_work *w)
{
    memfs_file *to = mutations_take_file(w), *from = mutations_take_file(w);

    if (to == NULL || from == NULL || to == from)
        return;
    memfs_resize(to, from->size);
    memcpy(to->data, from->data, from->size);
}

static void
suffix(mutations_work *w)
{
    static const char *const suffixes[] = {".void", ".new", ".fix"};
    memfs_file              *f = mutations_take_file(w);
    size_t                   which, len;
    char                     name[MEMFS_NAME + 8];

    if (f == NULL || !mutations_take(w, 1, &which))
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
make_object(mutations_work *w)
{
    memfs_file *f = mutations_take_file(w);
    size_t      kind;

    if (f == NULL || !mutations_take(w, 1, &kind))
        return;
    f->kind = (memfs_kind)(kind % (MEMFS_FIFO + 1));
    if (f->kind != MEMFS_FILE)
        memfs_resize(f, 0);
}

static void
bring_older(mutations_work *w, memfs_file *f)
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
whole_node(mutations_work *w, bool lose)
{
    size_t dir;

    if (!mutations_take(w, 1, &dir))
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
set_mark(mutations_work *w)
{
    memfs_file       *f = mutations_take_file(w);
    const memfs_file *from;
    memfs_state      *at;
    size_t            which;

    if (f == NULL || !mutations_take(w, 1, &which))
        return;
    f->has_mark = which != 0;
    memset(f->mark, (int)which, sizeof f->mark);
    at = (memfs_state *)(uintptr_t)(which == 1 ? &w->set->older : &w->set->newer);
    from = memfs_find(at, f->dir, f->name);
    if (which <= 2 && from != NULL && from->has_mark)
        memcpy(f->mark, from->mark, sizeof f->mark);
}

/* ---- the list ---- */

static void
one(mutations_work *w, int what)
{
    memfs_file *f;

    switch (what) {
    case MUTATE_PATCH: patch(w, false); break;
    case MUTATE_INSERT: patch(w, true); break;
    case MUTATE_DELETE: cut_out(w); break;
    case MUTATE_RESIZE: resize(w); break;
    case MUTATE_REMOVE:
        f = mutations_take_file(w);
        if (f != NULL)
            memfs_remove(f);
        break;
    case MUTATE_COPY: copy(w); break;
    case MUTATE_SUFFIX: suffix(w); break;
    case MUTATE_OBJECT: make_object(w); break;
    case MUTATE_OLD:
        f = mutations_take_file(w);
        if (f != NULL)
            bring_older(w, f);
        break;
    case MUTATE_OLD_NODE: whole_node(w, false); break;
    case MUTATE_LOSE: whole_node(w, true); break;
    case MUTATE_MARK: set_mark(w); break;
    case MUTATE_SEAL: mutations_seal(w); break;
    case MUTATE_EDIT: mutations_edit(w); break;
    case MUTATE_SUMS: mutations_fit_sums(w); break;
    case MUTATE_JOURNAL: mutations_journal(w); break;
    case MUTATE_UPDATE: mutations_update(w); break;
    case MUTATE_LIST: mutations_list(w); break;
    default: break;
    }
}

mutations_trust
mutations_do(const mutations_set *set, memfs_state *s, const uint8_t *bytes, size_t size)
{
    mutations_work w = {.set = set, .s = s, .at = bytes, .end = bytes + size};
    size_t         what;

    while (mutations_take(&w, 1, &what)) {
        const bool itself = what >= MUTATE_JOURNAL && what <= MUTATE_LIST;

        list_files(&w);
        one(&w, (int)(itself ? what : what % MUTATIONS));
    }
    return w.trust;
}
