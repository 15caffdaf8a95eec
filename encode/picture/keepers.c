/* keepers.c: those that ask for a file, and those that have some of it, meet at the rank that keeps its name. See picture.h. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

/* Hashes of names are odd (rset_name_hash): half of one says more of who keeps it. */
void
rset_keepers_say(rset_records *said, const rset_comm *world, const rset_saying *saying)
{
    rset_records_add_by_key(said, world, saying->key >> 1, saying);
}

uint64_t
rset_key_of_rank(int rank)
{
    return (uint64_t)rank << 1 | 1;
}

size_t
rset_keepers_askers(const rset_saying *of_key, size_t n)
{
    size_t askers = 0;

    while (askers < n && of_key[askers].asks != 0)
        askers++;
    return askers;
}

static int
compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static bool
is_another(const rset_saying *a, const rset_saying *b)
{
    return a->key != b->key || a->aside != b->aside;
}

/* By question and key; who asks before what there is. */
static int
by_key(const void *a, const void *b)
{
    const rset_saying *x = a, *y = b;
    const bool         asks = x->asks != 0, other = y->asks != 0;

    if (is_another(x, y))
        return x->aside != y->aside ? x->aside - y->aside : compare(x->key, y->key);
    if (asks != other)
        return asks ? -1 : 1;
    return asks ? compare((uint64_t)x->holding.by, (uint64_t)y->holding.by)
                : memcmp(&x->holding, &y->holding, sizeof x->holding);
}

/* Keepers say in one reduction what they have found: a bit for each question. */
enum { NEWS = 1, DIFFER = 2 };

static rset_status
answer(const rset_keepers_question *q, const rset_saying *of_key, size_t n, rset_answers *to,
       uint64_t *found)
{
    if (of_key->aside == 0)
        return q->answer(to, of_key, n);
    *found |= q->aside != NULL && q->aside->differ(of_key, n) ? DIFFER : 0;
    return RSET_OK;
}

/* This rank keeps some keys. */
static rset_status
answer_all(const rset_keepers_question *q, const rset_records *heard, rset_answers *to,
           uint64_t *found)
{
    rset_saying *all = calloc(heard->n + 1, sizeof *all);
    size_t       first = 0;
    rset_status  st = RSET_OK;

    for (size_t i = 0; all != NULL && i < heard->n; i++) {
        const int from = rset_records_get(heard, i, &all[i]);

        if (all[i].asks != 0 || all[i].holding.by >= 0)
            all[i].holding.by = from;
    }
    if (all != NULL)
        qsort(all, heard->n, sizeof *all, by_key);
    for (size_t i = 1; all != NULL && st == RSET_OK && i <= heard->n; i++)
        if (i == heard->n || is_another(&all[i], &all[first])) {
            st = answer(q, &all[first], i - first, to, found);
            first = i;
        }
    free(all);
    *found |= to->news ? NEWS : 0;
    return all != NULL && !to->out.nomem
               ? st
               : rset_fail(to->err, RSET_NOMEM,
                           "no memory for what there is of other ranks' files");
}

rset_status
rset_keepers_hear(const rset_keepers_question *q, rset_status own, rset_records *said,
                  rset_err *err)
{
    rset_answers to = {.arg = q->arg, .out.size = sizeof(rset_saying), .err = err};
    uint64_t     found = 0;
    rset_status  st = rset_route(q->world, own, q->host, said, err);

    if (st == RSET_OK)
        st = answer_all(q, said, &to, &found);
    rset_records_free(said);
    rset_records_free(&to.out);
    return st;
}

rset_status
rset_keepers_ask(const rset_keepers_question *q, rset_status own, rset_records *said, rset_err *err)
{
    rset_answers to = {.arg = q->arg, .out.size = sizeof(rset_saying), .err = err};
    rset_status  st = rset_route(q->world, own, q->host, said, err);
    uint64_t     found = q->news != NULL && *q->news ? NEWS : 0;

    own = st == RSET_OK ? answer_all(q, said, &to, &found) : st;
    if (st == RSET_OK && q->news != NULL) {
        st = rset_any_of(q->world, own, q->host, &found, err);
        own = st;
        *q->news = (found & NEWS) != 0;
    }
    if (q->aside != NULL)
        q->aside->is = st == RSET_OK && (found & DIFFER) != 0;
    rset_records_free(said);
    if (st == RSET_OK && (q->news == NULL || *q->news))
        st = rset_route(q->world, own, q->host, &to.out, err);
    else
        rset_records_free(&to.out);
    *said = to.out;
    return st;
}
