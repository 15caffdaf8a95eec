/* sweep_flip.c: damaged bytes: every bit of every header and descriptor, every block and
 * every byte at an edge of data and payload, several at a time, and on every rank at once. Nothing
 * wrong is ever taken for right, and whatever enough is left of comes back. */
#include "points.h"
#include "sample.h"

#include "common/crc64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4, BLOCK = RSET_BLOCK_MIN, SPOTS = 256 };

static const struct kind {
    survival_plan plan;
    int           k;
} kinds[] = {{PLAN_SINGLE, 0},  {PLAN_PARTNER, 1}, {PLAN_XOR, 1}, {PLAN_RS, 2},
             {PLAN_PARTNER, 2}, {PLAN_RS, 1},      {PLAN_RS, 3}};

enum { SCHEMES = 4, KINDS = sizeof kinds / sizeof *kinds };

/* Small for headers; chunks that end with a block (XOR 2 blocks, RS 2 three); and ones that do not. */
static const size_t small[] = {300, 0, 299, 1}, aligned[] = {6 * BLOCK},
                    odd[] = {3 * BLOCK + 777, 70000, 2 * BLOCK, 5};

static bool all;
static void
say(sample *s, const char *fmt, ...)
{
    int used =
        snprintf(s->what, sizeof s->what, "%s %d: ", sample_plan_names[s->set.plan], s->set.k);
    va_list args;

    va_start(args, fmt);
    vsnprintf(s->what + used, sizeof s->what - (size_t)used, fmt, args);
    va_end(args);
}

/* ---- headers and descriptors ---- */

static void
header_bit(sample *s, int r, size_t byte, int bit, int lost)
{
    survival_set m = s->set;

    say(s, "bit %d of byte %zu of rank %d's header%s", bit, byte, r,
        lost >= 0 ? ", another node lost" : "");
    sample_flip(sample_redundancy(s, r), byte, bit);
    m.ranks[r].head_lost = true;
    if (lost >= 0) {
        sample_lose_data(s, &m, lost);
        sample_lose_redundancy(s, &m, lost);
    }
    sample_expect(s, survival_of(&m));
    sample_restore(s);
}

static void
descriptor_bit(sample *s, int r, size_t byte, int bit)
{
    say(s, "bit %d of byte %zu of rank %d's descriptor", bit, byte, r);
    sample_flip(sample_descriptor(s, r), byte, bit);
    sample_expect(s, SURVIVES_WHOLE);
    sample_restore(s);
}

/* All bits on all ranks; or one bit of each byte, on one rank after the other. */
static void
headers(const struct kind *kind)
{
    sample s;

    sample_open(&s, kind->plan, N, kind->k, small, N);
    s.looks = 16;
    for (int r = 0; r < N; r++) {
        size_t head = sample_payload_at(&s, r);
        size_t desc = sample_original(&s, sample_descriptor(&s, r))->size;

        for (size_t byte = 0; byte < head + desc; byte++)
            for (int bit = 0; bit < 8; bit++) {
                if (!all && (byte % (2 * N) != (size_t)r || byte * 5 / N % 8 != (size_t)bit))
                    continue;
                if (byte < head)
                    header_bit(&s, r, byte, bit, -1);
                else
                    descriptor_bit(&s, r, byte - head, bit);
                if (byte < head && byte % 32 == 0 && bit == 3)
                    header_bit(&s, r, byte, bit, (r + 1 + (int)(byte / 32) % 3) % N);
            }
    }
    sample_close(&s);
}

/* ---- blocks ---- */

/* What one checksum covers: a block of a data file or of a payload. */
typedef struct spot {
    int      rank;
    bool     payload;
    uint64_t from, to;
} spot;

static int
list_spots(const sample *s, spot *to)
{
    int n = 0;

    for (int r = 0; r < N; r++)
        for (int payload = 0; payload < 2; payload++) {
            uint64_t len = payload ? survival_payload(&s->set, r) : s->set.ranks[r].length;

            for (uint64_t at = 0; at < len; at += BLOCK)
                to[n++] = (spot){r, payload, at, at + BLOCK < len ? at + BLOCK : len};
        }
    return n;
}

/* The checksums really are of such blocks, else the expectations below are not what is meant. */
static void
check_blocks(const sample *s)
{
    const image_file *f = sample_original(s, sample_redundancy(s, 0));
    rset_header       h = {0};
    rset_err          err = RSET_ERR_NONE;

    if (rset_format_unpack_header(f->data, f->size, f->path, 0, &h, &err) != RSET_OK ||
        !h.infos[0].files[0].has_sums || h.infos[0].files[0].sums.block != BLOCK ||
        !h.has_payload_sums || h.payload.block != BLOCK)
        points_wrong("%s: blocks are not of %d bytes: %s", s->what, BLOCK, err.text);
    rset_header_free(&h);
}

