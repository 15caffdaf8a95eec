/* config_asked.c: what a configuration says of a file. See config.h. No HDF5, no MPI. */
#include "config.h"

#include "common/crc64.h"
#include "common/pattern.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

int
rset_config_parity(const rset_config *config)
{
    if (config->scheme == &rset_scheme_partner)
        return config->replicas;
    if (config->scheme == &rset_scheme_rs)
        return config->checksums;
    return config->scheme == &rset_scheme_xor;
}

bool
rset_config_take_parity(rset_config *config, const rset_scheme *scheme, int parity)
{
    if (scheme == &rset_scheme_partner)
        config->replicas = parity;
    else if (scheme == &rset_scheme_rs)
        config->checksums = parity;
    else
        return scheme == &rset_scheme_xor && parity == 1;
    return parity > 0;
}

/* The first of these patterns that matches; -1: none does. *n_out: how many there are. */
static int
find_match(const char patterns[RSET_CONFIG_TEXT], const char *path, int *n_out)
{
    char  list[RSET_CONFIG_TEXT], recorded[PATH_MAX];
    char *rest = NULL, *pattern;
    int   found = -1, n = 0;

    snprintf(recorded, sizeof recorded, "%.*s", (int)rset_name_recorded(path), path);
    memcpy(list, patterns, sizeof list);
    list[sizeof list - 1] = '\0';
    for (pattern = strtok_r(list, ",", &rest); pattern; pattern = strtok_r(NULL, ",", &rest), n++)
        if (found < 0 && rset_pattern_matches(pattern, recorded))
            found = n;
    *n_out = n;
    return found;
}

bool
rset_config_covers(const rset_config *config, const char *path)
{
    int n;

    return find_match(config->files, path, &n) >= 0 || n == 0 || rset_config_is_root(config, path);
}

bool
rset_config_is_root(const rset_config *config, const char *path)
{
    int n;

    return find_match(config->root, path, &n) >= 0;
}

int
rset_config_together(const rset_config *config, const char *path, int *n_out)
{
    return find_match(config->together, path, n_out);
}

static uint64_t
key_of_text(const char *text)
{
    return rset_crc64(0, text, strlen(text));
}

void
rset_config_keys(const rset_config *config, uint64_t keys_out[RSET_KEYS])
{
    char code[64];

    snprintf(code, sizeof code, "%s %d %d", config->scheme->name, config->set_size,
             rset_config_parity(config));
    keys_out[RSET_KEY_SCHEME] = key_of_text(code);
    keys_out[RSET_KEY_KEEP] = (uint64_t)config->keep;
    keys_out[RSET_KEY_ROOT] = key_of_text(config->root);
    keys_out[RSET_KEY_TOGETHER] = key_of_text(config->together);
}
