/* sighting.c: see sighting.h. On the wire each is a tree of the engine's (tree.h), which is checked as
 * whatever else is read; its length comes before it. */
#include "sighting.h"

#include "format/tree.h"
#include "text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is sent as one bit each, from the lowest on. */
static const size_t flags[] = {offsetof(sighting, asked),
                               offsetof(sighting, ahead),
                               offsetof(sighting, there),
                               offsetof(sighting, gone),
                               offsetof(sighting, keeps_old),
                               offsetof(sighting, damaged),
                               offsetof(sighting, altered.any),
                               offsetof(sighting, altered.longer),
                               offsetof(sighting, undescribed),
                               offsetof(sighting, verified),
                               offsetof(sighting, no_sums),
                               offsetof(sighting, renamed),
                               offsetof(sighting, together),
                               offsetof(sighting, aside),
                               offsetof(sighting, replaced),
                               offsetof(sighting, over),
                               offsetof(sighting, shadow),
                               offsetof(sighting, said.any),
                               offsetof(sighting, said.has_header),
                               offsetof(sighting, said.is_void),
                               offsetof(sighting, said.over_gone),
                               offsetof(sighting, said.has_desc),
                               offsetof(sighting, said.placeholder),
                               offsetof(sighting, said.orphans),
                               offsetof(sighting, said.refused),
                               offsetof(sighting, said.undo.there),
                               offsetof(sighting, said.undo.rotten),
                               offsetof(sighting, said.undo.busy)};

/* What is sent as a number. */
static const struct number {
    const char *key;
    size_t      at;
} numbers[] = {{"OWNER", offsetof(sighting, owner)},
               {"DEVICE", offsetof(sighting, device)},
               {"INODE", offsetof(sighting, inode)},
               {"CHANGED", offsetof(sighting, changed)},
               {"WRITTEN", offsetof(sighting, altered.when)},
               {"OLDER", offsetof(sighting, older)},
               {"SIZE", offsetof(sighting, size)},
               {"BYTES", offsetof(sighting, bytes)},
               {"RSIZE", offsetof(sighting, redundancy_size)},
               {"WHEN", offsetof(sighting, when)},
               {"CHUNK", offsetof(sighting, chunk)},
               {"AGAINST", offsetof(sighting, against)},
               {"MARK", offsetof(sighting, said.mark)},
               {"NEXT", offsetof(sighting, said.next)},
               {"PUBLISHED", offsetof(sighting, header.generation)},
               {"DESCRIBED", offsetof(sighting, said.desc.generation)},
               {"UNDO", offsetof(sighting, said.undo.head.generation)},
               {"CLOSED", offsetof(sighting, said.undo.head.closed)},
               {"JOB", offsetof(sighting, said.undo.head.label.job)},
               {"STEP", offsetof(sighting, said.undo.head.label.step)},
               {"TOGETHER", offsetof(sighting, said.undo.head.label.ranks)}};

enum { FLAGS = sizeof flags / sizeof *flags, NUMBERS = sizeof numbers / sizeof *numbers };

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

