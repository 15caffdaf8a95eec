/* stems.c: what a names file says (FORMAT-extensions.md 6). See names_internal.h. */
#include "common/bytes.h"
#include "common/crc64.h"
#include "names_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = {'R', 'S', 'E', 'T', 'N', 'A', 'M', '3'};

/* After a descriptor's name: that of the first data file that a rebuild was writing; there is seldom another. */
#define FIRST_REBUILT ".0" RSET_SUFFIX_FIX

enum {
    BOOT = 8,
    COUNT = 16,
    LENGTH = 24,
    OLDER = 32,
    CRC_AT = 40,
    HEAD = 48,
    GENERATION = 7 + RSET_GENERATION_DIGITS
};

/* ---- one stem ---- */

static bool
is_generation(const char *stem)
{
    return strncmp(stem, "redset.", 7) == 0;
}

/* After what the suffixes of its names come (RSET_AFTER_...); 0: it is no stem. */
static unsigned
what_is(const char *stem, const char *prefix)
{
    char      name[NAME_MAX + 1];
    uint64_t  generation;
    rset_name parsed;
    int n = snprintf(name, sizeof name, "%s%s%s", prefix, stem, is_generation(stem) ? ".data" : "");

    if (n < 0 || n >= (int)sizeof name || strchr(stem, '/') != NULL)
        return 0;
    switch (rset_name_classify(name, prefix, &parsed, &generation)) {
    case RSET_NAME_DATA: return RSET_AFTER_GENERATION;
    case RSET_NAME_DESC: return RSET_AFTER_DESC;
    case RSET_NAME_PLAIN: return RSET_AFTER_REDUNDANCY;
    default: break;
    }
    n = snprintf(name, sizeof name, "%s%s" RSET_SUFFIX_FIX, prefix, stem);
    return n > 0 && n < (int)sizeof name &&
                   rset_name_classify(name, prefix, &parsed, &generation) == RSET_NAME_FIX
               ? RSET_AFTER_REBUILT
               : 0;
}

bool
rset_stem_is_lasting(const char *stem, const char *prefix)
{
    return (what_is(stem, prefix) & (RSET_AFTER_REDUNDANCY | RSET_AFTER_DESC)) != 0;
}

char *
rset_stem_of(const char *name, const char *prefix, bool *fixed_out)
{
    const size_t   from = strlen(prefix), n = strlen(name), m = strlen(FIRST_REBUILT);
    uint64_t       generation = 0;
    rset_name      parsed;
    rset_name_kind kind = rset_name_classify(name, prefix, &parsed, &generation);

    *fixed_out = kind == RSET_NAME_LIST ||
                 ((kind == RSET_NAME_UNDO || kind == RSET_NAME_BEGUN) && generation == 0);
    if (*fixed_out || kind == RSET_NAME_OTHER)
        return NULL;
    if (rset_name_of_generation(name + from, &generation) != RSET_NAME_OTHER)
        return strndup(name + from, GENERATION);
    if (kind == RSET_NAME_FIX && n > m && strcmp(name + n - m, FIRST_REBUILT) == 0)
        return strndup(name + from, n - m - from);
    return rset_bare_name(name + from);
}

/* One of them. */
static bool
visit_with(const char *stem, const char *prefix, const char *suffix,
           bool (*visit)(const char *, void *), void *arg)
{
    char      name[NAME_MAX + 1];
    const int n = snprintf(name, sizeof name, "%s%s%s", prefix, stem, suffix);

    return n <= 0 || n >= (int)sizeof name || visit(name, arg);
}

bool
rset_stem_names(const char *stem, const char *prefix, bool (*visit)(const char *, void *),
                void *arg)
{
    const unsigned is = what_is(stem, prefix);

    for (const rset_name_row *row = rset_name_rows; row->kind != RSET_NAME_OTHER; row++)
        if ((row->after & is) != 0 && !visit_with(stem, prefix, row->suffix, visit, arg))
            return false;
    return is != RSET_AFTER_DESC || visit_with(stem, prefix, FIRST_REBUILT, visit, arg);
}

bool
rset_older_names(uint64_t generation, const char *prefix, bool (*visit)(const char *, void *),
                 void *arg)
{
    char stem[GENERATION + 1];

    snprintf(stem, sizeof stem, "redset.%0*" PRIx64, RSET_GENERATION_DIGITS, generation);
    for (const rset_name_row *row = rset_name_rows; row->kind != RSET_NAME_OTHER; row++)
        if (row->role == RSET_ROLE_BEFORE && !visit_with(stem, prefix, row->suffix, visit, arg))
            return false;
    return true;
}

/* ---- a list of them ---- */

bool
rset_stems_has(const rset_stems *stems, const char *stem)
{
    for (size_t i = 0; i < stems->n; i++)
        if (strcmp(stems->at[i], stem) == 0)
            return true;
    return false;
}

bool
rset_stems_add(rset_stems *stems, const char *stem)
{
    if (rset_stems_has(stems, stem))
        return true;
    stems->many = stems->many || stems->n == RSET_STEMS_MAX;
    if (stems->many)
        return true;
    stems->at[stems->n] = strdup(stem);
    if (stems->at[stems->n] == NULL)
        return false;
    stems->n++;
    return true;
}

