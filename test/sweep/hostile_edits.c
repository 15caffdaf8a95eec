/* hostile_edits.c: see hostile_edits.h. */
#include "hostile_edits.h"

#include "craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { EDITS = 4096, LONG_NAME = 5000, TEXT = 160 };

/* Keys that hold a number. Those of a descriptor, of a data file, of the header. */
static const char *const number_keys[] = {
    "DESC|*|DESC|GROUP",
    "DESC|*|DESC|GROUPS",
    "DESC|*|DESC|RANK",
    "DESC|*|DESC|RANKS",
    "DESC|*|DESC|WRANK",
    "DESC|*|DESC|WRANKS",
    "DESC|*|DESC|CKSUM",
    "DESC|*|DESC|REPLICAS",
    "DESC|*|DESC|GENERATION",
    "DESC|*|DESC|ENABLED",
    "DESC|*|FILES",
    "DESC|*|FILE|0|*|SIZE",
    "DESC|*|FILE|0|*|MODE",
    "DESC|*|FILE|0|*|UID",
    "DESC|*|FILE|0|*|GID",
    "DESC|*|FILE|0|*|MTIME_SECS",
    "DESC|*|FILE|0|*|MTIME_NSECS",
    "DESC|*|FILE|0|*|ATIME_SECS",
    "DESC|*|FILE|0|*|ATIME_NSECS",
    "DESC|*|FILE|0|*|CTIME_SECS",
    "DESC|*|FILE|0|*|CRC64_BLOCK",
    "DESC|*|FILE|0|*|CRC64",
    "DESC|*|FILE|0|*|CRC64_BLOCKS",
    "CHUNK",
    "RANK",
    "VFD",
    "GROUP|RANKS",
    "GROUP|RANK|0",
    "GROUP|RANK|2",
    "GROUP|RANK|*",
    "PAYLOAD|SIZE",
    "PAYLOAD|CRC64_BLOCK",
    "PAYLOAD|CRC64",
    "PAYLOAD|CRC64_BLOCKS",
};

/* 2^n and its neighbours, products that wrap with them, and what is no number of ours. */
static const char *const numbers[] = {
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "255",
    "256",
    "257",
    "4096",
    "5001",
    "16777216",
    "16777217",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "6148914691236517206", /* times 3: 2 */
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "31556952000000000000", /* seconds in 10^12 years */
    "-1",
    "+1",
    "01",
    "0x10",
    " 1",
    "1 ",
    "1e9",
    "",
    "one",
};

static const char *const modes[] = {"35309", "34285", "36864", "37375",
                                    "16877", "41471", "65535", "4294967295"};
static const char *const owners[] = {"1", "1000", "65533", "65534", "4294967294", "4294968296"};

/* Names for a data file; %s is a path outside. */
static const char *const names[] = {
    "%s",
    "/",
    "/dev/null",
    "/proc/self/mem",
    "//%s",
    "..",
    ".",
    "../outside/victim",
    "../../../../../../../../../../etc/redset_hostile",
    "./ckpt_0.h5",
    "sub/ckpt_0.h5",
    "../node1/ckpt_1.h5",
    "ckpt_1.h5",
    "ckpt_0.h5/",
    "ckpt_0.h5/../../outside/victim",
    "ckpt_0.h5.0.redset",
    "ckpt_1.h5.1.redset.0.fix",
    "line\nbreak",
    "bell\a\x1b[2J\xff\xfe",
    "%n%n%s%s",
    " ",
    "",
    "-rf",
    "*",
};

static const char *const parts[] = {
    "DESC",  "DESC|*",     "DESC|*|DESC", "DESC|*|FILE", "DESC|*|FILE|0", "DESC|*|FILE|0|*",
    "GROUP", "GROUP|RANK", "PAYLOAD",
};

static const char *const types[] = {"SINGLE", "PARTNER", "XOR", "RS", "rs", "", "RAID6", "XORX"};

static hostile_edit list[EDITS];
static int          nlist;

static void
put(hostile_edit edit)
{
    if (nlist == EDITS)
        fail_msg("more than %d edits", EDITS);
    list[nlist++] = edit;
}

static void
put_numbers(void)
{
    for (size_t k = 0; k < COUNT(number_keys); k++)
        for (size_t i = 0; i < COUNT(numbers); i++)
            put((hostile_edit){EDIT_VALUE, number_keys[k], numbers[i], 0});
    for (size_t i = 0; i < COUNT(modes); i++)
        put((hostile_edit){EDIT_VALUE, "DESC|*|FILE|0|*|MODE", modes[i], 0});
    for (size_t i = 0; i < COUNT(owners); i++) {
        put((hostile_edit){EDIT_VALUE, "DESC|*|FILE|0|*|UID", owners[i], 0});
        put((hostile_edit){EDIT_VALUE, "DESC|*|FILE|0|*|GID", owners[i], 0});
    }
    for (size_t i = 0; i < COUNT(types); i++)
        put((hostile_edit){EDIT_VALUE, "DESC|*|DESC|TYPE", types[i], 0});
}

