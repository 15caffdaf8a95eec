/* logical.c: a member's data files as one logical file, and their verification. See member.h. */
#include "delta.h"
#include "journal.h"
#include "member.h"
#include "names/names.h"
#include "store/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rset_status
logical_alloc(int n, rset_logical *out, rset_err *err)
{
    rset_logical l = {.n = n};

    l.files = calloc((size_t)n + 1, sizeof *l.files);
    l.start = calloc((size_t)n + 1, sizeof *l.start);
    if (l.files == NULL || l.start == NULL) {
        free(l.files);
        free(l.start);
        return rset_fail(err, RSET_NOMEM, "no memory for %d files", n);
    }
    *out = l;
    return RSET_OK;
}

/* The name under which the content that is meant begins; NULL without memory. */
static char *
content_name(const rset_local *local, int i)
{
    if (i == 0 && local->shadow != NULL)
        return strdup(local->shadow);
    if (i == 0 && local->undo != NULL && local->undo->aside)
        return rset_name_of(RSET_NAME_DATA, local->prefix, local->undo->of);
    return strdup(local->names[i]);
}

static rset_status
open_content(const rset_local *local, int i, rset_file **file_out, struct stat *sb, rset_err *err)
{
    char       *name = content_name(local, i);
    rset_status st = name != NULL ? rset_file_open(rset_local_dir(local, i), name, file_out, err)
                                  : rset_fail(err, RSET_NOMEM, "%s: no memory", local->names[i]);

    free(name);
    if (st == RSET_OK)
        st = rset_file_stat(*file_out, sb, err);
    return st;
}

/* Of the content that is meant, in a file with these attributes. */
static uint64_t
content_size(const rset_local *local, int i, const struct stat *sb)
{
    return i == 0 && local->next != NULL ? rset_journal_size(local->next) : (uint64_t)sb->st_size;
}

static rset_status
open_journal(const rset_local *local, rset_logical *l, rset_err *err)
{
    char       *name = rset_undo_name(local->prefix, local->undo);
    rset_status st = name != NULL ? rset_file_open(local->dir, name, &l->journal, err)
                                  : rset_fail(err, RSET_NOMEM, "no memory for a journal");

    free(name);
    l->undo = local->undo;
    return st;
}

rset_status
rset_logical_open(const rset_local *local, const rset_info *info, rset_logical *out, rset_err *err)
{
    rset_logical l;
    rset_status  st = logical_alloc(info != NULL ? info->nfiles : local->nfiles, &l, err);

    if (st != RSET_OK)
        return st;
    for (int i = 0; st == RSET_OK && i < l.n; i++) {
        rset_err    own = RSET_ERR_NONE;
        struct stat sb = {0};

        if (i < local->nfiles && rset_local_dir(local, i) != NULL)
            st = open_content(local, i, &l.files[i], &sb, &own);
        if (st == RSET_IO)
            rset_note_unread(&l.unread, own.sys_errno);
        if (info != NULL && (st == RSET_ABSENT || st == RSET_DAMAGED || st == RSET_IO))
            st = RSET_OK;
        if (st != RSET_OK)
            st = rset_fail_as(err, &own);
        l.start[i + 1] =
            l.start[i] + (info != NULL ? info->files[i].attrs.size : content_size(local, i, &sb));
    }
    l.next = local->next;
    if (st == RSET_OK && local->undo != NULL)
        st = open_journal(local, &l, err);
    if (st != RSET_OK)
        rset_logical_close(&l, NULL);
    else
        *out = l;
    return st;
}

char *
rset_logical_temp_name(const rset_local *local, int rank, int i)
{
    char *name = NULL;

    return asprintf(&name, "%s%d.redset.%d" RSET_SUFFIX_FIX, local->prefix, rank, i) < 0 ? NULL
                                                                                         : name;
}

