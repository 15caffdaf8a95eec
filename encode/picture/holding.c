/* holding.c: what one directory holds, or records, of one rank's file. See picture.h. */
#include "picture.h"

#include "common/crc64.h"
#include "rendezvous/rendezvous.h"

/* The number in a name (a bit) that is the number of the rank which wrote the file; none, where several are. */
static uint64_t
equal_to_rank(const rset_kind *own, const rset_desc *desc)
{
    uint64_t equal = 0;

    for (uint64_t n = 0; desc->ranks > 1 && n < own->nruns; n++)
        equal |= (uint64_t)(own->runs[n] == (uint64_t)desc->rank) << n;
    return (equal & (equal - 1)) == 0 ? equal : 0;
}

/* The numbers in these names (bits) that tell ranks apart: those that differ between the files that a header records. Where it
 * records no others (SINGLE), the one that is the number of the file's own rank. */
static uint64_t
rank_numbers(const rset_header *h, const rset_kind *own)
{
    uint64_t differ = h->ninfos == 1 ? equal_to_rank(own, &h->infos[0].desc) : 0;

    for (int i = 1; i < h->ninfos; i++) {
        rset_kind other;

        if (h->infos[i].nfiles < 1)
            continue;
        rset_kind_of(h->infos[i].files[0].path, &other);
        for (uint64_t n = 0; n < own->nruns && n < other.nruns; n++)
            differ |= (uint64_t)(own->runs[n] != other.runs[n]) << n;
    }
    return differ;
}

/* All of the name, and of where it is recorded, but what tells ranks apart. */
static uint64_t
step_of(const rset_header *h, const char *own, const char *base, const rset_where *where)
{
    rset_kind kind, first;
    uint64_t  numbers, hash;

    rset_kind_of(own, &first);
    rset_kind_of(base, &kind);
    numbers = rank_numbers(h, &first);
    hash = rset_crc64(rset_name_hash(kind.text), &numbers, sizeof numbers);
    for (uint64_t n = 0; n < kind.nruns; n++)
        if ((numbers >> n & 1) == 0)
            hash = rset_crc64(hash, &kind.runs[n], sizeof kind.runs[n]);
    return where->n > 0 ? rset_crc64(hash, &where->form[0].hash, sizeof where->form[0].hash) : hash;
}

static uint32_t
facts_of(const rset_evidence *ev, int k)
{
    return (k == 0 ? RSET_HOLDING_HERE : 0U) |
           (rset_evidence_names_differ(ev) ? RSET_HOLDING_NAMED : 0U) |
           (ev->header.infos[k].nfiles != 1 ? RSET_HOLDING_SEVERAL : 0U);
}

static int32_t
left_of(const rset_desc *desc)
{
    return desc->scheme != NULL ? desc->scheme->left(desc->parity) : -1;
}

rset_holding
rset_holding_recorded(const rset_evidence *ev, const char *base, const char *dir, int k)
{
    const rset_info *info = &ev->header.infos[k];
    const char      *own = k == 0 || info->nfiles < 1 ? base : rset_path_base(info->files[0].path);
    const rset_where where = rset_where_of(&ev->header, k, dir);
    const uint64_t   generation = rset_evidence_generation(ev);

    return (rset_holding){.name = rset_name_hash(own),
                          .base = rset_name_hash(own),
                          .path = info->nfiles > 0 ? rset_name_hash(info->files[0].path) : 0,
                          .step = step_of(&ev->header, base, own, &where),
                          .generation = generation,
                          .newest = k == 0 ? rset_evidence_newest(ev) : generation,
                          .next = ev->next_ranks == info->desc.ranks ? ev->next : 0,
                          .rank = info->desc.rank,
                          .ranks = info->desc.ranks,
                          .set = info->desc.set,
                          .member = info->desc.member,
                          .members = info->desc.members,
                          .left = left_of(&info->desc),
                          .facts = facts_of(ev, k),
                          .where = where};
}

rset_holding
rset_look_holding(const rset_located *found, int k, int by)
{
    rset_holding holding =
        rset_holding_recorded(&found->evidence, found->base, rset_dir_path(found->dir), k);

    holding.dir = found->place;
    holding.by = by;
    if (k == 0)
        holding.name = rset_name_hash(found->name);
    if (k == 0 && found->there)
        holding.facts |= RSET_HOLDING_DATA;
    return holding;
}

bool
rset_holding_fits(const rset_holding *holding, const rset_local *local)
{
    return rset_where_fits(&holding->where, local->dir != NULL ? rset_dir_path(local->dir) : NULL,
                           local->paths[0]);
}
