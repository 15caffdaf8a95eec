/* undo.c: see undo.h. */
#include "undo.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "names/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = {'R', 'S', 'E', 'T', 'J', 'R', 'N', '3'};

enum { FIELDS = 10, CRC_AT = 8 + 8 * FIELDS, HEAD = CRC_AT + 8, PLACES = 2, PLACE = 512 };

/* ---- the head ---- */

rset_status
rset_undo_write_head(rset_file *file, const rset_undo_head *head, rset_err *err)
{
    const uint64_t fields[FIELDS] = {
        head->sequence,  head->state,      head->flags,       head->generation, head->size,
        head->label.job, head->label.step, head->label.ranks, head->closed,     head->key};
    uint8_t buf[HEAD];

    assert(head->state == RSET_UNDO_OPEN || head->state == RSET_UNDO_CLOSED); /* M2 */
    memcpy(buf, magic, sizeof magic);
    for (size_t i = 0; i < FIELDS; i++)
        rset_put64(buf + 8 + 8 * i, fields[i]);
    rset_put64(buf + CRC_AT, rset_crc64(0, buf, CRC_AT));
    return rset_file_write(file, head->sequence % PLACES * PLACE, buf, sizeof buf, err);
}

static bool
unpack_head(const uint8_t *buf, rset_undo_head *out)
{
    uint64_t fields[FIELDS];

    if (memcmp(buf, magic, sizeof magic) != 0 ||
        rset_get64(buf + CRC_AT) != rset_crc64(0, buf, CRC_AT))
        return false;
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = rset_get64(buf + 8 + 8 * i);
    *out =
        (rset_undo_head){.sequence = fields[0],
                         .state = fields[1] == RSET_UNDO_CLOSED ? RSET_UNDO_CLOSED : RSET_UNDO_OPEN,
                         .flags = (unsigned)fields[2],
                         .generation = fields[3],
                         .size = fields[4],
                         .label = {fields[5], fields[6], fields[7]},
                         .closed = fields[8],
                         .key = fields[9]};
    return true;
}

/* *found_out: false where no place has a good head. */
static rset_status
read_head(rset_file *file, rset_undo_head *out, bool *found_out, rset_err *err)
{
    rset_status st = RSET_OK;

    *found_out = false;
    for (uint64_t i = 0; st == RSET_OK && i < PLACES; i++) {
        uint8_t        buf[HEAD];
        rset_undo_head head;
        size_t         got = 0;

        st = rset_file_read(file, i * PLACE, buf, sizeof buf, &got, err);
        if (st != RSET_OK || got < sizeof buf || !unpack_head(buf, &head) ||
            (*found_out && head.sequence <= out->sequence))
            continue;
        *out = head;
        *found_out = true;
    }
    return st;
}

/* ---- loading ---- */

rset_status
rset_undo_read(rset_file *file, rset_undo *out, rset_err *err)
{
    rset_status st = read_head(file, &out->head, &out->there, err);

    if (st != RSET_OK || !out->there)
        return st;
    out->kept.generation = out->head.key;
    out->kept.size = out->head.size;
    return rset_overlay_scan(file, RSET_UNDO_ENTRIES, &out->kept, err);
}

/* A file that was put aside is there only where the journal says so: one that is kept may have the same name. */
static rset_status
find_aside(rset_dir *dir, const char *prefix, rset_undo *undo, rset_err *err)
{
    char       *name;
    rset_status st;

    if ((undo->head.flags & (RSET_UNDO_ASIDE | RSET_UNDO_FIRST)) == 0)
        return RSET_OK;
    name = rset_name_of(RSET_NAME_DATA, prefix, undo->of);
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for its undo journal", prefix);
    st = rset_dir_find_file(dir, name, NULL, &undo->aside, err);
    free(name);
    return st;
}

char *
rset_undo_name(const char *prefix, const rset_undo *undo)
{
    return rset_name_of(RSET_NAME_UNDO, prefix, undo->of);
}

rset_status
rset_undo_load(rset_dir *dir, const char *prefix, uint64_t generation, rset_undo *out,
               rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_file  *file = NULL;
    char       *name = rset_name_of(RSET_NAME_UNDO, prefix, generation);
    rset_status st = name != NULL ? rset_file_open(dir, name, &file, &own)
                                  : rset_fail(&own, RSET_NOMEM, "%s: no memory", prefix);

    *out = (rset_undo){.of = generation};
    free(name);
    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st == RSET_OK) {
        out->busy = rset_file_is_guarded(file, RSET_GUARD_CHANGED);
        st = rset_undo_read(file, out, &own);
    }
    rset_file_close(file, NULL);
    if (st == RSET_OK || st == RSET_DAMAGED) {
        out->rotten = !out->there || st == RSET_DAMAGED || out->head.generation != generation;
        out->there = !out->rotten;
        st = out->there ? find_aside(dir, prefix, out, &own) : RSET_OK;
    }
    if (st == RSET_OK)
        return st;
    rset_undo_free(out);
    if (st != RSET_IO)
        return rset_fail_as(err, &own);
    return rset_fail(err, st,
                     "%s; without this undo journal nobody can tell what the file was before it "
                     "was changed: check the storage, and open again",
                     own.text);
}

void
rset_undo_free(rset_undo *undo)
{
    rset_overlay_free(&undo->kept);
    *undo = (rset_undo){0};
}

bool
rset_undo_is_next(const rset_undo *undo)
{
    return undo->there && (undo->head.flags & RSET_UNDO_NEXT) != 0;
}

bool
rset_undo_is_of(const rset_undo *undo, uint64_t generation)
{
    return undo->there && (undo->head.flags & RSET_UNDO_FIRST) == 0 &&
           undo->head.generation == generation;
}

