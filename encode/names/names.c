/* names.c: see names.h. */
#include "names_internal.h"

#include "common/crc64.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that it takes to call a generation's data file. */
enum {
    ADDED_DATA = sizeof ".redset..data" - 1 + RSET_GENERATION_DIGITS, /* as for ".lost" */
    ADDED_NEWER = sizeof ".redset..newer" - 1 + RSET_GENERATION_DIGITS
};

/* After a data file's name and ".redset.<rank>". */
#define SUFFIX_DISPLACED ".displaced"

/* ---- what a name says ---- */

/* How much of the name is the prefix of a data file that was protected by this word alone: a redundancy file's, a
 * descriptor's, or a journal's, which may be all that says what became of the file. 0: none. */
static size_t
told_prefix(const char *name, const char *bare)
{
    const size_t n = strlen(name), m = sizeof "redset..undo" - 1 + RSET_GENERATION_DIGITS;
    uint64_t     ignored;
    rset_name    parsed;

    if (rset_format_parse_name(bare, &parsed))
        return parsed.prefix_len;
    return n > m && name[n - m - 1] == '.' &&
                   rset_name_of_generation(name + n - m, &ignored) == RSET_NAME_UNDO
               ? n - m
               : 0;
}

/* Ours, but no redundancy file: what lies beside a file that changes, what a rebuild was writing, and what was put out of the
 * way. */
static bool
lies_beside(const char *name)
{
    const char  *at = strstr(name, ".redset.");
    const size_t n = strlen(name), m = strlen(RSET_SUFFIX_FIX);
    char         prefix[NAME_MAX + 1], opened[NAME_MAX + 1];
    uint64_t     generation;
    rset_name    parsed;
    int          rank;

    if (rset_displaced_parse(name, opened, &rank))
        return true;
    if (at == NULL || n >= sizeof prefix)
        return false;
    memcpy(prefix, name, (size_t)(at - name) + 1);
    prefix[at - name + 1] = '\0';
    return rset_name_classify(name, prefix, &parsed, &generation) != RSET_NAME_OTHER ||
           (n > m && strcmp(name + n - m, RSET_SUFFIX_FIX) == 0);
}

/* Is what has that prefix beside the older generation of an earlier release (rset_name_is_former)? That is no file of its own. */
static bool
is_beside_former(const char *prefix)
{
    const size_t n = strlen(prefix);
    char         data[NAME_MAX + 1], main[NAME_MAX + 1];

    if (n <= ADDED_DATA + 1 || n >= sizeof data)
        return false;
    snprintf(data, sizeof data, "%.*s", (int)(n - 1), prefix);
    snprintf(main, sizeof main, "%.*s", (int)(n - ADDED_DATA), prefix);
    return rset_name_is_former(data, main);
}

rset_status
rset_name_seen(const char *name, bool *ours_out, char **prefix_out, rset_err *err)
{
    char        *bare = rset_bare_name(name);
    const size_t told = bare != NULL ? told_prefix(name, bare) : 0;
    rset_name    parsed;

    *prefix_out = told > 0 ? strndup(name, told) : NULL;
    if (bare == NULL || (told > 0 && *prefix_out == NULL)) {
        free(bare);
        return rset_fail(err, RSET_NOMEM, "%s: no memory for a name", name);
    }
    *ours_out = rset_format_parse_name(bare, &parsed) || lies_beside(name);
    free(bare);
    if (*prefix_out != NULL && is_beside_former(*prefix_out)) {
        free(*prefix_out);
        *prefix_out = NULL;
    }
    return RSET_OK;
}

/* How much of a data file's name is recorded: what comes after it says which generation has that name of its own, and as what. */
static size_t
recorded_length(const char *name, uint64_t *generation_out, rset_name_kind *kind_out)
{
    static const size_t added[] = {ADDED_DATA, ADDED_NEWER};
    const size_t        n = strlen(name);

    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = name + (n > added[i] ? n - added[i] : 0);

        *kind_out = n > added[i] && *at == '.' ? rset_name_of_generation(at + 1, generation_out)
                                               : RSET_NAME_OTHER;
        if (*kind_out == RSET_NAME_DATA || *kind_out == RSET_NAME_NEWER ||
            *kind_out == RSET_NAME_LOST)
            return n - added[i];
    }
    *generation_out = 0;
    *kind_out = RSET_NAME_OTHER;
    return n;
}

size_t
rset_name_recorded(const char *name)
{
    uint64_t       ignored;
    rset_name_kind kind;

    return recorded_length(name, &ignored, &kind);
}

uint64_t
rset_name_kept(const char *name)
{
    uint64_t       generation;
    rset_name_kind kind;

    (void)recorded_length(name, &generation, &kind);
    return generation;
}

