/* sighting.c: see sighting.h. */
#include "sighting.h"

#include "common/crc64.h"
#include "common/parts.h"
#include "rendezvous/rendezvous.h"
#include "text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

sighting *
sightings_add(sightings *list)
{
    list->at = must_have_room(list->at, list->n, &list->room, sizeof *list->at);
    list->at[list->n] = (sighting){0};
    return &list->at[list->n++];
}

void
sightings_part(sightings *list, sightings *older, sightings *replaced)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].replaced)
            *sightings_add(replaced) = list->at[i];
        else if (list->at[i].older != 0)
            *sightings_add(older) = list->at[i];
        else
            list->at[n++] = list->at[i];
    list->n = n;
}

sightings
sightings_of(const sightings *list, uint64_t owner)
{
    size_t from = 0, n = 0;

    while (from < list->n && list->at[from].owner != owner)
        from++;
    while (from + n < list->n && list->at[from + n].owner == owner)
        n++;
    return (sightings){.n = n, .at = list->at + from};
}

uint64_t
sightings_next_owner(const sightings *list, size_t from, size_t *next_out)
{
    const uint64_t owner = list->at[from].owner;

    while (from < list->n && list->at[from].owner == owner)
        from++;
    *next_out = from;
    return owner;
}

void
sighting_place(sighting *s, const char *dir, const char *name)
{
    char *were[] = {s->dir, s->name, s->path};

    s->dir = must_copy(dir);
    s->name = must_copy(name);
    s->path = must_print("%s/%s", dir, name);
    for (size_t i = 0; i < sizeof were / sizeof *were; i++)
        free(were[i]);
}

char *
path_of_file(const char *path)
{
    return must_print("%.*s", (int)rset_name_recorded(path), path);
}

const char *
sighting_old_name(const sighting *s)
{
    return s->renamed && s->said.has_header ? rset_path_base(recorded_path(s->said.header.infos))
                                            : s->name;
}

uint64_t
sighting_kind(const sighting *s)
{
    char     *name = path_of_file(sighting_old_name(s));
    rset_kind kind;

    rset_kind_of(name, &kind);
    free(name);
    return rset_crc64(0, kind.text, strlen(kind.text));
}

const rset_header *
sighting_records(const sighting *s)
{
    return s->ahead ? &s->later.header : &s->said.header;
}

bool
sighting_is_unknown(const sighting *s)
{
    return s->trouble != NULL && !s->there && !s->said.any;
}

bool
sighting_is_undescribed(const sighting *s)
{
    const rset_evidence *ev = s->ahead ? &s->later : &s->said;

    return ev->has_header && !rset_evidence_described(ev);
}

bool
sighting_keeps_old(const sighting *s)
{
    return s->said.undo.there &&
           (s->said.undo.head.flags & (RSET_UNDO_KEPT | RSET_UNDO_ASIDE)) != 0;
}

const char *
recorded_path(const rset_info *info)
{
    return info->nfiles > 0 ? info->files[0].path : "";
}

void
sighting_free(sighting *s)
{
    free(s->host);
    free(s->dir);
    free(s->prefix);
    free(s->name);
    free(s->path);
    free(s->trouble);
    rset_evidence_free(&s->said);
    rset_evidence_free(&s->later);
    rset_ranges_free(&s->data);
    rset_ranges_free(&s->payload);
    *s = (sighting){0};
}

void
sightings_free(sightings *list)
{
    for (size_t i = 0; i < list->n; i++)
        sighting_free(&list->at[i]);
    free(list->at);
    *list = (sightings){0};
}

int
sighting_order(const sighting *a, const sighting *b)
{
    int order = (a->owner > b->owner) - (a->owner < b->owner);

    if (order == 0)
        order = strcmp(a->host, b->host);
    if (order == 0)
        order = (a->device > b->device) - (a->device < b->device);
    if (order == 0)
        order = (a->inode > b->inode) - (a->inode < b->inode);
    if (order == 0)
        order = strcmp(a->prefix, b->prefix);
    return order != 0 ? order : strcmp(a->name, b->name);
}

