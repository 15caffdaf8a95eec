/* config_keys.c: the keys of a configuration string, and what each makes of its value. See config_internal.h;
 * docs/configuration.md is the manual, and has the keys in the order of the table here. */
#include "config_internal.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COUNT_MAX = 65536, TIMEOUT_MAX = 100000000 };

/* ---- one value ---- */

rset_status
rset_config_impossible(const char *key, const char *value, const char *possible, rset_err *err)
{
    return rset_fail(err, RSET_USAGE, "configuration: %s cannot be \"%s\"; possible: %s", key,
                     value, possible);
}

/* -1: it is none from 1 to 65536. */
static int
count_of(const char *value)
{
    long n = 0;

    for (const char *s = value; *s != '\0'; s++)
        if (!isdigit((unsigned char)*s) || (n = n * 10 + (*s - '0')) > COUNT_MAX)
            return -1;
    return n > 0 ? (int)n : -1;
}

static rset_status
parse_count(const char *key, const char *value, int *out, rset_err *err)
{
    const int n = count_of(value);

    if (n < 1)
        return rset_config_impossible(key, value, "whole numbers from 1 to 65536", err);
    *out = n;
    return RSET_OK;
}

/* Not strtod: the decimal point must not depend on the locale. */
static rset_status
parse_seconds(const char *key, const char *value, double *out, rset_err *err)
{
    double      n = 0, unit = 1;
    const char *s = value;
    bool        digits = false;

    for (; isdigit((unsigned char)*s) && n <= TIMEOUT_MAX; s++, digits = true)
        n = n * 10 + (*s - '0');
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++, digits = true)
            n += (*s - '0') * (unit /= 10);
    if (*s != '\0' || !digits || n <= 0 || n > TIMEOUT_MAX)
        return rset_config_impossible(key, value, "seconds, more than 0, such as 300 or 2.5", err);
    *out = n;
    return RSET_OK;
}

/* `words`: the accepted spellings of each choice, separated by '|', each choice ended by ','. */
static int
find_word(const char *value, const char *words)
{
    size_t len = strlen(value);
    int    choice = 0;

    for (const char *s = words; *s != '\0';) {
        size_t n = strcspn(s, "|,");

        if (n == len && strncasecmp(s, value, n) == 0)
            return choice;
        choice += s[n] == ',';
        s += n + (s[n] != '\0');
    }
    return -1;
}

static rset_status
parse_text(const char *key, const char *value, char *out, size_t size, rset_err *err)
{
    if (strlen(value) >= size)
        return rset_fail(err, RSET_USAGE,
                         "configuration: %s has %zu bytes; at most %zu are possible", key,
                         strlen(value), size - 1);
    for (const char *s = value; *s != '\0'; s++)
        if (iscntrl((unsigned char)*s))
            return rset_config_impossible(key, value, "text without control characters", err);
    memset(out, 0, size);
    memcpy(out, value, strlen(value));
    return RSET_OK;
}

/* ---- the keys ---- */

/* One key. Its setter makes of the value what lies `at` that place of the configuration; which of the rest it uses is its own. */
typedef struct setting {
    const char *name;
    rset_status (*set)(const struct setting *key, const char *value, rset_config *config,
                       rset_err *err);
    size_t      at, size;
    const char *words;    /* of a choice, for find_word; */
    const char *possible; /* the same in the message */
} setting;

static const char yes_words[] = "no|false|off|0,yes|true|on|1,";

static void *
place_of(const setting *key, rset_config *config)
{
    return (char *)config + key->at;
}

static rset_status
set_count(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    return parse_count(key->name, value, place_of(key, config), err);
}

static rset_status
set_seconds(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    return parse_seconds(key->name, value, place_of(key, config), err);
}

static rset_status
set_text(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    return parse_text(key->name, value, place_of(key, config), key->size, err);
}

/* Of two words: false is the first. */
static rset_status
set_bool(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    const int n = find_word(value, key->words);

    if (n < 0)
        return rset_config_impossible(key->name, value, key->possible, err);
    *(bool *)place_of(key, config) = n == 1;
    return RSET_OK;
}

static rset_status
set_verify(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    const int n = find_word(value, key->words);

    if (n < 0)
        return rset_config_impossible(key->name, value, key->possible, err);
    config->verify = (rset_verify)n;
    return RSET_OK;
}

static rset_status
set_moved(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    const int n = find_word(value, key->words);

    if (n < 0)
        return rset_config_impossible(key->name, value, key->possible, err);
    config->moved = (rset_moves)n;
    return RSET_OK;
}

/* A name, and perhaps its parity behind a colon, as output has it: RS:2. */
static rset_status
set_scheme(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    const size_t       n = strcspn(value, ":");
    const int          parity = value[n] != '\0' ? count_of(value + n + 1) : 0;
    char               name[16];
    const rset_scheme *scheme;

    snprintf(name, sizeof name, "%.*s", (int)n, value);
    scheme = n < sizeof name ? rset_scheme_by_name(name) : NULL;
    if (scheme == NULL || (parity != 0 && !rset_config_take_parity(config, scheme, parity)))
        return rset_config_impossible(key->name, value, key->possible, err);
    config->scheme = scheme;
    return RSET_OK;
}

