/* config_vars.c: variables of the environment in the values of a configuration string. See config_internal.h. */
#include "config_internal.h"

#include "given.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 255 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char more_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/* The name behind a dollar sign at `at`; returns where the text goes on behind it, NULL: there is none. */
static const char *
take_name(const char *at, char name_out[NAME_MOST + 1])
{
    const bool   braces = at[1] == '{';
    const char  *name = at + 1 + braces;
    const size_t n = strchr(letters, *name) != NULL ? strspn(name, more_letters) : 0;

    if (n == 0 || n > NAME_MOST || (braces && name[n] != '}'))
        return NULL;
    snprintf(name_out, NAME_MOST + 1, "%.*s", (int)n, name);
    return name + n + braces;
}

/* The text that stands for what begins with the dollar sign at *at, which goes on behind that. NULL: *err says why. */
static const char *
take_variable(const char **at, const char *key, rset_err *err)
{
    char        name[NAME_MOST + 1];
    const char *after = take_name(*at, name), *text;

    if ((*at)[1] == '$') {
        *at += 2;
        return "$";
    }
    if (after == NULL) {
        (void)rset_fail(err, RSET_USAGE,
                        "configuration: the value of %s has a \"$\" that no variable's name "
                        "follows; write $NAME or ${NAME}, and $$ for a dollar sign",
                        key);
        return NULL;
    }
    text = rset_given_env(name);
    if (text == NULL)
        (void)rset_fail(err, RSET_USAGE,
                        "configuration: the value of %s names the environment variable %s, which "
                        "is not set; set it on every rank (mpirun -x %s), or write $$ for a dollar "
                        "sign",
                        key, name, name);
    *at = after;
    return text;
}

/* Puts the value into `to`, which has room for it, or counts only: NULL. Returns its bytes; SIZE_MAX: *err says why not. */
static size_t
put_in(const char *key, const char *value, char *to, rset_err *err)
{
    size_t n = 0;

    for (const char *at = value; *at != '\0';) {
        size_t      len = strcspn(at, "$");
        const char *text = at;

        at += len;
        if (len == 0) {
            text = take_variable(&at, key, err);
            if (text == NULL)
                return SIZE_MAX;
            len = strlen(text);
        }
        if (to != NULL)
            memcpy(to + n, text, len);
        n += len;
    }
    return n;
}

rset_status
rset_config_expand(const char *key, const char *value, char **out, rset_err *err)
{
    const size_t n = put_in(key, value, NULL, err);

    *out = NULL;
    if (n == SIZE_MAX)
        return RSET_USAGE;
    *out = calloc(1, n + 1);
    if (*out == NULL)
        return rset_fail_errno(err, RSET_NOMEM, ENOMEM, "configuration string");
    (void)put_in(key, value, *out, err);
    return RSET_OK;
}
