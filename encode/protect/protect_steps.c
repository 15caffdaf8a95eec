/* protect_steps.c: the steps that encoding the whole (protect.c) and encoding what has changed (update.c) have in common.
 * See protect_internal.h. */
#include "commit/newer.h"
#include "protect_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- before all else ---- */

rset_status
rset_protect_may_begin(const protect *p)
{
    const uint64_t generation = p->args->desc.generation;

    if (p->args->before != RSET_OK || generation == 0 || rset_generation_commits(generation) > 0)
        return p->args->before;
    return rset_fail(p->err, RSET_USAGE,
                     "%s: has been protected %" PRIu64
                     " times, which is as far as generations are counted; remove it, or write it "
                     "under another name",
                     rset_local_name(&p->local), rset_generation_commits(UINT64_MAX));
}

/* ---- the header ---- */

rset_status
rset_protect_swap(protect *p, rset_status own)
{
    const int n = p->args->desc.members, left = p->header.ninfos - 1;

    for (int d = 1; d <= left; d++) {
        rset_info_free(&p->header.infos[d]);
        rset_exchange_send(p->swap, (p->header.member + d) % n, &p->header.infos[0]);
        rset_exchange_take(p->swap, (p->header.member - d + n) % n, &p->header.infos[d]);
    }
    return rset_exchange_run(p->swap, p->args->set, p->args->extra, own, p->args->host, p->err);
}

void
rset_protect_shape(protect *p)
{
    const rset_desc *d = &p->args->desc;
    uint64_t         longest = 0;

    for (int m = 0; m < d->members; m++)
        longest = p->length[m] > longest ? p->length[m] : longest;
    p->shape = (rset_shape){
        .scheme = d->scheme, .members = d->members, .parity = d->parity, .length = p->length};
    p->shape.chunk = rset_shape_chunk(d->scheme, d->members, d->parity, longest);
    p->header.chunk = p->shape.chunk;
}

rset_status
rset_protect_group(protect *p)
{
    size_t bytes = (size_t)p->args->desc.members * sizeof *p->header.group;

    if (!p->args->desc.scheme->striped)
        return RSET_OK;
    p->header.group = malloc(bytes);
    if (p->header.group == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory for a header");
    memcpy(p->header.group, p->args->ranks, bytes);
    return RSET_OK;
}

/* ---- on disk ---- */

static rset_status
write_descriptors(protect *p)
{
    rset_desc  *descs = calloc((size_t)p->header.ninfos, sizeof *descs);
    rset_file  *file = NULL;
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st;

    if (descs == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory for descriptors");
    for (int d = 0; d < p->header.ninfos; d++)
        descs[d] = p->header.infos[d].desc;
    st = rset_format_pack_descs(descs, p->header.ninfos, p->args->extra, &buf, &len, p->err);
    free(descs);
    if (st == RSET_OK)
        st = rset_file_create(p->local.dir, p->new_desc_name, &p->access, &file, p->err);
    if (st == RSET_OK)
        st = rset_file_write(file, 0, buf, len, p->err);
    if (st == RSET_OK)
        st = rset_file_sync(file, p->err);
    if (rset_file_close(file, p->err) != RSET_OK && st == RSET_OK)
        st = p->err->status;
    free(buf);
    return st;
}

/* The newest being protected matters more than that the one before is kept: where there is no space for that, this rank has lost its
 * part of it, as if it had been lost since, and the others have theirs. *why: as it was found. */
static rset_status
do_without(protect *p, const rset_err *why)
{
    const unsigned number = (unsigned)rset_generation_commits(p->kept);

    if (!rset_err_lacks_room(why)) {
        *p->err = *why;
        return why->status;
    }
    (void)rset_fail(&p->unkept, why->status,
                    "%s: generation %u could not be kept by rank %d on %s, and can be had only as "
                    "far as what the others have covers that: %.600s; the commit has gone on: make "
                    "room, or keep fewer (keep=)",
                    rset_local_name(&p->local), number, p->args->desc.rank, p->args->host,
                    why->text);
    return rset_kept_do_without(&p->local, p->kept, p->err);
}

/* Before anything takes the names of what was protected before, or changes it. Files that are written without the driver may have
 * older generations from when they were written with it: what rests on the redundancy that is replaced, and on content that may be
 * another one, stands for itself from now on. */
static rset_status
keep_before(protect *p)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    if (p->local.nfiles != 1)
        return RSET_OK;
    if (p->args->keep == 0 && p->local.shadow == NULL)
        rset_kept_release(&p->local);
    if (p->args->keep > 1 && p->args->aside)
        rset_kept_release(&p->local); /* what is older rests on it */
    if (p->args->keep <= 1 || p->args->aside)
        return RSET_OK;
    st = p->update ? rset_kept_add_updated(&p->local, p->args->evidence, p->since, &p->over,
                                           p->noted, &p->kept, &own)
                   : rset_kept_add(&p->local, &p->kept, &own);
    return st == RSET_OK ? st : do_without(p, &own);
}

/* Once one rank has published, the others must be able to follow, even if the power goes: so names are durable before, the data files'
 * included. One rank by itself has nobody to follow it: where it leaves the data in its place, and keeps nothing, what it publishes and
 * what that needs become durable by one sync. */
static bool
has_to_be_durable_first(const protect *p)
{
    return p->args->world->size > 1 || p->local.shadow != NULL || p->local.next != NULL ||
           p->args->keep > 1 || p->args->aside || p->local.nfiles != 1 || p->together[0] != '\0';
}

rset_status
rset_protect_settle(protect *p)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < p->data.n; i++)
        st = rset_file_sync(p->data.files[i], p->err); /* PR1 is about data that is on disk */
    if (st == RSET_OK)
        st = rset_protect_see_again(p); /* all of it has been read */
    if (st == RSET_OK)
        st = write_descriptors(p);
    if (st == RSET_OK &&
        p->local.next != NULL) /* first: names that are noted and not there may go */
        st = rset_journal_join(p->local.next, p->local.prefix, p->args->desc.generation, p->err);
    if (st == RSET_OK)
        st = keep_before(p);
    return st == RSET_OK && has_to_be_durable_first(p) ? rset_local_sync(&p->local, p->err) : st;
}
