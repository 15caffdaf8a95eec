/* format_info.c: descriptors, checksums and infos, to trees and from trees. Each list of fields
 * stands here once, as a table that drives both directions. See format_internal.h. */
#include "format_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX_DIGITS = 16 }; /* of one CRC-64 */

/* Numbers of a descriptor that fit an int. */
static const struct int_field {
    const char *key;
    size_t      offset;
} desc_ints[] = {
    {"GROUP", offsetof(rset_desc, set)},   {"GROUPS", offsetof(rset_desc, sets)},
    {"RANK", offsetof(rset_desc, member)}, {"RANKS", offsetof(rset_desc, members)},
    {"WRANK", offsetof(rset_desc, rank)},  {"WRANKS", offsetof(rset_desc, ranks)},
};

/* Attributes of a data file. */
static const struct attr_field {
    const char *key;
    size_t      offset;
    uint64_t    max;
} attr_fields[] = {
    {"ATIME_NSECS", offsetof(rset_attrs, atime_nsecs), UINT64_MAX},
    {"ATIME_SECS", offsetof(rset_attrs, atime_secs), UINT64_MAX},
    {"CTIME_NSECS", offsetof(rset_attrs, ctime_nsecs), UINT64_MAX},
    {"CTIME_SECS", offsetof(rset_attrs, ctime_secs), UINT64_MAX},
    {"GID", offsetof(rset_attrs, gid), UINT64_MAX},
    {"MODE", offsetof(rset_attrs, mode), UINT64_MAX},
    {"MTIME_NSECS", offsetof(rset_attrs, mtime_nsecs), UINT64_MAX},
    {"MTIME_SECS", offsetof(rset_attrs, mtime_secs), UINT64_MAX},
    {"SIZE", offsetof(rset_attrs, size), INT64_MAX},
    {"UID", offsetof(rset_attrs, uid), UINT64_MAX},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

int
rset_part_next_as_text(int i, int n)
{
    if (i > 0 && i <= (n - 1) / 10)
        return i * 10;
    while (i > 0 && (i % 10 == 9 || i + 1 >= n))
        i /= 10;
    return i + 1;
}

/* ---- descriptors ---- */

/* `parity` of schemes whose descriptors do not say it. */
static int
implied_parity(const rset_scheme *scheme)
{
    return scheme->striped ? 1 : 0;
}

bool
rset_part_put_desc(rset_tree *tree, const rset_desc *desc, bool extra)
{
    const rset_scheme *scheme = desc->scheme;
    bool               ok = rset_tree_set(tree, "ENABLED", "1") != NULL &&
              rset_tree_set(tree, "TYPE", scheme->name) != NULL;

    for (size_t i = 0; i < COUNT(desc_ints); i++) {
        const int *value = (const int *)(const void *)((const char *)desc + desc_ints[i].offset);

        ok = ok && rset_tree_set_u64(tree, desc_ints[i].key, (uint64_t)*value) != NULL;
    }
    if (scheme->count_key != NULL)
        ok = ok && rset_tree_set_u64(tree, scheme->count_key, (uint64_t)desc->parity) != NULL;
    if (extra && desc->generation != 0)
        ok = ok && rset_tree_set_u64(tree, "GENERATION", desc->generation) != NULL;
    return ok;
}

rset_status
rset_part_check_desc(const rset_subject *on, const rset_desc *desc)
{
    rset_err why = RSET_ERR_NONE;

    if (desc->scheme == NULL)
        return rset_subject_bad(on, "has a descriptor of an unknown scheme");
    for (size_t i = 0; i < COUNT(desc_ints); i++) {
        const int *value = (const int *)(const void *)((const char *)desc + desc_ints[i].offset);

        if (*value < 0 || *value > RSET_MAX_RANKS)
            return rset_subject_bad(on, "has %s = %d, possible are 0 to %d", desc_ints[i].key,
                                    *value, (int)RSET_MAX_RANKS);
    }
    if (desc->member >= desc->members || desc->set >= desc->sets || desc->rank >= desc->ranks ||
        desc->members > desc->ranks || desc->sets > desc->ranks)
        return rset_subject_bad(on,
                                "names member %d of %d in set %d of %d for rank %d of %d, which "
                                "cannot be",
                                desc->member, desc->members, desc->set, desc->sets, desc->rank,
                                desc->ranks);
    if (desc->scheme->count_key == NULL && desc->parity != implied_parity(desc->scheme))
        return rset_subject_bad(on, "has %d redundancy pieces under %s", desc->parity,
                                desc->scheme->name);
    if (desc->scheme->check(desc->members, desc->parity, &why) != RSET_OK)
        return rset_subject_bad(on, "describes an impossible set: %s", why.text);
    return RSET_OK;
}

rset_status
rset_part_get_desc(const rset_subject *on, const rset_tree *tree, rset_desc *out)
{
    const char *type = rset_tree_value(tree, "TYPE");
    const char *enabled = rset_tree_value(tree, "ENABLED");
    rset_desc   desc = {.scheme = type == NULL ? NULL : rset_scheme_by_name(type)};
    uint64_t    value;
    rset_status st;

    if (desc.scheme == NULL)
        return rset_subject_bad(on, "has a descriptor without a TYPE that is one of %s",
                                rset_scheme_names);
    if (enabled == NULL || strcmp(enabled, "1") != 0)
        return rset_subject_bad(on, "has a descriptor without ENABLED = 1");
    for (size_t i = 0; i < COUNT(desc_ints); i++) {
        int *field = (int *)(void *)((char *)&desc + desc_ints[i].offset);

        if (!rset_tree_value_u64(tree, desc_ints[i].key, RSET_MAX_RANKS, &value))
            return rset_subject_bad(on, "has a descriptor without a number %s up to %d",
                                    desc_ints[i].key, (int)RSET_MAX_RANKS);
        *field = (int)value;
    }
    desc.parity = implied_parity(desc.scheme);
    if (desc.scheme->count_key != NULL) {
        if (!rset_tree_value_u64(tree, desc.scheme->count_key, RSET_MAX_RANKS, &value))
            return rset_subject_bad(on, "has a descriptor without a number %s",
                                    desc.scheme->count_key);
        desc.parity = (int)value;
    }
    if (rset_tree_find(tree, "GENERATION") != NULL &&
        !rset_tree_value_u64(tree, "GENERATION", UINT64_MAX, &desc.generation))
        return rset_subject_bad(on, "has a GENERATION that is no number");
    st = rset_part_check_desc(on, &desc);
    if (st == RSET_OK)
        *out = desc;
    return st;
}

bool
rset_part_same_set(const rset_desc *a, const rset_desc *b)
{
    return a->scheme == b->scheme && a->parity == b->parity && a->set == b->set &&
           a->sets == b->sets && a->members == b->members && a->ranks == b->ranks &&
           a->generation == b->generation;
}

/* ---- checksums ---- */

static char *
put_hex(char *at, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}

/* Value of each hex digit and 1; 0 for what is none. A table, not comparisons: a header has tens of thousands of digits, and which
 * comes next cannot be foretold. */
static const uint8_t hex_values[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};

/* HEX_DIGITS lower-case digits; false when it is anything else. A NUL is something else. */
static bool
get_hex(const char *at, uint64_t *out)
{
    uint64_t value = 0;
    bool     all = true;

    for (int i = 0; i < HEX_DIGITS; i++) {
        const unsigned digit = hex_values[(uint8_t)at[i]];

        all &= digit != 0;
        value = value << 4 | ((digit - 1) & 15);
    }
    *out = value;
    return all;
}

bool
rset_part_put_sums(rset_tree *tree, const rset_sums *sums)
{
    char *hex = malloc((sums->nblocks + 1) * HEX_DIGITS + 1), *end = hex;
    bool  ok;

    if (hex == NULL)
        return false;
    *put_hex(hex, sums->whole) = '\0';
    ok = rset_tree_set(tree, "CRC64", hex) != NULL &&
         rset_tree_set_u64(tree, "CRC64_BLOCK", sums->block) != NULL;
    for (size_t i = 0; i < sums->nblocks; i++)
        end = put_hex(end, sums->crc[i]);
    *end = '\0';
    if (sums->nblocks > 0)
        ok = ok && rset_tree_set(tree, "CRC64_BLOCKS", hex) != NULL;
    free(hex);
    return ok;
}

rset_status
rset_part_get_sums(const rset_subject *on, const rset_tree *tree, uint64_t size, bool *has_out,
                   rset_sums *sums)
{
    const char *whole = rset_tree_value(tree, "CRC64");
    const char *blocks = rset_tree_value(tree, "CRC64_BLOCKS");
    size_t      digits = blocks == NULL ? 0 : strlen(blocks);
    uint64_t    block = 0, crc;

    *has_out = rset_tree_find(tree, "CRC64") != NULL ||
               rset_tree_find(tree, "CRC64_BLOCK") != NULL ||
               rset_tree_find(tree, "CRC64_BLOCKS") != NULL;
    if (!*has_out)
        return RSET_OK;
    if (whole == NULL || strlen(whole) != HEX_DIGITS || !get_hex(whole, &crc))
        return rset_subject_bad(on, "has no CRC64 of 16 hex digits beside other checksums");
    if (!rset_tree_value_u64(tree, "CRC64_BLOCK", UINT64_MAX, &block) || block == 0)
        return rset_subject_bad(on, "has no CRC64_BLOCK of at least 1");
    if (digits % HEX_DIGITS != 0 || size / block + (size % block != 0) != digits / HEX_DIGITS ||
        (digits == 0 && rset_tree_find(tree, "CRC64_BLOCKS") != NULL))
        return rset_subject_bad(on,
                                "has %zu digits of CRC64_BLOCKS for %" PRIu64 " bytes in blocks "
                                "of %" PRIu64,
                                digits, size, block);
    if (rset_sums_init(sums, size, block) != 0) /* no more than the digits just counted */
        return rset_subject_nomem(on);
    sums->whole = crc;
    for (size_t i = 0; i < sums->nblocks; i++)
        if (!get_hex(blocks + i * HEX_DIGITS, &sums->crc[i]))
            return rset_subject_bad(on, "has a CRC64_BLOCKS with something else than hex digits");
    return RSET_OK;
}

/* ---- infos ---- */

static bool
put_file(rset_tree *index, const rset_file_info *file, bool extra)
{
    rset_tree *tree = rset_tree_add(index, file->path);
    bool       ok = tree != NULL;

    for (size_t i = 0; i < COUNT(attr_fields); i++) {
        const char *at = (const char *)&file->attrs + attr_fields[i].offset;

        ok = ok && rset_tree_set_u64(tree, attr_fields[i].key,
                                     *(const uint64_t *)(const void *)at) != NULL;
    }
    if (extra && file->has_sums)
        ok = ok && rset_part_put_sums(tree, &file->sums);
    return ok;
}

bool
rset_part_put_info(rset_tree *tree, const rset_info *info, bool extra)
{
    rset_tree *files = rset_tree_add(tree, "FILE");
    bool       ok = files != NULL &&
              rset_part_put_desc(rset_tree_add(tree, "DESC"), &info->desc, extra) &&
              rset_tree_set_u64(tree, "FILES", (uint64_t)info->nfiles) != NULL;

    if (extra && info->host != NULL)
        ok = ok && rset_tree_set(tree, "HOST", info->host) != NULL;
    ok = ok && (!extra || (rset_part_put_stamp(tree, &info->stamp) &&
                           rset_part_put_together(tree, info->together)));
    for (int n = 0, i = 0; ok && n < info->nfiles; n++, i = rset_part_next_as_text(i, info->nfiles))
        ok = put_file(rset_tree_add_u64(files, (uint64_t)i), &info->files[i], extra);
    return ok;
}

/* `index`: the subtree of one file's number: its path, and below that its attributes. */
static rset_status
get_file(const rset_subject *on, const rset_tree *index, rset_file_info *file)
{
    const rset_tree *tree = rset_tree_child(index, 0);

    if (rset_tree_count(index) != 1)
        return rset_subject_bad(on, "does not have exactly one path per file");
    for (size_t i = 0; i < COUNT(attr_fields); i++) {
        char *at = (char *)&file->attrs + attr_fields[i].offset;

        if (!rset_tree_value_u64(tree, attr_fields[i].key, attr_fields[i].max,
                                 (uint64_t *)(void *)at))
            return rset_subject_bad(on, "has a data file without a number %s up to %" PRIu64,
                                    attr_fields[i].key, attr_fields[i].max);
    }
    if (strnlen(rset_tree_key(index, 0), RSET_PATH_MAX + 1) > RSET_PATH_MAX)
        return rset_subject_bad(on, "has a path of more than %d bytes", (int)RSET_PATH_MAX);
    file->path = strdup(rset_tree_key(index, 0));
    if (file->path == NULL)
        return rset_subject_nomem(on);
    return rset_part_get_sums(on, tree, file->attrs.size, &file->has_sums, &file->sums);
}

static rset_status
get_files(const rset_subject *on, const rset_tree *tree, rset_info *info)
{
    const rset_tree *files = rset_tree_find(tree, "FILE");
    uint64_t         nfiles;

    if (files == NULL || !rset_tree_value_u64(tree, "FILES", INT_MAX, &nfiles) ||
        nfiles != rset_tree_count(files) || nfiles > on->len / RSET_FILE_BYTES)
        return rset_subject_bad(on, "has FILES that do not match its FILE");
    if (nfiles == 0)
        return RSET_OK;
    info->files = calloc(nfiles, sizeof *info->files);
    if (info->files == NULL)
        return rset_subject_nomem(on);
    for (; info->nfiles < (int)nfiles; info->nfiles++) {
        const rset_tree *index = rset_tree_find_u64(files, (uint64_t)info->nfiles);
        rset_status      st = get_file(on, index, &info->files[info->nfiles]);

        if (st != RSET_OK) {
            info->nfiles++; /* this one may own something already */
            return st;
        }
    }
    return RSET_OK;
}

static bool
is_host_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strnlen(name, RSET_HOST_MAX + 1) <= RSET_HOST_MAX;
}

