/* forge.c: see forge.h. */
#include "forge.h"

#include "common/bytes.h"
#include "common/crc64.h"
#include "member/delta.h"

#include <string.h>

enum {
    FIELDS = 10,
    HEAD_CRC = 8 + 8 * FIELDS, /* of an undo journal's head */
    PLACE = 512,
    KEY = HEAD_CRC - 8, /* the last of its fields */
    UPDATE_CRC = 24,
    LIST_LENGTH = 24,
    LIST_OLDER = 32,
    LIST_CRC = 40,
    LIST_HEAD = 48,
    LIST_EACH = 16 /* of an older generation */
};

static void
put_text(uint8_t *to, const char *magic)
{
    memcpy(to, magic, 8);
}

/* ---- checksums ---- */

static void
seal_entry(uint8_t *at, uint64_t key)
{
    uint8_t bytes[24];

    memcpy(bytes, at, 16);
    rset_put64(bytes + 16, key);
    rset_put64(at + 16, rset_crc64(0, bytes, sizeof bytes));
}

/* Mends the checksums of the entries from `at` on, as far as each length leads to another entry. */
static void
seal_entries(memfs_file *f, uint64_t at, uint64_t key)
{
    while (at <= f->size && f->size - at >= RSET_OVERLAY_ENTRY) {
        const uint64_t len = rset_get64(f->data + at + 8);

        seal_entry(f->data + at, key);
        at += RSET_OVERLAY_ENTRY;
        if (len > f->size - at)
            return;
        at += len;
    }
}

static bool
begins(const memfs_file *f, size_t at, size_t head, const char *magic)
{
    return f->size >= at + head && memcmp(f->data + at, magic, 8) == 0;
}

bool
forge_mend_journal(memfs_file *f)
{
    const uint8_t *counts = NULL;

    for (size_t at = 0; at <= PLACE; at += PLACE) {
        if (!begins(f, at, HEAD_CRC + 8, "RSETJRN3"))
            continue;
        rset_put64(f->data + at + HEAD_CRC, rset_crc64(0, f->data + at, HEAD_CRC));
        if (counts == NULL || rset_get64(f->data + at + 8) > rset_get64(counts + 8))
            counts = f->data + at;
    }
    if (counts != NULL)
        seal_entries(f, RSET_UNDO_ENTRIES, rset_get64(counts + KEY));
    return counts != NULL;
}

bool
forge_mend_update(memfs_file *f)
{
    if (!begins(f, 0, RSET_DELTA_HEAD, "RSETDLT1"))
        return false;
    rset_put64(f->data + UPDATE_CRC, rset_crc64(0, f->data, UPDATE_CRC));
    seal_entries(f, RSET_DELTA_HEAD, rset_get64(f->data + 8));
    return true;
}

bool
forge_mend_list(memfs_file *f)
{
    uint64_t length, older;

    if (!begins(f, 0, LIST_HEAD, "RSETNAM3"))
        return false;
    length = rset_get64(f->data + LIST_LENGTH);
    if (length > f->size - LIST_HEAD)
        length = f->size - LIST_HEAD;
    older = rset_get64(f->data + LIST_OLDER);
    if (older > (f->size - LIST_HEAD - length) / LIST_EACH)
        older = (f->size - LIST_HEAD - length) / LIST_EACH;
    rset_put64(f->data + LIST_LENGTH, length);
    rset_put64(f->data + LIST_OLDER, older);
    rset_put64(f->data + LIST_CRC, rset_crc64(rset_crc64(0, f->data, LIST_CRC), f->data + LIST_HEAD,
                                              (size_t)(length + older * LIST_EACH)));
    return true;
}

/* ---- whole files ---- */

/* Appends entries at `at`; their checksums follow when the file is mended. Returns where they end. */
static size_t
put_entries(memfs_file *f, size_t at, const forge_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t len = (size_t)entries[i].len;

        memfs_resize(f, at + RSET_OVERLAY_ENTRY + len);
        rset_put64(f->data + at, entries[i].off);
        rset_put64(f->data + at + 8, entries[i].len);
        if (len > 0)
            memcpy(f->data + at + RSET_OVERLAY_ENTRY, entries[i].bytes, len);
        at += RSET_OVERLAY_ENTRY + len;
    }
    return at;
}

void
forge_journal(memfs_file *f, const rset_undo_head *head, const forge_entry *entries, size_t n)
{
    const uint64_t fields[FIELDS] = {
        head->sequence,  head->state,      head->flags,       head->generation, head->size,
        head->label.job, head->label.step, head->label.ranks, head->closed,     head->key};
    uint8_t *at;

    memfs_resize(f, 0);
    memfs_resize(f, RSET_UNDO_ENTRIES);
    at = f->data + head->sequence % 2 * PLACE;
    put_text(at, "RSETJRN3");
    for (size_t i = 0; i < FIELDS; i++)
        rset_put64(at + 8 + 8 * i, fields[i]);
    (void)put_entries(f, RSET_UNDO_ENTRIES, entries, n);
    (void)forge_mend_journal(f);
}

void
forge_update(memfs_file *f, uint64_t generation, uint64_t size, const forge_entry *entries,
             size_t n, bool complete)
{
    static const forge_entry end = {.off = RSET_OVERLAY_END};
    size_t                   at;

    memfs_resize(f, 0);
    memfs_resize(f, RSET_DELTA_HEAD);
    put_text(f->data, "RSETDLT1");
    rset_put64(f->data + 8, generation);
    rset_put64(f->data + 16, size);
    at = put_entries(f, RSET_DELTA_HEAD, entries, n);
    if (complete)
        (void)put_entries(f, at, &end, 1);
    (void)forge_mend_update(f);
}

void
forge_list(memfs_file *f, uint64_t boot, const forge_stems *stems, const uint64_t *older,
           size_t nolder)
{
    const size_t length = stems->used;

    memfs_resize(f, LIST_HEAD + length + nolder * LIST_EACH);
    put_text(f->data, "RSETNAM3");
    rset_put64(f->data + 8, boot);
    rset_put64(f->data + 16, stems->n);
    rset_put64(f->data + LIST_LENGTH, length);
    rset_put64(f->data + LIST_OLDER, nolder);
    if (length > 0)
        memcpy(f->data + LIST_HEAD, stems->text, length);
    for (size_t i = 0; i < nolder; i++)
        rset_put64(f->data + LIST_HEAD + length + i * LIST_EACH, older[i]);
    (void)forge_mend_list(f);
}
