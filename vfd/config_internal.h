/* config_internal.h: what the parts of the configuration string share, each using those before it:
 *   config_vars.c   variables of the environment in values
 *   config_keys.c   the keys, and what each makes of its value
 *   config.c        the string, and whether the settings go together */
#ifndef RSET_CONFIG_INTERNAL_H
#define RSET_CONFIG_INTERNAL_H

#include "config.h"

/* ---- config_vars.c ---- */

/* The value of `key` with the variables of the environment that it names ($NAME, ${NAME}) put in, and $$ as one dollar sign.
 * *out is the caller's to free; NULL on failure. RSET_USAGE: a variable is not set, or a dollar sign is followed by something
 * else; the message names key and variable. RSET_NOMEM. */
rset_status rset_config_expand(const char *key, const char *value, char **out, rset_err *err);

/* ---- config_keys.c ---- */

/* Fails with what a value may be: RSET_USAGE. `possible` ends the message. */
rset_status rset_config_impossible(const char *key, const char *value, const char *possible,
                                   rset_err *err);

/* Fails with what a string has instead of a pair: RSET_USAGE. */
rset_status rset_config_no_pair(const char *word, rset_err *err);

#endif