bool
sighting_is_shared(const sighting *a, const sighting *b)
{
    return a->inode == b->inode && a->changed == b->changed && strcmp(a->path, b->path) == 0;
}

/* ---- sent to another process ---- */

/* The parts of a block; what comes before the texts is sent as it is. */
enum { PLAIN, HOST, FOLDER, PREFIX, NAME, TROUBLE, SAID, LATER, DATA, PAYLOAD, PARTS };
enum { PLAIN_SIZE = offsetof(sighting, host) };

static const size_t bools[] = {
    offsetof(sighting, altered.any),   offsetof(sighting, altered.longer),
    offsetof(sighting, altered.later), offsetof(sighting, altered.own),
    offsetof(sighting, asked),         offsetof(sighting, ahead),
    offsetof(sighting, there),         offsetof(sighting, gone),
    offsetof(sighting, damaged),       offsetof(sighting, verified),
    offsetof(sighting, no_sums),       offsetof(sighting, renamed),
    offsetof(sighting, aside),         offsetof(sighting, replaced)};

static rset_part
part_of_ranges(const rset_ranges *ranges)
{
    return (rset_part){ranges->at, ranges->n * sizeof *ranges->at};
}

static rset_status
pack_one(const sighting *s, rset_part *out, rset_err *err)
{
    rset_part   parts[PARTS] = {[PLAIN] = {s, PLAIN_SIZE},
                                [HOST] = rset_part_of_text(s->host),
                                [FOLDER] = rset_part_of_text(s->dir),
                                [PREFIX] = rset_part_of_text(s->prefix),
                                [NAME] = rset_part_of_text(s->name),
                                [TROUBLE] = rset_part_of_text(s->trouble),
                                [DATA] = part_of_ranges(&s->data),
                                [PAYLOAD] = part_of_ranges(&s->payload)};
    uint8_t    *said = NULL, *later = NULL;
    rset_status st = rset_evidence_pack(&s->said, &said, &parts[SAID].len, err);

    if (st == RSET_OK)
        st = rset_evidence_pack(&s->later, &later, &parts[LATER].len, err);
    parts[SAID].at = said;
    parts[LATER].at = later;
    if (st == RSET_OK && (out->at = rset_parts_pack(parts, PARTS, &out->len)) == NULL)
        no_memory();
    free(said);
    free(later);
    return st;
}

rset_status
sightings_pack(const sightings *list, uint8_t **buf_out, size_t *len_out, rset_err *err)
{
    rset_part  *each = must_alloc((list->n + 1) * sizeof *each);
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < list->n; i++)
        st = pack_one(&list->at[i], &each[i], err);
    if (st == RSET_OK && (*buf_out = rset_parts_pack(each, list->n, len_out)) == NULL)
        no_memory();
    for (size_t i = 0; i < list->n; i++)
        free((void *)each[i].at);
    free(each);
    return st;
}

static bool
take_place(const rset_part *dir, const rset_part *name, sighting *s)
{
    const bool are = rset_part_text(dir) != NULL && rset_part_text(name) != NULL;

    if (are)
        sighting_place(s, rset_part_text(dir), rset_part_text(name));
    return are;
}

static bool
take_text(const rset_part *part, char **out)
{
    const char *text = rset_part_text(part);

    if (text != NULL)
        *out = must_copy(text);
    return text != NULL;
}

static bool
take_ranges(const rset_part *part, rset_ranges *out)
{
    rset_range r = {0};

    for (size_t at = 0; at + sizeof r <= part->len; at += sizeof r) {
        const uint64_t before = r.to;

        memcpy(&r, (const uint8_t *)part->at + at, sizeof r);
        if (r.from < before || r.from > r.to || !rset_ranges_add(out, r.from, r.to))
            return false;
    }
    return part->len % sizeof r == 0;
}