static void
put_names(const char *outside)
{
    static char room[COUNT(names)][512], long_name[LONG_NAME + 1], long_path[LONG_NAME + 1];
    static char limit[4095 + 1];

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *at = strstr(names[i], "%s");

        snprintf(room[i], sizeof room[i], "%s", names[i]);
        if (at != NULL && at <= names[i] + 2)
            snprintf(room[i], sizeof room[i], "%.*s%s", (int)(at - names[i]), names[i], outside);
        put((hostile_edit){EDIT_RENAME, "DESC|*|FILE|0|*", room[i], 0});
    }
    memset(long_name, 'n', LONG_NAME);
    memset(limit, 'm', 4095);
    for (int i = 0; i < LONG_NAME; i++)
        long_path[i] = i % 2 == 0 ? '.' : '/';
    put((hostile_edit){EDIT_RENAME, "DESC|*|FILE|0|*", long_name, 0});
    put((hostile_edit){EDIT_RENAME, "DESC|*|FILE|0|*", long_path, 0});
    put((hostile_edit){EDIT_RENAME, "DESC|*|FILE|0|*", limit, 0});
    put((hostile_edit){EDIT_VALUE, "DESC|*|DESC|TYPE", long_name, 0});
    put((hostile_edit){EDIT_VALUE, "CHUNK", long_name, 0});
}

static void
put_structure(void)
{
    static const uint64_t depths[] = {2, 13, 16, 17, 1000, 1000000};
    static const uint64_t counts[] = {0, 1, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    static const uint64_t totals[] = {
        0, 23, 24, 16777216, 16777217, 0xffffffff, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX};

    for (size_t k = 0; k < COUNT(number_keys) + COUNT(parts); k++) {
        const char *path = k < COUNT(number_keys) ? number_keys[k] : parts[k - COUNT(number_keys)];

        put((hostile_edit){EDIT_REMOVE, path, NULL, 0});
        put((hostile_edit){EDIT_DOUBLE, path, NULL, 0});
        put((hostile_edit){EDIT_ADD, path, "7", 0});
        put((hostile_edit){EDIT_RENAME, path, "ANOTHER", 0});
        put((hostile_edit){EDIT_SHAFT, path, NULL, depths[k % COUNT(depths)]});
        put((hostile_edit){EDIT_COUNT, path, NULL, counts[k % COUNT(counts)]});
    }
    for (size_t i = 0; i < COUNT(depths); i++)
        put((hostile_edit){EDIT_SHAFT, "VFD", NULL, depths[i]});
    for (size_t i = 0; i < COUNT(counts); i++)
        put((hostile_edit){EDIT_COUNT, "DESC", NULL, counts[i]});
    for (size_t i = 0; i < COUNT(totals); i++)
        put((hostile_edit){EDIT_TOTAL, "", NULL, totals[i]});
    put((hostile_edit){EDIT_GROW, "VFD", NULL, 16 * 1024 * 1024 + 64});
    put((hostile_edit){EDIT_GROW, "VFD", NULL, 16 * 1024 * 1024 - 4096});
}

const hostile_edit *
hostile_edits(const char *outside, int *n_out)
{
    nlist = 0;
    put_numbers();
    put_names(outside);
    put_structure();
    *n_out = nlist;
    return list;
}

/* ---- making the cut ---- */

static int
cut_bytes(knife *tree, const hostile_edit *e)
{
    uint8_t count[4], *bytes = NULL;
    size_t  len = 0;
    int     places = 0;

    if (e->how == EDIT_COUNT) {
        craft_number_at(count, 4, e->number);
        return knife_bytes(tree, e->path, count, sizeof count);
    }
    if (e->how == EDIT_SHAFT) {
        bytes = knife_shaft((size_t)e->number, &len);
    } else { /* one key of that length */
        len = (size_t)e->number + 9;
        bytes = calloc(len, 1);
        assert_non_null(bytes);
        bytes[3] = 1;
        memset(bytes + 4, 'g', (size_t)e->number);
    }
    places = knife_bytes(tree, e->path, bytes, len);
    free(bytes);
    return places;
}

static int
cut_one(knife *tree, const hostile_edit *e)
{
    switch (e->how) {
    case EDIT_VALUE: return knife_value(tree, e->path, e->with);
    case EDIT_RENAME: return knife_rename(tree, e->path, e->with);
    case EDIT_REMOVE: return knife_remove(tree, e->path);
    case EDIT_DOUBLE: return knife_double(tree, e->path);
    case EDIT_ADD: return knife_add(tree, e->path, e->with);
    case EDIT_TOTAL: return 1;
    default: return cut_bytes(tree, e);
    }
}

uint8_t *
hostile_cut(const hostile_edit *edits, int n, const uint8_t *file, size_t size, size_t payload_at,
            size_t *size_out)
{
    knife   *tree = knife_open(file, payload_at);
    uint8_t *head, *all;
    size_t   len = 0;
    int      places = 0;

    for (int i = 0; i < n; i++)
        places += cut_one(tree, &edits[i]);
    head = knife_seal(tree, &len);
    knife_free(tree);
    for (int i = 0; i < n; i++)
        if (edits[i].how == EDIT_TOTAL) {
            craft_number_at(head + 8, 8, edits[i].number);
            craft_seal(head, len);
        }
    all = places > 0 ? realloc(head, len + size - payload_at + 1) : NULL;
    if (all == NULL) {
        free(head);
        return NULL;
    }
    memcpy(all + len, file + payload_at, size - payload_at);
    *size_out = len + size - payload_at;
    return all;
}

const char *
hostile_text(const hostile_edit *e)
{
    static const char *const verbs[] = {"=",     "renamed", "removed", "twice", "has also",
                                        "depth", "count",   "total",   "grown"};
    static char              text[TEXT];

    snprintf(text, sizeof text, "%.40s %s %.60s", e->path, verbs[e->how],
             e->with != NULL ? e->with : "");
    if (e->how >= EDIT_SHAFT)
        snprintf(text, sizeof text, "%.40s %s %llu", e->path, verbs[e->how],
                 (unsigned long long)e->number);
    return text;
}
