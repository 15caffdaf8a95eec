/* mutations_tell.c: journals, updates and names files are made, with right checksums, whatever they tell. See mutations.h. */
#include "common/bytes.h"
#include "forge.h"
#include "mutations_internal.h"
#include "names/names_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 8, ALL = 0xffff, BOOT = 1 /* of this machine, as memfs.c has it */ };

/* ---- arguments ---- */

/* The data file of that directory in a version of the set. */
static const memfs_file *
data_of(const mutations_work *w, size_t dir, bool newer)
{
    const memfs_state *s = newer ? &w->set->newer : &w->set->older;
    char               name[32];

    snprintf(name, sizeof name, "ckpt_%zu.h5", dir);
    return memfs_find((memfs_state *)(uintptr_t)s, (int)dir, name);
}

/* The redundancy file of that directory in a version of the set. */
static const memfs_file *
redundancy_of(const mutations_work *w, size_t dir, bool newer)
{
    const memfs_state *s = newer ? &w->set->newer : &w->set->older;
    rset_name          parsed;

    for (int i = 0; i < MEMFS_FILES; i++)
        if (s->files[i].used && s->files[i].dir == (int)dir &&
            mutations_kind(&s->files[i], &parsed) == RSET_NAME_PLAIN)
            return &s->files[i];
    return NULL;
}

static uint64_t
generation_of(const mutations_work *w, bool newer)
{
    const memfs_file *f = data_of(w, 0, newer);

    return f != NULL ? rset_get64(f->mark) : 0;
}

static bool
take_generation(mutations_work *w, uint64_t *out)
{
    size_t which;

    if (!mutations_take(w, 1, &which))
        return false;
    *out = which == 0   ? 0
           : which <= 2 ? generation_of(w, which == 2)
                        : generation_of(w, true) + which;
    return true;
}

/* Adds those that are within `of`, of which both versions are given. */
static size_t
take_entries(mutations_work *w, const memfs_file *const *of, forge_entry *entries, size_t n)
{
    size_t count, off, len, version;

    if (!mutations_take(w, 1, &count))
        return n;
    for (count %= ENTRIES; count > 0 && n < ENTRIES && mutations_take(w, 2, &off) &&
                           mutations_take(w, 2, &len) && mutations_take(w, 1, &version);
         count--) {
        const memfs_file *f = of[version != 0];

        if (f == NULL || off >= f->size)
            continue;
        if (len == ALL || len > f->size - off)
            len = f->size - off;
        entries[n++] = (forge_entry){off, len, f->data + off};
    }
    return n;
}

/* A new file beside the data file of that directory; NULL: there are too many. `name` is freed. */
static memfs_file *
new_file(mutations_work *w, size_t dir, char *name, mutations_trust trust)
{
    memfs_file *f = name != NULL ? memfs_put(w->s, (int)dir, name, NULL, 0) : NULL;

    free(name);
    if (f != NULL)
        mutations_distrust(w, trust);
    return f;
}

/* ---- what is made ---- */

static char *
journal_name(const mutations_work *w, const char *prefix, size_t which)
{
    switch (which % 4) {
    case 0: return rset_name_of(RSET_NAME_UNDO, prefix, 0);
    case 1: return rset_name_of(RSET_NAME_BEGUN, prefix, generation_of(w, false));
    case 2: return rset_name_of(RSET_NAME_UNDO, prefix, generation_of(w, true));
    default: return rset_name_of(RSET_NAME_UNDO, prefix, generation_of(w, false));
    }
}

