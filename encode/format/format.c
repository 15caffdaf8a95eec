/* format.c: headers of redundancy files, info containers, descriptor files: bytes to structs and
 * back. See format.h; the parts they share are in format_info.c, names in format_name.c. */
#include "format_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS_VERSION = 1,    /* VFD: of our own keys */
    PAD_OVERHEAD = 13,   /* bytes that PAD takes beside its value (FORMAT.md 3) */
    PAD_SLACK = 64,      /* room for times and sizes that have more digits the next time */
    PAD_UNIT = 4096,     /* the payload begins at a multiple of it */
    RANK_VALUES_MAX = 64 /* values of RANK between which the left neighbours may decide */
};

/* ---- what holds of a header and of the set it describes ---- */

/* The `d`-th neighbour to the left. */
static int
left_of(const rset_desc *desc, int d)
{
    return (int)(((int64_t)desc->member - d + desc->members) % desc->members);
}

static int
compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* The payload's length; every product and sum of sizes that others form of this header fits too. */
static rset_status
payload_size(const rset_subject *on, const rset_header *h, uint64_t *size_out)
{
    const rset_desc *desc = &h->infos[0].desc;
    uint64_t         size = 0;

    if (desc->scheme->striped) {
        if (h->chunk == 0 || h->chunk > (uint64_t)INT64_MAX / (uint64_t)desc->members)
            return rset_subject_bad(on, "has an impossible CHUNK of %" PRIu64 " bytes", h->chunk);
        *size_out = h->chunk * (uint64_t)desc->parity;
        return RSET_OK;
    }
    for (int d = 1; d < h->ninfos; d++) {
        uint64_t length = rset_info_length(&h->infos[d]);

        if (length > (uint64_t)INT64_MAX - size)
            return rset_subject_bad(on, "describes files of more than 2^63 bytes together");
        size += length;
    }
    *size_out = size;
    return RSET_OK;
}

/* Neighbours in order, of one set, each a rank of its own; ranks as in the map. */
static rset_status
check_members(const rset_subject *on, const rset_header *h)
{
    const rset_desc *own = &h->infos[0].desc;
    int              n = h->group != NULL ? own->members : h->ninfos;
    int             *ranks;
    bool             distinct = true;

    for (int d = 0; d < h->ninfos; d++) {
        const rset_desc *desc = &h->infos[d].desc;

        if (!rset_part_same_set(own, desc) || desc->member != left_of(own, d))
            return rset_subject_bad(on, "describes members %d and %d of different sets",
                                    own->member, desc->member);
        if (h->group != NULL && h->group[desc->member] != desc->rank)
            return rset_subject_bad(on, "says of member %d both rank %d and %d", desc->member,
                                    h->group[desc->member], desc->rank);
    }
    ranks = malloc((size_t)n * sizeof *ranks);
    if (ranks == NULL)
        return rset_subject_nomem(on);
    for (int i = 0; i < n; i++)
        ranks[i] = h->group != NULL ? h->group[i] : h->infos[i].desc.rank;
    qsort(ranks, (size_t)n, sizeof *ranks, compare_ints);
    for (int i = 0; i < n; i++)
        distinct = distinct && ranks[i] >= 0 && ranks[i] < own->ranks &&
                   (i == 0 || ranks[i] != ranks[i - 1]);
    free(ranks);
    return distinct ? RSET_OK
                    : rset_subject_bad(on, "gives two members the same rank, or one that "
                                           "the job does not have");
}

/* Everything that relates parts of a header to each other; both directions. */
static rset_status
check_header(const rset_subject *on, const rset_header *h)
{
    const rset_desc *own = &h->infos[0].desc;
    uint64_t         size = 0, data = (uint64_t)(own->members - own->parity);
    rset_status      st;

    if (h->member != own->member || h->ninfos != 1 + own->scheme->left(own->parity) ||
        h->ninfos > own->members || own->scheme->striped != (h->group != NULL))
        return rset_subject_bad(on, "does not have what %s needs of its neighbours",
                                own->scheme->name);
    st = check_members(on, h);
    if (st == RSET_OK)
        st = payload_size(on, h, &size);
    for (int d = 0; st == RSET_OK && own->scheme->striped && d < h->ninfos; d++)
        if (rset_info_length(&h->infos[d]) > h->chunk * data)
            st = rset_subject_bad(on,
                                  "has a CHUNK of %" PRIu64 " bytes, too small for the files of "
                                  "member %d",
                                  h->chunk, h->infos[d].desc.member);
    if (st == RSET_OK && h->has_payload_sums && (h->payload.size != size || h->payload.block == 0))
        st = rset_subject_bad(on,
                              "has checksums of a payload of %" PRIu64 " bytes, which has %" PRIu64,
                              h->payload.size, size);
    return st;
}

