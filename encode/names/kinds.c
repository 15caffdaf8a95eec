/* kinds.c: the table of all names that lie beside a data file (FORMAT-extensions.md 3), and what it says of one. See names.h. */
#include "names_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which files are renamed, so that whoever looks at one name after the other misses none meanwhile. */
const rset_name_row rset_name_rows[] = {
    {RSET_NAME_NEW, RSET_AFTER_REDUNDANCY | RSET_AFTER_DESC, RSET_SUFFIX_NEW, RSET_ROLE_OWN, false},
    {RSET_NAME_FIX, RSET_AFTER_REDUNDANCY | RSET_AFTER_DESC | RSET_AFTER_REBUILT, RSET_SUFFIX_FIX,
     RSET_ROLE_OWN, true},
    {RSET_NAME_BEGUN, RSET_AFTER_GENERATION, RSET_SUFFIX_FIX, RSET_ROLE_OWN, false},
    {RSET_NAME_REDO, RSET_AFTER_REDUNDANCY, RSET_SUFFIX_REDO, RSET_ROLE_OWN, false},
    {RSET_NAME_PLAIN, RSET_AFTER_REDUNDANCY, "", RSET_ROLE_OWN, false},
    {RSET_NAME_DESC, RSET_AFTER_DESC, "", RSET_ROLE_OWN, false},
    {RSET_NAME_VOID, RSET_AFTER_REDUNDANCY, RSET_SUFFIX_VOID, RSET_ROLE_OWN, false},
    {RSET_NAME_SHADOW, RSET_AFTER_GENERATION, RSET_SUFFIX_NEW, RSET_ROLE_OWN, true},
    {RSET_NAME_UNDO, RSET_AFTER_GENERATION, ".undo", RSET_ROLE_BEFORE, false},
    {RSET_NAME_DATA, RSET_AFTER_GENERATION, ".data", RSET_ROLE_BEFORE, true},
    {RSET_NAME_NEWER, RSET_AFTER_GENERATION, ".newer", RSET_ROLE_ASIDE, true},
    {RSET_NAME_LOST, RSET_AFTER_GENERATION, ".lost", RSET_ROLE_ASIDE, true},
    {RSET_NAME_CHANGED, RSET_AFTER_GENERATION, ".changed", RSET_ROLE_ASIDE, true},
    {RSET_NAME_LIST, RSET_AFTER_NOTHING, RSET_NAME_NAMES, RSET_ROLE_OWN, false},
    {RSET_NAME_OTHER, 0, "", RSET_ROLE_OWN, false},
};

static const rset_name_row *
row_of(rset_name_kind kind)
{
    const rset_name_row *row = rset_name_rows;

    while (row->kind != kind && row->kind != RSET_NAME_OTHER)
        row++;
    return row;
}

rset_name_role
rset_name_role_of(rset_name_kind kind)
{
    return row_of(kind)->role;
}

bool
rset_name_is_data(rset_name_kind kind)
{
    return row_of(kind)->data;
}

/* ---- from a name to its kind ---- */

/* Length of the name without what can follow a redundancy file's; *kind_out stays where nothing does. */
static size_t
bare_length(const char *name, rset_name_kind *kind_out)
{
    const size_t n = strlen(name);

    for (const rset_name_row *row = rset_name_rows; row->kind != RSET_NAME_OTHER; row++) {
        const size_t m = strlen(row->suffix);

        if ((row->after & RSET_AFTER_REDUNDANCY) != 0 && m > 0 && n > m &&
            strcmp(name + n - m, row->suffix) == 0) {
            *kind_out = row->kind;
            return n - m;
        }
    }
    return n;
}

char *
rset_bare_name(const char *name)
{
    rset_name_kind ignored;

    return strndup(name, bare_length(name, &ignored));
}

/* "<digits>.redset.<digits>.fix": a data file that a rebuild was writing. */
static bool
is_rebuilt_data(const char *rest)
{
    size_t at = strspn(rest, "0123456789"), digits;

    if (at == 0 || strncmp(rest + at, ".redset.", 8) != 0)
        return false;
    at += 8;
    digits = strspn(rest + at, "0123456789");
    return digits > 0 && strcmp(rest + at + digits, RSET_SUFFIX_FIX) == 0;
}

