/* life_serial.c: the life of a file in a process without other ranks: MPI not there, not initialised or
 * already finalised, or nobody else came. Nothing is asked of anybody; pieces of the set are read
 * where this process can reach them. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_MAX = 64 };

/* search=DIR:DIR as a list; `text` is cut up. */
static void
split_search(char *text, const char *dirs[SEARCH_MAX + 1])
{
    char *next = NULL;
    int   n = 0;

    for (char *dir = strtok_r(text, ":", &next); dir != NULL && n < SEARCH_MAX;
         dir = strtok_r(NULL, ":", &next))
        dirs[n++] = dir;
    dirs[n] = NULL;
}

bool
rset_life_readonly(const rset_life *life)
{
    return life->mode == RSET_OPEN_READ && !life->config.readonly_rebuild;
}

/* `dirs` and `text` are borrowed. */
static rset_serial_args
serial_args(const rset_life *life, rset_evidence *evidence, char text[RSET_CONFIG_TEXT],
            const char *dirs[SEARCH_MAX + 1])
{
    snprintf(text, RSET_CONFIG_TEXT, "%s", life->config.search);
    split_search(text, dirs);
    return (rset_serial_args){.local = &life->local,
                              .evidence = evidence,
                              .search = dirs,
                              .rank = -1,
                              .readonly = rset_life_readonly(life),
                              .required = life->config.required};
}

bool
rset_life_recorded_nearby(const rset_life *life)
{
    rset_evidence    none = {0};
    const char      *dirs[SEARCH_MAX + 1];
    char             text[RSET_CONFIG_TEXT];
    rset_serial_args args = serial_args(life, &none, text, dirs);

    return rset_recorded_nearby(&args);
}

/* `content`: all of it is verified. */
static rset_status
recover(rset_life *life, bool content, bool *replaced_out, rset_err *err)
{
    const char      *dirs[SEARCH_MAX + 1];
    char             text[RSET_CONFIG_TEXT];
    rset_serial_args args = serial_args(life, &life->evidence, text, dirs);
    rset_outcome     outcome;
    rset_status      st;

    if (life->dir == NULL)
        return rset_fail(err, RSET_ABSENT, "%s: the directory is missing", life->path);
    args.content = content;
    st = rset_recover_serial(&args, &outcome, err);
    if (st != RSET_OK)
        return st;
    *replaced_out = outcome.replaced;
    snprintf(life->note, sizeof life->note, "%s", outcome.note);
    return outcome.acted ? rset_life_survey(life, err) : RSET_OK;
}

static const rset_file_info *
record(const rset_life *life)
{
    const rset_info *info = &life->evidence.header.infos[0];

    return life->evidence.has_header && info->nfiles == 1 ? &info->files[0] : NULL;
}

rset_status
rset_life_verify_later(rset_life *life, rset_err *err)
{
    const rset_file_info *f = record(life);

    if (life->config.verify == RSET_VERIFY_SIZE || f == NULL || !f->has_sums ||
        f->sums.nblocks == 0)
        return RSET_OK;
    free(life->verified);
    life->verified = calloc(f->sums.nblocks / 8 + 1, 1);
    return life->verified != NULL ? RSET_OK
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", life->path);
}

rset_status
rset_life_resolve_serial(rset_life *life, bool *replaced_out, rset_err *err)
{
    rset_status st = recover(life, false, replaced_out, err);

    if (st == RSET_ABSENT && life->found == RSET_FOUND && !life->evidence.any) {
        *err = RSET_ERR_NONE; /* never protected, as far as this process can see */
        return RSET_OK;
    }
    if (st != RSET_OK || life->evidence.is_void)
        return st;
    return rset_life_verify_later(life, err);
}

/* ---- reading ---- */

/* Reads one block and compares; *good_out. */
static rset_status
check_block(rset_life *life, rset_file *file, size_t b, uint8_t *buf, bool *good_out, rset_err *err)
{
    const rset_sums *want = &record(life)->sums;
    uint64_t         off = b * want->block;
    uint64_t         len = want->size - off < want->block ? want->size - off : want->block;
    size_t           got = 0;
    rset_err         ignored = RSET_ERR_NONE;

    (void)err;
    *good_out = rset_file_read(file, off, buf, (size_t)len, &got, &ignored) == RSET_OK &&
                got == len && rset_crc64(0, buf, got) == want->crc[b];
    return RSET_OK;
}

/* Verifies the blocks first..last that were not yet; stops at the first bad one. */
static rset_status
check_blocks(rset_life *life, size_t first, size_t last, bool *good_out, rset_err *err)
{
    rset_file  *file = NULL;
    uint8_t    *buf = NULL;
    rset_status st = RSET_OK;

    *good_out = true;
    for (size_t b = first; st == RSET_OK && *good_out && b <= last; b++) {
        unsigned bit = 1u << (b % 8);

        if (life->verified[b / 8] & bit)
            continue;
        if (file == NULL) {
            st = rset_file_open(life->dir, life->base, &file, err);
            buf = malloc((size_t)record(life)->sums.block);
            if (st == RSET_OK && buf == NULL)
                st = rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", life->path);
        }
        if (st == RSET_OK)
            st = check_block(life, file, b, buf, good_out, err);
        if (st == RSET_OK && *good_out)
            life->verified[b / 8] |= (unsigned char)bit;
    }
    free(buf);
    rset_file_close(file, NULL);
    return st;
}

rset_status
rset_life_read(rset_life *life, unsigned long long off, unsigned long long len, bool *replaced_out,
               rset_err *err)
{
    const rset_sums *sums;
    rset_status      st;
    size_t           last;
    bool             good = true;

    *replaced_out = false;
    if (life->verified == NULL || life->changed || len == 0)
        return RSET_OK;
    sums = &record(life)->sums;
    if (off >= sums->size)
        return RSET_OK;
    last = (size_t)((len > sums->size - off ? sums->size - 1 : off + len - 1) / sums->block);
    st = check_blocks(life, (size_t)(off / sums->block), last, &good, err);
    if (st != RSET_OK || good)
        return st;
    free(life->verified);
    life->verified = NULL;
    return recover(life, true, replaced_out, err); /* verified as a whole before it was published */
}