/* Files of another program, and of earlier releases, do not say it. */
static rset_status
get_host(const rset_subject *on, const rset_tree *tree, rset_info *info)
{
    const char *name = rset_tree_value(tree, "HOST");

    if (rset_tree_find(tree, "HOST") == NULL)
        return RSET_OK;
    if (!is_host_name(name))
        return rset_subject_bad(on, "has a HOST that is not one name of at most %d bytes",
                                (int)RSET_HOST_MAX);
    info->host = strdup(name);
    return info->host != NULL ? RSET_OK : rset_subject_nomem(on);
}

rset_status
rset_part_check_info(const rset_subject *on, const rset_info *info)
{
    uint64_t    length = 0;
    rset_status st;

    for (int i = 0; i < info->nfiles; i++) {
        const rset_file_info *file = &info->files[i];

        if (file->path == NULL || file->path[0] == '\0' || strlen(file->path) > RSET_PATH_MAX)
            return rset_subject_bad(on, "has an empty path or one of more than %d bytes",
                                    (int)RSET_PATH_MAX);
        if (file->attrs.size > INT64_MAX - length)
            return rset_subject_bad(on, "has files of more than 2^63 bytes together");
        if (file->has_sums && (file->sums.size != file->attrs.size || file->sums.block == 0))
            return rset_subject_bad(on, "has checksums of %" PRIu64 " bytes for a file of %" PRIu64,
                                    file->sums.size, file->attrs.size);
        length += file->attrs.size;
    }
    if (info->host != NULL && !is_host_name(info->host))
        return rset_subject_bad(on, "has an empty host name or one of more than %d bytes",
                                (int)RSET_HOST_MAX);
    st = rset_part_check_stamp(on, &info->stamp);
    if (st == RSET_OK)
        st = rset_part_check_together(on, info->together);
    return st == RSET_OK ? rset_part_check_desc(on, &info->desc) : st;
}

rset_status
rset_part_get_info(const rset_subject *on, const rset_tree *tree, rset_info *info)
{
    rset_status st = rset_part_get_desc(on, rset_tree_find(tree, "DESC"), &info->desc);

    if (st == RSET_OK)
        st = get_host(on, tree, info);
    if (st == RSET_OK)
        st = rset_part_get_stamp(on, tree, &info->stamp);
    if (st == RSET_OK)
        st = rset_part_get_together(on, tree, &info->together);
    if (st == RSET_OK)
        st = get_files(on, tree, info);
    return st == RSET_OK ? rset_part_check_info(on, info) : st;
}