rset_status
rset_logical_create(const rset_local *local, const rset_info *info, const rset_access *within,
                    rset_logical *out, rset_err *err)
{
    rset_logical l;
    rset_status  st = logical_alloc(info->nfiles, &l, err);

    if (st != RSET_OK)
        return st;
    for (int i = 0; st == RSET_OK && i < l.n; i++) {
        const rset_file_attrs attrs = rset_local_attrs(local, i, &info->files[i].attrs);
        const rset_access     access = rset_access_both(rset_file_attrs_access(&attrs), *within);
        char                 *name = rset_logical_temp_name(local, info->desc.rank, i);

        if (name == NULL)
            st = rset_fail(err, RSET_NOMEM, "%s: no memory", local->names[i]);
        else if (rset_local_dir(local, i) == NULL)
            st = rset_fail(err, RSET_IO, "%s: its directory is not there: make it first",
                           local->paths[i]);
        else
            st = rset_names_note_temporary(local->dir, local->prefix, name, err);
        if (st == RSET_OK)
            st = rset_file_create(rset_local_dir(local, i), name, &access, &l.files[i], err);
        free(name);
        if (st == RSET_OK)
            st = rset_file_resize(l.files[i], info->files[i].attrs.size, err);
        l.start[i + 1] = l.start[i] + info->files[i].attrs.size;
    }
    if (st != RSET_OK)
        rset_logical_close(&l, NULL);
    else
        *out = l;
    return st;
}

rset_status
rset_logical_close(rset_logical *logical, rset_err *err)
{
    rset_status first = RSET_OK;

    for (int i = 0; logical->files != NULL && i < logical->n; i++) {
        rset_status st = rset_file_close(logical->files[i], err);

        if (first == RSET_OK)
            first = st;
    }
    rset_file_close(logical->journal, NULL);
    free(logical->files);
    free(logical->start);
    *logical = (rset_logical){0};
    return first;
}

/* File i, as it was before it changed where that is meant. */
static rset_layered
file_of(const rset_logical *l, int i)
{
    const bool before = i == 0 && l->undo != NULL;

    return (rset_layered){.base = l->files[i],
                          .top = before ? l->journal : NULL,
                          .over = before ? &l->undo->kept : NULL};
}

/* The part of [off, off+len) that lies in file i. */
static size_t
part_in(const rset_logical *l, int i, uint64_t off, size_t len)
{
    uint64_t end = off + len < l->start[i + 1] ? off + len : l->start[i + 1];

    return off >= l->start[i] && off < end ? (size_t)(end - off) : 0;
}

/* What is meant of file i, whether a program writes to it or not. */
static rset_status
read_part(const rset_logical *l, int i, uint64_t off, void *buf, size_t len, size_t *got_out,
          rset_err *err)
{
    const rset_layered file = file_of(l, i);
    rset_status        st;

    if (file.base == NULL && file.over == NULL && l->unread != 0)
        return rset_fail_errno(err, RSET_IO, l->unread, "data file %d cannot be opened", i);
    if (file.base == NULL && file.over == NULL)
        return rset_fail(err, RSET_BUG, "data file %d is missing but was taken as a source", i);
    if (i > 0 || l->next == NULL)
        return rset_layered_read(&file, off, buf, len, got_out, err);
    st = rset_journal_read(l->next, off, buf, len, got_out, err);
    return st == RSET_OK && file.over != NULL
               ? rset_overlay_lay(file.over, file.top, off, buf, *got_out, err)
               : st;
}

rset_status
rset_logical_read(const rset_logical *logical, uint64_t off, void *buf, size_t len, rset_sums *sums,
                  rset_err *err)
{
    uint8_t *to = buf;

    for (int i = 0; i < logical->n; i++) {
        size_t      part = part_in(logical, i, off, len), got = 0;
        rset_status st;

        if (part == 0)
            continue;
        st = read_part(logical, i, off - logical->start[i], to, part, &got, err);
        if (st == RSET_OK && got < part)
            st = rset_fail(err, RSET_IO, "data file %d became shorter while it was being read", i);
        if (st != RSET_OK)
            return st;
        if (sums != NULL)
            rset_sums_add(&sums[i], off - logical->start[i], to, part);
        off += part;
        to += part;
        len -= part;
    }
    memset(to, 0, len);
    return RSET_OK;
}

uint64_t
rset_logical_next_data(const rset_logical *logical, uint64_t off, uint64_t *end_out)
{
    int i = 0;

    while (i < logical->n && off >= logical->start[i + 1])
        i++;
    *end_out = UINT64_MAX;
    if (i < logical->n && (i > 0 || logical->next == NULL)) {
        const rset_layered file = file_of(logical, i);
        const uint64_t     start = logical->start[i], until = logical->start[i + 1];

        off = start + rset_layered_next_data(&file, off - start, end_out);
        *end_out = *end_out < until - start ? start + *end_out : until;
        off = off < until ? off : until;
    }
    return off;
}