static const char *
file_of(const sample *s, const spot *p)
{
    return p->payload ? sample_redundancy(s, p->rank) : sample_data(s, p->rank);
}

static size_t
place_of(const sample *s, const spot *p, uint64_t at)
{
    return (p->payload ? sample_payload_at(s, p->rank) : 0) + (size_t)at;
}

static void
spoil(const sample *s, survival_set *m, const spot *p, uint64_t at, int bit)
{
    survival_rank *r = &m->ranks[p->rank];

    sample_flip(file_of(s, p), place_of(s, p, at), bit);
    survival_spoil(p->payload ? &r->payload : &r->data, p->from, p->to);
}

static void
one_bit(sample *s, const spot *p, uint64_t at, int bit)
{
    survival_set m = s->set;

    say(s, "bit %d of byte %llu of rank %d's %s", bit, (unsigned long long)at, p->rank,
        p->payload ? "payload" : "data");
    spoil(s, &m, p, at, bit);
    sample_expect(s, survival_of(&m));
    sample_restore(s);
}

/* Is `at` the first or last byte of a chunk or, in PARTNER's payload, of a copy? */
static bool
at_edge(const sample *s, const spot *p, uint64_t at)
{
    uint64_t c = survival_chunk(&s->set), end = 0;

    if (c > 0)
        return at % c == 0 || at % c == c - 1;
    for (int d = 1; p->payload && d <= s->set.k; d++) {
        end += s->set.ranks[(p->rank - d + N) % N].length;
        if (at == end || at + 1 == end)
            return true;
    }
    return false;
}

static void
edges_of(sample *s, const spot *p)
{
    uint64_t middle = p->from + points_random(p->to - p->from);

    for (uint64_t at = p->from; at < p->to; at++) {
        if (at != p->from && at + 1 != p->to && at != middle && !at_edge(s, p, at))
            continue;
        for (int bit = 0; bit < 8; bit++)
            if (all || bit == (int)((at + at / BLOCK) % 8))
                one_bit(s, p, at, bit);
    }
}

/* More than a bit: the block reads as zeros, from its middle on, or is another one of the same file. */
static void
torn(sample *s, const spot *p, int how)
{
    const image_file *f = sample_original(s, file_of(s, p));
    uint8_t          *copy = malloc(f->size + 1);
    size_t            at = place_of(s, p, p->from), len = (size_t)(p->to - p->from);
    survival_set      m = s->set;
    survival_rank    *r = &m.ranks[p->rank];

    assert_non_null(copy);
    memcpy(copy, f->data, f->size);
    if (how < 2)
        memset(copy + at + (how == 1 ? len / 2 : 0), 0, len - (how == 1 ? len / 2 : 0));
    else if (p->from >= BLOCK)
        memcpy(copy + at, f->data + place_of(s, p, p->from - BLOCK), len);
    survival_spoil(p->payload ? &r->payload : &r->data, p->from, p->to);
    say(s, "block at %llu of rank %d's %s %s", (unsigned long long)p->from, p->rank,
        p->payload ? "payload" : "data",
        how == 0   ? "zeroed"
        : how == 1 ? "half zeroed"
                   : "written to the wrong place");
    sample_rot(file_of(s, p), copy, f->size);
    if (memcmp(copy, f->data, f->size) != 0)
        sample_expect(s, survival_of(&m));
    sample_restore(s);
    free(copy);
}

static void
each_block(const struct kind *kind, const size_t *sizes, int nsizes)
{
    spot   spots[SPOTS];
    sample s;
    int    n;

    sample_open(&s, kind->plan, N, kind->k, sizes, nsizes);
    check_blocks(&s);
    n = list_spots(&s, spots);
    for (int i = 0; i < n; i++) {
        if (!all && i % 3 != 0)
            continue;
        edges_of(&s, &spots[i]);
        for (int how = 0; how < 3; how++)
            torn(&s, &spots[i], how);
    }
    sample_close(&s);
}

/* ---- several at a time ---- */

static void
several(sample *s, const spot *spots, const int *which, int n)
{
    survival_set m = s->set;

    say(s, "blocks");
    for (int i = 0; i < n; i++) {
        const spot *p = &spots[which[i]];
        size_t      used = strlen(s->what);

        snprintf(s->what + used, sizeof s->what - used, " %d%s%llu", p->rank,
                 p->payload ? "p" : "d", (unsigned long long)(p->from / BLOCK));
        spoil(s, &m, p, p->from + points_random(p->to - p->from), (int)points_random(8));
    }
    sample_expect(s, survival_of(&m));
    sample_restore(s);
}