void
rset_stems_remove(rset_stems *stems, const char *stem)
{
    size_t kept = 0;

    for (size_t i = 0; i < stems->n; i++)
        if (strcmp(stems->at[i], stem) == 0)
            free(stems->at[i]);
        else
            stems->at[kept++] = stems->at[i];
    stems->n = kept;
}

void
rset_stems_free(rset_stems *stems)
{
    for (size_t i = 0; i < stems->n; i++)
        free(stems->at[i]);
    free(stems->older);
    *stems = (rset_stems){0};
}

/* ---- as bytes ---- */

static uint64_t
checksum(const uint8_t *buf, size_t len)
{
    return rset_crc64(rset_crc64(0, buf, CRC_AT), buf + HEAD, len - HEAD);
}

uint8_t *
rset_stems_pack(const rset_stems *stems, size_t *len_out)
{
    size_t   text = 0, len;
    uint8_t *buf, *to;

    for (size_t i = 0; i < stems->n; i++)
        text += strlen(stems->at[i]) + 1;
    len = HEAD + text + stems->nolder * RSET_OLDER_BYTES;
    buf = malloc(len);
    if (buf == NULL)
        return NULL;
    to = buf + HEAD;
    for (size_t i = 0; i < stems->n; i++) {
        const size_t n = strlen(stems->at[i]) + 1;

        memcpy(to, stems->at[i], n);
        to += n;
    }
    rset_older_pack(stems, to);
    memcpy(buf, magic, sizeof magic);
    rset_put64(buf + BOOT, rset_sys_boot());
    rset_put64(buf + COUNT, stems->n);
    rset_put64(buf + LENGTH, text);
    rset_put64(buf + OLDER, stems->nolder);
    rset_put64(buf + CRC_AT, checksum(buf, len));
    *len_out = len;
    return buf;
}

/* Where the stems end of what checks out, 0: nothing does. */
static size_t
end_of_stems(const uint8_t *buf, size_t len)
{
    uint64_t text, older;

    if (len < HEAD || memcmp(buf, magic, sizeof magic) != 0)
        return 0;
    text = rset_get64(buf + LENGTH);
    older = rset_get64(buf + OLDER);
    if (text > len - HEAD || rset_get64(buf + COUNT) > RSET_STEMS_MAX || older > RSET_OLDER_MAX ||
        older > (len - HEAD - text) / RSET_OLDER_BYTES ||
        checksum(buf, HEAD + (size_t)(text + older * RSET_OLDER_BYTES)) != rset_get64(buf + CRC_AT))
        return 0;
    return HEAD + (size_t)text;
}

static rset_status
no_memory(const char *prefix, rset_err *err)
{
    return rset_fail(err, RSET_NOMEM, "%s" RSET_NAME_NAMES ": no memory", prefix);
}

/* Reads `count` stems, which end at `end`. False: they do not, or one is none of ours. */
static rset_status
unpack_stems(const uint8_t *buf, size_t end, uint64_t count, const char *prefix, rset_stems *out,
             bool *good_out, rset_err *err)
{
    size_t   at = HEAD;
    uint64_t i;

    for (i = 0; i < count; i++) {
        const char *stem = (const char *)buf + at;
        size_t      n = at < end ? strnlen(stem, end - at) : 0;

        if (n == 0 || at + n == end || what_is(stem, prefix) == 0)
            break;
        if (!rset_stems_add(out, stem))
            return no_memory(prefix, err);
        at += n + 1;
    }
    *good_out = i == count && at == end;
    return RSET_OK;
}

rset_status
rset_stems_unpack(const uint8_t *buf, size_t len, const char *prefix, rset_stems *out,
                  rset_noted *noted, rset_err *err)
{
    const size_t end = end_of_stems(buf, len);
    bool         good = end > 0;
    rset_status  st = RSET_OK;

    *out = (rset_stems){0};
    *noted = RSET_NOTED_BAD;
    if (good)
        st = unpack_stems(buf, end, rset_get64(buf + COUNT), prefix, out, &good, err);
    if (st == RSET_OK && good && !rset_older_unpack(out, buf + end, rset_get64(buf + OLDER)))
        st = no_memory(prefix, err);
    if (st == RSET_OK && good && rset_older_are_sorted(out))
        *noted = rset_sys_boot() != 0 && rset_get64(buf + BOOT) == rset_sys_boot() ? RSET_NOTED_GOOD
                                                                                   : RSET_NOTED_OLD;
    else
        rset_stems_free(out);
    return st;
}

rset_status
rset_stems_load(rset_dir *dir, const char *prefix, rset_stems *out, rset_noted *noted,
                rset_err *err)
{
    char       *name = rset_join_names(prefix, RSET_NAME_NAMES);
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = name != NULL ? rset_file_slurp(dir, name, RSET_NAMES_BYTES, &buf, &len, &own)
                                  : rset_fail(&own, RSET_NOMEM, "%s: no memory for a name", prefix);

    *out = (rset_stems){0};
    *noted = st == RSET_ABSENT ? RSET_NOTED_NONE : RSET_NOTED_BAD;
    free(name);
    if (st == RSET_OK)
        st = rset_stems_unpack(buf, len, prefix, out, noted, &own);
    free(buf);
    return st == RSET_NOMEM ? rset_fail_as(err, &own) : RSET_OK;
}