/* ---- to bytes ---- */

static rset_status
pack_and_free(rset_tree *tree, bool complete, uint8_t **buf_out, size_t *len_out, rset_err *err)
{
    rset_status st = rset_tree_pack(complete ? tree : NULL, buf_out, len_out, err);

    rset_tree_free(tree);
    return st;
}

rset_status
rset_format_pack_info(const rset_info *info, bool extra, uint8_t **buf_out, size_t *len_out,
                      rset_err *err)
{
    rset_subject on = {.what = "info", .blame = RSET_BUG, .err = err};
    rset_status  st = rset_part_check_info(&on, info);
    rset_tree   *tree;

    if (st != RSET_OK)
        return st;
    tree = rset_tree_new();
    return pack_and_free(tree, rset_part_put_info(tree, info, extra), buf_out, len_out, err);
}

static bool
put_group(rset_tree *tree, const rset_header *h)
{
    int        members = h->infos[0].desc.members;
    rset_tree *map = rset_tree_add(tree, "RANK");
    bool       ok = map != NULL && rset_tree_set_u64(tree, "RANKS", (uint64_t)members) != NULL;

    for (int n = 0, i = 0; ok && n < members; n++, i = rset_part_next_as_text(i, members))
        ok = rset_tree_add_u64(rset_tree_add_u64(map, (uint64_t)i), (uint64_t)h->group[i]) != NULL;
    return ok;
}

/* The header says all of its first `known` infos, the first of which is its own, and of the others only which members they are of. */
static bool
put_header(rset_tree *tree, const rset_header *h, int known, bool extra)
{
    rset_tree *infos = rset_tree_add(tree, "DESC");
    bool       ok = infos != NULL && rset_tree_set_u64(tree, "RANK", (uint64_t)h->member) != NULL;

    for (int d = 0; ok && d < h->ninfos; d++) {
        rset_tree *info = rset_tree_add_u64(infos, (uint64_t)left_of(&h->infos[0].desc, d));

        ok = d < known ? rset_part_put_info(info, &h->infos[d], extra) : info != NULL;
    }
    if (h->group != NULL)
        ok = ok && rset_tree_set_u64(tree, "CHUNK", h->chunk) != NULL &&
             put_group(rset_tree_add(tree, "GROUP"), h);
    if (extra)
        ok = ok && rset_tree_set_u64(tree, "VFD", KEYS_VERSION) != NULL;
    if (extra && h->has_payload_sums) {
        rset_tree *payload = rset_tree_add(tree, "PAYLOAD");

        ok = ok && rset_tree_set_u64(payload, "SIZE", h->payload.size) != NULL &&
             rset_part_put_sums(payload, &h->payload);
    }
    return ok;
}

/* Where the payload begins well. */
static size_t
padded(size_t needs)
{
    return (needs + PAD_OVERHEAD + PAD_SLACK + PAD_UNIT - 1) / PAD_UNIT * PAD_UNIT;
}

/* Fills up to `total` bytes, or to where the payload begins well when it is 0: an update then puts the next
 * header in the place of this one (delta.h). */
