/* config.c: configuration strings <-> rset_config. See config.h; docs/configuration.md is the manual
 * and has the keys in the order of the table here. No HDF5, no MPI. */
#include "config.h"

#include "given.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MAX = 64 * 1024, SET_SIZE_MAX = 65536, TIMEOUT_MAX = 100000000 };

/* ---- one value ---- */

static rset_status
impossible(const char *key, const char *value, const char *possible, rset_err *err)
{
    return rset_fail(err, RSET_USAGE, "configuration: %s cannot be \"%s\"; possible: %s", key,
                     value, possible);
}

static rset_status
parse_count(const char *key, const char *value, int *out, rset_err *err)
{
    long n = 0;

    for (const char *s = value; *s != '\0'; s++) {
        if (!isdigit((unsigned char)*s) || (n = n * 10 + (*s - '0')) > SET_SIZE_MAX)
            n = -1;
        if (n < 0)
            break;
    }
    if (n < 1)
        return impossible(key, value, "whole numbers from 1 to 65536", err);
    *out = (int)n;
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
        return impossible(key, value, "seconds, more than 0, such as 300 or 2.5", err);
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
        if (*s == '"' || iscntrl((unsigned char)*s))
            return impossible(key, value, "text without quotes and control characters", err);
    memset(out, 0, size);
    memcpy(out, value, strlen(value));
    return RSET_OK;
}

/* ---- the keys ---- */

static const char verify_words[] = "open,read,size,all,";
static const char moved_words[] = "yes|true|on|1,copy,no|false|off|0,";
static const char commit_words[] = "close,flush,";
static const char changed_words[] = "restore,keep,";
static const char yes_words[] = "no|false|off|0,yes|true|on|1,";
static const char key_names[] =
    "scheme, set_size, replicas, checksums, group, timeout, verify, "
    "required, atomic, readonly_rebuild, moved, keep, generation, fallback, "
    "changed, commit, async, files, root, together, search, report, job";

static rset_status
parse_yes(const char *key, const char *value, bool *out, rset_err *err)
{
    int n = find_word(value, yes_words);

    if (n < 0)
        return impossible(key, value, "yes, no", err);
    *out = n == 1;
    return RSET_OK;
}

static rset_status
parse_keep(const char *value, int *out, rset_err *err)
{
    if (strcasecmp(value, "all") != 0)
        return parse_count("keep", value, out, err);
    *out = RSET_KEEP_ALL;
    return RSET_OK;
}

/* A word for "no" is none for a file; one for "yes" does not say where. */
static rset_status
parse_report(const char *key, const char *value, char *out, size_t size, rset_err *err)
{
    const int n = find_word(value, yes_words);

    if (n == 1)
        return impossible(key, value, "the name of a file, stderr, no", err);
    return parse_text(key, n == 0 ? "" : value, out, size, err);
}

static rset_status
parse_job(const char *key, const char *value, char *out, size_t size, rset_err *err)
{
    if (value[0] != '\0' && strlen(value) < size && !rset_stamp_may_be(value))
        return impossible(key, value, "printable UTF-8 without line ends", err);
    return parse_text(key, value, out, size, err);
}

static rset_status
set_key(rset_config *c, const char *key, const char *value, rset_err *err)
{
    int n;

    if (strcmp(key, "scheme") == 0) {
        const rset_scheme *scheme = rset_scheme_by_name(value);

        if (scheme == NULL)
            return impossible(key, value, rset_scheme_names, err);
        c->scheme = scheme;
        return RSET_OK;
    }
    if (strcmp(key, "set_size") == 0)
        return parse_count(key, value, &c->set_size, err);
    if (strcmp(key, "replicas") == 0)
        return parse_count(key, value, &c->replicas, err);
    if (strcmp(key, "checksums") == 0)
        return parse_count(key, value, &c->checksums, err);
    if (strcmp(key, "group") == 0)
        return parse_text(key, value, c->group, sizeof c->group, err);
    if (strcmp(key, "timeout") == 0)
        return parse_seconds(key, value, &c->timeout, err);
    if (strcmp(key, "verify") == 0) {
        if ((n = find_word(value, verify_words)) < 0)
            return impossible(key, value, "open, read, size, all", err);
        c->verify = (rset_verify)n;
        return RSET_OK;
    }
    if (strcmp(key, "required") == 0)
        return parse_yes(key, value, &c->required, err);
    if (strcmp(key, "atomic") == 0)
        return parse_yes(key, value, &c->atomic, err);
    if (strcmp(key, "readonly_rebuild") == 0)
        return parse_yes(key, value, &c->readonly_rebuild, err);
    if (strcmp(key, "moved") == 0) {
        if ((n = find_word(value, moved_words)) < 0)
            return impossible(key, value, "yes, copy, no", err);
        c->moved = (rset_moves)n;
        return RSET_OK;
    }
    if (strcmp(key, "keep") == 0)
        return parse_keep(value, &c->keep, err);
    if (strcmp(key, "generation") == 0)
        return parse_text(key, value, c->generation, sizeof c->generation, err);
    if (strcmp(key, "fallback") == 0)
        return parse_yes(key, value, &c->fallback, err);
    if (strcmp(key, "changed") == 0) {
        if ((n = find_word(value, changed_words)) < 0)
            return impossible(key, value, "restore, keep", err);
        c->keep_changed = n == 1;
        return RSET_OK;
    }
    if (strcmp(key, "commit") == 0) {
        if ((n = find_word(value, commit_words)) < 0)
            return impossible(key, value, "close, flush", err);
        c->commit_flush = n == 1;
        return RSET_OK;
    }
    if (strcmp(key, "async") == 0)
        return parse_yes(key, value, &c->async, err);
    if (strcmp(key, "files") == 0)
        return parse_text(key, value, c->files, sizeof c->files, err);
    if (strcmp(key, "root") == 0)
        return parse_text(key, value, c->root, sizeof c->root, err);
    if (strcmp(key, "together") == 0)
        return parse_text(key, value, c->together, sizeof c->together, err);
    if (strcmp(key, "search") == 0)
        return parse_text(key, value, c->search, sizeof c->search, err);
    if (strcmp(key, "job") == 0)
        return parse_job(key, value, c->job, sizeof c->job, err);
    if (strcmp(key, "report") == 0)
        return parse_report(key, value, c->report, sizeof c->report, err);
    return rset_fail(err, RSET_USAGE, "configuration: there is no key \"%s\"; possible: %s", key,
                     key_names);
}

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
    return impossible("together", config->together, "2 to 8 patterns, separated by commas", err);
}

static rset_status
check_generation(const rset_config *config, rset_err *err)
{
    rset_which which;

    if (config->generation[0] == '\0' ||
        rset_which_parse(config->generation, &which, NULL) == RSET_OK)
        return RSET_OK;
    return impossible("generation", config->generation, rset_which_forms, err);
}

rset_status
rset_config_check(const rset_config *config, rset_err *err)
{
    rset_status st = check_scheme(config, err);

    if (st == RSET_OK)
        st = check_together(config, err);
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
    return rset_fail(err, RSET_USAGE,
                     "configuration: \"%.*s\" is not of the form key=value; possible keys: %s",
                     (int)(end - key), key, key_names);
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
        if ((st = set_key(config, key, value, err)) != RSET_OK)
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
        st = rset_config_check(&changed, err);
    if (st == RSET_OK)
        *config = changed;
    free(copy);
    return st;
}