/* The kind of the row whose suffix this is, among those that come after that. */
static rset_name_kind
with_suffix(const char *suffix, unsigned after)
{
    const rset_name_row *row = rset_name_rows;

    while (row->kind != RSET_NAME_OTHER &&
           ((row->after & after) == 0 || strcmp(row->suffix, suffix) != 0))
        row++;
    return row->kind;
}

rset_name_kind
rset_name_of_generation(const char *rest, uint64_t *generation_out)
{
    char *end = NULL;

    if (strncmp(rest, "redset.", 7) != 0 ||
        strspn(rest + 7, "0123456789abcdef") != RSET_GENERATION_DIGITS)
        return RSET_NAME_OTHER;
    *generation_out = strtoull(rest + 7, &end, 16);
    return with_suffix(end, RSET_AFTER_GENERATION);
}

rset_name_kind
rset_name_classify(const char *name, const char *prefix, rset_name *parsed,
                   uint64_t *generation_out)
{
    const size_t   prefix_len = strlen(prefix);
    const char    *rest = name + prefix_len;
    size_t         bare_len;
    char           bare[NAME_MAX + 1];
    rset_name_kind kind;

    parsed->scheme = NULL;
    if (strncmp(name, prefix, prefix_len) != 0 || strlen(name) >= sizeof bare)
        return RSET_NAME_OTHER;
    if (is_rebuilt_data(rest))
        return RSET_NAME_FIX;
    kind = with_suffix(rest, RSET_AFTER_NOTHING);
    if (kind == RSET_NAME_OTHER)
        kind = rset_name_of_generation(rest, generation_out);
    if (kind != RSET_NAME_OTHER)
        return kind;
    kind = RSET_NAME_PLAIN;
    bare_len = bare_length(name, &kind);
    memcpy(bare, name, bare_len);
    bare[bare_len] = '\0';
    if (!rset_format_parse_name(bare, parsed) || parsed->prefix_len != prefix_len)
        return RSET_NAME_OTHER;
    return parsed->scheme == NULL && kind == RSET_NAME_PLAIN ? RSET_NAME_DESC : kind;
}

/* ---- names of earlier releases ----
 *
 * They are no rows of the table, by which names are looked for: they are seen where a directory is listed. */

static bool
is_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

bool
rset_name_is_former(const char *name, const char *prefix)
{
    static const char *const alone[] = {"redset.journal", "redset.journal.begun", NULL};
    static const char *const of_generation[] = {".shadow", ".old",     ".back",
                                                ".kept",   ".journal", NULL};
    static const char        update[] = ".delta";
    const size_t             n = strlen(name), m = sizeof update - 1;
    const char              *rest = name + strlen(prefix);
    char                     bare[NAME_MAX + 1];
    rset_name                parsed;

    if (strncmp(name, prefix, strlen(prefix)) != 0 || n >= sizeof bare)
        return false;
    if (is_one_of(rest, alone))
        return true;
    if (strncmp(rest, "redset.", 7) == 0 &&
        strspn(rest + 7, "0123456789abcdef") == RSET_GENERATION_DIGITS)
        return is_one_of(rest + 7 + RSET_GENERATION_DIGITS, of_generation);
    if (n <= m || strcmp(name + n - m, update) != 0)
        return false;
    memcpy(bare, name, n - m);
    bare[n - m] = '\0';
    return rset_format_parse_name(bare, &parsed) && parsed.scheme != NULL &&
           parsed.prefix_len == strlen(prefix);
}

/* ---- from a kind to its name ---- */

char *
rset_name_of(rset_name_kind kind, const char *prefix, uint64_t generation)
{
    char *name = NULL;

    return asprintf(&name, "%sredset.%0*" PRIx64 "%s", prefix, RSET_GENERATION_DIGITS, generation,
                    row_of(kind)->suffix) < 0
               ? NULL
               : name;
}
