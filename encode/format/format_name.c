/* format_name.c: names of descriptor and redundancy files (FORMAT.md 1). Numbers count from 1 here
 * and from 0 everywhere else. See format.h. */
#include "format.h"
#include "tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *new_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *
new_text(const char *fmt, ...)
{
    va_list args;
    char   *text = NULL;
    int     n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

char *
rset_format_desc_name(const char *prefix, int rank)
{
    return new_text("%s%d.redset", prefix, rank);
}

char *
rset_format_redundancy_name(const char *prefix, const rset_desc *desc)
{
    return new_text("%s%d.%s.grp_%d_of_%d.mem_%d_of_%d.redset", prefix, desc->rank,
                    desc->scheme->file_name, desc->set + 1, desc->sets, desc->member + 1,
                    desc->members);
}

/* A part of a name, read from its end. */
typedef struct tail {
    const char *text;
    size_t      len;
} tail;

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes `word` off the end. */
static bool
take_word(tail *t, const char *word)
{
    size_t len = strlen(word);

    if (t->len < len || memcmp(t->text + t->len - len, word, len) != 0)
        return false;
    t->len -= len;
    return true;
}

/* Takes all digits off the end: a number from `min` to `max` without leading zero. */
static bool
take_number(tail *t, int min, int max, int *out)
{
    char     digits[24];
    size_t   n = 0;
    uint64_t value;

    while (n < t->len && is_digit(t->text[t->len - n - 1]))
        n++;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, t->text + t->len - n, n);
    digits[n] = '\0';
    if (!rset_text_u64(digits, (uint64_t)max, &value) || value < (uint64_t)min)
        return false;
    t->len -= n;
    *out = (int)value;
    return true;
}

/* Takes "<word><i>_of_<n>" off the end, 1 <= i <= n; *index_out is i - 1. */
static bool
take_place(tail *t, const char *word, int *index_out, int *count_out)
{
    int index;

    if (!take_number(t, 1, RSET_MAX_RANKS, count_out) || !take_word(t, "_of_") ||
        !take_number(t, 1, *count_out, &index) || !take_word(t, word))
        return false;
    *index_out = index - 1;
    return true;
}

/* Takes ".<scheme>", lower case, off the end. */
static bool
take_scheme(tail *t, const rset_scheme **scheme_out)
{
    char               word[16];
    const rset_scheme *scheme;
    size_t             n = 0;

    while (n < t->len && t->text[t->len - n - 1] != '.')
        n++;
    if (n == t->len || n >= sizeof word)
        return false;
    memcpy(word, t->text + t->len - n, n);
    word[n] = '\0';
    scheme = rset_scheme_by_name(word);
    if (scheme == NULL || strcmp(word, scheme->file_name) != 0)
        return false;
    t->len -= n + 1;
    *scheme_out = scheme;
    return true;
}

/* Is the last part that of a redundancy file's name, ".mem_..._of_<digits>", right or wrong? */
static bool
ends_with_place(tail t)
{
    static const char word[] = ".mem_";
    size_t            dot = t.len;

    while (t.len > 0 && is_digit(t.text[t.len - 1]))
        t.len--;
    if (!take_word(&t, "_of_"))
        return false;
    for (size_t i = 0; i < t.len; i++)
        if (t.text[i] == '.')
            dot = i;
    return dot + strlen(word) <= t.len && memcmp(t.text + dot, word, strlen(word)) == 0;
}

bool
rset_format_parse_name(const char *name, rset_name *out)
{
    tail      t = {name, strlen(name)};
    rset_name found = {.scheme = NULL};

    if (strchr(name, '/') != NULL || !take_word(&t, ".redset"))
        return false;
    if (ends_with_place(t)) {
        if (!take_place(&t, ".mem_", &found.member, &found.members) ||
            !take_place(&t, ".grp_", &found.set, &found.sets) || !take_scheme(&t, &found.scheme))
            return false;
    }
    if (!take_number(&t, 0, RSET_MAX_RANKS - 1, &found.rank) || t.len == 0)
        return false;
    found.prefix_len = t.len;
    *out = found;
    return true;
}
