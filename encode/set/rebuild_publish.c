/* rebuild_publish.c: what a set has computed and verified gets its names, and what it replaces goes. See rebuild.h. */
#include "commit/forget.h"
#include "commit/newer.h"
#include "commit/shadow.h"
#include "names/names.h"
#include "rebuild_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Each file that was rebuilt gets its name. A file that a program has created or moved there meanwhile keeps it: RSET_BUSY, and all ranks
 * look again. */
static rset_status
publish_data(rset_repair *rep, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && !rep->over && i < rep->local->nfiles; i++) {
        const rset_published file = {.is = rep->new_data_ids[i],
                                     .was = i == 0 ? &rep->evidence->data : NULL};
        char *temp = rset_logical_temp_name(rep->local, rep->header.infos[0].desc.rank, i);

        if (temp == NULL)
            return rset_fail(err, RSET_NOMEM, "no memory to publish %s", rep->local->names[i]);
        st =
            rset_dir_publish(rset_local_dir(rep->local, i), temp, rep->local->names[i], &file, err);
        free(temp);
    }
    return st;
}

/* A descriptor file is small and certain: written again whenever the redundancy file is. */
static rset_status
publish_descriptor(rset_repair *rep, rset_err *err)
{
    rset_desc  *descs = calloc((size_t)rep->header.ninfos, sizeof *descs);
    char       *name = rset_format_desc_name(rep->local->prefix, rep->header.infos[0].desc.rank);
    char       *temp = NULL;
    rset_file  *file = NULL;
    uint8_t    *buf = NULL;
    size_t      len = 0;
    rset_status st = RSET_OK;

    if (descs == NULL || name == NULL || asprintf(&temp, "%s" RSET_SUFFIX_FIX, name) < 0)
        st = rset_fail(err, RSET_NOMEM, "no memory for descriptors");
    for (int d = 0; st == RSET_OK && d < rep->header.ninfos; d++)
        descs[d] = rep->header.infos[d].desc;
    if (st == RSET_OK)
        st = rset_format_pack_descs(descs, rep->header.ninfos, rep->generation != 0, &buf, &len,
                                    err);
    if (st == RSET_OK)
        st = rset_file_create(rep->local->dir, temp, &rep->access, &file, err);
    if (st == RSET_OK)
        st = rset_file_write(file, 0, buf, len, err);
    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    if (rset_file_close(file, err) != RSET_OK && st == RSET_OK)
        st = RSET_IO;
    if (st == RSET_OK)
        st = rset_dir_rename(rep->local->dir, temp, name, err);
    free(descs);
    free(name);
    free(temp);
    free(buf);
    return st;
}

/* Before any of them has its name; as an encode notes them, so that the names file is the same. */
static rset_status
note_names(const rset_repair *rep, bool redundancy, rset_err *err)
{
    char       *desc = rset_format_desc_name(rep->local->prefix, rep->header.infos[0].desc.rank);
    const char *names[] = {rep->name, desc};
    const int   from = redundancy ? 0 : 1;
    rset_status st = desc != NULL ? rset_names_note(rep->local->dir, rep->local->prefix,
                                                    names + from, (size_t)(2 - from), err)
                                  : rset_fail(err, RSET_NOMEM, "no memory for descriptors");

    free(desc);
    return st;
}

/* Redundancy files of other generations, or under another rank's number, have nothing more to say. */
static rset_status
forget_others(rset_repair *rep, rset_err *err)
{
    return rset_forget_all_but(rep->local, rep->name, rep->header.infos[0].desc.rank, err);
}

/* In place, by what was verified before; and once more afterwards, since nothing else tells what the disk has now. */
static rset_status
roll_back(rset_repair *rep, rset_err *err)
{
    const rset_evidence *ev = rep->evidence;
    bool                 is = false;
    rset_status          st =
        rset_undo_apply(rep->local->dir, rep->local->prefix, rep->local->names[0], &ev->undo, err);

    if (st == RSET_OK)
        st = rset_is_as_recorded(rep->local, &rep->header.infos[0], &is, err);
    if (st == RSET_OK && is)
        st = rset_times_restore(rep->local, &rep->header.infos[0], err);
    else if (st == RSET_OK)
        st = rset_fail(err, RSET_IO,
                       "%s: was rolled back, and then did not have the recorded checksums: check "
                       "the storage, and open again",
                       rset_local_name(rep->local));
    return st;
}