void
mutations_journal(mutations_work *w)
{
    rset_undo_head    head = {.sequence = 1, .key = 0x5eed};
    forge_entry       entries[ENTRIES];
    const memfs_file *of[2], *now;
    size_t            dir, which, state, flags, version, n;
    char              prefix[32], name[32];
    memfs_file       *f;

    if (!mutations_take(w, 1, &dir) || !mutations_take(w, 1, &which) ||
        !mutations_take(w, 1, &state) || !mutations_take(w, 1, &flags) ||
        !take_generation(w, &head.generation) || !mutations_take(w, 1, &version))
        return;
    dir %= MUTATIONS_NODES;
    snprintf(prefix, sizeof prefix, "ckpt_%zu.h5.", dir);
    snprintf(name, sizeof name, "ckpt_%zu.h5", dir);
    of[0] = data_of(w, dir, false);
    of[1] = data_of(w, dir, true);
    now = memfs_find(w->s, (int)dir, name);
    head.state = (rset_undo_state)(state % 3);
    head.flags = (unsigned)flags % 8;
    head.size = of[version != 0] != NULL ? of[version != 0]->size : 0;
    head.closed = now != NULL ? now->size : 0;
    if (head.state == RSET_UNDO_CLOSED)
        head.label = (rset_label){7, 1 + state / 3, MUTATIONS_NODES};
    n = take_entries(w, of, entries, 0);
    f = new_file(w, dir, journal_name(w, prefix, which), MUTATIONS_TOLD);
    if (f != NULL)
        forge_journal(f, &head, entries, n);
}

/* Length of the container that a redundancy file begins with. */
static size_t
head_of(const memfs_file *f)
{
    size_t total = 0;

    for (int i = 8; f->size >= 16 && i < 16; i++)
        total = total << 8 | f->data[i];
    return total <= f->size ? total : f->size;
}

void
mutations_update(mutations_work *w)
{
    forge_entry       entries[ENTRIES];
    const memfs_file *of[2], *from;
    size_t            dir, which, version, parts, n = 0;
    uint64_t          generation;
    memfs_file       *f;

    if (!mutations_take(w, 1, &dir) || !mutations_take(w, 1, &which) ||
        !take_generation(w, &generation) || !mutations_take(w, 1, &version) ||
        !mutations_take(w, 1, &parts))
        return;
    dir %= MUTATIONS_NODES;
    of[0] = redundancy_of(w, dir, false);
    of[1] = redundancy_of(w, dir, true);
    from = of[version != 0];
    if (from == NULL)
        return;
    if ((parts & 2) != 0)
        entries[n++] = (forge_entry){0, head_of(from), from->data};
    if ((parts & 4) != 0 && from->size > head_of(from))
        entries[n++] =
            (forge_entry){head_of(from), from->size - head_of(from), from->data + head_of(from)};
    n = take_entries(w, of, entries, n);
    f = new_file(w, dir,
                 rset_join_names(from->name, which % 2 != 0 ? RSET_SUFFIX_REDO : RSET_SUFFIX_NEW),
                 MUTATIONS_TOLD);
    if (f != NULL)
        forge_update(f, generation, from->size, entries, n, (parts & 1) != 0);
}

/* Stems, one after the other, each with a zero. */
static void
add_stem(forge_stems *to, const char *stem)
{
    const size_t len = strlen(stem) + 1;

    if (to->used + len > sizeof to->text)
        return;
    memcpy(to->text + to->used, stem, len);
    to->used += len;
    to->n++;
}

static void
add_generation(forge_stems *to, uint64_t generation)
{
    char stem[32];

    snprintf(stem, sizeof stem, "redset.%016llx", (unsigned long long)generation);
    add_stem(to, stem);
}

void
mutations_list(mutations_work *w)
{
    forge_stems    list = {.used = 0};
    const uint64_t older[] = {generation_of(w, true), generation_of(w, false)};
    size_t         dir, how, which;
    char           prefix[32];
    memfs_file    *f;

    if (!mutations_take(w, 1, &dir) || !mutations_take(w, 1, &how) || !mutations_take(w, 2, &which))
        return;
    dir %= MUTATIONS_NODES;
    snprintf(prefix, sizeof prefix, "ckpt_%zu.h5.", dir);
    for (int i = 0; i < w->nfiles; i++) {
        bool  fixed;
        char *stem =
            w->files[i]->dir == (int)dir ? rset_stem_of(w->files[i]->name, prefix, &fixed) : NULL;

        if (stem != NULL && (which & 1) != 0)
            add_stem(&list, stem);
        which >>= stem != NULL;
        free(stem);
    }
    if ((how & 2) != 0)
        add_generation(&list, generation_of(w, false));
    if ((how & 4) != 0)
        add_generation(&list, generation_of(w, true));
    f = new_file(w, dir, rset_join_names(prefix, RSET_NAME_NAMES), MUTATIONS_TOLD);
    if (f != NULL)
        forge_list(f, BOOT + (how & 1), &list, older + (how >> 3 & 1), how >> 4 & 1);
}