rset_status
rset_logical_write(const rset_logical *logical, uint64_t off, const void *buf, size_t len,
                   rset_sums *sums, rset_err *err)
{
    const uint8_t *from = buf;

    for (int i = 0; i < logical->n; i++) {
        size_t      part = part_in(logical, i, off, len);
        rset_status st;

        if (part == 0)
            continue;
        st = rset_file_write(logical->files[i], off - logical->start[i], from, part, err);
        if (st != RSET_OK)
            return st;
        if (sums != NULL)
            rset_sums_add(&sums[i], off - logical->start[i], from, part);
        off += part;
        from += part;
        len -= part;
    }
    return RSET_OK;
}

/* ---- verification ---- */

/* Bytes to be compared: a data file, or a payload, which begins at `at` of its file. */
typedef struct source {
    const char      *name;
    rset_layered     file;
    uint64_t         at;
    const rset_pace *pace; /* NULL: as fast as it can be read */
} source;

/* Computes the sums of want->size bytes of a source, up to the first byte that cannot be read: rset_note_unread says why in *unread. Holes are not read: zeros add nothing to a sum (crc64.c). */
static rset_status
read_sums(const source *s, const rset_sums *want, rset_sums *out, uint64_t *read_to, int *unread,
          rset_err *err)
{
    size_t   room = want->size < RSET_FILE_AT_ONCE ? (size_t)want->size : RSET_FILE_AT_ONCE;
    uint8_t *buf = malloc(rset_buffer_size(room));

    *read_to = want->size;
    if (buf == NULL || rset_sums_init(out, want->size, want->block) != 0) {
        free(buf);
        return rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", s->name);
    }
    for (uint64_t off = 0, end; off < want->size;) {
        size_t   len, got = 0;
        uint8_t *at;
        rset_err own = RSET_ERR_NONE;

        off = rset_layered_next_data(&s->file, s->at + off, &end) - s->at;
        if (off >= want->size)
            break;
        end = end - s->at < want->size ? end - s->at : want->size;
        len = end - off < room ? (size_t)(end - off) : room;
        at = rset_buffer_for_read(buf, s->at + off);
        if ((s->pace != NULL && !s->pace->go_on(s->pace->arg)) ||
            rset_layered_read(&s->file, s->at + off, at, len, &got, &own) != RSET_OK || got == 0) {
            rset_note_unread(unread, own.sys_errno);
            *read_to = off;
            break;
        }
        rset_sums_add(out, off, at, got);
        off += got;
    }
    rset_sums_finish(out);
    free(buf);
    return RSET_OK;
}

/* Adds the blocks of a source that differ from `want` to *out, at offsets from `base` on. */
static rset_status
compare(const source *s, const rset_sums *want, uint64_t base, rset_damage *out, rset_err *err)
{
    rset_sums   have = {0};
    uint64_t    read_to = 0;
    rset_status st = read_sums(s, want, &have, &read_to, &out->unread, err);
    bool        room = true;

    for (size_t b = 0; st == RSET_OK && room && b < want->nblocks; b++) {
        uint64_t from = b * want->block;
        uint64_t to = want->size - from < want->block ? want->size : from + want->block;

        if (to > read_to || have.crc[b] != want->crc[b])
            room = rset_ranges_add(&out->bad, base + from, base + to);
    }
    rset_sums_free(&have);
    if (st == RSET_OK && !room)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", s->name);
    return st;
}

/* Can file i have the recorded size? An old one has it by the journal's word, and where the journal does
 * not have its bytes reading tells. */
static bool
has_size(const rset_logical *l, int i, uint64_t size, int *unread)
{
    rset_err    own = RSET_ERR_NONE;
    struct stat sb;
    rset_status st;

    if (i == 0 && l->undo != NULL)
        return true;
    if (l->files[i] == NULL)
        return false;
    st = rset_file_stat(l->files[i], &sb, &own);
    rset_note_unread(unread, own.sys_errno);
    return st == RSET_OK && (uint64_t)sb.st_size == size;
}

rset_status
rset_verify_data(const rset_local *local, const rset_info *info, bool content, rset_damage *out,
                 rset_err *err)
{
    rset_logical l;
    rset_status  st = rset_logical_open(local, info, &l, err);

    rset_damage_free(out);
    if (st != RSET_OK)
        return st;
    out->unread = l.unread;
    for (int i = 0; st == RSET_OK && i < l.n; i++) {
        source s = {.name = local->prefix, .file = file_of(&l, i)};
        bool   whole = has_size(&l, i, info->files[i].attrs.size, &out->unread);

        if (!whole && !rset_ranges_add(&out->bad, l.start[i], l.start[i + 1]))
            st = rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", local->prefix);
        else if (whole && content && info->files[i].has_sums)
            st = compare(&s, &info->files[i].sums, l.start[i], out, err);
        out->any = out->any || !whole || out->bad.n > 0;
    }
    rset_logical_close(&l, NULL);
    return st;
}

