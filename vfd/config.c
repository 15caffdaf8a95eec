/* config.c: configuration strings -> rset_config. See config.h. No HDF5, no MPI. */
#include "config.h"

#include "config_internal.h"
#include "given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 64 * 1024 };

void
rset_config_defaults(rset_config *config)
{
    memset(config, 0, sizeof *config);
    config->scheme = &rset_scheme_xor;
    config->set_size = 8;
    config->replicas = 1;
    config->checksums = 2;
    config->timeout = 300;
    config->keep = 1;
    config->verify = RSET_VERIFY_OPEN;
    config->atomic = true;
    config->readonly_rebuild = true;
}

static rset_status
check_scheme(const rset_config *config, rset_err *err)
{
    rset_err why = RSET_ERR_NONE;

    if (config->scheme ==
        &rset_scheme_single) /* each rank is its own set, whatever the wanted size */
        return RSET_OK;
    if (config->scheme->check(config->set_size, rset_config_parity(config), &why) == RSET_OK)
        return RSET_OK;
    return rset_fail(err, RSET_USAGE, "configuration: scheme %s does not go with set_size %d: %s",
                     config->scheme->name, config->set_size, why.text);
}

/* Two patterns at least, as many as there may be files: arrays are as long. */
static rset_status
check_together(const rset_config *config, rset_err *err)
{
    int n;

    (void)rset_config_together(config, "", &n);
    if (config->together[0] == '\0' || (n > 1 && n <= RSET_TOGETHER_MAX))
        return RSET_OK;
    return rset_config_impossible("together", config->together,
                                  "2 to 8 patterns, separated by commas", err);
}

/* rset_search_list has room for so many. */
static rset_status
check_search(const rset_config *config, rset_err *err)
{
    int n = 0;

    for (const char *s = config->search; *s != '\0'; s++)
        n += *s != ':' && (s[1] == ':' || s[1] == '\0');
    if (n <= RSET_SEARCH_MAX)
        return RSET_OK;
    return rset_fail(err, RSET_USAGE,
                     "configuration: search has %d directories; at most %d are possible", n,
                     (int)RSET_SEARCH_MAX);
}

static rset_status
check_generation(const rset_config *config, rset_err *err)
{
    rset_which which;

    if (config->generation[0] == '\0' ||
        rset_which_parse(config->generation, &which, NULL) == RSET_OK)
        return RSET_OK;
    return rset_config_impossible("generation", config->generation, rset_which_forms, err);
}

rset_status
rset_config_check(const rset_config *config, rset_err *err)
{
    rset_status st = check_scheme(config, err);

    if (st == RSET_OK)
        st = check_together(config, err);
    if (st == RSET_OK)
        st = check_search(config, err);
    return st == RSET_OK ? check_generation(config, err) : st;
}

/* ---- the string ---- */

/* Where one string is read; pairs are cut out of it in place. */
typedef struct cursor {
    char *at;
} cursor;

static void
skip(cursor *c, const char *set)
{
    c->at += strspn(c->at, set);
}

static const char blanks[] = " \t\r\n\f\v";
static const char separators[] = " \t\r\n\f\v;";

/* A value: up to a separator, or between double quotes; a list goes on after ", ". */
static rset_status
cut_value(cursor *c, const char *key, char **value_out, rset_err *err)
{
    char *to = c->at;

    if (*c->at == '"') {
        char *end = strchr(++c->at, '"');

        if (end == NULL)
            return rset_fail(err, RSET_USAGE, "configuration: the value of %s has no closing quote",
                             key);
        *value_out = c->at;
        *end = '\0';
        c->at = end + 1;
        return RSET_OK;
    }
    *value_out = to;
    while (*c->at != '\0' && strchr(separators, *c->at) == NULL) {
        bool comma = *c->at == ',';

        *to++ = *c->at++;
        if (comma)
            skip(c, blanks);
    }
    if (*c->at != '\0')
        c->at++;
    *to = '\0';
    if (strchr(*value_out, '=') != NULL) /* more likely a pair too many than meant */
        return rset_fail(err, RSET_USAGE,
                         "configuration: the value of %s is \"%s\", with a \"=\" in it; separate "
                         "settings by \";\", or put the value in double quotes",
                         key, *value_out);
    return RSET_OK;
}

