/* life_alone.c: the life of a file in a process without other ranks: MPI not there, not initialised or
 * already finalised, or nobody else came. Nothing is asked of anybody; pieces of the set are read
 * where this process can reach them. */
#include "life.h"
#include "protect/protect.h"
#include "recover/recover.h"

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
rset_life_recorded_nearby(const rset_life *life)
{
    const char *dirs[SEARCH_MAX + 1];
    char        text[RSET_CONFIG_TEXT];

    snprintf(text, sizeof text, "%s", life->config.search);
    split_search(text, dirs);
    return rset_recorded_nearby(&life->local, dirs);
}

bool
rset_life_frozen(const rset_life *life)
{
    return life->mode == RSET_OPEN_READ && !life->config.readonly_rebuild;
}

static rset_status
bring_back(rset_life *life, bool *replaced_out, rset_err *err)
{
    const char  *dirs[SEARCH_MAX + 1];
    char         text[RSET_CONFIG_TEXT];
    rset_outcome outcome;
    rset_status  st;

    if (life->dir == NULL)
        return rset_fail(err, RSET_ABSENT, "%s: the directory is missing", life->path);
    if (rset_life_frozen(life))
        return rset_fail(err, RSET_LOST,
                         "%s: is lost, damaged or half changed, and opened read-only with "
                         "readonly_rebuild=no: open it read-write, or without it, to bring it back",
                         life->path);
    snprintf(text, sizeof text, "%s", life->config.search);
    split_search(text, dirs);
    st = rset_recover_alone(&life->local, -1, &life->evidence, dirs, true, &outcome, err);
    if (st != RSET_OK)
        return st;
    *replaced_out = outcome.replaced;
    snprintf(life->note, sizeof life->note, "%s", outcome.note);
    return rset_life_survey(life, err);
}

/* A program died in the middle of a change. */
static rset_status
take_back(rset_life *life, bool *replaced_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    if (life->evidence.has_header)
        return bring_back(life, replaced_out, err);
    st = bring_back(life, replaced_out, &own);
    if (st == RSET_OK)
        return RSET_OK;
    return rset_fail(
        err, st == RSET_ABSENT ? RSET_LOST : st,
        "%s: a program died while it changed it, and its redundancy file is lost, which "
        "says what it was: open it under mpiexec with all its ranks, bring that file "
        "back, or remove %s%s to open it half changed (%s)",
        life->path, life->prefix, RSET_NAME_JOURNAL, own.text);
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
rset_life_resolve_alone(rset_life *life, bool *replaced_out, rset_err *err)
{
    const rset_file_info *f = record(life);
    const char           *at = NULL;
    struct stat           sb;
    rset_status           st;

    if (life->found == RSET_MISSING)
        return bring_back(life, replaced_out, err);
    if (f == NULL && life->evidence.unfinished) {
        snprintf(life->note, sizeof life->note,
                 "%s: a program died while it wrote it, or before it was protected for the first "
                 "time; opened as it is",
                 life->path);
        return RSET_OK;
    }
    if (rset_evidence_cut(&life->evidence) && !life->evidence.old.busy)
        return take_back(life, replaced_out, err);
    if (f == NULL) {
        snprintf(
            life->note, sizeof life->note,
            "%s: its redundancy file is lost, damaged or without checksums, so nobody can tell "
            "whether this is what was protected; opened unverified",
            life->path);
        return RSET_OK;
    }
    if (life->evidence.is_void) {
        snprintf(life->note, sizeof life->note,
                 "%s: changed after it was last protected; opened as it is", life->path);
        return RSET_OK;
    }
    /* Left by a dead run, or by a commit that was cut short. */
    if (life->evidence.beside || life->evidence.waiting) {
        st = rset_beside_find(&life->local, &life->evidence, &at, err);
        if (st != RSET_OK || at != NULL)
            return st == RSET_OK ? bring_back(life, replaced_out, err) : st;
    }
    st = rset_dir_stat(life->dir, life->base, &sb, err);
    if (st != RSET_OK)
        return st;
    if ((uint64_t)sb.st_size != f->attrs.size)
        return bring_back(life, replaced_out, err);
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
    st = bring_back(life, replaced_out, err); /* verified as a whole before it was published */
    return st;
}
