/* renames.c: see renames.h. */
#include "renames.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/* ---- names ---- */

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

char *
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