static rset_status
cut_pair(cursor *c, char **key_out, char **value_out, rset_err *err)
{
    char *end, *key = c->at;
    char  mark;

    c->at += strcspn(c->at, " \t\r\n\f\v;=:");
    end = c->at;
    skip(c, blanks);
    mark = *c->at;
    if (mark == '=' || mark == ':') {
        c->at++;
        *end = '\0';
        skip(c, blanks);
        *key_out = key;
        return cut_value(c, key, value_out, err);
    }
    *end = '\0';
    return rset_config_no_pair(key, err);
}

static rset_status
set_pair(rset_config *config, const char *key, const char *value, rset_err *err)
{
    char       *full = NULL;
    rset_status st = rset_config_expand(key, value, &full, err);

    if (st == RSET_OK)
        st = rset_config_set(config, key, full, err);
    if (st == RSET_OK && strchr(full, '"') != NULL) /* one that stands alone */
        st = rset_config_impossible(key, full, "text without quotes", err);
    free(full);
    return st;
}

/* `text` is taken apart. */
static rset_status
parse_pairs(rset_config *config, char *text, rset_err *err)
{
    cursor      c = {text};
    char       *key = NULL, *value = NULL;
    rset_status st;

    for (skip(&c, separators); *c.at != '\0'; skip(&c, separators)) {
        if (*c.at == '#') { /* a remark, to the end of the line */
            c.at += strcspn(c.at, "\n");
            continue;
        }
        if ((st = cut_pair(&c, &key, &value, err)) != RSET_OK)
            return st;
        if ((st = set_pair(config, key, value, err)) != RSET_OK)
            return st;
    }
    return RSET_OK;
}

/* Removes blanks around, then braces around. */
static rset_status
strip(char *text, char **begin_out, rset_err *err)
{
    size_t n;

    text += strspn(text, blanks);
    for (n = strlen(text); n > 0 && strchr(blanks, text[n - 1]) != NULL;)
        text[--n] = '\0';
    if (*text == '{') {
        if (text[n - 1] != '}')
            return rset_fail(err, RSET_USAGE, "configuration: \"{\" without \"}\" at the end");
        text[n - 1] = '\0';
        text++;
    }
    *begin_out = text;
    return RSET_OK;
}

static rset_status
read_file(const char *path, char **text_out, rset_err *err)
{
    rset_err          own = RSET_ERR_NONE;
    const rset_status st = rset_given_read(path, FILE_MAX, text_out, &own);

    return st == RSET_OK ? st : rset_fail(err, st, "configuration file %s", own.text);
}

/* parity= is the number of whatever scheme is wanted in the end. */
static rset_status
settle_parity(rset_config *config, rset_err *err)
{
    const int parity = config->parity;

    config->parity = 0;
    if (parity == 0 || rset_config_take_parity(config, config->scheme, parity))
        return RSET_OK;
    return rset_fail(err, RSET_USAGE,
                     "configuration: scheme %s cannot have parity %d; possible: 1 with XOR, 1 and "
                     "more with PARTNER and RS",
                     config->scheme->name, parity);
}

rset_status
rset_config_parse(rset_config *config, const char *text, rset_err *err)
{
    rset_config changed = *config;
    char       *copy = strdup(text), *begin;
    rset_status st = RSET_OK;

    if (copy == NULL)
        return rset_fail_errno(err, RSET_NOMEM, ENOMEM, "configuration string");
    st = strip(copy, &begin, err);
    if (st == RSET_OK && *begin == '@') {
        char *from_file = NULL;

        st = read_file(begin + 1, &from_file, err);
        free(copy);
        copy = from_file;
        if (st == RSET_OK)
            st = strip(copy, &begin, err);
    }
    if (st == RSET_OK)
        st = parse_pairs(&changed, begin, err);
    if (st == RSET_OK)
        st = settle_parity(&changed, err);
    if (st == RSET_OK)
        st = rset_config_check(&changed, err);
    if (st == RSET_OK)
        *config = changed;
    free(copy);
    return st;
}
