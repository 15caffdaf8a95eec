/* survival.c: see survival.h. Kept apart from encode/ on purpose: no header of it is included. */
#include "survival.h"

#include <stdlib.h>

static bool
striped(const survival_set *set)
{
    return set->plan == PLAN_XOR || set->plan == PLAN_RS;
}

/* How many left neighbours' records a member keeps ("red" of FORMAT.md 1). */
static int
red(const survival_set *set)
{
    return set->plan == PLAN_SINGLE ? 0 : set->plan == PLAN_XOR ? 1 : set->k;
}

void
survival_spoil(survival_bad *bad, uint64_t from, uint64_t to)
{
    if (bad->n == SURVIVAL_RANGES)
        abort();
    bad->at[bad->n].from = from;
    bad->at[bad->n].to = to;
    bad->n++;
}

static bool
bad_at(const survival_bad *bad, uint64_t at)
{
    for (int i = 0; i < bad->n; i++)
        if (at >= bad->at[i].from && at < bad->at[i].to)
            return true;
    return false;
}

uint64_t
survival_chunk(const survival_set *set)
{
    uint64_t longest = 0, parts = (uint64_t)(set->n - set->k), chunk;

    if (!striped(set))
        return 0;
    for (int r = 0; r < set->n; r++)
        longest = set->ranks[r].length > longest ? set->ranks[r].length : longest;
    chunk = (longest + parts - 1) / parts;
    return chunk > 0 ? chunk : 1;
}

uint64_t
survival_payload(const survival_set *set, int member)
{
    uint64_t sum = 0;

    if (striped(set))
        return survival_chunk(set) * (uint64_t)set->k;
    for (int d = 1; set->plan == PLAN_PARTNER && d <= set->k; d++)
        sum += set->ranks[(member - d + set->n) % set->n].length;
    return sum;
}

int
survival_data_chunk(const survival_set *set, int r, int s, int *slot_out)
{
    int k = set->k, n = set->n, t = (s - r + n) % n;

    *slot_out = t;
    if (t < k)
        return -1;
    return s - (s > r ? k : 0) - (r + k - n > 0 ? r + k - n : 0);
}

/* Is there anybody left who knows size and checksums of member m's data? */
static bool
known(const survival_set *set, int m)
{
    for (int d = 0; d <= red(set); d++)
        if (!set->ranks[(m + d) % set->n].head_lost)
            return true;
    return false;
}

/* One byte position of one stripe: is what is wanted determined by what is left? Every square
 * submatrix of the parity rows is invertible (FORMAT.md 9): as long as there are as many parity bytes
 * as unknown data bytes everything is, and otherwise nothing that depends on unknown data. */
static bool
byte_solvable(int unknown, int parity, bool wanted)
{
    return !wanted || unknown <= parity;
}

static bool
striped_byte(const survival_set *set, int s, uint64_t at, bool whole)
{
    uint64_t c = survival_chunk(set);
    int      unknown = 0, parity = 0, slot;
    bool     wanted = false;

    for (int r = 0; r < set->n; r++) {
        const survival_rank *m = &set->ranks[r];
        int                  chunk = survival_data_chunk(set, r, s, &slot);
        uint64_t             pos = (chunk < 0 ? (uint64_t)slot : (uint64_t)chunk) * c + at;

        if (chunk < 0) {
            bool bad = m->head_lost || bad_at(&m->payload, pos);

            parity += !bad;
            wanted = wanted || (bad && whole);
        } else if (!known(set, r)) {
            unknown++; /* even its length is not known */
        } else if (pos < m->length && bad_at(&m->data, pos)) {
            unknown++;
            wanted = true;
        }
    }
    return byte_solvable(unknown, parity, wanted);
}

/* The same for the file of member q under PARTNER: the file or any copy will do. */
static bool
partner_byte(const survival_set *set, int q, uint64_t at, bool whole)
{
    bool bad = bad_at(&set->ranks[q].data, at), wanted = bad;
    int  copies = known(set, q) && !bad;

    for (int u = 1; u <= set->k; u++) {
        const survival_rank *m = &set->ranks[(q + u) % set->n];
        uint64_t             pos = at;

        for (int d = 1; d < u; d++) /* nearer neighbours come first */
            pos += set->ranks[(q + u - d + set->n) % set->n].length;
        if (!m->head_lost && !bad_at(&m->payload, pos))
            copies++;
        else
            wanted = wanted || whole;
    }
    return !wanted || copies > 0;
}

/* ---- all bytes ---- */

/* Nothing changes between two neighbouring edges of ranges, chunks and files: one byte after each edge
 * stands for all. An edge at e of a file or payload is at e minus some multiple of c, or minus some
 * lengths, of a stripe. */
typedef struct edges {
    uint64_t at[4096];
    int      n;
} edges;

static void
add_edge(edges *e, uint64_t at, uint64_t base)
{
    if (at < base || at == UINT64_MAX)
        return;
    if (e->n == (int)(sizeof e->at / sizeof *e->at))
        abort();
    e->at[e->n++] = at - base;
}

static void
add_edges(edges *e, const survival_bad *bad, uint64_t base)
{
    for (int i = 0; i < bad->n; i++) {
        add_edge(e, bad->at[i].from, base);
        add_edge(e, bad->at[i].to, base);
    }
}

static bool
striped_solvable(const survival_set *set, int s, bool whole)
{
    uint64_t c = survival_chunk(set);
    edges    e = {.n = 1};
    int      slot;

    for (int r = 0; r < set->n; r++) {
        int chunk = survival_data_chunk(set, r, s, &slot);

        add_edges(&e, chunk < 0 ? &set->ranks[r].payload : &set->ranks[r].data,
                  (chunk < 0 ? (uint64_t)slot : (uint64_t)chunk) * c);
        if (chunk >= 0)
            add_edge(&e, set->ranks[r].length, (uint64_t)chunk * c);
    }
    for (int i = 0; i < e.n; i++)
        if (e.at[i] < c && !striped_byte(set, s, e.at[i], whole))
            return false;
    return true;
}

static bool
partner_solvable(const survival_set *set, int q, bool whole)
{
    edges e = {.n = 1};

    add_edges(&e, &set->ranks[q].data, 0);
    for (int u = 1; u <= set->k; u++) {
        uint64_t base = 0;

        for (int d = 1; d < u; d++)
            base += set->ranks[(q + u - d + set->n) % set->n].length;
        add_edges(&e, &set->ranks[(q + u) % set->n].payload, base);
    }
    for (int i = 0; i < e.n; i++)
        if (e.at[i] < set->ranks[q].length && !partner_byte(set, q, e.at[i], whole))
            return false;
    return true;
}

static bool
solvable(const survival_set *set, bool whole)
{
    for (int r = 0; r < set->n; r++) {
        if (!known(set, r) && (whole || set->ranks[r].data.n > 0))
            return false;
        if (set->plan == PLAN_SINGLE && set->ranks[r].data.n > 0 && set->ranks[r].length > 0)
            return false; /* an empty file is known to its last byte */
    }
    for (int s = 0; set->plan != PLAN_SINGLE && s < set->n; s++)
        if (!(striped(set) ? striped_solvable(set, s, whole) : partner_solvable(set, s, whole)))
            return false;
    return true;
}

survival
survival_of(const survival_set *set)
{
    if (!solvable(set, false))
        return SURVIVES_NOT;
    for (int m = 0; m < set->n; m++)
        if (!known(set, m))
            return SURVIVES_UNVERIFIED;
    return solvable(set, true) ? SURVIVES_WHOLE : SURVIVES_DATA;
}