/* What was prepared goes before the data that it belongs to (P11). */
rset_status
rset_repair_discard(rset_repair *rep, rset_err *err)
{
    rset_status st = RSET_OK;

    if (rep->evidence->next_name != NULL && rep->evidence->next != rep->generation)
        st = rset_commit_discard(rep->local, rep->evidence, err);
    return st == RSET_OK && rep->evidence->nshadows > 0
               ? rset_shadow_forget(rep->local, rep->evidence, 0, NULL, err)
               : st;
}

/* The undo journal of the generation that the file is now, which the names file need not list: a names file may be lost as well. */
static rset_status
remove_journal(const rset_repair *rep, rset_err *err)
{
    rset_dir   *dir = rep->local->dir;
    rset_undo   left;
    rset_status st = rset_undo_load(dir, rep->local->prefix, rep->generation, &left, err);

    if (st != RSET_OK)
        return st;
    if (!left.busy)
        st = rset_undo_remove(dir, rep->local->prefix, &left, err);
    rset_undo_free(&left);
    return st;
}

/* The data is that of the generation: now what says otherwise may go. */
static rset_status
clear_change(rset_repair *rep, bool redundancy, rset_err *err)
{
    rset_evidence *ev = rep->evidence;
    rset_status    st = RSET_OK;

    if (redundancy) {
        st = forget_others(rep, err);
        return st == RSET_OK ? remove_journal(rep, err) : st;
    }
    if (rset_evidence_generation(ev) == rep->generation)
        st = rset_set_void(rep->local->dir, ev, false, err);
    return st == RSET_OK ? rset_undo_remove(rep->local->dir, rep->local->prefix, &ev->undo, err)
                         : st;
}

bool
rset_repair_writes(const rset_repair *rep)
{
    return rep->writable && (rep->changed || rep->data_out || rep->redundancy_out || rep->desc_out);
}

static uint64_t
bad_bytes(const rset_ranges *bad, uint64_t length)
{
    uint64_t bytes = 0, until;

    for (uint64_t off = 0; off < length; off = until) {
        const bool is = rset_ranges_cover(bad, off, &until);

        until = until < length ? until : length;
        bytes += is ? until - off : 0;
    }
    return bytes;
}

uint64_t
rset_repair_bytes(const rset_repair *rep)
{
    const int me = rep->set->rank;
    uint64_t  data = 0;

    if (!rep->writable)
        return 0;
    if (rep->data_out)
        data = rset_over_can(rep) ? bad_bytes(&rep->health[me].data, rep->length[me])
                                  : rep->length[me];
    return data + (rep->redundancy_out ? rset_shape_payload(&rep->shape, me) : 0);
}

/* The name leads to what was verified, and not to what another process has made of it at the same time. */
static rset_status
check_published(const rset_repair *rep, rset_err *err)
{
    if (rset_identity_same(&rep->evidence->data, &rep->new_data_ids[0]))
        return RSET_OK;
    return rset_fail(err, RSET_BUSY,
                     "%s: another process replaced it while it was rebuilt; open it again",
                     rset_local_name(rep->local));
}

rset_status
rset_repair_publish(rset_repair *rep, bool *replaced_out, rset_err *err)
{
    const bool  redundancy = rep->redundancy_out && rep->temp_name != NULL;
    const bool  data = rep->data_out && rep->new_sums != NULL;
    rset_status st = RSET_OK;

    assert(rep->new_data.files == NULL && rep->new_payload == NULL); /* E2 */
    if (!rset_repair_writes(rep))
        return RSET_OK;
    if (redundancy || rep->desc_out)
        st = note_names(rep, redundancy, err);
    if (st == RSET_OK && (data || rep->undo || rep->changed))
        st = rset_repair_discard(rep, err);
    if (st == RSET_OK && data && rep->altered.any)
        st = rset_changed_put(rep->local, rep->generation, &rep->aside, err);
    if (st == RSET_OK && data)
        st = publish_data(rep, err);
    else if (st == RSET_OK && rep->undo)
        st = roll_back(rep, err);
    *replaced_out = *replaced_out || data || rep->undo;
    if (st == RSET_OK && redundancy)
        st = rset_dir_publish(rep->local->dir, rep->temp_name, rep->name,
                              &(rset_published){.is = rep->new_payload_id}, err);
    if (st == RSET_OK && (redundancy || rep->desc_out))
        st = publish_descriptor(rep, err);
    if (st == RSET_OK)
        st = rset_local_sync(rep->local, err);
    if (st == RSET_OK && !rep->unverified)
        st = clear_change(rep, redundancy, err);
    if (st == RSET_OK) { /* published: no longer ours to remove */
        free(rep->temp_name);
        rep->temp_name = NULL;
        rep->data_out = false;
        st = rset_survey_local(rep->local, rep->evidence, err);
    }
    return st == RSET_OK && data ? check_published(rep, err) : st;
}
