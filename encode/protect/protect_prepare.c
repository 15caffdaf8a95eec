/* protect_prepare.c: a rank's own part of a protection, before it meets its set: names, and what is recorded of its files. See
 * protect_internal.h. */
#include "commit/newer.h"
#include "names/names.h"
#include "protect_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
seconds(time_t t)
{
    return (uint64_t)(int64_t)t; /* before 1970: 2^64 minus the magnitude (FORMAT.md 6) */
}

static rset_attrs
attrs_of(const struct stat *sb)
{
    return (rset_attrs){.atime_secs = seconds(sb->st_atim.tv_sec),
                        .atime_nsecs = (uint64_t)sb->st_atim.tv_nsec,
                        .ctime_secs = seconds(sb->st_ctim.tv_sec),
                        .ctime_nsecs = (uint64_t)sb->st_ctim.tv_nsec,
                        .mtime_secs = seconds(sb->st_mtim.tv_sec),
                        .mtime_nsecs = (uint64_t)sb->st_mtim.tv_nsec,
                        .uid = sb->st_uid,
                        .gid = sb->st_gid,
                        .mode = sb->st_mode,
                        .size = (uint64_t)sb->st_size};
}

/* Fills the own info but for the checksums. */
static rset_status
describe(protect *p)
{
    const rset_local *local = &p->local;
    int               left = p->args->desc.scheme->left(p->args->desc.parity);
    rset_info        *info;

    p->header.member = p->args->desc.member;
    p->header.ninfos = left + 1;
    p->header.infos = calloc((size_t)left + 1, sizeof *p->header.infos);
    p->sums = calloc((size_t)local->nfiles + 1, sizeof *p->sums);
    p->length = calloc((size_t)p->args->desc.members, sizeof *p->length);
    if (p->header.infos == NULL || p->sums == NULL || p->length == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->prefix);
    info = p->header.infos;
    info->desc = p->args->desc;
    if (p->args->extra && p->args->host[0] != '\0' && (info->host = strdup(p->args->host)) == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->prefix);
    if (p->args->extra && p->together[0] != '\0' && (info->together = strdup(p->together)) == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->prefix);
    info->files = calloc((size_t)local->nfiles + 1, sizeof *info->files);
    if (info->files == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->prefix);
    for (int i = 0; i < local->nfiles; i++) {
        rset_file_info *f = &info->files[info->nfiles++];
        const char     *name = i == 0 && local->shadow ? local->shadow : local->names[i];
        struct stat     sb;
        rset_status     st = rset_dir_stat(rset_local_dir(local, i), name, &sb, p->err);

        if (st != RSET_OK)
            return st;
        f->attrs = local->attrs != NULL ? local->attrs[i] : attrs_of(&sb);
        if (i == 0 && local->next != NULL)
            f->attrs.size = rset_journal_size(local->next);
        f->path = strdup(local->paths[i]);
        if (f->path == NULL)
            return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->paths[i]);
    }
    return RSET_OK;
}

static rset_status
start_sums(protect *p)
{
    rset_info *info = p->header.infos;
    size_t     most = rset_format_max_blocks(p->header.ninfos, info->nfiles);

    for (int i = 0; i < info->nfiles; i++) {
        uint64_t size = info->files[i].attrs.size;

        if (size != p->data.start[i + 1] - p->data.start[i])
            return rset_fail(p->err, RSET_BUSY, "%s: changed while it was being protected",
                             info->files[i].path);
        if (!p->args->extra)
            continue;
        info->files[i].has_sums = true;
        if (rset_sums_init(&p->sums[i], size, rset_sums_block_size(size, most)) != 0 ||
            rset_sums_init(&info->files[i].sums, size, p->sums[i].block) != 0)
            return rset_fail(p->err, RSET_NOMEM, "no memory for the checksums of %s",
                             info->files[i].path);
    }
    return RSET_OK;
}

static rset_status
make_names(protect *p)
{
    const rset_local *local = &p->local;

    p->name = rset_format_redundancy_name(local->prefix, &p->args->desc);
    p->desc_name = rset_format_desc_name(local->prefix, p->args->desc.rank);
    if (p->name == NULL || p->desc_name == NULL ||
        asprintf(&p->new_name, "%s" RSET_SUFFIX_NEW, p->name) < 0 ||
        asprintf(&p->new_desc_name, "%s" RSET_SUFFIX_NEW, p->desc_name) < 0)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", local->prefix);
    return RSET_OK;
}

/* The generation before, which it may keep; 0: it keeps none, or that is not known yet. */
static uint64_t
may_keep(const protect *p)
{
    const rset_evidence *was = p->args->evidence;

    return p->args->keep > 1 && p->local.nfiles == 1 && was != NULL ? rset_evidence_generation(was)
                                                                    : 0;
}

/* All that this protection may make is noted before it makes any of it, once. Where there is no room for that, it may do without the
 * generation before. */
static rset_status
note_names(protect *p)
{
    const bool after = p->local.shadow != NULL || p->local.next != NULL;
    char      *shadow =
        after ? rset_name_of(RSET_NAME_SHADOW, p->local.prefix, p->args->desc.generation) : NULL;
    const char *const names[] = {p->name, p->desc_name, shadow}; /* with that, a next journal */
    const size_t      n = after ? 3 : 2;
    const uint64_t    kept = may_keep(p);
    rset_err          own = RSET_ERR_NONE;
    rset_status       st = RSET_OK;

    if (after && shadow == NULL)
        st = rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", p->local.prefix);
    if (st == RSET_OK && kept != 0)
        p->noted =
            rset_names_note_kept(p->local.dir, p->local.prefix, names, n, kept, &own) == RSET_OK;
    if (st == RSET_OK && !p->noted)
        st = rset_names_note(p->local.dir, p->local.prefix, names, n, p->err);
    free(shadow);
    return st;
}

rset_status
rset_protect_prepare(protect *p)
{
    rset_status st = rset_protect_may_begin(p);

    if (st == RSET_OK && p->args->aside && p->local.nfiles == 1)
        st = rset_lost_put(&p->local, &p->aside, p->err);
    if (st == RSET_OK)
        st = make_names(p);
    if (st == RSET_OK)
        st = note_names(p);
    if (st == RSET_OK)
        st = rset_claim(p->local.dir, p->local.prefix, rset_local_name(&p->local),
                        RSET_CLAIM_COMMIT, &p->claim, p->err);
    if (st == RSET_OK)
        st = describe(p);
    if (st == RSET_OK)
        st = rset_exchange_new(2 * (p->header.ninfos - 1), &p->swap, p->err);
    p->access = rset_local_access(&p->local);
    if (st == RSET_OK)
        st = rset_logical_open(&p->local, NULL, &p->data, p->err);
    if (st == RSET_OK)
        st = rset_protect_see(p);
    return st == RSET_OK ? start_sums(p) : st;
}