bool
rset_undo_leads_to(const rset_undo *undo, uint64_t generation, uint64_t size)
{
    return undo->there && (undo->head.flags & (RSET_UNDO_KEPT | RSET_UNDO_ASIDE)) != 0 &&
           (undo->head.flags & RSET_UNDO_FIRST) == 0 && undo->head.generation == generation &&
           undo->head.size == size;
}

/* ---- rolling back ---- */

static rset_status
open_journal(rset_dir *dir, const char *prefix, const rset_undo *undo, bool update, rset_file **out,
             rset_err *err)
{
    char       *name = rset_undo_name(prefix, undo);
    rset_status st;

    *out = NULL;
    if (name == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for its undo journal", prefix);
    st = update ? rset_file_open_update(dir, name, out, err) : rset_file_open(dir, name, out, err);
    free(name);
    return st;
}

/* The head that counts from now on, durably; nobody changes the file meanwhile. */
static rset_status
replace_head(rset_dir *dir, const char *prefix, rset_undo *undo, rset_undo_head *head,
             rset_err *err)
{
    rset_file  *file = NULL;
    rset_status st = open_journal(dir, prefix, undo, true, &file, err);

    head->sequence++;
    if (st == RSET_OK && !rset_file_guard_as(file, RSET_GUARD_CHANGED, true))
        st = rset_fail(err, RSET_BUSY,
                       "%s: the file that this belongs to is being changed by another process; "
                       "wait until it has closed it",
                       rset_file_path(file));
    if (st == RSET_OK)
        st = rset_undo_write_head(file, head, err);
    if (st == RSET_OK)
        st = rset_file_sync(file, err);
    if (rset_file_close(file, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    if (st == RSET_OK)
        undo->head = *head;
    return st;
}

rset_status
rset_undo_begin(rset_dir *dir, const char *prefix, rset_undo *undo, rset_err *err)
{
    rset_undo_head head = undo->head;

    if (!undo->there || head.state == RSET_UNDO_OPEN)
        return RSET_OK;
    head.state = RSET_UNDO_OPEN;
    head.label = (rset_label){0};
    return replace_head(dir, prefix, undo, &head, err);
}

rset_status
rset_undo_succeed(rset_dir *dir, const char *prefix, rset_undo *undo, rset_err *err)
{
    rset_undo_head head = undo->head;

    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    if (!rset_undo_is_next(undo))
        return RSET_OK;
    head.flags &= ~(unsigned)RSET_UNDO_NEXT;
    st = replace_head(dir, prefix, undo, &head, &own);
    return st == RSET_OK || st == RSET_BUSY ? RSET_OK : rset_fail_as(err, &own);
}

/* One that is gone was perhaps kept from end to end; its journal is as open as it was. */
static rset_status
open_base(rset_dir *dir, const char *journal, const char *name, rset_file **out, rset_err *err)
{
    rset_access access = RSET_ACCESS_OWNER;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_file_open_update(dir, name, out, &own);

    (void)rset_file_access(dir, journal, &access);
    if (st == RSET_ABSENT)
        return rset_file_create(dir, name, &access, out, err);
    return st == RSET_OK ? st : rset_fail_as(err, &own);
}

/* Lays the old bytes over the file. */
static rset_status
apply_entries(rset_dir *dir, const char *prefix, const char *name, const rset_undo *undo,
              rset_err *err)
{
    rset_file  *top = NULL, *base = NULL;
    char       *journal = rset_undo_name(prefix, undo);
    rset_status st = open_journal(dir, prefix, undo, false, &top, err);

    if (st == RSET_OK && journal == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to roll it back", name);
    if (st == RSET_OK)
        st = open_base(dir, journal, name, &base, err);
    if (st == RSET_OK)
        st = rset_overlay_copy(&undo->kept, top, base, err);
    if (st == RSET_OK)
        st = rset_file_resize(base, undo->head.size, err);
    if (st == RSET_OK)
        rset_file_set_mark(base, undo->head.generation);
    if (st == RSET_OK)
        st = rset_file_sync(base, err);
    rset_file_close(top, NULL);
    free(journal);
    if (rset_file_close(base, err) != RSET_OK && st == RSET_OK)
        st = err->status;
    return st;
}

rset_status
rset_undo_apply(rset_dir *dir, const char *prefix, const char *name, const rset_undo *undo,
                rset_err *err)
{
    char       *aside = rset_name_of(RSET_NAME_DATA, prefix, undo->of);
    const char *at = undo->aside ? aside : name;
    rset_status st = RSET_OK;

    if (aside == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to roll it back", name);
    if ((undo->head.flags & RSET_UNDO_KEPT) != 0 || !undo->aside)
        st = apply_entries(dir, prefix, at, undo, err);
    if (st == RSET_OK && undo->aside)
        st = rset_dir_rename(dir, aside, name, err);
    if (st == RSET_OK)
        st = rset_dir_sync(dir, err);
    free(aside);
    return st;
}

rset_status
rset_undo_remove(rset_dir *dir, const char *prefix, const rset_undo *undo, rset_err *err)
{
    char       *journal = rset_undo_name(prefix, undo);
    char       *aside = rset_name_of(RSET_NAME_DATA, prefix, undo->of);
    rset_status st = RSET_OK;

    if (journal == NULL || aside == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to remove its undo journal", prefix);
    if (st == RSET_OK && (undo->there || undo->rotten))
        st = rset_dir_unlink(dir, journal, err);
    if (st == RSET_OK && undo->there && undo->aside)
        st = rset_dir_unlink(dir, aside, err);
    free(journal);
    free(aside);
    return st;
}
