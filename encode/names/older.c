/* older.c: the older generations that a names file lists (FORMAT-extensions.md 6). See names_internal.h. */
#include "common/bytes.h"
#include "names_internal.h"

#include <stdlib.h>
#include <string.h>

enum { REFUSED = 1 /* of the word behind a generation */ };

/* Index of the generation, or of the place that it would have. */
static size_t
find(const rset_stems *stems, uint64_t generation)
{
    size_t from = 0, to = stems->nolder;

    while (from < to) {
        const size_t at = from + (to - from) / 2;

        if (stems->older[at].generation > generation)
            from = at + 1;
        else
            to = at;
    }
    return from;
}

bool
rset_older_is(const rset_stems *stems, uint64_t generation, rset_older **out)
{
    const size_t at = find(stems, generation);

    *out =
        at < stems->nolder && stems->older[at].generation == generation ? &stems->older[at] : NULL;
    return *out != NULL;
}

bool
rset_older_add(rset_stems *stems, rset_older one)
{
    const size_t at = find(stems, one.generation);
    rset_older  *grown;

    if (at < stems->nolder && stems->older[at].generation == one.generation)
        return true;
    stems->many = stems->many || stems->nolder == RSET_OLDER_MAX;
    if (stems->many)
        return true;
    grown = realloc(stems->older, (stems->nolder + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    stems->older = grown;
    memmove(grown + at + 1, grown + at, (stems->nolder - at) * sizeof *grown);
    grown[at] = one;
    stems->nolder++;
    return true;
}

void
rset_older_remove(rset_stems *stems, const rset_older *one)
{
    const size_t at = (size_t)(one - stems->older);

    stems->nolder--;
    memmove(stems->older + at, stems->older + at + 1, (stems->nolder - at) * sizeof *stems->older);
}

void
rset_older_pack(const rset_stems *stems, uint8_t *to)
{
    for (size_t i = 0; i < stems->nolder; i++, to += RSET_OLDER_BYTES) {
        rset_put64(to, stems->older[i].generation);
        rset_put64(to + 8, stems->older[i].refused ? REFUSED : 0);
    }
}

bool
rset_older_unpack(rset_stems *stems, const uint8_t *from, size_t n)
{
    stems->older = calloc(n + 1, sizeof *stems->older);
    for (size_t i = 0; stems->older != NULL && i < n; i++, from += RSET_OLDER_BYTES)
        stems->older[stems->nolder++] =
            (rset_older){.generation = rset_get64(from), .refused = rset_get64(from + 8) != 0};
    return stems->older != NULL;
}

bool
rset_older_are_sorted(const rset_stems *stems)
{
    for (size_t i = 1; i < stems->nolder; i++)
        if (stems->older[i - 1].generation <= stems->older[i].generation)
            return false;
    return true;
}