/* Owners are few. */
void
sightings_sort_owners(sightings *list)
{
    sighting *sorted = must_alloc((list->n + 1) * sizeof *sorted);
    uint64_t  least = 0;

    for (size_t n = 0; n < list->n; least++) {
        uint64_t owner = UINT64_MAX;

        for (size_t i = 0; i < list->n; i++)
            if (list->at[i].owner >= least && list->at[i].owner < owner)
                owner = list->at[i].owner;
        for (size_t i = 0; i < list->n; i++)
            if (list->at[i].owner == owner)
                sorted[n++] = list->at[i];
        least = owner;
    }
    free(list->at);
    list->at = sorted;
    list->room = list->n + 1;
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

char *
sighting_path(const sighting *s)
{
    return must_print("%s/%s", s->dir, s->name);
}

const char *
sighting_old_name(const sighting *s)
{
    return s->renamed && s->nrecorded > 0 ? rset_path_base(s->recorded[0].path) : s->name;
}

void
sighting_free(sighting *s)
{
    for (int i = 0; i < s->nrecorded; i++) {
        free(s->recorded[i].path);
        free(s->recorded[i].others);
        free(s->recorded[i].host);
        rset_stamp_free(&s->recorded[i].stamp);
    }
    free(s->recorded);
    free(s->group);
    free(s->host);
    free(s->dir);
    free(s->prefix);
    free(s->name);
    free(s->redundancy);
    free(s->trouble);
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

/* ---- what the disk says ---- */

void
sighting_note(sighting *s, const rset_evidence *ev)
{
    s->header = ev->has_header ? ev->header.infos[0].desc : (rset_desc){0};
    s->over = ev->over_name != NULL;
    s->shadow = rset_evidence_has_shadow(ev, s->header.generation);
    s->said = *ev;
    s->said.header = (rset_header){0};
    s->said.name = s->said.over_name = s->said.next_name = NULL;
    s->said.over = s->said.undo.kept = (rset_overlay){0};
    s->said.shadows = NULL;
    s->said.nshadows = 0;
}

rset_evidence
sighting_evidence(const sighting *s, rset_info *info)
{
    rset_evidence ev = s->said;

    *info = (rset_info){.desc = s->header};
    if (s->said.has_header) {
        ev.header.infos = info;
        ev.header.ninfos = 1;
    }
    if (s->over)
        ev.over_name = s->name;
    if (s->shadow) {
        ev.shadows = &info->desc.generation;
        ev.nshadows = 1;
    }
    return ev;
}

bool
same_place(const sighting *a, const sighting *b)
{
    return a->owner == b->owner && strcmp(a->host, b->host) == 0 && a->device == b->device &&
           a->inode == b->inode && strcmp(a->prefix, b->prefix) == 0 &&
           strcmp(a->name, b->name) == 0;
}

/* ---- packing ---- */

static void
put_ranges(rset_tree *to, const char *key, const rset_ranges *ranges)
{
    rset_tree *list = rset_tree_add(to, key);
    char       text[48];

    for (size_t i = 0; i < ranges->n; i++) {
        snprintf(text, sizeof text, "%llx-%llx", (unsigned long long)ranges->at[i].from,
                 (unsigned long long)ranges->at[i].to);
        rset_tree_set(rset_tree_add_u64(list, i), "R", text);
    }
}

static void
put_stamp(rset_tree *to, const rset_stamp *stamp)
{
    rset_tree_set_u64(to, "TIME", stamp->time);
    if (stamp->job != NULL)
        rset_tree_set(to, "JOB", stamp->job);
    if (stamp->user != NULL)
        rset_tree_set(to, "USER", stamp->user);
    if (stamp->label != NULL)
        rset_tree_set(to, "LABEL", stamp->label);
}

static void
put_recorded(rset_tree *to, const recorded *r)
{
    const rset_desc *d = &r->desc;

    rset_tree_set(to, "SCHEME", d->scheme->name);
    rset_tree_set_u64(to, "PARITY", (uint64_t)d->parity);
    rset_tree_set_u64(to, "SET", (uint64_t)d->set);
    rset_tree_set_u64(to, "SETS", (uint64_t)d->sets);
    rset_tree_set_u64(to, "MEMBER", (uint64_t)d->member);
    rset_tree_set_u64(to, "MEMBERS", (uint64_t)d->members);
    rset_tree_set_u64(to, "RANK", (uint64_t)d->rank);
    rset_tree_set_u64(to, "RANKS", (uint64_t)d->ranks);
    rset_tree_set_u64(to, "GENERATION", d->generation);
    rset_tree_set_u64(to, "LENGTH", r->length);
    rset_tree_set(to, "PATH", r->path);
    rset_tree_set(to, "OTHERS", r->others);
    if (r->host != NULL)
        rset_tree_set(to, "HOST", r->host);
    put_stamp(to, &r->stamp);
}

static uint64_t
flags_of(const sighting *s)
{
    uint64_t bits = 0;

    for (int i = 0; i < FLAGS; i++)
        bits |= (uint64_t) * (const bool *)((const char *)s + flags[i]) << i;
    return bits;
}

static void
put_said(rset_tree *to, const sighting *s)
{
    for (int i = 0; i < NUMBERS; i++)
        rset_tree_set_u64(to, numbers[i].key,
                          *(const uint64_t *)(const void *)((const char *)s + numbers[i].at));
    rset_tree_set_u64(to, "NEXT_RANKS", (uint64_t)s->said.next_ranks);
    rset_tree_set_u64(to, "PUBLISHED_RANK", (uint64_t)s->header.rank);
    rset_tree_set_u64(to, "PUBLISHED_RANKS", (uint64_t)s->header.ranks);
    rset_tree_set_u64(to, "DESCRIBED_RANK", (uint64_t)s->said.desc.rank);
    rset_tree_set_u64(to, "UNDO_STATE", (uint64_t)s->said.undo.head.state);
    rset_tree_set_u64(to, "UNDO_FLAGS", s->said.undo.head.flags);
}

static rset_status
pack_one(const sighting *s, uint8_t **buf_out, size_t *len_out, rset_err *err)
{
    rset_tree  *tree = rset_tree_new(), *list;
    rset_status st;

    rset_tree_set(tree, "HOST", s->host);
    rset_tree_set(tree, "DIR", s->dir);
    rset_tree_set(tree, "PREFIX", s->prefix);
    rset_tree_set(tree, "NAME", s->name);
    if (s->redundancy != NULL)
        rset_tree_set(tree, "REDUNDANCY", s->redundancy);
    if (s->trouble != NULL)
        rset_tree_set(tree, "TROUBLE", s->trouble);
    rset_tree_set_u64(tree, "FLAGS", flags_of(s));
    put_said(tree, s);
    put_ranges(tree, "DATA", &s->data);
    put_ranges(tree, "PAYLOAD", &s->payload);
    list = rset_tree_add(tree, "RECORDED");
    for (int i = 0; i < s->nrecorded; i++)
        put_recorded(rset_tree_add_u64(list, (uint64_t)i), &s->recorded[i]);
    list = rset_tree_add(tree, "GROUP");
    for (int i = 0; i < s->ngroup; i++)
        rset_tree_set_u64(rset_tree_add_u64(list, (uint64_t)i), "RANK", (uint64_t)s->group[i]);
    st = rset_tree_pack(tree, buf_out, len_out, err);
    rset_tree_free(tree);
    return st;
}

rset_status
sightings_pack(const sightings *list, uint8_t **buf_out, size_t *len_out, rset_err *err)
{
    uint8_t *all = must_alloc(0);
    size_t   used = 0;

    for (size_t i = 0; i < list->n; i++) {
        uint8_t    *one = NULL;
        size_t      len = 0;
        uint64_t    head;
        rset_status st = pack_one(&list->at[i], &one, &len, err);

        if (st != RSET_OK) {
            free(all);
            return st;
        }
        head = len;
        all = must_grow(all, used + sizeof head + len);
        memcpy(all + used, &head, sizeof head);
        memcpy(all + used + sizeof head, one, len);
        used += sizeof head + len;
        free(one);
    }
    *buf_out = all;
    *len_out = used;
    return RSET_OK;
}

/* ---- unpacking ---- */

static bool
get_text(const rset_tree *from, const char *key, bool needed, char **out)
{
    const char *text = rset_tree_value(from, key);

    if (text != NULL)
        *out = must_copy(text);
    return text != NULL || !needed;
}

static bool
get_ranges(const rset_tree *from, const char *key, rset_ranges *out)
{
    const rset_tree *list = rset_tree_find(from, key);

    for (uint64_t i = 0; i < rset_tree_count(list); i++) {
        const char        *text = rset_tree_value(rset_tree_find_u64(list, i), "R");
        unsigned long long a, b;

        if (text == NULL || sscanf(text, "%llx-%llx", &a, &b) != 2 || a > b ||
            (out->n > 0 && a < out->at[out->n - 1].to))
            return false;
        if (!rset_ranges_add(out, a, b))
            return false;
    }
    return true;
}

static bool
get_int(const rset_tree *from, const char *key, int least, int *out)
{
    uint64_t value;

    if (!rset_tree_value_u64(from, key, RSET_MAX_RANKS, &value) || value < (uint64_t)least)
        return false;
    *out = (int)value;
    return true;
}

static bool
get_stamp(const rset_tree *from, rset_stamp *stamp)
{
    return rset_tree_value_u64(from, "TIME", INT64_MAX, &stamp->time) &&
           get_text(from, "JOB", false, &stamp->job) &&
           get_text(from, "USER", false, &stamp->user) &&
           get_text(from, "LABEL", false, &stamp->label);
}

static bool
get_recorded(const rset_tree *from, recorded *r)
{
    rset_desc  *d = &r->desc;
    const char *scheme = rset_tree_value(from, "SCHEME");

    d->scheme = scheme != NULL ? rset_scheme_by_name(scheme) : NULL;
    return d->scheme != NULL && get_text(from, "PATH", true, &r->path) &&
           get_text(from, "OTHERS", true, &r->others) && get_text(from, "HOST", false, &r->host) &&
           get_stamp(from, &r->stamp) && get_int(from, "PARITY", 0, &d->parity) &&
           get_int(from, "SET", 0, &d->set) && get_int(from, "SETS", 1, &d->sets) &&
           get_int(from, "MEMBER", 0, &d->member) && get_int(from, "MEMBERS", 1, &d->members) &&
           get_int(from, "RANK", 0, &d->rank) && get_int(from, "RANKS", 1, &d->ranks) &&
           d->member < d->members &&
           rset_tree_value_u64(from, "GENERATION", UINT64_MAX, &d->generation) &&
           rset_tree_value_u64(from, "LENGTH", UINT64_MAX, &r->length) &&
           d->scheme->check(d->members, d->parity, NULL) == RSET_OK;
}

static void
take_flags(sighting *s, uint64_t bits)
{
    for (int i = 0; i < FLAGS; i++)
        *(bool *)((char *)s + flags[i]) = (bits >> i & 1) != 0;
}

static bool
get_said(const rset_tree *from, sighting *s)
{
    rset_undo_head *head = &s->said.undo.head;
    uint64_t        state, undo_flags;
    bool            ok = true;

    for (int i = 0; i < NUMBERS; i++)
        ok = ok && rset_tree_value_u64(from, numbers[i].key, UINT64_MAX,
                                       (uint64_t *)(void *)((char *)s + numbers[i].at));
    ok = ok && get_int(from, "NEXT_RANKS", 0, &s->said.next_ranks) &&
         get_int(from, "PUBLISHED_RANK", 0, &s->header.rank) &&
         get_int(from, "PUBLISHED_RANKS", 0, &s->header.ranks) &&
         get_int(from, "DESCRIBED_RANK", 0, &s->said.desc.rank) &&
         rset_tree_value_u64(from, "UNDO_STATE", RSET_UNDO_CLOSED, &state) &&
         rset_tree_value_u64(from, "UNDO_FLAGS", UINT32_MAX, &undo_flags);
    if (ok) {
        head->state = (rset_undo_state)state;
        head->flags = (unsigned)undo_flags;
    }
    return ok;
}

static bool
get_group(const rset_tree *from, sighting *s)
{
    const rset_tree *list = rset_tree_find(from, "GROUP");
    size_t           n = rset_tree_count(list);
    bool             ok = n <= RSET_MAX_RANKS;

    if (ok && n > 0)
        s->group = must_alloc(n * sizeof *s->group);
    for (; ok && s->ngroup < (int)n; s->ngroup++)
        ok =
            get_int(rset_tree_find_u64(list, (uint64_t)s->ngroup), "RANK", 0, &s->group[s->ngroup]);
    return ok;
}

static bool
unpack_one(const rset_tree *tree, sighting *s)
{
    const rset_tree *list = rset_tree_find(tree, "RECORDED");
    size_t           n = rset_tree_count(list);
    uint64_t         bits = 0;
    bool             ok;

    ok = get_text(tree, "HOST", true, &s->host) && get_text(tree, "DIR", true, &s->dir) &&
         get_text(tree, "PREFIX", true, &s->prefix) && get_text(tree, "NAME", true, &s->name) &&
         get_text(tree, "REDUNDANCY", false, &s->redundancy) &&
         get_text(tree, "TROUBLE", false, &s->trouble) &&
         rset_tree_value_u64(tree, "FLAGS", UINT64_MAX, &bits) && get_said(tree, s) &&
         get_group(tree, s) && get_ranges(tree, "DATA", &s->data) &&
         get_ranges(tree, "PAYLOAD", &s->payload) && n <= RSET_MAX_RANKS && s->owner < UINT32_MAX;
    take_flags(s, bits);
    if (ok && n > 0)
        s->recorded = must_alloc(n * sizeof *s->recorded);
    for (; ok && s->nrecorded < (int)n; s->nrecorded++)
        ok = get_recorded(rset_tree_find_u64(list, (uint64_t)s->nrecorded),
                          &s->recorded[s->nrecorded]);
    return ok;
}

rset_status
sightings_unpack(const uint8_t *buf, size_t len, int by, sightings *list, rset_err *err)
{
    while (len > 0) {
        rset_tree  *tree = NULL;
        uint64_t    head = 0;
        rset_status st = RSET_OK;

        if (len >= sizeof head)
            memcpy(&head, buf, sizeof head);
        if (len < sizeof head || head > len - sizeof head ||
            rset_tree_unpack(buf + sizeof head, (size_t)head, "findings", &tree, err) != RSET_OK)
            return rset_fail(err, RSET_PEER, "process %d sent findings that are not valid", by);
        if (!unpack_one(tree, sightings_add(list)))
            st = rset_fail(err, RSET_PEER, "process %d sent findings that are not valid", by);
        list->at[list->n - 1].by = by;
        rset_tree_free(tree);
        if (st != RSET_OK)
            return st;
        buf += sizeof head + (size_t)head;
        len -= sizeof head + (size_t)head;
    }
    return RSET_OK;
}