/* All pairs, and where two are covered a share of all triples. */
static void
pairs(const struct kind *kind, const size_t *sizes, int nsizes)
{
    spot   spots[SPOTS];
    sample s;
    int    n, every = all ? 1 : 117;

    sample_open(&s, kind->plan, N, kind->k, sizes, nsizes);
    n = list_spots(&s, spots);
    for (int a = 0, turn = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            if (turn++ % every == 0)
                several(&s, spots, (int[]){a, b}, 2);
            for (int c = b + 1; kind->k > 1 && c < n; c++)
                if (turn++ % (23 * every) == 0)
                    several(&s, spots, (int[]){a, b, c}, 3);
        }
    sample_close(&s);
}

/* Every rank is damaged: `width` pieces of each stripe, no two of them of the same rank, are bad from
 * end to end. Chunks end with a block, so that is `width` bad pieces per stripe and no more. */
static void
staircase(sample *s, int shift, int width)
{
    survival_set m = s->set;
    uint64_t     c = survival_chunk(&s->set);
    int          slot;

    say(s, "%d pieces of each stripe on all ranks, from %d on", width, shift);
    for (int r = 0; r < N; r++)
        for (int w = 0; w < width; w++) {
            int      chunk = survival_data_chunk(&s->set, r, (r + shift + w) % N, &slot);
            uint64_t from = (chunk < 0 ? (uint64_t)slot : (uint64_t)chunk) * c;

            for (uint64_t at = from; at < from + c; at += BLOCK)
                spoil(s, &m, &(spot){r, chunk < 0, at, at + BLOCK}, at + points_random(BLOCK), 1);
        }
    sample_expect(s, width <= s->set.k ? SURVIVES_WHOLE : SURVIVES_NOT);
    if ((survival_of(&m) == SURVIVES_WHOLE) != (width <= s->set.k))
        points_wrong("%s: the two predictions differ", s->what);
    sample_restore(s);
}

static void
staircases(const struct kind *kind)
{
    size_t size = (size_t)(N - kind->k) * 2 * BLOCK;
    sample s;

    sample_open(&s, kind->plan, N, kind->k, &size, 1);
    for (int shift = 0; shift < N; shift++)
        for (int width = 1; width < N; width++)
            staircase(&s, shift, width);
    sample_close(&s);
}

/* Any number of blocks anywhere, a few of the same place in the files or very many. */
static void
anything(const struct kind *kind, const size_t *sizes, int nsizes, int times)
{
    spot   spots[SPOTS];
    int    which[SPOTS];
    sample s;

    sample_open(&s, kind->plan, N, kind->k, sizes, nsizes);
    for (int t = 0; t < times; t++) {
        int n = list_spots(&s, spots), chosen = 0;
        int rarity = 2 + (int)points_random(12);

        for (int i = 0; i < n; i++)
            if (points_random((uint64_t)rarity) == 0)
                which[chosen++] = i;
        several(&s, spots, which, chosen);
    }
    sample_close(&s);
}

/* ---- one rank on its own ---- */

/* rset_recover_serial, all other directories within reach: the rank's own file comes back. */
static void
alone(const struct kind *kind)
{
    spot   spots[SPOTS];
    sample s;
    int    n;

    sample_open(&s, kind->plan, N, kind->k, odd, N);
    n = list_spots(&s, spots);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < N; r++) {
            const spot  *p = &spots[i];
            survival_set m = s.set;

            say(&s, "block at %llu of rank %d's %s, rank %d alone", (unsigned long long)p->from,
                p->rank, p->payload ? "payload" : "data", r);
            spoil(&s, &m, p, p->to - 1, 0);
            sample_expect_serial(&s, r, survival_of(&m) != SURVIVES_NOT || p->rank != r);
            sample_restore(&s);
        }
    sample_close(&s);
}

int
main(int argc, char **argv)
{
    all = points_begin("sweep_flip", argc, argv);
    for (int i = 0; i < SCHEMES; i++) {
        headers(&kinds[i]);
        each_block(&kinds[i], odd, N);
        if (all)
            each_block(&kinds[i], aligned, 1);
        alone(&kinds[i]);
    }
    for (int i = 1; i < KINDS; i++) {
        pairs(&kinds[i], odd, N);
        if (all)
            pairs(&kinds[i], aligned, 1);
        if (kinds[i].plan != PLAN_PARTNER)
            staircases(&kinds[i]);
        anything(&kinds[i], odd, N, all ? 1000 : 40);
        anything(&kinds[i], aligned, 1, all ? 1000 : 20);
    }
    return points_end();
}