static bool
unpack_one(const rset_part *block, sighting *s)
{
    rset_part part[PARTS];
    size_t    n;

    if (!rset_parts_count(block->at, block->len, &n) || n != PARTS)
        return false;
    for (size_t i = 0; i < n; i++)
        part[i] = rset_parts_at(block->at, i);
    return rset_part_copy(&part[PLAIN], s, PLAIN_SIZE) &&
           rset_are_bools(s, bools, sizeof bools / sizeof *bools) && s->owner < UINT32_MAX &&
           s->unread >= 0 && s->unread <= RSET_ERRNO_MAX && take_text(&part[HOST], &s->host) &&
           take_place(&part[FOLDER], &part[NAME], s) && take_text(&part[PREFIX], &s->prefix) &&
           (part[TROUBLE].len == 0 || take_text(&part[TROUBLE], &s->trouble)) &&
           rset_evidence_unpack(part[SAID].at, part[SAID].len, &s->said) &&
           rset_evidence_unpack(part[LATER].at, part[LATER].len, &s->later) &&
           take_ranges(&part[DATA], &s->data) && take_ranges(&part[PAYLOAD], &s->payload);
}

rset_status
sightings_unpack(const uint8_t *buf, size_t len, int by, sightings *list, rset_err *err)
{
    size_t n = 0;
    bool   ok = rset_parts_count(buf, len, &n);

    for (size_t i = 0; ok && i < n; i++) {
        const rset_part one = rset_parts_at(buf, i);

        ok = unpack_one(&one, sightings_add(list));
        list->at[list->n - 1].by = by;
    }
    return ok ? RSET_OK
              : rset_fail(err, RSET_PEER, "process %d sent findings that are not valid", by);
}

/* ---- the directory of a lost node is back ---- */

/* The one that was put aside by another rank of these files, as that generation; NULL: there is none. */
static const sighting *
find_aside(const sightings *older, const sighting *s)
{
    const uint64_t kind = sighting_kind(s);

    for (size_t i = 0; i < older->n; i++) {
        const sighting *one = &older->at[i];

        if (one->owner == s->owner && one->aside &&
            one->older == rset_evidence_generation(&s->said) && sighting_kind(one) == kind &&
            sighting_order(one, s) != 0)
            return one;
    }
    return NULL;
}

/* `path` becomes that of the file as it is put aside. */
static void
rename_path(char **path, const sighting *s, rset_name_kind as)
{
    char *prefix = must_print("%s.", *path);

    free(*path);
    *path = rset_name_of(as, prefix, s->older);
    free(prefix);
    if (*path == NULL)
        no_memory();
}

static void
put_aside(sighting *s, rset_name_kind as)
{
    char *kept;

    s->older = rset_evidence_generation(&s->said);
    s->aside = true;
    kept = must_copy(s->name);
    rename_path(&kept, s, as);
    sighting_place(s, s->dir, kept);
    for (int i = 0; i < s->said.header.ninfos; i++)
        if (s->said.header.infos[i].nfiles > 0)
            rename_path(&s->said.header.infos[i].files[0].path, s, as);
    free(s->prefix);
    s->prefix = must_print("%s.", s->name);
    free(kept);
}

void
returned_find(sightings *newest, sightings *older)
{
    const size_t were = older->n;
    size_t       n = 0;

    for (size_t i = 0; i < newest->n; i++) {
        sighting       *s = &newest->at[i];
        const sightings seen = {.n = were, .at = older->at};
        const sighting *aside =
            s->said.has_header && !s->ahead && !s->renamed ? find_aside(&seen, s) : NULL;

        if (aside == NULL) {
            newest->at[n++] = *s;
            continue;
        }
        put_aside(s, rset_name_kept_as(aside->name));
        *sightings_add(older) = *s;
    }
    newest->n = n;
}
