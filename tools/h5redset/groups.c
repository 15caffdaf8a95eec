/* groups.c: see groups.h. */
#include "groups.h"

#include "common/crc64.h"
#include "rendezvous/rendezvous.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 5 };

typedef struct naming {
    uint64_t owner, code, kind;
    bool     together;
    size_t   at; /* which sighting */
} naming;

/* Without a generation: whoever was protected in the same way. Below all generations. */
static uint64_t
foreign_code(const rset_desc *d)
{
    uint64_t h = (uint64_t)(unsigned char)d->scheme->name[0];

    h = (h * 257 + (uint64_t)d->parity) * 65537;
    h = (h + (uint64_t)d->sets) * 65537 + (uint64_t)d->ranks;
    return (h & ((UINT64_C(1) << RSET_GENERATION_RANDOM_BITS) - 1)) | 1;
}

static int
codes_of(const sighting *s, uint64_t *out)
{
    const rset_info *own = sighting_records(s)->infos;
    int              n = 0;

    if (own != NULL)
        out[n++] = own->desc.generation != 0 ? own->desc.generation : foreign_code(&own->desc);
    if (s->said.next != 0)
        out[n++] = s->said.next;
    if (s->said.mark != 0)
        out[n++] = s->said.mark;
    if (s->said.has_desc && s->said.desc.generation != 0)
        out[n++] = s->said.desc.generation;
    if (s->said.undo.there && s->said.undo.head.generation != 0)
        out[n++] = s->said.undo.head.generation;
    return n;
}

static int
by_code(const void *a, const void *b)
{
    const naming *x = a, *y = b;

    if (x->owner != y->owner)
        return (x->owner > y->owner) - (x->owner < y->owner);
    if (x->code != y->code)
        return (x->code > y->code) - (x->code < y->code);
    return (x->kind > y->kind) - (x->kind < y->kind);
}

size_t
group_root(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* All of one owner that name one code: files that were committed together have that in common, and are no family for it. */
static void
join(size_t *parent, const naming *all, size_t n)
{
    bool together = false;

    for (size_t i = 0; i < n; i++)
        together = together || all[i].together;
    for (size_t i = 1; i < n; i++)
        if (!together || all[i].kind == all[i - 1].kind)
            parent[group_root(parent, all[i].at)] = group_root(parent, all[i - 1].at);
}

size_t *
groups_find(const sightings *list)
{
    size_t *parent = must_alloc((list->n + 1) * sizeof *parent);
    naming *all = must_alloc((list->n * CODES_MAX + 1) * sizeof *all);
    size_t  n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const sighting  *s = &list->at[i];
        const rset_info *own = sighting_records(s)->infos;
        const uint64_t   kind = sighting_kind(s);
        uint64_t         codes[CODES_MAX];
        const int        count = codes_of(s, codes);

        parent[i] = i;
        for (int k = 0; k < count; k++)
            all[n++] = (naming){s->owner, codes[k], kind, own != NULL && own->together != NULL, i};
    }
    qsort(all, n, sizeof *all, by_code);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1;
             end < n && all[end].code == all[i].code && all[end].owner == all[i].owner;)
            end++;
        join(parent, all + i, end - i);
    }
    for (size_t i = 0; i < list->n; i++)
        parent[i] = group_root(parent, i);
    free(all);
    return parent;
}

/* ---- changes of name ---- */

static const char digits[] = "0123456789";

/* Where the suffix begins whose digits say what the file is, not which: as for the kinds of files of a rendezvous. */
static const char *
suffix_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot == NULL || dot[1 + strspn(dot + 1, digits)] == '\0' ? name + strlen(name) : dot;
}

/* How many characters come before the next number, or the end. */
static size_t
text_length(const char *at, const char *suffix)
{
    size_t n = 0;

    while (at[n] != '\0' && (at + n >= suffix || strchr(digits, at[n]) == NULL))
        n++;
    return n;
}

/* `name` as it would be had it been changed as `old` was into `new`, which have the same numbers; the digits of a suffix like
 * ".h5" are none. NULL: it was changed in another way, or `name` differs from `old` in more than its numbers. A new string. */