static rset_status
set_keep(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    if (strcasecmp(value, "all") != 0)
        return parse_count(key->name, value, &config->keep, err);
    config->keep = RSET_KEEP_ALL;
    return RSET_OK;
}

/* A word for "no" is none for a file; one for "yes" does not say where. */
static rset_status
set_report(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    const int n = find_word(value, yes_words);

    if (n == 1)
        return rset_config_impossible(key->name, value, "the name of a file, stderr, no", err);
    return set_text(key, n == 0 ? "" : value, config, err);
}

static rset_status
set_job(const setting *key, const char *value, rset_config *config, rset_err *err)
{
    if (value[0] != '\0' && strlen(value) < key->size && !rset_stamp_may_be(value))
        return rset_config_impossible(key->name, value, "printable UTF-8 without line ends", err);
    return set_text(key, value, config, err);
}

#define AT(field) offsetof(rset_config, field), sizeof((rset_config){0}.field)
#define YES_NO    yes_words, "yes, no"

static const setting keys[] = {
    {"scheme", set_scheme, AT(scheme), NULL, "SINGLE, PARTNER, XOR, RS, PARTNER:2, RS:2, ..."},
    {"set_size", set_count, AT(set_size), NULL, NULL},
    {"parity", set_count, AT(parity), NULL, NULL},
    {"replicas", set_count, AT(replicas), NULL, NULL},
    {"checksums", set_count, AT(checksums), NULL, NULL},
    {"group", set_text, AT(group), NULL, NULL},
    {"team", set_text, AT(team), NULL, NULL},
    {"timeout", set_seconds, AT(timeout), NULL, NULL},
    {"verify", set_verify, AT(verify), "open,read,size,all,", "open, read, size, all"},
    {"required", set_bool, AT(required), YES_NO},
    {"atomic", set_bool, AT(atomic), YES_NO},
    {"readonly_rebuild", set_bool, AT(readonly_rebuild), YES_NO},
    {"moved", set_moved, AT(moved), "yes|true|on|1,copy,no|false|off|0,", "yes, copy, no"},
    {"keep", set_keep, AT(keep), NULL, NULL},
    {"generation", set_text, AT(generation), NULL, NULL},
    {"fallback", set_bool, AT(fallback), YES_NO},
    {"changed", set_bool, AT(keep_changed), "restore,keep,", "restore, keep"},
    {"commit", set_bool, AT(commit_flush), "close,flush,", "close, flush"},
    {"async", set_bool, AT(async), YES_NO},
    {"files", set_text, AT(files), NULL, NULL},
    {"root", set_text, AT(root), NULL, NULL},
    {"together", set_text, AT(together), NULL, NULL},
    {"search", set_text, AT(search), NULL, NULL},
    {"report", set_report, AT(report), NULL, NULL},
    {"job", set_job, AT(job), NULL, NULL},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* ---- which key is meant ---- */

enum { KEYS_TEXT = 512, NAME_MOST = 32, NEAR = 2 /* letters */ };

static const char *
list_keys(char text_out[KEYS_TEXT])
{
    size_t n = 0;

    for (size_t i = 0; i < KEYS && n < KEYS_TEXT; i++)
        n += (size_t)snprintf(text_out + n, KEYS_TEXT - n, "%s%s", i > 0 ? ", " : "", keys[i].name);
    return text_out;
}

static int
least(int a, int b)
{
    return a < b ? a : b;
}

/* How many letters have to be added, left out or replaced to make `b` of `a`, which has up to NAME_MOST (Levenshtein). */
static int
distance(const char *a, const char *b)
{
    int row[NAME_MOST + 1];

    for (int i = 0; i <= NAME_MOST; i++)
        row[i] = i;
    for (int j = 1; b[j - 1] != '\0'; j++) {
        int before = row[0]; /* of the row above, one to the left */

        row[0] = j;
        for (int i = 1; a[i - 1] != '\0'; i++) {
            const int above = row[i];

            row[i] = least(least(above, row[i - 1]) + 1, before + (a[i - 1] != b[j - 1]));
            before = above;
        }
    }
    return row[strlen(a)];
}

/* The key that is nearest to the name, as words that end "there is no key"; "": none is near. */
static const char *
say_meant(const char *name, char text_out[64])
{
    int best = NEAR + 1;

    text_out[0] = '\0';
    for (size_t i = 0; i < KEYS && strlen(name) <= NAME_MOST; i++) {
        const int n = distance(name, keys[i].name);

        if (n >= best || n >= (int)strlen(name))
            continue;
        best = n;
        snprintf(text_out, 64, " (is \"%s\" meant?)", keys[i].name);
    }
    return text_out;
}

rset_status
rset_config_set(rset_config *config, const char *name, const char *value, rset_err *err)
{
    char text[KEYS_TEXT], meant[64];

    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return keys[i].set(&keys[i], value, config, err);
    return rset_fail(err, RSET_USAGE, "configuration: there is no key \"%s\"%s; possible: %s", name,
                     say_meant(name, meant), list_keys(text));
}

rset_status
rset_config_no_pair(const char *word, rset_err *err)
{
    char text[KEYS_TEXT];

    return rset_fail(err, RSET_USAGE,
                     "configuration: \"%s\" is not of the form key=value; possible keys: %s", word,
                     list_keys(text));
}