static rset_status
pad(rset_tree *tree, size_t total, rset_err *err)
{
    size_t      needs = rset_tree_packed_size(tree), room;
    char       *value;
    rset_status st = RSET_OK;

    if (total == 0)
        total = padded(needs);
    if (needs == total)
        return RSET_OK;
    if (needs + PAD_OVERHEAD > total)
        return rset_fail(err, RSET_USAGE, "a header of %zu bytes does not fit into %zu", needs,
                         total);
    room = total - needs - PAD_OVERHEAD;
    value = malloc(room + 1);
    if (value == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a header");
    memset(value, '0', room);
    value[room] = '\0';
    if (rset_tree_set(tree, "PAD", value) == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for a header");
    free(value);
    return st;
}

rset_status
rset_format_pack_header(const rset_header *header, bool extra, uint8_t **buf_out, size_t *len_out,
                        rset_err *err)
{
    rset_subject on = {.what = "redundancy file", .blame = RSET_BUG, .err = err};
    rset_status  st = RSET_OK;
    rset_tree   *tree;
    bool         complete;

    if (header->ninfos < 1)
        return rset_subject_bad(&on, "has no own info");
    for (int d = 0; st == RSET_OK && d < header->ninfos; d++)
        st = rset_part_check_info(&on, &header->infos[d]);
    if (st == RSET_OK)
        st = check_header(&on, header);
    if (st != RSET_OK)
        return st;
    tree = rset_tree_new();
    complete = tree != NULL && put_header(tree, header, header->ninfos, extra);
    if (complete && extra)
        st = pad(tree, header->total, err);
    if (st == RSET_OK)
        return pack_and_free(tree, complete, buf_out, len_out, err);
    rset_tree_free(tree);
    return st;
}

rset_status
rset_format_header_size(const rset_header *header, bool extra, size_t neighbours, size_t *len_out,
                        rset_err *err)
{
    rset_tree *tree = rset_tree_new();
    const bool complete = tree != NULL && put_header(tree, header, 1, extra);

    if (complete) {
        const size_t without = rset_tree_packed_size(tree);
        const size_t needs = without + neighbours - ((size_t)header->ninfos - 1) * RSET_TREE_EMPTY;

        *len_out = extra ? padded(needs) : needs;
    }
    rset_tree_free(tree);
    return complete ? RSET_OK : rset_fail(err, RSET_NOMEM, "no memory for a header");
}

/* ---- from bytes ---- */

/* Unpacks the tree of `on->what`; `on` then knows the length. */
static rset_status
open_tree(rset_subject *on, const uint8_t *buf, size_t len, rset_tree **tree_out)
{
    on->len = len;
    on->blame = RSET_DAMAGED;
    return rset_tree_unpack(buf, len, on->what, tree_out, on->err);
}

rset_status
rset_format_unpack_info(const uint8_t *buf, size_t len, const char *what, rset_info *info_out,
                        rset_err *err)
{
    rset_subject on = {.what = what, .err = err};
    rset_info    info = {.nfiles = 0};
    rset_tree   *tree = NULL;
    rset_status  st = open_tree(&on, buf, len, &tree);

    if (st == RSET_OK)
        st = rset_part_get_info(&on, tree, &info);
    if (st == RSET_OK)
        *info_out = info;
    else
        rset_info_free(&info);
    rset_tree_free(tree);
    return st;
}

/* Does the header have the infos that `member` keeps: its own and its left neighbours'? */
static bool
has_neighbours(const rset_tree *infos, uint64_t member)
{
    const rset_tree *info = rset_tree_find_u64(infos, member);
    rset_subject     silent = {.what = "", .blame = RSET_DAMAGED, .err = NULL};
    rset_desc        desc;

    if (rset_part_get_desc(&silent, rset_tree_find(info, "DESC"), &desc) != RSET_OK ||
        (uint64_t)desc.member != member)
        return false;
    for (int d = 1; d <= desc.scheme->left(desc.parity); d++)
        if (rset_tree_find_u64(infos, (uint64_t)left_of(&desc, d)) == NULL)
            return false;
    return true;
}

/* Whose header is it? RANK says, when it has one value; upstream leaves several after a rebuild. */
static rset_status
find_member(const rset_subject *on, const rset_tree *tree, int member_in_name, int *member_out)
{
    const rset_tree *ranks = rset_tree_find(tree, "RANK");
    const rset_tree *infos = rset_tree_find(tree, "DESC");
    size_t           n = rset_tree_count(ranks);
    uint64_t         value, own = 0;
    int              fitting = 0;

    if (n == 0 || (n > RANK_VALUES_MAX && member_in_name < 0))
        return rset_subject_bad(on, "has %zu values of RANK", n);
    for (size_t i = 0; i < n; i++) {
        if (!rset_text_u64(rset_tree_key(ranks, i), RSET_MAX_RANKS - 1, &value))
            return rset_subject_bad(on, "has a RANK that is no number");
        if (member_in_name >= 0 ? value == (uint64_t)member_in_name
                                : n == 1 || has_neighbours(infos, value)) {
            own = value;
            fitting++;
        }
    }
    if (fitting != 1 && member_in_name >= 0)
        return rset_subject_bad(on, "is not that of member %d, as its name says", member_in_name);
    if (fitting != 1)
        return rset_subject_bad(on, "does not tell which member it belongs to");
    *member_out = (int)own;
    return RSET_OK;
}

static rset_status
get_infos(const rset_subject *on, const rset_tree *tree, rset_header *h)
{
    const rset_tree *infos = rset_tree_find(tree, "DESC");
    rset_desc        own;
    rset_status      st;
    int              n;

    st = rset_part_get_desc(
        on, rset_tree_find(rset_tree_find_u64(infos, (uint64_t)h->member), "DESC"), &own);
    if (st != RSET_OK)
        return st;
    n = 1 + own.scheme->left(own.parity);
    if (own.member != h->member || n > own.members || (size_t)n > rset_tree_count(infos) ||
        (size_t)n > on->len / RSET_DESC_BYTES)
        return rset_subject_bad(on, "lacks infos of left neighbours");
    h->infos = calloc((size_t)n, sizeof *h->infos);
    if (h->infos == NULL)
        return rset_subject_nomem(on);
    while (st == RSET_OK && h->ninfos < n) {
        const rset_tree *info = rset_tree_find_u64(infos, (uint64_t)left_of(&own, h->ninfos));

        st = rset_part_get_info(on, info, &h->infos[h->ninfos++]);
    }
    return st;
}

static rset_status
get_group(const rset_subject *on, const rset_tree *tree, rset_header *h)
{
    const rset_tree *group = rset_tree_find(tree, "GROUP"), *map = rset_tree_find(group, "RANK");
    uint64_t         members = (uint64_t)h->infos[0].desc.members, value;

    if (!rset_tree_value_u64(tree, "CHUNK", INT64_MAX, &h->chunk))
        return rset_subject_bad(on, "has no number CHUNK");
    if (!rset_tree_value_u64(group, "RANKS", members, &value) || value != members ||
        rset_tree_count(map) != members)
        return rset_subject_bad(on, "has a GROUP that does not name all %" PRIu64 " members",
                                members);
    h->group = malloc(members * sizeof *h->group);
    if (h->group == NULL)
        return rset_subject_nomem(on);
    for (uint64_t i = 0; i < members; i++) {
        const rset_tree *ranks = rset_tree_find_u64(map, i);

        if (rset_tree_count(ranks) != 1 ||
            !rset_text_u64(rset_tree_key(ranks, 0), RSET_MAX_RANKS - 1, &value))
            return rset_subject_bad(on, "has no rank for member %" PRIu64 " in GROUP", i);
        h->group[i] = (int)value;
    }
    return RSET_OK;
}

/* A header that upstream made from another member's when it rebuilt (FORMAT.md 10) has inherited
 * our PAYLOAD as well, which is not of this payload: then there is none. */
static rset_status
get_payload(const rset_subject *on, const rset_tree *tree, rset_header *h)
{
    const rset_tree *payload = rset_tree_find(tree, "PAYLOAD");
    bool             leftovers = rset_tree_count(rset_tree_find(tree, "RANK")) > 1 ||
                     rset_tree_count(rset_tree_find(tree, "DESC")) > (size_t)h->ninfos;
    uint64_t    size;
    rset_status st;

    if (payload == NULL || leftovers)
        return RSET_OK;
    if (!rset_tree_value_u64(payload, "SIZE", INT64_MAX, &size))
        return rset_subject_bad(on, "has a PAYLOAD without a number SIZE");
    st = rset_part_get_sums(on, payload, size, &h->has_payload_sums, &h->payload);
    if (st == RSET_OK && !h->has_payload_sums)
        return rset_subject_bad(on, "has a PAYLOAD without CRC64");
    return st;
}

/* A header of a newer release is not damaged: only that release can tell what it says. */
static rset_status
check_version(const rset_subject *on, const rset_tree *tree)
{
    uint64_t version = KEYS_VERSION;

    if (rset_tree_find(tree, "VFD") != NULL &&
        !rset_tree_value_u64(tree, "VFD", UINT64_MAX, &version))
        version = 0;
    if (version > KEYS_VERSION)
        return rset_fail(on->err, RSET_USAGE,
                         "%s: was written by a newer release of redset (its VFD is %" PRIu64
                         ", this release knows %d): nothing was changed; open the file with that "
                         "release, or remove what protects it with its h5redset",
                         on->what, version, (int)KEYS_VERSION);
    return version == KEYS_VERSION
               ? RSET_OK
               : rset_subject_bad(on, "has a VFD other than %d", (int)KEYS_VERSION);
}

static rset_status
get_header(const rset_subject *on, const rset_tree *tree, int member_in_name, rset_header *h)
{
    rset_status st = check_version(on, tree);

    if (st == RSET_OK)
        st = find_member(on, tree, member_in_name, &h->member);
    if (st == RSET_OK)
        st = get_infos(on, tree, h);
    if (st == RSET_OK && h->infos[0].desc.scheme->striped)
        st = get_group(on, tree, h);
    if (st == RSET_OK)
        st = get_payload(on, tree, h);
    return st == RSET_OK ? check_header(on, h) : st;
}

rset_status
rset_format_unpack_header(const uint8_t *buf, size_t len, const char *what, int member_in_name,
                          rset_header *header_out, rset_err *err)
{
    rset_subject on = {.what = what, .err = err};
    rset_header  h = {.infos = NULL};
    rset_tree   *tree = NULL;
    size_t       total;
    rset_status  st = rset_tree_total(buf, len, what, &total, err);

    if (st == RSET_OK)
        st = open_tree(&on, buf, total, &tree);
    if (st == RSET_OK)
        st = get_header(&on, tree, member_in_name, &h);
    if (st == RSET_OK)
        *header_out = h;
    else
        rset_header_free(&h);
    rset_tree_free(tree);
    return st;
}