bool
rset_name_is_before(const char *name, const char *prefix, uint64_t *generation_out)
{
    rset_name parsed;

    return rset_name_role_of(rset_name_classify(name, prefix, &parsed, generation_out)) ==
           RSET_ROLE_BEFORE;
}

uint64_t
rset_name_beside_older(const char *name, const char *prefix, char *older)
{
    const size_t n = strlen(prefix) + ADDED_DATA; /* the prefix ends in the first byte of these */
    rset_name    parsed;
    uint64_t     generation;

    if (strlen(name) <= n || n > NAME_MAX || name[n - 1] != '.')
        return 0;
    memcpy(older, name, n - 1);
    older[n - 1] = '\0';
    if (rset_name_classify(older, prefix, &parsed, &generation) != RSET_NAME_DATA)
        return 0;
    older[n - 1] = '.';
    older[n] = '\0';
    return generation;
}

rset_name_kind
rset_name_kept_as(const char *name)
{
    uint64_t       ignored;
    rset_name_kind kind;

    (void)recorded_length(name, &ignored, &kind);
    return kind;
}

bool
rset_name_is_put_aside(const char *name)
{
    return rset_name_role_of(rset_name_kept_as(name)) == RSET_ROLE_ASIDE;
}

size_t
rset_name_changed(const char *name, uint64_t *number_out)
{
    const size_t added = sizeof ".redset..changed" - 1 + RSET_GENERATION_DIGITS, n = strlen(name);
    const char  *at = name + (n > added ? n - added : 0);

    return n > added && *at == '.' &&
                   rset_name_of_generation(at + 1, number_out) == RSET_NAME_CHANGED
               ? n - added
               : 0;
}

rset_status
rset_name_main(const char *name, char **main_out, char **prefix_out, rset_err *err)
{
    *main_out = strndup(name, rset_name_recorded(name));
    *prefix_out = *main_out != NULL ? rset_join_names(*main_out, ".") : NULL;
    return *prefix_out != NULL ? RSET_OK
                               : rset_fail(err, RSET_NOMEM, "%s: no memory for a name", name);
}

bool
rset_name_is_recorded_as(const char *name, const char *recorded)
{
    const size_t n = rset_name_recorded(name);

    return strncmp(name, recorded, n) == 0 && recorded[n] == '\0';
}

uint64_t
rset_name_hash(const char *name)
{
    return rset_crc64(0, name, rset_name_recorded(name)) | 1;
}

/* ---- making names ---- */

char *
rset_join_names(const char *first, const char *second)
{
    char *joined = NULL;

    return asprintf(&joined, "%s%s", first, second) < 0 ? NULL : joined;
}

/* The part of a name that says that it is an older generation stays at the end: it is one of the file that is out of the way. */
char *
rset_displaced_name(const char *base, int rank)
{
    const size_t n = rset_name_recorded(base);
    char        *name = NULL;

    return asprintf(&name, "%.*s.redset.%d" SUFFIX_DISPLACED "%s", (int)n, base, rank, base + n) < 0
               ? NULL
               : name;
}

/* From its end, where the rank stands. */
bool
rset_displaced_parse(const char *name, char *opened, int *rank_out)
{
    static const char word[] = ".redset.";
    const size_t      n = rset_name_recorded(name), m = strlen(SUFFIX_DISPLACED);
    const size_t      w = sizeof word - 1;
    size_t            at = n > m ? n - m : 0, digits = 0;

    if (at == 0 || n > NAME_MAX || strncmp(name + at, SUFFIX_DISPLACED, m) != 0)
        return false;
    for (; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9'; at--)
        digits++;
    if (digits == 0 || digits > 9 || (digits > 1 && name[at] == '0') || at <= w ||
        strncmp(name + at - w, word, w) != 0)
        return false;
    *rank_out = (int)strtol(name + at, NULL, 10);
    snprintf(opened, NAME_MAX + 1, "%.*s%s", (int)(at - w), name, name + n);
    return true;
}

/* The longest is that of an update of a redundancy file (FORMAT.md 4.1): the rank, the set and the member with their most
 * digits, of the scheme with the longest name; and of a generation that has a name of its own. */
bool
rset_name_has_room(const char *base, int ranks, int members, bool kept)
{
    int added = snprintf(NULL, 0, ".%d.partner.grp_%d_of_%d.mem_%d_of_%d.redset" RSET_SUFFIX_REDO,
                         ranks, ranks, ranks, members, members) +
                (kept ? ADDED_NEWER : 0);

    return strlen(base) + (size_t)added <= NAME_MAX;
}