/* Are the first bytes of file i those that were recorded? *more_out: and others follow. */
static bool
begins_as_recorded(const rset_local *local, const rset_logical *l, const rset_file_info *file,
                   int i, bool *more_out)
{
    source      s = {.name = local->prefix, .file = file_of(l, i)};
    rset_damage found = {0};
    rset_err    ignored = RSET_ERR_NONE;
    struct stat sb;
    bool        is = l->files[i] != NULL && file->has_sums &&
              rset_file_stat(l->files[i], &sb, &ignored) == RSET_OK &&
              (uint64_t)sb.st_size >= file->attrs.size &&
              compare(&s, &file->sums, 0, &found, &ignored) == RSET_OK && found.bad.n == 0;

    *more_out = is && (uint64_t)sb.st_size > file->attrs.size;
    rset_damage_free(&found);
    return is;
}

bool
rset_is_only_longer(const rset_local *local, const rset_info *info)
{
    rset_err     ignored = RSET_ERR_NONE;
    rset_logical l;
    bool         is = true, any = false, more;

    if (rset_logical_open(local, info, &l, &ignored) != RSET_OK)
        return false;
    for (int i = 0; is && i < l.n; i++) {
        is = begins_as_recorded(local, &l, &info->files[i], i, &more);
        any = any || more;
    }
    rset_logical_close(&l, NULL);
    return is && any;
}

rset_status
rset_is_as_recorded(const rset_local *local, const rset_info *info, bool *is_out, rset_err *err)
{
    rset_damage found = {0};
    rset_status st = rset_verify_data(local, info, true, &found, err);

    *is_out = st == RSET_OK && !found.any;
    rset_damage_free(&found);
    return st;
}

/* FORMAT.md 8. */
static uint64_t
payload_length(const rset_header *h)
{
    const rset_desc *d = &h->infos[0].desc;
    uint64_t         length = d->scheme->striped ? h->chunk * (uint64_t)d->parity : 0;

    for (int i = 1; !d->scheme->striped && i < h->ninfos; i++)
        length += rset_info_length(&h->infos[i]);
    return length;
}

static rset_status
verify_payload(const rset_local *local, const rset_evidence *ev, bool content,
               const rset_pace *pace, rset_damage *out, rset_err *err)
{
    uint64_t     length = payload_length(&ev->header), size = 0;
    rset_layered file = {0};
    rset_err     own = RSET_ERR_NONE;
    rset_status  st = rset_layered_evidence(local->dir, ev, &file, &own);
    bool         whole;

    if (st == RSET_OK)
        st = rset_layered_size(&file, &size, &own);
    whole = st == RSET_OK;
    rset_damage_free(out);
    out->unread = st == RSET_IO ? own.sys_errno : 0;
    if (st == RSET_NOMEM) /* that says nothing of the file */
        return rset_fail(err, st, "%s: no memory to verify it", ev->name);
    whole = whole && size >= ev->payload_at && size - ev->payload_at >= length;
    st = RSET_OK;
    if (whole && ev->header.has_payload_sums && ev->header.payload.size != length)
        whole = false;
    if (!whole && !rset_ranges_add(&out->bad, 0, length))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to verify it", ev->name);
    else if (whole && content && ev->header.has_payload_sums) {
        source s = {.name = ev->name, .file = file, .at = ev->payload_at, .pace = pace};

        st = compare(&s, &ev->header.payload, 0, out, err);
    }
    out->any = out->bad.n > 0;
    rset_layered_close(&file);
    return st;
}

rset_status
rset_verify_payload(const rset_local *local, const rset_evidence *ev, bool content,
                    rset_damage *out, rset_err *err)
{
    return verify_payload(local, ev, content, NULL, out, err);
}

rset_status
rset_verify_payload_slowly(const rset_local *local, const rset_evidence *ev, const rset_pace *pace,
                           rset_damage *out, rset_err *err)
{
    return verify_payload(local, ev, true, pace, out, err);
}
