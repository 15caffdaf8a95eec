/* returned.c: see returned.h. */
#include "returned.h"

#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Do two names differ in their digits only? So the files of one kind are called on all ranks. */
static bool
are_alike(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        const size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");

        if ((m == 0) != (n == 0) || (m == 0 && *a != *b))
            return false;
        a += m > 0 ? m : 1;
        b += n > 0 ? n : 1;
    }
    return true;
}

/* The one that was put aside by another rank of these files, as that generation; NULL: there is none. */
static const sighting *
find_aside(const sightings *older, const sighting *s)
{
    for (size_t i = 0; i < older->n; i++) {
        const sighting *one = &older->at[i];
        char           *name = must_print("%.*s", (int)rset_name_recorded(one->name), one->name);
        const bool      is = one->owner == s->owner && one->aside &&
                        one->older == rset_evidence_generation(&s->said) &&
                        are_alike(name, s->name) && !same_place(one, s);

        free(name);
        if (is)
            return one;
    }
    return NULL;
}

/* `path` becomes that of the file as it is put aside. */
static void
rename_path(char **path, const sighting *s, rset_name_kind as)
{
    char *prefix = must_print("%s.", *path);

    free(*path);
    *path = rset_name_of(as, prefix, s->older);
    free(prefix);
    if (*path == NULL)
        no_memory();
}

static void
put_aside(sighting *s, rset_name_kind as)
{
    char *kept;

    s->older = rset_evidence_generation(&s->said);
    s->aside = true;
    kept = must_copy(s->name);
    rename_path(&kept, s, as);
    sighting_place(s, s->dir, kept);
    for (int i = 0; i < s->said.header.ninfos; i++)
        if (s->said.header.infos[i].nfiles > 0)
            rename_path(&s->said.header.infos[i].files[0].path, s, as);
    free(s->prefix);
    s->prefix = must_print("%s.", s->name);
    free(kept);
}

void
returned_find(sightings *newest, sightings *older)
{
    const size_t were = older->n;
    size_t       n = 0;

    for (size_t i = 0; i < newest->n; i++) {
        sighting       *s = &newest->at[i];
        const sightings seen = {.n = were, .at = older->at};
        const sighting *aside =
            s->said.has_header && !s->ahead && !s->renamed ? find_aside(&seen, s) : NULL;

        if (aside == NULL) {
            newest->at[n++] = *s;
            continue;
        }
        put_aside(s, rset_name_kept_as(aside->name));
        *sightings_add(older) = *s;
    }
    newest->n = n;
}
