/* sights_ask.c: each rank hears what all see of the name that it opens, and of no other. No rank knows all: what is said of one name
 * goes to the rank that keeps it, which is found by its hash, as in move/offers.c; by half of it, since hashes of names are odd. See
 * sights_internal.h. */
#include "sights_internal.h"

#include <stdlib.h>
#include <string.h>

/* A rank says that it sees a file, or (`asks`) that it opens one of that name. In an answer `asks` is how many ranks open it. Sent as
 * it is. */
typedef struct said {
    rset_sight sight;
    int32_t    asks, from;
} said;

static int
by_name(const void *a, const void *b)
{
    const said *x = a, *y = b;

    if (x->sight.name != y->sight.name)
        return x->sight.name < y->sight.name ? -1 : 1;
    if (x->asks != y->asks)
        return y->asks - x->asks;
    return memcmp(&x->sight, &y->sight, sizeof x->sight);
}

/* All that is said of one name: first who asks for it, then what is seen, of which the same is passed on once. */
static void
pass_on(const said *group, size_t n, rset_records *out)
{
    size_t askers = 0;

    while (askers < n && group[askers].asks != 0)
        askers++;
    for (size_t i = 0; i < askers; i++) {
        rset_records_add(out, group[i].from, &(said){.asks = (int32_t)askers});
        for (size_t k = askers; k < n; k++)
            if (k == askers ||
                memcmp(&group[k - 1].sight, &group[k].sight, sizeof group[k].sight) != 0)
                rset_records_add(out, group[i].from, &(said){.sight = group[k].sight});
    }
}

static rset_status
pass_on_all(const rset_records *heard, rset_records *out, rset_err *err)
{
    said  *all = calloc(heard->n + 1, sizeof *all);
    size_t first = 0;

    if (all == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for what there is of other ranks' files");
    for (size_t i = 0; i < heard->n; i++)
        all[i].from = rset_records_get(heard, i, &all[i]);
    qsort(all, heard->n, sizeof *all, by_name);
    for (size_t i = 1; i <= heard->n; i++)
        if (i == heard->n || all[i].sight.name != all[first].sight.name) {
            pass_on(&all[first], i - first, out);
            first = i;
        }
    free(all);
    return RSET_OK;
}

/* Who sees it does not matter to who asks. */
static bool
tell_keeper(const rset_sights *s, const rset_located *l, const char *dir, int k, void *arg)
{
    said one = {.sight = rset_sight_of(s, l, dir, k)};

    one.sight.by = 0;
    if (one.sight.generation != 0 && rset_sights_may_open(s, one.sight.name))
        rset_records_add_by_key(arg, s->r->args->world, one.sight.name >> 1, &one);
    return true;
}

static rset_status
take_answers(rset_sights *s, const rset_records *answers)
{
    rset_sight *heard = calloc(answers->n + 1, sizeof *heard);

    if (heard == NULL)
        return rset_fail(s->r->err, RSET_NOMEM,
                         "no memory for what there is of other ranks' files");
    free(s->heard);
    s->heard = heard;
    s->nheard = 0;
    for (size_t i = 0; i < answers->n; i++) {
        said one;

        (void)rset_records_get(answers, i, &one);
        if (one.asks != 0)
            s->several = one.asks > 1;
        else
            heard[s->nheard++] = one.sight;
    }
    return RSET_OK;
}

rset_status
rset_sights_ask(rset_sights *s)
{
    const rset_recover_args *a = s->r->args;
    const said   ask = {.sight = {.name = s->own.name}, .asks = 1, .from = a->world->rank};
    rset_records heard = {.size = sizeof(said)}, out = {.size = sizeof(said)};
    rset_status  st;

    rset_records_add_by_key(&heard, a->world, ask.sight.name >> 1, &ask);
    (void)rset_sights_each_told(s, tell_keeper, &heard);
    st = rset_route(a->world, RSET_OK, a->host, &heard, s->r->err);
    if (st == RSET_OK)
        st = rset_route(a->world, pass_on_all(&heard, &out, s->r->err), a->host, &out, s->r->err);
    if (st == RSET_OK)
        s->failed = take_answers(s, &out);
    rset_records_free(&heard);
    rset_records_free(&out);
    return st;
}
