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
    return asks ? compare((uint64_t)x->from, (uint64_t)y->from)
                : memcmp(&x->holding, &y->holding, sizeof x->holding);
}

/* Keepers say in one reduction what they have found: a bit for each question. */
enum { NEWS = 1, DIFFER = 2 };

static uint64_t
answer(const rset_keepers_question *q, const rset_saying *of_key, size_t n, rset_records *out)
{
    if (of_key->aside == 0)
        return q->answer(of_key, n, out) ? NEWS : 0;
    return q->aside != NULL && q->aside->differ(of_key, n) ? DIFFER : 0;
}

/* This rank keeps some keys. */
static rset_status
answer_all(const rset_keepers_question *q, const rset_records *heard, rset_records *out,
           uint64_t *found, rset_err *err)
{
    rset_saying *all = calloc(heard->n + 1, sizeof *all);
    size_t       first = 0;

    for (size_t i = 0; all != NULL && i < heard->n; i++) {
        const int from = rset_records_get(heard, i, &all[i]);

        all[i].from = from;
    }
    if (all != NULL)
        qsort(all, heard->n, sizeof *all, by_key);
    for (size_t i = 1; all != NULL && i <= heard->n; i++)
        if (i == heard->n || is_another(&all[i], &all[first])) {
            *found |= answer(q, &all[first], i - first, out);
            first = i;
        }
    free(all);
    return all != NULL && !out->nomem
               ? RSET_OK
               : rset_fail(err, RSET_NOMEM, "no memory for what there is of other ranks' files");
}

rset_status
rset_keepers_ask(const rset_keepers_question *q, rset_status own, rset_records *said, rset_err *err)
{
    rset_records out = {.size = sizeof(rset_saying)};
    rset_status  st = rset_route(q->world, own, q->host, said, err);
    uint64_t     found = q->news != NULL && *q->news ? NEWS : 0;

    own = st == RSET_OK ? answer_all(q, said, &out, &found, err) : st;
    if (st == RSET_OK && q->news != NULL) {
        st = rset_any_of(q->world, own, q->host, &found, err);
        own = st;
        *q->news = (found & NEWS) != 0;
    }
    if (q->aside != NULL)
        q->aside->is = st == RSET_OK && (found & DIFFER) != 0;
    rset_records_free(said);
    if (st == RSET_OK && (q->news == NULL || *q->news))
        st = rset_route(q->world, own, q->host, &out, err);
    else
        rset_records_free(&out);
    *said = out;
    return st;
}
