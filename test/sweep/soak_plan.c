/* soak_plan.c: see soak_plan.h. */
#include "soak_plan.h"

#include "soak_random.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 12 }; /* percent of files that have several blocks */

static size_t
some_size(void)
{
    return soak_chance(LARGE) ? 60000 + soak_random(90000)
           : soak_chance(4)   ? soak_random(2)
                              : 1 + soak_random(12000);
}

static void
plan_changes(soak_part *p)
{
    const size_t size = p->target.n;

    p->nchanges = size > 0 ? (int)soak_random(SOAK_CHANGES + 1) : 0;
    for (int i = 0; i < p->nchanges; i++) {
        p->off[i] = soak_random(size);
        p->len[i] = 1 + soak_random(size - p->off[i]);
        if (soak_chance(60) && p->len[i] > 900)
            p->len[i] = 1 + soak_random(900);
        fill_random(p->target.at + p->off[i], (size_t)p->len[i], soak_random(UINT64_MAX));
    }
}

void
soak_plan_update(soak_part *p, const soak_bytes *now, bool all_close)
{
    size_t   size = soak_chance(70) ? now->n : some_size();
    uint8_t *target = calloc(size + 1, 1);

    memcpy(target, now->at, size < now->n ? size : now->n);
    free(p->target.at);
    p->target = (soak_bytes){target, size};
    p->takes_part = true;
    p->late = false;
    p->keep = soak_chance(95);
    p->closes = all_close || soak_chance(60);
    p->shortens = soak_chance(50) && size < now->n;
    plan_changes(p);
}

void
soak_plan_new(soak_part *p)
{
    size_t size = some_size();

    free(p->target.at);
    p->target = (soak_bytes){malloc(size + 1), size};
    fill_random(p->target.at, size, soak_random(UINT64_MAX));
    p->takes_part = p->keep = p->closes = true;
    p->late = false;
}

void
soak_plan_nothing(soak_part *p, const soak_bytes *now, bool closes)
{
    soak_bytes_set(&p->target, now->at, now->n);
    p->takes_part = p->late = false;
    p->closes = closes;
}

void
soak_plan_world(soak_world *w)
{
    static const struct {
        const rset_scheme *scheme;
        int                parity;
    } kinds[] = {{&rset_scheme_single, 0}, {&rset_scheme_partner, 1}, {&rset_scheme_partner, 2},
                 {&rset_scheme_xor, 1},    {&rset_scheme_xor, 1},     {&rset_scheme_rs, 2},
                 {&rset_scheme_rs, 2},     {&rset_scheme_rs, 3}};
    const size_t at = soak_random(sizeof kinds / sizeof *kinds);
    const int    n = 4 + (int)soak_random(SOAK_RANKS - 3);

    soak_world_open(w, kinds[at].scheme, kinds[at].parity, n, soak_chance(30) ? 4 : n);
    w->job.keep = soak_chance(50) ? 3 : 0;
    for (int r = 0; r < n; r++) {
        soak_plan_new(&w->part[r]);
        write_file(job_data(&w->job, r), w->part[r].target.at, w->part[r].target.n);
    }
}
