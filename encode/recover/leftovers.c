/* leftovers.c: rank 0 fits together members without a host, ranks that host none, and places in sets of which nobody recorded whose they
 * are. See recover_internal.h. */
#include "recover_internal.h"

#include <stdlib.h>

typedef struct leftovers {
    const rset_saying *asks;    /* of ranks that host no member, in their order */
    rset_holding      *members; /* nobody hosts them, or nobody recorded their set; by name */
    rset_holding      *empty;   /* places that nobody recorded, in the order of sets */
    size_t             nasks, nmembers, nempty;
} leftovers;

bool
rset_recovery_may_be(const rset_holding *opened, const rset_holding *member)
{
    return member->name == opened->name &&
           (opened->path == 0 || member->path == 0 || opened->path == member->path);
}

/* ---- sorting ---- */

static int
by_rank(const void *a, const void *b)
{
    const rset_holding *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int
by_name(const void *a, const void *b)
{
    const rset_holding *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return by_rank(a, b);
}

static int
by_place(const void *a, const void *b)
{
    const rset_holding *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

/* Takes what was said apart. */
static rset_status
sort_out(const rset_saying *said, size_t n, leftovers *left, rset_err *err)
{
    left->asks = said;
    left->nasks = rset_keepers_askers(said, n);
    left->members = calloc(n, sizeof *left->members);
    left->empty = calloc(n, sizeof *left->empty);
    if (left->members == NULL || left->empty == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %zu ranks", n);
    for (size_t i = left->nasks; i < n; i++)
        if (said[i].holding.rank >= 0)
            left->members[left->nmembers++] = said[i].holding;
        else
            left->empty[left->nempty++] = said[i].holding;
    qsort(left->members, left->nmembers, sizeof *left->members, by_name);
    qsort(left->empty, left->nempty, sizeof *left->empty, by_place);
    return RSET_OK;
}

/* ---- fitting together ---- */

/* The first member of this name. */
static size_t
first_of_name(const leftovers *left, uint64_t name)
{
    size_t from = 0, to = left->nmembers;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (left->members[middle].name < name)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The one member whose file the rank may open. NULL: none; *several: which of them is not clear, and a guess could be wrong. */
static rset_holding *
find_by_name(const leftovers *left, const rset_holding *opened, bool *several)
{
    rset_holding *found = NULL;

    *several = false;
    for (size_t i = first_of_name(left, opened->name);
         i < left->nmembers && left->members[i].name == opened->name && !*several; i++) {
        rset_holding *member = &left->members[i];

        if (member->by >= 0 || !rset_recovery_may_be(opened, member))
            continue;
        *several = found != NULL;
        found = member;
    }
    return found;
}

/* A member without a name: nothing can be written for it. */
static rset_holding *
find_unknown(const leftovers *left)
{
    for (size_t i = 0; i < left->nmembers && left->members[i].name == 0; i++)
        if (left->members[i].by < 0)
            return &left->members[i];
    return NULL;
}

static rset_status
find_members(const rset_recovery *r, leftovers *left)
{
    for (size_t i = 0; i < left->nasks; i++) {
        const rset_holding *opened = &left->asks[i].holding;
        bool                several = false;
        rset_holding       *member = find_by_name(left, opened, &several);

        if (member == NULL)
            member = find_unknown(left);
        if (member == NULL || several)
            return rset_fail(r->err, RSET_LOST,
                             "rank %d opens a file that is none of those protected together with "
                             "%s; open it under the name that it was written by",
                             opened->by, rset_local_name(r->args->local));
        member->by = opened->by;
    }
    return RSET_OK;
}

/* A place that nobody recorded is that of a member of which all is lost that could be sent or written. Any rank without a place may have
 * it. */
static rset_status
fill_places(const rset_recovery *r, leftovers *left)
{
    size_t spare = 0;

    qsort(left->members, left->nmembers, sizeof *left->members, by_rank);
    for (size_t i = 0; i < left->nempty; i++) {
        const rset_holding *place = &left->empty[i];

        while (spare < left->nmembers && left->members[spare].set >= 0)
            spare++;
        if (spare == left->nmembers)
            return rset_fail(r->err, RSET_LOST, "%s: member %d of set %d is not known",
                             rset_local_name(r->args->local), place->member, place->set);
        left->members[spare].set = place->set;
        left->members[spare].member = place->member;
        left->members[spare].members = place->members;
    }
    return RSET_OK;
}

rset_status
rset_recovery_fit(rset_answers *to, const rset_saying *said, size_t n)
{
    const rset_recovery *r = to->arg;
    leftovers            left = {0};
    rset_status          st = sort_out(said, n, &left, to->err);

    if (st == RSET_OK)
        st = find_members(r, &left);
    if (st == RSET_OK)
        st = fill_places(r, &left);
    for (size_t i = 0; st == RSET_OK && i < left.nmembers; i++)
        if (left.members[i].set >= 0)
            rset_records_add(&to->out, left.members[i].set,
                             &(rset_saying){.holding = left.members[i]});
    free(left.members);
    free(left.empty);
    return st;
}
