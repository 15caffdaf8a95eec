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

/* By key; who asks before what there is. */
static int
by_key(const void *a, const void *b)
{
    const rset_saying *x = a, *y = b;
    const bool         asks = x->asks != 0, other = y->asks != 0;

    if (x->key != y->key)
        return compare(x->key, y->key);
    if (asks != other)
        return asks ? -1 : 1;
    return asks ? compare((uint64_t)x->from, (uint64_t)y->from)
                : memcmp(&x->holding, &y->holding, sizeof x->holding);
}

/* This rank keeps some keys. */
static rset_status
answer_all(rset_keeper answer, const rset_records *heard, rset_records *out, bool *news,
           rset_err *err)
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
        if (i == heard->n || all[i].key != all[first].key) {
            *news = answer(&all[first], i - first, out) || *news;
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
    bool         news = q->news != NULL && *q->news;

    own = st == RSET_OK ? answer_all(q->answer, said, &out, &news, err) : st;
    if (st == RSET_OK && q->news != NULL) {
        st = rset_any(q->world, own, q->host, &news, err);
        own = st;
        *q->news = news;
    }
    rset_records_free(said);
    if (st == RSET_OK && (q->news == NULL || news))
        st = rset_route(q->world, own, q->host, &out, err);
    else
        rset_records_free(&out);
    *said = out;
    return st;
}
