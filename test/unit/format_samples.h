/* format_samples.h: headers to test with, and a knife: a header's tree copied with one key changed. */
#ifndef RSET_TEST_FORMAT_SAMPLES_H
#define RSET_TEST_FORMAT_SAMPLES_H

#include "craft.h"
#include "format/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLE_BLOCK = 65536 };

static inline void *
sample_alloc(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (p == NULL)
        abort();
    return p;
}

static inline void
sample_sums(rset_sums *sums, uint64_t size, uint64_t *seed)
{
    if (rset_sums_init(sums, size, SAMPLE_BLOCK) != 0)
        abort();
    for (size_t i = 0; i < sums->nblocks; i++)
        sums->crc[i] = craft_random(seed);
    sums->whole = craft_random(seed);
}

/* `nfiles` files of member `member`: sizes around the block size, one file empty, wild attributes; of odd members nobody
 * recorded where they ran, and of members 3, 7, ... when and as what. */
static inline rset_info
sample_info(const rset_desc *desc, int nfiles)
{
    rset_info info = {.desc = *desc, .nfiles = nfiles};
    uint64_t  seed = (uint64_t)desc->member + 1;
    char      host[32];

    snprintf(host, sizeof host, "node%d", desc->member);
    info.host = desc->member % 2 == 0 ? strdup(host) : NULL;
    if (desc->member % 4 != 3)
        info.stamp = (rset_stamp){.time = 1700000000,
                                  .since = UINT64_MAX - 1,
                                  .job = strdup("4711"),
                                  .user = strdup("ann"),
                                  .label = strdup("step 7, \xc3\xa9tape")};

    info.files = nfiles == 0 ? NULL : sample_alloc((size_t)nfiles, sizeof *info.files);
    for (int i = 0; i < nfiles; i++) {
        rset_file_info *file = &info.files[i];
        char            path[64];

        snprintf(path, sizeof path, "dir/ckpt_%d_%d.h5", desc->rank, i);
        file->path = strdup(path);
        for (size_t k = 0; k < sizeof file->attrs / sizeof(uint64_t); k++)
            ((uint64_t *)&file->attrs)[k] = craft_random(&seed) >> (k * 7 % 40);
        file->attrs.atime_secs = UINT64_MAX - 86399; /* 1969-12-31 */
        file->attrs.atime_nsecs = 42;
        file->attrs.mode = 0100644;
        file->attrs.size = i == 1 ? 0 : (uint64_t)(SAMPLE_BLOCK * (i + 1) + desc->member - 1);
        file->has_sums = true;
        sample_sums(&file->sums, file->attrs.size, &seed);
    }
    return info;
}

/* The header of `member` in set 1 of 3 of a job of 20 ranks; member m is rank 2m + 1. */
static inline rset_header
sample_header(const rset_scheme *scheme, int members, int parity, int member, int nfiles)
{
    rset_header h = {.member = member};
    uint64_t    size = 0, seed = 99;

    h.ninfos = 1 + scheme->left(parity);
    h.infos = sample_alloc((size_t)h.ninfos, sizeof *h.infos);
    for (int d = 0; d < h.ninfos; d++) {
        int       m = (member - d + members) % members;
        rset_desc desc = {.scheme = scheme,
                          .parity = parity,
                          .set = 1,
                          .sets = 3,
                          .member = m,
                          .members = members,
                          .rank = 2 * m + 1,
                          .ranks = 2 * members + 10,
                          .generation = (uint64_t)1 << 63 | 12345};

        h.infos[d] = sample_info(&desc, nfiles);
        if (d > 0)
            size += rset_info_length(&h.infos[d]);
    }
    if (scheme->striped) {
        h.chunk = 2 * rset_info_length(&h.infos[0]) + 1000;
        size = h.chunk * (uint64_t)parity;
        h.group = sample_alloc((size_t)members, sizeof *h.group);
        for (int m = 0; m < members; m++)
            h.group[m] = 2 * m + 1;
    }
    h.has_payload_sums = true;
    sample_sums(&h.payload, size, &seed);
    return h;
}

/* Packed, with our own keys or without. Freed with free(). */
static inline uint8_t *
sample_packed(const rset_header *h, bool extra, size_t *len_out)
{
    rset_err err = RSET_ERR_NONE;
    uint8_t *buf = NULL;

    if (rset_format_pack_header(h, extra, &buf, len_out, &err) != RSET_OK)
        fail_msg("%s", err.text);
    return buf;
}

static inline uint8_t *
sample_pack(const rset_header *h, size_t *len_out)
{
    return sample_packed(h, true, len_out);
}

/* Refused as damaged, with a message that says of which file, and nothing handed out? */
static inline bool
sample_refused(const uint8_t *buf, size_t len, int member)
{
    rset_header h = {.infos = NULL};
    rset_err    err = RSET_ERR_NONE;

    return rset_format_unpack_header(buf, len, "file", member, &h, &err) == RSET_DAMAGED &&
           strncmp(err.text, "file: ", 6) == 0 && h.infos == NULL;
}

static inline void
assert_sample_refused(const uint8_t *buf, size_t len, int member, const char *damage)
{
    if (!sample_refused(buf, len, member))
        fail_msg("not refused: %s", damage);
}

/* What to do at one place of a tree, e.g. "DESC/2/FILES". */
typedef struct cut {
    const char *path;
    const char *value; /* becomes the only value there; NULL: the key is removed */
    const char *add;   /* instead: one more key there */
} cut;

/* `rest`: what of the path is still to come at this level, NULL when the change is elsewhere. */
static inline void
cut_copy(const rset_tree *from, rset_tree *to, const char *rest, const cut *c)
{
    for (size_t i = 0; i < rset_tree_count(from); i++) {
        const char *key = rset_tree_key(from, i), *below = NULL;
        size_t      len = strlen(key);
        bool        here = rest != NULL && strcmp(rest, key) == 0;
        rset_tree  *sub;

        if (rest != NULL && strncmp(rest, key, len) == 0 && rest[len] == '/')
            below = rest + len + 1;
        if (here && c->value == NULL && c->add == NULL)
            continue;
        sub = rset_tree_add(to, key);
        if (here && c->value != NULL) {
            rset_tree_set(to, key, c->value);
            continue;
        }
        if (here)
            rset_tree_add(sub, c->add);
        cut_copy(rset_tree_child(from, i), sub, below, c);
    }
}

/* The container with that change and a valid checksum. Freed with free(). */
static inline uint8_t *
cut_buffer(const uint8_t *buf, size_t len, const cut *c, size_t *len_out)
{
    rset_tree *tree = NULL, *changed = rset_tree_new();
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *out = NULL;

    if (rset_tree_unpack(buf, len, "sample", &tree, &err) != RSET_OK)
        abort();
    cut_copy(tree, changed, c->path, c);
    if (c->path[0] == '\0' && c->add != NULL)
        rset_tree_add(changed, c->add);
    if (rset_tree_pack(changed, &out, len_out, &err) != RSET_OK)
        abort();
    rset_tree_free(tree);
    rset_tree_free(changed);
    return out;
}

#endif