static char *
renamed_like(const char *old, const char *new, const char *name)
{
    const char *ends[] = {suffix_of(old), suffix_of(new), suffix_of(name)};
    char       *made = must_copy("");
    bool        same = true;

    while (same && (*old != '\0' || *new != '\0' || *name != '\0')) {
        const size_t text = text_length(old, ends[0]), to = text_length(new, ends[1]);
        const size_t n = strspn(old + text, digits), k = strspn(name + text, digits);
        char        *longer;

        same = text == text_length(name, ends[2]) && strncmp(old, name, text) == 0 &&
               n == strspn(new + to, digits) && strncmp(old + text, new + to, n) == 0 &&
               (n > 0) == (k > 0);
        if (!same)
            break;
        longer = must_print("%s%.*s%.*s", made, (int)to, new, (int)k, name + text);
        free(made);
        made = longer;
        old += text + n;
        new += to + n;
        name += text + k;
    }
    if (same)
        return made;
    free(made);
    return NULL;
}

/* ---- families ---- */

/* The base name under which a member is recorded. */
static const char *
recorded_name(const member *m)
{
    return rset_path_base(recorded_path(m->known));
}

static bool
is_renamed(const member *m)
{
    return m->known != NULL && m->own && m->seen->renamed;
}

/* The one that all others are compared with; NULL: none was renamed. */
static const member *
find_renamed(const family *f)
{
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        if (is_renamed(m))
            return m;
    return NULL;
}

/* Is this one's name changed as that one's, or will be once it is found or rebuilt? */
static bool
goes_along(const member *m, const member *first)
{
    char *name;
    bool  is;

    if (m->known == NULL)
        return true;
    name = renamed_like(recorded_name(first), first->seen->name, recorded_name(m));
    is = name != NULL && (!m->own || (m->seen->renamed && strcmp(m->seen->name, name) == 0));
    free(name);
    return is;
}

static void
note_path(member *m, const member *first)
{
    char *name = renamed_like(recorded_name(first), first->seen->name, recorded_name(m));
    char *dir = dir_of(recorded_path(m->known));

    m->belongs = must_print("%s/%s", dir, name);
    free(dir);
    free(name);
}

void
family_note_renames(family *f)
{
    const member *first = find_renamed(f);

    f->partly = false;
    for (const member *m = NULL; first != NULL && (m = family_next(f, m)) != NULL;)
        f->partly = f->partly || !goes_along(m, first);
    for (member *m = NULL; first != NULL && !f->partly && (m = family_next(f, m)) != NULL;)
        if (m->known != NULL && !m->own)
            note_path(m, first);
}

/* ---- copies ---- */

/* `path` as it would be had it been copied as `recorded` was to `seen`, from below one directory to below another. NULL: it is not below the
 * first one. A new string. */
static char *
copied_like(const char *recorded, const char *seen, const char *path)
{
    size_t n = strlen(recorded), k = strlen(seen);

    for (size_t i = n, j = k; i > 0 && j > 0 && recorded[i - 1] == seen[j - 1]; i--, j--)
        if (recorded[i - 1] == '/') {
            n = i - 1;
            k = j - 1;
        }
    return strncmp(path, recorded, n) == 0 && path[n] == '/'
               ? must_print("%.*s%s", (int)k, seen, path + n)
               : NULL;
}

/* Does this one's file lie where it would, had all been copied as that of `first` was? */
static bool
lies_along(const member *m, const member *first)
{
    char *path =
        copied_like(recorded_path(first->known), first->seen->path, recorded_path(m->known));
    const bool is = path != NULL && strcmp(path, m->seen->path) == 0;

    free(path);
    return is;
}

void
family_note_copies(family *f)
{
    const member *first = NULL;

    for (const member *m = NULL; (m = family_next(f, m)) != NULL;) {
        if (!m->own || m->known == NULL)
            continue;
        first = first == NULL ? m : first;
        if (!lies_along(m, first))
            return;
    }
    for (member *m = NULL; first != NULL && (m = family_next(f, m)) != NULL;)
        if (!m->own && m->known != NULL && m->belongs == NULL)
            m->belongs = copied_like(recorded_path(first->known), first->seen->path,
                                     recorded_path(m->known));
}
